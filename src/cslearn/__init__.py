"""Learn context-specific structure (CStrees and LDAGs) from categorical data."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cslearn.cstree import CStree
    from cslearn.estimators import CStreeClassifier, CStreeLearner
    from cslearn.generators import random_cstree
    from cslearn.graphs import LDAG
    from cslearn.metrics import kl_divergence
    from cslearn.stagings import count_cstrees

# Where each public name lives: loaded on first use, so that `import cslearn` is quick.
_HOMES = {
    "CStree": "cslearn.cstree",
    "CStreeClassifier": "cslearn.estimators",
    "CStreeLearner": "cslearn.estimators",
    "LDAG": "cslearn.graphs",
    "count_cstrees": "cslearn.stagings",
    "kl_divergence": "cslearn.metrics",
    "random_cstree": "cslearn.generators",
}
_MODULES = {
    "candidates",
    "data",
    "datasets",
    "errors",
    "formats",
    "inference",
    "metrics",
    "report",
    "scores",
    "stagings",
}

__all__ = ["LDAG", "CStree", "CStreeClassifier", "CStreeLearner", "count_cstrees", "kl_divergence", "random_cstree"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("cslearn")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(f"cslearn.{name}")
    raise AttributeError(f"module 'cslearn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES, "__version__"])
