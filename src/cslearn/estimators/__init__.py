"""The scikit-learn front: the learner."""

from cslearn.estimators.learner import CStreeLearner

__all__ = ["CStreeLearner"]
