"""How often a fit reads its rows, and that it needs nothing of them but counts."""

from collections import Counter

import numpy as np
import pytest

from cslearn import Chains, CStreeLearner, random_cstree
from cslearn.data import Table
from cslearn.scores import Scores
from plain_counts import PlainTable


def table_of(p, n, weighted=False):
    table = random_cstree([2, 3] * (p // 2) + [2] * (p % 2), random_state=p).sample_table(n, random_state=0)
    weights = np.random.default_rng(0).integers(1, 4, n).astype(float) if weighted else None
    return Table(table.codes, table.variables, table.states, weights)


# ---------------------------------------------------------------- counts are enough
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("p", "settings"),
    [
        (4, {}),
        (5, {"search": "greedy"}),
        (5, {"candidates": {"X1": ["X2", "X3"], "X2": ["X1"], "X4": ["X1", "X3"]}, "search": "exact"}),
        (5, {"search": Chains(n_iter=20, n_chains=1), "parameters": "mean", "knowledge": {"tiers": [["X1"], ["X3"]]}}),
    ],
)
def test_a_table_that_only_counts_teaches_the_same_model(p, settings, weighted):
    """The counts are those of plain loops, which share no code with the others."""
    table = table_of(p, 60, weighted)
    learned = CStreeLearner(random_state=0, **settings).fit(PlainTable(table))
    expected = CStreeLearner(random_state=0, **settings).fit(table)
    assert learned.order_ == expected.order_
    assert learned.cstree_.stagings == expected.cstree_.stagings
    assert learned.cstree_ == expected.cstree_
    assert learned.log_score_ == expected.log_score_
    assert (learned.prior_, learned.ess_, learned.gamma_) == (expected.prior_, expected.ess_, expected.gamma_)
    np.testing.assert_array_equal(
        learned.posterior_.edge_probabilities(), expected.posterior_.edge_probabilities(), strict=True
    )
    assert [r.log_bayes_factor for r in learned.relations_] == [r.log_bayes_factor for r in expected.relations_]


# ---------------------------------------------------------------- nothing is counted twice
@pytest.fixture
def filled(monkeypatch):
    """How often the tables of scores were filled, by the equivalent sample size."""
    found, fill = Counter(), Scores._fill_all

    def counting(scores):
        found[scores.ess] += 1
        return fill(scores)

    monkeypatch.setattr(Scores, "_fill_all", counting)
    return found


@pytest.mark.parametrize("p", [5, 9])
@pytest.mark.parametrize(
    ("settings", "most"),
    [({}, 2), ({"ess": 1.0}, 1), ({"ess": 1.0, "prior": "tree"}, 1), ({"search": Chains(n_iter=200)}, 2)],
)
def test_tables_are_filled_once_for_each_sample_size(filled, p, settings, most):
    learner = CStreeLearner(beta=2, random_state=0, **settings).fit(table_of(p, 200))
    learner.posterior_.log_prob(learner.cstree_.sample(5, random_state=0))
    assert set(filled.values()) == {1}
    assert len(filled) <= most
    assert learner.ess_ in filled


def test_tables_that_are_filled_again_are_noticed(filled, monkeypatch):
    share = Scores.with_prior

    def forgetting(scores, prior):
        other = share(scores, prior)
        other._filled = []
        return other

    monkeypatch.setattr(Scores, "with_prior", forgetting)
    CStreeLearner(beta=2, random_state=0).fit(table_of(5, 200))
    assert max(filled.values()) > 1


def test_a_deep_fit_asks_for_a_context_once_for_each_choice_of_prior_counts():
    """What is asked again is asked because prior counts were chosen, which makes new tables of contexts."""
    for settings, most in (({"ess": 1.0}, 1), ({}, 3)):
        table = PlainTable(table_of(5, 60))
        CStreeLearner(random_state=0, **settings).fit(table)
        assert len(table.counts().asked) > 20
        assert max(table.counts().asked.values()) <= most
