"""Priors over the stagings of a level.

A prior gives every stage a weight that depends on the number ``m`` of candidates in the level, the number of context
variables of the stage, and the share of the level that it covers. The prior of a staging is proportional to the
product of the weights of its stages; the normaliser is the sum over stagings with all marginal likelihoods one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import comb, log
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cslearn.errors import InputError
from cslearn.stagings.level import LevelWeights

__all__ = ["PRIORS", "Prior", "SparsePrior", "UniformPrior", "get_prior"]


@dataclass(frozen=True)
class Prior:
    """A prior over stagings whose weight is a product over stages."""

    name: ClassVar[str]

    def log_weight(self, m: int, size: int, share: float) -> float:
        """Return the unnormalised log-weight of a stage.

        Parameters
        ----------
        m : int
            Number of candidates in the level.
        size : int
            Number of context variables of the stage.
        share : float
            Share of the level that the stage covers.
        """
        raise NotImplementedError

    def level_weights(self, cards: NDArray[np.intp], beta: int) -> LevelWeights:
        """Return the log-weights of all stages of a level of candidates, for a context bound of at most 2."""
        m, d = len(cards), int(cards.max(initial=1))
        stop = self.log_weight(m, 0, 1.0)
        single = pair = None
        if beta >= 1 and m >= 1:
            single = np.array([[self.log_weight(m, 1, 1 / d_k)] * d for d_k in cards])
        if beta >= 2 and m >= 2:
            by_pair = np.array([[d_j * self.log_weight(m, 2, 1 / (d_k * d_j)) for d_j in cards] for d_k in cards])
            pair = np.repeat(by_pair[:, None, :], d, axis=1)
        return LevelWeights(cards, stop, single, pair)

    def log_normaliser(self, cards: NDArray[np.intp], beta: int) -> float:
        """Return the log of the sum over the stagings of a level of the products of their stage weights."""
        return _log_normaliser(self, tuple(sorted(map(int, cards))), beta)


@lru_cache(maxsize=100_000)
def _log_normaliser(prior: Prior, cards: tuple[int, ...], beta: int) -> float:
    return prior.level_weights(np.array(cards, dtype=np.intp), beta).log_sum()


@dataclass(frozen=True)
class UniformPrior(Prior):
    """Every staging of the level has the same probability (the paper's prior)."""

    name: ClassVar[str] = "uniform"

    def log_weight(self, m: int, size: int, share: float) -> float:
        return 0.0


@dataclass(frozen=True)
class SparsePrior(Prior):
    """A stage with context variables ``S`` weighs ``C(m, |S|)`` to the power of minus its share of the level.

    A full split on a set ``P`` then weighs ``1 / C(m, |P|)``, the usual prior over the parent sets of a Bayesian
    network: every number of parents is as probable as any other, whatever the number of candidates.
    """

    name: ClassVar[str] = "sparse"

    def log_weight(self, m: int, size: int, share: float) -> float:
        return -share * log(comb(m, size))


PRIORS: dict[str, Prior] = {prior.name: prior for prior in (UniformPrior(), SparsePrior())}


def get_prior(prior: str | Prior) -> Prior:
    """Return the prior of that name, or `prior` itself if it is one."""
    if isinstance(prior, Prior):
        return prior
    if prior not in PRIORS:
        raise InputError(f"there is no prior {prior!r}; choose one of {', '.join(map(repr, PRIORS))}")
    return PRIORS[prior]
