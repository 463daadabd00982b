"""The relocation move over orders, with local order scores kept up to date instead of recomputed.

For each target the level ``L`` is the set of its candidates that come before it. Its score (see
:mod:`cslearn.stagings.level`) needs, for every root ``k`` and state ``x``, the sum of ``w(k, x, j)`` over ``j`` in
``L``. These sums are kept for all candidates ``k``, so that the score of a level with one variable more or less takes
O(|L| d) instead of O(|L|^2 d). All numbers are logarithms.
"""

from collections import namedtuple
from math import exp, inf, log, log1p

import numpy as np
from numba import njit

__all__ = ["Problem", "State", "new_state", "relocate", "relocation_log_weights", "run", "set_order"]

# A subtraction that would leave less than this part of a sum is replaced by a new sum, and after this many changes
# the sums of a target are made anew, so that rounding errors stay below 1e-11.
SMALLEST_REST = 1e-3
REFRESH = 100

# What does not change: beta; the tables of Scores; for each target the number of its candidates, their columns and
# the position of every column among them (-1: no candidate); cardinalities; kinds of cardinality; the prior's
# log-weights of full splits by size and |L|; the normaliser's term of a root by kind and |L|; what must come before
# what.
Problem = namedtuple(
    "Problem", "beta stop single pair n_candidates columns place cards kind log_split log_root_norm before"
)
# The order and where each variable stands in it; for each target, which candidates are in its level, how many, how
# many of each kind, the sums over the level, the sums of full splits, its score, and changes since the last refresh.
State = namedtuple("State", "order position member size kinds sums full score changes")


def new_state(problem):
    """Return a state with room for everything; :func:`set_order` fills it."""
    p, m, d = problem.single.shape[0], problem.columns.shape[1], problem.single.shape[2]
    return State(
        np.zeros(p, np.int64),
        np.zeros(p, np.int64),
        np.zeros((p, m), np.bool_),
        np.zeros(p, np.int64),
        np.zeros((p, problem.log_root_norm.shape[0]), np.int64),
        np.full((p, m, d), -inf),
        np.full((p, m), -inf),
        np.zeros(p),
        np.zeros(p, np.int64),
    )


@njit(cache=True, nogil=True)
def _plus(a, b):
    """log(exp(a) + exp(b)); what is below 1e-16 of the larger is dropped."""
    if a < b:
        a, b = b, a
    if b - a < -37.0 or b == -inf:
        return a
    return a + log1p(exp(b - a))


@njit(cache=True, nogil=True)
def _minus(a, b):
    """log(exp(a) - exp(b)) for b < a."""
    if b - a < -37.0 or b == -inf:
        return a
    return a + log1p(-exp(b - a))


@njit(cache=True, nogil=True)
def _sum_of_splits(problem, i, member, without, k, x):
    """Sum of w(k, x, j) over the level without one variable; over all states of k (a full split) for x = -1."""
    total = -inf
    d_k = problem.cards[problem.columns[i, k]]
    for j in range(problem.n_candidates[i]):
        if member[j] and j != without and j != k:
            if x >= 0:
                total = _plus(total, problem.pair[i, j, k, x])
            else:
                total = _plus(total, _full_split(problem, i, j, k, d_k))
    return total


@njit(cache=True, nogil=True)
def _full_split(problem, i, j, k, d_k):
    value = 0.0
    for x in range(d_k):
        value += problem.pair[i, j, k, x]
    return value


@njit(cache=True, nogil=True)
def _without(problem, i, member, v, k, x, total, term):
    """Return the sum `total` of splits without the `term` of variable `v`."""
    if term == -inf:
        return total
    if term > total + log1p(-SMALLEST_REST):
        return _sum_of_splits(problem, i, member, v, k, x)
    return _minus(total, term)


@njit(cache=True, nogil=True)
def _log_normaliser(problem, m, kinds, extra_kind, sign):
    """Log of the prior's sum over all stagings of a level; `sign` variables of `extra_kind` are added to `kinds`."""
    total = problem.log_split[0, m]
    if problem.beta == 0 or m == 0:
        return total
    for kind in range(len(kinds)):
        number = kinds[kind] + (sign if kind == extra_kind else 0)
        if number > 0:
            total = _plus(total, log(number) + problem.log_root_norm[kind, m])
    if problem.beta >= 2 and m >= 2:
        total = _minus(total, log(0.5 * m * (m - 1)) + problem.log_split[2, m])
    return total


@njit(cache=True, nogil=True)
def _level_score(problem, i, member, size, kinds, sums, full, v, sign):
    """Log local order score of target `i` if candidate `v` joins (sign 1) or leaves (-1) its level, or as it is (0)."""
    m = size + sign
    total = problem.stop[i] + problem.log_split[0, m]
    extra_kind = problem.kind[problem.columns[i, v]] if sign != 0 else -1
    if problem.beta == 0:
        return total - _log_normaliser(problem, m, kinds, extra_kind, sign)
    for k in range(problem.n_candidates[i]):
        if not (member[k] or (k == v and sign > 0)) or (k == v and sign < 0):
            continue
        d_k = problem.cards[problem.columns[i, k]]
        stop_weight = problem.log_split[1, m] / d_k
        split_weight = problem.log_split[2, m] / d_k
        root = 0.0
        added = 0.0
        for x in range(d_k):
            stop = problem.single[i, k, x] + stop_weight
            if problem.beta == 1:
                root += stop
                continue
            split = sums[k, x]
            if sign != 0 and k != v:
                term = problem.pair[i, v, k, x]
                added += term
                split = _plus(split, term) if sign > 0 else _without(problem, i, member, v, k, x, split, term)
            root += _plus(stop, split + split_weight)
        if problem.beta >= 2:
            twice = full[k]
            if sign != 0 and k != v:
                twice = _plus(twice, added) if sign > 0 else _without(problem, i, member, v, k, -1, twice, added)
            # A full split on a pair is reached from both its roots: half of it is taken off each.
            root = _minus(root, twice + problem.log_split[2, m] - log(2.0))
        total = _plus(total, root)
    return total - _log_normaliser(problem, m, kinds, extra_kind, sign)


@njit(cache=True, nogil=True)
def _join(problem, i, v, sums, full):
    """Add the splits on candidate `v` to the sums of target `i`."""
    for k in range(problem.n_candidates[i]):
        if k != v:
            d_k = problem.cards[problem.columns[i, k]]
            for x in range(d_k):
                sums[k, x] = _plus(sums[k, x], problem.pair[i, v, k, x])
            full[k] = _plus(full[k], _full_split(problem, i, v, k, d_k))


@njit(cache=True, nogil=True)
def _leave(problem, i, v, member, sums, full):
    """Take the splits on candidate `v`, still a member, off the sums of target `i`."""
    for k in range(problem.n_candidates[i]):
        if k != v:
            d_k = problem.cards[problem.columns[i, k]]
            for x in range(d_k):
                sums[k, x] = _without(problem, i, member, v, k, x, sums[k, x], problem.pair[i, v, k, x])
            full[k] = _without(problem, i, member, v, k, -1, full[k], _full_split(problem, i, v, k, d_k))


@njit(cache=True, nogil=True)
def _refresh(problem, state, i):
    """Make the sums and the score of target `i` anew from the order."""
    state.sums[i] = -inf
    state.full[i] = -inf
    state.kinds[i] = 0
    state.size[i] = 0
    state.changes[i] = 0
    for j in range(problem.n_candidates[i]):
        column = problem.columns[i, j]
        state.member[i, j] = state.position[column] < state.position[i]
        if state.member[i, j]:
            state.size[i] += 1
            state.kinds[i, problem.kind[column]] += 1
            if problem.beta >= 2:
                _join(problem, i, j, state.sums[i], state.full[i])
    state.score[i] = _level_score(
        problem, i, state.member[i], state.size[i], state.kinds[i], state.sums[i], state.full[i], 0, 0
    )


@njit(cache=True, nogil=True)
def set_order(problem, state, order):
    """Set the order and everything that follows from it."""
    for t in range(len(order)):
        state.order[t] = order[t]
        state.position[order[t]] = t
    for i in range(len(order)):
        _refresh(problem, state, i)


@njit(cache=True, nogil=True)
def _change(problem, state, i, v, sign, score):
    """Let candidate `v` join or leave the level of target `i`, whose score becomes `score`."""
    state.changes[i] += 1
    if state.changes[i] >= REFRESH:
        _refresh(problem, state, i)
        return
    if problem.beta >= 2:
        if sign > 0:
            _join(problem, i, v, state.sums[i], state.full[i])
        else:
            _leave(problem, i, v, state.member[i], state.sums[i], state.full[i])
    state.member[i, v] = sign > 0
    state.size[i] += sign
    state.kinds[i, problem.kind[problem.columns[i, v]]] += sign
    state.score[i] = score


@njit(cache=True, nogil=True)
def relocation_log_weights(problem, state, v, others, after, own, log_weights):
    """Fill `log_weights[t]` with the log score, up to a constant, of the order with `v` in place `t` (-inf: forbidden).

    Also fills `others` with the order without `v`, ``after[u]`` with the score of each other target when the relation
    of `v` to it is turned round, and ``own[t]`` with the score of `v` itself in place `t`.
    """
    p = len(state.order)
    here = state.position[v]
    first, last = 0, p - 1
    s = 0
    for t in range(p):
        u = state.order[t]
        if u == v:
            continue
        others[s] = u
        if problem.before[u, v]:
            first = max(first, s + 1)
        if problem.before[v, u]:
            last = min(last, s)
        place = problem.place[u, v]
        after[u] = state.score[u]
        if place >= 0:
            after[u] = _level_score(
                problem,
                u,
                state.member[u],
                state.size[u],
                state.kinds[u],
                state.sums[u],
                state.full[u],
                place,
                -1 if t > here else 1,
            )
        s += 1

    m, d = state.sums.shape[1], state.sums.shape[2]
    sums, full = np.full((m, d), -inf), np.full(m, -inf)
    member, kinds, size = np.zeros(m, np.bool_), np.zeros(state.kinds.shape[1], np.int64), 0
    own[0] = _level_score(problem, v, member, size, kinds, sums, full, 0, 0)
    for t in range(1, p):
        place = problem.place[v, others[t - 1]]
        own[t] = own[t - 1]
        if place >= 0:
            if problem.beta >= 2:
                _join(problem, v, place, sums, full)
            member[place] = True
            kinds[problem.kind[others[t - 1]]] += 1
            size += 1
            own[t] = _level_score(problem, v, member, size, kinds, sums, full, 0, 0)

    # Moving v from before u to after u changes the score of u from that with v to that without.
    change = 0.0
    for t in range(p):
        if t > 0:
            u = others[t - 1]
            if t - 1 < here:
                change += state.score[u] - after[u]
            else:
                change += after[u] - state.score[u]
        log_weights[t] = change + own[t] if first <= t <= last else -inf


@njit(cache=True, nogil=True)
def relocate(problem, state, v, target, others, after, own):
    """Put `v` in place `target`; the other arguments are from :func:`relocation_log_weights`."""
    here = state.position[v]
    if target == here:
        return
    for t in range(min(here, target), max(here, target)):
        u = others[t]
        place = problem.place[u, v]
        state.order[t if target > here else t + 1] = u
        state.position[u] = t if target > here else t + 1
        if place >= 0:
            _change(problem, state, u, place, -1 if target > here else 1, after[u])
    state.order[target] = v
    state.position[v] = target
    _refresh(problem, state, v)


@njit(cache=True, nogil=True)
def run(problem, state, draws, greedy, trace, best_order, best, thin, kept):
    """Make one move for each row of `draws`, two uniform numbers: which variable, and where to.

    `trace` gets the log score after each move, `best_order` and ``best[0]`` the best order met, `kept` the order after
    every `thin`-th move. A greedy move goes to the best place, and stays where that is not better. Returns the number
    of moves that changed the order.
    """
    p = len(state.order)
    others, after, own, log_weights = np.empty(p, np.int64), np.empty(p), np.empty(p), np.empty(p)
    moved = 0
    for step in range(len(draws)):
        v = min(int(draws[step, 0] * p), p - 1)
        relocation_log_weights(problem, state, v, others, after, own, log_weights)
        here = state.position[v]
        top = log_weights.max()
        target = here
        if greedy:
            if top > log_weights[here] + 1e-9:
                target = int(np.argmax(log_weights))
        else:
            total = 0.0
            for t in range(p):
                total += exp(log_weights[t] - top)
            goal = draws[step, 1] * total
            running = 0.0
            for t in range(p):
                running += exp(log_weights[t] - top)
                if running > goal:
                    target = t
                    break
        if target != here:
            moved += 1
            relocate(problem, state, v, target, others, after, own)
        score = state.score.sum()
        trace[step] = score
        if (step + 1) % thin == 0:
            kept[(step + 1) // thin - 1] = state.order
        if score > best[0]:
            best[0] = score
            best_order[:] = state.order
    return moved
