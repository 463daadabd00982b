"""The relocation move over orders: its weights, its execution, and runs of moves."""

from math import inf, isnan, nan

import numpy as np

from cslearn._kernels import inner, outer
from cslearn._kernels.levels import fill, join, leave, log_score, new_state
from cslearn._kernels.moves import list_others, place_for, remember

__all__ = ["new_state", "relocate", "relocation_log_weights", "rescore", "run", "set_order", "settle"]

# After this many changes the sums of a target are made anew, so that rounding errors do not grow.
REFRESH = 100


def set_order(problem, state, order):
    """Set the order and everything that follows from it."""
    state.order[:] = order
    state.position[state.order] = np.arange(len(order))
    state.changes[:] = REFRESH
    _make_no_move(problem, state)


def rescore(problem, state):
    """Make the scores anew from the sums, for a problem that differs from the state's in the prior's weights alone."""
    state.score[:] = nan
    _make_no_move(problem, state)


def _make_no_move(problem, state):
    p = len(state.order)
    nothing = np.empty((0, 2)), False, np.empty(0), np.empty(p, np.int64), np.empty(1), 1, np.empty((0, p), np.int32)
    run(problem, state, *nothing, 1.0)


@inner
def settle(problem, state):
    """Make anew the sums of the targets that changed too often, and all scores that are not a number."""
    for i in range(len(state.order)):
        if state.changes[i] >= REFRESH:
            fill(problem, i, state, i, state.position[i], np.int64(-1))
            state.changes[i] = 0
            state.score[i] = nan
        if isnan(state.score[i]):
            state.score[i] = log_score(problem, i, state, i, np.int64(-1), np.int64(0))


@inner
def relocation_log_weights(problem, state, v, others, after, own, log_weights):
    """Fill `log_weights[t]` with the log score, up to a constant, of the order with v in place t (-inf: forbidden).

    Also fills `others` with the order without v, ``after[u]`` with the score of each other target when the relation
    of v to it is turned round, and ``own[t]`` with the score of v itself in place t.
    """
    p = len(state.order)
    here = state.position[v]
    first, last = list_others(problem, state, v, others)

    for t in range(first, last):
        u = others[t]
        place = problem.place[u, v]
        after[u] = state.score[u]
        if place >= 0:
            after[u] = log_score(problem, u, state, u, place, -1 if t >= here else 1)
            if isnan(after[u]):
                fill(problem, u, state, p, state.position[u], place)
                after[u] = log_score(problem, u, state, p, np.int64(-1), np.int64(0))

    # The level of v grows along the order, in the row for trials.
    fill(problem, v, state, p, np.int64(0), np.int64(-1))
    fresh = True
    for t in range(last + 1):
        place = problem.place[v, others[t - 1]] if t > 0 else -1
        if place >= 0:
            join(problem, v, state, p, place)
            fresh = True
        if t >= first:
            own[t] = log_score(problem, v, state, p, np.int64(-1), np.int64(0)) if fresh else own[t - 1]
            fresh = False

    # Moving v from before u to after u changes the score of u from that with v to that without.
    for t in range(p):
        log_weights[t] = -inf
    change = 0.0
    for t in range(first, last + 1):
        if t > first:
            u = others[t - 1]
            change += (after[u] - state.score[u]) if t - 1 >= here else (state.score[u] - after[u])
        log_weights[t] = change + own[t]


@inner
def relocate(problem, state, v, target, others, after, own):
    """Put v in place `target`, where its score is `own`; the rest is from :func:`relocation_log_weights`."""
    here = state.position[v]
    sign = -1 if target > here else 1
    for t in range(min(here, target), max(here, target)):
        u = others[t]
        state.order[t if target > here else t + 1] = u
        state.position[u] = t if target > here else t + 1
    state.order[target] = v
    state.position[v] = target
    low, high = min(here, target), max(here, target)
    # Short moves change the level of v itself step by step, long ones make it anew.
    state.changes[v] += high - low
    if 2 * (high - low) > target:
        state.changes[v] = REFRESH
    state.score[v] = own
    for t in range(low, high):
        u = others[t]
        if problem.place[u, v] >= 0:
            state.changes[u] += 1
            state.score[u] = after[u]
        for i, place, step in ((u, problem.place[u, v], sign), (v, problem.place[v, u], -sign)):
            if place >= 0 and state.changes[i] < REFRESH:
                if step > 0:
                    join(problem, i, state, i, place)
                elif not leave(problem, i, state, i, place):
                    state.changes[i] = REFRESH


@outer
def run(problem, state, draws, greedy, trace, best_order, best, thin, kept, cold):
    """Make one move for each row of `draws`, two uniform numbers: which variable, and where to.

    `trace` gets the log score after each move, `best_order` and ``best[0]`` the best order met, `kept` the order after
    every `thin`-th move. A greedy move goes to the best place, and stays where that is not better. Chances are
    proportional to the scores to the power `cold`. Returns the number of moves that changed the order.
    """
    p = len(state.order)
    others, after, own, log_weights = np.empty(p, np.int64), np.empty(p), np.empty(p), np.empty(p)
    moved = 0
    for step in range(-1, len(draws)):
        # What is out of date before the first move is made anew too.
        if step >= 0:
            v = min(int(draws[step, 0] * p), p - 1)
            relocation_log_weights(problem, state, v, others, after, own, log_weights)
            here = state.position[v]
            target = place_for(log_weights, here, draws[step, 1], greedy, cold)
            if target != here:
                moved += 1
                relocate(problem, state, v, target, others, after, own[target])
        settle(problem, state)
        if step >= 0:
            remember(state, step, trace, best_order, best, thin, kept)
    return moved
