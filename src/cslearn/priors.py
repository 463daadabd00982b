"""Priors over the stagings of a level, given by the weights of the pieces of a decision tree.

A staging is built from the root: a context of ``t`` variables is a stage, or is split on a set of ``r`` further ones,
and the same is asked below each outcome of these (see :mod:`cslearn.stagings.level`). A prior gives weights to the
pieces, which depend on the number ``m`` of candidates in the level and on the context bound, and may let a stage pay
by the share of the level that it covers. If no weight of a split is negative the weights are those of trees, and a
staging has the sum over the trees that draw it; otherwise they must be those of inclusion and exclusion, and each
staging counts once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from math import comb, fsum, inf, log, log1p, prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cslearn.errors import InputError
from cslearn.stagings import Staging
from cslearn.stagings.level import LevelWeights, Splits, log_sum_of_kinds, log_trees, log_trees_of_each

__all__ = [
    "ADAPTIVE",
    "PRIORS",
    "ParentsPrior",
    "Prior",
    "SparsePrior",
    "TreePrior",
    "UniformPrior",
    "get_prior",
]


@dataclass(frozen=True)
class Prior(ABC):
    """A prior over stagings, given by the weights of the pieces of a decision tree."""

    name: ClassVar[str]

    @abstractmethod
    def log_stop(self, m: int, t: int, beta: int) -> float:
        """Return the log-weight of ending in a stage with ``t < beta`` context variables; with `beta` it is zero."""

    @abstractmethod
    def split_weight(self, m: int, t: int, r: int, beta: int) -> float:
        """Return the weight of a split, below a context of `t` variables, on a given set of `r` others.

        Here ``t + r`` is at most `m` and at most `beta`. For one variable (``r = 1``) it is positive.
        """

    def log_share(self, m: int, t: int) -> float:
        """Return what a stage with `t` context variables pays, as a log-weight times its share of the level."""
        return 0.0

    def splits(self, m: int, beta: int) -> Splits:
        """Return the weights of all splits in a level of `m` candidates."""
        return tuple(
            tuple(self.split_weight(m, t, r, beta) if t + r <= m else 0.0 for r in range(1, beta - t + 1))
            for t in range(beta)
        )

    def log_weight(self, staging: Staging, m: int, beta: int) -> float:
        """Return the unnormalised log-weight of a staging; log 0 for one that no decision tree draws."""
        if staging.bound > beta:
            return -inf
        cards = staging.cards
        sizes = [(len(context), prod(cards[v] for v in context)) for context in staging]
        stages = fsum(self.log_stage(m, t, beta, size) for t, size in sizes)
        return stages + log_trees(self.splits(m, beta), [tuple(context.items()) for context in staging])

    def log_stage(self, m: int, t: int, beta: int, size: int) -> float:
        """Return the log-weight of a stage whose `t` context variables have `size` outcomes."""
        return self.log_ending(m, t, beta) + self.log_share(m, t) / size

    def log_ending(self, m: int, t: int, beta: int) -> float:
        """Return the log-weight of ending in a stage with `t` context variables; 0 where no split was possible."""
        return self.log_stop(m, t, beta) if t < min(beta, m) else 0.0

    def level_weights(self, cards: NDArray[np.intp], beta: int) -> LevelWeights:
        """Return the log-weights of all pieces over a level, for ``beta <= 2``."""
        m, d = len(cards), int(cards.max(initial=1))
        stages: list[NDArray[np.float64]] = []
        sizes = np.ones(())
        for t in range(max(beta, 1)):
            if t:
                sizes = np.multiply.outer(sizes, np.repeat(cards[:, None], d, axis=1))
            stages.append(
                self.log_ending(m, t, beta) + self.log_share(m, t) / sizes if t <= m else np.zeros(sizes.shape)
            )
        deepest = None
        if beta:
            share = self.log_share(m, beta) / sizes if beta <= m else np.zeros(sizes.shape)
            deepest = np.broadcast_to(share[..., None], (*sizes.shape, m))
        return LevelWeights(cards, stages, deepest, self.splits(m, beta))

    def log_normaliser(self, cards: NDArray[np.intp], beta: int) -> float:
        """Return the log of the sum over the stagings of a level of their weights."""
        return _log_normaliser(self, tuple(sorted(map(int, cards))), beta)


@lru_cache(maxsize=100_000)
def _log_normaliser(prior: Prior, cards: tuple[int, ...], beta: int) -> float:
    m = len(cards)
    return log_sum_of_kinds(cards, lambda t, size: prior.log_stage(m, t, beta, size), prior.splits(m, beta))


@dataclass(frozen=True)
class UniformPrior(Prior):
    """Every staging of the level has the same probability (the paper's prior).

    There are more stagings with many stages than with few, so this prior favours many.
    """

    name: ClassVar[str] = "uniform"

    def log_stop(self, m: int, t: int, beta: int) -> float:
        """Return 0."""
        return 0.0

    def split_weight(self, m: int, t: int, r: int, beta: int) -> float:
        """Return the weight of inclusion and exclusion."""
        return (-1.0) ** (r + 1)


@dataclass(frozen=True)
class SparsePrior(Prior):
    """A full split on a set ``P`` weighs ``1 / C(m, |P|)``, the usual prior over parent sets of Bayesian networks.

    A stage with context variables ``S`` pays ``log C(m, |S|)`` times its share of the level.
    """

    name: ClassVar[str] = "sparse"

    def log_stop(self, m: int, t: int, beta: int) -> float:
        """Return 0."""
        return 0.0

    def split_weight(self, m: int, t: int, r: int, beta: int) -> float:
        """Return the weight of inclusion and exclusion."""
        return (-1.0) ** (r + 1)

    def log_share(self, m: int, t: int) -> float:
        """Return minus the log of the number of sets of `t` candidates."""
        return -log(comb(m, t))


@dataclass(frozen=True)
class TreePrior(Prior):
    """A staging is drawn as a decision tree, every variable that could be chosen being equally probable.

    With probability `root` there is a root, and below it each context of one variable splits with probability `split`,
    each of more with probability `deeper`, as long as the context bound allows. A split is on one variable; with
    probability `same` all its states split on the same second variable, and so on. So each choice pays for the number
    of candidates it was made among, which keeps noise out where there are many.
    """

    name: ClassVar[str] = "tree"

    root: float = 0.8
    split: float = 0.3
    same: float = 0.1
    deeper: float = 0.3

    def chance(self, t: int) -> float:
        return (self.root, self.split)[t] if t < 2 else self.deeper

    def log_stop(self, m: int, t: int, beta: int) -> float:
        """Return the log-probability that a context of `t` variables does not split, where it could."""
        return log(1 - self.chance(t)) if t < min(m, beta) else 0.0

    def split_weight(self, m: int, t: int, r: int, beta: int) -> float:
        """Return the probability of a split on a given set of `r` variables."""
        most = min(m, beta) - t
        size = self.same ** (r - 1) * (1 - self.same if r < most else 1.0)
        return self.chance(t) * size / comb(m - t, r)

    def log_normaliser(self, cards: NDArray[np.intp], beta: int) -> float:
        """Return 0: the weights are probabilities of the steps of a random experiment that ends."""
        return 0.0


@dataclass(frozen=True)
class ParentsPrior(Prior):
    """The variables that matter are drawn first, and then a decision tree among these: for deep stagings.

    Every set of `r` parents among the `m` variables of a level has the same probability, and each further one is `more`
    times as probable. With probability `root` the tree has a root, which splits on any of the parents; below it each
    context of one variable splits with probability `split`, each of more with probability `deeper`, on any of the
    parents that are left. So a variable pays once for being chosen among many, and not again in each context.

    With probability `pairs` there is no such choice: all variables of the level are parents, and contexts have at most
    two variables. Where each context has variables of its own, the data tell more of those.
    """

    name: ClassVar[str] = "parents"

    more: float = 0.4
    root: float = 0.9
    split: float = 0.5
    deeper: float = 0.4
    pairs: float = 0.3

    def chance(self, t: int) -> float:
        """Return the probability that a context of `t` variables splits, where it can."""
        return (self.root, self.split)[t] if t < 2 else self.deeper

    def log_number(self, size: int, m: int) -> float:
        """Return the log-probability that there are so many parents among `m` variables."""
        return size * log(self.more) + log1p(-self.more) - log1p(-(self.more ** (m + 1)))

    def log_stop(self, m: int, t: int, beta: int) -> float:
        """Return the log-probability that a context of `t` of `m` parents does not split, where it could."""
        return log(1 - self.chance(t)) if t < min(m, beta) else 0.0

    def split_weight(self, m: int, t: int, r: int, beta: int) -> float:
        """Return the probability of a split on a given one of `m` parents, of which `t` are in the context."""
        return self.chance(t) / (m - t) if r == 1 else 0.0

    def log_weight(self, staging: Staging, m: int, beta: int) -> float:
        """Return the log-probability of a staging: the sum over the sets of parents that hold its context variables.

        A set of `r` variables holds `v` given ones with probability ``C(r, v) / C(m, v)``.
        """
        if staging.bound > beta:
            return -inf
        v = len(staging.context_variables)
        terms = self._log_weights_on_sets(staging, np.arange(v, m + 1), beta)
        numbers = np.array([self.log_number(r, m) + log(comb(r, v)) - log(comb(m, v)) for r in range(v, m + 1)])
        chosen = log1p(-self.pairs) + float(np.logaddexp.reduce(terms + numbers))
        if staging.bound > 2 or not self.pairs:
            return chosen
        (of_pairs,) = self._log_weights_on_sets(staging, np.array([m]), min(beta, 2))
        return float(np.logaddexp(chosen, log(self.pairs) + of_pairs))

    def _log_weights_on_sets(self, staging: Staging, sizes: NDArray[np.intp], beta: int) -> NDArray[np.float64]:
        """Return the log-probabilities of a staging given sets of parents of some sizes that hold its variables."""
        depths = Counter(len(context) for context in staging)
        logs = [{1: log(self.chance(t)) - np.log(np.maximum(sizes - t, 1))} for t in range(beta)]
        terms = log_trees_of_each(logs, [tuple(context.items()) for context in staging])
        ends = [fsum(n * self.log_ending(r, t, beta) for t, n in depths.items()) for r in sizes.tolist()]
        return np.asarray(terms + np.array(ends))

    def log_normaliser(self, cards: NDArray[np.intp], beta: int) -> float:
        """Return 0: the weights are probabilities of the steps of a random experiment that ends."""
        return 0.0


PRIORS: dict[str, Prior] = {prior.name: prior for prior in (TreePrior(), SparsePrior(), UniformPrior())}


# The name of the tree prior whose probabilities are chosen by the data; see `cslearn.orders.adaptive`.
ADAPTIVE = "adaptive"


def get_prior(prior: str | Prior) -> Prior:
    """Return the prior of that name, or `prior` itself if it is one."""
    if isinstance(prior, Prior):
        return prior
    if prior == ADAPTIVE:
        raise InputError(
            "the adaptive prior is chosen while a CStree is learned; use the one that a learner chose, learner.prior_"
        )
    if prior not in PRIORS:
        raise InputError(
            f"there is no prior {prior!r}; choose one of {', '.join(map(repr, PRIORS))}, or for a learner {ADAPTIVE!r}"
        )
    return PRIORS[prior]
