"""Public functions that say which argument was wrong where they would end in an error of Python.

What a function refuses on its own it explains best. Where it does not foresee an argument and fails, the annotations
tell whether the argument is to blame: :func:`checked` makes the rows of :mod:`cslearn._parameters` of them, so that no
parameter is forgotten.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import wraps
from types import FunctionType
from typing import Any, TypeVar

from cslearn._parameters import CALLABLE, PATH, Row, Rule, check, number, whole
from cslearn._wording import listing
from cslearn.errors import CslearnError, InputError

__all__ = ["checked"]

LARGEST = 2**63 - 1  # what NumPy counts with

T = TypeVar("T")


def checked(what: T) -> T:
    """Have a function, or the public methods of a class, explain failures by arguments of types they do not declare.

    Examples
    --------
    >>> from collections.abc import Sequence
    >>> from cslearn._checked import checked
    >>> @checked
    ... def initials(names: "Sequence[str]", n: "int" = 1) -> "list[str]":
    ...     return [name[:n] for name in names]
    >>> initials(["ann", "bob"])
    ['a', 'b']
    >>> initials(["ann", 1])
    Traceback (most recent call last):
    cslearn.errors.InputError: names is a sequence of strings, not ['ann', 1]
    """
    if not isinstance(what, type):
        return _of_function(what)
    for name, member in list(vars(what).items()):
        if name.startswith("_") and name != "__init__":
            continue
        if isinstance(member, classmethod | staticmethod):
            setattr(what, name, type(member)(_of_function(member.__func__)))
        elif isinstance(member, FunctionType):
            setattr(what, name, _of_function(member))
    return what


def _of_function(function: Any) -> Any:
    def checking(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except Exception as error:
            blame(error, args, options)
            raise

    def blame(error: Exception, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        if not isinstance(error, CslearnError | OSError | MemoryError | Warning):
            code, table = function.__code__, _table(function)
            given = dict(zip(code.co_varnames[: code.co_argcount], args, strict=False)) | options
            try:
                check({name: row for name, row in table.items() if name in given}, given)
            except InputError as found:
                raise found from error

    # A function of the module of the other, where doctest looks for examples.
    made = FunctionType(checking.__code__, function.__globals__, function.__name__, None, checking.__closure__)
    return wraps(function)(made)


def _table(function: Any) -> dict[str, Row]:
    """Return what the parameters of a function may be, as far as their annotations say it."""
    rows = {}
    for name, parameter in inspect.signature(function).parameters.items():
        named = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        if named and parameter.annotation is not parameter.empty:  # self has none
            allowed = _allowed(_parsed(parameter.annotation), function.__globals__)
            if allowed:
                rows[name] = Row(*allowed)
    return rows


def _parsed(annotation: Any) -> ast.expr:
    node = ast.parse(annotation if isinstance(annotation, str) else str(annotation), mode="eval").body
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _parsed(node.value)
    return node


# What is allowed: rules, single values and None; nothing where an annotation does not say it.
Allowed = list[Rule | str | None]

TEXT = Rule("a string", lambda x: isinstance(x, str))
SWITCH = Rule("True or False", lambda x: isinstance(x, bool) or type(x).__name__ == "bool")  # and NumPy's
PLAIN: dict[str, Rule] = {
    "int": whole(-LARGEST, LARGEST)._replace(words="a whole number"),
    "float": number("a number"),
    "bool": SWITCH,
    "str": TEXT,
    "Callable": CALLABLE,
    "NDArray": Rule("an array", lambda x: hasattr(x, "dtype") and getattr(x, "ndim", 0) > 0, textual=False),
    "TableLike": Rule("a table", lambda x: hasattr(x, "cards") and hasattr(x, "state_map"), textual=False),
}
# What functions check on their own, or have no way to.
OPEN = {"Any", "object", "ArrayLike", "RandomState"}
SEQUENCES = {"Sequence", "Iterable", "Collection", "list", "set", "frozenset"}


def _allowed(node: ast.expr, names: Mapping[str, Any]) -> Allowed:
    """Return what an annotation allows; names are looked up in those of its module."""
    if isinstance(node, ast.BinOp):
        sides = [_allowed(side, names) for side in (node.left, node.right)]
        return sides[0] + sides[1] if all(sides) else []
    if isinstance(node, ast.Constant) and node.value is None:
        return [None]
    name, arguments = _name(node), _arguments(node)
    if name in OPEN:
        return []
    if name == "Literal":
        return [value.value for value in arguments if isinstance(value, ast.Constant) and isinstance(value.value, str)]
    if name == "PathLike":
        return [PATH]
    if name in PLAIN:
        return [PLAIN[name]]
    inner = [_allowed(argument, names) for argument in arguments]
    if name == "Mapping":
        return [_mapping(*inner)]
    if name in SEQUENCES:
        return [_sequence(*inner)]
    if name == "tuple":
        return [_sequence(inner[0]) if _name(arguments[-1]) == "..." else _of_length(inner)]
    known = names.get(name)
    if known is not None and not isinstance(known, type):
        return _allowed(_parsed(known), {})
    article = "an" if name[0] in ("AEFHILMNORSX" if name[:2].isupper() else "AEIOU") else "a"  # an LDAG
    return [Rule(f"{article} {name}", lambda x: any(c.__name__ == name for c in type(x).__mro__), textual=False)]


def _name(node: ast.expr) -> str:
    """Return the last part of a name: ``DiGraph`` of ``nx.DiGraph``."""
    if isinstance(node, ast.Subscript):
        return _name(node.value)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else "..."


def _arguments(node: ast.expr) -> list[ast.expr]:
    if not isinstance(node, ast.Subscript):
        return []
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _all(allowed: Allowed, values: Iterable[Any]) -> bool:
    return not allowed or all(map(Row(*allowed).allows, values))


def _mapping(keys: Allowed, values: Allowed) -> Rule:
    words = "a mapping" + (f" from {_several(keys)}" if keys else "") + (f" to {_several(values)}" if values else "")
    return Rule(
        words, lambda x: isinstance(x, Mapping) and _all(keys, x.keys()) and _all(values, x.values()), textual=False
    )


def _sequence(members: Allowed) -> Rule:
    def holds(x: Any) -> bool:
        if not isinstance(x, Iterable) or isinstance(x, bytes) or getattr(x, "shape", None) == ():
            return False
        return isinstance(x, Iterator) or _all(members, x)

    return Rule("a sequence" + (f" of {_several(members)}" if members else ""), holds)


def _of_length(members: list[Allowed]) -> Rule:
    def holds(x: Any) -> bool:
        return isinstance(x, Sequence) and len(x) == len(members) and all(map(_all, members, ([y] for y in x)))

    return Rule("a pair" if len(members) == 2 else f"a tuple of {len(members)}", holds, textual=False)


def _several(allowed: Allowed) -> str:
    """Return words for several of what is allowed."""
    words = []
    for rule in allowed:
        head, of, rest = (rule.words if isinstance(rule, Rule) else repr(rule)).partition(" of ")
        words.append(re.sub("^an? (.*)$", r"\1s", head) + of + rest)
    return listing(words)
