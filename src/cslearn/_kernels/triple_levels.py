"""Levels of targets whose scores are kept up to date, for a context bound of three.

The functions do what those of the same name in :mod:`cslearn._kernels.levels` do, one context variable deeper. For a
target with the level ``L`` the recursion of :mod:`cslearn.stagings.level` needs, for every context ``jx, ky`` of two
candidates, the sum over ``l`` in ``L`` of the splits ``w(jx, ky, l)``. Relative to the stop ``z(jx, ky)`` these sums
are kept for all pairs of candidates: to let a variable join is to add one row of a table. A score then goes through the
pairs of the level, in O(|L|^2 d^2). Full splits on a pair below ``jx``, and on a triple at the root, have weights of
their own in the prior; of these the sums over the pairs and triples of ``L`` are kept.
"""

from collections import namedtuple
from math import exp, inf, isnan, log, nan

import numpy as np

from cslearn._kernels import inner
from cslearn._kernels.log_domain import plus as log_plus
from cslearn._kernels.numbers import (
    BASE,
    INVERSE,
    LARGE,
    LOG_BASE,
    SMALL,
    SMALLEST_REST,
    STOP,
    lost,
    minus,
    normal,
    plus,
)

__all__ = ["TripleProblem", "TripleState", "fill", "join", "leave", "log_score", "new_state", "sum_of_stagings"]

# Between these products of doubles have lost nothing, and can be multiplied once more.
TINY, HUGE = 1e-200, 1e200
# Splits on a third variable, and their sums, have exponents to a base that is wider by this power: few are not zero.
WIDER = 4
WIDE_INVERSE = INVERSE**WIDER

# What does not change; names that levels.Problem has too mean the same here.
#   first[i, t]              where the contexts of pair t begin: j < k is number k (k - 1) / 2 + j, and its contexts
#                            jx, ky stand by x and then by y
#   contexts[i]              the number of all contexts of two candidates
#   every, every_e[i, t]     product over x, y of z(jx, ky), relative to the whole level
#   triple, triple_e         w(jx, ky, l) relative to z(jx, ky): those of target i begin at offset[i], with a row for l
# The prior's weights in a level of m variables, some by the kinds of the variables of a context:
#   whole[m]                 the whole level
#   root_weight, pair_weight, triple_weight[m]
#                            splits at the root, on one variable, on two and on three
#   stop_one[m, kind], split_one[m], full_one[m, kind]
#                            below one variable: a stop, a split, and a split on two
#   stop_two, split_two[m, kind, kind]
#                            below two
# and logarithms for their sum over all stagings: log_whole, log_root, log_stop_one, and for each variable and each pair
# of the kinds log_below_one[m, kind, kind] and log_pair[m, kind, kind], with the sign of the latter in pair_sign[m].
TripleProblem = namedtuple(
    "TripleProblem",
    "beta width stop root root_e pair pair_e n_candidates columns place cards kind before"
    " first contexts every every_e triple triple_e offset"
    " whole root_weight pair_weight triple_weight stop_one split_one full_one stop_two split_two"
    " log_root log_stop_one log_below_one log_pair pair_sign sizes",
)
# As levels.State. The sums of splits on a third variable stand by contexts of two, those of full splits on two by
# contexts of one, and after these that of full splits on three. The last arrays are for intermediate results: the rows
# BELOW and CHANGE for sums in the same places, ROW and COLUMN for products over the contexts of a pair.
BELOW, CHANGE, ROW, COLUMN = range(4)
TripleState = namedtuple(
    "TripleState",
    "order position members slot size kinds sums sums_e full full_e score changes work work_e",
)


def new_state(problem):
    """Return a state with room for everything; :func:`set_order` fills it."""
    p, m = problem.columns.shape
    d, most = problem.width, int(problem.contexts.max(initial=0))
    return TripleState(
        np.zeros(p, np.int64),
        np.zeros(p, np.int64),
        np.zeros((p + 1, m), np.int64),
        np.full((p + 1, m), -1, np.int64),
        np.zeros(p + 1, np.int64),
        np.zeros((p + 1, len(problem.sizes)), np.int64),
        np.zeros((p + 1, most)),
        np.zeros((p + 1, most), np.int32),
        np.zeros((p + 1, m * d + 1)),
        np.zeros((p + 1, m * d + 1), np.int64),
        np.zeros(p),
        np.zeros(p, np.int64),
        np.zeros((4, (m + 1) * d)),
        np.zeros((4, (m + 1) * d), np.int64),
    )


@inner
def _sum(total, total_e, number, number_e):
    """Add a number, of any mantissa, to one that is added to a stop: what is far below that does not matter."""
    if number_e == total_e and number <= LARGE:
        return total + number, total_e
    while number > LARGE:
        number, number_e = number * INVERSE, number_e + 1
    while number < SMALL and number > 0.0:
        number, number_e = number * BASE, number_e - 1
    return plus(total, total_e, number, number_e)


@inner
def _wide_plus(a, a_e, b, b_e):
    """Add two numbers of the wider base."""
    if a_e == b_e:
        return a + b, a_e
    if a_e < b_e:
        a, a_e, b, b_e = b, b_e, a, a_e
    return (a + b * WIDE_INVERSE, a_e) if a_e == b_e + 1 else (a, a_e)


@inner
def _narrow(a, a_e):
    """Return a number of the wider base as one whose mantissa can be a factor."""
    a_e *= WIDER
    while a > LARGE:
        a, a_e = a * INVERSE, a_e + 1
    while a < SMALL and a > 0.0:
        a, a_e = a * BASE, a_e - 1
    return a, a_e


@inner
def _products(triple, triple_e, at, d_j, d_k, row, row_e, column, column_e):
    """Multiply the splits of a pair's contexts, from `at` on: by the states of each variable, and all of them."""
    heavy, whole, whole_e = 0, 1.0, np.int64(0)
    for q in range(at, at + d_j * d_k):
        heavy |= triple_e[q]
    for y in range(d_k):
        column[y], column_e[y] = 1.0, 0
    if heavy == 0:
        for x in range(d_j):
            value = 1.0
            for y in range(d_k):
                term = triple[at + x * d_k + y]
                value *= term
                column[y] *= term
            row[x], row_e[x] = value, 0
            whole *= value
        if TINY < whole < HUGE:
            return whole, whole_e
        whole = 1.0
        for y in range(d_k):
            column[y] = 1.0
    for x in range(d_j):
        value, value_e = 1.0, np.int64(0)
        for y in range(d_k):
            term, term_e = _narrow(triple[at + x * d_k + y], np.int64(triple_e[at + x * d_k + y]))
            value, value_e = normal(value * term, value_e + term_e)
            column[y], column_e[y] = normal(column[y] * term, column_e[y] + term_e)
        row[x], row_e[x] = value, value_e
        whole, whole_e = normal(whole * value, whole_e + value_e)
    return whole, whole_e


@inner
def _brackets(sums, sums_e, at, triple, triple_e, there, sign, stop, split, d_j, d_k, row, row_e, column, column_e):
    """Do the same for the brackets: a stop, and the sum of splits with or without (sign 1, -1) those from `there` on.

    The product of all is not a number if too little is left of a sum.
    """
    heavy, whole, whole_e = 0, 1.0, np.int64(0)
    for q in range(d_j * d_k):
        heavy |= sums_e[at + q]
        if sign != 0:
            heavy |= triple_e[there + q]
    for y in range(d_k):
        column[y], column_e[y] = 1.0, 0
    if heavy == 0:
        for x in range(d_j):
            value = 1.0
            for y in range(d_k):
                q = x * d_k + y
                total = sums[at + q]
                if sign > 0:
                    total += triple[there + q]
                elif sign < 0:
                    total -= triple[there + q]
                    if total + STOP < SMALLEST_REST * sums[at + q]:
                        return nan, whole_e
                bracket = stop + split * total
                value *= bracket
                column[y] *= bracket
            row[x], row_e[x] = value, 0
            whole *= value
        if TINY < whole < HUGE:
            return whole, whole_e
        whole = 1.0
        for y in range(d_k):
            column[y] = 1.0
    for x in range(d_j):
        value, value_e = 1.0, np.int64(0)
        for y in range(d_k):
            q = x * d_k + y
            total, total_e = sums[at + q], np.int64(sums_e[at + q])
            if sign > 0:
                total, total_e = _wide_plus(total, total_e, triple[there + q], np.int64(triple_e[there + q]))
            elif sign < 0:
                rest, rest_e = _wide_plus(total, total_e, -triple[there + q], np.int64(triple_e[there + q]))
                if lost(rest, rest_e, total, total_e):
                    return nan, whole_e
                total, total_e = rest, rest_e
            bracket, bracket_e = _wide_plus(stop, np.int64(0), split * total, total_e)
            bracket, bracket_e = _narrow(bracket, bracket_e)
            value, value_e = normal(value * bracket, value_e + bracket_e)
            column[y], column_e[y] = normal(column[y] * bracket, column_e[y] + bracket_e)
        row[x], row_e[x] = value, value_e
        whole, whole_e = normal(whole * value, whole_e + value_e)
    return whole, whole_e


@inner
def sum_of_stagings(problem, i, state, row, v, sign, m):
    """Sum over the stagings of the level in `row`, if candidate v joins (sign 1) or leaves (-1) it.

    As :func:`cslearn._kernels.levels.sum_of_stagings`: relative to the whole level, with the prior's weights in a level
    of `m` variables, and not a number where the level without v must be made anew.
    """
    d, wide, size = problem.width, state.members.shape[1], state.size[row]
    sums, sums_e, full, full_e = state.sums[row], state.sums_e[row], state.full[row], state.full_e[row]
    pair, pair_e, triple, triple_e = problem.pair, problem.pair_e, problem.triple, problem.triple_e
    members, columns, cards, kinds = state.members[row], problem.columns[i], problem.cards, problem.kind
    first, every, every_e = problem.first[i], problem.every[i], problem.every_e[i]
    stops, splits = problem.stop_two[m], problem.split_two[m]
    work, work_e = state.work, state.work_e
    of_v, of_i = problem.offset[i] + v * problem.contexts[i], i * wide
    # By contexts of one variable: the sum of splits on a second one, and the change of that of full splits on two.
    below, below_e, change, change_e = work[BELOW], work_e[BELOW], work[CHANGE], work_e[CHANGE]
    line, line_e, column, column_e = work[ROW], work_e[ROW], work[COLUMN], work_e[COLUMN]
    whole = wide * d
    of_level = size + (1 if sign > 0 else 0)
    for t in range(of_level):
        k = members[t] if t < size else v
        for at in range(k * d, (k + 1) * d):
            below[at], below_e[at] = 0.0, 0
            change[at], change_e[at] = 0.0, 0
    pairs, pairs_e, triples, triples_e = 0.0, np.int64(0), 0.0, np.int64(0)

    for s in range(1, of_level):
        a = members[s] if s < size else v
        if a == v and sign < 0:
            continue
        for t in range(s):
            b = members[t]
            if b == v and sign < 0:
                continue
            j, k = min(a, b), max(a, b)
            d_j, d_k = cards[columns[j]], cards[columns[k]]
            stop, split = stops[kinds[columns[j]], kinds[columns[k]]], splits[kinds[columns[j]], kinds[columns[k]]]
            place = k * (k - 1) // 2 + j
            of_j, of_k = ((of_i + k) * wide + j) * d, ((of_i + j) * wide + k) * d
            at = first[place]
            # A variable that joins or leaves is split on below the pairs of the others.
            moves = sign if a != v and b != v else 0
            # Most pairs are of this kind, and a call takes longer than what it does.
            light = d_j == 2 and d_k == 2 and sums_e[at] | sums_e[at + 1] | sums_e[at + 2] | sums_e[at + 3] == 0
            there = of_v + at
            if light and moves != 0:
                light = triple_e[there] | triple_e[there + 1] | triple_e[there + 2] | triple_e[there + 3] == 0
                added = triple[there] * triple[there + 1] * triple[there + 2] * triple[there + 3]
                light = light and TINY < added < HUGE
            if light:
                one, two, three, four = sums[at], sums[at + 1], sums[at + 2], sums[at + 3]
                if moves > 0:
                    one, two = one + triple[there], two + triple[there + 1]
                    three, four = three + triple[there + 2], four + triple[there + 3]
                elif moves < 0:
                    one, two = one - triple[there], two - triple[there + 1]
                    three, four = three - triple[there + 2], four - triple[there + 3]
                    if (
                        one + STOP < SMALLEST_REST * sums[at]
                        or two + STOP < SMALLEST_REST * sums[at + 1]
                        or three + STOP < SMALLEST_REST * sums[at + 2]
                        or four + STOP < SMALLEST_REST * sums[at + 3]
                    ):
                        return nan, np.int64(0)
                one, two = stop + split * one, stop + split * two
                three, four = stop + split * three, stop + split * four
                value = one * two * three * four
                light = TINY < value < HUGE
            if light:
                x, y = j * d, k * d
                below[x], below_e[x] = _sum(below[x], below_e[x], one * two * pair[of_j], pair_e[of_j])
                below[y], below_e[y] = _sum(below[y], below_e[y], one * three * pair[of_k], pair_e[of_k])
                x, y, of_j, of_k = x + 1, y + 1, of_j + 1, of_k + 1
                below[x], below_e[x] = _sum(below[x], below_e[x], three * four * pair[of_j], pair_e[of_j])
                below[y], below_e[y] = _sum(below[y], below_e[y], two * four * pair[of_k], pair_e[of_k])
                pairs, pairs_e = _sum(pairs, pairs_e, value * every[place], every_e[place])
                if moves != 0:
                    one, two, three, four = triple[there], triple[there + 1], triple[there + 2], triple[there + 3]
                    change[x], change_e[x] = _sum(change[x], change_e[x], three * four * pair[of_j], pair_e[of_j])
                    change[y], change_e[y] = _sum(change[y], change_e[y], two * four * pair[of_k], pair_e[of_k])
                    x, y, of_j, of_k = x - 1, y - 1, of_j - 1, of_k - 1
                    change[x], change_e[x] = _sum(change[x], change_e[x], one * two * pair[of_j], pair_e[of_j])
                    change[y], change_e[y] = _sum(change[y], change_e[y], one * three * pair[of_k], pair_e[of_k])
                    triples, triples_e = _sum(triples, triples_e, added * every[place], every_e[place])
                continue
            value, value_e = _brackets(
                sums,
                sums_e,
                at,
                triple,
                triple_e,
                there,
                moves,
                stop,
                split,
                d_j,
                d_k,
                line,
                line_e,
                column,
                column_e,
            )
            if isnan(value):
                return nan, np.int64(0)
            for x in range(d_j):
                q = j * d + x
                number, number_e = line[x] * pair[of_j + x], line_e[x] + pair_e[of_j + x]
                below[q], below_e[q] = _sum(below[q], below_e[q], number, number_e)
            for y in range(d_k):
                q = k * d + y
                number, number_e = column[y] * pair[of_k + y], column_e[y] + pair_e[of_k + y]
                below[q], below_e[q] = _sum(below[q], below_e[q], number, number_e)
            pairs, pairs_e = _sum(pairs, pairs_e, value * every[place], value_e + every_e[place])
            if moves != 0:
                value, value_e = _products(triple, triple_e, there, d_j, d_k, line, line_e, column, column_e)
                for x in range(d_j):
                    q = j * d + x
                    number, number_e = line[x] * pair[of_j + x], line_e[x] + pair_e[of_j + x]
                    change[q], change_e[q] = _sum(change[q], change_e[q], number, number_e)
                for y in range(d_k):
                    q = k * d + y
                    number, number_e = column[y] * pair[of_k + y], column_e[y] + pair_e[of_k + y]
                    change[q], change_e[q] = _sum(change[q], change_e[q], number, number_e)
                triples, triples_e = _sum(triples, triples_e, value * every[place], value_e + every_e[place])

    total, total_e = problem.whole[m], np.int64(0)
    for t in range(of_level):
        k = members[t] if t < size else v
        if k == v and sign < 0:
            continue
        kind = kinds[columns[k]]
        stop, split, both = problem.stop_one[m, kind], problem.split_one[m], problem.full_one[m, kind]
        value, value_e = problem.root_weight[m] * problem.root[i, k], problem.root_e[i, k]
        for x in range(cards[columns[k]]):
            where = k * d + x
            twice, twice_e = full[where], full_e[where]
            if sign > 0:
                twice, twice_e = plus(twice, twice_e, change[where], change_e[where])
            elif sign < 0:
                rest, rest_e = minus(twice, twice_e, change[where], change_e[where])
                if lost(rest, rest_e, twice, twice_e):
                    return nan, np.int64(0)
                twice, twice_e = rest, rest_e
            bracket, bracket_e = plus(stop, np.int64(0), split * below[where], below_e[where])
            bracket, bracket_e = plus(bracket, bracket_e, both * twice, twice_e)
            value, value_e = normal(value * bracket, value_e + bracket_e)
        total, total_e = plus(total, total_e, value, value_e)
    total, total_e = plus(total, total_e, problem.pair_weight[m] * pairs, pairs_e)
    thrice, thrice_e = full[whole], full_e[whole]
    if sign > 0:
        thrice, thrice_e = plus(thrice, thrice_e, triples, triples_e)
    elif sign < 0:
        rest, rest_e = minus(thrice, thrice_e, triples, triples_e)
        if lost(rest, rest_e, thrice, thrice_e):
            return nan, np.int64(0)
        thrice, thrice_e = rest, rest_e
    return plus(total, total_e, problem.triple_weight[m] * thrice, thrice_e)


@inner
def _log_normaliser(problem, state, row, moving, sign, m):
    """Log of the prior's sum over all stagings of the level, if a variable of a kind joins or leaves it."""
    positive, negative = log(problem.whole[m]), -inf
    for kind in range(len(problem.sizes)):
        number = state.kinds[row, kind] + (sign if kind == moving else 0)
        if number <= 0:
            continue
        bracket = problem.log_stop_one[m, kind]
        for other in range(len(problem.sizes)):
            others = state.kinds[row, other] + (sign if other == moving else 0) - (1 if other == kind else 0)
            if others > 0:
                bracket = log_plus(bracket, log(others) + problem.log_below_one[m, kind, other])
                of_pairs = log(number * others / 2) + problem.log_pair[m, kind, other]
                if problem.pair_sign[m] > 0:
                    positive = log_plus(positive, of_pairs)
                else:
                    negative = log_plus(negative, of_pairs)
        positive = log_plus(positive, log(number) + problem.log_root[m] + problem.sizes[kind] * bracket)
    return positive + log(1.0 - exp(negative - positive))


@inner
def log_score(problem, i, state, row, v, sign):
    """Log local order score of target i with the level in `row`, if candidate v joins (sign 1) or leaves (-1) it."""
    m = state.size[row] + sign
    total, total_e = sum_of_stagings(problem, i, state, row, v, sign, m)
    moving = problem.kind[problem.columns[i, v]] if sign != 0 else -1
    return problem.stop[i] + log(total) + total_e * LOG_BASE - _log_normaliser(problem, state, row, moving, sign, m)


@inner
def _full_splits(problem, i, state, row, v):
    """Sum up the full splits on v and on members of the level: by contexts of one variable, and those on three."""
    d, wide = problem.width, state.members.shape[1]
    pair, pair_e, columns, cards = problem.pair, problem.pair_e, problem.columns[i], problem.cards
    triple, triple_e, first = problem.triple, problem.triple_e, problem.first[i]
    work, work_e, slot = state.work, state.work_e, state.slot[row]
    change, change_e = work[CHANGE], work_e[CHANGE]
    line, line_e, column, column_e = work[ROW], work_e[ROW], work[COLUMN], work_e[COLUMN]
    of_v, whole = problem.offset[i] + v * problem.contexts[i], wide * d
    for at in range(whole + 1):
        change[at], change_e[at] = 0.0, 0
    for k in range(1, problem.n_candidates[i]):
        d_k = cards[columns[k]]
        for j in range(k):
            if j == v or k == v or (slot[j] < 0 and slot[k] < 0):
                continue
            d_j, place = cards[columns[j]], k * (k - 1) // 2 + j
            at = of_v + first[place]
            light = d_j == 2 and d_k == 2 and triple_e[at] | triple_e[at + 1] | triple_e[at + 2] | triple_e[at + 3] == 0
            if light:
                value, value_e = triple[at] * triple[at + 1] * triple[at + 2] * triple[at + 3], np.int64(0)
                light = TINY < value < HUGE
            if light:
                line[0], line[1] = triple[at] * triple[at + 1], triple[at + 2] * triple[at + 3]
                column[0], column[1] = triple[at] * triple[at + 2], triple[at + 1] * triple[at + 3]
                line_e[0], line_e[1], column_e[0], column_e[1] = 0, 0, 0, 0
            else:
                value, value_e = _products(triple, triple_e, at, d_j, d_k, line, line_e, column, column_e)
            if slot[k] >= 0:
                there = ((i * wide + k) * wide + j) * d
                for x in range(d_j):
                    q = j * d + x
                    number, number_e = line[x] * pair[there + x], line_e[x] + pair_e[there + x]
                    change[q], change_e[q] = _sum(change[q], change_e[q], number, number_e)
            if slot[j] >= 0:
                there = ((i * wide + j) * wide + k) * d
                for y in range(d_k):
                    q = k * d + y
                    number, number_e = column[y] * pair[there + y], column_e[y] + pair_e[there + y]
                    change[q], change_e[q] = _sum(change[q], change_e[q], number, number_e)
            if slot[j] >= 0 and slot[k] >= 0:
                number, number_e = value * problem.every[i, place], value_e + problem.every_e[i, place]
                change[whole], change_e[whole] = _sum(change[whole], change_e[whole], number, number_e)


@inner
def join(problem, i, state, row, v):
    """Let candidate v join the level in `row`, which is one of target i."""
    sums, sums_e, full, full_e = state.sums[row], state.sums_e[row], state.full[row], state.full_e[row]
    triple, triple_e = problem.triple, problem.triple_e
    _full_splits(problem, i, state, row, v)
    for at in range(len(full)):
        full[at], full_e[at] = plus(full[at], full_e[at], state.work[CHANGE, at], state.work_e[CHANGE, at])
    of_v = problem.offset[i] + v * problem.contexts[i]
    for at in range(problem.contexts[i]):
        # What is far below a stop does not matter, so that no exponent is negative.
        term_e = triple_e[of_v + at]
        if term_e == 0 and sums_e[at] == 0:
            sums[at] += triple[of_v + at]
        elif term_e >= -1:
            sums[at], sums_e[at] = _wide_plus(sums[at], sums_e[at], triple[of_v + at], term_e)
    size = state.size[row]
    state.members[row, size] = v
    state.slot[row, v] = size
    state.size[row] = size + 1
    state.kinds[row, problem.kind[problem.columns[i, v]]] += 1


@inner
def leave(problem, i, state, row, v):
    """Let candidate v leave the level in `row`, which is one of target i.

    Tells whether it could: if too little were left of a sum, the level must be made anew (:func:`fill`).
    """
    sums, sums_e, full, full_e = state.sums[row], state.sums_e[row], state.full[row], state.full_e[row]
    triple, triple_e = problem.triple, problem.triple_e
    _full_splits(problem, i, state, row, v)
    for at in range(len(full)):
        rest, rest_e = minus(full[at], full_e[at], state.work[CHANGE, at], state.work_e[CHANGE, at])
        if lost(rest, rest_e, full[at], full_e[at]):
            return False
        full[at], full_e[at] = rest, rest_e
    of_v = problem.offset[i] + v * problem.contexts[i]
    for at in range(problem.contexts[i]):
        total_e = np.int64(sums_e[at])
        rest, rest_e = _wide_plus(sums[at], total_e, -triple[of_v + at], np.int64(triple_e[of_v + at]))
        if lost(rest, rest_e, sums[at], total_e):
            return False
        sums[at], sums_e[at] = rest, rest_e
    last = state.members[row, state.size[row] - 1]
    state.members[row, state.slot[row, v]] = last
    state.slot[row, last] = state.slot[row, v]
    state.slot[row, v] = -1
    state.size[row] -= 1
    state.kinds[row, problem.kind[problem.columns[i, v]]] -= 1
    return True


@inner
def fill(problem, i, state, row, end, without):
    """Make the level in `row` of the candidates of target i in the first `end` places of the order, but for one."""
    for at in range(state.sums.shape[1]):
        state.sums[row, at], state.sums_e[row, at] = 0.0, 0
    for at in range(state.full.shape[1]):
        state.full[row, at], state.full_e[row, at] = 0.0, 0
    for k in range(state.slot.shape[1]):
        state.slot[row, k] = -1
    for kind in range(state.kinds.shape[1]):
        state.kinds[row, kind] = 0
    state.size[row] = 0
    for t in range(end):
        place = problem.place[i, state.order[t]]
        if place >= 0 and place != without:
            join(problem, i, state, row, place)
