"""Beyond two context variables: candidates from a first pass, bounds raised where the data ask for it."""

import itertools
import os
from math import isclose, log

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import naive
from cslearn import Chains, CStree, CStreeLearner
from cslearn.data import as_table
from cslearn.datasets import load_alarm, true_edges
from cslearn.errors import DataWarning, InputError, LimitError
from cslearn.estimators.context_bounds import check_fit, fitting_number, grown_candidates, raised_bounds
from cslearn.metrics import cpdag, shd
from cslearn.orders import SubsetScores
from cslearn.priors import TreePrior
from cslearn.scores import Scores
from cslearn.stagings import Staging
from cslearn.stagings.tree_weights import layout
from problems import random_table, rows_of


def three_parents(n_others=3, seed=0, parents="abc"):
    """A model in which `child` follows the parity of its parents, among some others that matter for nothing."""
    rng = np.random.default_rng(seed)
    names = [*parents, *(f"other{i}" for i in range(n_others)), "child"]
    graph = nx.DiGraph([(parent, "child") for parent in parents])
    graph.add_nodes_from(names)
    structure = CStree.from_dag(graph, states=dict.fromkeys(names, (0, 1)))
    values = {}
    for v in structure.order:
        stages = structure.stagings[v]
        parity = np.array([sum(context.values()) % 2 for context in stages])
        ones = 0.15 + 0.7 * parity if v == "child" else rng.uniform(0.4, 0.6, size=len(stages))
        values[v] = np.column_stack([1 - ones, ones])
    return structure.with_parameters(values)


@pytest.fixture(scope="module")
def truth():
    return three_parents()


@pytest.mark.parametrize("search", ["exact", pytest.param("mcmc", marks=pytest.mark.slow)])
def test_three_parents_are_found_with_a_larger_bound(truth, search):
    data, test = truth.sample_table(1500, random_state=1), truth.sample_table(2000, random_state=2)
    # The parity says nothing of which of the four came last.
    known = {"tiers": [[v for v in data.variables if v != "child"], ["child"]]}
    two = CStreeLearner(beta=2, search=search, knowledge=known, random_state=0).fit(data)
    three = CStreeLearner(beta=3, search=search, knowledge=known, random_state=0).fit(data)
    assert three.log_order_score_ > two.log_order_score_ + 20
    assert three.score(test) > two.score(test) + 0.01
    joined = three.posterior_.edge_probabilities(directed=False)
    assert all(joined.loc[v, "child"] > 0.99 for v in "abc")
    assert joined.loc["other0", "child"] < 0.5
    assert max(staging.bound for staging in three.cstree_.stagings.values()) == 3


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
def test_the_bound_is_raised_where_two_context_variables_see_nothing(seed):
    """In one of 32 contexts `y` follows `third`: with two context variables all orders are alike."""
    rng = np.random.default_rng(seed)
    first, second, third = (rng.integers(d, size=3000) for d in (4, 8, 2))
    chance = np.where((first == 3) & (second == 3), 0.05 + 0.9 * third, 0.5)
    data = pd.DataFrame({"y": rng.random(3000) < chance, "first": first, "second": second, "third": third})
    two, auto = (CStreeLearner(beta=beta, random_state=0).fit(data) for beta in (2, "auto"))
    assert max(auto.betas_.values()) == 3
    assert auto.log_order_score_ > two.log_order_score_ + 10
    last = max(["y", "third"], key=auto.order_.index)
    assert len(auto.cstree_.parents[last]) == 3


def test_four_parents_are_found_with_a_bound_of_four():
    truth = three_parents(n_others=2, parents="abcd")
    data, test = truth.sample_table(2000, random_state=1), truth.sample_table(2000, random_state=2)
    known = {"tiers": [[v for v in data.variables if v != "child"], ["child"]]}
    three, four = (
        CStreeLearner(beta=beta, search="exact", knowledge=known, random_state=0).fit(data) for beta in (3, 4)
    )
    assert set(four.cstree_.parents["child"]) == set("abcd")
    assert four.score(test) > three.score(test) + 0.1
    assert four.betas_["child"] == 4


def test_the_bound_is_raised_where_the_data_ask_for_it_and_nowhere_else(truth):
    data = truth.sample_table(1500, random_state=1)
    sets = {v: tuple(w for w in data.variables if w != v) for v in data.variables}
    chosen_from = {v: len(own) for v, own in sets.items()}
    raised = raised_bounds(
        data,
        {v: truth.order[:t] for t, v in enumerate(truth.order)},
        sets,
        most=4,
        chosen_from=chosen_from,
        ess=1.0,
        prior="tree",
    )
    assert raised == {v: 3 if v == "child" else 2 for v in data.variables}
    learner = CStreeLearner(beta="auto", random_state=0).fit(data)
    assert max(learner.betas_.values()) >= 3
    independent = CStreeLearner(beta="auto", random_state=0).fit(random_table([2] * 5, 300, np.random.default_rng(0)))
    assert set(independent.betas_.values()) == {2}


def test_single_variables_have_a_bound_of_their_own(truth):
    data = truth.sample(1000, random_state=1)
    last = truth.order[-1]
    learner = CStreeLearner(beta={last: 3}, search=Chains(n_iter=500), random_state=0).fit(data)
    assert learner.betas_ == {**dict.fromkeys(truth.variables, 2), last: 3}
    assert learner.cstree_.learning["settings"]["beta"] == {last: 3}
    assert all(staging.bound <= learner.betas_[v] for v, staging in learner.cstree_.stagings.items())
    # Two is what all have: the same model.
    assert CStreeLearner(beta={last: 2}, random_state=0).fit(data).betas_ == dict.fromkeys(truth.variables, 2)
    with pytest.raises(InputError, match="beta is given for 'nobody', but there is no such variable"):
        CStreeLearner(beta={"nobody": 3}).fit(data)
    with pytest.raises(InputError, match="a mapping of variables to 2, 3, ... .or .auto.. or .auto., not {.*: 1}"):
        CStreeLearner(beta={last: 1}).fit(data)


def test_candidates_for_a_larger_bound_keep_the_true_ones():
    truth = three_parents(n_others=16)
    data = truth.sample_table(3000, random_state=3)
    allowed = {v: tuple(w for w in data.variables if w != v) for v in data.variables}
    # A first pass that has seen nothing: everything has to enter by being tried.
    blind = np.zeros((data.p, data.p))
    sets = grown_candidates(data, allowed, blind, beta=3, ess=1.0, prior="tree")
    assert {"a", "b", "c"} <= set(sets["child"])
    assert all(len(own) <= 12 for own in sets.values())


def test_a_full_split_on_three_parents_scores_as_the_bdeu_family():
    table = random_table([2, 3, 2, 2], 60, np.random.default_rng(4))
    rows, weights = rows_of(table)
    scores = Scores(table, beta=3, ess=2.0)
    scope = {v: table.states[i] for i, v in enumerate(table.variables[:3])}
    split = Staging.full_split(scope, table.variables[:3])
    prior = scores.prior.log_weight(split, 3, 3) - scores.log_normaliser(3, np.array([2, 3, 2]))
    expected = naive.bdeu_family(rows, weights, table.cards, 3, [0, 1, 2], 2.0)
    assert isclose(scores.staging_score("v3", split) - prior, expected, rel_tol=1e-10)


def test_the_prior_counts_what_candidates_were_chosen_from():
    table = random_table([2] * 5, 40, np.random.default_rng(5))
    few = {"v4": ["v0", "v1"]}
    plain = Scores(table, beta=2, prior="tree", candidates=few)
    aware = Scores(table, beta=2, prior="tree", candidates=few, chosen_from={"v4": 4})
    split = Staging.full_split(dict.fromkeys(table.variables[:4], (0, 1)), ["v0"])
    prior = TreePrior()
    # One of two candidates, or one of four.
    expected = log(prior.split_weight(4, 0, 1, 2)) - log(prior.split_weight(2, 0, 1, 2))
    assert isclose(aware.staging_score("v4", split) - plain.staging_score("v4", split), expected, rel_tol=1e-9)
    subsets = SubsetScores(aware)
    for subset, level in enumerate(itertools.chain([[]], [["v0"]], [["v1"]], [["v0", "v1"]])):
        assert isclose(subsets.local[4][subset], aware.local_order_score("v4", level), rel_tol=1e-9)


def test_too_many_candidates_for_a_bound_are_refused_with_advice():
    table = random_table([2] * 20, 30, np.random.default_rng(6))
    with pytest.raises(LimitError, match=r"'v0' has 19 candidates; with beta=3 there can be 12. Give alpha=12"):
        check_fit(Scores(table, beta=3))
    assert fitting_number((9,) * 12, 4) < fitting_number((2,) * 12, 4) == 12


def test_a_bound_beyond_the_candidates_is_their_number():
    data = random_table([2, 3, 2, 2, 2], 200, np.random.default_rng(7))
    four, ten = (CStreeLearner(beta=beta, random_state=0).fit(data) for beta in (4, 10))
    assert ten.betas_ == four.betas_ == dict.fromkeys(data.variables, 4)
    assert ten.cstree_ == four.cstree_
    assert ten.log_order_score_ == four.log_order_score_
    few = Scores(data, beta=7, prior="tree", candidates={"v0": ["v1"], "v1": ["v2", "v3", "v4"]})
    assert few.betas == (2, 3, 2, 2, 2)


def test_a_dag_with_as_many_parents_as_the_bound_is_in_the_model_class():
    table = random_table([2] * 7, 100, np.random.default_rng(9))
    graph = nx.DiGraph([(parent, "v6") for parent in table.variables[:-1]])
    for beta in (6, 3, 2):
        tree = CStree.from_dag(nx.DiGraph(list(graph.edges)[:beta]), states=table.state_map)
        assert np.isfinite(Scores(table, beta=beta, prior="sparse").cstree_score(tree))
        assert Scores(table, beta=beta - 1, prior="sparse").cstree_score(tree) == -np.inf


@pytest.mark.parametrize("beta", [3, 4, 5])
def test_the_tables_hold_the_bdeu_family_scores_of_all_parent_sets(beta):
    table = random_table([2, 3, 2, 2, 2, 3], 40, np.random.default_rng(10))
    rows, weights = rows_of(table)
    scores = Scores(table, beta=beta, ess=2.0)
    blocks = layout(tuple(table.cards[c] for c in scores.candidates[5]), beta).blocks(scores.context_scores(5))
    for size in range(beta + 1):
        for parents in itertools.combinations(range(5), size):
            whole = blocks[parents].sum()
            expected = naive.bdeu_family(rows, weights, table.cards, 5, parents, 2.0)
            assert isclose(float(whole), expected, rel_tol=1e-9)


def test_the_candidates_that_were_used_are_told(tmp_path):
    truth = three_parents(n_others=12)
    data = truth.sample_table(600, random_state=1)
    last = truth.order[-1]
    chosen = CStreeLearner(beta={last: np.int64(3)}, search=Chains(n_iter=200, n_chains=1), random_state=0).fit(data)
    used = chosen.posterior_.scores.candidates
    names = data.variables
    assert chosen.candidates_.sets == {v: tuple(names[c] for c in own) for v, own in zip(names, used, strict=True)}
    assert max(chosen.candidates_.sizes().values()) <= 12
    assert "keep fewer candidates, at most" in chosen.candidates_.describe()
    # Beside the bound that was asked for the file has what became of it.
    chosen.cstree_.save(tmp_path / "model.json")
    learning = CStree.load(tmp_path / "model.json").learning
    assert learning["settings"]["beta"] == learning["betas"] == {last: 3}
    with pytest.warns(
        DataWarning, match="of 16 variables keep fewer candidates, at most .*; learner.candidates_ holds"
    ):
        settings = {"beta": {last: 3}, "candidates": "all"}
        CStreeLearner(**settings, search=Chains(n_iter=200, n_chains=1), random_state=0).fit(data)


def test_growth_that_does_not_end_is_told(monkeypatch):
    data = three_parents(n_others=16).sample_table(3000, random_state=3)
    allowed = {v: tuple(w for w in data.variables if w != v) for v in data.variables}
    monkeypatch.setattr("cslearn.estimators.context_bounds.ROUNDS", 1)
    with pytest.warns(DataWarning, match="after 1 rounds candidates .* would still have entered"):
        grown_candidates(data, allowed, np.zeros((data.p, data.p)), beta=3, ess=1.0, prior="tree")


def test_bounds_that_are_too_large_say_which_is_not():
    data = random_table([2] * 12, 40, np.random.default_rng(11))
    with pytest.raises(LimitError, match=r"contexts of 10 variables .* no more than 8 could be taken. Give beta=8"):
        CStreeLearner(beta=10, prior="sparse", random_state=0).fit(data)
    # Trees that are grown need no table of all contexts.
    assert CStreeLearner(beta=10, search="greedy").fit(data).cstree_.n_stages >= 12


# ---------------------------------------------------------------- ALARM, whose variables have up to four parents
def learned_from_alarm(n):
    """The held-out rows, the learner with a context bound of three, and the distance of its CPDAG from the true one."""
    data = as_table(load_alarm())
    graph = nx.DiGraph(true_edges("alarm"))
    graph.add_nodes_from(data.variables)
    learner = CStreeLearner(beta=3, random_state=0).fit(data.take(np.arange(n)))
    distance = shd(cpdag(learner.cstree_.to_dag()), cpdag(graph))
    return data.take(np.arange(data.n - 5000, data.n)), learner, distance


real = pytest.mark.skipif(not os.environ.get("CSLEARN_DATA"), reason="CSLEARN_DATA names no directory with real data")


@pytest.mark.slow
@real
@pytest.mark.filterwarnings("ignore::cslearn.errors.ConvergenceWarning")
@pytest.mark.parametrize(("n", "bidag", "farthest"), [(1000, -11.094, 7), (5000, -10.954, 6)])
def test_alarm_is_predicted_better_than_by_a_bayesian_network(n, bidag, farthest):
    test, learner, distance = learned_from_alarm(n)
    assert learner.score(test) >= bidag
    assert distance <= farthest
    assert learner.posterior_.log_prob(test, n_orders=20).mean() >= bidag


@pytest.mark.slow
@real
@pytest.mark.filterwarnings("ignore::cslearn.errors.ConvergenceWarning")
def test_the_structure_of_alarm_is_found():
    _, learner, distance = learned_from_alarm(20_000)
    assert distance <= 4
    # Of the 46 directed edges, those that are more probable than not.
    right = [edge in true_edges("alarm") for edge in learner.posterior_.graph(0.5).edges]
    assert sum(right) >= 40
    assert len(right) - sum(right) <= 4
