"""Log scores of contexts of any number of variables, for few candidates."""

from math import lgamma

import numpy as np

from cslearn._kernels import maker, outer

__all__ = ["score_blocks"]


@maker
def _score_cells(codes, weights, cards, target, columns, ess, index):
    """Return the log scores of the contexts over some columns, by their states, the last column's fastest."""
    n, d_i = codes.shape[1], cards[target]
    cells = 1
    index[:] = 0
    for column in columns:
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
    scores = np.zeros(cells)
    for cell in range(cells):
        score, total = 0.0, 0.0
        for x in range(d_i):
            if counts[cell, x] > 0:
                score += lgamma(a_cell + counts[cell, x]) - base_cell
                total += counts[cell, x]
        if total > 0:
            score += base_stage - lgamma(a_stage + total)
        scores[cell] = score
    return scores


@outer
def score_blocks(codes, weights, cards, target, candidates, ess, sets, out):
    """Fill `out` with the log scores of the contexts over each set of candidates, one set after the other.

    Parameters
    ----------
    codes : ndarray of int, shape (p, n)
        One row for each variable.
    weights : ndarray of float, shape (n,)
    sets : ndarray of int, shape (number, t)
        Positions in `candidates`, ascending.
    out : ndarray of float, flat

    Notes
    -----
    O(number (n + d^(t + 1))).
    """
    index = np.empty(codes.shape[1], np.int64)
    at = 0
    for s in range(len(sets)):
        scores = _score_cells(codes, weights, cards, target, candidates[sets[s]], ess, index)
        out[at : at + len(scores)] = scores
        at += len(scores)
