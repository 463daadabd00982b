"""Slow, obvious twins of `cslearn.graphs`, by listing outcomes."""

from itertools import combinations, product

import numpy as np


def outcomes(scope):
    """All joint outcomes of some variables, as dictionaries."""
    return [dict(zip(scope, states, strict=True)) for states in product(*scope.values())]


def covered(patterns, scope):
    """The outcomes that agree with some pattern, as a set of tuples."""
    return {
        tuple(outcome.values())
        for outcome in outcomes(scope)
        if any(all(outcome[v] == x for v, x in pattern.items()) for pattern in patterns)
    }


def all_patterns(scope):
    """Every pattern over the variables: each is free or in a state."""
    choices = product(*([None, *((v, x) for x in states)] for v, states in scope.items()))
    return [dict(pair for pair in choice if pair is not None) for choice in choices]


def fewest_patterns(target, scope):
    """The least number of patterns whose union is the set `target` of outcomes, by trying all."""
    inside = [frozenset(c) for p in all_patterns(scope) if (c := covered([p], scope)) <= target]
    return next(k for k in range(len(target) + 1) if any(set().union(*s) == target for s in combinations(inside, k)))


def joined(labels, scope):
    """The outcomes of parents in groups: two are together if they differ in a parent whose label holds there."""
    groups = [{tuple(outcome.values())} for outcome in outcomes(scope)]
    for parent, patterns in labels.items():
        axis = list(scope).index(parent)
        for outcome in covered(patterns, scope):
            for state in scope[parent]:
                other = (*outcome[:axis], state, *outcome[axis + 1 :])
                together = [group for group in groups if outcome in group or other in group]
                groups = [group for group in groups if group not in together] + [set().union(*together)]
    return groups


def joint_table(tree):
    """The probabilities of all outcomes as a dictionary from tuples in the order of `tree.variables`."""
    table = {}
    for outcome in outcomes({v: tree.states[v] for v in tree.variables}):
        chance = 1.0
        for v in tree.order:
            stage = tree.stagings[v].stage_of(outcome)
            chance *= tree.parameters[v][stage, tree.states[v].index(outcome[v])]
        table[tuple(outcome.values())] = chance
    return table


def independent(table, variables, left, right, given, context, tolerance=1e-9):
    """Whether `left _||_ right | given, context` holds in a joint distribution, by summing its outcomes."""
    index = {v: i for i, v in enumerate(variables)}
    sums = {}
    for outcome, chance in table.items():
        if all(outcome[index[v]] == x for v, x in context.items()):
            a, b, c = (tuple(outcome[index[v]] for v in names) for names in (left, right, given))
            for key in ((a, b, c), (a, None, c), (None, b, c), (None, None, c)):
                sums[key] = sums.get(key, 0.0) + chance
    return all(
        np.isclose(chance * sums[None, None, c], sums[a, None, c] * sums[None, b, c], rtol=tolerance, atol=0)
        for (a, b, c), chance in sums.items()
        if a is not None and b is not None
    )


def d_separated(edges, a, b, given):
    """Whether every path between two variables of a DAG is blocked, path by path."""
    descendants = {}

    def below(v):
        if v not in descendants:
            descendants[v] = {v}.union(*(below(child) for parent, child in edges if parent == v))
        return descendants[v]

    def paths(path):
        if path[-1] == b:
            yield path
            return
        for parent, child in edges:
            for here, there in ((parent, child), (child, parent)):
                if here == path[-1] and there not in path:
                    yield from paths([*path, there])

    def blocked(path):
        for left, middle, right in zip(path, path[1:], path[2:], strict=False):
            if (left, middle) in edges and (right, middle) in edges:
                if not below(middle) & set(given):
                    return True
            elif middle in given:
                return True
        return False

    return all(blocked(path) for path in paths([a]))


def adjustment_sets(variables, edges, exposure, outcome):
    """The minimal back-door sets, by trying every set of variables."""
    below, waiting = {exposure}, [exposure]
    while waiting:
        new = {child for parent, child in edges if parent == waiting[-1]} - below
        waiting.pop()
        below |= new
        waiting += new
    allowed = [v for v in variables if v not in below and v != outcome]
    kept = [edge for edge in edges if edge[0] != exposure]
    valid = [
        set(chosen)
        for size in range(len(allowed) + 1)
        for chosen in combinations(allowed, size)
        if d_separated(kept, exposure, outcome, chosen)
    ]
    return [s for s in valid if not any(other < s for other in valid)]
