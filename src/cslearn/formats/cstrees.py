"""Tables of the paper authors' package ``cstrees``: the stages of a CStree, without probabilities.

A comma separated file. The first row has the variables in the order of the CStree, the second their cardinalities, and
each further row a stage: a code in the columns of its context variables, ``*`` in those of the other variables of the
level, and ``-`` from the variable on whose distribution it shares. States are the codes 0, 1, ...; a level of which no
stage is listed consists of single outcomes.
"""

from __future__ import annotations

import re
from os import PathLike

from cslearn._checked import checked
from cslearn._files import atomic_write
from cslearn.cstree import CStree
from cslearn.errors import InputError
from cslearn.formats._text import check_many, naming, read_text, shown
from cslearn.formats.adjacency import csv_rows, csv_text
from cslearn.stagings import Context

__all__ = ["from_cstrees_table", "read_cstrees", "to_cstrees_table", "write_cstrees"]

_CODE = re.compile(r"[0-9]{1,5}")


@checked
def to_cstrees_table(tree: CStree) -> list[list[str]]:
    """Return the rows of the table of a CStree.

    Examples
    --------
    >>> from cslearn.datasets import supplement_model
    >>> from cslearn.formats import to_cstrees_table
    >>> for row in to_cstrees_table(supplement_model())[:6]:
    ...     print(" ".join(row))
    X1 X2 X3 X4
    2 2 2 2
    * - - -
    0 0 - -
    1 0 - -
    * 1 - -
    """
    rows = [list(tree.order), [str(len(tree.states[v])) for v in tree.order]]
    for level, variable in enumerate(tree.order):
        for context in tree.stagings[variable] if level else ():
            cells = [str(tree.states[v].index(context[v])) if v in context else "*" for v in tree.order[:level]]
            rows.append(cells + ["-"] * (len(tree.order) - level))
    return rows


@checked
def write_cstrees(tree: CStree, path: str | PathLike[str]) -> None:
    """Write the table of a CStree; see :func:`to_cstrees_table`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from cslearn.datasets import supplement_model
    >>> from cslearn.formats import read_cstrees, write_cstrees
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "tree.csv"
    >>> write_cstrees(supplement_model(), path)
    >>> read_cstrees(path) == supplement_model()
    True
    """
    atomic_write(path, csv_text(to_cstrees_table(tree)))


@checked
def read_cstrees(path: str | PathLike[str]) -> CStree:
    """Read a table of the ``cstrees`` package as a CStree without parameters, whose states are 0, 1, ..."""
    text = read_text(path)
    with naming(path):
        return from_cstrees_table(csv_rows(text))


@checked
def from_cstrees_table(rows: list[list[str]]) -> CStree:
    """Return the CStree of the rows of a table; see :func:`to_cstrees_table`."""
    if len(rows) < 2:
        raise InputError("it has no row of cardinalities")
    order, cards = rows[0], rows[1]
    check_many(len(order))
    if len(set(order)) != len(order):
        raise InputError("the first row names a variable twice")
    for variable, card in zip(order, cards, strict=True):
        if not _CODE.fullmatch(card) or not 1 <= int(card) <= 1 << 16:
            raise InputError(f"the cardinality of {shown(variable)} is {shown(card)}, not a number from 1 to 65,536")
    check_many(len(order), sum(map(int, cards)))
    states = {v: tuple(range(int(card))) for v, card in zip(order, cards, strict=True)}
    contexts: dict[str, list[Context]] = {v: [] for v in order}
    for number, row in enumerate(rows[2:], start=3):
        level = row.index("-") if "-" in row else len(row)
        if level == len(row) or any(cell != "-" for cell in row[level:]):
            raise InputError(f"row {number} is not a stage: codes or `*`, and then `-` up to the end")
        fixed = {}
        for variable, cell in zip(order, row[:level], strict=False):
            if cell == "*":
                continue
            if not _CODE.fullmatch(cell) or int(cell) >= len(states[variable]):
                raise InputError(f"row {number}: {shown(cell)} is not a code of {shown(variable)}, nor `*`")
            # A variable with one state tells nothing, so it is no context variable.
            if len(states[variable]) > 1:
                fixed[variable] = int(cell)
        if level:
            contexts[order[level]].append(Context(fixed))
    return CStree.from_contexts(contexts, states=states, order=order, fill=True)
