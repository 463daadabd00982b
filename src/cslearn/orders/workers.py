"""Chains, and whatever else can be spread, on the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from math import inf
from threading import Event, Lock
from time import monotonic
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from cslearn import _cluster
from cslearn._cluster import ATTEMPTS, lost, need_workers
from cslearn.errors import InputError
from cslearn.orders.engines import Engine
from cslearn.orders.walks import Saved, Shared, Walk

__all__ = ["ChainWorkers", "Workers"]

Known = TypeVar("Known")
Result = TypeVar("Result")


class Workers(Generic[Known]):
    """The workers of a Dask cluster, which are sent once what they need to know, and then asked."""

    def __init__(self, client: Any, known: Known) -> None:
        need_workers(client)
        self._client, self._known = client, known
        self._sent: Any = None
        self._lock = Lock()

    def ask(self, question: Callable[..., Result], *arguments: Any, stop: Event) -> Result | None:
        """Return what a worker answers who has what is known; None when `stop` is set. Lost workers are replaced."""
        for _ in range(ATTEMPTS):
            with self._lock:
                if self._sent is None or self._sent.status not in ("pending", "finished"):
                    # Made on a worker, so that another one can make it again.
                    self._sent = self._client.submit(_as_it_is, self._known, pure=False)
                known = self._sent
            future = self._client.submit(question, known, *arguments, pure=False)
            try:
                looked = monotonic()
                while not future.done():
                    if stop.wait(0.05):
                        future.cancel()
                        return None
                    if monotonic() - looked > _cluster.SECONDS:
                        need_workers(self._client)
                        looked = monotonic()
                found: Result = future.result()
                return found
            except lost():
                continue
        raise InputError(f"the workers were lost {ATTEMPTS} times in a row: have they enough memory for the scores?")

    def ask_all(self, question: Callable[..., Result], arguments: Iterable[Any]) -> list[Result]:
        """Ask a question with each argument; the answers come in the order of these."""
        stop, cores = Event(), sum(self._client.ncores().values())
        # Threads that wait for workers take no core; more than twice the cores there keep these busy.
        with ThreadPoolExecutor(2 * max(1, cores)) as pool:
            futures = [pool.submit(self.ask, question, argument, stop=stop) for argument in arguments]
            try:
                return [future.result() for future in futures]  # type: ignore[misc]  # none is stopped
            except BaseException:
                stop.set()
                raise


class Journey(NamedTuple):
    """What a chain is besides its state, and how far it is to go."""

    n_temperatures: int
    first: NDArray[np.integer] | None
    greedy_start: bool
    goal: int
    thin: int


class ChainWorkers(Workers[Engine]):
    """Workers that have the scores and are sent chains as files would have them."""

    def advance(self, walk: Walk, goal: int, seconds: float, shared: Shared) -> None:
        """Have moves made until there are `goal` of them, however long it takes; see :meth:`Walk.advance`."""
        with walk.lock:
            before, thin = walk.done, walk.thin
            if before >= goal:
                return
            journey = Journey(walk.n_temperatures, walk.first, walk.greedy_start, goal, thin)
            found = self.ask(_advanced, journey, walk.saved(), stop=shared.stop)
            if found is not None:
                walk.restore(*found)
                walk.make_room(goal, thin)
                shared.report(walk.done - before, walk.best_log_score)


def _as_it_is(known: Known) -> Known:
    return known


def _advanced(engine: Engine, journey: Journey, saved: Saved) -> Saved:
    """Let a chain make its moves, on a worker."""
    walk = Walk(engine, np.random.SeedSequence(0), journey.greedy_start, journey.n_temperatures, journey.first)
    walk.restore(*saved)
    walk.make_room(journey.goal, journey.thin)
    walk.advance(journey.goal, inf, Shared(0, None))
    return walk.saved()
