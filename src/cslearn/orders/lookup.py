"""Searches over orders that look local scores up by subsets of the candidates."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn.orders.subsets import SubsetScores
from cslearn.scores import Scores

__all__ = ["are_looked_up", "lookup_problem"]

# Up to this many candidates local scores are looked up by subsets of these, and beyond two context variables always.
MOST_LOOKED_UP = 14


def are_looked_up(scores: Scores) -> bool:
    """Tell whether local scores are looked up by subsets of the candidates, not summed up for each level anew."""
    return not scores.grown and (scores.beta > 2 or max(map(len, scores.candidates)) <= MOST_LOOKED_UP)


def lookup_problem(subsets: SubsetScores, before: NDArray[np.bool_] | None = None) -> Any:
    """Return the arrays that the kernels work on if local order scores are looked up by subsets of the candidates."""
    from cslearn._kernels.lookup import LookupProblem

    p = subsets.p
    place = np.full((p, p), -1, dtype=np.int64)
    for i, candidates in enumerate(subsets.scores.candidates):
        place[i, candidates] = np.arange(len(candidates))
    sizes = [len(one) for one in subsets.local]
    return LookupProblem(
        np.array(subsets.scores.table.cards, dtype=np.int64),
        np.concatenate(subsets.local),
        np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int64),
        place,
        np.zeros((p, p), dtype=bool) if before is None else np.ascontiguousarray(before, dtype=bool),
    )
