"""Local order scores of every level of grown trees, for the search over all orders."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn.grown.engine import GrownEngine
from cslearn.grown.scores import GrownScores

__all__ = ["GrownSubsets"]

Floats = NDArray[np.float64]

# Levels that are asked for at once.
TOGETHER = 1 << 14
# Levels that are less probable do not matter for the probability of an edge.
NEGLIGIBLE = 1e-7


class GrownSubsets:
    """Log local order scores by subsets of the candidate sets, as :class:`cslearn.orders.SubsetScores` has them.

    Parameters
    ----------
    scores : GrownScores
    """

    def __init__(self, scores: GrownScores) -> None:
        self.scores = scores

    @property
    def p(self) -> int:
        """Number of variables."""
        return self.scores.table.p

    @cached_property
    def local(self) -> tuple[Floats, ...]:
        """For each variable the log local order score of every level."""
        return tuple(self._of(i, self.scores.contexts.log_sums) for i in range(self.p))

    @cached_property
    def best(self) -> tuple[Floats, ...]:
        """For each variable the log-weight of the best pruning of every level."""
        found = []
        for i, own in enumerate(self.scores.candidates):
            places = np.arange(len(own))
            levels = (np.flatnonzero(subset >> places & 1) for subset in range(1 << len(own)))
            found.append(np.array([self.scores.level_weights(i, level).maximum()[0] for level in levels]))
        return tuple(found)

    def _before(self, i: int, subsets: NDArray[np.int64]) -> NDArray[np.bool_]:
        own = self.scores.candidates[i]
        before = np.zeros((len(subsets), self.p), dtype=bool)
        before[:, own] = subsets[:, None] >> np.arange(len(own)) & 1
        return before

    def _of(self, i: int, question: Any) -> Floats:
        subsets = np.arange(1 << len(self.scores.candidates[i]))
        parts = np.array_split(subsets, len(subsets) // TOGETHER + 1)
        return np.concatenate([question(np.full(len(part), i), self._before(i, part)) for part in parts])

    def context_probabilities(self, i: int, levels: Floats) -> Floats:
        """Return how probable each candidate is in a context of a variable, given the chances of its levels."""
        own, engine = self.scores.candidates[i], GrownEngine(self.scores.contexts)
        some = np.flatnonzero(levels > NEGLIGIBLE)
        found = np.zeros(len(own))
        for part in np.array_split(some, len(some) // TOGETHER + 1):
            chances = engine.edges(np.full(len(part), i), self._before(i, part))
            found += levels[part] @ chances[:, own]
        return found
