"""Opening sources that are read in batches: files, Arrow streams, relations, lazy frames and iterators of frames."""

from __future__ import annotations

import glob
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cslearn._checked import checked
from cslearn._files import check_file, find_files
from cslearn.data._extra import pyarrow
from cslearn.data._labels import listing
from cslearn.data._text import check_header, read_header, separator_of
from cslearn.errors import FileError, InputError

__all__ = ["Batch", "Stream", "files_of", "kinds_of", "only_in_batches", "open_stream"]

BATCH_ROWS = 1 << 16
BLOCK_BYTES = 1 << 22  # of a text file, read at a time
_BATCHES = ("pyarrow.RecordBatch", "pyarrow.Table", "pandas.DataFrame", "polars.DataFrame")
_WHAT = "Reading data in batches"


@dataclass(frozen=True)
class Batch:
    """Some rows: ``column(name)`` is an Arrow array or a pandas series of n cells."""

    n: int
    column: Callable[[str], Any]


@dataclass(frozen=True)
class Stream:
    """Data that can be read once, in batches.

    ``read`` takes the names of the columns that are wanted. ``text`` says that the cells are the texts of a file, and
    ``plain`` are columns of texts that come with a dictionary, but are no categories. ``rows`` is how many rows there
    are, if that is known.
    """

    names: tuple[str, ...]
    read: Callable[[Sequence[str]], Iterator[Batch]]
    text: bool = False
    plain: frozenset[str] = frozenset()
    rows: int | None = None


def open_stream(source: Any, *, sep: str | None = None) -> Stream | None:
    """Open a source that comes in batches; None if it is none of that kind."""
    if paths := files_of(source):
        single = isinstance(source, str | os.PathLike) and len(paths) == 1
        return None if single and not _is_streamed(paths[0]) else open_files(paths, sep)
    if isinstance(source, list | tuple) and source:
        return _open_batches(source) if all(_is_batch(item) for item in source) else None
    kinds = kinds_of(source)
    if "pandas.DataFrame" in kinds or "polars.DataFrame" in kinds:
        return None
    if "polars.LazyFrame" in kinds:
        return _open_lazy(source)
    if "pyarrow.Table" in kinds:
        return _of_arrow(source.schema, lambda _: source.to_batches(BATCH_ROWS), source.num_rows)
    if "pyarrow.RecordBatch" in kinds:
        return _of_arrow(source.schema, lambda _: [source], source.num_rows)
    if "pyarrow.Dataset" in kinds:
        # Few batches ahead: memory is bounded by what is read in advance.
        ahead = {"batch_size": BATCH_ROWS, "batch_readahead": 4, "fragment_readahead": 1}
        return _of_arrow(source.schema, lambda names: source.to_batches(columns=list(names), **ahead))
    if "duckdb.DuckDBPyRelation" in kinds:
        pyarrow(_WHAT)
        # Under older names in versions before 1.4 and before 1.1.
        names = ("to_arrow_reader", "fetch_record_batch", "fetch_arrow_reader")
        reader = next(getattr(source, name) for name in names if name in dir(source))
        return _of_reader(reader(BATCH_ROWS))
    if "pyarrow.RecordBatchReader" in kinds:
        return _of_reader(source)
    if _gives_batches(source):
        return _of_reader(pyarrow(_WHAT).RecordBatchReader.from_stream(source))
    return _open_batches(source) if isinstance(source, Iterator) else None


@checked
def only_in_batches(source: Any) -> bool:
    """Tell whether a source is more than one file, or data that are not in memory.

    Examples
    --------
    >>> from cslearn.data import only_in_batches
    >>> only_in_batches("parts/*.parquet"), only_in_batches("table.parquet"), only_in_batches({"a": [1]})
    (True, False, False)
    """
    if isinstance(source, str | os.PathLike):
        return glob.has_magic(os.fspath(source)) and not os.path.exists(source)
    if isinstance(source, list | tuple):
        return bool(source) and (isinstance(source[0], str | os.PathLike) or _is_batch(source[0]))
    kinds = kinds_of(source)
    if any(kind in _BATCHES for kind in kinds):
        return False
    lazy = "polars.LazyFrame" in kinds or "pyarrow.Dataset" in kinds
    return lazy or isinstance(source, Iterator) or "pyarrow.RecordBatchReader" in kinds or _gives_batches(source)


def _gives_batches(source: Any) -> bool:
    """Tell whether an object of another library gives a stream of Arrow; single columns of these do too."""
    library = type(source).__module__.partition(".")[0]
    return hasattr(source, "__arrow_c_stream__") and library not in ("pandas", "polars", "pyarrow")


def kinds_of(source: object) -> list[str]:
    """Name the library and the class, and the parents, of an object; without loading any library."""
    return [f"{cls.__module__.partition('.')[0]}.{cls.__name__}" for cls in type(source).__mro__]


def _is_batch(item: object) -> bool:
    return any(kind in _BATCHES for kind in kinds_of(item))


# ---------------------------------------------------------------- files
def files_of(source: Any) -> list[Path]:
    """Return the files that a source names; none if it is something else."""
    if isinstance(source, str | os.PathLike):
        return find_files(source)
    if isinstance(source, list | tuple) and all(isinstance(item, str | os.PathLike) for item in source):
        return [path for item in source for path in find_files(item)]
    return []


def _is_streamed(path: Path) -> bool:
    return _is_parquet(path) or separator_of(path) is not None


def _is_parquet(path: Path) -> bool:
    return path.name.lower().endswith(".parquet")


def open_files(paths: Sequence[Path], sep: str | None) -> Stream:
    """Open Parquet files or text files, one after the other; all must have the columns of the first one."""
    pyarrow(_WHAT)
    for path in paths:
        check_file(path)
        if not _is_streamed(path):
            raise FileError(f"{path}: only Parquet and text files (.csv, .tsv, .tab, also .gz or .zst) come in parts.")
    if len({_is_parquet(path) for path in paths}) > 1:
        raise InputError("Parquet files and text files cannot be read together. Pack them apart, and add the tables.")
    streams = [(path, _open_parquet(path) if _is_parquet(path) else _open_text(path, sep)) for path in paths]
    first = streams[0][1]
    for path, stream in streams:
        odd = sorted(set(stream.names) ^ set(first.names))
        if odd:
            raise FileError(f"{path} and {paths[0]} do not have the same columns: {listing(odd)} only in one of them.")

    def read(names: Sequence[str]) -> Iterator[Batch]:
        return itertools.chain.from_iterable(stream.read(names) for _, stream in streams)

    rows = [stream.rows for _, stream in streams]
    known = [count for count in rows if count is not None]
    plain = frozenset().union(*(stream.plain for _, stream in streams))
    return Stream(first.names, read, first.text, plain, sum(known) if len(known) == len(rows) else None)


def _open_parquet(path: Path) -> Stream:
    import pyarrow as pa
    import pyarrow.parquet as pq

    def texts(schema: Any) -> list[str]:
        kinds = (pa.types.is_string, pa.types.is_large_string)
        return [field.name for field in schema if any(is_text(field.type) for is_text in kinds)]

    def failed(error: Exception) -> FileError:
        return FileError(f"{path} is not a Parquet file, or a damaged one: {error}. Get it again.")

    def batches(names: Sequence[str]) -> Iterator[Any]:
        try:
            # Texts as they are stored, with a dictionary of their own.
            with pq.ParquetFile(path, read_dictionary=plain, memory_map=True) as file:
                yield from file.iter_batches(BATCH_ROWS, columns=list(names))
        except (pa.ArrowException, OSError) as error:
            raise failed(error) from error

    try:
        with pq.ParquetFile(path, memory_map=True) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
    except (pa.ArrowException, OSError) as error:
        raise failed(error) from error
    plain = texts(schema)
    return _of_arrow(schema, batches, rows, frozenset(plain), str(path))


def _compression(path: Path) -> str | None:
    return {".gz": "gzip", ".zst": "zstd"}.get(path.suffix.lower())


def _open_text(path: Path, sep: str | None) -> Stream:
    import pyarrow as pa
    import pyarrow.csv as pc

    names, separator, rows = read_header(path, sep)
    rows.close()

    def batches(wanted: Sequence[str]) -> Iterator[Any]:
        cells = pa.dictionary(pa.int32(), pa.string())
        convert = pc.ConvertOptions(
            column_types=dict.fromkeys(wanted, cells), include_columns=list(wanted), strings_can_be_null=False
        )
        try:
            with (
                pa.input_stream(path, compression=_compression(path)) as file,
                pc.open_csv(
                    file,
                    read_options=pc.ReadOptions(block_size=BLOCK_BYTES),
                    parse_options=pc.ParseOptions(delimiter=separator, newlines_in_values=True),
                    convert_options=convert,
                ) as reader,
            ):
                yield from reader
        except (pa.ArrowException, OSError) as error:
            if "Empty CSV file" in str(error):  # a header without rows
                return
            raise FileError(f"{path} cannot be read: {error}. Correct the file, or get it again.") from error

    def read(wanted: Sequence[str]) -> Iterator[Batch]:
        return (_batch_of_arrow(batch) for batch in batches(wanted))

    return Stream(names, read, text=True, plain=frozenset(names))


# ---------------------------------------------------------------- Arrow
def _of_arrow(
    schema: Any,
    batches: Callable[[Sequence[str]], Iterable[Any]],
    rows: int | None = None,
    plain: frozenset[str] = frozenset(),
    where: str = "The data",
) -> Stream:
    # Columns that are an index of pandas are no data.
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    names = check_header([name for name in schema.names if name not in index], where)
    return Stream(names, lambda wanted: map(_batch_of_arrow, batches(wanted)), plain=plain, rows=rows)


def _of_reader(reader: Any) -> Stream:
    return _of_arrow(reader.schema, lambda _: reader)


def _batch_of_arrow(batch: Any) -> Batch:
    return Batch(batch.num_rows, batch.column)


# ---------------------------------------------------------------- frames
def _open_lazy(frame: Any) -> Stream:
    schema = frame.collect_schema()

    def read(wanted: Sequence[str]) -> Iterator[Batch]:
        chosen = frame.select(list(wanted))
        if hasattr(chosen, "collect_batches"):
            frames = chosen.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True)
        else:  # polars before 1.34
            frames = [chosen.collect()]
        return (batch for one in frames for batch in _batches_of_polars(one))

    names = check_header(schema.names(), "The lazy frame")
    return Stream(names, read, plain=_plain_of_polars(schema))


def _plain_of_polars(schema: Any) -> frozenset[str]:
    """Name the columns whose categories have no order of their own."""
    return frozenset(name for name, dtype in schema.items() if str(dtype.base_type()) == "Categorical")


def _batches_of_polars(frame: Any) -> Iterator[Batch]:
    return map(_batch_of_arrow, frame.to_arrow().to_batches(BATCH_ROWS))


def _open_batches(source: Iterable[Any]) -> Stream:
    """Open an iterator of Arrow batches or frames, which all must have the columns of the first one."""
    items = iter(source)
    first = next(items, None)
    if first is None:
        raise InputError("The iterator has no batch. At least one is needed.")
    if not _is_batch(first):
        raise InputError(
            f"An iterator of {type(first).__name__} cannot be read. Its items must be pyarrow RecordBatches or Tables,"
            " or data frames of pandas or polars."
        )
    names = check_header([str(name) for name in _names_of(first)], "The first batch")

    def read(wanted: Sequence[str]) -> Iterator[Batch]:
        for number, item in enumerate(itertools.chain([first], items), start=1):
            odd = sorted({str(name) for name in _names_of(item)} ^ set(names))
            if odd:
                raise InputError(
                    f"Batch {number} and the first one have different columns: {listing(odd)} in one of them."
                )
            yield from _batches_of(item)

    plain = _plain_of_polars(first.schema) if "polars.DataFrame" in kinds_of(first) else frozenset()
    return Stream(names, read, plain=plain)


def _names_of(item: Any) -> list[Any]:
    kinds = kinds_of(item)
    if not _is_batch(item):
        raise InputError(f"A batch of type {kinds[0]} cannot be read.")
    if "pyarrow.Table" in kinds or "pyarrow.RecordBatch" in kinds:
        index = (item.schema.pandas_metadata or {}).get("index_columns", [])
        return [name for name in item.schema.names if name not in index]
    return list(item.columns)


def _batches_of(item: Any) -> Iterator[Batch]:
    kinds = kinds_of(item)
    if "polars.DataFrame" in kinds:
        return _batches_of_polars(item)
    if "pyarrow.Table" in kinds:
        return map(_batch_of_arrow, item.to_batches(BATCH_ROWS))
    if "pyarrow.RecordBatch" in kinds:
        return iter([_batch_of_arrow(item)])
    frame = item.set_axis([str(name) for name in item.columns], axis=1)
    return iter([Batch(len(frame), frame.__getitem__)])
