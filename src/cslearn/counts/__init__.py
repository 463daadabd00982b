"""Rows counted: in the stages of a model, and in many contexts at once while a model is learned."""

from cslearn.counts.bits import BitCounts
from cslearn.counts.protocol import Contexts, Counts
from cslearn.counts.stages import StageFinder, draw_states, rows_that_agree, stage_counts, stage_of_rows

__all__ = [
    "BitCounts",
    "Contexts",
    "Counts",
    "StageFinder",
    "draw_states",
    "rows_that_agree",
    "stage_counts",
    "stage_of_rows",
]
