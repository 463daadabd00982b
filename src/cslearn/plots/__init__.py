"""Pictures of models: graphs, staged trees and what the sampled orders say. Knows nothing of learning.

Positions, DOT and TikZ need nothing beyond the package; the other pictures need the extra ``cslearn[plots]``.
"""

from cslearn.plots.graph import plot_context_graphs, plot_ldag
from cslearn.plots.layout import Layout, layered_layout
from cslearn.plots.strength import edge_strengths

__all__ = ["Layout", "edge_strengths", "layered_layout", "plot_context_graphs", "plot_ldag"]
