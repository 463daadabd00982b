"""The scikit-learn front: the learner, the classifier, and their settings."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cslearn.estimators.evidence import relation_table
from cslearn.estimators.settings import PC, All, Auto, Chains, Given, GRaSP, Screen

if TYPE_CHECKING:
    from cslearn.estimators.classifier import CStreeClassifier
    from cslearn.estimators.estimator import CStreeLearner

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

# What needs scikit-learn, which takes longer to load than a small fit: loaded on first use.
_HOMES = {"CStreeClassifier": "cslearn.estimators.classifier", "CStreeLearner": "cslearn.estimators.estimator"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
