"""One pass over a source in batches: codes by labels that are found on the way, packed into parts."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn._wording import keyword
from cslearn.data._batches import Batch
from cslearn.data._columns import column_of_series
from cslearn.data._encoders import Encoder
from cslearn.data._frames import numbers_of
from cslearn.data._markers import markers_of
from cslearn.data._planes import Part, plane_starts, words_of
from cslearn.data._weights import check_weights, weights_of_column
from cslearn.errors import FileError, InputError

__all__ = ["Cut", "Pass", "Spool", "Weights", "numbers_in", "weights_from_array", "weights_from_column"]

_CELLS = 1 << 24  # of codes that wait to be packed, two bytes each
_LEAST_ROWS, _MOST_ROWS = 1 << 12, 1 << 18

Cut = Callable[[Any], Any]
"""Puts the numbers of a column into bins: from cells to a categorical series."""
Weights = Callable[[Batch, int], NDArray[np.float64]]
"""Gives the weights of a batch, whose first row is at a position."""


class Spool(AbstractContextManager["Spool"]):
    """Parts that wait to be put together, in memory or in a nameless file of a directory, which vanishes with it."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self._parts: list[Part | _Stored] = []
        self._path, self._file = path, None
        if path is not None:
            folder = Path(os.path.realpath(path)).parent
            if not folder.is_dir():
                raise FileError(
                    f"Cannot write {os.fspath(path)}: the directory {folder} does not exist. Create it first."
                )
            try:
                self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  # closed by __exit__
            except OSError as error:
                raise self._failed(error) from error

    def __exit__(self, *_: object) -> None:
        """Forget everything."""
        self._parts.clear()
        if self._file is not None:
            self._file.close()

    def add(self, part: Part) -> None:
        """Keep a part."""
        if self._file is None:
            self._parts.append(part)
            return
        try:
            at = self._file.tell()
            for array in (part.planes, part.weights):
                if array is not None:
                    self._file.write(np.ascontiguousarray(array).view(np.uint8).data)
            self._file.flush()
        except OSError as error:
            raise self._failed(error) from error
        self._parts.append(_Stored(at, part.planes.shape, part.starts, part.n, part.weights is not None))

    def parts(self, *, last_time: bool = False) -> Iterator[Part]:
        """Give the parts in their order; `last_time` lets go of each as the next is asked for."""
        for i, part in enumerate(self._parts):
            if isinstance(part, Part):
                yield part
                if last_time:
                    self._parts[i] = _Stored(0, (0, 0), part.starts, 0, False)
            else:
                yield self._read(part)

    def _read(self, stored: _Stored) -> Part:
        assert self._file is not None
        self._file.seek(stored.at)
        size = stored.shape[0] * stored.shape[1]
        planes = np.frombuffer(self._file.read(8 * size), dtype=np.uint64).reshape(stored.shape)
        weights = np.frombuffer(self._file.read(8 * stored.n), dtype=np.float64) if stored.weighted else None
        return Part(planes, stored.starts, stored.n, weights)

    def _failed(self, error: OSError) -> FileError:
        return FileError(
            f"Cannot write {os.fspath(self._path or '')}: {error.strerror or error}. Check the permissions and the free"
            " space of its directory; packing takes up to twice the size of the packed table."
        )


@dataclass(frozen=True)
class _Stored:
    at: int
    shape: tuple[int, ...]
    starts: NDArray[np.int64]
    n: int
    weighted: bool


class Pass:
    """Batches in, parts out.

    Parameters
    ----------
    encoders : sequence of Encoder
        One for each column.
    spool : Spool
        Where the parts go.
    cuts : mapping from str to Cut
        The columns that are cut into bins on the way.
    weights : Weights, optional
        Gives the weights of the rows.
    """

    def __init__(
        self, encoders: Sequence[Encoder], spool: Spool, cuts: dict[str, Cut], weights: Weights | None = None
    ) -> None:
        self.encoders, self.n = encoders, 0
        self._spool, self._cuts, self._weights = spool, cuts, weights
        rows = min(max(_CELLS // len(encoders) // 64 * 64, _LEAST_ROWS), _MOST_ROWS)
        self._buffer = np.empty((len(encoders), rows), dtype=np.uint16)
        self._row_weights: NDArray[np.float64] | None = None if weights is None else np.empty(rows)
        self._filled = 0

    def add(self, batch: Batch) -> None:
        """Encode the rows of a batch, and pack them once there are enough."""
        columns = [batch.column(encoder.name) for encoder in self.encoders]
        weights = None if self._weights is None else self._weights(batch, self.n)
        done = 0
        while done < batch.n:
            here = min(batch.n - done, self._buffer.shape[1] - self._filled)
            place = slice(self._filled, self._filled + here)
            for j, (encoder, cells) in enumerate(zip(self.encoders, columns, strict=True)):
                piece = cells[done : done + here]
                if encoder.name in self._cuts:
                    piece = self._cuts[encoder.name](piece)
                encoder.encode(piece, self._buffer[j, place])
            if weights is not None and self._row_weights is not None:
                self._row_weights[place] = weights[done : done + here]
            done += here
            self._filled += here
            self.n += here
            if self._filled == self._buffer.shape[1]:
                self.flush()

    def flush(self) -> None:
        """Pack the rows that wait."""
        from cslearn._kernels.packing import pack_codes

        if not self._filled:
            return
        if self.n == self._filled:
            # Later cells are likely to be the same, so that all codes are near those of the states.
            for encoder, codes in zip(self.encoders, self._buffer, strict=True):
                new = encoder.sort()
                if new is not None:
                    codes[: self._filled] = new[codes[: self._filled]]
        starts = plane_starts([len(encoder.labels) for encoder in self.encoders])
        planes = np.empty((int(starts[-1]), words_of(self._filled)), dtype=np.uint64)
        for j, codes in enumerate(self._buffer):
            pack_codes(codes[: self._filled], planes[starts[j] : starts[j + 1]])
        weights = None if self._row_weights is None else self._row_weights[: self._filled].copy()
        self._spool.add(Part(planes, starts, self._filled, weights))
        self._filled = 0


def weights_from_column(name: str) -> Weights:
    """Give the weights that a column holds."""

    def weights(batch: Batch, start: int) -> NDArray[np.float64]:
        cells = batch.column(name)
        if type(cells).__module__.startswith("pyarrow"):
            cells = cells.to_pandas()
        return weights_of_column(column_of_series(name, cells), start)

    return weights


def weights_from_array(given: Any) -> Weights:
    """Give the weights that an array holds, one for each row of all batches."""
    array = check_weights(given, len(given) if hasattr(given, "__len__") else 1)

    def weights(batch: Batch, start: int) -> NDArray[np.float64]:
        if start + batch.n > len(array):
            raise InputError(f"{keyword('sample_weight')} has {len(array):,} weights, but the data have more rows.")
        return array[start : start + batch.n]

    return weights


def numbers_in(name: str, cells: Any, na_values: Collection[str] | None) -> NDArray[np.float64]:
    """Give the numbers of a batch, with NaN for missing cells; `na_values` are the markers of those in a text file."""
    import pandas as pd

    series = cells.to_pandas() if type(cells).__module__.startswith("pyarrow") else cells
    if na_values is not None:
        texts = series.astype(object)
        missing = markers_of([*texts.unique(), "0"], na_values)  # a number, as all other cells should be
        series = texts.where(~texts.isin(missing), None)
    return numbers_of(pd.Series(series, name=name))
