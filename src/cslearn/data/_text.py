"""Text files: comma or tab separated, plain or gzipped."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import re
import zlib
from collections import defaultdict
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, cast

import numpy as np
from numpy.typing import NDArray

from cslearn._files import check_file
from cslearn._warnings import warn
from cslearn._wording import option
from cslearn.data._columns import Column, Source
from cslearn.data._extra import pyarrow
from cslearn.data._labels import State
from cslearn.data._markers import DEFAULT_NA_VALUES, markers_of
from cslearn.errors import DataWarning, FileError, InputError

__all__ = [
    "check_header",
    "column_of_text",
    "encode_rows",
    "read_header",
    "read_rows",
    "read_text",
    "separator_of",
]

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_SEPARATOR_NAMES = {",": "','", ";": "';'", "\t": "'\\t' (tab)", "|": "'|'"}
_CANONICAL_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_CHUNK = 10_000


def separator_of(path: Path) -> str | None:
    """Give the separator that the extension stands for, or None if this is not a text file."""
    return _SEPARATORS.get(Path(path.name.lower().removesuffix(".gz").removesuffix(".zst")).suffix)


def _open_bytes(path: Path) -> IO[bytes]:
    """Open a file, unpacked if its name says that it is compressed."""
    if path.name.lower().endswith(".gz"):
        return cast(IO[bytes], gzip.open(path, "rb"))
    if path.name.lower().endswith(".zst"):
        return cast(IO[bytes], pyarrow("Reading .zst files").input_stream(path, compression="zstd"))
    return path.open("rb")


def read_rows(path: Path, sep: str) -> Generator[list[str], None, None]:
    """Yield the header and then the data rows, all of the same length; blank lines are skipped."""
    try:
        # utf-8-sig takes away a byte order mark.
        with io.TextIOWrapper(_open_bytes(path), encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=sep, strict=True)
            width = 0
            for row in reader:
                if not row:
                    continue
                if "\0" in "".join(row):
                    raise FileError(
                        f"{path}, line {reader.line_num}: it holds NUL characters, which text does not have. It may be"
                        " UTF-16: save it as UTF-8."
                    )
                width = width or len(row)
                if len(row) != width:
                    raise FileError(
                        f"{path}, line {reader.line_num}: {len(row)} cells, but the header has {width}. "
                        "Correct the line; a cell that contains the separator must be quoted."
                    )
                yield row
    except UnicodeDecodeError as error:
        raise FileError(f"{path} is not UTF-8 text ({error.reason}). Save it as UTF-8.") from error
    except csv.Error as error:
        raise FileError(f"{path}, line {reader.line_num}: {error}. Check the quotes around the cells.") from error
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise FileError(f"{path} is not a gzip file, or a damaged one ({error}). Get it again.") from error
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}.") from error
    if not width:
        raise FileError(f"{path} is empty. It should have a header with the names of the variables, then rows.")


def check_header(names: Iterable[str], where: str) -> tuple[str, ...]:
    """Raise an error if a name is empty or repeated."""
    names = tuple(names)
    for position, name in enumerate(names, start=1):
        if not name.strip():
            raise InputError(
                f"{where}: column {position} has no name. Name it; if it holds row numbers, leave it out "
                "(index=False in pandas)."
            )
    if len(set(names)) < len(names):
        repeated = sorted({repr(name) for name in names if names.count(name) > 1})
        raise InputError(f"{where}: several columns are called {', '.join(repeated)}. Rename them.")
    if not names:
        raise InputError(f"{where}: there is no column. At least one is needed.")
    return names


def encode_rows(rows: Iterator[list[str]], width: int) -> list[tuple[NDArray[np.int32], list[str]]]:
    """Give for each column the codes of its cells and its distinct cells, in the order of appearance."""
    codes: list[list[NDArray[np.int32]]] = [[np.empty(0, dtype=np.int32)] for _ in range(width)]
    seen: list[defaultdict[str, int]] = []
    for _ in range(width):
        positions: defaultdict[str, int] = defaultdict()
        # A cell that is looked up for the first time gets the next code.
        positions.default_factory = positions.__len__
        seen.append(positions)
    while chunk := list(itertools.islice(rows, _CHUNK)):
        for j, cells in enumerate(zip(*chunk, strict=True)):
            codes[j].append(np.fromiter(map(seen[j].__getitem__, cells), dtype=np.int32, count=len(cells)))
    return [(np.concatenate(parts), list(cells)) for parts, cells in zip(codes, seen, strict=True)]


def read_header(path: Path, sep: str | None) -> tuple[tuple[str, ...], str, Generator[list[str], None, None]]:
    """Return the names of the columns of a text file, what separates them, and the rows, still to be read."""
    check_file(path)
    if sep is not None and (not isinstance(sep, str) or len(sep) != 1 or sep in '"\r\n'):
        raise InputError(f"sep must be a single character other than a quote or a line end, not {sep!r}.")
    separator = sep or separator_of(path) or ","
    rows = read_rows(path, separator)
    header = next(rows)
    if sep is None and len(header) == 1:
        for other, name in _SEPARATOR_NAMES.items():
            if other != separator and other in header[0]:
                raise FileError(
                    f"{path} has a single column, {header[0]!r}. The separator looks to be {name}: pass "
                    f"{option('sep', other)} (or {option('sep', separator)} if there is really one column)."
                )
    if len(header) > 1 and not header[0].strip():
        # As write.csv of R and to_csv of pandas write them.
        warn(f"{path}: the first column has no name and is taken for row names, which are left out.", DataWarning)
        header, rows = header[1:], (row[1:] for row in rows)
    return check_header(header, str(path)), separator, rows


def read_text(
    path: Path, sep: str | None, na_values: Collection[str], states: Mapping[str, Collection[State]]
) -> Source:
    """Read a text file with a header; cells stay text unless a whole column holds plain integers.

    `states` are those that are given for some columns.
    """
    names, _, rows = read_header(path, sep)
    encoded = encode_rows(rows, len(names))
    listed = frozenset(na_values) != frozenset(DEFAULT_NA_VALUES)

    def column(j: int) -> Column:
        codes, cells = encoded[j]
        markers = markers_of(cells, na_values, [str(state) for state in states.get(names[j], ())])
        column = column_of_text(names[j], codes, cells, markers)
        return column if listed else replace(column, markers=tuple(sorted(markers)))

    return Source(names, len(encoded[0][0]), column, text=True)


def column_of_text(name: str, codes: NDArray[np.int32], cells: list[str], markers: set[str]) -> Column:
    """Make a column of different cells, of which some stand for missing ones; plain integers become numbers."""
    kept = [cell not in markers for cell in cells]
    if not all(kept):
        codes = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)[codes]
        cells = [cell for cell, keep in zip(cells, kept, strict=True) if keep]
    labels: tuple[State, ...] = tuple(cells)
    if all(_CANONICAL_INTEGER.fullmatch(cell) and -(2**63) <= int(cell) < 2**63 for cell in cells):
        labels = tuple(int(cell) for cell in cells)
    return Column(name, codes, labels)
