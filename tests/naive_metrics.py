"""Slow and obvious twins of the metrics."""

from itertools import combinations, product

import networkx as nx


def dags(nodes):
    """All DAGs on some nodes."""
    pairs = list(combinations(nodes, 2))
    for choice in product((None, 0, 1), repeat=len(pairs)):
        graph = nx.DiGraph()
        graph.add_nodes_from(nodes)
        graph.add_edges_from(
            pair if way == 0 else pair[::-1] for pair, way in zip(pairs, choice, strict=True) if way is not None
        )
        if nx.is_directed_acyclic_graph(graph):
            yield graph


def independences(dag):
    """All d-separations of single variables given sets: they tell the Markov equivalence class."""
    found = set()
    for a, b in combinations(sorted(dag), 2):
        others = [v for v in dag if v not in (a, b)]
        for size in range(len(others) + 1):
            for given in combinations(others, size):
                if nx.is_d_separator(dag, {a}, {b}, set(given)):
                    found.add((a, b, frozenset(given)))
    return frozenset(found)


def union(graphs):
    """The edges of all graphs of an equivalence class together: an edge in both directions is undirected."""
    return {edge for graph in graphs for edge in graph.edges}


def shd(a, b):
    """Pairs of variables that differ."""
    return sum(
        ((u, v) in a.edges, (v, u) in a.edges) != ((u, v) in b.edges, (v, u) in b.edges)
        for u, v in combinations(sorted(a), 2)
    )


def ldag_distance(a, b):
    """The mean over all outcomes of the distance of the DAGs that are left."""
    total, n = 0, 0
    for values in product(*a.states.values()):
        outcome = dict(zip(a.states, values, strict=True))
        left = []
        for ldag in (a, b):
            graph = nx.DiGraph()
            graph.add_nodes_from(ldag.graph)
            graph.add_edges_from(e for e in ldag.graph.edges if not ldag.vanishes(e, outcome))
            left.append(graph)
        total += shd(*left)
        n += 1
    return total / n


def kendall(a, b):
    return sum((a.index(u) < a.index(v)) != (b.index(u) < b.index(v)) for u, v in combinations(a, 2))
