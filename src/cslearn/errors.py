"""Errors and warnings that a user of cslearn may meet.

Every message says what was wrong, where, and what to do about it. The command line shows the message of a
:class:`CslearnError` without a traceback.
"""

from __future__ import annotations

__all__ = [
    "ConvergenceWarning",
    "CslearnError",
    "DataWarning",
    "EstimateWarning",
    "FileError",
    "InputError",
    "LimitError",
    "MissingExtraError",
]


class CslearnError(Exception):
    """Base class of the errors that cslearn raises on purpose.

    Parameters
    ----------
    message : str
    parameter : str, optional
        The parameter of the call that the error is about.

    Examples
    --------
    >>> from cslearn import Chains
    >>> from cslearn.errors import InputError
    >>> try:
    ...     Chains(n_chains=0)
    ... except InputError as error:
    ...     print(error.parameter, "|", error)
    n_chains | n_chains is a whole number from 1 to 1000, not 0
    """

    def __init__(self, message: str = "", *, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter


class InputError(CslearnError, ValueError):
    """Data, a model or an option that cannot be used as given."""


class FileError(InputError):
    """A file that is missing, damaged, or not what it should be."""


class LimitError(CslearnError, ValueError):
    """A computation that is exact but too large; the message states the limit."""


class MissingExtraError(CslearnError, ImportError):
    """An optional dependency that is not installed; the message names the extra."""


class DataWarning(UserWarning):
    """Data that can be used but deserve a look, such as a constant column."""


class ConvergenceWarning(UserWarning):
    """Sampled orders that may not stand for their posterior, because the chains were too short."""


class EstimateWarning(UserWarning):
    """An answer that is an estimate from draws, because the exact one would take too much."""
