"""Columns that cannot sensibly be categorical variables."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from cslearn._wording import keyword, offers, option, wording
from cslearn.data._columns import Column
from cslearn.data._labels import State, is_numeric, listing, not_numbers
from cslearn.errors import InputError

__all__ = ["DEFAULT_MAX_STATES", "MOST_NUMBERS", "check_categorical", "check_finite"]

# A column of ten rows or more without any repeated value carries no frequencies to learn from.
_IDENTIFIER_ROWS = 10
_NEARLY_UNIQUE = 0.9
# Beyond so many different values numbers are measurements, which `discretize` cuts, and dates are points in time.
MOST_NUMBERS = 20
DEFAULT_MAX_STATES = 64
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
    r"|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2})"
)


def check_finite(column: Column, first_row: Callable[[int], int | None]) -> None:
    """Raise an error for a state that is an infinite number; ``first_row`` gives the first row with a label."""
    for code, label in enumerate(column.labels):
        if isinstance(label, float) and math.isinf(label):
            row = first_row(code)
            where = "" if row is None else f", row {row + 1}"
            raise InputError(
                f"Column {column.name!r}{where}: {label} is not a finite number. Replace it, or mark it as missing."
            )


def check_categorical(name: str, labels: Sequence[State], present: int, max_states: int) -> None:
    """Raise an error for measurements, identifiers, and columns with too many states.

    The rules, for k distinct labels in m cells that are ``present``, not missing:

    1. numbers that are not all whole, with k > 20 or with all of 10 or more cells different: a measurement;
    2. dates with k > 20 or with all of 10 or more cells different: points in time;
    3. all of 10 or more cells different: an identifier (or a measurement in whole numbers);
    4. whole numbers with k > 20, or k > max_states if that is not the default: a measurement;
    5. k > max_states: an identifier if k is at least 0.9 m, and otherwise simply too many.

    Of more than 20 labels a tenth may be no numbers: where the others break a rule, these are named.
    """
    discretize = wording("cslearn.data.discretize", "`cslearn discretize`")
    distinct = len(labels)
    unique = present >= _IDENTIFIER_ROWS and distinct == present
    numeric = distinct > 0 and all(is_numeric(label) for label in labels)
    fractions = numeric and not all(float(label).is_integer() for label in labels)
    most = MOST_NUMBERS if max_states == DEFAULT_MAX_STATES else max_states
    if (fractions and (distinct > MOST_NUMBERS or unique)) or (numeric and distinct > most and not unique):
        states = "say so with states=, a pandas Categorical or " if offers("states") else "pass "
        allowed = option("max_states", max(distinct, DEFAULT_MAX_STATES + 1))
        own = f" If each number is a state of its own, {states}{allowed}." if offers("max_states") else ""
        raise InputError(
            f"Column {name!r} holds numbers with {distinct:,} different values. Cut it into bins with {discretize}, or"
            f" leave it out ({keyword('leave_out')}).{own}"
        )
    if (distinct > MOST_NUMBERS or unique) and all(isinstance(x, str) and _DATE.fullmatch(x) for x in labels):
        raise InputError(
            f"Column {name!r} holds {distinct:,} different dates. Replace them with what matters about them, such as"
            " the year, the season or the time since a start, or leave the column out"
            f" ({keyword('leave_out')})."
        )
    stray = not_numbers(labels)
    if stray:
        numbers = [float(label) for label in labels if is_numeric(label)]
        if unique or distinct > max_states or not all(number.is_integer() for number in numbers):
            they_are = "that cell is" if len(stray) == 1 else "those cells are"
            raise InputError(
                f"Column {name!r} has {distinct:,} different values, all of them numbers but for {listing(stray)}. If "
                f"{they_are} missing, say so with {keyword('na_values')}, or "
                f"correct them in the file. Then cut the column into bins with {discretize}, or leave it out "
                f"({keyword('leave_out')})."
            )
    if unique or (distinct > max_states and not numeric and distinct >= _NEARLY_UNIQUE * present):
        measurement = f" If it is a measurement, cut it into bins with {discretize}." if numeric else ""
        meant = " If it is meant as a variable, give its states by states= or by a pandas Categorical."
        raise InputError(
            f"Column {name!r} looks like an identifier: {distinct:,} different values in {present:,} rows. "
            f"Leave the column out ({keyword('leave_out')}).{measurement}{meant if offers('states') else ''}"
        )
    if distinct > max_states:
        raise InputError(
            f"Column {name!r} has {distinct:,} states, more than {option('max_states', max_states)}. Group rare "
            f"states, leave the column out ({keyword('leave_out')}), or pass {option('max_states', distinct)}."
        )
