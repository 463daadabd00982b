"""Rows of an encoded table in stages: counted, and drawn. Knows nothing of scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from cslearn.data import Table

__all__ = ["draw_states", "rows_that_agree", "stage_counts", "stage_of_rows"]


def rows_that_agree(codes: NDArray[np.integer], pairs: Iterable[tuple[int, int]]) -> NDArray[np.bool_]:
    """Return which rows of `codes` have code ``x`` in column ``v`` for every pair ``(v, x)``. O(n |S|)."""
    agree = np.ones(len(codes), dtype=bool)
    for variable, state in pairs:
        agree &= codes[:, variable] == state
    return agree


def stage_of_rows(codes: NDArray[np.integer], contexts: Sequence[Iterable[tuple[int, int]]]) -> NDArray[np.intp]:
    """Return for every row the position of the context it agrees with; the contexts form a staging.

    O(n) for each context; a row that agrees with none of the others is in the first.
    """
    stage = np.zeros(len(codes), dtype=np.intp)
    for index, pairs in enumerate(contexts):
        if index:
            stage[rows_that_agree(codes, pairs)] = index
    return stage


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
