"""Cells of text files that stand for a value that is not known."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from cslearn._warnings import warn
from cslearn._wording import keyword
from cslearn.data._columns import Column
from cslearn.data._labels import is_numeric, listing
from cslearn.errors import DataWarning

__all__ = ["DEFAULT_NA_VALUES", "markers_of", "warn_of_markers", "written_as"]

DEFAULT_NA_VALUES = (
    *("", "?", "NA", "N/A", "n/a", "N/a", "#N/A", "#N/A N/A", "#NA", "<NA>"),
    *("NaN", "nan", "NAN", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
    *("null", "NULL", "Null"),
)
"""Cells of a text file that count as missing, also with spaces around them."""

# These may well be states, as in the columns test: -, + and schooling: None, Primary. Among numbers they are none.
_AMONG_NUMBERS = frozenset({"-", "--", ".", "..", "None", "none", "NONE", "na", "Na", "Nan", "*"})
# What needs no mention: nothing else can be meant.
_PLAIN = frozenset({"", "?", "NA", "NaN", "nan"})


def markers_of(cells: Collection[str], na_values: Collection[str], states: Collection[str] = ()) -> set[str]:
    """Return which of the different cells of a column stand for missing ones.

    With the default `na_values`, a cell that is one of the `states` given for the column does not; and in a column
    whose other cells and `states` are all numbers, a few more do, such as a dash.

    Examples
    --------
    >>> from cslearn.data._markers import DEFAULT_NA_VALUES, markers_of
    >>> markers_of(["1", "-", "2"], DEFAULT_NA_VALUES), markers_of(["+", "-"], DEFAULT_NA_VALUES)
    ({'-'}, set())
    """
    tokens = frozenset(na_values)
    found = {cell for cell in cells if cell in tokens or cell.strip() in tokens}
    if tokens != frozenset(DEFAULT_NA_VALUES):
        return found
    found -= frozenset(states)
    doubtful = {cell for cell in cells if cell.strip() in _AMONG_NUMBERS} - frozenset(states)
    others = [cell for cell in (*cells, *states) if cell not in found and cell not in doubtful]
    return found | doubtful if others and all(map(is_numeric, others)) else found


def written_as(column: Column) -> str:
    """Return the markers of a column that deserve a mention, for a message; empty if there are none."""
    return listing(sorted(marker for marker in column.markers if marker.strip() not in _PLAIN))


def warn_of_markers(columns: Sequence[Column]) -> None:
    """Say which cells were taken for missing ones, unless the user has listed them."""
    told = [f"{written_as(column)} in {column.name!r}" for column in columns if written_as(column)]
    if told:
        shown = "; ".join(told[:10]) + (f"; and in {len(told) - 10} more columns" if len(told) > 10 else "")
        warn(
            f"Cells that count as missing: {shown}. If they are states, list the cells that count as missing by"
            f" {keyword('na_values')}.",
            DataWarning,
        )
