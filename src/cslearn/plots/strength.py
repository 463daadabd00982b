"""How strongly the parents of a CStree act on their children.

The strength of ``j -> i`` is the mean total variation distance between the distributions of `i` for two different
states of `j`, all else equal: over all pairs of states of `j` and all outcomes of the other parents alike. It
is 0 if `j` changes nothing and 1 if the state of `j` always settles that of `i` one way or the other.

Only outcomes whose stage has `j` in its context count: elsewhere both states lead to the same stage. Two stages A and
B that have `j` in different states meet for the outcomes of the other parents that agree with both contexts, a share of
``1 / prod(d_v)`` over the other variables of A and B, or none if they contradict each other. So the mean is a sum over
pairs of stages, and no outcome is ever listed.
"""

from __future__ import annotations

from math import comb, prod
from typing import TYPE_CHECKING, Any

from cslearn._checked import checked
from cslearn.stagings import Context

if TYPE_CHECKING:
    from cslearn.cstree import CStree

__all__ = ["edge_strengths"]


@checked
def edge_strengths(tree: CStree) -> dict[tuple[str, str], float]:
    """Return how much each parent changes the distribution of its child on average.

    Parameters
    ----------
    tree : CStree
        With parameters.

    Returns
    -------
    dict of (parent, child) to float
        Between 0 and 1: the mean total variation distance between the distributions of the child for two states of
        the parent, the other parents being in the same states, over all such states alike.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.plots import edge_strengths
    >>> strengths = edge_strengths(chickenpox_model())
    >>> round(strengths["exposed", "carrier"], 3), round(strengths["background", "carrier"], 3)
    (0.48, 0.025)
    """
    parameters = tree.needed_parameters()
    return {
        (parent, child): _strength(tree, parent, child, parameters[child])
        for child in tree.order
        for parent in tree.parents[child]
    }


def _strength(tree: CStree, parent: str, child: str, rows: Any) -> float:
    stages = [(c, row) for c, row in zip(tree.stagings[child], rows, strict=True) if parent in c]
    rest = [(c[parent], Context((v, x) for v, x in c.items() if v != parent), row) for c, row in stages]
    total = 0.0
    for k, (state, context, row) in enumerate(rest):
        for other_state, other, other_row in rest[:k]:
            if state != other_state and context.agrees(other):
                share = 1 / prod(len(tree.states[v]) for v in {*context, *other})
                total += share * float(abs(row - other_row).sum()) / 2
    return total / comb(len(tree.states[parent]), 2)
