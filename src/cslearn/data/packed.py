"""Packed tables: the codes of the rows as bits, in memory or in a file that is mapped into memory."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn._checked import checked
from cslearn.data._labels import State
from cslearn.data._packed_files import description, new_file, read_content
from cslearn.data._planes import Assembly, Part, Sink, Words, digest, plane_starts, width_of, words_of
from cslearn.data._union import union_of_states
from cslearn.data._weights import check_weights
from cslearn.data.table import Table, check_names, check_states
from cslearn.errors import FileError, InputError

__all__ = ["PackedTable", "build", "concatenate", "fingerprint_of"]

_PART_WORDS = 1 << 12  # words of each plane that are worked on at a time


@checked
@dataclass(frozen=True, eq=False, repr=False)
class PackedTable:
    """Categorical data as bits, never changed once made: about ``sum(ceil(log2(d)))`` bits a row.

    :func:`cslearn.pack` makes one from any source, :meth:`load` from a file.

    Parameters
    ----------
    planes : array of uint64, shape (planes, ceil(n / 64))
        Variable i has ``max(1, ceil(log2(d_i)))`` planes, after those of the variables before it; plane b holds bit b
        of its codes, row r in bit ``r % 64`` of word ``r // 64``. Bits past n are zero. The array is not copied.
    variables : sequence of str, length p
        The names, all different.
    states : sequence of sequences, length p
        The labels of each variable, as in a :class:`Table`.
    n : int
        The number of rows held.
    weights : array of float, shape (n,), optional
        Weights of the rows; without them each row counts once.

    Examples
    --------
    >>> import cslearn
    >>> packed = cslearn.pack({"rain": ["no", "yes", "no"], "level": [10, 2, 10]})
    >>> packed
    PackedTable(3 rows, 2 variables)
    >>> packed.planes.tolist()
    [[2], [5]]
    """

    planes: Words
    variables: tuple[str, ...]
    states: tuple[tuple[State, ...], ...]
    n: int
    weights: NDArray[np.float64] | None = None

    def __init__(
        self,
        planes: Words,
        variables: Iterable[str],
        states: Iterable[Iterable[object]],
        n: int,
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        names = check_names(variables)
        labels = check_states(states, names)
        array = planes.view()
        array.flags.writeable = False
        object.__setattr__(self, "planes", array)
        object.__setattr__(self, "variables", names)
        object.__setattr__(self, "states", labels)
        object.__setattr__(self, "n", int(n))
        object.__setattr__(self, "weights", None if weights is None else check_weights(weights, self.n, copy=False))
        self._check_planes()

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The first plane of each variable, and the number of planes last."""
        return plane_starts(self.cards)

    @property
    def p(self) -> int:
        """The number of variables."""
        return len(self.variables)

    @cached_property
    def cards(self) -> tuple[int, ...]:
        """The cardinalities, in the order of the variables."""
        return tuple(len(labels) for labels in self.states)

    @cached_property
    def total_weight(self) -> float:
        """The sum of the weights, which is n without weights."""
        return float(self.n if self.weights is None else self.weights.sum())

    @property
    def constant(self) -> tuple[str, ...]:
        """The variables with a single state."""
        return tuple(name for name, card in zip(self.variables, self.cards, strict=True) if card == 1)

    @property
    def state_map(self) -> dict[str, tuple[State, ...]]:
        """The states by the name of the variable."""
        return dict(zip(self.variables, self.states, strict=True))

    @property
    def nbytes(self) -> int:
        """How many bytes the planes and the weights take."""
        return int(self.planes.nbytes + (0 if self.weights is None else self.weights.nbytes))

    @cached_property
    def fingerprint(self) -> str:
        """A text that two packed tables share if they have the same content, in memory or in a file."""
        planes = [digest(plane) for plane in self.planes]
        weights = None if self.weights is None else digest(self.weights)
        return _fingerprint(description(self.variables, self.states, self.n, planes, weights))

    @classmethod
    def from_table(cls, table: Table) -> PackedTable:
        """Pack a table.

        Parameters
        ----------
        table : Table

        Returns
        -------
        PackedTable

        Examples
        --------
        >>> from cslearn.data import PackedTable, Table
        >>> PackedTable.from_table(Table([[0], [2]], ["mood"], [["bad", "fair", "good"]])).planes.tolist()
        [[0], [2]]
        """
        from cslearn._kernels.packing import pack_codes

        starts = plane_starts(table.cards)
        planes = np.zeros((int(starts[-1]), words_of(table.n)), dtype=np.uint64)
        for j in range(table.p):
            pack_codes(table.codes[:, j], planes[starts[j] : starts[j + 1]])
        return cls(planes, table.variables, table.states, table.n, table.weights)

    def codes(self, start: int = 0, stop: int | None = None) -> NDArray[np.uint8 | np.uint16]:
        """Give the codes of some rows, as a :class:`Table` has them.

        Parameters
        ----------
        start, stop : int
            The first row, and the one after the last; all rows by default.

        Returns
        -------
        array of int, shape (stop - start, p)

        Examples
        --------
        >>> import cslearn
        >>> cslearn.pack({"rain": ["no", "yes", "no"], "level": [10, 2, 10]}).codes(1).tolist()
        [[1, 0], [0, 1]]
        """
        start, stop, _ = slice(start, stop).indices(self.n)
        result = np.empty((max(stop - start, 0), self.p), dtype=self._code_type, order="F")
        for j in range(self.p):
            self._unpack(j, start, result[:, j])
        return result

    def take(self, rows: NDArray[np.integer]) -> NDArray[np.uint8 | np.uint16]:
        """Give the codes of some rows, by their numbers.

        Parameters
        ----------
        rows : array of int

        Returns
        -------
        array of int, shape (len(rows), p)

        Examples
        --------
        >>> import cslearn
        >>> import numpy as np
        >>> cslearn.pack({"rain": ["no", "yes", "no"], "level": [10, 2, 10]}).take(np.array([2, 1])).tolist()
        [[0, 1], [1, 0]]
        """
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or (len(rows) and not 0 <= rows.min() <= rows.max() < self.n):
            raise InputError(f"rows are numbers of some of {self.n:,} rows")
        at, shift = rows // 64, (rows % 64).astype(np.uint64)
        result = np.zeros((len(rows), self.p), dtype=self._code_type, order="F")
        for j in range(self.p):
            for b, plane in enumerate(self.planes[self.starts[j] : self.starts[j + 1]]):
                bits = np.asarray(plane[at] >> shift & np.uint64(1)).astype(self._code_type)
                result[:, j] |= bits << self._code_type(b)
        return result

    @property
    def _code_type(self) -> Any:
        return np.uint8 if max(self.cards) <= 2**8 else np.uint16

    def column(self, j: int) -> NDArray[np.int32]:
        """Give the codes of one variable.

        Parameters
        ----------
        j : int
            Its position.

        Returns
        -------
        array of int, shape (n,)

        Examples
        --------
        >>> import cslearn
        >>> cslearn.pack({"rain": ["no", "yes", "no"]}).column(0).tolist()
        [0, 1, 0]
        """
        result = np.empty(self.n, dtype=np.int32)
        self._unpack(j, 0, result)
        return result

    def parts(self) -> Iterator[Part]:
        """Give the rows in parts of a moderate size, without copying any; all but the last fill whole words."""
        for at in range(0, self.planes.shape[1], _PART_WORDS):
            first, last = 64 * at, min(64 * (at + _PART_WORDS), self.n)
            weights = None if self.weights is None else self.weights[first:last]
            yield Part(self.planes[:, at : at + _PART_WORDS], self.starts, last - first, weights)

    def __add__(self, other: PackedTable) -> PackedTable:
        """Give the rows of both, in memory: those of this table first.

        Both must have the same variables, in any order. Where their states differ, the result has those of both, in
        the order in which :func:`as_table` would have put them; missing cells that are a state stay last.
        """
        if not isinstance(other, PackedTable):
            return NotImplemented
        return concatenate([self, other])

    def collapse(self, min_gain: float = 2.0) -> PackedTable:
        """Merge equal rows into one row with their joint weight, if that pays.

        Parameters
        ----------
        min_gain : float, default 2.0
            How many times fewer rows there must be; with less gain the table itself is returned.

        Returns
        -------
        PackedTable
            The distinct rows in the order of their codes, in memory, with weights; or this table.

        Examples
        --------
        >>> import cslearn
        >>> cslearn.pack({"rain": ["yes", "no", "yes", "yes"]}).collapse().weights.tolist()
        [1.0, 3.0]
        """
        from cslearn.data._collapsing import distinct_rows

        if not min_gain > 0:
            raise InputError(f"min_gain is a number above 0, not {min_gain!r}", parameter="min_gain")
        found = distinct_rows(self.parts(), self.starts, int(self.n / min_gain))
        if found is None or not self.n:
            return self
        planes, weights = found
        return PackedTable(planes, self.variables, self.states, len(weights), weights)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table to a file, whole or not at all.

        Parameters
        ----------
        path : str or path-like
            By custom it ends in ``.cspack``.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import cslearn
        >>> from cslearn.data import PackedTable
        >>> packed = cslearn.pack({"rain": ["no", "yes", "no"]})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "rain.cspack")
        ...     packed.save(path)
        ...     PackedTable.load(path).fingerprint == packed.fingerprint
        True
        """
        concatenate([self], path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, verify: bool = True) -> PackedTable:
        """Open a file, whose planes are mapped into memory rather than read.

        Parameters
        ----------
        path : str or path-like
            A file that :meth:`save`, :func:`cslearn.pack` or ``cslearn pack`` wrote.
        verify : bool, default True
            Compare the content with its checksums, for which all of it is read once.

        Returns
        -------
        PackedTable

        Raises
        ------
        FileError
            If the file is not there, is no packed table, is too new, was cut off or is damaged.

        Examples
        --------
        >>> from cslearn.data import PackedTable
        >>> PackedTable.load("nowhere.cspack")
        Traceback (most recent call last):
        ...
        cslearn.errors.FileError: There is no file nowhere.cspack. Check the name and the directory.
        """
        planes, weights, content = read_content(path, verify=verify)
        try:
            table = cls(planes, content["variables"], content["states"], content["rows"], weights)
        except InputError as error:
            raise FileError(f"{os.fspath(path)} is no packed table: {error} Pack the data again.") from None
        table.__dict__["fingerprint"] = _fingerprint(content)
        return table

    def __eq__(self, other: object) -> bool:
        """Compare the content; the order of the rows matters."""
        return self.fingerprint == other.fingerprint if isinstance(other, PackedTable) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Give the size."""
        rows = f"{self.n:,} row" + ("" if self.n == 1 else "s")
        columns = f"{self.p} variable" + ("" if self.p == 1 else "s")
        return f"PackedTable({rows}, {columns}{'' if self.weights is None else ', weighted'})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the content, also of a file."""
        return PackedTable, (np.array(self.planes), self.variables, self.states, self.n, self.weights)

    def _unpack(self, j: int, start: int, out: NDArray[Any]) -> None:
        from cslearn._kernels.packing import unpack_codes

        unpack_codes(self.planes[self.starts[j] : self.starts[j + 1]], start, out)

    def _check_planes(self) -> None:
        """Raise an error unless every code is that of a state: loops over planes rely on it."""
        from cslearn._kernels.packing import exceeds

        shape = (int(self.starts[-1]), words_of(self.n))
        if self.planes.dtype != np.uint64 or self.planes.shape != shape:
            found = f"{self.planes.dtype} {self.planes.shape}"
            raise InputError(f"The planes must be uint64 of shape {shape}, not {found}.")
        for j, card in enumerate(self.cards):
            planes = self.planes[self.starts[j] : self.starts[j + 1]]
            if card < 2 ** width_of(card) and exceeds(planes, card - 1):
                raise InputError(f"Variable {self.variables[j]!r} has a code beyond its {card} states.")
        if self.n % 64 and (self.planes[:, -1] >> np.uint64(self.n % 64)).any():
            raise InputError("The planes have bits past the last row.")


def _fingerprint(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, allow_nan=False).encode("ascii")).hexdigest()


def fingerprint_of(path: str | os.PathLike[str]) -> str | None:
    """Return the fingerprint of the packed table in a file, without reading its rows; None if there is none."""
    try:
        return _fingerprint(read_content(path, verify=False)[2])
    except FileError:
        return None


class _Array:
    """Planes that stay in memory; see :class:`cslearn.data._planes.Sink`."""

    def __init__(self, n: int, n_planes: int, weighted: bool) -> None:
        self.planes = np.empty((n_planes, words_of(n)), dtype=np.uint64)
        self.weights = np.empty(n) if weighted else None

    def write(self, block: Words, at: int) -> None:
        self.planes[:, at : at + block.shape[1]] = block

    def write_weights(self, weights: NDArray[np.float64], at: int) -> None:
        assert self.weights is not None
        self.weights[at : at + len(weights)] = weights


def build(
    variables: Sequence[str],
    states: Sequence[Sequence[State]],
    n: int,
    weighted: bool,
    parts: Iterable[Part],
    path: str | os.PathLike[str] | None = None,
    check: Callable[[], None] | None = None,
) -> PackedTable:
    """Put parts together that have n rows, in memory or in a file; `check` may refuse to replace that file."""
    starts = plane_starts([len(labels) for labels in states])
    n_planes = int(starts[-1])

    def fill(sink: Sink) -> None:
        assembly = Assembly(starts, sink, weighted)
        for part in parts:
            assembly.add(part)
        assembly.close()

    if path is None:
        array = _Array(n, n_planes, weighted)
        fill(array)
        return PackedTable(array.planes, variables, states, n, array.weights)
    with new_file(path, variables, states, n, n_planes, weighted, check) as sink:
        fill(sink)
    return PackedTable.load(path, verify=False)


def concatenate(
    tables: Sequence[PackedTable],
    path: str | os.PathLike[str] | None = None,
    check: Callable[[], None] | None = None,
) -> PackedTable:
    """Put the rows of several tables one after the other; see :meth:`PackedTable.__add__` and :func:`build`."""
    variables, states, ways = union_of_states([(table.variables, table.states) for table in tables])
    starts = plane_starts([len(labels) for labels in states])
    return build(
        variables,
        states,
        sum(table.n for table in tables),
        any(table.weights is not None for table in tables),
        (
            _reordered(part, way.columns).recoded(starts, way.new_codes)
            for table, way in zip(tables, ways, strict=True)
            for part in table.parts()
        ),
        path,
        check,
    )


def _reordered(part: Part, columns: Sequence[int]) -> Part:
    """Give a part with its variables in another order."""
    if list(columns) == list(range(len(columns))):
        return part
    starts = part.starts
    planes = np.concatenate([np.arange(starts[j], starts[j + 1]) for j in columns])
    widths = np.diff(starts)[list(columns)]
    return Part(part.planes[planes], np.concatenate([[0], np.cumsum(widths)]), part.n, part.weights)
