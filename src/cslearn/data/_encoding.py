"""From columns to codes: states, their order, and missing cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn._wording import keyword, offers, option, wording
from cslearn.data._checks import check_categorical, check_finite
from cslearn.data._columns import Column
from cslearn.data._labels import MISSING_STATE, State, StateIndex, listing, natural_order, to_label
from cslearn.data._markers import written_as
from cslearn.errors import InputError

__all__ = [
    "MISSING_STATE",
    "arrange",
    "arrange_given",
    "complete_rows",
    "encode",
    "encode_given",
    "given_states",
    "missing_counts",
    "refuse_missing",
    "refuse_no_rows",
]

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


def refuse_missing(counts: Mapping[str, int], columns: Sequence[Column], n: int, *, text: bool) -> None:
    """Raise an error that tells the counts of missing cells by column, if there are any among n rows."""
    marked = {column.name: f", among them {written}" for column in columns if (written := written_as(column))}
    affected = [f"{name!r} ({count:,} of {n:,}{marked.get(name, '')})" for name, count in counts.items() if count]
    if affected:
        more = f" and {len(affected) - _SHOWN} more" if len(affected) > _SHOWN else ""
        tokens = f" Which cells of a file count as missing is set by {keyword('na_values')}." if text else ""
        raise InputError(
            f"Missing cells (None, NaN) in {', '.join(affected[:_SHOWN])}{more}. {_about_gaps()}{tokens}",
            parameter="missing",
        )


def missing_counts(columns: Sequence[Column]) -> dict[str, int]:
    """Count the missing cells of each column."""
    return {column.name: int(np.count_nonzero(column.codes < 0)) for column in columns}


def refuse_no_rows(counts: Mapping[str, int]) -> None:
    """Raise an error that says that every row has a missing cell, and which column has the most."""
    worst = max(counts, key=counts.__getitem__)
    raise InputError(
        f"Every row has a missing cell, so {option('missing', 'drop')} leaves none. Column {worst!r} has the "
        f"most: leave it out ({keyword('leave_out')}), or pass {option('missing', 'state')}."
    )


def _about_gaps() -> str:
    """Return what can be done about missing cells."""
    if offers("missing", "state"):
        return (
            f"Pass {option('missing', 'drop')} to drop those rows, or {option('missing', 'state')} to make"
            f' "missing" a state of its own. For learning, {option("missing", "em")} uses all the cells that are there.'
        )
    if offers("missing", "em"):
        return (
            f"Pass {option('missing', 'em')} to sum over what the cells may be, or {option('missing', 'drop')} to leave"
            " those rows out."
        )
    leave = f"Pass {option('missing', 'drop')} to leave" if offers("missing", "drop") else "Leave"
    return f"{leave} those rows out, or fill them in with `cslearn impute`."


def complete_rows(columns: Sequence[Column], n: int, *, some: bool = True) -> NDArray[np.intp]:
    """Give the positions of the rows without a missing cell; raise an error if there must be `some`, but are none."""
    complete = np.ones(n, dtype=bool)
    for column in columns:
        complete &= column.codes >= 0
    if some and n and not complete.any():
        refuse_no_rows(missing_counts(columns))
    return np.flatnonzero(complete)


def encode(column: Column, rows: NDArray[np.intp], max_states: int) -> Encoded:
    """Encode a column by the states it shows; ``rows`` are the positions in the data, for messages."""
    seen = np.unique(column.codes)
    present = int(np.count_nonzero(column.codes >= 0))
    gaps = present < len(column.codes)
    new_code, states = arrange(column, seen[seen >= 0], present, gaps, max_states, _first_row(column, rows))
    return new_code[column.codes], states


def encode_given(column: Column, states: tuple[State, ...], rows: NDArray[np.intp]) -> Encoded:
    """Encode a column by given states; ``rows`` are the positions in the data, for messages."""
    seen = np.unique(column.codes)
    gaps = bool((column.codes < 0).any())
    new_code = arrange_given(column, states, seen[seen >= 0], gaps, _first_row(column, rows))
    return new_code[column.codes], states


def _first_row(column: Column, rows: NDArray[np.intp]) -> Callable[[int], int | None]:
    def first(code: int) -> int | None:
        hits = rows[column.codes == code]
        return int(hits[0]) if len(hits) else None

    return first


def arrange(
    column: Column,
    seen: Sequence[int] | NDArray[Any],
    present: int,
    gaps: bool,
    max_states: int | None,
    first_row: Callable[[int], int | None],
) -> Encoded:
    """Give the code that each label of a column gets, and at the end that of a missing cell; and the states.

    ``seen`` are the labels that occur, ``present`` is the number of cells that are not missing, ``gaps`` says that some
    are, which become the last state, and ``first_row`` gives the first row with a label. With None for ``max_states``
    it is not asked whether the labels are categories.
    """
    check_finite(column, first_row)
    if column.fixed:
        order = list(range(len(column.labels)))
    else:
        labels = [column.labels[code] for code in seen]
        if max_states is not None:
            check_categorical(column.name, labels, present, max_states)
        order = [int(seen[i]) for i in natural_order(labels)]
    states = tuple(column.labels[code] for code in order)
    new_code = np.full(len(column.labels) + 1, len(order), dtype=np.int32)
    new_code[order] = np.arange(len(order), dtype=np.int32)
    if gaps:
        if MISSING_STATE in states:
            raise InputError(
                f"Column {column.name!r} has missing cells and also the state {MISSING_STATE!r}. Rename the "
                f"state, or mark its cells as missing too ({keyword('na_values')} for a text file)."
            )
        states = (*states, MISSING_STATE)
    return new_code, states


def arrange_given(
    column: Column,
    states: tuple[State, ...],
    seen: Sequence[int] | NDArray[Any],
    gaps: bool,
    first_row: Callable[[int], int | None],
) -> NDArray[np.int32]:
    """Give the code that each label gets by given states, and at the end that of a missing cell; see above."""
    index = StateIndex(states)
    new_code = np.full(len(column.labels) + 1, -1, dtype=np.int32)
    for code, label in enumerate(column.labels):
        found = index.find(label)
        new_code[code] = -1 if found is None else found
    if gaps:
        if MISSING_STATE not in states:
            raise InputError(
                f"Column {column.name!r} has missing cells, but its given states have no {MISSING_STATE!r}. "
                + (f"Add it to states=, or pass {option('missing', 'drop')}." if offers("states") else _about_gaps())
            )
        new_code[-1] = states.index(MISSING_STATE)
    unknown = {first_row(int(code)) or 0: column.labels[code] for code in seen if new_code[code] < 0}
    if unknown:
        row = min(unknown)
        remedy = wording("add the state to states=", "learn a model from data with that state")
        raise InputError(
            f"Column {column.name!r}, row {row + 1}: {unknown[row]!r} is none of its states, which are "
            f"{listing(states)}. Correct the cell, or {remedy}."
        )
    return new_code
