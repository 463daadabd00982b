"""Weights of the rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cslearn.data._columns import Column
from cslearn.data._labels import is_numeric
from cslearn.errors import InputError

__all__ = ["check_weights", "weights_of_column"]


def check_weights(weights: ArrayLike, n: int, start: int = 0, *, copy: bool = True) -> NDArray[np.float64]:
    """Give weights as a read-only array; raise an error unless there is a good one for each of n rows.

    `start` is the number of rows before these, for messages.
    """
    try:
        array = (np.array if copy else np.asarray)(weights, dtype=np.float64).view()
    except (TypeError, ValueError):
        raise InputError("Weights must be real numbers.") from None
    if array.shape != (n,):
        raise InputError(f"Weights must be one number for each of the {n:,} rows; their shape is {array.shape}.")
    bad = ~(np.isfinite(array) & (array >= 0))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InputError(f"Weight of row {start + row + 1}: {array[row]} is not a non-negative finite number.")
    array.flags.writeable = False
    return array


def weights_of_column(column: Column, start: int = 0) -> NDArray[np.float64]:
    """Read weights from a column, whose cells may be text; see above."""
    bad = [code for code, label in enumerate(column.labels) if not is_numeric(label)]
    rows = np.flatnonzero(np.isin(column.codes, [*bad, -1]))
    if len(rows):
        code = column.codes[rows[0]]
        cell = "a missing cell" if code < 0 else repr(column.labels[code])
        raise InputError(f"Weight of row {start + rows[0] + 1} (column {column.name!r}): {cell} is not a number.")
    values = np.array([float(label) for label in column.labels], dtype=np.float64)
    return check_weights(values[column.codes], len(column.codes), start)
