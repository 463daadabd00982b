"""Grown trees taken out of the memory of contexts: the graph of a level, and predictions by it."""

from collections import namedtuple
from math import exp, inf, log

import numpy as np

from cslearn._kernels import inner, outer
from cslearn._kernels.grown import check_age, choose, log_add, log_of_set, new_stack, parent_sets
from cslearn._kernels.grown_levels import choose_pairs

__all__ = [
    "Graph",
    "best_of_graph",
    "flatten",
    "leave_one_out",
    "list_contexts",
    "log_sums_of_graph",
    "predict",
    "visits_of_graph",
]

# Contexts (number in the memory, log-weight of a stage there) with their splits first:last, and splits (variable,
# log-weight, where their parts begin in `part`). Parts come after what they are parts of. The first contexts are roots,
# one for each set of parents that is summed (`of_set`), and one for trees of at most two variables if these are summed
# beside them; what such a set weighs is in the weights of its root.
Graph = namedtuple("Graph", "context stop first last split weight parts part of_set")


@outer
def list_contexts(memo, nodes):
    """Return pointers, variables and states of some contexts."""
    pointers = np.zeros(len(nodes) + 1, np.int64)
    for r in range(len(nodes)):
        pointers[r + 1] = pointers[r] + memo.depth[nodes[r]]
    variables, states = np.empty(pointers[-1], np.int64), np.empty(pointers[-1], np.int64)
    for r in range(len(nodes)):
        e, at = pointers[r], nodes[r]
        while memo.parent[at] >= 0:
            variables[e] = memo.variable[at]
            states[e] = memo.state[at]
            e, at = e + 1, memo.parent[at]
    return pointers, variables, states


@outer
def flatten(memo, rules, target, before, graph, wanted, known, paused):
    """Write the grown trees of a target into a graph; returns how many roots, contexts, splits and parts there are.

    The first number is -1 if there is no room for them, and 0 if the sets of parents are not known yet.
    """
    m, stack = 0, new_stack(rules, known)
    for k in range(len(before)):
        m += before[k]
    chosen, promise = stack.chosen[0], stack.promise[0]
    check_age(memo, paused)
    roots = parent_sets(memo, rules, target, before, m, wanted, stack, paused, 0)
    if roots < 0:
        return 0, 0, 0, 0
    sets = roots
    if rules.log_pairs > -inf:
        roots += 1
    if roots > len(graph.part):
        return -1, 0, 0, 0
    for s in range(roots):
        graph.context[s] = target
        graph.of_set[s] = s
    nodes, splits, parts, at = roots, 0, 0, 0
    while at < nodes:
        node, s = graph.context[at], graph.of_set[at]
        # Trees of at most two variables are on all that come before.
        t, of_pairs = memo.depth[node], s == sets
        size = m if of_pairs else stack.size[s]
        bound = 2 if of_pairs else rules.bound
        weight = 0.0
        if at < roots:
            weight = rules.log_pairs if of_pairs else log_of_set(rules, size, m)
        graph.first[at] = graph.last[at] = splits
        graph.stop[at] = weight + (memo.log_z[node] if memo.rows[node] > 0 else 0.0)
        if memo.rows[node] > 0 and t < bound and t < size:
            graph.stop[at] += rules.stop[t]
            if of_pairs:
                found, taken = choose_pairs(memo, rules, node, before, m, wanted, stack), stack.taken
            else:
                found, taken = choose(memo, rules, node, stack.members[s], size, chosen, promise, wanted), chosen
            for c in range(found):
                k = memo.split[taken[c]]
                if splits == len(graph.split) or max(parts, nodes) + rules.cards[k] > len(graph.part):
                    return -1, 0, 0, 0
                graph.split[splits] = k
                graph.weight[splits] = weight + rules.split[t] - rules.log_of[size - t]
                graph.parts[splits] = parts
                for x in range(rules.cards[k]):
                    graph.part[parts] = nodes
                    graph.context[nodes] = memo.part[memo.parts[taken[c]] + x]
                    graph.of_set[nodes] = graph.of_set[at]
                    parts += 1
                    nodes += 1
                splits += 1
            graph.last[at] = splits
        at += 1
    return roots, nodes, splits, parts


@outer
def log_sums_of_graph(graph, cards, total, of_split):
    """Fill the log sum below each context, and the log of each split's part in it; from the last context up."""
    for node in range(len(graph.stop) - 1, -1, -1):
        total[node] = graph.stop[node]
        for e in range(graph.first[node], graph.last[node]):
            of_split[e] = graph.weight[e]
            for x in range(cards[graph.split[e]]):
                of_split[e] += total[graph.part[graph.parts[e] + x]]
            total[node] = log_add(total[node], of_split[e])


@outer
def best_of_graph(graph, cards, best, taken):
    """Fill the largest log-weight below each context, and the split it takes there, -1 for none."""
    for node in range(len(graph.stop) - 1, -1, -1):
        best[node], taken[node] = graph.stop[node], -1
        for e in range(graph.first[node], graph.last[node]):
            value = graph.weight[e]
            for x in range(cards[graph.split[e]]):
                value += best[graph.part[graph.parts[e] + x]]
            if value > best[node]:
                best[node], taken[node] = value, e


@outer
def visits_of_graph(graph, cards, total, of_split, visits):
    """Fill the probability that each context is one of the tree, given those of the roots and zeros."""
    for node in range(len(graph.stop)):
        for e in range(graph.first[node], graph.last[node]):
            chance = visits[node] * exp(of_split[e] - total[node])
            for x in range(cards[graph.split[e]]):
                visits[graph.part[graph.parts[e] + x]] += chance


@inner
def _log_total(total, roots):
    value = -inf
    for s in range(roots):
        value = log_add(value, total[s])
    return value


@outer
def predict(graph, roots, total, of_split, means, codes, out):
    """Fill ``out[r, y]`` with the probability of each state of the target in a row, averaged over all prunings."""
    waiting, share = np.empty(len(graph.stop), np.int64), np.empty(len(graph.stop))
    whole = _log_total(total, roots)
    for r in range(len(codes)):
        left = roots
        for s in range(roots):
            waiting[s], share[s] = s, exp(total[s] - whole)
        for y in range(means.shape[1]):
            out[r, y] = 0.0
        while left:
            left -= 1
            node, weight = waiting[left], share[left]
            here = weight * exp(graph.stop[node] - total[node])
            for y in range(means.shape[1]):
                out[r, y] += here * means[node, y]
            for e in range(graph.first[node], graph.last[node]):
                part = weight * exp(of_split[e] - total[node])
                if part > 1e-12:
                    waiting[left] = graph.part[graph.parts[e] + codes[r, graph.split[e]]]
                    share[left] = part
                    left += 1


@outer
def leave_one_out(graph, roots, total, of_split, counts, a_stages, codes, target, out):
    """Fill the log-probability of the target in each row given all other rows, averaged over all prunings.

    It is the sum over the trees with all rows over that without the row, which changes the contexts the row is in
    alone: there z is divided by the probability of the row's state given the rest. O(contexts of the row). A row that
    counts for less than one is taken out where it is all there is.
    """
    d = counts.shape[1]
    path, new = np.empty(len(graph.stop), np.int64), np.empty(len(graph.stop))
    for r in range(len(codes)):
        length, at = roots, 0
        for s in range(roots):
            path[s] = s
        while at < length:
            node = path[at]
            for e in range(graph.first[node], graph.last[node]):
                path[length] = graph.part[graph.parts[e] + codes[r, graph.split[e]]]
                length += 1
            at += 1
        y = codes[r, target]
        for s in range(length - 1, -1, -1):
            node = path[s]
            rows = 0.0
            for state in range(d):
                rows += counts[node, state]
            a, one = a_stages[node], min(1.0, counts[node, y])
            new[node] = graph.stop[node] - log((counts[node, y] - one + a / d) / (rows - one + a))
            for e in range(graph.first[node], graph.last[node]):
                part = graph.part[graph.parts[e] + codes[r, graph.split[e]]]
                new[node] = log_add(new[node], of_split[e] - total[part] + new[part])
        out[r] = _log_total(total, roots) - _log_total(new, roots)
