"""The few numerical helpers that several parts share. Logarithms are natural."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from os import cpu_count

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cslearn.errors import InputError

__all__ = ["as_generator", "log_sum_exp", "log_sum_exp_axis", "n_threads"]

RandomState = int | np.random.Generator | np.random.RandomState | None


def log_sum_exp(values: Sequence[float] | NDArray[np.float64]) -> float:
    """Return ``log(sum(exp(values)))``; minus infinity for no values or only zeros."""
    array = np.asarray(values, dtype=float)
    top = array.max(initial=-inf)
    return float(top + np.log(np.exp(array - top).sum())) if top > -inf else -inf


def log_sum_exp_axis(values: ArrayLike, axis: int) -> NDArray[np.float64]:
    """Return ``log(sum(exp(values), axis))``; minus infinity where there is nothing but zeros."""
    array = np.asarray(values, dtype=float)
    if array.shape[axis] == 0:
        return np.full(np.delete(array.shape, axis), -inf)
    top = array.max(axis=axis, keepdims=True)
    top = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(array - top).sum(axis=axis)) + top.squeeze(axis)


def n_threads(n_jobs: int | None) -> int:
    """Return how many threads to use: all cores unless `n_jobs` says otherwise."""
    return n_jobs if n_jobs is not None and n_jobs > 0 else cpu_count() or 1


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Turn a seed, a generator or a legacy RandomState into a NumPy generator."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31, size=4))
    try:
        if getattr(random_state, "ndim", 0) > 1:  # NumPy takes a matrix apart without end, which ends the process
            raise TypeError
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise InputError(
            f"random_state is a whole number of at least 0, a generator or None, not {random_state!r}"
        ) from None
