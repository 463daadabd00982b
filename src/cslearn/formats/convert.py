"""Which formats there are, what each of them loses, and how a file name tells its format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from cslearn._checked import checked
from cslearn._wording import offers
from cslearn.cstree import CStree
from cslearn.errors import InputError
from cslearn.formats.adjacency import write_adjacency
from cslearn.formats.benchpress import write_benchpress_graph
from cslearn.formats.bif import read_bif, write_bif
from cslearn.formats.cstrees import read_cstrees, write_cstrees
from cslearn.formats.dosearch import read_dosearch, write_dosearch
from cslearn.formats.graphml import read_graphml_cstree, write_graphml
from cslearn.formats.stagedtrees import read_stagedtrees_table, write_stagedtrees, write_stagedtrees_table
from cslearn.formats.xmlbif import read_xmlbif, write_xmlbif

__all__ = ["FORMATS", "Format", "format_of", "read_model", "write_model"]

Path_ = str | PathLike[str]

DRAWINGS = {".dot", ".gv", ".tex", ".tikz", ".svg", ".png", ".pdf"}


@dataclass(frozen=True)
class Format:
    """A format of files.

    Attributes
    ----------
    name : str
    what : str
        What it is, in a few words.
    endings : tuple of str
        The endings of file names that stand for it.
    read, write : callable or None
    keeps : frozenset of str
        What it keeps of a model, out of ``"contexts"``, ``"probabilities"``, ``"order"`` and ``"states"``.
    """

    name: str
    what: str
    endings: tuple[str, ...]
    read: Callable[[Path_], CStree] | None
    write: Callable[[CStree, Path_], None] | None
    keeps: frozenset[str]

    def lost(self, tree: CStree) -> list[str]:
        """Return what of this model the format cannot hold, in sentences.

        Examples
        --------
        >>> from cslearn.datasets import chickenpox_model
        >>> from cslearn.formats import FORMATS
        >>> FORMATS["json"].lost(chickenpox_model())
        []
        >>> FORMATS["bif"].lost(chickenpox_model())
        ['contexts: 9 stages are written as 14 rows of tables']
        """
        found = []
        expanded = sum(_rows(tree, v) for v in tree.order)
        if "contexts" not in self.keeps and expanded > tree.n_stages:
            tables = f"{tree.n_stages} stages are written as {expanded:,} rows of tables"
            found.append("contexts: " + (tables if "probabilities" in self.keeps else "the DAG alone is written"))
        if "probabilities" not in self.keeps and tree.parameters is not None:
            found.append("probabilities")
        if "order" not in self.keeps:
            found.append("the order, but for what the edges say of it")
        if "states" not in self.keeps:
            plain = all(list(states) == list(range(len(states))) for states in tree.states.values())
            if not plain:
                found.append("the names of states: they are written as 0, 1, ..., or not at all")
        elif "types" not in self.keeps and any(not isinstance(x, str) for s in tree.states.values() for x in s):
            found.append("the types of states: numbers and booleans are written as text")
        return found


def _rows(tree: CStree, variable: str) -> int:
    from math import prod

    return prod(len(tree.states[v]) for v in tree.parents[variable])


def _ldag_tree(path: Path_) -> CStree:
    from cslearn.formats._text import naming

    ldag = read_dosearch(path)
    with naming(path):
        return CStree.from_ldag(ldag)


_ALL = frozenset({"contexts", "probabilities", "order", "states", "types"})

FORMATS: dict[str, Format] = {
    f.name: f
    for f in (
        Format("json", "the model files of cslearn", (".json",), CStree.load, CStree.save, _ALL),
        Format("bif", "Bayesian networks as text", (".bif", ".bif.gz"), read_bif, write_bif, _ALL - {"contexts"}),
        Format(
            "xmlbif",
            "Bayesian networks as XML",
            (".xml", ".xmlbif", ".bifxml"),
            read_xmlbif,
            write_xmlbif,
            _ALL - {"contexts"},
        ),
        Format(
            "graphml",
            "the LDAG, with its labels as attributes",
            (".graphml",),
            read_graphml_cstree,
            write_graphml,
            _ALL - {"probabilities"},
        ),
        Format(
            "dosearch",
            "the LDAG of binary variables, for the R package dosearch",
            (".txt",),
            _ldag_tree,
            write_dosearch,
            frozenset({"contexts", "states", "types"}),
        ),
        Format(
            "cstrees",
            "the stages, as a table of the authors' package cstrees",
            (),
            read_cstrees,
            write_cstrees,
            frozenset({"contexts", "order"}),
        ),
        Format(
            "stagedtrees",
            "a script for the R package stagedtrees",
            (".R",),
            None,
            write_stagedtrees,
            _ALL - {"types"},
        ),
        Format(
            "stages",
            "the stage of every situation, as a table",
            (),
            read_stagedtrees_table,
            write_stagedtrees_table,
            frozenset({"contexts", "order", "states"}),
        ),
        Format(
            "adjacency",
            "the DAG as a matrix: parents in rows, children in columns",
            (),
            None,
            write_adjacency,
            frozenset(),
        ),
        Format("benchpress", "the DAG as a matrix for Benchpress", (), None, write_benchpress_graph, frozenset()),
    )
}


@checked
def format_of(path: Path_, name: str | None = None, *, for_reading: bool = False) -> Format:
    """Return the format with a name, or else the one that the ending of a path stands for.

    Examples
    --------
    >>> from cslearn.formats import format_of
    >>> format_of("network.bif.gz").name, format_of("table.csv", "cstrees").name
    ('bif', 'cstrees')
    """
    able = [f for f in FORMATS.values() if (f.read if for_reading else f.write) is not None]
    known = ", ".join(f.name for f in able)
    does = "read" if for_reading else "written"
    if name is not None:
        if name not in {f.name for f in able}:
            raise InputError(f"there is no format {name!r} that can be {does}; choose one of {known}")
        return FORMATS[name]
    ending = Path(path).name.lower()
    for found in able:
        if any(ending.endswith(e.lower()) for e in found.endings):
            return found
    if Path(path).suffix.lower() in DRAWINGS:
        what = "is that of a drawing, from which no model is read" if for_reading else "is that of a drawing"
        raise InputError(f"the ending of {path} {what}: `cslearn plot` draws models, and a model is {does} as {known}")
    how = f" ({'--from' if for_reading else '--to'} on the command line)"
    if for_reading and not offers("from_format"):
        how = "; `cslearn convert --from` carries it to one that is"
    raise InputError(f"the ending of {path} does not tell the format: name one of {known}{how}")


@checked
def read_model(path: Path_, name: str | None = None) -> CStree:
    """Read a model in any format that holds one.

    Parameters
    ----------
    path : str or path-like
    name : str, optional
        The name of the format; by default the ending of the path tells it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.formats import read_model, write_model
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.xml"
    >>> write_model(chickenpox_model(), path)
    ['contexts: 9 stages are written as 14 rows of tables']
    >>> read_model(path)
    CStree(4 variables, 14 stages)
    """
    found = format_of(path, name, for_reading=True)
    assert found.read is not None
    return found.read(path)


@checked
def write_model(tree: CStree, path: Path_, name: str | None = None) -> list[str]:
    """Write a model in any format, and return what was lost; see :func:`read_model`."""
    found = format_of(path, name)
    assert found.write is not None
    if str(path).lower().endswith(".gz"):
        raise InputError(f"files are not compressed when they are written: leave out the .gz of {path}")
    found.write(tree, path)
    return found.lost(tree)
