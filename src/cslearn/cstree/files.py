"""Models as JSON files: one document with a schema version. Nothing in a file is executed."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from math import isfinite
from os import PathLike
from typing import Any

from cslearn._files import atomic_write, check_many, read_json, read_text
from cslearn.cstree.model import CStree
from cslearn.errors import FileError, InputError

__all__ = ["FORMAT", "VERSION", "from_document", "load", "save", "to_document"]

FORMAT = "cslearn.cstree"
VERSION = 1


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
    return CStree(
        document["order"],
        {v: [stage["context"] for stage in entries] for v, entries in stages.items()},
        {v: [stage["probabilities"] for stage in entries] for v, entries in stages.items()}
        if any(with_parameters)
        else None,
        states={entry["name"]: entry["states"] for entry in document["variables"]},
        learning=document.get("learning"),
    )


def save(tree: CStree, path: str | PathLike[str]) -> None:
    """Write a model; the file appears whole or not at all."""
    atomic_write(path, json.dumps(to_document(tree), ensure_ascii=False, indent=1, allow_nan=False) + "\n")


def load(path: str | PathLike[str]) -> CStree:
    """Read a model; a :class:`FileError` names the file and what is wrong with it."""
    text = read_text(path)
    try:
        document = read_json(text, object_pairs_hook=_no_duplicates, parse_float=_finite, parse_constant=_finite)
        return from_document(document)
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
