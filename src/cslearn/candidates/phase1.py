"""Candidate sets from a graph that PC or GRaSP of the package causal-learn estimates (step 1 of CSlearn).

GRaSP spends nearly all of its time in the BDeu score of a variable and its parents,

    sum over parents' states j of  log G(a/q) - log G(a/q + N_j)
      + sum over states k of  log G(a/(q r) + N_jk) - log G(a/(q r)),        G the gamma function, a = 1,

where q and r are the numbers of states of the parents and of the variable. causal-learn counts with a data frame for
each of them; :class:`LocalBDeu` counts with one pass over the codes and gives the same numbers much sooner.
"""

from __future__ import annotations

import random
import sys
from importlib.util import module_from_spec
from threading import Lock
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cslearn._numerics import RandomState, as_generator
from cslearn.data import Table
from cslearn.errors import InputError, MissingExtraError
from cslearn.scores import Scores

__all__ = ["estimate_candidates"]

_LOADING = Lock()


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
    seed = int(as_generator(random_state).integers(2**32))
    name = {"pc": "ConstraintBased.PC", "grasp": "PermutationBased.GRaSP"}[method]
    try:
        module = _own_copy(f"causallearn.search.{name}")
    except ImportError as error:
        raise MissingExtraError(
            f'candidates="{method}" needs causal-learn, which cannot be imported ({error}): '
            'pip install "cslearn[phase1]", or use candidates="all", which needs nothing more'
        ) from error
    module.warnings = SimpleNamespace(warn=lambda *_, **__: None)  # of more variables than rows, which is no news
    graph: Any
    with np.errstate(all="ignore"):
        if method == "pc":
            graph = module.pc(codes, level, "gsq", verbose=False, show_progress=False).G
        else:
            module.random = random.Random(seed)
            module.local_score_BDeu = LocalBDeu(codes)
            graph = module.grasp(codes, "local_score_BDeu", verbose=False)  # the CPDAG, not the DAG that it found
    return np.asarray(graph.graph)


def _own_copy(name: str) -> Any:
    """Return a module of causal-learn loaded for one call alone, so that its names can be given other values.

    What the rest of the program, or a fit in another thread, has of the same module is not touched.
    """
    module = _imported(name)
    spec: Any = module.__spec__
    copy = module_from_spec(spec)
    spec.loader.exec_module(copy)
    return copy


def _imported(name: str) -> Any:
    """Import a module; the global random states, from which causal-learn draws when it is loaded, stay as they were."""
    if name in sys.modules:
        return sys.modules[name]
    with _LOADING:
        python, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002
        try:
            return __import__(name, fromlist=["*"])
        finally:
            random.setstate(python)
            np.random.set_state(legacy)  # noqa: NPY002


class LocalBDeu:
    """The BDeu score of a variable and its parents as causal-learn defines it, counted faster.

    Parameters
    ----------
    codes : array of int, shape (n, p)
        Codes from 0. The states of a variable are those that occur, as in causal-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from cslearn.candidates.phase1 import LocalBDeu
    >>> codes = np.array([[0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]])
    >>> score = LocalBDeu(codes)
    >>> score(codes, 1, [0]) > score(codes, 1, [2])
    True
    """

    __name__ = "local_score_BDeu"  # causal-learn asks for it
    _LARGEST = 1 << 16

    def __init__(self, codes: NDArray[np.int64]) -> None:
        unique = [np.unique(column, return_inverse=True) for column in codes.T]
        self.columns = [inverse.reshape(-1).astype(np.int64) for _, inverse in unique]
        self.cards = [len(states) for states, _ in unique]
        self.rows: tuple[tuple[int, ...], NDArray[np.int64], int] = ((), np.zeros(len(codes), np.int64), 1)

    def __call__(self, data: Any, i: int, parents: list[int], parameters: Any = None) -> float:
        """Return the score; `data` are those that the scores were made for, and `parameters` are not used."""
        from scipy.special import gammaln

        others, r = len(self.cards) - 1, self.cards[i]
        q = float(np.prod([self.cards[k] for k in parents], dtype=float))
        index, size = self._index(tuple(parents))
        joint = np.bincount(index * r + self.columns[i], minlength=size * r).reshape(size, r)
        margin = joint.sum(axis=1)
        joint, margin = joint[joint > 0], margin[margin > 0]
        prior = len(parents) * np.log(1 / others) + (others - len(parents)) * np.log(1 - 1 / others)
        a, b = 1 / q, 1 / (q * r)
        score = prior + len(margin) * gammaln(a) - gammaln(margin + a).sum()
        return float(score + gammaln(joint + b).sum() - len(joint) * gammaln(b))

    def _index(self, parents: tuple[int, ...]) -> tuple[NDArray[np.int64], int]:
        """Return a number below a bound for each row, equal for rows that agree in the parents."""
        if not parents:
            return np.zeros(len(self.columns[0]), np.int64), 1
        # GRaSP tries one more parent after the other: what the rest of them gives is kept.
        rest, last = parents[:-1], parents[-1]
        if self.rows[0] != rest:
            self.rows = (rest, *self._index(rest))
        _, index, size = self.rows
        index, size = index * self.cards[last] + self.columns[last], size * self.cards[last]
        if size > self._LARGEST:
            index = np.unique(index, return_inverse=True)[1].reshape(-1).astype(np.int64)
            size = int(index.max()) + 1
        return index, size


def _dependent_pair(pair: Table) -> bool:
    """Say whether BDeu prefers an edge between the only two variables.

    The edge has prior probability ``1 / (p - 1)`` in causal-learn; at p = 2 it takes the logarithm of zero, and
    finds every pair independent. The likelihood decides alone.
    """
    scores, (first, second) = Scores(pair, beta=1), pair.variables
    split = sum(scores.log_z(second, {first: state}) for state in pair.states[0])
    return split > scores.log_z(second, {})
