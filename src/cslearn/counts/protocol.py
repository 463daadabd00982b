"""What learning asks of rows: counts, of many contexts at once. Nothing else of them is looked at."""

from __future__ import annotations

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
