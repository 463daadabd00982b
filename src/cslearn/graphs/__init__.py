"""What a CStree shows: LDAG, CSI relations and their axioms, minimal contexts. Knows nothing of learning."""

from cslearn.graphs.axioms import (
    absorption,
    contraction,
    decomposition,
    intersection,
    specialization,
    symmetry,
    weak_union,
)
from cslearn.graphs.ldag import LDAG
from cslearn.graphs.minimal_contexts import MinimalContexts
from cslearn.graphs.relations import CSIRelation
from cslearn.graphs.tables import RelationTable, WeighedRelation

__all__ = [
    "LDAG",
    "CSIRelation",
    "MinimalContexts",
    "RelationTable",
    "WeighedRelation",
    "absorption",
    "contraction",
    "decomposition",
    "intersection",
    "specialization",
    "symmetry",
    "weak_union",
]
