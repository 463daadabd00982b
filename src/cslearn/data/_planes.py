"""Bit planes put together from parts: rows moved side by side, codes renumbered, rows left out."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Assembly", "Part", "Sink", "Words", "bits_of", "digest", "ones", "plane_starts", "width_of", "words_of"]

Words = NDArray[np.uint64]


def width_of(cardinality: int) -> int:
    """Return how many bits the codes of a variable take."""
    return max(1, (cardinality - 1).bit_length())


def plane_starts(cardinalities: Sequence[int]) -> NDArray[np.int64]:
    """Return the first plane of each variable, and the number of planes last."""
    starts = np.zeros(len(cardinalities) + 1, dtype=np.int64)
    starts[1:] = np.cumsum([width_of(d) for d in cardinalities])
    return starts


def words_of(n: int) -> int:
    """Return how many words n rows take in a plane."""
    return (n + 63) // 64


def digest(array: NDArray[Any]) -> str:
    """Return the SHA-256 of the bytes of an array."""
    return hashlib.sha256(np.ascontiguousarray(array).view(np.uint8).data).hexdigest()


def bits_of(mask: Words) -> NDArray[np.bool_]:
    """Return the bits of a mask one by one."""
    return np.unpackbits(mask.view(np.uint8), bitorder="little").view(np.bool_)


_ONES_OF_BYTE = np.array([byte.bit_count() for byte in range(256)], dtype=np.uint8)


def ones(mask: Words) -> int:
    """Return how many bits of a mask are set; NumPy itself counts them from version 2.0 on only."""
    return int(_ONES_OF_BYTE[mask.view(np.uint8)].sum(dtype=np.int64))


@dataclass(frozen=True)
class Part:
    """Some rows: planes, shape (planes, at least n / 64), with zeros past n; and their weights, if they have any."""

    planes: Words
    starts: NDArray[np.int64]
    n: int
    weights: NDArray[np.float64] | None = None

    def recoded(self, starts: NDArray[np.int64], tables: Sequence[NDArray[np.uint16] | None]) -> Part:
        """Give the rows with new codes: ``tables[j]`` has that of each code of variable j, or None leaves them."""
        from cslearn._kernels.packing import pack_codes, unpack_codes

        if all(table is None for table in tables) and np.array_equal(self.starts, starts):
            return self
        words = words_of(self.n)
        planes = np.zeros((int(starts[-1]), words), dtype=np.uint64)
        codes = np.empty(self.n, dtype=np.uint16)
        for j, table in enumerate(tables):
            old = np.ascontiguousarray(self.planes[self.starts[j] : self.starts[j + 1], :words])
            new = planes[starts[j] : starts[j + 1]]
            if table is None:
                new[: len(old)] = old[: len(new)]  # what is cut off is zero but in rows that will be dropped
            else:
                unpack_codes(old, 0, codes)
                pack_codes(table[codes], new)
        return replace(self, planes=planes, starts=starts)

    def kept(self, mask: Words) -> Part:
        """Give the rows whose bits are set in a mask, shape (ceil(n / 64),)."""
        from cslearn._kernels.packing import keep_bits

        n = ones(mask)
        if n == self.n:
            return self
        planes = np.zeros((len(self.planes), words_of(n)), dtype=np.uint64)
        for source, out in zip(self.planes, planes, strict=True):
            keep_bits(np.ascontiguousarray(source), mask, out)
        weights = None if self.weights is None else self.weights[bits_of(mask)[: self.n]]
        return Part(planes, self.starts, n, weights)


class Sink(Protocol):
    """Where planes go: an array or a file."""

    def write(self, block: Words, at: int) -> None:
        """Take words of all planes, shape (planes, words), which begin at word `at`."""

    def write_weights(self, weights: NDArray[np.float64], at: int) -> None:
        """Take the weights of the rows from row `at` on."""


class Assembly:
    """Rows of many parts, one after the other, without gaps between them.

    Parameters
    ----------
    starts : array of int, shape (p + 1,)
        The first plane of each variable.
    sink : Sink
        Where the planes go.
    weighted : bool
        Whether rows have weights; those of a part without any are one.
    """

    def __init__(self, starts: NDArray[np.int64], sink: Sink, weighted: bool) -> None:
        self.starts, self.sink, self.weighted = starts, sink, weighted
        self.n = 0
        # The bits of the last word of each plane that is not full yet.
        self._carry: Words = np.zeros(int(starts[-1]), dtype=np.uint64)

    def add(self, part: Part) -> None:
        """Add the rows of a part."""
        from cslearn._kernels.packing import append_bits

        planes, n = np.ascontiguousarray(part.planes[:, : words_of(part.n)]), part.n
        if self.weighted and n:
            self.sink.write_weights(np.ones(n) if part.weights is None else part.weights, self.n)
        full, left = divmod(self.n % 64 + n, 64)
        if self.n % 64:
            moved = np.zeros((len(planes), full + 1), dtype=np.uint64)
            moved[:, 0] = self._carry
            for source, out in zip(planes, moved, strict=True):
                append_bits(source, n, out, self.n % 64)
            planes = moved
        if full:
            self.sink.write(planes[:, :full], self.n // 64)
        self._carry = planes[:, full].copy() if left else np.zeros_like(self._carry)
        self.n += n

    def close(self) -> None:
        """Write what is left."""
        if self.n % 64:
            self.sink.write(self._carry[:, None], self.n // 64)
