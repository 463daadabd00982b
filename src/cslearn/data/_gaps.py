"""What is done about missing cells: one policy for all columns, or a state of their own for some of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cslearn._parameters import Row, Rule
from cslearn._wording import option
from cslearn.errors import InputError

__all__ = ["gaps_of", "gaps_row"]


def gaps_row(*policies: str) -> Row:
    """Return the row of a parameter that is one of some policies, or a mapping of columns to ``"state"``."""

    def holds(given: Any) -> bool:
        return isinstance(given, Mapping) and all(
            policy in policies if column is None else policy == "state" for column, policy in given.items()
        )

    words = 'a mapping of columns to "state", in which None stands for all other columns'
    return Row(*policies, Rule(words, holds, textual=False))


def gaps_of(missing: str | Mapping[str | None, str], names: Sequence[str] | None = None) -> tuple[str, frozenset[str]]:
    """Return the policy for missing cells, and the columns of which they are a state whatever the policy.

    Parameters
    ----------
    missing : str or mapping
    names : sequence of str, optional
        The columns that there are; any other in `missing` is an error.

    Examples
    --------
    >>> gaps_of("drop")
    ('drop', frozenset())
    >>> gaps_of({"chapter": "state", None: "em"})
    ('em', frozenset({'chapter'}))
    """
    if isinstance(missing, str):
        return missing, frozenset()
    columns = frozenset(column for column in missing if column is not None)
    unknown = sorted(columns - set(columns if names is None else names))
    if unknown:
        raise InputError(
            f"{option('missing')} names {unknown[0]!r}, which is no column of the data", parameter="missing"
        )
    return missing.get(None, "error"), columns
