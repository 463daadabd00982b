"""CSI relations and contexts written as text.

``carrier _||_ background, diagnosis | exposed=no`` reads: carrier does not depend on background or diagnosis once
exposed is no. Names and states that hold one of ``, | = "`` or begin or end with a space are written in double
quotes, a quote within them doubled.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from cslearn.errors import InputError
from cslearn.graphs.relations import CSIRelation
from cslearn.stagings import Context

__all__ = ["parse_context", "parse_relation"]

_TOKEN = re.compile(
    r"""\s*(?: "(?P<quoted>(?:[^"]|"")*)" | (?P<sign>_\|\|_|⊥⊥|⊥|⫫|\||,|=) | (?P<bare>(?:(?!_\|\|_)[^",|=⊥⫫])+) )""",
    re.VERBOSE,
)
_INDEPENDENT = {"_||_", "⊥⊥", "⊥", "⫫"}


def parse_relation(text: str, states: Mapping[str, Sequence[Any]]) -> CSIRelation:
    """Read a CSI relation.

    Parameters
    ----------
    text : str
    states : mapping of str to sequence of states
        The variables and states that the relation may name.

    Examples
    --------
    >>> states = {"carrier": ["no", "yes"], "exposed": ["no", "yes"], "age": [1, 2, 3]}
    >>> parse_relation("carrier _||_ age | exposed=no", states)
    CSIRelation(left=('carrier',), right=('age',), context=Context({'exposed': 'no'}), given=())
    """
    reader = _Reader(text, states)
    left = reader.names()
    if reader.sign() not in _INDEPENDENT:
        raise reader.error("expected `_||_` after the first variables")
    right = reader.names()
    given: list[str] = []
    context: list[tuple[str, Any]] = []
    if reader.at("|"):
        reader.sign()
        given, context = reader.conditions()
    reader.end()
    named = [*left, *right, *given, *(variable for variable, _ in context)]
    for variable in named:
        if named.count(variable) > 1:
            raise reader.error(f"{variable!r} is named more than once")
    return CSIRelation(left, right, Context(context), given)


def parse_context(text: str, states: Mapping[str, Sequence[Any]]) -> Context:
    """Read a context such as ``exposed=yes, diagnosis=no``; the empty text is the empty context.

    Examples
    --------
    >>> parse_context("age=2", {"age": [1, 2, 3]})
    Context({'age': 2})
    """
    reader = _Reader(text, states)
    if not reader.tokens:
        return Context()
    given, context = reader.conditions()
    reader.end()
    if given:
        raise reader.error(f"{given[0]!r} has no state: write {given[0]}=state")
    return Context(context)


class _Reader:
    """A text as a sequence of words and signs, read from the left."""

    def __init__(self, text: str, states: Mapping[str, Sequence[Any]]) -> None:
        self.text = text
        self.states = states
        self.tokens: list[tuple[str, str]] = []
        position = 0
        while position < len(text.rstrip()):
            match = _TOKEN.match(text, position)
            if match is None:
                raise self.error(f"a quote is not closed at {text[position:]!r}")
            kind = str(match.lastgroup)
            value = match[kind].replace('""', '"') if kind == "quoted" else match[kind].strip()
            self.tokens.append(("sign" if kind == "sign" else "word", value))
            position = match.end()

    def error(self, what: str) -> InputError:
        return InputError(f"cannot read {self.text!r}: {what}")

    def at(self, sign: str) -> bool:
        return bool(self.tokens) and self.tokens[0] == ("sign", sign)

    def sign(self) -> str:
        return self.tokens.pop(0)[1] if self.tokens and self.tokens[0][0] == "sign" else ""

    def word(self) -> str:
        if not self.tokens or self.tokens[0][0] != "word":
            found = f"{self.tokens[0][1]!r}" if self.tokens else "the end"
            raise self.error(f"expected a name before {found}")
        return self.tokens.pop(0)[1]

    def end(self) -> None:
        if self.tokens:
            raise self.error(f"did not expect {self.tokens[0][1]!r}")

    def variable(self) -> str:
        name = self.word()
        if name not in self.states:
            raise self.error(f"there is no variable {name!r} (there are {', '.join(self.states)})")
        return name

    def names(self) -> list[str]:
        found = [self.variable()]
        while self.at(","):
            self.sign()
            found.append(self.variable())
        return found

    def conditions(self) -> tuple[list[str], list[tuple[str, Any]]]:
        """Read ``C1, S1=x, ...``: the variables without a state, and those with one."""
        given: list[str] = []
        context: list[tuple[str, Any]] = []
        while True:
            variable = self.variable()
            if self.at("="):
                self.sign()
                context.append((variable, self.state(variable, self.word())))
            else:
                given.append(variable)
            if not self.at(","):
                return given, context
            self.sign()

    def state(self, variable: str, text: str) -> Any:
        for state in self.states[variable]:
            if str(state) == text:
                return state
        raise self.error(f"{variable!r} has no state {text!r} (it has {', '.join(map(str, self.states[variable]))})")
