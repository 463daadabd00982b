"""The optional package that reads Parquet and streams tables."""

from __future__ import annotations

from typing import Any

from cslearn.errors import MissingExtraError

__all__ = ["pyarrow"]


def pyarrow(what: str) -> Any:
    """Return pyarrow; an error says `what` needs it, and how to get it."""
    try:
        import pyarrow
    except ImportError as error:
        raise MissingExtraError(
            f'{what} needs pyarrow, which is not installed: pip install "cslearn[parquet]"'
        ) from error
    return pyarrow
