"""Rows counted: in the stages of a model, and in many contexts at once while a model is learned."""

from cslearn.counts.bits import BitCounts
from cslearn.counts.joint import joint_counts
from cslearn.counts.packed import PackedCounts
from cslearn.counts.protocol import Contexts, Counts
from cslearn.counts.remembered import RememberedCounts
from cslearn.counts.stages import StageFinder, draw_states, rows_that_agree, stage_counts, stage_of_rows
from cslearn.counts.tables import columns_of, counts_of, is_counted

__all__ = [
    "BitCounts",
    "Contexts",
    "Counts",
    "PackedCounts",
    "RememberedCounts",
    "StageFinder",
    "columns_of",
    "counts_of",
    "draw_states",
    "is_counted",
    "joint_counts",
    "rows_that_agree",
    "stage_counts",
    "stage_of_rows",
]
