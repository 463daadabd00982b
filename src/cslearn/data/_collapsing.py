"""Equal rows of bit planes merged into one, with bounded memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from cslearn.data._planes import Part, Words, words_of

__all__ = ["distinct_rows"]

_FIRST = 1 << 12  # distinct rows that there is room for at first


def distinct_rows(
    parts: Iterable[Part], starts: NDArray[np.int64], limit: int
) -> tuple[Words, NDArray[np.float64]] | None:
    """Give the planes of the distinct rows, in the order of their codes, with the weights of all rows that equal them.

    Stops, and gives None, as soon as there are more than `limit`; the memory grows with the distinct rows alone.
    """
    from cslearn._kernels.row_keys import keys_of_rows, merge_keys, place_keys, rows_of_keys

    # The highest bit of the first variable comes first, so that keys are in the order of the codes.
    order = np.concatenate([np.arange(last - 1, first - 1, -1) for first, last in itertools.pairwise(starts)])
    width = words_of(len(order))
    keys, sums, n = np.empty((_FIRST, width), dtype=np.uint64), np.empty(_FIRST), 0
    slots = np.full(2 * _FIRST, -1, dtype=np.int64)
    for part in parts:
        new = np.empty((part.n, width), dtype=np.uint64)
        keys_of_rows(np.ascontiguousarray(part.planes), order, 0, new)
        weights = np.empty(0) if part.weights is None else np.ascontiguousarray(part.weights)
        done = 0
        while True:
            done, n = merge_keys(new, weights, done, keys, sums, n, slots)
            if n > limit:
                return None
            if done == part.n:
                break
            keys, sums = np.concatenate([keys, np.empty_like(keys)]), np.concatenate([sums, np.empty_like(sums)])
            slots = np.full(2 * len(keys), -1, dtype=np.int64)
            place_keys(keys, n, slots)
    sorted_rows = np.lexsort(keys[:n].T[::-1])
    planes = np.zeros((len(order), words_of(n)), dtype=np.uint64)
    rows_of_keys(np.ascontiguousarray(keys[sorted_rows]), order, planes)
    return planes, sums[sorted_rows]
