"""Orders of deep stagings against the list of all orders: moves, the exact search, and the first order."""

from itertools import permutations
from math import exp, factorial, inf, log

import numpy as np
import pytest

from cslearn.grown import GrownEngine, GrownLevel, GrownScores, greedy_order
from cslearn.grown.subsets import GrownSubsets
from cslearn.orders import ExactOrders
from cslearn.orders.engines import Moves, Record
from cslearn.priors import ParentsPrior
from naive import log_sum
from naive_grown import PRIOR, small_table
from problems import random_table


def order_problem(seed, known=(), p=4):
    table = small_table(seed, p=p, n=70)
    scores = GrownScores(table, beta=3, gamma=0.5, prior=PRIOR)
    before = np.zeros((p, p), dtype=bool)
    for a, b in known:
        before[a, b] = True
    orders = [o for o in permutations(range(p)) if all(o.index(a) < o.index(b) for a, b in known)]
    return scores, before, orders


def log_score(scores, order):
    before = np.zeros((len(order), len(order)), dtype=bool)
    for t, i in enumerate(order):
        before[i, list(order[:t])] = True
    return float(scores.contexts.log_sums(np.arange(len(order)), before).sum())


class SingleMoves:
    """Single moves of a sampler, with the two numbers that decide on them."""

    def __init__(self, engine):
        self.engine, self.state, self.order, self.score = engine, engine.new_state(), None, None

    def moved(self, order, v, number, cold=1.0, within=0.5):
        p = len(order)
        if order != self.order:
            self.order, self.score = order, self.engine.local_scores(np.array(order))
        self.state.order[:], self.state.score[:] = order, self.score
        self.state.position[:] = np.argsort(order)
        move = Moves(np.array([[(v + within) / p, number]]), power=cold)
        self.engine.run(self.state, move, Record.of_best(1, np.array(order), np.array([inf])))
        return tuple(self.state.order.tolist())

    def chances(self, order, v, **options):
        """Where a move leads with which probability: the second number is cut where the outcome changes."""
        found = {}

        def look(low, at_low, high, at_high):
            if at_low == at_high:
                found[at_low] = found.get(at_low, 0.0) + high - low
            elif high - low < 1e-13:
                found[at_high] = found.get(at_high, 0.0) + high - low
            else:
                middle = (low + high) / 2
                at_middle = self.moved(order, v, middle, **options)
                look(low, at_low, middle, at_middle)
                look(middle, at_middle, high, at_high)

        ends = 0.0, 1.0 - 1e-15
        look(ends[0], self.moved(order, v, ends[0], **options), ends[1], self.moved(order, v, ends[1], **options))
        return found


def transition_matrix(engine, orders, cold=1.0):
    index, moves = {order: r for r, order in enumerate(orders)}, SingleMoves(engine)
    matrix = np.zeros((len(orders), len(orders)))
    for order in orders:
        for v in range(engine.p):
            for to, chance in moves.chances(order, v, cold=cold).items():
                matrix[index[order], index[to]] += chance / engine.p
    return matrix


@pytest.mark.parametrize(
    ("seed", "p", "known", "cold"),
    [(0, 3, (), 1.0), (1, 3, (), 0.4), (2, 4, ((0, 2), (1, 2)), 1.0), (3, 4, ((3, 0), (3, 1)), 1.0)],
)
def test_one_move_leaves_the_order_posterior_invariant(seed, p, known, cold):
    scores, before, orders = order_problem(seed, known, p)
    # A move to an order that is not allowed would have no place in the matrix.
    matrix = transition_matrix(GrownEngine(scores.contexts, before), orders, cold)
    np.testing.assert_allclose(matrix.sum(axis=1), 1, atol=1e-11)
    logs = cold * np.array([log_score(scores, order) for order in orders])
    chance = np.exp(logs - log_sum(logs))
    flow = chance[:, None] * matrix
    assert np.abs(flow - flow.T).max() < 1e-10
    assert np.abs(chance @ matrix - chance).max() < 1e-10
    assert (np.linalg.matrix_power(matrix + np.eye(len(orders)), len(orders)) > 0).all()
    # Moves with another prior have another stationary distribution: the comparison can fail.
    other = scores.with_prior(ParentsPrior(more=0.1, root=0.2, split=0.05, deeper=0.05))
    logs = cold * np.array([log_score(other, order) for order in orders])
    wrong = np.exp(logs - log_sum(logs))
    assert np.abs(wrong @ matrix - wrong).max() > 1e-4


def test_moves_within_blocks_are_as_probable_one_way_as_the_other():
    rng = np.random.default_rng(1)
    table = random_table([2] * 26, 40, rng)
    scores = GrownScores(table, beta=2, gamma=1.0, prior=PRIOR)
    moves, order = SingleMoves(GrownEngine(scores.contexts)), tuple(rng.permutation(26).tolist())
    logs, lengths = {order: log_score(scores, order)}, set()
    for v, within in ((order[0], 0.9), (order[13], 0.3), (order[5], 0.1)):
        there = moves.chances(order, v, within=within)
        lengths.add(len(there))
        to = max((o for o in there if o != order), key=lambda o: there[o])
        logs[to] = log_score(scores, to)
        back = moves.chances(to, v, within=within)
        assert set(back) == set(there)
        # Detailed balance for this variable and this block.
        assert there[to] / back[order] == pytest.approx(exp(logs[to] - logs[order]), rel=1e-6)
    assert max(lengths) == 26 and min(lengths) < 25


def test_chains_go_on_as_before_when_contexts_are_forgotten():
    table = small_table(4, p=5, n=130)
    draws = np.random.default_rng(0).random((200, 2))
    found = []
    for max_memory in (2.0**31, 1.0):
        engine = GrownEngine(GrownScores(table, beta=4, prior=PRIOR, max_memory=max_memory).contexts)
        state, trace, kept = engine.new_state(), np.empty(10), np.empty((10, 5), dtype=np.int32)
        engine.set_order(state, np.arange(5))
        for part in np.split(draws, 20):
            engine.run(state, Moves(part), Record(trace, np.arange(5), np.array([-inf]), 1, kept))
            found.append((trace.copy(), kept.copy()))
        np.testing.assert_allclose(state.score, engine.local_scores(state.order), rtol=1e-12)
    for (trace, kept), (other_trace, other_kept) in zip(found[:20], found[20:], strict=True):
        np.testing.assert_array_equal(kept, other_kept)
        np.testing.assert_array_equal(trace, other_trace)
    assert len({tuple(order) for _, kept in found for order in kept.tolist()}) > 5


@pytest.mark.parametrize(("seed", "known"), [(0, ()), (2, ()), (3, ((2, 0), (2, 3)))])
def test_the_exact_search_equals_the_list_of_all_orders(seed, known):
    scores, before, orders = order_problem(seed, known)
    p = scores.table.p
    exact = ExactOrders(GrownSubsets(scores), before)
    logs = np.array([log_score(scores, order) for order in orders]) - log(factorial(p))
    chance = np.exp(logs - log_sum(logs))
    assert exact.log_evidence == pytest.approx(log_sum(logs), rel=1e-12)
    best, value = exact.best_order()
    assert value == pytest.approx(max(logs), rel=1e-12)
    assert logs[orders.index(tuple(best.tolist()))] == pytest.approx(max(logs), rel=1e-12)
    precedence, edges, joint = np.zeros((p, p)), np.zeros((p, p)), -inf
    for order, share in zip(orders, chance, strict=True):
        of_order = 0.0
        for t, i in enumerate(order):
            precedence[list(order[:t]), i] += share
            level = np.array(sorted(order[:t]), dtype=int)
            of_level = GrownLevel(scores.contexts, i, level)
            of_order += of_level.maximum()[0]
            for k, column in enumerate(level):
                edges[column, i] += share * (1 - exp(of_level.without(k).log_sum() - of_level.log_sum()))
        joint = max(joint, of_order)
    np.testing.assert_allclose(exact.precedence, precedence, atol=1e-10)
    # Levels of small probability are left out.
    np.testing.assert_allclose(exact.context_probabilities, edges, atol=1e-6)
    assert exact.best_joint()[1] == pytest.approx(joint - log(factorial(p)), rel=1e-12)
    of_orders = GrownEngine(scores.contexts).edges_of_orders(np.array(orders))
    np.testing.assert_allclose(np.einsum("o,oij->ij", chance, of_orders), edges, atol=1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_the_first_order_is_an_allowed_one(seed):
    table = small_table(seed, p=5)
    contexts = GrownScores(table, prior=PRIOR).contexts
    before = np.zeros((5, 5), dtype=bool)
    before[4, [0, 1, 2]] = before[3, 1] = True
    for known in (None, before):
        order = greedy_order(contexts, known)
        assert sorted(order.tolist()) == list(range(5))
        if known is not None:
            assert all(order.tolist().index(a) < order.tolist().index(b) for a, b in np.argwhere(known))
        climbed = GrownEngine(contexts, known).climbed(order, 2)
        position = np.argsort(climbed)
        assert known is None or all(position[a] < position[b] for a, b in np.argwhere(known))
        engine = GrownEngine(contexts)
        assert engine.local_scores(climbed).sum() >= engine.local_scores(order).sum() - 1e-9
