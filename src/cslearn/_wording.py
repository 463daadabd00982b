"""Parameters in the words of the caller: ``n_iter=500`` in Python, ``--n-iter 500`` on the command line.

Messages are written with these functions, so that nothing has to be translated later: what a message quotes from the
data stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from shlex import quote
from typing import Any, NamedTuple

__all__ = [
    "Option",
    "condition",
    "duration",
    "keyword",
    "listing",
    "offers",
    "option",
    "spoken_by",
    "spoken_value",
    "wording",
]


class Option(NamedTuple):
    """An option of a command: what is typed, the values it takes if only some are allowed, and if it takes any."""

    text: str
    choices: tuple[str, ...] | None = None
    is_flag: bool = False


# The options of the command that runs, by parameter; None in Python. One process has one caller, whatever its threads.
_options: Mapping[str, Option] | None = None

_ANY = object()
# Bins as `cslearn.data.discretize` names them.
_CUT = r"[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?"
_BIN = re.compile(rf"(?P<sign><|>=)(?P<cut>{_CUT})|\[(?P<low>{_CUT}), (?P<high>{_CUT})\)")


def condition(variable: object, state: object, verb: str = "=") -> str:
    """Return in short that a variable is in a state; a bin is said as the inequality that it is.

    Examples
    --------
    >>> from cslearn._wording import condition
    >>> condition("sex", "f"), condition("sex", "f", " is ")
    ('sex=f', 'sex is f')
    >>> condition("age", ">=63"), condition("age", "[20, 35)")
    ('age >= 63', '20 <= age < 35')
    """
    found = _BIN.fullmatch(str(state))
    if found is None:
        return f"{variable}{verb}{state}"
    if found["low"] is not None:
        return f"{found['low']} <= {variable} < {found['high']}"
    return f"{variable} {found['sign']} {found['cut']}"


def duration(seconds: float) -> str:
    """Return a time in words, rounded as an estimate is.

    Examples
    --------
    >>> from cslearn._wording import duration
    >>> duration(0.2), duration(41.3), duration(600), duration(9000)
    ('under a second', 'about 41 s', 'about 10 min', 'about 2.5 h')
    """
    if seconds < 1:
        return "under a second"
    if seconds < 120:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 7200 else f"about {seconds / 3600:.1f} h"


@contextmanager
def spoken_by(options: Mapping[str, Option]) -> Iterator[None]:
    """Word parameters as options of a command while the block runs.

    Parameters
    ----------
    options : mapping of str to Option
        The option for each parameter that the command has.
    """
    global _options
    before, _options = _options, options
    try:
        yield
    finally:
        _options = before


def option(parameter: str, value: Any = _ANY) -> str:
    """Return how the caller gives a parameter, or gives it a value.

    Examples
    --------
    >>> from cslearn._wording import Option, option, spoken_by
    >>> option("n_iter"), option("missing", "drop")
    ('n_iter', 'missing="drop"')
    >>> with spoken_by({"n_iter": Option("--n-iter"), "missing": Option("--missing")}):
    ...     option("n_iter"), option("missing", "drop")
    ('--n-iter', '--missing drop')
    """
    name = parameter if _options is None or parameter not in _options else _options[parameter].text
    if value is _ANY or (_options is not None and parameter in _options and _options[parameter].is_flag):
        return name
    return f"{name}{' ' if name.startswith('-') else '='}{spoken_value(value)}"


def keyword(parameter: str) -> str:
    """Return how a parameter is given, whatever its value: ``leave_out=`` in Python, ``--leave-out`` for a command."""
    name = option(parameter)
    return name if name.startswith("-") else f"{name}="


def offers(parameter: str, value: str | None = None) -> bool:
    """Tell whether the caller can give a parameter, or give it a value; in Python always.

    Examples
    --------
    >>> from cslearn._wording import Option, offers, spoken_by
    >>> with spoken_by({"missing": Option("--missing", ("error", "drop"))}):
    ...     offers("missing"), offers("missing", "em"), offers("states")
    (True, False, False)
    """
    if _options is None:
        return True
    found = _options.get(parameter)
    return found is not None and (value is None or found.choices is None or value in found.choices)


def wording(python: str, command: str) -> str:
    """Return what to say to a caller in Python, or to one at the command line."""
    return python if _options is None else command


def spoken_value(value: Any) -> str:
    """Return a value as the caller would write it."""
    if not isinstance(value, str) or not value.isprintable():
        return repr(value)
    if _options is not None:
        return quote(value)
    return repr(value) if '"' in value else f'"{value}"'


def listing(words: list[str]) -> str:
    """Join words to a list in a sentence.

    Examples
    --------
    >>> from cslearn._wording import listing
    >>> listing(["a number", '"auto"', "None"])
    'a number, "auto" or None'
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
