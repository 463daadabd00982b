"""Sum, maximum and draws over the stagings of a level with contexts of at most two variables.

Such a staging is the whole level as one stage, or a root variable ``k`` and for each of its states either a stop or
a split on one other variable ``j``. Only the full split on a pair is reached from two roots. Hence, with the
weight ``z`` of a stage and ``w(k, x, j) = prod_y z(x_k = x, x_j = y)``,

    S = z() + sum_k prod_x [ z(x_k = x) + sum_j w(k, x, j) ] - sum_{j<k} prod_{x,y} z(x_j = y, x_k = x),

at a cost of O(m^2 d) for m variables of cardinality d, where a list of the stagings has O(m^(d+1)) entries. With a
maximum in place of the sums (and no correction) the same recursion finds the best staging.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cslearn._numerics import log_diff_exp, log_sum_exp, log_sum_exp_axis
from cslearn.stagings.cover import Pairs

__all__ = ["TIE_TOLERANCE", "LevelWeights", "draw_uniform"]

TIE_TOLERANCE = 1e-10
"""Stagings whose log-weights differ by less, relative to their size, are tied: fewer stages win."""

Floats = NDArray[np.float64]
T = TypeVar("T")


@dataclass(frozen=True)
class LevelWeights:
    """Log-weights of the stages of a level, for a context bound of 0, 1 or 2.

    Parameters
    ----------
    cards : ndarray of int, shape (m,)
        Cardinalities of the variables, each at least 2.
    stop : float
        Log-weight of the stage that is the whole level.
    single : ndarray, shape (m, d), or None
        ``single[k, x]``: log-weight of the stage ``x_k = x``; what stands at ``x >= cards[k]`` is not read.
        None for a context bound of 0.
    pair : ndarray, shape (m, d, m), or None
        ``pair[k, x, j]``: sum over ``y`` of the log-weights of the stages ``x_k = x, x_j = y``; the diagonal
        ``j = k`` is not read. None for a context bound of 0 or 1.
    extra : ndarray, shape (m, m), or None
        None if the weights are those of stagings: then the full split on a pair, drawn by two trees of equal weight,
        counts once. Otherwise weights belong to trees, a staging has the sum of those of its trees, and the full split
        on `k` and `j` has the log-weights ``extra[k, j]`` and ``extra[j, k]`` besides.
    """

    cards: NDArray[np.intp]
    stop: float
    single: Floats | None = None
    pair: Floats | None = None
    extra: Floats | None = None

    @property
    def size(self) -> int:
        """Number of variables of the level."""
        return len(self.cards)

    @cached_property
    def _split(self) -> Floats:
        """`pair` without its diagonal (log 0), shape (m, d, m)."""
        assert self.pair is not None
        split = np.array(self.pair, dtype=float)
        diagonal = np.arange(self.size)
        split[diagonal, :, diagonal] = -inf
        return split

    def _over_states(self, values: Floats) -> Floats:
        """Sum ``values[k, x]`` over the states `x` that variable `k` has."""
        exists = np.arange(values.shape[1]) < self.cards[:, None]
        return np.where(exists, values, 0.0).sum(axis=1)

    @cached_property
    def _brackets(self) -> Floats:
        """Log of the sum over stopping and splitting, for each root `k` and state `x`, shape (m, d)."""
        assert self.single is not None
        if self.pair is None:
            return self.single
        return np.logaddexp(self.single, log_sum_exp_axis(self._split, axis=2))

    def log_sum(self) -> float:
        """Return the log of the sum over all stagings of the product of the weights of their stages."""
        if self.single is None or not self.size:
            return self.stop
        roots = self._over_states(self._brackets)
        total = log_sum_exp(np.append(roots, self.stop))
        if self.extra is not None:
            return log_sum_exp([total, log_sum_exp(self.extra[~np.eye(self.size, dtype=bool)])])
        if self.pair is None or total == -inf:
            return total
        # Each pair is contained twice in what it is subtracted from: no cancellation.
        return log_diff_exp(total, log_sum_exp(self._full[np.triu_indices(self.size, 1)]))

    @cached_property
    def _full(self) -> Floats:
        """Log-weight of the tree with root `k` all of whose states split on `j`, shape (m, m) by ``[k, j]``."""
        assert self.pair is not None
        exists = np.arange(self.pair.shape[1])[:, None] < self.cards[:, None, None]
        return np.where(exists, self.pair, 0.0).sum(axis=1)

    def maximum(self, tolerance: float = TIE_TOLERANCE) -> tuple[float, list[Pairs]]:
        """Return the largest log-weight of a staging, and that staging as a list of contexts.

        Of tied stagings the one with the fewest stages is taken, then the one whose root and splits come first.
        """
        options: list[tuple[float, int, tuple[int, ...] | None]] = [(self.stop, 1, None)]
        if self.single is not None and self.size:
            values, stages, splits = self._best_branches(tolerance)
            for k, d in enumerate(self.cards):
                tree = (k, *splits[k, :d].tolist())
                options.append((float(values[k, :d].sum()), int(stages[k, :d].sum()), tree))
        if self.extra is not None:
            together = np.logaddexp.reduce([self._full, self._full.T, self.extra, self.extra.T])
            together[np.tril_indices(self.size)] = -inf
            best = together.max(initial=-inf)
            slack = tolerance * max(1.0, abs(best)) if best > -inf else 0.0
            for first, second in np.argwhere(together >= best - slack).tolist() if best > -inf else []:
                both = (first, *[second] * int(self.cards[first]))
                options.append((float(together[first, second]), int(self.cards[first] * self.cards[second]), both))
        value, _, shape = _fewest_of_best(options, tolerance)
        return value, self.contexts(shape)

    def _best_branches(self, tolerance: float) -> tuple[Floats, NDArray[np.intp], NDArray[np.intp]]:
        """Return the value, the number of stages and the split (-1: stop) of the best branch at each root and state.

        Of tied branches a stop is taken, otherwise the first of those on a variable of fewest states.
        """
        assert self.single is not None
        single = np.asarray(self.single, dtype=float)
        if self.pair is None:
            return single, np.ones(single.shape, dtype=np.intp), np.full(single.shape, -1, dtype=np.intp)
        top = np.maximum(single, self._split.max(axis=2))
        with np.errstate(invalid="ignore"):
            enough = np.where(np.isneginf(top), -inf, top - tolerance * np.maximum(1.0, np.abs(top)))
        tied = self._split >= enough[:, :, None]
        split = np.where(tied, self.cards, np.iinfo(np.intp).max).argmin(axis=2)
        stop = single >= enough
        on_split = np.take_along_axis(self._split, split[:, :, None], axis=2)[:, :, 0]
        return (
            np.where(stop, single, on_split),
            np.where(stop, 1, self.cards[split]),
            np.where(stop, -1, split),
        )

    def draw(self, rng: np.random.Generator) -> list[Pairs]:
        """Draw a staging with probability proportional to its weight.

        The root is drawn from the sum without its correction, in which a full split on a pair stands twice, the
        rest top-down; such a split is then accepted with probability 1/2, unless weights belong to trees.
        """
        if self.single is None or not self.size:
            return self.contexts(None)
        extra = -inf if self.extra is None else log_sum_exp(self.extra[~np.eye(self.size, dtype=bool)])
        roots = np.append(self._over_states(self._brackets), [self.stop, extra])
        while True:
            k = _draw_log(roots, rng)
            if k == self.size:
                return self.contexts(None)
            if self.extra is not None and k == self.size + 1:
                flat = np.where(np.eye(self.size, dtype=bool), -inf, self.extra).ravel()
                root, other = divmod(_draw_log(flat, rng), self.size)
                return self.contexts((root, *[other] * int(self.cards[root])))
            splits = []
            for x in range(self.cards[k]):
                branches = np.array([self.single[k, x]])
                if self.pair is not None:
                    branches = np.append(self._split[k, x], branches)
                    choice = _draw_log(branches, rng)
                    splits.append(choice if choice < self.size else -1)
                else:
                    splits.append(-1)
            if self.extra is not None or not _is_full_pair(splits) or rng.random() < 0.5:
                return self.contexts((k, *splits))

    def contexts(self, shape: tuple[int, ...] | None) -> list[Pairs]:
        """Return the contexts of the staging with root ``shape[0]`` and splits ``shape[1:]`` (-1: stop)."""
        if shape is None:
            return [()]
        root, *splits = shape
        contexts: list[Pairs] = []
        for x, j in enumerate(splits):
            if j < 0:
                contexts.append(((root, x),))
            else:
                contexts += [((root, x), (j, y)) for y in range(self.cards[j])]
        return contexts


def draw_uniform(cards: Sequence[int], beta: int, rng: np.random.Generator) -> list[Pairs]:
    """Draw one of the stagings with contexts of at most ``beta <= 2`` variables, all with equal probability.

    Each of a root's states has as many options as the level has variables (a stop or a split on another one), so
    the roots' shares are known. O(m) for `m` variables.
    """
    sizes = np.array(cards, dtype=np.intp)
    shapes = LevelWeights(sizes, 0.0)
    m = len(sizes)
    if beta == 0 or m == 0:
        return shapes.contexts(None)
    options = m if beta == 2 else 1
    roots = np.append(sizes * np.log(options), 0.0)
    while True:
        k = _draw_log(roots, rng)
        if k == m:
            return shapes.contexts(None)
        # Option k, which would split on the root itself, stands for a stop.
        drawn = rng.integers(options, size=sizes[k]) if beta == 2 else np.full(sizes[k], k)
        splits = [-1 if j == k else int(j) for j in drawn]
        if not _is_full_pair(splits) or rng.random() < 0.5:
            return shapes.contexts((k, *splits))


def _is_full_pair(splits: Sequence[int]) -> bool:
    """Tell whether all states of a root split on the same variable: a staging that has two roots."""
    return splits[0] >= 0 and len(set(splits)) == 1


def _fewest_of_best(options: list[tuple[float, int, T]], tolerance: float) -> tuple[float, int, T]:
    top = max(value for value, _, _ in options)
    slack = tolerance * max(1.0, abs(top)) if top > -inf else 0.0
    return min((option for option in options if option[0] >= top - slack), key=lambda option: option[1])


def _draw_log(log_weights: Floats, rng: np.random.Generator) -> int:
    """Draw a position with probability proportional to ``exp(log_weights)``."""
    sums = np.cumsum(np.exp(log_weights - log_weights.max()))
    return int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))
