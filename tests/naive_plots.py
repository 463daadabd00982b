"""Slow and obvious twins of what the pictures compute."""

from itertools import combinations, product
from math import hypot, prod


def crossings(upper, lower, edges):
    """Pairs of edges between two layers, given as lists from left to right, that cross."""
    ends = [(upper.index(u), lower.index(v)) for u, v in edges]
    return sum((a - c) * (b - d) < 0 for (a, b), (c, d) in combinations(ends, 2))


def shortest_layers(nodes, edges):
    """The least total length of the edges over all assignments of layers."""
    best = None
    for layers in product(range(len(nodes)), repeat=len(nodes)):
        layer = dict(zip(nodes, layers, strict=True))
        if all(layer[u] < layer[v] for u, v in edges):
            length = sum(layer[v] - layer[u] for u, v in edges)
            best = length if best is None else min(best, length)
    return best


def shortest_line(gates):
    """The length of the shortest line through gates, by descent from the middle of each gate."""
    from scipy.optimize import minimize

    heights = [gate[0] for gate in gates]

    def length(x):
        return sum(hypot(x[k + 1] - x[k], heights[k + 1] - heights[k]) for k in range(len(x) - 1))

    start = [(low + high) / 2 for _, low, high in gates]
    found = minimize(
        length, start, bounds=[(low, high) for _, low, high in gates], method="L-BFGS-B",
        options={"maxiter": 5000, "ftol": 1e-14, "gtol": 1e-9},
    )  # fmt: skip
    return found.fun


def strength(tree, parent, child):
    """Mean total variation distance over all outcomes of the parents and pairs of states of one of them."""
    others = [v for v in tree.parents[child] if v != parent]
    states = tree.states[parent]

    def row(outcome):
        for context, probabilities in zip(tree.stagings[child], tree.parameters[child], strict=True):
            if all(outcome[v] == x for v, x in context.items()):
                return probabilities
        raise AssertionError("no stage")

    distances = []
    for rest in product(*(tree.states[v] for v in others)):
        for one, two in combinations(states, 2):
            p, q = (row({**dict(zip(others, rest, strict=True)), parent: x}) for x in (one, two))
            distances.append(sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2)
    assert len(distances) == prod(len(tree.states[v]) for v in others) * len(states) * (len(states) - 1) / 2
    return sum(distances) / len(distances)


def covered(patterns, states):
    """Outcomes of all variables that agree with a pattern of allowed states."""
    return {
        outcome
        for outcome in product(*states.values())
        if any(
            all(dict(zip(states, outcome, strict=True))[v] in allowed for v, allowed in pattern.items())
            for pattern in patterns
        )
    }
