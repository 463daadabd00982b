"""Which variables were set from outside in which rows."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn._wording import option
from cslearn.data import PackedTable, Table, as_frame
from cslearn.data._gaps import gaps_of
from cslearn.errors import InputError

__all__ = ["read_interventions"]

NONE = {"", "0", "0.0", "none", "None", "nan"}


def read_interventions(
    X: Any, interventions: Any, sample_weight: Any = None, missing: Any = "error"
) -> tuple[Any, NDArray[np.bool_] | None]:
    """Return the data without a column of interventions, and a mask of what was set, shape (n, p).

    Parameters
    ----------
    X, interventions, sample_weight
        As for :meth:`cslearn.CStreeLearner.fit`.
    missing : str or mapping
        If it is ``"drop"``, or that for all but some columns, rows with missing
        cells are dropped here already, so that data and mask stay together.

    Examples
    --------
    >>> from cslearn.estimators.interventions import read_interventions
    >>> rows = [{"a": 0, "b": 1, "set": "b"}, {"a": 1, "b": 0, "set": None}]
    >>> read_interventions(rows, "set")[1]
    array([[False,  True],
           [False, False]])
    """
    if interventions is None:
        return X, None
    if isinstance(X, Table | PackedTable) and not isinstance(interventions, str):
        return X, _mask(interventions, list(X.variables), X.n)
    frame = as_frame(X)
    if isinstance(interventions, str):
        if interventions not in frame.columns:
            raise InputError(
                f"{option('interventions', interventions)}: the data have no such column, but"
                f" {', '.join(frame.columns)}",
                parameter="interventions",
            )
        interventions = frame.pop(interventions)
    names = [name for name in frame.columns if not (isinstance(sample_weight, str) and name == sample_weight)]
    mask = _mask(interventions, names, len(frame))
    policy, own = gaps_of(missing)
    if policy == "drop":
        complete = frame[[name for name in names if name not in own]].notna().all(axis=1).to_numpy()
        if not isinstance(sample_weight, str) and sample_weight is not None and not complete.all():
            raise InputError(
                f"{option('missing', 'drop')} with interventions takes weights from a column: give its name"
            )
        frame, mask = frame[complete], mask[complete]
    return frame, mask


def _mask(interventions: Any, names: list[str], n: int) -> NDArray[np.bool_]:
    import pandas as pd

    if isinstance(interventions, pd.DataFrame):
        unknown = [str(name) for name in interventions.columns if name not in names]
        if unknown:
            raise InputError(f"interventions have the columns {', '.join(unknown)}, which are no variables of the data")
        interventions = interventions.reindex(columns=names, fill_value=False).to_numpy()
    array = np.asarray(interventions, dtype=object if not hasattr(interventions, "dtype") else None)
    if array.ndim == 2:
        odd = [value for value in array.ravel().tolist() if value not in (0, 1)]
        if array.shape != (n, len(names)) or odd:
            what = f"holds {odd[0]!r}" if odd else f"has shape {array.shape}"
            raise InputError(
                f"a mask of interventions holds True and False, with shape ({n}, {len(names)}); this one {what}"
            )
        return array.astype(bool)
    if array.ndim != 1:
        raise InputError(
            "interventions are the name of a column, one entry for each row, or a mask of True and False with a column"
            f" for each variable, not {reprlib.repr(interventions)}"
        )
    if array.shape != (n,):
        raise InputError(f"interventions have {len(array)} entries, but there are {n} rows")
    mask = np.zeros((n, len(names)), dtype=bool)
    codes, values = pd.factorize(pd.Series(array.tolist(), dtype=object))
    for code, value in enumerate(values):
        column = _variable(value, names, int(np.flatnonzero(codes == code)[0]) + 1)
        if column is not None:
            mask[codes == code, column] = True
    return mask


def _variable(value: Any, names: list[str], row: int) -> int | None:
    """Return the column that an entry names, by its name or by its number from 1; None if it names none."""
    text = str(value)
    if text in names:
        return names.index(text)
    if text in NONE:
        return None
    try:
        number = int(float(text))
        if number == float(text) and 1 <= number <= len(names):
            return number - 1
    except ValueError:
        pass
    raise InputError(
        f"interventions, row {row}: {value!r} is no variable, no number from 1 to {len(names)}, and not empty or 0"
    )
