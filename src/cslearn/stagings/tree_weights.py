"""Sum, maximum, draws and stage probabilities over the stagings that a decision tree draws, for any context bound.

The recursion is that of :mod:`cslearn.stagings.level`, for few variables. Each context stands once, in an array for the
set of its variables: for `m` variables of cardinality `d` memory is the sum over ``k <= beta`` of ``C(m, k) d^k`` and
time that of ``C(m, k) (2 d)^k``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import combinations
from math import inf, log, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cslearn.stagings.cover import Pairs
from cslearn.stagings.level import (
    SMALLEST_PROBABILITY,
    TIE_TOLERANCE,
    Floats,
    Ints,
    Splits,
    best_options,
    draw_log,
    from_generating_function,
    full_split_weight,
    log_trees,
)

__all__ = ["Layout", "TreeWeights", "chosen_blocks", "layout", "n_contexts"]

Variables = tuple[int, ...]


class Layout(NamedTuple):
    """Where the contexts of at most `beta` of some variables stand: by sets of variables, smaller ones first."""

    cards: tuple[int, ...]
    beta: int
    sets: tuple[Variables, ...]
    start: NDArray[np.int64]

    def blocks(self, flat: Floats) -> dict[Variables, Floats]:
        """Return views of a flat array, one axis for each variable of a set."""
        return {
            own: flat[self.start[s] : self.start[s + 1]].reshape([self.cards[k] for k in own])
            for s, own in enumerate(self.sets)
        }


def n_contexts(cards: Sequence[int], beta: int) -> int:
    """Return the number of contexts of at most `beta` of some variables."""
    by_size = [1] + [0] * beta
    for d in cards:
        for k in range(beta, 0, -1):
            by_size[k] += d * by_size[k - 1]
    return sum(by_size)


@lru_cache(maxsize=256)
def layout(cards: tuple[int, ...], beta: int) -> Layout:
    """Return the layout of the contexts of a level."""
    sets = tuple(own for t in range(min(beta, len(cards)) + 1) for own in combinations(range(len(cards)), t))
    sizes = [prod(cards[k] for k in own) for own in sets]
    return Layout(cards, beta, sets, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))


@lru_cache(maxsize=256)
def _masks(cards: tuple[int, ...], beta: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    masks = np.array([sum(1 << k for k in own) for own in layout(cards, beta).sets], dtype=np.int64)
    number_of = np.full(1 << len(cards), -1, dtype=np.int64)
    number_of[masks] = np.arange(len(masks))
    return masks, number_of


class TreeWeights:
    """Log-weights of the stages of a level, for the stagings that a decision tree can draw.

    Parameters
    ----------
    cards : ndarray of int, shape (m,)
        Cardinalities of the variables, each at least 2.
    stages : ndarray, flat
        The log-weights of all contexts, as :func:`layout` says.
    splits : Splits
        As for :class:`cslearn.stagings.level.LevelWeights`, with ``len(splits)`` the context bound.
    """

    def __init__(self, cards: Ints, stages: Floats, splits: Splits) -> None:
        self.cards, self.stages, self.splits, self.beta = cards, stages, splits, len(splits)
        self.layout = layout(tuple(map(int, cards)), self.beta)

    @property
    def size(self) -> int:
        """Number of variables of the level."""
        return len(self.cards)

    @property
    def _by_staging(self) -> bool:
        return any(weight < 0 for row in self.splits for weight in row)

    @cached_property
    def _sums(self) -> dict[Variables, Floats]:
        from cslearn._kernels.tree_sums import sums_of_sets

        masks, number_of = _masks(self.layout.cards, self.beta)
        splits = np.zeros((self.beta, self.beta))
        for t, row in enumerate(self.splits):
            splits[t, : len(row)] = row
        sums = np.empty(len(self.stages))
        sums_of_sets(self.cards.astype(np.int64), masks, number_of, self.layout.start, splits, self.stages, sums)
        return self.layout.blocks(sums)

    @cached_property
    def _stages(self) -> dict[Variables, Floats]:
        return self.layout.blocks(self.stages)

    def _further(self, own: Variables, most: int | None = None) -> Iterator[tuple[Variables, Variables, Variables]]:
        """Yield the sets that contexts over `own` may be split on, with their union, and their axes in that."""
        left = [k for k in range(self.size) if k not in own]
        reach = self.beta - len(own)
        for r in range(1, min(reach, len(left), reach if most is None else most) + 1):
            for chosen in combinations(left, r):
                whole = tuple(sorted((*own, *chosen)))
                yield chosen, whole, tuple(whole.index(k) for k in chosen)

    def log_sum(self) -> float:
        """Return the log of the sum over the stagings of the product of the weights of their stages."""
        return float(self._sums[()])

    def maximum(self, tolerance: float = TIE_TOLERANCE) -> tuple[float, list[Pairs]]:
        """Return the largest log-weight of a staging, and of tied ones one with the fewest stages.

        Where weights belong to trees and the bound is beyond two it is the staging of the best decision tree, with its
        own log-weight, the sum over all trees that draw it; another staging, of more trees, may have a larger one.
        """
        most = 1 if self._by_staging else None
        values: dict[Variables, Floats] = {}
        numbers: dict[Variables, Ints] = {}
        picks: dict[Variables, Ints] = {}
        for own in reversed(self.layout.sets):
            values[own] = self._stages[own]
            numbers[own] = np.ones(values[own].shape, dtype=np.intp)
            picks[own] = np.full(values[own].shape, -1, dtype=np.intp)
            options = list(self._further(own, most))
            if options:
                terms = np.stack([values[w].sum(axis=a) + self._full_split(len(own), c) for c, w, a in options])
                stages = np.stack([numbers[w].sum(axis=a) for _, w, a in options])
                values[own], numbers[own], picks[own] = best_options(values[own], terms, stages, tolerance)

        def contexts(context: Pairs) -> list[Pairs]:
            own = tuple(k for k, _ in context)
            pick = int(picks[own][tuple(x for _, x in context)])
            if pick < 0:
                return [context]
            chosen, _, _ = list(self._further(own, most))[pick]
            return [c for outcome in self._outcomes(chosen) for c in contexts(tuple(sorted(context + outcome)))]

        found, value = contexts(()), float(values[()])
        if self._by_staging or value == -inf:
            return value, found
        of_stages = sum(float(self._stages[tuple(k for k, _ in c)][tuple(x for _, x in c)]) for c in found)
        return of_stages + log_trees(self.splits, found), found

    def _full_split(self, t: int, chosen: Variables) -> float:
        if self._by_staging:
            return 0.0
        return full_split_weight(self.splits, t, tuple(sorted(int(self.cards[k]) for k in chosen)))

    def _outcomes(self, variables: Variables) -> list[Pairs]:
        states = np.ndindex(*(int(self.cards[k]) for k in variables))
        return [tuple(zip(variables, outcome, strict=True)) for outcome in states]

    def draw(self, rng: np.random.Generator) -> list[Pairs]:
        """Draw a staging with probability proportional to its weight, as LevelWeights does."""

        def below(context: Pairs) -> list[Pairs]:
            own, at = tuple(k for k, _ in context), dict(context)
            options = [float(self._stages[own][tuple(at.values())])]
            sets: list[Variables] = []
            for chosen, whole, _ in self._further(own, 1 if self._by_staging else None):
                weight = self.splits[len(own)][len(chosen) - 1]
                if weight > 0:
                    values = self._sums[whole][tuple(at.get(k, slice(None)) for k in whole)]
                    options.append(log(weight) + float(values.sum()))
                    sets.append(chosen)
            while True:
                pick = draw_log(np.array(options), rng) - 1
                if pick < 0:
                    return [context]
                outcomes = self._outcomes(sets[pick])
                drawn = [c for outcome in outcomes for c in below(tuple(sorted(context + outcome)))]
                if not self._by_staging:
                    return drawn
                common = set.intersection(*({k for k, _ in c} for c in drawn)).difference(own)
                if rng.random() * len(common) < 1:
                    return drawn

        return below(())

    def _split_shares(self, own: Variables) -> Iterator[tuple[Variables, Floats, Variables]]:
        """Yield, for each split of the contexts over `own`, its share of their sums, possibly negative."""
        for chosen, whole, axes in self._further(own):
            weight = self.splits[len(own)][len(chosen) - 1]
            if weight:
                below = self._sums[whole].sum(axis=axes)
                with np.errstate(invalid="ignore"):
                    share = np.where(np.isneginf(below), 0.0, weight * np.exp(below - self._sums[own]))
                yield whole, share, axes

    def _stop_shares(self, own: Variables) -> Floats:
        with np.errstate(invalid="ignore"):
            return np.where(np.isneginf(self._stages[own]), 0.0, np.exp(self._stages[own] - self._sums[own]))

    def stage_probabilities(self, smallest: float = SMALLEST_PROBABILITY) -> dict[tuple[int, ...], Floats]:
        """Return the probability of each context to be a stage, by the ascending positions of its variables."""
        passing = {own: np.zeros(block.shape) for own, block in self._stages.items()}
        passing[()] = np.array(1.0)
        found: dict[tuple[int, ...], Floats] = {}
        for own in self.layout.sets:
            here = passing[own] * self._stop_shares(own)
            if not own or here.max() > smallest:
                found[own] = here
            for whole, share, axes in self._split_shares(own):
                passing[whole] += np.expand_dims(passing[own] * share, axes)
        return found

    def n_stages(self) -> Floats:
        """Return the distribution of the number of stages: the entry `k` is the probability of `k` stages."""
        return from_generating_function(self.generating_function, self.cards, self.beta)

    def generating_function(self, u: complex) -> complex:
        """Return the expectation of `u` to the power of the number of stages."""
        values: dict[Variables, NDArray[Any]] = {}
        for own in reversed(self.layout.sets):
            here = u * self._stop_shares(own)
            for whole, share, axes in self._split_shares(own):
                here = here + share * values[whole].prod(axis=axes)
            values[own] = here
        return complex(values[()])

    def without(self, j: int) -> TreeWeights:
        """Return the weights, which stay the same, of the stagings in which no stage holds variable `j`."""
        others = [k for k in range(self.size) if k != j]
        return TreeWeights(self.cards[others], chosen_blocks(self.layout, self.stages, others), self.splits)


def chosen_blocks(whole: Layout, flat: Floats, level: Sequence[int]) -> Floats:
    """Return the part of a flat array for the contexts of a level, ascending positions, as its own layout wants it."""
    members = set(level)
    start = whole.start
    parts = [flat[start[s] : start[s + 1]] for s, own in enumerate(whole.sets) if members.issuperset(own)]
    return np.concatenate(parts)
