"""CS-BDeu scores of all contexts of one or two variables, for one target at a time."""

from math import lgamma

import numpy as np
from numba import njit

__all__ = ["score_contexts"]


@njit(cache=True, nogil=True)
def _log_z(counts, a_stage, a_cell, exact):
    """Log marginal likelihood of the counts of a stage; `exact` maps whole counts to log-gammas.

    ``exact[0, c] = lgamma(a_stage + c) - lgamma(a_stage)`` and likewise ``exact[1, c]`` for a cell; without rows
    the log-gammas are computed.
    """
    total = 0.0
    score = 0.0
    if exact.shape[0]:
        for count in counts:
            total += count
            score += exact[1, int(count)]
        return score - exact[0, int(total)]
    for count in counts:
        if count > 0.0:
            total += count
            score += lgamma(a_cell + count) - lgamma(a_cell)
    return score - lgamma(a_stage + total) + lgamma(a_stage) if total > 0.0 else 0.0


@njit(cache=True, nogil=True)
def score_contexts(codes, weights, cards, target, candidates, ess, log_gammas, products, beta, single, pair):
    """Fill `single` and `pair` (shapes (m, d), (m, m, d)) with the log scores of one target.

    ``single[k, x]`` is log z of ``x_k = x`` and ``pair[j, k, x]`` the sum over ``y`` of log z of
    ``x_k = x, x_j = y``, with `k` and `j` positions in `candidates`. `weights` is empty for unweighted rows.
    ``log_gammas[q]`` is for contexts whose cardinalities multiply to ``products[q]`` (no rows: compute them).
    Cost O(m^2 (n + d^2 d_i)).
    """
    n = codes.shape[0]
    d_i = cards[target]
    m = len(candidates)
    y_i = codes[:, target]
    look_up = log_gammas.shape[0] > 0
    none = np.empty((0, 0))
    for k in range(m):
        x_k = codes[:, candidates[k]]
        d_k = cards[candidates[k]]
        counts = np.zeros((d_k, d_i))
        for r in range(n):
            counts[x_k[r], y_i[r]] += weights[r] if len(weights) else 1.0
        table = log_gammas[np.searchsorted(products, d_k)] if look_up else none
        for x in range(d_k):
            single[k, x] = _log_z(counts[x], ess / d_k, ess / (d_k * d_i), table)
        if beta < 2:
            continue
        pair[k, k, :d_k] = -np.inf
        for j in range(k):
            x_j = codes[:, candidates[j]]
            d_j = cards[candidates[j]]
            counts3 = np.zeros((d_k, d_j, d_i))
            if len(weights):
                for r in range(n):
                    counts3[x_k[r], x_j[r], y_i[r]] += weights[r]
            else:
                for r in range(n):
                    counts3[x_k[r], x_j[r], y_i[r]] += 1.0
            table = log_gammas[np.searchsorted(products, d_k * d_j)] if look_up else none
            q = d_k * d_j
            pair[j, k, :d_k] = 0.0
            pair[k, j, :d_j] = 0.0
            for x in range(d_k):
                for y in range(d_j):
                    score = _log_z(counts3[x, y], ess / q, ess / (q * d_i), table)
                    pair[j, k, x] += score
                    pair[k, j, y] += score
