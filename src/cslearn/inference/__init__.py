"""Using a model: queries, prediction, missing values, interventions. Knows nothing of learning."""

from cslearn.inference.gaps import EMResult, em
from cslearn.inference.queries import MostProbable, Queries

__all__ = ["EMResult", "MostProbable", "Queries", "em"]
