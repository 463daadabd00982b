"""Pictures of models: graphs, staged trees and what the sampled orders say. Knows nothing of learning.

Positions, DOT and TikZ need nothing beyond the package; the other pictures need the extra ``cslearn[plots]``.
"""

from cslearn.plots.export import ldag_to_dot, ldag_to_tikz, staged_tree_to_dot, staged_tree_to_tikz
from cslearn.plots.graph import plot_context_graphs, plot_edge_graph, plot_ldag
from cslearn.plots.layout import Layout, layered_layout
from cslearn.plots.posterior import plot_edge_probabilities, plot_precedence, plot_trace
from cslearn.plots.staged_tree import plot_staged_tree
from cslearn.plots.strength import edge_strengths

__all__ = [
    "Layout",
    "edge_strengths",
    "layered_layout",
    "ldag_to_dot",
    "ldag_to_tikz",
    "plot_context_graphs",
    "plot_edge_graph",
    "plot_edge_probabilities",
    "plot_ldag",
    "plot_precedence",
    "plot_staged_tree",
    "plot_trace",
    "staged_tree_to_dot",
    "staged_tree_to_tikz",
]
