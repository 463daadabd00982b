"""Learn context-specific structure (CStrees and LDAGs) from categorical data."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cslearn.cstree import CStree
    from cslearn.data import pack
    from cslearn.ensemble import CStreeEnsemble
    from cslearn.estimators import PC, All, Chains, CStreeClassifier, CStreeLearner, GRaSP, Screen
    from cslearn.generators import random_cstree
    from cslearn.graphs import LDAG
    from cslearn.metrics import kl_divergence
    from cslearn.stagings import count_cstrees

# Where each public name lives: loaded on first use, so that `import cslearn` is quick.
_HOMES = {
    "All": "cslearn.estimators",
    "CStree": "cslearn.cstree",
    "CStreeClassifier": "cslearn.estimators",
    "CStreeEnsemble": "cslearn.ensemble",
    "CStreeLearner": "cslearn.estimators",
    "Chains": "cslearn.estimators",
    "GRaSP": "cslearn.estimators",
    "LDAG": "cslearn.graphs",
    "PC": "cslearn.estimators",
    "Screen": "cslearn.estimators",
    "count_cstrees": "cslearn.stagings",
    "kl_divergence": "cslearn.metrics",
    "pack": "cslearn.data",
    "random_cstree": "cslearn.generators",
}
# Modules that can be reached after `import cslearn`, in the same way.
_MODULES = {
    "candidates",
    "counts",
    "cstree",
    "dask",
    "data",
    "datasets",
    "ensemble",
    "errors",
    "estimators",
    "formats",
    "generators",
    "graphs",
    "inference",
    "metrics",
    "orders",
    "plots",
    "posterior",
    "priors",
    "report",
    "scores",
    "stagings",
}

__all__ = [
    "LDAG",
    "PC",
    "All",
    "CStree",
    "CStreeClassifier",
    "CStreeEnsemble",
    "CStreeLearner",
    "Chains",
    "GRaSP",
    "Screen",
    "count_cstrees",
    "kl_divergence",
    "pack",
    "random_cstree",
]


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
