"""Priors over the stagings of a level.

A prior is given by the weight of a full split on ``size`` of the ``m`` candidates of a level. A stage with that many
context variables weighs this to the power of its share of the level, so that the stages of the full split together
weigh what it weighs. The prior of a staging is proportional to the product of the weights of its stages; the
normaliser is the sum over stagings with all marginal likelihoods one.
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

    def log_split(self, m: int, size: int) -> float:
        """Return the unnormalised log-weight of a full split on `size` of the `m` candidates of a level."""
        raise NotImplementedError

    def log_weight(self, m: int, size: int, share: float) -> float:
        """Return the unnormalised log-weight of a stage with `size` context variables and that share of the level."""
        return share * self.log_split(m, size)

    def level_weights(self, cards: NDArray[np.intp], beta: int) -> LevelWeights:
        """Return the log-weights of all stages of a level of candidates, for a context bound of at most 2."""
        m, d = len(cards), int(cards.max(initial=1))
        single = pair = None
        if beta >= 1 and m >= 1:
            single = np.repeat(self.log_split(m, 1) / cards[:, None], d, axis=1)
        if beta >= 2 and m >= 2:
            # The stages x_k = x, x_j = y over all y together have the share 1 / d_k.
            pair = np.broadcast_to((self.log_split(m, 2) / cards)[:, None, None], (m, d, m))
        return LevelWeights(cards, self.log_split(m, 0), single, pair)

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

    def log_split(self, m: int, size: int) -> float:
        """Return 0: all weights are one."""
        return 0.0


@dataclass(frozen=True)
class SparsePrior(Prior):
    """A full split on a set ``P`` weighs ``1 / C(m, |P|)``, the usual prior over parent sets of Bayesian networks.

    Every number of parents is as probable as any other, whatever the number of candidates, and a stage with context
    variables ``S`` pays ``log C(m, |S|)`` times its share of the level.
    """

    name: ClassVar[str] = "sparse"

    def log_split(self, m: int, size: int) -> float:
        """Return minus the log of the number of sets of `size` out of `m` candidates."""
        return -log(comb(m, size))


PRIORS: dict[str, Prior] = {prior.name: prior for prior in (UniformPrior(), SparsePrior())}


def get_prior(prior: str | Prior) -> Prior:
    """Return the prior of that name, or `prior` itself if it is one."""
    if isinstance(prior, Prior):
        return prior
    if prior not in PRIORS:
        raise InputError(f"there is no prior {prior!r}; choose one of {', '.join(map(repr, PRIORS))}")
    return PRIORS[prior]
