"""Answers by sampling, where the exact one is too large: likelihood weighting.

Rows are drawn in the order of the model. A variable with known state is not drawn; instead the row's weight is
multiplied with the probability of that state, and likewise with the weights of soft evidence. Variables without
targets or evidence among themselves and their descendants are not drawn at all. The weighted shares of the targets'
states converge to their distribution given the evidence. With weights ``w`` that sum to one the standard error of a
share ``q`` is about the root of the sum over draws of ``w^2 (1 - q)^2`` where the draw is in that state and ``w^2 q^2``
elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cslearn._numerics import RandomState, as_generator
from cslearn.counts import stage_of_rows
from cslearn.errors import InputError
from cslearn.inference.factors import Floats

if TYPE_CHECKING:
    from cslearn.inference.queries import Queries

__all__ = ["weighted_shares"]


def weighted_shares(
    queries: Queries,
    targets: Sequence[int],
    evidence: Mapping[str, Any] | None,
    n_samples: int,
    random_state: RandomState,
) -> tuple[Floats, float]:
    """Return an estimate of the joint distribution of the targets given evidence, and its largest standard error.

    The distribution has an axis for each target.
    """
    if isinstance(n_samples, bool) or not isinstance(n_samples, int | np.integer) or n_samples < 1:
        raise InputError(f"n_samples is a whole number, at least 1, not {n_samples!r}")
    tree, rng = queries.tree, as_generator(random_state)
    coded = queries.coder.evidence(evidence)
    parameters = tree.needed_parameters()
    codes = np.zeros((n_samples, len(queries.cards)), dtype=np.uint16, order="F")
    logs = np.zeros(n_samples)
    matters = set(targets) | set(coded.variables)
    for name in reversed(tree.order):
        if queries.coder.column[name] in matters:
            matters.update(queries.parents[queries.coder.column[name]])
    with np.errstate(divide="ignore"):
        for name in tree.order:
            v = queries.coder.column[name]
            if v not in matters:
                continue
            stage = stage_of_rows(codes, tree.coded_contexts[name])
            if v in coded.hard:
                codes[:, v] = coded.hard[v]
                logs += np.log(parameters[name][stage, coded.hard[v]])
                continue
            rows = parameters[name]
            if v in coded.weights:
                # Drawn from what the weights leave; the row's weight is the sum that this is divided by.
                rows = rows * coded.weights[v]
                total = rows.sum(axis=1)
                logs += np.log(total)[stage]
                rows = np.where(total[:, None] > 0, rows / np.where(total > 0, total, 1)[:, None], 1 / rows.shape[1])
            uniform = rng.random(n_samples)
            for threshold in np.cumsum(rows, axis=1)[:, :-1].T:
                codes[:, v] += uniform >= threshold[stage]
    top = logs.max()
    if top == -np.inf:
        raise InputError(
            f"none of {n_samples:,} draws agrees with the evidence: it is impossible, or so rare that more draws are"
            " needed (n_samples)"
        )
    weights = np.exp(logs - top)
    weights /= weights.sum()
    cell = np.zeros(n_samples, dtype=np.intp)
    for t in targets:
        cell = cell * queries.cards[t] + codes[:, t]
    sizes = [queries.cards[t] for t in targets]
    shares = np.bincount(cell, weights=weights, minlength=int(np.prod(sizes))).astype(float)
    squares = np.bincount(cell, weights=weights**2, minlength=len(shares))
    variances = squares * (1 - 2 * shares) + squares.sum() * shares**2
    return shares.reshape(sizes), float(np.sqrt(variances.max(initial=0.0)))
