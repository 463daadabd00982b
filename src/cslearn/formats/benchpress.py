"""What the Benchpress platform exchanges: adjacency matrices and trajectories of graphs.

* A graph is a comma separated file: the names of the variables, and then rows of 0 and 1; a 1 in row i and column j is
  an edge from i to j (:func:`write_benchpress_graph`; :func:`cslearn.formats.read_adjacency` reads it).
* The draws of a Markov chain are a file with the columns ``index,score,added,removed``: a row for each draw at which
  the graph changes, with the score of the new graph and its edges ``[a->b;c->d]`` that came and went. Before them
  stand two rows, -2 and -1, that add and remove the edges from the first variable to each other one, and so tell the
  names; row 0 is the first graph. Here a last row without changes always stands at the number of draws, since
  Benchpress counts a graph from its row to the next one.

Tables of data are read by :func:`cslearn.data.read_benchpress`. Module folders for Benchpress are in
``integrations/benchpress`` of the source repository.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import isfinite
from os import PathLike

from cslearn._checked import checked
from cslearn._files import atomic_write
from cslearn.cstree import CStree
from cslearn.errors import InputError, LimitError
from cslearn.formats._text import check_many, naming, read_text, shown
from cslearn.formats.adjacency import adjacency_matrix, csv_rows, csv_text

__all__ = ["read_trajectory", "write_benchpress_graph", "write_trajectory"]

Edge = tuple[str, str]

_FORBIDDEN = re.compile(r'->|[;,\[\]"\n\r]')
_INTEGER = re.compile(r"-?[0-9]{1,15}")
DRAW_LIMIT = 1 << 20
EDGE_LIMIT = 1 << 24


@checked
def write_benchpress_graph(tree: CStree, path: str | PathLike[str]) -> None:
    """Write the adjacency matrix of a model's DAG as Benchpress wants it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.formats import write_benchpress_graph
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "adjmat.csv"
    >>> write_benchpress_graph(chickenpox_model(), path)
    >>> print(path.read_text(), end="")
    background,diagnosis,exposed,carrier
    0,0,1,1
    0,0,1,1
    0,0,0,1
    0,0,0,0
    """
    frame = adjacency_matrix(tree)
    atomic_write(path, csv_text([list(frame.columns), *frame.to_numpy().tolist()]))


@checked
def write_trajectory(
    variables: Sequence[str], draws: Iterable[tuple[float, Iterable[Edge]]], path: str | PathLike[str]
) -> None:
    """Write the graphs that a Markov chain drew.

    Parameters
    ----------
    variables : sequence of str
        All variables, in the order of the data's columns; at least two.
    draws : iterable of (score, edges)
        Edges from parent to child.
    path : str or path-like

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from cslearn.formats import read_trajectory, write_trajectory
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "trajectory.csv"
    >>> write_trajectory("abc", [(-9.5, [("a", "b")]), (-9.5, [("a", "b")]), (-8.0, [("b", "c")])], path)
    >>> print(path.read_text(), end="")
    index,score,added,removed
    -2,0.0,[a->b;a->c],[]
    -1,0.0,[],[a->b;a->c]
    0,-9.5,[a->b],[]
    2,-8.0,[b->c],[a->b]
    3,-8.0,[],[]
    """
    names = list(variables)
    if len(names) < 2 or len(set(names)) != len(names):
        raise InputError("a trajectory has at least two variables, each with a name of its own")
    for name in names:
        if not name or _FORBIDDEN.search(name):
            raise InputError(
                f"a trajectory cannot hold the name {name!r}, because of its `->`, `;`, `,`, `[`, `]` or quote"
            )
    first = [(names[0], name) for name in names[1:]]
    position = {name: column for column, name in enumerate(names)}
    lines = ["index,score,added,removed", f"-2,0.0,{_listed(first)},[]", f"-1,0.0,[],{_listed(first)}"]
    old: set[Edge] = set()
    index, score, last = -1, 0.0, 0.0
    for index, (score, edges) in enumerate(draws):
        new = set(edges)
        for edge in new:
            if edge[0] not in position or edge[1] not in position:
                raise InputError(f"draw {index} has the edge {edge!r}, which is not between the variables")

        def place(edge: Edge) -> tuple[int, int]:
            return position[edge[0]], position[edge[1]]

        if index == 0 or new != old or score != last:
            added, removed = sorted(new - old, key=place), sorted(old - new, key=place)
            lines.append(f"{index},{float(score)!r},{_listed(added)},{_listed(removed)}")
        old, last = new, score
    if index < 0:
        raise InputError("there are no draws to write")
    lines.append(f"{index + 1},{float(score)!r},[],[]")
    atomic_write(path, "\n".join(lines) + "\n")


def _listed(edges: Iterable[Edge]) -> str:
    return "[" + ";".join(f"{a}->{b}" for a, b in edges) + "]"


@checked
def read_trajectory(path: str | PathLike[str]) -> tuple[list[str], list[tuple[float, frozenset[Edge]]]]:
    """Read a trajectory of directed graphs: the variables, and each draw's score and edges.

    The last row of a file only says how long the last graph was kept.
    """
    text = read_text(path)
    with naming(path):
        header, *rows = csv_rows(text)
        if header[:4] != ["index", "score", "added", "removed"]:
            raise InputError("the first row is not `index,score,added,removed`")
        numbers = [int(row[0]) if _INTEGER.fullmatch(row[0]) else None for row in rows]
        if numbers[:3] != [-2, -1, 0]:
            raise InputError("the rows do not begin with the indices -2, -1 and 0")
        edges = _edges(rows[0][2], 2)
        names = [edges[0][0], *(b for _, b in edges)] if edges else []
        if len(set(names)) != len(names) or not names or any(a != names[0] for a, _ in edges):
            raise InputError("row -2 does not join the first variable to each other one")
        check_many(len(names))
        variables = set(names)
        current: set[Edge] = set()
        draws: list[tuple[float, frozenset[Edge]]] = []
        score, previous, kept = 0.0, 0, 0
        for line, (number, row) in enumerate(zip(numbers[2:], rows[2:], strict=True), start=4):
            if number is None or number < previous or number > DRAW_LIMIT:
                raise InputError(
                    f"row {line}: the index {shown(row[0])} is not a number from {previous} to {DRAW_LIMIT}"
                )
            if number > previous:
                kept += len(current)
                if kept > EDGE_LIMIT:
                    raise LimitError(f"row {line}: the graphs up to here have more than {EDGE_LIMIT:,} edges together")
                draws += [(score, frozenset(current))] * (number - previous)
            previous = number
            try:
                score = float(row[1])
            except ValueError:
                score = float("nan")
            if not isfinite(score):
                raise InputError(f"row {line}: the score {shown(row[1])} is not a number")
            added, removed = _edges(row[2], line), _edges(row[3], line)
            for edge in (*added, *removed):
                if edge[0] not in variables or edge[1] not in variables:
                    raise InputError(f"row {line}: the edge {shown('->'.join(edge))} is not between the variables")
            if not current.isdisjoint(added) or not current.issuperset(removed):
                raise InputError(f"row {line} adds an edge that is there, or removes one that is not")
            current.update(added)
            current.difference_update(removed)
        return names, draws


def _edges(cell: str, line: int) -> list[Edge]:
    if not (cell.startswith("[") and cell.endswith("]")):
        raise InputError(f"row {line}: {shown(cell)} is not a list of edges `[a->b;c->d]`")
    edges: list[Edge] = []
    for word in cell[1:-1].split(";") if cell != "[]" else ():
        parent, arrow, child = word.partition("->")
        if not arrow or not parent or not child:
            raise InputError(f"row {line}: {shown(word)} is not an edge `a->b`")
        edges.append((parent, child))
    return edges
