"""How far one model is from another: distributions, graphs, contexts and orders. Knows nothing of learning."""

from cslearn.metrics.comparison import Comparison, compare
from cslearn.metrics.cpdag import cpdag
from cslearn.metrics.distances import EdgeScores, edge_scores, ldag_distance, shd
from cslearn.metrics.divergence import Divergence, kl_divergence
from cslearn.metrics.likelihood import HeldOut, held_out
from cslearn.metrics.orders import backward_edges, kendall_distance
from cslearn.metrics.relations import csi_scores

__all__ = [
    "Comparison",
    "Divergence",
    "EdgeScores",
    "HeldOut",
    "backward_edges",
    "compare",
    "cpdag",
    "csi_scores",
    "edge_scores",
    "held_out",
    "kendall_distance",
    "kl_divergence",
    "ldag_distance",
    "shd",
]
