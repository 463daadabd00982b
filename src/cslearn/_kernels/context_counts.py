"""Counts of a target and of every other variable in the rows of many contexts, on columns packed into bits.

A column is held as bits of the rows for each of its states but the first, and rows are also held one after the other, a
byte for each of these. A context with many rows is counted by the bits of its rows, one with few by adding up bytes.
"""

import numpy as np

from cslearn._kernels import inner, outer
from cslearn._kernels.contexts import popcount

__all__ = [
    "choose_rows",
    "common",
    "count_contexts",
    "count_own",
    "one_hot",
    "pack_columns",
    "weigh_contexts",
    "weigh_own",
]

# Counting the common bits of two words takes as long as adding about so many bytes to counters.
BYTES_OF_A_WORD = 2


@outer
def one_hot(codes, starts):
    """Return for each row a byte, 0 or 1, for each state but the first of each column; shape (n, columns)."""
    n, p = codes.shape
    out = np.zeros((n, starts[p]), np.uint8)
    for r in range(n):
        for k in range(p):
            if codes[r, k] > 0:
                out[r, starts[k] + codes[r, k] - 1] = 1
    return out


@outer
def pack_columns(codes, starts):
    """Return the same in bits; shape (columns, ceil(n / 64))."""
    n, p = codes.shape
    out = np.zeros((starts[p], (n + 63) // 64), np.uint64)
    for k in range(p):
        for r in range(n):
            if codes[r, k] > 0:
                out[starts[k] + codes[r, k] - 1, r >> 6] |= np.uint64(1) << np.uint64(r & 63)
    return out


@inner
def choose_rows(words, starts, valid, first, last, variables, states, chosen):
    """Set the bits of the rows that agree with a context."""
    for w in range(len(chosen)):
        chosen[w] = valid[w]
    for e in range(first, last):
        k, x = variables[e], states[e]
        if x > 0:
            column = words[starts[k] + x - 1]
            for w in range(len(chosen)):
                chosen[w] &= column[w]
        else:
            for j in range(starts[k], starts[k + 1]):
                column = words[j]
                for w in range(len(chosen)):
                    chosen[w] &= ~column[w]


@inner
def common(one, other):
    """Return the number of bits that two rows of words share."""
    n = np.int64(0)
    for w in range(len(one)):
        n += np.int64(popcount(one[w] & other[w]))
    return n


@inner
def _lowest_bit(word):
    return np.int64(popcount((word & (~word + np.uint64(1))) - np.uint64(1)))


@outer
def count_contexts(words, rows, codes, starts, valid, targets, pointers, variables, states, own, counts):
    """Fill ``own[r, y]`` and ``counts[r, y, c]`` for each context `r`, as :meth:`cslearn.counts.Counts.of` says."""
    width, n_words = words.shape
    chosen, part = np.empty(n_words, np.uint64), np.empty(n_words, np.uint64)
    for r in range(len(targets)):
        i = targets[r]
        d = starts[i + 1] - starts[i] + 1
        choose_rows(words, starts, valid[i], pointers[r], pointers[r + 1], variables, states, chosen)
        total = common(chosen, chosen)
        rest, seen = total, 0
        for y in range(1, d):
            number = common(chosen, words[starts[i] + y - 1])
            own[r, y] = number
            rest -= number
            seen += number > 0
        own[r, 0] = rest
        if seen + (rest > 0) < 2:
            continue
        if total < BYTES_OF_A_WORD * d * n_words:
            sums = counts[r]
            for y in range(d):
                for c in range(width):
                    sums[y, c] = 0
            for w in range(n_words):
                word = chosen[w]
                while word:
                    row = (w << 6) + _lowest_bit(word)
                    word &= word - np.uint64(1)
                    line, sum_of = rows[row], sums[codes[row, i]]
                    for c in range(width):
                        sum_of[c] += line[c]
            continue
        for c in range(width):
            counts[r, 0, c] = common(chosen, words[c])
        for y in range(1, d):
            column = words[starts[i] + y - 1]
            for w in range(n_words):
                part[w] = chosen[w] & column[w]
            for c in range(width):
                number = common(part, words[c])
                counts[r, y, c] = number
                counts[r, 0, c] -= number


@outer
def weigh_contexts(words, rows, codes, starts, valid, weights, targets, pointers, variables, states, own, counts):
    """Do the same for rows with weights; `own` and `counts` are zero before."""
    width, n_words = words.shape
    chosen = np.empty(n_words, np.uint64)
    for r in range(len(targets)):
        i = targets[r]
        choose_rows(words, starts, valid[i], pointers[r], pointers[r + 1], variables, states, chosen)
        for w in range(n_words):
            word = chosen[w]
            while word:
                row = (w << 6) + _lowest_bit(word)
                word &= word - np.uint64(1)
                line, y, weight = rows[row], codes[row, i], weights[row]
                own[r, y] += weight
                for c in range(width):
                    counts[r, y, c] += weight * line[c]


@outer
def count_own(words, starts, valid, targets, pointers, variables, states, own):
    """Fill ``own[r, y]`` alone, in O(words) for each variable of a context."""
    chosen = np.empty(words.shape[1], np.uint64)
    for r in range(len(targets)):
        i = targets[r]
        choose_rows(words, starts, valid[i], pointers[r], pointers[r + 1], variables, states, chosen)
        own[r, 0] = common(chosen, chosen)
        for y in range(1, starts[i + 1] - starts[i] + 1):
            own[r, y] = common(chosen, words[starts[i] + y - 1])
            own[r, 0] -= own[r, y]


@outer
def weigh_own(words, codes, starts, valid, weights, targets, pointers, variables, states, own):
    """Add to ``own[r, y]`` alone for rows with weights."""
    chosen = np.empty(words.shape[1], np.uint64)
    for r in range(len(targets)):
        i = targets[r]
        choose_rows(words, starts, valid[i], pointers[r], pointers[r + 1], variables, states, chosen)
        for w in range(len(chosen)):
            word = chosen[w]
            while word:
                row = (w << 6) + _lowest_bit(word)
                word &= word - np.uint64(1)
                own[r, codes[row, i]] += weights[row]
