"""The relocation Gibbs sampler over orders (paper, section 5.2), in several chains.

A move takes a variable, chosen uniformly, out of the order and puts it back in any allowed place with probability
proportional to the order scores, so the order posterior is the stationary distribution. What must come before what
restricts the places; on the orders that are left the chain is still reversible, and as neighbours that are not bound
to each other can always change places it reaches all of them.

What runs them is one module for each: a chain in the making (:mod:`cslearn.orders.walks`), tempering
(:mod:`cslearn.orders.tempering`), workers of a cluster (:mod:`cslearn.orders.workers`) and files
(:mod:`cslearn.orders.checkpoint`). Moves are made by an engine (:mod:`cslearn.orders.engines`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import zip_longest
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cslearn._numerics import n_threads
from cslearn._wording import option
from cslearn.errors import InputError, LimitError
from cslearn.orders.engines import as_engine
from cslearn.orders.walks import Chain, Progress, Shared, Walk
from cslearn.orders.workers import ChainWorkers

if TYPE_CHECKING:
    from cslearn.orders.checkpoint import Checkpoint

__all__ = ["Chain", "Progress", "default_max_iter", "default_n_iter", "sample_chains"]

# What all chains together may keep: the score after each move, and the orders that are draws.
CHAIN_MEMORY = 4 * 2**30


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
        Walk(engine, seed, greedy_start, n_temperatures, first)
        for seed, first in zip_longest(seeds.spawn(n_chains), starts[:n_chains])
    ]
    _drawing(goal, burn_in, thin)
    if checkpoint is not None:
        goal = _go_on(walks, checkpoint, goal, last)
    shared = Shared(sum(walk.done for walk in walks), callback)
    # Threads that wait for workers of a cluster take no core.
    workers = min(n_chains, n_threads(n_jobs)) if client is None else n_chains
    advance = Walk.advance if client is None else ChainWorkers(client, engine).advance
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
                        futures.append(pool.submit(advance, walks[len(futures)], goal, seconds, shared))
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


def _go_on(walks: list[Walk], checkpoint: Checkpoint, goal: int, limit: int) -> int:
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
