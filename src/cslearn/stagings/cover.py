"""All stagings of a small level, by exact cover.

The outcomes of the level are the cells of a box and a context is the set of cells that agree with it. A staging
is an exact cover of the box by contexts. The first uncovered cell must be covered by one of the contexts through
it, so a recursion on the set of uncovered cells, memoised, sums over all stagings without listing them. The sets that
can be met do not depend on weights: they are kept as a graph, over which :mod:`cslearn.stagings.cover_weights` takes
sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import combinations, pairwise, product
from math import prod
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from cslearn.errors import LimitError

__all__ = ["BoxCover", "CoverGraph", "Pairs"]

# What the recursion may remember: about ten seconds and half a gigabyte of partial covers.
PARTIAL_COVER_LIMIT = 2_000_000
CELL_LIMIT = 1024

T = TypeVar("T")
Pairs = tuple[tuple[int, int], ...]
"""A context over positions: ``((variable, state), ...)``."""


class CoverGraph(NamedTuple):
    """Partial covers of a box, which are numbered so that a choice leads to a smaller number.

    Number 0 has nothing left to cover, the last one everything. From cover `k` the choices ``start[k]`` to
    ``start[k + 1]`` go on: ``context`` is the context that is chosen, ``rest`` the cover it leads to. Covers from
    ``layer[h]`` to ``layer[h + 1]`` have at most ``h + 1`` stages left, and need no other of their layer.
    """

    start: NDArray[np.intp]
    context: NDArray[np.intp]
    rest: NDArray[np.intp]
    layer: NDArray[np.intp]

    @property
    def n_covers(self) -> int:
        """Number of partial covers."""
        return len(self.start) - 1

    def layers(self) -> Iterator[tuple[slice, slice, NDArray[np.intp]]]:
        """Yield the covers of each layer, from the last stage on, their choices, and where those of each begin."""
        for first, last in pairwise(self.layer.tolist()):
            edges = slice(int(self.start[first]), int(self.start[last]))
            yield slice(first, last), edges, self.start[first:last] - edges.start


class BoxCover:
    """Exact covers of the box with cardinalities `cards` by contexts of at most `beta` variables.

    More than `limit` partial covers are refused, by default two million.
    """

    def __init__(self, cards: Sequence[int], beta: int, limit: int | None = None) -> None:
        cells = prod(cards)
        if cells > CELL_LIMIT:
            raise LimitError(
                f"stagings with contexts of more than 2 variables are found by exact cover, which is limited to"
                f" {CELL_LIMIT} outcomes; the cardinalities {tuple(cards)} make {cells}. Use beta <= 2 or fewer"
                f" candidates."
            )
        self.cards, self.beta = tuple(cards), beta
        self.limit = PARTIAL_COVER_LIMIT if limit is None else limit
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
            if len(memo) >= self.limit:
                raise LimitError(
                    f"all stagings of a level with cardinalities {self.cards} and beta={self.beta} need more than the"
                    f" limit of {self.limit:,} partial covers. Use a smaller beta or fewer candidates."
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

    @cached_property
    def graph(self) -> CoverGraph:
        """The partial covers that can be completed, and the ways to go on from each."""
        heights = self._solve(lambda choices: 1 + max((rest for _, rest in choices if rest >= 0), default=-2), 0)
        complete = sorted((uncovered for uncovered, height in heights.items() if height >= 0), key=heights.__getitem__)
        number = {uncovered: k for k, uncovered in enumerate(complete)}
        start, context, rest = [0, 0], [], []
        for uncovered in complete[1:]:
            for choice in self._choices(uncovered):
                left = number.get(uncovered & ~self.masks[choice])
                if left is not None:
                    context.append(choice)
                    rest.append(left)
            start.append(len(context))
        of_height = np.array([heights[uncovered] for uncovered in complete], dtype=np.intp)
        return CoverGraph(
            np.array(start, dtype=np.intp),
            np.array(context, dtype=np.intp),
            np.array(rest, dtype=np.intp),
            np.searchsorted(of_height, np.arange(1, of_height[-1] + 2)),
        )

    def listing(self) -> Iterator[list[Pairs]]:
        """Yield every staging once."""

        def extend(uncovered: int, chosen: list[Pairs]) -> Iterator[list[Pairs]]:
            if not uncovered:
                yield chosen
                return
            for c in self._choices(uncovered):
                yield from extend(uncovered & ~self.masks[c], [*chosen, self.contexts[c]])

        return extend(self.everything, [])
