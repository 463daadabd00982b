"""What parameters may be, as tables: one row for each parameter, checked in one place.

A row lists what is allowed: values such as ``"auto"`` or None, and rules such as ``whole(1)``. The message of a
refusal is made of the row, in the words of the caller, and the error tells which parameter it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import MISSING, fields, replace
from math import inf
from numbers import Integral, Real
from os import PathLike
from reprlib import Repr
from typing import Any, ClassVar, NamedTuple, Self

from cslearn._wording import listing, option, spoken_value
from cslearn.errors import InputError

__all__ = [
    "CALLABLE",
    "LABELS",
    "MAPPING",
    "NAMES",
    "PATH",
    "STATES",
    "Row",
    "Rule",
    "Settings",
    "Table",
    "check",
    "kind",
    "number",
    "whole",
    "with_nested",
]

_short = Repr()
_short.maxstring = _short.maxother = 80


class Rule(NamedTuple):
    """What is allowed besides single values: words for it, a test, and whether it can be given as text."""

    words: str
    holds: Callable[[Any], bool]
    textual: bool = True


class Row:
    """What a parameter may be.

    Parameters
    ----------
    *allowed : Rule, str or None
    what : str
        What the parameter is, if its name does not say it.
    remedy : str
        What to do about a value that is refused.
    """

    def __init__(self, *allowed: Rule | str | None, what: str = "", remedy: str = "") -> None:
        self.rules = [rule for rule in allowed if isinstance(rule, Rule)]
        self.values = [value for value in allowed if isinstance(value, str)]
        self.optional = None in allowed
        self.what, self.remedy = what, remedy

    def allows(self, value: Any) -> bool:
        """Tell whether a value is allowed."""
        if value is None:
            return self.optional
        if isinstance(value, str) and value in self.values:
            return True
        return any(rule.holds(value) for rule in self.rules)

    def words(self, parameter: str) -> str:
        """Return what is allowed, in the words of the caller."""
        python = option(parameter) == parameter
        words = [spoken_value(value) for value in self.values]
        words += [rule.words for rule in self.rules if python or rule.textual]
        # On the command line an option that is not wanted is left out.
        words += ["None"] if self.optional and python else []
        return listing(words)


Table = Mapping[str, Row]


def check(table: Table, values: Mapping[str, Any]) -> None:
    """Raise an error that names the first parameter whose value is not allowed.

    Examples
    --------
    >>> from cslearn._parameters import Row, check, whole
    >>> check({"n_jobs": Row(whole(1), None)}, {"n_jobs": "x"})
    Traceback (most recent call last):
    cslearn.errors.InputError: n_jobs is a whole number of at least 1 or None, not 'x'
    """
    for parameter, row in table.items():
        value = values[parameter]
        if not row.allows(value):
            what = f", {row.what}," if row.what else ""
            remedy = f": {row.remedy}" if row.remedy else ""
            raise InputError(
                f"{option(parameter)}{what} is {row.words(parameter)}, not {_short.repr(value)}{remedy}",
                parameter=parameter,
            )


def whole(least: int, most: int | None = None) -> Rule:
    """Allow whole numbers from `least`, up to `most` if that is given."""
    return Rule(
        f"a whole number of at least {least}" if most is None else f"a whole number from {least} to {most}",
        lambda x: (
            not isinstance(x, bool) and isinstance(x, Integral) and least <= int(x) <= (inf if most is None else most)
        ),
    )


def number(words: str, *, least: float = -inf, above: float = -inf, below: float = inf, most: float = inf) -> Rule:
    """Allow numbers in a range, which `words` describe."""

    def holds(x: Any) -> bool:
        if isinstance(x, bool) or not isinstance(x, Real):
            return False
        return above < float(x) < below and least <= float(x) <= most

    return Rule(words, holds)


def kind(words: str, *types: type) -> Rule:
    """Allow objects of some types."""
    return Rule(words, lambda x: isinstance(x, types), textual=False)


PATH = Rule("the name of a file", lambda x: isinstance(x, str | PathLike) and bool(str(x)))
MAPPING = kind("a mapping", Mapping)
NAMES = Rule("a sequence of names", lambda x: _are_names(x), textual=False)


def _of_sequences(x: Any) -> bool:
    return isinstance(x, Mapping) and all(isinstance(value, Iterable) for value in x.values())


STATES = Rule("a mapping from names to sequences of states", _of_sequences, textual=False)
LABELS = Rule(
    "a mapping from edges, pairs of names, to sequences of contexts",
    lambda x: _of_sequences(x) and all(isinstance(edge, tuple) and len(edge) == 2 for edge in x),
    textual=False,
)
CALLABLE = Rule("a function", callable)


def _are_names(x: Any) -> bool:
    if not isinstance(x, Iterable) or isinstance(x, bytes | Mapping):
        return False
    return isinstance(x, Iterator) or all(isinstance(name, Hashable) for name in x)


class Settings:
    """Base of frozen dataclasses that hold parameters which belong together.

    They are checked when they are made. Scikit-learn sees nested parameters in them, such as ``search__n_iter``.
    """

    allowed: ClassVar[Table]

    def __post_init__(self) -> None:
        check(self.allowed, vars(self))
        for name, value in vars(self).items():
            # Numbers of NumPy become Python's: they would count in their own few bits.
            if isinstance(value, Real) and type(value).__module__ != "builtins":
                object.__setattr__(self, name, int(value) if isinstance(value, Integral) else float(value))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, as scikit-learn asks for them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]  # dataclasses

    def changed(self, **parameters: Any) -> Self:
        """Return the same with other values of some parameters."""
        unknown = [name for name in parameters if name not in self.get_params()]
        if unknown:
            raise InputError(
                f"{type(self).__name__} has no parameter {unknown[0]!r}; it has {', '.join(self.get_params())}",
                parameter=unknown[0],
            )
        return replace(self, **parameters)  # type: ignore[type-var]  # they are dataclasses

    def __repr__(self) -> str:
        """Show what differs from the defaults."""
        shown = []
        for field in fields(self):  # type: ignore[arg-type]  # they are dataclasses
            value = getattr(self, field.name)
            if field.default is MISSING or type(value) is not type(field.default) or value != field.default:
                shown.append(f"{field.name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"


def with_nested(holder: Any, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters of a holder with those inside its :class:`Settings`, such as ``search__n_iter``, put there."""
    plain = {name: value for name, value in parameters.items() if "__" not in name}
    for name, value in parameters.items():
        outer, found, inner = name.partition("__")
        if not found:
            continue
        current = plain.get(outer, getattr(holder, outer, None))
        if not isinstance(current, Settings):
            raise InputError(f"{outer} is {_short.repr(current)}, which has no parameter {inner!r}", parameter=outer)
        plain[outer] = current.changed(**{inner: value})
    return plain
