"""Which counts a table has."""

from __future__ import annotations

from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from cslearn.counts.bits import BitCounts
from cslearn.counts.packed import PackedCounts
from cslearn.counts.protocol import Counts
from cslearn.counts.remembered import RememberedCounts
from cslearn.data import PackedTable, Table, TableLike, as_table

# Of so many packed rows counts are kept rather than counted again.
MANY_ROWS = 100_000

__all__ = ["Counted", "as_counted", "columns_of", "counts_of", "is_counted"]


@runtime_checkable
class Counted(Protocol):
    """A table that counts its own rows, wherever they are, such as :class:`cslearn.dask.DaskTable`."""

    def counts(self) -> Counts:
        """Return the counts of the rows."""


def is_counted(data: Any) -> TypeGuard[TableLike]:
    """Tell whether a table can be counted as it is, without its rows as codes in memory."""
    return isinstance(data, PackedTable | Counted)


def as_counted(data: Any) -> TableLike:
    """Return a table of which many contexts are to be counted: one in memory, but for tables that count themselves."""
    return data if is_counted(data) and not isinstance(data, PackedTable) else as_table(data)


def counts_of(table: TableLike, interventions: NDArray[np.bool_] | None = None, n_jobs: int | None = None) -> Counts:
    """Return the counts of the rows of a table.

    Parameters
    ----------
    table : Table, PackedTable or Counted
    interventions : ndarray of bool, shape (n, p), optional
        Where a variable was set from outside; a packed table is unpacked for it.
    n_jobs : int, optional
        Threads that count a packed table.

    Examples
    --------
    >>> import cslearn
    >>> from cslearn.counts import counts_of
    >>> counts_of(cslearn.pack({"a": ["n", "n", "y"], "b": ["n", "y", "y"]})).total
    3.0
    """
    if isinstance(table, Counted):
        return table.counts()
    if isinstance(table, PackedTable) and interventions is None:
        counts = PackedCounts(table, n_jobs)
        return counts if table.n < MANY_ROWS else RememberedCounts(counts)
    return BitCounts(table if isinstance(table, Table) else as_table(table), interventions)


def columns_of(
    table: TableLike, columns: NDArray[np.int64], interventions: NDArray[np.bool_] | None = None
) -> BitCounts:
    """Return the counts of a few columns of a table, by their numbers; of a packed table they are unpacked.

    Examples
    --------
    >>> import cslearn
    >>> import numpy as np
    >>> from cslearn.counts import columns_of
    >>> packed = cslearn.pack({"a": ["n", "n", "y"], "b": ["n", "y", "y"], "c": [1, 2, 3]})
    >>> columns_of(packed, np.array([0, 2])).cards.tolist()
    [2, 3]
    """
    names, states = [table.variables[j] for j in columns], [table.states[j] for j in columns]
    if isinstance(table, Table):
        codes = table.codes[:, columns]
    elif isinstance(table, PackedTable):
        codes = np.column_stack([table.column(int(j)) for j in columns])
    else:
        raise TypeError(f"{type(table).__name__} has no columns here")
    some = Table(codes, names, states, table.weights)
    return BitCounts(some, None if interventions is None else interventions[:, columns])
