"""CS-BDeu scores of contexts, from their counts."""

from math import lgamma

from cslearn._kernels import inner, outer

__all__ = ["score_cells", "score_pairs"]


@inner
def _log_z(counts, first, last, a_stage, a_cell, base_stage, base_cell, exact):
    """Log marginal likelihood of ``counts[first:last]``, those of a stage; `exact` maps whole counts to log-gammas.

    ``exact[0, c] = lgamma(a_stage + c) - lgamma(a_stage)`` and likewise ``exact[1, c]`` for a cell; if it is empty
    the log-gammas are computed, and those of the prior counts alone are `base_stage` and `base_cell`.
    """
    total = 0.0
    score = 0.0
    if exact.shape[1]:
        for c in range(first, last):
            total += counts[c]
            score += exact[1, int(counts[c])]
        return score - exact[0, int(total)]
    for c in range(first, last):
        if counts[c] > 0.0:
            total += counts[c]
            score += lgamma(a_cell + counts[c]) - base_cell
    return score - lgamma(a_stage + total) + base_stage if total > 0.0 else 0.0


@inner
def _bases(a_stage, d_i, exact):
    """Return the log-gammas of the prior counts of a stage and of a cell, if they are not looked up."""
    return (0.0, 0.0) if exact.shape[1] else (lgamma(a_stage), lgamma(a_stage / d_i))


@outer
def score_cells(counts, sizes, d_i, ess, log_gammas, entry, out):
    """Fill `out` with the log scores of the contexts of some tables of counts, one table after the other.

    Parameters
    ----------
    counts : ndarray of float, flat
        As :func:`cslearn.counts.joint_counts` returns them.
    sizes : ndarray of int
        The number of contexts of each table.
    log_gammas, entry
        ``log_gammas[entry[q]]`` is for the contexts of a table of `q`.
    """
    at = 0
    for q in sizes:
        a_stage = ess / q
        exact = log_gammas[entry[q]]
        base_stage, base_cell = _bases(a_stage, d_i, exact)
        for cell in range(at, at + q):
            here = cell * d_i
            out[cell] = _log_z(counts, here, here + d_i, a_stage, a_stage / d_i, base_stage, base_cell, exact)
        at += q


@inner
def _score_pair(counts, at, d_k, d_j, d_i, ess, exact, of_k, of_j):
    """Score the contexts of two candidates; add up over the states of j in `of_k`, of k in `of_j`."""
    a_stage = ess / (d_k * d_j)
    base_stage, base_cell = _bases(a_stage, d_i, exact)
    for x in range(d_k):
        of_k[x] = 0.0
    for y in range(d_j):
        of_j[y] = 0.0
    for x in range(d_k):
        for y in range(d_j):
            score = _log_z(counts, at, at + d_i, a_stage, a_stage / d_i, base_stage, base_cell, exact)
            of_k[x] += score
            of_j[y] += score
            at += d_i


@outer
def score_pairs(counts, cards, d_i, first, second, ess, log_gammas, entry, pair):
    """Fill `pair` with the log scores of contexts of two candidates, added up over the states of one of them.

    Parameters
    ----------
    counts : ndarray of float, flat
        As :func:`cslearn.counts.joint_counts` returns them for the pairs.
    cards : ndarray of int, shape (m,)
        Cardinalities of the candidates.
    first, second : ndarray of int
        Positions of the candidates of each pair.
    pair : ndarray of float, shape (m, m, d)
        ``pair[j, k, x]`` is the sum over ``y`` of log z of ``x_k = x, x_j = y``.
    """
    at = 0
    for s in range(len(first)):
        k, j = first[s], second[s]
        exact = log_gammas[entry[cards[k] * cards[j]]]
        _score_pair(counts, at, cards[k], cards[j], d_i, ess, exact, pair[j, k], pair[k, j])
        at += cards[k] * cards[j] * d_i
