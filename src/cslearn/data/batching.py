"""Rows of any source in batches, each a table."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cslearn._checked import checked
from cslearn.data import _batches
from cslearn.data._batches import Batch, Stream, only_in_batches, open_stream
from cslearn.data._columns import Column, Source, column_of_series
from cslearn.data._labels import State
from cslearn.data._markers import DEFAULT_NA_VALUES, markers_of
from cslearn.data._sources import open_source
from cslearn.data._text import column_of_text
from cslearn.data.packed import PackedTable
from cslearn.data.reading import as_table
from cslearn.data.table import Table

__all__ = ["iter_sources", "iter_tables"]

_LARGE = 1 << 26  # bytes of a file beyond which it is not read at once


@checked
def iter_tables(
    source: Any,
    states: Mapping[str, Sequence[Any]] | None = None,
    *,
    sample_weight: str | None = None,
    missing: Literal["error", "drop", "state"] = "error",
    na_values: Collection[str] = DEFAULT_NA_VALUES,
    sep: str | None = None,
) -> Iterator[Table]:
    """Read rows in batches, for what is done row by row: memory is needed for one batch.

    Parameters
    ----------
    source : path, relation, frame, reader or iterator
        Whatever :func:`cslearn.pack` reads, or a PackedTable.
    states : mapping from str to sequence
        The variables, which are the columns that are read, and their states, such as ``tree.states``. They are
        known of a PackedTable or Table, and for other data they must be given.
    sample_weight, missing, na_values, sep
        As for :func:`as_table`.

    Yields
    ------
    Table
        All with the same variables and states.

    Examples
    --------
    >>> import pandas as pd
    >>> from cslearn.data import iter_tables
    >>> batches = (pd.DataFrame({"a": [i, 1], "b": ["x", "y"]}) for i in range(2))
    >>> [table.codes.ravel().tolist() for table in iter_tables(batches, {"a": [0, 1]})]
    [[0, 1], [1, 1]]
    """
    if states is None:
        known = source if isinstance(source, Table) else as_packed(source)
        states = None if known is None else dict(zip(known.variables, known.states, strict=True))
    if states is None:
        from cslearn.errors import InputError

        raise InputError("The states of data that are read in batches must be given by states=, or packed before.")
    for batch in iter_sources(source, [*states, *([sample_weight] if sample_weight else [])], states, na_values, sep):
        yield as_table(
            batch,
            variables=list(states),
            states=states,
            sample_weight=sample_weight,
            missing=missing,
            na_values=na_values,
            sep=sep,
        )


def as_packed(source: Any) -> PackedTable | None:
    """Return a packed table, also that of a file; None for anything else."""
    if isinstance(source, PackedTable):
        return source
    is_file = isinstance(source, str | os.PathLike) and os.fspath(source).lower().endswith(".cspack")
    return PackedTable.load(source) if is_file else None


def iter_sources(
    source: Any,
    columns: Sequence[str] | None,
    states: Mapping[str, Collection[State]],
    na_values: Collection[str] = DEFAULT_NA_VALUES,
    sep: str | None = None,
) -> Iterator[Any]:
    """Give the rows in batches that :func:`as_table` and the like read; a source that is not large is given as it is.

    `columns` are those of interest, as far as they are there; None means all. `states` are those that are known.
    """
    packed = as_packed(source)
    if packed is not None:
        yield from _batches_of_packed(packed)
        return
    large = only_in_batches(source) or (isinstance(source, str | os.PathLike) and _is_large(Path(source)))
    stream = open_stream(source, sep=sep) if large else None
    if stream is None:
        yield source
        return
    wanted = [name for name in stream.names if columns is None or name in columns]
    start = 0
    # Without any column of interest all are read, so that the message about it can name them.
    for batch in stream.read(wanted or list(stream.names)):
        if batch.n:
            yield _source_of(batch, stream, wanted or list(stream.names), states, na_values, start)
        start += batch.n


def _is_large(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size > _LARGE
    except OSError:  # what cannot be looked at is not large: its reader says what is wrong with it
        return False


def _batches_of_packed(packed: PackedTable) -> Iterator[Source]:
    for start in range(0, max(packed.n, 1), _batches.BATCH_ROWS):
        stop = min(start + _batches.BATCH_ROWS, packed.n)
        weights = None if packed.weights is None else packed.weights[start:stop]
        table = Table(packed.codes(start, stop), packed.variables, packed.states, weights)
        yield replace(open_source(table), start=start)


def _source_of(
    batch: Batch,
    stream: Stream,
    names: Sequence[str],
    states: Mapping[str, Collection[State]],
    na_values: Collection[str],
    start: int,
) -> Source:
    def column(j: int) -> Column:
        name, cells = names[j], batch.column(names[j])
        if stream.text:
            texts = cells.dictionary.to_pylist()
            codes = cells.indices.to_numpy(zero_copy_only=False).astype(np.int32)
            found = markers_of(texts, na_values, [str(state) for state in states.get(name, ())])
            return column_of_text(name, codes, texts, found)
        if type(cells).__module__.startswith("pyarrow"):
            import pyarrow as pa

            if name in stream.plain and pa.types.is_dictionary(cells.type):
                cells = cells.cast(cells.type.value_type)
            cells = cells.to_pandas(integer_object_nulls=True)
        return column_of_series(name, cells)

    return Source(tuple(names), batch.n, column, text=stream.text, start=start)
