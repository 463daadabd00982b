r"""DAGs as adjacency matrices in comma separated files, with the direction spelled out.

A 1 in row i and column j is an edge from variable i to variable j: **parents in rows, children in columns**. Our own
files say so: the first cell is ``parent\child`` and each row begins with the name of the parent. The files of
Benchpress are the same without that column: the names, and then the rows. Both are read.
"""

from __future__ import annotations

import csv
import io
from os import PathLike
from typing import TYPE_CHECKING, Any

from cslearn._checked import checked
from cslearn._files import atomic_write
from cslearn.cstree import CStree
from cslearn.errors import InputError
from cslearn.formats._text import check_many, naming, read_text, shown
from cslearn.graphs import LDAG

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

__all__ = ["CORNER", "adjacency_matrix", "csv_rows", "csv_text", "read_adjacency", "write_adjacency"]

CORNER = "parent\\child"
# Rows and cells take much more memory than the text of them.
ROW_LIMIT = 1 << 21
CELL_LIMIT = 1 << 23


@checked
def adjacency_matrix(model: CStree | LDAG | nx.DiGraph) -> pd.DataFrame:
    """Return the adjacency matrix of a model's DAG: parents in rows, children in columns.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.formats import adjacency_matrix
    >>> adjacency_matrix(chickenpox_model())
    child       background  diagnosis  exposed  carrier
    parent
    background           0          0        1        1
    diagnosis            0          0        1        1
    exposed              0          0        0        1
    carrier              0          0        0        0
    """
    import networkx as nx
    import pandas as pd

    graph = model.to_dag() if isinstance(model, CStree) else model.graph if isinstance(model, LDAG) else model
    names = list(graph)
    frame = pd.DataFrame(nx.to_numpy_array(graph, nodelist=names, weight=None, dtype=int), names, names)
    frame.index.name, frame.columns.name = "parent", "child"
    return frame


@checked
def write_adjacency(model: CStree | LDAG | nx.DiGraph, path: str | PathLike[str]) -> None:
    r"""Write the adjacency matrix of a model's DAG, with the direction in the first cell.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.formats import read_adjacency, write_adjacency
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "dag.csv"
    >>> write_adjacency(chickenpox_model(), path)
    >>> print(path.read_text().splitlines()[0])
    parent\child,background,diagnosis,exposed,carrier
    >>> sorted(read_adjacency(path).predecessors("exposed"))
    ['background', 'diagnosis']
    """
    frame = adjacency_matrix(model)
    rows = [[name, *row] for name, row in zip(frame.index, frame.to_numpy().tolist(), strict=True)]
    atomic_write(path, csv_text([[CORNER, *frame.columns], *rows]))


@checked
def read_adjacency(path: str | PathLike[str]) -> nx.DiGraph:
    """Read the DAG of an adjacency matrix, of ours or of Benchpress.

    Returns
    -------
    networkx.DiGraph
        Edges from parent (row) to child (column).
    """
    import networkx as nx

    text = read_text(path)
    with naming(path):
        header, *rows = csv_rows(text)
        named = header[0] == CORNER
        names = header[1:] if named else header
        check_many(len(names))
        if len(set(names)) != len(names) or not names or not all(names):
            raise InputError("the first row does not name each variable once")
        if len(rows) != len(names):
            raise InputError(f"it has {len(rows)} rows for {len(names)} variables; a matrix has one for each")
        graph = nx.DiGraph()
        graph.add_nodes_from(names)
        for number, (parent, row) in enumerate(zip(names, rows, strict=True), start=2):
            if named and row[0] != parent:
                raise InputError(f"line {number}: the row of {shown(parent)} begins with {shown(row[0])}")
            for child, cell in zip(names, row[1:] if named else row, strict=True):
                if cell.strip() not in ("0", "1", "0.0", "1.0"):
                    raise InputError(f"line {number}: {shown(cell)} is neither 0 nor 1")
                if cell.strip().startswith("1"):
                    graph.add_edge(parent, child)
        if not nx.is_directed_acyclic_graph(graph):
            cycle = " -> ".join(str(edge[0]) for edge in nx.find_cycle(graph))
            raise InputError(f"the graph has a cycle, {shown(cycle, 200)} -> ..., so it is not a DAG")
        return graph


# ---------------------------------------------------------------- comma separated text
def csv_text(rows: Any) -> str:
    """Return rows of cells as comma separated text."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def csv_rows(text: str) -> list[list[str]]:
    """Return the rows of comma separated text, all of the same length and at least one."""
    if text.count("\n") + text.count("\r") > ROW_LIMIT or text.count(",") > CELL_LIMIT:
        raise InputError(f"it has more than {ROW_LIMIT:,} rows or {CELL_LIMIT:,} cells, the most that are read")
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except csv.Error as error:
        raise InputError(f"it is not comma separated text ({error})") from None
    if not rows:
        raise InputError("it is empty")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise InputError(f"row {number} has {len(row)} cells where the first has {len(rows[0])}")
    return rows
