"""What the kernels of the order searches need to know of the scores."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn.scores import Scores

__all__ = ["order_problem"]


def order_problem(scores: Scores, before: NDArray[np.bool_] | None = None) -> Any:
    """Return the arrays that the kernels work on.

    Parameters
    ----------
    scores : Scores
    before : ndarray of bool, shape (p, p), optional
        ``before[i, j]`` tells that variable `i` must come before `j` in every order; transitively closed.
    """
    from cslearn._kernels.relocation import Problem

    stop, single, pair = scores.tables
    p = scores.table.p
    cards = np.array(scores.table.cards, dtype=np.int64)
    m = max(map(len, scores.candidates))
    columns = np.full((p, m), -1, dtype=np.int64)
    place = np.full((p, p), -1, dtype=np.int64)
    for i, candidates in enumerate(scores.candidates):
        columns[i, : len(candidates)] = candidates
        place[i, candidates] = np.arange(len(candidates))
    distinct, kind = np.unique(cards, return_inverse=True)
    # Sizes that the bound excludes weigh nothing; they are never read.
    log_split = np.array(
        [[scores.prior.log_split(k, size) if size <= k else 0.0 for k in range(m + 1)] for size in range(3)]
    )
    return Problem(
        scores.beta,
        stop,
        single,
        pair,
        np.array([len(candidates) for candidates in scores.candidates], dtype=np.int64),
        columns,
        place,
        cards,
        kind.astype(np.int64),
        log_split,
        _log_root_norms(distinct, log_split, scores.beta),
        np.zeros((p, p), dtype=bool) if before is None else np.ascontiguousarray(before, dtype=bool),
    )


def _log_root_norms(cards: NDArray[np.int64], log_split: NDArray[np.float64], beta: int) -> NDArray[np.float64]:
    """Return the log of a root's term in the prior's normaliser, by its cardinality and the size of the level.

    Each of the root's `d` states stops, or splits on one of the ``m - 1`` other variables.
    """
    norms = np.zeros((len(cards), log_split.shape[1]))
    for row, d in enumerate(cards):
        for m in range(1, log_split.shape[1]):
            bracket = log_split[1, m] / d
            if beta >= 2 and m >= 2:
                bracket = np.logaddexp(bracket, log(m - 1) + log_split[2, m] / d)
            norms[row, m] = d * bracket
    return norms
