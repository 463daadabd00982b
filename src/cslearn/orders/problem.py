"""What the kernels of the order searches need to know of the scores."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn._numerics import n_threads
from cslearn.scores import Scores

__all__ = ["order_problem"]

Floats = NDArray[np.float64]


def order_problem(scores: Scores, before: NDArray[np.bool_] | None = None) -> Any:
    """Return the arrays that the kernels work on.

    Parameters
    ----------
    scores : Scores
    before : ndarray of bool, shape (p, p), optional
        ``before[i, j]`` tells that variable `i` must come before `j` in every order; transitively closed.
    """
    from cslearn._kernels.levels import Problem
    from cslearn._kernels.scaling import scale_target

    stop, single, pair = scores.tables
    p = scores.table.p
    cards = np.array(scores.table.cards, dtype=np.int64)
    m = max(map(len, scores.candidates))
    columns = np.full((p, m), -1, dtype=np.int64)
    place = np.full((p, p), -1, dtype=np.int64)
    for i, candidates in enumerate(scores.candidates):
        columns[i, : len(candidates)] = candidates
        place[i, candidates] = np.arange(len(candidates))

    root, root_e = np.zeros((p, m)), np.zeros((p, m), dtype=np.int64)
    splits, splits_e = np.zeros(pair.shape), np.zeros(pair.shape, dtype=np.int16)

    def scale(i: int) -> bool:
        return bool(
            scale_target(
                scores.beta,
                pair.shape[3],
                stop[i],
                single[i],
                pair[i],
                cards[scores.candidates[i]],
                root[i],
                root_e[i],
                splits[i],
                splits_e[i],
            )
        )

    light = np.zeros(p, dtype=bool)
    if scores.beta > 0:
        with ThreadPoolExecutor(n_threads(scores.n_jobs)) as pool:
            light[:] = list(pool.map(scale, range(p)))

    distinct, kind = np.unique(cards, return_inverse=True)
    log_split = np.array(
        [[scores.prior.log_split(k, size) if size <= k else 0.0 for k in range(m + 1)] for size in range(3)]
    )
    log_norm = _log_root_norms(distinct, log_split, scores.beta)
    largest = log_norm.max(axis=1)
    return Problem(
        scores.beta,
        pair.shape[3],
        stop,
        root,
        root_e,
        splits.ravel(),
        splits_e.ravel(),
        np.array([len(candidates) for candidates in scores.candidates], dtype=np.int64),
        columns,
        place,
        cards,
        kind.astype(np.int64),
        np.exp(log_split[1][:, None] / distinct),
        np.exp(log_split[2][:, None] / distinct),
        np.exp(log_split[0]),
        np.exp(log_split[2]),
        np.exp(log_norm - largest[:, None]),
        largest,
        light,
        np.zeros((p, p), dtype=bool) if before is None else np.ascontiguousarray(before, dtype=bool),
    )


def _log_root_norms(cards: NDArray[np.int64], log_split: Floats, beta: int) -> Floats:
    """Return the log of a root's term in the prior's normaliser, by the size of the level and its cardinality.

    Each of the root's `d` states stops, or splits on one of the ``m - 1`` other variables.
    """
    sizes = np.arange(log_split.shape[1])[:, None]
    bracket = log_split[1][:, None] / cards
    if beta >= 2:
        with np.errstate(divide="ignore"):
            bracket = np.logaddexp(bracket, np.log(np.maximum(sizes - 1, 0)) + log_split[2][:, None] / cards)
    return cards * bracket
