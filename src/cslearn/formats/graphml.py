"""LDAGs from networkx graphs with attributes, and as GraphML files.

In networkx, an edge goes from parent to child; a node has its ``states`` as a list, and an edge that vanishes in some
contexts has them as ``contexts``, a list of dictionaries of states of other parents. :meth:`cslearn.LDAG.to_networkx`
makes such graphs. GraphML knows text and numbers only, so there states and contexts are written as JSON, and so is the
order of a CStree; the ``label`` of an edge is its contexts as people read them.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

from cslearn._checked import checked
from cslearn._files import atomic_write, read_json
from cslearn.cstree import CStree
from cslearn.errors import InputError
from cslearn.formats._text import check_labels, check_many, naming, read_bytes, shown
from cslearn.formats._xml import check_writable, parse
from cslearn.graphs import LDAG

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["from_networkx", "read_graphml", "read_graphml_cstree", "write_graphml"]


@checked
def from_networkx(graph: nx.DiGraph, *, states: Mapping[str, Any] | None = None) -> LDAG:
    """Return the LDAG that a networkx graph describes.

    Parameters
    ----------
    graph : networkx.DiGraph
        Edges from parent to child, with the contexts in which they vanish as the attribute ``contexts``; an edge
        without it never vanishes. :meth:`cslearn.LDAG.to_networkx` makes such a graph.
    states : mapping of str to sequence of states, optional
        For the nodes that have no attribute ``states``.

    Examples
    --------
    >>> import networkx as nx
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.formats import from_networkx
    >>> ldag = chickenpox_model().to_ldag()
    >>> from_networkx(ldag.to_networkx()) == ldag
    True
    >>> from_networkx(nx.DiGraph([("a", "b")]), states={"a": [0, 1], "b": [0, 1, 2]})
    LDAG(2 variables, 1 edges, 0 labels)
    """
    if not graph.is_directed() or graph.is_multigraph():
        raise InputError("an LDAG is made from a networkx.DiGraph, whose edges go from parent to child")
    found: dict[str, Any] = {}
    for node, attributes in graph.nodes(data=True):
        if not isinstance(node, str) or not node:
            raise InputError(f"variables are named by non-empty strings, not {node!r}")
        given = attributes.get("states", (states or {}).get(node))
        if isinstance(given, str) or not hasattr(given, "__iter__"):
            raise InputError(f"the node {node!r} has no states: give it a list as its attribute 'states', or states=")
        found[node] = tuple(given)
        if not found[node] or not all(isinstance(x, str | bool | int | float) for x in found[node]):
            raise InputError(f"the states of {node!r} are strings, numbers or booleans, and at least one")
    labels: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for parent, child, attributes in graph.edges(data=True):
        given = attributes.get("contexts", [])
        if not isinstance(given, list | tuple) or not all(map(_is_context, given)):
            raise InputError(f"the attribute 'contexts' of {parent!r} -> {child!r} is not a list of contexts")
        if given:
            labels[parent, child] = list(given)
    check_labels(labels)
    return LDAG(graph, labels, states=found)


def _is_context(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(x, str | bool | int | float) for x in value.values())


@checked
def write_graphml(model: CStree | LDAG, path: str | PathLike[str]) -> None:
    """Write the LDAG of a model as a GraphML file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.formats import read_graphml, write_graphml
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.graphml"
    >>> write_graphml(chickenpox_model(), path)
    >>> read_graphml(path) == chickenpox_model().to_ldag()
    True
    """
    import networkx as nx

    ldag = model.to_ldag() if isinstance(model, CStree) else model
    graph = ldag.to_networkx()
    if isinstance(model, CStree):
        graph.graph["order"] = json.dumps(model.order)
    for variable, attributes in graph.nodes(data=True):
        check_writable(variable)
        attributes["states"] = json.dumps(attributes["states"])
    for *_, attributes in graph.edges(data=True):
        if attributes:
            check_writable(attributes["label"])
            attributes["contexts"] = json.dumps(attributes["contexts"])
    content = io.BytesIO()
    nx.write_graphml_xml(graph, content, encoding="utf-8")
    atomic_write(path, content.getvalue())


@checked
def read_graphml(path: str | PathLike[str]) -> LDAG:
    """Read the LDAG of a GraphML file that :func:`write_graphml` wrote."""
    return _read(path)[0]


def read_graphml_cstree(path: str | PathLike[str]) -> CStree:
    """Read a GraphML file as the CStree that its LDAG represents, in the order that the file gives, if any."""
    ldag, order = _read(path)
    with naming(path):
        return CStree.from_ldag(ldag, order=order)


def _read(path: str | PathLike[str]) -> tuple[LDAG, list[str] | None]:
    content = read_bytes(path)
    with naming(path):
        root = parse(content)
        if root.tag.rpartition(":")[2] != "graphml":
            raise InputError(f"it is XML, but not GraphML: its first element is {shown(root.tag)}")
        return _from_elements(root)


def _from_elements(root: Any) -> tuple[LDAG, list[str] | None]:
    import networkx as nx

    names = {key.attributes.get("id", ""): key.attributes.get("attr.name", "") for key in root.named("KEY")}
    graphs = root.named("GRAPH")
    if len(graphs) != 1 or graphs[0].attributes.get("edgedefault") != "directed":
        raise InputError("it holds no directed graph, or more than one")

    def data(element: Any) -> dict[str, Any]:
        found = {}
        for child in element.named("DATA"):
            name = names.get(child.attributes.get("key", ""), "")
            if name in ("states", "contexts", "order"):
                try:
                    found[name] = read_json("".join(child.text))
                except InputError as error:
                    raise child.error(str(error)) from None
                except (ValueError, RecursionError):
                    raise child.error(f"the attribute {name!r} is not JSON") from None
        return found

    graph = nx.DiGraph()
    nodes = graphs[0].named("NODE")
    check_many(len(nodes))
    n_states = 0
    for node in nodes:
        described = data(node)
        states = described.get("states")
        n_states += len(states) if isinstance(states, list) else 0
        check_many(len(nodes), n_states)
        graph.add_node(node.attributes.get("id", ""), **described)
    for edge in graphs[0].named("EDGE"):
        ends = [edge.attributes.get(end, "") for end in ("source", "target")]
        for end in ends:
            if end not in graph:
                raise edge.error(f"there is no node {shown(end)}")
        if graph.has_edge(*ends):
            raise edge.error(f"the edge {shown(ends[0])} -> {shown(ends[1])} stands twice")
        graph.add_edge(*ends, **data(edge))
    order = data(graphs[0]).get("order")
    named = isinstance(order, list) and all(isinstance(v, str) for v in order) and sorted(order) == sorted(graph)
    if order is not None and not named:
        raise InputError("the order does not name each variable once")
    return from_networkx(graph), order
