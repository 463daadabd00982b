"""Counts of a target and of every other variable in the rows of many contexts, on bit planes of codes.

Rows are gone through in blocks that fit into the cache, each block for all contexts, so a plane is read from memory, or
from a mapped file, once for a whole list of contexts, and nothing but the planes is held.
"""

import numpy as np

from cslearn._kernels import inner, outer
from cslearn._kernels.context_counts import choose_rows, common, popcount

__all__ = ["count_packed", "count_packed_own"]

# Words of the columns of a block that are held at once: 256 KB.
BLOCK_WORDS = 1 << 15
# A context is counted word by word where so few of its words hold rows: neighbouring words are counted many at a time.
SPARSE = 4


@inner
def _valid(n, at, chosen):
    """Set the bits of all rows of a block that begins at word `at`."""
    chosen[:] = ~np.uint64(0)
    if (at + len(chosen)) * 64 > n:
        chosen[-1] = (np.uint64(1) << np.uint64(n % 64)) - np.uint64(1)


@inner
def _restrict(planes, first, last, code, at, chosen):
    """Keep the rows in which a variable, whose planes are first:last, has a code."""
    for b in range(first, last):
        plane = planes[b]
        if (code >> (b - first)) & 1:
            for w in range(len(chosen)):
                chosen[w] &= plane[at + w]
        else:
            for w in range(len(chosen)):
                chosen[w] &= ~plane[at + w]


@inner
def _spread(planes, plane_starts, starts, at, words):
    """Fill a column of bits for each state but the first of each variable."""
    for k in range(len(starts) - 1):
        for x in range(1, starts[k + 1] - starts[k] + 1):
            column = words[starts[k] + x - 1]
            column[:] = ~np.uint64(0)
            _restrict(planes, plane_starts[k], plane_starts[k + 1], x, at, column)
    # Bits past the last row are zero in the planes, so that no state but the first is there.


@inner
def _add_dense(words, part, sums):
    for c in range(len(words)):
        sums[c] += common(part, words[c])


@inner
def _add_sparse(words, part, filled, number, sums):
    for c in range(len(words)):
        column, n = words[c], np.int64(0)
        for f in range(number):
            n += np.int64(popcount(part[filled[f]] & column[filled[f]]))
        sums[c] += n


@outer
def count_packed(planes, plane_starts, starts, n, begin, end, targets, pointers, variables, states, own, counts):
    """Add the rows of the words begin:end to ``own[r, y]`` and ``counts[r, y, c]``, which are as in `count_contexts`.

    They are defined in every context, whatever states the target has there.
    """
    width = starts[-1]
    block = max(8, BLOCK_WORDS // max(1, width))
    for at in range(begin, end, block):
        size = min(block, end - at)
        words, valid = np.empty((width, size), np.uint64), np.empty(size, np.uint64)
        chosen, part, filled = np.empty(size, np.uint64), np.empty(size, np.uint64), np.empty(size, np.int64)
        _valid(n, at, valid)
        _spread(planes, plane_starts, starts, at, words)
        for r in range(len(targets)):
            i = targets[r]
            choose_rows(words, starts, valid, pointers[r], pointers[r + 1], variables, states, chosen)
            number = 0
            for w in range(size):
                filled[number] = w
                number += chosen[w] != 0
            if not number:
                continue
            # All rows in the place of the first state: those of the others are taken away below.
            sparse, all_rows = number * SPARSE < size, counts[r, 0]
            own[r, 0] += common(chosen, chosen)
            if sparse:
                _add_sparse(words, chosen, filled, number, all_rows)
            else:
                _add_dense(words, chosen, all_rows)
            for y in range(1, starts[i + 1] - starts[i] + 1):
                column = words[starts[i] + y - 1]
                for w in range(size):
                    part[w] = chosen[w] & column[w]
                own[r, y] += common(part, part)
                if sparse:
                    _add_sparse(words, part, filled, number, counts[r, y])
                else:
                    _add_dense(words, part, counts[r, y])


@outer
def count_packed_own(planes, plane_starts, n, block, begin, end, targets, pointers, variables, states, cards, own):
    """Add the rows of the words begin:end to ``own[r, y]`` alone, in O(words) for each variable of a context."""
    for at in range(begin, end, block):
        size = min(block, end - at)
        chosen, part = np.empty(size, np.uint64), np.empty(size, np.uint64)
        for r in range(len(targets)):
            i = targets[r]
            _valid(n, at, chosen)
            for e in range(pointers[r], pointers[r + 1]):
                k = variables[e]
                _restrict(planes, plane_starts[k], plane_starts[k + 1], states[e], at, chosen)
            for y in range(cards[i]):
                part[:] = chosen
                _restrict(planes, plane_starts[i], plane_starts[i + 1], y, at, part)
                own[r, y] += common(part, part)
