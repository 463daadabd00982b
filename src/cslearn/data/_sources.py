"""Opening data of every kind that is accepted, as a :class:`~cslearn.data._columns.Source`."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn._files import check_file
from cslearn.data._batches import kinds_of
from cslearn.data._columns import Column, Source, column_of_cells, column_of_series, make_column
from cslearn.data._documents import DOCUMENTS, read_document
from cslearn.data._extra import pyarrow
from cslearn.data._labels import State
from cslearn.data._text import check_header, read_text, separator_of
from cslearn.data.packed import PackedTable
from cslearn.data.table import Table
from cslearn.errors import FileError, InputError

__all__ = ["EXTENSIONS", "open_source"]

_TEXT = (".csv", ".tsv", ".tab")
EXTENSIONS = (*(kind + packed for packed in ("", ".gz", ".zst") for kind in _TEXT), ".parquet", ".cspack", *DOCUMENTS)


def open_source(
    source: Any,
    *,
    array_names: Sequence[str] | None = None,
    sep: str | None = None,
    na_values: Collection[str] = (),
    states: Mapping[str, Collection[State]] | None = None,
) -> Source:
    """Open data of any accepted kind.

    ``array_names`` name the columns of an array that has no names; ``states``, where they are known, tell cells of a
    text file that look like missing ones from states.
    """
    if isinstance(source, Source):
        return source
    if isinstance(source, Table):
        return _open_table(source)
    if isinstance(source, PackedTable):
        return _open_packed(source)
    if isinstance(source, str | os.PathLike):
        return _open_path(Path(source), sep, na_values, states or {})
    if isinstance(source, np.matrix):
        raise InputError("A NumPy matrix cannot be read, as its columns are matrices too. Give np.asarray(X).")
    if isinstance(source, np.ndarray):
        return _open_array(source, array_names)
    if hasattr(source, "toarray"):  # before mappings: a sparse matrix may be one
        raise InputError("Sparse data are not supported: a table of states has no zeros to leave out. Use X.toarray().")
    if isinstance(source, Mapping):
        return _open_columns(source)
    if isinstance(source, list | tuple):
        return _open_records(source)
    kinds = kinds_of(source)
    if "pandas.DataFrame" in kinds:
        return _open_frame(source)
    if "polars.DataFrame" in kinds:
        return _open_polars(source)
    if "pyarrow.Table" in kinds:
        return _open_frame(_to_pandas(source))
    if hasattr(source, "__array__") and np.asarray(source).ndim == 2:
        return _open_array(np.asarray(source), array_names)
    raise InputError(
        f"Data of type {kinds[0]} cannot be read. Give a pandas or polars DataFrame, a pyarrow Table, "
        "a 2-D or structured NumPy array, a list of dicts, a dict of columns, a Table, or the path of a file."
    )


def _open_table(table: Table) -> Source:
    def column(j: int) -> Column:
        return Column(table.variables[j], table.codes[:, j].astype(np.int32), table.states[j], fixed=True)

    return Source(table.variables, table.n, column, weights=table.weights)


def _open_packed(packed: PackedTable) -> Source:
    def column(j: int) -> Column:
        return Column(packed.variables[j], packed.column(j), packed.states[j], fixed=True)

    return Source(packed.variables, packed.n, column, weights=packed.weights)


def _open_path(
    path: Path, sep: str | None, na_values: Collection[str], states: Mapping[str, Collection[State]]
) -> Source:
    if path.name.lower().endswith(".cspack"):
        return _open_packed(PackedTable.load(path))
    if path.name.lower().endswith(".parquet"):
        return _open_frame(_read_parquet(path))
    if path.suffix.lower() in DOCUMENTS:
        return _open_frame(read_document(path))
    if separator_of(path) is not None:
        return read_text(path, sep, na_values, states)
    check_file(path)
    raise FileError(f"{path}: unknown extension. The known ones are {', '.join(EXTENSIONS)}.")


def _read_parquet(path: Path) -> Any:
    check_file(path)
    pa = pyarrow("Reading Parquet files")
    import pyarrow.parquet as pq

    try:
        # Opened here, since pyarrow would take the path for a data set with partitions in its directories.
        with path.open("rb") as file:
            # Through pandas, which knows the columns that are an index and not data.
            return _to_pandas(pq.read_table(file))
    except (pa.ArrowException, OSError) as error:
        raise FileError(f"{path} is not a Parquet file, or a damaged one: {error}. Get it again.") from error


def _to_pandas(table: Any) -> Any:
    """Return a table or column of pyarrow as one of pandas."""
    if hasattr(table, "schema"):
        table = table.cast(_signed(table.schema))
    # As objects, since floats, which pandas would make of whole numbers with gaps, are not exact for large ones.
    return table.to_pandas(integer_object_nulls=True)


def _signed(schema: Any) -> Any:
    """Return a schema in which the codes of categories are signed: older pyarrow cannot give others to pandas."""
    import pyarrow as pa

    for j, field in enumerate(schema):
        kind = field.type
        if pa.types.is_dictionary(kind) and pa.types.is_unsigned_integer(kind.index_type):
            schema = schema.set(j, field.with_type(pa.dictionary(pa.int32(), kind.value_type, kind.ordered)))
    return schema


def _open_frame(frame: Any) -> Source:
    names = check_header([str(name) for name in frame.columns], "The data frame")
    return Source(names, len(frame), lambda j: column_of_series(names[j], frame.iloc[:, j]))


def _open_polars(frame: Any) -> Source:
    names = check_header(frame.columns, "The data frame")
    return Source(names, frame.height, lambda j: _column_of_polars(names[j], frame.to_series(j)))


def _column_of_polars(name: str, series: Any) -> Column:
    if str(series.dtype.base_type()) == "Enum":
        codes = series.to_physical().cast(int).fill_null(-1).to_numpy()
        return make_column(name, codes, series.dtype.categories.to_list(), fixed=True)
    if series.dtype.is_float() or (series.dtype.is_integer() and not series.null_count()):
        return column_of_cells(name, series.to_numpy())
    # The categories of a polars Categorical have no order of their own, so they are read as the texts they are.
    return column_of_cells(name, series.to_list())


def _open_array(array: NDArray[Any], array_names: Sequence[str] | None) -> Source:
    if array.dtype.names is not None:
        fields = array.reshape(-1)
        names = check_header(array.dtype.names, "The structured array")
        return Source(names, len(fields), lambda j: _column_reader(names[j], fields[names[j]])())
    if np.iscomplexobj(array):
        raise InputError("Complex data not supported: states are texts, whole numbers or booleans.")
    array = _without_mask(array)
    if array.ndim != 2:
        raise InputError(
            f"A NumPy array must have two dimensions (rows and columns), not {array.ndim}. "
            "Use array.reshape(-1, 1) for a single column."
        )
    width = array.shape[1]
    if not width:  # in the words that scikit-learn's checks of estimators look for
        raise InputError(
            f"The array has no column: 0 feature(s) (shape={array.shape}) while a minimum of 1 is required."
        )
    texts = [f"X{j + 1}" for j in range(width)] if array_names is None else [str(name) for name in array_names]
    if len(texts) != width:
        raise InputError(f"variables= has {len(texts)} names, but the array has {width} columns. Name all of them.")
    named = check_header(texts, "The array")
    return Source(named, len(array), lambda j: column_of_cells(named[j], array[:, j]))


def _without_mask(cells: Any) -> Any:
    if isinstance(cells, np.ma.MaskedArray):
        plain: NDArray[Any] = cells.data.astype(object)
        plain[np.ma.getmaskarray(cells)] = None
        return plain
    return cells


def _open_columns(columns: Mapping[Any, Any]) -> Source:
    names = check_header([str(name) for name in columns], "The dict of columns")
    readers: list[Callable[[], Column]] = []
    lengths: list[int] = []
    for name, cells in zip(names, columns.values(), strict=True):
        readers.append(_column_reader(name, cells))
        lengths.append(len(cells))
        if lengths[-1] != lengths[0]:
            raise InputError(
                f"Column {name!r} has {lengths[-1]:,} cells but column {names[0]!r} has {lengths[0]:,}. "
                "All columns must have the same length."
            )
    return Source(names, lengths[0], lambda j: readers[j]())


def _column_reader(name: str, cells: Any) -> Callable[[], Column]:
    if isinstance(cells, str | bytes | Mapping) or not hasattr(cells, "__len__") or not hasattr(cells, "__getitem__"):
        raise InputError(f"Column {name!r} must be a sequence of cells, not {type(cells).__name__}.")
    if getattr(cells, "ndim", 1) != 1:
        raise InputError(f"Column {name!r} must have one dimension, not {cells.ndim}.")
    library = type(cells).__module__.partition(".")[0]
    if library == "pandas":
        import pandas as pd

        return lambda: column_of_series(name, pd.Series(cells))
    if library == "polars":
        return lambda: _column_of_polars(name, cells)
    if library == "pyarrow":
        return lambda: column_of_series(name, _to_pandas(cells))
    return lambda: column_of_cells(name, _without_mask(cells))


def _open_records(records: Sequence[Any]) -> Source:
    names: dict[Any, None] = {}
    for row, record in enumerate(records, start=1):
        if not isinstance(record, Mapping):
            raise InputError(
                f"Row {row} of the list is of type {type(record).__name__}, not a dict. Give a list of "
                "dicts, a NumPy array or a data frame."
            )
        names.update(dict.fromkeys(record))
    if not names:
        raise InputError("The list of dicts has no rows or no columns. Give at least one row.")
    keys = tuple(names)
    texts = check_header([str(key) for key in keys], "The list of dicts")
    return Source(texts, len(records), lambda j: column_of_cells(texts[j], [row.get(keys[j]) for row in records]))
