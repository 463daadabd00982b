"""Contexts and stagings: values, counting, listing, sums, maxima and draws. Knows nothing of data."""

from cslearn.stagings.counting import count, count_cstrees, max_parents, max_stages
from cslearn.stagings.types import Context, Stage, Staging
from cslearn.stagings.weighted import draw, listing, log_sum, maximum

__all__ = [
    "Context",
    "Stage",
    "Staging",
    "count",
    "count_cstrees",
    "draw",
    "listing",
    "log_sum",
    "max_parents",
    "max_stages",
    "maximum",
]
