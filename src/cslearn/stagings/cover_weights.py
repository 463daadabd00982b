"""Sum, maximum and draws over *all* stagings of a small level, also those that no decision tree draws.

Here the weight of a staging is the product of the weights of its stages. The partial covers that an exact cover
(:mod:`cslearn.stagings.cover`) can meet make a graph, the same for all weights, in which a staging is a path from
nothing covered to everything covered. Sums and maxima are passes over that graph, one layer at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cslearn.errors import LimitError
from cslearn.stagings.cover import BoxCover, Pairs
from cslearn.stagings.level import TIE_TOLERANCE, draw_log

__all__ = ["CoverWeights", "cover_fits", "is_binary_three"]

# Partial covers of a level that are found within seconds.
QUICK_LIMIT = 120_000

Floats = NDArray[np.float64]


class _Cover(NamedTuple):
    """The covers of a level, found with the variables of most states first, and its contexts by their own positions."""

    box: BoxCover
    contexts: tuple[Pairs, ...]


@lru_cache(maxsize=256)
def _cover(cards: tuple[int, ...], beta: int) -> _Cover:
    # With the largest cardinalities first there are far fewer partial covers.
    places = sorted(range(len(cards)), key=lambda k: -cards[k])
    box = BoxCover(tuple(cards[k] for k in places), beta)
    return _Cover(box, tuple(tuple(sorted((places[k], x) for k, x in context)) for context in box.contexts))


def is_binary_three(cards: Sequence[int], beta: int) -> bool:
    """Tell whether there is a closed form for the number of all stagings beyond two context variables."""
    return beta == 3 and max(cards, default=2) == 2


def cover_fits(cards: Sequence[int], beta: int) -> bool:
    """Tell whether stagings of a level are drawn within seconds, by exact cover or from a closed form."""
    beta = min(beta, len(cards))
    return beta <= 2 or is_binary_three(cards, beta) or _box_fits(tuple(sorted(cards, reverse=True)), beta)


@lru_cache(maxsize=1024)
def _box_fits(cards: tuple[int, ...], beta: int) -> bool:
    try:
        return BoxCover(cards, beta, QUICK_LIMIT).graph.n_covers > 0
    except LimitError:
        return False


class CoverWeights:
    """Weights of all stagings of a small level, by exact cover.

    Parameters
    ----------
    cards : sequence of int
        Cardinalities of the variables.
    beta : int
        Context bound.
    log_weight : callable
        The log-weight of a context, given as pairs of a position and a state by ascending positions.
    """

    def __init__(self, cards: Sequence[int], beta: int, log_weight: Callable[[Pairs], float]) -> None:
        self.cover, self.contexts = _cover(tuple(cards), min(beta, len(cards)))
        self.log_weights = np.array([log_weight(context) for context in self.contexts], dtype=float)

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
