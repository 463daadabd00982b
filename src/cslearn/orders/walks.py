"""A chain in the making: it can be cut off after any move, put into a file or sent elsewhere, and go on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, lgamma
from threading import Event, Lock, RLock
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn.errors import InputError
from cslearn.orders.engines import Engine, Moves, Record
from cslearn.orders.tempering import Ladder

__all__ = ["Chain", "Progress", "Shared", "Walk"]

# A block of moves lasts about this long, so that progress and interrupts are seen in time.
BLOCK_SECONDS = 0.1
GREEDY_SWEEPS = 50

Saved = tuple[dict[str, Any], dict[str, NDArray[Any]]]


@dataclass(frozen=True)
class Progress:
    """How far a search is: moves done of all chains, out of `total`, and the best log order score so far.

    An exact search that was asked for tells, before it begins, the `total` number of sets that it goes through and
    about how many `seconds` and bytes of `memory` it will take; chains do not.
    """

    done: int
    total: int
    best: float
    seconds: float | None = None
    memory: float | None = None


@dataclass(frozen=True, eq=False)
class Chain:
    """What one chain leaves.

    Attributes
    ----------
    orders : ndarray of int, shape (draws, p)
        The orders kept after burn-in and thinning, as columns of the data.
    log_scores : ndarray, shape (draws,)
        Their log order scores.
    trace : ndarray, shape (moves,)
        The log order score after every move.
    best_order : ndarray of int, shape (p,)
    best_log_score : float
    moved : int
        Number of moves that changed the order.
    start_log_score : float
        The log order score from which the chain started.
    """

    orders: NDArray[np.int32]
    log_scores: NDArray[np.float64]
    trace: NDArray[np.float64]
    best_order: NDArray[np.int64]
    best_log_score: float
    moved: int
    start_log_score: float

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Chain):
            return NotImplemented
        return all(
            np.array_equal(mine, theirs) for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def n_iter(self) -> int:
        """Number of moves made."""
        return len(self.trace)


class Shared:
    """What the chains share: the wish to stop, and the progress."""

    def __init__(self, done: int, callback: Callable[[Progress], None] | None) -> None:
        self.stop = Event()
        self.lock = Lock()
        self.callback = callback
        self.done, self.total, self.best = done, 0, -inf

    def report(self, moves: int, best: float) -> None:
        with self.lock:
            self.done += moves
            self.best = max(self.best, best)
            if self.callback is not None:
                self.callback(Progress(self.done, self.total, self.best))


class Walk:
    """A chain in the making.

    Parameters
    ----------
    engine : Engine
    seed : SeedSequence
    greedy_start : bool
        Whether it climbs before it begins to draw.
    n_temperatures : int
    first : ndarray of int, shape (p,), optional
        The order that it begins at; a random one by default.
    """

    def __init__(
        self,
        engine: Engine,
        seed: np.random.SeedSequence,
        greedy_start: bool,
        n_temperatures: int = 1,
        first: NDArray[np.integer] | None = None,
    ) -> None:
        p = engine.p
        self.engine, self.greedy_start, self.first, self.n_temperatures = engine, greedy_start, first, n_temperatures
        self.ladder = Ladder(engine, seed, n_temperatures)
        # An interrupt may come between the start of a thread and the note of it, so that a chain is sent off twice.
        self.lock = RLock()
        self.started = False
        self.first_random = self._random()
        self.best_order, self.best = np.zeros(p, dtype=np.int64), np.array([-inf])
        self.start_score = -inf
        self.done, self.moved, self.thin = 0, 0, 1
        self.trace, self.kept = np.empty(0), np.empty((0, p), dtype=np.int32)

    @property
    def best_log_score(self) -> float:
        """The largest log order score so far."""
        return float(self.best[0]) - lgamma(len(self.best_order) + 1)

    def make_room(self, goal: int, thin: int) -> None:
        """Make room for `goal` moves of which every `thin`-th order is kept."""
        if self.done == 0:
            self.thin = thin
        if thin % self.thin:
            raise InputError(f"the chains were begun with thin={self.thin}; thin={thin} is no multiple of that")
        step = thin // self.thin
        kept = self.kept[: self.done // self.thin][step - 1 :: step]
        self.thin = thin
        self.kept = np.empty((goal // thin, kept.shape[1]), dtype=np.int32)
        self.kept[: len(kept)] = kept
        trace = self.trace[: self.done]
        self.trace = np.empty(goal)
        self.trace[: self.done] = trace

    def advance(self, goal: int, seconds: float, shared: Shared) -> None:
        """Make moves until there are `goal` of them, or the seconds are over."""
        with self.lock:
            self._advance(goal, seconds, shared)

    def _advance(self, goal: int, seconds: float, shared: Shared) -> None:
        begin = perf_counter()
        if not self.started:
            self._start(shared.stop)
        tempered, block = len(self.ladder) > 1, self.thin
        while self.done < goal and not shared.stop.is_set():
            # Blocks end at multiples of the thinning, and the random numbers do not depend on their size.
            rest = -self.done % self.thin
            left = goal - self.done
            size = min(rest or block, min(left, self.ladder.until_exchange(self.done)) if tempered else left)
            if not rest and size > self.thin:
                size -= size % self.thin
            block_begin = perf_counter()
            record = Record(
                self.trace[self.done : self.done + size],
                self.best_order,
                self.best,
                rest or self.thin,
                self.kept[self.done // self.thin :],
            )
            self.moved += self.engine.run(self.ladder.cold, Moves(self.ladder.rngs[0].random((size, 2))), record)
            self.done += size
            if tempered and self.done % self.ladder.period == 0:
                self.ladder.exchange(self.done, self.best_order, self.best)
            now = perf_counter()
            faster = BLOCK_SECONDS / max(now - block_begin, 1e-9)
            block = self.thin * max(1, round(min(2 * block, size * faster) / self.thin))
            shared.report(size, self.best_log_score)
            if now - begin >= seconds:
                break

    def _start(self, stop: Event) -> None:
        """Begin at a random order or the one that is given, or at a local optimum near it."""
        p, rng = len(self.best_order), self.ladder.rngs[0]
        self.ladder.set_orders(self.first)
        first = self.ladder.cold
        self.best_order[:], self.best[0] = first.order, first.score.sum()
        record = Record.of_best(p, self.best_order, self.best)
        for _ in range(GREEDY_SWEEPS if self.greedy_start else 0):
            sweep = np.column_stack([(rng.permutation(p) + 0.5) / p, np.zeros(p)])
            if stop.is_set() or not self.engine.run(first, Moves(sweep, greedy=True), record):
                break
        self.start_score = float(first.score.sum())
        # A climb that was cut off is made again from its beginning when the chain goes on from a file.
        self.started = not stop.is_set()

    def chain(self, burn_in: int) -> Chain:
        """Return what the chain leaves so far."""
        with self.lock:
            return self._chain(burn_in)

    def _chain(self, burn_in: int) -> Chain:
        constant = lgamma(len(self.best_order) + 1)
        draws = self.done // self.thin
        first = min(burn_in // self.thin, max(draws - 1, 0))
        return Chain(
            self.kept[first:draws].copy(),
            self.trace[self.thin - 1 : self.done : self.thin][first:] - constant,
            self.trace[: self.done] - constant,
            self.best_order.copy(),
            float(self.best[0]) - constant,
            self.moved,
            self.start_score - constant,
        )

    def saved(self) -> Saved:
        """Return everything that the chain needs to go on, as JSON values and arrays."""
        with self.lock:
            return self._saved()

    def _random(self) -> list[Any]:
        return [rng.bit_generator.state for rng in self.ladder.rngs]

    def _saved(self) -> Saved:
        if not self.started:
            return {"started": False, "random": self.first_random}, {}
        values = {
            "started": True,
            "random": self._random(),
            "done": self.done,
            "moved": self.moved,
            "thin": self.thin,
            "start_score": self.start_score,
        }
        arrays = self._state_arrays()
        arrays |= {"trace": self.trace[: self.done], "kept": self.kept[: self.done // self.thin]}
        return values, {**arrays, "best_order": self.best_order, "best": self.best}

    def _state_arrays(self) -> dict[str, NDArray[Any]]:
        # What a state knows besides its arrays can be computed anew.
        return {
            f"state{i}.{name}": value
            for i, state in enumerate(self.ladder.states)
            for name, value in state._asdict().items()
            if isinstance(value, np.ndarray)
        }

    def restore(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Become the chain that :meth:`saved` has told of."""
        for rng, random in zip(self.ladder.rngs, values["random"], strict=True):
            rng.bit_generator.state = random
        self.first_random = values["random"]
        self.started = values["started"]
        if not self.started:
            return
        self.done, self.moved, self.thin = int(values["done"]), int(values["moved"]), int(values["thin"])
        self.start_score = float(values["start_score"])
        self.trace, self.kept = arrays["trace"], arrays["kept"]
        for name, array in {**self._state_arrays(), "best_order": self.best_order, "best": self.best}.items():
            if arrays[name].shape != array.shape or arrays[name].dtype != array.dtype:
                raise ValueError(f"the array {name} has the shape {arrays[name].shape} instead of {array.shape}")
            array[...] = arrays[name]
        if self.trace.shape != (self.done,) or self.kept.shape != (self.done // self.thin, len(self.best_order)):
            raise ValueError("the numbers of moves and draws differ")
        # The kernels do not check what they index with.
        orders = np.vstack([*(state.order for state in self.ladder.states), self.best_order, self.kept])
        if not (np.sort(orders, axis=1) == np.arange(len(self.best_order))).all():
            raise ValueError("a row is no order of the variables")
        if any((state.position[state.order] != np.arange(len(state.order))).any() for state in self.ladder.states):
            raise ValueError("the positions are not those of the order")
