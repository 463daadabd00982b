"""CStrees from contexts, CSI statements, DAGs and LDAGs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress, product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from cslearn.cstree.model import CStree, check_order_and_states
from cslearn.errors import InputError, LimitError
from cslearn.graphs.relations import CSIRelation
from cslearn.graphs.statements import parse_context, parse_relation
from cslearn.stagings import Context, Stage, Staging

if TYPE_CHECKING:
    import networkx as nx

    from cslearn.graphs import LDAG

__all__ = ["from_contexts", "from_dag", "from_ldag", "from_statements"]

# Stages of single outcomes are listed up to this number.
OUTCOME_LIMIT = 1 << 16
# The same for all variables of a model together.
OUTCOME_TOTAL = 1 << 17

States = Mapping[str, Sequence[Any]]


def from_contexts(
    contexts: Mapping[str, Iterable[Any]], states: States, order: Sequence[str] | None, fill: bool
) -> CStree:
    """See :meth:`CStree.from_contexts`."""
    if order is None:
        order = [*(v for v in states if v not in contexts), *contexts]
    read = {
        variable: [
            parse_context(context, states) if isinstance(context, str) else Context(context) for context in given
        ]
        for variable, given in contexts.items()
    }
    filled = 0
    for position, variable in enumerate(order if fill else ()):
        scope = {v: tuple(states[v]) for v in order[:position]}
        given = read.get(variable, [])
        read[variable] = _with_singletons(variable, scope, given)
        filled += len(read[variable]) - len(given)
        if filled > OUTCOME_TOTAL:
            raise LimitError(
                f"up to {variable!r}, more than {OUTCOME_TOTAL:,} outcomes are left uncovered, too many to make stages"
                " of: give contexts that cover them."
            )
    return CStree(order, read, states=states)


def from_statements(statements: Iterable[str], states: States, order: Sequence[str] | None) -> CStree:
    """See :meth:`CStree.from_statements`."""
    order = list(states) if order is None else list(order)
    contexts: dict[str, list[Context]] = {variable: [] for variable in order}
    for text in statements:
        statement = parse_relation(text, states)
        target, free = _target(text, statement, order)
        outcomes = product(*(states[v] for v in free))
        stages = [Context(zip(free, outcome, strict=True)) | statement.context for outcome in outcomes]
        contexts[target] += [stage for stage in stages if stage not in contexts[target]]
    return from_contexts(contexts, states, order, fill=True)


def _target(text: str, statement: CSIRelation, order: list[str]) -> tuple[str, tuple[str, ...]]:
    """Return the variable whose stages a statement defines, and the variables that it conditions on freely."""
    position = {variable: index for index, variable in enumerate(order)}
    for side, other in ((statement.left, statement.right), (statement.right, statement.left)):
        named = {*other, *statement.given, *statement.context}
        if len(side) == 1 and side[0] in position and all(position.get(v, -1) < position[side[0]] for v in named):
            lacking = [v for v in order[: position[side[0]]] if v not in named]
            if lacking:
                raise InputError(
                    f"{text!r} does not define stages of {side[0]!r}: it must name every variable before it, and"
                    f" lacks {', '.join(map(repr, lacking))}"
                )
            return side[0], statement.given
    raise InputError(
        f"{text!r} does not define stages: one side of it must be a single variable that comes after all others"
        f" in the order {', '.join(order)}"
    )


def _with_singletons(variable: str, scope: States, contexts: list[Context]) -> list[Context]:
    """Return the contexts, and one for each single outcome that agrees with none of them."""
    size = prod(len(states) for states in scope.values())
    if sum(Stage(context, scope).size for context in contexts) >= size:
        return contexts
    if size > OUTCOME_LIMIT:
        raise LimitError(
            f"the contexts of {variable!r} leave outcomes uncovered. Making stages of them is limited to levels of"
            f" {OUTCOME_LIMIT:,} outcomes, and this one has {size:,}: give contexts that cover them."
        )
    # A variable with one state tells nothing, so it is no context variable.
    free = {v: labels for v, labels in scope.items() if len(labels) > 1}
    left = np.ones([len(labels) for labels in free.values()], dtype=bool)
    code = {v: {state: x for x, state in enumerate(labels)} for v, labels in free.items()}
    for context in contexts:  # of fewer outcomes together than the level has
        if all(context[v] in code[v] for v in free if v in context):  # if not, it is refused later
            left[tuple(code[v][context[v]] if v in context else slice(None) for v in free)] = False
    outcomes = compress(product(*free.values()), left.ravel())
    return [*contexts, *(Context(zip(free, outcome, strict=True)) for outcome in outcomes)]


def from_dag(dag: nx.DiGraph, states: States, order: Sequence[str] | None) -> CStree:
    """See :meth:`CStree.from_dag`."""
    unknown = [v for v in dag if v not in states]
    if unknown:
        raise InputError(f"the states of {', '.join(map(repr, unknown))} are not given, but the DAG has them")
    order = _topological(dag, states) if order is None else list(order)
    check_order_and_states(order, states)
    stagings = {}
    for position, variable in enumerate(order):
        parents = list(dag.predecessors(variable)) if variable in dag else []
        late = [v for v in parents if v not in order[:position]]
        if late:
            raise InputError(f"the order puts {variable!r} before its parent {late[0]!r}")
        scope = {v: tuple(states[v]) for v in order[:position]}
        # A variable with one state tells nothing, so it is no context variable.
        stagings[variable] = Staging.full_split(scope, [v for v in scope if v in parents and len(scope[v]) > 1])
    return CStree(order, stagings, states=states)


def _topological(dag: nx.DiGraph, states: States) -> list[str]:
    """Return the order of the variables that is first, by their order in `states`, among those the DAG allows."""
    import networkx as nx

    position = {variable: index for index, variable in enumerate(states)}
    full = nx.DiGraph()
    full.add_nodes_from(states)
    full.add_edges_from(dag.edges)
    try:
        return list(nx.lexicographical_topological_sort(full, key=position.__getitem__))
    except nx.NetworkXUnfeasible:
        cycle = " -> ".join(str(edge[0]) for edge in nx.find_cycle(full))
        raise InputError(f"the graph has a cycle: {cycle} -> ...") from None


def from_ldag(ldag: LDAG, order: Sequence[str] | None) -> CStree:
    """See :meth:`CStree.from_ldag`."""
    order = _topological(ldag.graph, ldag.states) if order is None else list(order)
    check_order_and_states(order, ldag.states)
    labelled = {child for _, child in ldag.labels}
    stagings: dict[str, Staging | list[Context]] = {}
    before: dict[str, Sequence[Any]] = {}
    total = 0
    for variable in order:
        parents = {v: ldag.states[v] for v in ldag.graph.predecessors(variable)}
        size = prod(map(len, parents.values()))
        total += size
        if size > OUTCOME_LIMIT or total > OUTCOME_TOTAL:
            raise LimitError(
                f"the parents of {variable!r} have more than {OUTCOME_LIMIT:,} joint outcomes, or those of all"
                f" variables more than {OUTCOME_TOTAL:,} together: too many to make stages of"
            )
        if variable in labelled or not before.keys() >= parents.keys():
            groups = ldag.joined_outcomes(variable)
            stagings[variable] = [_as_context(variable, parents, group) for group in groups]
        else:
            stagings[variable] = Staging.full_split(before, [v for v in parents if len(parents[v]) > 1])
        before[variable] = ldag.states[variable]
    return CStree(order, stagings, states=ldag.states)


def _as_context(variable: str, scope: States, outcomes: list[tuple[Any, ...]]) -> Context:
    """Return the context whose stage is exactly these outcomes; an error if there is none."""
    met = [set(column) for column in zip(*outcomes, strict=True)]
    fixed = {v: next(iter(states)) for v, states in zip(scope, met, strict=True) if len(states) == 1}
    context = Context({v: x for v, x in fixed.items() if len(scope[v]) > 1})
    if Stage(context, scope).size != len(outcomes):
        shown = "; ".join(str(Context(zip(scope, outcome, strict=True))) for outcome in outcomes[:4])
        raise InputError(
            f"the LDAG is not a CStree: its labels join these outcomes of the parents of {variable!r} into one"
            f" stage, which is not the set of all outcomes that agree with a context: {shown}"
            + ("; ..." if len(outcomes) > 4 else "")
        )
    return context
