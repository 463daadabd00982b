"""Edges, stages, predictions and draws of the posterior over CStrees, against enumeration."""

from collections import Counter
from dataclasses import replace
from itertools import combinations, permutations, product
from math import exp, isclose

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta as beta_distribution
from scipy.stats import chisquare

import naive
from cslearn import CStreeLearner
from cslearn.data import Table
from cslearn.datasets import chickenpox_model
from cslearn.errors import InputError
from cslearn.graphs import CSIRelation
from cslearn.orders import Chain, ExactOrders, SubsetScores, problem
from cslearn.posterior import CStreePosterior
from cslearn.posterior.levels import Levels
from cslearn.scores import Scores
from cslearn.stagings import Context
from problems import Enumerated, random_table, tables

PRIORS = ("uniform", "sparse", "tree")


def with_row(table, row):
    """The table with one row more."""
    weights = None if table.weights is None else np.append(table.weights, 1.0)
    return Table(np.vstack([table.codes, row]), table.variables, table.states, weights)


def exact_posterior(table, seed=0, **options):
    return CStreePosterior.of_exact(ExactOrders(SubsetScores(Scores(table, **options))), seed)


def all_orders(table, **options):
    """A posterior whose draws are all orders, each as often as its probability times a large number says."""
    scores = Scores(table, **options)
    orders = np.array(list(permutations(range(table.p))), dtype=np.int32)
    log_scores = np.array([scores.order_score([table.variables[i] for i in o]) for o in orders])
    times = np.round(np.exp(log_scores - log_scores.max()) * 200).astype(int)
    chain = Chain(np.repeat(orders, times, axis=0), np.repeat(log_scores, times), log_scores, orders[0], 0.0, 1, 0.0)
    return CStreePosterior(table.variables, [chain], scores=scores)


# ------------------------------------------------------------------ prediction
@settings(max_examples=60, deadline=None)
@given(table=tables(min_p=2, max_p=4), beta=st.integers(0, 3), prior=st.sampled_from(PRIORS), data=st.data())
def test_the_averaged_prediction_is_the_ratio_of_the_scores_with_and_without_the_row(table, beta, prior, data):
    row = [data.draw(st.integers(0, d - 1)) for d in table.cards]
    i = data.draw(st.integers(0, table.p - 1))
    before = data.draw(st.sets(st.sampled_from([v for v in range(table.p) if v != i])))
    scores = Scores(table, beta=beta, prior=prior, ess=1.5)
    level = tuple(k for k, c in enumerate(scores.candidates[i]) if int(c) in before)
    found = Levels(scores).predictive(i, level, np.array([row]))
    names = [table.variables[v] for v in before]
    more = Scores(with_row(table, row), beta=beta, prior=prior, ess=1.5)
    ratio = more.local_order_score(table.variables[i], names) - scores.local_order_score(table.variables[i], names)
    assert isclose(found[0], exp(ratio), rel_tol=1e-8)


@pytest.mark.parametrize("prior", PRIORS)
def test_the_averaged_probability_of_rows_is_the_ratio_of_evidences(prior):
    table = random_table([2, 3, 2, 2], 30, np.random.default_rng(3))
    posterior = exact_posterior(table, prior=prior)
    rows = [[0, 0, 0, 0], [1, 2, 0, 1], [0, 1, 1, 0]]
    expected = [
        exact_posterior(with_row(table, row), prior=prior).log_evidence - posterior.log_evidence for row in rows
    ]
    frame = pd.DataFrame(rows, columns=table.variables)
    np.testing.assert_allclose(posterior.log_prob(frame), expected, atol=1e-8)
    np.testing.assert_allclose(posterior.log_prob(frame, n_orders=2000), expected, atol=0.05)
    # One order alone is not enough: the test can fail.
    assert abs(posterior.log_prob(frame, n_orders=1) - expected).max() > 0.05


def test_the_averaged_probabilities_of_all_outcomes_sum_to_one():
    table = random_table([2, 3, 2], 25, np.random.default_rng(1))
    outcomes = pd.DataFrame(list(product(range(2), range(3), range(2))), columns=table.variables)
    for posterior in (exact_posterior(table), all_orders(table, prior="tree")):
        assert isclose(np.exp(posterior.log_prob(outcomes)).sum(), 1.0, rel_tol=1e-10)


def test_predictions_of_a_state_follow_from_the_probabilities_of_rows():
    table = random_table([2, 3, 2], 25, np.random.default_rng(2))
    posterior = exact_posterior(table)
    rows = pd.DataFrame({"v0": [0, 1, 1], "v2": [1, 0, 1]}, index=["a", "b", "c"])
    found = posterior.predict_proba(rows, "v1")
    assert found.index.tolist() == ["a", "b", "c"]
    joint = np.array([np.exp(posterior.log_prob(rows.assign(v1=x)[["v0", "v1", "v2"]])) for x in range(3)]).T
    np.testing.assert_allclose(found.to_numpy(), joint / joint.sum(axis=1, keepdims=True), rtol=1e-9)
    assert posterior.predict(rows, "v1").tolist() == [int(np.argmax(row)) for row in joint]


@pytest.mark.parametrize("prior", ["uniform", "tree"])
def test_missing_cells_are_summed_out_of_the_averaged_probability(prior):
    table = random_table([2, 3, 2], 12, np.random.default_rng(2))
    posterior = exact_posterior(table, prior=prior)
    rows = pd.DataFrame({"v0": [0, None, None], "v1": [0, 0, 0], "v2": [None, 1, None]}, dtype=object)
    expected = []
    for row in rows.to_dict("records"):
        free = [
            range(d) if row[v] is None or v == "v1" else [row[v]]
            for v, d in zip(table.variables, table.cards, strict=True)
        ]
        outcomes = pd.DataFrame(list(product(*free)), columns=table.variables)
        chances = np.exp(posterior.log_prob(outcomes))
        by_state = np.array([chances[outcomes["v1"] == x].sum() for x in range(3)])
        expected.append(by_state / by_state.sum())
    found = posterior.predict_proba(rows, "v1", n_draws=1000)
    np.testing.assert_allclose(found, expected, atol=0.02)
    # The draws matter: one CStree alone is far off.
    assert np.abs(posterior.predict_proba(rows, "v1", n_draws=1).to_numpy() - expected).max() > 0.03
    # Rows without gaps stay in closed form.
    whole = rows.fillna(1).infer_objects()
    np.testing.assert_allclose(
        posterior.predict_proba(whole, "v1", n_draws=1), posterior.predict_proba(whole, "v1", n_draws=9), rtol=1e-12
    )


def test_averages_with_gaps_are_those_over_all_cstrees():
    """The same by enumeration of all CStrees, weighted by the probability that each gives to what is known."""
    table = random_table([2, 3, 2], 12, np.random.default_rng(2))
    posterior = exact_posterior(table, prior="uniform")
    total = np.zeros(3)
    for tree, chance in Enumerated(table, "uniform").as_cstrees(table, 1.0):
        total += chance * np.array([exp(tree.log_prob_of({"v0": 0, "v1": x})) for x in range(3)])
    found = posterior.predict_proba([{"v0": 0, "v2": None}], "v1", n_draws=1000)
    np.testing.assert_allclose(found.iloc[0], total / total.sum(), atol=0.02)


# ------------------------------------------------------------------ stages and edges
@pytest.mark.parametrize("prior", PRIORS)
def test_stages_and_edges_have_the_probabilities_of_enumeration(prior):
    table = random_table([2, 3, 2], 40, np.random.default_rng(5))
    truth = Enumerated(table, prior)
    posterior = exact_posterior(table, prior=prior)
    assert isclose(posterior.log_evidence, truth.log_evidence, rel_tol=1e-10)
    for i, context in [(0, {}), (0, {1: 2}), (2, {0: 1}), (2, {0: 1, 1: 0}), (1, {0: 0, 2: 1})]:
        expected = sum(w for w, order, s in truth.trees if context in s[order.index(i)])
        names = {table.variables[v]: x for v, x in context.items()}
        assert isclose(posterior.stage_probability(table.variables[i], names), expected, rel_tol=1e-7, abs_tol=1e-8)
    for i, context in [(2, {0: 1}), (1, {2: 1}), (0, {2: 0})]:
        # All outcomes of what came before that agree with the context are in one stage.
        expected = 0.0
        for w, order, stagings in truth.trees:
            known = {v: x for v, x in context.items() if v in order[: order.index(i)]}
            expected += w * any(stage.items() <= known.items() for stage in stagings[order.index(i)])
        named = Context({table.variables[v]: x for v, x in context.items()})
        (other,) = set(table.variables) - set(named) - {table.variables[i]}
        relation = CSIRelation(table.variables[i], (other,), named)
        assert isclose(posterior.relation_probability(relation), expected, rel_tol=1e-7, abs_tol=1e-8)
    expected_stages = [sum(w * len(s[order.index(i)]) for w, order, s in truth.trees) for i in range(3)]
    np.testing.assert_allclose(posterior.n_stages(), expected_stages, rtol=1e-6)
    edges = np.zeros((3, 3))
    for w, order, stagings in truth.trees:
        for i, staging in zip(order, stagings, strict=True):
            edges[sorted(set().union(*staging)), i] += w
    np.testing.assert_allclose(posterior.edge_probabilities(), edges, atol=1e-9)
    either = posterior.edge_probabilities(directed=False)
    np.testing.assert_allclose(either, edges + edges.T, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    table=tables(min_p=2, max_p=5, max_card=4),
    beta=st.integers(0, 2),
    prior=st.sampled_from(PRIORS),
    few=st.booleans(),
    seed=st.integers(0, 99),
)
def test_edges_given_an_order_are_what_its_levels_say(table, beta, prior, few, seed):
    scores = Scores(table, beta=beta, prior=prior, ess=1.5)
    rng = np.random.default_rng(seed)
    orders = np.array([rng.permutation(table.p) for _ in range(3)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(problem, "MOST_LOOKED_UP", 14 if few else -1)
        found = Levels(scores).edges(orders)
    expected = np.zeros(found.shape)
    for draw, order in enumerate(orders):
        for t, i in enumerate(order):
            level = [k for k, c in enumerate(scores.candidates[i]) if c in order[:t]]
            unused = scores.level_weights(i, np.array(level, dtype=np.intp)).unused_probabilities()
            expected[draw, scores.candidates[i][level], i] = 1 - unused
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_edges_given_an_order_hold_with_many_rows_and_states():
    # The sums of this table pass the range of a double.
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 3, size=(20_000, 8))
    codes[:, 3] = (codes[:, 0] * codes[:, 1] + (rng.random(20_000) < 0.02)) % 3
    codes[:, 5] = (codes[:, 3] + codes[:, 4] + (rng.random(20_000) < 0.3)) % 3
    scores = Scores(Table(codes, tuple("abcdefgh"), ((0, 1, 2),) * 8), prior="tree")
    orders = np.array([rng.permutation(8) for _ in range(5)])
    by_subsets = Levels(scores).edges(orders)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(problem, "MOST_LOOKED_UP", -1)
        np.testing.assert_allclose(Levels(scores).edges(orders), by_subsets, atol=1e-9)
    assert by_subsets.max() > 0.999


def test_edges_are_diagnosed_after_a_fit():
    data = chickenpox_model().sample(300, random_state=0)
    posterior = CStreeLearner(search="mcmc", n_iter=4000, random_state=0).fit(data).posterior_
    frame = posterior.diagnostics()
    edges = frame[frame["kind"] == "edge"].set_index("quantity")
    assert len(edges) > 2
    shares = posterior.edge_probabilities()
    for name, row in edges.iterrows():
        assert row["mean"] == pytest.approx(shares.loc[*name.split(" -> ")], abs=0.03)
    assert posterior.verdict.converged
    # Two chains that know of one order only, and two that know of another, disagree on the edge between the two.
    chains = list(posterior.chains)
    for number, chain in enumerate(chains):
        column = chain.orders[:, ::1] == 0
        wanted = np.argmax(column, axis=1) == (0 if number < 2 else 3)
        chosen = np.resize(np.flatnonzero(wanted), len(chain.orders))
        chains[number] = replace(chain, orders=chain.orders[chosen])
    stuck = CStreePosterior(posterior.variables, chains, scores=posterior.scores)
    found = stuck.diagnostics()
    assert found.loc[found["kind"] == "edge", "r_hat"].max() > 1.5


@pytest.mark.parametrize("prior", ["tree", "uniform"])
@pytest.mark.parametrize("beta", [1, 2, 3])
def test_parent_sets_have_their_posterior_probabilities(prior, beta):
    table = random_table([2, 3, 2, 2] if beta < 3 else [2, 2, 2, 2], 40, np.random.default_rng(9))
    truth = Enumerated(table, prior, beta) if beta < 3 else None
    posterior = exact_posterior(table, prior=prior, beta=beta)
    for i, name in enumerate(table.variables):
        others = [v for v in table.variables if v != name]
        sets = [s for r in range(len(others) + 1) for s in combinations(others, r)]
        found = {s: posterior.parents_probability(name, s) for s in sets}
        assert sum(found.values()) == pytest.approx(1, abs=1e-6)
        # Each edge is in the sets that hold it.
        edges = posterior.edge_probabilities()[name]
        for parent in others:
            assert sum(found[s] for s in sets if parent in s) == pytest.approx(edges[parent], abs=1e-6)
        if truth is not None:
            for s in sets:
                expected = sum(
                    w
                    for w, order, stagings in truth.trees
                    if {table.variables[v] for v in set().union(*stagings[order.index(i)])} == set(s)
                )
                assert found[s] == pytest.approx(expected, abs=1e-6)
    with pytest.raises(InputError, match="no variable 'nobody'"):
        posterior.parents_probability("v0", ["nobody"])


def test_drawn_orders_give_the_edge_probabilities_of_all_orders():
    table = random_table([2, 2, 3, 2], 60, np.random.default_rng(8))
    exact, drawn = exact_posterior(table, prior="tree"), all_orders(table, prior="tree")
    found = drawn.edge_probabilities(n_orders=10_000).to_numpy()
    np.testing.assert_allclose(found, exact.edge_probabilities(), atol=0.02)
    np.testing.assert_allclose(drawn.edge_draws(10_000).mean(axis=0), found, atol=1e-12)
    assert drawn.stage_probability("v1", {"v0": 0}, n_orders=10_000) == pytest.approx(
        exact.stage_probability("v1", {"v0": 0}), abs=0.02
    )


@pytest.mark.parametrize("prior", ["tree", "uniform"])
def test_drawn_cstrees_have_their_posterior_probabilities(prior):
    table = random_table([2, 2, 2], 30, np.random.default_rng(4))
    truth = Enumerated(table, prior)
    posterior = exact_posterior(table, prior=prior)
    n = 4000

    def key(order, stagings):
        return tuple(order), tuple(naive.as_key(s) for s in stagings)

    def key_of(tree):
        columns = {v: i for i, v in enumerate(table.variables)}
        stagings = [[{columns[v]: x for v, x in c.items()} for c in tree.stagings[v]] for v in tree.order]
        return key([columns[v] for v in tree.order], stagings)

    # The orders are themselves drawn: judge the stagings within them by fresh draws of orders.
    chain = posterior.chains[0]
    fresh = posterior.exact.draw(n, np.random.default_rng(11))
    many = CStreePosterior(
        posterior.variables, [Chain(fresh, chain.log_scores, *list(vars(chain).values())[2:])], scores=posterior.scores
    )
    rng = np.random.default_rng(0)
    drawn = Counter(key_of(many._draw_tree(order, "mean", rng)) for order in fresh)
    expected = {key(order, s): w for w, order, s in truth.trees}
    assert set(drawn) <= set(expected)
    chances = np.array(list(expected.values()))
    seen = np.array([drawn[k] for k in expected])
    often = chances * n >= 5
    share = np.append(chances[often], chances[~often].sum())
    counts = np.append(seen[often], seen[~often].sum())
    assert chisquare(counts, n * share / share.sum()).pvalue > 1e-3
    assert chisquare(np.roll(counts, 1), n * share / share.sum()).pvalue < 1e-3


# ------------------------------------------------------------------ parameters, queries, point estimates
def test_parameters_are_drawn_from_their_dirichlet_distributions_and_intervals_are_their_quantiles():
    table = random_table([2, 2], 50, np.random.default_rng(6))
    posterior = exact_posterior(table, ess=2.0)
    trees = posterior.sample(3000, random_state=0)
    root = [tree for tree in trees if tree.order[0] == "v0"]
    ones = float((table.codes[:, 0] == 1).sum())
    drawn = np.array([tree.parameters["v0"][0, 1] for tree in root])
    law = beta_distribution(ones + 1, table.n - ones + 1)
    assert abs(drawn.mean() - law.mean()) < 5 * law.std() / len(drawn) ** 0.5
    assert abs(drawn.std() / law.std() - 1) < 0.1
    frame = posterior.parameter_intervals(root[0], interval=0.9)
    row = frame[(frame["variable"] == "v0") & (frame["state"] == 1)].iloc[0]
    np.testing.assert_allclose([row["mean"], row["lower"], row["upper"]], [law.mean(), *law.interval(0.9)], rtol=1e-9)
    assert frame.groupby(["variable", "context"])["mean"].sum().round(9).eq(1).all()


def test_point_estimates_minimise_what_they_say():
    table = random_table([2, 2, 3, 2], 200, np.random.default_rng(9))
    posterior = exact_posterior(table, prior="tree")
    best = posterior.point_estimate("best")
    _, log_joint = posterior.exact.best_joint()
    assert isclose(posterior.scores.cstree_score(best), log_joint, rel_tol=1e-9)
    near = posterior.point_estimate("hamming")
    chances = posterior.edge_probabilities().to_numpy()
    distances = [posterior._expected_distance(tree, chances) for tree in posterior.sample(50, random_state=1)]
    assert posterior._expected_distance(near, chances) <= min(distances)
    held_out = random_table([2, 2, 3, 2], 5000, np.random.default_rng(10))
    close = posterior.point_estimate("divergence")
    assert close.log_prob(held_out).mean() >= np.median([t.log_prob(held_out).mean() for t in posterior.sample(50)])
    with pytest.raises(InputError, match="point estimate 'median'"):
        posterior.point_estimate("median")


def test_the_graph_has_the_edges_above_the_threshold():
    table = random_table([2, 2, 2, 2], 300, np.random.default_rng(12))
    posterior = exact_posterior(table, prior="tree")
    frame = posterior.edge_probabilities()
    graph = posterior.graph(0.3)
    assert isinstance(graph, nx.DiGraph)
    assert set(graph.edges) == {(a, b) for a in frame.index for b in frame.columns if frame.loc[a, b] > 0.3}
    with pytest.raises(InputError, match="below 1"):
        posterior.graph(1.5)


def test_orders_without_data_say_so():
    posterior = exact_posterior(random_table([2, 2], 10, np.random.default_rng(0)))
    bare = CStreePosterior(posterior.variables, posterior.chains)
    with pytest.raises(InputError, match="without the data"):
        bare.edge_probabilities()
    with pytest.raises(InputError, match="exact search only"):
        _ = bare.log_evidence
    with pytest.raises(InputError, match="no variable 'x'"):
        posterior.stage_probability("x", {})
    with pytest.raises(InputError, match="'v0' has no state 7"):
        posterior.stage_probability("v1", {"v0": 7})
