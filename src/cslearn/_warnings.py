"""Warnings that point at the line of the user that led to them, however deep in the package they are given."""

from __future__ import annotations

import os
import sys
import warnings

__all__ = ["warn"]

PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the nearest caller outside this package.

    Examples
    --------
    >>> import warnings
    >>> from cslearn._warnings import warn
    >>> from cslearn.errors import DataWarning
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn("a column is constant", DataWarning)
    >>> caught[0].message
    DataWarning('a column is constant')
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
