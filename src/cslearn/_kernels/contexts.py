"""CS-BDeu scores of all contexts of one or two variables, for one target at a time."""

from math import lgamma

import numpy as np
from numba import types
from numba.extending import intrinsic

from cslearn._kernels import inner, outer

__all__ = ["count_pairs", "count_within", "pack", "popcount", "score_contexts", "score_packed", "weigh_within"]

# Counting a triple by bits takes a popcount for each 64 rows and each cell in which no variable is in its first state,
# counting it row by row an increment for each row. Up to this number of cells bits are faster.
CELLS_BY_BITS = 100


@inner
def _log_z(counts, a_stage, a_cell, exact):
    """Log marginal likelihood of the counts of a stage; `exact` maps whole counts to log-gammas.

    ``exact[0, c] = lgamma(a_stage + c) - lgamma(a_stage)`` and likewise ``exact[1, c]`` for a cell; if it is empty
    the log-gammas are computed.
    """
    total = 0.0
    score = 0.0
    if exact.shape[1]:
        for count in counts:
            total += count
            score += exact[1, int(count)]
        return score - exact[0, int(total)]
    for count in counts:
        if count > 0.0:
            total += count
            score += lgamma(a_cell + count) - lgamma(a_cell)
    return score - lgamma(a_stage + total) + lgamma(a_stage) if total > 0.0 else 0.0


@inner
def _score_single(counts, d_k, d_i, ess, log_gammas, entry, single):
    """Score the contexts of one variable from its counts with the target, shape (d_k, d_i)."""
    table = log_gammas[entry[d_k]]
    for x in range(d_k):
        single[x] = _log_z(counts[x], ess / d_k, ess / (d_k * d_i), table)


@inner
def _score_pair(counts, d_k, d_j, d_i, ess, log_gammas, entry, of_k, of_j):
    """Score the contexts of two variables; add up over the states of j in `of_k`, of k in `of_j`."""
    q = d_k * d_j
    table = log_gammas[entry[q]]
    for x in range(d_k):
        of_k[x] = 0.0
    for y in range(d_j):
        of_j[y] = 0.0
    for x in range(d_k):
        for y in range(d_j):
            score = _log_z(counts[x, y], ess / q, ess / (q * d_i), table)
            of_k[x] += score
            of_j[y] += score


@outer
def score_contexts(codes, weights, cards, target, candidates, ess, log_gammas, entry, beta, single, pair):
    """Fill `single` and `pair` (shapes (m, d), (m, m, d)) with the log scores of one target, counting row by row.

    ``single[k, x]`` is log z of ``x_k = x`` and ``pair[j, k, x]`` the sum over ``y`` of log z of
    ``x_k = x, x_j = y``, with `k` and `j` positions in `candidates`. ``log_gammas[entry[q]]`` is for contexts
    whose cardinalities multiply to `q`. Cost O(m^2 (n + d^2 d_i)).
    """
    n, m, d_i = codes.shape[0], len(candidates), cards[target]
    for k in range(m):
        column, d_k = candidates[k], cards[candidates[k]]
        counts = np.zeros((d_k, d_i))
        for r in range(n):
            counts[codes[r, column], codes[r, target]] += weights[r]
        _score_single(counts, d_k, d_i, ess, log_gammas, entry, single[k])
        if beta < 2:
            continue
        for x in range(d_k):
            pair[k, k, x] = -np.inf
        for j in range(k):
            other, d_j = candidates[j], cards[candidates[j]]
            triple = np.zeros((d_k, d_j, d_i))
            for r in range(n):
                triple[codes[r, column], codes[r, other], codes[r, target]] += weights[r]
            _score_pair(triple, d_k, d_j, d_i, ess, log_gammas, entry, pair[j, k], pair[k, j])


@intrinsic
def popcount(context, word):
    """Return the number of bits set in a 64-bit word, by the processor's own instruction."""

    def build(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), build


@outer
def pack(codes, cards, starts):
    """Return one row of bits for each state of each variable, shape (states, words).

    Bit `r` of row ``starts[j] + x`` tells whether row `r` of the data has state `x` of variable `j`.
    """
    n, p = codes.shape
    words = np.zeros((starts[p - 1] + cards[p - 1], (n + 63) // 64), dtype=np.uint64)
    for j in range(p):
        for r in range(n):
            words[starts[j] + codes[r, j], r >> 6] |= np.uint64(1) << np.uint64(r & 63)
    return words


@outer
def count_pairs(words, first, last, counts):
    """Fill rows `first` to `last` of the number of rows of data that are in each pair of states."""
    for a in range(first, last):
        for b in range(words.shape[0]):
            number = 0
            for word in range(words.shape[1]):
                number += popcount(words[a, word] & words[b, word])
            counts[a, b] = number


@outer
def count_within(words, of_target, mask, counts):
    """Fill `counts` with the number of rows in `mask` that are in each state and in each state of a target."""
    joined = np.empty_like(mask)
    for z in range(counts.shape[1]):
        for word in range(len(mask)):
            joined[word] = mask[word] & words[of_target + z, word]
        for a in range(words.shape[0]):
            number = 0
            for word in range(len(mask)):
                number += popcount(words[a, word] & joined[word])
            counts[a, z] = number


@outer
def weigh_within(codes, starts, target, weights, counts):
    """Fill `counts` with the weight of the rows that are in each state and in each state of a target. O(n p).

    Row ``starts[j] + x`` is for state `x` of variable `j`; rows without weight take no time.
    """
    counts[:] = 0.0
    for r in range(len(weights)):
        if weights[r] > 0.0:
            for j in range(codes.shape[1]):
                counts[starts[j] + codes[r, j], codes[r, target]] += weights[r]


@outer
def score_packed(words, starts, pairs, codes, cards, target, candidates, ess, log_gammas, entry, beta, single, pair):
    """Do what :func:`score_contexts` does for rows without weights, counting by bits where that is faster.

    Only cells in which no variable is in its first state are counted; the others follow from the counts of `pairs`.
    Cost O(m^2 (n d^2 d_i / 64 + d^2 d_i)).
    """
    n, m, d_i, length = codes.shape[0], len(candidates), cards[target], words.shape[1]
    of_i = starts[target]
    joined = np.empty(length, dtype=np.uint64)
    for k in range(m):
        column, d_k, of_k = candidates[k], cards[candidates[k]], starts[candidates[k]]
        counts = np.zeros((d_k, d_i))
        for x in range(d_k):
            for z in range(d_i):
                counts[x, z] = pairs[of_k + x, of_i + z]
        _score_single(counts, d_k, d_i, ess, log_gammas, entry, single[k])
        if beta < 2:
            continue
        for x in range(d_k):
            pair[k, k, x] = -np.inf
        widest = 0
        for j in range(k):
            if (d_k - 1) * (cards[candidates[j]] - 1) * (d_i - 1) <= CELLS_BY_BITS:
                widest = max(widest, cards[candidates[j]])
        triples = np.zeros((k, d_k, widest, d_i))
        for x in range(1, d_k):
            for z in range(1, d_i):
                for word in range(length):
                    joined[word] = words[of_k + x, word] & words[of_i + z, word]
                for j in range(k):
                    other = candidates[j]
                    if (d_k - 1) * (cards[other] - 1) * (d_i - 1) <= CELLS_BY_BITS:
                        for y in range(1, cards[other]):
                            number = 0
                            for word in range(length):
                                number += popcount(joined[word] & words[starts[other] + y, word])
                            triples[j, x, y, z] = number
        for j in range(k):
            other, d_j, of_j = candidates[j], cards[candidates[j]], starts[candidates[j]]
            by_bits = (d_k - 1) * (d_j - 1) * (d_i - 1) <= CELLS_BY_BITS
            counts = triples[j] if by_bits else np.zeros((d_k, d_j, d_i))
            if by_bits:
                for z in range(1, d_i):
                    for y in range(1, d_j):
                        counts[0, y, z] = pairs[of_j + y, of_i + z]
                        for x in range(1, d_k):
                            counts[0, y, z] -= counts[x, y, z]
                    for x in range(d_k):
                        counts[x, 0, z] = pairs[of_k + x, of_i + z]
                        for y in range(1, d_j):
                            counts[x, 0, z] -= counts[x, y, z]
                for x in range(d_k):
                    for y in range(d_j):
                        counts[x, y, 0] = pairs[of_k + x, of_j + y]
                        for z in range(1, d_i):
                            counts[x, y, 0] -= counts[x, y, z]
            else:
                for r in range(n):
                    counts[codes[r, column], codes[r, other], codes[r, target]] += 1.0
            _score_pair(counts, d_k, d_j, d_i, ess, log_gammas, entry, pair[j, k], pair[k, j])
