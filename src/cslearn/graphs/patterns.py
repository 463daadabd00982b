"""Sets of outcomes in compact form: patterns, prime patterns and smallest covers.

A *pattern* over some variables is a context: the variables that it leaves out may be in any state, the ``*`` of the
paper. It covers all outcomes that agree with it. Given the union of some patterns, a pattern that covers nothing else
is *prime* if none of its variables can be freed without covering something else (a prime implicant of the theory of
switching circuits, here with variables of any cardinality).

The prime patterns of a set ``f`` follow from those of its slices ``f_x`` at the states ``x`` of any one variable ``v``.
A pattern with ``v`` free must lie in all slices, and the primes of an intersection are the largest intersections of
primes, one of each; a pattern with ``v = x`` is a prime of ``f_x`` that does not lie within one of those.

Some smallest cover consists of primes, so it is a smallest set of primes that hits, for every outcome of the union,
the primes over that outcome. Outcomes are many, but few of them matter: the search starts with none, solves what it
has exactly by branch and bound, and adds an outcome that the solution leaves uncovered, until there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any

from cslearn.stagings import Context
from cslearn.stagings.types import Scope, find_hole

__all__ = ["hole", "prime_patterns", "smallest_cover"]

# A smallest cover is exact while the patterns, their primes, and the steps of the search are at most these many. Labels
# of deep stagings have more: nobody reads so many contexts, and the exact search would take minutes for a graph.
PATTERN_LIMIT = 8
PRIME_LIMIT = 500
STEP_LIMIT = 2_000

Pairs = frozenset[tuple[Any, Any]]


class _TooLarge(Exception):
    """A limit was passed."""


def hole(patterns: Iterable[Context], known: Mapping[Any, Any], scope: Scope) -> Context | None:
    """Return a context that agrees with `known` and with none of the patterns; None if these cover all of `known`.

    Examples
    --------
    >>> from cslearn.stagings import Context
    >>> scope = {"a": (0, 1), "b": (0, 1)}
    >>> hole([Context({"a": 0}), Context({"a": 1, "b": 1})], {}, scope)
    Context({'a': 1, 'b': 0})
    >>> hole([Context({"a": 0}), Context({"a": 1, "b": 1})], {"b": 1}, scope) is None
    True
    """
    rest = [Context((v, x) for v, x in p.items() if v not in known) for p in patterns if p.agrees(known)]
    found = find_hole(scope, rest)
    return None if found is None else Context({**known, **found})


def prime_patterns(patterns: Iterable[Context], scope: Scope) -> list[Context]:
    """Return all prime patterns of the union of some patterns.

    Parameters
    ----------
    patterns : iterable of Context
    scope : mapping of variable to states

    Examples
    --------
    >>> from cslearn.stagings import Context
    >>> scope = {"a": (0, 1), "b": (0, 1)}
    >>> [str(p) for p in prime_patterns([Context({"a": 0}), Context({"a": 1, "b": 1})], scope)]
    ['a=0', 'b=1']
    """
    return _sorted(_primes([frozenset(p.items()) for p in patterns], scope, None), scope)


def smallest_cover(patterns: Sequence[Context], scope: Scope) -> tuple[Context, ...]:
    """Return as few patterns as possible that cover exactly what the given ones cover.

    The given ones are returned if they are as few as any. Otherwise the result consists of primes and, of such covers
    with the fewest patterns, has the fewest assigned variables. Beyond 8 patterns, 500 primes or 2,000 steps of the
    search it is not certain to be the smallest: patterns that differ in one variable, and have all its states between
    them, are joined.

    Parameters
    ----------
    patterns : sequence of Context
    scope : mapping of variable to states

    Examples
    --------
    >>> from cslearn.stagings import Context
    >>> scope = {"a": (0, 1), "b": (0, 1)}
    >>> [str(p) for p in smallest_cover([Context({"a": 0, "b": 1}), Context({"a": 1})], scope)]
    ['a=0, b=1', 'a=1']
    >>> [str(p) for p in smallest_cover([Context({"a": x, "b": y}) for x, y in [(0, 1), (1, 0), (1, 1)]], scope)]
    ['a=1', 'b=1']
    """
    if len(patterns) < 2:
        return tuple(patterns)
    joined = _joined(patterns, scope)
    found = joined
    if len(joined) <= PATTERN_LIMIT:
        with suppress(_TooLarge):
            found = _exact_cover(joined, scope)
    return tuple(patterns) if len(patterns) <= len(found) else tuple(found)


def _joined(patterns: Sequence[Context], scope: Scope) -> list[Context]:
    """Join patterns that differ in one variable and have all its states between them, until there are no such.

    The leaves of a decision tree become the largest branches without the others. O(m |S|^2) for m patterns.
    """
    kept = dict.fromkeys(frozenset(p.items()) for p in patterns)
    families: dict[tuple[Pairs, Any], list[Pairs]] = {}
    left = list(kept)
    while left:
        pattern = left.pop()
        for pair in pattern if pattern in kept else ():
            rest, v = pattern - {pair}, pair[0]
            family = families.setdefault((rest, v), [])
            family.append(pattern)
            if len(family) < len(scope[v]):
                continue
            alive = {member for member in family if member in kept}
            if len(alive) == len(scope[v]):
                for member in alive:
                    del kept[member]
                kept[rest] = None
                left.append(rest)
                break
    return _sorted(kept, scope)


def _sorted(patterns: Iterable[Pairs], scope: Scope) -> list[Context]:
    position = {v: i for i, v in enumerate(scope)}
    rows = [sorted(pairs, key=lambda pair: position[pair[0]]) for pairs in patterns]
    rows.sort(key=lambda row: [(position[v], scope[v].index(x)) for v, x in row])
    return [Context(row) for row in rows]


# ---------------------------------------------------------------- primes
def _largest(patterns: Iterable[Pairs]) -> list[Pairs]:
    """Return the patterns that lie within no other, each once: a pattern lies within those that assign less."""
    kept: list[Pairs] = []
    for _, same_length in groupby(sorted(dict.fromkeys(patterns), key=len), key=len):
        kept += [pattern for pattern in same_length if not any(other <= pattern for other in kept)]
    return kept


def _primes(patterns: list[Pairs], scope: Scope, limit: int | None) -> list[Pairs]:
    patterns = _largest(patterns)
    if limit is not None and len(patterns) > limit:
        raise _TooLarge
    counts: dict[Any, int] = {}
    for pattern in patterns:
        for v, _ in pattern:
            counts[v] = counts.get(v, 0) + 1
    if len(patterns) == 1:
        return [frozenset((v, x) for v, x in patterns[0] if len(scope[v]) > 1)]
    if not counts:
        return patterns
    split = max(counts, key=lambda v: (counts[v], str(v)))
    always = [p for p in patterns if all(v != split for v, _ in p)]
    named = {x for p in patterns for v, x in p if v == split}
    elsewhere = _primes(always, scope, limit) if len(named) < len(scope[split]) else []
    slices = {
        x: _primes(always + [p - {(split, x)} for p in patterns if (split, x) in p], scope, limit)
        if x in named
        else elsewhere
        for x in scope[split]
    }
    free: list[Pairs] = [frozenset()]
    for primes in slices.values():
        free = _largest(both for one in free for two in primes if (both := _meet(one, two)) is not None)
        if limit is not None and len(free) > limit:
            raise _TooLarge
    bound = [p | {(split, x)} for x, primes in slices.items() for p in primes if not any(other <= p for other in free)]
    if limit is not None and len(free) + len(bound) > limit:
        raise _TooLarge
    return free + bound


def _meet(one: Pairs, two: Pairs) -> Pairs | None:
    """Return the intersection of two patterns; None if they contradict each other."""
    both = one | two
    return both if len({v for v, _ in both}) == len(both) else None


# ---------------------------------------------------------------- covers
def _exact_cover(patterns: Sequence[Context], scope: Scope) -> list[Context]:
    primes = [Context(p) for p in _primes([frozenset(p.items()) for p in patterns], scope, PRIME_LIMIT)]
    # The number of patterns counts first, then the number of variables that they assign.
    costs = [1 + 1_000 * len(scope) + len(p) for p in primes]
    rows: list[frozenset[int]] = []
    chosen: list[int] = []
    steps = [STEP_LIMIT]
    while True:
        cover = [primes[k] for k in chosen]
        left = next((gap for p in primes if p not in cover and (gap := hole(cover, p, scope)) is not None), None)
        if left is None:
            return _sorted([frozenset(p.items()) for p in cover], scope)
        rows.append(_primes_over(left, primes, scope))
        chosen = _cheapest_hitting_set(rows, costs, steps)


def _primes_over(context: Context, primes: list[Context], scope: Scope) -> frozenset[int]:
    """Return the primes over an outcome within `context`, all of which is to be covered: one with few of them."""
    outcome = dict(context)
    over = [k for k, p in enumerate(primes) if p.agrees(outcome)]
    for v in dict.fromkeys(v for k in over for v in primes[k]):
        if v not in outcome:
            choices = [[k for k in over if primes[k].get(v, x) == x] for x in scope[v]]
            best = min(choices, key=len)
            outcome[v] = scope[v][choices.index(best)]
            over = best
    return frozenset(over)


def _cheapest_hitting_set(rows: list[frozenset[int]], costs: list[int], steps: list[int]) -> list[int]:
    """Return a cheapest set of columns that meets every row, by branch and bound."""
    best: list[int] = []
    best_cost = 0
    for row in rows:  # a first solution, row by row
        if not row.intersection(best):
            best.append(min(row, key=costs.__getitem__))
            best_cost += costs[best[-1]]

    def search(chosen: list[int], cost: int, left: list[frozenset[int]]) -> None:
        nonlocal best, best_cost
        steps[0] -= 1
        if steps[0] < 0:
            raise _TooLarge
        if not left:
            if cost < best_cost:
                best, best_cost = chosen, cost
            return
        bound, seen = cost, set[int]()
        left = sorted(left, key=len)
        for row in left:  # rows without a common column need a column each
            if not row & seen:
                seen |= row
                bound += min(costs[k] for k in row)
        if bound >= best_cost:
            return
        dropped: set[int] = set()
        for k in sorted(left[0], key=lambda k: (costs[k], k)):
            # What was tried before need not be tried again beside k.
            rest = [row - dropped for row in left if k not in row]
            if all(rest):
                search([*chosen, k], cost + costs[k], rest)
            dropped.add(k)

    search([], 0, rows)
    return best
