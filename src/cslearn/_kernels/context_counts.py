"""Counts of a target and of every other variable in the rows of many contexts, on columns packed into bits.

A column is held as bits of the rows for each of its states but the first, and rows are also held one after the other, a
byte for each of these. A context with many rows is counted by the bits of its rows, one with few by adding up bytes.
"""

import numpy as np
from numba import types
from numba.extending import intrinsic

from cslearn._kernels import inner, outer

__all__ = [
    "choose_rows",
    "common",
    "count_contexts",
    "count_own",
    "count_pairs",
    "count_sets",
    "one_hot",
    "pack_columns",
    "popcount",
    "weigh_contexts",
    "weigh_own",
    "weigh_sets",
]

# Counting the common bits of two words takes as long as adding about so many bytes to counters.
BYTES_OF_A_WORD = 2


@intrinsic
def popcount(context, word):
    """Return the number of bits set in a 64-bit word, by the processor's own instruction."""

    def build(context, builder, signature, arguments):
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), build


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


@outer
def count_pairs(words, valid, counts):
    """Fill the number of rows in which two columns have their bits, shape (columns, columns)."""
    part = np.empty(words.shape[1], np.uint64)
    for a in range(len(words)):
        for w in range(len(part)):
            part[w] = words[a, w] & valid[w]
        for b in range(a + 1):
            counts[a, b] = counts[b, a] = common(part, words[b])


@outer
def count_sets(words, starts, valid, pairs, target, sets, most, out):
    """Fill the joint counts of one or two columns and a target, as :func:`cslearn.counts.joint_counts` says.

    Only cells in which no variable is in its first state are counted, the others follow from the counts of `pairs`, as
    :func:`count_pairs` makes them. Sets with more than `most` such cells are left out; their number is returned. O(n
    d^2 d_i / 64) for a set of two; sets with the same first column are faster side by side.
    """
    first, d_i, n_words = starts[target], starts[target + 1] - starts[target] + 1, words.shape[1]
    # The rows in each state of the first column and of the target, but their first ones.
    joined, known = np.empty((most, n_words), np.uint64), np.int64(-1)
    total, alone = common(valid, valid), np.diag(pairs)
    at, skipped = 0, 0
    for s in range(len(sets)):
        k = sets[s, 0]
        j = sets[s, 1] if sets.shape[1] > 1 else np.int64(-1)
        of_k, d_k = starts[k] - 1, starts[k + 1] - starts[k] + 1
        of_j, d_j = (starts[j] - 1, starts[j + 1] - starts[j] + 1) if j >= 0 else (np.int64(0), np.int64(1))
        base, at = at, at + d_k * d_j * d_i
        if (d_k - 1) * max(d_j - 1, 1) * (d_i - 1) > most:
            skipped += 1
            continue
        if j >= 0 and k != known:
            known = k
            for x in range(1, d_k):
                for z in range(1, d_i):
                    line = joined[(x - 1) * (d_i - 1) + z - 1]
                    for w in range(n_words):
                        line[w] = words[of_k + x, w] & words[first + z - 1, w] & valid[w]
        # For the first state of the target rows in any state of it are counted before.
        for z in range(d_i):
            c = first + z - 1
            rest = float(alone[c] if z else total)
            for y in range(1, d_j):
                b = of_j + y
                of_y = float(pairs[c, b] if z else alone[b])
                rest -= of_y
                for x in range(1, d_k):
                    if z:
                        number = 0
                        for w in range(n_words):
                            number += popcount(joined[(x - 1) * (d_i - 1) + z - 1, w] & words[b, w])
                    else:
                        number = pairs[of_k + x, b]
                    out[base + (x * d_j + y) * d_i + z] = number
                    of_y -= number
                out[base + y * d_i + z] = of_y
            for x in range(1, d_k):
                a = of_k + x
                of_x = float(pairs[c, a] if z else alone[a])
                for y in range(1, d_j):
                    of_x -= out[base + (x * d_j + y) * d_i + z]
                out[base + x * d_j * d_i + z] = of_x
                rest -= of_x
            out[base + z] = rest
        for cell in range(base, at, d_i):
            for z in range(1, d_i):
                out[cell] -= out[cell + z]
    return skipped


@outer
def weigh_sets(columns, weights, cards, target, sets, least, out):
    """Do the same for one or more columns row by row; only for sets with more than `least` cells.

    `columns` has a row for each variable, and rows have weights. O(n) for a set; those that differ in the last column
    alone are faster side by side. What is filled is zero before.
    """
    n, t, d_i, of_target = columns.shape[1], sets.shape[1], cards[target], columns[target]
    index, known, at = np.zeros(n, np.int64), -1, 0
    for s in range(len(sets)):
        size, inside = d_i, d_i - 1
        for e in range(t):
            size *= cards[sets[s, e]]
            inside *= cards[sets[s, e]] - 1
        table, last, d = out[at : at + size], columns[sets[s, t - 1]], cards[sets[s, t - 1]]
        at += size
        if inside <= least:
            continue
        same = known >= 0
        for e in range(t - 1):
            same = same and sets[s, e] == sets[known, e]
        if not same:
            index[:] = 0
            for e in range(t - 1):
                column, d_e = columns[sets[s, e]], cards[sets[s, e]]
                for r in range(n):
                    index[r] = index[r] * d_e + column[r]
        known = s
        for r in range(n):
            table[(index[r] * d + last[r]) * d_i + of_target[r]] += weights[r]
