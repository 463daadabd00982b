"""Candidate sets for many variables: few at first, grown from what an order search meets.

A strong set of context variables hides the others, so that one look at the data is not enough. The sets start with the
variables that tell most about the target by themselves. Then an order and its best stagings are found with the sets as
they are, every other variable is tried as one more split within the contexts of the parents found, or as the root over
them, and what improves the likelihood enters; until nothing does.

What enters the set of one variable makes that one a candidate of its own in turn, so a variable on which many depend
has many candidates. As the tables of scores are as wide as the largest set, that is bounded: of more candidates than
the bound those with the largest gains stay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from cslearn.candidates.knowledge import Knowledge
from cslearn.counts import Counts, counts_of, joint_counts
from cslearn.data import TableLike

__all__ = ["Screen", "screen"]

FIRST = 20
MOST_A_ROUND = 30
ROUNDS = 6

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Sets = dict[str, tuple[str, ...]]
Search = Callable[[Sets], Mapping[str, tuple[str, ...]]]


class Screen(NamedTuple):
    """What a screen leaves.

    Attributes
    ----------
    sets : dict of str to tuple of str
        Candidates of each variable; if `j` is a candidate of `i` then `i` is one of `j`, as far as knowledge and the
        bound on their number allow.
    dropped : dict of str to tuple of str
        What that bound took away, for the variables that lost anything.
    rounds : int
        Order searches that were made.
    settled : bool
        Whether nothing more entered after the last of them.
    """

    sets: Sets
    dropped: Sets
    rounds: int
    settled: bool


def screen(
    table: TableLike,
    search: Search,
    *,
    knowledge: Knowledge,
    ess: float = 1.0,
    most: int | None = None,
    interventions: Bools | None = None,
) -> Screen:
    """Choose candidate sets by a repeated screen.

    Parameters
    ----------
    table : Table or a table that counts its own rows
    search : callable
        Given candidate sets, returns the parents of each variable in the best model that it finds.
    knowledge : Knowledge
        Holds in every round: what it rules out takes no one's place.
    ess : float
        Equivalent sample size of the scores of splits.
    most : int, optional
        The most candidates of a variable, besides those that knowledge requires.
    interventions : ndarray of bool, shape (n, p), optional
        Where a variable was set from outside: such rows do not count for it.

    Returns
    -------
    Screen

    Notes
    -----
    The cost is O(p^2 n) for the first look, and O(p^2 n) for each round besides its order search.

    Examples
    --------
    >>> from cslearn import random_cstree
    >>> from cslearn.candidates import Knowledge
    >>> from cslearn.candidates.screen import screen
    >>> tree = random_cstree(30, random_state=0)
    >>> found = screen(tree.sample_table(2000, random_state=0), lambda sets: tree.parents, knowledge=Knowledge())
    >>> true = [(parent, v) for v in tree.order for parent in tree.parents[v]]
    >>> len(true), sum(parent in found.sets[v] for parent, v in true), found.settled
    (75, 73, True)
    """
    counter = _Counter(counts_of(table, interventions), ess)
    names = table.variables
    column = {name: i for i, name in enumerate(names)}
    allowed, required = _by_column(table, knowledge)
    # The gain with which each variable (row) met each other one, alone or when it entered.
    gains = np.array([counter.gains_alone(i) for i in range(table.p)])
    gains[~allowed] = -np.inf
    chosen = np.zeros((table.p, table.p), dtype=bool)
    for i in range(table.p):
        best = np.argsort(-gains[i], kind="stable")[:FIRST]
        chosen[i, best[gains[i, best] > -np.inf]] = True
    rounds, entered = 0, True
    while entered and rounds < ROUNDS:
        rounds += 1
        parents = search(_as_sets(names, *_bounded(chosen, gains, allowed, required, most))[0])
        entered = False
        for i, name in enumerate(names):
            within = counter.gains_within(i, [column[parent] for parent in parents[name]])
            within[~allowed[i] | chosen[i] | chosen[:, i]] = -np.inf
            best = np.argsort(-within, kind="stable")[:MOST_A_ROUND]
            best = best[within[best] > 0]
            chosen[i, best] = True
            gains[i, best] = np.maximum(gains[i, best], within[best])
            entered |= len(best) > 0
    return Screen(*_as_sets(names, *_bounded(chosen, gains, allowed, required, most)), rounds, not entered)


def _by_column(table: TableLike, knowledge: Knowledge) -> tuple[Bools, Bools]:
    """Return who (column) may be, and who must be, a candidate of whom (row); constant variables neither."""
    names = table.variables
    allowed, required = ~np.eye(len(names), dtype=bool), np.zeros((len(names), len(names)), dtype=bool)
    if knowledge:
        column = {name: i for i, name in enumerate(names)}
        allowed &= ~knowledge.precedence(names)
        for parent, child in knowledge.forbidden:
            allowed[column[child], column[parent]] = False
        for parent, child in knowledge.required:
            required[column[child], column[parent]] = True
    varied = np.array(table.cards) > 1
    both = varied[:, None] & varied
    return allowed & both, required & both


def _bounded(chosen: Bools, gains: Floats, allowed: Bools, required: Bools, most: int | None) -> tuple[Bools, Bools]:
    """Return symmetric candidate sets, as far as they are allowed, and what the bound on their size takes away."""
    wanted = (chosen | chosen.T) & allowed | required
    dropped = np.zeros_like(wanted)
    if most is None:
        return wanted, dropped
    # Whichever of the two met the other with the larger gain.
    gains = np.where(required, np.inf, np.maximum(gains, gains.T))
    for i in np.flatnonzero(wanted.sum(axis=1) > most):
        others = np.flatnonzero(wanted[i])
        ranked = others[np.argsort(-gains[i, others], kind="stable")]
        dropped[i, ranked[max(most, int(required[i].sum())) :]] = True
    return wanted & ~dropped, dropped


def _as_sets(names: tuple[str, ...], kept: Bools, dropped: Bools) -> tuple[Sets, Sets]:
    sets, lost = (
        {name: tuple(names[j] for j in np.flatnonzero(row)) for name, row in zip(names, matrix, strict=True)}
        for matrix in (kept, dropped)
    )
    return sets, {name: others for name, others in lost.items() if others}


class _Counter:
    """Gains of splits on all variables."""

    def __init__(self, counts: Counts, ess: float) -> None:
        self.counts, self.ess = counts, ess
        self.cards = counts.cards

    def log_scores(self, i: int, sets: NDArray[np.integer]) -> Floats:
        """Return the log scores of all contexts of some sets of variables for target `i`, one set after the other."""
        sizes = self.cards[sets].prod(axis=1)
        return self.log_z(joint_counts(self.counts, i, sets).reshape(-1, self.cards[i]), np.repeat(sizes, sizes))

    def log_z(self, counts: Floats, context_cards: float | NDArray[Any]) -> Floats:
        """Return the log marginal likelihoods of rows of counts; `context_cards` is the product of cardinalities."""
        a_stage = self.ess / np.broadcast_to(context_cards, len(counts))
        a_cell = (a_stage / counts.shape[1])[:, None]
        cells = (gammaln(a_cell + counts) - gammaln(a_cell)).sum(axis=1)
        return cells - gammaln(a_stage + counts.sum(axis=1)) + gammaln(a_stage)

    def _alone(self, i: int) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
        """Return what may be split on, and the log scores of all its states, with the place of its first one."""
        usable = self.cards > 1
        usable[i] = False
        there = np.flatnonzero(usable)
        return there, np.cumsum(self.cards[there]) - self.cards[there], self.log_scores(i, there[:, None])

    def gains_alone(self, i: int) -> Floats:
        """Return the gain in log-likelihood of a split on each variable alone; minus infinity for the target."""
        there, first, alone = self._alone(i)
        gains = np.full(len(self.cards), -np.inf)
        if len(there):
            (whole,) = self.log_scores(i, np.zeros((1, 0), dtype=np.intp))
            gains[there] = np.add.reduceat(alone, first) - whole
        return gains

    def gains_within(self, i: int, parents: list[int]) -> Floats:
        """Return the best gain of one more variable, as a split within a parent's state or as the root over parents."""
        if not parents:
            return self.gains_alone(i)
        there, first, alone = self._alone(i)
        place = dict(zip(there.tolist(), first.tolist(), strict=True))
        as_root, best_tree = alone.copy(), -np.inf
        gains = np.full(len(self.cards), -np.inf)
        for k in parents:
            others = there[there != k]
            stops = alone[place[k] : place[k] + self.cards[k]]
            if not len(others):
                continue
            # For each other variable a run of its states within each state of the parent.
            splits = self.log_scores(i, np.column_stack([np.full(len(others), k), others]))
            runs = np.repeat(self.cards[others], self.cards[k])
            starts = np.cumsum(runs) - runs
            on_variable = np.add.reduceat(splits, starts).reshape(len(others), -1)
            now = np.vstack([stops, on_variable[np.isin(others, parents)]]).max(axis=0)
            gains[others] = np.maximum(gains[others], (on_variable - now).max(axis=1))
            state = np.repeat(np.repeat(first[there != k], self.cards[k]) - starts, runs) + np.arange(len(splits))
            both = np.bincount(state, weights=splits, minlength=len(alone))
            of_others = np.bincount(state, minlength=len(alone)) > 0
            as_root[of_others] = np.maximum(as_root, both)[of_others]
            best_tree = max(best_tree, float(now.sum()))
        gains[there] = np.maximum(gains[there], np.add.reduceat(as_root, first) - best_tree)
        gains[parents] = -np.inf
        return gains
