"""Columns that cannot sensibly be categorical variables."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cslearn.data._columns import Column
from cslearn.data._labels import State, is_numeric, listing, not_numbers
from cslearn.errors import InputError

__all__ = ["check_categorical", "check_finite"]

# A column of ten rows or more without any repeated value carries no frequencies to learn from.
_IDENTIFIER_ROWS = 10
_NEARLY_UNIQUE = 0.9
_FRACTION_STATES = 20


def check_finite(column: Column, rows: NDArray[np.intp]) -> None:
    """Raise an error for a state that is an infinite number; ``rows`` are the positions in the data."""
    for code, label in enumerate(column.labels):
        if isinstance(label, float) and math.isinf(label):
            hits = rows[column.codes == code]
            where = f", row {hits[0] + 1}" if len(hits) else ""
            raise InputError(
                f"Column {column.name!r}{where}: {label} is not a finite number. Replace it, or mark it as missing."
            )


def check_categorical(name: str, labels: Sequence[State], present: int, max_states: int) -> None:
    """Raise an error for measurements, identifiers, and columns with too many states.

    The rules, for k distinct labels in m cells that are ``present``, not missing:

    1. numbers that are not all whole, with k > 20 or with all of 10 or more cells different: a measurement;
    2. all of 10 or more cells different: an identifier (or a measurement in whole numbers);
    3. k > max_states: numbers are a measurement; other values an identifier if k is at least 0.9 m, and
       otherwise simply too many.

    Of more than 20 labels a tenth may be no numbers: where the others break a rule, these are named.
    """
    distinct = len(labels)
    unique = present >= _IDENTIFIER_ROWS and distinct == present
    numeric = distinct > 0 and all(is_numeric(label) for label in labels)
    fractions = numeric and not all(float(label).is_integer() for label in labels)
    if (fractions and (distinct > _FRACTION_STATES or unique)) or (numeric and distinct > max_states and not unique):
        raise InputError(
            f"Column {name!r} holds numbers with {distinct:,} different values. Cut it into bins with "
            "cslearn.data.discretize, or leave it out (leave_out=). If each number is a state of its own, "
            "say so by states= or by a pandas Categorical."
        )
    stray = not_numbers(labels)
    if stray:
        numbers = [float(label) for label in labels if is_numeric(label)]
        if unique or distinct > max_states or not all(number.is_integer() for number in numbers):
            raise InputError(
                f"Column {name!r} has {distinct:,} different values, all of them numbers but for {listing(stray)}. If "
                f"{'that cell is' if len(stray) == 1 else 'those cells are'} missing, say so by na_values=, or correct "
                "them in the file. Then cut the column into bins with cslearn.data.discretize, or leave it out "
                "(leave_out=)."
            )
    if unique or (distinct > max_states and not numeric and distinct >= _NEARLY_UNIQUE * present):
        measurement = " If it is a measurement, cut it into bins with cslearn.data.discretize." if numeric else ""
        raise InputError(
            f"Column {name!r} looks like an identifier: {distinct:,} different values in {present:,} rows. "
            f"Leave the column out (leave_out=).{measurement} If it is meant as a "
            "variable, give its states by states= or by a pandas Categorical."
        )
    if distinct > max_states:
        raise InputError(
            f"Column {name!r} has {distinct:,} states, more than max_states={max_states}. Group rare states, "
            f"leave the column out (leave_out=), or pass max_states={distinct}."
        )
