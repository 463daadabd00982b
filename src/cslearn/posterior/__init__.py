"""The posterior over CStrees: what the orders drawn, or all orders, say about edges, stages and predictions."""

from cslearn.posterior.posterior import CStreePosterior
from cslearn.posterior.recorded import edge_error, edge_record, edge_rows, edge_table, is_of_one_order

__all__ = ["CStreePosterior", "edge_error", "edge_record", "edge_rows", "edge_table", "is_of_one_order"]
