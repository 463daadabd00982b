"""The scikit-learn front: the learner and the classifier."""

from cslearn.estimators.classifier import CStreeClassifier
from cslearn.estimators.learner import CStreeLearner, SupportedRelation

__all__ = ["CStreeClassifier", "CStreeLearner", "SupportedRelation"]
