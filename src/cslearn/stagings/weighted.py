"""The stagings of a level, listed or summed with weights, maximised or drawn.

One front for every context bound: the recursion of :mod:`cslearn.stagings.level` up to two context variables, that of
:mod:`cslearn.stagings.tree_weights` for decision trees beyond, and for all stagings exact cover
(:mod:`cslearn.stagings.cover_weights`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from math import inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn._numerics import RandomState, as_generator
from cslearn.errors import InputError, LimitError
from cslearn.stagings.counting import (
    Cards,
    StagingKind,
    candidate_cards,
    check_beta,
    check_kind,
    count,
    count_binary_others,
)
from cslearn.stagings.cover import BoxCover, Pairs
from cslearn.stagings.cover_weights import CoverWeights, is_binary_three
from cslearn.stagings.level import LevelWeights, inclusion_exclusion, two_variable_contexts
from cslearn.stagings.tree_weights import TreeWeights, layout, n_contexts
from cslearn.stagings.types import Context, Scope, Staging, as_scope
from cslearn.stagings.uniform import draw_binary_other, draw_uniform, draw_uniform_tree

__all__ = ["draw", "listing", "log_sum", "maximum"]

LogWeight = Callable[[Context], float] | Mapping[Context, float]

# Contexts whose weights are asked for: so many take a minute.
TABLE_LIMIT = 1 << 22


def listing(
    cards: Cards | Scope, beta: int, candidates: Iterable[Any] | None = None, *, kind: StagingKind = "all"
) -> Iterator[Staging]:
    """Yield every staging of a level whose contexts have at most `beta` variables, each once.

    Parameters
    ----------
    cards : sequence or mapping
        Cardinalities (or states) of the variables of the level.
    beta : int
        Context bound.
    candidates : iterable, optional
        The variables that may be context variables; all of them by default.
    kind : {"all", "tree"}
        All stagings, or those that a decision tree can draw; up to ``beta = 2`` these are all.

    Yields
    ------
    Staging
        Lazily, and always in the same order.

    Examples
    --------
    >>> from cslearn import stagings
    >>> for staging in stagings.listing({"a": 2, "b": 2}, beta=1):
    ...     print(staging)
    (always)
    a=0 | a=1
    b=0 | b=1
    """
    level = _Level(cards, beta, candidates, kind)
    if level.beta <= 2:
        shapes = _shapes(level.cards, level.beta)
        return (level.staging(two_variable_contexts(level.cards, shape)) for shape in shapes)
    if level.kind == "tree":
        everyone = tuple(range(len(level.cards)))
        return (level.staging(contexts) for contexts, _ in _trees(level.cards, (), everyone, level.beta))
    return map(level.staging, BoxCover(level.cards, level.beta).listing())


def log_sum(
    cards: Cards | Scope,
    beta: int,
    log_weight: LogWeight | None = None,
    candidates: Iterable[Any] | None = None,
    *,
    kind: StagingKind = "all",
) -> float:
    """Return the log of the sum, over all stagings of a level, of the product of the weights of their stages.

    Parameters
    ----------
    cards, beta, candidates, kind
        As in :func:`listing`.
    log_weight : callable or mapping, optional
        The natural logarithm of the weight of a context; ``-inf`` is a weight of zero. By default every weight is
        1 and the sum is the number of stagings.

    Returns
    -------
    float
        Minus infinity if all stagings have weight zero. The cost is O(m^2 d) for `m` candidates of cardinality
        `d` and ``beta <= 2``, and O(m^beta d^(beta - 1)) for trees beyond, once the weights are there.

    Examples
    --------
    >>> from math import exp, log
    >>> from cslearn import stagings
    >>> round(exp(stagings.log_sum([2, 2, 2], beta=2)))
    25
    >>> round(exp(stagings.log_sum([2, 2, 2], beta=2, log_weight=lambda context: -log(2))), 6)
    3.3125
    """
    level = _Level(cards, beta, candidates, kind)
    if log_weight is None:
        return log(count(level.cards, level.beta, kind=level.kind))
    return level.weights(log_weight).log_sum()


def maximum(
    cards: Cards | Scope,
    beta: int,
    log_weight: LogWeight,
    candidates: Iterable[Any] | None = None,
    *,
    kind: StagingKind = "all",
) -> tuple[float, Staging]:
    """Return the largest log-weight of a staging of a level, and the staging that attains it.

    Of stagings that are tied (up to a relative 1e-10) the one with the fewest stages is taken, then the first in
    a fixed order.

    Parameters
    ----------
    cards, beta, log_weight, candidates, kind
        As in :func:`log_sum`.

    Returns
    -------
    tuple of float and Staging

    Examples
    --------
    >>> from cslearn import stagings
    >>> weights = {"a=0": 1.0, "a=1, b=0": 2.0, "a=1, b=1": 2.0}
    >>> value, staging = stagings.maximum({"a": 2, "b": 2}, 2, lambda context: weights.get(str(context), -1.0))
    >>> print(value, "for", staging)
    5.0 for a=0 | a=1, b=0 | a=1, b=1
    """
    level = _Level(cards, beta, candidates, kind)
    value, contexts = level.weights(log_weight).maximum()
    if value == -inf:
        raise InputError("every staging of the level has weight zero: there is no best one")
    return value, level.staging(contexts)


def draw(
    cards: Cards | Scope,
    beta: int,
    log_weight: LogWeight | None = None,
    candidates: Iterable[Any] | None = None,
    *,
    kind: StagingKind = "all",
    size: int = 1,
    random_state: RandomState = None,
) -> list[Staging]:
    """Draw stagings of a level, independently and exactly, with probability proportional to their weight.

    Parameters
    ----------
    cards, beta, log_weight, candidates, kind
        As in :func:`log_sum`; without `log_weight` the draw is uniform over the stagings.
    size : int
        How many to draw.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    list of Staging

    Examples
    --------
    >>> from cslearn import stagings
    >>> print(stagings.draw([2, 3, 2], beta=2, random_state=1)[0])
    1=0, 2=0 | 1=0, 2=1 | 1=1, 2=0 | 1=1, 2=1 | 1=2, 0=0 | 1=2, 0=1
    """
    level = _Level(cards, beta, candidates, kind)
    rng = as_generator(random_state)
    if log_weight is None and (level.beta <= 2 or level.kind == "tree" or is_binary_three(level.cards, level.beta)):
        return [level.staging(level.draw_uniform(rng)) for _ in range(size)]
    weights = level.weights(log_weight)
    _check_some_weight(weights.log_sum())
    return [level.staging(weights.draw(rng)) for _ in range(size)]


class _Level:
    """The candidates of a level by position, and the way back to the names."""

    def __init__(self, cards: Cards | Scope, beta: int, candidates: Iterable[Any] | None, kind: str) -> None:
        self.scope = as_scope(cards)
        sizes = {variable: len(states) for variable, states in self.scope.items()}
        chosen = candidate_cards(sizes, candidates)
        self.variables = tuple(chosen)
        self.cards = tuple(chosen.values())
        self.beta = min(check_beta(beta), len(self.cards))
        self.kind = check_kind(kind)

    def context(self, pairs: Pairs) -> Context:
        named = ((self.variables[k], x) for k, x in pairs)
        return Context((variable, self.scope[variable][x]) for variable, x in named)

    def staging(self, contexts: Iterable[Pairs]) -> Staging:
        return Staging.trusted(self.scope, map(self.context, contexts))

    def log_weight(self, pairs: Pairs, log_weight: LogWeight | None) -> float:
        """Return the log-weight of a context, whose variables are in the order of the level."""
        if log_weight is None:
            return 0.0
        value = float((log_weight.__getitem__ if isinstance(log_weight, Mapping) else log_weight)(self.context(pairs)))
        if value == inf or value != value:
            raise InputError("a log-weight of a context must be a number below infinity")
        return value

    def weights(self, log_weight: LogWeight | None) -> LevelWeights | TreeWeights | CoverWeights:
        m, d, beta = len(self.cards), max(self.cards, default=0), self.beta
        if beta > 2 and self.kind == "all":
            return CoverWeights(self.cards, beta, lambda pairs: self.log_weight(pairs, log_weight))
        number = n_contexts(self.cards, beta)
        if number > TABLE_LIMIT:
            raise LimitError(
                f"there are {number:,} contexts of up to {beta} of {m} variables with up to {d} states; they are"
                f" limited to {TABLE_LIMIT:,}. Use a smaller beta or fewer candidates."
            )
        places = layout(self.cards, beta)
        flat = np.array(
            [
                self.log_weight(tuple(zip(own, states, strict=True)), log_weight)
                for own in places.sets
                for states in product(*(range(self.cards[k]) for k in own))
            ]
        )
        sizes = np.array(self.cards, dtype=np.intp)
        if beta > 2:
            return TreeWeights(sizes, flat, inclusion_exclusion(beta))
        return self._two_at_most(sizes, places.blocks(flat))

    def _two_at_most(self, sizes: NDArray[np.intp], blocks: Mapping[tuple[int, ...], NDArray[Any]]) -> LevelWeights:
        """Return the weights as the recursion for at most two context variables wants them."""
        m, d, beta = len(sizes), max(self.cards, default=1), self.beta
        stages: list[NDArray[np.float64]] = [blocks[()], np.zeros((m, d))][: max(beta, 1)]
        deepest: NDArray[np.float64] = np.zeros((m, d, m) if beta == 2 else m)
        for own, values in blocks.items():
            if len(own) == 1 and beta == 1:
                deepest[own[0]] = values.sum()
            elif len(own) == 1:
                stages[1][own[0], : len(values)] = values
            elif len(own) == 2:
                k, j = own
                deepest[k, : self.cards[k], j] = values.sum(axis=1)
                deepest[j, : self.cards[j], k] = values.sum(axis=0)
        return LevelWeights(sizes, stages, deepest if beta else None, inclusion_exclusion(beta))

    def draw_uniform(self, rng: np.random.Generator) -> list[Pairs]:
        """Draw one of the stagings, all with equal probability."""
        if self.beta <= 2:
            return draw_uniform(self.cards, self.beta, rng)
        if self.kind == "all":
            others = count_binary_others(len(self.cards))
            if rng.random() < others / count(self.cards, 3):
                return draw_binary_other(len(self.cards), rng)
        return draw_uniform_tree(self.cards, self.beta, rng)


def _trees(
    cards: tuple[int, ...], prefix: Pairs, left: tuple[int, ...], beta: int
) -> Iterator[tuple[list[Pairs], frozenset[int]]]:
    """Yield the stagings that trees draw below a context, each once, and the further variables that all stages hold.

    Of these the first is taken as the root.
    """
    yield [prefix], frozenset()
    for root in left if beta else ():
        rest = tuple(k for k in left if k != root)
        for contexts, common in _below_root(cards, prefix, root, rest, beta - 1):
            if not common or root < min(common):
                yield contexts, common | {root}


def _below_root(
    cards: tuple[int, ...], prefix: Pairs, root: int, left: tuple[int, ...], beta: int, x: int = 0
) -> Iterator[tuple[list[Pairs], frozenset[int]]]:
    """Yield the same for what stands below the states of a root, from `x` on, together."""
    for contexts, common in _trees(cards, (*prefix, (root, x)), left, beta):
        if x + 1 == cards[root]:
            yield contexts, common
        else:
            for others, theirs in _below_root(cards, prefix, root, left, beta, x + 1):
                yield contexts + others, common & theirs


def _shapes(cards: tuple[int, ...], beta: int) -> Iterator[tuple[int, ...] | None]:
    """Yield the stagings with at most two context variables as (root, split or -1 for each state), each once."""
    yield None
    if beta == 0:
        return
    for k in range(len(cards)):
        others = [j for j in range(len(cards)) if j != k] if beta == 2 else []
        for splits in product([-1, *others], repeat=cards[k]):
            full_pair = splits[0] >= 0 and len(set(splits)) == 1
            if not (full_pair and splits[0] < k):
                yield (k, *splits)


def _check_some_weight(log_total: float) -> None:
    if log_total == -inf:
        raise InputError("every staging of the level has weight zero: nothing can be drawn")
