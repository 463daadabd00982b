"""The best staging where weights belong to trees, for context bounds beyond three, by branch and bound.

Write ``C(s)`` for the variables that all stages of a staging ``s`` hold. Below a context ``c`` of ``t`` variables its
weight is that of a stop, or the sum over the sets that a tree may ask for first,

    W(s) = sum over nonempty R in C(s) of a(t, |R|) prod over outcomes x_R of W(s below c, x_R).

**Bounds.** Let ``E(c, D)`` be this sum for ``C(s) = D`` with each factor replaced by ``V(c x_R, D - R)``, the largest
``E(c x_R, D')`` of all ``D'`` that hold ``D - R``. Then ``E(c, D)`` bounds all stagings with ``C(s) = D``. It is no
more than a bound, as each ``R`` has its own best parts; it is attained if ``D`` is a single variable whose parts attain
theirs, and if ``D`` is all that the context bound leaves. A compiled loop fills the tables
(:mod:`cslearn._kernels.bounds`).

**Search.** At a context the sets ``D`` are gone through whose bounds are above the best staging found so far. The parts
are made exact first, by the same search. If the sum ``E`` over the sets ``R`` is then still above the best by a factor
``q > 1``, let a staging be better. As its terms sum to more than ``E / q``, one of them is more than its own bound over
``q``: so it is found if, for each ``R``, all combinations of parts are listed which together lose less than the factor
``q`` against the best parts. The parts are listed in the same way. No budget grows on the way down, and where the
bounds are tight, which is the rule, there is nothing to list.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from heapq import heappop, heappush
from itertools import combinations, product
from math import exp, fsum, inf, log, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cslearn.stagings.cover import Pairs
from cslearn.stagings.deep import Variables, layout
from cslearn.stagings.level import TIE_TOLERANCE, Floats, Splits, full_split_weight

__all__ = ["MOST_STEPS", "Best", "best_of_trees"]

MOST_STEPS = 30_000
"""Contexts and combinations of parts that are looked at for one level; then the best staging found so far is taken."""

# Parts that lose at most this, as a log, are listed first; then twice as much, as long as it may matter.
FIRST_LOSS = 0.1

# What is added to losses, relative to the size of logs, so that rounding leaves nothing out.
ROUNDING = 1e-12

# The shape of a single stage.
STOP = 0


class Best(NamedTuple):
    """The log-weight and the contexts of a staging, and whether it is proven that none has a larger weight."""

    log_weight: float
    contexts: list[Pairs]
    proven: bool


def best_of_trees(
    cards: Sequence[int], splits: Splits, stages: Floats, lines: Floats, found: tuple[float, list[Pairs]]
) -> Best:
    """Return the best staging of a level, given a good one; the given one if none is better.

    Parameters
    ----------
    cards : sequence of int, shape (m,)
        Cardinalities of the variables.
    splits : Splits
        The weights of splits, none negative; as many rows as the context bound.
    stages : ndarray, flat
        The log-weights of contexts with fewer variables than the bound, as :func:`cslearn.stagings.deep.layout` says.
    lines : ndarray, flat
        The log-weights of contexts with as many, summed over the states of one of the variables: for each set of these,
        from the last to the first, and each variable in it, from the first to the last, those over the other variables.
    found : tuple of float and list
        The log-weight and the contexts of a staging.
    """
    search = _Search(tuple(map(int, cards)), splits, stages, lines)
    tolerance = TIE_TOLERANCE * max(1.0, abs(found[0]))
    if not search.bound((), ()) > found[0] + tolerance:
        return Best(*found, True)
    value, shape = search.best((), (), found[0])
    if not value > found[0] + tolerance:
        return Best(*found, search.proven)
    return Best(value, search.contexts((), shape), search.proven)


class _TooMuchError(Exception):
    """There is more to look at than `MOST_STEPS` allows."""


class _Search:
    """The tables of bounds of a level, and what has been found of its contexts.

    The shape of a staging is a number, that of the variables ``C(s)`` in all of its stages together with the shapes
    below each of their outcomes, the last variable's states fastest. Equal stagings have the same shape.
    """

    def __init__(self, cards: Variables, splits: Splits, stages: Floats, lines: Floats) -> None:
        from cslearn._kernels.bounds import bounds_of_sets

        self.cards, self.splits, self.beta = cards, splits, len(splits)
        places = _places(cards, self.beta)
        self.number_of, self.offset = places.number_of, places.offset
        self.exactly, self.at_least = np.empty(self.offset[-1, -1]), np.empty(self.offset[-1, -1])
        log_splits = np.full((self.beta, self.beta), -inf)
        for t, row in enumerate(splits):
            log_splits[t, : len(row)] = [log(weight) if weight > 0 else -inf for weight in row]
        self.log_splits: list[list[float]] = log_splits.tolist()
        arrays = (np.array(cards, dtype=np.int64), places.masks, places.wider, places.offset, log_splits)
        start = layout(cards, self.beta).start
        bounds_of_sets(*arrays, stages, start, lines, self.exactly, self.at_least)
        self.shapes: list[tuple[Variables, tuple[int, ...]]] = [((), ())]
        self.numbers = {self.shapes[0]: STOP}
        self.restricted: dict[tuple[int, Pairs], int] = {}
        self.trees: dict[tuple[int, int], float] = {}
        self.bests: dict[tuple[Pairs, Variables], tuple[float, int]] = {}
        self.lists: dict[tuple[Pairs, Variables], tuple[float, list[float], list[int]]] = {}
        self.steps, self.proven = 0, True
        top = self.bound((), ())
        self.rounding = ROUNDING * max(1.0, abs(top)) if top > -inf else ROUNDING

    # ------------------------------------------------------------------ bounds
    def _at(self, context: Pairs, chosen: Variables) -> int:
        """Return where the bounds of a context and a set of variables stand."""
        whole, index, own = sum(1 << k for k in chosen), 0, 0
        for k, x in context:
            whole |= 1 << k
            index = index * self.cards[k] + x
        for k, _ in context:
            own |= 1 << (whole & ((1 << k) - 1)).bit_count()
        return int(self.offset[self.number_of[whole], own]) + index

    def bound(self, context: Pairs, chosen: Variables) -> float:
        """Bound the stagings below a context with `chosen`, and maybe more, in all stages."""
        return float(self.at_least[self._at(context, chosen)])

    def bound_exactly(self, context: Pairs, chosen: Variables) -> float:
        """Bound those with `chosen`, and nothing else; with nothing it is the weight of a stop."""
        return float(self.exactly[self._at(context, chosen)])

    def _sets(self, context: Pairs, chosen: Variables) -> Iterator[tuple[float, Variables]]:
        """Yield the sets that hold `chosen` with bounds of what they and larger ones allow, the best first."""
        taken = {k for k, _ in context}.union(chosen)
        others = [k for k in range(len(self.cards)) if k not in taken]
        heap = [(-self.bound(context, chosen), len(chosen), chosen, 0)]
        while heap:
            value, size, own, start = heappop(heap)
            yield -value, own
            if len(context) + size < self.beta:
                for place in range(start, len(others)):
                    more = tuple(sorted((*own, others[place])))
                    heappush(heap, (-self.bound(context, more), size + 1, more, place + 1))

    # ------------------------------------------------------------------ shapes
    def shape(self, variables: Variables, parts: tuple[int, ...]) -> int:
        """Return the shape of the staging with these parts below the outcomes of variables."""
        common = set(self.shapes[parts[0]][0])
        for part in set(parts):
            common.intersection_update(self.shapes[part][0])
        if common:
            whole = tuple(sorted((*variables, *common)))
            below = dict(zip(self._outcomes(variables), parts, strict=True))
            parts = tuple(
                self._restrict(
                    below[tuple(pair for pair in outcome if pair[0] not in common)],
                    tuple(pair for pair in outcome if pair[0] in common),
                )
                for outcome in self._outcomes(whole)
            )
            variables = whole
        key = variables, parts
        if key not in self.numbers:
            self.numbers[key] = len(self.shapes)
            self.shapes.append(key)
        return self.numbers[key]

    def _outcomes(self, variables: Variables) -> list[Pairs]:
        return _outcomes(variables, tuple(self.cards[k] for k in variables))

    def _restrict(self, shape: int, outcome: Pairs) -> int:
        """Return the part of a staging that agrees with an outcome of some variables that all its stages hold."""
        key = shape, outcome
        if key not in self.restricted:
            variables, parts = self.shapes[shape]
            fixed = dict(outcome)
            rest = tuple(k for k in variables if k not in fixed)
            kept = tuple(
                part
                for own, part in zip(self._outcomes(variables), parts, strict=True)
                if all(fixed.get(k, x) == x for k, x in own)
            )
            self.restricted[key] = self.shape(rest, kept) if rest else kept[0]
        return self.restricted[key]

    def _log_trees(self, t: int, shape: int) -> float:
        """Return the log of the summed weights of the splits of the trees that draw a staging below `t` variables."""
        variables, parts = self.shapes[shape]
        if not any(parts):
            return full_split_weight(self.splits, t, tuple(sorted(self.cards[k] for k in variables)))
        key = t, shape
        if key not in self.trees:
            self.trees[key] = _log_sum(
                weight + fsum(self._log_trees(t + len(first), self._restrict(shape, x)) for x in self._outcomes(first))
                for first, weight in self._first(t, variables)
            )
        return self.trees[key]

    def _first(self, t: int, variables: Variables) -> Iterator[tuple[Variables, float]]:
        """Yield the sets that may be asked for first, and the log-weights of these splits."""
        for r in range(1, len(variables) + 1):
            if self.log_splits[t][r - 1] > -inf:
                for first in combinations(variables, r):
                    yield first, self.log_splits[t][r - 1]

    def _log_stages(self, context: Pairs, shape: int) -> float:
        variables, parts = self.shapes[shape]
        if not variables:
            return self.bound_exactly(context, ())
        if len(context) + len(variables) == self.beta:
            return self.bound_exactly(context, variables) - self._log_trees(len(context), shape)
        below = zip(self._outcomes(variables), parts, strict=True)
        return fsum(self._log_stages(_joined(context, x), part) for x, part in below)

    def weight(self, context: Pairs, shape: int) -> float:
        """Return the log-weight of a staging below a context."""
        stages = self._log_stages(context, shape)
        return stages + self._log_trees(len(context), shape) if stages > -inf else -inf

    def contexts(self, context: Pairs, shape: int) -> list[Pairs]:
        """Return the contexts of a staging."""
        variables, parts = self.shapes[shape]
        if not variables:
            return [context]
        below = zip(self._outcomes(variables), parts, strict=True)
        return [c for x, part in below for c in self.contexts(_joined(context, x), part)]

    # ------------------------------------------------------------------ the best
    def _step(self) -> None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise _TooMuchError

    def _is_closed(self, context: Pairs, variables: Variables) -> bool:
        """Tell whether there is one staging only with just these variables in all stages."""
        return not variables or len(context) + len(variables) == self.beta

    def _full_split(self, variables: Variables) -> int:
        return self.shape(variables, (STOP,) * prod(self.cards[k] for k in variables)) if variables else STOP

    def _parts(self, context: Pairs, variables: Variables, first: Variables) -> list[tuple[Pairs, Variables]]:
        """Return the contexts below a first split, with the variables that are left to be in all stages."""
        rest = tuple(k for k in variables if k not in first)
        return [(_joined(context, x), rest) for x in self._outcomes(first)]

    def _greedy(self, context: Pairs, chosen: Variables) -> int:
        """Return the staging that the bounds point to, with `chosen` in all stages."""
        variables = next(own for value, own in self._sets(context, chosen) if value <= self.bound_exactly(context, own))
        if self._is_closed(context, variables):
            return self._full_split(variables)
        terms = self._terms(context, variables)
        first = max(terms, key=terms.__getitem__)
        return self.shape(first, tuple(self._greedy(*part) for part in self._parts(context, variables, first)))

    def _terms(self, context: Pairs, variables: Variables) -> dict[Variables, float]:
        """Return the bounds of the terms of stagings with just these variables in all stages, by the first split."""
        return {
            first: weight + fsum(self.bound(*part) for part in self._parts(context, variables, first))
            for first, weight in self._first(len(context), variables)
        }

    def best(self, context: Pairs, chosen: Variables, least: float = -inf) -> tuple[float, int]:
        """Return the best staging below a context with `chosen` in all stages; one above `least` if there is one."""
        key = context, chosen
        if key not in self.bests:
            self._step()
            top = self.bound(context, chosen)
            shape = self._full_split(chosen) if top == -inf else self._greedy(context, chosen)
            found = self.weight(context, shape), shape
            tolerance = TIE_TOLERANCE * max(1.0, abs(top))
            for bound, variables in self._sets(context, chosen):
                enough = max(found[0], least) + tolerance
                if not bound > enough:
                    break
                if self.bound_exactly(context, variables) > enough:
                    found = _larger(found, self._best_of_set(context, variables, enough))
            self.bests[key] = found
        return self.bests[key]

    def _best_of_set(self, context: Pairs, variables: Variables, least: float) -> tuple[float, int]:
        """Return the best staging with just these variables in all stages, if it is above `least`; or a worse one."""
        if self._is_closed(context, variables):
            return self.bound_exactly(context, variables), self._full_split(variables)
        found = (-inf, STOP)
        try:
            terms = self._terms(context, variables)
            for first in sorted(terms, key=terms.__getitem__, reverse=True):
                if not _log_sum(terms.values()) > max(least, found[0]):
                    return found
                parts = [self.best(*part) for part in self._parts(context, variables, first)]
                terms[first] = self.log_splits[len(context)][len(first) - 1] + fsum(value for value, _ in parts)
                shape = self.shape(first, tuple(shape for _, shape in parts))
                found = _larger(found, (self.weight(context, shape), shape))
            bound, loss = _log_sum(terms.values()), FIRST_LOSS
            while bound > (enough := max(least, found[0])):
                last = loss >= bound - enough
                loss = min(loss, bound - enough)
                for shape in self._combined(context, variables, terms, loss):
                    found = _larger(found, (self.weight(context, shape), shape))
                if last or found[0] >= bound - loss:
                    break
                loss *= 2
        except _TooMuchError:
            self.proven = False
        return found

    # ------------------------------------------------------------------ lists
    def _near(self, context: Pairs, chosen: Variables, loss: float) -> tuple[list[float], list[int]]:
        """Return the stagings with `chosen` in all stages that lose at most `loss` against the best, by that loss."""
        key = context, chosen
        if key not in self.lists or self.lists[key][0] < loss:
            top, _ = self.best(context, chosen)
            found: dict[int, float] = {}
            for bound, variables in self._sets(context, chosen):
                if bound < top - loss - self.rounding:
                    break
                if self.bound_exactly(context, variables) < top - loss - self.rounding:
                    continue
                if self._is_closed(context, variables):
                    found[self._full_split(variables)] = self.bound_exactly(context, variables)
                    continue
                terms = {
                    first: weight + fsum(self.best(*part)[0] for part in self._parts(context, variables, first))
                    for first, weight in self._first(len(context), variables)
                }
                for shape in self._combined(context, variables, terms, _log_sum(terms.values()) - top + loss):
                    found[shape] = self.weight(context, shape)
            rows = sorted(
                (max(0.0, top - value), shape) for shape, value in found.items() if value >= top - loss - self.rounding
            )
            self.lists[key] = loss, [row[0] for row in rows], [row[1] for row in rows]
        _, losses, shapes = self.lists[key]
        end = bisect_right(losses, loss + self.rounding)
        return losses[:end], shapes[:end]

    def _combined(
        self, context: Pairs, variables: Variables, terms: dict[Variables, float], loss: float
    ) -> Iterator[int]:
        """Yield all stagings with just these variables in all stages that lose at most `loss` against all the terms.

        Maybe others as well. First splits with small terms are left out, and the others given a little more to lose.
        """
        if loss < -self.rounding:
            return
        bound = _log_sum(terms.values())
        ascending = sorted(terms, key=terms.__getitem__)
        loss = max(0.0, loss)
        share, kept, allowed, left_out = exp(-loss), 0, loss, 0.0
        while kept < len(ascending) - 1:
            left_out += exp(terms[ascending[kept]] - bound)
            if not share > left_out or log((1 - left_out) / (share - left_out)) > 1.5 * loss:
                break
            allowed, kept = log((1 - left_out) / (share - left_out)), kept + 1
        seen: set[int] = set()
        for first in ascending[kept:]:
            lists = [self._near(*part, allowed) for part in self._parts(context, variables, first)]
            for parts in self._products(lists, allowed + self.rounding, ()):
                shape = self.shape(first, parts)
                if shape not in seen:
                    seen.add(shape)
                    yield shape

    def _products(
        self, lists: list[tuple[list[float], list[int]]], loss: float, chosen: tuple[int, ...]
    ) -> Iterator[tuple[int, ...]]:
        """Yield the choices of one entry of each list that together lose at most `loss`."""
        self._step()
        if len(chosen) == len(lists):
            yield chosen
            return
        for lost, shape in zip(*lists[len(chosen)], strict=True):
            if lost > loss:
                break
            yield from self._products(lists, loss - lost, (*chosen, shape))


def _larger(one: tuple[float, int], other: tuple[float, int]) -> tuple[float, int]:
    return other if other[0] > one[0] else one


def _joined(context: Pairs, outcome: Pairs) -> Pairs:
    return tuple(sorted(context + outcome))


def _log_sum(values: Iterable[float]) -> float:
    numbers = list(values)
    top = max(numbers, default=-inf)
    return top + log(fsum(exp(value - top) for value in numbers)) if top > -inf else -inf


@cache
def _outcomes(variables: Variables, cards: Variables) -> list[Pairs]:
    return [tuple(zip(variables, states, strict=True)) for states in product(*map(range, cards))]


class _Places(NamedTuple):
    """Where the bounds of a level stand, as :func:`cslearn._kernels.bounds.bounds_of_sets` wants it."""

    masks: NDArray[np.int64]
    number_of: dict[int, int]
    wider: NDArray[np.int64]
    offset: NDArray[np.int64]


@lru_cache(maxsize=16)
def _places(cards: Variables, beta: int) -> _Places:
    sets, m = layout(cards, beta).sets, len(cards)
    masks = [sum(1 << k for k in own) for own in sets]
    number_of = {mask: s for s, mask in enumerate(masks)}
    below = masks[: sum(len(own) < beta for own in sets)]
    wider = [[number_of.get(mask | 1 << k, -1) for k in range(m)] for mask in below]
    # How many contexts there are over each subset of a set; those that reach the bound have no bounds.
    sizes = np.zeros((len(sets), 1 << min(beta, m)), dtype=np.int64)
    for s, own in enumerate(sets):
        row = np.ones(1, dtype=np.int64)
        for k in own:
            row = np.concatenate([row, row * cards[k]])
        sizes[s, : len(row)] = row
        if len(own) == beta:
            sizes[s, -1] = 0
    ends = np.cumsum(sizes).reshape(sizes.shape)
    offset = np.concatenate([ends[:, :1] - sizes[:, :1], ends], axis=1)
    numbers = np.array(wider, dtype=np.int64).reshape(len(below), m)
    return _Places(np.array(masks, dtype=np.int64), number_of, numbers, offset)
