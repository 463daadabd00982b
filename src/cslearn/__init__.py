"""Learn context-specific structure (CStrees and LDAGs) from categorical data."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cslearn.stagings import count_cstrees

# Where each public name lives: loaded on first use, so that `import cslearn` is quick.
_HOMES = {
    "count_cstrees": "cslearn.stagings",
}
_MODULES = {"data", "errors", "stagings"}

__all__ = ["count_cstrees"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(f"cslearn.{name}")
    raise AttributeError(f"module 'cslearn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES, "__version__"])
