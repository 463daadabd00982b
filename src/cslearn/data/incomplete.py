"""Codes of data in which cells may be missing, by given states."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn._checked import checked
from cslearn._warnings import warn
from cslearn._wording import keyword, option
from cslearn.data._batches import only_in_batches
from cslearn.data._encoding import MISSING_STATE
from cslearn.data._labels import StateIndex, listing
from cslearn.data._sources import open_source
from cslearn.data.batching import iter_sources
from cslearn.data.reading import DEFAULT_NA_VALUES
from cslearn.data.table import Table
from cslearn.errors import DataWarning, InputError

__all__ = ["MISSING_STATE", "check_missing_label", "incomplete_codes", "refuse_missing_label"]


@checked
def incomplete_codes(
    source: Any,
    states: Mapping[str, Sequence[Any]],
    *,
    leave_out: Collection[str] = (),
    na_values: Collection[str] = DEFAULT_NA_VALUES,
    sep: str | None = None,
) -> NDArray[np.int32]:
    """Return the codes of the cells by given states, with -1 for a cell that is not known.

    Not known are missing cells (unless the variable has the state ``"missing"``, which they are in then), the cells of
    variables that the data have no column for, and those with a state that is none of the given ones.

    Parameters
    ----------
    source : DataFrame, array, list, dict, Table, str or path
        As for :func:`as_table`. Columns that are none of the variables are not looked at. A 2-D array has a column for
        each variable in their order, or for each that is not in `leave_out`.
    states : mapping of str to sequence of states
        The variables and their states.
    leave_out : collection of str
        Variables whose columns are not looked at.
    na_values, sep
        As for :func:`as_table`.

    Returns
    -------
    ndarray of int, shape (n, variables)

    Warns
    -----
    DataWarning
        If there are states that are none of the given ones; if a variable has no column while a column is none of the
        variables, which may be the variable with its name misspelt.

    Examples
    --------
    >>> from cslearn.data import incomplete_codes
    >>> incomplete_codes({"b": ["x", None]}, {"a": [0, 1], "b": ["w", "x"]})
    array([[-1,  1],
           [-1, -1]], dtype=int32)
    """
    names = list(states)
    if only_in_batches(source):
        wanted = [name for name in names if name not in leave_out]
        parts = iter_sources(source, wanted, states, na_values, sep)
        codes_of_parts = [incomplete_codes(part, states, leave_out=leave_out, na_values=na_values) for part in parts]
        return np.concatenate([np.empty((0, len(names)), dtype=np.int32), *codes_of_parts])
    named = _array_names(source, names, leave_out)
    data = open_source(source, array_names=named, sep=sep, na_values=na_values, states=states)
    present = [name for name in names if name in data.names and name not in leave_out]
    if not present and len(names) > len(leave_out):
        raise InputError(
            f"the data have none of the variables {listing([name for name in names if name not in leave_out])}; their"
            f" columns are {listing(data.names)}"
        )
    codes = np.full((data.n, len(names)), -1, dtype=np.int32, order="F")
    _warn_misspelt(
        [name for name in names if name not in data.names and name not in leave_out],
        [name for name in data.names if name not in names],
    )
    unknown = []
    for name in present:
        column = data.column(data.names.index(name))
        index = StateIndex(states[name])
        found = [index.find(label) for label in column.labels]
        missing = states[name].index(MISSING_STATE) if MISSING_STATE in states[name] else -1
        new_code = np.array([*(-1 if code is None else code for code in found), missing], dtype=np.int32)
        codes[:, names.index(name)] = new_code[column.codes]
        odd = [code for code in np.unique(column.codes) if code >= 0 and found[code] is None]
        if odd:
            rows = int(np.isin(column.codes, odd).sum())
            shown = listing([column.labels[code] for code in odd], 5)
            unknown.append(f"{name!r}: {shown} ({rows:,} {'row' if rows == 1 else 'rows'})")
    if unknown:
        warn(f"states that the model does not know, which count as missing: {'; '.join(unknown)}", DataWarning)
    return codes


def _warn_misspelt(absent: Sequence[str], unused: Sequence[str]) -> None:
    """Name variables without a column and columns without a variable, if there are both."""
    if absent and unused:
        warn(
            f"the data have no column for {listing(absent)}, so nothing is known about them, and columns that are no"
            f" variables of the model: {listing(unused)}. Are the names spelt alike?",
            DataWarning,
        )


def check_missing_label(
    source: Any,
    table: Table,
    *,
    na_values: Collection[str] = DEFAULT_NA_VALUES,
    sep: str | None = None,
    but_for: Collection[str] = (),
) -> None:
    """Refuse data of which a cell holds the label "missing", the state that `table` has for missing cells.

    A source that is a :class:`Table` is not looked at: there that state stands for them. Nor are the columns `but_for`.
    """
    named = [name for name, labels in table.state_map.items() if MISSING_STATE in labels and name not in but_for]
    if named and not isinstance(source, Table):
        data = open_source(source, array_names=None, sep=sep, na_values=na_values)
        for name in named:
            refuse_missing_label(name, data.column(data.names.index(name)).labels)


def refuse_missing_label(name: str, labels: Collection[Any]) -> None:
    """Refuse states of which one goes by the name of missing cells."""
    if MISSING_STATE in labels:
        raise InputError(
            f"Column {name!r} has a state that is called {MISSING_STATE!r}, as cells that are not known are with"
            f" {option('missing', 'em')}. Give the state another name, or mark its cells as missing"
            f" ({keyword('na_values')} for a text file)."
        )


def _array_names(source: Any, names: list[str], leave_out: Collection[str]) -> list[str] | None:
    """Return the names of the columns of an array that has none of its own."""
    if not isinstance(source, np.ndarray) or source.dtype.names is not None or source.ndim != 2:
        return None
    without = [name for name in names if name not in leave_out]
    if source.shape[1] not in (len(names), len(without)):
        wanted = f"{len(names)}" if len(without) == len(names) else f"{len(without)} or {len(names)}"
        raise InputError(f"the array has {source.shape[1]} columns, but the model's variables need {wanted}")
    return names if source.shape[1] == len(names) else without
