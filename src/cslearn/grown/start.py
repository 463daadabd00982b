"""The first order: the best split of any context of any variable, again and again, as long as no cycle is closed.

After Chickering, Heckerman and Meek (1997), who learn networks with decision trees in this way. Only the parts of a new
split are new contexts, so the whole takes about as long as ranking the splits of a few contexts for each variable.
"""

from __future__ import annotations

import heapq
from math import log

import numpy as np
from numpy.typing import NDArray

from cslearn.grown.contexts import GrownContexts

__all__ = ["greedy_order"]

# Splits whose parts are filled together, those at the top of the heap.
TOGETHER = 64


def greedy_order(contexts: GrownContexts, before: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
    """Return an order of the variables that suits the splits with the largest gains.

    Parameters
    ----------
    contexts : GrownContexts
    before : ndarray of bool, shape (p, p), optional
        ``before[i, j]`` tells that variable `i` must come before `j`; transitively closed.

    Returns
    -------
    ndarray of int, shape (p,)
        Columns of the data.
    """
    store = contexts.store
    p = len(store.counts.cards)
    # reach[v] has the variables that come after v.
    reach = np.zeros((p, p), dtype=bool) if before is None else before.copy()
    rules, bound, cards = contexts.rules, store.growth.bound, store.counts.cards
    price = [rules.price[t][cards] for t in range(bound)]
    # Which variables will come before one is not known yet: about half of them.
    of_new = rules.log_more - log(max(1, p // 2))
    parents = np.zeros((p, p), dtype=bool)
    leaves: list[set[int]] = [{v} for v in range(p)]
    current: dict[int, int] = {}
    heap: list[tuple[float, int, int]] = []

    def push(node: int) -> None:
        """Put the best split of a context that closes no cycle on the heap, in place of what is there."""
        splits = store.splits(node)
        current.pop(node, None)
        if not len(splits.variables):
            return
        v, t = splits.target, splits.depth
        n_parents = int(parents[v].sum())
        value = splits.gains + price[t][splits.variables] - rules.log_of[max(1, n_parents - t)]
        value[~parents[v, splits.variables]] += of_new
        value[reach[v, splits.variables]] = -np.inf
        best = int(np.argmax(value))
        if value[best] > 0:
            current[node] = splits.first + best
            heapq.heappush(heap, (-float(value[best]), node, splits.first + best))

    for v in range(p):
        push(v)
    while heap:
        _, node, e = heap[0]
        if current.get(node) != e:
            heapq.heappop(heap)
            continue
        v, k = store.target_and_variable(node, e)
        if reach[v, k]:
            heapq.heappop(heap)
            push(node)
            continue
        parts = store.parts(e)
        if parts is None:
            store.provide([(n, split) for _, n, split in heapq.nsmallest(TOGETHER, heap)])
            continue
        heapq.heappop(heap)
        del current[node]
        if not reach[k, v]:
            above, below = reach[:, k].copy(), reach[v].copy()
            above[k] = below[v] = True
            reach[above] |= below
        leaves[v].discard(node)
        leaves[v].update(parts)
        new, parents[v, k] = not parents[v, k], True
        # A new parent is cheap in all other contexts of the variable.
        for leaf in sorted(leaves[v]) if new else parts:
            push(leaf)
    # Those with fewer before them come first: an order of the graph that the splits made.
    return np.argsort(reach.sum(axis=0), kind="stable").astype(np.int64)
