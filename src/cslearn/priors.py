"""Priors over the stagings of a level, for contexts of at most two variables.

Such a staging is the whole level as one stage, or a decision tree: a root and, for each of its states, a stop or a
split on one other variable (see :mod:`cslearn.stagings.level`). A prior gives weights to the pieces, which depend on
the number ``m`` of candidates in the level and on the root's cardinality alone; the weight of a tree is the product
over the root's states. Only the full split on a pair is drawn by two trees, one from each root. Its weight is the sum
of theirs and of twice a number of its own, which is negative where the two trees are to count as one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from math import comb, inf, log
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cslearn.errors import InputError
from cslearn.stagings import Staging
from cslearn.stagings.level import LevelWeights

__all__ = ["PRIORS", "Prior", "SparsePrior", "TreePrior", "UniformPrior", "get_prior"]


@dataclass(frozen=True)
class Prior(ABC):
    """A prior over stagings, given by the weights of the pieces of a decision tree."""

    name: ClassVar[str]

    @abstractmethod
    def log_whole(self, m: int) -> float:
        """Return the log-weight of the whole level as one stage."""

    @abstractmethod
    def log_stop(self, m: int, d: int) -> float:
        """Return the log-weight of a stop at a state of a root with `d` states."""

    @abstractmethod
    def log_split(self, m: int, d: int) -> float:
        """Return the log-weight of a split on a given variable at a state of a root with `d` states; ``m >= 2``."""

    @abstractmethod
    def pair(self, m: int) -> float:
        """Return half the weight (not its logarithm) of a full split on a pair beyond that of its two trees."""

    def log_weight(self, staging: Staging, m: int) -> float:
        """Return the unnormalised log-weight of a staging with at most two context variables a stage."""
        if not staging.context_variables:
            return self.log_whole(m)
        roots = [v for v in staging.context_variables if all(v in context for context in staging)]
        trees = []
        for root in roots:
            d = staging.cards[root]
            stops = sum(len(context) == 1 for context in staging)
            splits = (d - stops) * self.log_split(m, d) if stops < d else 0.0
            trees.append(stops * self.log_stop(m, d) + splits)
        if len(roots) == 1:
            return trees[0]
        return log(2 * self.pair(m) + float(np.exp(trees).sum()))

    def level_weights(self, cards: NDArray[np.intp], beta: int) -> LevelWeights:
        """Return the log-weights of all pieces over a level of candidates, for a context bound of at most 2."""
        m, d = len(cards), int(cards.max(initial=1))
        single = pair = extra = None
        if beta >= 1 and m >= 1:
            single = np.repeat(np.array([[self.log_stop(m, d_k)] for d_k in cards]), d, axis=1)
        if beta >= 2 and m >= 2:
            splits = np.array([self.log_split(m, d_k) for d_k in cards])
            pair = np.broadcast_to(splits[:, None, None], (m, d, m))
            if self.pair(m) >= 0:
                extra = np.full((m, m), log(self.pair(m)) if self.pair(m) > 0 else -inf)
        return LevelWeights(cards, self.log_whole(m), single, pair, extra)

    def log_normaliser(self, cards: NDArray[np.intp], beta: int) -> float:
        """Return the log of the sum over the stagings of a level of their weights."""
        return _log_normaliser(self, tuple(sorted(map(int, cards))), beta)


@lru_cache(maxsize=100_000)
def _log_normaliser(prior: Prior, cards: tuple[int, ...], beta: int) -> float:
    return prior.level_weights(np.array(cards, dtype=np.intp), beta).log_sum()


@dataclass(frozen=True)
class UniformPrior(Prior):
    """Every staging of the level has the same probability (the paper's prior).

    There are more stagings with many stages than with few, so this prior favours many.
    """

    name: ClassVar[str] = "uniform"

    def log_whole(self, m: int) -> float:
        """Return 0."""
        return 0.0

    def log_stop(self, m: int, d: int) -> float:
        """Return 0."""
        return 0.0

    def log_split(self, m: int, d: int) -> float:
        """Return 0."""
        return 0.0

    def pair(self, m: int) -> float:
        """Return minus a half: the two trees of a full split count as one."""
        return -0.5


@dataclass(frozen=True)
class SparsePrior(Prior):
    """A full split on a set ``P`` weighs ``1 / C(m, |P|)``, the usual prior over parent sets of Bayesian networks.

    A stage with context variables ``S`` pays ``log C(m, |S|)`` times its share of the level.
    """

    name: ClassVar[str] = "sparse"

    def log_whole(self, m: int) -> float:
        """Return 0."""
        return 0.0

    def log_stop(self, m: int, d: int) -> float:
        """Return minus the log of the number of candidates, shared by the root's states."""
        return -log(m) / d

    def log_split(self, m: int, d: int) -> float:
        """Return minus the log of the number of pairs of candidates, shared by the root's states."""
        return -log(comb(m, 2)) / d

    def pair(self, m: int) -> float:
        """Return minus half the weight of one tree: the two trees of a full split count as one."""
        return -0.5 / comb(m, 2)


@dataclass(frozen=True)
class TreePrior(Prior):
    """A staging is drawn as a decision tree, every variable that could be chosen being equally probable.

    With probability `root` there is a root. With probability `same` all its states split on the same variable;
    otherwise each splits with probability `split`, on a variable of its own. So each choice pays for the number of
    candidates it was made among, which keeps noise out where there are many.
    """

    name: ClassVar[str] = "tree"

    root: float = 0.8
    split: float = 0.3
    same: float = 0.1

    def log_whole(self, m: int) -> float:
        """Return the log-probability that there is no root."""
        return log(1 - self.root) if m else 0.0

    def _log_root(self, m: int) -> float:
        return log(self.root / m) + (log(1 - self.same) if m > 1 else 0.0)

    def log_stop(self, m: int, d: int) -> float:
        """Return the log-probability of a stop, with the root's share in that of the root."""
        return self._log_root(m) / d + (log(1 - self.split) if m > 1 else 0.0)

    def log_split(self, m: int, d: int) -> float:
        """Return the log-probability of a split on one of the others, with the root's share in that of the root."""
        return self._log_root(m) / d + log(self.split / (m - 1))

    def pair(self, m: int) -> float:
        """Return the probability of a given root and a given variable on which all its states split."""
        return self.root / m * self.same / (m - 1)


PRIORS: dict[str, Prior] = {prior.name: prior for prior in (TreePrior(), SparsePrior(), UniformPrior())}


def get_prior(prior: str | Prior) -> Prior:
    """Return the prior of that name, or `prior` itself if it is one."""
    if isinstance(prior, Prior):
        return prior
    if prior not in PRIORS:
        raise InputError(f"there is no prior {prior!r}; choose one of {', '.join(map(repr, PRIORS))}")
    return PRIORS[prior]
