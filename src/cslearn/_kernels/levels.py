"""Levels of targets whose scores are kept up to date instead of being recomputed.

For each target the level ``L`` is the set of its candidates that come before it. Its score (see
:mod:`cslearn.stagings.level`) needs, for every root ``k`` and state ``x``, the sum over ``j`` in ``L`` of the splits
``w(k, x, j)``. Relative to the stop ``z(x_k = x)`` these sums are kept for all candidates ``k``, so that the score of a
level with one variable more or less takes O(|L| d) instead of O(|L|^2 d), by additions and multiplications alone.

With many rows these numbers span more orders of magnitude than a double holds. Then a number is a pair of a double, the
mantissa, and an integer exponent to the base 2^128. Mantissas of factors lie within 2^-64 and 2^64, so that of two
numbers whose exponents differ by more than one the smaller does not matter. A target none of whose scores can pass the
range of a double is *light*: its exponents are all zero and are left alone.
"""

from collections import namedtuple
from math import exp, inf, log

import numpy as np
from numba import njit

__all__ = ["Problem", "State", "clear", "join", "leave", "log_score", "new_state"]

BASE = 2.0**128
INVERSE = 2.0**-128
LARGE = 2.0**64
SMALL = 2.0**-64
LOG_BASE = 128 * log(2.0)
ZERO_EXPONENT = -(2**28)

# A subtraction that would leave less than this part of a sum is replaced by a new sum, so that rounding errors stay
# small. Sums are added to a stop, which is worth at least STOP in the same unit: what is small beside it does not matter.
SMALLEST_REST = 1e-3
STOP = 0.5

# What does not change.
#   stop[i]                  log z of the whole level
#   root, root_e[i, k]       product over x of z(x_k = x), relative to the whole level
#   width                    the largest cardinality d, so that the arrays below are m x d for each target
#   pair, pair_e[i, j, k, x] w(k, x, j) relative to z(x_k = x); flat, as are the sums below: one index is computed once
#   columns[i, k]            the candidates of i, of which there are n_candidates[i]; place[i, column] finds them again
#   kind[column]             cardinalities that are equal are of one kind
#   weights[m, kind]         the prior's weights in a level of m variables, of a stop and of a split at a root's state
#   whole[m], both[m]        ... of the whole level, and of a full split on a pair
#   norm[m, kind], log_norm  the term of a root in the normaliser, relative to a number with that logarithm
#   light[i]                 whether the exponents of target i are all zero
#   before[i, j]             whether i must come before j
Problem = namedtuple(
    "Problem",
    "beta width stop root root_e pair pair_e n_candidates columns place cards kind stop_weight split_weight whole both"
    " norm log_norm light before",
)
# The order and where each variable stands in it. For each target, in the row of its number: the members of its level as
# a list and where each candidate stands in it (-1: nowhere), their number, how many of each kind, the sums of splits and
# of full splits, the score, and the number of changes since the sums were made. One row more is for trials.
State = namedtuple("State", "order position members slot size kinds sums sums_e full full_e score changes")


def new_state(problem):
    """Return a state with room for everything; :func:`set_order` fills it."""
    p, m = problem.columns.shape
    d = problem.width
    return State(
        np.zeros(p, np.int64),
        np.zeros(p, np.int64),
        np.zeros((p + 1, m), np.int32),
        np.full((p + 1, m), -1, np.int32),
        np.zeros(p + 1, np.int64),
        np.zeros((p + 1, problem.norm.shape[1]), np.int64),
        np.zeros((p + 1) * m * d),
        np.full((p + 1) * m * d, ZERO_EXPONENT, np.int32),
        np.zeros((p + 1) * m),
        np.full((p + 1) * m, ZERO_EXPONENT, np.int32),
        np.zeros(p),
        np.zeros(p, np.int64),
    )


@njit(cache=True, nogil=True)
def _plus(a, a_e, b, b_e):
    if a_e == b_e:
        return a + b, a_e
    if a_e < b_e:
        a, a_e, b, b_e = b, b_e, a, a_e
    return (a + b * INVERSE, a_e) if a_e == b_e + 1 else (a, a_e)


@njit(cache=True, nogil=True)
def _minus(a, a_e, b, b_e):
    """Subtract the smaller number b."""
    if a_e == b_e:
        return a - b, a_e
    if a_e == b_e + 1:
        return a - b * INVERSE, a_e
    if a_e + 1 == b_e:
        return a * INVERSE - b, b_e
    return a, a_e


@njit(cache=True, nogil=True)
def _normal(a, a_e):
    """Bring the mantissa of a product of two factors back into its range."""
    if a > LARGE:
        return a * INVERSE, a_e + 1
    if a < SMALL and a > 0.0:
        return a * BASE, a_e - 1
    return a, a_e


@njit(cache=True, nogil=True)
def _lost(rest, rest_e, total, total_e):
    """Tell whether too little is left of a sum for a subtraction to be trusted."""
    if total_e < 0:
        return False
    if total_e > 0:
        return rest_e != total_e or rest < SMALLEST_REST * total
    return rest + STOP < SMALLEST_REST * total


@njit(cache=True, nogil=True)
def _sum_of_splits(problem, i, state, row, without, k, x):
    """Sum over a level without one variable of the splits at state x of k; of the full splits for x = -1."""
    pair, pair_e = problem.pair, problem.pair_e
    members = state.members
    m, d = members.shape[1], problem.width
    d_k = problem.cards[problem.columns[i, k]]
    total, total_e = 0.0, ZERO_EXPONENT
    for t in range(state.size[row]):
        j = members[row, t]
        if j != without and j != k:
            at = ((i * m + j) * m + k) * d
            if x >= 0:
                total, total_e = _plus(total, total_e, pair[at + x], pair_e[at + x])
            else:
                value, value_e = 1.0, 0
                for y in range(d_k):
                    value, value_e = _normal(value * pair[at + y], value_e + pair_e[at + y])
                total, total_e = _plus(total, total_e, value, value_e)
    return total, total_e


@njit(cache=True, nogil=True)
def _plain_sum(problem, i, state, row, without, k, x):
    """Do what :func:`_sum_of_splits` does, for a light target."""
    total, total_e = _sum_of_splits(problem, i, state, row, without, k, x)
    return total * BASE**total_e if total > 0.0 else 0.0


@njit(cache=True, nogil=True)
def _log_normaliser(problem, m, state, row, extra_kind, sign):
    """Log of the prior's sum over all stagings of a level, with `sign` variables of `extra_kind` more."""
    total = problem.whole[m]
    if problem.beta == 0 or m == 0:
        return log(total)
    if problem.beta >= 2:
        total -= 0.5 * m * (m - 1) * problem.both[m]
    total *= exp(-problem.log_norm[m])
    for kind in range(problem.norm.shape[1]):
        number = state.kinds[row, kind] + (sign if kind == extra_kind else 0)
        total += number * problem.norm[m, kind]
    return log(total) + problem.log_norm[m]


@njit(cache=True, nogil=True)
def _log_sum(problem, i, state, row, v, sign):
    """Log of the sum over the stagings of a level of target i, relative to the whole level as one stage."""
    pair, pair_e, root, root_e = problem.pair, problem.pair_e, problem.root, problem.root_e
    members, sums, sums_e, full, full_e = state.members, state.sums, state.sums_e, state.full, state.full_e
    columns, cards, kinds = problem.columns, problem.cards, problem.kind
    stop_weights, split_weights = problem.stop_weight, problem.split_weight
    beta, size, d = problem.beta, state.size[row], problem.width
    wide = members.shape[1]
    of_v, of_row = (i * wide + v) * wide, row * wide
    m = size + sign
    half = 0.5 * problem.both[m]
    total, total_e = problem.whole[m], 0
    # The members, and after them the variable that joins.
    for t in range(size + (sign if sign > 0 else 0) if beta > 0 else 0):
        k = members[row, t] if t < size else v
        if k == v and sign < 0:
            continue
        column = columns[i, k]
        d_k, kind = cards[column], kinds[column]
        stop_weight, split_weight = stop_weights[m, kind], split_weights[m, kind]
        value, value_e = 1.0, 0
        if beta == 1:
            for _ in range(d_k):
                value *= stop_weight
        else:
            changes = sign != 0 and k != v
            added, added_e = 1.0, 0
            for x in range(d_k):
                at = (of_row + k) * d + x
                split, split_e = sums[at], sums_e[at]
                if changes:
                    at = (of_v + k) * d + x
                    term, term_e = pair[at], pair_e[at]
                    added, added_e = _normal(added * term, added_e + term_e)
                    if sign > 0:
                        split, split_e = _plus(split, split_e, term, term_e)
                    else:
                        rest, rest_e = _minus(split, split_e, term, term_e)
                        if _lost(rest, rest_e, split, split_e):
                            rest, rest_e = _sum_of_splits(problem, i, state, row, v, k, x)
                        split, split_e = rest, rest_e
                bracket, bracket_e = _plus(stop_weight, 0, split_weight * split, split_e)
                value, value_e = _normal(value * bracket, value_e + bracket_e)
            twice, twice_e = full[of_row + k], full_e[of_row + k]
            if changes:
                if sign > 0:
                    twice, twice_e = _plus(twice, twice_e, added, added_e)
                else:
                    rest, rest_e = _minus(twice, twice_e, added, added_e)
                    if _lost(rest, rest_e, twice, twice_e):
                        rest, rest_e = _sum_of_splits(problem, i, state, row, v, k, -1)
                    twice, twice_e = rest, rest_e
            # A full split on a pair is reached from both its roots: half of it is taken off each.
            value, value_e = _minus(value, value_e, half * twice, twice_e)
        value, value_e = _normal(value * root[i, k], value_e + root_e[i, k])
        total, total_e = _plus(total, total_e, value, value_e)
    return log(total) + total_e * LOG_BASE


@njit(cache=True, nogil=True)
def _log_sum_light(problem, i, state, row, v, sign):
    """Do what :func:`_log_sum` does, for a light target and a context bound of two."""
    pair, root, members, sums, full = problem.pair, problem.root, state.members, state.sums, state.full
    columns, cards, kinds = problem.columns, problem.cards, problem.kind
    stop_weights, split_weights = problem.stop_weight, problem.split_weight
    size, d, wide = state.size[row], problem.width, state.members.shape[1]
    of_v, of_row = (i * wide + v) * wide, row * wide
    m = size + sign
    half = 0.5 * problem.both[m]
    total = problem.whole[m]
    for t in range(size + (1 if sign > 0 else 0)):
        k = members[row, t] if t < size else v
        if k == v and sign < 0:
            continue
        column = columns[i, k]
        kind = kinds[column]
        stop_weight, split_weight = stop_weights[m, kind], split_weights[m, kind]
        at, there = (of_row + k) * d, (of_v + k) * d
        value, twice = 1.0, full[of_row + k]
        if sign == 0 or k == v:
            for x in range(cards[column]):
                value *= stop_weight + split_weight * sums[at + x]
        elif sign > 0:
            added = 1.0
            for x in range(cards[column]):
                term = pair[there + x]
                added *= term
                value *= stop_weight + split_weight * (sums[at + x] + term)
            twice += added
        else:
            added = 1.0
            for x in range(cards[column]):
                term = pair[there + x]
                added *= term
                rest = sums[at + x] - term
                if rest + STOP < SMALLEST_REST * sums[at + x]:
                    rest = _plain_sum(problem, i, state, row, v, k, x)
                value *= stop_weight + split_weight * rest
            twice -= added
            if twice + STOP < SMALLEST_REST * full[of_row + k]:
                twice = _plain_sum(problem, i, state, row, v, k, -1)
        total += root[i, k] * (value - half * twice)
    return log(total)


@njit(cache=True, nogil=True)
def _log_sum_binary(problem, i, state, row, v, sign):
    """Do what :func:`_log_sum_light` does, when no variable has more than two states: the case that matters most."""
    pair, root, members, sums, full = problem.pair, problem.root, state.members, state.sums, state.full
    size, wide = state.size[row], state.members.shape[1]
    of_v, of_row = (i * wide + v) * wide, row * wide
    m = size + sign
    half = 0.5 * problem.both[m]
    kind = problem.norm.shape[1] - 1
    stop, split = problem.stop_weight[m, kind], problem.split_weight[m, kind]
    total = problem.whole[m]
    if sign == 0:
        for t in range(size):
            k = members[row, t]
            at = of_row + k
            value = (stop + split * sums[2 * at]) * (stop + split * sums[2 * at + 1])
            total += root[i, k] * (value - half * full[at])
    elif sign > 0:
        for t in range(size):
            k = members[row, t]
            at, there = of_row + k, of_v + k
            first, second = pair[2 * there], pair[2 * there + 1]
            value = (stop + split * (sums[2 * at] + first)) * (stop + split * (sums[2 * at + 1] + second))
            total += root[i, k] * (value - half * (full[at] + first * second))
        at = of_row + v
        value = (stop + split * sums[2 * at]) * (stop + split * sums[2 * at + 1])
        total += root[i, v] * (value - half * full[at])
    else:
        for t in range(size):
            k = members[row, t]
            if k == v:
                continue
            at, there = of_row + k, of_v + k
            first, second = pair[2 * there], pair[2 * there + 1]
            twice = full[at] - first * second
            if twice + STOP < SMALLEST_REST * full[at]:
                twice = _plain_sum(problem, i, state, row, v, k, -1)
            first, second = sums[2 * at] - first, sums[2 * at + 1] - second
            if first + STOP < SMALLEST_REST * sums[2 * at]:
                first = _plain_sum(problem, i, state, row, v, k, 0)
            if second + STOP < SMALLEST_REST * sums[2 * at + 1]:
                second = _plain_sum(problem, i, state, row, v, k, 1)
            total += root[i, k] * ((stop + split * first) * (stop + split * second) - half * twice)
    return log(total)


@njit(cache=True, nogil=True)
def log_score(problem, i, state, row, v, sign):
    """Log local order score of target i with the level in `row`, if candidate v joins (sign 1) or leaves (-1) it."""
    m = state.size[row] + sign
    extra_kind = problem.kind[problem.columns[i, v]] if sign != 0 else -1
    normaliser = _log_normaliser(problem, m, state, row, extra_kind, sign)
    if problem.beta == 2 and problem.light[i] and problem.width == 2:
        total = _log_sum_binary(problem, i, state, row, v, sign)
    elif problem.beta == 2 and problem.light[i]:
        total = _log_sum_light(problem, i, state, row, v, sign)
    else:
        total = _log_sum(problem, i, state, row, v, sign)
    return problem.stop[i] + total - normaliser


@njit(cache=True, nogil=True)
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
        # What lies beyond the states of a variable is zero, and so is the split of a variable on itself.
        for q in range(problem.n_candidates[i] * d):
            sums[of_row * d + q] += pair[of_v * d + q]
        if d == 2:
            for k in range(problem.n_candidates[i]):
                full[of_row + k] += pair[(of_v + k) * 2] * pair[(of_v + k) * 2 + 1]
            return
        for k in range(problem.n_candidates[i]):
            added = 1.0
            for x in range(cards[columns[i, k]]):
                added *= pair[(of_v + k) * d + x]
            full[of_row + k] += added
        return
    for k in range(problem.n_candidates[i]):
        if k != v:
            added, added_e = 1.0, 0
            for x in range(cards[columns[i, k]]):
                at, there = (of_row + k) * d + x, (of_v + k) * d + x
                term, term_e = pair[there], pair_e[there]
                sums[at], sums_e[at] = _plus(sums[at], sums_e[at], term, term_e)
                added, added_e = _normal(added * term, added_e + term_e)
            full[of_row + k], full_e[of_row + k] = _plus(full[of_row + k], full_e[of_row + k], added, added_e)


@njit(cache=True, nogil=True)
def leave(problem, i, state, row, v):
    """Let candidate v leave the level in `row`, which is one of target i."""
    if problem.beta >= 2 and problem.light[i]:
        _subtract_light(problem, i, state, row, v)
    elif problem.beta >= 2:
        _subtract(problem, i, state, row, v)
    last = state.members[row, state.size[row] - 1]
    state.members[row, state.slot[row, v]] = last
    state.slot[row, last] = state.slot[row, v]
    state.slot[row, v] = -1
    state.size[row] -= 1
    state.kinds[row, problem.kind[problem.columns[i, v]]] -= 1


@njit(cache=True, nogil=True)
def _subtract(problem, i, state, row, v):
    """Take the splits on candidate v, still a member, off the sums."""
    pair, pair_e, columns, cards = problem.pair, problem.pair_e, problem.columns, problem.cards
    sums, sums_e, full, full_e = state.sums, state.sums_e, state.full, state.full_e
    d, wide = problem.width, state.members.shape[1]
    of_v, of_row = (i * wide + v) * wide, row * wide
    for k in range(problem.n_candidates[i]):
        if k == v:
            continue
        added, added_e = 1.0, 0
        for x in range(cards[columns[i, k]]):
            at, there = (of_row + k) * d + x, (of_v + k) * d + x
            term, term_e = pair[there], pair_e[there]
            added, added_e = _normal(added * term, added_e + term_e)
            rest, rest_e = _minus(sums[at], sums_e[at], term, term_e)
            if _lost(rest, rest_e, sums[at], sums_e[at]):
                rest, rest_e = _sum_of_splits(problem, i, state, row, v, k, x)
            sums[at], sums_e[at] = rest, rest_e
        at = of_row + k
        rest, rest_e = _minus(full[at], full_e[at], added, added_e)
        if _lost(rest, rest_e, full[at], full_e[at]):
            rest, rest_e = _sum_of_splits(problem, i, state, row, v, k, -1)
        full[at], full_e[at] = rest, rest_e


@njit(cache=True, nogil=True)
def _subtract_light(problem, i, state, row, v):
    """Do what :func:`_subtract` does, for a light target."""
    pair, columns, cards, sums, full = problem.pair, problem.columns, problem.cards, state.sums, state.full
    d, wide = problem.width, state.members.shape[1]
    of_v, of_row = (i * wide + v) * wide, row * wide
    for k in range(problem.n_candidates[i]):
        if k == v:
            continue
        added = 1.0
        for x in range(cards[columns[i, k]]):
            at, there = (of_row + k) * d + x, (of_v + k) * d + x
            added *= pair[there]
            rest = sums[at] - pair[there]
            if rest + STOP < SMALLEST_REST * sums[at]:
                rest = _plain_sum(problem, i, state, row, v, k, x)
            sums[at] = rest
        rest = full[of_row + k] - added
        if rest + STOP < SMALLEST_REST * full[of_row + k]:
            rest = _plain_sum(problem, i, state, row, v, k, -1)
        full[of_row + k] = rest


@njit(cache=True, nogil=True)
def clear(state, row):
    """Empty the level in `row`."""
    m = state.members.shape[1]
    d = len(state.sums) // max(len(state.full), 1)
    state.sums[row * m * d : (row + 1) * m * d] = 0.0
    state.sums_e[row * m * d : (row + 1) * m * d] = ZERO_EXPONENT
    state.full[row * m : (row + 1) * m] = 0.0
    state.full_e[row * m : (row + 1) * m] = ZERO_EXPONENT
    state.kinds[row] = 0
    state.slot[row] = -1
    state.size[row] = 0
