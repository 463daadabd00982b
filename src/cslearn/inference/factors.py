"""Factors of a CStree, reduced by evidence, and their elimination.

The distribution of a variable ``v`` given the variables before it is a product over its stages: stage ``x_S`` stands
for the factor over ``S`` and ``v`` that holds the stage's probabilities where the outcome agrees with ``x_S``, and 1
elsewhere. Stages with the same context variables share one factor, and one whose context variables are contained in
those of another joins it. A variable with a root and a different split for each state of the root so has several small
factors in place of one table over all its parents; a full split, as in a Bayesian network, is one factor, its table.

Evidence reduces the stages before factors are made: a stage whose context contradicts it goes, a context variable that
it fixes goes, and with them the parents that no longer matter. What is left is summed (or maximised) variable by
variable, cheapest first. Where a table would be too large, the sum is made for each state of a variable by itself: that
state is evidence then, which makes all stages smaller that ask for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import log, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cslearn.errors import LimitError

__all__ = [
    "TABLE_LIMIT",
    "Factor",
    "components",
    "elimination_order",
    "maximise",
    "smallest_tables",
    "splitting_variable",
    "stage_factors",
    "sum_out",
    "too_large",
]

# Most entries of a table that a query may make: 256 MB.
TABLE_LIMIT = 1 << 25
# A table counts among the largest if none is more than so many times larger.
LARGE = 8
# An elimination whose largest table is this many times too large is not improved.
HOPELESS = 1 << 20

Floats = NDArray[np.float64]
Pairs = tuple[tuple[int, int], ...]


class Factor(NamedTuple):
    """A table with one axis for each variable of `scope`, ascending.

    The number -1 in a scope stands for the rows of data for which the same sum is made at once.
    """

    scope: tuple[int, ...]
    table: Floats


def stage_factors(
    target: int,
    stages: Sequence[tuple[Pairs, Floats]],
    cards: Sequence[int],
    *,
    largest: int = TABLE_LIMIT,
    total: int = TABLE_LIMIT,
) -> list[Factor]:
    """Return factors whose product is the distribution of `target` given its context variables.

    Parameters
    ----------
    target : int
    stages : sequence of (context, probabilities)
        A staging: contexts as (variable, code) pairs.
    cards : sequence of int
    largest, total : int
        Most entries of a table, and of all of them together.

    Raises
    ------
    LimitError
        If a table is too large, or all of them together are, as those of deep stagings may be.
    """
    groups: dict[frozenset[int], list[tuple[Pairs, Floats]]] = {}
    for pairs, row in stages:
        groups.setdefault(frozenset([v for v, _ in pairs]), []).append((pairs, row))
    joined: dict[frozenset[int], list[tuple[Pairs, Floats]]] = {}
    for variables in sorted(groups, key=len, reverse=True):
        home = next((larger for larger in joined if variables <= larger), variables)
        joined.setdefault(home, []).extend(groups[variables])
    sizes = [prod(cards[v] for v in variables) * cards[target] for variables in joined]
    for size, limit in ((max(sizes), largest), (sum(sizes), total)):
        if size > limit:
            raise too_large(size, limit)
    factors = []
    for variables, members in joined.items():
        scope = (*sorted(variables), target)
        table = np.ones([cards[v] for v in scope])
        for pairs, row in members:
            codes = dict(pairs)
            table[tuple([codes.get(v, slice(None)) for v in scope[:-1]])] = row
        factors.append(_sorted(scope, table))
    return factors


def _sorted(scope: tuple[int, ...], table: Floats) -> Factor:
    axes = sorted(range(len(scope)), key=scope.__getitem__)
    return Factor(tuple(scope[axis] for axis in axes), np.ascontiguousarray(table.transpose(axes)))


def components(scopes: Iterable[tuple[int, ...]]) -> dict[int, int]:
    """Return for every variable a representative of the variables that it is connected with through the scopes."""
    parent: dict[int, int] = {}

    def find(v: int) -> int:
        while parent[v] != v:
            parent[v] = parent[parent[v]]
            v = parent[v]
        return v

    for scope in scopes:
        for v in scope:
            if v not in parent:
                parent[v] = v
            parent[find(v)] = find(scope[0])
    return {v: find(v) for v in parent}


def elimination_order(
    scopes: Iterable[tuple[int, ...]], keep: Collection[int], cards: Mapping[int, int] | Sequence[int], limit: int
) -> list[int]:
    """Return an order in which to eliminate the variables that are not kept; see :func:`smallest_tables`.

    Raises
    ------
    LimitError
        If it needs a table of more than `limit` entries.
    """
    order, size = smallest_tables(scopes, keep, cards, limit)
    if size > limit:
        raise too_large(size, limit)
    return order


def too_large(size: float, limit: int) -> LimitError:
    """Return the error that an exact answer needs too large a table."""
    return LimitError(f"the exact answer needs a table of {size:.3g} entries and the limit is {limit:,}.")


def smallest_tables(
    scopes: Iterable[tuple[int, ...]], keep: Collection[int], cards: Mapping[int, int] | Sequence[int], limit: int
) -> tuple[list[int], float]:
    """Return an order in which to eliminate the variables that are not kept, and the entries of its largest table.

    Greedy: first, always the variable whose elimination leaves the smallest table; if that needs a table of more than
    `limit` entries, the variable that makes the fewest new neighbours, where that is better. The latter takes long
    where there are many neighbours, and is not tried where the first is too far from the limit.
    """
    adjacent = _adjacent(scopes)
    best = _greedy({v: set(s) for v, s in adjacent.items()}, keep, cards, _weight)
    if limit < best[1] <= limit * HOPELESS:
        return min(best, _greedy(adjacent, keep, cards, _fill), key=lambda found: found[1])
    return best


def splitting_variable(
    scopes: Iterable[tuple[int, ...]],
    order: Sequence[int],
    keep: Collection[int],
    cards: Mapping[int, int] | Sequence[int],
) -> int | None:
    """Return the variable that is in most of the largest tables of an elimination, None if only kept ones are."""
    adjacent = _adjacent(scopes)
    tables: list[tuple[float, set[int]]] = []
    for v in order:
        tables.append((_weight(v, adjacent, cards) * cards[v], adjacent[v] | {v}))
        _eliminate(v, adjacent)
    largest = max((size for size, _ in tables), default=0.0)
    times = Counter(v for size, table in tables if size * LARGE >= largest for v in table if v not in keep)
    return min(times, key=lambda v: (-times[v], v), default=None)


def _adjacent(scopes: Iterable[tuple[int, ...]]) -> dict[int, set[int]]:
    adjacent: dict[int, set[int]] = {}
    for scope in scopes:
        for v in scope:
            adjacent.setdefault(v, set()).update(scope)
    for v, neighbours in adjacent.items():
        neighbours.discard(v)
    return adjacent


def _eliminate(v: int, adjacent: dict[int, set[int]]) -> set[int]:
    """Join the neighbours of a variable with each other and remove it; return them."""
    neighbours = adjacent.pop(v)
    for u in neighbours:
        adjacent[u] |= neighbours
        adjacent[u] -= {u, v}
    return neighbours


Cost = Callable[[int, dict[int, set[int]], "Mapping[int, int] | Sequence[int]"], float]


def _weight(v: int, adjacent: dict[int, set[int]], cards: Mapping[int, int] | Sequence[int]) -> float:
    weight = 1.0
    for u in adjacent[v]:
        weight *= cards[u]
    return weight


def _fill(v: int, adjacent: dict[int, set[int]], cards: Mapping[int, int] | Sequence[int]) -> float:
    neighbours = adjacent[v]
    return sum(len(neighbours) - 1 - len(neighbours & adjacent[u]) for u in neighbours)


def _greedy(
    adjacent: dict[int, set[int]], keep: Collection[int], cards: Mapping[int, int] | Sequence[int], cost: Cost
) -> tuple[list[int], float]:
    """Return the order, and the number of entries of the largest table that it makes."""
    order: list[int] = []
    size = float(prod(cards[v] for v in keep))
    costs = {v: cost(v, adjacent, cards) for v in adjacent if v not in keep}
    while costs:
        v = min(costs, key=costs.__getitem__)
        del costs[v]
        order.append(v)
        size = max(size, _weight(v, adjacent, cards) * cards[v])
        neighbours = _eliminate(v, adjacent)
        changed = neighbours if cost is _weight else neighbours.union(*(adjacent[u] for u in neighbours))
        for u in changed:
            if u in costs:
                costs[u] = cost(u, adjacent, cards)
    return order, size


def product(factors: Sequence[Factor]) -> Factor:
    """Return the product of factors."""
    if len(factors) == 1:
        return factors[0]
    scope = tuple(sorted(set().union(*[factor.scope for factor in factors])))
    tables = []
    for own, table in factors:
        if own == scope:
            tables.append(table)
        else:
            sizes = iter(table.shape)
            tables.append(table.reshape([next(sizes) if v in own else 1 for v in scope]))
    tables.sort(key=lambda table: table.size)
    result = tables[0]
    for table in tables[1:]:
        result = result * table
    return Factor(scope, result)


def sum_out(factors: list[Factor], order: Sequence[int]) -> tuple[Factor, Floats]:
    """Return the product of the factors, summed over the variables of `order` in turn, and a log-scale.

    The sum is the table times the exponential of the scale, which is one number, or one for each row of the variable
    -1; it is kept apart so that the product of many small numbers does not vanish. It is minus infinity where all is
    zero.
    """
    scale: Floats = np.zeros(())
    left = list(factors)
    for v in order:
        used = [factor for factor in left if v in factor.scope]
        left = [factor for factor in left if v not in factor.scope]
        scope, table = product(used)
        axis = scope.index(v)
        summed = Factor(scope[:axis] + scope[axis + 1 :], table.sum(axis=axis))
        summed, logs = _scaled(summed)
        scale = scale + logs
        left.append(summed)
    result, logs = _scaled(product(left) if left else Factor((), np.ones(())))
    return result, scale + logs


def _scaled(factor: Factor) -> tuple[Factor, Floats | float]:
    """Divide a factor by its largest entry, in each row; return the logarithm of that entry beside it."""
    scope, table = factor
    if scope and scope[0] == -1:
        largest = table.reshape(len(table), -1).max(axis=1)
        positive = np.where(largest > 0, largest, 1.0)
        with np.errstate(divide="ignore"):
            return Factor(scope, table / positive.reshape(-1, *[1] * (table.ndim - 1))), np.log(largest)
    top = float(table.max())
    return (Factor(scope, table / top), log(top)) if top > 0 else (factor, -np.inf)


def maximise(factors: list[Factor], order: Sequence[int]) -> tuple[dict[int, int], float]:
    """Return the outcome of the variables of `order` with the largest product, and the logarithm of the latter."""
    scale = 0.0
    choices: list[tuple[int, tuple[int, ...], NDArray[np.intp]]] = []
    left = list(factors)
    for v in order:
        scope, table = product([factor for factor in left if v in factor.scope])
        left = [factor for factor in left if v not in factor.scope]
        axis = scope.index(v)
        rest = scope[:axis] + scope[axis + 1 :]
        choices.append((v, rest, table.argmax(axis=axis)))
        best, logs = _scaled(Factor(rest, table.max(axis=axis)))
        scale += float(logs)
        left.append(best)
    for factor in left:
        scale += float(_scaled(factor)[1])
    outcome: dict[int, int] = {}
    for v, rest, choice in reversed(choices):
        outcome[v] = int(choice[tuple([outcome[u] for u in rest])])
    return outcome, scale
