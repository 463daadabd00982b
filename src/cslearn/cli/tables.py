"""Tables that are read for a model: its variables and states, and what is done about missing cells."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cslearn.cli.streams import note
from cslearn.errors import InputError

if TYPE_CHECKING:
    from cslearn import CStree
    from cslearn.inference.completed import ModelRows

__all__ = ["Scored", "learned_from", "read_for_model", "read_gaps", "reading", "score_rows", "with_file"]

POLICIES = ("error", "drop", "state", "em")


def with_file(tree: CStree, data: Path) -> CStree:
    """Return a model that knows the file it was learned from, by the hash of its content."""
    from cslearn import CStree

    digest = _hash(data)
    if digest is None:
        return tree
    learning = {**(tree.learning or {}), "data_sha256": digest}
    return CStree(tree.order, tree.stagings, tree.parameters, states=tree.states, learning=learning)


def learned_from(tree: CStree, data: Path) -> bool | None:
    """Tell whether a model was learned from a file; None if it does not say."""
    known = (tree.learning or {}).get("data_sha256")
    return None if known is None else known == _hash(data)


def _hash(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:  # a pattern of names, or a pipe that was read already
        return None


def read_gaps(texts: list[str] | None) -> str | dict[str | None, str]:
    """Read what is done about missing cells: of all columns, as ``drop``, and of single ones, as ``grade=state``."""
    whole = [text for text in texts or () if "=" not in text]
    single = [text.rpartition("=") for text in texts or () if "=" in text]
    if len(whole) > 1:
        raise InputError(f"--missing is given as {' and as '.join(whole)}: choose one for all columns")
    policy = whole[0] if whole else "error"
    if policy not in POLICIES:
        raise InputError(f"--missing is {', '.join(POLICIES[:-1])} or {POLICIES[-1]}, or COLUMN=state, not {policy!r}")
    for column, _, how in single:
        if how != "state":
            raise InputError(f"--missing {column}={how}: of a single column missing cells can be made a state alone")
    return {**{column: "state" for column, _, _ in single}, None: policy} if single else policy


def read_for_model(
    tree: CStree,
    data: Any,
    missing: Any,
    weights: str | None,
    na_values: list[str] | None,
    sep: str | None,
    table_format: str | None,
) -> ModelRows:
    """Return the rows that a model is compared with; a note tells what was done about missing cells."""
    from cslearn.inference.completed import rows_for_model

    options = reading(weights, na_values, sep, table_format)
    rows = rows_for_model(tree, data, missing=None if missing is None else missing.value, **options)
    note_gaps(tree, rows, missing)
    return rows


def note_gaps(tree: CStree, rows: ModelRows, missing: Any) -> None:
    """Tell what was done about missing cells, and why."""
    if rows.note:
        learned = "" if missing is not None else f" (The model was learned with --missing {rows.policy}.)"
        note(rows.note + learned)


class Scored(NamedTuple):
    """The log-probabilities of rows, which of those read they are, their weights, and the counts if none has gaps."""

    logs: NDArray[np.float64]
    used: NDArray[np.bool_]
    weights: NDArray[np.float64]
    counts: dict[str, NDArray[np.float64]] | None


def score_rows(tree: CStree, data: Any, policy: Any, **options: Any) -> Scored:
    """Return how probable rows are: those with gaps are summed over what they may be, or left out."""
    from cslearn.data import Table
    from cslearn.inference.completed import codes_with_gaps

    if policy == "error":
        table = tree.encode(data, **options)
        used: NDArray[np.bool_] = np.ones(table.n, dtype=np.bool_)
    else:
        codes, weights = codes_with_gaps(tree, data, **options)
        used = np.asarray((codes >= 0).all(axis=1))
        if policy == "em" and not used.all():
            tree.needed_parameters()
            every = np.ones(len(codes))
            logs = tree.queries.rows.log_prob(codes)
            return Scored(logs, every.astype(np.bool_), every if weights is None else weights, None)
        kept = None if weights is None else weights[used]
        table = Table(codes[used], tree.variables, [tree.states[v] for v in tree.variables], kept)
    row_weights = np.ones(table.n) if table.weights is None else table.weights
    return Scored(tree.log_prob(table), used, row_weights, tree.count_stages(table))


def reading(
    weights: str | None, na_values: list[str] | None, sep: str | None, table_format: str | None
) -> dict[str, Any]:
    """Return the options for reading a table that were given."""
    given = {"sep": sep, "sample_weight": weights, "na_values": na_values, "table_format": table_format}
    return {name: value for name, value in given.items() if value is not None}
