"""How probable new rows are under a model."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from cslearn._checked import checked
from cslearn.cstree import CStree
from cslearn.errors import InputError

__all__ = ["HeldOut", "held_out"]


@dataclass(frozen=True)
class HeldOut:
    """The mean log-probability of rows.

    Attributes
    ----------
    mean : float
        In nats a row, weighted by the weights of the rows; minus infinity if a row is impossible.
    standard_error : float
        Of the mean, as an estimate of its expectation; not a number for a single row or an impossible one.
    n : int
        Number of rows.
    n_impossible : int
        Number of rows to which the model gives probability zero.
    """

    mean: float
    standard_error: float
    n: int
    n_impossible: int


@checked
def held_out(tree: CStree, data: Any, **options: Any) -> HeldOut:
    """Return the mean log-probability of rows that a model was not learned from.

    Parameters
    ----------
    tree : CStree
    data : table, frame, path or whatever :func:`cslearn.data.as_table` reads
    **options
        Options of :func:`cslearn.data.as_table`, such as ``sample_weight``.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.metrics import held_out
    >>> tree = chickenpox_model()
    >>> round(held_out(tree, tree.sample(1000, random_state=0)).mean, 3)
    -2.121
    """
    table = tree.encode(data, **options)
    if not table.n:
        raise InputError("there are no rows")
    logs = tree.log_prob(table)
    weights = np.ones(table.n) if table.weights is None else table.weights
    logs, weights = logs[weights > 0], weights[weights > 0]
    impossible = int(np.isneginf(logs).sum())
    if impossible:
        return HeldOut(-np.inf, np.nan, len(logs), impossible)
    mean = float(np.average(logs, weights=weights))
    spread = float(np.average((logs - mean) ** 2, weights=weights))
    total = float(weights.sum())
    return HeldOut(mean, sqrt(spread / (total - 1)) if total > 1 else np.nan, len(logs), 0)
