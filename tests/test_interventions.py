"""Interventions: models in which variables are set, and learning from data in which they were."""

import os
from itertools import product
from math import isclose, prod
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta as beta_distribution

import naive
import naive_inference
from cslearn import Chains, CStree, CStreeLearner, random_cstree
from cslearn.candidates import candidate_sets
from cslearn.candidates.screen import _Counter
from cslearn.counts import counts_of
from cslearn.datasets import chickenpox_model
from cslearn.errors import InputError
from cslearn.estimators.interventions import read_interventions
from cslearn.orders import ExactOrders, SubsetScores
from cslearn.posterior import CStreePosterior
from cslearn.scores import Scores
from problems import Enumerated, random_table, rows_of, tables

YESNO = ["no", "yes"]


# ---------------------------------------------------------------- models in which variables are set
@given(st.lists(st.integers(2, 3), min_size=2, max_size=5), st.integers(0, 2**32 - 1))
def test_setting_a_variable_takes_its_own_factor_out_of_the_product(cards, seed):
    """The truncated factorisation, outcome by outcome."""
    tree = random_cstree(cards, random_state=seed)
    rng = np.random.default_rng(seed)
    v = str(rng.choice(tree.variables))
    state = tree.states[v][int(rng.integers(len(tree.states[v])))]
    after = tree.do({v: state})
    chances = {tuple(outcome.values()): chance for outcome, chance in naive_inference.joint(after)}
    for outcome in product(*(tree.states[u] for u in tree.variables)):
        named = dict(zip(tree.variables, outcome, strict=True))
        expected = prod(
            tree.parameters[u][tree.stagings[u].stage_of({w: named[w] for w in tree.stagings[u].scope})][
                tree.states[u].index(named[u])
            ]
            for u in tree.order
            if u != v
        )
        assert isclose(chances[outcome], expected * (named[v] == state), abs_tol=1e-15)
    assert after.order == tree.order
    assert all(after.stagings[u] == tree.stagings[u] for u in tree.order if u != v)
    assert CStree(after.order, after.stagings, after.parameters, states=after.states) == after


def test_confounding_is_told_from_an_effect():
    """A common cause makes two variables dependent; setting one does not move the other."""
    tree = CStree(
        ["cause", "a", "b"],
        {"a": [{"cause": "no"}, {"cause": "yes"}], "b": [{"cause": "no"}, {"cause": "yes"}]},
        {"cause": [[0.5, 0.5]], "a": [[0.9, 0.1], [0.2, 0.8]], "b": [[0.9, 0.1], [0.2, 0.8]]},
        states=dict.fromkeys(["cause", "a", "b"], YESNO),
    )
    assert tree.query("b", {"a": "yes"})["yes"] - tree.query("b", {"a": "no"})["yes"] > 0.3
    assert isclose(tree.average_causal_effect("a", "b", ("no", "yes"), "yes"), 0, abs_tol=1e-12)
    assert isclose(tree.average_causal_effect("cause", "b", ("no", "yes"), "yes"), 0.7)
    assert isclose(tree.average_causal_effect("cause", "b", ("no", "yes"), {"no": 10, "yes": 0}), -7)
    effects = tree.causal_effect("cause", "b", {"a": ["no", "yes"]})
    assert effects.loc["yes", "no"] == pytest.approx(0.2)
    assert (effects.index.name, effects.columns.name) == ("cause", "b")


def test_a_variable_can_be_set_by_odds():
    tree = chickenpox_model()
    after = tree.do({"exposed": {"yes": 3, "no": 1}})
    assert after.query("exposed").tolist() == [0.25, 0.75]
    mixed = 0.25 * tree.do({"exposed": "no"}).query("carrier") + 0.75 * tree.do({"exposed": "yes"}).query("carrier")
    pd.testing.assert_series_equal(after.query("carrier"), mixed)


@pytest.mark.parametrize("seed", range(2))
def test_the_posterior_mean_of_an_effect_is_that_of_enumeration(seed):
    """Parameters are independent and none is in a product twice, so means of parameters give the mean of effects."""
    table = random_table([2, 3, 2], 40, np.random.default_rng(seed))
    posterior = CStreePosterior.of_exact(ExactOrders(SubsetScores(Scores(table, prior="uniform", ess=2.0))), 0)
    trees, chances = zip(*Enumerated(table, "uniform", ess=2.0).as_cstrees(table, 2.0), strict=True)
    each, chances = np.array([tree.average_causal_effect("v0", "v1", (0, 1)) for tree in trees]), np.array(chances)
    found = posterior.effect("v1", {"v0": 1}, {"v0": 0}, n_draws=1000)
    assert abs(found["mean"] - chances @ each) < 4 * found["sd"] / np.sqrt(1000)
    # Only the models in which v0 comes first and matters have an effect.
    assert abs(found["none"] - chances[np.abs(each) < 1e-12].sum()) < 0.06
    assert found["lower"] <= found["mean"] <= found["upper"]
    there, back = (posterior.effect("v1", {"v0": x}, {"v0": 1 - x}, n_draws=100) for x in (1, 0))
    assert isclose(back["mean"], -there["mean"])
    assert isclose(back["positive"] + there["positive"] + there["none"], 1.0)


def test_the_uncertainty_of_an_effect_is_that_of_two_beta_distributions():
    """One cause, its direction known and its effect beyond doubt: a difference of independent frequencies."""
    x = np.repeat(["no", "yes"], [60, 40])
    y = np.concatenate([np.repeat(["a", "b"], [50, 10]), np.repeat(["a", "b"], [5, 35])])
    learner = CStreeLearner(beta=2, knowledge={"tiers": [["x"], ["y"]]}, ess=4.0).fit(pd.DataFrame({"x": x, "y": y}))
    found = learner.posterior_.effect("y", {"x": "yes"}, {"x": "no"}, value="b", interval=0.9, n_draws=2000)
    # An equivalent sample size of 4 leaves 1 for each of the four cells.
    no, yes = beta_distribution(11, 51), beta_distribution(36, 6)
    assert abs(found["mean"] - (yes.mean() - no.mean())) < 0.006
    assert isclose(found["sd"], np.hypot(no.std(), yes.std()), rel_tol=0.08)
    draws = yes.rvs(200_000, random_state=0) - no.rvs(200_000, random_state=1)
    assert np.allclose([found["lower"], found["upper"]], np.quantile(draws, [0.05, 0.95]), atol=0.015)
    assert found["positive"] == 1.0
    assert found["none"] == 0.0
    against_nothing = learner.posterior_.effect("y", {"x": "yes"}, value="b")
    assert 0 < against_nothing["mean"] < found["mean"]
    assert isclose(
        learner.posterior_.effect("y", {"x": "yes"}, {"x": "no"}, value={"a": 0, "b": 10})["mean"],
        10 * learner.posterior_.effect("y", {"x": "yes"}, {"x": "no"}, value="b")["mean"],
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"do": {"y": "a"}}, "'y' is set, so it cannot be asked for"),
        ({"do": {"x": "yes"}, "evidence": {"x": "no"}}, "'x' is set, so it cannot be evidence"),
        ({"do": {"x": "yes"}, "value": None}, "are not numbers"),
        ({"do": {"x": "yes"}, "interval": 95}, "interval is a probability between 0 and 1, not 95"),
        ({"do": {"x": "yes"}, "n_draws": 0}, "at least 1, not 0"),
        ({"do": "x"}, "a mapping"),
    ],
)
def test_bad_effects(arguments, message):
    data = pd.DataFrame({"x": ["no", "yes"] * 10, "y": ["a", "b", "b", "b"] * 5})
    posterior = CStreeLearner(beta=2).fit(data).posterior_
    with pytest.raises(InputError, match=message):
        posterior.effect("y", **{"value": "b", **arguments})


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda tree: tree.do({"age": 1}), "no variable 'age'"),
        (lambda tree: tree.do({"exposed": "perhaps"}), "no state 'perhaps'"),
        (lambda tree: tree.do({"exposed": {"no": 0}}), "all zero"),
        (lambda tree: tree.do("exposed"), "a mapping"),
        (lambda tree: tree.causal_effect("exposed", "exposed"), "both treatment and outcome"),
        (lambda tree: tree.causal_effect("exposed", "carrier", {"exposed": "no"}), "is set"),
        (lambda tree: tree.average_causal_effect("exposed", "carrier", ("no", "yes")), "are not numbers"),
        (lambda tree: tree.average_causal_effect("exposed", "carrier", ("no", "yes"), {"no": 1}), "no number for"),
    ],
)
def test_bad_interventions(act, message):
    with pytest.raises(InputError, match=message):
        act(chickenpox_model())


# ---------------------------------------------------------------- scores of interventional data
@given(tables(min_p=2), st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 3]))
def test_rows_in_which_a_variable_was_set_do_not_count_for_it(table, seed, beta):
    mask = np.random.default_rng(seed).random(table.codes.shape) < 0.4
    scores = Scores(table, beta=beta, interventions=mask)
    rows, weights = rows_of(table)
    for i, name in enumerate(table.variables):
        kept = [r for r in range(table.n) if not mask[r, i]]
        others = [j for j in range(table.p) if j != i]
        expected = naive.local_order_score(
            [rows[r] for r in kept], [weights[r] for r in kept], table.cards, i, others, min(beta, 2), 1.0, "uniform"
        )
        if beta < 3:
            found = scores.local_order_score(name, [table.variables[j] for j in others])
            assert isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9)
        else:
            alone = Scores(table.take(kept), beta=3)
            others_names = [table.variables[j] for j in others]
            assert isclose(
                scores.local_order_score(name, others_names), alone.local_order_score(name, others_names), abs_tol=1e-9
            )


def test_the_screen_and_the_bound_leave_those_rows_out_too():
    rng = np.random.default_rng(0)
    table = random_cstree(6, random_state=0).sample_table(200, random_state=1)
    mask = rng.random(table.codes.shape) < 0.3
    for i in range(6):
        alone = _Counter(counts_of(table.take(~mask[:, i])), 1.0).gains_within(i, [(i + 1) % 6])
        assert np.allclose(_Counter(counts_of(table, mask), 1.0).gains_within(i, [(i + 1) % 6]), alone)
    sets = candidate_sets(table, alpha=2, interventions=mask).sets
    for i, name in enumerate(table.variables):
        assert sets[name] == candidate_sets(table.take(~mask[:, i]), alpha=2).sets[name]
    with pytest.raises(InputError, match="knows nothing of interventions"):
        candidate_sets(table, "pc", interventions=mask)


def experiment(tree, n, target, seed):
    """Rows in which one variable was set to states drawn by a coin."""
    data = tree.do({target: dict.fromkeys(tree.states[target], 1)}).sample(n, random_state=seed).astype(object)
    return data.assign(set=target)


def chain():
    """a -> b -> c: observation leaves the directions open, as c -> b -> a is the same model."""
    contexts = {"b": [{"a": x} for x in YESNO], "c": [{"b": x} for x in YESNO]}
    parameters = {"a": [[0.5, 0.5]], "b": [[0.8, 0.2], [0.3, 0.7]], "c": [[0.7, 0.3], [0.2, 0.8]]}
    return CStree(["a", "b", "c"], contexts, parameters, states=dict.fromkeys("abc", YESNO))


@pytest.mark.parametrize("seed", range(3))
def test_directions_that_observation_leaves_open_are_found_by_interventions(seed):
    tree = chain()
    seen = tree.sample(1000, random_state=seed).astype(object).assign(set=None)
    settings = {"beta": 2, "search": Chains(n_iter=4000), "random_state": 0}
    observed = CStreeLearner(**settings).fit(seen.drop(columns="set"))
    before = observed.posterior_.precedence()
    assert 0.1 < before.loc["a", "b"] < 0.9
    assert 0.1 < before.loc["b", "c"] < 0.9
    both = pd.concat([seen, experiment(tree, 500, "a", seed + 10), experiment(tree, 500, "b", seed + 20)])
    learner = CStreeLearner(**settings).fit(both, interventions="set")
    after = learner.posterior_.precedence()
    assert after.loc["a", "b"] > 0.9
    assert after.loc["b", "c"] > 0.9
    assert set(learner.cstree_.to_dag().edges) == {("a", "b"), ("b", "c")}
    assert "set" not in learner.cstree_.variables
    # What was set does not count for how often it occurs.
    mask = (both["set"] == "a").to_numpy()
    share = (both["a"][~mask] == "yes").mean()
    assert abs(learner.cstree_.query("a")["yes"] - share) < 0.01


def context_tree(seed):
    """Variables of two to four states: ``b`` depends on ``a``, and ``c`` on ``b`` too unless ``a`` is 0."""
    rng = np.random.default_rng(seed)
    states = {"a": list(range(3)), "b": list(range(4)), "c": list(range(3)), "d": [0, 1]}
    contexts = {
        "b": [{"a": x} for x in range(3)],
        "c": [{"a": 0}, *({"a": x, "b": y} for x in (1, 2) for y in range(4))],
        "d": [{"c": x} for x in range(3)],
    }
    # Each stage has a favourite state of its own.
    parameters = {"a": [[0.4, 0.3, 0.3]]}
    for v, stages in contexts.items():
        k = len(states[v])
        shares = np.full((len(stages), k), 0.3 / (k - 1))
        shares[np.arange(len(stages)), (np.arange(len(stages)) + rng.integers(k)) % k] = 0.7
        parameters[v] = shares
    return CStree(list("abcd"), contexts, parameters, states=states)


@pytest.mark.parametrize("seed", range(3))
def test_interventions_find_directions_in_context_trees_with_more_states(seed):
    tree = context_tree(seed)
    edges = [("a", "b"), ("a", "c"), ("b", "c"), ("c", "d")]
    seen = tree.sample(2000, random_state=seed).astype(object).assign(set=None)
    observed = CStreeLearner(beta=2, random_state=0).fit(seen.drop(columns="set"))
    before = observed.posterior_.precedence()
    for edge in edges[:3]:
        assert 0.1 < before.loc[edge] < 0.9, edge
    experiments = [experiment(tree, 700, v, seed + 10 * k) for k, v in enumerate("abc", start=1)]
    both = pd.concat([seen, *experiments])
    learner = CStreeLearner(beta=2, random_state=0).fit(both, interventions="set")
    after = learner.posterior_.precedence()
    for edge in edges:
        assert after.loc[edge] > 0.9, edge
    assert set(learner.cstree_.to_dag().edges) == set(edges)
    # The context in which c does not depend on b is found.
    assert {"a": 0} in [dict(context) for context in learner.cstree_.stagings["c"]]
    # The control: the same rows taken for observations leave the directions open.
    taken = CStreeLearner(beta=2, random_state=0).fit(both.drop(columns="set"))
    assert taken.posterior_.precedence().loc["b", "c"] < 0.9
    assert set(taken.cstree_.to_dag().edges) != set(edges)


def test_ways_to_say_what_was_set():
    frame = pd.DataFrame({"a": [0, 1, 0, 1], "b": [1, 1, 0, 0], "w": [1.0, 2.0, 1.0, 1.0]})
    expected = np.array([[True, False], [False, False], [False, True], [False, False]])
    for column in (["a", None, "b", None], ["a", "", "b", "none"], [1, 0, 2, 0], ["1", "0", "2", "0"]):
        rest, mask = read_interventions(frame.assign(set=column), "set", "w")
        assert np.array_equal(mask, expected)
        assert list(rest.columns) == ["a", "b", "w"]
        assert np.array_equal(read_interventions(frame[["a", "b"]], column)[1], expected)
    assert np.array_equal(read_interventions(frame[["a", "b"]], expected)[1], expected)
    assert np.array_equal(
        read_interventions(frame[["a", "b"]], pd.DataFrame({"b": expected[:, 1]}))[1], expected * [False, True]
    )
    gappy = frame[["a", "b"]].astype(object).where(frame["w"] < 2)
    rest, mask = read_interventions(gappy, expected, missing="drop")
    assert np.array_equal(mask, expected[[0, 2, 3]])
    assert len(rest) == 3


@pytest.mark.parametrize(
    ("interventions", "message"),
    [
        ("set", "no such column"),
        (["a", "c", 0], "row 2: 'c' is no variable, no number from 1 to 2"),
        ([1, 3, 0], "row 2: 3 is no variable"),
        ([1, 2], "2 entries, but there are 3 rows"),
        (np.zeros((3, 3), dtype=bool), r"shape \(3, 2\); this one has shape \(3, 3\)"),
        (np.full((3, 2), 7), "holds 7"),
        (pd.DataFrame({"z": [True] * 3}), "columns z"),
    ],
)
def test_bad_descriptions_of_what_was_set(interventions, message):
    with pytest.raises(InputError, match=message):
        read_interventions(pd.DataFrame({"a": [0, 1, 0], "b": [1, 1, 0]}), interventions)


# ---------------------------------------------------------------- real data
@pytest.mark.skipif(not os.environ.get("CSLEARN_DATA"), reason="CSLEARN_DATA names no directory with real data")
def test_interventions_change_what_is_learned_from_the_sachs_data():
    data = pd.read_csv(Path(os.environ["CSLEARN_DATA"]) / "sachs_interventional_disc.csv")
    assert data.shape == (5400, 12)
    learner = CStreeLearner(beta=2, search=Chains(n_iter=3000), random_state=0).fit(data, interventions="INT")
    plain = CStreeLearner(beta=2, search=Chains(n_iter=3000), random_state=0).fit(data.drop(columns="INT"))
    assert learner.cstree_.variables == plain.cstree_.variables
    # The network that biologists agree on. PKC was set in 600 of the rows; it acts on PKA and Jnk.
    known = {
        *[("PKC", v) for v in ("Raf", "Mek", "PKA", "Jnk", "P38")],
        *[("PKA", v) for v in ("Raf", "Mek", "Erk", "Akt", "Jnk", "P38")],
        *[("Raf", "Mek"), ("Mek", "Erk"), ("Erk", "Akt"), ("Plcg", "PIP2"), ("Plcg", "PIP3"), ("PIP3", "PIP2")],
    }
    reversed_edges = {(v, u) for u, v in known}
    after, before = learner.posterior_.precedence(), plain.posterior_.precedence()
    for effect in ("PKA", "Jnk"):
        assert after.loc["PKC", effect] > 0.9
        assert before.loc["PKC", effect] < 0.5
    assert len(known & set(learner.cstree_.to_dag().edges)) >= 15
    assert len(known & set(plain.cstree_.to_dag().edges)) <= 12
    assert not reversed_edges & set(learner.cstree_.to_dag().edges)
    assert reversed_edges & set(plain.cstree_.to_dag().edges)
