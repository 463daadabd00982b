"""Joint counts of a target and some other variables: contexts of all their states at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cslearn.counts.bits import BitCounts
from cslearn.counts.protocol import Contexts, Counts

__all__ = ["joint_counts"]


def joint_counts(counts: Counts, target: int, sets: NDArray[np.integer]) -> NDArray[np.float64]:
    """Count the states of a target in all contexts of some sets of variables.

    Parameters
    ----------
    counts : Counts
        Those in memory count many sets at once; others are asked for each context.
    target : int
        Its column.
    sets : ndarray of int, shape (r, t)
        The columns of each set, all different.

    Returns
    -------
    ndarray, flat
        One table after the other, with an axis for each column of its set and the last one for the target.

    Examples
    --------
    >>> import numpy as np
    >>> from cslearn.counts import BitCounts, joint_counts
    >>> from cslearn.data import Table
    >>> table = Table(np.array([[0, 0], [0, 1], [1, 1]]), ("a", "b"), (("n", "y"), ("n", "y")))
    >>> joint_counts(BitCounts(table), 1, np.array([[0]])).reshape(2, 2)
    array([[1., 1.],
           [0., 1.]])
    """
    if isinstance(counts, BitCounts) and sets.shape[1]:
        return counts.joint(target, np.ascontiguousarray(sets, dtype=np.int64))
    every = []
    for columns in sets:
        outcomes = list(np.ndindex(*counts.cards[columns].tolist()))
        codes = np.array(outcomes, dtype=np.int64).reshape(len(outcomes), len(columns))
        every.append(Contexts.of_codes(target, columns, codes))
    if not every:
        return np.zeros(0)
    ends = np.cumsum([0, *(len(some.variables) for some in every)])
    joined = Contexts(
        np.concatenate([some.targets for some in every]),
        np.concatenate([[0], *(some.pointers[1:] + end for some, end in zip(every, ends, strict=False))]),
        np.concatenate([some.variables for some in every]),
        np.concatenate([some.states for some in every]),
    )
    return counts.own(joined)[:, : counts.cards[target]].ravel()
