"""Counts of rows in memory, on columns that are packed into bits."""

from __future__ import annotations

from functools import cached_property
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from cslearn.counts.protocol import Contexts
from cslearn.data import Table

__all__ = ["BitCounts"]

ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


class BitCounts:
    """Counts of the rows of a table.

    Parameters
    ----------
    table : Table
    interventions : ndarray of bool, shape (n, p), optional
        Where a variable was set from outside: such a row is not counted for it as a target.

    Notes
    -----
    A request takes O(d_i D n / 64) for the ``D`` columns of bits, one for each state but the first of each variable; or
    O(D n(c)) where the rows of a context are few, and always where rows have weights.

    Examples
    --------
    >>> import numpy as np
    >>> from cslearn.counts import BitCounts, Contexts
    >>> from cslearn.data import Table
    >>> table = Table(np.array([[0, 0], [0, 1], [1, 1]]), ("a", "b"), (("n", "y"), ("n", "y")))
    >>> of_b = Contexts(np.array([1]), np.array([0, 0]), np.array([], dtype=int), np.array([], dtype=int))
    >>> own, counts = BitCounts(table).of(of_b)
    >>> own[0], counts[0, :, 0]
    (array([1., 2.]), array([0, 1], dtype=int32))
    """

    def __init__(self, table: Table, interventions: NDArray[np.bool_] | None = None) -> None:
        self._given, self._interventions = table, interventions
        self._table = table.collapse() if table.weights is not None and interventions is None else table
        self.cards = np.array(table.cards, dtype=np.int64)
        self.starts = np.concatenate([[0], np.cumsum(self.cards - 1)]).astype(np.int64)

    @property
    def total(self) -> float:
        """Number of rows, or their total weight."""
        return float(self._table.total_weight)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of what is counted."""
        digest = sha256(np.ascontiguousarray(self._codes).tobytes())
        for part in (self.cards, self._table.weights, self._interventions):
            digest.update(b"" if part is None else np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    @cached_property
    def _codes(self) -> NDArray[np.integer]:
        kind = np.uint8 if self.cards.max(initial=0) <= 256 else np.int32
        return np.ascontiguousarray(self._table.codes, dtype=kind)

    @cached_property
    def _words(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """The columns in bits, and the bits of the rows that count for each target."""
        from cslearn._kernels.context_counts import pack_columns

        words = pack_columns(self._codes, self.starts)
        n = len(self._codes)
        valid = np.full((len(self.cards), words.shape[1]), ALL)
        if n % 64:
            valid[:, -1] = np.uint64((1 << (n % 64)) - 1)
        if self._interventions is not None:
            set_there = pack_columns(self._interventions.astype(np.uint8), np.arange(len(self.cards) + 1))
            valid &= ~set_there
        return words, valid

    @cached_property
    def _rows(self) -> NDArray[np.uint8]:
        """The rows in bytes."""
        from cslearn._kernels.context_counts import one_hot

        return one_hot(self._codes, self.starts)

    def of(self, contexts: Contexts) -> tuple[NDArray[np.float64], NDArray[np.number]]:
        """Count the rows that agree with each context; see :meth:`Counts.of`."""
        from cslearn._kernels.context_counts import count_contexts, weigh_contexts

        words, valid = self._words
        size, most = len(contexts.targets), int(self.cards.max())
        own = np.zeros((size, most))
        weights = self._table.weights
        if weights is None:
            counts = np.empty((size, most, len(words)), dtype=np.int32)
            count_contexts(words, self._rows, self._codes, self.starts, valid, *contexts, own, counts)
            return own, counts
        weighed = np.zeros((size, most, len(words)))
        weigh_contexts(words, self._rows, self._codes, self.starts, valid, weights, *contexts, own, weighed)
        return own, weighed

    def own(self, contexts: Contexts) -> NDArray[np.float64]:
        """Count the states of the target of each context; see :meth:`Counts.own`."""
        from cslearn._kernels.context_counts import count_own, weigh_own

        words, valid = self._words
        own = np.zeros((len(contexts.targets), int(self.cards.max())))
        weights = self._table.weights
        if weights is None:
            count_own(words, self.starts, valid, *contexts, own)
        else:
            weigh_own(words, self._codes, self.starts, valid, weights, *contexts, own)
        return own

    def rows(self, at: NDArray[np.int64]) -> NDArray[np.integer]:
        """Return the codes of some rows; see :meth:`Counts.rows`."""
        return self._given.codes[at]
