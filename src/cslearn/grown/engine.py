"""Moves over orders whose scores are sums over grown trees; and what is asked of all levels, or of many."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn.grown.contexts import GrownContexts, new_known, new_paused
from cslearn.orders.engines import Moves, Record

__all__ = ["GrownEngine"]

Floats = NDArray[np.float64]

# Numbers that are kept at once where edges are asked for.
EDGE_NUMBERS = 1 << 22
# Sums over trees on sets of parents that a chain, or a question about edges, keeps: they are asked for often.
KNOWN_OF_A_CHAIN, KNOWN_OF_EDGES = 1 << 16, 1 << 14


class GrownEngine:
    """The relocation move on grown trees; see :class:`cslearn.orders.engines.Engine`.

    Parameters
    ----------
    contexts : GrownContexts
    before : ndarray of bool, shape (p, p), optional
        ``before[i, j]`` tells that variable `i` must come before `j` in every order.
    """

    def __init__(self, contexts: GrownContexts, before: NDArray[np.bool_] | None = None) -> None:
        from cslearn._kernels.grown_moves import GrownProblem

        self.contexts, self.p = contexts, len(contexts.store.counts.cards)
        self.before = np.zeros((self.p, self.p), dtype=bool) if before is None else np.ascontiguousarray(before)
        self._problem = GrownProblem(contexts.store.allowed, self.before)
        self._edges: dict[bytes, Floats] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what it was made of; contexts are counted again when they are visited."""
        return GrownEngine, (self.contexts, self.before)

    def new_state(self) -> Any:
        """Return a state with room for everything; :meth:`set_order` fills it."""
        from cslearn._kernels.grown_moves import GrownState

        p = self.p
        order, position = np.zeros(p, np.int64), np.zeros(p, np.int64)
        begun, sweeps = np.zeros(1, np.int64), np.zeros(1, np.int64)
        known = new_known(KNOWN_OF_A_CHAIN)
        paused = new_paused(2 * p, self.contexts.growth)
        return GrownState(order, position, np.zeros(p), np.zeros(p), np.zeros(p), begun, sweeps, known, paused)

    def set_order(self, state: Any, order: NDArray[np.integer]) -> None:
        """Set the order and everything that follows from it."""
        state.order[:] = order
        state.position[state.order] = np.arange(self.p)
        state.begun[0] = 0
        state.score[:] = self.local_scores(order)

    def climbed(
        self, order: NDArray[np.integer], sweeps: int, worth: float = 0.0, fills: float = np.inf
    ) -> NDArray[np.int64]:
        """Return an order after greedy moves of all variables in turn, at most so many times.

        They end when none moves, when moving all of them gains less than `worth`, or when they have filled so many
        contexts.
        """
        state, p, store = self.new_state(), self.p, self.contexts.store
        self.set_order(state, order)
        best_order, best, most = state.order.copy(), np.array([state.score.sum()]), store.fills + fills
        record, turns = Record.of_best(p, best_order, best), np.column_stack([(np.arange(p) + 0.5) / p, np.zeros(p)])
        for _ in range(sweeps):
            before = float(best[0])
            moved = self.run(state, Moves(turns, greedy=True), record)
            if not moved or best[0] - before < worth or store.fills > most:
                break
        return best_order

    def local_scores(self, order: NDArray[np.integer]) -> Floats:
        """Return the log local order score of each variable."""
        position = np.argsort(order)
        return self.contexts.log_sums(np.arange(self.p), position[None, :] < position[:, None])

    def run(self, state: Any, moves: Moves, record: Record) -> int:
        """Make moves; returns how many changed the order."""
        from cslearn._kernels.grown_moves import make_moves

        step, moved = 0, np.zeros(1, dtype=np.int64)
        rules, problem = self.contexts.rules, self._problem
        after = moves.greedy, *record, moves.power

        def ask(memo: Any, wanted: Any) -> None:
            nonlocal step
            step = make_moves(memo, rules, problem, state, moves.draws, step, *after, wanted, moved)

        self.contexts.store.asked(ask)
        return int(moved[0])

    def edges(self, targets: NDArray[np.integer], before: NDArray[np.bool_]) -> Floats:
        """Return how probable each variable is in a context of targets, given those before them; shape (r, p).

        Orders that a chain draws one after the other differ in a few variables: what is known is not computed again.
        """
        from cslearn._kernels.grown_moves import edge_chances

        before = before & self.contexts.store.allowed[targets]
        named = np.column_stack([targets.astype(np.int32).view(np.uint8).reshape(-1, 4), np.packbits(before, axis=1)])
        keys = [key.tobytes() for key in named]
        if len(self._edges) * self.p > EDGE_NUMBERS:
            self._edges = {}
        known = self._edges
        new = {key: at for at, key in enumerate(keys) if key not in known}
        rows, done, sums = np.fromiter(new.values(), np.int64, len(new)), 0, new_known(KNOWN_OF_EDGES)
        asked_for = targets[rows], before[rows]
        found, paused = np.zeros((len(rows), self.p)), new_paused(1, self.contexts.growth)

        def ask(memo: Any, wanted: Any) -> None:
            nonlocal done
            done = edge_chances(memo, self.contexts.rules, *asked_for, done, found, wanted, sums, paused)

        self.contexts.store.asked(ask)
        # Shares of sets of parents sum to one but for the last digit.
        known.update(zip(new, np.minimum(found, 1.0), strict=True))
        return np.array([known[key] for key in keys]).reshape(before.shape)

    def edges_of_orders(self, orders: NDArray[np.integer]) -> Floats:
        """Return how probable each context variable is given each of some orders, shape (orders, p, p)."""
        p, found = self.p, np.empty((len(orders), self.p, self.p))
        size = max(1, EDGE_NUMBERS // p**2)
        for begin in range(0, len(orders), size):
            position = np.argsort(orders[begin : begin + size], axis=1)
            before = (position[:, None, :] < position[:, :, None]).reshape(-1, p)
            chances = self.edges(np.tile(np.arange(p), len(position)), before)
            found[begin : begin + size] = chances.reshape(-1, p, p).transpose(0, 2, 1)
        return found
