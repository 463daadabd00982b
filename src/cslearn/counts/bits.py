"""Counts of rows in memory, on columns that are packed into bits."""

from __future__ import annotations

from functools import cached_property
from hashlib import sha256
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn.counts.protocol import Contexts
from cslearn.data import Table

__all__ = ["BitCounts"]

ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
# Counting a set of variables by bits takes a popcount for each 64 rows and each cell in which no variable is in its
# first state, counting it row by row an increment for each row. Up to this number of cells bits are faster.
CELLS_BY_BITS = 100


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
        # What joint counts are made of, for each set of rows that count for a target.
        self._pairs: dict[bytes, NDArray[np.int64]] = {}
        self._columns: dict[bytes, tuple[NDArray[Any], NDArray[np.float64]]] = {}
        self._lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what it was made of."""
        return BitCounts, (self._given, self._interventions)

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

    def joint(self, target: int, sets: NDArray[np.int64]) -> NDArray[np.float64]:
        """Count the states of a target in all contexts of some sets; see :func:`cslearn.counts.joint_counts`."""
        from cslearn._kernels.context_counts import count_pairs, count_sets, weigh_sets

        out = np.zeros(int(self.cards.take(sets.T).prod(axis=0).sum()) * int(self.cards[target]))
        least = -1
        if not len(sets) or not len(self._codes):
            return out
        if self._table.weights is None and 1 <= sets.shape[1] <= 2:
            words, valid = self._words
            key = valid[target].tobytes()
            with self._lock:
                if key not in self._pairs:
                    self._pairs[key] = np.empty((len(words), len(words)), dtype=np.int64)
                    count_pairs(words, valid[target], self._pairs[key])
                pairs = self._pairs[key]
            least = CELLS_BY_BITS
            if not count_sets(words, self.starts, valid[target], pairs, target, sets, least, out):
                return out
        weigh_sets(*self.columns(target), self.cards, target, sets, least, out)
        return out

    def columns(self, target: int) -> tuple[NDArray[np.integer], NDArray[np.float64]]:
        """Return the columns, shape (p, rows), of the rows that count for a target, and their weights.

        Equal rows are merged where that pays.
        """
        mask = None if self._interventions is None else self._interventions[:, target]
        key = b"" if mask is None else mask.tobytes()
        with self._lock:
            if key not in self._columns:
                rows = (self._table if mask is None else self._table.take(np.flatnonzero(~mask))).collapse()
                weights = np.ones(rows.n) if rows.weights is None else np.asarray(rows.weights, dtype=np.float64)
                self._columns[key] = np.ascontiguousarray(rows.codes.T), weights
            return self._columns[key]

    def rows(self, at: NDArray[np.int64]) -> NDArray[np.integer]:
        """Return the codes of some rows; see :meth:`Counts.rows`."""
        return self._given.codes[at]
