"""Packing any source in one pass over it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cslearn._checked import checked
from cslearn._files import check_not_read
from cslearn._parameters import CALLABLE, PATH, Row, check, kind, whole
from cslearn._parameters import Table as Table_
from cslearn._wording import keyword
from cslearn.data._batches import Stream, files_of, open_stream
from cslearn.data._checks import DEFAULT_MAX_STATES, check_categorical
from cslearn.data._collapsing import distinct_rows
from cslearn.data._columns import Column
from cslearn.data._encoders import Encoder
from cslearn.data._encoding import arrange, arrange_given, given_states, refuse_missing, refuse_no_rows
from cslearn.data._labels import State, state_key
from cslearn.data._markers import DEFAULT_NA_VALUES, warn_of_markers
from cslearn.data._passes import Cut, Pass, Spool, numbers_in, weights_from_array, weights_from_column
from cslearn.data._planes import Part, Words, bits_of, ones, plane_starts, words_of
from cslearn.data.discretizing import Discretizer
from cslearn.data.packed import PackedTable, build, concatenate, fingerprint_of
from cslearn.data.reading import (
    ALLOWED,
    as_table,
    check_known,
    choose,
    refuse,
    refuse_empty,
    wanted_names,
    warn_constant,
)
from cslearn.errors import FileError, InputError

__all__ = ["check_states_found", "pack"]

# Equal rows are merged if that leaves so many times fewer. Weights take 64 bits a row, and rows with weights are
# counted one by one and not by 64; where there are weights anyhow, every second row is worth it.
_GAIN, _GAIN_WITH_WEIGHTS = 16.0, 2.0
_MOST_STATES = 1 << 15  # of a column that is not asked about
_MOST_DISTINCT = 1 << 22  # rows beyond which merging is given up: they are looked up in memory


_ALLOWED: Table_ = {
    **{name: ALLOWED[name] for name in ("variables", "leave_out", "states", "na_values")},
    "path": Row(PATH, None),
    "into": Row(kind("a PackedTable", PackedTable), None),
    "missing": ALLOWED["missing"],
    "max_states": Row(whole(1), None),
    "discretizer": Row(kind("a Discretizer", Discretizer), None),
    "collapse": Row(kind("True or False", bool), "auto"),
    "progress": Row(CALLABLE, None),
}


@checked
def pack(
    source: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    into: PackedTable | None = None,
    variables: Sequence[str] | None = None,
    leave_out: Collection[str] = (),
    states: Mapping[str, Sequence[Any]] | None = None,
    sample_weight: ArrayLike | str | None = None,
    missing: Literal["error", "drop", "state"] = "error",
    na_values: Collection[str] = DEFAULT_NA_VALUES,
    sep: str | None = None,
    max_states: int | None = 64,
    discretizer: Discretizer | None = None,
    collapse: bool | Literal["auto"] = "auto",
    progress: Callable[[int, int | None], None] | None = None,
) -> PackedTable:
    """Read categorical data of any size in one pass, and keep them as bits.

    States, their order and their types, and what is refused, are those of :func:`cslearn.data.as_table` for the same
    rows. Memory is needed for one batch of rows, and for the packed table unless it goes to a file.

    Parameters
    ----------
    source : path, relation, frame, reader or iterator
        The path of a Parquet or text file (.csv, .tsv, .tab, also .gz or .zst), one with wildcards such as
        ``"parts/*.parquet"``, or a list of paths; a relation of DuckDB; a LazyFrame of polars; a Table, Dataset or
        RecordBatchReader of pyarrow, or whatever else gives a stream of Arrow; an iterator of Arrow batches or of
        pandas or polars frames. All of these are read in batches. Anything else that :func:`cslearn.data.as_table`
        reads is read at once.
    path : str or path-like, optional
        Where to write the table, by custom a name that ends in ``.cspack``. The result is then mapped from that file.
        The file appears when it is whole; a file that is there is replaced.
    into : PackedTable, optional
        A table that the rows are added to; its rows come first in the result. Its states are known.
    variables, leave_out, states, missing, na_values, sep, max_states
        As for :func:`cslearn.data.as_table`. With None for `max_states` a source that is read in batches is not asked
        whether its columns are categories, which is for parts of a table.
    sample_weight : str or array, optional
        The column of row weights, or the weights.
    discretizer : Discretizer, optional
        Cuts numeric columns into bins; :meth:`Discretizer.learn` finds the cuts in one pass.
    collapse : bool or "auto", default "auto"
        Merge equal rows into one with a weight; by default if there are 16 times fewer of them than rows, or two times
        if rows have weights. They are in the order of their codes then.
    progress : callable, optional
        Called after each batch with the number of rows read, and of all rows or None.

    Returns
    -------
    PackedTable

    Raises
    ------
    InputError
        If the data cannot be used; FileError, a kind of InputError, if a file cannot.

    Examples
    --------
    >>> import cslearn
    >>> import pandas as pd
    >>> batches = (pd.DataFrame({"a": [i % 2, 0], "b": ["x", "y"]}) for i in range(3))
    >>> packed = cslearn.pack(batches)
    >>> packed
    PackedTable(6 rows, 2 variables)
    >>> packed.states
    ((0, 1), ('x', 'y'))
    """
    check(_ALLOWED, locals())
    if path is not None:
        check_not_read(path, files_of(source))
    unchanged = None if into is None or path is None else _unchanged(path, into)
    stream = open_stream(source, sep=sep)
    if stream is None:
        if discretizer is not None:
            source = discretizer.transform(source, na_values=na_values, sep=sep)
        table = as_table(
            source,
            variables=variables,
            leave_out=leave_out,
            states=states,
            sample_weight=sample_weight,
            missing=missing,
            na_values=na_values,
            sep=sep,
            max_states=_MOST_STATES if max_states is None else max_states,
        )
        packed = PackedTable.from_table(table)
        gain = _least_gain(collapse, weighted=packed.weights is not None)
        packed = packed if gain is None else packed.collapse(gain)
        if into is not None:
            return _added(into, packed, path, unchanged)
        if path is None:
            return packed
        packed.save(path)
        return PackedTable.load(path, verify=False)
    if missing not in ("error", "drop", "state"):
        raise InputError(f'missing must be "error", "drop" or "state", not {missing!r}.')
    weight_name = sample_weight if isinstance(sample_weight, str) else None
    names = choose(
        stream.names, wanted_names(variables), weight_name, [leave_out] if isinstance(leave_out, str) else leave_out
    )
    given = given_states(states)
    if variables is None:
        check_known(given, names, "states= names")
    tokens = [na_values] if isinstance(na_values, str) else na_values
    with Spool(path) as spool:
        passing = _read(stream, names, spool, sample_weight, discretizer, tokens, progress)
        known = {} if into is None else dict(zip(into.variables, into.states, strict=True))
        finish = _Finish(passing, spool, stream.text, tokens, given, known, missing, max_states)
        gain = _least_gain(collapse, weighted=sample_weight is not None)
        return finish.table(path, into, gain, unchanged)


def check_states_found(states: Mapping[str, Sequence[State]], n: int, max_states: int = DEFAULT_MAX_STATES) -> None:
    """Ask of the states that n rows have together, packed in parts, what is asked of a table that is read at once."""
    problems = []
    for name, labels in states.items():
        try:
            check_categorical(name, labels, n, max_states)
        except InputError as error:
            problems.append(str(error))
    refuse(problems)


def _least_gain(collapse: bool | str, *, weighted: bool) -> float | None:
    if collapse == "auto":
        return _GAIN_WITH_WEIGHTS if weighted else _GAIN
    return 1.0 if collapse else None


def _unchanged(path: str | os.PathLike[str], into: PackedTable) -> Callable[[], None]:
    """Give what refuses to replace the file of a table that rows were added to, if others have changed it since."""
    was_there = fingerprint_of(path) == into.fingerprint

    def check() -> None:
        if was_there and fingerprint_of(path) != into.fingerprint:
            raise FileError(f"{os.fspath(path)} was changed while rows were added, and is left as it is. Try again.")

    return check


def _added(
    into: PackedTable, new: PackedTable, path: str | os.PathLike[str] | None, check: Callable[[], None] | None
) -> PackedTable:
    """Add rows; those with weights are merged with equal ones again, if that pays."""
    if into.weights is None and new.weights is None:
        return concatenate([into, new], path, check)
    both = concatenate([into, new]).collapse(_GAIN_WITH_WEIGHTS if into.weights is None else 1.0)
    return both if path is None else concatenate([both], path, check)


def _read(
    stream: Stream,
    names: Sequence[str],
    spool: Spool,
    sample_weight: ArrayLike | str | None,
    discretizer: Discretizer | None,
    na_values: Collection[str],
    progress: Callable[[int, int | None], None] | None,
) -> Pass:
    """Pass over the source once."""
    cuts = {} if discretizer is None else _cutters(discretizer, stream, names, na_values)
    encoders = [
        Encoder(name, text=stream.text and name not in cuts, plain=name in stream.plain and name not in cuts)
        for name in names
    ]
    wanted, weights = list(names), None
    if isinstance(sample_weight, str):
        wanted, weights = [*names, sample_weight], weights_from_column(sample_weight)
    elif sample_weight is not None:
        weights = weights_from_array(sample_weight)
    passing = Pass(encoders, spool, cuts, weights)
    for batch in stream.read(wanted):
        passing.add(batch)
        if progress is not None:
            progress(passing.n, stream.rows)
    passing.flush()
    if sample_weight is not None and not isinstance(sample_weight, str) and np.shape(sample_weight) != (passing.n,):
        raise InputError(
            f"{keyword('sample_weight')} has {np.size(sample_weight):,} weights, but the data have {passing.n:,} rows."
        )
    return passing


def _cutters(
    discretizer: Discretizer, stream: Stream, names: Sequence[str], na_values: Collection[str]
) -> dict[str, Cut]:
    """Give what puts the cells of some columns into bins."""
    check_known(discretizer.cuts, stream.names, f"{keyword('discretizer')} names")

    def cutter(name: str) -> Cut:
        return lambda cells: pd.Series(
            discretizer.cut(name, numbers_in(name, cells, na_values if stream.text else None))
        )

    import pandas as pd

    return {name: cutter(name) for name in discretizer.cuts if name in names}


class _Finish:
    """From the labels that were found to states, and from parts to a table."""

    def __init__(
        self,
        passing: Pass,
        spool: Spool,
        text: bool,
        na_values: Collection[str],
        given: Mapping[str, tuple[State, ...]],
        known: Mapping[str, tuple[State, ...]],
        missing: str,
        max_states: int | None,
    ) -> None:
        encoders, n = passing.encoders, passing.n
        self.names, self.spool = [encoder.name for encoder in encoders], spool
        if n == 0 and not all(name in given for name in self.names):
            refuse_empty()
        # Each label is a row of these columns; where the code is -1, it stands for a missing cell.
        columns = [encoder.column(na_values, given.get(encoder.name, ())) for encoder in encoders]
        gaps = [(j, int(code)) for j, column in enumerate(columns) for code in np.flatnonzero(column.codes < 0)]
        self.kept: list[Words] | None = None
        found = self._counts(gaps)
        missing_cells = {name: sum(found[i, code] for i, code in gaps if i == j) for j, name in enumerate(self.names)}
        problems: list[str] = []
        if missing == "error":
            try:
                refuse_missing(missing_cells, columns, n, text=text)
            except InputError as error:
                problems.append(str(error))
        else:
            warn_of_markers(columns)
        if missing == "drop" and any(missing_cells.values()):
            self._drop(gaps, missing_cells)
        self.rows = n if self.kept is None else sum(ones(mask) for mask in self.kept)
        doubtful = [j for j, encoder in enumerate(encoders) if self.kept is not None or not encoder.all_seen]
        cells = self._counts([(j, code) for j in doubtful for code in range(len(columns[j].codes))])
        self.states: list[tuple[State, ...]] = []
        self.new_codes: list[NDArray[np.uint16]] = []
        for j, column in enumerate(columns):
            raw = _raw_codes(column, [code for code in range(len(column.codes)) if cells.get((j, code), 1)])
            first_row = partial(self._first_row, j, raw)
            has_gaps = missing == "state" and missing_cells[column.name] > 0
            present = self.rows if self.kept is not None else n - missing_cells[column.name]
            try:
                if column.name in given:
                    states = given[column.name]
                    new = arrange_given(column, states, sorted(raw), has_gaps, first_row)
                else:
                    # What is known from before is not questioned again.
                    before = {state_key(state) for state in known.get(column.name, ())}
                    sure = bool(raw) and all(state_key(column.labels[label]) in before for label in raw)
                    limit = None if sure else max_states
                    new, states = arrange(column, sorted(raw), present, has_gaps, limit, first_row)
            except InputError as error:
                problems.append(str(error))
                continue
            self.states.append(states)
            self.new_codes.append(new[column.codes].astype(np.uint16))
        refuse(problems)
        single = [name for name, labels in zip(self.names, self.states, strict=True) if len(labels) == 1]
        warn_constant([name for name in single if name not in given and name not in known])

    # ------------------------------------------------------------ rows with a code
    def _masks(self, pairs: Sequence[tuple[int, int]]) -> Iterator[tuple[Part, list[Words]]]:
        """Give each part with the rows in which a variable has a code, for pairs of both; dropped rows have none."""
        from cslearn._kernels.packing import mark_equal

        for i, part in enumerate(self.spool.parts()):
            there = _first_bits(part.n) if self.kept is None else self.kept[i]
            masks = [np.zeros(words_of(part.n), dtype=np.uint64) for _ in pairs]
            for (j, code), mask in zip(pairs, masks, strict=True):
                planes = np.ascontiguousarray(part.planes[part.starts[j] : part.starts[j + 1]])
                if code < 2 ** len(planes):
                    mark_equal(planes, code, mask)
                    mask &= there
            yield part, masks

    def _counts(self, pairs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], int]:
        """Count the rows in which a variable has a code."""
        counts = dict.fromkeys(pairs, 0)
        for _, masks in self._masks(pairs) if pairs else ():
            for pair, mask in zip(pairs, masks, strict=True):
                counts[pair] += ones(mask)
        return counts

    def _first_row(self, j: int, raw: Mapping[int, Sequence[int]], label: int) -> int | None:
        """Return the first row that has a label."""
        before = 0
        for part, masks in self._masks([(j, code) for code in raw.get(label, ())]):
            rows = bits_of(np.bitwise_or.reduce(masks)) if masks else np.zeros(0, dtype=np.bool_)
            if rows.any():
                return before + int(rows.argmax())
            before += part.n
        return None

    def _drop(self, gaps: Sequence[tuple[int, int]], missing_cells: Mapping[str, int]) -> None:
        """Leave out the rows with a missing cell."""
        self.kept = [_first_bits(part.n) & ~np.bitwise_or.reduce(masks) for part, masks in self._masks(gaps)]
        if not any(mask.any() for mask in self.kept):
            refuse_no_rows(missing_cells)

    # ------------------------------------------------------------ the table
    def table(
        self,
        path: str | os.PathLike[str] | None,
        into: PackedTable | None,
        gain: float | None,
        check: Callable[[], None] | None,
    ) -> PackedTable:
        """Put the table together, and add it to another one."""
        weights = [part.weights for part in self._parts()] if self._weighted() else []
        if self.rows and weights and not any(w is not None and w.any() for w in weights):
            raise InputError("The weights of all rows are zero. At least one must be positive.")
        target = path if into is None else None
        found = self._distinct_rows(gain)
        if found is None:
            parts = self._parts(last_time=True)
            table = build(self.names, self.states, self.rows, bool(weights), parts, target)
        else:
            table = PackedTable(found[0], self.names, self.states, len(found[1]), found[1])
            table = table if target is None else concatenate([table], target)
        return table if into is None else _added(into, table, path, check)

    def _weighted(self) -> bool:
        return any(part.weights is not None for part in self.spool.parts())

    def _parts(self, *, last_time: bool = False) -> Iterator[Part]:
        starts = plane_starts([len(labels) for labels in self.states])
        tables = [None if (new == np.arange(len(new))).all() else new for new in self.new_codes]
        for i, part in enumerate(self.spool.parts(last_time=last_time)):
            recoded = part.recoded(starts, tables)
            yield recoded if self.kept is None else recoded.kept(self.kept[i])

    def _distinct_rows(self, gain: float | None) -> tuple[Words, NDArray[np.float64]] | None:
        if gain is None or not self.rows:
            return None
        starts = plane_starts([len(labels) for labels in self.states])
        return distinct_rows(self._parts(), starts, min(int(self.rows / gain), _MOST_DISTINCT))


def _raw_codes(column: Column, codes: Sequence[int]) -> dict[int, list[int]]:
    """Give the codes of each label that is not missing; several texts may be one."""
    raw: dict[int, list[int]] = {}
    for code in codes:
        if column.codes[code] >= 0:
            raw.setdefault(int(column.codes[code]), []).append(code)
    return raw


def _first_bits(n: int) -> Words:
    """Give a mask of n rows."""
    mask = np.full(words_of(n), ~np.uint64(0))
    if n % 64:
        mask[-1] = (np.uint64(1) << np.uint64(n % 64)) - np.uint64(1)
    return mask
