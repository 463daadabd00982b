"""What learning asks of rows: counts, of many contexts at once. Nothing else of them is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Contexts", "Counts"]


class Contexts(NamedTuple):
    """Contexts of targets, as flat arrays.

    Attributes
    ----------
    targets : ndarray of int, shape (r,)
        The column of the target of each context.
    pointers : ndarray of int, shape (r + 1,)
        Context `r` is ``variables[pointers[r]:pointers[r + 1]]`` in the `states` at the same places.
    variables, states : ndarray of int
        Columns, and codes of their states.
    """

    targets: NDArray[np.integer]
    pointers: NDArray[np.int64]
    variables: NDArray[np.int64]
    states: NDArray[np.int64]

    @classmethod
    def of_target(cls, target: int, contexts: Sequence[Sequence[tuple[int, int]]]) -> Contexts:
        """Return contexts of one target, given as pairs of column and code.

        Examples
        --------
        >>> from cslearn.counts import Contexts
        >>> Contexts.of_target(2, [[], [(0, 1), (1, 0)]]).pointers
        array([0, 0, 2])
        """
        pairs = np.array([pair for pairs in contexts for pair in pairs], dtype=np.int64).reshape(-1, 2)
        pointers = np.cumsum([0, *map(len, contexts)], dtype=np.int64)
        columns, codes = np.ascontiguousarray(pairs.T)
        return cls(np.full(len(contexts), target, dtype=np.int64), pointers, columns, codes)

    @classmethod
    def of_codes(cls, target: int, columns: NDArray[np.integer], codes: NDArray[np.integer]) -> Contexts:
        """Return contexts of one target, given by the codes of some columns, one context in a row; -1 for any.

        Examples
        --------
        >>> import numpy as np
        >>> from cslearn.counts import Contexts
        >>> Contexts.of_codes(2, np.array([0, 1]), np.array([[-1, -1], [1, -1], [1, 0]])).pointers
        array([0, 0, 1, 3])
        """
        rows, places = np.nonzero(codes >= 0)
        pointers = np.concatenate([[0], np.cumsum((codes >= 0).sum(axis=1))]).astype(np.int64)
        states = codes[rows, places].astype(np.int64)
        return cls(np.full(len(codes), target, dtype=np.int64), pointers, columns[places].astype(np.int64), states)

    def take(self, at: Sequence[int]) -> Contexts:
        """Return some of the contexts, by their numbers."""
        sizes = np.diff(self.pointers)[at]
        pointers = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        places = np.repeat(self.pointers[:-1][at] - pointers[:-1], sizes) + np.arange(pointers[-1])
        return Contexts(self.targets[at], pointers, self.variables[places], self.states[places])


class Counts(Protocol):
    """Counts of rows, wherever the rows are.

    Counts add up: those of a table are the sums of those of its parts, so the parts may be counted anywhere.
    """

    @property
    def cards(self) -> NDArray[np.int64]:
        """Number of states of each variable, shape (p,)."""

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where the counts of each variable begin in a line of counts, shape (p + 1,).

        A variable has an entry for each of its states but the first, whose counts follow from the others.
        """

    @property
    def total(self) -> float:
        """Number of rows, or their total weight."""

    @property
    def fingerprint(self) -> str:
        """A digest of what is counted: equal counts have equal ones."""

    def of(self, contexts: Contexts) -> tuple[NDArray[np.float64], NDArray[np.number]]:
        """Count the rows that agree with each context.

        Rows in which the target of a context was set from outside are not counted.

        Returns
        -------
        own : ndarray, shape (r, d)
            How often each state of the target stands there, with `d` the largest cardinality.
        counts : ndarray, shape (r, d, starts[-1])
            How often each state of the target stands there together with each state, but the first, of each variable.
            Undefined for a context in which the target has fewer than two states, and beyond the target's states.
        """

    def own(self, contexts: Contexts) -> NDArray[np.float64]:
        """Return the first part of :meth:`of` alone, which is counted faster; shape (r, d)."""

    def rows(self, at: NDArray[np.int64]) -> NDArray[np.integer]:
        """Return the codes of some rows of the table, given by their numbers, for what looks at single rows.

        Returns
        -------
        ndarray, shape (len(at), p)
        """
