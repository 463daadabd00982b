"""Loading matplotlib, which is optional."""

from __future__ import annotations

from types import ModuleType

from cslearn.errors import MissingExtraError

__all__ = ["figures"]


def figures() -> ModuleType:
    """Return the module that draws; an error says what to install if matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            "pictures need matplotlib, which is not installed: pip install 'cslearn[plots]'. Without it, to_dot() and"
            " to_tikz() give the picture as text."
        ) from None
    from cslearn.plots import _figure

    return _figure
