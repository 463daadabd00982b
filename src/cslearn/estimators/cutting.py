"""What a smaller context bound would cost: the trees of a model are cut at a depth."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cslearn.cstree import CStree
from cslearn.scores import Scores
from cslearn.stagings import Context
from cslearn.stagings.trees import decision_tree

__all__ = ["BoundCost", "cost_of_bound"]


class BoundCost(NamedTuple):
    """What is left of a CStree, and lost, if no context may have more than some number of variables.

    Attributes
    ----------
    stages : int
        Stages that are left.
    loss : float
        By how much the mean log-likelihood of the rows learned from gets lower.
    """

    stages: int
    loss: float


def cost_of_bound(tree: CStree, scores: Scores, beta: int) -> BoundCost:
    """Return what a CStree loses if the trees of its stagings are cut below `beta` variables.

    Both models have the posterior means of their stages as parameters, so that counts are all that it takes.
    """
    cards = {v: len(states) for v, states in tree.states.items()}
    stages, loss, rows = 0, 0.0, 0.0
    for v, staging in tree.stagings.items():
        contexts = list(staging.contexts)
        counts, sizes = scores.stage_counts(v, contexts)
        parts = _cut(contexts, beta)
        stages += len(parts)
        rows = max(rows, float(counts.sum()))
        if len(parts) < len(contexts):
            merged = np.array([counts[part].sum(axis=0) for _, part in parts])
            outcomes = np.array([prod(cards[u] for u in variables) for variables, _ in parts], dtype=float)
            loss += _log_likelihood(counts, sizes, scores) - _log_likelihood(merged, outcomes, scores)
    return BoundCost(stages, loss / rows if rows else 0.0)


def _cut(contexts: list[Context], beta: int) -> list[tuple[tuple[str, ...], list[int]]]:
    """Return the variables of each stage of the tree cut below so many variables, and which stages it is made of."""
    nodes, parts = decision_tree(contexts), []
    paths: list[tuple[str, ...]] = [()] * len(nodes)
    cut = [False] * len(nodes)
    for at, node in enumerate(nodes):
        if not cut[at] and (node.variable is None or len(paths[at]) == beta):
            parts.append((paths[at], node.stages))
        for child in node.children.values():
            cut[child] = cut[at] or len(paths[at]) == beta
            paths[child] = (*paths[at], node.variable)
    return parts


def _log_likelihood(counts: NDArray[np.float64], sizes: NDArray[np.float64], scores: Scores) -> float:
    a_stage = (scores.ess * sizes**-scores.gamma)[:, None]
    means = (counts + a_stage / counts.shape[1]) / (counts.sum(axis=1, keepdims=True) + a_stage)
    return float((counts * np.log(means)).sum())
