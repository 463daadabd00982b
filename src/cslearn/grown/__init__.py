"""Deep stagings: trees grown from memoised contexts, the order that they ask for, and mixtures of them."""

from cslearn.grown.contexts import ContextStore, GrownContexts, Growth
from cslearn.grown.engine import GrownEngine
from cslearn.grown.level import GrownLevel
from cslearn.grown.local import LocalScores, climbed_locally
from cslearn.grown.partners import best_partners
from cslearn.grown.scores import DEEPEST, GrownScores
from cslearn.grown.start import greedy_order

__all__ = [
    "DEEPEST",
    "ContextStore",
    "GrownContexts",
    "GrownEngine",
    "GrownLevel",
    "GrownScores",
    "Growth",
    "LocalScores",
    "best_partners",
    "climbed_locally",
    "greedy_order",
]
