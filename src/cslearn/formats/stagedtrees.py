r"""Staged trees for the R package ``stagedtrees``.

A staged tree is given by the variables in order, the states of each, and a stage for each *situation*, that is for each
outcome of the variables before. There are as many situations as outcomes, so that only trees of few variables can be
written.

* :func:`write_stagedtrees` writes an R script: ``source("model.R")`` makes ``model``, an object of class ``sevt`` with
  its probabilities, of the components that the package documents: ``tree``, ``stages`` and ``prob``.
* :func:`write_stagedtrees_table` writes a comma separated table of the situations: the variable, its stage, and the
  states of the variables before, in their order; :func:`read_stagedtrees_table` reads such a table, in which the stages
  must be those of a CStree.

In both, situations are counted with the state of the last variable moving fastest, as the package does.
"""

from __future__ import annotations

import json
from itertools import product
from math import prod
from os import PathLike
from typing import Any

from cslearn._checked import checked
from cslearn._files import atomic_write
from cslearn.cstree import CStree
from cslearn.errors import InputError, LimitError
from cslearn.formats._text import check_many, naming, read_text, shown, state_names
from cslearn.formats.adjacency import csv_rows, csv_text
from cslearn.stagings import Context

__all__ = ["read_stagedtrees_table", "to_stagedtrees", "write_stagedtrees", "write_stagedtrees_table"]

SITUATION_LIMIT = 1 << 16


def _check_size(tree: CStree) -> None:
    cards = [len(tree.states[v]) for v in tree.order]
    situations = sum(prod(cards[:level]) for level in range(len(cards)))
    if situations > SITUATION_LIMIT:
        raise LimitError(
            f"the staged tree has {situations:,} situations, and up to {SITUATION_LIMIT:,} are written: choose fewer"
            " variables, or a format that keeps contexts, such as that of cstrees"
        )


def _stages(tree: CStree, variable: str) -> list[int]:
    """Return the number of the stage of each situation, from 1, the last variable moving fastest."""
    import numpy as np

    before = tree.order[: tree.order.index(variable)]
    table = np.zeros([len(tree.states[v]) for v in before], dtype=int)
    for number, context in enumerate(tree.stagings[variable], start=1):
        table[tuple(tree.states[v].index(context[v]) if v in context else slice(None) for v in before)] = number
    return [int(number) for number in table.ravel()]


@checked
def to_stagedtrees(tree: CStree) -> str:
    """Return an R script that makes a staged tree of class ``sevt``, with probabilities if the CStree has them.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.formats import to_stagedtrees
    >>> print(to_stagedtrees(chickenpox_model()))
    # A staged tree for the R package stagedtrees.
    model <- list(
      tree = list(
        "background" = c("rural", "urban"),
        "diagnosis" = c("no", "yes"),
        "exposed" = c("no", "yes"),
        "carrier" = c("no", "yes")
      ),
      stages = list(
        "diagnosis" = c("1", "1"),
        "exposed" = c("1", "3", "2", "3"),
        "carrier" = c("1", "2", "1", "3", "1", "2", "1", "4")
      ),
    ...
    """
    _check_size(tree)
    names = {v: [_quoted(name) for name in state_names(v, tree.states[v])] for v in tree.order}
    parts = [
        "  tree = list(\n" + _items({v: _vector(names[v]) for v in tree.order}) + "\n  )",
        "  stages = list(\n"
        + _items({v: _vector([f'"{number}"' for number in _stages(tree, v)]) for v in tree.order[1:]})
        + "\n  )",
    ]
    if tree.parameters is not None:
        stages = {
            v: "list("
            + ", ".join(
                f'"{number}" = ' + _vector([f"{name} = {value!r}" for name, value in zip(names[v], row, strict=True)])
                for number, row in enumerate(tree.parameters[v].tolist(), start=1)
            )
            + ")"
            for v in tree.order
        }
        parts.append("  prob = list(\n" + _items(stages) + "\n  )")
    head = "# A staged tree for the R package stagedtrees.\nmodel <- list(\n"
    return head + ",\n".join(parts) + '\n)\nclass(model) <- "sevt"\n'


def _quoted(name: str) -> str:
    # R reads the escapes of JSON strings, but for characters beyond 16 bits, which stand as they are.
    if not name or "\x00" in name:
        raise InputError(f"R has no way to write the name {name!r}: give it another one")
    return json.dumps(name, ensure_ascii=False).replace("\\/", "/")


def _vector(cells: list[str]) -> str:
    return f"c({', '.join(cells)})"


def _items(values: dict[str, str]) -> str:
    return ",\n".join(f"    {_quoted(name)} = {value}" for name, value in values.items())


@checked
def write_stagedtrees(tree: CStree, path: str | PathLike[str]) -> None:
    """Write the R script of :func:`to_stagedtrees`."""
    atomic_write(path, to_stagedtrees(tree))


@checked
def write_stagedtrees_table(tree: CStree, path: str | PathLike[str]) -> None:
    r"""Write a table of all situations with their stages.

    The columns are ``variable``, ``stage``, and the variables in order; cells of variables that do not come before are
    empty. The last rows, with an empty stage, have the states of the last variable.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.formats import read_stagedtrees_table, write_stagedtrees_table
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "stages.csv"
    >>> write_stagedtrees_table(chickenpox_model(), path)
    >>> print(*path.read_text().splitlines()[:4], sep="\n")
    variable,stage,background,diagnosis,exposed,carrier
    background,1,,,,
    diagnosis,1,rural,,,
    diagnosis,1,urban,,,
    >>> read_stagedtrees_table(path) == chickenpox_model().with_parameters(None)
    True
    """
    _check_size(tree)
    names = {v: state_names(v, tree.states[v]) for v in tree.order}
    rows: list[list[Any]] = [["variable", "stage", *tree.order]]
    for level, variable in enumerate(tree.order):
        situations = product(*(names[v] for v in tree.order[:level]))
        for stage, situation in zip(_stages(tree, variable), situations, strict=True):
            rows.append([variable, stage, *situation, *[""] * (len(tree.order) - level)])
    last = tree.order[-1]
    rows += [[last, "", *[""] * (len(tree.order) - 1), name] for name in names[last]]
    atomic_write(path, csv_text(rows))


@checked
def read_stagedtrees_table(path: str | PathLike[str]) -> CStree:
    """Read a table of situations with their stages, as :func:`write_stagedtrees_table` writes it.

    Stages may have any names. Outcomes with the same stage must be all those that agree with a context.

    Returns
    -------
    CStree
        Without parameters, with states that are text.
    """
    text = read_text(path)
    with naming(path):
        header, *rows = csv_rows(text)
        if header[:2] != ["variable", "stage"] or len(header) < 3 or len(set(header[2:])) != len(header) - 2:
            raise InputError("the first row is not `variable,stage` and then the variables, each once")
        order = header[2:]
        check_many(len(order))
        position = {v: level for level, v in enumerate(order)}
        groups: dict[str, dict[str, list[tuple[str, ...]]]] = {v: {} for v in order}
        states: dict[str, dict[str, None]] = {v: {} for v in order}
        for number, (variable, stage, *cells) in enumerate(rows, start=2):
            if variable not in position:
                raise InputError(f"row {number}: there is no variable {shown(variable)}")
            level = position[variable]
            if not stage:
                states[variable][cells[level]] = None
                continue
            if any(cells[level:]):
                raise InputError(f"row {number}: {shown(variable)} comes before some of the variables with a state")
            groups[variable].setdefault(stage, []).append(tuple(cells[:level]))
            for v, cell in zip(order, cells[:level], strict=False):
                states[v][cell] = None
        for v in order:
            if not states[v]:
                raise InputError(f"no row gives a state of {shown(v)}")
        check_many(len(order), sum(map(len, states.values())))
        labels = {v: tuple(states[v]) for v in order}
        contexts = {
            v: [_context(v, stage, outcomes, order, labels) for stage, outcomes in groups[v].items()] for v in order
        }
        return CStree(order, contexts, states=labels)


def _context(
    variable: str, stage: str, outcomes: list[tuple[str, ...]], order: list[str], states: dict[str, tuple[str, ...]]
) -> Context:
    level = len(outcomes[0])
    met = [{outcome[column] for outcome in outcomes} for column in range(level)]
    context = Context(
        {v: next(iter(values)) for v, values in zip(order, met, strict=False) if len(values) == 1 < len(states[v])}
    )
    size = prod(len(states[v]) for v in order[:level] if v not in context)
    if len(set(outcomes)) != len(outcomes) or len(outcomes) != size:
        raise InputError(
            f"the stage {shown(stage)} of {shown(variable)} is not the set of all outcomes that agree with a context,"
            " so the staged tree is not a CStree"
        )
    return context
