"""A Bayesian network as plain tables: what BIF, XMLBIF, pgmpy and pyAgrum have in common.

They know a conditional probability table for each variable and no contexts. A CStree is written with one row for each
joint state of the parents, so that rows of one stage are repeated; what is read is the CStree of the DAG, in which
every joint state of the parents is a stage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn._warnings import warn
from cslearn.cstree import CStree
from cslearn.cstree.joint import conditional_table
from cslearn.errors import DataWarning, InputError, LimitError

__all__ = ["CELL_LIMIT", "ROW_LIMIT", "Factor", "as_cstree", "check_size", "factors"]

CELL_LIMIT = 1 << 20
ROW_LIMIT = 1 << 16  # of one table: each row becomes a stage
ROUNDING = 0.01


@dataclass(frozen=True)
class Factor:
    """``P(variable | parents)``: one axis for each parent, in the order of `parents`, and the last for the variable."""

    variable: str
    parents: tuple[str, ...]
    table: NDArray[np.float64]


def check_size(cards: Mapping[str, int], parents: Mapping[str, Sequence[str]], total: int = 0) -> int:
    """Refuse tables that would be too large, before anything of their size is made.

    Returns the number of probabilities in the tables, with the `total` of tables that were checked before.
    """
    for variable, above in parents.items():
        rows = prod(cards[v] for v in above)
        total += rows * cards[variable]
        if rows > ROW_LIMIT or total > CELL_LIMIT:
            raise LimitError(
                f"the table of {variable!r} given {len(above)} parents has {rows:,} rows of {cards[variable]}"
                f" probabilities. Tables are limited to {ROW_LIMIT:,} rows, and all of them together to"
                f" {CELL_LIMIT:,} probabilities: use the JSON format of cslearn, which keeps stages as they are"
            )
    return total


def factors(tree: CStree) -> list[Factor]:
    """Return the conditional probability tables of a CStree, in its order; the size is checked first."""
    tree.needed_parameters()
    check_size({v: len(states) for v, states in tree.states.items()}, {v: tree.parents[v] for v in tree.order})
    return [Factor(v, tree.parents[v], conditional_table(tree, v)) for v in tree.order]


def as_cstree(states: Mapping[str, Sequence[Any]], tables: Sequence[Factor]) -> CStree:
    """Return the CStree of a Bayesian network.

    The order of the CStree is that of `tables` if parents come before children in it, and otherwise the first such by
    the order of `states`.
    """
    import networkx as nx

    by_variable = {factor.variable: factor for factor in tables}
    if len(by_variable) != len(tables) or set(by_variable) != set(states):
        raise InputError("a network has exactly one table for each variable")
    dag = nx.DiGraph()
    dag.add_nodes_from(states)
    for factor in tables:
        for parent in factor.parents:
            if parent not in states:
                raise InputError(f"the table of {factor.variable!r} names {parent!r}, which is not a variable")
        if len({*factor.parents, factor.variable}) != len(factor.parents) + 1:
            raise InputError(f"the table of {factor.variable!r} names a variable twice")
        shape = tuple(len(states[v]) for v in (*factor.parents, factor.variable))
        if factor.table.shape != shape:
            raise InputError(f"the table of {factor.variable!r} has shape {factor.table.shape}, not {shape}")
        dag.add_edges_from((parent, factor.variable) for parent in factor.parents)
    check_size({v: len(s) for v, s in states.items()}, {factor.variable: factor.parents for factor in tables})
    listed = [factor.variable for factor in tables]
    position = {v: t for t, v in enumerate(listed)}
    fits = all(position[parent] < position[child] for parent, child in dag.edges)
    structure = CStree.from_dag(dag, states=states, order=listed if fits else None)
    parameters = {}
    for variable in structure.order:
        factor = by_variable[variable]
        kept = structure.parents[variable]
        axes = [factor.parents.index(v) for v in kept]
        dropped = [axis for axis in range(len(factor.parents)) if axis not in axes]  # parents of one state
        table = factor.table.transpose([*dropped, *axes, len(factor.parents)])
        # The contexts of a full split are counted as the rows of the table are.
        parameters[variable] = _normalised(variable, table.reshape(-1, len(states[variable])))
    return structure.with_parameters(parameters)


def _normalised(variable: str, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows that sum to 1: those that miss it as rounded numbers do are scaled, with a warning."""
    if not np.isfinite(rows).all() or (rows < 0).any():
        return rows  # CStree says what is wrong
    sums = rows.sum(axis=1, keepdims=True)
    off = abs(sums - 1) > 1e-6
    if not off.any() or (abs(sums - 1) > ROUNDING).any():
        return rows
    warn(
        f"{int(off.sum())} rows of the table of {variable!r} do not sum to 1 (the first to {float(sums[off][0]):.6g});"
        " they were scaled",
        DataWarning,
    )
    return np.where(off, rows / sums, rows)
