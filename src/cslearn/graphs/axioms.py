"""The seven axioms of context-specific independence (supplement, section 1), as functions on relations.

Each takes relations that hold and returns a relation (or, for specialization, relations) that then hold too, in every
distribution without zeros; an :class:`~cslearn.errors.InputError` says why an axiom does not apply. Sets are given as
variables, in any order. Symmetry, decomposition, weak union, contraction, specialization and absorption hold in all
distributions; intersection needs that no outcome has probability zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

from cslearn._checked import checked
from cslearn.errors import InputError, LimitError
from cslearn.graphs.relations import CSIRelation
from cslearn.stagings import Context

__all__ = ["absorption", "contraction", "decomposition", "intersection", "specialization", "symmetry", "weak_union"]

# Specialization lists the outcomes of the variables that it fixes up to this number.
OUTCOME_LIMIT = 1 << 16

States = Mapping[str, Sequence[Any]]


@checked
def symmetry(relation: CSIRelation) -> CSIRelation:
    """Apply symmetry: ``A _||_ B | C, x_S`` gives ``B _||_ A | C, x_S``.

    Examples
    --------
    >>> from cslearn.graphs import CSIRelation, symmetry
    >>> print(symmetry(CSIRelation("a", ["b", "d"], {"s": 1}, given="c")))
    b, d _||_ a | c, s=1
    """
    return CSIRelation(relation.right, relation.left, relation.context, relation.given)


@checked
def decomposition(relation: CSIRelation, drop: str | Iterable[str]) -> CSIRelation:
    """Apply decomposition: ``A _||_ B + D | C, x_S`` gives ``A _||_ B | C, x_S``; `drop` is ``D``.

    Examples
    --------
    >>> from cslearn.graphs import CSIRelation, decomposition
    >>> print(decomposition(CSIRelation("a", ["b", "d"], {"s": 1}, given="c"), drop="d"))
    a _||_ b | c, s=1
    """
    kept, _ = _parted(relation, drop, "decomposition")
    return CSIRelation(relation.left, kept, relation.context, relation.given)


@checked
def weak_union(relation: CSIRelation, move: str | Iterable[str]) -> CSIRelation:
    """Apply weak union: ``A _||_ B + D | C, x_S`` gives ``A _||_ B | C + D, x_S``; `move` is ``D``.

    Examples
    --------
    >>> from cslearn.graphs import CSIRelation, weak_union
    >>> print(weak_union(CSIRelation("a", ["b", "d"], {"s": 1}, given="c"), move="d"))
    a _||_ b | c, d, s=1
    """
    kept, moved = _parted(relation, move, "weak union")
    return CSIRelation(relation.left, kept, relation.context, (*relation.given, *moved))


@checked
def contraction(first: CSIRelation, second: CSIRelation) -> CSIRelation:
    """Apply contraction: ``A _||_ B | C + D, x_S`` and ``A _||_ D | C, x_S`` give ``A _||_ B + D | C, x_S``.

    Examples
    --------
    >>> from cslearn.graphs import CSIRelation, contraction
    >>> print(contraction(CSIRelation("a", "b", given=["c", "d"]), CSIRelation("a", "d", given="c")))
    a _||_ b, d | c
    """
    _check_alike(first, second, "contraction")
    if set(first.given) != {*second.given, *second.right}:
        raise InputError(
            f"contraction needs ({first}) to be given what ({second}) is given, and its right side, and nothing else"
        )
    return CSIRelation(first.left, (*first.right, *second.right), first.context, second.given)


@checked
def intersection(first: CSIRelation, second: CSIRelation) -> CSIRelation:
    """Apply intersection: ``A _||_ B | C + D, x_S`` and ``A _||_ D | C + B, x_S`` give ``A _||_ B + D | C, x_S``.

    This one needs that no outcome has probability zero.

    Examples
    --------
    >>> from cslearn.graphs import CSIRelation, intersection
    >>> print(intersection(CSIRelation("a", "b", given=["c", "d"]), CSIRelation("a", "d", given=["c", "b"])))
    a _||_ b, d | c
    """
    _check_alike(first, second, "intersection")
    common = [v for v in first.given if v not in second.right]
    if set(first.given) != {*common, *second.right} or set(second.given) != {*common, *first.right}:
        raise InputError(
            f"intersection needs each of ({first}) and ({second}) to be given the right side of the other, and both to"
            " be given the same besides"
        )
    return CSIRelation(first.left, (*first.right, *second.right), first.context, common)


@checked
def specialization(relation: CSIRelation, fix: str | Iterable[str], states: States) -> list[CSIRelation]:
    """Apply specialization: ``A _||_ B | C, x_S`` gives ``A _||_ B | C - D, x_S, x_D`` for all ``x_D``; `fix` is ``D``.

    Parameters
    ----------
    relation : CSIRelation
    fix : str or iterable of str
        Some of the variables that the relation is given.
    states : mapping of str to sequence of states

    Examples
    --------
    >>> from cslearn.graphs import CSIRelation, specialization
    >>> for relation in specialization(CSIRelation("a", "b", given=["c", "d"]), "d", {"d": ("no", "yes")}):
    ...     print(relation)
    a _||_ b | c, d=no
    a _||_ b | c, d=yes
    """
    fixed = _tuple(fix)
    _check_within(fixed, relation.given, "specialization", f"what ({relation}) is given")
    size = prod(len(_states_of(v, states)) for v in fixed)
    if size > OUTCOME_LIMIT:
        raise LimitError(
            f"specialization lists the outcomes of the variables it fixes up to {OUTCOME_LIMIT:,}, and here they are"
            f" {size:,}: fix fewer variables at once"
        )
    rest = [v for v in relation.given if v not in fixed]
    return [
        CSIRelation(relation.left, relation.right, relation.context | dict(zip(fixed, outcome, strict=True)), rest)
        for outcome in product(*(states[v] for v in fixed))
    ]


@checked
def absorption(relations: Iterable[CSIRelation], absorb: str | Iterable[str], states: States) -> CSIRelation:
    """Apply absorption: ``A _||_ B | C, x_S, y_D`` for all ``y_D`` give ``A _||_ B | C + D, x_S``; `absorb` is ``D``.

    Parameters
    ----------
    relations : iterable of CSIRelation
        They differ in the states of `absorb` alone; every joint state of these variables must be there.
    absorb : str or iterable of str
        Some of the variables of the contexts.
    states : mapping of str to sequence of states

    Examples
    --------
    >>> from cslearn.graphs import CSIRelation, absorption
    >>> relations = [CSIRelation("a", "b", {"s": 1, "d": state}) for state in ("no", "yes")]
    >>> print(absorption(relations, "d", {"d": ("no", "yes")}))
    a _||_ b | d, s=1
    """
    found = list(relations)
    absorbed = _tuple(absorb)
    if not found:
        raise InputError("absorption needs relations, and there are none")
    first = found[0]
    _check_within(absorbed, tuple(first.context), "absorption", f"the context of ({first})")
    result = CSIRelation(
        first.left,
        first.right,
        {v: x for v, x in first.context.items() if v not in absorbed},
        (*first.given, *absorbed),
    )
    there = set()
    for relation in found:
        states_here = {v: relation.context[v] for v in absorbed if v in relation.context}
        wanted = CSIRelation(result.left, result.right, result.context | states_here, first.given)
        if relation != wanted or len(states_here) < len(absorbed):
            raise InputError(f"absorption needs relations that differ in the states of {', '.join(absorbed)} alone, "
                             f"unlike ({first}) and ({relation})")  # fmt: skip
        there.add(Context(states_here))
    if len(there) < prod(len(_states_of(v, states)) for v in absorbed):
        everything = (Context(zip(absorbed, o, strict=True)) for o in product(*(states[v] for v in absorbed)))
        lacking = next(o for o in everything if o not in there)
        raise InputError(
            f"absorption needs a relation for every state of {', '.join(absorbed)}; ({lacking}) is missing"
        )
    return result


# ---------------------------------------------------------------- checks
def _tuple(variables: str | Iterable[str]) -> tuple[str, ...]:
    return (variables,) if isinstance(variables, str) else tuple(dict.fromkeys(variables))


def _states_of(variable: str, states: States) -> Sequence[Any]:
    if variable not in states:
        raise InputError(f"the states of {variable!r} are not given")
    return states[variable]


def _check_within(chosen: tuple[str, ...], allowed: Sequence[str], axiom: str, where: str) -> None:
    for v in chosen:
        if v not in allowed:
            raise InputError(f"{axiom}: {v!r} is not in {where}")


def _parted(relation: CSIRelation, chosen: str | Iterable[str], axiom: str) -> tuple[list[str], tuple[str, ...]]:
    """Return the right side without the chosen variables, and these."""
    taken = _tuple(chosen)
    _check_within(taken, relation.right, axiom, f"the right side of ({relation})")
    kept = [v for v in relation.right if v not in taken]
    if not kept:
        raise InputError(f"{axiom} leaves nothing on the right side of ({relation})")
    return kept, taken


def _check_alike(first: CSIRelation, second: CSIRelation, axiom: str) -> None:
    if set(first.left) != set(second.left) or first.context != second.context:
        raise InputError(f"{axiom} needs the same left side and the same context, unlike ({first}) and ({second})")
    if set(first.right) & set(second.right):
        raise InputError(f"{axiom} needs right sides without a common variable, unlike ({first}) and ({second})")
