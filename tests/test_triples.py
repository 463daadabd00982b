"""Variables that matter only three at a time: all triples are scored, and a parity is learned."""

from math import comb, exp, fsum, log

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cslearn.estimators.deep
import naive
from cslearn import CStreeLearner, random_cstree
from cslearn.candidates import triple_probabilities
from cslearn.data import Table
from cslearn.scores import Scores
from problems import rows_of, tables


def naive_probabilities(table, target, ess, best_of_two):
    best = naive.best_triple_scores(*rows_of(table), table.cards, target, ess)
    odds = {j: score - best_of_two - log(comb(len(best), 3)) for j, score in best.items()}
    return {j: 1 / (1 + exp(-min(max(value, -700), 700))) for j, value in odds.items()}


@settings(max_examples=40)
@given(table=tables(min_p=4, max_p=6, max_card=4, max_n=60), ess=st.sampled_from([0.5, 5.0]))
def test_all_triples_are_scored(table, ess):
    table = Table(table.codes, table.variables, table.states)
    scores = Scores(table, prior="tree", ess=ess)
    found = triple_probabilities(scores)
    for i, name in enumerate(table.variables):
        if len(scores.candidates[i]) < 3 or table.cards[i] == 1:
            assert not found[:, i].any()
            continue
        _, staging = scores.best_staging(name, [v for v in table.variables if v != name])
        two = fsum(scores.log_z(name, context) for context in staging.contexts)
        expected = naive_probabilities(table, i, ess, two)
        assert found[list(expected), i] == pytest.approx(list(expected.values()), rel=1e-6, abs=1e-12)
        assert not np.delete(found[:, i], list(expected)).any()


def test_only_the_targets_asked_for_and_only_rows_that_count():
    table = random_cstree(6, random_state=0).sample_table(300, random_state=0)
    everything, some = triple_probabilities(Scores(table)), triple_probabilities(Scores(table), ["X2"])
    assert np.array_equal(some[:, 1], everything[:, 1])
    assert not np.delete(some, 1, axis=1).any()
    mask = np.zeros((300, 6), dtype=bool)
    mask[:120, 3] = True
    fewer = triple_probabilities(Scores(table, interventions=mask))
    assert np.array_equal(np.delete(fewer, 3, axis=1), np.delete(everything, 3, axis=1))
    assert np.array_equal(fewer[:, 3], triple_probabilities(Scores(table.take(np.arange(120, 300))))[:, 3])
    weighted = Table(table.codes, table.variables, table.states, np.full(300, 2.0))
    assert not triple_probabilities(Scores(weighted)).any()


def parity_among_others():
    """Three coins and their parity, mostly, far apart among 26 variables of a random CStree."""
    rng = np.random.default_rng(1)
    data = random_cstree(26, random_state=1).sample(1000, random_state=1)
    coins = rng.integers(2, size=(1000, 3))
    follows = coins.sum(axis=1) % 2 ^ (rng.random(1000) < 0.15)
    extra = pd.DataFrame({"a": coins[:, 0], "b": coins[:, 1], "c": coins[:, 2], "parity": follows})
    names = list(data.columns)
    order = ["a", *names[:9], "b", *names[9:18], "c", *names[18:], "parity"]
    return data.join(extra)[order]


@pytest.mark.parametrize("looked_at", [True, False])
def test_a_parity_is_learned_if_triples_are_looked_at(looked_at, monkeypatch):
    if not looked_at:
        monkeypatch.setattr(cslearn.estimators.deep, "triple_probabilities", lambda scores, _: np.zeros((30, 30)))
    learner = CStreeLearner(beta=3, n_iter=500, n_chains=1, random_state=0).fit(parity_among_others())
    parents = learner.cstree_.parents
    last = max(["a", "b", "c", "parity"], key=learner.order_.index)
    assert (set(parents[last]) == {"a", "b", "c", "parity"} - {last}) == looked_at
