"""The relocation move with local order scores that are looked up by subsets of the candidates.

The functions do what those of the same name in :mod:`cslearn._kernels.relocation` do, for small candidate sets.
"""

from collections import namedtuple
from math import inf

import numpy as np

from cslearn._kernels import inner, outer
from cslearn._kernels.moves import list_others, place_for, remember

__all__ = ["LookupProblem", "LookupState", "new_state", "relocation_log_weights", "run", "set_order"]

# values[offset[i] + L]: log local order score of i with the subset L of its candidates; place[i, j]: the bit of j in it
LookupProblem = namedtuple("LookupProblem", "cards values offset place before")
LookupState = namedtuple("LookupState", "order position level score")


def new_state(problem):
    """Return a state with room for everything; :func:`set_order` fills it."""
    p = len(problem.cards)
    return LookupState(np.zeros(p, np.int64), np.zeros(p, np.int64), np.zeros(p, np.int64), np.zeros(p))


@outer
def set_order(problem, state, order):
    """Set the order and everything that follows from it."""
    for t in range(len(order)):
        state.order[t] = order[t]
        state.position[order[t]] = t
    for i in range(len(order)):
        state.level[i] = 0
        for t in range(state.position[i]):
            place = problem.place[i, order[t]]
            if place >= 0:
                state.level[i] |= 1 << place
        state.score[i] = problem.values[problem.offset[i] + state.level[i]]


@inner
def relocation_log_weights(problem, state, v, others, log_weights):
    """Fill `log_weights[t]` with the log score, up to a constant, of the order with v in place t (-inf: forbidden)."""
    p = len(state.order)
    first, last = list_others(problem, state, v, others)
    for t in range(p):
        log_weights[t] = -inf
    level, change = 0, 0.0
    for t in range(last + 1):
        if t > 0:
            u = others[t - 1]
            place = problem.place[v, u]
            if place >= 0:
                level |= 1 << place
            place = problem.place[u, v]
            if place >= 0 and t > first:
                bit = 1 << place
                at = problem.offset[u] + (state.level[u] & ~bit)
                change += problem.values[at] - problem.values[at + bit]
        if t >= first:
            log_weights[t] = change + problem.values[problem.offset[v] + level]


@outer
def run(problem, state, draws, greedy, trace, best_order, best, thin, kept, cold):
    """Make one move for each row of `draws`, as :func:`cslearn._kernels.relocation.run` does."""
    p = len(state.order)
    others, log_weights = np.empty(p, np.int64), np.empty(p)
    moved = 0
    for step in range(len(draws)):
        v = min(int(draws[step, 0] * p), p - 1)
        relocation_log_weights(problem, state, v, others, log_weights)
        here = state.position[v]
        target = place_for(log_weights, here, draws[step, 1], greedy, cold)
        if target != here:
            moved += 1
            for t in range(min(here, target), max(here, target)):
                u = others[t]
                state.order[t if target > here else t + 1] = u
                state.position[u] = t if target > here else t + 1
                for i, place in ((u, problem.place[u, v]), (v, problem.place[v, u])):
                    if place >= 0:
                        state.level[i] ^= 1 << place
                        state.score[i] = problem.values[problem.offset[i] + state.level[i]]
            state.order[target] = v
            state.position[v] = target
        remember(state, step, trace, best_order, best, thin, kept)
    return moved
