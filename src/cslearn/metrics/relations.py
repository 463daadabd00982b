"""Precision and recall of the context-specific relations of a model.

A relation is taken as right if the reference entails it, in whatever form. That is decided by *CSI-separation*
(Boutilier and others): take the edges out of the LDAG that vanish in the context, and ask whether the context's
variables d-separate what is left. It is sound; it may miss a relation that follows from several contexts together.
"""

from __future__ import annotations

from cslearn.cstree import CStree
from cslearn.errors import InputError
from cslearn.graphs import LDAG, CSIRelation
from cslearn.metrics.distances import EdgeScores

__all__ = ["csi_scores", "entails"]


def entails(model: CStree | LDAG, relation: CSIRelation) -> bool:
    """Tell whether a relation follows from an LDAG by CSI-separation.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.graphs import CSIRelation
    >>> from cslearn.metrics import entails
    >>> from cslearn.stagings import Context
    >>> tree = chickenpox_model()
    >>> entails(tree, CSIRelation("diagnosis", ("carrier",), Context({"exposed": "no"})))
    True
    >>> entails(tree, CSIRelation("diagnosis", ("carrier",), Context({"exposed": "yes"})))
    False
    """
    import networkx as nx

    ldag = model.to_ldag() if isinstance(model, CStree) else model
    named = [relation.target, *relation.independent_of, *relation.context]
    unknown = [v for v in named if v not in ldag.graph]
    if unknown:
        raise InputError(f"the relation ({relation}) names {unknown[0]!r}, which is not a variable of the model")
    context = dict(relation.context)
    # Only ancestors matter for d-separation.
    near = set(named).union(*(nx.ancestors(ldag.graph, v) for v in named))
    graph = nx.DiGraph(ldag.graph.subgraph(near))
    graph.remove_edges_from([e for e in graph.edges if e in ldag.labels and ldag.vanishes(e, context)])
    return bool(nx.is_d_separator(graph, {relation.target}, set(relation.independent_of), set(context)))


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
    true_ldag, given_ldag = reference.to_ldag(), model.to_ldag()
    return EdgeScores(
        len(true),
        len(given),
        sum(entails(true_ldag, relation) for relation in given),
        sum(entails(given_ldag, relation) for relation in true),
    )
