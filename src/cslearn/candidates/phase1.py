"""Candidate sets from a graph that PC or GRaSP of the package causal-learn estimates (step 1 of CSlearn)."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cslearn._numerics import RandomState, as_generator
from cslearn.data import Table
from cslearn.errors import InputError, MissingExtraError
from cslearn.scores import Scores

__all__ = ["estimate_candidates"]


def estimate_candidates(
    table: Table,
    method: Literal["pc", "grasp"],
    *,
    level: float = 0.05,
    skeleton: bool = False,
    random_state: RandomState = 0,
) -> dict[str, tuple[str, ...]]:
    """Return the parents and undirected neighbours of each variable in an estimated CPDAG.

    Parameters
    ----------
    table : Table
        Data whose rows all count once. Variables of which the data show a single state get no candidates, and are
        the candidates of none.
    method : {"pc", "grasp"}
        PC with the G-squared test, or GRaSP with the BDeu score and causal-learn's prior over parent sets.
    level : float
        Only for PC: the significance level of the tests.
    skeleton : bool
        Take all neighbours, whatever the direction of the edge.
    random_state : int, Generator, RandomState or None
        Seed of GRaSP. The global random states of Python and NumPy are left as they were.

    Examples
    --------
    >>> from cslearn import random_cstree
    >>> from cslearn.candidates.phase1 import estimate_candidates
    >>> table = random_cstree(4, random_state=3).sample_table(500, random_state=0)
    >>> estimate_candidates(table, "pc")
    {'X1': ('X3',), 'X2': ('X4',), 'X3': ('X1',), 'X4': ('X2',)}
    """
    if table.weights is not None and not np.all(table.weights == 1):
        raise InputError(
            f'candidates="{method}" cannot use weights: causal-learn counts every row once. Use candidates="all", give '
            "candidate sets of your own, or repeat the rows instead of weighting them."
        )
    # With nothing to be seen of a variable the tests and scores of causal-learn have nothing to compare.
    active = [j for j in range(table.p) if table.n and np.ptp(table.codes[:, j]) > 0]
    names = [table.variables[j] for j in active]
    result: dict[str, tuple[str, ...]] = dict.fromkeys(table.variables, ())
    if len(active) < 2:
        return result
    if method == "grasp" and len(active) == 2:
        adjacent = _dependent_pair(table.select(names))
        result.update({names[0]: (names[1],), names[1]: (names[0],)} if adjacent else {})
        return result
    with _isolated():
        marks = _estimate(table.codes[:, active].astype(np.int64), method, level, random_state)
    # marks[i, j] is the mark that the edge between i and j has at i: 1 an arrow head, -1 a tail, 0 without an edge.
    # So j -> i is marks[i, j] = 1 with marks[j, i] = -1. All neighbours but children may be parents.
    is_child = (marks == -1) & (marks.T == 1)
    may_be_parent = (marks != 0) & (skeleton | ~is_child)
    for i, name in enumerate(names):
        result[name] = tuple(names[j] for j in np.flatnonzero(may_be_parent[i]))
    return result


def _estimate(codes: NDArray[np.int64], method: str, level: float, random_state: RandomState) -> NDArray[np.int_]:
    """Return the marks of the edges of the CPDAG, in the code of causal-learn."""
    try:
        from causallearn.search.ConstraintBased.PC import pc
        from causallearn.search.PermutationBased.GRaSP import grasp
    except ImportError as error:
        raise MissingExtraError(
            f'candidates="{method}" needs causal-learn, which cannot be imported ({error}): '
            'pip install "cslearn[phase1]", or use candidates="all", which needs nothing more'
        ) from error
    # Seeded after the import, which draws random numbers of its own.
    seed = int(as_generator(random_state).integers(2**32))
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - the state that causal-learn draws from; the caller gets it back
    graph: Any
    if method == "pc":
        graph = pc(codes, level, "gsq", verbose=False, show_progress=False).G
    else:
        graph = grasp(codes, "local_score_BDeu", verbose=False)  # returns the CPDAG, not the DAG it found
    return np.asarray(graph.graph)


def _dependent_pair(pair: Table) -> bool:
    """Say whether BDeu prefers an edge between the only two variables.

    The edge has prior probability ``1 / (p - 1)`` in causal-learn; at p = 2 it takes the logarithm of zero, and
    finds every pair independent. The likelihood decides alone.
    """
    scores, (first, second) = Scores(pair, beta=1), pair.variables
    split = sum(scores.log_z(second, {first: state}) for state in pair.states[0])
    return split > scores.log_z(second, {})


@contextmanager
def _isolated() -> Iterator[None]:
    """Keep what causal-learn prints and warns of to itself, and give the global random states back."""
    python, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        with warnings.catch_warnings(), redirect_stdout(StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        random.setstate(python)
        np.random.set_state(legacy)  # noqa: NPY002
