"""Small random problems that several tests share."""

from itertools import permutations, product
from math import exp, factorial, log

import numpy as np
from hypothesis import strategies as st

import naive
from cslearn import CStree
from cslearn.data import Table


@st.composite
def tables(draw, min_p=1, max_p=4, max_n=30, max_card=3, weighted=None):
    """Tables of mixed cardinalities with few rows, so that many contexts have no data."""
    cards = draw(st.lists(st.integers(1, max_card), min_size=min_p, max_size=max_p))
    n = draw(st.integers(1, max_n))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from([None, "whole", "real"])) if weighted is None else weighted
    weights = {None: None, "whole": rng.integers(0, 4, n).astype(float), "real": rng.random(n) * 3}[kind]
    if weights is not None and not weights.any():
        weights[0] = 1.0
    return random_table(cards, n, rng, weights)


def random_table(cards, n, rng, weights=None):
    """A table of dependent columns: each follows the one before it half of the time."""
    codes = np.column_stack([rng.integers(d, size=n) for d in cards])
    for column in range(1, len(cards)):
        follow = rng.random(n) < 0.5
        codes[follow, column] = codes[follow, column - 1] % cards[column]
    names = [f"v{i}" for i in range(len(cards))]
    return Table(codes, names, [list(range(d)) for d in cards], weights)


def rows_of(table):
    """The rows and weights of a table as plain lists, for the naive twins."""
    weights = [1.0] * table.n if table.weights is None else table.weights.tolist()
    return table.codes.tolist(), weights


class Enumerated:
    """Every CStree (order and stagings) with its posterior probability."""

    def __init__(self, table, prior, beta=2, ess=1.0):
        rows, weights = rows_of(table)
        self.trees = []
        for order in permutations(range(table.p)):
            terms = [
                naive.log_joint_terms(rows, weights, table.cards, i, sorted(order[:t]), beta, ess, prior)
                for t, i in enumerate(order)
            ]
            for choice in product(*terms):
                self.trees.append((sum(value for value, _ in choice), order, [s for _, s in choice]))
        total = naive.log_sum(value for value, _, _ in self.trees)
        self.trees = [(exp(value - total), order, stagings) for value, order, stagings in self.trees]
        self.log_evidence = total - log(factorial(table.p))

    def as_cstrees(self, table, ess):
        """The CStrees with the posterior means of their parameters, and their probabilities."""
        for probability, order, stagings in self.trees:
            names = [table.variables[i] for i in order]
            contexts = {
                name: [{table.variables[v]: table.states[v][x] for v, x in context.items()} for context in staging]
                for name, staging in zip(names, stagings, strict=True)
            }
            structure = CStree(names, contexts, states=table.state_map)
            yield structure.fit_parameters(table, "mean", ess=ess), probability
