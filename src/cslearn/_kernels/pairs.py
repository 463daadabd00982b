"""The best staging with two variables k and l in all of its stages, where weights belong to decision trees.

Below each outcome of the pair there is a stop or a split on one further variable. The trees that draw such a staging
ask for both at once, for k and then l, or for l and then k, so that its weight is

    prod over cells of v * (both + k_first * prod over rows of e + l_first * prod over columns of e),

where a row, the cells with one state of k, has ``e = 1`` unless all its cells are split on the same j: then l and j may
change places, or be asked for at once, and ``e`` is the larger factor ``gain_row[j]``. So it is with columns.

Which cells are best depends on the lines, rows or columns, that are made alike in this way. Where lines of both
directions are, they meet, and so all are split on one and the same j. If only rows are, let G be the sum of their log
gains and C what they cost, as logs: the log-weight, ``log(rest + k_first * exp(G)) - C`` up to a constant, is convex in
(G, C), so that its largest value is at a corner of the convex hull of what can be had, where ``s G - C`` is largest for
a number s between 0 and 1. Given s each row decides for itself.
"""

from math import inf

import numpy as np

from cslearn._kernels import inner, outer
from cslearn._kernels.log_domain import plus

__all__ = ["best_of_pair", "best_pair"]

# Beside lines of the other direction all sets of lines are gone through if a direction has no more than so many;
# otherwise only those that cost least.
MOST_LINES = 10


@inner
def _lines(cell, split, gain, rest, first, choice):
    """Return the best log-weight with rows of which some are alike, each on its own variable; `choice` says which.

    ``choice[x]`` is the variable on which the row is split, or -1; ``rest`` the log-weight of the trees without gains.
    """
    rows, columns, others = split.shape
    costs = np.empty((rows, others))
    base = 0.0
    for x in range(rows):
        for y in range(columns):
            base += cell[x, y]
        for j in range(others):
            cost = 0.0
            for y in range(columns):
                cost += cell[x, y] - split[x, y, j]
            costs[x, j] = cost
    # The slopes at which a row changes its mind, from cells of their own to a variable, or from one to another.
    slopes = np.empty(rows * (others + others * (others - 1) // 2) + 2)
    slopes[0], slopes[1] = 0.0, 1.0
    found = 2
    for x in range(rows):
        for j in range(others):
            for i in range(-1, j):
                own = 0.0 if i < 0 else gain[i]
                cost = 0.0 if i < 0 else costs[x, i]
                if gain[j] != own and costs[x, j] < inf and cost < inf:
                    slope = (costs[x, j] - cost) / (gain[j] - own)
                    if 0.0 < slope < 1.0:
                        slopes[found] = slope
                        found += 1
    slopes[:found].sort()
    best = -inf
    picks = np.empty(rows, np.int64)
    for number in range(found - 1):
        slope = (slopes[number] + slopes[number + 1]) / 2
        whole, price = 0.0, 0.0
        for x in range(rows):
            picks[x] = -1
            top, of_pick, cost = 0.0, 0.0, 0.0
            for j in range(others):
                if costs[x, j] < inf and slope * gain[j] - costs[x, j] > top:
                    top, of_pick, cost = slope * gain[j] - costs[x, j], gain[j], costs[x, j]
                    picks[x] = j
            whole += of_pick
            price += cost
        value = base - price + plus(rest, first + whole)
        if value > best:
            best = value
            choice[:] = picks
    return best


@inner
def _crossing(cell, split, j, gain_row, gain_column, both, k_first, l_first, in_row, in_column):
    """Return the best log-weight with rows and columns that are all split on j; at least one line is left out of each.

    ``in_row[x]`` and ``in_column[y]`` say which lines these are.
    """
    rows, columns = cell.shape
    cost = cell - split[:, :, j]
    base = cell.sum()
    best = -inf
    extra = np.empty(columns)
    of_rows = np.empty(rows)
    for x in range(rows):
        of_rows[x] = cost[x].sum()
    order = np.argsort(of_rows)
    everything = rows <= MOST_LINES
    for number in range(1, (1 << rows) - 1 if everything else rows):
        price, lines = 0.0, 0
        extra[:] = 0.0
        for place in range(rows):
            x = order[place]
            if (number >> place) & 1 if everything else place < number:
                price += of_rows[x]
                lines += 1
            else:
                extra += cost[x]
        if price == inf:
            continue
        of_columns = np.argsort(extra)
        for end in range(columns - 1):
            price += extra[of_columns[end]]
            if price == inf:
                break
            trees = plus(both, plus(k_first + lines * gain_row, l_first + (end + 1) * gain_column))
            value = base - price + trees
            if value > best:
                best = value
                for place in range(rows):
                    in_row[order[place]] = (number >> place) & 1 if everything else place < number
                in_column[:] = False
                for place in range(end + 1):
                    in_column[of_columns[place]] = True
    return best


@inner
def best_of_pair(cell, split, gain_row, gain_column, both, k_first, l_first, least, choice):
    """Return the log-weight of the best staging with two variables in all stages, if it is above `least`.

    Otherwise minus infinity. Stagings without lines that are alike, and full splits on three, may be passed over.

    Parameters
    ----------
    cell : ndarray, shape (d_k, d_l)
        The log-weight of the best of a stop and all splits below each outcome of the pair.
    split : ndarray, shape (d_k, d_l, others)
        That of a split on each of the other variables.
    gain_row, gain_column : ndarray, shape (others,)
        What a line of cells gains that are all split on the same variable, as a log, at least 0.
    both, k_first, l_first : float
        The log-weights of asking for both at once, for k and then l below each of its states, for l and then k.
    least : float
    choice : ndarray of int, shape (d_k, d_l)
        Is filled with the variable on which each cell must be split, -1 for the best option.
    """
    rows, columns, others = split.shape
    base = cell.sum()
    top_row, top_column = gain_row.max(), gain_column.max()
    bound = base + plus(both, plus(k_first + rows * top_row, l_first + columns * top_column))
    if not bound > least:
        return -inf
    best = least
    turned, turned_split = np.ascontiguousarray(cell.T), np.ascontiguousarray(split.transpose(1, 0, 2))
    row_choice, column_choice = np.empty(rows, np.int64), np.empty(columns, np.int64)
    value = _lines(cell, split, gain_row, plus(both, l_first), k_first, row_choice)
    if value > best:
        best = value
        for x in range(rows):
            choice[x] = row_choice[x]
    value = _lines(turned, turned_split, gain_column, plus(both, k_first), l_first, column_choice)
    if value > best:
        best = value
        for x in range(rows):
            choice[x] = column_choice
    in_row, in_column = np.zeros(rows, np.bool_), np.zeros(columns, np.bool_)
    for j in range(others):
        row, column = gain_row[j], gain_column[j]
        if rows <= columns:
            value = _crossing(cell, split, j, row, column, both, k_first, l_first, in_row, in_column)
        else:
            value = _crossing(turned, turned_split, j, column, row, both, l_first, k_first, in_column, in_row)
        if value > best:
            best = value
            for x in range(rows):
                for y in range(columns):
                    choice[x, y] = j if in_row[x] or in_column[y] else -1
    return best if best > least else -inf


@outer
def best_pair(cell, split, gain_row, gain_column, both, k_first, l_first, least, choice):
    """Do the same, called from Python."""
    return best_of_pair(cell, split, gain_row, gain_column, both, k_first, l_first, least, choice)
