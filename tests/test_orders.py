"""The order sampler: its scores, its stationary distribution, its draws."""

import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from math import exp, isclose, lgamma
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from scipy.stats import chisquare

import naive
from cslearn import Chains, CStreeLearner, random_cstree
from cslearn._kernels import lookup, relocation
from cslearn._kernels.levels import new_state
from cslearn.candidates import Knowledge
from cslearn.data import Table
from cslearn.errors import ConvergenceWarning, InputError
from cslearn.orders import OrderPosterior, SubsetScores, order_problem, sample_chains
from cslearn.orders.lookup import lookup_problem
from cslearn.orders.tempering import exchange_log_ratio, random_order
from cslearn.priors import Prior
from cslearn.scores import Scores
from problems import random_table, rows_of, tables

PRIORS = ["uniform", "sparse", "tree"]


def names(table, order):
    return [table.variables[i] for i in order]


def enumerated_posterior(table, prior, before, beta=2):
    """The exact posterior over the allowed orders, from the naive list of all stagings."""
    rows, weights = rows_of(table)
    local = {}

    def score(target, level):
        key = (target, frozenset(level))
        if key not in local:
            common = (rows, weights, table.cards, target, sorted(level), beta, 1.0, prior)
            local[key] = naive.local_order_score(*common)
        return local[key]

    logs = {
        order: sum(score(v, order[:t]) for t, v in enumerate(order))
        for order in permutations(range(table.p))
        if not any(before[b, a] for t, a in enumerate(order) for b in order[t + 1 :])
    }
    total = naive.log_sum(logs.values())
    return {order: exp(value - total) for order, value in logs.items()}


@njit
def relocation_log_weights(problem, state, v, others, after, own, logs):
    relocation.relocation_log_weights(problem, state, v, others, after, own, logs)


def transition_matrix(problem, orders, log_weights_of=None, power=1.0):
    """One step of the sampler from every order, built from the kernel's own weights."""
    p, index = len(orders[0]), {order: i for i, order in enumerate(orders)}
    state = new_state(problem)
    others, after, own, logs = np.empty(p, np.int64), np.empty(p), np.empty(p), np.empty(p)
    matrix = np.zeros((len(orders), len(orders)))
    for order in orders:
        for v in range(p):
            relocation.set_order(problem, state, np.array(order))
            relocation_log_weights(problem, state, v, others, after, own, logs)
            wanted = logs if log_weights_of is None else log_weights_of(own, logs)
            weights = np.exp(power * (wanted - wanted.max()))
            rest = [u for u in order if u != v]
            for t, weight in enumerate(weights / weights.sum()):
                if weight > 0:
                    matrix[index[order], index[(*rest[:t], v, *rest[t:])]] += weight / p
    return matrix


KNOWLEDGE = {
    "nothing": {},
    "tiers": {"tiers": [["v0", "v2"], ["v1", "v3"]]},
    "required": {"required": [("v2", "v0")], "forbidden": [("v1", "v3")]},
}


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("known", KNOWLEDGE)
@pytest.mark.parametrize("cards", [[2, 3, 2, 2], [3, 2, 4, 1]])
def test_one_move_leaves_the_exact_order_posterior_invariant(prior, known, cards):
    table = random_table(cards, 25, np.random.default_rng(sum(cards)))
    before = Knowledge.coerce(KNOWLEDGE[known]).precedence(table.variables)
    posterior = enumerated_posterior(table, prior, before)
    orders = list(posterior)
    chances = np.array(list(posterior.values()))
    matrix = transition_matrix(order_problem(Scores(table, prior=prior), before), orders)
    assert np.allclose(matrix.sum(axis=1), 1, atol=1e-12)
    assert np.abs(chances @ matrix - chances).max() < 1e-12
    # Detailed balance, and every order is reached from every other.
    flow = chances[:, None] * matrix
    assert np.abs(flow - flow.T).max() < 1e-12
    assert (np.linalg.matrix_power(matrix + np.eye(len(orders)), len(orders)) > 0).all()


@njit
def looked_up_log_weights(problem, state, v, others, logs):
    lookup.relocation_log_weights(problem, state, v, others, logs)


def looked_up_matrix(problem, orders, change=None):
    """One step of the sampler that looks scores up, from every order, built from the kernel's own weights."""
    p, index = len(orders[0]), {order: i for i, order in enumerate(orders)}
    state = lookup.new_state(problem)
    others, logs = np.empty(p, np.int64), np.empty(p)
    matrix = np.zeros((len(orders), len(orders)))
    for order in orders:
        for v in range(p):
            lookup.set_order(problem, state, np.array(order))
            looked_up_log_weights(problem, state, v, others, logs)
            wanted = logs if change is None else change(logs)
            weights = np.exp(wanted - wanted.max())
            rest = [u for u in order if u != v]
            for t, weight in enumerate(weights / weights.sum()):
                if weight > 0:
                    matrix[index[order], index[(*rest[:t], v, *rest[t:])]] += weight / p
    return matrix


@dataclass(frozen=True)
class PricedPrior(Prior):
    """Each split on a variable costs `price` nats, and each stage that could be split `stop`."""

    price: float
    stop: float = 0.0
    name: ClassVar[str] = "priced"

    def log_stop(self, m, t, beta):
        return -self.stop

    def split_weight(self, m, t, r, beta):
        return exp(-self.price) if r == 1 else 0.0


def priced_trees(staging, price):
    """The log of the summed weights of the splits of all trees that draw a staging."""
    if staging == [{}]:
        return 0.0
    return naive.log_sum(
        -price + sum(priced_trees(part, price) for part in naive.parts(staging, [k])) for k in naive.common(staging)
    )


@pytest.mark.parametrize(("price", "stop"), [(30.0, 0.0), (100.0, 0.0), (500.0, 0.0), (0.0, 300.0), (200.0, 400.0)])
@pytest.mark.parametrize("cards", [[2, 2, 2, 2], [3, 2, 4, 2]], ids=["binary", "mixed"])
def test_priors_of_any_cost_score_orders_as_the_list_of_all_stagings(cards, price, stop):
    """A split that costs 500 nats may still pay, with enough rows."""
    rng = np.random.default_rng(3)
    codes = np.column_stack([rng.integers(d, size=1500) for d in cards])
    codes[:, 1] = np.where(rng.random(1500) < 0.01, codes[:, 1], codes[:, 0] % 2)
    codes[:, 3] = np.where(rng.random(1500) < 0.01, codes[:, 3], (codes[:, 1] + codes[:, 2]) % 2)
    table = Table(codes, tuple("abcd"), tuple(tuple(range(d)) for d in cards))
    rows, weights = rows_of(table)
    prior = PricedPrior(price, stop)
    problem = order_problem(Scores(table, prior=prior))

    @cache
    def log_z(i, context):
        return naive.log_z(rows, weights, cards, i, dict(context), 1.0)

    state = new_state(problem)
    split = False
    for order in ([0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0]):
        relocation.set_order(problem, state, np.array(order))
        for t, i in enumerate(order):
            level = sorted(order[:t])
            of_level = [cards[k] for k in level]
            terms, prior_terms = [], []
            for staging in naive.stagings(of_level, 2):
                paid = sum(stop for c in staging if len(c) < min(2, len(level)))
                weight = priced_trees(staging, price) - paid
                named = [frozenset((level[k], x) for k, x in c.items()) for c in staging]
                likelihood = sum(log_z(i, c) for c in named)
                prior_terms.append(weight)
                terms.append((weight + likelihood, staging))
            expected = naive.log_sum(v for v, _ in terms) - naive.log_sum(prior_terms)
            assert state.score[i] == pytest.approx(expected, rel=1e-9)
            split |= max(terms, key=lambda term: term[0])[1] != [{}]
    assert split
    # Scores that are kept up to date through many moves are those made anew.
    draws, trace, kept = rng.random((300, 2)), np.empty(300), np.empty((300, 4), np.int32)
    relocation.run(problem, state, draws, False, trace, np.empty(4, np.int64), np.array([-np.inf]), 1, kept, 1e-3)
    again = new_state(problem)
    relocation.set_order(problem, again, state.order.copy())
    np.testing.assert_allclose(state.score, again.score, rtol=1e-9)
    by_subsets = SubsetScores(Scores(table, prior=prior)).local
    everyone = [sum(1 << k for k in range(3)) for _ in cards]
    for i in range(4):
        relocation.set_order(problem, again, np.array([*(k for k in range(4) if k != i), i]))
        assert again.score[i] == pytest.approx(by_subsets[i][everyone[i]], rel=1e-9)


def test_a_costly_prior_is_learned_with_among_more_candidates_than_are_looked_up():
    table = random_cstree(20, random_state=0).sample_table(300, random_state=0)
    chains = Chains(n_iter=60, n_chains=1, burn_in=10)
    learner = CStreeLearner(beta=2, prior=PricedPrior(500.0), search=chains, random_state=0)
    with pytest.warns(ConvergenceWarning):
        learner.fit(table)
    assert learner.cstree_.n_stages == 20


@pytest.mark.parametrize("known", ["nothing", "required"])
@pytest.mark.parametrize("cards", [[2, 2, 2, 2], [2, 3, 2, 2]])
@pytest.mark.parametrize("prior", ["uniform", "sparse", "tree"])
def test_with_three_context_variables_one_move_leaves_the_exact_order_posterior_invariant(prior, cards, known):
    table = random_table(cards, 25, np.random.default_rng(sum(cards)))
    before = Knowledge.coerce(KNOWLEDGE[known]).precedence(table.variables)
    posterior = enumerated_posterior(table, prior, before, beta=3)
    orders, chances = list(posterior), np.array(list(posterior.values()))
    problem = lookup_problem(SubsetScores(Scores(table, beta=3, prior=prior)), before)
    matrix = looked_up_matrix(problem, orders)
    assert np.allclose(matrix.sum(axis=1), 1, atol=1e-12)
    assert np.abs(chances @ matrix - chances).max() < 1e-12
    flow = chances[:, None] * matrix
    assert np.abs(flow - flow.T).max() < 1e-12
    # Another kernel and another bound have other stationary distributions.
    for change in (lambda logs: logs / 2, lambda logs: np.where(np.isfinite(logs), 0.0, logs)):
        wrong = looked_up_matrix(problem, orders, change)
        assert np.abs(chances @ wrong - chances).max() > 1e-6
    two = lookup_problem(SubsetScores(Scores(table, beta=2, prior=prior)), before)
    assert np.abs(chances @ looked_up_matrix(two, orders) - chances).max() > 1e-6


@pytest.mark.parametrize(
    "wrong",
    [
        lambda own, logs: np.where(np.isfinite(logs), own, logs),
        lambda own, logs: logs / 2,
        lambda own, logs: np.where(np.isfinite(logs), 0.0, logs),
    ],
    ids=["only the moved variable's score", "a tempered score", "uniform places"],
)
def test_wrong_kernels_fail_the_same_test(wrong):
    table = random_table([2, 3, 2, 2], 25, np.random.default_rng(9))
    before = np.zeros((4, 4), dtype=bool)
    posterior = enumerated_posterior(table, "uniform", before)
    chances = np.array(list(posterior.values()))
    matrix = transition_matrix(order_problem(Scores(table)), list(posterior), wrong)
    assert np.abs(chances @ matrix - chances).max() > 1e-6


@pytest.mark.parametrize("powers", [(1.0, 0.4), (0.8, 0.6)])
def test_moves_and_exchanges_of_companions_leave_their_joint_distribution_invariant(powers):
    table = random_table([2, 3, 2, 2], 25, np.random.default_rng(9))
    posterior = enumerated_posterior(table, "uniform", np.zeros((4, 4), dtype=bool))
    orders, logs = list(posterior), np.log(list(posterior.values()))
    problem = order_problem(Scores(table, prior="uniform"))
    stationary = []
    for power in powers:
        chances = np.exp(power * logs) / np.exp(power * logs).sum()
        matrix = transition_matrix(problem, orders, power=power)
        assert np.abs(chances @ matrix - chances).max() < 1e-12
        stationary.append(chances)
    joint = np.outer(*stationary)
    size = len(orders)

    def after_an_exchange(ratio):
        """The joint distribution once the two have changed places, or not."""
        accept = np.array([[min(1, exp(ratio(*powers, logs[x], logs[y]))) for y in range(size)] for x in range(size)])
        return joint * (1 - accept) + (joint * accept).T

    assert np.abs(after_an_exchange(exchange_log_ratio) - joint).max() < 1e-14
    assert np.abs(after_an_exchange(lambda *_: 0.0) - joint).max() > 1e-5


@given(
    table=tables(min_p=2, max_p=5, max_card=4, max_n=60),
    beta=st.integers(0, 2),
    prior=st.sampled_from(PRIORS),
    seed=st.integers(0, 999),
)
def test_the_kept_scores_equal_those_from_scratch_after_many_moves(table, beta, prior, seed):
    rng = np.random.default_rng(seed)
    candidates = {v: [u for u in table.variables if rng.random() < 0.8] for v in table.variables}
    scores = Scores(table, beta=beta, prior=prior, candidates=candidates)
    problem = order_problem(scores)
    state = new_state(problem)
    relocation.set_order(problem, state, rng.permutation(table.p))
    constant = lgamma(table.p + 1)
    assert isclose(state.score.sum() - constant, scores.order_score(names(table, state.order)), rel_tol=1e-9)
    trace, best_order, best = np.empty(300), np.empty(table.p, np.int64), np.array([-np.inf])
    kept = np.empty((30, table.p), np.int32)
    relocation.run(problem, state, rng.random((300, 2)), False, trace, best_order, best, 10, kept, 1.0)
    assert isclose(trace[-1] - constant, scores.order_score(names(table, state.order)), rel_tol=1e-9)
    assert isclose(best[0] - constant, scores.order_score(names(table, best_order)), rel_tol=1e-9)
    assert isclose(trace[149] - constant, scores.order_score(names(table, kept[14])), rel_tol=1e-9)
    assert (best[0] >= trace).all()


@given(
    table=tables(min_p=2, max_p=5, max_card=3, max_n=60),
    prior=st.sampled_from(PRIORS),
    power=st.sampled_from([1.0, 0.4]),
    greedy=st.booleans(),
    seed=st.integers(0, 999),
)
def test_scores_that_are_looked_up_make_the_same_moves_as_those_that_are_summed_up(table, prior, power, greedy, seed):
    rng = np.random.default_rng(seed)
    candidates = {v: [u for u in table.variables if rng.random() < 0.8] for v in table.variables}
    scores = Scores(table, prior=prior, candidates=candidates)
    before = np.zeros((table.p, table.p), dtype=bool)
    before[0, 1] = rng.random() < 0.5
    draws, start, found = rng.random((200, 2)), np.arange(table.p), []
    summed, looked_up = order_problem(scores, before), lookup_problem(SubsetScores(scores), before)
    for kernels, problem in ((relocation, summed), (lookup, looked_up)):
        state = kernels.new_state(problem)
        kernels.set_order(problem, state, start)
        trace, kept = np.empty(200), np.empty((200, table.p), np.int32)
        best_order, best = np.empty(table.p, np.int64), np.array([-np.inf])
        kernels.run(problem, state, draws, greedy, trace, best_order, best, 1, kept, power)
        found.append((trace, kept))
    assert np.allclose(found[0][0], found[1][0], rtol=1e-9)
    # Where two orders score the same, a rounding error may decide what a greedy move does.
    assert greedy or np.array_equal(found[0][1], found[1][1])


def test_chains_start_where_they_are_told():
    table = random_table([2] * 6, 100, np.random.default_rng(0))
    problem = order_problem(Scores(table))
    first = np.array([3, 1, 5, 0, 2, 4])
    settings = {"n_chains": 2, "n_iter": 1, "greedy_start": False, "random_state": 0}
    told, random = (sample_chains(problem, **settings, starts=some)[0] for some in ([first], []))
    assert told[0].start_log_score == pytest.approx(Scores(table).order_score(names(table, first)))
    assert told[0].start_log_score != random[0].start_log_score
    assert told[1].start_log_score == random[1].start_log_score


@pytest.mark.parametrize("cards", [[2, 3] * 8, [2] * 16], ids=["mixed", "binary"])
def test_long_runs_do_not_drift(cards):
    table = random_cstree(cards, random_state=2).sample_table(2000 if 3 in cards else 500, random_state=3)
    scores = Scores(table, prior="sparse")
    problem = order_problem(scores)
    assert problem.light.all() == (3 not in cards)
    (chain,), _ = sample_chains(problem, n_chains=1, n_iter=20_000, random_state=0)
    assert isclose(chain.best_log_score, scores.order_score(names(table, chain.best_order)), rel_tol=1e-9)
    for order, score in zip(chain.orders[-20:], chain.log_scores[-20:], strict=True):
        assert isclose(score, scores.order_score(names(table, order)), rel_tol=1e-9)


@pytest.mark.parametrize(
    "cards", [[2] * 20, [2, 3, 4, 2, 3] * 3, [2, 1, 2, 2, 1, 2, 2, 2]], ids=["binary", "mixed", "constant"]
)
@pytest.mark.parametrize("prior", ["sparse", "tree"])
@pytest.mark.parametrize("n", [100, 1000, 20_000])
def test_scores_are_kept_for_strong_and_weak_dependence(cards, n, prior):
    """Few rows stay within the range of a double, many pass it; greedy moves make strong parents leave levels."""
    tree = random_cstree(cards, concentration=0.3, random_state=4)
    problem = order_problem(Scores(tree.sample_table(n, random_state=5), prior=prior))
    if len(cards) == 20:
        assert problem.light.any() == (n < 20_000)
    state, fresh, p = new_state(problem), new_state(problem), len(cards)
    rng = np.random.default_rng(n)
    relocation.set_order(problem, state, rng.permutation(p))
    for greedy in (True, False):
        for _ in range(4 * p):
            nothing = np.empty(1), np.empty(p, np.int64), np.array([-np.inf]), 2, np.empty((0, p), np.int32)
            relocation.run(problem, state, rng.random((1, 2)), greedy, *nothing, 1.0)
            relocation.set_order(problem, fresh, state.order.copy())
            assert np.allclose(state.score, fresh.score, rtol=1e-10, atol=1e-9)
    scores = Scores(tree.sample_table(n, random_state=5), prior=prior)
    named = [f"X{v + 1}" for v in state.order]
    assert isclose(state.score.sum() - lgamma(p + 1), scores.order_score(named), rel_tol=1e-10)


@pytest.mark.parametrize(
    ("cards", "n", "temperatures", "n_iter", "thin"),
    [
        ([2, 3, 2, 2, 3], 40, 1, 80_000, 20),
        pytest.param([2, 2, 2, 3, 2, 2], 60, 1, 200_000, 40, marks=pytest.mark.slow),
        pytest.param([2, 3, 2, 2, 3], 40, 3, 200_000, 40, marks=pytest.mark.slow),
    ],
)
def test_sampled_orders_have_the_frequencies_of_the_exact_posterior(cards, n, temperatures, n_iter, thin):
    table = random_table(cards, n, np.random.default_rng(n))
    scores = Scores(table, prior="sparse")
    logs = {order: scores.order_score(names(table, order)) for order in permutations(range(table.p))}
    total = naive.log_sum(logs.values())
    exact = {order: exp(value - total) for order, value in logs.items()}
    options = {"n_chains": 2, "n_iter": n_iter, "burn_in": 1000, "thin": thin, "n_temperatures": temperatures}
    chains, _ = sample_chains(order_problem(scores), random_state=5, **options)
    drawn = Counter(tuple(order) for chain in chains for order in chain.orders.tolist())
    expected = np.array(list(exact.values())) * drawn.total()
    observed = np.array([drawn[order] for order in exact])
    # Orders that are expected less than five times are put together.
    group = np.where(expected >= 5, np.arange(len(expected)), np.argmin(expected))
    observed, expected = (np.bincount(group, x)[np.unique(group)] for x in (observed, expected))
    assert chisquare(observed, expected).pvalue > 1e-3
    # The test can fail: the same draws are told from a tempered posterior.
    tempered = np.array([exp((value - total) / 1.2) for value in logs.values()])
    other = np.bincount(group, tempered / tempered.sum() * drawn.total())[np.unique(group)]
    assert chisquare(observed, other).pvalue < 1e-3


def test_the_precedence_table_is_that_of_the_exact_posterior():
    table = random_table([2, 2, 3, 2], 50, np.random.default_rng(8))
    posterior = enumerated_posterior(table, "uniform", np.zeros((4, 4), dtype=bool))
    chains, _ = sample_chains(order_problem(Scores(table)), n_iter=30_000, thin=2, random_state=1)
    precedence = OrderPosterior(table.variables, chains).precedence()
    for a in range(4):
        for b in range(4):
            exact = sum(chance for order, chance in posterior.items() if order.index(a) < order.index(b))
            assert abs(precedence.loc[f"v{a}", f"v{b}"] - exact) < 0.015


# ---------------------------------------------------------------- chains
def chain_arrays(chains):
    return [a for chain in chains for a in (chain.orders, chain.log_scores, chain.trace, chain.best_order)]


@pytest.fixture
def problem():
    return order_problem(Scores(random_table([2, 3, 2, 2, 3, 2], 100, np.random.default_rng(4))))


def test_the_same_seed_gives_the_same_chains_for_any_number_of_threads(problem):
    one, _ = sample_chains(problem, n_chains=4, n_iter=500, random_state=3, n_jobs=1)
    four, _ = sample_chains(problem, n_chains=4, n_iter=500, random_state=3, n_jobs=4)
    assert all(np.array_equal(a, b) for a, b in zip(chain_arrays(one), chain_arrays(four), strict=True))
    other, _ = sample_chains(problem, n_chains=4, n_iter=500, random_state=4)
    assert not np.array_equal(one[0].trace, other[0].trace)
    assert not np.array_equal(one[0].trace, one[1].trace)


@pytest.mark.parametrize("thin", [1, 4, 7, 32])
@pytest.mark.parametrize("temperatures", [1, 3])
def test_the_size_of_blocks_does_not_matter(problem, monkeypatch, thin, temperatures):
    whole, _ = sample_chains(problem, n_iter=997, thin=thin, random_state=3, n_temperatures=temperatures)
    monkeypatch.setattr("cslearn.orders.walks.BLOCK_SECONDS", 0.0)
    single, _ = sample_chains(problem, n_iter=997, thin=thin, random_state=3, n_temperatures=temperatures)
    assert np.array_equal(whole[0].log_scores, whole[0].trace[thin - 1 :: thin][len(whole[0].log_scores) * -1 :])
    assert all(np.array_equal(a, b) for a, b in zip(chain_arrays(whole), chain_arrays(single), strict=True))


def test_burn_in_and_thinning(problem):
    (chain,), _ = sample_chains(problem, n_chains=1, n_iter=100, burn_in=20, thin=10, random_state=0)
    assert chain.n_iter == 100
    assert chain.orders.shape == (8, 6)
    assert np.array_equal(chain.log_scores, chain.trace[29::10])
    (short,), _ = sample_chains(problem, n_chains=1, n_iter=3, random_state=0)
    assert len(short.orders) >= 1


def best_relocation(scores, order):
    """The largest order score after one variable has been moved to another place."""
    names = [scores.table.variables[column] for column in order]
    moved = [[*rest[:t], v, *rest[t:]] for v in names for rest in [[u for u in names if u != v]] for t in range(6)]
    return max(scores.order_score(other) for other in moved)


def test_a_greedy_start_is_a_local_optimum():
    scores = Scores(random_table([2, 3, 2, 2, 3, 2], 100, np.random.default_rng(4)))
    chains, _ = sample_chains(order_problem(scores), n_chains=5, n_iter=1, random_state=0)
    for chain in chains:
        assert chain.best_log_score == pytest.approx(chain.start_log_score)
        assert best_relocation(scores, chain.best_order) == pytest.approx(chain.start_log_score)
    random_starts, _ = sample_chains(order_problem(scores), n_chains=5, n_iter=1, random_state=0, greedy_start=False)
    assert any(best_relocation(scores, c.best_order) > c.best_log_score + 0.1 for c in random_starts)


def test_draws_respect_what_must_come_first():
    table = random_table([2, 3, 2, 2], 60, np.random.default_rng(1))
    known = Knowledge(required=[("v3", "v0")], tiers=[["v2"], ["v1"]])
    problem = order_problem(Scores(table), known.precedence(table.variables))
    chains, _ = sample_chains(problem, n_iter=500, burn_in=0, random_state=0)
    for chain in chains:
        assert all(known.allows(names(table, order)) for order in chain.orders)
        assert known.allows(names(table, chain.best_order))


@given(seed=st.integers(0, 999))
def test_random_orders_are_allowed_ones(seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(6)
    before = np.zeros((6, 6), dtype=bool)
    for a in range(6):
        for b in range(a + 1, 6):
            before[order[a], order[b]] = rng.random() < 0.3
    drawn = random_order(before, rng)
    assert sorted(drawn) == list(range(6))
    assert not any(before[b, a] for t, a in enumerate(drawn) for b in drawn[t + 1 :])


def test_an_interrupt_keeps_what_was_done(problem):
    seen = []

    def interrupt(progress):
        seen.append(progress)
        if len(seen) == 3:
            import _thread

            _thread.interrupt_main()

    chains, interrupted = sample_chains(
        problem, n_chains=2, n_iter=10_000_000, random_state=0, thin=100, callback=interrupt
    )
    assert interrupted
    assert len(chains) == 2
    assert 0 < sum(chain.n_iter for chain in chains) < 20_000_000
    assert all(np.isfinite(chain.trace).all() for chain in chains)
    done = [progress.done for progress in seen]
    assert done == sorted(done)
    assert seen[-1].best == max(chain.best_log_score for chain in chains)


def test_kernels_are_kept_elsewhere_where_the_usual_directories_cannot_be_written(tmp_path):
    code = """
import numba.core.caching as caching
def refuse(self):
    raise OSError("read-only")
for name in dir(caching):
    if "InTree" in name or "UserWide" in name:
        getattr(caching, name).ensure_cache_path = refuse
from cslearn._kernels.context_counts import pack_columns
print(pack_columns.stats.cache_path)
"""
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    env.pop("NUMBA_CACHE_DIR", None)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert run.stderr == ""
    assert run.stdout.startswith(str(tmp_path))


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("beta", [1, 2])
def test_scores_are_right_beside_a_variable_of_very_many_states(prior, beta):
    rng = np.random.default_rng(0)
    cards = [2] * 25 + [300]
    codes = np.column_stack([rng.integers(d, size=400) for d in cards])
    table = Table(codes, [f"v{i}" for i in range(26)], [range(d) for d in cards])
    candidates = {f"v{i}": [f"v{j}" for j in range(25 if i % 2 else 26)] for i in range(26)}
    scores = Scores(table, prior=prior, beta=beta, candidates=candidates)
    (chain,), _ = sample_chains(order_problem(scores), n_chains=1, n_iter=60, burn_in=0, random_state=1)
    assert isclose(chain.best_log_score, scores.order_score(names(table, chain.best_order)), rel_tol=1e-9)
    assert isclose(chain.log_scores[-1], scores.order_score(names(table, chain.orders[-1])), rel_tol=1e-9)


def test_strong_splits_of_a_root_of_many_states_come_and_go():
    """Rounding left in a sum must not matter beside a product of many brackets."""
    rng = np.random.default_rng(1)
    n, d = 3000, 90
    root = rng.integers(d, size=n)
    others = [(rng.random(n) < 0.02).astype(int) for _ in range(6)]
    codes = np.column_stack([root % 3, root, rng.integers(20, size=n), *others])
    table = Table(codes, list("trm") + [f"o{i}" for i in range(6)], [range(k) for k in [3, d, 20, *[2] * 6]])
    scores = Scores(table, prior="tree")
    problem = order_problem(scores)
    state, fresh = new_state(problem), new_state(problem)
    relocation.set_order(problem, state, np.array([1, 2, *range(3, 9), 0]))
    nothing = np.empty(1), np.empty(9, np.int64), np.array([-np.inf]), 2, np.empty((0, 9), np.int32)
    for _ in range(60):
        relocation.run(problem, state, rng.random((1, 2)), False, *nothing, 1.0)
        relocation.set_order(problem, fresh, state.order.copy())
        assert np.allclose(state.score, fresh.score, rtol=1e-10, atol=1e-8)


def test_settings_that_leave_no_draws_are_refused(problem):
    for wrong in ({"burn_in": 10_000}, {"n_iter": 3, "thin": 10}, {"n_iter": 99, "burn_in": 95, "thin": 10}):
        with pytest.raises(InputError, match="leave no draws"):
            sample_chains(problem, random_state=0, **wrong)
