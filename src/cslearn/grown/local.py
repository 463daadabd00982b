"""Orders of many variables: moves that ask only those variables which a moved one may matter for.

The local order score of a variable depends on its candidates alone, so each variable has contexts of its own, on the
columns of its candidates, and what a context takes does not grow with the number of variables. A variable that moves
changes its own score, and those of the variables that it is a candidate of: between two of these all places are alike.
So all places of an order are looked at, however many they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from operator import or_
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cslearn.counts import columns_of
from cslearn.grown.contexts import ContextStore, GrownContexts, SumsRoom
from cslearn.grown.scores import GrownScores

__all__ = ["LocalScores", "climbed_locally"]

# Places that are better by less than this are not worth a move, which rounding could undo.
LEAST_GAIN = 1e-9
# Contexts of a variable are forgotten when they take more than its share of the memory, at least so many bytes; and
# scores when there are so many.
LEAST_MEMORY, MOST_KNOWN = 2.0**19, 1 << 10
# Sums over trees that are kept while a few scores are found.
KNOWN_AT_ONCE = 1 << 8


class _Own(NamedTuple):
    """What is known of a variable: its candidates, and the contexts on the columns of these and of itself."""

    candidates: NDArray[np.int64]
    at: NDArray[np.int64]
    target: int
    contexts: GrownContexts
    known: dict[int, float]


class LocalScores:
    """The local order scores of grown trees, each variable on a table of its own.

    They are those of :meth:`cslearn.grown.GrownContexts.log_sums`, and take less time and memory where variables are
    many and candidates few. A set of candidates is a number: bit `k` stands for the `k`-th of them in ascending order.

    Parameters
    ----------
    scores : GrownScores
    candidates : sequence of ndarray of int, optional
        Those of each variable, in place of all that it has in `scores`.
    """

    def __init__(self, scores: GrownScores, candidates: Sequence[NDArray[np.integer]] | None = None) -> None:
        self.scores, self._candidates = scores, scores.candidates if candidates is None else candidates
        self._own: list[_Own | None] = [None] * scores.table.p
        self._room = SumsRoom.of(max(map(len, self._candidates), default=0) + 1, scores.growth, KNOWN_AT_ONCE)

    def __call__(self, target: int, before: Sequence[int]) -> list[float]:
        """Return the log local order scores given sets of the target's candidates before it."""
        own = self.of(target)
        known = own.known
        new = [key for key in dict.fromkeys(before) if key not in known]
        if new:
            if len(known) > MOST_KNOWN:
                known.clear()
                new = list(dict.fromkeys(before))
            number = len(own.candidates)
            size = (number + 7) // 8
            packed = np.frombuffer(b"".join(key.to_bytes(size, "little") for key in new), np.uint8)
            rows = np.zeros((len(new), number + 1), dtype=bool)
            rows[:, own.at] = np.unpackbits(packed.reshape(len(new), size), axis=1, count=number, bitorder="little")
            found = own.contexts.log_sums(np.full(len(new), own.target), rows, self._room)
            known.update(zip(new, found.tolist(), strict=True))
        return [known[key] for key in before]

    def of(self, target: int) -> _Own:
        own = self._own[target]
        if own is None:
            scores = self.scores
            candidates = np.sort(np.asarray(self._candidates[target], dtype=np.int64))
            columns = np.sort(np.append(candidates, target))
            at, place = np.searchsorted(columns, candidates), int(np.searchsorted(columns, target))
            allowed = np.zeros((len(columns), len(columns)), dtype=bool)
            allowed[place, at] = True
            store = ContextStore(
                columns_of(scores.table, columns, scores.interventions),
                allowed,
                ess=scores.ess,
                gamma=scores.gamma,
                growth=scores.growth,
                max_memory=max(LEAST_MEMORY, scores.max_memory / scores.table.p),
            )
            contexts = GrownContexts(store, scores.parents_prior)
            own = self._own[target] = _Own(candidates, at, place, contexts, {})
        return own


def climbed_locally(
    scores: GrownScores,
    order: NDArray[np.integer],
    before: NDArray[np.bool_] | None = None,
    sweeps: int = 0,
    worth: float = 0.0,
    heats: Sequence[float] = (),
    candidates: Sequence[NDArray[np.integer]] | None = None,
) -> NDArray[np.int64]:
    """Return an order after moves of all variables in turn.

    First there is one sweep for each of `heats`, in which a variable goes to any place, with a probability that falls
    with what the place loses, a loss of `heat` by the factor `e`: orders are left that are better than those nearby
    only, and with a heat of one they are drawn from the posterior. Then a variable goes to the best of all places, and
    is not asked again until one was moved that matters for it; these sweeps end when none moves, or when one gains less
    than `worth`, or after so many. A sweep takes the variables in an order at random, always the same.

    Parameters
    ----------
    scores : GrownScores
        Scores with few candidates of each variable.
    order : ndarray of int, shape (p,)
    before : ndarray of bool, shape (p, p), optional
        ``before[i, j]`` tells that variable `i` must come before `j`; transitively closed.
    sweeps : int
    worth : float
    heats : sequence of float
    candidates : sequence of ndarray of int, optional
        Those of each variable, in place of all that it has in `scores`.

    Returns
    -------
    ndarray of int, shape (p,)
    """
    climb, rng = _Climb(LocalScores(scores, candidates), order, before), np.random.default_rng(0)
    for heat in heats:
        for v in rng.permutation(len(order)).tolist():
            climb.move(v, heat, rng)
    waiting = np.ones(len(order), dtype=bool)
    for _ in range(sweeps):
        gained = 0.0
        for v in rng.permutation(len(order)).tolist():
            if waiting[v]:
                waiting[v] = False
                here, gain = climb.position[v], climb.move(v)
                if gain:
                    gained += gain
                    waiting[climb.touched(v, here)] = True
        if gained < worth or not waiting.any():
            break
    return climb.order


class _Climb:
    """An order that gets better move by move."""

    def __init__(self, local: LocalScores, order: NDArray[np.integer], before: NDArray[np.bool_] | None) -> None:
        self.local, p = local, len(order)
        self.order = np.array(order, dtype=np.int64)
        self.position = np.argsort(self.order)
        self.before = before if before is not None and before.any() else None
        self.candidates = [self.local.of(i).candidates for i in range(p)]
        self.below = _turned_round(self.candidates)
        # What a variable is in the sets of those below it, and the sets of candidates before each as they are.
        self.bits = [[1 << int(np.searchsorted(self.candidates[u], v)) for u in self.below[v]] for v in range(p)]
        self.sets = [_as_number(np.flatnonzero(self.position[self.candidates[i]] < self.position[i])) for i in range(p)]

    def move(self, v: int, heat: float = 0.0, rng: np.random.Generator | None = None) -> float:
        """Put a variable into its best place, or with some heat into a good one; returns what that gains."""
        here, own, below = int(self.position[v]), self._without(self.candidates[v], v), self.below[v]
        ends = self._without(below, v)
        # It stands directly after one of these, or before all of them.
        stops, last = np.unique(np.concatenate([[-1], own, ends])) + 1, len(self.order) - 1
        if self.before is not None:
            first = 1 + self._without(np.flatnonzero(self.before[:, v]), v).max(initial=-1)
            last = int(self._without(np.flatnonzero(self.before[v]), v).min(initial=last))
            stops = np.unique(np.clip(stops, first, last))
        by_place = np.argsort(own)
        sets = list(accumulate((1 << k for k in by_place.tolist()), or_, initial=0))
        numbers = np.searchsorted(own[by_place], stops)
        fewest, most = int(numbers[0]), int(numbers[-1])
        total = np.array(self.local(v, sets[fewest : most + 1]))[numbers - fewest]
        # What those gain that have it before them, by their places: all that are not before a stop.
        gains = np.array([self._gain(u, bit) for u, bit in zip(below.tolist(), self.bits[v], strict=True)])
        by_end = np.argsort(ends)
        after = np.append(np.cumsum(gains[by_end][::-1])[::-1], 0.0)
        total += after[np.searchsorted(ends[by_end], stops)]
        stay = int(np.searchsorted(stops, here, side="right")) - 1
        if heat and rng is not None:
            # All places until the next stop are as good.
            ends = np.append(stops[1:], last + 1)
            chances = np.cumsum((ends - stops) * np.exp((total - total.max()) / heat))
            best = int(np.searchsorted(chances, rng.random() * chances[-1], side="right"))
            to = int(rng.integers(stops[best], ends[best]))
        else:
            best = int(np.argmax(total))
            if total[best] - total[stay] <= LEAST_GAIN:
                return 0.0
            to = int(stops[best])
        self._put(v, here, to)
        if best != stay:
            self.sets[v] = sets[numbers[best]]
            for u, bit in zip(below.tolist(), self.bits[v], strict=True):
                self.sets[u] = self.sets[u] | bit if self.position[u] > self.position[v] else self.sets[u] & ~bit
        return float(total[best] - total[stay])

    def touched(self, v: int, was: int) -> NDArray[np.int64]:
        """Return the variables that may have a better place now that `v` has moved."""
        first, last = min(was, self.position[v]), max(was, self.position[v])
        below = self.below[v]
        passed = below[(self.position[below] >= first) & (self.position[below] <= last)]
        found = [self.candidates[v], below, *(self.candidates[u] for u in passed)]
        if self.before is not None:
            found.append(np.flatnonzero(self.before[v] | self.before[:, v]))
        return np.concatenate(found)

    def _without(self, some: NDArray[np.int64], v: int) -> NDArray[np.int64]:
        """Return the places of some variables when `v` is taken out."""
        place = self.position[some]
        return place - (place > self.position[v])

    def _gain(self, u: int, bit: int) -> float:
        """Return what the local score of `u` gains if a candidate comes before it, not after."""
        others = self.sets[u] & ~bit
        with_it, without = self.local(u, (others | bit, others))
        return with_it - without

    def _put(self, v: int, here: int, to: int) -> None:
        """Put a variable into another place, counted without it."""
        first, last = min(here, to), max(here, to) + 1
        self.order[first:last] = np.roll(self.order[first:last], -1 if to > here else 1)
        self.position[self.order[first:last]] = np.arange(first, last)


def _as_number(members: NDArray[np.int64]) -> int:
    """Return the number whose bits are these."""
    return sum(1 << k for k in members.tolist())


def _turned_round(sets: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """Return for each number the sets that have it."""
    members = np.concatenate(sets)
    owners = np.repeat(np.arange(len(sets)), [len(own) for own in sets])
    by_member = np.argsort(members, kind="stable")
    ends = np.cumsum(np.bincount(members, minlength=len(sets)))[:-1]
    return np.split(owners[by_member], ends)
