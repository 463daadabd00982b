"""Local order scores of every level that a variable's candidates can make: one number for each subset of them.

With them an order score is a sum of look-ups. Their number doubles with each candidate, so they are for small candidate
sets; for these they serve every context bound, the exact search and the sampler alike.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations, product
from math import comb, inf, prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cslearn._numerics import n_threads
from cslearn._wording import option
from cslearn.errors import LimitError
from cslearn.orders.problem import has_usual_weights, order_problem
from cslearn.scores import Scores
from cslearn.stagings.level import full_split_weight
from cslearn.stagings.tree_weights import n_contexts

__all__ = ["LevelScores", "SubsetScores", "check_subsets_fit", "memory_of_subsets", "subsets_fit"]

Floats = NDArray[np.float64]

# Beyond two context variables a candidate set may have so many members, work on its subsets may take so many bytes, and
# its contexts may have so many splits.
SUBSET_MEMORY = 1 << 26
MOST_SPLITS = 1 << 19
MOST_CANDIDATES = 12


def memory_of_subsets(cards: tuple[int, ...], beta: int) -> int:
    """Return the bytes that the work on one candidate set with these cardinalities takes."""
    n, d = len(cards), max(cards, default=1)
    return 8 * sum(comb(n, t) * d**t << (n - t) for t in range(max(min(beta, n + 1), 1))) + (16 << n)


def subsets_fit(cards: tuple[int, ...], beta: int) -> bool:
    """Tell whether the levels of one candidate set with these cardinalities can be worked on."""
    beta = min(beta, max(2, len(cards)))
    if len(cards) > MOST_CANDIDATES or memory_of_subsets(cards, beta) > SUBSET_MEMORY:
        return False
    # Each variable of a context that is split on is asked for before, or by the split.
    return beta <= 2 or n_contexts([2 * d for d in cards], beta) <= MOST_SPLITS


def check_subsets_fit(scores: Scores) -> None:
    """Raise an error if a candidate set is too large for its context bound, beyond two context variables."""
    for name, candidates, beta in zip(scores.table.variables, scores.candidates, scores.betas, strict=True):
        cards = tuple(sorted((int(scores.table.cards[c]) for c in candidates), reverse=True))
        if beta <= 2 or subsets_fit(cards, beta):
            continue
        less = next((bound for bound in range(beta - 1, 2, -1) if subsets_fit(cards, bound)), 2)
        most = next(number for number in range(len(cards), 0, -1) if subsets_fit(cards[:number], beta))
        raise LimitError(
            f"{name!r} has {len(cards)} candidates, of which contexts of up to {beta} variables can hold {most}, if"
            f" all stagings are summed. Give {option('beta', less)}, fewer candidates ({option('alpha', most)}), or"
            f" {option('prior', 'tree')}, with which trees are grown."
        )


class LevelScores(Protocol):
    """Log local order scores of all levels, as the search over all orders wants them."""

    @property
    def scores(self) -> Any:
        """The scores of the data."""

    @property
    def p(self) -> int:
        """Number of variables."""

    @property
    def local(self) -> tuple[Floats, ...]:
        """For each variable the log local order score of every level, by subsets of its candidates."""

    @property
    def best(self) -> tuple[Floats, ...]:
        """For each variable the log joint score of the best staging of every level."""

    def context_probabilities(self, i: int, levels: Floats) -> Floats:
        """Return how probable each candidate is in a context of a variable, given the chances of its levels."""


@dataclass(frozen=True)
class SubsetScores:
    """Log local order scores of all levels, by subsets of the candidate sets.

    Parameters
    ----------
    scores : Scores

    Notes
    -----
    A subset of the candidates of a variable is a number whose bits are positions in ``scores.candidates``. For `m`
    candidates of cardinality `d` each array takes O(2^m (m d)^(beta - 1) m) to make, or O(2^m m d) with two context
    variables, and 2^m numbers to keep.
    """

    scores: Scores

    @property
    def p(self) -> int:
        """Number of variables."""
        return self.scores.table.p

    @cached_property
    def sums(self) -> tuple[Floats, ...]:
        """For each variable the log sum over the stagings of every level, without the prior's normaliser."""
        problem = self._problem
        return self._by_target(lambda work: work.sums(0, problem))

    @cached_property
    def local(self) -> tuple[Floats, ...]:
        """For each variable the log local order score of every level."""
        normalisers = self._by_target(lambda work: work.normaliser())
        return tuple(one - other for one, other in zip(self.sums, normalisers, strict=True))

    @cached_property
    def without(self) -> tuple[Floats, ...]:
        """For each variable the log sum over the stagings of every level that leave out one candidate more.

        With ``L`` a level that holds `j`, ``exp(without[i][L - j] - sums[i][L])`` is the probability, given ``L``, that
        `j` is in no context of `i`.
        """
        problem = self._problem
        return self._by_target(lambda work: work.sums(1, problem))

    def context_probabilities(self, i: int, levels: Floats) -> Floats:
        """Return how probable each candidate is in a context of a variable, given the chances of its levels."""
        sums, without = self.sums[i], self.without[i]
        found = np.zeros(len(self.scores.candidates[i]))
        for k in range(len(found)):
            holds = (np.arange(len(levels)) >> k & 1).astype(bool)
            rest = np.flatnonzero(holds) & ~(1 << k)
            found[k] = levels[holds] @ -np.expm1(without[rest] - sums[holds])
        return found

    @cached_property
    def best(self) -> tuple[Floats, ...]:
        """For each variable the log joint score of the best staging of every level.

        Beyond two context variables, with a prior that weighs trees, it is a lower bound: what the recursion of
        :mod:`cslearn.stagings.level` finds.
        """
        return self._by_target(lambda work: work.maxima() - work.normaliser())

    @cached_property
    def _problem(self) -> Any:
        """What levels with two context variables are made of, as in a search over orders; None if they are others."""
        usual = self.scores.beta == 2 and has_usual_weights(self.scores)
        return order_problem(self.scores, light=False) if usual else None

    def _by_target(self, function: Callable[[_Work], Floats]) -> tuple[Floats, ...]:
        with ThreadPoolExecutor(n_threads(self.scores.n_jobs)) as pool:
            return tuple(pool.map(lambda i: function(_Work(self.scores, i)), range(self.p)))


class _Work:
    """The tables of one variable."""

    def __init__(self, scores: Scores, i: int) -> None:
        self.scores, self.i = scores, i
        self.cards = tuple(int(scores.table.cards[c]) for c in scores.candidates[i])
        self.n = len(self.cards)
        self.beta = scores.betas[i]

    @cached_property
    def arrays(self) -> tuple[Any, Floats, Floats]:
        """The shape, the scores of contexts and the constants of splits that reach the bound."""
        shape, starts, index = _shape(self.cards, self.beta)
        scores = self.scores.context_scores(self.i)
        constants = np.add.reduceat(scores[index], starts) if len(starts) else np.zeros(0)
        return shape, scores[: len(shape.held)], constants

    def sums(self, more: int, problem: Any) -> Floats:
        """Return the log sums for all subsets, with prior weights of a level with `more` further variables."""
        if problem is not None:
            return self._sums_of_levels(more, problem)
        return self._sums_of_trees(more)

    def _sums_of_levels(self, more: int, problem: Any) -> Floats:
        from cslearn._kernels.level_subsets import sums_of_levels

        i, own, found = self.i, self.scores.candidates[self.i], np.empty(1 << self.n)
        p, m = problem.columns.shape
        shape = (p, m, m, problem.width)
        sums_of_levels(
            problem.root[i],
            problem.root_e[i],
            problem.pair.reshape(shape)[i],
            problem.pair_e.reshape(shape)[i],
            problem.cards[own],
            problem.kind[own],
            problem.stop_weight,
            problem.split_weight,
            problem.whole,
            problem.both,
            problem.both_e,
            more,
            found,
        )
        return problem.stop[i] + found

    def _sums_of_trees(self, more: int) -> Floats:
        from cslearn._kernels.subsets import sums_of_subsets

        shape, scores, constants = self.arrays
        table = np.empty(_table_size(shape))
        weights = self._weights(self.n + more)
        sums_of_subsets(shape, weights, more, scores, constants, table)
        return table[: 1 << self.n].copy()

    def maxima(self) -> Floats:
        """Return the largest log-weights for all subsets."""
        from cslearn._kernels.subsets import maxima_of_subsets

        shape, scores, constants = self.arrays
        table = np.empty(_table_size(shape))
        full = self._full_splits()
        maxima_of_subsets(shape, self._weights(self.n), full, scores, constants, table)
        return table[: 1 << self.n].copy()

    def _weights(self, m: int) -> Any:
        """Return the prior's weights in levels of up to `m` candidates."""
        from cslearn._kernels.subsets import Weights

        prior, beta = self.scores.prior, self.beta
        depths = max(beta, 1)
        stop, share = np.zeros((m + 1, depths)), np.zeros((m + 1, beta + 1))
        split = np.zeros((m + 1, depths, depths))
        for size in range(m + 1):
            splits = prior.splits(size, beta)
            for t in range(beta + 1):
                share[size, t] = prior.log_share(size, t) if t <= size else 0.0
                if t < beta and t <= size:
                    stop[size, t] = prior.log_ending(size, t, beta)
                    split[size, t, : beta - t] = splits[t][: beta - t]
        return Weights(stop, share, split)

    def _full_splits(self) -> Floats:
        """Return the log-weights of full splits on every set, by the size of the level and the depth."""
        n, beta = self.n, self.beta
        sets = [s for r in range(1, beta + 1) for s in combinations(range(n), r)]
        weights = np.full((n + 1, max(beta, 1), len(sets)), -inf)
        for m in range(1, n + 1):
            splits = self.scores.prior.splits(m, beta)
            by_staging = any(weight < 0 for row in splits for weight in row)
            for t in range(beta):
                for s, members in enumerate(sets):
                    if t + len(members) <= min(beta, m) and not (by_staging and len(members) > 1):
                        of_set = tuple(sorted(self.cards[k] for k in members))
                        weights[m, t, s] = 0.0 if by_staging else full_split_weight(splits, t, of_set)
        return weights

    def normaliser(self) -> Floats:
        """Return the prior's log normaliser for all subsets."""
        kinds = sorted(set(self.cards))
        # How many variables of each kind a subset has, as the digits of one number.
        digits = np.zeros(1 << self.n, dtype=np.int64)
        for k, d in enumerate(self.cards):
            digits[1 << k : 2 << k] = digits[: 1 << k] + (self.n + 1) ** kinds.index(d)
        distinct, which = np.unique(digits, return_inverse=True)
        values = []
        for number in distinct.tolist():
            numbers = [number // (self.n + 1) ** kind % (self.n + 1) for kind in range(len(kinds))]
            cards = np.repeat(np.array(kinds, dtype=np.intp), numbers)
            values.append(self.scores.log_normaliser(self.i, cards))
        return np.array(values)[which]


def _table_size(shape: Any) -> int:
    return int(shape.offset[-1] + (1 << (shape.n - shape.depth[-1])))


@lru_cache(maxsize=64)
def _shape(cards: tuple[int, ...], beta: int) -> tuple[Any, NDArray[np.int64], NDArray[np.int64]]:
    """Return the shape, and where splits that reach the bound begin among the contexts that they lead to.

    These stand in the flat array of :class:`cslearn.stagings.tree_weights.Layout`.
    """
    from cslearn._kernels.subsets import Shape

    n = len(cards)
    sets = [s for r in range(1, beta + 1) for s in combinations(range(n), r)]
    start = np.zeros(beta + 2, dtype=np.int64)
    first = np.zeros((beta + 1, n + 1), dtype=np.int64)
    for r in range(1, beta + 1):
        start[r + 1] = start[r] + comb(n, r)
        lows = [s[0] for s in combinations(range(n), r)]
        first[r] = start[r] + np.searchsorted(lows, np.arange(n + 1))

    number: dict[tuple[tuple[int, int], ...], int] = {}
    held, depth, share = [], [], []
    for t in range(max(beta, 1)):
        for variables in combinations(range(n), t):
            for states in product(*(range(cards[k]) for k in variables)):
                pairs = tuple(zip(variables, states, strict=True))
                number[pairs] = len(number)
                held.append(sum(1 << k for k in variables))
                depth.append(t)
                share.append(1 / prod(cards[k] for k in variables))
    offset = np.concatenate([[0], np.cumsum([1 << (n - t) for t in depth])])[:-1].astype(np.int64)

    deepest: dict[tuple[tuple[int, int], ...], int] = {}
    for variables in combinations(range(n), beta) if beta else ():
        for states in product(*(range(cards[k]) for k in variables)):
            deepest[tuple(zip(variables, states, strict=True))] = len(number) + len(deepest)
    child: list[int] = []
    constants: list[int] = []
    constant_starts: list[int] = []
    constant_at = np.zeros(len(number), dtype=np.int64)
    child_at = np.zeros((sum(t < beta - 1 for t in depth) or 1, len(sets)), dtype=np.int64)
    for pairs, c in number.items():
        t = len(pairs)
        taken = {k for k, _ in pairs}
        constant_at[c] = len(constant_starts)
        for s, members in enumerate(sets[: start[beta - t + 1]] if beta else []):
            if t + len(members) < beta:
                child_at[c, s] = len(child)
                if not taken.intersection(members):
                    outcomes = product(*(range(cards[k]) for k in members))
                    child += [number[tuple(sorted((*pairs, *zip(members, x, strict=True))))] for x in outcomes]
            else:
                constant_starts.append(len(constants))
                if taken.intersection(members):
                    constants.append(0)
                    continue
                outcomes = product(*(range(cards[k]) for k in members))
                constants += [deepest[tuple(sorted((*pairs, *zip(members, x, strict=True))))] for x in outcomes]
    shape = Shape(
        n,
        beta,
        np.array(held, dtype=np.int64),
        np.array(depth, dtype=np.int64),
        np.array(share),
        offset,
        np.array([sum(1 << k for k in s) for s in sets], dtype=np.int64),
        start,
        first,
        child_at,
        np.array(child, dtype=np.int64),
        np.array([prod(cards[k] for k in s) for s in sets], dtype=np.int64),
        constant_at,
    )
    return shape, np.array(constant_starts, dtype=np.int64), np.array(constants, dtype=np.int64)
