"""Rows that are counted for a model: those of a table, with what is done about its missing cells.

A model that was learned with ``missing="em"`` has counts that are expected ones. They are had from a table in which
each row with gaps stands several times, with its missing cells drawn from their distribution given the known ones,
and counts each time for its share. Whatever counts rows can count these: the sums are unbiased estimates of the
expected counts, and all of them together have the weight of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from cslearn._numerics import RandomState, as_generator
from cslearn.counts import stage_counts
from cslearn.data import Table, as_table
from cslearn.data.incomplete import MISSING_STATE
from cslearn.inference.gaps import complete_codes

if TYPE_CHECKING:
    from cslearn.cstree import CStree

__all__ = ["ModelRows", "codes_with_gaps", "completed_table", "policy_for", "rows_for_model"]

Policy = Literal["error", "drop", "em"]

# Copies of each row with gaps: many make the expected counts exact, and take time. Fewer where there are many cells.
COPIES = 20
CELLS = 20_000_000


@dataclass(frozen=True)
class ModelRows:
    """Rows read for a model.

    Attributes
    ----------
    table : Table
        Complete rows, for counts.
    codes : ndarray of int, shape (n, p)
        All rows that were read, with -1 for a missing cell.
    weights : ndarray or None
        Their weights.
    n_gappy : int
        How many of them have missing cells.
    policy : {"error", "drop", "em"}
        What was done about these: nothing, as there are none; left out; or completed, so that counts are expected ones.
    """

    table: Table
    codes: NDArray[np.int32]
    weights: NDArray[np.float64] | None
    n_gappy: int
    policy: Policy

    @property
    def expected(self) -> bool:
        """Whether counts are expected counts."""
        return self.policy == "em" and self.n_gappy > 0

    @property
    def note(self) -> str:
        """What has to be known about counts, as a sentence; empty if all rows are complete."""
        if not self.n_gappy:
            return ""
        some = f"{self.n_gappy:,} of {len(self.codes):,} rows have missing cells"
        if self.policy == "drop":
            return f"{some} and are left out."
        return f"{some}: counts are expected counts, in which the model says how probable each state of these cells is."

    def known_counts(self, target: int, contexts: Any) -> NDArray[np.float64]:
        """Return the counts of a staging, as :func:`stage_counts`, of rows that are known in all it asks for."""
        if not self.expected:
            return stage_counts(self.table, target, contexts)
        family = sorted({target, *(v for pairs in contexts for v, _ in pairs)})
        known = (self.codes[:, family] >= 0).all(axis=1)
        # The other cells are not looked at.
        weights = None if self.weights is None else self.weights[known]
        rows = Table(self.codes[known].clip(0), self.table.variables, self.table.states, weights)
        return stage_counts(rows, target, contexts)


def policy_for(tree: CStree, missing: Policy | None = None) -> Policy:
    """Return what is done about rows with gaps: what is asked for, or what was done when the model was learned."""
    learned = (tree.learning or {}).get("settings", {}).get("missing")
    return missing or ("drop" if learned == "drop" else "em" if learned == "em" else "error")


def rows_for_model(tree: CStree, data: Any, *, missing: Policy | None = None, **options: Any) -> ModelRows:
    """Read data for the counts of a model.

    Parameters
    ----------
    tree : CStree
    data : ModelRows, Table, frame, array, path or whatever :func:`cslearn.data.as_table` reads
    missing : {"error", "drop", "em"}, optional
        What is done about rows with missing cells: refused, left out, or completed by draws, so that counts are
        expected counts. By default as the model was learned.
    **options
        Those of :func:`cslearn.data.as_table`.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.inference.completed import rows_for_model
    >>> tree = chickenpox_model()
    >>> data = tree.sample(100, random_state=0).astype(object)
    >>> data.loc[:9, "exposed"] = None
    >>> rows = rows_for_model(tree, data, missing="em")
    >>> rows.table.n, round(rows.table.total_weight), rows.note
    (290, 100, '10 of 100 rows have missing cells: counts are expected counts, in which the model says how probable each state of these cells is.')
    """  # noqa: E501
    if isinstance(data, ModelRows):
        return data
    policy = policy_for(tree, missing)
    if policy == "error":
        table = tree.encode(data, **options)
        return ModelRows(table, table.codes.astype(np.int32), table.weights, 0, "error")
    codes, weights = codes_with_gaps(tree, data, **options)
    gappy = (codes < 0).any(axis=1)
    states = [tree.states[v] for v in tree.variables]
    if policy == "em" and gappy.any():
        table = completed_table(tree, codes, weights)
    else:
        kept = None if weights is None else weights[~gappy]
        table = Table(codes[~gappy], tree.variables, states, kept)
    return ModelRows(table, codes, weights, int(gappy.sum()), policy)


def codes_with_gaps(tree: CStree, data: Any, **options: Any) -> tuple[NDArray[np.int32], NDArray[np.float64] | None]:
    """Return the codes of the model's states, with -1 for missing cells that are no state, and the weights."""
    gaps = [v for v in tree.variables if MISSING_STATE not in tree.states[v]]
    states = {v: (*labels, MISSING_STATE) if v in gaps else labels for v, labels in tree.states.items()}
    table = as_table(data, variables=tree.variables, states=states, missing="state", **options)
    codes = table.codes.astype(np.int32)
    for column, v in enumerate(tree.variables):
        if v in gaps:
            codes[codes[:, column] == len(tree.states[v]), column] = -1
    return codes, table.weights


def completed_table(
    tree: CStree,
    codes: NDArray[np.int32],
    weights: NDArray[np.float64] | None = None,
    copies: int | None = None,
    random_state: RandomState = 0,
) -> Table:
    """Return the complete rows, and those with gaps several times, each completed by a draw and counted for its share.

    Parameters
    ----------
    tree : CStree
        With parameters.
    codes : ndarray of int32, shape (n, p)
        With -1 for a missing cell.
    weights : ndarray, optional
    copies : int, optional
        By default 20, and fewer for large tables.
    random_state : int, Generator or None
    """
    complete = (codes >= 0).all(axis=1)
    gappy = np.flatnonzero(~complete)
    if copies is None:
        copies = int(np.clip(CELLS // max(len(gappy) * codes.shape[1], 1), 1, COPIES))
    rows = np.concatenate([np.flatnonzero(complete), np.repeat(gappy, copies)])
    shares = np.where(complete, 1.0, 1 / copies)[rows]
    filled = complete_codes(tree, codes[rows], "draw", as_generator(random_state))
    weighed = shares if weights is None else weights[rows] * shares
    return Table(filled, tree.variables, [tree.states[v] for v in tree.variables], weighed)
