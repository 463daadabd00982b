"""Distances between graphs, with and without contexts.

The *structural Hamming distance* is the number of pairs of variables between which two graphs differ: an edge that one
lacks, or another direction. Each pair counts once, so a reversed edge counts one. Between CPDAGs an undirected edge
differs from a directed one.

An LDAG is one DAG for each outcome of all variables: the edges that do not vanish in it. The *distance of LDAGs* is the
structural Hamming distance of these DAGs, averaged over all outcomes, each as probable as any other. Without labels it
is that of the DAGs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

from cslearn._checked import checked
from cslearn.cstree import CStree
from cslearn.errors import InputError
from cslearn.graphs import LDAG
from cslearn.metrics.cpdag import cpdag as cpdag_of
from cslearn.stagings import Context

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["EdgeScores", "edge_scores", "graph_of", "ldag_distance", "share_covered", "shd"]

Model: TypeAlias = "CStree | LDAG | nx.DiGraph"
Edge = tuple[str, str]


def graph_of(model: CStree | LDAG | nx.DiGraph) -> nx.DiGraph:
    """Return the graph of a model; a networkx graph is its own."""
    return model.to_dag() if isinstance(model, CStree) else model.graph if isinstance(model, LDAG) else model


def _same_nodes(a: nx.DiGraph, b: nx.DiGraph) -> None:
    odd = set(a) ^ set(b)
    if odd:
        raise InputError(f"the models have different variables: {', '.join(sorted(map(str, odd)))}")


@checked
def shd(a: Model, b: Model, *, cpdag: bool = False) -> int:
    """Return the structural Hamming distance of two graphs: the number of pairs of variables in which they differ.

    Parameters
    ----------
    a, b : CStree, LDAG or networkx.DiGraph
        A networkx graph may have undirected edges, that is edges in both directions.
    cpdag : bool
        Compare the CPDAGs: the distance is then zero exactly for Markov equivalent DAGs.

    Examples
    --------
    >>> import networkx as nx
    >>> from cslearn.metrics import shd
    >>> a, b = nx.DiGraph([("x", "y"), ("y", "z")]), nx.DiGraph([("y", "x"), ("y", "z")])
    >>> shd(a, b), shd(a, b, cpdag=True)
    (1, 0)
    """
    first, second = graph_of(a), graph_of(b)
    _same_nodes(first, second)
    if cpdag:
        first, second = cpdag_of(first), cpdag_of(second)
    return len({frozenset(edge) for edge in set(first.edges) ^ set(second.edges)})


@dataclass(frozen=True)
class EdgeScores:
    """How many of the edges (or relations) of a model are in a reference, and how many of the reference's it has.

    Attributes
    ----------
    n_reference, n_model : int
        How many there are.
    n_right : int
        How many of the model's are right.
    n_found : int
        How many of the reference's were found; the same as `n_right` for edges.
    """

    n_reference: int
    n_model: int
    n_right: int
    n_found: int

    @property
    def precision(self) -> float:
        """Share of the model's that are right; 1 if it has none."""
        return self.n_right / self.n_model if self.n_model else 1.0

    @property
    def recall(self) -> float:
        """Share of the reference's that were found; 1 if it has none."""
        return self.n_found / self.n_reference if self.n_reference else 1.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


@checked
def edge_scores(reference: Model, model: Model, *, skeleton: bool = False) -> EdgeScores:
    """Return precision and recall of the edges of a model.

    Parameters
    ----------
    reference, model : CStree, LDAG or networkx.DiGraph
    skeleton : bool
        Leave the directions out of account.

    Examples
    --------
    >>> import networkx as nx
    >>> from cslearn.metrics import edge_scores
    >>> truth, found = nx.DiGraph([("x", "y"), ("y", "z")]), nx.DiGraph([("y", "x"), ("y", "z")])
    >>> edge_scores(truth, found).precision, edge_scores(truth, found, skeleton=True).precision
    (0.5, 1.0)
    """
    first, second = graph_of(reference), graph_of(model)
    _same_nodes(first, second)
    true, given = ({frozenset(edge) if skeleton else edge for edge in graph.edges} for graph in (first, second))  # type: set[Any], set[Any]
    right = len(true & given)
    return EdgeScores(len(true), len(given), right, right)


@checked
def ldag_distance(a: CStree | LDAG, b: CStree | LDAG) -> float:
    """Return the distance of two LDAGs, labels included: the average over all outcomes of that of their DAGs.

    Examples
    --------
    >>> from cslearn import CStree
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.metrics import ldag_distance, shd
    >>> tree = chickenpox_model()
    >>> without = CStree.from_dag(tree.to_dag(), states=tree.states)
    >>> shd(tree, without)
    0
    >>> ldag_distance(tree, without)  # background -> exposed vanishes in 1/2, -> carrier in 3/4, diagnosis -> in 1/2
    1.75
    """
    first, second = (model.to_ldag() if isinstance(model, CStree) else model for model in (a, b))
    _same_nodes(first.graph, second.graph)
    for variable, states in first.states.items():
        if set(states) != set(second.states[variable]):
            raise InputError(f"the models have different states of {variable!r}")
    total = 0.0
    for pair in {frozenset(edge) for graph in (first.graph, second.graph) for edge in graph.edges}:
        total += _share_differing(first, second, pair)
    return total


def _share_differing(first: LDAG, second: LDAG, pair: frozenset[str]) -> float:
    """Return the share of outcomes in which two LDAGs differ between two variables."""
    one, other = (next((e for e in ldag.graph.edges(pair) if set(e) == pair), None) for ldag in (first, second))
    if one is None or other is None:
        ldag, edge = (first, one) if one is not None else (second, other)
        assert edge is not None
        return 1.0 - share_covered(ldag.labels.get(edge, ()), first.states)
    ours, theirs = first.labels.get(one, ()), second.labels.get(other, ())
    both = [x | y for x, y in product(ours, theirs) if x.agrees(y)]
    share_both = share_covered(both, first.states)
    if one != other:  # alike only where both vanish
        return 1.0 - share_both
    return share_covered(ours, first.states) + share_covered(theirs, first.states) - 2 * share_both


def share_covered(contexts: Iterable[Context], states: Mapping[str, Sequence[Any]]) -> float:
    """Return the share of all outcomes that agree with at least one of the contexts."""
    left = list(contexts)
    if not left:
        return 0.0
    if any(not context for context in left):
        return 1.0
    counts: dict[str, int] = {}
    for context in left:
        for v in context:
            counts[v] = counts.get(v, 0) + 1
    split = max(counts, key=counts.__getitem__)
    total = 0.0
    for state in states[split]:
        rest = {
            Context((v, x) for v, x in context.items() if v != split)
            for context in left
            if context.get(split, state) == state
        }
        total += share_covered(rest, states)
    return total / len(states[split])
