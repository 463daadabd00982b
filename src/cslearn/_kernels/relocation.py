"""The relocation move over orders: its weights, its execution, and runs of moves."""

from math import exp, inf

import numpy as np
from numba import njit

from cslearn._kernels.levels import clear, join, leave, log_score

__all__ = ["relocate", "relocation_log_weights", "run", "set_order"]

# After this many changes the sums of a target are made anew, so that rounding errors do not grow.
REFRESH = 100


@njit(cache=True, nogil=True)
def _refresh(problem, state, i):
    """Make the level, the sums and the score of target i anew from the order."""
    clear(state, i)
    for t in range(state.position[i]):
        place = problem.place[i, state.order[t]]
        if place >= 0:
            join(problem, i, state, i, place)
    state.changes[i] = 0
    state.score[i] = log_score(problem, i, state, i, -1, 0)


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
    """Let candidate v join or leave the level of target i, whose score becomes `score`."""
    state.changes[i] += 1
    if state.changes[i] >= REFRESH:
        _refresh(problem, state, i)
    else:
        if sign > 0:
            join(problem, i, state, i, v)
        else:
            leave(problem, i, state, i, v)
        state.score[i] = score


@njit(cache=True, nogil=True)
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
    clear(state, p)
    fresh = True
    for t in range(last + 1):
        place = problem.place[v, others[t - 1]] if t > 0 else -1
        if place >= 0:
            join(problem, v, state, p, place)
            fresh = True
        if t >= first:
            own[t] = log_score(problem, v, state, p, -1, 0) if fresh else own[t - 1]
            fresh = False

    # Moving v from before u to after u changes the score of u from that with v to that without.
    log_weights[:] = -inf
    change = 0.0
    for t in range(first, last + 1):
        if t > first:
            u = others[t - 1]
            change += (after[u] - state.score[u]) if t - 1 >= here else (state.score[u] - after[u])
        log_weights[t] = change + own[t]


@njit(cache=True, nogil=True)
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
    for t in range(min(here, target), max(here, target)):
        u = others[t]
        place = problem.place[u, v]
        if place >= 0:
            _change(problem, state, u, place, sign, after[u])
    # Short moves change the level of v itself step by step, long ones make it anew.
    if abs(target - here) * 2 > target or state.changes[v] + abs(target - here) >= REFRESH:
        _refresh(problem, state, v)
        return
    for t in range(min(here, target), max(here, target)):
        place = problem.place[v, others[t]]
        if place >= 0:
            _change(problem, state, v, place, -sign, 0.0)
    state.score[v] = own


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
            relocate(problem, state, v, target, others, after, own[target])
        score = state.score.sum()
        trace[step] = score
        if (step + 1) % thin == 0:
            kept[(step + 1) // thin - 1] = state.order
        if score > best[0]:
            best[0] = score
            best_order[:] = state.order
    return moved
