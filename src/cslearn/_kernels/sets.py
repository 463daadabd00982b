"""Log scores of contexts of more than two variables, laid out in every order in which a tree may build them up."""

from math import lgamma

import numpy as np

from cslearn._kernels import outer

__all__ = ["score_sets"]


@outer
def score_sets(codes, weights, cards, target, candidates, ess, sets, orders, width, out, last_summed):
    """Add the log scores of the contexts over each set of candidates to `out`.

    Parameters
    ----------
    codes : ndarray of int, shape (p, n)
        One row for each variable.
    weights : ndarray of float, shape (n,)
    sets : ndarray of int, shape (number, t)
        Positions in `candidates`, ascending.
    orders : ndarray of int, shape (t!, t)
        All orders of t things.
    width : int
        The size of the axes of states.
    out : ndarray of float, flat
        Of shape ``(m, width) * t``; if `last_summed`, of shape ``(m, width) * (t - 1) + (m,)``, where the scores are
        summed over the states of the last variable.

    Notes
    -----
    O(number (n + d^t (d + t!))).
    """
    n, t, m, d_i = codes.shape[1], sets.shape[1], len(candidates), cards[target]
    index = np.empty(n, np.int64)
    states = np.empty(t, np.int64)
    for s in range(len(sets)):
        cells = 1
        index[:] = 0
        for a in range(t):
            column = candidates[sets[s, a]]
            d = cards[column]
            cells *= d
            for row in range(n):
                index[row] = index[row] * d + codes[column, row]
        counts = np.zeros((cells, d_i))
        for row in range(n):
            counts[index[row], codes[target, row]] += weights[row]
        a_stage = ess / cells
        a_cell = a_stage / d_i
        base_stage, base_cell = lgamma(a_stage), lgamma(a_cell)
        for cell in range(cells):
            score, total = 0.0, 0.0
            for x in range(d_i):
                if counts[cell, x] > 0:
                    score += lgamma(a_cell + counts[cell, x]) - base_cell
                    total += counts[cell, x]
            if total > 0:
                score += base_stage - lgamma(a_stage + total)
            rest = cell
            for a in range(t - 1, -1, -1):
                d = cards[candidates[sets[s, a]]]
                states[a] = rest % d
                rest //= d
            for o in range(len(orders)):
                at = 0
                for q in range(t):
                    a = orders[o, q]
                    at = at * m + sets[s, a]
                    if not (last_summed and q == t - 1):
                        at = at * width + states[a]
                out[at] += score
