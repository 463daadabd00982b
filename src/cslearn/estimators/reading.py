"""The table that is learned from: packed tables stay packed where everything that is asked for can be counted so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cslearn._wording import option
from cslearn.counts import is_counted
from cslearn.data import PackedTable, TableLike, as_table, only_in_batches, pack
from cslearn.data.batching import as_packed
from cslearn.errors import InputError
from cslearn.estimators.growing import grown_prior
from cslearn.estimators.settings import selection_of

if TYPE_CHECKING:
    from cslearn.estimators.learner import Learner

__all__ = ["read_table"]


def read_table(learner: Learner, data: Any, sample_weight: Any, *, packed: bool) -> TableLike:
    """Read a table.

    Parameters
    ----------
    learner : Learner
        Its settings say what is needed of the rows.
    data, sample_weight
        As for :meth:`cslearn.CStreeLearner.fit`.
    packed : bool
        Whether the table may stay packed.
    """
    missing = "error" if learner.missing == "em" else learner.missing
    options: dict[str, Any] = {"states": learner.states, "sample_weight": sample_weight, "missing": missing}
    packed_data = as_packed(data)
    if packed_data is not None:
        data = packed_data
    elif only_in_batches(data):
        data, options = pack(data, **options, collapse=False), {}
    if not is_counted(data):
        return as_table(data, **options)
    changes = [option(name) for name in ("states", "sample_weight") if options.get(name) is not None]
    why = _reader_of_rows(learner, data) or (", ".join(changes) if packed else option("interventions")) or None
    if why is None:
        return data
    if not isinstance(data, PackedTable):
        raise InputError(f"{why}: this takes the rows in memory. Gather them in one table, or do without it.")
    size = data.n * data.p * (1 if max(data.cards) <= 2**8 else 2)
    if size > learner.max_memory:
        raise InputError(
            f"{why}: for this the packed table is unpacked, into {size / 2**30:,.1f} GB, and {option('max_memory')}"
            f" allows {learner.max_memory / 2**30:,.1f}. Allow more, or do without it: {option('beta', 'auto')} alone"
            " counts the table as it is.",
            parameter="max_memory",
        )
    return as_table(data, **options)


def _reader_of_rows(learner: Learner, table: TableLike) -> str | None:
    """Return what it is that reads rows one by one; None if all that is asked for is counted."""
    selection = selection_of(learner.candidates).arguments()
    if grown_prior(learner.beta, learner.prior, table.cards) is None:
        return f"{option('beta', learner.beta)}, with exact sums over stagings"
    if isinstance(selection["candidates"], str) and selection["candidates"] in ("pc", "grasp"):
        return option("candidates", selection["candidates"])
    return None if selection["alpha"] is None else option("alpha", selection["alpha"])
