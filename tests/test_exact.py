"""The exact posterior over orders against complete enumeration, and look-ups by subsets against sums from scratch."""

from collections import Counter
from itertools import permutations
from math import exp, factorial, isclose, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

import naive
from cslearn.data import Table
from cslearn.errors import InputError
from cslearn.orders import ExactOrders, SubsetScores
from cslearn.scores import Scores
from problems import random_table, rows_of, tables

PRIORS = ("uniform", "sparse", "tree")


@given(table=tables(min_p=1, max_p=5), beta=st.integers(0, 3), prior=st.sampled_from(PRIORS), data=st.data())
def test_scores_by_subsets_equal_those_from_scratch(table, beta, prior, data):
    names = table.variables
    candidates = {v: data.draw(st.sets(st.sampled_from(names))) for v in names}
    scores = Scores(table, beta=beta, prior=prior, candidates=candidates, ess=2.0)
    subsets = SubsetScores(scores)
    for i, target in enumerate(names):
        usable = scores.candidates[i]
        for subset in range(1 << len(usable)):
            level = [names[c] for k, c in enumerate(usable) if subset >> k & 1]
            assert isclose(
                subsets.local[i][subset], scores.local_order_score(target, level), rel_tol=1e-9, abs_tol=1e-12
            )
            best = scores.best_staging(target, level)[0]
            if beta <= 2 or prior != "tree":
                assert isclose(subsets.best[i][subset], best, rel_tol=1e-9, abs_tol=1e-12)
            else:
                # Not all trees of the staging are counted.
                assert best - 2.0 < subsets.best[i][subset] <= best + 1e-9 * abs(best)


def test_scores_by_subsets_hold_with_many_rows_and_states():
    # The sums of this table pass the range of a double, and those of levels with one variable less are far smaller.
    rng = np.random.default_rng(5)
    codes = np.column_stack([rng.integers(0, d, size=20_000) for d in (3, 2, 4, 3, 2, 3)])
    codes[:, 3] = (codes[:, 0] + codes[:, 1] + (rng.random(20_000) < 0.01)) % 3
    codes[:, 4] = (codes[:, 2] // 2 + (rng.random(20_000) < 0.01)) % 2
    table = Table(codes, tuple("abcdef"), tuple(tuple(range(d)) for d in (3, 2, 4, 3, 2, 3)))
    for prior in PRIORS:
        scores = Scores(table, prior=prior)
        local = SubsetScores(scores).local
        assert np.ptp(local[3]) > 5000
        for i, target in enumerate(table.variables):
            for subset in range(1 << 5):
                level = [table.variables[c] for k, c in enumerate(scores.candidates[i]) if subset >> k & 1]
                assert isclose(local[i][subset], scores.local_order_score(target, level), rel_tol=1e-12)


class Enumerated:
    """Everything that the exact search finds, by going through all orders and all stagings."""

    def __init__(self, table, prior, beta, candidates, before, ess=1.0):
        rows, weights = rows_of(table)
        p = table.p
        terms = {}
        self.orders = [o for o in permutations(range(p)) if all(o.index(a) < o.index(b) for a, b in before)]
        self.log_scores, self.best_joint, found = [], -np.inf, []
        for order in self.orders:
            score, joint = 0.0, 0.0
            comes_before = np.array([[order.index(a) < order.index(b) for b in range(p)] for a in range(p)])
            used = np.zeros((p, p))
            for t, i in enumerate(order):
                level = frozenset(order[:t]) & candidates[i]
                if (i, level) not in terms:
                    terms[i, level] = naive.log_joint_terms(
                        rows, weights, table.cards, i, sorted(level), beta, ess, prior
                    )
                total = naive.log_sum(value for value, _ in terms[i, level])
                score += total
                joint += max(value for value, _ in terms[i, level])
                for value, staging in terms[i, level]:
                    used[sorted(set().union(*staging)), i] += exp(value - total)
            self.log_scores.append(score - log(factorial(p)))
            self.best_joint = max(self.best_joint, joint - log(factorial(p)))
            found.append((comes_before, used))
        self.log_evidence = naive.log_sum(self.log_scores)
        self.probabilities = np.exp(np.array(self.log_scores) - self.log_evidence)
        self.precedence = sum(w * before for w, (before, _) in zip(self.probabilities, found, strict=True))
        self.contexts = sum(w * used for w, (_, used) in zip(self.probabilities, found, strict=True))


CASES = [
    ([2, 2, 2], 2, "all", []),
    ([2, 3, 2], 3, "all", [(2, 0)]),
    ([2, 3, 2, 2], 2, "all", []),
    ([3, 2, 2, 2], 2, "some", [(0, 3), (1, 3)]),
    ([2, 2, 2, 2], 3, "all", []),
    ([2, 3, 2, 2], 3, "all", [(0, 2)]),
    ([2, 2, 2, 2, 2], 2, "some", [(4, 0)]),
    ([2, 1, 3], 1, "all", []),
]


def problem(cards, beta, known, before, prior, seed=0):
    table = random_table(cards, 40, np.random.default_rng(seed))
    p = table.p
    sets = [{j for j in range(p) if j != i and (known == "all" or (i + j) % 3)} for i in range(p)]
    names = table.variables
    candidates = {names[i]: [names[j] for j in sets[i]] for i in range(p)}
    scores = Scores(table, beta=beta, prior=prior, candidates=candidates)
    matrix = np.zeros((p, p), dtype=bool)
    for a, b in before:
        matrix[a, b] = True
    return table, sets, ExactOrders(SubsetScores(scores), matrix), scores


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize(("cards", "beta", "known", "before"), CASES)
def test_the_exact_search_equals_complete_enumeration(cards, beta, known, before, prior):
    table, sets, exact, scores = problem(cards, beta, known, before, prior)
    truth = Enumerated(table, prior, beta, sets, before)
    assert isclose(exact.log_evidence, truth.log_evidence, rel_tol=1e-10)
    order, log_score = exact.best_order()
    assert isclose(log_score, max(truth.log_scores), rel_tol=1e-10)
    assert isclose(exact.log_score(order), log_score, rel_tol=1e-10)
    assert isclose(scores.order_score([table.variables[i] for i in order]), log_score, rel_tol=1e-10)
    np.testing.assert_allclose(exact.precedence, truth.precedence, atol=1e-10)
    np.testing.assert_allclose(exact.context_probabilities, truth.contexts, atol=1e-9)
    if beta <= 2 or prior != "tree":
        assert isclose(exact.best_joint()[1], truth.best_joint, rel_tol=1e-10)
    else:
        # Beyond two context variables not all trees of the best stagings are counted.
        assert truth.best_joint - 2.0 < exact.best_joint()[1] <= truth.best_joint + 1e-9
    for levels in exact.level_probabilities:
        assert isclose(levels.sum(), 1.0, rel_tol=1e-9)


def test_the_comparison_with_enumeration_can_fail():
    table, sets, exact, _ = problem([2, 3, 2], 2, "all", [], "tree")
    other = Enumerated(table, "tree", 2, sets, [], ess=1.2)
    assert not isclose(exact.log_evidence, other.log_evidence, rel_tol=1e-10)
    assert abs(exact.context_probabilities - other.contexts).max() > 1e-4


@pytest.mark.parametrize(("prior", "beta"), [("tree", 2), ("uniform", 2), ("tree", 3), ("sparse", 3)])
def test_draws_of_orders_have_their_probabilities(prior, beta):
    table, sets, exact, _ = problem([2, 3, 2, 2], beta, "all", [(1, 3)], prior)
    truth = Enumerated(table, prior, beta, sets, [(1, 3)])
    n = 20_000
    drawn = Counter(map(tuple, exact.draw(n, np.random.default_rng(0)).tolist()))
    assert set(drawn) <= set(truth.orders)
    seen = np.array([drawn[order] for order in truth.orders])
    assert chisquare(seen, n * truth.probabilities).pvalue > 1e-3
    assert chisquare(np.roll(seen, 1), n * truth.probabilities).pvalue < 1e-3


def test_knowledge_that_contradicts_itself_is_refused():
    _, _, exact, _ = problem([2, 2, 2], 2, "all", [(0, 1), (1, 0)], "tree")
    with pytest.raises(InputError, match="no order"):
        _ = exact.log_evidence
