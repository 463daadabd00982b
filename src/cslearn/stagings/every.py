"""Sum, maximum, draws and stage probabilities over *all* stagings of a level, also those that no decision tree draws.

Here the weight of a staging is the product of the weights of its stages. Up to two context variables every staging is
drawn by a tree. Beyond, there are two ways.

**Binary variables, at most three in a context.** Besides the trees there are two families (the mathematics page has the
proof). For each triple of variables, two opposite corners of the cube are stages, and the six others make three edges
around them, in one of two ways; each edge is a stage, or is split once more on a variable outside of the triple:

    sum over triples, 4 pairs of corners and 2 ways of
        z(corner) z(corner') prod over edges e of [ z(e) + sum_v prod_x z(e, x_v) ]

For each quadruple there are eight stagings with eight stages of three variables each. So sums take O(m^4) for `m`
variables.

**Otherwise** by exact cover (:mod:`cslearn.stagings.cover`): the partial covers that can be met make a graph, the same
for all weights, in which a staging is a path from nothing covered to everything covered. Sums, maxima and probabilities
are passes over that graph, one layer at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cache, cached_property, lru_cache
from itertools import combinations, permutations, product
from math import comb, inf, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cslearn._numerics import log_sum_exp, log_sum_exp_axis
from cslearn.errors import LimitError
from cslearn.stagings.counting import count_binary_others
from cslearn.stagings.cover import BoxCover, Pairs
from cslearn.stagings.level import (
    SMALLEST_PROBABILITY,
    TIE_TOLERANCE,
    LevelWeights,
    draw_log,
    from_generating_function,
    inclusion_exclusion,
)

__all__ = [
    "AllWeights",
    "CoverWeights",
    "all_weights",
    "binary_others",
    "cover_fits",
    "draw_binary_other",
    "is_binary_three",
    "log_sum_of_binary_others",
    "tree_weights",
]

# Partial covers of a level, in learning: it takes seconds to find them, once for each kind of level.
LEARNING_LIMIT = 120_000

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


def all_weights(cards: Ints, stages: Sequence[Floats]) -> LevelWeights | AllWeights:
    """Return the weights of all stagings of a level.

    Parameters
    ----------
    cards : ndarray of int, shape (m,)
        Cardinalities of the variables, each at least 2.
    stages : sequence of ndarray
        ``stages[t]`` has shape ``(m, d) * t`` and the log-weights of the stages with `t` context variables, for each
        ``t`` up to the context bound, as in :class:`cslearn.stagings.level.LevelWeights`.
    """
    stages = stages[: len(cards) + 1]
    beta = len(stages) - 1
    if beta <= 2:
        return tree_weights(cards, stages)
    if is_binary_three(cards, beta):
        return BinaryWeights(cards, stages)
    return CoverWeights.of_level(cards, stages)


def is_binary_three(cards: Sequence[int] | Ints, beta: int) -> bool:
    """Tell whether there is a closed form for all stagings."""
    return beta == 3 and max(cards, default=2) == 2


def tree_weights(cards: Ints, stages: Sequence[Floats]) -> LevelWeights:
    """Return the weights of the stagings that a decision tree draws."""
    beta = len(stages) - 1
    if not beta:
        return LevelWeights(cards, stages)
    exists = np.arange(stages[-1].shape[-1]) < cards[:, None]
    deepest = np.where(exists, stages[-1], 0.0).sum(axis=-1)
    return LevelWeights(cards, stages[:-1], deepest, inclusion_exclusion(beta))


class AllWeights(ABC):
    """What :class:`cslearn.stagings.level.LevelWeights` computes, for all stagings."""

    cards: Ints
    beta: int

    @property
    def size(self) -> int:
        """Number of variables of the level."""
        return len(self.cards)

    @abstractmethod
    def log_sum(self) -> float:
        """Return the log of the sum over all stagings of the product of the weights of their stages."""

    @abstractmethod
    def maximum(self, tolerance: float = TIE_TOLERANCE) -> tuple[float, list[Pairs]]:
        """Return the largest log-weight of a staging, and of tied ones one with the fewest stages."""

    @abstractmethod
    def draw(self, rng: np.random.Generator) -> list[Pairs]:
        """Draw a staging with probability proportional to its weight."""

    @abstractmethod
    def stage_probabilities(self, smallest: float = SMALLEST_PROBABILITY) -> dict[tuple[int, ...], Floats]:
        """Return the probability of each context to be a stage, by the ascending positions of its variables."""

    @abstractmethod
    def generating_function(self, u: complex) -> complex:
        """Return the expectation of `u` to the power of the number of stages."""

    def n_stages(self) -> Floats:
        """Return the distribution of the number of stages: the entry `k` is the probability of `k` stages."""
        return from_generating_function(self.generating_function, self.cards, self.beta)

    @abstractmethod
    def without(self, j: int) -> LevelWeights | AllWeights:
        """Return the weights, which stay the same, of the stagings in which no stage holds variable `j`."""

    def unused_probabilities(self) -> Floats:
        """Return for each variable the probability that no stage of a staging drawn with these weights holds it."""
        total = self.log_sum()
        return np.clip(np.exp([self.without(j).log_sum() - total for j in range(self.size)]), 0.0, 1.0)


def _left_out(cards: Ints, stages: Sequence[Floats], j: int) -> tuple[Ints, list[Floats]]:
    others = np.delete(np.arange(len(cards)), j)
    kept = []
    for t, values in enumerate(stages):
        states = np.arange(values.shape[-1] if t else 0)
        kept.append(values[np.ix_(*[others, states] * t)] if t else values)
    return cards[others], kept


# ------------------------------------------------------------------ binary variables, three in a context
class _Skeletons(NamedTuple):
    """The stagings of `m` binary variables that no tree draws, as positions in flat tables.

    ``corners[s]``, shape (2,), and ``edges[s]``, shape (3,), are stages of three and of two variables, ``third[s]`` the
    variable of the triple that each edge does not hold. ``eights[s]``, shape (8,), are stages of three variables.
    """

    triple: Ints
    corners: Ints
    edges: Ints
    third: Ints
    eights: Ints
    quadruple: Ints


@cache
def _rings() -> list[tuple[list[tuple[int, ...]], list[tuple[int | None, ...]]]]:
    """Return, for three variables, the two corners and three edges (None: free) of each of the eight skeletons."""
    found = []
    for corner in product((0, 1), repeat=3):
        if corner[0]:
            continue
        opposite = tuple(1 - x for x in corner)
        # Around the corners: one step away from the first, then two, and so on.
        for turn in ((0, 1, 2), (0, 2, 1)):
            edges: list[tuple[int | None, ...]] = []
            for k in range(3):
                here, then = turn[k], turn[(k + 1) % 3]
                edge: list[int | None] = list(corner)
                edge[here], edge[then] = opposite[here], None
                edges.append(tuple(edge))
            found.append(([corner, opposite], edges))
    return found


@cache
def _eights() -> list[list[tuple[int | None, ...]]]:
    """Return, for four variables, the eight stagings with eight stages of three variables that no tree draws."""
    words = ("000*", "0*10", "*011", "*100", "01*1", "10*0", "1*01", "111*")
    cells = [tuple(None if x == "*" else int(x) for x in word) for word in words]
    found = set()
    for places in permutations(range(4)):
        for flips in product((0, 1), repeat=4):
            found.add(
                frozenset(
                    tuple(None if (x := cell[k]) is None else x ^ flip for k, flip in zip(places, flips, strict=True))
                    for cell in cells
                )
            )
    return [sorted(staging, key=str) for staging in sorted(found, key=lambda staging: sorted(map(str, staging)))]


@lru_cache(maxsize=32)
def _skeletons(m: int) -> _Skeletons:
    def position(variables: Sequence[int], states: Sequence[int | None]) -> int:
        at = 0
        for k, x in zip(variables, states, strict=True):
            if x is not None:
                at = (at * m + k) * 2 + x
        return at

    triple, corners, edges, third = [], [], [], []
    for variables in combinations(range(m), 3):
        for ends, ring in _rings():
            triple.append(variables)
            corners.append([position(variables, end) for end in ends])
            edges.append([position(variables, edge) for edge in ring])
            third.append([variables[edge.index(None)] for edge in ring])
    eights, quadruple = [], []
    for four in combinations(range(m), 4):
        for staging in _eights():
            quadruple.append(four)
            eights.append([position(four, cell) for cell in staging])

    def array(values: list[Any], width: int) -> Ints:
        return np.array(values, dtype=np.intp).reshape(len(values), width)

    return _Skeletons(
        array(triple, 3), array(corners, 2), array(edges, 3), array(third, 3), array(eights, 8), array(quadruple, 4)
    )


def _pairs(position: int, m: int, t: int) -> Pairs:
    """Return the context at a position of a flat table of shape ``(m, 2) * t``."""
    index = [int(n) for n in np.unravel_index(position, (m, 2) * t)]
    return tuple(zip(index[::2], index[1::2], strict=True))


class BinaryWeights(AllWeights):
    """Weights of all stagings of binary variables with at most three in a context: trees and the two families."""

    def __init__(self, cards: Ints, stages: Sequence[Floats]) -> None:
        self.cards, self.stages, self.beta = cards, list(stages), 3
        self.trees = tree_weights(cards, stages)

    def without(self, j: int) -> LevelWeights | AllWeights:
        """Return the weights of the stagings in which no stage holds variable `j`."""
        return all_weights(*_left_out(self.cards, self.stages, j))

    @cached_property
    def _options(self) -> Floats:
        """For each skeleton and edge: the edge as a stage, then its splits on each variable, as log-weights."""
        m, known = self.size, _skeletons(self.size)
        splits = self.stages[3].sum(axis=-1).reshape(4 * m * m, m)
        below = splits[known.edges]
        own = np.array([[_variables_of(e, m) for e in range(4 * m * m)]])[0]
        everyone = np.arange(m)
        taken = (everyone == known.third[..., None]) | (own[known.edges][..., None] == everyone).any(axis=-2)
        below = np.where(taken, -inf, below)
        return np.concatenate([self.stages[2].reshape(-1)[known.edges][..., None], below], axis=-1)

    def _of_skeletons(self, edges: Floats) -> tuple[Floats, Floats]:
        """Return the log-weights of the skeletons of triples, given those of their edges, and of quadruples."""
        known, three = _skeletons(self.size), self.stages[3].reshape(-1)
        return three[known.corners].sum(axis=-1) + edges.sum(axis=-1), three[known.eights].sum(axis=-1)

    @cached_property
    def _sums(self) -> tuple[float, Floats, Floats, Floats]:
        """The log sums over trees, over each edge of each skeleton, over each skeleton, over each quadruple's."""
        edges = log_sum_exp_axis(self._options, axis=-1)
        return (self.trees.log_sum(), edges, *self._of_skeletons(edges))

    def log_sum(self) -> float:
        """Return the log of the sum over all stagings of the product of the weights of their stages."""
        trees, _, triples, quadruples = self._sums
        return log_sum_exp(np.concatenate([[trees], triples, quadruples]))

    def maximum(self, tolerance: float = TIE_TOLERANCE) -> tuple[float, list[Pairs]]:
        """Return the largest log-weight of a staging, and of tied ones one with the fewest stages."""
        value, contexts = self.trees.maximum(tolerance)
        options = self._options
        most = options.max(axis=-1)
        with np.errstate(invalid="ignore"):
            stops = options[..., 0] >= most - tolerance * np.maximum(1.0, np.abs(most))
        edges = np.where(stops, options[..., 0], most)
        triples, quadruples = self._of_skeletons(edges)
        values = np.concatenate([[value], triples, quadruples])
        numbers = np.concatenate([[len(contexts)], 2 + (2 - stops).sum(axis=-1), np.full(len(quadruples), 8)])
        top = values.max()
        if top == -inf:
            return value, contexts
        tied = values >= top - tolerance * max(1.0, abs(top))
        pick = int(np.where(tied, numbers, np.iinfo(np.intp).max).argmin())
        if not pick:
            return value, contexts
        splits = np.where(stops, 0, options.argmax(axis=-1))
        return float(values[pick]), self._contexts(pick - 1, splits)

    def _contexts(self, skeleton: int, splits: Ints) -> list[Pairs]:
        """Return the stages of a skeleton, with its edges split on variables ``splits[skeleton] - 1`` (0: not)."""
        m, known = self.size, _skeletons(self.size)
        if skeleton >= len(known.triple):
            return [_pairs(cell, m, 3) for cell in known.eights[skeleton - len(known.triple)]]
        found = [_pairs(corner, m, 3) for corner in known.corners[skeleton]]
        for edge, split in zip(known.edges[skeleton], splits[skeleton], strict=True):
            pairs = _pairs(edge, m, 2)
            found += [(*pairs, (int(split) - 1, x)) for x in (0, 1)] if split else [pairs]
        return found

    def draw(self, rng: np.random.Generator) -> list[Pairs]:
        """Draw a staging with probability proportional to its weight."""
        trees, _, triples, quadruples = self._sums
        pick = draw_log(np.concatenate([[trees], triples, quadruples]), rng)
        if not pick:
            return self.trees.draw(rng)
        splits = np.zeros((len(triples), 3), dtype=np.intp)
        if pick <= len(triples):
            splits[pick - 1] = [draw_log(options, rng) for options in self._options[pick - 1]]
        return self._contexts(pick - 1, splits)

    def generating_function(self, u: complex) -> complex:
        """Return the expectation of `u` to the power of the number of stages."""
        trees, edges, triples, quadruples = self._sums
        total = self.log_sum()
        with np.errstate(invalid="ignore"):
            whole = np.nan_to_num(np.exp(self._options[..., 0] - edges))
        # Two corners, and three edges of which each is one stage or two.
        of_triples = np.exp(triples - total) @ (u**2 * (whole * u + (1 - whole) * u**2).prod(axis=-1))
        of_quadruples = np.exp(quadruples - total).sum() * u**8
        return complex(np.exp(trees - total) * self.trees.generating_function(u) + of_triples + of_quadruples)

    def stage_probabilities(self, smallest: float = SMALLEST_PROBABILITY) -> dict[tuple[int, ...], Floats]:
        """Return the probability of each context to be a stage, by the ascending positions of its variables."""
        m, known, total = self.size, _skeletons(self.size), self.log_sum()
        trees, edges, triples, quadruples = self._sums
        share = np.exp(trees - total)
        found = {key: share * values for key, values in self.trees.stage_probabilities(smallest).items()}
        chance = np.exp(triples - total)
        with np.errstate(invalid="ignore"):
            of_options = np.where(chance[:, None, None] > 0, np.exp(self._options - edges[..., None]), 0.0)
        of_options *= chance[:, None, None]
        flat_two, flat_three, splits = np.zeros(4 * m * m), np.zeros(8 * m**3), np.zeros((4 * m * m, m))
        np.add.at(flat_two, known.edges, of_options[..., 0])
        np.add.at(flat_three, known.corners, chance[:, None])
        np.add.at(flat_three, known.eights, np.exp(quadruples - total)[:, None])
        np.add.at(splits, known.edges, of_options[..., 1:])
        two = flat_two.reshape(m, 2, m, 2)
        # An edge stands with its variables ascending, and the one that it is split on comes last.
        three = flat_three.reshape((m, 2) * 3) + splits.reshape(m, 2, m, 2, m)[..., None]
        for a, b in combinations(range(m), 2):
            _add(found, (a, b), two[a, :, b, :], smallest)
        for a, b, c in combinations(range(m), 3):
            values = three[a, :, b, :, c, :] + three[a, :, c, :, b, :].transpose(0, 2, 1)
            _add(found, (a, b, c), values + three[b, :, c, :, a, :].transpose(2, 0, 1), smallest)
        return found


def _variables_of(edge: int, m: int) -> tuple[int, int]:
    return edge // (4 * m), edge // 2 % m


def _add(found: dict[tuple[int, ...], Floats], key: tuple[int, ...], values: Floats, smallest: float) -> None:
    if values.max() > smallest or key in found:
        found[key] = found[key] + values if key in found else values


def log_sum_of_binary_others(m: int, two: float, three: float) -> float:
    """Return the log sum over the stagings that no tree draws, if weights depend on the number of variables alone.

    Parameters
    ----------
    m : int
        Number of binary variables of the level.
    two, three : float
        The log-weight of a stage with two, and with three context variables.
    """
    terms = []
    if m >= 3:
        edge = np.logaddexp(two, log(m - 3) + 2 * three) if m > 3 else two
        terms.append(log(8 * comb(m, 3)) + 2 * three + 3 * edge)
    if m >= 4:
        terms.append(log(8 * comb(m, 4)) + 8 * three)
    return log_sum_exp(terms)


def draw_binary_other(n: int, rng: np.random.Generator) -> list[Pairs]:
    """Draw one of the stagings of `n` binary variables that no tree draws, all with equal probability."""
    of_triples = 8 * comb(n, 3) * (n - 2) ** 3
    if rng.random() * count_binary_others(n) >= of_triples:
        variables = np.sort(rng.choice(n, 4, replace=False)).tolist()
        staging = _eights()[int(rng.integers(8))]
        return [tuple((k, x) for k, x in zip(variables, cell, strict=True) if x is not None) for cell in staging]
    variables = np.sort(rng.choice(n, 3, replace=False)).tolist()
    corners, edges = _rings()[int(rng.integers(8))]
    found: list[Pairs] = [tuple(zip(variables, corner, strict=True)) for corner in corners]
    outside = [None, *(k for k in range(n) if k not in variables)]
    for edge in edges:
        pairs = tuple((k, x) for k, x in zip(variables, edge, strict=True) if x is not None)
        split = outside[int(rng.integers(len(outside)))]
        found += [pairs] if split is None else [(*pairs, (split, x)) for x in (0, 1)]
    return found


def binary_others(stages: Sequence[Floats], two: Floats, three: Floats, combine: np.ufunc) -> Floats:
    """Return the log sum or maximum over the stagings that no tree draws, for every subset of a candidate set.

    Parameters
    ----------
    stages : sequence of ndarray
        Log-weights as for :func:`all_weights`, of binary candidates with at most three in a context.
    two, three : ndarray, shape (m + 1,)
        What is added to the log-weight of a stage with two, and with three context variables, by the number of
        variables of the level.
    combine : ufunc
        ``numpy.logaddexp`` for sums, ``numpy.maximum`` for maxima.

    Returns
    -------
    ndarray, shape (2^m,)
        By subsets: numbers whose bits are positions in the candidate set.
    """
    m = stages[3].shape[0] if len(stages) > 3 else 0
    known = _skeletons(m)
    sizes = np.zeros(1, dtype=np.intp)
    for _ in range(m):
        sizes = np.concatenate([sizes, sizes + 1])
    flat_two, flat_three = (stages[t].reshape(-1) for t in (2, 3))
    found = np.full(1 << m, -inf)
    # The splits of each edge on the variables of each subset; those on its own variables are never read.
    splits = stages[3].sum(axis=-1).reshape(4 * m * m, m)
    by_subset = np.full((4 * m * m, 1 << m), -inf)
    for v in range(m):
        by_subset[:, 1 << v : 2 << v] = combine(by_subset[:, : 1 << v], splits[:, v, None])
    for first in range(0, len(known.triple), 8):
        of_triple = sum(1 << int(k) for k in known.triple[first])
        levels = np.flatnonzero((np.arange(1 << m) & of_triple) == of_triple)
        number = sizes[levels]
        rows = slice(first, first + 8)
        edges = combine(
            flat_two[known.edges[rows], None] + two[number],
            by_subset[known.edges[rows][..., None], levels & ~of_triple] + 2 * three[number],
        )
        values = flat_three[known.corners[rows]].sum(axis=-1)[:, None] + 2 * three[number] + edges.sum(axis=1)
        found[levels] = combine(found[levels], combine.reduce(values, axis=0))
    of_subset = np.full(1 << m, -inf)
    for first in range(0, len(known.quadruple), 8):
        values = flat_three[known.eights[first : first + 8]].sum(axis=-1)
        of_subset[sum(1 << int(k) for k in known.quadruple[first])] = combine.reduce(values)
    for v in range(m):
        halves = of_subset.reshape(-1, 2, 1 << v)
        halves[:, 1] = combine(halves[:, 1], halves[:, 0])
    return combine(found, of_subset + 8 * three[sizes])


# ------------------------------------------------------------------ small levels of any cardinalities
class _Cover(NamedTuple):
    """The covers of a level, found with the variables of most states first, and its contexts by their own positions."""

    box: BoxCover
    contexts: tuple[Pairs, ...]


@lru_cache(maxsize=256)
def _box(cards: tuple[int, ...], beta: int, limit: int | None) -> BoxCover:
    return BoxCover(cards, beta, limit)


@lru_cache(maxsize=256)
def _cover(cards: tuple[int, ...], beta: int, limit: int | None) -> _Cover:
    # With the largest cardinalities first there are far fewer partial covers.
    places = sorted(range(len(cards)), key=lambda k: -cards[k])
    box = _box(tuple(cards[k] for k in places), beta, limit)
    return _Cover(box, tuple(tuple(sorted((places[k], x) for k, x in context)) for context in box.contexts))


def cover_fits(cards: Sequence[int], beta: int) -> bool:
    """Tell whether all stagings of a level are within the limit of learning, or have a closed form."""
    beta = min(beta, len(cards))
    if beta <= 2 or is_binary_three(cards, beta):
        return True
    return _box_fits(tuple(sorted(cards, reverse=True)), beta)


@lru_cache(maxsize=1024)
def _box_fits(cards: tuple[int, ...], beta: int) -> bool:
    try:
        return _box(cards, beta, LEARNING_LIMIT).graph.n_covers > 0
    except LimitError:
        return False


class CoverWeights(AllWeights):
    """Weights of all stagings of a small level, by exact cover.

    Parameters
    ----------
    cards : sequence of int
        Cardinalities of the variables.
    beta : int
        Context bound.
    log_weight : callable
        The log-weight of a context, given as pairs of a position and a state by ascending positions.
    limit : int or None
        The most partial covers; by default those of learning, and with None those of :class:`BoxCover`.
    """

    def __init__(
        self,
        cards: Sequence[int] | Ints,
        beta: int,
        log_weight: Callable[[Pairs], float],
        limit: int | None = LEARNING_LIMIT,
    ) -> None:
        self.cards, self.beta, self.limit = np.array(cards, dtype=np.intp), min(beta, len(cards)), limit
        self.cover, self.contexts = _cover(tuple(map(int, cards)), self.beta, limit)
        self.log_weights = np.array([log_weight(context) for context in self.contexts], dtype=float)

    @classmethod
    def of_level(cls, cards: Ints, stages: Sequence[Floats]) -> CoverWeights:
        """Return the weights that stand in tables, as for :func:`all_weights`."""

        def log_weight(context: Pairs) -> float:
            return float(stages[len(context)][tuple(n for pair in context for n in pair)])

        return cls(cards, len(stages) - 1, log_weight)

    def without(self, j: int) -> LevelWeights | AllWeights:
        """Return the weights of the stagings in which no stage holds variable `j`."""
        weights = dict(zip(self.contexts, self.log_weights.tolist(), strict=True))
        return CoverWeights(
            np.delete(self.cards, j),
            self.beta,
            lambda context: weights[tuple((k + (k >= j), x) for k, x in context)],
            self.limit,
        )

    @cached_property
    def _sums(self) -> Floats:
        """The log sum over the ways to cover the rest, for each partial cover; the empty one comes last."""
        graph, values = self.cover.graph, np.zeros(self.cover.graph.n_covers)
        for covers, edges, starts in graph.layers():
            terms = self.log_weights[graph.context[edges]] + values[graph.rest[edges]]
            values[covers] = np.logaddexp.reduceat(terms, starts)
        return values

    def log_sum(self) -> float:
        """Return the log of the sum over all stagings of the product of the weights of their stages."""
        return float(self._sums[-1])

    def maximum(self, tolerance: float = TIE_TOLERANCE) -> tuple[float, list[Pairs]]:
        """Return the largest log-weight of a staging, and of tied ones one with the fewest stages."""
        graph = self.cover.graph
        values, numbers = np.zeros(graph.n_covers), np.zeros(graph.n_covers, dtype=np.intp)
        picks = np.zeros(graph.n_covers, dtype=np.intp)
        never = np.iinfo(np.intp).max
        for covers, edges, starts in graph.layers():
            terms = self.log_weights[graph.context[edges]] + values[graph.rest[edges]]
            top = np.maximum.reduceat(terms, starts)
            with np.errstate(invalid="ignore"):
                enough = np.where(np.isneginf(top), -inf, top - tolerance * np.maximum(1.0, np.abs(top)))
            lengths = np.diff(np.append(starts, len(terms)))
            tied = np.where(terms >= np.repeat(enough, lengths), numbers[graph.rest[edges]] + 1, never)
            fewest = np.minimum.reduceat(tied, starts)
            places = np.where(tied == np.repeat(fewest, lengths), np.arange(edges.start, edges.stop), never)
            picks[covers] = np.minimum.reduceat(places, starts)
            values[covers], numbers[covers] = top, fewest
        chosen, cover = [], graph.n_covers - 1
        while cover:
            chosen.append(self.contexts[graph.context[picks[cover]]])
            cover = int(graph.rest[picks[cover]])
        return float(values[-1]), chosen

    def draw(self, rng: np.random.Generator) -> list[Pairs]:
        """Draw a staging with probability proportional to its weight."""
        graph, values = self.cover.graph, self._sums
        chosen, cover = [], graph.n_covers - 1
        while cover:
            edges = slice(int(graph.start[cover]), int(graph.start[cover + 1]))
            weights = self.log_weights[graph.context[edges]] + values[graph.rest[edges]]
            edge = edges.start + draw_log(weights, rng)
            chosen.append(self.contexts[graph.context[edge]])
            cover = int(graph.rest[edge])
        return chosen

    def generating_function(self, u: complex) -> complex:
        """Return the expectation of `u` to the power of the number of stages."""
        graph, values = self.cover.graph, self._sums
        found = np.ones(graph.n_covers, dtype=complex)
        for covers, edges, starts in graph.layers():
            terms = self.log_weights[graph.context[edges]] + values[graph.rest[edges]]
            lengths = np.diff(np.append(starts, len(terms)))
            with np.errstate(invalid="ignore"):
                share = np.where(np.isneginf(terms), 0.0, np.exp(terms - np.repeat(values[covers], lengths)))
            found[covers] = np.add.reduceat(u * share * found[graph.rest[edges]], starts)
        return complex(found[-1])

    def stage_probabilities(self, smallest: float = SMALLEST_PROBABILITY) -> dict[tuple[int, ...], Floats]:
        """Return the probability of each context to be a stage, by the ascending positions of its variables."""
        graph, values = self.cover.graph, self._sums
        passing = np.zeros(graph.n_covers)
        passing[-1] = 1.0
        chances = np.zeros(len(self.contexts))
        for covers, edges, starts in reversed(list(graph.layers())):
            terms = self.log_weights[graph.context[edges]] + values[graph.rest[edges]]
            lengths = np.diff(np.append(starts, len(terms)))
            with np.errstate(invalid="ignore"):
                share = np.exp(terms - np.repeat(values[covers], lengths))
            share = np.where(np.isneginf(terms), 0.0, share) * np.repeat(passing[covers], lengths)
            chances += np.bincount(graph.context[edges], share, minlength=len(chances))
            passing += np.bincount(graph.rest[edges], share, minlength=len(passing))
        found: dict[tuple[int, ...], Floats] = {}
        for context, chance in zip(self.contexts, chances, strict=True):
            variables = tuple(k for k, _ in context)
            if variables not in found:
                found[variables] = np.zeros([self.cards[k] for k in variables])
            found[variables][tuple(x for _, x in context)] = chance
        return {key: probabilities for key, probabilities in found.items() if not key or probabilities.max() > smallest}
