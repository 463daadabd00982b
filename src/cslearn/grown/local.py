"""Orders of many variables: moves that ask only those variables which a moved one may matter for.

The local order score of a variable depends on its candidates alone, so each variable has contexts of its own, on the
columns of its candidates, and what a context takes does not grow with the number of variables. A variable that moves
changes its own score, and those of the variables that it is a candidate of: between two of these all places are alike.
So all places of an order are looked at, however many they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cslearn.counts import columns_of
from cslearn.grown.contexts import ContextStore, GrownContexts
from cslearn.grown.scores import GrownScores

__all__ = ["LocalScores", "climbed_locally"]

# Places that are better by less than this are not worth a move, which rounding could undo.
LEAST_GAIN = 1e-9
# Contexts of a variable are forgotten when they take more than its share of the memory, at least so many bytes; and
# scores when there are so many.
LEAST_MEMORY, MOST_KNOWN = 2.0**19, 1 << 10


class _Own(NamedTuple):
    """What is known of a variable: its candidates, and the contexts on the columns of these and of itself."""

    candidates: NDArray[np.int64]
    at: NDArray[np.int64]
    target: int
    contexts: GrownContexts
    known: dict[bytes, float]


class LocalScores:
    """The local order scores of grown trees, each variable on a table of its own.

    They are those of :meth:`cslearn.grown.GrownContexts.log_sums`, and take less time and memory where variables are
    many and candidates few.

    Parameters
    ----------
    scores : GrownScores
    """

    def __init__(self, scores: GrownScores) -> None:
        self.scores = scores
        self._own: list[_Own | None] = [None] * scores.table.p

    def __call__(self, target: int, before: NDArray[np.bool_]) -> list[float]:
        """Return the log local order scores given sets of the target's candidates before it, shape (sets, k)."""
        own = self.of(target)
        keys = [row.tobytes() for row in np.packbits(before, axis=1)]
        if len(own.known) > MOST_KNOWN:
            own.known.clear()
        new = list({key: at for at, key in enumerate(keys) if key not in own.known}.values())
        if new:
            rows = np.zeros((len(new), len(own.candidates) + 1), dtype=bool)
            rows[:, own.at] = before[new]
            found = own.contexts.log_sums(np.full(len(new), own.target), rows)
            own.known.update(zip((keys[at] for at in new), found.tolist(), strict=True))
        return [own.known[key] for key in keys]

    def of(self, target: int) -> _Own:
        own = self._own[target]
        if own is None:
            scores = self.scores
            candidates = np.sort(np.asarray(scores.candidates[target], dtype=np.int64))
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
    sweeps: int = 1,
    worth: float = 0.0,
) -> NDArray[np.int64]:
    """Return an order after greedy moves of all variables in turn, at most so many times.

    A variable goes to the best of all places; it is not asked again until one was moved that matters for it. The sweeps
    end when none moves, or when one gains less than `worth`.

    Parameters
    ----------
    scores : GrownScores
        Scores with few candidates of each variable.
    order : ndarray of int, shape (p,)
    before : ndarray of bool, shape (p, p), optional
        ``before[i, j]`` tells that variable `i` must come before `j`; transitively closed.
    sweeps : int
    worth : float

    Returns
    -------
    ndarray of int, shape (p,)
    """
    climb = _Climb(scores, order, before)
    waiting = np.ones(len(order), dtype=bool)
    for _ in range(sweeps):
        gained = 0.0
        for v in climb.order.tolist():
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

    def __init__(self, scores: GrownScores, order: NDArray[np.integer], before: NDArray[np.bool_] | None) -> None:
        self.local, p = LocalScores(scores), len(order)
        self.order = np.array(order, dtype=np.int64)
        self.position = np.argsort(self.order)
        self.before = before if before is not None and before.any() else None
        self.candidates = [self.local.of(i).candidates for i in range(p)]
        self.below = _turned_round(self.candidates)

    def move(self, v: int) -> float:
        """Put a variable into its best place; returns what that gains, zero if it stays."""
        here, own, below = int(self.position[v]), self._without(self.candidates[v], v), self.below[v]
        ends = self._without(below, v)
        # It stands directly after one of these, or before all of them.
        stops = np.unique(np.concatenate([[-1], own, ends])) + 1
        if self.before is not None:
            first = 1 + self._without(np.flatnonzero(self.before[:, v]), v).max(initial=-1)
            last = self._without(np.flatnonzero(self.before[v]), v).min(initial=len(self.order) - 1)
            stops = np.unique(np.clip(stops, first, last))
        total = np.array(self.local(v, own[None, :] < stops[:, None]))
        for u, end in zip(below.tolist(), ends.tolist(), strict=True):
            without, with_it = self._both(u, v)
            total += np.where(stops <= end, with_it, without)
        best, stay = int(np.argmax(total)), int(np.searchsorted(stops, here, side="right")) - 1
        gain = float(total[best] - total[stay])
        if gain <= LEAST_GAIN:
            return 0.0
        self._put(v, here, int(stops[best]))
        return gain

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

    def _both(self, u: int, v: int) -> tuple[float, float]:
        """Return the local score of `u` where `v` comes after it and before it."""
        others = self.candidates[u]
        rows = np.tile(self.position[others] < self.position[u], (2, 1))
        rows[:, np.searchsorted(others, v)] = False, True
        without, with_it = self.local(u, rows)
        return without, with_it

    def _put(self, v: int, here: int, to: int) -> None:
        """Put a variable into another place, counted without it."""
        first, last = min(here, to), max(here, to) + 1
        self.order[first:last] = np.roll(self.order[first:last], -1 if to > here else 1)
        self.position[self.order[first:last]] = np.arange(first, last)


def _turned_round(sets: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """Return for each number the sets that have it."""
    members = np.concatenate(sets)
    owners = np.repeat(np.arange(len(sets)), [len(own) for own in sets])
    by_member = np.argsort(members, kind="stable")
    ends = np.cumsum(np.bincount(members, minlength=len(sets)))[:-1]
    return np.split(owners[by_member], ends)
