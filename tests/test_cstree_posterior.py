"""Edges, stages, predictions and draws of the posterior over CStrees, against enumeration."""

from collections import Counter
from dataclasses import replace
from itertools import combinations, permutations, product
from math import exp, isclose

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta as beta_distribution
from scipy.stats import chisquare

import naive
from cslearn import Chains, CStreeLearner, random_cstree
from cslearn.data import Table
from cslearn.datasets import chickenpox_model
from cslearn.errors import InputError
from cslearn.graphs import CSIRelation
from cslearn.orders import Chain, ExactOrders, SubsetScores, lookup
from cslearn.orders.summary import summarise
from cslearn.posterior import CStreePosterior
from cslearn.posterior import edges as edges_module
from cslearn.posterior import levels as levels_module
from cslearn.posterior import posterior as posterior_module
from cslearn.posterior.draws import _expected_distance
from cslearn.posterior.levels import NEGLIGIBLE, SMALLEST_SHARE, Levels, exact_levels
from cslearn.scores import Scores
from problems import Enumerated, random_table, tables

PRIORS = ("uniform", "sparse", "tree")
# What holds for trees holds for stagings in the same way; both are tried where only draws or many CStrees tell.
ALSO_UNIFORM = ["tree", pytest.param("uniform", marks=pytest.mark.slow)]


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
@given(table=tables(min_p=2, max_p=4), beta=st.integers(0, 3), prior=st.sampled_from(PRIORS), data=st.data())
def test_the_averaged_prediction_is_the_ratio_of_the_scores_with_and_without_the_row(table, beta, prior, data):
    row = [data.draw(st.integers(0, d - 1)) for d in table.cards]
    i = data.draw(st.integers(0, table.p - 1))
    before = data.draw(st.sets(st.sampled_from([v for v in range(table.p) if v != i])))
    scores = Scores(table, beta=beta, prior=prior, ess=1.5)
    level = tuple(k for k, c in enumerate(scores.candidates[i]) if int(c) in before)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(levels_module, "SMALLEST_SHARE", 0.0)  # all splits are followed down
        found = Levels(scores).predictive(i, [level], np.array([row]))[0]
    names = [table.variables[v] for v in before]
    more = Scores(with_row(table, row), beta=beta, prior=prior, ess=1.5)
    ratio = more.local_order_score(table.variables[i], names) - scores.local_order_score(table.variables[i], names)
    assert isclose(found[0], exp(ratio), rel_tol=1e-8)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize(("cards", "n"), [([2] * 9, 100), ([2] * 9, 20_000), ([2, 3, 5, 2, 4, 7, 3], 5_000)])
@pytest.mark.parametrize(("smallest", "error"), [(0.0, NEGLIGIBLE), (SMALLEST_SHARE, SMALLEST_SHARE)])
def test_compiled_predictions_are_those_of_the_probabilities_of_stages(monkeypatch, cards, n, prior, smallest, error):
    """With few rows many stages matter, with many the sums pass the range of a double; small shares are left out."""
    monkeypatch.setattr(levels_module, "SMALLEST_SHARE", smallest)
    tree = random_cstree(cards, random_state=1)
    scores = Scores(tree.sample_table(n, random_state=2), prior=prior, ess=3.0)
    levels, rows = Levels(scores), tree.sample_table(200, random_state=3).codes
    everyone = range(len(cards) - 1)
    chosen = [(), (0,), tuple(everyone), tuple(everyone[::2]), tuple(everyone[1:])]
    for i in range(len(cards)):
        found = levels.predictive(i, chosen, rows)
        for level, values in zip(chosen, found, strict=True):
            np.testing.assert_allclose(values, levels._predictive_by_stages(i, level, rows), rtol=1e-8, atol=error)


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


def test_averages_over_all_orders_are_those_of_the_orders_that_knowledge_allows():
    table = random_table([2, 3, 2, 2], 30, np.random.default_rng(3))
    before = np.zeros((4, 4), dtype=bool)
    before[2, 0] = before[3, 0] = True
    scores = Scores(table, prior="tree", candidates={"v0": ["v1", "v2"]})
    exact = ExactOrders(SubsetScores(scores), before)
    posterior = CStreePosterior.of_exact(exact, 0)
    orders = np.array([o for o in permutations(range(4)) if o.index(2) < o.index(0) > o.index(3)], dtype=np.int32)
    log_scores = np.array([exact.log_score(order) for order in orders])
    weights = np.exp(log_scores - log_scores.max())
    expected = np.zeros(table.n)
    for order, weight in zip(orders, weights / weights.sum(), strict=True):
        chances = np.ones(table.n)
        for i in range(4):
            came = order[: list(order).index(i)]
            level = tuple(k for k, c in enumerate(scores.candidates[i]) if c in came)
            chances *= posterior._levels.predictive(i, [level], table.codes)[0]
        expected += weight * chances
    np.testing.assert_allclose(np.exp(posterior.log_prob(table)), expected, rtol=1e-7)


def test_predictions_are_the_same_whether_or_not_all_orders_are_gone_through():
    table = random_cstree(10, random_state=1).sample_table(1000, random_state=2)
    posterior = exact_posterior(table, prior="tree")
    # Most of the 5120 levels of ten variables have no probability to speak of.
    assert posterior._all_levels is not None
    found = posterior.log_prob(table)
    np.testing.assert_allclose(found, posterior.log_prob(table, n_orders=2000), atol=0.05)
    assert np.abs(found - posterior.log_prob(table, n_orders=1)).max() > 0.05


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


@pytest.mark.parametrize("prior", ALSO_UNIFORM)
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
    expected_stages = [sum(w * len(s[order.index(i)]) for w, order, s in truth.trees) for i in range(3)]
    np.testing.assert_allclose(posterior.n_stages(), expected_stages, rtol=1e-6)
    edges = np.zeros((3, 3))
    for w, order, stagings in truth.trees:
        for i, staging in zip(order, stagings, strict=True):
            edges[sorted(set().union(*staging)), i] += w
    np.testing.assert_allclose(posterior.edge_probabilities(), edges, atol=1e-9)
    either = posterior.edge_probabilities(directed=False)
    np.testing.assert_allclose(either, edges + edges.T, atol=1e-9)


@pytest.mark.parametrize("prior", PRIORS)
def test_numbers_of_stages_have_the_probabilities_of_enumeration(prior):
    table = random_table([2, 3, 2], 40, np.random.default_rng(5))
    truth = Enumerated(table, prior)
    posterior, drawn = exact_posterior(table, prior=prior), all_orders(table, prior=prior)

    def expected(size, number):
        counted = Counter()
        for w, order, stagings in truth.trees:
            counted[number(order, stagings)] += w
        assert max(counted) <= size
        return [counted[k] for k in range(1, size + 1)]

    for i, name in enumerate(table.variables):
        found = posterior.n_stages_distribution(name)
        enumerated = expected(len(found), lambda order, stagings, i=i: len(stagings[order.index(i)]))
        np.testing.assert_allclose(found, enumerated, atol=1e-8)
        assert found.index.tolist() == list(range(1, len(found) + 1))
        assert (found * found.index).sum() == pytest.approx(posterior.n_stages()[name], abs=1e-8)
        some = drawn.n_stages_distribution(name).reindex(found.index, fill_value=0.0)
        np.testing.assert_allclose(some, enumerated, atol=0.01)
    total = posterior.n_stages_distribution()
    enumerated = expected(len(total), lambda _, stagings: sum(map(len, stagings)))
    np.testing.assert_allclose(total, enumerated, atol=1e-8)
    some = drawn.n_stages_distribution(n_orders=10_000).reindex(total.index, fill_value=0.0)
    np.testing.assert_allclose(some, enumerated, atol=0.01)
    # The variables' numbers depend on each other: to multiply what holds for each alone is wrong.
    apart = [1.0]
    for name in table.variables:
        apart = np.convolve(apart, [0.0, *posterior.n_stages_distribution(name)])
    assert np.abs(np.resize(apart[1:], len(total)) - enumerated).max() > 0.01


RELATIONS = ["v0 _||_ v1", "v0 _||_ v2", "v1 _||_ v2 | v0", "v2 _||_ v1 | v0=1", "v2 _||_ v0, v1", "v1 _||_ v0 | v2=0"]


@pytest.mark.parametrize("prior", ALSO_UNIFORM)
def test_relations_have_the_probabilities_of_enumeration(prior):
    table = random_table([2, 3, 2], 25, np.random.default_rng(5))
    posterior = exact_posterior(table, prior=prior)
    trees = list(Enumerated(table, prior).as_cstrees(table, 1.0))
    distances = []
    for text in RELATIONS:
        relation = CSIRelation.parse(text, table.state_map)
        expected = sum(w for tree, w in trees if tree.implies(relation))
        found = posterior.relation_probability(relation, n_draws=4000)
        assert found == pytest.approx(expected, abs=0.03)
        several = {posterior.relation_probability(form, n_draws=100) for form in (text, relation)}
        assert len(several) == 1
        # Where the target comes first it has no context, which says nothing of what depends on it.
        alone = sum(w for tree, w in trees if not set(tree.parents[relation.left[0]]) & set(relation.right))
        distances.append(abs(alone - expected))
    assert max(distances) > 0.1


def test_relations_of_four_variables_have_the_probabilities_of_enumeration():
    table = random_table([2, 2, 2, 2], 40, np.random.default_rng(3))
    posterior = exact_posterior(table, prior="tree", beta=1)
    trees = list(Enumerated(table, "tree", beta=1).as_cstrees(table, 1.0))
    for text in ("v0 _||_ v3", "v0 _||_ v3 | v1", "v3 _||_ v0, v1 | v2", "v3 _||_ v1 | v2=0"):
        expected = sum(w for tree, w in trees if tree.implies(text))
        assert posterior.relation_probability(text, n_draws=3000) == pytest.approx(expected, abs=0.035)
    # All relations of a tree at once are the same draws.
    tree = max(trees, key=lambda pair: pair[1])[0]
    for relation, probability in posterior.relation_probabilities(tree, n_draws=300).items():
        assert probability == posterior.relation_probability(relation, n_draws=300)


def test_dependent_variables_are_not_independent_and_independent_ones_are():
    rng = np.random.default_rng(0)
    a, c = rng.integers(0, 2, 2000), rng.integers(0, 2, 2000)
    b = np.where(rng.random(2000) < 0.9, a, 1 - a)
    posterior = CStreeLearner(beta=2, random_state=0).fit(pd.DataFrame({"a": a, "b": b, "c": c})).posterior_
    assert posterior.relation_probability("a _||_ b") == 0.0
    assert posterior.relation_probability("b _||_ a") == 0.0
    assert posterior.relation_probability("a _||_ c") > 0.85
    assert posterior.relation_probability("c _||_ a, b") > 0.85
    with pytest.raises(InputError, match="at least 1, not 0"):
        posterior.relation_probability("a _||_ b", n_draws=0)
    with pytest.raises(InputError, match="'d'"):
        posterior.relation_probability("a _||_ d")


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
        patch.setattr(lookup, "MOST_LOOKED_UP", 14 if few else -1)
        found = Levels(scores).edges(orders)
    expected = np.zeros(found.shape)
    for draw, order in enumerate(orders):
        for t, i in enumerate(order):
            level = [k for k, c in enumerate(scores.candidates[i]) if c in order[:t]]
            weights = scores.level_weights(i, np.array(level, dtype=np.intp))
            unused = [weights.without(j).log_sum() - weights.log_sum() for j in range(len(level))]
            expected[draw, scores.candidates[i][level], i] = 1 - np.exp(unused)
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
        patch.setattr(lookup, "MOST_LOOKED_UP", -1)
        np.testing.assert_allclose(Levels(scores).edges(orders), by_subsets, atol=1e-9)
    assert by_subsets.max() > 0.999


def test_edges_are_diagnosed_after_a_fit():
    data = chickenpox_model().sample(300, random_state=0)
    posterior = CStreeLearner(beta=2, search=Chains(n_iter=4000), random_state=0).fit(data).posterior_
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


def test_the_verdict_says_what_was_not_looked_at(monkeypatch):
    def judged():
        fitted = CStreeLearner(beta=2, search=Chains(n_iter=4000), random_state=0).fit(data).posterior_
        return fitted.verdict, (fitted.diagnostics()["kind"] == "edge").any()

    data = chickenpox_model().sample(300, random_state=0)
    verdict, edges = judged()
    assert (verdict.converged, verdict.note, edges) == (True, "", True)
    monkeypatch.setattr(edges_module, "EDGE_WORK", 100_000)
    verdict, edges = judged()
    assert verdict.note == "edges were looked at in 208 draws of each chain, too few for their standard errors"
    assert edges
    monkeypatch.setattr(edges_module, "EDGE_WORK", 1000)
    verdict, edges = judged()
    assert verdict.note == "edges were not looked at, which would take long with 4 variables"
    assert not edges


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


def test_of_very_many_levels_some_stand_for_the_rest(monkeypatch):
    table = random_cstree(8, random_state=2).sample_table(60, random_state=2)
    posterior = exact_posterior(table, prior="tree")
    full, few = exact_levels(posterior.exact, 3), exact_levels(posterior.exact, 3, 20)
    assert len(few) <= 20 < len(full)
    assert sum(few.values()) == pytest.approx(1.0, abs=1e-8)
    most = sorted(full, key=full.get, reverse=True)[:10]
    assert all(few[level] == full[level] for level in most)
    # The ten most probable ones alone leave much out.
    assert sum(full[level] for level in most) < 0.8
    expected = [posterior.stage_probability("X4", {name: 0}) for name in ("X1", "X2", "X3")]
    numbers = posterior.n_stages()
    monkeypatch.setattr(posterior_module, "MOST_LEVELS", 20)
    found = [posterior.stage_probability("X4", {name: 0}) for name in ("X1", "X2", "X3")]
    np.testing.assert_allclose(found, expected, atol=0.02)
    np.testing.assert_allclose(posterior.n_stages(), numbers, atol=0.2)


def test_as_many_orders_are_averaged_over_as_were_asked_for():
    table = random_table([2, 3, 2], 40, np.random.default_rng(5))
    for posterior in (exact_posterior(table), all_orders(table)):
        (order,) = posterior._some_orders(1)
        came = order[: list(order).index(2)]
        level = tuple(k for k, c in enumerate(posterior.scores.candidates[2]) if c in came)
        stages = posterior._levels.stages(2, level)
        assert posterior.stage_probability("v2", {}, n_orders=1) == pytest.approx(float(stages[()]))
        assert posterior.stage_probability("v2", {}, n_orders=1) != posterior.stage_probability("v2", {})
        numbers = posterior._levels.n_stages(2, level)
        np.testing.assert_allclose(posterior.n_stages_distribution("v2", n_orders=1), np.trim_zeros(numbers[1:], "b"))


def test_an_exact_search_is_summarised_by_all_its_orders():
    posterior = exact_posterior(random_table([2, 3, 2, 2], 40, np.random.default_rng(5)))
    told = summarise(posterior)["precedence"]
    exact = posterior.exact.precedence
    assert told == [exact[i, i + 1 :].round(3).tolist() for i in range(4)]
    # The share of the draws is another number.
    positions = np.argsort(posterior.orders, axis=1)
    drawn = (positions[:, 0] < positions[:, 1]).mean()
    assert round(float(drawn), 3) != told[0][0]


def test_drawn_orders_give_the_edge_probabilities_of_all_orders():
    table = random_table([2, 2, 3, 2], 60, np.random.default_rng(8))
    exact, drawn = exact_posterior(table, prior="tree"), all_orders(table, prior="tree")
    found = drawn.edge_probabilities(n_orders=10_000).to_numpy()
    np.testing.assert_allclose(found, exact.edge_probabilities(), atol=0.02)
    np.testing.assert_allclose(drawn.edge_draws(10_000).mean(axis=0), found, atol=1e-12)
    assert drawn.stage_probability("v1", {"v0": 0}, n_orders=10_000) == pytest.approx(
        exact.stage_probability("v1", {"v0": 0}), abs=0.02
    )


@pytest.mark.parametrize("prior", ALSO_UNIFORM)
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

    drawn = Counter(map(key_of, posterior.sample(n, parameters="mean", random_state=0)))
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


# ------------------------------------------------------------------ queries
def test_queries_of_two_variables_have_means_and_intervals_in_closed_form():
    """Joined, P(a | b) is a beta in either order, as the score is that of a joint Dirichlet; otherwise it is P(a)."""
    table = random_table([2, 2], 20, np.random.default_rng(5))
    ess = 3.0
    posterior = exact_posterior(table, prior="tree", ess=ess)
    joined = posterior.edge_probabilities(directed=False).iloc[0, 1]
    assert 0.2 < joined < 0.8
    among = table.codes[table.codes[:, 1] == 1, 0]
    given_b = beta_distribution((among == 1).sum() + ess / 4, (among == 0).sum() + ess / 4)
    alone = beta_distribution((table.codes[:, 0] == 1).sum() + ess / 2, (table.codes[:, 0] == 0).sum() + ess / 2)
    row = posterior.query("v0", {"v1": 1}, interval=0.9, n_draws=4000).loc[1]
    assert row["mean"] == pytest.approx(joined * given_b.mean() + (1 - joined) * alone.mean(), abs=0.008)
    for value, tail in ((row["lower"], 0.05), (row["upper"], 0.95)):
        assert joined * given_b.cdf(value) + (1 - joined) * alone.cdf(value) == pytest.approx(tail, abs=0.012)
    # One of the two models alone has other quantiles there.
    for model in (given_b, alone):
        assert abs(model.cdf(row["lower"]) - 0.05) > 0.012 < abs(model.cdf(row["upper"]) - 0.95)
    with pytest.raises(InputError, match="between 0 and 1"):
        posterior.query("v0", interval=1.0)


def test_the_mean_of_a_query_is_that_over_all_cstrees():
    table = random_table([2, 3, 2], 12, np.random.default_rng(2))
    posterior = exact_posterior(table, prior="uniform", ess=2.0)
    trees = list(Enumerated(table, "uniform", ess=2.0).as_cstrees(table, 2.0))
    # Without evidence a probability is linear in each parameter, whose means will do.
    expected = sum(w * tree.query(["v1", "v2"]).to_numpy() for tree, w in trees)
    found = posterior.query(["v1", "v2"], n_draws=1500)
    np.testing.assert_allclose(found["mean"], expected, atol=0.01)
    assert ((found["lower"] < found["mean"]) & (found["mean"] < found["upper"])).all()
    # And it is what is predicted for a row of which nothing else is known.
    alone = posterior.predict_proba([{"v0": None, "v2": None}], "v1", n_draws=1500).iloc[0]
    np.testing.assert_allclose(found["mean"].groupby(level="v1").sum(), alone, atol=0.015)


def test_evidence_in_a_query_does_not_choose_among_the_models():
    """E P(t | e) and E P(t, e) / E P(e), each over all CStrees, with draws of their parameters."""
    table = random_table([2, 2, 2], 12, np.random.default_rng(0))
    ess, rng = 1.0, np.random.default_rng(0)
    posterior = exact_posterior(table, prior="uniform", ess=ess)
    ratio, above, below = 0.0, 0.0, 0.0
    codes = table.codes
    for w, order, stagings in Enumerated(table, "uniform", ess=ess).trees:
        # P(v0 = x, v1 = 0, v2 = 1) for some draws of the parameters.
        joint = np.ones((2, 200))
        for i, staging in zip(order, stagings, strict=True):
            for stage in staging:
                inside = np.all([codes[:, v] == x for v, x in stage.items()], axis=0) if stage else slice(None)
                counts = np.bincount(codes[inside, i].ravel(), minlength=2)
                chances = rng.dirichlet(counts + ess / 2 ** len(stage) / 2, size=200)
                for x in range(2):
                    row = (x, 0, 1)
                    if all(row[v] == state for v, state in stage.items()):
                        joint[x] *= chances[:, row[i]]
        ratio += w * (joint[1] / joint.sum(axis=0)).mean()
        above, below = above + w * joint[1].mean(), below + w * joint.sum(axis=0).mean()
    found = posterior.query("v0", {"v1": 0, "v2": 1}, n_draws=2500).loc[1, "mean"]
    predicted = posterior.predict_proba([{"v1": 0, "v2": 1}], "v0").iloc[0, 1]
    assert found == pytest.approx(ratio, abs=0.015)
    assert predicted == pytest.approx(above / below, abs=0.01)
    assert abs(ratio - above / below) > 0.05


# ------------------------------------------------------------------ point estimates
def test_the_best_point_estimate_is_the_best_of_all():
    # In this one the best stagings of the best order are not the best CStree.
    table = random_cstree(9, random_state=3).sample_table(150, random_state=3)
    posterior = exact_posterior(table, prior="tree")
    score = posterior.scores.cstree_score
    best = posterior.point_estimate("best")
    assert isclose(score(best), posterior.exact.best_joint()[1], rel_tol=1e-10)
    assert score(posterior.tree_of(posterior.exact.best_order()[0])) < score(best) - 0.01
    # Chains know of the best orders that they met, be these among the draws or not.
    order, _ = posterior.exact.best_joint()
    few = [replace(posterior.chains[0], orders=posterior.orders[:1], best_order=order)]
    chains = CStreePosterior(posterior.variables, few, scores=posterior.scores)
    assert isclose(score(chains.point_estimate("best", n_draws=1)), score(best), rel_tol=1e-10)
    elsewhere = [replace(few[0], best_order=posterior.orders[0])]
    chains = CStreePosterior(posterior.variables, elsewhere, scores=posterior.scores)
    assert score(chains.point_estimate("best", n_draws=1)) < score(best) - 0.01


def test_the_point_estimate_of_smallest_hamming_distance_has_it():
    posterior = exact_posterior(random_table([2, 2, 3, 2], 200, np.random.default_rng(9)), prior="tree")
    near = posterior.point_estimate("hamming")
    chances = posterior.edge_probabilities().to_numpy()
    distances = [_expected_distance(posterior, tree, chances) for tree in posterior.sample(50, random_state=1)]
    assert _expected_distance(posterior, near, chances) <= min(distances) < np.median(distances)
    with pytest.raises(InputError, match="point estimate 'median'"):
        posterior.point_estimate("median")


def test_the_point_estimate_of_smallest_divergence_has_it():
    cards = [2, 2, 3, 2]
    posterior = exact_posterior(random_table(cards, 60, np.random.default_rng(9)), prior="tree")
    outcomes = pd.DataFrame(list(product(*map(range, cards))), columns=posterior.variables)
    truth = posterior.log_prob(outcomes)

    def divergence(tree):
        """Of the tree from the averaged prediction: the expected divergence from the truth, less a constant."""
        return float(np.exp(truth) @ (truth - tree.log_prob(outcomes)))

    # The orders and seed of the estimate, so these are the trees that it chooses among.
    found = divergence(posterior.point_estimate("divergence", random_state=3))
    drawn = [divergence(tree) for tree in posterior.sample(200, parameters="mean", random_state=3)]
    assert found < min(drawn) + 0.002
    assert np.median(drawn) > min(drawn) + 0.01


def chains_of(posterior, *orders, below=0.0):
    """Return the posterior with chains of these orders in place of the exact search, each so far below that before."""
    best = [posterior.chains[0].best_log_score - below * number for number in range(len(orders))]
    chains = [
        replace(posterior.chains[0], orders=some, best_order=some[0], best_log_score=score)
        for some, score in zip(orders, best, strict=True)
    ]
    return CStreePosterior(posterior.variables, chains, scores=posterior.scores)


def test_the_central_tree_has_the_smallest_mean_divergence_from_those_of_the_drawn_orders():
    cards = [2, 2, 3, 2]
    posterior = exact_posterior(random_table(cards, 60, np.random.default_rng(9)), prior="tree")
    outcomes = pd.DataFrame(list(product(*map(range, cards))), columns=posterior.variables)
    drawn = [posterior.tree_of(order).log_prob(outcomes) for order in posterior.orders[:20]]

    def divergence(log_prob):
        return float(np.mean([np.exp(one) @ (one - log_prob) for one in drawn]))

    chains = chains_of(posterior, posterior.orders[:20])
    found = divergence(chains.central_tree(20).log_prob(outcomes))
    every = [divergence(log_prob) for log_prob in drawn]
    assert found < min(every) + 0.002
    assert np.mean(every) > min(every) + 0.01


def test_the_central_tree_has_the_best_stagings_of_its_order():
    posterior = exact_posterior(random_table([2, 3, 2, 2], 80, np.random.default_rng(4)), prior="tree")
    tree = chains_of(posterior, posterior.orders[:5]).central_tree()
    for position, name in enumerate(tree.order):
        assert tree.stagings[name] == posterior.scores.best_staging(name, tree.order[:position])[1]
    fitted = tree.fit_parameters(posterior.scores.table, ess=posterior.scores.ess)
    assert all(np.allclose(tree.parameters[v], fitted.parameters[v]) for v in tree.order)


def test_chains_far_below_the_best_do_not_count_for_the_central_tree():
    posterior = exact_posterior(random_table([2, 2, 3, 2], 60, np.random.default_rng(9)), prior="tree")
    good, others = posterior.orders[:1], posterior.orders[1:40]
    alone = chains_of(posterior, good).central_tree()
    assert chains_of(posterior, good, others, below=21.0).central_tree() == alone
    assert chains_of(posterior, good, others, below=19.0).central_tree() != alone


def test_a_single_draw_says_nothing_of_the_middle():
    posterior = exact_posterior(random_table([2, 2, 3, 2], 60, np.random.default_rng(9)), prior="tree")
    one = [replace(posterior.chains[0], orders=posterior.orders[:1], best_order=posterior.orders[3])]
    chains = CStreePosterior(posterior.variables, one, scores=posterior.scores)
    assert chains.central_tree() == posterior.tree_of(posterior.orders[3]) != posterior.tree_of(posterior.orders[0])


@pytest.mark.parametrize(
    "order", [[0, 1], [0, 1, 2, 4], [0, 1, 2, 2], ["a", "b", "c", "d"], [[0, 1, 2, 3]], [0.0, 1, 2, 3]]
)
def test_an_order_that_is_none_is_refused(order):
    posterior = exact_posterior(random_table([2, 2, 3, 2], 60, np.random.default_rng(9)), prior="tree")
    with pytest.raises(InputError, match="an order is each of the columns 0 to 3 once"):
        posterior.tree_of(order)
    for number in (0, True, 1.5):
        with pytest.raises(InputError, match="n_orders is a whole number, at least 1"):
            posterior.central_tree(number)


def test_without_draws_the_best_order_is_central():
    posterior = exact_posterior(random_table([2, 2, 3, 2], 60, np.random.default_rng(9)), prior="tree")
    interrupted = [replace(posterior.chains[0], orders=posterior.orders[:0], best_order=posterior.orders[3])]
    chains = CStreePosterior(posterior.variables, interrupted, scores=posterior.scores)
    assert chains.central_tree() == posterior.tree_of(posterior.orders[3])


def test_the_graph_has_the_edges_above_the_threshold():
    table = random_table([2, 2, 2, 2], 300, np.random.default_rng(12))
    posterior = exact_posterior(table, prior="tree")
    frame = posterior.edge_probabilities()
    graph = posterior.graph(0.3)
    assert isinstance(graph, nx.DiGraph)
    assert set(graph.edges) == {(a, b) for a in frame.index for b in frame.columns if frame.loc[a, b] > 0.3}
    either = posterior.edge_probabilities(directed=False)
    joined = posterior.graph(0.3, directed=False)
    assert not joined.is_directed()
    assert {frozenset(e) for e in joined.edges} == {
        frozenset(pair) for pair in combinations(frame.index, 2) if either.loc[pair] > 0.3
    }
    assert len(posterior.graph(0.8, directed=False).edges) > len(posterior.graph(0.8).edges)
    a, b = next(iter(joined.edges))
    assert joined.edges[a, b]["probability"] == either.loc[a, b]
    with pytest.raises(InputError, match="below 1"):
        posterior.graph(1.5)


def test_the_picture_of_the_graph_tells_the_probabilities():
    posterior = exact_posterior(random_table([2, 2, 2, 2], 300, np.random.default_rng(12)), prior="tree")
    frame = posterior.edge_probabilities()
    svg = posterior.plot_graph(0.5).to_svg()
    for a, b in combinations(frame.index, 2):
        along, against = sorted((frame.loc[a, b], frame.loc[b, a]), reverse=True)
        told = f"{along:.2f}" if along > 0.5 else f"{along:.2f} / {against:.2f}"
        assert (f"<!-- {told} -->" in svg) == (along + against > 0.5)
    with pytest.raises(InputError, match="below 1"):
        posterior.plot_graph(1.0)


def test_no_edge_is_more_probable_than_certain():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, size=(3000, 1)).repeat(4, axis=1)
    table = Table(codes ^ (rng.random(codes.shape) < 0.05), [f"v{i}" for i in range(4)], [[0, 1]] * 4)
    posterior = exact_posterior(table, prior="tree")
    assert posterior.edge_probabilities(directed=False).max(axis=None) <= 1.0
    assert posterior.exact.context_probabilities.sum() > 2.9  # there are edges that are certain


def test_draws_from_a_file_serve_once_the_scores_are_there(tmp_path):
    table = random_table([2, 2, 3, 2], 60, np.random.default_rng(8))
    posterior = all_orders(table, prior="tree")
    chain = posterior.chains[0]
    best = int(np.argmax(chain.log_scores))
    known = replace(chain, best_order=chain.orders[best], best_log_score=chain.log_scores[best])
    CStreePosterior(posterior.variables, [known]).save(tmp_path / "draws.npz")
    loaded = CStreePosterior.load(tmp_path / "draws.npz")
    with pytest.raises(InputError, match="with_scores"):
        loaded.edge_probabilities()
    again = loaded.with_scores(Scores(table, prior="tree"))
    np.testing.assert_allclose(again.edge_probabilities(), posterior.edge_probabilities())
    with pytest.raises(InputError, match="not the scores that the draws were made with"):
        loaded.with_scores(Scores(table, prior="tree", ess=1.1))
    other = Table(table.codes, ["a", *table.variables[1:]], table.states)
    with pytest.raises(InputError, match="of the variables a, v1"):
        loaded.with_scores(Scores(other, prior="tree"))


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
