"""Grown trees taken out of the memory of contexts: the graph of a level, and predictions by it."""

from collections import namedtuple
from math import exp, log

import numpy as np

from cslearn._kernels import outer
from cslearn._kernels.grown import choose, log_add, new_stack

__all__ = ["Graph", "flatten", "leave_one_out", "list_contexts", "log_sums_of_graph", "predict"]

# Contexts (number in the memory, log-weight of a stage there) with their splits first:last, and splits (variable,
# log-weight, where their parts begin in `part`). Parts come after what they are parts of.
Graph = namedtuple("Graph", "context stop first last split weight parts part")


@outer
def list_contexts(memo, begin, end):
    """Return pointers, variables and states of some contexts."""
    pointers = np.zeros(end - begin + 1, np.int64)
    for node in range(begin, end):
        pointers[node - begin + 1] = pointers[node - begin] + memo.depth[node]
    variables, states = np.empty(pointers[-1], np.int64), np.empty(pointers[-1], np.int64)
    for node in range(begin, end):
        e, at = pointers[node - begin], node
        while memo.parent[at] >= 0:
            variables[e] = memo.variable[at]
            states[e] = memo.state[at]
            e, at = e + 1, memo.parent[at]
    return pointers, variables, states


@outer
def flatten(memo, rules, target, before, graph, wanted):
    """Write the grown tree of a target into a graph; returns how many contexts, splits and parts there are.

    The first number is -1 if there is no room for them.
    """
    m = 0
    for k in range(len(before)):
        m += before[k]
    stack = new_stack(rules)
    chosen, promise = stack.chosen[0], stack.promise[0]
    graph.context[0] = target
    nodes, splits, parts, at = 1, 0, 0, 0
    while at < nodes:
        node = graph.context[at]
        t = memo.depth[node]
        graph.first[at] = graph.last[at] = splits
        graph.stop[at] = memo.log_z[node] if memo.rows[node] > 0 else 0.0
        if memo.rows[node] > 0 and t < rules.bound and t < m:
            graph.stop[at] += rules.stop[t]
            found = choose(memo, rules, node, before, m, chosen, promise, wanted)
            for c in range(found):
                k = memo.split[chosen[c]]
                if splits == len(graph.split) or max(parts, nodes) + rules.cards[k] > len(graph.part):
                    return -1, 0, 0
                graph.split[splits] = k
                graph.weight[splits] = rules.split[t] - rules.log_of[m - t]
                graph.parts[splits] = parts
                for x in range(rules.cards[k]):
                    graph.part[parts] = nodes
                    graph.context[nodes] = memo.part[memo.parts[chosen[c]] + x]
                    parts += 1
                    nodes += 1
                splits += 1
            graph.last[at] = splits
        at += 1
    return nodes, splits, parts


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
def predict(graph, total, of_split, means, codes, out):
    """Fill ``out[r, y]`` with the probability of each state of the target in a row, averaged over all prunings."""
    waiting, share = np.empty(len(graph.stop), np.int64), np.empty(len(graph.stop))
    for r in range(len(codes)):
        waiting[0], share[0], left = 0, 1.0, 1
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
def leave_one_out(graph, total, of_split, counts, a_stages, codes, target, out):
    """Fill the log-probability of the target in each row given all other rows, averaged over all prunings.

    It is the sum over the trees with all rows over that without the row, which changes the contexts the row is in
    alone: there z is divided by the probability of the row's state given the rest. O(contexts of the row). A row that
    counts for less than one is taken out where it is all there is.
    """
    d = counts.shape[1]
    path, new = np.empty(len(graph.stop), np.int64), np.empty(len(graph.stop))
    for r in range(len(codes)):
        path[0], length, at = 0, 1, 0
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
        out[r] = total[0] - new[0]
