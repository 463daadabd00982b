"""The states of tables that are put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cslearn._wording import keyword
from cslearn.data._encoding import MISSING_STATE
from cslearn.data._labels import State, StateIndex, is_number, listing, natural_order, state_key, whole_numbers
from cslearn.errors import InputError

__all__ = ["Way", "merge_labels", "union_of_states"]

Names = tuple[str, ...]
States = tuple[tuple[State, ...], ...]


@dataclass(frozen=True)
class Way:
    """How the codes of a table become those of the union.

    ``columns[j]`` is the position of variable j in the table, and ``new_codes[j]`` gives the new code of each of its
    codes, or is None if they stay.
    """

    columns: tuple[int, ...]
    new_codes: tuple[NDArray[np.uint16] | None, ...]


def union_of_states(tables: Sequence[tuple[Names, States]]) -> tuple[Names, States, list[Way]]:
    """Give the variables, those of the first table, with the states of all tables, and the way there for each."""
    variables = tables[0][0]
    for names, _ in tables[1:]:
        odd = sorted(set(names) ^ set(variables))
        if odd:
            raise InputError(
                f"Tables that are added must have the same variables; only one of them has {listing(odd)}. "
                f"Leave out the columns that not both have ({keyword('leave_out')})."
            )
    columns = [tuple(names.index(name) for name in variables) for names, _ in tables]
    states, ways = [], []
    for j, name in enumerate(variables):
        labels = [of_table[where[j]] for (_, of_table), where in zip(tables, columns, strict=True)]
        states.append(merge_labels(name, labels))
    for (_, of_table), where in zip(tables, columns, strict=True):
        new_codes = [_new_codes(of_table[k], merged) for k, merged in zip(where, states, strict=True)]
        ways.append(Way(where, tuple(new_codes)))
    return variables, tuple(states), ways


def merge_labels(name: str, labels: Sequence[tuple[State, ...]]) -> tuple[State, ...]:
    """Merge the states that a variable has in several tables.

    If one of the tables has all of them, its order is kept. Otherwise states that are in their natural order in each
    table are in that order again, and others are in the order in which they come; missing cells are last.
    """
    for candidate in sorted(labels, key=len, reverse=True):
        if all(_is_within(other, candidate) for other in labels):
            return candidate
    gaps = any(MISSING_STATE in of_one for of_one in labels)
    known = [tuple(label for label in of_one if label != MISSING_STATE) for of_one in labels]
    known = [of_one for of_one in known if of_one]
    if any(all(isinstance(x, str) for x in of_one) for of_one in known):
        # As in a text file, where whole numbers are numbers only if there is nothing else.
        known = [tuple(str(x) if is_number(x) else x for x in of_one) for of_one in known]
    natural = all(natural_order(of_one) == list(range(len(of_one))) for of_one in known)
    merged = list({state_key(label): label for of_one in known for label in of_one}.values())
    if all(is_number(label) for label in merged) and any(isinstance(label, float) for label in merged):
        merged = whole_numbers([float(label) for label in merged])
    if natural:
        merged = [merged[i] for i in natural_order(merged)]
    if len(set(merged)) < len(merged):
        raise InputError(
            f"Variable {name!r} has states in one table that are True or False, and 1 or 0 in another. Give them the "
            "same labels (states=)."
        )
    return (*merged, MISSING_STATE) if gaps else tuple(merged)


def _is_within(some: tuple[State, ...], all_of_them: tuple[State, ...]) -> bool:
    """Tell whether some labels are among others, in the same order and of the same types."""
    rest = iter([(type(label), label) for label in all_of_them])
    return all((type(label), label) in rest for label in some)


def _new_codes(labels: tuple[State, ...], merged: tuple[State, ...]) -> NDArray[np.uint16] | None:
    index = StateIndex(merged)
    new = [index.find(label) for label in labels]
    return None if new == list(range(len(labels))) else np.array(new, dtype=np.uint16)
