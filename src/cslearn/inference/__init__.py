"""Using a model: queries, prediction, missing values, interventions, effects. Knows nothing of learning."""

from cslearn.inference.adjustment import adjustment_sets, markov_blanket
from cslearn.inference.effect_table import DIRECTIONS, Effect, EffectRow
from cslearn.inference.effects import effect
from cslearn.inference.estimates import Estimate
from cslearn.inference.gaps import EMResult, em
from cslearn.inference.queries import MostProbable, Queries

__all__ = [
    "DIRECTIONS",
    "EMResult",
    "Effect",
    "EffectRow",
    "Estimate",
    "MostProbable",
    "Queries",
    "adjustment_sets",
    "effect",
    "em",
    "markov_blanket",
]
