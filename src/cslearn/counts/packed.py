"""Counts of the rows of a packed table, in memory or in a file, without unpacking it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn._numerics import n_threads
from cslearn.counts.protocol import Contexts
from cslearn.data import PackedTable

__all__ = ["PackedCounts"]

# Rows with weights that are unpacked at once; a multiple of 64.
WEIGHED_ROWS = 1 << 16
# Words of a plane that are worked on at a time where the states of a target alone are counted.
OWN_WORDS = 1 << 9
# Fewer words are not worth a thread.
WORDS_OF_A_THREAD = 1 << 10
# What is counted has 32 bits while that is enough.
MANY = 2**31 - 1


class PackedCounts:
    """Counts of the rows of a packed table.

    Parameters
    ----------
    table : PackedTable
    n_jobs : int, optional
        Threads; all cores by default. The result does not depend on it.

    Notes
    -----
    A request takes O(d_i D n / 64) for each context, with ``D`` columns of bits, one for each state but the first of
    each variable; O(d_i D n(c)) where few rows agree with it. Nothing is held but what is answered. Rows with weights
    are unpacked some at a time.

    Examples
    --------
    >>> import cslearn
    >>> from cslearn.counts import Contexts, PackedCounts
    >>> packed = cslearn.pack({"a": ["n", "n", "y"], "b": ["n", "y", "y"]})
    >>> PackedCounts(packed).own(Contexts.of_target(1, [[], [(0, 0)]]))
    array([[1., 2.],
           [1., 1.]])
    """

    def __init__(self, table: PackedTable, n_jobs: int | None = None) -> None:
        self._given, self._table = table, table if table.weights is None else table.collapse()
        self._n_jobs = n_jobs
        self.cards = np.array(table.cards, dtype=np.int64)
        self.starts = np.concatenate([[0], np.cumsum(self.cards - 1)]).astype(np.int64)

    @property
    def total(self) -> float:
        """Number of rows, or their total weight."""
        return self._table.total_weight

    @property
    def fingerprint(self) -> str:
        """A digest of what is counted."""
        return self._table.fingerprint

    def of(self, contexts: Contexts) -> tuple[NDArray[np.float64], NDArray[np.number]]:
        """Count the rows that agree with each context; see :meth:`Counts.of`."""
        from cslearn._kernels.context_counts import weigh_contexts
        from cslearn._kernels.packed_counts import count_packed

        shape = len(contexts.targets), int(self.cards.max())
        if self._table.weights is not None:
            own, weighed = np.zeros(shape), np.zeros((*shape, int(self.starts[-1])))
            for words, rows, codes, valid, weights in self._weighed_rows():
                weigh_contexts(words, rows, codes, self.starts, valid, weights, *contexts, own, weighed)
            return own, weighed
        kind: Any = np.int32 if self._table.n <= MANY else np.int64

        def count(begin: int, end: int) -> tuple[NDArray[np.float64], NDArray[np.number]]:
            own, counts = np.zeros(shape), np.zeros((*shape, int(self.starts[-1])), dtype=kind)
            count_packed(*self._planes, self.starts, self._table.n, begin, end, *contexts, own, counts)
            return own, counts

        own, counts = self._in_threads(count)
        # The first state has had all rows.
        own[:, 0] -= own[:, 1:].sum(axis=1)
        counts[:, 0] -= counts[:, 1:].sum(axis=1, dtype=kind)
        return own, counts

    def own(self, contexts: Contexts) -> NDArray[np.float64]:
        """Count the states of the target of each context; see :meth:`Counts.own`."""
        from cslearn._kernels.context_counts import weigh_own
        from cslearn._kernels.packed_counts import count_packed_own

        shape = len(contexts.targets), int(self.cards.max())
        if self._table.weights is not None:
            own = np.zeros(shape)
            for words, _, codes, valid, weights in self._weighed_rows():
                weigh_own(words, codes, self.starts, valid, weights, *contexts, own)
            return own

        def count(begin: int, end: int) -> tuple[NDArray[np.float64]]:
            own = np.zeros(shape)
            count_packed_own(*self._planes, self._table.n, OWN_WORDS, begin, end, *contexts, self.cards, own)
            return (own,)

        return self._in_threads(count)[0]

    def rows(self, at: NDArray[np.int64]) -> NDArray[np.integer]:
        """Return the codes of some rows; see :meth:`Counts.rows`."""
        return self._given.take(at)

    @property
    def _planes(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """The planes as a plain array, also those of a file, and where those of each variable begin."""
        return np.asarray(self._table.planes), self._table.starts

    def _in_threads(self, count: Callable[[int, int], tuple[NDArray[Any], ...]]) -> tuple[NDArray[Any], ...]:
        """Add up what is counted in parts of the words."""
        words = self._table.planes.shape[1]
        parts = max(1, min(n_threads(self._n_jobs), words // WORDS_OF_A_THREAD))
        if parts == 1:
            return count(0, words)
        ends = np.linspace(0, words, parts + 1).astype(int).tolist()
        with ThreadPoolExecutor(parts) as pool:
            first, *others = pool.map(count, ends[:-1], ends[1:])
        for other in others:
            for total, part in zip(first, other, strict=True):
                total += part
        return first

    def _weighed_rows(self) -> Any:
        """Give the rows some at a time: columns in bits, rows in bytes, codes, bits of all rows, and weights."""
        from cslearn._kernels.context_counts import one_hot, pack_columns

        weights = self._table.weights
        assert weights is not None
        for begin in range(0, self._table.n, WEIGHED_ROWS):
            codes = np.ascontiguousarray(self._table.codes(begin, begin + WEIGHED_ROWS))
            words = pack_columns(codes, self.starts)
            valid = np.full(words.shape[1], ~np.uint64(0))
            if len(codes) % 64:
                valid[-1] = (1 << len(codes) % 64) - 1
            for_all = np.broadcast_to(valid, (len(self.cards), len(valid)))
            yield words, one_hot(codes, self.starts), codes, for_all, weights[begin : begin + len(codes)]
