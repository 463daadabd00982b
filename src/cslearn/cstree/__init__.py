"""The model: order, stagings, parameters; log-probability, sampling, saving. Knows nothing of learning."""

from cslearn.cstree.model import CStree

__all__ = ["CStree"]
