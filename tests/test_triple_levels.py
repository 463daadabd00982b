"""Orders with a context bound of three and all candidates: sums over pairs of them that are kept up to date."""

import pickle
from math import isclose, lgamma

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import naive
from cslearn import CStreeLearner, random_cstree
from cslearn._kernels import lookup, relocation
from cslearn.candidates.sets import DEFAULT_MEMORY
from cslearn.data import Table
from cslearn.errors import DataWarning
from cslearn.orders import Checkpoint, SubsetScores, adapted_prior, order_problem, sample_chains, with_prior
from cslearn.orders.adaptive import adapted_prior_of_scores
from cslearn.orders.lookup import are_looked_up, lookup_problem
from cslearn.orders.triples import memory_of_triples
from cslearn.posterior.levels import Levels
from cslearn.priors import TreePrior
from cslearn.scores import Scores
from problems import random_table, rows_of, tables
from test_deep import three_parents

PRIORS = ["uniform", "sparse", "tree", TreePrior(root=0.6, split=0.9, same=0.4, deeper=0.05)]


@pytest.fixture
def few_looked_up(monkeypatch):
    """No candidate set is small enough for look-ups."""
    monkeypatch.setattr("cslearn.orders.subsets.MOST_CANDIDATES", -1)


def named(table, order):
    return [table.variables[i] for i in order]


def some_candidates(table, rng):
    return {v: [u for u in table.variables if rng.random() < 0.9] for v in table.variables}


def moves(kernels, problem, draws, greedy=False, power=1.0):
    """The trace, the orders and the state after moves that begin at the first order."""
    p, n = len(problem.cards), len(draws)
    state = kernels.new_state(problem)
    kernels.set_order(problem, state, np.arange(p))
    trace, kept = np.empty(n), np.empty((n, p), np.int32)
    kernels.run(problem, state, draws, greedy, trace, np.empty(p, np.int64), np.array([-np.inf]), 1, kept, power)
    return trace, kept, state


@pytest.mark.parametrize("prior", ["uniform", "sparse", "tree"])
@pytest.mark.parametrize("cards", [[2, 2, 2, 2], [2, 3, 2, 2], [3, 2, 1, 2, 2]])
def test_scores_are_those_of_the_list_of_all_stagings(cards, prior):
    table = random_table(cards, 12, np.random.default_rng(sum(cards)))
    rows, weights = rows_of(table)
    problem = order_problem(Scores(table, beta=3, prior=prior, ess=1.5))
    state = relocation.new_state(problem)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(table.p)
        relocation.set_order(problem, state, order)
        for t, i in enumerate(order):
            level = sorted(j for j in order[:t].tolist() if cards[j] > 1)
            for beta in (3, 2):
                expected = naive.local_order_score(rows, weights, table.cards, int(i), level, beta, 1.5, prior)
                # A bound of two is another score where three variables come before one that is not constant.
                same = beta == 3 or len(level) < 3 or cards[i] == 1
                assert isclose(state.score[i], expected, rel_tol=1e-9, abs_tol=1e-9) == same


@settings(max_examples=40)
@given(
    table=tables(min_p=4, max_p=6, max_card=4, max_n=60),
    prior=st.sampled_from(PRIORS),
    seed=st.integers(0, 999),
)
def test_the_kept_scores_equal_those_from_scratch_after_many_moves(table, prior, seed):
    rng = np.random.default_rng(seed)
    scores = Scores(table, beta=3, prior=prior, candidates=some_candidates(table, rng))
    assume(scores.beta == 3)
    trace, kept, state = moves(relocation, order_problem(scores), rng.random((150, 2)))
    for step in (0, 74, 149):
        expected = scores.order_score(named(table, kept[step]))
        assert isclose(trace[step] - lgamma(table.p + 1), expected, rel_tol=1e-9)
    assert isclose(state.score.sum(), trace[-1], rel_tol=1e-12)


@settings(max_examples=25)
@given(
    table=tables(min_p=4, max_p=6, max_card=3, max_n=60),
    prior=st.sampled_from(PRIORS),
    power=st.sampled_from([1.0, 0.4]),
    greedy=st.booleans(),
    seed=st.integers(0, 999),
)
def test_the_moves_are_those_of_scores_that_are_looked_up(table, prior, power, greedy, seed):
    rng = np.random.default_rng(seed)
    scores = Scores(table, beta=3, prior=prior, candidates=some_candidates(table, rng))
    assume(scores.beta == 3)
    before = np.zeros((table.p, table.p), dtype=bool)
    before[0, 1] = rng.random() < 0.5
    draws = rng.random((150, 2))
    summed = moves(relocation, order_problem(scores, before), draws, greedy, power)
    looked_up = moves(lookup, lookup_problem(SubsetScores(scores), before), draws, greedy, power)
    assert np.allclose(summed[0], looked_up[0], rtol=1e-9)
    # Where two orders score the same, a rounding error may decide what a greedy move does.
    assert greedy or np.array_equal(summed[1], looked_up[1])


@pytest.mark.parametrize("cards", [[2] * 10, [2, 3, 4, 2, 3, 2, 1, 2]], ids=["binary", "mixed"])
@pytest.mark.parametrize("prior", ["sparse", "tree"])
@pytest.mark.parametrize("n", [100, 20_000])
def test_scores_are_kept_for_strong_and_weak_dependence(cards, n, prior):
    """With many rows sums pass the range of a double; greedy moves make strong parents leave levels."""
    table = random_cstree(cards, beta=3, method="tree", concentration=0.3, random_state=4).sample_table(
        n, random_state=5
    )
    scores = Scores(table, beta=3, prior=prior)
    problem = order_problem(scores)
    assert (problem.triple_e > 3).any() == (n == 20_000)
    state, fresh, p = relocation.new_state(problem), relocation.new_state(problem), len(cards)
    rng = np.random.default_rng(n)
    relocation.set_order(problem, state, rng.permutation(p))
    for greedy in (True, False):
        for _ in range(5 * p):
            nothing = np.empty(1), np.empty(p, np.int64), np.array([-np.inf]), 2, np.empty((0, p), np.int32)
            relocation.run(problem, state, rng.random((1, 2)), greedy, *nothing, 1.0)
            relocation.set_order(problem, fresh, state.order.copy())
            assert np.allclose(state.score, fresh.score, rtol=1e-10, atol=1e-8)
    assert isclose(state.score.sum() - lgamma(p + 1), scores.order_score(named(table, state.order)), rel_tol=1e-10)


def test_another_prior_makes_the_scores_anew():
    table = random_table([2, 3, 2, 2, 3], 80, np.random.default_rng(2))
    scores = Scores(table, beta=3, prior="sparse")
    problem, order = order_problem(scores), np.array([3, 0, 4, 1, 2])
    state = relocation.new_state(problem)
    relocation.set_order(problem, state, order)
    before = state.score.sum()
    relocation.rescore(with_prior(problem, PRIORS[3]), state)
    expected = scores.with_prior(PRIORS[3]).order_score(named(table, order))
    assert isclose(state.score.sum() - lgamma(5 + 1), expected, rel_tol=1e-9)
    assert abs(before - state.score.sum()) > 1
    assert adapted_prior(problem, order) == adapted_prior_of_scores(scores, named(table, order))


@settings(max_examples=20)
@given(table=tables(min_p=4, max_p=5, max_card=3, max_n=40), prior=st.sampled_from(PRIORS), seed=st.integers(0, 99))
def test_edges_given_an_order_are_what_its_levels_say(table, prior, seed):
    scores = Scores(table, beta=3, prior=prior, ess=1.5)
    assume(scores.beta == 3)
    rng = np.random.default_rng(seed)
    orders = np.array([rng.permutation(table.p) for _ in range(3)])
    by_subsets = Levels(scores).edges(orders)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cslearn.orders.subsets.MOST_CANDIDATES", -1)
        assert not are_looked_up(scores)
        np.testing.assert_allclose(Levels(scores).edges(orders), by_subsets, atol=1e-9)


def test_a_search_goes_on_from_a_file(tmp_path):
    problem = order_problem(Scores(random_table([2, 3, 2, 2, 3], 200, np.random.default_rng(4)), beta=3, prior="tree"))
    file, options = Checkpoint(tmp_path / "run.ckpt"), {"n_chains": 2, "random_state": 5}
    whole, _ = sample_chains(problem, n_iter=300, **options)
    sample_chains(problem, n_iter=101, checkpoint=file, **options)
    resumed, _ = sample_chains(problem, n_iter=300, checkpoint=file, **options)
    for one, other in zip(whole, resumed, strict=True):
        assert np.array_equal(one.trace, other.trace) and np.array_equal(one.orders, other.orders)


# ---------------------------------------------------------------- tables
@pytest.mark.parametrize("cards", [[2] * 6, [2, 3, 4, 2, 3], [3, 2, 4, 1, 2, 3]])
def test_contexts_counted_by_bits_score_as_those_counted_by_rows(cards, monkeypatch):
    table = random_table(cards, 300, np.random.default_rng(6))
    found = []
    for rows_of_a_word in (0.0, 1e9):
        monkeypatch.setattr("cslearn.scores.ROWS_OF_A_WORD", rows_of_a_word)
        scores = Scores(table, beta=3, ess=3.0)
        assert (scores._bits(0) is None) == (rows_of_a_word > 0)
        found.append([scores.stage_tables(i, np.arange(len(own)))[1] for i, own in enumerate(scores.candidates)])
    for by_bits, by_rows in zip(*found, strict=True):
        np.testing.assert_allclose(by_bits, by_rows, atol=1e-10)
    weighted = Table(table.codes, table.variables, table.states, np.full(table.n, 0.5))
    assert Scores(weighted, beta=3)._bits(0) is None


def test_the_memory_is_known_beforehand():
    table = random_table([2, 3, 2, 4, 2, 2, 3, 2], 50, np.random.default_rng(7))
    scores = Scores(table, beta=3)
    problem = order_problem(scores)
    states = [relocation.new_state(problem) for _ in range(4)]
    tables_ = [array for stages, deepest in scores._deep.values() for array in (*stages, deepest)]
    taken = sum(array.nbytes for array in [problem.triple, problem.triple_e, *tables_])
    taken += sum(state.sums.nbytes + state.sums_e.nbytes for state in states)
    sets = [tuple(table.cards[c] for c in own) for own in scores.candidates]
    assert taken <= memory_of_triples(sets) <= 1.2 * taken
    assert memory_of_triples([(2,) * 49] * 50) < DEFAULT_MEMORY < memory_of_triples([(2,) * 99] * 100)


def test_a_copy_of_scores_fills_its_tables_itself():
    scores = Scores(random_table([2] * 8, 50, np.random.default_rng(8)), beta=3)
    order = scores.table.variables
    expected, size = scores.order_score(order), len(pickle.dumps(scores))
    assert len(scores._deep) == 8 and size < 1.1 * len(pickle.dumps(Scores(scores.table, beta=3)))
    assert pickle.loads(pickle.dumps(scores)).order_score(order) == expected
    assert scores.with_prior("sparse")._deep is scores._deep


# ---------------------------------------------------------------- learning
def test_which_scores_are_summed_up(few_looked_up):
    table = random_table([2] * 5, 30, np.random.default_rng(9))
    assert not are_looked_up(Scores(table, beta=3))
    assert not are_looked_up(Scores(table, beta=3, candidates={"v0": ["v1"], "v1": ["v0", "v2", "v3"]}))
    for other in (
        Scores(table, beta=4),
        Scores(table, beta=3, stagings="all"),
        Scores(table, beta={v: 3 if v == "v0" else 2 for v in table.variables}),
        Scores(table, beta=3, chosen_from=dict.fromkeys(table.variables, 7)),
    ):
        assert are_looked_up(other)


@pytest.mark.filterwarnings("ignore::cslearn.errors.ConvergenceWarning")
def test_a_parity_is_found_among_all_candidates():
    truth = three_parents(n_others=12)
    data, test = truth.sample_table(1500, random_state=1), truth.sample_table(2000, random_state=2)
    known = {"tiers": [[v for v in data.variables if v != "child"], ["child"]]}
    options = {"candidates": "all", "knowledge": known, "n_iter": 150, "n_chains": 2, "random_state": 0}
    two, three = (CStreeLearner(beta=beta, **options).fit(data) for beta in (2, 3))
    assert three.candidates_.sizes()["child"] == 15
    assert not are_looked_up(three.posterior_.scores)
    assert set(three.cstree_.parents["child"]) == set("abc") != set(two.cstree_.parents["child"])
    assert three.score(test) > two.score(test) + 0.1
    # What follows from the draws.
    posterior = three.posterior_
    edges = posterior.edge_probabilities(n_orders=10)
    assert edges.loc[["a", "b", "c"], "child"].min() > 0.99 > 0.2 > edges.loc["other0", "child"]
    assert posterior.log_prob(test, n_orders=2).mean() > two.score(test) + 0.1
    assert posterior.stage_probability("child", {"a": 0, "b": 1, "c": 1}, n_orders=5) > 0.99
    assert posterior.parents_probability("child", "abc", n_orders=5) > 0.5
    assert max(len(c) for tree in posterior.sample(2, random_state=0) for c in tree.stagings["child"]) == 3
    assert three.log_score_ <= three.log_order_score_


@pytest.mark.filterwarnings("ignore::cslearn.errors.ConvergenceWarning")
def test_what_does_not_fit_into_memory_is_told():
    data = three_parents(n_others=12).sample_table(300, random_state=1)
    options = {"beta": 3, "candidates": "all", "n_iter": 50, "n_chains": 1, "random_state": 0}
    with pytest.warns(DataWarning, match=r"All of them would take about 0.0\d+ GB, more than the 9.31e-05 GB of max_m"):
        few = CStreeLearner(max_memory=1e5, **options).fit(data)
    assert max(few.candidates_.sizes().values()) <= 12


@pytest.mark.slow
def test_an_exact_search_keeps_the_candidates_that_it_has_time_for():
    data = three_parents(n_others=10).sample_table(300, random_state=1)
    with pytest.warns(DataWarning, match=r"keep fewer candidates, at most \d+: [^.]*; learner.candidates_ holds them"):
        learner = CStreeLearner(beta=3, candidates="all", search="exact").fit(data)
    assert learner.posterior_.exact is not None
