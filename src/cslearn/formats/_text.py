"""Reading text files of other programs without trusting them: a limit on their size, and errors that name the file."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from cslearn.errors import FileError, InputError, LimitError

__all__ = [
    "SIZE_LIMIT",
    "STATE_LIMIT",
    "VARIABLE_LIMIT",
    "check_many",
    "naming",
    "read_bytes",
    "read_text",
    "restored_states",
    "shown",
    "state_names",
    "typed_states",
]

SIZE_LIMIT = 1 << 26
VARIABLE_LIMIT = 1 << 11  # a CStree grows with the square of it
STATE_LIMIT = 1 << 16
TYPED = "cslearn.states = "


def read_bytes(path: str | PathLike[str]) -> bytes:
    """Return the content of a file, unpacked if its name ends in ``.gz``; never more than :data:`SIZE_LIMIT` bytes."""
    file = Path(path)
    try:
        if file.suffix.lower() == ".gz":
            with gzip.open(file, "rb") as stream:
                content = stream.read(SIZE_LIMIT + 1)
        else:
            with file.open("rb") as stream:
                content = stream.read(SIZE_LIMIT + 1)
    except FileNotFoundError:
        raise FileError(f"there is no file {file}") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FileError(f"cannot read {file}: it is not a whole gzip file ({error})") from None
    except OSError as error:
        raise FileError(f"cannot read {file}: {error.strerror or error}") from None
    if len(content) > SIZE_LIMIT:
        raise FileError(f"cannot read {file}: it holds more than {SIZE_LIMIT >> 20} MB, too much for a model")
    return content


def read_text(path: str | PathLike[str]) -> str:
    """Return the text of a UTF-8 file; see :func:`read_bytes`."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"cannot read {path}: it is not UTF-8 text (byte {error.start + 1:,})") from None


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


def check_many(n_variables: int) -> None:
    """Refuse a file with very many variables before a CStree is made of it."""
    if n_variables > VARIABLE_LIMIT:
        raise LimitError(f"it has more than {VARIABLE_LIMIT:,} variables, the most that are read")


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
                states = json.loads(text.strip()[len(TYPED) :])
            except (ValueError, RecursionError):
                continue
            simple = isinstance(states, list) and all(isinstance(x, str | bool | int | float) for x in states)
            if simple and [str(state) for state in states] == list(names):
                return tuple(states)
    return tuple(names)
