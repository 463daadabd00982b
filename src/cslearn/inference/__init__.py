"""Using a model: queries, prediction, missing values, interventions. Knows nothing of learning."""

from cslearn.inference.estimates import Estimate
from cslearn.inference.gaps import EMResult, em
from cslearn.inference.queries import MostProbable, Queries

__all__ = ["EMResult", "Estimate", "MostProbable", "Queries", "em"]
