"""What the data choose of grown trees: how readily they split, and the prior counts of their stages.

Both by the evidence, as for two context variables (:mod:`cslearn.orders.adaptive`). The chances to split are those with
which the sum over trees of a good order is largest. The prior count of a stage whose context variables have ``q``
outcomes is ``ess * q ** -gamma``: with ``gamma = 1`` it shrinks with the depth, as in BDeu, and Markov equivalent trees
have the same score; with ``gamma = 0`` all stages have the same. Of some values the pair is taken with which the
likelihood of the best stagings of that order is largest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from cslearn.grown.scores import GrownScores
from cslearn.priors import ParentsPrior

__all__ = ["FIRST_COUNTS", "FIRST_PRIOR", "adapted_counts", "adapted_parents_prior"]

CHANCES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
ESS_VALUES = (1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 50.0)
GAMMAS = (0.0, 0.5, 1.0)
FIRST_PRIOR = ParentsPrior()
FIRST_COUNTS = (1.0, 0.0)
# The weak prior of the chances is worth so many variables that behave as the first one says.
STRENGTH = 2.0
CHOSEN = ("more", "root", "split", "deeper")
# How probable it is that contexts have at most two variables, each of its own; 0 saves the time to look at them.
# They must be worth so many nats for each variable.
SHARES, WORTH_OF_PAIRS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9), 0.5
# Four numbers are well told by so many variables, taken evenly from the order.
ENOUGH = 60


def adapted_parents_prior(scores: GrownScores, order: NDArray[np.integer]) -> ParentsPrior:
    """Return the prior whose chances of another parent, and of splits by depth, suit an order."""
    p, position = len(order), np.argsort(order)
    targets = order[np.unique(np.linspace(0, p - 1, min(p, ENOUGH)).astype(np.int64))]
    before = position[None, :] < position[targets, None]

    def value(prior: ParentsPrior) -> float:
        usual, now = FIRST_PRIOR, prior
        weak = sum(
            getattr(usual, name) * log(getattr(now, name)) + (1 - getattr(usual, name)) * log(1 - getattr(now, name))
            for name in CHOSEN
        )
        price = WORTH_OF_PAIRS * len(targets) if prior.pairs else 0.0
        return float(scores.contexts.with_prior(prior).log_sums(targets, before).sum()) + STRENGTH * weak - price

    # Where all trees are summed, those of two variables need no sum of their own.
    whole = not scores.growth.sets
    best = replace(FIRST_PRIOR, pairs=0.0) if whole else FIRST_PRIOR
    top, names = value(best), CHOSEN if whole else (*CHOSEN, "pairs")
    # Each in turn, upwards and downwards from where it is, as long as it gets better; and once more.
    for _ in range(2):
        for name in names:
            values = SHARES if name == "pairs" else CHANCES
            for step in (-1, 1):
                at = int(np.argmin([abs(value - getattr(best, name)) for value in values]))
                while 0 <= at + step < len(values):
                    trial = replace(best, **{name: values[at + step]})
                    found = value(trial)
                    if found <= top:
                        break
                    best, top, at = trial, found, at + step
        without = replace(best, pairs=0.0)
        if (found := value(without)) > top:
            best, top = without, found
    return best


def adapted_counts(scores: GrownScores, order: Sequence[str]) -> tuple[float, float]:
    """Return the prior counts of stages, ``(ess, gamma)``, that suit the best stagings of an order."""
    found: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
    for t, v in enumerate(order):
        counts, outcomes = scores.stage_counts(v, scores.best_staging(v, order[:t])[1].contexts)
        seen = counts.any(axis=1)  # stages without rows say nothing, and may be very many
        found.append((counts[seen], outcomes[seen]))

    def value(ess: float, gamma: float) -> float:
        total = -(log(ess / FIRST_COUNTS[0]) ** 2) / 2
        for counts, outcomes in found:
            a_stage = ess * outcomes**-gamma
            a_cell = a_stage[:, None] / counts.shape[1]
            total += float((gammaln(a_cell + counts) - gammaln(a_cell)).sum())
            total -= float((gammaln(a_stage + counts.sum(axis=1)) - gammaln(a_stage)).sum())
        return total

    # Stagings that do not split say nothing of gamma. Then stages of a split have a small prior count: with a large one
    # they would all be told to be even, which where a variable is so is taken for what was found in them.
    return max(((ess, gamma) for ess in ESS_VALUES for gamma in GAMMAS), key=lambda pair: (value(*pair), pair[1]))
