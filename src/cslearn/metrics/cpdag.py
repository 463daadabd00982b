"""The CPDAG of a DAG: its Markov equivalence class.

Two DAGs are Markov equivalent exactly if they have the same skeleton and the same v-structures, ``a -> c <- b`` with
``a`` and ``b`` not adjacent (Verma and Pearl). The CPDAG directs the edges that point the same way in the whole class:
those of the v-structures, and what follows from them by the rules of Meek, applied until nothing changes.

1. ``a -> b - c`` with ``a`` and ``c`` not adjacent: ``b -> c``, or there would be another v-structure.
2. ``a -> b -> c`` and ``a - c``: ``a -> c``, or there would be a cycle.
3. ``a - b``, ``a - c``, ``a - d``, ``b -> d``, ``c -> d`` with ``b`` and ``c`` not adjacent: ``a -> d``.

(A fourth rule is needed only where background knowledge directs further edges.)
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from cslearn._checked import checked
from cslearn.errors import InputError

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["cpdag"]


@checked
def cpdag(dag: nx.DiGraph) -> nx.DiGraph:
    """Return the CPDAG of a DAG.

    Parameters
    ----------
    dag : networkx.DiGraph
        Edges from parent to child.

    Returns
    -------
    networkx.DiGraph
        An undirected edge stands in both directions.

    Examples
    --------
    >>> import networkx as nx
    >>> from cslearn.metrics import cpdag
    >>> sorted(cpdag(nx.DiGraph([("a", "b"), ("b", "c")])).edges)
    [('a', 'b'), ('b', 'a'), ('b', 'c'), ('c', 'b')]
    >>> sorted(cpdag(nx.DiGraph([("a", "b"), ("c", "b")])).edges)
    [('a', 'b'), ('c', 'b')]
    """
    import networkx as nx

    if not nx.is_directed_acyclic_graph(dag):
        raise InputError("a CPDAG is made from a DAG, and this graph has a cycle or undirected edges")
    adjacent = {v: {*dag.predecessors(v), *dag.successors(v)} for v in dag}
    parents: dict[object, set[object]] = {v: set() for v in dag}
    for child in dag:
        for a, b in combinations(dag.predecessors(child), 2):
            if b not in adjacent[a]:
                parents[child] |= {a, b}
    undirected = {v: {u for u in adjacent[v] if u not in parents[v] and v not in parents[u]} for v in dag}

    def follows(a: object, b: object) -> bool:
        """Tell whether one of the rules directs the undirected edge from a to b."""
        if any(c not in adjacent[b] for c in parents[a]):
            return True
        if any(a in parents[c] for c in parents[b]):
            return True
        middle = undirected[a] & parents[b]
        return any(d not in adjacent[c] for c, d in combinations(middle, 2))

    # What a new direction may decide is next to it.
    left = {(a, b) for a in dag for b in undirected[a]}
    while left:
        a, b = left.pop()
        if b not in undirected[a] or not follows(a, b):
            continue
        undirected[a].discard(b)
        undirected[b].discard(a)
        parents[b].add(a)
        for end in (a, b):
            near = {end, *adjacent[end]}
            left |= {(u, v) for u in near for v in undirected[u]}
    result = nx.DiGraph()
    result.add_nodes_from(dag)
    result.add_edges_from((a, b) for b in dag for a in parents[b])
    result.add_edges_from((a, b) for a in dag for b in undirected[a])
    return result
