"""The relocation move over orders: its weights, its execution, and runs of moves."""

from math import inf

import numpy as np
from numba import njit

from cslearn._kernels.levels import clear, join, leave, log_score, new_state
from cslearn._kernels.moves import place_for, remember

__all__ = ["new_state", "relocate", "relocation_log_weights", "rescore", "run", "set_order"]

# After this many changes the sums of a target are made anew, so that rounding errors do not grow.
REFRESH = 100


@njit(cache=True, nogil=True, error_model="numpy")
def _refresh(problem, state, i):
    """Make the level, the sums and the score of target i anew from the order."""
    clear(problem, state, i)
    for t in range(state.position[i]):
        place = problem.place[i, state.order[t]]
        if place >= 0:
            join(problem, i, state, i, place)
    state.changes[i] = 0
    state.score[i] = log_score(problem, i, state, i, np.int64(-1), np.int64(0))


@njit(cache=True, nogil=True, error_model="numpy")
def set_order(problem, state, order):
    """Set the order and everything that follows from it."""
    for t in range(len(order)):
        state.order[t] = order[t]
        state.position[order[t]] = t
    for i in range(len(order)):
        _refresh(problem, state, i)


@njit(cache=True, nogil=True, error_model="numpy")
def rescore(problem, state):
    """Make the scores anew from the sums, for a problem that differs from the state's in the prior's weights alone."""
    for i in range(len(state.order)):
        state.score[i] = log_score(problem, i, state, i, np.int64(-1), np.int64(0))


@njit(cache=True, nogil=True, error_model="numpy")
def relocation_log_weights(problem, state, v, others, after, own, log_weights):
    """Fill `log_weights[t]` with the log score, up to a constant, of the order with v in place t (-inf: forbidden).

    Also fills `others` with the order without v, ``after[u]`` with the score of each other target when the relation
    of v to it is turned round, and ``own[t]`` with the score of v itself in place t.
    """
    p = len(state.order)
    here = state.position[v]
    first, last = 0, p - 1
    s = 0
    for t in range(p):
        u = state.order[t]
        if u != v:
            others[s] = u
            if problem.before[u, v]:
                first = max(first, s + 1)
            if problem.before[v, u]:
                last = min(last, s)
            s += 1
    for t in range(first, last):
        u = others[t]
        place = problem.place[u, v]
        after[u] = state.score[u]
        if place >= 0:
            after[u] = log_score(problem, u, state, u, place, -1 if t >= here else 1)

    # The level of v grows along the order, in the row for trials.
    clear(problem, state, p)
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


@njit(cache=True, nogil=True, error_model="numpy")
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
    anew = 2 * (high - low) > target or state.changes[v] + high - low >= REFRESH
    for t in range(low, high):
        u = others[t]
        for i, place, step in ((u, problem.place[u, v], sign), (v, problem.place[v, u], -sign)):
            if place >= 0 and not (i == v and anew):
                state.changes[i] += 1
                if state.changes[i] >= REFRESH:
                    _refresh(problem, state, i)
                elif step > 0:
                    join(problem, i, state, i, place)
                else:
                    leave(problem, i, state, i, place)
        if state.changes[u] > 0:
            state.score[u] = after[u]
    if anew:
        _refresh(problem, state, v)
    else:
        state.score[v] = own


@njit(cache=True, nogil=True, error_model="numpy")
def run(problem, state, draws, greedy, trace, best_order, best, thin, kept, cold=1.0):
    """Make one move for each row of `draws`, two uniform numbers: which variable, and where to.

    `trace` gets the log score after each move, `best_order` and ``best[0]`` the best order met, `kept` the order after
    every `thin`-th move. A greedy move goes to the best place, and stays where that is not better. Chances are
    proportional to the scores to the power `cold`. Returns the number of moves that changed the order.
    """
    p = len(state.order)
    others, after, own, log_weights = np.empty(p, np.int64), np.empty(p), np.empty(p), np.empty(p)
    moved = 0
    for step in range(len(draws)):
        v = min(int(draws[step, 0] * p), p - 1)
        relocation_log_weights(problem, state, v, others, after, own, log_weights)
        here = state.position[v]
        target = place_for(log_weights, here, draws[step, 1], greedy, cold)
        if target != here:
            moved += 1
            relocate(problem, state, v, target, others, after, own[target])
        remember(state, step, trace, best_order, best, thin, kept)
    return moved
