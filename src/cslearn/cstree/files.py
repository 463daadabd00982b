"""Models as JSON files: one document with a schema version and a checksum. Nothing in a file is executed.

Version 2 added the checksum, over everything else in the document: a file that was changed by accident must not load as
another model. Files of version 1, and those whose checksum was taken out by somebody who edits them, are read without.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from math import isfinite
from os import PathLike
from typing import Any, TypeVar

from cslearn._files import atomic_write, check_many, read_json, read_text
from cslearn.cstree.model import CStree
from cslearn.errors import FileError, InputError

__all__ = ["FORMAT", "VERSION", "from_document", "load", "read_document", "save", "to_document", "to_text"]

Result = TypeVar("Result")

FORMAT = "cslearn.cstree"
VERSION = 2
CHECKSUM = "checksum"


def to_document(tree: CStree) -> dict[str, Any]:
    """Return the model as a JSON document; see ``cstree.schema.json``."""
    stages = {}
    for variable in tree.order:
        stages[variable] = [{"context": dict(context)} for context in tree.stagings[variable]]
        if tree.parameters is not None:
            for entry, row in zip(stages[variable], tree.parameters[variable].tolist(), strict=True):
                entry["probabilities"] = row
    return {
        "format": FORMAT,
        "version": VERSION,
        "written_by": f"cslearn {version('cslearn')}",
        "variables": [{"name": v, "states": list(states)} for v, states in tree.states.items()],
        "order": list(tree.order),
        "stages": stages,
        **({} if tree.learning is None else {"learning": dict(tree.learning)}),
    }


def from_document(document: Any) -> CStree:
    """Return the model that a JSON document describes; an :class:`InputError` says what is wrong with it."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError("it is not a cslearn model: a model has the format " + repr(FORMAT))
    number = document.get("version")
    if isinstance(number, int) and number > VERSION:
        raise InputError(f"it has schema version {number} and this cslearn reads up to {VERSION}: install a newer one")
    _check_size(document)
    _check_schema(document)
    names = [entry["name"] for entry in document["variables"]]
    if len(set(names)) != len(names):
        raise InputError("two variables have the same name")
    stages = document["stages"]
    with_parameters = ["probabilities" in stage for entries in stages.values() for stage in entries]
    if any(with_parameters) and not all(with_parameters):
        raise InputError("some stages have probabilities and some have not")
    if "learning" in document:
        _check_learning(document["learning"], names)
    return CStree(
        document["order"],
        {v: [stage["context"] for stage in entries] for v, entries in stages.items()},
        {v: [stage["probabilities"] for stage in entries] for v, entries in stages.items()}
        if any(with_parameters)
        else None,
        states={entry["name"]: entry["states"] for entry in document["variables"]},
        learning=document.get("learning"),
    )


def _check_learning(learning: dict[str, Any], names: list[str]) -> None:
    """Refuse what was learned of other variables than those of the model."""
    orders, evidence = learning.get("orders") or {}, learning.get("evidence") or {}
    of_orders, precedence = orders.get("variables", names), orders.get("precedence")
    if sorted(of_orders) != sorted(names):
        raise InputError("learning.orders is not of the variables of the model")
    if precedence is not None and [len(row) for row in precedence] != [*reversed(range(len(names)))]:
        raise InputError(f"learning.orders.precedence is not of all pairs of {len(names)} variables")
    against = {entry[2] for entries in evidence.values() for entry in entries if entry is not None}
    pairs = [edge["between"] for edge in learning.get("edges") or ()]
    named = {*evidence, *against, *(learning.get("betas") or ()), *(name for pair in pairs for name in pair)}
    if named - set(names):
        raise InputError(f"learning is of {min(named - set(names))!r}, which is no variable of the model")
    if len({frozenset(pair) for pair in pairs}) != len(pairs) or any(len(set(pair)) == 1 for pair in pairs):
        raise InputError("learning.edges has a pair twice, or of a variable and itself")


def save(tree: CStree, path: str | PathLike[str]) -> None:
    """Write a model; the file appears whole or not at all."""
    atomic_write(path, to_text(to_document(tree), indent=1))


def to_text(document: dict[str, Any], indent: int | None = None) -> str:
    """Return a document with its checksum as the text of a file."""
    document = {**document, CHECKSUM: checksum(document)}
    return json.dumps(document, ensure_ascii=False, indent=indent, allow_nan=False) + "\n"


def checksum(document: dict[str, Any]) -> str:
    """Return the SHA-256 of a document without white space and with sorted keys."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return f"sha256:{sha256(text.encode('ascii')).hexdigest()}"


def load(path: str | PathLike[str]) -> CStree:
    """Read a model; a :class:`FileError` names the file and what is wrong with it."""
    return read_document(path, from_document)


def read_document(path: str | PathLike[str], understood: Callable[[Any], Result]) -> Result:
    """Return what a function makes of the document in a file whose checksum is right, or that has none."""
    text = read_text(path)
    try:
        document = read_json(text, object_pairs_hook=_no_duplicates, parse_float=_finite, parse_constant=_finite)
        stated = document.pop(CHECKSUM, None) if isinstance(document, dict) else None
        found = understood(document)
        if stated is not None and stated != checksum(document):
            raise InputError(
                "it was changed after it was written, since its checksum is that of another content. Get the file"
                f" again; if you edited it on purpose, delete the line {CHECKSUM!r} in it"
            )
        return found
    except json.JSONDecodeError as error:
        raise FileError(
            f"cannot read {path}: it is damaged or not JSON (line {error.lineno}, column {error.colno}: {error.msg})"
        ) from None
    except RecursionError:
        raise FileError(f"cannot read {path}: it is nested too deeply") from None
    except ValueError as error:
        raise FileError(f"cannot read {path}: {error}") from None


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise ValueError(f"the key {next(key for key, count in counts.items() if count > 1)!r} stands twice")
    return result


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"{text} is not a number that a model can hold")
    return number


def _check_size(document: dict[str, Any]) -> None:
    """Refuse a document with very many variables or states before it is looked at more closely."""
    variables, order = document.get("variables"), document.get("order")
    if isinstance(variables, list):
        states = (entry.get("states") for entry in variables if isinstance(entry, dict))
        check_many(len(variables), sum(len(labels) for labels in states if isinstance(labels, list)))
    if isinstance(order, list):
        check_many(len(order))


def _check_schema(document: dict[str, Any]) -> None:
    import fastjsonschema

    try:
        _validator()(document)
    except fastjsonschema.JsonSchemaValueException as error:
        raise InputError(f"it does not follow the schema of a model: {error.message}") from None


@cache
def _validator() -> Any:
    import fastjsonschema

    schema = files("cslearn.cstree").joinpath("cstree.schema.json").read_text(encoding="utf-8")
    return fastjsonschema.compile(json.loads(schema))
