"""Graphs of a CStree: the LDAG. Knows nothing of learning."""

from cslearn.graphs.ldag import LDAG

__all__ = ["LDAG"]
