"""The scikit-learn front: the learner and the classifier."""

from cslearn.estimators.classifier import CStreeClassifier
from cslearn.estimators.evidence import relation_table
from cslearn.estimators.learner import CStreeLearner

__all__ = ["CStreeClassifier", "CStreeLearner", "relation_table"]
