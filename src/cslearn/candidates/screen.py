"""Candidate sets for many variables: few at first, grown from what an order search meets.

A strong set of context variables hides the others, so that one look at the data is not enough. The sets start with the
variables that tell most about the target by themselves. Then an order and its best stagings are found with the sets as
they are, every other variable is tried as one more split within the contexts of the parents found, or as the root over
them, and what improves the likelihood enters; until nothing does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from cslearn.candidates.knowledge import Knowledge
from cslearn.data import Table
from cslearn.errors import InputError

__all__ = ["screen"]

FIRST = 20
MOST_A_ROUND = 10
ROUNDS = 5

Floats = NDArray[np.float64]
Sets = dict[str, tuple[str, ...]]
Search = Callable[[Sets], Mapping[str, tuple[str, ...]]]


def screen(
    table: Table,
    search: Search,
    *,
    knowledge: Knowledge,
    ess: float = 1.0,
    interventions: NDArray[np.bool_] | None = None,
) -> Sets:
    """Choose candidate sets by a repeated screen.

    Parameters
    ----------
    table : Table
        Without weights, or with whole-number weights.
    search : callable
        Given candidate sets, returns the parents of each variable in the best model that it finds.
    knowledge : Knowledge
        Holds in every round.
    ess : float
        Equivalent sample size of the scores of splits.
    interventions : ndarray of bool, shape (n, p), optional
        Where a variable was set from outside: such rows do not count for it.

    Returns
    -------
    dict of str to tuple of str
        Candidates of each variable; if `j` is a candidate of `i` then `i` is one of `j`, as far as knowledge allows.

    Notes
    -----
    The cost is O(p^2 n) for the first look, and O(p^2 n) for each round besides its order search.

    Examples
    --------
    >>> from cslearn import random_cstree
    >>> from cslearn.candidates import Knowledge
    >>> from cslearn.candidates.screen import screen
    >>> tree = random_cstree(30, random_state=0)
    >>> sets = screen(tree.sample_table(2000, random_state=0), lambda sets: tree.parents, knowledge=Knowledge())
    >>> sum(len(tree.parents[v]) for v in tree.order), sum(u in sets[v] for v in tree.order for u in tree.parents[v])
    (75, 73)
    """
    counter = _Counter(table, ess, interventions)
    names = table.variables
    alone = np.array([counter.gains_alone(i) for i in range(table.p)])
    chosen = np.zeros((table.p, table.p), dtype=bool)
    for i in range(table.p):
        chosen[i, np.argsort(-alone[i], kind="stable")[:FIRST]] = True
    for _ in range(ROUNDS):
        sets = _as_sets(chosen, names, knowledge)
        parents = search(sets)
        new = np.zeros_like(chosen)
        for i, name in enumerate(names):
            gains = counter.gains_within(i, [names.index(parent) for parent in parents[name]])
            gains[chosen[i] | chosen[:, i]] = -np.inf
            best = np.argsort(-gains, kind="stable")[:MOST_A_ROUND]
            new[i, best[gains[best] > 0]] = True
        if not new.any():
            break
        chosen |= new
    return _as_sets(chosen, names, knowledge)


def _as_sets(chosen: NDArray[np.bool_], names: tuple[str, ...], knowledge: Knowledge) -> Sets:
    """Return symmetric candidate sets, as far as knowledge allows."""
    both = chosen | chosen.T
    np.fill_diagonal(both, False)
    sets = {name: tuple(names[j] for j in np.flatnonzero(both[i])) for i, name in enumerate(names)}
    return knowledge.restrict(sets) if knowledge else sets


class _Counter:
    """Counts of all variables with a target within a context, by bits."""

    def __init__(self, table: Table, ess: float, interventions: NDArray[np.bool_] | None = None) -> None:
        from cslearn._kernels.contexts import pack

        counted = None if interventions is None else ~interventions
        if table.weights is not None:
            if (table.weights != np.floor(table.weights)).any():
                raise InputError(
                    'a screen of candidates needs weights that are whole numbers; with others use candidates="all"'
                )
            times = table.weights.astype(int)
            table = Table(np.repeat(table.codes, times, axis=0), table.variables, table.states)
            counted = None if counted is None else np.repeat(counted, times, axis=0)
        self.cards = np.array(table.cards, dtype=np.int64)
        self.starts = np.concatenate([[0], np.cumsum(self.cards)[:-1]])
        self.words: Any = pack(table.codes, self.cards, self.starts)
        self.ess = ess
        self.everything = np.bitwise_or.reduce(self.words[: self.cards[0]], axis=0)
        self.counted: Any = None
        if counted is not None:
            # One row of bits for each variable: the second state of the mask of rows that count for it.
            both = np.full(table.p, 2, dtype=np.int64)
            self.counted = pack(counted.astype(np.uint8), both, 2 * np.arange(table.p))[1::2]

    def counts(self, i: int, mask: NDArray[np.uint64]) -> Floats:
        """Return the number of rows in `mask` with each state of each variable and of the target."""
        from cslearn._kernels.contexts import count_within

        counts = np.empty((len(self.words), self.cards[i]))
        mask = mask if self.counted is None else mask & self.counted[i]
        count_within(self.words, self.starts[i], mask, counts)
        return counts

    def log_z(self, counts: Floats, context_cards: float | NDArray[Any]) -> Floats:
        """Return the log marginal likelihoods of rows of counts; `context_cards` is the product of cardinalities."""
        a_stage = self.ess / np.broadcast_to(context_cards, len(counts))
        a_cell = (a_stage / counts.shape[1])[:, None]
        cells = (gammaln(a_cell + counts) - gammaln(a_cell)).sum(axis=1)
        return cells - gammaln(a_stage + counts.sum(axis=1)) + gammaln(a_stage)

    def by_variable(self, by_state: Floats) -> Floats:
        """Add up over the states of each variable."""
        return np.add.reduceat(by_state, self.starts)

    def gains_alone(self, i: int) -> Floats:
        """Return the gain in log-likelihood of a split on each variable alone; minus infinity for the target."""
        counts = self.counts(i, self.everything)
        whole = self.log_z(counts[self.starts[i] : self.starts[i] + self.cards[i]].sum(axis=0)[None], 1.0)
        return self._usable(i, self.by_variable(self.log_z(counts, np.repeat(self.cards, self.cards))) - whole)

    def gains_within(self, i: int, parents: list[int]) -> Floats:
        """Return the best gain of one more variable, as a split within a parent's state or as the root over parents."""
        if not parents:
            return self.gains_alone(i)
        of_state = np.repeat(self.cards, self.cards)
        alone = self.log_z(self.counts(i, self.everything), of_state)
        as_root = alone.copy()
        gains = np.full(len(self.cards), -np.inf)
        best_tree = -np.inf
        for k in parents:
            splits = np.array(
                [
                    self.log_z(self.counts(i, self.words[self.starts[k] + x]), of_state * self.cards[k])
                    for x in range(self.cards[k])
                ]
            )
            stops = alone[self.starts[k] : self.starts[k] + self.cards[k]]
            on_variable = np.array([self.by_variable(row) for row in splits])
            others = [j for j in parents if j != k]
            now = np.maximum(stops, on_variable[:, others].max(axis=1)) if others else stops
            gains = np.maximum(gains, (on_variable - now[:, None]).max(axis=0))
            as_root = np.maximum(as_root, splits.sum(axis=0))
            best_tree = max(best_tree, float(now.sum()))
        return self._usable(i, np.maximum(gains, self.by_variable(as_root) - best_tree))

    def _usable(self, i: int, gains: Floats) -> Floats:
        gains[i] = -np.inf
        gains[self.cards < 2] = -np.inf
        return gains
