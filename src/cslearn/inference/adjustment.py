"""What to adjust for: back-door sets of an exposure and an outcome, and the Markov blanket of a variable.

A set is a valid adjustment, by the back-door criterion, if it holds no descendant of the exposure and separates
exposure from outcome once the arrows out of the exposure are gone. This is separation in an undirected graph (Lauritzen
and others): that of the ancestors of the two, with the parents of each variable joined and arrows turned into lines. No
minimal set needs a variable that is not such an ancestor. A variable that may not be adjusted for is left out of the
graph, with its neighbours joined, since it blocks nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any

from cslearn._checked import checked
from cslearn.errors import InputError

if TYPE_CHECKING:
    import networkx as nx

    from cslearn.cstree import CStree

__all__ = ["adjustment_sets", "markov_blanket"]

# Sets that are listed: there may be exponentially many.
MOST_SETS = 100


@checked
def adjustment_sets(
    model: CStree | nx.DiGraph, exposure: str, outcome: str, *, limit: int = MOST_SETS
) -> list[tuple[str, ...]]:
    """Return the minimal sets of variables that adjust for all confounding of an exposure and an outcome.

    Each is a valid back-door set of which no variable can be left out. The parents of the exposure are always a valid
    set too, not always a minimal one.

    Parameters
    ----------
    model : CStree or networkx.DiGraph
        Of a CStree its DAG is used, ``tree.to_dag()``.
    exposure, outcome : str
    limit : int
        Most sets to return; there may be exponentially many.

    Returns
    -------
    list of tuple of str
        The smallest first. The empty tuple means that there is nothing to adjust for. The list is empty if the outcome
        is a parent of the exposure: then no set helps, and the model knows no effect.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.inference import adjustment_sets
    >>> adjustment_sets(chickenpox_model(), "exposed", "carrier")
    [('background', 'diagnosis')]
    >>> adjustment_sets(chickenpox_model(), "diagnosis", "carrier")
    [()]
    """
    import networkx as nx

    dag = _dag(model)
    for name in (exposure, outcome):
        _check(dag, name)
    if exposure == outcome:
        raise InputError(f"{exposure!r} is both exposure and outcome")
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise InputError(f"limit is a whole number, at least 1, not {limit!r}")
    kept = dag.copy()
    kept.remove_edges_from(list(dag.out_edges(exposure)))
    relevant = nx.ancestors(kept, exposure) | nx.ancestors(kept, outcome) | {exposure, outcome}
    moral = nx.moral_graph(kept.subgraph(relevant))
    graph = {v: set(moral[v]) for v in moral}
    for v in (nx.descendants(dag, exposure) - {outcome}) & relevant:
        _eliminate(graph, v)
    position = {v: i for i, v in enumerate(dag)}
    found = [tuple(sorted(s, key=position.__getitem__)) for s in islice(_separators(graph, exposure, outcome), limit)]
    return sorted(found, key=lambda names: (len(names), [position[v] for v in names]))


@checked
def markov_blanket(model: CStree | nx.DiGraph, variable: str) -> tuple[str, ...]:
    """Return the Markov blanket of a variable: its parents, its children, and the other parents of these.

    Given the states of these, no other variable of the model tells anything more about it.

    Parameters
    ----------
    model : CStree or networkx.DiGraph
    variable : str

    Returns
    -------
    tuple of str
        In the order of the model's variables.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.inference import markov_blanket
    >>> markov_blanket(chickenpox_model(), "background")
    ('diagnosis', 'exposed', 'carrier')
    """
    dag = _dag(model)
    _check(dag, variable)
    children = list(dag.successors(variable))
    near = {*dag.predecessors(variable), *children, *(v for child in children for v in dag.predecessors(child))}
    return tuple(v for v in dag if v in near and v != variable)


def _dag(model: Any) -> nx.DiGraph:
    import networkx as nx

    dag = model.to_dag() if hasattr(model, "to_dag") else model
    if not isinstance(dag, nx.DiGraph) or not nx.is_directed_acyclic_graph(dag):
        raise InputError(f"a CStree or a directed acyclic networkx graph is needed, not {model!r}")
    return dag


def _check(dag: nx.DiGraph, name: Any) -> None:
    if name not in dag:
        known = ", ".join(repr(v) for v in islice(dag, 20)) + (" and more" if len(dag) > 20 else "")
        raise InputError(f"the model has no variable {name!r}; it has {known}")


def _eliminate(graph: dict[str, set[str]], v: str) -> None:
    neighbours = graph.pop(v)
    for u in neighbours:
        graph[u].discard(v)
    for a, b in combinations(neighbours, 2):
        graph[a].add(b)
        graph[b].add(a)


def _separators(graph: dict[str, set[str]], a: str, b: str) -> Iterator[frozenset[str]]:
    """Go through the minimal sets that separate `a` from `b` in an undirected graph (Kloks and Kratsch).

    The first is the one nearest to `a`. From each, others arise by moving one of its members to the side of `a`.
    """
    if b in graph[a]:
        return
    first = _boundary(graph, b, graph[a])
    seen, waiting = {first}, deque([first])
    while waiting:
        separator = waiting.popleft()
        yield separator
        for v in sorted(separator):
            if b in graph[v]:
                continue
            # What is reached from b without the separator and the neighbours of v; it keeps a apart, as before.
            following = _boundary(graph, b, separator | graph[v])
            if following not in seen:
                seen.add(following)
                waiting.append(following)


def _boundary(graph: dict[str, set[str]], start: str, without: Iterable[str]) -> frozenset[str]:
    """Return the neighbours of what is reached from `start` in the graph without some variables."""
    blocked = set(without)
    reached, waiting = {start}, [start]
    while waiting:
        for u in graph[waiting.pop()] - reached - blocked:
            reached.add(u)
            waiting.append(u)
    return frozenset(set().union(*(graph[v] for v in reached)) - reached)
