"""Sums, maxima, draws and lists over *all* stagings of a small level, by exact cover.

The outcomes of the level are the cells of a box and a context is the set of cells that agree with it. A staging
is an exact cover of the box by contexts. The first uncovered cell must be covered by one of the contexts through
it, so a recursion on the set of uncovered cells, memoised, sums over all stagings without listing them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product
from math import inf, prod
from typing import TypeVar

import numpy as np

from cslearn._numerics import log_sum_exp
from cslearn.errors import LimitError

__all__ = ["BoxCover", "Pairs"]

# What the recursion may remember: about ten seconds and half a gigabyte of partial covers.
PARTIAL_COVER_LIMIT = 2_000_000
CELL_LIMIT = 1024

T = TypeVar("T")
Pairs = tuple[tuple[int, int], ...]
"""A context over positions: ``((variable, state), ...)``."""


class BoxCover:
    """Exact covers of the box with cardinalities `cards` by contexts of at most `beta` variables."""

    def __init__(self, cards: Sequence[int], beta: int) -> None:
        cells = prod(cards)
        if cells > CELL_LIMIT:
            raise LimitError(
                f"stagings with contexts of more than 2 variables are found by exact cover, which is limited to"
                f" {CELL_LIMIT} outcomes; the cardinalities {tuple(cards)} make {cells}. Use beta <= 2 or fewer"
                f" candidates."
            )
        self.everything = (1 << cells) - 1
        outcomes = list(product(*(range(d) for d in cards)))
        self.contexts: list[Pairs] = []
        self.masks: list[int] = []
        self.through: list[list[int]] = [[] for _ in outcomes]
        for size in range(min(beta, len(cards)) + 1):
            for variables in combinations(range(len(cards)), size):
                for states in product(*(range(cards[v]) for v in variables)):
                    mask = 0
                    for cell, outcome in enumerate(outcomes):
                        if all(outcome[v] == s for v, s in zip(variables, states, strict=True)):
                            mask |= 1 << cell
                            self.through[cell].append(len(self.contexts))
                    self.contexts.append(tuple(zip(variables, states, strict=True)))
                    self.masks.append(mask)

    def _choices(self, uncovered: int) -> list[int]:
        """Return the contexts that hold the first uncovered cell and no covered one."""
        cell = (uncovered & -uncovered).bit_length() - 1
        return [c for c in self.through[cell] if self.masks[c] & uncovered == self.masks[c]]

    def _solve(self, combine: Callable[[list[tuple[int, T]]], T], done: T) -> dict[int, T]:
        """Return the value of every set of uncovered cells that can be met, ``everything`` among them.

        `combine` takes the choices for the first uncovered cell, each with the value of what is left.
        """
        memo: dict[int, T] = {0: done}

        def value(uncovered: int) -> T:
            if uncovered in memo:
                return memo[uncovered]
            if len(memo) >= PARTIAL_COVER_LIMIT:
                raise LimitError(
                    f"these stagings need more than the limit of {PARTIAL_COVER_LIMIT:,} partial covers."
                    " Use a smaller beta or fewer candidates."
                )
            result = combine([(c, value(uncovered & ~self.masks[c])) for c in self._choices(uncovered)])
            memo[uncovered] = result
            return result

        try:
            value(self.everything)
        except RecursionError:
            raise LimitError("these stagings have too many stages for an exact cover. Use fewer candidates.") from None
        return memo

    def count(self) -> int:
        """Return the number of stagings."""
        return self._solve(lambda choices: sum(rest for _, rest in choices), 1)[self.everything]

    def log_sums(self, log_weights: Sequence[float]) -> dict[int, float]:
        """Return the log of the sum over covers, of every set of uncovered cells that can be met."""
        return self._solve(
            lambda choices: log_sum_exp([log_weights[c] + rest for c, rest in choices]) if choices else -inf, 0.0
        )

    def maximum(self, log_weights: Sequence[float], tolerance: float) -> tuple[float, list[Pairs]]:
        """Return the largest log-weight of a staging, and the staging with the fewest stages that attains it."""

        def best(choices: list[tuple[int, tuple[float, int, int]]]) -> tuple[float, int, int]:
            options = [(log_weights[c] + value, stages + 1, c) for c, (value, stages, _) in choices]
            top = max((value for value, _, _ in options), default=-inf)
            slack = tolerance * max(1.0, abs(top)) if top > -inf else 0.0
            ties = [option for option in options if option[0] >= top - slack]
            return min(ties, key=lambda option: option[1:]) if ties else (-inf, 0, -1)

        memo = self._solve(best, (0.0, 0, -1))
        chosen, uncovered = [], self.everything
        while uncovered:
            choice = memo[uncovered][2]
            chosen.append(self.contexts[choice])
            uncovered &= ~self.masks[choice]
        return memo[self.everything][0], chosen

    def draw(self, log_weights: Sequence[float], memo: dict[int, float], rng: np.random.Generator) -> list[Pairs]:
        """Draw a staging with probability proportional to its weight; `memo` is from :meth:`log_sums`."""
        chosen, uncovered = [], self.everything
        while uncovered:
            choices = self._choices(uncovered)
            logs = np.array([log_weights[c] + memo[uncovered & ~self.masks[c]] for c in choices])
            shares = np.exp(logs - memo[uncovered])
            choice = choices[int(rng.choice(len(choices), p=shares / shares.sum()))]
            chosen.append(self.contexts[choice])
            uncovered &= ~self.masks[choice]
        return chosen

    def listing(self) -> Iterator[list[Pairs]]:
        """Yield every staging once."""

        def extend(uncovered: int, chosen: list[Pairs]) -> Iterator[list[Pairs]]:
            if not uncovered:
                yield chosen
                return
            for c in self._choices(uncovered):
                yield from extend(uncovered & ~self.masks[c], [*chosen, self.contexts[c]])

        return extend(self.everything, [])
