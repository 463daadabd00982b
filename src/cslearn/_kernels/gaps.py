"""Sums over the missing cells of single rows, by elimination, each row with gaps of its own.

The model is given by its factors: the distribution of a variable given its parents is the product of those with the
numbers ``owned[v]`` to ``owned[v + 1]``. The value of factor ``f`` is ``work[tables[f] + i]``, with ``i`` the sum over
its variables ``u`` of their strides times the code of ``u``. Behind the tables `work` has room for the sums that are
made on the way. The missing cells of a row fall into blocks that share no family, a variable with its parents. The
variables of a block are summed out one by one, always that with the smallest table next.
"""

from math import inf, log

import numpy as np

from cslearn._kernels import inner, outer

__all__ = ["expected_counts", "target_posteriors"]

# Most variables of one table, and of a block; and a sum below which rounding might have made it zero.
WIDTH = 24
MEMBERS = 256
TINY = 1e-200


@inner
def _needed(row, target, order, starts, members, needed):
    """Mark the variables that are known or the target, and their ancestors."""
    for v in range(len(row)):
        needed[v] = row[v] >= 0 or v == target
    for v in order[::-1]:
        if needed[v]:
            for j in range(starts[v], starts[v + 1]):
                needed[members[j]] = True


@inner
def _find_block(start, row, needed, model, inside, used, block, families):
    """Find the missing cells connected with `start` and the families that touch them; return how many of each."""
    starts, members, touching, touched = model[0], model[1], model[2], model[3]
    block[0] = start
    inside[start] = True
    n_block, n_families, at = 1, 0, 0
    while at < n_block:
        u = block[at]
        at += 1
        for k in range(touching[u], touching[u + 1]):
            v = touched[k]
            if needed[v] and not used[v]:
                used[v] = True
                families[n_families] = v
                n_families += 1
                for j in range(starts[v], starts[v + 1]):
                    w = members[j]
                    if row[w] < 0 and not inside[w]:
                        inside[w] = True
                        block[n_block] = w
                        n_block += 1
    return n_block, n_families


@inner
def _all_neutral(k, variables, steps, base, cards, neutral, digits):
    """Tell whether all entries of a factor stand for none of its stages."""
    digits[:k] = 0
    place = base
    while True:
        if not neutral[place]:
            return False
        j = k - 1
        while j >= 0 and digits[j] + 1 == cards[variables[j]]:
            place -= steps[j] * digits[j]
            digits[j] = 0
            j -= 1
        if j < 0:
            return True
        digits[j] += 1
        place += steps[j]


@inner
def _load(row, n_families, families, cards, model, neutral, inside, scopes, steps, sizes, bases, consumed, digits):
    """Set up the factors of the families of a block; return their number, -1 if one has too many variables.

    Factors whose stages all contradict what is known are left out, and with them the parents that only they ask for.
    """
    owned, begins, variables, strides, tables = model[4], model[5], model[6], model[7], model[8]
    f = 0
    for i in range(n_families):
        for g in range(owned[families[i]], owned[families[i] + 1]):
            base, k = tables[g], 0
            for j in range(begins[g], begins[g + 1]):
                u = variables[j]
                if inside[u]:
                    if k == WIDTH:
                        return -1
                    scopes[f, k] = u
                    steps[f, k] = strides[j]
                    k += 1
                else:
                    base += row[u] * strides[j]
            if not _all_neutral(k, scopes[f], steps[f], base, cards, neutral, digits):
                sizes[f], bases[f], consumed[f] = k, base, -1
                f += 1
    return f


@inner
def _step_for(f, v, scopes, steps, sizes):
    """Return how far the entries of a factor for two states of a variable in a row are apart; 0 if it has it not."""
    for k in range(sizes[f]):
        if scopes[f, k] == v:
            return steps[f, k]
    return 0


@inner
def _join(s, v, n_factors, cards, scopes, steps, sizes, consumed, scope, marks, stamp, inputs, input_steps):
    """List the variables of the factors that have `v`, which comes last; return their number and that of the factors.

    -1 if there are too many variables.
    """
    n_scope, n_inputs = 0, 0
    marks[v] = stamp
    for f in range(n_factors):
        if consumed[f] >= 0 or _step_for(f, v, scopes, steps, sizes) == 0:
            continue
        consumed[f] = s
        inputs[n_inputs] = f
        n_inputs += 1
        for k in range(sizes[f]):
            u = scopes[f, k]
            if marks[u] != stamp:
                if n_scope == WIDTH - 1:
                    return -1, 0
                marks[u] = stamp
                scope[n_scope] = u
                n_scope += 1
    scope[n_scope] = v
    n_scope += 1
    for i in range(n_inputs):
        for j in range(n_scope):
            input_steps[i, j] = _step_for(inputs[i], scope[j], scopes, steps, sizes)
    return n_scope, n_inputs


@inner
def _advance(n_outer, n_inputs, scope, cards, digits, at, input_steps):
    """Go on to the next outcome of all variables of a scope but the last."""
    for j in range(n_outer - 1, -1, -1):
        if digits[j] + 1 < cards[scope[j]]:
            digits[j] += 1
            for i in range(n_inputs):
                at[i] += input_steps[i, j]
            return
        for i in range(n_inputs):
            at[i] -= input_steps[i, j] * digits[j]
        digits[j] = 0


@inner
def _cheapest(n_block, block, keep, gone, n_factors, cards, scopes, steps, sizes, consumed, marks, stamp):
    """Return the variable whose elimination needs the smallest table, the size of that table, and a new stamp."""
    best, best_size = -1, inf
    for a in range(n_block):
        v = block[a]
        if v == keep or gone[v]:
            continue
        stamp += 1
        size = 1.0
        for f in range(n_factors):
            if consumed[f] < 0 and _step_for(f, v, scopes, steps, sizes) != 0:
                for k in range(sizes[f]):
                    u = scopes[f, k]
                    if marks[u] != stamp:
                        marks[u] = stamp
                        size *= cards[u]
        if size < best_size:
            best, best_size = v, size
    return best, best_size, stamp


@inner
def _eliminate(
    n_block, block, keep, n_factors, cards, work, room, limit,
    scopes, steps, sizes, bases, consumed, gone, marks, stamp, order, scales,
    scope, inputs, input_steps, digits, at,
):  # fmt: skip
    """Sum a block over all its variables but `keep`; return the number of factors, the log-scale and the last stamp.

    The number is -1 if that needs too large a table, or one whose entries are so small that they may have vanished.
    Factors of no variable go into the scale. Each sum is a factor of its own behind those of the families, divided by
    its largest entry.
    """
    log_scale = 0.0
    for f in range(n_factors):
        if sizes[f] == 0:
            if work[bases[f]] == 0.0:
                return n_factors, -inf, stamp
            log_scale += log(work[bases[f]])
    n_steps = n_block - (1 if keep >= 0 else 0)
    for s in range(n_steps):
        v, size, stamp = _cheapest(
            n_block, block, keep, gone, n_factors, cards, scopes, steps, sizes, consumed, marks, stamp
        )
        stamp += 1
        entries = int(size) // cards[v] if size <= limit else 0
        if size > limit or room + entries > len(work):
            return -1, 0.0, stamp
        n_scope, n_inputs = _join(
            s, v, n_factors, cards, scopes, steps, sizes, consumed, scope, marks, stamp, inputs, input_steps
        )
        if n_scope < 0:
            return -1, 0.0, stamp
        gone[v] = True
        order[s] = v
        for i in range(n_inputs):
            at[i] = bases[inputs[i]]
        digits[:n_scope] = 0
        largest = 0.0
        for o in range(entries):
            total = 0.0
            for x in range(cards[v]):
                product = 1.0
                for i in range(n_inputs):
                    product *= work[at[i] + x * input_steps[i, n_scope - 1]]
                total += product
            work[room + o] = total
            largest = max(largest, total)
            _advance(n_scope - 1, n_inputs, scope, cards, digits, at, input_steps)
        if largest == 0.0:
            return n_factors, -inf, stamp
        if largest < TINY:
            return -1, 0.0, stamp
        for o in range(entries):
            work[room + o] /= largest
        scales[s] = largest
        log_scale += log(largest)
        f, step = n_factors, 1
        sizes[f], bases[f], consumed[f] = n_scope - 1, room, -1
        for j in range(n_scope - 2, -1, -1):
            scopes[f, j] = scope[j]
            steps[f, j] = step
            step *= cards[scope[j]]
        n_factors += 1
        room += entries
    return n_factors, log_scale, stamp


@outer
def target_posteriors(codes, target, cards, order, model, neutral, work, room, limit, out, log_prob):
    """Fill in the distribution of the target, and the log-probability of what is known, for rows of codes.

    Parameters
    ----------
    codes : ndarray of int32, shape (n, p)
        -1 for cells that are not known; the column of the target is not looked at.
    target : int
        -1 for the log-probabilities alone.
    cards, order : ndarray of int64, shape (p,)
    model : tuple of ndarray of int64
        Where the members of each family begin, and these members; where the families that each variable is a member of
        begin, and these families; where the factors of each variable begin; where the variables of each factor begin,
        these variables, and their strides; where the table of each factor begins in `work`.
    neutral : ndarray of bool
        Which entries of the tables stand for no stage of the factor; their value is 1.
    work : ndarray of float64
        The tables, and behind them, from `room` on, what is used for sums.
    limit : int
        Most entries of a table.
    out : ndarray of float64, shape (n, states of the target)
        Zero in impossible rows.
    log_prob : ndarray of float64, shape (n,)
        NaN in rows that were not answered. With a target it is that of the target's block alone.

    O(the tables that are made, times their factors) for each row.
    """
    n, p = codes.shape
    row = np.empty(p, np.int64)
    needed, inside, used, gone = (
        np.zeros(p, np.bool_),
        np.zeros(p, np.bool_),
        np.zeros(p, np.bool_),
        np.zeros(p, np.bool_),
    )
    block, families, marks = np.empty(p, np.int64), np.empty(p, np.int64), np.zeros(p, np.int64)
    most = len(model[8]) + MEMBERS
    scopes, steps = np.empty((most, WIDTH), np.int64), np.empty((most, WIDTH), np.int64)
    sizes, bases, consumed = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    eliminated, scales = np.empty(MEMBERS, np.int64), np.empty(MEMBERS)
    scope, inputs, digits = np.empty(WIDTH, np.int64), np.empty(most, np.int64), np.empty(WIDTH, np.int64)
    at, input_steps = np.empty(most, np.int64), np.empty((most, WIDTH), np.int64)
    stamp = 0
    for r in range(n):
        row[:] = codes[r]
        if target >= 0:
            row[target] = -1
        _needed(row, target, order, model[0], model[1], needed)
        inside[:] = False
        used[:] = False
        gone[:] = False
        log_prob[r] = 0.0
        for first in range(p):
            start = target if target >= 0 else first
            if row[start] >= 0 or not needed[start] or inside[start]:
                continue
            n_block, n_families = _find_block(start, row, needed, model, inside, used, block, families)
            n_factors, log_scale = -1, 0.0
            if n_block <= MEMBERS:
                n_factors = _load(
                    row,
                    n_families,
                    families,
                    cards,
                    model,
                    neutral,
                    inside,
                    scopes,
                    steps,
                    sizes,
                    bases,
                    consumed,
                    digits,
                )
            if n_factors >= 0:
                n_factors, log_scale, stamp = _eliminate(
                    n_block, block, target, n_factors, cards, work, room, limit,
                    scopes, steps, sizes, bases, consumed, gone, marks, stamp, eliminated, scales,
                    scope, inputs, input_steps, digits, at,
                )  # fmt: skip
            if n_factors < 0:
                log_prob[r] = np.nan
                break
            log_prob[r] += log_scale
            if log_scale == -inf:
                break
            if target >= 0:
                total = 0.0
                for x in range(cards[target]):
                    product = 1.0
                    for f in range(n_factors):
                        if consumed[f] < 0 and sizes[f] == 1:
                            product *= work[bases[f] + x * steps[f, 0]]
                    out[r, x] = product
                    total += product
                if total == 0.0:
                    log_prob[r] = -inf
                elif total < TINY:
                    log_prob[r] = np.nan
                else:
                    out[r] /= total
                    log_prob[r] += log(total)
                break
        if target < 0:
            for v in range(p):
                if needed[v] and not used[v]:
                    for f in range(model[4][v], model[4][v + 1]):
                        base = model[8][f]
                        for j in range(model[5][f], model[5][f + 1]):
                            base += row[model[6][j]] * model[7][j]
                        log_prob[r] += log(work[base]) if work[base] > 0.0 else -inf


@outer
def expected_counts(codes, weights, cells, cards, model, neutral, work, room, limit, counts, log_prob):
    """Add the expected counts of the families with missing members to `counts`, for rows of codes.

    Parameters
    ----------
    weights : ndarray of float64, shape (n,)
    cells : ndarray of int64
        For each entry of the tables at the beginning of `work`, which of `counts` it belongs to.
    counts : ndarray of float64
    log_prob : ndarray of float64, shape (n,)
        The logarithm of the sum over the missing cells of the product of the families that have such members; NaN in
        rows that were not answered, for which nothing is counted.
    others
        As for :func:`target_posteriors`.

    After a block has been eliminated, the steps are gone through backwards. With ``a`` what the rest of the block
    multiplies the sum of a step with, ``a`` times the product of its factors is the distribution of its variables.
    """
    n, p = codes.shape
    row = np.empty(p, np.int64)
    needed, inside, used, gone = (
        np.ones(p, np.bool_),
        np.zeros(p, np.bool_),
        np.zeros(p, np.bool_),
        np.zeros(p, np.bool_),
    )
    block, families, marks = np.empty(p, np.int64), np.empty(p, np.int64), np.zeros(p, np.int64)
    most = len(model[8]) + MEMBERS
    scopes, steps = np.empty((most, WIDTH), np.int64), np.empty((most, WIDTH), np.int64)
    sizes, bases, consumed = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    eliminated, scales = np.empty(MEMBERS, np.int64), np.empty(MEMBERS)
    scope, inputs, digits = np.empty(WIDTH, np.int64), np.empty(most, np.int64), np.empty(WIDTH, np.int64)
    at, input_steps = np.empty(most, np.int64), np.empty((most, WIDTH), np.int64)
    shares = np.zeros(len(work) - room)
    stamp = 0
    for r in range(n):
        row[:] = codes[r]
        # First all blocks are summed, so that a row that is too large or impossible is not counted in part.
        for counting in range(2):
            if counting and not log_prob[r] > -inf:
                break
            inside[:] = False
            used[:] = False
            gone[:] = False
            log_prob[r] = 0.0
            for start in range(p):
                if row[start] >= 0 or inside[start]:
                    continue
                n_block, n_families = _find_block(start, row, needed, model, inside, used, block, families)
                n_loaded, n_factors, log_scale = -1, -1, 0.0
                if n_block <= MEMBERS:
                    n_loaded = _load(
                        row,
                        n_families,
                        families,
                        cards,
                        model,
                        neutral,
                        inside,
                        scopes,
                        steps,
                        sizes,
                        bases,
                        consumed,
                        digits,
                    )
                if n_loaded >= 0:
                    n_factors, log_scale, stamp = _eliminate(
                        n_block, block, -1, n_loaded, cards, work, room, limit,
                        scopes, steps, sizes, bases, consumed, gone, marks, stamp, eliminated, scales,
                        scope, inputs, input_steps, digits, at,
                    )  # fmt: skip
                if n_factors < 0:
                    log_prob[r] = np.nan
                    break
                log_prob[r] += log_scale
                if log_scale == -inf:
                    break
                if counting:
                    _count(
                        weights[r], n_block, n_loaded, n_factors, cells, cards, work, room, counts, shares,
                        scopes, steps, sizes, bases, consumed, eliminated, scales,
                        scope, inputs, input_steps, digits, at,
                    )  # fmt: skip


@outer
def draw_completions(codes, begins, uniforms, cards, model, neutral, work, room, limit, out, log_prob):
    """Fill in the missing cells of rows by draws from their distribution given the known ones.

    Parameters
    ----------
    begins : ndarray of int64, shape (n + 1,)
        The draws of row ``r`` are the rows ``begins[r]`` to ``begins[r + 1]`` of `out`.
    uniforms : ndarray of float64, shape (m,)
        Uniform random numbers, one for each missing cell of each draw.
    out : ndarray of int32, shape (draws, p)
        With the known cells in place. Draws of a row whose `log_prob` is not finite are not to be used.
    log_prob : ndarray of float64, shape (n,)
        NaN in rows that were not answered, minus infinity in impossible ones.
    others
        As for :func:`target_posteriors`.

    After a block has been eliminated, once for all draws of a row, its variables are drawn backwards: the factors that
    were joined when a variable was summed out are its distribution given those that were summed out later.
    """
    n, p = codes.shape
    row = np.empty(p, np.int64)
    needed, inside, used, gone = (
        np.ones(p, np.bool_),
        np.zeros(p, np.bool_),
        np.zeros(p, np.bool_),
        np.zeros(p, np.bool_),
    )
    block, families, marks = np.empty(p, np.int64), np.empty(p, np.int64), np.zeros(p, np.int64)
    most = len(model[8]) + MEMBERS
    scopes, steps = np.empty((most, WIDTH), np.int64), np.empty((most, WIDTH), np.int64)
    sizes, bases, consumed = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    eliminated, scales = np.empty(MEMBERS, np.int64), np.empty(MEMBERS)
    scope, inputs, digits = np.empty(WIDTH, np.int64), np.empty(most, np.int64), np.empty(WIDTH, np.int64)
    at, input_steps = np.empty(most, np.int64), np.empty((most, WIDTH), np.int64)
    products = np.empty(cards.max())
    stamp, number = 0, 0
    for r in range(n):
        row[:] = codes[r]
        n_missing = 0
        for v in range(p):
            n_missing += row[v] < 0
        inside[:] = False
        used[:] = False
        gone[:] = False
        log_prob[r] = 0.0
        done = 0
        for start in range(p):
            if row[start] >= 0 or inside[start]:
                continue
            n_block, n_families = _find_block(start, row, needed, model, inside, used, block, families)
            n_factors, log_scale = -1, 0.0
            if n_block <= MEMBERS:
                n_factors = _load(
                    row,
                    n_families,
                    families,
                    cards,
                    model,
                    neutral,
                    inside,
                    scopes,
                    steps,
                    sizes,
                    bases,
                    consumed,
                    digits,
                )
            if n_factors >= 0:
                n_factors, log_scale, stamp = _eliminate(
                    n_block, block, -1, n_factors, cards, work, room, limit,
                    scopes, steps, sizes, bases, consumed, gone, marks, stamp, eliminated, scales,
                    scope, inputs, input_steps, digits, at,
                )  # fmt: skip
            log_prob[r] = np.nan if n_factors < 0 else log_prob[r] + log_scale
            if not log_prob[r] > -inf:
                break
            for s in range(n_block - 1, -1, -1):
                v, n_inputs = eliminated[s], 0
                for f in range(n_factors):
                    if consumed[f] == s:
                        inputs[n_inputs] = f
                        n_inputs += 1
                for d in range(begins[r], begins[r + 1]):
                    products[: cards[v]] = 1.0
                    for i in range(n_inputs):
                        f = inputs[i]
                        place, step = bases[f], 0
                        for k in range(sizes[f]):
                            if scopes[f, k] == v:
                                step = steps[f, k]
                            else:
                                place += steps[f, k] * out[d, scopes[f, k]]
                        for x in range(cards[v]):
                            products[x] *= work[place + x * step]
                    total = 0.0
                    for x in range(cards[v]):
                        total += products[x]
                    left = uniforms[number + (d - begins[r]) * n_missing + done] * total
                    chosen = -1
                    for x in range(cards[v]):
                        if products[x] > 0.0:
                            chosen = x
                            left -= products[x]
                            if left < 0.0:
                                break
                    out[d, v] = chosen
                done += 1
        number += (begins[r + 1] - begins[r]) * n_missing


@inner
def _count(
    weight, n_block, n_loaded, n_factors, cells, cards, work, room, counts, shares,
    scopes, steps, sizes, bases, consumed, eliminated, scales,
    scope, inputs, input_steps, digits, at,
):  # fmt: skip
    """Add the expected counts of a block that has been eliminated; `shares` is room for the distribution of sums."""
    for f in range(n_loaded):
        if sizes[f] == 0:
            counts[cells[bases[f]]] += weight
    for s in range(n_block - 1, -1, -1):
        v, result = eliminated[s], n_loaded + s
        n_scope, n_inputs, entries = sizes[result] + 1, 0, 1
        for j in range(n_scope - 1):
            scope[j] = scopes[result, j]
            entries *= cards[scope[j]]
        scope[n_scope - 1] = v
        for f in range(n_factors):
            if consumed[f] == s:
                inputs[n_inputs] = f
                at[n_inputs] = bases[f]
                size = 1
                for j in range(n_scope):
                    input_steps[n_inputs, j] = _step_for(f, scope[j], scopes, steps, sizes)
                    if input_steps[n_inputs, j] > 0:
                        size *= cards[scope[j]]
                if f >= n_loaded:
                    shares[bases[f] - room : bases[f] - room + size] = 0.0
                n_inputs += 1
        digits[:n_scope] = 0
        for o in range(entries):
            place = bases[result] + o
            share = 1.0 if consumed[result] < 0 else shares[place - room]
            a = share / (work[place] * scales[s]) if share > 0.0 else 0.0
            for x in range(cards[v]):
                product = a
                for i in range(n_inputs):
                    product *= work[at[i] + x * input_steps[i, n_scope - 1]]
                if product > 0.0:
                    for i in range(n_inputs):
                        place = at[i] + x * input_steps[i, n_scope - 1]
                        if inputs[i] < n_loaded:
                            counts[cells[place]] += weight * product
                        else:
                            shares[place - room] += product
            _advance(n_scope - 1, n_inputs, scope, cards, digits, at, input_steps)
