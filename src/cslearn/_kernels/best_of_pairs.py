"""The best staging of a level with at most two context variables.

The maxima of :meth:`cslearn.stagings.level.LevelWeights.maximum` in plain loops, O(m^2 d) for `m` variables of
cardinality `d`: of ties a stop is taken, otherwise the first option with the fewest stages.
"""

from math import inf

from cslearn._kernels import inner, outer

__all__ = ["best_of_two"]


@inner
def _enough(top, tolerance):
    """Return what an option must be worth to be tied with the best."""
    return top - tolerance * max(1.0, abs(top)) if top > -inf else top


@inner
def _best_cell(cards, k, stop, splits, weights, tolerance):
    """Return value, number of stages and split (-1: stop) of the best that can become of one state of root k."""
    top = stop
    for j in range(len(cards)):
        if j != k:
            top = max(top, splits[j] + weights[j])
    enough = _enough(top, tolerance)
    if stop >= enough:
        return stop, 1, -1
    best = -1
    for j in range(len(cards)):
        if j != k and splits[j] + weights[j] >= enough and (best < 0 or cards[j] < cards[best]):
            best = j
    return splits[best] + weights[best], cards[best], best


@outer
def best_of_two(
    cards, whole, single, split, root_weights, split_weights, pair_weights, tolerance, values, counts, cells
):
    """Return the largest log-weight, and the root: -1 for the whole level, ``m + k m + j`` for a full split on a pair.

    Parameters
    ----------
    cards : ndarray of int, shape (m,)
    whole : float
        Log-weight of the whole level as a stage.
    single : ndarray, shape (m, d)
        Those of stages with one context variable.
    split : ndarray, shape (m, d, m)
        ``split[k, x, j]``: summed over the states of j, those of the stages with state x of k and a state of j.
    root_weights, split_weights : ndarray, shape (m,)
        Log-weights of a root, and of a split below one.
    pair_weights : ndarray, shape (m, m)
        Log-weights of a full split on a pair; minus infinity where it counts as a root with the same split everywhere.
    tolerance : float
    values, counts : ndarray, shape (m + m * m,)
        Room for the values and numbers of stages of all options.
    cells : ndarray of int, shape (m, d)
        Is filled with the split at each state of each root, -1 for a stop.
    """
    m = len(cards)
    top = whole
    for k in range(m):
        values[k], counts[k] = root_weights[k], 0
        for x in range(cards[k]):
            value, number, cells[k, x] = _best_cell(cards, k, single[k, x], split[k, x], split_weights, tolerance)
            values[k] += value
            counts[k] += number
        top = max(top, values[k])
        for j in range(m):
            at = m + k * m + j
            values[at], counts[at] = -inf, 0
            if j > k and pair_weights[k, j] > -inf:
                values[at], counts[at] = pair_weights[k, j], cards[k] * cards[j]
                for x in range(cards[k]):
                    values[at] += split[k, x, j]
                top = max(top, values[at])
    enough = _enough(top, tolerance)
    if whole >= enough:
        return whole, -1
    best = -1
    for at in range(m + m * m):
        if values[at] >= enough and (best < 0 or counts[at] < counts[best]):
            best = at
    return values[best], best
