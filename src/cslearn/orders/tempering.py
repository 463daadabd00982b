"""Parallel tempering, for a posterior with several modes.

Where orders far apart are good and those between them bad, a chain may stay near one of them for long. Parallel
tempering helps: beside the chain run others, its companions, whose stationary distributions are powers ``c < 1`` of the
posterior, flatter and easier to cross. Every now and then neighbours ``c > d`` with log scores ``s`` and ``t`` change
places with chance ``min(1, exp((c - d) (t - s)))``, which leaves the product of their distributions as it is, and with
it the posterior of the chain itself. It costs as much as so many more chains, so it is not done unless asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn.orders.engines import Engine, Moves, Record

__all__ = ["Ladder", "exchange_log_ratio", "random_order"]

# The power of the posterior that the flattest companion samples from.
FLATTEST = 0.4


class Ladder:
    """The state of a chain, the first, and those of its companions, each at its power of the posterior.

    Parameters
    ----------
    engine : Engine
    seed : SeedSequence
    n_temperatures : int
        1 for a chain without companions.
    """

    def __init__(self, engine: Engine, seed: np.random.SeedSequence, n_temperatures: int) -> None:
        self._engine = engine
        self._powers = np.linspace(1.0, FLATTEST, n_temperatures).tolist() if n_temperatures > 1 else [1.0]
        self.states = [engine.new_state() for _ in self._powers]
        # A stream for each companion and one for their exchanges, so that where a run is cut does not matter.
        companions = seed.spawn(n_temperatures) if n_temperatures > 1 else []
        self.rngs = [np.random.default_rng(s) for s in (seed, *companions)]
        # Companions change places after so many moves: a power of two, as is the thinning by default.
        self.period = 1 << (engine.p - 1).bit_length()

    def __len__(self) -> int:
        """Return how many states there are."""
        return len(self.states)

    @property
    def cold(self) -> Any:
        """The state of the chain itself."""
        return self.states[0]

    def set_orders(self, first: NDArray[np.integer] | None) -> None:
        """Set the orders that all begin with: random ones, or one that is given."""
        for state, rng in zip(self.states, self.rngs, strict=False):
            order = random_order(self._engine.before, rng) if first is None else first.astype(np.int64)
            self._engine.set_order(state, order)

    def until_exchange(self, done: int) -> int:
        """Return how many moves the chain makes before it changes places."""
        return (done // self.period + 1) * self.period - done

    def exchange(self, done: int, best_order: NDArray[np.int64], best: NDArray[np.float64]) -> None:
        """Let the companions make as many moves as the chain has since the last time, and then change places."""
        record = Record.of_best(self.period, best_order, best)
        for power, state, rng in zip(self._powers[1:], self.states[1:], self.rngs[1:-1], strict=True):
            self._engine.run(state, Moves(rng.random((self.period, 2)), power=power), record)
        # Even and odd pairs in turns, so that an order can travel all the way.
        for i in range(done // self.period % 2, len(self) - 1, 2):
            here, there = self.states[i].score.sum(), self.states[i + 1].score.sum()
            ratio = exchange_log_ratio(self._powers[i], self._powers[i + 1], here, there)
            if np.log1p(-self.rngs[-1].random()) < ratio:
                self.states[i], self.states[i + 1] = self.states[i + 1], self.states[i]


def exchange_log_ratio(power: float, other: float, score: float, other_score: float) -> float:
    """Return the log of the chance, if below 0, that two chains with these powers and log scores change places."""
    return (power - other) * (other_score - score)


def random_order(before: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a random order in which `i` comes before `j` wherever ``before[i, j]``."""
    left = list(rng.permutation(len(before)))
    order = []
    while left:
        free = next(v for v in left if not before[left, v].any())
        order.append(free)
        left.remove(free)
    return np.array(order, dtype=np.int64)
