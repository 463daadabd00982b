"""What the readers of text files of other programs share: limits, errors that name the file, states as text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import Any

from cslearn._files import check_many, read_bytes, read_json, read_text
from cslearn.errors import FileError, InputError, LimitError

__all__ = [
    "STATE_LIMIT",
    "check_labels",
    "check_many",
    "naming",
    "read_bytes",
    "read_text",
    "restored_states",
    "shown",
    "state_names",
    "typed_states",
]

STATE_LIMIT = 1 << 16
LABEL_LIMIT = 1 << 17  # contexts in all labels of an LDAG
TYPED = "cslearn.states = "


@contextmanager
def naming(path: str | PathLike[str]) -> Iterator[None]:
    """Turn what is wrong with a model into what is wrong with the file that it came from."""
    try:
        yield
    except FileError:
        raise
    except (InputError, LimitError) as error:
        raise FileError(f"cannot read {path}: {error}") from None
    except RecursionError:
        raise FileError(f"cannot read {path}: it is nested too deeply") from None


def check_labels(labels: Mapping[Any, Sequence[Any]]) -> None:
    """Refuse an LDAG with very many contexts in its labels."""
    if sum(map(len, labels.values())) > LABEL_LIMIT:
        raise LimitError(f"its labels have more than {LABEL_LIMIT:,} contexts together, the most that are read")


def shown(text: str, length: int = 40) -> str:
    """Return text for an error message, cut if it is long."""
    return repr(text if len(text) <= length else text[:length] + "...")


# ---------------------------------------------------------------- states in formats that know text alone
def state_names(variable: str, states: Sequence[Any]) -> list[str]:
    """Return the states as text; an error if two of them look the same."""
    names = [str(state) for state in states]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"two states of {variable!r} are both written {twice!r}: give them other names")
    return names


def typed_states(states: Sequence[Any]) -> str | None:
    """Return a property that keeps the types of states that are not all text; None if they are."""
    if all(isinstance(state, str) for state in states):
        return None
    text = json.dumps(list(states))
    for sign in ";{}":  # they have a role in BIF, and in JSON can only stand within strings here
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return TYPED + text


def restored_states(names: Sequence[str], properties: Sequence[str]) -> tuple[Any, ...]:
    """Return the states with the types that a property of :func:`typed_states` gives them, if one fits."""
    for text in properties:
        if text.strip().startswith(TYPED):
            try:
                states = read_json(text.strip()[len(TYPED) :])
            except (ValueError, RecursionError):
                continue
            simple = isinstance(states, list) and all(isinstance(x, str | bool | int | float) for x in states)
            if simple and [str(state) for state in states] == list(names):
                return tuple(states)
    return tuple(names)
