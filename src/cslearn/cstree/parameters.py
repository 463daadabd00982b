"""Estimates of the parameters of stages from counts."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from cslearn.errors import InputError

__all__ = ["Method", "estimate"]

Method = Literal["mean", "map", "mle"]


def estimate(counts: NDArray[np.float64], a_stage: NDArray[np.float64], method: Method) -> NDArray[np.float64]:
    """Estimate the probabilities of the target's states in each stage.

    Parameters
    ----------
    counts : ndarray, shape (stages, d)
        Number of rows of each stage with each state of the target.
    a_stage : ndarray, shape (stages,)
        Total prior count of each stage, spread evenly over the states.
    method : {"mean", "map", "mle"}
        ``mean``: posterior mean; never zero. ``map``: posterior mode; a state whose posterior count is below one
        has density without bound at zero and gets probability zero, and a stage in which that is so for all
        states (there are hardly any data) gets the posterior mean instead. ``mle``: relative frequencies, and the
        uniform distribution for a stage without data.

    Returns
    -------
    ndarray, shape (stages, d)

    Examples
    --------
    >>> import numpy as np
    >>> estimate(np.array([[3.0, 1.0], [0.0, 0.0]]), np.array([2.0, 2.0]), "mean").round(3)
    array([[0.667, 0.333],
           [0.5  , 0.5  ]])
    """
    d = counts.shape[1]
    prior = np.repeat(a_stage[:, None] / d, d, axis=1)
    mean = (counts + prior) / (counts.sum(axis=1) + a_stage)[:, None]
    if method == "mean":
        return mean
    if method == "map":
        mass = np.maximum(counts + prior - 1, 0)
        fallback = mean
    elif method == "mle":
        mass = counts
        fallback = np.full_like(counts, 1 / d)
    else:
        raise InputError(f"there is no estimate {method!r}; choose one of {', '.join(map(repr, get_args(Method)))}")
    total = mass.sum(axis=1, keepdims=True)
    return np.where(total > 0, mass / np.where(total > 0, total, 1), fallback)
