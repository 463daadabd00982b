"""Levels of targets whose scores are kept up to date instead of being recomputed.

For each target the level ``L`` is the set of its candidates that come before it. Its score (see
:mod:`cslearn.stagings.level`) needs, for every root ``k`` and state ``x``, the sum over ``j`` in ``L`` of the splits
``w(k, x, j)``. Relative to the stop ``z(x_k = x)`` these sums are kept for all candidates ``k``, so that the score of a
level with one variable more or less takes O(|L| d) instead of O(|L|^2 d), by additions and multiplications alone.

With many rows these numbers span more orders of magnitude than a double holds, and have exponents of their own
(:mod:`cslearn._kernels.wide_numbers`). Where all variables are binary, a target none of whose scores can pass the range
of a double is *light*: its exponents are zero and left alone. One variable of more states makes the arrays of all
targets wider, and then none is.
"""

from collections import namedtuple
from math import log, nan

import numpy as np

from cslearn._kernels import inner
from cslearn._kernels.wide_numbers import LOG_BASE, SMALLEST_REST, STOP, ZERO_EXPONENT, lost, minus, normal, plus

__all__ = ["Problem", "State", "fill", "join", "leave", "log_score", "new_state", "sum_of_stagings"]

# What does not change.
#   stop[i]                  log z of the whole level
#   root, root_e[i, k]       product over x of z(x_k = x), relative to the whole level
#   width                    the largest cardinality d, so that the arrays below are m x d for each target
#   pair, pair_e[i, j, k, x] w(k, x, j) relative to z(x_k = x); flat, as are the sums below: one index is computed once
#   columns[i, k]            the candidates of i, of which there are n_candidates[i]; place[i, column] finds them again
#   kind[column]             cardinalities that are equal are of one kind
#   weights[m, kind]         the prior's weights in a level of m variables, of a stop and of a split at a root's state
#   whole[m], both[m]        ... of the whole level, and of a full split on a pair beyond its two trees (or less than 0)
#   ..._e                    their exponents, which are zero but for priors that make a stop or a split cost 40 nats
#   costly                   whether there are such weights: then what is small beside a stop may matter
#   norm, norm_e[m, kind]    the term of a root in the normaliser
#   light[i]                 whether target i needs no exponents, with no variable of more than two states
#   before[i, j]             whether i must come before j
Problem = namedtuple(
    "Problem",
    "beta width stop root root_e pair pair_e n_candidates columns place cards kind stop_weight stop_weight_e"
    " split_weight split_weight_e whole whole_e both both_e norm norm_e costly light before",
)
# The order and where each variable stands in it. For each target, in the row of its number: the members of its level
# as a list and where each candidate stands in it (-1: nowhere), their number, how many of each kind, the sums of splits
# and of full splits, the score, and a bound on the changes since the sums were made. One row more is for trials.
State = namedtuple("State", "order position members slot size kinds sums sums_e full full_e score changes")


def new_state(problem):
    """Return a state with room for everything; :func:`set_order` fills it."""
    p, m = problem.columns.shape
    d = problem.width
    return State(
        np.zeros(p, np.int64),
        np.zeros(p, np.int64),
        np.zeros((p + 1, m), np.int64),
        np.full((p + 1, m), -1, np.int64),
        np.zeros(p + 1, np.int64),
        np.zeros((p + 1, problem.norm.shape[1]), np.int64),
        np.zeros((p + 1) * m * d),
        np.full((p + 1) * m * d, ZERO_EXPONENT, np.int64),
        np.zeros((p + 1) * m),
        np.full((p + 1) * m, ZERO_EXPONENT, np.int64),
        np.zeros(p),
        np.zeros(p, np.int64),
    )


@inner
def _lost(rest, rest_e, total, total_e, strict):
    """Tell whether too little is left of a sum, even if that is small beside a stop (`strict`).

    With many states a product of stops may be far smaller than a single one, and a prior may make a stop costly.
    """
    if not strict:
        return lost(rest, rest_e, total, total_e)
    return total > 0.0 and (rest_e != total_e or rest < SMALLEST_REST * total)


@inner
def sum_of_stagings(problem, i, state, row, v, sign, m):
    """Sum over the stagings of the level in `row`, if candidate v joins (sign 1) or leaves (-1) it.

    Of target i, relative to the whole level, with the prior's weights in a level of `m` variables. It is not a number
    where too little would be left of a sum: then the level without v must be made anew (:func:`fill`).
    """
    pair, pair_e, root, root_e = problem.pair, problem.pair_e, problem.root, problem.root_e
    members, sums, sums_e, full, full_e = state.members, state.sums, state.sums_e, state.full, state.full_e
    columns, cards, kinds = problem.columns, problem.cards, problem.kind
    stop_weights, split_weights = problem.stop_weight, problem.split_weight
    beta, size, d, wide = problem.beta, state.size[row], problem.width, members.shape[1]
    of_v, of_row = (i * wide + v) * wide, row * wide
    both = problem.both[m]
    both_e = problem.both_e[m]
    total, total_e = problem.whole[m], problem.whole_e[m]

    # The members, and after them the variable that joins.
    number = size + (1 if sign > 0 else 0) if beta > 0 else 0
    if problem.light[i]:
        kind = problem.norm.shape[1] - 1
        stop, split = stop_weights[m, kind], split_weights[m, kind]
        # A full split on a pair is reached from both its roots; the prior may add to it or take half of it off each.
        for t in range(number if sign >= 0 else 0):
            k = members[row, t] if t < size else v
            at = of_row + k
            first, second, twice = sums[2 * at], sums[2 * at + 1], full[at]
            if sign > 0 and t < size:
                there = of_v + k
                twice += pair[2 * there] * pair[2 * there + 1]
                first += pair[2 * there]
                second += pair[2 * there + 1]
            total += root[i, k] * ((stop + split * first) * (stop + split * second) + both * twice)
        for t in range(number if sign < 0 else 0):
            k = members[row, t]
            if k == v:
                continue
            at, there = of_row + k, of_v + k
            twice = full[at] - pair[2 * there] * pair[2 * there + 1]
            first = sums[2 * at] - pair[2 * there]
            second = sums[2 * at + 1] - pair[2 * there + 1]
            if (
                twice + STOP < SMALLEST_REST * full[at]
                or first + STOP < SMALLEST_REST * sums[2 * at]
                or second + STOP < SMALLEST_REST * sums[2 * at + 1]
            ):
                return nan, total_e
            total += root[i, k] * ((stop + split * first) * (stop + split * second) + both * twice)
    else:
        for t in range(number):
            k = members[row, t] if t < size else v
            if k == v and sign < 0:
                continue
            column = columns[i, k]
            d_k, kind = cards[column], kinds[column]
            stop, weight = stop_weights[m, kind], split_weights[m, kind]
            stop_e, weight_e = problem.stop_weight_e[m, kind], problem.split_weight_e[m, kind]
            value, value_e = 1.0, np.int64(0)
            if beta == 1:
                for _ in range(d_k):
                    value, value_e = normal(value * stop, value_e + stop_e)
            else:
                changes = sign != 0 and k != v
                added, added_e = 1.0, np.int64(0)
                for x in range(d_k):
                    at, there = (of_row + k) * d + x, (of_v + k) * d + x
                    split, split_e = sums[at], sums_e[at]
                    if changes:
                        term, term_e = pair[there], np.int64(pair_e[there])
                        added, added_e = normal(added * term, added_e + term_e)
                        if sign > 0:
                            split, split_e = plus(split, split_e, term, term_e)
                        else:
                            rest, rest_e = minus(split, split_e, term, term_e)
                            if _lost(rest, rest_e, split, split_e, problem.costly):
                                return nan, total_e
                            split, split_e = rest, rest_e
                    split, split_e = weight * split, split_e + weight_e
                    if weight_e != 0:
                        split, split_e = normal(split, split_e)
                    bracket, bracket_e = plus(stop, stop_e, split, split_e)
                    value, value_e = normal(value * bracket, value_e + bracket_e)
                twice, twice_e = full[of_row + k], full_e[of_row + k]
                if changes:
                    if sign > 0:
                        twice, twice_e = plus(twice, twice_e, added, added_e)
                    else:
                        rest, rest_e = minus(twice, twice_e, added, added_e)
                        if _lost(rest, rest_e, twice, twice_e, problem.costly or d_k > 20):
                            return nan, total_e
                        twice, twice_e = rest, rest_e
                twice, twice_e = both * twice, twice_e + both_e
                if both_e != 0:
                    twice, twice_e = normal(twice, twice_e)
                value, value_e = plus(value, value_e, twice, twice_e)
            value, value_e = normal(value * root[i, k], value_e + root_e[i, k])
            total, total_e = plus(total, total_e, value, value_e)
    return total, total_e


@inner
def log_score(problem, i, state, row, v, sign):
    """Log local order score of target i with the level in `row`, if candidate v joins (sign 1) or leaves (-1) it."""
    m = state.size[row] + sign
    total, total_e = sum_of_stagings(problem, i, state, row, v, sign, m)
    # The prior's sum over all stagings of the level.
    norm, norm_e = problem.whole[m], problem.whole_e[m]
    if problem.beta > 0 and m > 0:
        moving = problem.kind[problem.columns[i, v]] if sign != 0 else -1
        for kind in range(problem.norm.shape[1]):
            number = state.kinds[row, kind] + (sign if kind == moving else 0)
            if number > 0:
                norm, norm_e = plus(norm, norm_e, number * problem.norm[m, kind], problem.norm_e[m, kind])
        if problem.beta >= 2:
            norm, norm_e = plus(norm, norm_e, m * (m - 1) * problem.both[m], problem.both_e[m])
    return problem.stop[i] + log(total / norm) + (total_e - norm_e) * LOG_BASE


@inner
def join(problem, i, state, row, v):
    """Let candidate v join the level in `row`, which is one of target i."""
    size = state.size[row]
    state.members[row, size] = v
    state.slot[row, v] = size
    state.size[row] = size + 1
    state.kinds[row, problem.kind[problem.columns[i, v]]] += 1
    if problem.beta < 2:
        return
    pair, pair_e, columns, cards = problem.pair, problem.pair_e, problem.columns, problem.cards
    sums, sums_e, full, full_e = state.sums, state.sums_e, state.full, state.full_e
    d, wide = problem.width, state.members.shape[1]
    of_v, of_row = (i * wide + v) * wide, row * wide
    if problem.light[i]:
        # The split of a variable on itself is zero.
        for q in range(problem.n_candidates[i] * 2):
            sums[of_row * 2 + q] += pair[of_v * 2 + q]
        for k in range(problem.n_candidates[i]):
            full[of_row + k] += pair[(of_v + k) * 2] * pair[(of_v + k) * 2 + 1]
        return
    for k in range(problem.n_candidates[i]):
        if k != v:
            added, added_e = 1.0, np.int64(0)
            for x in range(cards[columns[i, k]]):
                at, there = (of_row + k) * d + x, (of_v + k) * d + x
                term, term_e = pair[there], np.int64(pair_e[there])
                sums[at], sums_e[at] = plus(sums[at], sums_e[at], term, term_e)
                added, added_e = normal(added * term, added_e + term_e)
            full[of_row + k], full_e[of_row + k] = plus(full[of_row + k], full_e[of_row + k], added, added_e)


@inner
def leave(problem, i, state, row, v):
    """Let candidate v leave the level in `row`, which is one of target i.

    Tells whether it could: if too little were left of a sum, the level must be made anew (:func:`fill`).
    """
    pair, pair_e, columns, cards = problem.pair, problem.pair_e, problem.columns, problem.cards
    sums, sums_e, full, full_e = state.sums, state.sums_e, state.full, state.full_e
    d, wide = problem.width, state.members.shape[1]
    of_v, of_row = (i * wide + v) * wide, row * wide
    number = problem.n_candidates[i] if problem.beta >= 2 else 0
    if problem.light[i]:
        for k in range(number):
            at, there = of_row + k, of_v + k
            for q in range(2):
                rest = sums[2 * at + q] - pair[2 * there + q]
                if rest + STOP < SMALLEST_REST * sums[2 * at + q]:
                    return False
                sums[2 * at + q] = rest
            rest = full[at] - pair[2 * there] * pair[2 * there + 1]
            if rest + STOP < SMALLEST_REST * full[at]:
                return False
            full[at] = rest
        number = 0
    for k in range(number):
        if k == v:
            continue
        added, added_e = 1.0, np.int64(0)
        for x in range(cards[columns[i, k]]):
            at, there = (of_row + k) * d + x, (of_v + k) * d + x
            term, term_e = pair[there], np.int64(pair_e[there])
            added, added_e = normal(added * term, added_e + term_e)
            rest, rest_e = minus(sums[at], sums_e[at], term, term_e)
            if _lost(rest, rest_e, sums[at], sums_e[at], problem.costly):
                return False
            sums[at], sums_e[at] = rest, rest_e
        at = of_row + k
        rest, rest_e = minus(full[at], full_e[at], added, added_e)
        if _lost(rest, rest_e, full[at], full_e[at], problem.costly or cards[columns[i, k]] > 20):
            return False
        full[at], full_e[at] = rest, rest_e
    last = state.members[row, state.size[row] - 1]
    state.members[row, state.slot[row, v]] = last
    state.slot[row, last] = state.slot[row, v]
    state.slot[row, v] = -1
    state.size[row] -= 1
    state.kinds[row, problem.kind[columns[i, v]]] -= 1
    return True


@inner
def fill(problem, i, state, row, end, without):
    """Make the level in `row` of the candidates of target i in the first `end` places of the order, but for one."""
    wide, d = state.members.shape[1], problem.width
    for q in range(row * wide * d, (row + 1) * wide * d):
        state.sums[q] = 0.0
        state.sums_e[q] = ZERO_EXPONENT
    for k in range(wide):
        state.full[row * wide + k] = 0.0
        state.full_e[row * wide + k] = ZERO_EXPONENT
        state.slot[row, k] = -1
    for kind in range(state.kinds.shape[1]):
        state.kinds[row, kind] = 0
    state.size[row] = 0
    for t in range(end):
        place = problem.place[i, state.order[t]]
        if place >= 0 and place != without:
            join(problem, i, state, row, place)
