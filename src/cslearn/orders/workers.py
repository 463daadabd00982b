"""Chains on the workers of a Dask cluster."""

from __future__ import annotations

from math import inf
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cslearn.errors import InputError
from cslearn.orders.engines import Engine
from cslearn.orders.walks import Saved, Shared, Walk

__all__ = ["Workers"]

# How often a chain is sent to workers again after they were lost.
ATTEMPTS = 20


class Journey(NamedTuple):
    """What a chain is besides its state, and how far it is to go."""

    n_temperatures: int
    first: NDArray[np.integer] | None
    greedy_start: bool
    goal: int
    thin: int


class Workers:
    """The workers of a Dask cluster, which have the scores and are sent chains as files would have them."""

    def __init__(self, client: Any, engine: Engine) -> None:
        self._client, self._engine = client, engine
        self._sent: Any = None
        self._lock = Lock()

    def advance(self, walk: Walk, goal: int, seconds: float, shared: Shared) -> None:
        """Have moves made until there are `goal` of them, however long it takes; see :meth:`Walk.advance`."""
        with walk.lock:
            before, thin = walk.done, walk.thin
            if before >= goal:
                return
            journey = Journey(walk.n_temperatures, walk.first, walk.greedy_start, goal, thin)
            found = self._advanced(journey, walk.saved(), shared)
            if found is not None:
                walk.restore(*found)
                walk.make_room(goal, thin)
                shared.report(walk.done - before, walk.best_log_score)

    def _advanced(self, journey: Journey, saved: Saved, shared: Shared) -> Saved | None:
        """Return a chain when it has made its moves; None after an interrupt. Lost workers are replaced."""
        from concurrent.futures import CancelledError

        from distributed import KilledWorker
        from distributed.comm.core import CommClosedError

        for _ in range(ATTEMPTS):
            with self._lock:
                if self._sent is None or self._sent.status not in ("pending", "finished"):
                    # Made on a worker, so that another one can make it again.
                    self._sent = self._client.submit(_as_it_is, self._engine, pure=False)
                engine = self._sent
            future = self._client.submit(_advanced, engine, journey, saved, pure=False)
            try:
                while not future.done():
                    if shared.stop.wait(0.05):
                        future.cancel()
                        return None
                found: Saved = future.result()
                return found
            except (KilledWorker, CancelledError, CommClosedError):
                continue
        raise InputError(f"the workers were lost {ATTEMPTS} times in a row: have they enough memory for the scores?")


def _as_it_is(engine: Engine) -> Engine:
    return engine


def _advanced(engine: Engine, journey: Journey, saved: Saved) -> Saved:
    """Let a chain make its moves, on a worker."""
    walk = Walk(engine, np.random.SeedSequence(0), journey.greedy_start, journey.n_temperatures, journey.first)
    walk.restore(*saved)
    walk.make_room(journey.goal, journey.thin)
    walk.advance(journey.goal, inf, Shared(0, None))
    return walk.saved()
