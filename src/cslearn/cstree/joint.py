"""The whole joint distribution of a CStree as one array, for small joint spaces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cslearn.cstree.model import CStree

__all__ = ["conditional_table", "log_joint"]

Floats = NDArray[np.float64]


def conditional_table(tree: CStree, variable: str) -> Floats:
    """Return ``P(variable | parents)`` with one axis for each parent, in the order of the tree, and one for it."""
    parents = tree.parents[variable]
    table = np.empty([len(tree.states[v]) for v in (*parents, variable)])
    for context, row in zip(tree.stagings[variable], tree.needed_parameters()[variable], strict=True):
        fixed = tuple(tree.states[v].index(context[v]) if v in context else slice(None) for v in parents)
        table[fixed] = row
    return table


def log_joint(tree: CStree, variables: Sequence[str] | None = None) -> Floats:
    """Return the log-probability of every outcome, with one axis for each variable in the order of `variables`.

    O(p) passes over the joint space. Variables with one state have no axis, as NumPy's arrays have at most 64.
    """
    axes = [v for v in variables or tree.variables if len(tree.states[v]) > 1]
    total = np.zeros([len(tree.states[v]) for v in axes])
    for variable in tree.order:
        members = [*tree.parents[variable], variable]
        if len(tree.states[variable]) == 1:
            continue
        with np.errstate(divide="ignore"):
            table = np.log(conditional_table(tree, variable))
        present = sorted(members, key=axes.index)
        table = table.transpose([members.index(v) for v in present])
        total += table.reshape([len(tree.states[v]) if v in members else 1 for v in axes])
    return total
