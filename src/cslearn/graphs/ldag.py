"""Labelled directed acyclic graphs (paper, section 3 and supplement, section 1).

The label of an edge ``j -> i`` is the set of the outcomes of the other parents of ``i`` in which ``i`` does not depend
on ``j``. For a CStree it follows from the stages of ``i``. A stage with context ``x_S`` says that ``i`` is independent
of all other variables before it given ``x_S``. If ``j`` is a parent that the context leaves out, weak union moves the
parents outside ``S`` and other than ``j`` to the condition, decomposition drops what is no parent, and there remains

    i _||_ j | pa(i) - S - j, x_S        for every j in pa(i) - S.

So all outcomes of the other parents that agree with ``x_S`` belong to the label. If ``j`` is in ``S``, changing its
state leads to another stage, with a distribution of its own, and no such outcome belongs to it:

    L(j, i) = {outcomes of pa(i) - j that agree with x_S : x_S is a context of a stage of i, j not in S}.

(The supplement prints the relation for ``j`` *outside* the parents, where there is no edge, and its formula for the
label lacks the condition that ``j`` is not in ``S``; without it every label would be the set of all outcomes. Its
examples follow the formula above.)

A label is kept in compact form, as few contexts as possible, whose variables left out stand for any state: see
:mod:`cslearn.graphs.patterns`. Contexts of stages are kept where they are as few as any, as in Figure 1b of the paper;
otherwise the contexts are as short as possible and may overlap, as in the supplement.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from cslearn._checked import checked
from cslearn._parameters import LABELS, STATES, Row, check, kind
from cslearn.errors import InputError, LimitError
from cslearn.graphs.patterns import PATTERN_LIMIT, hole, smallest_cover
from cslearn.graphs.relations import CSIRelation, label_relations
from cslearn.stagings import Context, Staging
from cslearn.stagings.trees import decision_tree

if TYPE_CHECKING:
    import networkx as nx

    from cslearn.cstree import CStree
    from cslearn.plots._figure import Picture

__all__ = ["LDAG"]

# The outcomes of the parents of a variable are listed up to this number.
OUTCOME_LIMIT = 1 << 16

Edge = tuple[str, str]


@checked
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
        import networkx as nx

        check(
            {"graph": Row(kind("a DiGraph of networkx", nx.DiGraph)), "labels": Row(LABELS), "states": Row(STATES)},
            {"graph": graph, "labels": labels, "states": states},
        )
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
        checked = {
            edge: tuple(c if isinstance(c, Context) else Context(c) for c in contexts)
            for edge, contexts in labels.items()
        }
        parents: dict[str, set[str]] = {}
        for edge, contexts in checked.items():
            if not self.graph.has_edge(*edge):
                raise InputError(f"there is a label for {edge[0]!r} -> {edge[1]!r}, but no such edge")
            if edge[1] not in parents:
                parents[edge[1]] = set(self.graph.predecessors(edge[1]))
            self._check_label(edge, contexts, parents[edge[1]])
        self.labels: Mapping[Edge, tuple[Context, ...]] = MappingProxyType(
            {edge: contexts for edge, contexts in checked.items() if contexts}
        )

    def _check_label(self, edge: Edge, contexts: Iterable[Context], parents: set[str]) -> None:
        for context in contexts:
            for variable, state in context.items():
                if variable not in parents or variable == edge[0]:
                    raise InputError(
                        f"the label of {edge[0]!r} -> {edge[1]!r} names {variable!r}, which is not another parent of"
                        f" {edge[1]!r}"
                    )
                if state not in self.states[variable]:
                    raise InputError(f"the label of {edge[0]!r} -> {edge[1]!r}: {variable!r} has no state {state!r}")

    @classmethod
    def from_cstree(cls, tree: CStree) -> LDAG:
        """Return the LDAG of a CStree, with compact labels."""
        labels: dict[Edge, Sequence[Context]] = {}
        for child in tree.order:
            branches = _branches_without(tree.stagings[child])
            for parent, found in branches.items():
                if len(found) <= PATTERN_LIMIT:
                    stages = [context for context in tree.stagings[child] if parent not in context]
                    scope = {v: tree.states[v] for v in branches if v != parent}
                    labels[parent, child] = smallest_cover(stages, scope)
                else:
                    labels[parent, child] = found
        return cls(tree.to_dag(), labels, states=tree.states)

    def compact(self) -> LDAG:
        """Return the same LDAG with as few contexts in each label as possible.

        A label that has the fewest already is kept as it is. Of more than eight contexts, those are joined that differ
        in one variable and have all its states between them.

        Examples
        --------
        >>> import networkx as nx
        >>> from cslearn import LDAG
        >>> ldag = LDAG(
        ...     nx.DiGraph([("a", "c"), ("b", "c")]),
        ...     {("a", "c"): [{"b": 0}, {"b": 2}, {"b": 1}]},
        ...     states={"a": (0, 1), "b": (0, 1, 2), "c": (0, 1)},
        ... )
        >>> ldag.compact().labels["a", "c"]
        (Context({}),)
        """
        labels = {edge: smallest_cover(label, self._others(edge)) for edge, label in self.labels.items()}
        return LDAG(self.graph, labels, states=self.states)

    def _others(self, edge: Edge) -> dict[str, tuple[Any, ...]]:
        """Return the parents of the child other than the edge's own, with their states."""
        if not self.graph.has_edge(*edge):
            raise InputError(f"there is no edge {edge[0]!r} -> {edge[1]!r}")
        return {v: self.states[v] for v in self.graph.predecessors(edge[1]) if v != edge[0]}

    def vanishes(self, edge: Edge, context: Mapping[str, Any]) -> bool:
        """Tell whether an edge vanishes for every outcome of the other parents that agrees with `context`.

        Parameters
        ----------
        edge : tuple of (parent, child)
        context : mapping of variable to state
            Assigns some or all of the other parents; variables that are no parents do not matter.
        """
        others = self._others(edge)
        known = {v: x for v, x in context.items() if v in others}
        for variable, state in known.items():
            if state not in others[variable]:
                raise InputError(
                    f"{variable!r} has no state {state!r} (it has {', '.join(map(str, others[variable]))})"
                )
        return hole(self.labels.get(edge, ()), known, others) is None

    def label_text(self, edge: Edge, *, stars: bool = False) -> str:
        """Return the label of an edge as text; the empty text if it has none.

        Parameters
        ----------
        edge : tuple of (parent, child)
        stars : bool
            Write tuples of states over all other parents, with ``*`` for any state, as the paper does.

        Examples
        --------
        >>> from cslearn.datasets import chickenpox_model
        >>> ldag = chickenpox_model().to_ldag()
        >>> ldag.label_text(("background", "carrier"))
        'exposed=no; exposed=yes, diagnosis=no'
        >>> ldag.label_text(("background", "carrier"), stars=True)
        '(diagnosis, exposed) = (*, no), (no, yes)'
        """
        others = self._others(edge)
        label = self.labels.get(edge, ())
        if not stars or not label:
            return "; ".join(str(context) or "always" for context in label)
        patterns = (", ".join(str(context.get(v, "*")) for v in others) for context in label)
        return f"({', '.join(others)}) = " + ", ".join(f"({pattern})" for pattern in patterns)

    def to_networkx(self) -> nx.DiGraph:
        """Return a graph whose labelled edges have the attributes ``label``, a text, and ``contexts``, dictionaries.

        Examples
        --------
        >>> from cslearn.datasets import chickenpox_model
        >>> graph = chickenpox_model().to_ldag().to_networkx()
        >>> graph.edges["background", "exposed"]
        {'label': 'diagnosis=yes', 'contexts': [{'diagnosis': 'yes'}]}
        >>> graph.edges["exposed", "carrier"]
        {}
        """
        import networkx as nx

        graph = nx.DiGraph()
        for v in self.graph:
            graph.add_node(v, states=list(self.states[v]))
        graph.add_edges_from(self.graph.edges)
        for edge, label in self.labels.items():
            graph.edges[edge].update(label=self.label_text(edge), contexts=[dict(context) for context in label])
        return graph

    def joined_outcomes(self, child: str) -> list[list[tuple[Any, ...]]]:
        """Return the outcomes of the parents of a variable in groups that share its distribution.

        Two outcomes that differ in one parent only are in the same group if the edge from that parent vanishes there.

        Returns
        -------
        list of lists of tuples of states
            The parents in the order of ``graph.predecessors(child)``.

        Examples
        --------
        >>> from cslearn.datasets import chickenpox_model
        >>> ldag = chickenpox_model().to_ldag()
        >>> list(ldag.graph.predecessors("exposed"))
        ['background', 'diagnosis']
        >>> ldag.joined_outcomes("exposed")
        [[('rural', 'no')], [('rural', 'yes'), ('urban', 'yes')], [('urban', 'no')]]
        """
        import numpy as np
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        if child not in self.states:
            raise InputError(f"the LDAG has no variable {child!r}; it has {', '.join(map(repr, self.states))}")
        scope = {v: self.states[v] for v in self.graph.predecessors(child)}
        size = prod(map(len, scope.values()))
        if size > OUTCOME_LIMIT:
            raise LimitError(
                f"{child!r} has parents with more than the limit of {OUTCOME_LIMIT:,} joint outcomes, too many to"
                " read its stages off the labels"
            )
        outcomes = list(product(*scope.values()))
        free = {v: states for v, states in scope.items() if len(states) > 1}
        shape = tuple(map(len, free.values()))
        code = {v: {state: x for x, state in enumerate(states)} for v, states in free.items()}
        numbers = np.arange(size).reshape(shape)
        pairs = np.empty((2, 0), dtype=numbers.dtype)
        for axis, parent in enumerate(free):
            covered = np.zeros(shape, dtype=bool)
            for context in dict.fromkeys(self.labels.get((parent, child), ())):
                covered[tuple(code[v][context[v]] if v in context else slice(None) for v in free)] = True
            first = np.broadcast_to(np.take(numbers, [0], axis), shape)
            pairs = np.concatenate([pairs, [numbers[covered], first[covered]]], axis=1)
        if not pairs.size:
            return [[outcome] for outcome in outcomes]
        graph = coo_array((np.ones(pairs.shape[1], dtype=bool), (pairs[0], pairs[1])), shape=(size, size))
        groups: dict[int, list[tuple[Any, ...]]] = {}
        for outcome, group in zip(outcomes, connected_components(graph)[1].tolist(), strict=True):
            groups.setdefault(group, []).append(outcome)
        return list(groups.values())

    def csi_relations(self) -> list[CSIRelation]:
        """Return the relations of the labels: ``child _||_ parent | other parents, context``, one for each context.

        Together with those of the graph they define the model.

        Examples
        --------
        >>> from cslearn.datasets import chickenpox_model
        >>> for relation in chickenpox_model().to_ldag().csi_relations():
        ...     print(relation)
        exposed _||_ background | diagnosis=yes
        carrier _||_ background | diagnosis, exposed=no
        carrier _||_ background | exposed=yes, diagnosis=no
        carrier _||_ diagnosis | background, exposed=no
        """
        return label_relations(self)

    def implies(self, relation: CSIRelation | str) -> bool:
        """Tell whether the LDAG entails a CSI relation; see :meth:`cslearn.CStree.implies`.

        The model of an LDAG need not be a CStree for that.

        Examples
        --------
        >>> import networkx as nx
        >>> from cslearn import LDAG
        >>> ldag = LDAG(
        ...     nx.DiGraph([("a", "c"), ("b", "c")]),
        ...     {("a", "c"): [{"b": 0}], ("b", "c"): [{"a": 0}]},
        ...     states={"a": (0, 1), "b": (0, 1), "c": (0, 1)},
        ... )
        >>> ldag.implies("c _||_ a | b=0"), ldag.implies("c _||_ a | b=1"), ldag.implies("a _||_ b")
        (True, False, True)
        """
        from cslearn.graphs.entailment import implies

        return implies(self, relation)

    # ------------------------------------------------------------------ pictures
    def plot(self, **options: Any) -> Picture:
        """Draw the LDAG; `options` are those of :func:`cslearn.plots.plot_ldag`. Needs the extra ``cslearn[plots]``.

        Examples
        --------
        >>> from cslearn.datasets import chickenpox_model
        >>> picture = chickenpox_model().to_ldag().plot(labels="legend")
        >>> picture.savefig("ldag.svg")  # doctest: +SKIP
        """
        from cslearn.plots import plot_ldag

        return plot_ldag(self, **options)

    def to_dot(self, **options: Any) -> str:
        """Return the LDAG for Graphviz; `options` are those of :func:`cslearn.plots.ldag_to_dot`."""
        from cslearn.plots import ldag_to_dot

        return ldag_to_dot(self, **options)

    def to_tikz(self, **options: Any) -> str:
        """Return the LDAG for LaTeX; `options` are those of :func:`cslearn.plots.ldag_to_tikz`."""
        from cslearn.plots import ldag_to_tikz

        return ldag_to_tikz(self, **options)

    def _repr_svg_(self) -> str | None:
        from cslearn.plots.graph import notebook_svg

        return notebook_svg(self)

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
            if set(contexts) != set(one.labels.get(edge, ()))
            for context in contexts
        )

    __hash__ = None  # type: ignore[assignment]  # equality is by meaning, for which there is no cheap hash

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.graph, dict(self.labels), dict(self.states))

    def __repr__(self) -> str:
        return f"LDAG({len(self.graph)} variables, {self.graph.number_of_edges()} edges, {len(self.labels)} labels)"


def _branches_without(staging: Staging) -> dict[Any, list[Context]]:
    """Return for each context variable the largest branches of the decision tree in which it does not occur.

    They cover what the contexts without the variable cover. All variables go down the tree together: O(stages) for
    each of them.
    """
    contexts = staging.contexts
    nodes = decision_tree(contexts)
    used: list[set[Any]] = [set() for _ in nodes]
    for k in reversed(range(len(nodes))):
        node = nodes[k]
        if node.children:
            used[k] = {node.variable}.union(*(used[child] for child in node.children.values()))
        elif len(node.stages) > 1:
            used[k] = set().union(*(contexts[stage] for stage in node.stages))
        else:
            used[k] = set(contexts[node.stages[0]])
    found: dict[Any, list[Context]] = {v: [] for v in staging.context_variables}
    left: list[tuple[int, Context, set[Any]]] = [(0, Context(), set(found))]
    while left:
        k, way, wanted = left.pop()
        node = nodes[k]
        inner = bool(node.children)
        if not inner:
            for stage in node.stages:
                for v in wanted.difference(contexts[stage]):
                    found[v].append(contexts[stage])
            continue
        for v in wanted - used[k]:
            found[v].append(way)
        deeper = (wanted & used[k]) - {node.variable}
        if deeper:
            left += [(child, way | {node.variable: x}, deeper) for x, child in reversed(node.children.items())]
    return found


def _restored(graph: nx.DiGraph, labels: Any, states: Any) -> LDAG:
    """Build a pickled LDAG again."""
    return LDAG(graph, labels, states=states)
