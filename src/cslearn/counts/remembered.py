"""Counts that are kept, for rows that are many or far away: a context is counted once in a fit."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn.counts.protocol import Contexts, Counts

__all__ = ["RememberedCounts"]

# Bytes of counts that are kept; when there are more, all are forgotten.
MOST_BYTES = 2**28


class RememberedCounts:
    """The counts of others, each asked for once.

    What is learned with other prior counts asks for the same contexts again.

    Parameters
    ----------
    counts : Counts
    most_bytes : int
        Bytes of counts that are kept.

    Examples
    --------
    >>> import cslearn
    >>> from cslearn.counts import Contexts, PackedCounts
    >>> from cslearn.counts.remembered import RememberedCounts
    >>> counts = RememberedCounts(PackedCounts(cslearn.pack({"a": ["n", "n", "y"], "b": ["n", "y", "y"]})))
    >>> counts.of(Contexts.of_target(1, [[(0, 0)]]))[0]
    array([[1., 1.]])
    """

    def __init__(self, counts: Counts, most_bytes: int = MOST_BYTES) -> None:
        self._counts, self._most = counts, most_bytes
        self._known: dict[bytes, tuple[NDArray[np.float64], NDArray[np.number]]] = {}
        self._bytes, self._lock = 0, Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what it was made of."""
        return RememberedCounts, (self._counts, self._most)

    @property
    def cards(self) -> NDArray[np.int64]:
        """Number of states of each variable."""
        return self._counts.cards

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where the counts of each variable begin."""
        return self._counts.starts

    @property
    def total(self) -> float:
        """Number of rows, or their total weight."""
        return self._counts.total

    @property
    def fingerprint(self) -> str:
        """A digest of what is counted."""
        return self._counts.fingerprint

    def of(self, contexts: Contexts) -> tuple[NDArray[np.float64], NDArray[np.number]]:
        """Count the rows that agree with each context; see :meth:`Counts.of`."""
        keys = _keys(contexts)
        with self._lock:
            known = {key: self._known[key] for key in keys if key in self._known}
        new = [r for r, key in enumerate(keys) if key not in known]
        if new:
            own, counts = self._counts.of(contexts.take(new))
            known.update((keys[r], (own[at], counts[at])) for at, r in enumerate(new))
            with self._lock:
                # Slices share the arrays of a request, which are kept while any of them is.
                self._bytes += own.nbytes + counts.nbytes
                if self._bytes > self._most:
                    self._known, self._bytes = {}, own.nbytes + counts.nbytes
                self._known.update((keys[r], known[keys[r]]) for r in new)
            if len(new) == len(keys):
                return own, counts
        return np.array([known[key][0] for key in keys]), np.array([known[key][1] for key in keys])

    def own(self, contexts: Contexts) -> NDArray[np.float64]:
        """Count the states of the target of each context; see :meth:`Counts.own`."""
        return self._counts.own(contexts)

    def rows(self, at: NDArray[np.int64]) -> NDArray[np.integer]:
        """Return the codes of some rows; see :meth:`Counts.rows`."""
        return self._counts.rows(at)


def _keys(contexts: Contexts) -> list[bytes]:
    """Return a key of each context, whatever the order of its variables."""
    ends, found = contexts.pointers.tolist(), []
    pairs = np.column_stack([contexts.variables, contexts.states]).astype(np.int32)
    for r, target in enumerate(contexts.targets.tolist()):
        own = pairs[ends[r] : ends[r + 1]]
        found.append(target.to_bytes(4, "little") + own[np.argsort(own[:, 0])].tobytes())
    return found
