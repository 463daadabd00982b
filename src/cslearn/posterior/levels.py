"""Levels with their probabilities: what a posterior over orders means for the staging of one variable.

The staging of a variable depends on the order only through its level, the candidates that come before it. Given the
level every sum over stagings is in closed form (:mod:`cslearn.stagings.level`), so the draws of orders are averaged
over, not draws of stagings.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

import numpy as np
from numpy.typing import NDArray

from cslearn.orders import ExactOrders, SubsetScores
from cslearn.scores import Scores
from cslearn.stagings.level import LevelWeights

__all__ = ["Levels", "draw_levels", "exact_levels"]

Floats = NDArray[np.float64]
Level = tuple[int, ...]
"""Positions in a candidate set, ascending."""

# Levels of an exact posterior, and stages of a level, are left out while their joint probability is below this.
NEGLIGIBLE = 1e-9


def draw_levels(scores: Scores, orders: NDArray[np.integer]) -> list[list[Level]]:
    """Return the level of each variable in each order: ``levels[i][draw]``."""
    positions = np.argsort(orders, axis=1)
    found = []
    for i, candidates in enumerate(scores.candidates):
        before = positions[:, candidates] < positions[:, [i]]
        found.append([tuple(np.flatnonzero(row).tolist()) for row in before])
    return found


def exact_levels(exact: ExactOrders, i: int) -> dict[Level, float]:
    """Return the levels of a variable with their probabilities, up to a negligible rest."""
    probabilities = exact.level_probabilities[i]
    descending = np.argsort(-probabilities)
    enough = int(np.searchsorted(np.cumsum(probabilities[descending]), 1 - NEGLIGIBLE)) + 1
    m = len(exact.subsets.scores.candidates[i])
    return {
        tuple(k for k in range(m) if int(subset) >> k & 1): float(probabilities[subset])
        for subset in descending[:enough]
    }


@dataclass(frozen=True)
class Levels:
    """What is computed once for each variable and level, and kept.

    Parameters
    ----------
    scores : Scores
    subsets : SubsetScores, optional
        Sums by subsets of the candidates, where these are few.
    """

    scores: Scores
    subsets: SubsetScores | None = None
    _stages: dict[tuple[int, Level], dict[tuple[int, ...], Floats]] = field(default_factory=dict, repr=False)
    _used: dict[tuple[int, Level], Floats] = field(default_factory=dict, repr=False)
    _means: dict[tuple[int, tuple[int, ...]], Floats] = field(default_factory=dict, repr=False)

    def weights(self, i: int, level: Level) -> LevelWeights:
        """Return the weights of the stagings of a variable."""
        return self.scores.level_weights(i, np.array(level, dtype=np.intp))

    def used(self, i: int, level: Level) -> Floats:
        """Return for each column of the data the probability that it is a context variable of variable `i`."""
        if (i, level) not in self._used:
            found = np.zeros(self.scores.table.p)
            if self.subsets is None:
                unused = self.weights(i, level).unused_probabilities()
            else:
                unused = self.subsets.unused(i, sum(1 << k for k in level))
            found[self.scores.candidates[i][list(level)]] = 1 - unused
            self._used[i, level] = found
        return self._used[i, level]

    def stages(self, i: int, level: Level) -> dict[tuple[int, ...], Floats]:
        """Return the probability of each context to be a stage of variable `i`, by columns of the data."""
        if (i, level) not in self._stages:
            columns = self.scores.candidates[i][list(level)]
            found = self.weights(i, level).stage_probabilities()
            # Of no row can more than this be missing from the sum of the probabilities of its stages.
            largest = {variables: float(np.abs(chances).max()) for variables, chances in found.items()}
            missing = 0.0
            for variables in sorted(found, key=lambda key: largest[key]):
                missing += largest[variables]
                if missing > NEGLIGIBLE:
                    break
                del found[variables]
            self._stages[i, level] = {tuple(int(columns[k]) for k in key): chances for key, chances in found.items()}
        return self._stages[i, level]

    def mean_parameters(self, i: int, columns: tuple[int, ...]) -> Floats:
        """Return the posterior means of the parameters in the contexts of these columns, shape ``(d, ..., d_i)``."""
        if (i, columns) not in self._means:
            table = self.scores.counted(i)
            cards = [table.cards[c] for c in (*columns, i)]
            cells = np.ravel_multi_index([table.codes[:, c] for c in (*columns, i)], cards)
            counts = np.bincount(cells, weights=table.weights, minlength=prod(cards)).reshape(cards)
            cell = self.scores.ess / prod(cards)
            self._means[i, columns] = (counts + cell) / (counts.sum(axis=-1, keepdims=True) + cell * cards[-1])
        return self._means[i, columns]

    def predictive(self, i: int, level: Level, codes: NDArray[np.integer]) -> Floats:
        """Return ``P(x_i | x_L, data)`` for each row, averaged over all stagings of the level.

        The row lies in a stage with the context variables ``S`` with the probability that its states of ``S`` are a
        stage, and there its state has the posterior mean of that stage's parameter.
        """
        total = np.zeros(len(codes))
        for columns, probabilities in self.stages(i, level).items():
            at = tuple(codes[:, c] for c in columns)
            total += probabilities[at] * self.mean_parameters(i, columns)[(*at, codes[:, i])]
        return np.maximum(total, np.finfo(float).tiny)
