"""Risks of an outcome when an exposure is set: the truncated factorisation, for many draws of the parameters at once.

Setting the exposure takes its own distribution out of the product and its state as given in all others. What is left is
summed over all variables but the outcome and those that make the strata: only their ancestors matter. The tables have a
first axis for the draws. Where a table would be too large, as with stages of many different context variables, rows are
simulated instead, the same random numbers for each state of the exposure: cost is then rows times stages, whatever the
number of states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cslearn.counts import draw_states, stage_of_rows
from cslearn.inference.factors import Factor, Floats, Pairs, smallest_tables, stage_factors, sum_out

if TYPE_CHECKING:
    from cslearn.cstree import CStree

__all__ = ["joint_risks", "relevant_columns"]

# Entries of the largest table times the number of draws, beyond which rows are simulated; and those rows, of all draws
# together, of which each draw has at least so many.
TABLES, SIMULATED, LEAST_ROWS = 1 << 27, 1 << 19, 1000
# Entries of tables that are made at once.
CHUNK = 1 << 22


def relevant_columns(tree: CStree, exposure: int, targets: Sequence[int]) -> set[int]:
    """Return the targets and their ancestors once the exposure is set, without the exposure itself."""
    found: set[int] = set()
    waiting = [v for v in targets if v != exposure]
    while waiting:
        v = waiting.pop()
        if v not in found:
            found.add(v)
            contexts = tree.coded_contexts[tree.variables[v]]
            waiting += {u for pairs in contexts for u, _ in pairs if u != exposure}
    return found


def joint_risks(
    tree: CStree,
    exposure: int,
    outcome: int,
    given: Sequence[int],
    parameters: Mapping[int, Floats],
    *,
    n_draws: int | None = None,
    seed: int = 0,
) -> tuple[Floats, bool]:
    """Return the joint distribution of strata and outcome for each state that the exposure is set to.

    Parameters
    ----------
    tree : CStree
        For its order and stagings; its own parameters are not looked at.
    exposure, outcome : int
        Columns.
    given : sequence of int
        Columns whose states make the strata.
    parameters : mapping of column to ndarray, shape (draws, stages, states)
        Of all columns of :func:`relevant_columns`.
    n_draws : int, optional
        Draws of all calls together, if there are several for different trees.
    seed : int
        Of simulated rows.

    Returns
    -------
    joint : ndarray, shape (draws, states of the exposure, strata, states of the outcome)
        Strata in the order of the product of the states of `given`.
    exact : bool
        False if rows were simulated.
    """
    cards = [len(tree.states[v]) for v in tree.variables]
    columns = relevant_columns(tree, exposure, [outcome, *given])
    draws = len(next(iter(parameters.values())))
    limit = TABLES // max(n_draws or draws, 1)
    shape = (draws, prod(cards[v] for v in given), cards[outcome])
    found = []
    for x in range(cards[exposure]):
        stages = {v: _stages(tree, v, exposure, x) for v in columns}
        table = _summed(stages, [*given, outcome], parameters, cards, limit)
        if table is None:
            return _simulated(tree, exposure, outcome, given, parameters, n_draws or draws, seed), False
        found.append(table.reshape(shape))
    return np.stack(found, axis=1), True


def _stages(tree: CStree, v: int, exposure: int, x: int) -> list[tuple[int, Pairs]]:
    """Return the stages of a variable that agree with the exposure's state, without it, by their numbers."""
    contexts = tree.coded_contexts[tree.variables[v]]
    return [
        (stage, tuple((u, y) for u, y in pairs if u != exposure))
        for stage, pairs in enumerate(contexts)
        if all(u != exposure or y == x for u, y in pairs)
    ]


def _summed(
    stages: Mapping[int, list[tuple[int, Pairs]]],
    keep: Sequence[int],
    parameters: Mapping[int, Floats],
    cards: Sequence[int],
    limit: int,
) -> Floats | None:
    """Return the sum over all but `keep`, one axis for the draws and one for each of these; None if too large."""
    if max(prod(cards[u] for u, _ in pairs) * cards[v] for v in stages for _, pairs in stages[v]) > limit:
        return None
    # The tables hold the numbers of parameters, where 1 stands for none: the same for all draws.
    scopes: list[tuple[int, ...]] = []
    cells: list[NDArray[np.intp]] = []
    first = 0
    for v, of_variable in stages.items():
        d = cards[v]
        numbered = [(pairs, np.arange(d, dtype=np.float64) + (first + s * d + 2)) for s, pairs in of_variable]
        first += parameters[v].shape[1] * d
        for scope, table in stage_factors(v, numbered, cards):
            scopes.append((-1, *scope))
            cells.append(table.astype(np.intp) - 2)
    order, size = smallest_tables([scope[1:] for scope in scopes], keep, cards, limit)
    if size > limit:
        return None
    draws = len(parameters[keep[-1]])
    flat = np.concatenate([*(parameters[v].reshape(draws, -1) for v in stages), np.ones((draws, 1))], axis=1)
    axes = [0, *(1 + sorted(keep).index(v) for v in keep)]
    parts = []
    for part in np.array_split(flat, min(draws, int(size) * draws // CHUNK + 1)):
        result, _ = sum_out([Factor(s, part[:, c]) for s, c in zip(scopes, cells, strict=True)], order)
        table = result.table
        total = table.reshape(len(part), -1).sum(axis=1)
        parts.append((table / total.reshape(-1, *[1] * len(keep))).transpose(axes))
    return np.concatenate(parts)


def _simulated(
    tree: CStree,
    exposure: int,
    outcome: int,
    given: Sequence[int],
    parameters: Mapping[int, Floats],
    n_draws: int,
    seed: int,
) -> Floats:
    """Estimate the joint distributions from rows that are drawn in the order of the model."""
    cards = [len(tree.states[v]) for v in tree.variables]
    column = {v: j for j, v in enumerate(tree.variables)}
    columns = relevant_columns(tree, exposure, [outcome, *given])
    draws = len(parameters[outcome])
    each = max(SIMULATED // n_draws, LEAST_ROWS)
    of_draw = np.repeat(np.arange(draws), each)
    codes = np.zeros((draws * each, len(cards)), dtype=np.uint8 if max(cards) <= 256 else np.uint16, order="F")
    strata = prod(cards[v] for v in given)
    # The outcome need not be drawn if nothing that is drawn depends on it: its probabilities have less noise.
    last = outcome not in relevant_columns(tree, exposure, [v for v in columns if v != outcome])
    found = np.zeros((draws, cards[exposure], strata, cards[outcome]))
    for x in range(cards[exposure]):
        rng = np.random.default_rng(seed)
        codes[:, exposure] = x
        for v in (column[name] for name in tree.order):
            if v in columns and not (v == outcome and last):
                rows = parameters[v].reshape(-1, cards[v])
                stage = stage_of_rows(codes, tree.coded_contexts[tree.variables[v]])
                codes[:, v] = draw_states(of_draw * parameters[v].shape[1] + stage, rows, rng)
        cell = np.zeros(len(codes), dtype=np.intp)
        for v in given:
            cell = cell * cards[v] + codes[:, v]
        cell += of_draw * strata
        if last:
            stage = stage_of_rows(codes, tree.coded_contexts[tree.variables[outcome]])
            chances = parameters[outcome][of_draw, stage]
        else:
            chances = np.eye(cards[outcome])[codes[:, outcome]]
        for y in range(cards[outcome]):
            sums = np.bincount(cell, weights=chances[:, y], minlength=draws * strata)
            found[:, x, :, y] = sums.reshape(draws, strata) / each
    return found
