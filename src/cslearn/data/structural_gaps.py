"""Cells that are missing because of what another column says: there is nothing to know there."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn._warnings import warn
from cslearn._wording import condition, keyword, wording
from cslearn.errors import DataWarning

__all__ = ["structural_gaps", "warn_of_structural_gaps"]

SHOWN = 5
# Fewer cells than this may be missing where they are by chance.
FEWEST = 10


def structural_gaps(
    names: Sequence[str], states: Sequence[Sequence[Any]], columns: Sequence[NDArray[np.integer]]
) -> list[tuple[str, str, Any]]:
    """Return columns that are missing exactly where another column has some state: both names, and the state.

    Parameters
    ----------
    names : sequence of str
    states : sequence of sequences
        The states of each column.
    columns : sequence of ndarray, shape (n,)
        Their codes, with -1 for a missing cell.

    Examples
    --------
    >>> import numpy as np
    >>> columns = np.array([0, 1, 1] * 10), np.array([-1, 0, 1] * 10)
    >>> structural_gaps(["death", "cause"], [[0, 1], ["a", "b"]], columns)
    [('cause', 'death', 0)]
    """
    found = []
    for name, column in zip(names, columns, strict=True):
        gaps = column < 0
        if not FEWEST <= int(gaps.sum()) < len(gaps):
            continue
        first = int(gaps.argmax())
        for other, labels, cells in zip(names, states, columns, strict=True):
            x = cells[first]
            if x >= 0 and np.array_equal(cells == x, gaps):
                found.append((name, other, labels[x]))
                break
    return found


def warn_of_structural_gaps(
    names: Sequence[str], states: Sequence[Sequence[Any]], columns: Sequence[NDArray[np.integer]]
) -> None:
    """Say which columns are missing exactly where another has some state: these cells are not unknown."""
    found = structural_gaps(names, states, columns)
    if found:
        told = [f"{name!r} exactly where {condition(other, state, ' is ')}" for name, other, state in found]
        more = f"; and {len(told) - SHOWN} more columns" if len(told) > SHOWN else ""
        name = found[0][0]
        one = wording(f'{keyword("missing")}{{"{name}": "state"}}', f"{keyword('missing')} {quote(name + '=state')}")
        warn(
            f"Cells are missing in {'; '.join(told[:SHOWN])}{more}. That is no accident: such cells are a state of"
            f" their own ({one}) rather than unknown.",
            DataWarning,
        )
