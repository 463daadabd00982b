"""How many stagings and CStrees there are (paper, Theorem 1, its corollaries and Remark 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import islice, product
from math import comb, factorial, prod
from typing import Any, Literal, cast, get_args

import numpy as np

from cslearn._checked import checked
from cslearn._parameters import NAMES, Row, check
from cslearn.errors import InputError, LimitError
from cslearn.stagings.cover import BoxCover
from cslearn.stagings.types import as_scope

__all__ = [
    "StagingKind",
    "candidate_cards",
    "check_beta",
    "check_kind",
    "count",
    "count_binary_others",
    "count_cstrees",
    "count_trees",
    "max_parents",
    "max_stages",
]

Cards = Sequence[int] | Mapping[Any, int]
StagingKind = Literal["tree", "all"]
"""Which stagings there are beyond two context variables: those that a decision tree can draw, or all."""


def candidate_cards(cards: Cards, candidates: Iterable[Any] | None = None) -> dict[Any, int]:
    """Return the cardinality of each variable that can be a context variable.

    These are the candidates (all variables if None) in the order of the level, without the variables that have
    one state only: to know such a variable's state is to know nothing.
    """
    scope = as_scope(cards)
    wanted = set(scope if candidates is None else candidates)
    unknown = wanted.difference(scope)
    if unknown:
        raise InputError(f"candidates {sorted(map(str, unknown))} are not variables of the level {list(scope)}")
    return {v: len(states) for v, states in scope.items() if v in wanted and len(states) > 1}


def check_beta(beta: Any) -> int:
    """Return `beta` if it is a context bound: a whole number, zero or more."""
    if isinstance(beta, bool) or not isinstance(beta, int | np.integer) or beta < 0:
        raise InputError(f"beta, the largest number of context variables of a stage, is 0, 1, 2, ..., not {beta!r}")
    return int(beta)


def check_kind(kind: str) -> StagingKind:
    """Return `kind` if there are such stagings."""
    if kind not in get_args(StagingKind):
        kinds = " and ".join(map(repr, get_args(StagingKind)))
        raise InputError(f"there are no stagings of the kind {kind!r}: there are {kinds}")
    return cast(StagingKind, kind)


@checked
def count(cards: Cards, beta: int, candidates: Iterable[Any] | None = None, *, kind: StagingKind = "all") -> int:
    """Count the stagings of a level whose contexts have at most `beta` variables.

    Parameters
    ----------
    cards : sequence or mapping
        Cardinalities of the variables of the level.
    beta : int
        Context bound.
    candidates : iterable, optional
        The variables that may be context variables; all of them by default.
    kind : {"all", "tree"}
        Count all stagings, or those that a decision tree can draw; up to ``beta = 2`` these are all.

    Returns
    -------
    int
        Exact, by a closed form for ``beta <= 2`` (Theorem 1) and for ``beta = 3`` with binary variables, by a
        recursion for trees, and otherwise by exact cover, which is limited to small levels.

    Raises
    ------
    LimitError
        If all stagings are asked for, there is no closed form and the level is too large for an exact cover.

    Examples
    --------
    >>> from cslearn import stagings
    >>> stagings.count([2, 2, 2], beta=2)
    25
    >>> stagings.count({"age": 3, "sex": 2, "dose": 4}, beta=2, candidates=["age", "sex"])
    12
    >>> stagings.count([2, 3, 3], beta=3), stagings.count([2, 3, 3], beta=3, kind="tree")
    (3470, 3074)
    """
    # The largest cardinalities first: so an exact cover has the fewest partial covers.
    sizes = tuple(sorted(candidate_cards(cards, candidates).values(), reverse=True))
    return _count(sizes, min(check_beta(beta), len(sizes)), check_kind(kind))


@cache
def _count(cards: tuple[int, ...], beta: int, kind: StagingKind) -> int:
    m = len(cards)
    if beta == 0:
        return 1
    if beta == 1:
        return 1 + m
    if beta == 2:
        return 1 - comb(m, 2) + sum(m**d for d in cards)
    numbers = tuple(Counter(cards).items())
    if kind == "tree":
        return count_trees(numbers, beta)
    if beta == 3 and max(cards) == 2:
        return count_trees(numbers, beta) + count_binary_others(m)
    return BoxCover(cards, beta).count()


@cache
def count_trees(numbers: tuple[tuple[int, int], ...], beta: int) -> int:
    """Count the stagings that a decision tree draws, given pairs of a cardinality and how many variables have it.

    By inclusion and exclusion over the variables that all stages hold. What is below a context depends on how many
    variables of each cardinality are left, and on nothing else.
    """
    total = 1
    for chosen in product(*(range(min(n, beta) + 1) for _, n in numbers)):
        r = sum(chosen)
        if 0 < r <= beta:
            ways = prod(comb(n, c) for (_, n), c in zip(numbers, chosen, strict=True))
            outcomes = prod(d**c for (d, _), c in zip(numbers, chosen, strict=True))
            rest = count_trees(tuple((d, n - c) for (d, n), c in zip(numbers, chosen, strict=True)), beta - r)
            total += (-1) ** (r + 1) * ways * rest**outcomes
    return total


def count_binary_others(n: int) -> int:
    """Count the stagings of `n` binary variables with contexts of at most three that no decision tree draws.

    There are two families: 8 skeletons for each triple of variables, whose three two-variable cells may each split once
    more on one of the ``n - 3`` other variables, and 8 skeletons for each quadruple.
    """
    return 8 * comb(n, 3) * (n - 2) ** 3 + 8 * comb(n, 4)


@checked
def count_cstrees(cards: Cards, beta: int, order: Sequence[Any] | None = None) -> int:
    """Count the CStrees whose contexts have at most `beta` variables.

    Parameters
    ----------
    cards : sequence or mapping
        Cardinalities of all variables.
    beta : int
        Context bound.
    order : sequence, optional
        Count only the CStrees with this order of the variables; by default those of all orders.

    Returns
    -------
    int
        Exact. The sum over all orders is taken over the multisets of cardinalities that can come first, so that
        its cost does not grow with the factorial of the number of variables.

    Examples
    --------
    >>> from cslearn import count_cstrees
    >>> count_cstrees([2, 2, 2, 2], beta=2, order=[0, 1, 2, 3])
    400
    >>> count_cstrees([2, 2, 2, 2], beta=2)
    9600
    """
    check_beta(beta)
    check({"order": Row(NAMES, None)}, {"order": order})
    cardinality = {variable: len(states) for variable, states in as_scope(cards).items()}
    if order is not None:
        if Counter(order) != Counter(list(cardinality)):
            raise InputError(f"the order {list(order)} is not a permutation of the variables {list(cardinality)}")
        levels = ([cardinality[v] for v in islice(order, i)] for i in range(len(order)))
        return prod(count(level, beta) for level in levels)

    kinds = tuple(sorted(set(cardinality.values())))
    multiplicity = Counter(cardinality.values())

    @cache
    def weighted_orders(left: tuple[int, ...]) -> int:
        """Sum over the orders of `left` variables of each kind of the number of CStrees."""
        total = 0 if any(left) else 1
        for kind, number in enumerate(left):
            if number:
                before = (*left[:kind], number - 1, *left[kind + 1 :])
                level = [d for d, times in zip(kinds, before, strict=True) for _ in range(times)]
                total += weighted_orders(before) * count(level, beta)
        return total

    same_kind = prod(factorial(multiplicity[d]) for d in kinds)
    try:
        return same_kind * weighted_orders(tuple(multiplicity[d] for d in kinds))
    except RecursionError:
        raise LimitError(
            f"the orders of {len(cardinality):,} variables are too many to sum over: give one of them (order=)"
        ) from None


@checked
def max_stages(cards: Cards, beta: int, candidates: Iterable[Any] | None = None) -> int:
    """Return the largest number of stages a staging with contexts of at most `beta` variables can have.

    A stage covers at least one over the product of the `beta` largest cardinalities of the level, and the full
    split on those variables attains it.

    Examples
    --------
    >>> from cslearn import stagings
    >>> stagings.max_stages([2, 3, 4], beta=2)
    12
    """
    sizes: list[int] = sorted(candidate_cards(cards, candidates).values(), reverse=True)
    return prod(sizes[: check_beta(beta)])


@checked
def max_parents(cards: Cards, beta: int, candidates: Iterable[Any] | None = None) -> int:
    """Return the largest number of context variables that one staging can have in all its stages together.

    It is attained by a decision tree with the variables of largest cardinality nearest to its root and all its
    inner nodes different. For ``beta <= 2`` there are no other stagings, and for binary variables no other
    staging has more; with ``beta >= 3`` and larger cardinalities it is the largest number *of a decision tree*.

    Examples
    --------
    >>> from cslearn import stagings
    >>> stagings.max_parents([2] * 10, beta=2), stagings.max_parents([4] * 10, beta=2)
    (3, 5)
    """
    sizes = sorted(candidate_cards(cards, candidates).values(), reverse=True)
    used, nodes = 0, 1
    for _ in range(check_beta(beta)):
        layer = sizes[used : used + nodes]
        used, nodes = used + len(layer), sum(layer)
    return used
