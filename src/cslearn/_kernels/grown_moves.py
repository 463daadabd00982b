"""The relocation move over orders whose scores are sums over grown trees."""

from collections import namedtuple
from math import exp, expm1, inf, nan

import numpy as np

from cslearn._kernels import inner, outer
from cslearn._kernels.grown import (
    check_age,
    log_add,
    log_of_set,
    log_sum_of_set,
    new_stack,
    parent_sets,
)
from cslearn._kernels.grown_levels import add_edges_of_pairs, log_sum_of_level, log_sum_of_pairs
from cslearn._kernels.moves import list_others, place_for, remember

__all__ = ["GrownProblem", "GrownState", "edge_chances", "make_moves"]

# allowed[i, k]: whether i may be split on k; before[i, j]: whether i comes before j in every order
GrownProblem = namedtuple("GrownProblem", "allowed before")
# Of a move that is not finished: scores of its variable by place, of the others after it, and whether it has begun;
# then the number of moves made, sums over trees that are known, and searches for parents that have paused.
GrownState = namedtuple("GrownState", "order position score own after begun sweeps known paused")


# Sets of parents that are less probable do not matter for an edge.
NEGLIGIBLE = 1e-12

# Of more variables than this most moves stay within a block of so many places; a share of them goes anywhere. Blocks
# lie at random, whatever the order is, so that a move between two orders is as probable one way as the other way.
# Greedy moves go anywhere unless there are very many variables: within blocks they end in worse orders, by 110 nats for
# 1,000 rows of a random CStree of 100 variables.
BLOCK = 24
ANYWHERE = 0.25
SWEPT_WHOLE = 250


@inner
def _block(number, here, first, last):
    """Return the first and the last place of a move, given a uniform number."""
    if last < BLOCK or number < ANYWHERE:
        return first, last
    begin = here - (here + int((number - ANYWHERE) / (1 - ANYWHERE) * BLOCK)) % BLOCK
    return max(first, begin), min(last, begin + BLOCK - 1)


@inner
def _set_before(problem, state, i, before):
    """Set which variables come before i and may be split on; returns their number."""
    m = 0
    for k in range(len(before)):
        before[k] = problem.allowed[i, k] and state.position[k] < state.position[i]
        m += before[k]
    return m


@inner
def _fill(memo, rules, problem, state, v, others, first, last, before, wanted, stack):
    """Fill the scores that a move of v asks for, where all contexts are there."""
    for t in range(first, last):
        u = others[t]
        if state.after[u] != state.after[u]:
            if problem.allowed[u, v]:
                m = _set_before(problem, state, u, before)
                m += -1 if before[v] else 1
                before[v] = not before[v]
                state.after[u] = log_sum_of_level(memo, rules, u, before, m, wanted, stack, state.paused, u)
            else:
                state.after[u] = state.score[u]
    m = 0
    for k in range(len(before)):
        before[k] = False
    for t in range(last + 1):
        fresh = t == first
        if t > 0 and problem.allowed[v, others[t - 1]]:
            before[others[t - 1]] = fresh = True
            m += 1
        if t >= first and state.own[t] != state.own[t]:
            at = len(before) + t
            state.own[t] = (
                log_sum_of_level(memo, rules, v, before, m, wanted, stack, state.paused, at)
                if fresh
                else state.own[t - 1]
            )


@outer
def make_moves(
    memo, rules, problem, state, draws, step, greedy, trace, best_order, best, thin, kept, cold, wanted, moved
):
    """Make the moves from number `step` on, as :func:`cslearn._kernels.relocation.run` does.

    Returns the number of moves made: fewer than asked for when contexts are wanted, and then it is to be called again.
    """
    p = len(state.order)
    others, log_weights, before = np.empty(p, np.int64), np.empty(p), np.empty(p, np.bool_)
    stack = new_stack(rules, state.known)
    check_age(memo, state.paused)
    while step < len(draws):
        v = min(int(draws[step, 0] * p), p - 1)
        here = state.position[v]
        first, last = list_others(problem, state, v, others)
        number = draws[step, 0] * p - v
        if greedy:
            # Sweeps have no random number to spare: blocks lie elsewhere for each variable and sweep.
            number = 0.618 * (v + state.sweeps[0]) % 1.0 if p > SWEPT_WHOLE else 0.0
        first, last = _block(number, here, first, last)
        if not state.begun[0]:
            state.begun[0] = 1
            for t in range(p):
                state.own[t] = state.after[t] = nan
            state.paused.size[:] = 0
        _fill(memo, rules, problem, state, v, others, first, last, before, wanted, stack)
        if wanted.number[0]:
            return step
        change = 0.0
        for t in range(p):
            log_weights[t] = -inf
        for t in range(first, last + 1):
            if t > first:
                u = others[t - 1]
                gain = state.after[u] - state.score[u]
                change += gain if t - 1 >= here else -gain
            log_weights[t] = change + state.own[t]
        target = place_for(log_weights, here, draws[step, 1], greedy, cold)
        if target != here:
            moved[0] += 1
            for t in range(min(here, target), max(here, target)):
                u = others[t]
                state.order[t if target > here else t + 1] = u
                state.position[u] = t if target > here else t + 1
                state.score[u] = state.after[u]
            state.order[target] = v
            state.position[v] = target
            state.score[v] = state.own[target]
        state.begun[0] = 0
        state.sweeps[0] += 1
        remember(state, step, trace, best_order, best, thin, kept)
        step += 1
    return step


@outer
def edge_chances(memo, rules, targets, before, done, found, wanted, known, paused):
    """Fill ``found[r, k]``, the probability that `k` is in a context of a target, from number `done` on.

    Returns how many are done. Trees without `k` have the sum in which splits on it are left out.
    """
    p = before.shape[1]
    stack, weights, none = new_stack(rules, known), np.empty(max(rules.sets, 1 << 5)), np.ones(p)
    check_age(memo, paused)
    while done < len(targets):
        root, m = targets[done], 0
        for k in range(p):
            m += before[done, k]
            found[done, k] = 0.0
        number = parent_sets(memo, rules, root, before[done], m, wanted, stack, paused, 0)
        total = -inf
        for s in range(number):
            whole = log_sum_of_set(memo, rules, root, s, -1, wanted, stack)
            weights[s] = log_of_set(rules, stack.size[s], m) + whole
            total = log_add(total, weights[s])
        if rules.log_pairs > -inf:
            pairs = rules.log_pairs + log_sum_of_pairs(memo, rules, root, before[done], m, wanted, stack)
            if pairs == pairs and not wanted.number[0]:
                total = log_add(total, pairs)
                share = exp(pairs - total)
                if share > NEGLIGIBLE:
                    add_edges_of_pairs(memo, rules, root, before[done], m, share, found[done], wanted, stack, none)
        for s in range(number):
            share = exp(weights[s] - total)
            if share > NEGLIGIBLE:
                whole = log_sum_of_set(memo, rules, root, s, -1, wanted, stack)
                for a in range(stack.size[s]):
                    k = stack.members[s, a]
                    without = log_sum_of_set(memo, rules, root, s, k, wanted, stack)
                    found[done, k] += share * max(0.0, -expm1(without - whole))
        if wanted.number[0]:
            return done
        paused.size[0] = 0
        done += 1
    return done
