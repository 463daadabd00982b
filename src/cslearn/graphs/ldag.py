"""Labelled directed acyclic graphs (paper, section 3 and supplement, section 1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import networkx as nx

from cslearn.errors import InputError
from cslearn.stagings import Context

if TYPE_CHECKING:
    from cslearn.cstree import CStree

__all__ = ["LDAG"]

Edge = tuple[str, str]


class LDAG:
    """A DAG whose edges carry labels: the contexts in which they vanish.

    Parameters
    ----------
    graph : networkx.DiGraph
        Edges from parent to child.
    labels : mapping of (parent, child) to iterable of contexts
        A context assigns states to *other* parents of the child. It stands for all outcomes of these parents that
        agree with it: parents that it leaves out may be in any state (the ``*`` of the paper).
    states : mapping of str to sequence of states

    Examples
    --------
    >>> import networkx as nx
    >>> from cslearn import LDAG
    >>> yesno = ("no", "yes")
    >>> ldag = LDAG(
    ...     nx.DiGraph([("exposed", "carrier"), ("diagnosis", "carrier")]),
    ...     {("diagnosis", "carrier"): [{"exposed": "no"}]},
    ...     states={"diagnosis": yesno, "exposed": yesno, "carrier": yesno},
    ... )
    >>> ldag.vanishes(("diagnosis", "carrier"), {"exposed": "no"})
    True
    >>> ldag.vanishes(("diagnosis", "carrier"), {"exposed": "yes"})
    False
    """

    def __init__(
        self,
        graph: nx.DiGraph,
        labels: Mapping[Edge, Iterable[Any]],
        *,
        states: Mapping[str, Sequence[Any]],
    ) -> None:
        self.states: Mapping[str, tuple[Any, ...]] = MappingProxyType({v: tuple(s) for v, s in states.items()})
        unknown = [v for v in graph if v not in self.states]
        if unknown:
            raise InputError(f"the states of {', '.join(map(repr, unknown))} are not given, but the graph has them")
        self.graph = nx.DiGraph()
        self.graph.add_nodes_from(self.states)
        self.graph.add_edges_from(graph.edges)
        if not nx.is_directed_acyclic_graph(self.graph):
            cycle = " -> ".join(str(edge[0]) for edge in nx.find_cycle(self.graph))
            raise InputError(f"the graph of an LDAG has no cycles, but this one has {cycle} -> ...")
        nx.freeze(self.graph)
        checked = {edge: tuple(Context(context) for context in contexts) for edge, contexts in labels.items()}
        for edge, contexts in checked.items():
            self._check_label(edge, contexts)
        self.labels: Mapping[Edge, tuple[Context, ...]] = MappingProxyType(
            {edge: contexts for edge, contexts in checked.items() if contexts}
        )

    def _check_label(self, edge: Edge, contexts: Iterable[Context]) -> None:
        if not self.graph.has_edge(*edge):
            raise InputError(f"there is a label for {edge[0]!r} -> {edge[1]!r}, but no such edge")
        others = set(self.graph.predecessors(edge[1])) - {edge[0]}
        for context in contexts:
            for variable, state in context.items():
                if variable not in others:
                    raise InputError(
                        f"the label of {edge[0]!r} -> {edge[1]!r} names {variable!r}, which is not another parent of"
                        f" {edge[1]!r}"
                    )
                if state not in self.states[variable]:
                    raise InputError(f"the label of {edge[0]!r} -> {edge[1]!r}: {variable!r} has no state {state!r}")

    @classmethod
    def from_cstree(cls, tree: CStree) -> LDAG:
        """Return the LDAG of a CStree.

        The edge ``j -> i`` vanishes for an outcome of the other parents exactly if changing ``x_j`` stays in the
        stage, that is if the stage's context does not hold ``j``. So the label is the set of the contexts of the
        stages of ``i`` that do not hold ``j``.
        """
        graph = tree.to_dag()
        labels = {
            (parent, child): [context for context in tree.stagings[child] if parent not in context]
            for parent, child in graph.edges
        }
        return cls(graph, labels, states=tree.states)

    def vanishes(self, edge: Edge, context: Mapping[str, Any]) -> bool:
        """Tell whether an edge vanishes for every outcome of the other parents that agrees with `context`.

        Parameters
        ----------
        edge : tuple of (parent, child)
        context : mapping of variable to state
            Assigns some or all of the other parents; variables that are no parents do not matter.
        """
        if not self.graph.has_edge(*edge):
            raise InputError(f"there is no edge {edge[0]!r} -> {edge[1]!r}")
        others = {v: self.states[v] for v in self.graph.predecessors(edge[1]) if v != edge[0]}
        known = {v: x for v, x in context.items() if v in others}
        return _covers(self.labels.get(edge, ()), known, others)

    def __eq__(self, other: object) -> bool:
        """Tell whether the graphs are the same and the same edges vanish in the same outcomes."""
        if not isinstance(other, LDAG):
            return NotImplemented
        if dict(self.states) != dict(other.states) or set(self.graph.edges) != set(other.graph.edges):
            return False
        return all(
            one.vanishes(edge, context)
            for one, two in ((self, other), (other, self))
            for edge, contexts in two.labels.items()
            for context in contexts
        )

    __hash__ = None  # type: ignore[assignment]  # equality is by meaning, for which there is no cheap hash

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.graph, dict(self.labels), dict(self.states))

    def __repr__(self) -> str:
        return f"LDAG({len(self.graph)} variables, {self.graph.number_of_edges()} edges, {len(self.labels)} labels)"


def _restored(graph: nx.DiGraph, labels: Any, states: Any) -> LDAG:
    """Build a pickled LDAG again."""
    return LDAG(graph, labels, states=states)


def _covers(contexts: Iterable[Context], known: Mapping[str, Any], scope: Mapping[str, Sequence[Any]]) -> bool:
    """Tell whether every outcome of `scope` that agrees with `known` agrees with one of the contexts."""
    open_contexts = [context for context in contexts if context.agrees(known)]
    if any(all(v in known for v in context) for context in open_contexts):
        return True
    free = next((v for context in open_contexts for v in context if v not in known), None)
    if free is None:
        return False
    return all(_covers(open_contexts, {**known, free: state}, scope) for state in scope[free])
