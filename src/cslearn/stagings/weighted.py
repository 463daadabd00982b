"""All stagings of a level, listed or summed with weights, maximised or drawn.

One front for every context bound: the recursion of :mod:`cslearn.stagings.level` up to two context variables, the
exact cover of :mod:`cslearn.stagings.cover` beyond.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import permutations, product
from math import inf
from typing import Any

import numpy as np

from cslearn._numerics import RandomState, as_generator
from cslearn.errors import InputError
from cslearn.stagings.counting import Cards, candidate_cards, check_beta
from cslearn.stagings.cover import BoxCover, Pairs
from cslearn.stagings.every import CoverWeights
from cslearn.stagings.level import LevelWeights, draw_uniform, inclusion_exclusion, two_variable_contexts
from cslearn.stagings.types import Context, Scope, Staging, as_scope

__all__ = ["draw", "listing", "log_sum", "maximum"]

LogWeight = Callable[[Context], float] | Mapping[Context, float]


def listing(cards: Cards | Scope, beta: int, candidates: Iterable[Any] | None = None) -> Iterator[Staging]:
    """Yield every staging of a level whose contexts have at most `beta` variables, each once.

    Parameters
    ----------
    cards : sequence or mapping
        Cardinalities (or states) of the variables of the level.
    beta : int
        Context bound.
    candidates : iterable, optional
        The variables that may be context variables; all of them by default.

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
    level = _Level(cards, beta, candidates)
    if level.beta <= 2:
        shapes = _shapes(level.cards, level.beta)
        return (level.staging(two_variable_contexts(level.cards, shape)) for shape in shapes)
    return map(level.staging, BoxCover(level.cards, level.beta).listing())


def log_sum(
    cards: Cards | Scope,
    beta: int,
    log_weight: LogWeight | None = None,
    candidates: Iterable[Any] | None = None,
) -> float:
    """Return the log of the sum, over all stagings of a level, of the product of the weights of their stages.

    Parameters
    ----------
    cards, beta, candidates
        As in :func:`listing`.
    log_weight : callable or mapping, optional
        The natural logarithm of the weight of a context; ``-inf`` is a weight of zero. By default every weight is
        1 and the sum is the number of stagings.

    Returns
    -------
    float
        Minus infinity if all stagings have weight zero. The cost is O(m^2 d) for `m` candidates of cardinality
        `d` and ``beta <= 2``, once the weights are there.

    Examples
    --------
    >>> from math import exp, log
    >>> from cslearn import stagings
    >>> round(exp(stagings.log_sum([2, 2, 2], beta=2)))
    25
    >>> round(exp(stagings.log_sum([2, 2, 2], beta=2, log_weight=lambda context: -log(2))), 6)
    3.3125
    """
    level = _Level(cards, beta, candidates)
    if level.beta <= 2:
        return level.weights(log_weight).log_sum()
    return level.cover_weights(log_weight).log_sum()


def maximum(
    cards: Cards | Scope,
    beta: int,
    log_weight: LogWeight,
    candidates: Iterable[Any] | None = None,
) -> tuple[float, Staging]:
    """Return the largest log-weight of a staging of a level, and the staging that attains it.

    Of stagings that are tied (up to a relative 1e-10) the one with the fewest stages is taken, then the first in
    a fixed order.

    Parameters
    ----------
    cards, beta, log_weight, candidates
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
    level = _Level(cards, beta, candidates)
    if level.beta <= 2:
        value, contexts = level.weights(log_weight).maximum()
    else:
        value, contexts = level.cover_weights(log_weight).maximum()
    if value == -inf:
        raise InputError("every staging of the level has weight zero: there is no best one")
    return value, level.staging(contexts)


def draw(
    cards: Cards | Scope,
    beta: int,
    log_weight: LogWeight | None = None,
    candidates: Iterable[Any] | None = None,
    *,
    size: int = 1,
    random_state: RandomState = None,
) -> list[Staging]:
    """Draw stagings of a level, independently and exactly, with probability proportional to their weight.

    Parameters
    ----------
    cards, beta, log_weight, candidates
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
    level = _Level(cards, beta, candidates)
    rng = as_generator(random_state)
    if level.beta <= 2 and log_weight is None:
        return [level.staging(draw_uniform(level.cards, level.beta, rng)) for _ in range(size)]
    weights = level.weights(log_weight) if level.beta <= 2 else level.cover_weights(log_weight)
    _check_some_weight(weights.log_sum())
    return [level.staging(weights.draw(rng)) for _ in range(size)]


class _Level:
    """The candidates of a level by position, and the way back to the names."""

    def __init__(self, cards: Cards | Scope, beta: int, candidates: Iterable[Any] | None) -> None:
        self.scope = as_scope(cards)
        sizes = {variable: len(states) for variable, states in self.scope.items()}
        chosen = candidate_cards(sizes, candidates)
        self.variables = tuple(chosen)
        self.cards = tuple(chosen.values())
        self.beta = min(check_beta(beta), len(self.cards))

    def context(self, pairs: Pairs) -> Context:
        named = ((self.variables[k], x) for k, x in pairs)
        return Context((variable, self.scope[variable][x]) for variable, x in named)

    def staging(self, contexts: Iterable[Pairs]) -> Staging:
        return Staging.trusted(self.scope, map(self.context, contexts))

    def log_weights(self, contexts: Iterable[Pairs], log_weight: LogWeight | None) -> list[float]:
        if log_weight is None:
            return [0.0 for _ in contexts]
        look_up = log_weight.__getitem__ if isinstance(log_weight, Mapping) else log_weight
        # Contexts are handed out with their variables in the order of the level.
        values = [float(look_up(self.context(tuple(sorted(pairs))))) for pairs in contexts]
        if any(value == inf or value != value for value in values):
            raise InputError("a log-weight of a context must be a number below infinity")
        return values

    def cover_weights(self, log_weight: LogWeight | None) -> CoverWeights:
        cover = BoxCover(self.cards, self.beta)
        return CoverWeights(cover, self.log_weights(cover.contexts, log_weight))

    def weights(self, log_weight: LogWeight | None) -> LevelWeights:
        m, d, beta = len(self.cards), max(self.cards, default=0), self.beta
        stages = [np.zeros((m, d) * t) for t in range(max(beta, 1))]
        deepest = np.zeros((*((m, d) * (beta - 1)), m)) if beta else None
        if log_weight is not None:
            for t in range(beta + 1):
                for variables in permutations(range(m), t):
                    for states in product(*(range(self.cards[k]) for k in variables)):
                        pairs = tuple(zip(variables, states, strict=True))
                        (value,) = self.log_weights([pairs], log_weight)
                        at = tuple(number for pair in pairs for number in pair)
                        if t < beta or not beta:
                            stages[t][at] = value
                        elif deepest is not None:
                            deepest[at[:-1]] += value
        return LevelWeights(np.array(self.cards, dtype=np.intp), stages, deepest, inclusion_exclusion(beta))


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
