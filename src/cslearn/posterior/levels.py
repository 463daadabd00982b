"""Levels with their probabilities: what a posterior over orders means for the staging of one variable.

The staging of a variable depends on the order only through its level, the candidates that come before it. Given the
level every sum over stagings is in closed form (:mod:`cslearn.stagings.level`), so the draws of orders are averaged
over, not draws of stagings.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn._numerics import n_threads
from cslearn.counts import BitCounts, joint_counts
from cslearn.errors import InputError
from cslearn.grown import GrownEngine, GrownLevel, GrownScores
from cslearn.orders import ExactOrders, SubsetScores
from cslearn.orders.lookup import are_looked_up
from cslearn.orders.problem import order_problem
from cslearn.scores import Scores
from cslearn.stagings.level import LevelWeights
from cslearn.stagings.tree_weights import TreeWeights

__all__ = ["GrownLevels", "Levels", "draw_levels", "drawn_levels", "evenly_spread", "exact_levels", "levels_of"]

Floats = NDArray[np.float64]
Level = tuple[int, ...]
"""Positions in a candidate set, ascending."""

# Orders that closed forms are averaged over, unless more or fewer are asked for.
N_ORDERS = 200
# Numbers that are kept at once.
MOST_NUMBERS = 2**25
# Levels of an exact posterior, and stages of a level, are left out while their joint probability is below this.
NEGLIGIBLE = 1e-9
# Splits with a smaller share of the stagings of a level are not followed down in predictions, which changes their
# logarithms by about as little.
SMALLEST_SHARE = 1e-7
# Grown trees, and levels with their stages, that are kept, and about how many operations an edge of one takes.
MOST_KEPT, GROWN_EDGE_WORK = 1000, 50


def evenly_spread(orders: NDArray[np.int32], n_orders: int) -> NDArray[np.int32]:
    """Return `n_orders` of some orders, evenly spread; all of them if there are fewer."""
    if isinstance(n_orders, bool) or not isinstance(n_orders, int | np.integer) or n_orders < 1:
        raise InputError(f"n_orders is a whole number, at least 1, not {n_orders!r}")
    return orders[np.unique(np.linspace(0, len(orders) - 1, min(n_orders, len(orders))).astype(int))]


def draw_levels(scores: Scores, orders: NDArray[np.integer]) -> list[list[Level]]:
    """Return the level of each variable in each order: ``levels[i][draw]``."""
    positions = np.argsort(orders, axis=1)
    found = []
    for i, candidates in enumerate(scores.candidates):
        before = positions[:, candidates] < positions[:, [i]]
        found.append([tuple(np.flatnonzero(row).tolist()) for row in before])
    return found


def drawn_levels(scores: Scores, orders: NDArray[np.integer], i: int) -> dict[Level, float]:
    """Return the levels of a variable in some orders, with the shares of these in which each stands."""
    if not len(scores.candidates[i]):
        return {(): 1.0}
    positions = np.argsort(orders, axis=1)
    before = positions[:, scores.candidates[i]] < positions[:, [i]]
    packed, counts = np.unique(np.packbits(before, axis=1), axis=0, return_counts=True)
    distinct = np.unpackbits(packed, axis=1, count=before.shape[1])
    return {
        tuple(np.flatnonzero(row).tolist()): int(number) / len(orders)
        for row, number in zip(distinct, counts, strict=True)
    }


def exact_levels(exact: ExactOrders, i: int, most: int | None = None) -> dict[Level, float]:
    """Return the levels of a variable with their probabilities, up to a negligible rest.

    If there are more than `most`, half as many are the most probable ones. The others stand for the rest: each is taken
    where the sum of the probabilities, descending, passes the middle of an equal part of what is left.
    """
    probabilities = exact.level_probabilities[i]
    descending = np.argsort(-probabilities)
    cumulated = np.cumsum(probabilities[descending])
    enough = int(np.searchsorted(cumulated, 1 - NEGLIGIBLE)) + 1
    m = len(exact.subsets.scores.candidates[i])

    def level(subset: int) -> Level:
        return tuple(k for k in range(m) if subset >> k & 1)

    if most is None or enough <= most:
        return {level(int(subset)): float(probabilities[subset]) for subset in descending[:enough]}
    first = most // 2
    found = {level(int(subset)): float(probabilities[subset]) for subset in descending[:first]}
    rest, n = cumulated[-1] - cumulated[first - 1], most - first
    middles = cumulated[first - 1] + rest * (np.arange(n) + 0.5) / n
    for place in np.searchsorted(cumulated, middles):
        subset = level(int(descending[min(place, len(descending) - 1)]))
        found[subset] = found.get(subset, 0.0) + float(rest / n)
    return found


@dataclass(frozen=True)
class Levels:
    """What is computed once for each variable and level, and kept.

    Parameters
    ----------
    scores : Scores
    problem : Problem, optional
        What the chains worked on, if they summed local scores up: it is as large as the tables of scores.
    """

    scores: Scores
    problem: Any = field(default=None, repr=False, compare=False)
    _stages: dict[tuple[int, Level], dict[tuple[int, ...], Floats]] = field(default_factory=dict, repr=False)
    _means: dict[tuple[int, tuple[int, ...]], Floats] = field(default_factory=dict, repr=False)
    _numbers: dict[tuple[int, Level], Floats] = field(default_factory=dict, repr=False)
    _columns: dict[int, NDArray[np.int32]] = field(default_factory=dict, repr=False)

    @property
    def cost_of_edges(self) -> int:
        """About how many operations :meth:`edges` takes for an order, at least 1."""
        if are_looked_up(self.scores):
            work = 10 * sum(map(len, self.scores.candidates))
        elif self.scores.beta > 2:
            work = max(self.scores.table.cards) ** 2 * sum(len(own) ** 3 for own in self.scores.candidates) // 40
        else:
            work = max(self.scores.table.cards) * sum(len(own) ** 2 for own in self.scores.candidates) // 3
        return max(work, 1)

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy elsewhere computes what it needs.
        return Levels, (self.scores,)

    @cached_property
    def _subsets(self) -> SubsetScores:
        return SubsetScores(self.scores)

    @cached_property
    def _problem(self) -> Any:
        # Chains that look scores up have a problem without the tables that sums are made of.
        given = None if are_looked_up(self.scores) else self.problem
        return order_problem(self.scores) if given is None else given

    def weights(self, i: int, level: Level) -> LevelWeights | TreeWeights:
        """Return the weights of the stagings of a variable."""
        return self.scores.level_weights(i, np.array(level, dtype=np.intp))

    def edges(self, orders: NDArray[np.integer]) -> Floats:
        """Return how probable each context variable is given each of some orders, shape (orders, p, p).

        From the row to the column. O(p m^2 d) for an order if there are m candidates, and O(p m) if candidates are few.
        """
        p = self.scores.table.p
        found = np.zeros((len(orders), p, p))
        if are_looked_up(self.scores):
            positions = np.argsort(orders, axis=1)
            for i, candidates in enumerate(self.scores.candidates):
                before = positions[:, candidates] < positions[:, [i]]
                bits = 1 << np.arange(len(candidates))
                subset = before @ bits
                total = self._subsets.sums[i][subset]
                for k, column in enumerate(candidates):
                    there = np.flatnonzero(before[:, k])
                    rest = self._subsets.without[i][subset[there] ^ bits[k]]
                    found[there, column, i] = np.maximum(0.0, -np.expm1(rest - total[there]))
            return found

        from cslearn._kernels.edges import edges_of_orders
        from cslearn._kernels.levels import new_state

        problem, size = self._problem, n_threads(self.scores.n_jobs)
        parts = [part for part in np.array_split(np.arange(len(orders)), size) if len(part)]

        def fill(part: NDArray[np.intp]) -> None:
            some = slice(part[0], part[-1] + 1)
            state = new_state(problem)  # type: ignore[no-untyped-call]
            edges_of_orders(problem, state, orders[some].astype(np.int64), found[some])

        with ThreadPoolExecutor(len(parts)) as pool:
            list(pool.map(fill, parts))
        return found

    def parents(self, i: int, level: Level, columns: frozenset[int]) -> float:
        """Return the probability that the context variables of variable `i` are these columns, no more and no fewer.

        By inclusion and exclusion over the sums without some of them: 2^k sums for k columns.
        """
        of_level = self.scores.candidates[i][list(level)]
        if not columns <= set(of_level.tolist()):
            return 0.0
        weights = self.weights(i, level)
        total = weights.log_sum()
        for k in reversed(range(len(level))):
            if int(of_level[k]) not in columns:
                weights = weights.without(k)

        def exactly(rest: LevelWeights | TreeWeights, bound: int) -> float:
            share = float(np.exp(rest.log_sum() - total))
            return share - sum(exactly(rest.without(j), j) for j in range(bound))

        return exactly(weights, weights.size)

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
            if len(self._stages) >= MOST_KEPT:
                self._stages.pop(next(iter(self._stages)))
            self._stages[i, level] = {tuple(int(columns[k]) for k in key): chances for key, chances in found.items()}
        return self._stages[i, level]

    def stage_chance(self, i: int, level: Level, pairs: Sequence[tuple[int, int]]) -> float:
        """Return the probability that a context, as pairs of column and state by ascending columns, is a stage."""
        found = self.stages(i, level).get(tuple(column for column, _ in pairs))
        return 0.0 if found is None else float(found[tuple(state for _, state in pairs)])

    def n_stages(self, i: int, level: Level) -> Floats:
        """Return the distribution of the number of stages of variable `i`: the entry `k` is the probability of `k`."""
        if (i, level) not in self._numbers:
            self._numbers[i, level] = self.weights(i, level).n_stages()
        return self._numbers[i, level]

    def mean_parameters(self, i: int, columns: tuple[int, ...]) -> Floats:
        """Return the posterior means of the parameters in the contexts of these columns, shape ``(d, ..., d_i)``."""
        if (i, columns) not in self._means:
            cards = [self.scores.table.cards[c] for c in (*columns, i)]
            sets = np.array([columns], dtype=np.intp)
            counts = joint_counts(self.scores.counts, i, sets).reshape(cards)
            cell = self.scores.ess / prod(cards)
            self._means[i, columns] = (counts + cell) / (counts.sum(axis=-1, keepdims=True) + cell * cards[-1])
        return self._means[i, columns]

    def predictive(self, i: int, levels: Sequence[Level], codes: NDArray[np.integer]) -> Floats:
        """Return ``P(x_i | x_L, data)`` for each row, averaged over all stagings of each level: shape (levels, rows).

        The row lies in a stage with the context variables ``S`` with the probability that its states of ``S`` are a
        stage, and there its state has the posterior mean of that stage's parameter.
        """
        if self.scores.beta > 2:
            return np.array([self._predictive_by_stages(i, level, codes) for level in levels])
        from cslearn._kernels.levels import new_state
        from cslearn._kernels.predictive import predictive_of_levels

        columns, weights = self._rows(i)
        before = np.zeros((len(levels), len(self.scores.candidates[i])), dtype=np.bool_)
        for row, level in zip(before, levels, strict=True):
            row[list(level)] = True
        found = np.empty((len(levels), len(codes)))
        predictive_of_levels(
            self._problem,
            new_state(self._problem),  # type: ignore[no-untyped-call]
            i,
            before,
            columns,
            weights,
            float(self.scores.ess),
            float(self.scores.gamma),
            np.array(codes.T, dtype=np.int32, order="C"),
            SMALLEST_SHARE,
            found,
        )
        return np.maximum(found, np.finfo(float).tiny)

    def _rows(self, i: int) -> tuple[NDArray[np.int32], Floats]:
        """Return the columns of the rows that count for a variable, and their weights."""
        counts = self.scores.counts
        if not isinstance(counts, BitCounts):
            raise InputError("predictions averaged over exact sums need the rows in memory, and these are elsewhere")
        codes, weights = counts.columns(i)
        if id(codes) not in self._columns:
            self._columns[id(codes)] = codes.astype(np.int32)
        return self._columns[id(codes)], weights

    def _predictive_by_stages(self, i: int, level: Level, codes: NDArray[np.integer]) -> Floats:
        total = np.zeros(len(codes))
        for columns, probabilities in self.stages(i, level).items():
            at = tuple(codes[:, c] for c in columns)
            total += probabilities[at] * self.mean_parameters(i, columns)[(*at, codes[:, i])]
        return np.maximum(total, np.finfo(float).tiny)


@dataclass(frozen=True)
class GrownLevels(Levels):
    """The same where stagings are prunings of grown trees.

    Parameters
    ----------
    scores : GrownScores
    """

    scores: GrownScores
    _kept: dict[tuple[int, Level], GrownLevel] = field(default_factory=dict, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return GrownLevels, (self.scores,)

    @cached_property
    def _engine(self) -> GrownEngine:
        return GrownEngine(self.scores.contexts)

    @property
    def cost_of_edges(self) -> int:
        """About how many operations :meth:`edges` takes for an order: a walk through the tree for each edge."""
        # Taken for an order of average depth: trees differ, but not by orders of magnitude.
        return GROWN_EDGE_WORK * sum(map(len, self.scores.candidates)) + 1

    def edges(self, orders: NDArray[np.integer]) -> Floats:
        """Return how probable each context variable is given each of some orders, shape (orders, p, p)."""
        return self._engine.edges_of_orders(orders)

    def weights(self, i: int, level: Level) -> GrownLevel:  # type: ignore[override]
        """Return the grown tree of a variable; those that were asked for last are kept."""
        if (i, level) not in self._kept:
            if len(self._kept) >= MOST_KEPT:
                self._kept.pop(next(iter(self._kept)))
            self._kept[i, level] = self.scores.level_weights(i, np.array(level, dtype=np.intp))
        return self._kept[i, level]

    def stage_chance(self, i: int, level: Level, pairs: Sequence[tuple[int, int]]) -> float:
        """Return the probability that a context, as pairs of column and state by ascending columns, is a stage."""
        columns = self.scores.candidates[i][list(level)].tolist()
        if not {column for column, _ in pairs} <= set(columns):
            return 0.0
        wanted = tuple((columns.index(column), state) for column, state in pairs)
        return self.weights(i, level).stage_probabilities().get(wanted, 0.0)

    def predictive(self, i: int, levels: Sequence[Level], codes: NDArray[np.integer]) -> Floats:
        """Return ``P(x_i | x_L, data)`` for each row, averaged over all prunings of the grown tree of each level."""
        rows = np.arange(len(codes))
        found = [self.scores.predicting_level(i, np.array(level, dtype=np.intp)).predictive(codes) for level in levels]
        return np.array([chances[rows, codes[:, i]] for chances in found])


def levels_of(scores: Scores, problem: Any = None) -> Levels:
    """Return what is computed of levels with these scores; `problem` is as in :class:`Levels`."""
    return GrownLevels(scores) if isinstance(scores, GrownScores) else Levels(scores, problem)
