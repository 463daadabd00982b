"""The scikit-learn front: the learner, the classifier, and their settings."""

from cslearn.estimators.classifier import CStreeClassifier
from cslearn.estimators.evidence import relation_table
from cslearn.estimators.learner import CStreeLearner
from cslearn.estimators.settings import PC, All, Auto, Chains, Given, GRaSP, Screen

__all__ = [
    "PC",
    "All",
    "Auto",
    "CStreeClassifier",
    "CStreeLearner",
    "Chains",
    "GRaSP",
    "Given",
    "Screen",
    "relation_table",
]
