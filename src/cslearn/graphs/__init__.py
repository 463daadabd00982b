"""What a CStree shows: the LDAG and the CSI relations. Knows nothing of learning."""

from cslearn.graphs.ldag import LDAG
from cslearn.graphs.relations import CSIRelation

__all__ = ["LDAG", "CSIRelation"]
