"""Rows of an encoded table in stages: counted, and drawn. Knows nothing of scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from cslearn.data import Table
from cslearn.stagings.trees import decision_tree

__all__ = ["StageFinder", "draw_states", "rows_that_agree", "stage_counts", "stage_of_rows"]


def rows_that_agree(codes: NDArray[np.integer], pairs: Iterable[tuple[int, int]]) -> NDArray[np.bool_]:
    """Return which rows of `codes` have code ``x`` in column ``v`` for every pair ``(v, x)``. O(n |S|)."""
    agree = np.ones(len(codes), dtype=bool)
    for variable, state in pairs:
        agree &= codes[:, variable] == state
    return agree


class StageFinder:
    """Finds the stages of rows; made once for a staging that is asked about often.

    All rows go down the decision tree that draws the staging at once, so the cost is O(n) for each context variable of
    the longest context, and not for each stage. Contexts that no tree draws are compared with the rows one by one.

    Parameters
    ----------
    contexts : sequence of iterables of (column, code) pairs
        A staging.

    Examples
    --------
    >>> import numpy as np
    >>> find = StageFinder([[(0, 0)], [(0, 1), (1, 0)], [(0, 1), (1, 1)]])
    >>> find(np.array([[0, 0], [0, 1], [1, 1]]))
    array([0, 0, 2])
    """

    def __init__(self, contexts: Sequence[Iterable[tuple[int, int]]]) -> None:
        nodes = decision_tree([dict(pairs) for pairs in contexts])
        width = 1 + max((state for node in nodes for state in node.children), default=0)
        # A row at node k goes on at below[k, its code of variable[k]], and stays at a leaf.
        self._variable = np.array([0 if node.variable is None else node.variable for node in nodes])
        self._below = np.repeat(np.arange(len(nodes))[:, None], width, axis=1)
        for k, node in enumerate(nodes):
            for state, child in node.children.items():
                self._below[k, state] = child
        self._inner = np.array([bool(node.children) for node in nodes])
        self._stage = np.array([node.stages[0] for node in nodes])
        self._mixed = {
            k: [(stage, list(contexts[stage])) for stage in node.stages]
            for k, node in enumerate(nodes)
            if not node.children and len(node.stages) > 1
        }

    def __call__(self, codes: NDArray[np.integer]) -> NDArray[np.intp]:
        """Return for every row the position of the context it agrees with."""
        place = np.zeros(len(codes), dtype=np.intp)
        moving = np.arange(len(codes) if self._inner[0] else 0)
        while len(moving):
            here = place[moving]
            there = self._below[here, codes[moving, self._variable[here]]]
            place[moving] = there
            moving = moving[self._inner[there]]
        stage: NDArray[np.intp] = self._stage[place]
        for k, members in self._mixed.items():
            rows = np.flatnonzero(place == k)
            for index, pairs in members:
                stage[rows[rows_that_agree(codes[rows], pairs)]] = index
        return stage


def stage_of_rows(codes: NDArray[np.integer], contexts: Sequence[Iterable[tuple[int, int]]]) -> NDArray[np.intp]:
    """Return for every row the position of the context it agrees with; the contexts form a staging."""
    return StageFinder(contexts)(codes)


def stage_counts(table: Table, target: int, contexts: Sequence[Iterable[tuple[int, int]]]) -> NDArray[np.float64]:
    """Return the (weighted) number of rows in each stage with each state of the target.

    Parameters
    ----------
    table : Table
    target : int
        Column of the target.
    contexts : sequence of iterables of (column, code) pairs
        A staging.

    Returns
    -------
    ndarray, shape (stages, cardinality of the target)

    Examples
    --------
    >>> import numpy as np
    >>> from cslearn.counts import stage_counts
    >>> from cslearn.data import Table
    >>> table = Table(np.array([[0, 0], [0, 1], [1, 1]]), ("a", "b"), (("n", "y"), ("n", "y")))
    >>> stage_counts(table, 1, [[(0, 0)], [(0, 1)]])
    array([[1., 1.],
           [0., 1.]])
    """
    d = table.cards[target]
    cell = stage_of_rows(table.codes, contexts) * d + table.codes[:, target]
    counts = np.bincount(cell, weights=table.weights, minlength=len(contexts) * d)
    return counts.astype(float).reshape(len(contexts), d)


def draw_states(
    stage: NDArray[np.intp], probabilities: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.intp]:
    """Draw the code of a target for every row, given its stage and the probabilities in each stage."""
    uniform = rng.random(len(stage))
    # The last state takes what is left, so rounding never makes a state that does not exist.
    below = np.cumsum(probabilities, axis=1)[:, :-1]
    codes = np.zeros(len(stage), dtype=np.intp)
    for threshold in below.T:
        codes += uniform >= threshold[stage]
    return codes
