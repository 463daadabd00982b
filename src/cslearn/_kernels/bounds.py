"""Upper bounds of the weights of stagings with given variables in all of their stages, where weights belong to trees.

For a context over some variables and a set ``D`` of others, ``exactly`` bounds the stagings below it with ``D``, and
nothing else, in all stages, and ``at_least`` those with ``D``, and maybe more. See :mod:`cslearn.stagings.best`.
"""

from math import inf

import numpy as np

from cslearn._kernels import inner, outer
from cslearn._kernels.deep import n_bits
from cslearn._kernels.log_domain import plus

__all__ = ["bounds_of_sets"]


@inner
def _add_below(cards, own, whole, values, begin, end, out, at):
    """Add to the entry of `out` of each context over `own` the values, from `begin`, of those over `whole` below it."""
    for cell in range(end - begin):
        rest, place, stride = cell, at, 1
        for k in range(len(cards) - 1, -1, -1):
            if (whole >> k) & 1:
                if (own >> k) & 1:
                    place += rest % cards[k] * stride
                    stride *= cards[k]
                rest //= cards[k]
        out[place] += values[begin + cell]


@outer
def bounds_of_sets(cards, masks, wider, offset, log_splits, stages, start, lines, exactly, at_least):
    """Fill `exactly` and `at_least`.

    Parameters
    ----------
    cards : ndarray of int, shape (m,)
    masks : ndarray of int, shape (sets,)
        The sets of at most as many variables as the context bound, as bits, smaller ones first.
    wider : ndarray of int, shape (sets below the bound, m)
        The number of the set with one variable more.
    offset : ndarray of int, shape (sets, 2^beta + 1)
        ``offset[s, sub]``: where the contexts over a subset of set s begin, ``D`` being the rest of the set. Bit i of
        `sub` stands for variable i of the set, ascending.
    log_splits : ndarray, shape (beta, beta)
        ``log_splits[t, r - 1]``: the log-weight of a split on r variables below a context of t.
    stages : ndarray, flat
        The log-weights of contexts with fewer variables than the bound, those of set s from ``start[s]``.
    start : ndarray of int, shape (sets + 1,)
    lines : ndarray, flat
        The log-weights of those with as many, summed over the states of one of the variables: from the last set to the
        first, and in it from the first variable to the last.
    exactly, at_least : ndarray, flat

    Notes
    -----
    O(sum over k up to beta of C(m, k) (1 + 2 d)^k).
    """
    beta, m = len(log_splits), len(cards)
    local = np.empty(m, np.int64)
    # For sets that reach the bound, the sums over the states of all variables that are not in the context.
    full = np.zeros(len(exactly))
    line = 0
    for s in range(len(masks) - 1, -1, -1):
        size = 0
        for k in range(m):
            if (masks[s] >> k) & 1:
                local[size] = cards[k]
                size += 1
        own, everyone = local[:size], (1 << size) - 1
        for sub in range(everyone, -1, -1):
            begin, end = offset[s, sub], offset[s, sub + 1]
            free, t = everyone & ~sub, n_bits(sub)
            for cell in range(begin, end):
                exactly[cell] = stages[start[s] + cell - begin] if sub == everyone else -inf
            if size == beta and t == beta - 1:
                for cell in range(begin, end):
                    full[cell] = lines[line]
                    line += 1
            elif size == beta and t < beta - 1:
                more = sub | (free & -free)
                _add_below(own, sub, more, full, offset[s, more], offset[s, more + 1], full, begin)
            chosen = free
            while chosen:
                weight = log_splits[t, n_bits(chosen) - 1]
                if weight > -inf:
                    below = np.zeros(end - begin)
                    both = sub | chosen
                    if both == everyone and size == beta:
                        for cell in range(begin, end):
                            below[cell - begin] = full[cell]
                    else:
                        _add_below(own, sub, both, at_least, offset[s, both], offset[s, both + 1], below, 0)
                    for cell in range(begin, end):
                        exactly[cell] = plus(exactly[cell], weight + below[cell - begin])
                chosen = (chosen - 1) & free
            for cell in range(begin, end):
                at_least[cell] = exactly[cell]
            for k in range(m if size < beta else 0):
                if (masks[s] >> k) & 1 == 0:
                    other = wider[s, k]
                    low = n_bits(masks[s] & ((1 << k) - 1))
                    moved = (sub & ((1 << low) - 1)) | ((sub >> low) << (low + 1))
                    for cell in range(begin, end):
                        at_least[cell] = max(at_least[cell], at_least[offset[other, moved] + cell - begin])
