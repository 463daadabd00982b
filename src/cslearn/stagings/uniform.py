"""Draws of a staging of a level, all with equal probability, from counts in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import permutations, product
from math import comb, inf, log

import numpy as np

from cslearn.stagings.counting import count_binary_others, count_trees
from cslearn.stagings.cover import Pairs
from cslearn.stagings.level import draw_log, two_variable_contexts

__all__ = ["draw_binary_other", "draw_uniform", "draw_uniform_tree"]


def draw_uniform(cards: Sequence[int], beta: int, rng: np.random.Generator) -> list[Pairs]:
    """Draw one of the stagings with contexts of at most ``beta <= 2`` variables, all with equal probability.

    Each of a root's states has as many options as the level has variables (a stop or a split on another one), so
    the roots' shares are known. O(m) for `m` variables.
    """
    sizes = np.array(cards, dtype=np.intp)
    m = len(sizes)
    if beta == 0 or m == 0:
        return [()]
    options = m if beta == 2 else 1
    roots = np.append(sizes * np.log(options), 0.0)
    while True:
        k = draw_log(roots, rng)
        if k == m:
            return [()]
        # Option k, which would split on the root itself, stands for a stop.
        drawn = rng.integers(options, size=sizes[k]) if beta == 2 else np.full(sizes[k], k)
        splits = [-1 if j == k else int(j) for j in drawn]
        if splits[0] < 0 or len(set(splits)) > 1 or rng.random() < 0.5:
            return two_variable_contexts(cards, (k, *splits))


def draw_uniform_tree(cards: Sequence[int], beta: int, rng: np.random.Generator) -> list[Pairs]:
    """Draw one of the stagings that a decision tree draws, all with equal probability.

    A root of each cardinality leads to a known number of trees. A staging is drawn once for each variable that all its
    stages hold, and accepted with probability one over the number of these; so it is below each of a root's states.
    """
    kinds = sorted(set(cards))

    def below(prefix: Pairs, left: list[int], bound: int) -> list[Pairs]:
        numbers = [sum(cards[k] == d for k in left) for d in kinds]
        roots = [0.0]
        for d, number in zip(kinds, numbers, strict=True):
            fewer = tuple((e, n - (e == d)) for e, n in zip(kinds, numbers, strict=True))
            roots.append(log(number) + d * log(count_trees(fewer, bound - 1)) if number and bound else -inf)
        while True:
            pick = draw_log(np.array(roots), rng) - 1
            if pick < 0:
                return [prefix]
            of_kind = [k for k in left if cards[k] == kinds[pick]]
            root = of_kind[int(rng.integers(len(of_kind)))]
            rest = [k for k in left if k != root]
            drawn = [c for x in range(cards[root]) for c in below((*prefix, (root, x)), rest, bound - 1)]
            common = set.intersection(*({k for k, _ in context[len(prefix) :]} for context in drawn))
            if rng.random() * len(common) < 1:
                return drawn

    return below((), list(range(len(cards))), min(beta, len(cards)))


def draw_binary_other(n: int, rng: np.random.Generator) -> list[Pairs]:
    """Draw one of the stagings of `n` binary variables that no tree draws, all with equal probability."""
    of_triples = 8 * comb(n, 3) * (n - 2) ** 3
    if rng.random() * count_binary_others(n) >= of_triples:
        variables = np.sort(rng.choice(n, 4, replace=False)).tolist()
        staging = _eights()[int(rng.integers(8))]
        return [tuple((k, x) for k, x in zip(variables, cell, strict=True) if x is not None) for cell in staging]
    variables = np.sort(rng.choice(n, 3, replace=False)).tolist()
    corners, edges = _rings()[int(rng.integers(8))]
    found: list[Pairs] = [tuple(zip(variables, corner, strict=True)) for corner in corners]
    outside = [None, *(k for k in range(n) if k not in variables)]
    for edge in edges:
        pairs = tuple((k, x) for k, x in zip(variables, edge, strict=True) if x is not None)
        split = outside[int(rng.integers(len(outside)))]
        found += [pairs] if split is None else [(*pairs, (split, x)) for x in (0, 1)]
    return found


@cache
def _rings() -> list[tuple[list[tuple[int, ...]], list[tuple[int | None, ...]]]]:
    """Return, for three variables, the two corners and three edges (None: free) of each of the eight skeletons."""
    found = []
    for corner in product((0, 1), repeat=3):
        if corner[0]:
            continue
        opposite = tuple(1 - x for x in corner)
        # Around the corners: one step away from the first, then two, and so on.
        for turn in ((0, 1, 2), (0, 2, 1)):
            edges: list[tuple[int | None, ...]] = []
            for k in range(3):
                here, then = turn[k], turn[(k + 1) % 3]
                edge: list[int | None] = list(corner)
                edge[here], edge[then] = opposite[here], None
                edges.append(tuple(edge))
            found.append(([corner, opposite], edges))
    return found


@cache
def _eights() -> list[list[tuple[int | None, ...]]]:
    """Return, for four variables, the eight stagings with eight stages of three variables that no tree draws."""
    words = ("000*", "0*10", "*011", "*100", "01*1", "10*0", "1*01", "111*")
    cells = [tuple(None if x == "*" else int(x) for x in word) for word in words]
    found = set()
    for places in permutations(range(4)):
        for flips in product((0, 1), repeat=4):
            found.add(
                frozenset(
                    tuple(None if (x := cell[k]) is None else x ^ flip for k, flip in zip(places, flips, strict=True))
                    for cell in cells
                )
            )
    return [sorted(staging, key=str) for staging in sorted(found, key=lambda staging: sorted(map(str, staging)))]
