"""The posterior over CStrees: what the orders drawn, or all orders, say about edges, stages and predictions."""

from cslearn.posterior.posterior import CStreePosterior

__all__ = ["CStreePosterior"]
