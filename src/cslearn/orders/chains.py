"""The relocation Gibbs sampler over orders (paper, section 5.2), in several chains.

A move takes a variable, chosen uniformly, out of the order and puts it back in any allowed place with probability
proportional to the order scores, so the order posterior is the stationary distribution. What must come before what
restricts the places; on the orders that are left the chain is still reversible, and as neighbours that are not bound
to each other can always change places it reaches all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from math import inf, lgamma
from threading import Event, Lock
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn._numerics import n_threads
from cslearn.errors import InputError

__all__ = ["Chain", "Progress", "default_n_iter", "sample_chains"]

# A block of moves lasts about this long, so that progress and interrupts are seen in time.
BLOCK_SECONDS = 0.1
GREEDY_SWEEPS = 50


@dataclass(frozen=True)
class Progress:
    """How far a search is: moves done of all chains, out of `total`, and the best log order score so far."""

    done: int
    total: int
    best: float


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
    return max(5000, 100 * p)


def sample_chains(
    problem: Any,
    *,
    n_chains: int = 2,
    n_iter: int | None = None,
    burn_in: int | None = None,
    thin: int | None = None,
    greedy_start: bool = True,
    random_state: int | np.random.SeedSequence | None = None,
    n_jobs: int | None = None,
    callback: Callable[[Progress], None] | None = None,
) -> tuple[list[Chain], bool]:
    """Sample orders from their posterior.

    Parameters
    ----------
    problem : Problem
        From :func:`cslearn.orders.problem.order_problem`.
    n_chains : int
        Independent chains, each with a random start and random numbers of its own.
    n_iter : int, optional
        Moves of each chain; by default it grows with the number of variables.
    burn_in : int, optional
        Moves at the beginning whose orders are not kept as draws; a fifth of all by default.
    thin : int, optional
        Every how many moves an order is kept; by default so that about 1000 are.
    greedy_start : bool
        Climb from the random start to a local optimum before the sampling begins.
    random_state : int, SeedSequence or None
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.
    callback : callable, optional
        Called with a :class:`Progress` every now and then, from the thread of a chain.

    Returns
    -------
    chains : list of Chain
    interrupted : bool
        Whether an interrupt (Ctrl-C) ended the sampling early; the chains hold what was done until then.
    """
    p = len(problem.cards)
    n_iter = default_n_iter(p) if n_iter is None else n_iter
    burn_in = n_iter // 5 if burn_in is None else burn_in
    thin = max(1, (n_iter - burn_in) // 1000) if thin is None else thin
    if n_iter // thin <= burn_in // thin:
        raise InputError(
            f"n_iter={n_iter} moves with burn_in={burn_in} and thin={thin} leave no draws: make more moves or keep more"
        )
    seeds = (
        np.random.SeedSequence(random_state) if not isinstance(random_state, np.random.SeedSequence) else random_state
    )
    shared = _Shared(n_chains * n_iter, callback)
    workers = min(n_chains, n_threads(n_jobs))

    def one(seed: np.random.SeedSequence) -> Chain:
        return _sample_chain(problem, np.random.default_rng(seed), n_iter, burn_in, thin, greedy_start, shared)

    chain_seeds = seeds.spawn(n_chains)
    futures: list[Future[Chain]] = []
    interrupted = False
    with ThreadPoolExecutor(workers) as pool:
        while True:
            try:
                while len(futures) < n_chains:
                    futures.append(pool.submit(one, chain_seeds[len(futures)]))
                # A wait without end could not be interrupted on every system.
                while wait(futures, timeout=0.2).not_done:
                    pass
                break
            except KeyboardInterrupt:
                interrupted = True
                shared.stop.set()
    return [future.result() for future in futures], interrupted


class _Shared:
    """What the chains share: the wish to stop, and the progress."""

    def __init__(self, total: int, callback: Callable[[Progress], None] | None) -> None:
        self.stop = Event()
        self.lock = Lock()
        self.callback = callback
        self.done, self.total, self.best = 0, total, -inf

    def report(self, moves: int, best: float) -> None:
        with self.lock:
            self.done += moves
            self.best = max(self.best, best)
            if self.callback is not None:
                self.callback(Progress(self.done, self.total, self.best))


def _sample_chain(
    problem: Any,
    rng: np.random.Generator,
    n_iter: int,
    burn_in: int,
    thin: int,
    greedy_start: bool,
    shared: _Shared,
) -> Chain:
    from cslearn._kernels.levels import new_state
    from cslearn._kernels.relocation import run, set_order

    p = len(problem.cards)
    constant = lgamma(p + 1)
    state = new_state(problem)
    set_order(problem, state, random_order(problem.before, rng))
    best_order, best = state.order.copy(), np.array([state.score.sum()])
    nothing = np.empty((0, p), dtype=np.int32)
    if greedy_start:
        for _ in range(GREEDY_SWEEPS):
            sweep = np.column_stack([(rng.permutation(p) + 0.5) / p, np.zeros(p)])
            if shared.stop.is_set() or not run(
                problem, state, sweep, True, np.empty(p), best_order, best, p + 1, nothing
            ):
                break
    start = float(state.score.sum())

    trace = np.empty(n_iter)
    kept = np.empty((n_iter // thin, p), dtype=np.int32)
    done, moved, block = 0, 0, thin
    while done < n_iter and not shared.stop.is_set():
        # Blocks are whole multiples of the thinning, and the random numbers do not depend on their size.
        size = min(block, n_iter - done)
        begin = perf_counter()
        moved += run(
            problem,
            state,
            rng.random((size, 2)),
            False,
            trace[done : done + size],
            best_order,
            best,
            thin,
            kept[done // thin :],
        )
        seconds = perf_counter() - begin
        done += size
        block = thin * max(1, round(min(2 * block, block * BLOCK_SECONDS / max(seconds, 1e-9)) / thin))
        shared.report(size, float(best[0]) - constant)
    first = min(burn_in // thin, max(done // thin - 1, 0))
    return Chain(
        kept[first : done // thin],
        trace[thin - 1 : done : thin][first:] - constant,
        trace[:done] - constant,
        best_order,
        float(best[0]) - constant,
        moved,
        start - constant,
    )


def random_order(before: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a random order in which `i` comes before `j` wherever ``before[i, j]``."""
    left = list(rng.permutation(len(before)))
    order = []
    while left:
        free = next(v for v in left if not before[left, v].any())
        order.append(free)
        left.remove(free)
    return np.array(order, dtype=np.int64)
