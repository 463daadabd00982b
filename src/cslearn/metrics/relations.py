"""Precision and recall of the context-specific relations of a model.

A relation counts as right if the reference entails it (:meth:`cslearn.CStree.implies`), in whatever form. Where that
cannot be decided, in large models, it counts as not entailed, so that precision and recall are never too good.
"""

from __future__ import annotations

from math import ceil

from cslearn._checked import checked
from cslearn.cstree import CStree
from cslearn.errors import LimitError
from cslearn.graphs import CSIRelation
from cslearn.graphs.entailment import Entailment
from cslearn.metrics.distances import EdgeScores

__all__ = ["csi_scores"]

# Relations of a model that are looked at, and those that may be undecided before only separation is tried.
MOST_RELATIONS = 1_000
UNDECIDED = 10


@checked
def csi_scores(reference: CStree, model: CStree) -> EdgeScores:
    """Return precision and recall of the context-specific relations of a model.

    The relations are those of :meth:`cslearn.CStree.csi_relations`, which no DAG can say. Precision is the share of the
    model's that the reference entails, recall the share of the reference's that the model entails. Of more than 1,000
    relations every second, third, ... is looked at, so that at most 1,000 are.

    Examples
    --------
    >>> from cslearn import CStree
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.metrics import csi_scores
    >>> tree = chickenpox_model()
    >>> without = CStree.from_dag(tree.to_dag(), states=tree.states)
    >>> csi_scores(tree, without).recall, csi_scores(tree, tree).recall
    (0.0, 1.0)
    """
    true, given = (_looked_at(tree.csi_relations()) for tree in (reference, model))
    return EdgeScores(len(true), len(given), _n_entailed(reference, given), _n_entailed(model, true))


def _looked_at(relations: list[CSIRelation]) -> list[CSIRelation]:
    """Return relations, or an even share of them if they are many."""
    return relations[:: ceil(len(relations) / MOST_RELATIONS)] if relations else []


def _n_entailed(model: CStree, relations: list[CSIRelation]) -> int:
    entailment = Entailment(model)
    total, undecided = 0, 0
    for relation in relations:
        try:
            # A model in which this much could not be decided is too large for exact decisions.
            entailed = entailment.is_separated(relation) if undecided > UNDECIDED else entailment.implies(relation)
        except LimitError:
            entailed = False
            undecided += 1
        total += entailed
    return total
