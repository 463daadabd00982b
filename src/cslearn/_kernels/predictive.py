"""Predictions averaged over all stagings of a level with at most two context variables.

Of the stagings of a level, a row lies in the stage that the root ``k`` and below its state the split on ``j`` lead to
with the share that they have of the sum over all stagings (:mod:`cslearn._kernels.levels`), and there its state has the
posterior mean of that stage. Shares below a cut are not followed down: the row is left in the context above. What is
dropped is at most the cut for each split, and only as far as the means below differ from the one above.

Root after root is gone through for all levels at once. Rows with the same states of the root and of the target stand
side by side then, so that a split on ``j`` adds one number for each state of ``j``.
"""

import numpy as np

from cslearn._kernels import inner, outer
from cslearn._kernels.levels import fill, sum_of_stagings
from cslearn._kernels.wide_numbers import BASE, INVERSE, LARGE, SMALL, normal, plus

__all__ = ["predictive_of_levels"]


@inner
def _in_range(a, a_e):
    """Bring any number into the range of mantissas: light targets have large ones with the exponent zero."""
    while a > LARGE:
        a, a_e = a * INVERSE, a_e + 1
    while 0.0 < a < SMALL:
        a, a_e = a * BASE, a_e - 1
    return a, a_e


@inner
def _share(a, a_e, b, b_e):
    """Divide two numbers, of which the first is not larger by orders of magnitude."""
    if a_e == b_e:
        return a / b
    return a / b * INVERSE if a_e == b_e - 1 else a / b * BASE if a_e == b_e + 1 else 0.0


@inner
def _fill_means(codes, weights, cards, i, k, j, ess, gamma, out):
    """Fill ``out[x, y, z]`` with the posterior mean of state z of i given states x of k and y of j, or of none (-1)."""
    for x in range(out.shape[0]):
        for y in range(out.shape[1]):
            for z in range(out.shape[2]):
                out[x, y, z] = 0.0
    for r in range(codes.shape[1]):
        out[codes[k, r] if k >= 0 else 0, codes[j, r] if j >= 0 else 0, codes[i, r]] += weights[r]
    stage = ess * float(out.shape[0] * out.shape[1]) ** -gamma
    for x in range(out.shape[0]):
        for y in range(out.shape[1]):
            total = stage
            for z in range(out.shape[2]):
                total += out[x, y, z]
            for z in range(out.shape[2]):
                out[x, y, z] = (out[x, y, z] + stage / out.shape[2]) / total


@inner
def _add_split(moved, groups, shares, means, out, constant):
    """Add to each row, sorted by groups of equal states of root and target, the mean of its stage times its share.

    What all rows of a group have is added to its constant.
    """
    d_i = means.shape[2]
    for x in range(means.shape[0]):
        for z in range(d_i):
            group = x * d_i + z
            first = shares[x] * means[x, 0, z]
            constant[group] += first
            # Loops over slices from zero are those that the compiler makes into vector instructions.
            states, sums = moved[groups[group] : groups[group + 1]], out[groups[group] : groups[group + 1]]
            if means.shape[1] == 2:
                more = shares[x] * means[x, 1, z] - first
                for r in range(len(sums)):
                    sums[r] += more * states[r]
            else:
                for r in range(len(sums)):
                    sums[r] += shares[x] * means[x, states[r], z] - first


@inner
def _brackets(problem, state, i, k, size, brackets, brackets_e):
    """Fill the sums below each state of the root k, and return its product with the root, a number with exponent."""
    d, light, column = problem.width, problem.light[i], problem.columns[i, k]
    kind = problem.kind[column]
    stop, stop_e = problem.stop_weight[size, kind], problem.stop_weight_e[size, kind]
    split, split_e = problem.split_weight[size, kind], problem.split_weight_e[size, kind]
    value, value_e = _in_range(problem.root[i, k], np.int64(problem.root_e[i, k]))
    for x in range(problem.cards[column]):
        brackets[x], brackets_e[x] = stop, stop_e
        if problem.beta > 1:
            below_e = np.int64(0) if light else state.sums_e[k * d + x]
            below, below_e = _in_range(state.sums[k * d + x] * split, below_e + split_e)
            brackets[x], brackets_e[x] = plus(stop, stop_e, below, below_e)
        value, value_e = normal(value * brackets[x], value_e + brackets_e[x])
    return value, value_e


@inner
def _shares_of_split(problem, i, k, j, size, root, total, total_e, brackets, brackets_e, shares):
    """Fill the shares of the splits of the root k on j, by the state of k; return the largest."""
    column, wide = problem.columns[i, k], problem.columns.shape[1]
    kind, there = problem.kind[column], ((i * wide + j) * wide + k) * problem.width
    split, split_e = problem.split_weight[size, kind], problem.split_weight_e[size, kind]
    both, both_e = problem.both[size], problem.both_e[size]
    full, full_e = _in_range(problem.root[i, k], np.int64(problem.root_e[i, k]))
    largest = 0.0
    for x in range(problem.cards[column]):
        pair, pair_e = _in_range(problem.pair[there + x], np.int64(problem.pair_e[there + x]))
        shares[x] = root * _share(split * pair, split_e + pair_e, brackets[x], brackets_e[x])
        full, full_e = normal(full * pair, full_e + pair_e)
    # Of the full split on the pair there is more than its two trees, or less.
    more = both * _share(full, full_e + both_e, total, total_e) if both != 0.0 else 0.0
    for x in range(problem.cards[column]):
        shares[x] += more
        largest = max(largest, abs(shares[x]))
    return largest


@outer
def predictive_of_levels(problem, state, i, before, codes, weights, ess, gamma, rows, cut, out):
    """Fill ``out[level, row]`` with the probability of the state of variable i in a row, given those of a level.

    ``before[level, k]`` tells whether candidate k of i is in the level. Codes and rows have a row for each variable.
    """
    cards, columns, n_levels, n = problem.cards, problem.columns, len(before), rows.shape[1]
    m, d, d_i, light = problem.n_candidates[i], problem.width, problem.cards[i], problem.light[i]
    sizes, alone = np.zeros(n_levels, np.int64), np.zeros(n_levels)
    totals, totals_e = np.zeros(n_levels), np.zeros(n_levels, np.int64)
    roots, above, splits = np.zeros((n_levels, m)), np.zeros((n_levels, m, d)), np.zeros((n_levels, m), np.bool_)
    brackets, brackets_e = np.zeros((n_levels, m, d)), np.zeros((n_levels, m, d), np.int64)
    for level in range(n_levels):
        size = 0
        for k in range(m):
            if before[level, k]:
                state.order[size] = columns[i, k]
                size += 1
        fill(problem, i, state, np.int64(0), size, np.int64(-1))
        total, total_e = sum_of_stagings(problem, i, state, np.int64(0), np.int64(-1), np.int64(0), size)
        total, total_e = _in_range(total, np.int64(total_e))
        sizes[level], totals[level], totals_e[level] = size, total, total_e
        alone[level] = _share(problem.whole[size], problem.whole_e[size], total, total_e)
        both, both_e = problem.both[size], problem.both_e[size]
        for t in range(size if problem.beta > 0 else 0):
            k = state.members[0, t]
            value, value_e = _brackets(problem, state, i, k, size, brackets[level, k], brackets_e[level, k])
            root, whole = _share(value, value_e, total, total_e), 0.0
            if problem.beta > 1 and both != 0.0:
                full, full_e = _in_range(state.full[k], np.int64(0) if light else state.full_e[k])
                top, top_e = _in_range(problem.root[i, k], np.int64(problem.root_e[i, k]))
                full, full_e = normal(full * top, full_e + top_e)
                whole = both * _share(full, full_e + both_e, total, total_e)
            if abs(root) + abs(whole) < cut:
                alone[level] += root + whole
                continue
            roots[level, k] = root
            kind = problem.kind[columns[i, k]]
            stop, stop_e = problem.stop_weight[size, kind], problem.stop_weight_e[size, kind]
            for x in range(cards[columns[i, k]]):
                here = root * _share(stop, stop_e, brackets[level, k, x], brackets_e[level, k, x])
                above[level, k, x] = here
                splits[level, k] = splits[level, k] or abs(root - here) + abs(whole) >= cut
            if not splits[level, k]:
                above[level, k] = root + whole
    means = np.empty((1, 1, d_i))
    _fill_means(codes, weights, cards, i, np.int64(-1), np.int64(-1), ess, gamma, means)
    for level in range(n_levels):
        for r in range(n):
            out[level, r] = alone[level] * means[0, 0, rows[i, r]]

    shares, sums = np.empty(d), np.empty((n_levels, n))
    places, groups = np.empty(n, np.int64), np.empty(d * d_i + 1, np.int64)
    moved, constant = np.empty(n, np.int32), np.empty((n_levels, d * d_i))
    for k in range(m if problem.beta > 0 else 0):
        some = False
        for level in range(n_levels):
            some = some or roots[level, k] != 0.0
        if not some:
            continue
        column = columns[i, k]
        d_k = cards[column]
        groups[:] = 0
        for r in range(n):
            groups[rows[column, r] * d_i + rows[i, r] + 1] += 1
        for group in range(d_k * d_i):
            groups[group + 1] += groups[group]
        for r in range(n):  # where each row goes; the bounds of the groups move on, and are set back below
            group = rows[column, r] * d_i + rows[i, r]
            places[r] = groups[group]
            groups[group] += 1
        for group in range(d_k * d_i, 0, -1):
            groups[group] = groups[group - 1]
        groups[0] = 0
        sums[:] = 0.0
        constant[:] = 0.0
        for j in range(m if problem.beta > 1 else 0):
            known = False
            for level in range(n_levels):
                if j == k or not splits[level, k] or not before[level, j]:
                    continue
                largest = _shares_of_split(
                    problem,
                    i,
                    k,
                    j,
                    sizes[level],
                    roots[level, k],
                    totals[level],
                    totals_e[level],
                    brackets[level, k],
                    brackets_e[level, k],
                    shares,
                )
                if largest < cut:
                    for x in range(d_k):
                        above[level, k, x] += shares[x]
                    continue
                if not known:
                    known, other = True, columns[i, j]
                    means = np.empty((d_k, cards[other], d_i))
                    _fill_means(codes, weights, cards, i, column, other, ess, gamma, means)
                    for r in range(n):
                        moved[places[r]] = rows[other, r]
                _add_split(moved, groups, shares, means, sums[level], constant[level])
        means = np.empty((d_k, 1, d_i))
        _fill_means(codes, weights, cards, i, column, np.int64(-1), ess, gamma, means)
        for level in range(n_levels):
            if roots[level, k] != 0.0:
                for r in range(n):
                    x, z = rows[column, r], rows[i, r]
                    mean = above[level, k, x] * means[x, 0, z] + constant[level, x * d_i + z]
                    out[level, r] += mean + sums[level, places[r]]
