r"""LDAGs as text for ``dosearch``, the R package that identifies causal effects, also in LDAGs.

Each line is an edge, with the contexts in which it vanishes after a colon: assignments separated by commas, contexts by
semicolons::

    background -> exposed : diagnosis = 1
    diagnosis -> exposed

The package knows binary variables with the values 0 and 1 only, and only variables with edges. It ignores lines
without an arrow, so that comments can say which state 0 and 1 stand for; from them :func:`read_dosearch` has the LDAG
back. A variable whose name is not made of letters, digits and ``_``, or begins with ``I_`` (an intervention), or with
``do``, is called ``V1``, ``V2``, ... and the comment has its name. In R::

    graph <- paste(readLines("model.txt"), collapse = "\n")
    dosearch("p(background, diagnosis, exposed)", "p(exposed | diagnosis)", graph)
"""

from __future__ import annotations

import json
import re
from os import PathLike
from typing import Any

from cslearn._checked import checked
from cslearn._files import atomic_write
from cslearn.cstree import CStree
from cslearn.errors import InputError
from cslearn.formats._text import check_labels, check_many, naming, read_text, shown
from cslearn.graphs import LDAG
from cslearn.stagings import Context

__all__ = ["from_dosearch", "read_dosearch", "to_dosearch", "write_dosearch"]

_SAFE = re.compile(r"(?!I_)[A-Za-z](?:(?!do)[A-Za-z0-9_])*")
_NAME = re.compile(r"[^\s,;:=<>|()-]+")
_MARK = "# cslearn "


@checked
def to_dosearch(model: CStree | LDAG) -> str:
    """Return the LDAG of binary variables in the language of dosearch.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.formats import to_dosearch
    >>> print(to_dosearch(chickenpox_model()))
    # cslearn ["background","background","rural","urban"]
    # cslearn ["diagnosis","diagnosis","no","yes"]
    # cslearn ["exposed","exposed","no","yes"]
    # cslearn ["carrier","carrier","no","yes"]
    background -> exposed : diagnosis = 1
    background -> carrier : exposed = 0; exposed = 1, diagnosis = 0
    diagnosis -> exposed
    diagnosis -> carrier : exposed = 0
    exposed -> carrier
    <BLANKLINE>
    """
    ldag = model.to_ldag() if isinstance(model, CStree) else model
    many = [v for v, states in ldag.states.items() if len(states) != 2]
    if many:
        raise InputError(
            f"dosearch knows binary variables only, and {many[0]!r} has {len(ldag.states[many[0]])} states"
        )
    names = _names(ldag)
    lines = []
    for variable, states in ldag.states.items():
        # No arrow may stand in a comment, or the line would be an edge.
        described = json.dumps([names[variable], variable, *states], separators=(",", ":"))
        lines.append(_MARK + described.replace("->", "\\u002d>").replace("--", "\\u002d\\u002d"))
    for parent, child in ldag.graph.edges:
        contexts = [
            ", ".join(f"{names[v]} = {ldag.states[v].index(state)}" for v, state in context.items())
            for context in ldag.labels.get((parent, child), ())
        ]
        if "" in contexts:
            raise InputError(f"the edge {parent!r} -> {child!r} vanishes always: leave it out of the LDAG")
        label = f" : {'; '.join(contexts)}" if contexts else ""
        lines.append(f"{names[parent]} -> {names[child]}{label}")
    return "\n".join(lines) + "\n"


def _names(ldag: LDAG) -> dict[str, str]:
    safe = {v for v in ldag.states if _SAFE.fullmatch(v)}
    names, number = {}, 0
    for variable in ldag.states:
        if variable in safe:
            names[variable] = variable
            continue
        number += 1
        while f"V{number}" in safe:
            number += 1
        names[variable] = f"V{number}"
    return names


@checked
def write_dosearch(model: CStree | LDAG, path: str | PathLike[str]) -> None:
    """Write the LDAG of a model for dosearch; see :func:`to_dosearch`."""
    atomic_write(path, to_dosearch(model))


@checked
def read_dosearch(path: str | PathLike[str]) -> LDAG:
    """Read an LDAG in the language of dosearch; see :func:`from_dosearch`."""
    text = read_text(path)
    with naming(path):
        return from_dosearch(text)


@checked
def from_dosearch(text: str) -> LDAG:
    r"""Return the LDAG that text in the language of dosearch describes.

    Variables without a comment of :func:`to_dosearch` have the states 0 and 1. Bidirected edges are refused.

    Examples
    --------
    >>> from cslearn.formats import from_dosearch
    >>> ldag = from_dosearch("X -> Z : A = 0; B = 1\nA -> Z\nB -> Z")
    >>> ldag.labels["X", "Z"]
    (Context({'A': 0}), Context({'B': 1}))
    """
    import networkx as nx

    described: dict[str, tuple[str, list[Any]]] = {}
    known: set[str] = set()
    edges: dict[tuple[str, str], list[list[tuple[str, int]]]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith(_MARK):
            name, variable, states = _described(line, number)
            if name in described or variable in known:
                raise InputError(f"line {number}: {shown(name)} is described twice")
            known.add(variable)
            described[name] = (variable, states)
        elif "->" in line or "--" in line:
            if "<->" in line or "--" in line:
                raise InputError(f"line {number}: an LDAG has no bidirected edges")
            edge, label = _edge(line, number)
            if edge in edges:
                raise InputError(f"line {number}: the edge {shown(' -> '.join(edge))} stands twice")
            edges[edge] = label
        elif line.strip() and not line.lstrip().startswith("#"):
            raise InputError(f"line {number}: {shown(line)} is neither an edge nor a comment")
    for name in (name for edge in edges for name in edge):
        described.setdefault(name, (name, [0, 1]))
    check_many(len(described))
    if not described:
        raise InputError("it has no edges")
    check_labels(edges)
    graph = nx.DiGraph()
    graph.add_edges_from((described[a][0], described[b][0]) for a, b in edges)
    labels: dict[tuple[str, str], list[Context]] = {}
    for (a, b), label in edges.items():
        for assignment in label:
            for name, _ in assignment:
                if name not in described:
                    raise InputError(f"the label of {shown(a)} -> {shown(b)} names {shown(name)}, which has no edge")
        labels[described[a][0], described[b][0]] = [
            Context((described[name][0], described[name][1][value]) for name, value in assignment)
            for assignment in label
        ]
    return LDAG(graph, labels, states=dict(described.values()))


def _described(line: str, number: int) -> tuple[str, str, list[Any]]:
    try:
        name, variable, *states = json.loads(line[len(_MARK) :])
    except (ValueError, TypeError, RecursionError):
        raise InputError(f"line {number}: the comment about a variable is damaged") from None
    simple = all(isinstance(x, str | bool | int | float) for x in states) and len(states) == 2
    if not isinstance(name, str) or not isinstance(variable, str) or not variable or not simple:
        raise InputError(f"line {number}: the comment about a variable is damaged")
    return name, variable, states


def _edge(line: str, number: int) -> tuple[tuple[str, str], list[list[tuple[str, int]]]]:
    arrow, colon, label = line.partition(":")
    ends = [end.strip() for end in arrow.split("->")]
    if len(ends) != 2 or not all(_NAME.fullmatch(end) for end in ends):
        raise InputError(f"line {number}: {shown(line)} is not an edge `a -> b` with a label `: c = 0; d = 1`")
    contexts = []
    for part in label.split(";") if colon else ():
        context = []
        for assignment in part.split(","):
            name, sign, value = (word.strip() for word in assignment.partition("="))
            if not sign or not _NAME.fullmatch(name) or value not in ("0", "1"):
                raise InputError(f"line {number}: {shown(assignment)} is not an assignment `variable = 0` or `= 1`")
            context.append((name, int(value)))
        contexts.append(context)
    return (ends[0], ends[1]), contexts
