"""Tables that are read for a model: its variables and states, and what is done about missing cells."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from cslearn import CStree
    from cslearn.data import Table

__all__ = ["read_for_model"]


def read_for_model(
    tree: CStree,
    data: Path,
    missing: str | None,
    weights: str | None,
    na_values: list[str] | None,
    sep: str | None,
    table_format: str | None,
) -> tuple[Table, NDArray[np.bool_]]:
    """Return the rows that a model can be compared with, and which rows of the file they are.

    Rows with missing cells are left out if `missing` is ``"drop"``, and unless it is given also if the model says that
    it was learned without them (``drop``) or with sums over them (``em``). A note then tells how many.
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
            print(
                f"note: {len(whole) - table.n:,} of {len(whole):,} rows have missing cells and are left out{why}",
                file=sys.stderr,
            )
            return table, whole
    table = tree.encode(data, **options)
    return table, np.ones(table.n, dtype=np.bool_)
