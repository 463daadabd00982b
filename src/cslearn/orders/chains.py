"""The relocation Gibbs sampler over orders (paper, section 5.2), in several chains.

A move takes a variable, chosen uniformly, out of the order and puts it back in any allowed place with probability
proportional to the order scores, so the order posterior is the stationary distribution. What must come before what
restricts the places; on the orders that are left the chain is still reversible, and as neighbours that are not bound
to each other can always change places it reaches all of them.

Where orders far apart are good and those between them bad, a chain may stay near one of them for long. Parallel
tempering helps: beside the chain run others, its companions, whose stationary distributions are powers ``c < 1`` of the
posterior, flatter and easier to cross. Every now and then neighbours ``c > d`` with log scores ``s`` and ``t`` change
places with chance ``min(1, exp((c - d) (t - s)))``, which leaves the product of their distributions as it is, and with
it the posterior of the chain itself. It costs as much as so many more chains, so it is not done unless asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import zip_longest
from math import inf, lgamma
from threading import Event, Lock
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cslearn._numerics import n_threads
from cslearn._wording import option
from cslearn.errors import InputError, LimitError
from cslearn.orders.engines import Engine, as_engine

if TYPE_CHECKING:
    from cslearn.orders.checkpoint import Checkpoint

__all__ = ["Chain", "Progress", "default_max_iter", "default_n_iter", "sample_chains"]

# A block of moves lasts about this long, so that progress and interrupts are seen in time.
BLOCK_SECONDS = 0.1
# What all chains together may keep: the score after each move, and the orders that are draws.
CHAIN_MEMORY = 4 * 2**30
GREEDY_SWEEPS = 50
# How often a chain is sent to workers again after they were lost.
ATTEMPTS = 20
# The power of the posterior that the flattest companion samples from.
FLATTEST = 0.4

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


@dataclass(frozen=True)
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

    @property
    def n_iter(self) -> int:
        """Number of moves made."""
        return len(self.trace)


def default_n_iter(p: int) -> int:
    """Return the number of moves of a chain when nothing else is said: it grows with the number of variables."""
    return max(2500, 50 * p)


def default_max_iter(p: int) -> int:
    """Return the most moves of a chain when their number depends on what the chains do.

    A move takes time that grows with the square of the number of variables, so that with many of them there are no
    more than :func:`default_n_iter`.
    """
    return max(default_n_iter(p), 200_000 // p)


def sample_chains(
    problem: Any,
    *,
    n_chains: int = 4,
    n_iter: int | None = None,
    until: Callable[[list[Chain]], bool] | None = None,
    max_iter: int | None = None,
    further: int = 0,
    burn_in: int | None = None,
    thin: int | None = None,
    n_temperatures: int = 1,
    greedy_start: bool = True,
    starts: Sequence[NDArray[np.integer]] = (),
    random_state: int | np.random.SeedSequence | None = None,
    n_jobs: int | None = None,
    client: Any = None,
    callback: Callable[[Progress], None] | None = None,
    checkpoint: Checkpoint | None = None,
) -> tuple[list[Chain], bool]:
    """Sample orders from their posterior.

    Parameters
    ----------
    problem : Engine, or a problem
        What gives the scores; a problem is that of :func:`cslearn.orders.order_problem` or `lookup_problem`.
    n_chains : int
        Independent chains, each with a random start and random numbers of its own.
    n_iter : int, optional
        Moves of each chain; by default it grows with the number of variables.
    until : callable, optional
        Tells of the chains whether they are long enough. They are asked about after `n_iter` moves, and after twice
        as many each time that the answer is no, going on from where they are.
    max_iter : int, optional
        With `until`: where to end all the same, or to ask a last time if there is more to come.
    further : int
        With `until`: where chains end that were not long enough after `max_iter` moves either, if that is more.
    burn_in : int, optional
        Moves at the beginning whose orders are not kept as draws; a fifth of all by default.
    thin : int, optional
        Every how many moves an order is kept; by default a power of two so that 1000 to 2000 are.
    n_temperatures : int
        With more than one, each chain runs beside companions at higher temperatures (parallel tempering), for
        posteriors with several modes. It takes as many times longer.
    greedy_start : bool
        Climb from the start to a local optimum before the sampling begins.
    starts : sequence of ndarray of int, shape (p,)
        Orders that the first chains start at, instead of random ones.
    random_state : int, SeedSequence or None
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.
    client : dask.distributed.Client, optional
        Runs the chains on the workers of a cluster, to the same result. Progress is told when a chain is done.
    callback : callable, optional
        Called with a :class:`Progress` every now and then, from the thread of a chain.
    checkpoint : Checkpoint, optional
        A file to which the chains are written every now and then. If it is there already they go on from it; they may
        do so with a larger `n_iter`.

    Returns
    -------
    chains : list of Chain
    interrupted : bool
        Whether an interrupt (Ctrl-C) ended the sampling early; the chains hold what was done until then.
    """
    engine = as_engine(problem)
    p = engine.p
    goal = default_n_iter(p) if n_iter is None else n_iter
    limit = goal if until is None else max(goal, default_max_iter(p) if max_iter is None else max_iter)
    last = limit if until is None else max(limit, further)
    seeds = (
        np.random.SeedSequence(random_state) if not isinstance(random_state, np.random.SeedSequence) else random_state
    )
    most = _most_moves(n_chains, p, thin)
    if goal > most:
        raise LimitError(
            f"{option('n_iter', goal)} is more than {most:,} moves, the most that a chain makes where there are"
            f" {n_chains}, since all of them are kept in memory: make fewer moves, or have fewer chains or draws"
        )
    limit, last = min(limit, most), min(last, most)
    walks = [
        _Walk(engine, seed, greedy_start, n_temperatures, first)
        for seed, first in zip_longest(seeds.spawn(n_chains), starts[:n_chains])
    ]
    _drawing(goal, burn_in, thin)
    if checkpoint is not None:
        goal = _go_on(walks, checkpoint, goal, last)
    shared = _Shared(sum(walk.done for walk in walks), callback)
    # Threads that wait for workers of a cluster take no core.
    workers = min(n_chains, n_threads(n_jobs)) if client is None else n_chains
    there = None if client is None else _Elsewhere(client, engine)
    # Between two writes every chain has its turn.
    seconds = inf if checkpoint is None else checkpoint.every * workers / n_chains
    interrupted = False
    with ThreadPoolExecutor(workers) as pool:
        while True:
            burned, every = _drawing(goal, burn_in, thin)
            shared.total = n_chains * goal
            for walk in walks:
                walk.make_room(goal, every)
            futures: list[Future[None]] = []
            while True:
                try:
                    while len(futures) < n_chains:
                        futures.append(pool.submit(walks[len(futures)].advance, goal, seconds, shared, there))
                    # A wait without end could not be interrupted on every system.
                    while wait(futures, timeout=0.2).not_done:
                        pass
                    break
                except KeyboardInterrupt:
                    interrupted = True
                    shared.stop.set()
            for future in futures:
                future.result()
            try:
                if checkpoint is not None:
                    checkpoint.write(goal, [walk.saved() for walk in walks])
                if not interrupted and min(walk.done for walk in walks) < goal:
                    continue
                if interrupted or goal >= last or until is None or until([walk.chain(burned) for walk in walks]):
                    break
            except KeyboardInterrupt:
                interrupted = True
                break
            goal = min(2 * goal, limit if goal < limit else last)
    return [walk.chain(burned) for walk in walks], interrupted


def _most_moves(n_chains: int, p: int, thin: int | None) -> int:
    """Return how many moves each chain can make within :data:`CHAIN_MEMORY`; by default draws are few."""
    of_a_move = 8 + (0 if thin is None else 4 * p / thin)
    return int(CHAIN_MEMORY / (n_chains * of_a_move))


def _drawing(n_iter: int, burn_in: int | None, thin: int | None) -> tuple[int, int]:
    """Return after how many moves draws are kept, and every how many.

    By default it is a power of two, so that of the draws of shorter chains some are those of longer ones.
    """
    burned = n_iter // 5 if burn_in is None else burn_in
    every = 1 << max((n_iter - burned) // 1000, 1).bit_length() - 1 if thin is None else thin
    if n_iter // every <= burned // every:
        raise InputError(
            f"n_iter={n_iter} moves with burn_in={burned} and thin={every} leave no draws: make more moves or keep more"
        )
    return burned, every


def _go_on(walks: list[_Walk], checkpoint: Checkpoint, goal: int, limit: int) -> int:
    """Take the chains from a file, if there is one; returns the moves to aim at."""
    found = checkpoint.read()
    if found is None:
        return goal
    aimed, saved = found
    if len(saved) != len(walks):
        raise checkpoint.refused(f"n_chains was {len(saved)} and is now {len(walks)}")
    try:
        for walk, (values, arrays) in zip(walks, saved, strict=True):
            walk.restore(values, arrays)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise checkpoint.damaged(error) from error
    done = max(walk.done for walk in walks)
    if done > limit:
        raise checkpoint.refused(f"it has {done:,} moves of a chain already, more than the {limit:,} asked for")
    # Chains whose number of moves depends on them had been asked about before they came so far.
    return min(max(goal, aimed), limit)


class _Shared:
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


class _Journey(NamedTuple):
    """What a chain is besides its state, and how far it is to go."""

    n_temperatures: int
    first: NDArray[np.integer] | None
    greedy_start: bool
    goal: int
    thin: int


class _Elsewhere:
    """The workers of a Dask cluster, which have the scores and are sent chains as files would have them."""

    def __init__(self, client: Any, engine: Engine) -> None:
        self._client, self._engine = client, engine
        self._sent: Any = None
        self._lock = Lock()

    def advanced(self, journey: _Journey, walk: _Walk, shared: _Shared) -> Saved | None:
        """Return a chain when it has made its moves; None after an interrupt. Lost workers are replaced."""
        from concurrent.futures import CancelledError

        from distributed import KilledWorker
        from distributed.comm.core import CommClosedError

        saved = walk._saved()
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


def _advanced(engine: Engine, journey: _Journey, saved: Saved) -> Saved:
    """Let a chain make its moves, on a worker."""
    walk = _Walk(engine, np.random.SeedSequence(0), journey.greedy_start, journey.n_temperatures, journey.first)
    walk.restore(*saved)
    walk.make_room(journey.goal, journey.thin)
    walk.advance(journey.goal, inf, _Shared(0, None))
    return walk.saved()


class _Walk:
    """A chain in the making: it can be cut off after any move, put into a file, and go on."""

    def __init__(
        self,
        engine: Engine,
        seed: np.random.SeedSequence,
        greedy_start: bool,
        n_temperatures: int = 1,
        first: NDArray[np.integer] | None = None,
    ) -> None:
        p = engine.p
        self.engine, self.greedy_start, self.first = engine, greedy_start, first
        self.powers = np.linspace(1.0, FLATTEST, n_temperatures).tolist() if n_temperatures > 1 else [1.0]
        self.states = [engine.new_state() for _ in self.powers]
        # A stream for each companion and one for their exchanges, so that where a run is cut does not matter.
        companions = seed.spawn(n_temperatures) if n_temperatures > 1 else []
        self.rngs = [np.random.default_rng(s) for s in (seed, *companions)]
        self.rng = self.rngs[0]
        # Companions change places after so many moves: a power of two, as is the thinning by default.
        self.period = 1 << (p - 1).bit_length()
        # An interrupt may come between the start of a thread and the note of it, so that a chain is sent off twice.
        self.lock = Lock()
        self.started = False
        self.first_random = [rng.bit_generator.state for rng in self.rngs]
        self.best_order, self.best = np.zeros(p, dtype=np.int64), np.array([-inf])
        self.start_score = -inf
        self.done, self.moved, self.thin = 0, 0, 1
        self.trace, self.kept = np.empty(0), np.empty((0, p), dtype=np.int32)

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

    def advance(self, goal: int, seconds: float, shared: _Shared, there: _Elsewhere | None = None) -> None:
        """Make moves until there are `goal` of them, or the seconds are over; or have them made elsewhere."""
        with self.lock:
            if there is None:
                self._advance(goal, seconds, shared)
            elif self.done < goal:
                before, thin = self.done, self.thin
                found = there.advanced(
                    _Journey(len(self.powers), self.first, self.greedy_start, goal, thin), self, shared
                )
                if found is not None:
                    self.restore(*found)
                    self.make_room(goal, thin)
                    shared.report(self.done - before, float(self.best[0]) - lgamma(len(self.best_order) + 1))

    def _advance(self, goal: int, seconds: float, shared: _Shared) -> None:
        constant = lgamma(len(self.best_order) + 1)
        begin = perf_counter()
        if not self.started:
            self._start(shared.stop)
        block = self.thin
        while self.done < goal and not shared.stop.is_set():
            # Blocks end at multiples of the thinning, and the random numbers do not depend on their size.
            rest = -self.done % self.thin
            end = min(goal, (self.done // self.period + 1) * self.period) if len(self.powers) > 1 else goal
            size = min(rest or block, end - self.done)
            if not rest and size > self.thin:
                size -= size % self.thin
            block_begin = perf_counter()
            self.moved += self.engine.run(
                self.states[0],
                self.rng.random((size, 2)),
                False,
                self.trace[self.done : self.done + size],
                self.best_order,
                self.best,
                rest or self.thin,
                self.kept[self.done // self.thin :],
                1.0,
            )
            self.done += size
            if len(self.powers) > 1 and self.done % self.period == 0:
                self._move_companions()
            now = perf_counter()
            faster = BLOCK_SECONDS / max(now - block_begin, 1e-9)
            block = self.thin * max(1, round(min(2 * block, size * faster) / self.thin))
            shared.report(size, float(self.best[0]) - constant)
            if now - begin >= seconds:
                break

    def _move_companions(self) -> None:
        """Let the companions make as many moves as the chain has since the last time, and then change places."""
        run = self.engine.run
        p = len(self.best_order)
        trace, nothing = np.empty(self.period), np.empty((0, p), dtype=np.int32)
        for power, state, rng in zip(self.powers[1:], self.states[1:], self.rngs[1:-1], strict=True):
            moves = rng.random((self.period, 2))
            run(state, moves, False, trace, self.best_order, self.best, self.period + 1, nothing, power)
        # Even and odd pairs in turns, so that an order can travel all the way.
        for i in range(self.done // self.period % 2, len(self.powers) - 1, 2):
            here, there = self.states[i].score.sum(), self.states[i + 1].score.sum()
            if np.log1p(-self.rngs[-1].random()) < exchange_log_ratio(self.powers[i], self.powers[i + 1], here, there):
                self.states[i], self.states[i + 1] = self.states[i + 1], self.states[i]

    def _start(self, stop: Event) -> None:
        """Begin at a random order or the one that is given, or at a local optimum near it."""
        run = self.engine.run
        p = len(self.best_order)
        for state, rng in zip(self.states, self.rngs, strict=False):
            order = random_order(self.engine.before, rng) if self.first is None else self.first.astype(np.int64)
            self.engine.set_order(state, order)
        first = self.states[0]
        self.best_order[:], self.best[0] = first.order, first.score.sum()
        nothing = np.empty((0, p), dtype=np.int32)
        for _ in range(GREEDY_SWEEPS if self.greedy_start else 0):
            sweep = np.column_stack([(self.rng.permutation(p) + 0.5) / p, np.zeros(p)])
            if stop.is_set() or not run(
                first, sweep, True, np.empty(p), self.best_order, self.best, p + 1, nothing, 1.0
            ):
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

    def saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return everything that the chain needs to go on, as JSON values and arrays."""
        with self.lock:
            return self._saved()

    def _saved(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        if not self.started:
            return {"started": False, "random": self.first_random}, {}
        values = {
            "started": True,
            "random": [rng.bit_generator.state for rng in self.rngs],
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
            for i, state in enumerate(self.states)
            for name, value in state._asdict().items()
            if isinstance(value, np.ndarray)
        }

    def restore(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Become the chain that :meth:`saved` has told of."""
        for rng, random in zip(self.rngs, values["random"], strict=True):
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
        orders = np.vstack([*(state.order for state in self.states), self.best_order, self.kept])
        if not (np.sort(orders, axis=1) == np.arange(len(self.best_order))).all():
            raise ValueError("a row is no order of the variables")
        if any((state.position[state.order] != np.arange(len(state.order))).any() for state in self.states):
            raise ValueError("the positions are not those of the order")


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
