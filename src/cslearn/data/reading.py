"""Turning data of many kinds into a :class:`~cslearn.data.Table`."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cslearn._checked import checked
from cslearn._parameters import NAMES, Row, Rule, check, kind, whole
from cslearn._parameters import Table as Table_
from cslearn._warnings import warn
from cslearn._wording import keyword, offers, option, wording
from cslearn.data._batches import only_in_batches
from cslearn.data._columns import Source
from cslearn.data._encoding import (
    complete_rows,
    encode,
    encode_given,
    given_states,
    missing_counts,
    refuse_missing,
)
from cslearn.data._gaps import gaps_of, gaps_row
from cslearn.data._labels import State, listing, state_key
from cslearn.data._markers import DEFAULT_NA_VALUES, warn_of_markers
from cslearn.data._sources import open_source
from cslearn.data._weights import check_weights, weights_of_column
from cslearn.data.benchpress import read_benchpress
from cslearn.data.packed import PackedTable
from cslearn.data.structural_gaps import warn_of_structural_gaps
from cslearn.data.table import Table
from cslearn.errors import DataWarning, InputError

__all__ = ["DEFAULT_NA_VALUES", "as_table", "check_known", "choose", "refuse", "wanted_names", "warn_constant"]

_SHOWN = 10  # problems in a message


ALLOWED: Table_ = {
    "variables": Row(NAMES, None),
    "leave_out": Row(NAMES),
    "states": Row(kind("a mapping from names to sequences of labels", Mapping), None),
    "missing": gaps_row("error", "drop", "state"),
    "na_values": Row(
        Rule("a sequence of texts", lambda x: isinstance(x, Iterable) and not isinstance(x, bytes), False)
    ),
    "max_states": Row(whole(1)),
}


@checked
def as_table(
    source: Any,
    *,
    variables: Sequence[str] | None = None,
    leave_out: Collection[str] = (),
    states: Mapping[str, Sequence[Any]] | None = None,
    sample_weight: ArrayLike | str | None = None,
    missing: Literal["error", "drop", "state"] | Mapping[str | None, str] = "error",
    na_values: Collection[str] = DEFAULT_NA_VALUES,
    sep: str | None = None,
    max_states: int = 64,
    table_format: Literal["benchpress"] | None = None,
) -> Table:
    """Read categorical data and encode them.

    The same data give the same table, whether they come from a data frame, an array or a file. Rows in
    messages count from 1, the first row of data.

    Parameters
    ----------
    source : DataFrame, array, list, dict, Table, str or path
        A pandas or polars DataFrame; a pyarrow Table; a NumPy array, either structured or of two dimensions,
        whose columns are called X1, X2, ... unless ``variables`` names them; a list of dicts, in which an
        absent key is a missing cell; a dict of columns; or the path of a .csv, .tsv, .tab (also with .gz or .zst),
        .parquet or .cspack file. A Table is returned as it is unless an option changes it. A PackedTable is unpacked.
        Whatever else :func:`cslearn.pack` reads, such as the parts of a table in many files, is gathered in memory.
    variables : sequence of str, optional
        Which columns to use, in this order. For an array without names: the names of all its columns.
    leave_out : collection of str
        Columns that are no variables, such as an identifier.
    states : mapping from str to sequence, optional
        The states of some variables, in their order, observed or not. A cell matches a state that equals it
        (``1.0`` equals ``1``, but ``True`` does not), and otherwise one that is written alike, such as the
        text ``"1"`` and the number 1. Any other value is an error. Names of no column are an error too,
        unless ``variables`` is given, in which case only the states of those variables are looked at.
    sample_weight : array of float, shape (n,), or str, optional
        Non-negative weights of the rows, or the name of the column that holds them, which then is no
        variable.
    missing : {"error", "drop", "state"} or mapping, default "error"
        What to do about missing cells (None, NaN, NaT, NA; in text files those in ``na_values``): raise an
        error; drop the rows that have any; or give the columns that have any a last state ``"missing"``. A
        column that holds the label ``"missing"`` besides missing cells is an error. If ``states`` is given
        for the column it must contain ``"missing"``. A mapping such as ``{"grade": "state", None: "drop"}`` makes
        missing cells a state of some columns, and has under None what is done about those of all others.
    na_values : collection of str
        The cells that count as missing. Only for text files. By default (``DEFAULT_NA_VALUES``) they are the empty
        cell, ``?``, ``NA``, ``NaN``, ``n/a``, ``null`` and the like; among numbers a dash, a dot, ``None`` and some
        more are too. What is in ``states`` is a state.
    sep : str, optional
        The separator of a text file; by default the comma, or the tab for .tsv and .tab.
    max_states : int, default 64
        A column with more distinct values is an error. So is a column of 10 rows or more in which no value
        occurs twice, and one with more than 20 different numbers that are not whole. Categorical columns
        (pandas, polars Enum, pyarrow dictionary) and those in ``states`` are never questioned.
    table_format : {"benchpress"}, optional
        Read the file with :func:`read_benchpress`.

    Returns
    -------
    Table
        States are in their natural order: numbers ascending, False before True, texts that all read as
        numbers in the order of the numbers, bins as :func:`discretize` writes them (``<1``, ``[1, 2)``, ``>=2``)
        by their cuts, and other texts by character; categories in their own order, with those that do not occur.
        Whole numbers are int labels, also if they are stored as floats. In text files a column of plain integers gives
        int labels, anything else stays text.

    Warns
    -----
    DataWarning
        If a column has a single state. It stays in the table, and is never used as a context. If cells of a text file
        were taken for missing ones that are not empty, ``?``, ``NA`` or ``NaN``.

    Raises
    ------
    InputError
        If the data cannot be used; FileError, a kind of InputError, if a file cannot.
    MissingExtraError
        If a Parquet file is given and pyarrow is not installed.

    Examples
    --------
    >>> from cslearn.data import as_table
    >>> table = as_table({"rain": ["no", "yes", "no"], "level": [10, 2, 10]})
    >>> table.states
    (('no', 'yes'), (2, 10))
    >>> table.codes.tolist()
    [[0, 1], [1, 0], [0, 1]]
    """
    values = {"variables": variables, "leave_out": leave_out, "states": states, "missing": missing}
    check(ALLOWED, {**values, "na_values": na_values, "max_states": max_states})
    wanted = wanted_names(variables)
    given = given_states(states)
    if table_format is not None:
        source = _read_format(source, table_format)
    if only_in_batches(source):
        from cslearn.data.packing import pack

        if not isinstance(missing, str):
            raise InputError(
                f"{option('missing')} by column is for tables that are read at once; pack this one with one policy",
                parameter="missing",
            )
        packed = pack(
            source,
            variables=variables,
            leave_out=leave_out,
            states=states,
            sample_weight=sample_weight,
            missing=missing,
            na_values=na_values,
            sep=sep,
            max_states=max_states,
            collapse=False,
        )
        return Table(packed.codes(), packed.variables, packed.states, packed.weights)
    tokens = [na_values] if isinstance(na_values, str) else na_values
    data = open_source(source, array_names=wanted, sep=sep, na_values=tokens, states=given)
    weight_name = sample_weight if isinstance(sample_weight, str) else None
    names = choose(data.names, wanted, weight_name, [leave_out] if isinstance(leave_out, str) else leave_out)
    if wanted is None:
        check_known(given, names, "states= names")
    if isinstance(source, Table) and sample_weight is None and _unchanged(source, names, given):
        return source
    if data.n == 0 and not all(name in given for name in names):
        refuse_empty()

    policy, own = gaps_of(missing, names)
    columns = [data.column(data.names.index(name)) for name in names]
    others = [column for column in columns if column.name not in own]
    weights = _read_weights(data, sample_weight)
    rows = data.start + np.arange(data.n)
    is_part = isinstance(source, Source)
    problems: list[str] = []
    if policy == "error":
        try:
            refuse_missing(missing_counts(others), others, data.n, text=data.text)
        except InputError as error:
            problems.append(str(error))
    else:
        warn_of_markers(columns)
    if policy == "drop":
        warn_of_structural_gaps(
            [column.name for column in others],
            [column.labels for column in others],
            [column.codes for column in others],
        )
        complete = complete_rows(others, data.n, some=not is_part)
        rows = rows[complete]
        columns = [column.take(complete) for column in columns]
        weights = None if weights is None else weights[complete]
    if weights is not None and len(weights) and not is_part and not weights.any():
        raise InputError("The weights of all rows are zero. At least one must be positive.")

    codes = np.empty((len(rows), len(names)), dtype=np.uint16, order="F")
    labels = []
    gaps = bool(problems)
    for j, column in enumerate(columns):
        cells, places = column, rows
        if gaps:
            # Missing cells that are refused already do not hide what else is wrong with the column.
            kept = np.flatnonzero(column.codes >= 0)
            cells, places = column.take(kept), rows[kept]
        try:
            if column.name in given:
                encoded, states_of_column = encode_given(cells, given[column.name], places)
            else:
                encoded, states_of_column = encode(cells, places, max_states)
        except InputError as error:
            problems.append(str(error))
            continue
        if not problems:
            codes[:, j] = encoded
            labels.append(states_of_column)
    refuse(problems)
    table = Table(codes, names, labels, weights)
    if not isinstance(source, Table | PackedTable | Source):
        warn_constant([name for name in table.constant if name not in given])
    return table


def refuse(problems: Sequence[str]) -> None:
    """Raise an error that names everything that is wrong, if anything is."""
    if len(problems) == 1:
        raise InputError(problems[0])
    if problems:
        shown = "".join(f"\n- {problem}" for problem in problems[:_SHOWN])
        more = f"\n- and {len(problems) - _SHOWN} more columns" if len(problems) > _SHOWN else ""
        raise InputError(f"The data cannot be used as they are, for {len(problems)} reasons:{shown}{more}")


def wanted_names(variables: Sequence[str] | None) -> list[str] | None:
    """Read the option ``variables=``."""
    if variables is None:
        return None
    if isinstance(variables, str):
        raise InputError(f"variables= must be a sequence of names, not a single string: pass [{variables!r}].")
    wanted = [str(name) for name in variables]
    if not wanted:
        raise InputError("variables= is empty. Name at least one column.")
    return wanted


def _read_format(source: Any, table_format: str) -> Table:
    if table_format != "benchpress":
        allowed = wording('None or "benchpress"', '"benchpress"')
        raise InputError(f"{option('table_format')} must be {allowed}, not {table_format!r}.", parameter="table_format")
    if not isinstance(source, str | os.PathLike):
        raise InputError('table_format="benchpress" is for files: give the path of one.')
    return read_benchpress(source)


def choose(
    columns: Sequence[str], wanted: list[str] | None, weight_name: str | None, leave_out: Collection[str]
) -> list[str]:
    """Give the columns that are variables."""
    leave_out = [str(name) for name in leave_out]  # as columns of a frame are called, numbers included
    check_known(leave_out, columns, f"{keyword('leave_out')} names")
    if weight_name is not None:
        check_known([weight_name], columns, f"{keyword('sample_weight')} names")
    if wanted is not None:
        check_known(wanted, columns, wording("variables= names", "The model has"))
        repeated = sorted({repr(name) for name in wanted if wanted.count(name) > 1})
        if repeated:
            raise InputError(f"variables= names {', '.join(repeated)} more than once.")
    names = [name for name in wanted or columns if name != weight_name and name not in leave_out]
    if not names:
        raise InputError("There is no column left beside the weights and those left out. At least one is needed.")
    return names


def refuse_empty() -> None:
    """Raise an error that says that there are no rows."""
    other = ", or the states of all variables by states=" if offers("states") else ""
    raise InputError(f"The data have no rows. Give at least one{other}.")


def check_known(asked: Iterable[str], names: Sequence[str], who: str) -> None:
    """Raise an error if an option names a column that is not there."""
    unknown = [name for name in asked if name not in names]
    if unknown:
        raise InputError(f"{who} {listing(unknown)}, which the data do not have. The columns are {listing(names)}.")


def _unchanged(table: Table, names: list[str], given: Mapping[str, tuple[State, ...]]) -> bool:
    return table.variables == tuple(names) and all(
        [state_key(label) for label in given[name]] == [state_key(label) for label in known]
        for name, known in table.state_map.items()
        if name in given
    )


def _read_weights(data: Source, sample_weight: ArrayLike | str | None) -> NDArray[np.float64] | None:
    if sample_weight is None:
        return data.weights
    if isinstance(sample_weight, str):
        return weights_of_column(data.column(data.names.index(sample_weight)), data.start)
    return check_weights(sample_weight, data.n)


def warn_constant(names: list[str]) -> None:
    """Tell of variables with a single state."""
    if names:
        one = len(names) == 1
        warn(
            f"{'Column' if one else 'Columns'} {listing(names)} {'has' if one else 'have'} a single state: "
            "kept in the model, never used as a context.",
            DataWarning,
        )
