"""Mixtures of CStrees: members predict as the averages that they stand for, and weights suit rows left out."""

import json
from math import lgamma

import numpy as np
import pandas as pd
import pytest

import naive
from cslearn import CStreeEnsemble, CStreeLearner, random_cstree
from cslearn.data import Table
from cslearn.datasets import chickenpox_model
from cslearn.ensemble import far_orders, grown_ensemble
from cslearn.errors import FileError, InputError
from cslearn.grown import GrownLevel, GrownScores
from cslearn.mixture import mixture_weights, specialised
from cslearn.priors import ParentsPrior

TRUTH = random_cstree(dict.fromkeys("abcdef", 2) | {"g": 3}, random_state=5)
PRIOR = ParentsPrior(more=0.5, root=0.8, split=0.5, deeper=0.5)
ORDERS = [np.array(order) for order in ([0, 1, 2, 3, 4, 5, 6], [6, 4, 2, 0, 1, 3, 5], [5, 6, 3, 1, 0, 4, 2])]


def scores_of(table, **options):
    return GrownScores(table, prior=PRIOR, beta=5, ess=2.0, gamma=0.5, **options)


@pytest.fixture(scope="module")
def table():
    return TRUTH.sample_table(300, random_state=1)


@pytest.fixture(scope="module")
def scores(table):
    return scores_of(table)


@pytest.fixture(scope="module")
def ensemble(scores):
    return grown_ensemble(scores, ORDERS)


@pytest.fixture(scope="module")
def as_grown(scores):
    """The ensemble with members as they were grown: no rows turn them."""
    return grown_ensemble(scores, ORDERS, strength=1e15)


@pytest.fixture(scope="module")
def learner(table):
    return CStreeLearner(beta="auto", search="greedy", random_state=0).fit(table)


def levels(scores, order):
    contexts = scores.contexts.narrow()
    return [GrownLevel(contexts, i, np.sort(order[:t])).of_best_set() for t, i in enumerate(order.tolist())]


# ---------------------------------------------------------------- members
def test_a_member_predicts_as_the_average_over_prunings(scores, as_grown):
    new = TRUTH.sample_table(200, random_state=2)
    for order, tree in zip(ORDERS, as_grown.trees, strict=True):
        assert tree.order == tuple(new.variables[i] for i in order)
        total = np.zeros(new.n)
        for level in levels(scores, order):
            total += np.log(level.predictive(new.codes)[np.arange(new.n), new.codes[:, level.target]])
        assert np.allclose(tree.log_prob(new), total, rtol=0, atol=1e-9)


def log_sum_of_rows(level, node, codes, prior_count):
    """The sum over all prunings below a context, from the rows themselves; prior weights as the level has them."""
    graph, d = level._graph, level._own.shape[1]

    def log_z(rows):
        inside = [r for r in rows if all(r[level.columns[k]] == x for k, x in level._pairs[node])]
        counts = [sum(r[level.target] == y for r in inside) for y in range(d)]
        a = prior_count(node)
        value = lgamma(a) - lgamma(a + sum(counts))
        return value + sum(lgamma(a / d + c) - lgamma(a / d) for c in counts)

    def below(e):
        return sum(log_sum_of_rows(level, part, codes, prior_count) for part in level._parts(e))

    splits = [graph.weight[e] + below(e) for e in level._splits(node)]
    return naive.log_sum([graph.stop[node] - log_z(level.all_rows) + log_z(codes), *splits])


def test_leaving_a_row_out_is_counting_without_it(table, scores):
    for level in levels(scores, ORDERS[1])[2:]:
        level.all_rows = table.codes.tolist()
        found = level.leave_one_out(table.codes)

        def prior_count(node, level=level):
            return float(level._a[node])

        whole = log_sum_of_rows(level, 0, level.all_rows, prior_count)
        assert np.isclose(whole, level.log_sum())
        for row in (0, 17, 250):
            rest = level.all_rows[:row] + level.all_rows[row + 1 :]
            assert np.isclose(found[row], whole - log_sum_of_rows(level, 0, rest, prior_count), rtol=0, atol=1e-8)


def test_rows_with_weights_count_as_often(table):
    heavy = table.take(np.arange(100))
    twice = type(table)(heavy.codes, table.variables, table.states, np.full(100, 2.0))
    repeated = type(table)(np.repeat(heavy.codes, 2, axis=0), table.variables, table.states)
    one, other = grown_ensemble(scores_of(twice), ORDERS), grown_ensemble(scores_of(repeated), ORDERS)
    assert np.allclose(one.weights, other.weights)
    assert np.allclose(one.log_prob(table), other.log_prob(table))


def test_rows_that_count_for_less_than_one_are_weighed_too(table):
    light = type(table)(table.codes, table.variables, table.states, np.full(table.n, 0.25))
    found = grown_ensemble(scores_of(light), ORDERS)
    assert np.isfinite(found.weights).all()


def test_what_was_set_from_outside_does_not_count_for_itself(table):
    mask = np.zeros((table.n, table.p), dtype=bool)
    mask[:150, 3] = True
    found = grown_ensemble(scores_of(table, interventions=mask), ORDERS[:1])
    fewer = grown_ensemble(scores_of(table.take(~mask[:, 3])), ORDERS[:1])
    name = table.variables[3]
    assert found.trees[0].stagings[name] == fewer.trees[0].stagings[name]
    assert np.allclose(found.trees[0].parameters[name], fewer.trees[0].parameters[name])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("set_from_outside", [False, True])
def test_members_are_turned_to_their_shares_of_the_rows(table, as_grown, weighted, set_from_outside):
    rng = np.random.default_rng(0)
    some = table.take(np.arange(40))
    mask = rng.random(some.codes.shape) < 0.2 if set_from_outside else None
    rows = Table(some.codes, some.variables, some.states, rng.integers(0, 3, 40) / 2.0 if weighted else None)
    logs = np.array([tree.log_prob(some) for tree in as_grown.trees]) + rng.normal(size=(3, 40))
    found, weights = specialised(as_grown.trees, logs, rows, mask, strength=3.0)
    assert np.allclose(weights, mixture_weights(logs, rows.weights))
    expected = naive.turned_to_their_rows(as_grown.trees, weights, logs, rows, mask, 3.0)
    for tree, before, parameters in zip(found, as_grown.trees, expected, strict=True):
        assert tree.stagings == before.stagings
        for variable, own in parameters.items():
            np.testing.assert_allclose(tree.parameters[variable], own, rtol=1e-9)


def test_members_that_are_turned_to_rows_of_their_own_predict_a_mixture_better():
    # Two kinds of rows, which no single CStree of these variables tells apart as well as two do.
    rng = np.random.default_rng(1)
    kind = rng.random(3000) < 0.5
    codes = (rng.random((3000, 8)) < np.where(kind, 0.8, 0.3)[:, None]).astype(np.int64)
    whole = Table(codes, [f"v{j}" for j in range(8)], [("n", "y")] * 8)
    train, new = GrownScores(whole.take(np.arange(1000)), prior=PRIOR, beta=3), whole.take(np.arange(1000, 3000))
    orders = far_orders(range(8), np.zeros((8, 8), dtype=bool), 10, rng)
    turned, as_it_was = (grown_ensemble(train, orders, strength=a).log_prob(new) for a in (20.0, 1e15))
    difference = turned - as_it_was
    assert difference.mean() > 2 * difference.std() / np.sqrt(len(difference))


# ---------------------------------------------------------------- weights
def test_weights_are_shares_and_not_worse_than_equal_ones(table, scores, ensemble):
    logs = np.array([sum(level.leave_one_out(table.codes) for level in levels(scores, order)) for order in ORDERS])
    assert np.isclose(ensemble.weights.sum(), 1) and (ensemble.weights >= 0).all()
    chances = np.exp(logs)
    assert np.log(ensemble.weights @ chances).sum() >= np.log(chances.mean(axis=0)).sum()
    # No weights near them are better.
    best = np.log(ensemble.weights @ chances).sum()
    for k in range(len(ORDERS)):
        moved = 0.98 * ensemble.weights + 0.02 * np.eye(len(ORDERS))[k]
        assert np.log(moved @ chances).sum() <= best + 1e-4


def test_a_member_that_is_better_everywhere_gets_all_the_weight():
    logs = np.log(np.array([[0.2] * 50, [0.4] * 50, [0.1] * 50]))
    assert mixture_weights(logs).round(6).tolist() == [0, 1, 0]
    assert mixture_weights(logs, np.zeros(50) + 0.1).round(6).tolist() == [0, 1, 0]


# ---------------------------------------------------------------- the mixture
def test_the_log_probability_is_that_of_the_mixture(table, ensemble):
    members = np.exp([tree.log_prob(table) for tree in ensemble.trees])
    assert np.allclose(np.exp(ensemble.log_prob(table)), ensemble.weights @ members)


def test_all_outcomes_together_have_probability_one(ensemble):
    cards = [len(states) for states in ensemble.states.values()]
    outcomes = np.array(list(np.ndindex(*cards)))
    assert np.isclose(np.exp(ensemble.log_prob(outcomes)).sum(), 1)


def test_predictions_are_ratios_of_mixtures_also_with_gaps(ensemble):
    cards = [len(states) for states in ensemble.states.values()]
    outcomes = np.array(list(np.ndindex(*cards)))
    chances = np.exp(ensemble.log_prob(outcomes))
    frame = TRUTH.sample(8, random_state=3)
    known = frame.astype(object)
    known.loc[::2, "a"] = None
    known.loc[1, ["b", "d"]] = None
    found = ensemble.predict_proba(known, "g")
    column = {v: k for k, v in enumerate(ensemble.variables)}
    code = {v: {x: c for c, x in enumerate(states)} for v, states in ensemble.states.items()}
    for row in range(8):
        agree = np.ones(len(outcomes), dtype=bool)
        for v in "abcdef":
            if not pd.isna(known.loc[row, v]):
                agree &= outcomes[:, column[v]] == code[v][known.loc[row, v]]
        joint = np.bincount(outcomes[agree, column["g"]], chances[agree], 3)
        assert np.allclose(found.loc[row], joint / joint.sum())
    assert ensemble.predict(known, "g").tolist() == found.idxmax(axis=1).tolist()


def test_draws_follow_the_mixture(ensemble):
    drawn = ensemble.sample(20_000, random_state=4)
    assert drawn.equals(ensemble.sample(20_000, random_state=4))
    cross = -ensemble.log_prob(drawn)
    outcomes = np.array(list(np.ndindex(*[len(s) for s in ensemble.states.values()])))
    logs = ensemble.log_prob(outcomes)
    entropy = -float(np.exp(logs) @ logs)
    assert abs(cross.mean() - entropy) < 5 * cross.std() / np.sqrt(len(cross))


def test_an_ensemble_is_of_one_kind(ensemble):
    other = chickenpox_model()
    with pytest.raises(InputError, match="CStree 2 has other variables"):
        CStreeEnsemble([ensemble.trees[0], other])
    with pytest.raises(InputError, match="not shares"):
        CStreeEnsemble([other, other], [0.5, 0.6])
    with pytest.raises(InputError, match="as many weights"):
        CStreeEnsemble([other], [0.5, 0.5])
    with pytest.raises(InputError, match="at least one"):
        CStreeEnsemble([])
    with pytest.raises(InputError, match="there is no variable 'z'"):
        ensemble.predict(TRUTH.sample(2, random_state=0), "z")


# ---------------------------------------------------------------- files
def test_a_file_gives_back_the_same_ensemble(tmp_path, table, ensemble):
    ensemble.save(tmp_path / "e.json")
    again = CStreeEnsemble.load(tmp_path / "e.json")
    assert again == ensemble
    assert np.array_equal(again.log_prob(table), ensemble.log_prob(table))


def change(document, **changes):
    return {**{name: value for name, value in document.items() if name != "checksum"}, **changes}


def test_damaged_files_are_refused(tmp_path, ensemble):
    path = tmp_path / "e.json"
    ensemble.save(path)
    text = path.read_text(encoding="utf-8")
    document = json.loads(text)
    path.write_text(text[: len(text) // 2], encoding="utf-8")
    with pytest.raises(FileError, match=r"e\.json: it is damaged"):
        CStreeEnsemble.load(path)
    reversed_weights = {**document, "weights": document["weights"][::-1]}
    for wrong, message in (
        (reversed_weights, "it was changed after it was written"),
        (change(document, version=99), "schema version 99"),
        (change(document, version="1"), "schema version is '1'"),
        (change(document, format="cslearn.cstree"), "not an ensemble"),
        (change(document, weights=["1"]), "weights are not numbers"),
        (change(document, weights=[1.0]), "as many weights"),
        (change(document, trees=[]), "at least one"),
        (change(document, trees=[{}]), "not a cslearn model"),
        (change(document, trees=None), "lacks its CStrees"),
    ):
        path.write_text(json.dumps(wrong), encoding="utf-8")
        with pytest.raises(FileError, match=message):
            CStreeEnsemble.load(path)


# ---------------------------------------------------------------- the learner's
def test_the_same_seed_gives_the_same_ensemble(learner):
    assert learner.ensemble(5) == learner.ensemble(5, random_state=0)
    assert [t.order for t in learner.ensemble(5, 1).trees] != [t.order for t in learner.ensemble(5, 2).trees]


def test_the_first_member_has_the_learned_order(learner):
    found = learner.ensemble(4)
    assert len(found.trees) == 4 and found.trees[0].order == learner.order_
    assert len({tree.order for tree in found.trees}) == 4
    assert repr(found) == "CStreeEnsemble(4 CStrees of 7 variables)"
    for wrong in (0, 2.5, True):
        with pytest.raises(InputError, match="number of CStrees"):
            learner.ensemble(wrong)


def test_orders_and_contexts_respect_the_knowledge(table):
    knowledge = {"tiers": [["g", "f"], ["a", "b", "c", "d", "e"]], "forbidden": [["g", "a"], ["b", "c"]]}
    learner = CStreeLearner(beta="auto", search="greedy", knowledge=knowledge, random_state=0).fit(table)
    found = learner.ensemble(12)
    assert len(found.trees) == 12
    for tree in found.trees:
        assert set(tree.order[:2]) == {"f", "g"}
        assert "g" not in tree.parents["a"] and "b" not in tree.parents["c"]


def test_where_one_order_is_allowed_there_is_one_member():
    before = np.triu(np.ones((4, 4), dtype=bool), 1)
    assert len(far_orders([0, 1, 2, 3], before, 30, np.random.default_rng(0))) == 1


def test_learners_with_two_context_variables_have_ensembles_too(table):
    found = CStreeLearner(beta=2, random_state=0).fit(table).ensemble(3)
    assert max(staging.bound for tree in found.trees for staging in tree.stagings.values()) <= 2
    assert np.isclose(found.weights.sum(), 1)


def test_an_ensemble_predicts_better_than_its_members_where_no_order_is_the_right_one():
    names = dict.fromkeys(map(str, range(10)), 2)
    one, other = (random_cstree(names, random_state=seed) for seed in (2, 3))
    rows = pd.concat([one.sample(400, random_state=0), other.sample(400, random_state=0)])
    new = pd.concat([one.sample(2000, random_state=1), other.sample(2000, random_state=1)])
    found = CStreeLearner(beta="auto", search="greedy", random_state=0).fit(rows).ensemble(10)
    assert found.log_prob(new).mean() > max(tree.log_prob(new).mean() for tree in found.trees)
