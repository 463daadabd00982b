"""The table format of the Benchpress platform and of the ``cstrees`` package.

A comma separated file: the names of the variables, then a row of their cardinalities, then rows of codes.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cslearn._checked import checked
from cslearn._files import atomic_write, check_file
from cslearn.data._text import check_header, encode_rows, read_rows
from cslearn.data.table import Table
from cslearn.errors import FileError, InputError

__all__ = ["read_benchpress", "write_benchpress"]

_INTEGER = re.compile(r"[0-9]{1,9}")
_MAX_CARDINALITY = 2**16
_MAX_STATES = 2**22  # of all variables together


@checked
def read_benchpress(path: str | os.PathLike[str]) -> Table:
    r"""Read a file of codes with the cardinalities in its second row.

    Parameters
    ----------
    path : str or path-like
        A comma separated file, which may be gzipped (.gz).

    Returns
    -------
    Table
        The states of a variable of cardinality d are the integers 0 to d - 1.

    Raises
    ------
    FileError
        If the file is missing or damaged, or has a bad cardinality or a code out of range.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from cslearn.data import read_benchpress
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "data.csv")
    ...     size = file.write_text("a,b\n2,3\n0,2\n1,0\n")
    ...     table = read_benchpress(file)
    >>> table.state_map
    {'a': (0, 1), 'b': (0, 1, 2)}
    """
    path = Path(path)
    check_file(path)
    rows = read_rows(path, ",")
    names = check_header(next(rows), str(path))
    cards = _read_cards(next(rows, []), names, path)
    encoded = encode_rows(rows, len(names))
    codes = np.empty((len(encoded[0][0]), len(names)), dtype=np.uint16, order="F")
    for j, (positions, cells) in enumerate(encoded):
        codes[:, j] = _read_codes(positions, cells, f"{path}, column {names[j]!r}", cards[j])
    return Table(codes, names, [range(card) for card in cards])


@checked
def write_benchpress(table: Table, path: str | os.PathLike[str]) -> None:
    """Write the codes of a table, with the cardinalities in the second row.

    The format has no place for labels: only the codes are written, and reading the file gives the states 0,
    1, ... in their stead.

    Parameters
    ----------
    table : Table
        A table without weights, for which the format has no place either.
    path : str or path-like
        The file to write; an old one is replaced once the new one is complete.

    Raises
    ------
    InputError
        If the table has weights.
    FileError
        If the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from cslearn.data import Table, write_benchpress
    >>> table = Table([[0], [1]], ["rain"], [["no", "yes"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "data.csv")
    ...     write_benchpress(table, file)
    ...     file.read_text().split()
    ['rain', '2', '0', '1']
    """
    if table.weights is not None:
        raise InputError(
            "The Benchpress format has no weights. Write one row for each observation: a table that was not collapsed."
        )

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.variables)
    writer.writerow(table.cards)
    writer.writerows(table.codes.tolist())
    atomic_write(path, text.getvalue())


def _read_cards(cells: Sequence[str], names: tuple[str, ...], path: Path) -> list[int]:
    if not cells:
        raise FileError(f"{path}: the second row should hold the cardinalities, but there is none.")
    for name, cell in zip(names, cells, strict=True):
        if not _INTEGER.fullmatch(cell) or not 1 <= int(cell) <= _MAX_CARDINALITY:
            raise FileError(
                f"{path}, column {name!r}: the cardinality {cell!r} in the second row is not an integer from "
                f"1 to {_MAX_CARDINALITY:,}. Is this a Benchpress file?"
            )
    cards = [int(cell) for cell in cells]
    if sum(cards) > _MAX_STATES:
        raise FileError(f"{path}: the cardinalities sum to {sum(cards):,}, and up to {_MAX_STATES:,} states are read.")
    return cards


def _read_codes(positions: NDArray[np.int32], cells: list[str], where: str, card: int) -> NDArray[np.int32]:
    values = np.array([int(cell) if _INTEGER.fullmatch(cell) else -1 for cell in cells], dtype=np.int32)
    bad = np.flatnonzero((values < 0) | (values >= card))
    if len(bad):
        # Cells are numbered as they appear, so the first bad one is in the first bad row.
        row = int(np.flatnonzero(positions == bad[0])[0])
        raise FileError(
            f"{where}, row {row + 1}: {cells[bad[0]]!r} is not a code from 0 to {card - 1}, which the "
            f"cardinality {card} asks for."
        )
    return values[positions]
