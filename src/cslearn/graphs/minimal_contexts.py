"""Minimal contexts and their graphs (supplement, section 1), and Markov equivalence.

**Minimal contexts.** Take every relation ``A _||_ B | C, x_S`` that the model entails. Absorption moves a variable of
the context to the condition, if the relation holds for all its states. Contexts from which nothing more can be
absorbed are minimal. They are found from pairs of variables. In a distribution without zeros ``A _||_ B | C, x_S``
says the same as all ``a _||_ b | everything else in A, B and C, x_S`` with ``a`` in ``A`` and ``b`` in ``B`` (weak
union one way, intersection the other). So let ``U`` be a set of variables, ``a`` and ``b`` two of them, and ``f`` the
set of those outcomes of the rest of ``U`` in which ``a`` and ``b`` are independent: what holds and what is minimal for
this pair are the patterns within ``f`` and the prime patterns of ``f`` (:mod:`cslearn.graphs.patterns`). A context is
minimal for ``A`` and ``B`` if all pairs hold in it and each variable of it is needed by one of them. As absorption of
several variables can be done one at a time, nothing else has to be looked at.

**Context graphs.** The graph of a minimal context has the variables outside it, in the order of the CStree, and an
edge ``i -> j`` unless ``j`` is independent of ``i`` given the others before ``j``, in that context: a minimal I-MAP of
the relations with this context. The empty context is always listed; its graph is the minimal I-MAP of the whole model.

**Markov equivalence.** Two CStrees stand for the same set of distributions exactly if each entails the relations that
define the other. One direction is enough if they have the same number of free parameters: both sets are the images of
the open sets of parameters under injective polynomial maps, so if one contains the other and the dimensions are the
same, a polynomial that vanishes on the smaller vanishes on the larger too.

That the minimal contexts are the same, and for each of them the graphs have the same skeleton and v-structures, is
*sufficient* for equivalence. It is not necessary, although the supplement quotes it as such: what holds in a context
need not be the d-separations of a DAG. Let ``a -> b -> d``, ``a -> e`` and ``d -> c <- e``, and let ``y`` depend on
nothing if ``c = 1`` and on everything otherwise. Given ``c = 1`` the variables ``a, b, d, e`` form a ring without
chords, which no DAG can say. Its minimal I-MAPs have a chord, ``a - d`` or ``b - e``, according to whether ``d`` comes
before ``e`` in the order or after it, although these two orders make no difference to the model. Equivalence is
therefore decided by entailment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, product
from math import comb, prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cslearn._checked import checked
from cslearn.errors import InputError, LimitError
from cslearn.graphs.entailment import PRIMES, Entailment, ranks_one
from cslearn.graphs.relations import CSIRelation
from cslearn.stagings import Context, Staging
from cslearn.stagings.trees import decision_tree

if TYPE_CHECKING:
    import networkx as nx

    from cslearn.cstree import CStree
    from cslearn.plots._figure import Picture

__all__ = ["MinimalContexts", "is_markov_equivalent", "minimal_contexts"]

# Bounds of the search for minimal contexts: outcomes of all variables together, and pairs in sets of variables.
OUTCOME_LIMIT = 1 << 18
PAIR_LIMIT = 100_000
# Markov equivalence is given up after so many relations that cannot be decided, while none refutes it.
UNDECIDED_LIMIT = 5

Bools = NDArray[np.bool_]
Codes = frozenset[tuple[int, int]]


@checked
class MinimalContexts(Mapping[Context, "nx.DiGraph"]):
    """The minimal contexts of a CStree, each with its graph; made by :meth:`cslearn.CStree.minimal_contexts`.

    Examples
    --------
    >>> from cslearn.datasets import supplement_model
    >>> found = supplement_model().minimal_contexts()
    >>> print(found)
    (always): X1 -> X3, X1 -> X4, X2 -> X3, X2 -> X4, X3 -> X4
    X1=1: X2 -> X3, X3 -> X4
    X2=1: X1 -> X4, X3 -> X4
    X3=1: X1 -> X2, X1 -> X4
    >>> sorted(found[{"X2": 1}].nodes)
    ['X1', 'X3', 'X4']
    """

    def __init__(self, graphs: Mapping[Context, nx.DiGraph]) -> None:
        self._graphs = dict(graphs)

    @property
    def contexts(self) -> tuple[Context, ...]:
        """The contexts, the shortest first."""
        return tuple(self._graphs)

    def __getitem__(self, context: Mapping[str, Any]) -> nx.DiGraph:
        return self._graphs[context if isinstance(context, Context) else Context(context)]

    def __iter__(self) -> Iterator[Context]:
        return iter(self._graphs)

    def __len__(self) -> int:
        return len(self._graphs)

    def same_graphs(self, other: MinimalContexts) -> bool:
        """Tell whether contexts, and for each the skeleton and the v-structures of its graph, are the same.

        If so, the CStrees are Markov equivalent. The reverse does not always hold; see
        :meth:`cslearn.CStree.is_markov_equivalent`.

        Examples
        --------
        >>> from cslearn.datasets import dense_model, supplement_model
        >>> supplement_model().minimal_contexts().same_graphs(dense_model().minimal_contexts())
        False
        """
        return set(self) == set(other) and all(_shape(self[c]) == _shape(other[c]) for c in self)

    def plot(self, **options: Any) -> Picture:
        """Draw the graphs side by side; `options` are those of :func:`cslearn.plots.plot_context_graphs`.

        Examples
        --------
        >>> from cslearn.datasets import supplement_model
        >>> picture = supplement_model().minimal_contexts().plot(columns=4)
        """
        from cslearn.plots import plot_context_graphs

        return plot_context_graphs(self, **options)

    def __str__(self) -> str:
        lines = []
        for context, graph in self.items():
            edges = ", ".join(f"{i} -> {j}" for i, j in graph.edges)
            lines.append(f"{str(context) or '(always)'}: {edges or 'no edges'}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"MinimalContexts({len(self)} contexts)"


def _shape(graph: nx.DiGraph) -> tuple[Any, ...]:
    """Return what Markov equivalent DAGs share: variables, skeleton, v-structures."""
    skeleton = {frozenset(edge) for edge in graph.edges}
    meets = {
        (frozenset((i, k)), j)
        for j in graph
        for i, k in combinations(graph.predecessors(j), 2)
        if frozenset((i, k)) not in skeleton
    }
    return set(graph), skeleton, meets


# ---------------------------------------------------------------- all pairwise relations
class PairwiseRelations:
    """All relations between two variables that a CStree entails, given any others in any context.

    For a set ``U`` of variables and two of them, an array has one axis for each of the others, with one place for each
    state and a last one for "whatever the state". An entry tells whether the two are independent given these.
    """

    def __init__(self, tree: CStree) -> None:
        # A variable with one state is independent of everything and never in a context.
        self.variables = tuple(v for v in tree.order if len(tree.states[v]) > 1)
        self.states = tree.states
        self._check_size()
        self.independent: dict[tuple[int, int, int], Bools] = {}
        self._fill(tree)

    def _check_size(self) -> None:
        outcomes = prod(len(self.states[v]) for v in self.variables)
        pairs = comb(len(self.variables), 2) << max(len(self.variables) - 2, 0)
        if outcomes > OUTCOME_LIMIT or pairs > PAIR_LIMIT:
            raise LimitError(
                f"minimal contexts are found by looking at every pair of variables given every set of others. That is"
                f" limited to {OUTCOME_LIMIT:,} joint outcomes (here {outcomes:,}) and {PAIR_LIMIT:,} pairs in sets,"
                f" which 12 variables have (here {len(self.variables)} variables): use the LDAG, tree.to_ldag(), or a"
                " model of fewer variables"
            )

    def _fill(self, tree: CStree) -> None:
        entailment = Entailment(tree)
        m = len(self.variables)
        cards = [len(self.states[v]) for v in self.variables]
        points = [_marginals(entailment.joint(k).reshape(cards), prime) for k, prime in enumerate(PRIMES)]
        for mask in points[0]:
            members = [k for k in range(m) if mask >> k & 1]
            for one, two in combinations(range(len(members)), 2):
                found: Bools = np.array(True)
                for tables, prime in zip(points, PRIMES, strict=True):
                    if np.any(found):  # what is not independent at one point is not independent
                        found = found & ranks_one(np.moveaxis(tables[mask], (one, two), (-2, -1)), prime)
                self.independent[mask, members[one], members[two]] = _with_any(found)

    def holds(self, mask: int, one: int, two: int, context: Mapping[int, int]) -> bool:
        """Tell whether two variables are independent given the others of `mask`, in a context of some of these."""
        if one > two:
            one, two = two, one
        rest = [k for k in range(len(self.variables)) if mask >> k & 1 and k not in (one, two)]
        return bool(self.independent[mask, one, two][tuple(context.get(k, -1) for k in rest)])

    def primes(self, mask: int, one: int, two: int) -> list[dict[int, int]]:
        """Return the minimal contexts of a pair among the variables of `mask`."""
        table = self.independent[mask, one, two]
        if not table.any() or table[(-1,) * table.ndim]:
            return []  # in no context, or in the empty one
        prime = table.copy()
        for axis in range(table.ndim):
            last = np.take(table, [-1], axis=axis)
            freed = np.broadcast_to(last, table.shape).copy()
            np.moveaxis(freed, axis, 0)[-1] = False
            prime &= ~freed
        rest = [k for k in range(len(self.variables)) if mask >> k & 1 and k not in (one, two)]
        return [
            {k: int(x) for k, x in zip(rest, place, strict=True) if x < len(self.states[self.variables[k]])}
            for place in np.argwhere(prime)
        ]


def _marginals(joint: NDArray[np.int64], prime: int) -> dict[int, NDArray[np.int64]]:
    """Return the marginal tables of all sets of variables, as sums modulo a prime; bit k of a key is for axis k."""
    m = joint.ndim
    everything = (1 << m) - 1
    tables = {everything: joint}
    for mask in sorted(range(everything), key=int.bit_count, reverse=True):
        # Sum one variable out of the table that has it besides.
        extra = next(k for k in range(m) if not mask >> k & 1)
        axis = (mask & ((1 << extra) - 1)).bit_count()
        tables[mask] = tables[mask | 1 << extra].sum(axis=axis) % prime
    return tables


def _with_any(table: Bools) -> Bools:
    """Append to each axis the entry "for all states"."""
    for axis in range(table.ndim):
        table = np.concatenate([table, table.all(axis=axis, keepdims=True)], axis=axis)
    return table


# ---------------------------------------------------------------- minimal contexts
def minimal_contexts(tree: CStree) -> MinimalContexts:
    """See :meth:`cslearn.CStree.minimal_contexts`."""
    relations = PairwiseRelations(tree)
    m = len(relations.variables)
    found: set[Codes] = {frozenset()}
    for mask in range(1 << m):
        members = [k for k in range(m) if mask >> k & 1]
        primes = {
            frozenset(context.items())
            for one, two in combinations(members, 2)
            for context in relations.primes(mask, one, two)
        }
        found |= primes
        for candidate in _meets(primes) - found:
            if _is_minimal(relations, mask, members, dict(candidate)):
                found.add(candidate)
    graphs = {}
    for pairs in sorted(found, key=lambda pairs: (len(pairs), sorted(pairs))):
        named = {relations.variables[k]: relations.states[relations.variables[k]][x] for k, x in sorted(pairs)}
        graphs[Context(named)] = _context_graph(tree, relations, dict(pairs))
    return MinimalContexts(graphs)


def _meets(primes: set[Codes]) -> set[Codes]:
    """Return all contexts that are made of some of the given ones, which must not contradict each other."""
    found = set(primes)
    new = found
    while new:
        new = {both for one in new for two in primes if len(dict(both := one | two)) == len(both) and both not in found}
        found = found | new
        if len(found) > PAIR_LIMIT:
            raise LimitError(
                f"there are more than {PAIR_LIMIT:,} contexts that may be minimal: use the LDAG, tree.to_ldag(), or a"
                " model of fewer variables"
            )
    return found


def _is_minimal(relations: PairwiseRelations, mask: int, members: list[int], context: dict[int, int]) -> bool:
    """Tell whether ``A`` and ``B`` exist that are independent in the context but not without any one part of it."""
    free = [k for k in members if k not in context]
    holds = {(i, j): relations.holds(mask, i, j, context) for i in free for j in free if i != j}
    needing = []
    for variable in context:
        less = {k: x for k, x in context.items() if k != variable}
        needing.append([pair for pair in holds if holds[pair] and not relations.holds(mask, *pair, less)])

    def search(number: int, left: frozenset[int], right: frozenset[int]) -> bool:
        if number == len(needing):
            return True
        for i, j in needing[number]:
            more_left, more_right = left | {i}, right | {j}
            if all(holds.get(pair, False) for pair in product(more_left, more_right)) and search(
                number + 1, more_left, more_right
            ):
                return True
        return False

    return search(0, frozenset(), frozenset())


def _context_graph(tree: CStree, relations: PairwiseRelations, context: dict[int, int]) -> nx.DiGraph:
    import networkx as nx

    fixed = sum(1 << k for k in context)
    outside = {relations.variables[k] for k in context}
    graph = nx.DiGraph()
    graph.add_nodes_from(v for v in tree.order if v not in outside)
    free = [k for k in range(len(relations.variables)) if k not in context]
    for place, j in enumerate(free):
        mask = fixed | sum(1 << k for k in free[: place + 1])
        graph.add_edges_from(
            (relations.variables[i], relations.variables[j])
            for i in free[:place]
            if not relations.holds(mask, i, j, context)
        )
    return graph


# ---------------------------------------------------------------- equivalence
def is_markov_equivalent(one: CStree, two: CStree) -> bool:
    """See :meth:`cslearn.CStree.is_markov_equivalent`."""
    if {v: set(s) for v, s in one.states.items()} != {v: set(s) for v, s in two.states.items()}:
        raise InputError("only CStrees with the same variables and states can be Markov equivalent: these differ")
    if one.n_free_parameters != two.n_free_parameters:
        return False
    entailment = Entailment(one)
    undecided: list[LimitError] = []
    before = {v: frozenset(one.order[:k]) for k, v in enumerate(one.order)}
    for position, v in enumerate(two.order):
        if before[v] == frozenset(two.order[:position]):
            # Given all variables before it, v has the same distribution in two outcomes just if they share a stage.
            if not _refines(two.stagings[v], one.stagings[v]):
                return False
            continue
        for context in two.stagings[v]:
            others = [u for u in two.order[:position] if u not in context]
            if not others:
                continue
            try:
                if not entailment.implies(CSIRelation(v, others, context)):
                    return False
            except LimitError as error:
                undecided.append(error)
                if len(undecided) > UNDECIDED_LIMIT:
                    raise
    if undecided:
        raise undecided[0]
    return True


def _refines(fine: Staging, coarse: Staging) -> bool:
    """Tell whether each stage of a staging lies within a stage of another one."""
    contexts = coarse.contexts
    nodes = decision_tree(contexts)
    for context in fine:
        node = nodes[0]
        while node.children and node.variable in context:
            node = nodes[node.children[context[node.variable]]]
        if not any(contexts[stage].items() <= context.items() for stage in node.stages):
            return False
    return True
