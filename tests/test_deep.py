"""Beyond two context variables: sums over all stagings of small candidate sets, and what is refused."""

import itertools
import os
from math import isclose

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import naive
from cslearn import All, Chains, CStree, CStreeLearner
from cslearn.data import as_table
from cslearn.datasets import load_alarm, true_edges
from cslearn.errors import LimitError
from cslearn.metrics import cpdag, shd
from cslearn.orders.subsets import subsets_fit
from cslearn.scores import Scores
from cslearn.stagings import Staging
from cslearn.stagings.tree_weights import layout
from plain_counts import PlainTable
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
    learner = CStreeLearner(beta="auto", random_state=0).fit(data)
    assert max(learner.betas_.values()) >= 3
    independent = CStreeLearner(beta="auto", random_state=0).fit(random_table([2] * 5, 300, np.random.default_rng(0)))
    assert set(independent.betas_.values()) == {2}


def test_a_full_split_on_three_parents_scores_as_the_bdeu_family():
    table = random_table([2, 3, 2, 2], 60, np.random.default_rng(4))
    rows, weights = rows_of(table)
    scores = Scores(table, beta=3, ess=2.0)
    scope = {v: table.states[i] for i, v in enumerate(table.variables[:3])}
    split = Staging.full_split(scope, table.variables[:3])
    prior = scores.prior.log_weight(split, 3, 3) - scores.log_normaliser(3, np.array([2, 3, 2]))
    expected = naive.bdeu_family(rows, weights, table.cards, 3, [0, 1, 2], 2.0)
    assert isclose(scores.staging_score("v3", split) - prior, expected, rel_tol=1e-10)


def test_too_many_candidates_for_a_bound_are_refused_with_advice():
    table = random_table([2] * 20, 30, np.random.default_rng(6))
    advice = r'Give beta=2, fewer candidates \(alpha=12\), or prior="tree", with which trees are grown'
    with pytest.raises(LimitError, match=rf"'v0' has 19 candidates, .* up to 3 variables can hold 12, .*{advice}"):
        CStreeLearner(beta=3, prior="sparse").fit(table)
    few = CStreeLearner(beta=3, prior="sparse", candidates=All(alpha=4), search=Chains(n_iter=50, n_chains=1)).fit(
        table
    )
    assert max(few.candidates_.sizes().values()) == 4
    narrow, wide = (9,) * 12, (2,) * 12
    assert subsets_fit(wide, 4) and not subsets_fit(narrow, 4)


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


@pytest.mark.parametrize("kind", [as_table, PlainTable])
@pytest.mark.parametrize("beta", [3, 4, 5])
def test_the_tables_hold_the_bdeu_family_scores_of_all_parent_sets(beta, kind):
    table = random_table([2, 3, 2, 2, 2, 3], 40, np.random.default_rng(10))
    rows, weights = rows_of(table)
    scores = Scores(kind(table), beta=beta, ess=2.0)
    blocks = layout(tuple(table.cards[c] for c in scores.candidates[5]), beta).blocks(scores.context_scores(5))
    for size in range(beta + 1):
        for parents in itertools.combinations(range(5), size):
            whole = blocks[parents].sum()
            expected = naive.bdeu_family(rows, weights, table.cards, 5, parents, 2.0)
            assert isclose(float(whole), expected, rel_tol=1e-9)


def test_bounds_that_are_too_large_say_which_is_not():
    data = random_table([2] * 12, 40, np.random.default_rng(11))
    with pytest.raises(LimitError, match="contexts of up to 10 variables can hold 8, .* Give beta=4, fewer"):
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
