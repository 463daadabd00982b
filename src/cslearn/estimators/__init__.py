"""The scikit-learn front: the learner."""

from cslearn.estimators.learner import CStreeLearner, SupportedRelation

__all__ = ["CStreeLearner", "SupportedRelation"]
