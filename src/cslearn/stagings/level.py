"""Sum, maximum, draws and stage probabilities over the stagings of a level with contexts of at most two variables.

A decision tree stops, or splits on a variable and goes on below each of its states. With contexts of at most two
variables every staging is drawn by a tree; beyond, :mod:`cslearn.stagings.tree_weights` has the same recursion. Write
``F_t(c)`` for the sum, over all stagings of what agrees with a context ``c`` of ``t`` variables, of the product of
their weights. Then

    F_t(c) = stop_t z(c) + sum over nonempty sets R of other variables, t + |R| <= beta, of
             a(t, |R|) prod over outcomes x_R of F_{t + |R|}(c, x_R).

A staging whose stages all hold the variables ``j`` and ``k`` is drawn from the root ``j`` and from the root ``k``. With
``a(t, r) = (-1)^(r + 1)`` such stagings count once, by inclusion and exclusion: those with all of ``R`` in all of their
stages are the full splits on ``R``, with anything below. Where all ``a`` are positive the weights belong to trees in
which a whole set of variables may be split on at once, and a staging has the sum of the weights of its trees.

Cost and memory are O(m^2 d) for m variables of cardinality d and two context variables, where a list of the stagings
has O(m^(d + 1)) entries. Subtraction loses little: what is added and what is subtracted hold the weight of each staging
together at most ``2^beta - 1`` times.

With a maximum in place of the sums the same recursion finds the best staging where weights belong to stagings. Where
they belong to trees a staging has the sum over its trees, which the recursion does not see: a full split on ``R`` is
therefore given the sum of the weights of all the ways in which splits on subsets of ``R`` build it. That is exact for
two context variables. For more, what the recursion finds is the best of decision trees that may split on whole sets of
variables at once, and no proof that no other staging has more trees and with them a larger weight.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations, product
from math import comb, exp, factorial, inf, log, log1p, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn._numerics import log_sum_exp, log_sum_exp_axis
from cslearn.stagings.cover import Pairs

__all__ = [
    "TIE_TOLERANCE",
    "LevelWeights",
    "Splits",
    "best_options",
    "draw_log",
    "from_generating_function",
    "full_split_weight",
    "inclusion_exclusion",
    "log_sum_of_kinds",
    "log_trees",
    "log_trees_of_each",
    "two_variable_contexts",
]

TIE_TOLERANCE = 1e-10
"""Stagings whose log-weights differ by less, relative to their size, are tied: fewer stages win."""

# Numbers that are kept to draw stagings from, at most.
MOST_SHARES = 1 << 18
# Stages less probable than this are left out of a table of stage probabilities.
SMALLEST_PROBABILITY = 1e-14

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Splits = tuple[tuple[float, ...], ...]
"""``splits[t][r - 1]``: the weight of a split on a given set of ``r`` variables below a context of ``t``."""


def inclusion_exclusion(beta: int) -> Splits:
    """Return the weights of splits with which every staging counts once."""
    return tuple(tuple((-1.0) ** (r + 1) for r in range(1, beta - t + 1)) for t in range(beta))


@dataclass(frozen=True)
class LevelWeights:
    """Log-weights of the stages of a level with a context bound of at most two.

    Parameters
    ----------
    cards : ndarray of int, shape (m,)
        Cardinalities of the variables, each at least 2.
    stages : sequence of ndarray
        ``stages[t]`` has shape ``(m, d) * t``: ``stages[1][k, x]`` is the log-weight of the stage ``x_k = x``. What
        stands at states that a variable has not is not read. There is one array for each ``t`` below the context bound,
        and one if the bound is zero.
    deepest : ndarray, shape ``(m, d) * (beta - 1) + (m,)``, or None
        ``deepest[k, x, j]``, for two context variables: sum over ``y`` of the log-weights of the stages
        ``x_k = x, x_j = y``. None if the context bound is zero.
    splits : Splits
        The weights of splits: those of :func:`inclusion_exclusion`, or none of them negative.
    """

    cards: Ints
    stages: Sequence[Floats]
    deepest: Floats | None = None
    splits: Splits = ()

    @property
    def size(self) -> int:
        """Number of variables of the level."""
        return len(self.cards)

    @property
    def beta(self) -> int:
        """The context bound."""
        return len(self.splits)

    @property
    def _by_staging(self) -> bool:
        """Whether weights belong to stagings, and not to trees."""
        return any(weight < 0 for row in self.splits for weight in row)

    # ------------------------------------------------------------------ the recursion
    def _over_states(self, values: NDArray[Any], axis: int, combine: np.ufunc = np.add) -> NDArray[Any]:
        """Sum, or multiply, over the states, along `axis`, that the variable along the axis before it has."""
        shape = [1] * values.ndim
        shape[axis - 1], shape[axis] = values.shape[axis - 1], values.shape[axis]
        exists = (np.arange(values.shape[axis]) < self.cards[:, None]).reshape(shape)
        return np.asarray(combine.reduce(np.where(exists, values, combine.identity), axis=axis))

    def _masked(self, values: Floats, t: int) -> Floats:
        """Set to log 0 what splits, below a context of `t` variables, on one of these again."""
        everyone = np.arange(self.size)
        for s in range(t):
            np.moveaxis(values, (2 * s, 2 * t), (0, 1))[everyone, everyone] = -inf
        return values

    @cached_property
    def _sums(self) -> tuple[list[Floats], list[list[Floats]]]:
        """``F[t]`` and ``W[t][r - 1]``: the sums below each context, and the products over full splits on r variables.

        ``W[t][r - 1]`` has shape ``(m, d) * t + (m,) * r``.
        """
        sums: list[Floats] = [np.empty(0)] * self.beta
        products: list[list[Floats]] = [[] for _ in range(self.beta)]
        for t in reversed(range(self.beta)):
            if t == self.beta - 1:
                assert self.deepest is not None
                below = [np.array(self.deepest, dtype=float)]
            else:
                below = [self._over_states(values, 2 * t + 1) for values in (sums[t + 1], *products[t + 1])]
            products[t] = [self._masked(values, t) for values in below]
            sums[t] = self._total(t, self.stages[t], products[t])
        return sums, products

    def _total(self, t: int, stages: Floats, products: list[Floats]) -> Floats:
        positive, negative = np.array(stages, dtype=float), None
        for r, values in enumerate(products, start=1):
            weight = self.splits[t][r - 1]
            if weight == 0 or self.size < r:
                continue
            flat = values.reshape(*values.shape[: 2 * t], -1)
            term = log_sum_exp_axis(flat, axis=-1) + log(abs(weight) / factorial(r))
            if weight > 0:
                positive = np.logaddexp(positive, term)
            else:
                negative = term if negative is None else np.logaddexp(negative, term)
        if negative is None:
            return positive
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(np.isneginf(negative), positive, positive + np.log1p(-np.exp(negative - positive)))

    def log_sum(self) -> float:
        """Return the log of the sum over all stagings of the product of the weights of their stages."""
        return float(self._sums[0][0]) if self.beta and self.size else float(self.stages[0])

    # ------------------------------------------------------------------ maximum
    def maximum(self, tolerance: float = TIE_TOLERANCE) -> tuple[float, list[Pairs]]:
        """Return the largest log-weight of a staging, and that staging as a list of contexts.

        Of tied stagings the one with the fewest stages is taken, then the one whose root and splits come first.
        """
        if not self.beta or not self.size:
            return float(self.stages[0]), [()]
        if self.beta == 2:
            return self._best_of_two(tolerance)
        assert self.deepest is not None
        options = self.deepest + self._full_split_weights(0, 1)
        value, _, root = best_options(np.asarray(self.stages[0]), options, self.cards, tolerance)
        return float(value), [()] if root < 0 else self._outcomes((int(root),))

    def _best_of_two(self, tolerance: float) -> tuple[float, list[Pairs]]:
        """Return the maximum for a context bound of two, by compiled loops."""
        from cslearn._kernels.best_of_pairs import best_of_two

        assert self.deepest is not None
        m = self.size
        cards = np.ascontiguousarray(self.cards, dtype=np.int64)
        cells = np.empty(self.stages[1].shape, dtype=np.int64)
        pairs = np.full((m, m), -inf) if self._by_staging else self._full_split_weights(0, 2)
        value, root = best_of_two(
            cards,
            float(self.stages[0]),
            np.ascontiguousarray(self.stages[1], dtype=float),
            np.ascontiguousarray(self.deepest, dtype=float),
            self._full_split_weights(0, 1),
            self._full_split_weights(1, 1),
            np.ascontiguousarray(pairs),
            tolerance,
            np.empty(m + m * m),
            np.empty(m + m * m, dtype=np.int64),
            cells,
        )
        if root < 0:
            return value, [()]
        if root >= m:
            return value, self._outcomes(divmod(root - m, m))
        return value, two_variable_contexts(self.cards.tolist(), (root, *cells[root, : cards[root]].tolist()))

    def _full_split_weights(self, t: int, r: int) -> Floats:
        """Return the log-weights of full splits on sets of `r` variables below a context of `t`, shape ``(m,) * r``."""
        if self._by_staging:
            return np.zeros((self.size,) * r)
        if (self.cards == self.cards[0]).all():
            return np.full((self.size,) * r, full_split_weight(self.splits, t, (int(self.cards[0]),) * r))
        kinds, kind = np.unique(self.cards, return_inverse=True)
        small = np.empty((len(kinds),) * r)
        for index in np.ndindex(small.shape):
            small[index] = full_split_weight(self.splits, t, tuple(sorted(int(kinds[k]) for k in index)))
        return small[np.ix_(*[kind] * r)]

    # ------------------------------------------------------------------ draws
    def draw(self, rng: np.random.Generator) -> list[Pairs]:
        """Draw a staging with probability proportional to its weight.

        Top-down. Where weights belong to stagings the split at a node is drawn from the sum over single variables, in
        which a staging stands once for each variable that all its stages hold, and the staging drawn below the node is
        accepted with probability one over the number of these.
        """
        if not self.beta or not self.size:
            return [()]

        def below(prefix: Pairs) -> list[Pairs]:
            t = len(prefix)
            if t == self.beta:
                return [prefix]
            shares = self._shares_below(prefix)
            while True:
                pick = int(shares.searchsorted(rng.random() * shares[-1], side="right")) - 1
                if pick < 0:
                    return [prefix]
                r = 1
                while pick >= self.size**r:
                    pick, r = pick - self.size**r, r + 1
                variables = tuple(map(int, np.unravel_index(pick, (self.size,) * r)))
                drawn = [c for pairs in self._outcomes(variables) for c in below(prefix + pairs)]
                if not self._by_staging:
                    return drawn
                common = set.intersection(*({k for k, _ in context[t:]} for context in drawn))
                if len(common) == 1 or rng.random() * len(common) < 1:
                    return drawn

        return below(())

    def _shares_below(self, prefix: Pairs) -> Floats:
        """Return, added up, the shares of what may stand at a context: a stage, or a split on each set of variables."""
        if prefix in self._shares:
            return self._shares[prefix]
        t, at = len(prefix), tuple(number for pair in prefix for number in pair)
        options = [np.atleast_1d(self.stages[t][at])]
        for r, values in enumerate(self._sums[1][t][: 1 if self._by_staging else self.beta], start=1):
            weight = self.splits[t][r - 1]
            options.append(values[at].ravel() + (log(weight / factorial(r)) if weight > 0 else -inf))
        weights = np.concatenate(options)
        shares: Floats = np.cumsum(np.exp(weights - weights.max()))
        # Of few candidates many draws come by again; of many, few.
        if (len(self._shares) + 1) * len(shares) <= MOST_SHARES:
            self._shares[prefix] = shares
        return shares

    @cached_property
    def _shares(self) -> dict[Pairs, Floats]:
        return {}

    def _outcomes(self, variables: tuple[int, ...]) -> list[Pairs]:
        """Return the contexts that assign all of `variables`."""
        states = product(*(range(int(self.cards[k])) for k in variables))
        return [tuple(zip(variables, outcome, strict=True)) for outcome in states]

    # ------------------------------------------------------------------ stages
    def stage_probabilities(self, smallest: float = SMALLEST_PROBABILITY) -> dict[tuple[int, ...], Floats]:
        """Return the probability of each context to be a stage of a staging drawn with these weights.

        Parameters
        ----------
        smallest : float
            Sets of context variables with which no stage is more probable are left out.

        Returns
        -------
        dict of tuple of int to ndarray
            By the ascending positions of the context variables; the array has one axis for each of them, of the size of
            its cardinality. Context variables with which no stage is probable are left out.
        """
        if not self.beta or not self.size:
            return {(): np.array(1.0)}
        sums, products = self._sums
        m, beta = self.size, self.beta
        d = self.stages[1].shape[1] if beta > 1 else int(self.cards.max())
        # How probable it is that a tree comes past a context: ordered, as the context was built up.
        passing = [np.zeros((m, d) * t) for t in range(beta + 1)]
        passing[0] = np.array(1.0)
        found: dict[tuple[int, ...], Floats] = {}
        for t in range(beta):
            with np.errstate(invalid="ignore"):
                here = np.where(passing[t] != 0, passing[t] * np.exp(self.stages[t] - sums[t]), 0.0)
            self._collect(found, here, t, smallest)
            for r, values in enumerate(products[t], start=1):
                weight = self.splits[t][r - 1] / factorial(r)
                if not weight or m < r:
                    continue
                lead = (...,) + (None,) * r
                with np.errstate(invalid="ignore"):
                    share = weight * passing[t][lead] * np.exp(values - sums[t][lead])
                share = np.where(passing[t][lead] != 0, share, 0.0)
                spread = share.reshape(*share.shape[: 2 * t], *(n for _ in range(r) for n in (m, 1)))
                passing[t + r] = passing[t + r] + np.broadcast_to(spread, passing[t + r].shape)
        self._collect(found, passing[beta], beta, smallest)
        return found

    def n_stages(self) -> Floats:
        """Return the distribution of the number of stages of a staging drawn with these weights.

        Returns
        -------
        ndarray
            The entry `k` is the probability of `k` stages; the first is 0.
        """
        return from_generating_function(self.generating_function, self.cards, self.beta)

    def generating_function(self, u: complex) -> complex:
        """Return the expectation of `u` to the power of the number of stages.

        Every stage counts `u` times its weight. What is below a context is kept as a share of what it is for ``u = 1``,
        so that no number is large.
        """
        if not self.beta or not self.size:
            return u
        sums, products = self._sums
        here, below = np.asarray(u), [np.broadcast_to(u**self.cards, products[-1][0].shape)]
        for t in reversed(range(self.beta)):
            if t < self.beta - 1:
                below = [self._over_states(values, 2 * t + 1, np.multiply) for values in (here, *below)]
            with np.errstate(invalid="ignore", over="ignore"):
                here = u * np.exp(self.stages[t] - sums[t])
                for r, (values, shares) in enumerate(zip(products[t], below, strict=True), start=1):
                    weight = self.splits[t][r - 1] / factorial(r)
                    if weight and self.size >= r:
                        terms = weight * np.exp(values - sums[t][(...,) + (None,) * r]) * shares
                        here = here + terms.sum(axis=tuple(range(2 * t, 2 * t + r)))
            # Contexts that are none have no share above.
            here = np.where(np.isfinite(here), here, 0.0)
        return complex(here)

    def without(self, j: int) -> LevelWeights:
        """Return the weights of the same stages, of those that do not hold variable `j`."""
        others = np.delete(np.arange(self.size), j)
        if self.deepest is None:
            return LevelWeights(self.cards[others], self.stages, None, self.splits)
        pick = [others, np.arange(self.stages[1].shape[1] if self.beta > 1 else 1)] * self.beta
        stages = [s[np.ix_(*pick[: s.ndim])] if s.ndim else s for s in map(np.asarray, self.stages)]
        return LevelWeights(self.cards[others], stages, self.deepest[np.ix_(*pick[: self.deepest.ndim])], self.splits)

    def _collect(self, found: dict[tuple[int, ...], Floats], probabilities: Floats, t: int, smallest: float) -> None:
        """Add up the probabilities of contexts of `t` variables over the orders in which they were built up."""
        if t == 0:
            found[()] = probabilities
            return
        mass = np.abs(probabilities).max(axis=tuple(range(1, 2 * t, 2)))
        for variables in np.argwhere(mass > smallest).tolist():
            if len(set(variables)) < t:
                continue
            index = tuple(n for k in variables for n in (k, slice(int(self.cards[k]))))
            ascending = tuple(sorted(variables))
            values = probabilities[index].transpose([variables.index(k) for k in ascending])
            found[ascending] = found[ascending] + values if ascending in found else values.copy()


def from_generating_function(function: Callable[[complex], complex], cards: Ints, beta: int) -> Floats:
    """Return the distribution of a number of stages from its generating function, at roots of unity.

    A stage covers at least the share of the level that the context with the `beta` largest cardinalities covers.
    """
    size = prod(sorted(cards.tolist())[len(cards) - min(beta, len(cards)) :]) + 1
    roots = np.exp(2j * np.pi * np.arange(size // 2 + 1) / size)
    return np.clip(np.fft.irfft(np.conj([function(complex(u)) for u in roots]), size), 0.0, 1.0)


@cache
def full_split_weight(splits: Splits, t: int, cards: tuple[int, ...]) -> float:
    """Return the log of the summed weights of the ways to build a full split on variables of these cardinalities.

    It may be built by one split on all of them, or by one on some and then, below each of their outcomes, on the rest.
    """
    if not cards:
        return 0.0
    terms = []
    for r in range(1, len(cards) + 1):
        weight = splits[t][r - 1]
        if weight > 0:
            for first in combinations(range(len(cards)), r):
                rest = tuple(d for k, d in enumerate(cards) if k not in first)
                below = prod(cards[k] for k in first) * full_split_weight(splits, t + r, rest)
                terms.append(log(weight) + below)
    return log_sum_exp(terms)


def log_trees(splits: Splits, contexts: Sequence[Pairs]) -> float:
    """Return the log of the sum, over the trees that draw a staging, of the product of the weights of their splits.

    It is that of the staging, without the weights of its stages, if weights belong to stagings. The contexts may hold
    anything hashable in place of positions and states, in any order.
    """
    by_staging = any(weight < 0 for row in splits for weight in row)
    if by_staging:
        # Any tree will do: a split on a variable of all contexts leads to all others.
        splits = tuple(row[:1] for row in splits)
    logs = [{r: log(weight) for r, weight in enumerate(row, 1) if weight > 0} for row in splits]
    return float(log_trees_of_each(logs, contexts, first=by_staging))


def log_trees_of_each(
    logs: Sequence[Mapping[int, Any]], contexts: Sequence[Pairs], t: int = 0, *, first: bool = False
) -> Any:
    """Return the same for the log-weights of splits on `r` variables beside `t`, ``logs[t][r]``.

    These are numbers, or arrays with an entry for each prior that is asked about. The contexts hold `t` variables more
    than they say. With `first` only one tree is taken.
    """
    if len(contexts) == 1 and not contexts[0]:
        return 0.0
    common = sorted(set.intersection(*({k for k, _ in context} for context in contexts)), key=str)
    terms = []
    for r, weight in logs[t].items() if common else ():
        for chosen in combinations(common, r):
            parts: dict[tuple[Any, ...], list[Pairs]] = {}
            for context in contexts:
                states = dict(context)
                rest = tuple(pair for pair in context if pair[0] not in chosen)
                parts.setdefault(tuple(states[k] for k in chosen), []).append(rest)
            below = (log_trees_of_each(logs, part, t + r, first=first) for part in parts.values())
            terms.append(weight + sum(below))
            if first:
                return terms[0]
    return np.logaddexp.reduce(terms) if terms else -inf


def log_sum_of_kinds(cards: Sequence[int], log_stage: Callable[[int, int], float], splits: Splits) -> float:
    """Return the log of the sum over the stagings of a level if weights depend on numbers of variables and states only.

    Parameters
    ----------
    cards : sequence of int
        Cardinalities of the variables, each at least 2.
    log_stage : callable
        The log-weight of a stage, given the number of its context variables and the product of their cardinalities.
    splits : Splits

    Notes
    -----
    It is the recursion for :class:`LevelWeights`, with contexts told apart by how many variables of each cardinality
    they hold: there are few of these, whatever the number of variables.
    """
    kinds = sorted(set(cards))
    numbers = [list(cards).count(d) for d in kinds]
    beta = len(splits)

    @cache
    def below(held: tuple[int, ...]) -> float:
        t = sum(held)
        positive = [log_stage(t, prod(d**u for d, u in zip(kinds, held, strict=True)))]
        negative: list[float] = []
        left = [n - u for n, u in zip(numbers, held, strict=True)]
        for chosen in product(*(range(min(n, beta - t) + 1) for n in left)):
            r = sum(chosen)
            if not 0 < r <= beta - t or not splits[t][r - 1]:
                continue
            ways = prod(comb(n, c) for n, c in zip(left, chosen, strict=True))
            outcomes = prod(d**c for d, c in zip(kinds, chosen, strict=True))
            term = log(ways * abs(splits[t][r - 1])) + outcomes * below(
                tuple(u + c for u, c in zip(held, chosen, strict=True))
            )
            (positive if splits[t][r - 1] > 0 else negative).append(term)
        total = log_sum_exp(positive)
        return total + log1p(-exp(log_sum_exp(negative) - total)) if negative else total

    return below((0,) * len(kinds))


def two_variable_contexts(cards: Sequence[int], shape: tuple[int, ...] | None) -> list[Pairs]:
    """Return the contexts of the staging with root ``shape[0]`` and splits ``shape[1:]`` (-1: stop)."""
    if shape is None:
        return [()]
    root, *splits = shape
    contexts: list[Pairs] = []
    for x, j in enumerate(splits):
        if j < 0:
            contexts.append(((root, x),))
        else:
            contexts += [((root, x), (j, y)) for y in range(cards[j])]
    return contexts


def best_options(stop: Floats, values: Floats, counts: Ints, tolerance: float) -> tuple[Floats, Ints, Ints]:
    """Return the value, the number of stages and the pick (-1: stop) of the best option at each context.

    Options stand along the first axis. Of tied ones a stop is taken, otherwise the first with the fewest stages.
    """
    top = np.maximum(stop, values.max(axis=0))
    with np.errstate(invalid="ignore"):
        enough = np.where(np.isneginf(top), -inf, top - tolerance * np.maximum(1.0, np.abs(top)))
    pick = np.where(values >= enough, counts, np.iinfo(np.intp).max).argmin(axis=0)
    value = np.take_along_axis(values, pick[None], axis=0)[0]
    count = np.take_along_axis(counts, pick[None], axis=0)[0]
    stops = stop >= enough
    return np.where(stops, stop, value), np.where(stops, 1, count), np.where(stops, -1, pick)


def draw_log(log_weights: Floats, rng: np.random.Generator) -> int:
    """Draw a position with probability proportional to ``exp(log_weights)``."""
    sums = np.cumsum(np.exp(log_weights - log_weights.max()))
    return int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))
