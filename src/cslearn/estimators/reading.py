"""The table that is learned from: packed tables stay packed where everything that is asked for can be counted so."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from cslearn._wording import option
from cslearn.counts import is_counted
from cslearn.data import PackedTable, Table, TableLike, as_frame, as_table, only_in_batches, pack
from cslearn.data.batching import as_packed
from cslearn.data.packing import check_states_found
from cslearn.errors import DataWarning, InputError
from cslearn.estimators.plan import plan_of

if TYPE_CHECKING:
    from cslearn.estimators.learner import Learner

__all__ = ["read_more", "read_table"]


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
    if _are_its_states(learner, data):
        options["states"] = None
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


def read_more(learner: Learner, data: Any, sample_weight: Any) -> PackedTable:
    """Read rows, and add them to those that a learner was fitted to.

    Whether columns are categories is asked of all rows together, where new ones bring new states; few rows may have as
    many different labels as there are rows, or a single one.
    """
    if learner.missing not in ("error", "drop", "state"):
        raise InputError(
            f"rows cannot be added with {option('missing', learner.missing)}: fit all of them together, or choose one"
            " of error, drop and state for all columns",
            parameter="missing",
        )
    scores = learner.posterior_.scores
    if scores is None:
        raise InputError("this learner has no rows any more to which others could be added: fit all of them together")
    if scores.interventions is not None:
        raise InputError("rows cannot be added to rows with interventions: fit all of them together")
    kept = scores.table
    if not isinstance(kept, Table | PackedTable) or (is_counted(data) and not isinstance(data, PackedTable)):
        raise InputError("rows on a cluster cannot be added to others: pack all of them there, and fit that table")
    before = kept if isinstance(kept, PackedTable) else PackedTable.from_table(kept)
    both = before + _read_part(learner, data, sample_weight)
    known = before.state_map
    check_states_found({v: states for v, states in both.state_map.items() if len(states) > len(known[v])}, both.n)
    return both


def _read_part(learner: Learner, data: Any, sample_weight: Any) -> PackedTable:
    packed = as_packed(data)
    if packed is not None and sample_weight is None:
        return packed
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Columns? .* a single state", DataWarning)
        return pack(
            data if only_in_batches(data) else iter([as_frame(data)]),
            states=learner.states,
            sample_weight=sample_weight,
            missing=learner.missing,  # type: ignore[arg-type]  # one for all columns, as was checked
            max_states=None,
            collapse=False,
        )


def _are_its_states(learner: Learner, table: TableLike) -> bool:
    """Tell whether a table has the states that the learner was given, so that they change nothing."""
    known = table.state_map
    return all(name in known and tuple(states) == known[name] for name, states in (learner.states or {}).items())


def _reader_of_rows(learner: Learner, table: TableLike) -> str | None:
    """Return what it is that reads rows one by one; None if all that is asked for is counted."""
    plan = plan_of(learner, table.cards)
    if plan.trees is None:
        return f"{option('beta', learner.beta)}, with exact sums over stagings"
    candidates = plan.selection["candidates"]
    if isinstance(candidates, str) and candidates in ("pc", "grasp"):
        return option("candidates", candidates)
    return None if plan.selection["alpha"] is None else option("alpha", plan.selection["alpha"])
