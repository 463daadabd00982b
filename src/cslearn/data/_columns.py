"""Columns as codes and distinct labels, the form in which every source hands over its data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cslearn._wording import keyword
from cslearn.data._labels import State, state_key, to_label, whole_numbers
from cslearn.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Column", "Source", "column_of_cells", "column_of_series", "make_column"]

# Kinds, as pandas infers them, whose values differ whenever Python's == says so. In the other kinds True and
# 1 may meet, which the hash table of pandas would merge.
_PLAIN_KINDS = frozenset({"string", "integer", "floating", "boolean"})


@dataclass(frozen=True)
class Column:
    """One column: ``labels[codes[row]]`` is the cell, and the code -1 is a missing cell.

    ``fixed`` says that the labels are categories: their order and those not observed are kept. ``markers`` are the
    texts of missing cells in a text file, unless the user has listed them.
    """

    name: str
    codes: NDArray[np.int32]
    labels: tuple[State, ...]
    fixed: bool = False
    markers: tuple[str, ...] = ()

    def take(self, rows: NDArray[np.intp]) -> Column:
        """Give the column of some of the rows."""
        return replace(self, codes=self.codes[rows])


@dataclass(frozen=True)
class Source:
    """Data that were opened but not yet encoded; ``column`` gives the column at a position.

    ``text`` says that the cells come from a text file, where missing cells are a matter of tokens, and ``start`` is how
    many rows of the data come before these.
    """

    names: tuple[str, ...]
    n: int
    column: Callable[[int], Column]
    text: bool = False
    weights: NDArray[np.float64] | None = None
    start: int = 0


def make_column(name: str, codes: Any, labels: Sequence[State], *, fixed: bool = False, whole: bool = True) -> Column:
    """Make a column, in which a label that is NaN counts as missing.

    If all labels are `whole` numbers they become ints, unless they are only a part of the column.
    """
    codes = np.asarray(codes, dtype=np.int32)
    # Only a float NaN differs from itself. Nullable and Arrow arrays can hold one beside their own missing
    # value.
    kept = [label == label for label in labels]
    if not all(kept):
        new_codes = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1).astype(np.int32)
        codes = new_codes[codes]
        labels = [label for label, keep in zip(labels, kept, strict=True) if keep]
    if whole and not fixed:
        # pandas turns integers into floats when a cell is missing; the labels must not depend on that.
        labels = whole_numbers(labels)
    return Column(name, codes, tuple(labels), fixed)


def column_of_series(name: str, series: pd.Series[Any], *, whole: bool = True) -> Column:
    """Read a column of a pandas frame, whatever its dtype."""
    import pandas as pd

    dtype = series.dtype
    if isinstance(dtype, pd.ArrowDtype) and str(dtype.pyarrow_dtype).startswith("dictionary"):
        import pyarrow as pa

        series = pa.chunked_array(pa.array(series.array)).to_pandas()
        dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        labels = [to_label(value) for value in dtype.categories]
        return make_column(name, series.cat.codes.to_numpy(), labels, fixed=True)
    if dtype.kind == "O" and dtype.name == "object":
        return column_of_cells(name, series.to_numpy(), whole=whole)
    try:
        codes, values = pd.factorize(series)
    except (TypeError, ValueError, NotImplementedError) as error:
        raise InputError(
            f"Column {name!r} of type {dtype} cannot be read as categorical data. "
            f"Turn its cells into numbers or strings, or leave the column out ({keyword('leave_out')})."
        ) from error
    return make_column(name, codes, [to_label(value) for value in values], whole=whole)


def column_of_cells(name: str, cells: Any, *, whole: bool = True) -> Column:
    """Read a column from an array, or from a sequence of Python objects."""
    import pandas as pd

    if isinstance(cells, np.ndarray) and cells.dtype != object:
        array = _plain_array(cells)
    else:
        array = np.fromiter(cells, dtype=object, count=len(cells))
    if array.dtype != object or pd.api.types.infer_dtype(array, skipna=True) in _PLAIN_KINDS:
        codes, values = pd.factorize(array)
        return make_column(name, codes, [to_label(value) for value in values], whole=whole)
    return _column_of_mixed_cells(name, array, whole)


def _plain_array(cells: NDArray[Any]) -> NDArray[Any]:
    if cells.dtype.kind == "S":
        return np.char.decode(cells, "utf-8").astype(object)
    if cells.dtype.kind == "f":
        return cells.astype(np.float64)
    return cells.astype(object) if cells.dtype.kind in "UT" else cells


def _column_of_mixed_cells(name: str, array: NDArray[Any], whole: bool) -> Column:
    import pandas as pd

    missing = pd.isna(array)
    positions: dict[tuple[bool, State], int] = {}
    codes = np.full(len(array), -1, dtype=np.int32)
    for row, cell in enumerate(array):
        if missing[row]:
            continue
        try:
            hash(cell)
        except TypeError:
            raise InputError(
                f"Column {name!r}, row {row + 1}: a cell of type {type(cell).__name__} cannot be a state. "
                f"Turn the cells into numbers or strings, or leave the column out ({keyword('leave_out')})."
            ) from None
        codes[row] = positions.setdefault(state_key(to_label(cell)), len(positions))
    return make_column(name, codes, [label for _, label in positions], whole=whole)
