"""Parameters averaged over stagings: as by a list of them all, and nearer to the truth than those of the best."""

import tracemalloc
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from cslearn import Chains, CStree, CStreeLearner, kl_divergence, random_cstree
from cslearn.data import Table, as_table
from cslearn.estimators.averaging import averaged_parameters
from cslearn.scores import Scores
from plain_counts import PlainTable
from problems import rows_of, tables


def averaged_by_listing(rows, weights, cards, target, level, contexts, ess, prior):
    """For each context: the posterior mean over all stagings of the level, averaged over the context's rows."""
    terms = naive.log_joint_terms(rows, weights, cards, target, level, 2, ess, prior)
    whole = naive.log_sum(value for value, _ in terms)

    def agrees(row, context):
        return all(row[v] == x for v, x in context.items())

    def mean(context):
        a_stage = ess / np.prod([cards[v] for v in context])
        counts = [a_stage / cards[target]] * cards[target]
        for row, weight in zip(rows, weights, strict=True):
            if agrees(row, context):
                counts[row[target]] += weight
        return np.array(counts) / sum(counts)

    def predicted(row):
        stages = [(exp(value - whole), next(c for c in staging if agrees(row, c))) for value, staging in terms]
        return sum(probability * mean(stage) for probability, stage in stages)

    result = []
    for context in contexts:
        inside = [(row, w) for row, w in zip(rows, weights, strict=True) if agrees(row, context) and w > 0]
        total = sum(w for _, w in inside)
        result.append(sum(w * predicted(row) for row, w in inside) / total if inside else None)
    return result


@pytest.mark.parametrize("kind", [as_table, PlainTable])
@given(table=tables(min_p=2, max_p=4), prior=st.sampled_from(["uniform", "sparse", "tree"]), seed=st.integers(0, 99))
def test_averaged_parameters_equal_a_list_of_all_stagings(kind, table, prior, seed):
    rows, weights = rows_of(table)
    tree = random_cstree(dict(zip(table.variables, table.states, strict=True)), random_state=seed)
    scores = Scores(kind(table), prior=prior, ess=2.0)
    found = averaged_parameters(tree, scores, smallest=0.0)
    for t, v in enumerate(tree.order):
        i = table.variables.index(v)
        level = sorted(c for c in (table.variables.index(u) for u in tree.order[:t]) if table.cards[c] > 1)
        contexts = [
            {table.variables.index(u): table.states[table.variables.index(u)].index(x) for u, x in context.items()}
            for context in tree.stagings[v]
        ]
        expected = averaged_by_listing(rows, weights, table.cards, i, level, contexts, 2.0, prior)
        for values, twin in zip(found[v], expected, strict=True):
            assert np.isclose(values.sum(), 1.0)
            assert (values > 0).all()
            if twin is not None:
                assert np.allclose(values, twin, rtol=1e-9)


def test_averages_over_many_states_take_little_memory():
    """An array of all stages, cells and states would take gigabytes."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 64, (20_000, 2))
    table = Table(np.column_stack([codes, (codes.sum(axis=1) // 16) % 64]), ["a", "b", "c"], [range(64)] * 3)
    scores = Scores(table, prior="tree", ess=2.0)
    contexts = [{"a": a, "b": b} for a in range(64) for b in range(64)]
    tree = CStree(["a", "b", "c"], {"a": [{}], "b": [{}], "c": contexts}, states=dict.fromkeys("abc", range(64)))
    assert scores.tables
    tracemalloc.start()
    found = averaged_parameters(tree, scores)["c"]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100e6
    assert np.allclose(found.sum(axis=1), 1.0)


def test_a_stage_without_data_gets_what_the_stages_that_may_hold_it_have():
    """Rows have b = 1 only where a = 1, so that nobody was seen with a = 0, b = 1."""
    rows = [{"a": a, "b": b, "c": c} for a, b, c in [(0, 0, 0)] * 30 + [(1, 0, 1)] * 20 + [(1, 1, 1)] * 20]
    scores = Scores(rows, prior="tree", ess=2.0)
    contexts = [{"a": a, "b": b} for a in (0, 1) for b in (0, 1)]
    states = dict.fromkeys("abc", (0, 1))
    tree = CStree(["a", "b", "c"], {"a": [{}], "b": [{}], "c": contexts}, states=states)
    empty = [dict(context) for context in tree.stagings["c"]].index({"a": 0, "b": 1})
    assert averaged_parameters(tree, scores)["c"][empty, 0] > 0.6
    assert np.allclose(tree.fit_parameters(scores.table, ess=2.0).parameters["c"][empty], 0.5)


def test_leaving_out_improbable_stages_changes_little():
    truth = random_cstree([2, 3, 2, 2, 3, 2], random_state=5)
    data = truth.sample_table(500, random_state=5)
    scores = Scores(data, prior="tree", ess=5.0)
    exact, short = averaged_parameters(truth, scores, 0.0), averaged_parameters(truth, scores)
    assert max(abs(exact[v] - short[v]).max() for v in truth.order) < 0.01
    nothing = averaged_parameters(truth, scores, 2.0)
    plain = truth.fit_parameters(data, ess=5.0).parameters
    assert all(np.allclose(nothing[v], plain[v]) for v in truth.order)


def test_what_the_data_are_sure_of_is_not_shrunken_and_what_they_doubt_is():
    truth = random_cstree({"a": 2, "b": 2}, order=["a", "b"], beta=1, random_state=0)
    states = truth.states
    strong, none = (
        CStree(["a", "b"], {"a": [{}], "b": [{"a": 0}, {"a": 1}]}, states=states).with_parameters(
            {"a": [[0.5, 0.5]], "b": table}
        )
        for table in ([[0.9, 0.1], [0.1, 0.9]], [[0.5, 0.5], [0.5, 0.5]])
    )
    for tree, shrunken in ((strong, False), (none, True)):
        data = tree.sample_table(400, random_state=1)
        plain = tree.fit_parameters(data, ess=5.0).parameters["b"]
        mixed = averaged_parameters(tree, Scores(data, prior="tree", ess=5.0))["b"]
        spread, before = (abs(np.diff(values[:, 0])[0]) for values in (mixed, plain))
        assert (spread < 0.5 * before) if shrunken else (spread > 0.999 * before)


@pytest.mark.slow
def test_averaged_parameters_are_nearer_to_the_truth():
    divergences = {"averaged": [], "mean": []}
    for seed in range(10):
        truth = random_cstree(10, random_state=seed)
        data = truth.sample_table(500, random_state=seed)
        for name, values in divergences.items():
            learner = CStreeLearner(beta=2, parameters=name, search=Chains(n_iter=200, n_chains=1), random_state=0).fit(
                data
            )
            values.append(kl_divergence(truth, learner.cstree_))
    averaged, mean = map(np.array, divergences.values())
    assert averaged.sum() < 0.97 * mean.sum()
    assert (averaged < mean).sum() >= 6


@pytest.mark.parametrize("beta", [0, 1])
def test_smaller_context_bounds(beta):
    data = random_cstree([2, 3, 2], random_state=0).sample_table(100, random_state=0)
    learner = CStreeLearner(beta=beta, search=Chains(n_iter=50)).fit(data)
    assert learner.cstree_.parameters is not None
    mean = CStreeLearner(beta=beta, search=Chains(n_iter=50), parameters="mean").fit(data)
    same = all(np.allclose(learner.cstree_.parameters[v], mean.cstree_.parameters[v]) for v in mean.order_)
    assert same == (beta == 0)


def test_rows_in_which_a_variable_was_set_do_not_count_for_it():
    tree = random_cstree([2, 3, 2, 2], random_state=3)
    data = tree.sample_table(300, random_state=3)
    last = data.variables.index(tree.order[-1])
    mask = np.zeros((data.n, data.p), dtype=bool)
    mask[:100, last] = True
    found = averaged_parameters(tree, Scores(data, prior="tree", interventions=mask))
    every = averaged_parameters(tree, Scores(data, prior="tree"))
    without = averaged_parameters(tree, Scores(data.take(np.arange(100, 300)), prior="tree"))
    for v in tree.order:
        assert np.allclose(found[v], (without if v == tree.order[-1] else every)[v], rtol=1e-12)
    assert not np.allclose(without[tree.order[-1]], every[tree.order[-1]])


def test_contexts_are_compared_with_stages_a_few_at_a_time(monkeypatch):
    data = random_cstree([3, 4, 2, 3, 2], random_state=1).sample(400, random_state=0)
    learners = []
    for at_once in (None, 1, 50):
        if at_once is not None:
            monkeypatch.setattr("cslearn.estimators.averaging.AT_ONCE", at_once)
        learners.append(CStreeLearner(search="greedy").fit(data))
    assert learners[0].cstree_ == learners[1].cstree_ == learners[2].cstree_
    assert learners[0].cstree_.n_stages > 5
