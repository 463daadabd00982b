"""Precision and recall of the context-specific relations of a model.

A relation counts as right if the reference entails it (:meth:`cslearn.CStree.implies`), in whatever form. Where that
cannot be decided, in large models, it counts as not entailed, so that precision and recall are never too good.
"""

from __future__ import annotations

from cslearn.cstree import CStree
from cslearn.errors import LimitError
from cslearn.graphs import CSIRelation
from cslearn.metrics.distances import EdgeScores

__all__ = ["csi_scores"]


def csi_scores(reference: CStree, model: CStree) -> EdgeScores:
    """Return precision and recall of the context-specific relations of a model.

    The relations are those of :meth:`cslearn.CStree.csi_relations`, which no DAG can say. Precision is the share of the
    model's that the reference entails, recall the share of the reference's that the model entails.

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
    true, given = reference.csi_relations(), model.csi_relations()
    return EdgeScores(
        len(true),
        len(given),
        sum(_entails(reference, relation) for relation in given),
        sum(_entails(model, relation) for relation in true),
    )


def _entails(model: CStree, relation: CSIRelation) -> bool:
    try:
        return model.implies(relation)
    except LimitError:
        return False
