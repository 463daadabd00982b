"""Slow and obvious twins of the answers of cslearn.inference: sums over every outcome of a model."""

from itertools import product
from math import inf, log


def joint(tree):
    """Every outcome of the model, as a dict of states, with its probability by the chain rule."""
    result = []
    for states in product(*(tree.states[v] for v in tree.variables)):
        outcome = dict(zip(tree.variables, states, strict=True))
        chance = 1.0
        for v in tree.order:
            for context, row in zip(tree.stagings[v].contexts, tree.parameters[v], strict=True):
                if all(outcome[u] == x for u, x in context.items()):
                    chance *= row[tree.states[v].index(outcome[v])]
        result.append((outcome, chance))
    return result


def weight(outcome, evidence):
    """How likely the evidence is in an outcome."""
    total = 1.0
    for v, given in evidence.items():
        if isinstance(given, dict):
            total *= given.get(outcome[v], 0.0)
        elif isinstance(given, (list, tuple, set, frozenset)):
            total *= outcome[v] in given
        else:
            total *= outcome[v] == given
    return total


def query(tree, targets, evidence):
    """The probability of each joint state of the targets, as a dict; empty if the evidence is impossible."""
    sums = dict.fromkeys(product(*(tree.states[v] for v in targets)), 0.0)
    for outcome, chance in joint(tree):
        sums[tuple(outcome[v] for v in targets)] += chance * weight(outcome, evidence)
    total = sum(sums.values())
    return {states: value / total for states, value in sums.items()} if total > 0 else {}


def probability(tree, evidence):
    return sum(chance * weight(outcome, evidence) for outcome, chance in joint(tree))


def best(tree, evidence):
    """The largest weighted probability of an outcome."""
    return max(chance * weight(outcome, evidence) for outcome, chance in joint(tree))


def entropy(distribution):
    return -sum(p * log(p) for p in distribution.values() if p > 0)


def log_or_zero(value):
    return log(value) if value > 0 else -inf


def set_risks(tree, exposure, outcome, given=()):
    """P(outcome | stratum) when the exposure is set, by listing outcomes: the product without the exposure's factor.

    A dict from (state of the exposure, states of the strata) to the probabilities of the outcome's states.
    """
    sums = {}
    for states in product(*(tree.states[v] for v in tree.variables)):
        named = dict(zip(tree.variables, states, strict=True))
        chance = 1.0
        for v in tree.order:
            if v == exposure:
                continue
            for context, row in zip(tree.stagings[v].contexts, tree.parameters[v], strict=True):
                if all(named[u] == x for u, x in context.items()):
                    chance *= row[tree.states[v].index(named[v])]
        key = named[exposure], tuple(named[v] for v in given)
        risks = sums.setdefault(key, dict.fromkeys(tree.states[outcome], 0.0))
        risks[named[outcome]] += chance
    return {key: {y: p / sum(risks.values()) for y, p in risks.items()} for key, risks in sums.items()}
