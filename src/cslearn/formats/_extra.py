"""Optional packages, imported by the call that needs them."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

from cslearn.errors import MissingExtraError

__all__ = ["optional"]


def optional(module: str, extra: str) -> Any:
    """Return a module of an optional package; an error names the extra that installs it."""
    try:
        with warnings.catch_warnings():
            # What these packages warn of when they are loaded is for their authors.
            warnings.simplefilter("ignore")
            return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtraError(
            f'{package} is needed for this and cannot be imported ({error}): pip install "cslearn[{extra}]"'
        ) from error
