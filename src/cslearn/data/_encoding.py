"""From columns to codes: states, their order, and missing cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn.data._checks import check_categorical, check_finite
from cslearn.data._columns import Column
from cslearn.data._labels import State, StateIndex, listing, natural_order, to_label
from cslearn.data._markers import written_as
from cslearn.errors import InputError

__all__ = ["MISSING_STATE", "complete_rows", "encode", "encode_given", "given_states", "refuse_missing"]

MISSING_STATE = "missing"
_SHOWN = 10

Encoded = tuple[NDArray[np.int32], tuple[State, ...]]


def given_states(states: Mapping[str, Sequence[Any]] | None) -> dict[str, tuple[State, ...]]:
    """Read the option ``states=``; that labels differ is left to the table."""
    given: dict[str, tuple[State, ...]] = {}
    for name, labels in (states or {}).items():
        if isinstance(labels, str) or not hasattr(labels, "__iter__"):
            raise InputError(f"states= of {str(name)!r} must be a sequence of labels, not {labels!r}.")
        labels = list(labels)
        if any(label is None or label != label for label in labels):
            raise InputError(
                f"states= of {str(name)!r} contains a missing value. Name that state {MISSING_STATE!r} and "
                "pass "
                'missing="state".'
            )
        given[str(name)] = tuple(to_label(label) for label in labels)
    return given


def refuse_missing(columns: Sequence[Column], n: int, *, text: bool) -> None:
    """Raise an error that counts the missing cells of each column, if there are any."""
    counts = {column.name: int(np.count_nonzero(column.codes < 0)) for column in columns}
    marked = {column.name: f", among them {written}" for column in columns if (written := written_as(column))}
    affected = [f"{name!r} ({count:,} of {n:,}{marked.get(name, '')})" for name, count in counts.items() if count]
    if affected:
        more = f" and {len(affected) - _SHOWN} more" if len(affected) > _SHOWN else ""
        tokens = " Which cells of a file count as missing is set by na_values=." if text else ""
        raise InputError(
            f'Missing cells (None, NaN) in {", ".join(affected[:_SHOWN])}{more}. Pass missing="drop" to drop those '
            f'rows, or missing="state" to make "missing" a state of its own; for learning there is missing="em" too, '
            f"which uses what is there of every row.{tokens}"
        )


def complete_rows(columns: Sequence[Column], n: int) -> NDArray[np.intp]:
    """Give the positions of the rows without a missing cell."""
    complete = np.ones(n, dtype=bool)
    for column in columns:
        complete &= column.codes >= 0
    if n and not complete.any():
        worst = max(columns, key=lambda column: int(np.count_nonzero(column.codes < 0)))
        raise InputError(
            f'Every row has a missing cell, so missing="drop" leaves none. Column {worst.name!r} has the '
            'most: leave it out (leave_out=), or pass missing="state".'
        )
    return np.flatnonzero(complete)


def encode(column: Column, rows: NDArray[np.intp], max_states: int) -> Encoded:
    """Encode a column by the states it shows; missing cells, if any are left, become the last state."""
    check_finite(column, rows)
    if column.fixed:
        order = list(range(len(column.labels)))
    else:
        observed = np.unique(column.codes[column.codes >= 0])
        labels = [column.labels[code] for code in observed]
        check_categorical(column.name, labels, int(np.count_nonzero(column.codes >= 0)), max_states)
        order = [int(observed[i]) for i in natural_order(labels)]
    states = tuple(column.labels[code] for code in order)
    new_code = np.full(len(column.labels) + 1, len(order), dtype=np.int32)
    new_code[order] = np.arange(len(order), dtype=np.int32)
    codes = new_code[column.codes]
    if (column.codes < 0).any():
        if MISSING_STATE in states:
            raise InputError(
                f"Column {column.name!r} has missing cells and also the state {MISSING_STATE!r}. Rename the "
                "state, or mark its cells as missing too (na_values= for a text file)."
            )
        states = (*states, MISSING_STATE)
    return codes, states


def encode_given(column: Column, states: tuple[State, ...], rows: NDArray[np.intp]) -> Encoded:
    """Encode a column by given states; ``rows`` are the positions in the data, for messages."""
    index = StateIndex(states)
    new_code = np.full(len(column.labels) + 1, -1, dtype=np.int32)
    for code, label in enumerate(column.labels):
        found = index.find(label)
        new_code[code] = -1 if found is None else found
    if (column.codes < 0).any():
        if MISSING_STATE not in states:
            raise InputError(
                f"Column {column.name!r} has missing cells, but its given states have no {MISSING_STATE!r}. "
                "Add it to "
                'states=, or pass missing="drop".'
            )
        new_code[-1] = states.index(MISSING_STATE)
    codes = new_code[column.codes]
    unknown = np.flatnonzero(codes < 0)
    if len(unknown):
        label = column.labels[column.codes[unknown[0]]]
        raise InputError(
            f"Column {column.name!r}, row {rows[unknown[0]] + 1}: {label!r} is none of its states, which are "
            f"{listing(states)}. Correct the cell, or add the state to states=."
        )
    return codes, states
