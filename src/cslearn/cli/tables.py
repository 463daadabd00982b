"""Tables that are read for a model: its variables and states, and what is done about missing cells."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cslearn.cli.streams import note

if TYPE_CHECKING:
    from cslearn import CStree
    from cslearn.data import Table

__all__ = ["learned_from", "note_left_out", "read_for_model", "rows_for_model", "with_file"]


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


def read_for_model(
    tree: CStree,
    data: Any,
    missing: str | None,
    weights: str | None,
    na_values: list[str] | None,
    sep: str | None,
    table_format: str | None,
) -> tuple[Table, NDArray[np.bool_]]:
    """Return the rows that a model can be compared with, and which rows of the file they are; see below."""
    table, used, why = rows_for_model(tree, data, missing, weights, na_values, sep, table_format)
    note_left_out(len(used) - table.n, len(used), why)
    return table, used


def note_left_out(left_out: int, n: int, why: str) -> None:
    """Tell how many rows were left out, if any were."""
    if left_out:
        note(f"{left_out:,} of {n:,} rows have missing cells and are left out{why}")


def rows_for_model(
    tree: CStree,
    data: Any,
    missing: str | None,
    weights: str | None,
    na_values: list[str] | None,
    sep: str | None,
    table_format: str | None = None,
) -> tuple[Table, NDArray[np.bool_], str]:
    """Return the rows that a model can be compared with, which rows of the data they are, and why not all.

    Rows with missing cells are left out if `missing` is ``"drop"``, and unless it is given also if the model says that
    it was learned without them (``drop``) or with sums over them (``em``).
    """
    given = {"sep": sep, "sample_weight": weights, "na_values": na_values, "table_format": table_format}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    learned = (tree.learning or {}).get("settings", {}).get("missing")
    if missing == "error":
        options["missing"] = "error"
    elif table_format is None and (missing == "drop" or learned in ("drop", "em")):
        from cslearn.data.incomplete import has_no_gaps

        reading = {name: options[name] for name in ("sep", "na_values") if name in options}
        whole = has_no_gaps(data, tree.states, **reading)
        if not whole.all():
            table = tree.encode(data, missing="drop", **options)
            why = "" if missing == "drop" else f"; the model was learned with --missing {learned}"
            return table, whole, why
    table = tree.encode(data, **options)
    return table, np.ones(table.n, dtype=np.bool_), ""
