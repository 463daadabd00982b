"""Which CSI relations a model entails: those that hold for all its parameters.

Two ways are combined.

**By graphs.** In a context, edges vanish. If ``C`` and the context separate ``A`` from ``B`` in what remains of the
DAG (d-separation), the relation holds; the same within each state of variables of ``C``. This proves relations of
models of any size, but not all: some follow from several contexts together.

**By arithmetic.** ``A _||_ B | C, x_S`` says that for each state ``c`` the table ``P(a, b, c, x_S)`` over ``a`` and
``b`` has rank one, so that ``P(a, b, c) P(a0, b0, c) = P(a, b0, c) P(a0, b, c)``. Both sides are polynomials in the
parameters, with whole-numbered coefficients, and the relation is entailed exactly if they are the same polynomial.
Whether two polynomials are the same is seen by their values at one random point, computed without rounding modulo a
large prime: different polynomials of degree ``d`` agree there with probability at most ``d / prime`` (Schwartz and
Zippel). So "no" is always right, and "yes" is wrong with a probability below 1e-12: two primes of 31 bits are used,
and ``d`` is twice the number of variables. The tables are computed by eliminating one variable after the other, after
leaving out what is neither named nor an ancestor of what is. It decides every relation, as long as no table passes a
limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cslearn.errors import LimitError
from cslearn.graphs.relations import CSIRelation

if TYPE_CHECKING:
    from cslearn.cstree import CStree
    from cslearn.graphs.ldag import LDAG

__all__ = ["Entailment", "implies"]

PRIMES = (2**31 - 1, 2**31 - 19)
# Tables of the exact decision have at most this many cells; beyond, cases of the proof by graphs this many.
CELL_LIMIT = 1 << 22
CASE_LIMIT = 4_096
# What is left of the parents of a variable in a context is remembered up to this number of contexts.
MEMORY = 100_000

Ints = NDArray[np.int64]
Known = Mapping[str, Any]


class _Stages(Protocol):
    """What is asked of a model: the stages of its variables, in whatever way they are given."""

    states: Mapping[str, tuple[Any, ...]]
    order: tuple[str, ...]

    def parents(self, variable: str, known: Known) -> list[str]: ...
    def n_stages(self, variable: str) -> int: ...
    def stage_table(self, variable: str, known: Known, axes: list[str]) -> Ints: ...


class _StagesOfTree:
    """The stages of a CStree."""

    def __init__(self, tree: CStree) -> None:
        self.tree = tree
        self.states = tree.states
        self.order = tree.order
        self._parents: dict[tuple[str, frozenset[tuple[str, Any]]], list[str]] = {}

    def parents(self, variable: str, known: Known) -> list[str]:
        """Return the parents, other than the known ones, that the variable depends on in some outcome."""
        mine = self.tree.parents[variable]
        fixed = frozenset((v, known[v]) for v in mine if v in known)
        if (variable, fixed) not in self._parents:
            if len(self._parents) > MEMORY:
                self._parents.clear()
            used = {v for context in self.tree.stagings[variable] if context.agrees(known) for v in context}
            self._parents[variable, fixed] = [v for v in mine if v in used and v not in known]
        return self._parents[variable, fixed]

    def n_stages(self, variable: str) -> int:
        return len(self.tree.stagings[variable])

    def stage_table(self, variable: str, known: Known, axes: list[str]) -> Ints:
        """Return the number of the stage for each outcome of `axes`, which are ``parents(variable, known)``."""
        table = np.zeros([len(self.states[v]) for v in axes], dtype=np.int64)
        for stage, context in enumerate(self.tree.stagings[variable]):
            if context.agrees(known):
                cells = tuple(self.states[v].index(context[v]) if v in context else slice(None) for v in axes)
                table[cells] = stage
        return table


class _StagesOfLDAG:
    """The stages of an LDAG: groups of outcomes of the parents, which need not be contexts."""

    def __init__(self, ldag: LDAG) -> None:
        import networkx as nx

        self.ldag = ldag
        self.states = ldag.states
        self.order = tuple(nx.topological_sort(ldag.graph))
        self._tables: dict[str, tuple[list[str], Ints]] = {}

    def parents(self, variable: str, known: Known) -> list[str]:
        free = [v for v in self.ldag.graph.predecessors(variable) if v not in known]
        return [v for v in free if not self.ldag.vanishes((v, variable), known)]

    def _table(self, variable: str) -> tuple[list[str], Ints]:
        if variable not in self._tables:
            parents = list(self.ldag.graph.predecessors(variable))
            table = np.zeros([len(self.states[v]) for v in parents], dtype=np.int64)
            for stage, outcomes in enumerate(self.ldag.joined_outcomes(variable)):
                for outcome in outcomes:
                    table[tuple(self.states[v].index(x) for v, x in zip(parents, outcome, strict=True))] = stage
            self._tables[variable] = parents, table
        return self._tables[variable]

    def n_stages(self, variable: str) -> int:
        return int(self._table(variable)[1].max()) + 1

    def stage_table(self, variable: str, known: Known, axes: list[str]) -> Ints:
        parents, table = self._table(variable)
        # Where an edge vanishes, the first state of the parent stands for all.
        return table[
            tuple(self.states[v].index(known[v]) if v in known else slice(None) if v in axes else 0 for v in parents)
        ]


class Factor:
    """A table of residues with one axis for each of its variables."""

    def __init__(self, axes: tuple[str, ...], table: Ints) -> None:
        self.axes = axes
        self.table = table

    def over(self, axes: tuple[str, ...]) -> Ints:
        """Return the table with the given axes, of length one where the factor has no such variable."""
        mine = [v for v in axes if v in self.axes]
        moved = self.table.transpose([self.axes.index(v) for v in mine])
        return moved.reshape([moved.shape[mine.index(v)] if v in mine else 1 for v in axes])


def product_of(factors: Iterable[Factor], axes: tuple[str, ...], prime: int) -> Ints:
    """Return the product of factors over `axes`, modulo a prime."""
    total: Ints = np.ones([1] * len(axes), dtype=np.int64)
    for factor in factors:
        total = total * factor.over(axes) % prime
    return total


class Entailment:
    """Decides which CSI relations a model entails.

    Parameters
    ----------
    model : CStree or LDAG

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.graphs import CSIRelation
    >>> from cslearn.graphs.entailment import Entailment
    >>> entailment = Entailment(chickenpox_model())
    >>> entailment.implies(CSIRelation("carrier", "background", {"exposed": "no"}))
    True
    >>> entailment.implies(CSIRelation("carrier", "background", {"exposed": "yes"}))
    False
    """

    def __init__(self, model: CStree | LDAG) -> None:
        self.stages: _Stages = _StagesOfTree(model) if hasattr(model, "stagings") else _StagesOfLDAG(model)  # type: ignore[arg-type]
        self.states = self.stages.states
        self._drawn: dict[tuple[str, int], Ints] = {}

    def implies(self, relation: CSIRelation) -> bool:
        """Tell whether a relation holds for all parameters; a LimitError if that cannot be decided."""
        relation.check(self.states)
        if self.is_separated(relation):
            return True
        try:
            return all(self._has_rank_one(relation, k) for k in range(len(PRIMES)))
        except LimitError:
            if self._is_separated_by_cases(relation):
                return True
            raise

    # ------------------------------------------------------------------ by graphs
    def parents_in(self, known: Known, named: Iterable[str]) -> dict[str, list[str]]:
        """Return what remains of the DAG in a context: the parents of `named` and of all their ancestors."""
        found: dict[str, list[str]] = {}
        left = list(named)
        while left:
            v = left.pop()
            if v not in found:
                found[v] = self.stages.parents(v, known)
                left += found[v]
        return found

    def is_separated(self, relation: CSIRelation) -> bool:
        """Tell whether the graph that remains in the relation's context separates its sides."""
        parents = self.parents_in(relation.context, relation.variables)
        neighbours: dict[str, set[str]] = {v: set() for v in parents}
        for v, mine in parents.items():  # the moral graph: parents of a common child are joined
            family = [v, *mine]
            for u in family:
                neighbours[u].update(family)
        blocked = {*relation.given, *relation.context}
        reached, left = set(relation.left), list(relation.left)
        while left:
            new = neighbours[left.pop()] - reached - blocked
            reached |= new
            left += new
        return not reached.intersection(relation.right)

    def _is_separated_by_cases(self, relation: CSIRelation) -> bool:
        """Tell whether the sides are separated in each state of what is given, one variable after the other."""
        left = [relation]
        steps = 0
        while left:
            current = left.pop()
            steps += 1
            if self.is_separated(current):
                continue
            if not current.given or steps > CASE_LIMIT:
                return False
            v, *rest = current.given
            left += [CSIRelation(current.left, current.right, current.context | {v: x}, rest) for x in self.states[v]]
        return True

    # ------------------------------------------------------------------ by arithmetic
    def _parameters(self, variable: str, point: int) -> Ints:
        """Return random parameters of a variable modulo a prime, shape (stages, states)."""
        if (variable, point) not in self._drawn:
            prime = PRIMES[point]
            rng = np.random.default_rng([point, self.stages.order.index(variable)])
            rows = rng.integers(1, prime, size=(self.stages.n_stages(variable), len(self.states[variable])))
            rows[:, -1] = (1 - rows[:, :-1].sum(axis=1)) % prime
            self._drawn[variable, point] = rows
        return self._drawn[variable, point]

    def factors(
        self, known: Known, named: Iterable[str], point: int, relation: CSIRelation | None = None
    ) -> list[Factor]:
        """Return the factors of the joint distribution in a context, of `named` and all their ancestors."""
        found = []
        for v, parents in self.parents_in(known, named).items():
            axes = [u for u in parents if u not in known]
            self._check_size((*axes, v), relation)
            rows = self._parameters(v, point)[self.stages.stage_table(v, known, axes)]
            if v in known:
                found.append(Factor(tuple(axes), rows[..., self.states[v].index(known[v])]))
            else:
                found.append(Factor((*axes, v), rows))
        return found

    def _has_rank_one(self, relation: CSIRelation, point: int) -> bool:
        prime = PRIMES[point]
        shown = (*relation.given, *relation.left, *relation.right)
        self._check_size(shown, relation)
        factors = self.factors(relation.context, relation.variables, point, relation)
        factors = self._eliminated(factors, shown, relation, prime)
        sizes = [prod(len(self.states[v]) for v in part) for part in (relation.given, relation.left, relation.right)]
        table = np.broadcast_to(product_of(factors, shown, prime), [len(self.states[v]) for v in shown]).reshape(sizes)
        return has_rank_one(table, prime)

    def _eliminated(
        self, factors: list[Factor], shown: tuple[str, ...], relation: CSIRelation, prime: int
    ) -> list[Factor]:
        """Sum out all variables that are not shown, each time the one that makes the smallest table."""
        hidden = {v for factor in factors for v in factor.axes}.difference(shown)
        while hidden:
            scopes = {
                v: tuple(dict.fromkeys(u for f in factors if v in f.axes for u in f.axes if u != v)) for v in hidden
            }
            chosen = min(hidden, key=lambda v: (prod(len(self.states[u]) for u in scopes[v]), v))
            axes = (*scopes[chosen], chosen)
            self._check_size(axes, relation)
            summed = product_of([f for f in factors if chosen in f.axes], axes, prime).sum(axis=-1) % prime
            factors = [f for f in factors if chosen not in f.axes] + [Factor(scopes[chosen], summed)]
            hidden.remove(chosen)
        return factors

    def _check_size(self, axes: Iterable[str], relation: CSIRelation | None) -> None:
        size = prod(len(self.states[v]) for v in axes)
        if size > CELL_LIMIT:
            raise LimitError(
                f"cannot decide whether {'this' if relation is None else f'({relation})'} is entailed: no separation in"
                f" the graphs of its contexts shows it, and an exact decision takes a table of {size:,} cells, more"
                f" than the limit of {CELL_LIMIT:,}. Ask for a relation of fewer variables, or in a context of more."
            )

    def joint(self, point: int) -> Ints:
        """Return the joint distribution at a random point, one axis for each variable in the order of the model."""
        shape = [len(self.states[v]) for v in self.stages.order]
        factors = self.factors({}, self.stages.order, point)
        return np.broadcast_to(product_of(factors, self.stages.order, PRIMES[point]), shape)


def implies(model: CStree | LDAG, relation: CSIRelation | str) -> bool:
    """See :meth:`cslearn.CStree.implies`."""
    if isinstance(relation, str):
        relation = CSIRelation.parse(relation, model.states)
    return Entailment(model).implies(relation)


def has_rank_one(table: Ints, prime: int) -> bool:
    """Tell whether all matrices ``table[c]`` of residues have rank one; the first entry of each is not zero."""
    return bool(ranks_one(table, prime).all())


def ranks_one(table: Ints, prime: int) -> NDArray[np.bool_]:
    """Tell which matrices ``table[..., :, :]`` of residues have rank one; the first entry of each is not zero."""
    crossed = table * table[..., :1, :1] % prime == table[..., :, :1] * table[..., :1, :] % prime
    return np.asarray(crossed.all(axis=(-2, -1)))
