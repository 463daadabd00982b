"""Sums over the stagings of all levels that a candidate set can make, for two context variables.

A subset is a number whose bits are positions in the candidate set. For each root and state the sums of splits over all
subsets of the other candidates double in number with each of these: what there is, and the same with one more term. So
each of the 2^m levels of `m` candidates of cardinality `d` takes O(m d), by additions and multiplications in arrays in
one piece, and one logarithm. The numbers are those of :mod:`cslearn._kernels.levels`.
"""

from math import inf, log

import numpy as np

from cslearn._kernels import inner, outer
from cslearn._kernels.wide_numbers import LOG_BASE, ZERO_EXPONENT, normal, plus

__all__ = ["sums_of_levels"]


@inner
def _sum_subsets(k, terms, terms_e, sums, sums_e):
    """Fill the sums of the terms of all subsets of the candidates but for k."""
    sums[0], sums_e[0] = 0.0, ZERO_EXPONENT
    end = 1
    for j in range(len(terms)):
        if j != k:
            term, term_e = terms[j], np.int64(terms_e[j])
            for rest in range(end):
                sums[end + rest], sums_e[end + rest] = plus(sums[rest], sums_e[rest], term, term_e)
            end *= 2


@outer
def sums_of_levels(
    root, root_e, pair, pair_e, cards, kinds, stop_weight, split_weight, whole, both, both_e, more, found
):
    """Fill the log sums over the stagings of every level of a target, relative to the whole level as a stage.

    Parameters
    ----------
    root, root_e, pair, pair_e
        Those of the target in a Problem in which no target is light.
    cards, kinds : ndarray of int, shape (m,)
        Cardinality of each candidate, and its kind.
    stop_weight, split_weight, whole, both, both_e
        As in a Problem, in which no weight is costly.
    more : int
        The prior's weights are those of a level with so many variables besides the subset. Where it has none for so
        many the sum is zero.
    found : ndarray, shape (2^m,)
    """
    n, most = len(cards), len(whole) - 1
    size = np.zeros(1 << n, np.int64)
    for k in range(n):
        for subset in range(1 << k):
            size[(1 << k) + subset] = size[subset] + 1
    total, total_e = np.zeros(1 << n), np.zeros(1 << n, np.int64)
    for subset in range(1 << n):
        if size[subset] + more <= most:
            total[subset] = whole[size[subset] + more]

    # Numbers for all subsets of the candidates but one.
    half = 1 << max(n - 1, 0)
    sums, sums_e = np.empty(half), np.empty(half, np.int64)
    value, value_e = np.empty(half), np.empty(half, np.int64)
    added, added_e = np.empty(n), np.empty(n, np.int64)
    for k in range(n):
        stop, split = stop_weight[:, kinds[k]], split_weight[:, kinds[k]]
        value[:], value_e[:] = 1.0, 0
        added[:], added_e[:] = 1.0, 0
        for x in range(cards[k]):
            for j in range(n):
                added[j], added_e[j] = normal(added[j] * pair[j, k, x], added_e[j] + pair_e[j, k, x])
            _sum_subsets(k, pair[:n, k, x], pair_e[:n, k, x], sums, sums_e)
            for rest in range(half):
                m = min(size[rest] + 1 + more, most)
                bracket, bracket_e = plus(stop[m], np.int64(0), split[m] * sums[rest], sums_e[rest])
                value[rest], value_e[rest] = normal(value[rest] * bracket, value_e[rest] + bracket_e)
        # Full splits on a pair.
        _sum_subsets(k, added, added_e, sums, sums_e)
        for rest in range(half):
            m = size[rest] + 1 + more
            if m <= most:
                here, here_e = plus(value[rest], value_e[rest], both[m] * sums[rest], sums_e[rest] + both_e[m])
                here, here_e = normal(here * root[k], here_e + root_e[k])
                level = (rest & ((1 << k) - 1)) | (rest >> k << (k + 1)) | (1 << k)
                total[level], total_e[level] = plus(total[level], total_e[level], here, here_e)
    for subset in range(1 << n):
        found[subset] = log(total[subset]) + total_e[subset] * LOG_BASE if total[subset] > 0.0 else -inf
