"""Sums over the decision trees of a level for large context bounds.

Contexts are laid out by the sets of their variables, smaller sets first, and within a set by the states of its
variables, the last one fastest. The recursion is that of :mod:`cslearn.stagings.level`.
"""

from math import exp, inf, log, log1p

import numpy as np

from cslearn._kernels import inner, outer
from cslearn._kernels.log_domain import plus

__all__ = ["n_bits", "sums_of_sets"]


@inner
def n_bits(mask):
    """Return the number of bits."""
    number = 0
    while mask:
        mask &= mask - 1
        number += 1
    return number


@inner
def _add_below(cards, own, whole, values, digits, strides, out):
    """Add to the entry of `out` of each context over the variables `own` the values of those over `whole` below it."""
    stride, number = 1, 0
    for k in range(len(cards) - 1, -1, -1):
        if (whole >> k) & 1:
            digits[number] = cards[k]
            strides[number] = 0
            if (own >> k) & 1:
                strides[number] = stride
                stride *= cards[k]
            number += 1
    at = 0
    for cell in range(len(values)):
        out[at] += values[cell]
        place, rest = 0, cell + 1
        while place < number:
            d = digits[place]
            if rest % d:
                at += strides[place]
                break
            at -= (d - 1) * strides[place]
            rest //= d
            place += 1


@outer
def sums_of_sets(cards, masks, number_of, start, splits, stages, sums):
    """Fill `sums` with the log sum over the stagings below each context.

    Parameters
    ----------
    cards : ndarray of int, shape (m,)
    masks : ndarray of int, shape (sets,)
        The sets of at most as many variables as the context bound, as bits, smaller ones first.
    number_of : ndarray of int, shape (2^m,)
        The number of each of these sets.
    start : ndarray of int, shape (sets + 1,)
        Where the contexts of each begin in `stages` and `sums`.
    splits : ndarray, shape (beta, beta)
        ``splits[t, r - 1]``: the weight of a split on r variables below a context of t.
    stages, sums : ndarray, flat

    Notes
    -----
    O(sum over k up to beta of C(m, k) (2 d)^k).
    """
    beta, m = len(splits), len(cards)
    digits, strides = np.empty(m, np.int64), np.empty(m, np.int64)
    for s in range(len(masks) - 1, -1, -1):
        own = masks[s]
        t = n_bits(own)
        here = slice(start[s], start[s + 1])
        sums[here] = stages[here]
        if t == beta:
            continue
        cells = start[s + 1] - start[s]
        below, negative = np.empty(cells), np.full(cells, -inf)
        free = ((1 << m) - 1) & ~own
        chosen = free
        while chosen:
            r = n_bits(chosen)
            if r <= beta - t and splits[t, r - 1] != 0.0:
                whole = number_of[own | chosen]
                below[:] = 0.0
                _add_below(cards, own, own | chosen, sums[start[whole] : start[whole + 1]], digits, strides, below)
                weight = splits[t, r - 1]
                for cell in range(cells):
                    if weight > 0:
                        at = start[s] + cell
                        sums[at] = plus(sums[at], below[cell] + log(weight))
                    else:
                        negative[cell] = plus(negative[cell], below[cell] + log(-weight))
            chosen = (chosen - 1) & free
        for cell in range(cells):
            if negative[cell] > -inf:
                at = start[s] + cell
                sums[at] += log1p(-exp(negative[cell] - sums[at]))
