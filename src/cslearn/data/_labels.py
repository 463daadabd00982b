"""State labels: what they may be, their order, and how a value is matched with given states."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

__all__ = [
    "MISSING_STATE",
    "State",
    "StateIndex",
    "bin_ends",
    "is_number",
    "is_numeric",
    "listing",
    "natural_order",
    "not_numbers",
    "state_key",
    "to_label",
    "whole_numbers",
]

State: TypeAlias = bool | int | float | str

MISSING_STATE = "missing"

_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
# Bins as discretize writes them: <1.5, [1.5, 2), >=2.
_CUT = _NUMBER.pattern
_BIN = re.compile(rf"<(?P<below>{_CUT})|\[(?P<low>{_CUT}), (?P<high>{_CUT})\)|>=(?P<above>{_CUT})")
_WHOLE = re.compile(r"(-?[0-9]+)\.0+")
# A column with more distinct values than this, of which no larger share is text, is one of numbers with stray cells.
_MANY = 20
_FEW = 0.1
# Above this a float no longer tells neighbouring whole numbers apart.
_EXACT_FLOAT = 2.0**53


def to_label(value: object) -> State:
    """Turn a cell into a Python scalar that JSON can hold; anything unusual becomes its text."""
    if isinstance(value, np.generic):
        # Not item() for all: a datetime64[ns] would give a bare integer.
        value = value.item() if value.dtype.kind in "biufU" else str(value)
    # The exact types: a subclass such as an IntEnum is turned into the plain value.
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    return str(value)


def state_key(label: State) -> tuple[bool, State]:
    """Give a key under which True and 1 differ; 1 and 1.0 are the same."""
    return isinstance(label, bool), label


def is_number(label: State) -> bool:
    """Say whether a label is an int or a float, which True and False are not."""
    return isinstance(label, int | float) and not isinstance(label, bool)


def is_numeric(label: State) -> bool:
    """Say whether a label is a number or a text that reads as one."""
    return is_number(label) or (isinstance(label, str) and _NUMBER.fullmatch(label) is not None)


def not_numbers(labels: Sequence[State]) -> list[State]:
    """Give the labels that are no numbers, if they are few beside many that are; otherwise none."""
    odd = [label for label in labels if not is_numeric(label)]
    return odd if len(labels) > _MANY and len(odd) <= _FEW * len(labels) else []


def whole_numbers(labels: Sequence[State]) -> list[State]:
    """Turn floats into ints if all labels are whole numbers, otherwise leave them as they are."""
    ints: list[State] = []
    for label in labels:
        if not is_number(label):
            return list(labels)
        if isinstance(label, float) and not (label.is_integer() and abs(label) < _EXACT_FLOAT):
            return list(labels)
        ints.append(int(label))
    return ints


def natural_order(labels: Sequence[State]) -> list[int]:
    """Give the positions of the labels in their natural order.

    Numbers ascend, False comes before True, texts that all read as numbers are ordered as numbers, texts that are all
    bins (``<1``, ``[1, 2)``, ``>=2``) by their cuts, and other texts by character. Labels of several types are ordered
    by the name of the type, then by value.
    """
    positions = range(len(labels))
    if all(is_number(label) for label in labels):
        return sorted(positions, key=lambda i: labels[i])
    if all(isinstance(label, str) for label in labels):
        if all(is_numeric(label) for label in labels):
            return sorted(positions, key=lambda i: (float(labels[i]), labels[i]))
        bins = [bin_ends(str(label)) for label in labels]
        if None not in bins:
            return sorted(positions, key=lambda i: (bins[i], labels[i]))
        return sorted(positions, key=lambda i: labels[i])
    return sorted(positions, key=lambda i: (type(labels[i]).__name__, labels[i]))


def bin_ends(text: str) -> tuple[float, float] | None:
    """Return where a bin begins and ends, or None if the text is the name of none."""
    found = _BIN.fullmatch(text)
    if found is None:
        return None
    return float(found["low"] or found["above"] or -math.inf), float(found["high"] or found["below"] or math.inf)


def listing(items: Iterable[object], limit: int = 10) -> str:
    """Write names or states for a message, at most ``limit`` of them."""
    texts = [repr(item) for item in items]
    more = f" and {len(texts) - limit} more" if len(texts) > limit else ""
    return ", ".join(texts[:limit]) + more


class StateIndex:
    """Look up values among given states: exactly first, then by their text, then by their text as a number.

    Where the states are bins as :func:`discretize` writes them, a number is in the bin that holds it, so that a model
    of cut columns reads the table before it was cut.

    True never matches 1, nor the other way round. 1.0 matches 1 exactly, and the texts "1" and "1.0" match it
    as well. A text that fits several states matches none of them, unless one of them exactly.

    Examples
    --------
    >>> from cslearn.data import StateIndex
    >>> index = StateIndex([1, 2])
    >>> index.find(2.0), index.find("2"), index.find("two")
    (1, 1, None)
    >>> StateIndex(["<20", "[20, 35)", ">=35"]).find(20)
    1
    """

    def __init__(self, states: Iterable[State]) -> None:
        self._exact: dict[tuple[bool, State], int] = {}
        self._text: dict[str, int | None] = {}
        self._whole: dict[str, int | None] = {}
        for code, state in enumerate(states):
            self._exact[state_key(state)] = code
            for index, text in ((self._text, str(state)), (self._whole, _whole_text(state))):
                index[text] = None if text in index else code
        self._bins = _bins_of(list(self._text))

    def find(self, value: State) -> int | None:
        """Give the code of a value, or None if it is none of the states."""
        code = self._exact.get(state_key(value))
        if code is None:
            code = self._text.get(str(value))
        if code is None:
            code = self._whole.get(_whole_text(value))
        if code is None and self._bins and is_numeric(value):
            number = float(value)
            code = next((self._text[text] for text, (low, high) in self._bins.items() if low <= number < high), None)
        return code


def _bins_of(texts: list[str]) -> dict[str, tuple[float, float]]:
    """Return where bins begin and end, if all states are bins but one for missing cells; otherwise none."""
    found = {text: ends for text in texts if (ends := bin_ends(text)) is not None}
    return found if [text for text in texts if text not in found] in ([], [MISSING_STATE]) else {}


def _whole_text(label: State) -> str:
    if isinstance(label, float) and math.isfinite(label) and label.is_integer():
        return str(int(label))
    match = _WHOLE.fullmatch(label) if isinstance(label, str) else None
    return match[1] if match else str(label)
