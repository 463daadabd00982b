"""Mixtures of CStrees from orders far apart: what predicts best, and explains nothing.

Draws from the posterior over orders are much alike when there are many rows, so their average predicts hardly better
than one of them. Trees of orders far apart err in different places. Each member is the whole grown tree of every
variable in its order, with probabilities averaged over all prunings: one CStree that predicts as that average does.

The weights ``w`` maximise the sum over the rows of ``log sum_t w_t p_t(row | all other rows)``. These probabilities are
in closed form given an order (:meth:`cslearn.grown.GrownLevel.leave_one_out`), so no rows have to be held out. Then
each member is turned to the rows that it tells better than the others (:mod:`cslearn.mixture`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cslearn._checked import checked
from cslearn._files import SIZE_LIMIT, VALUE_LIMIT, atomic_write, n_values
from cslearn._numerics import RandomState, as_generator, log_sum_exp_axis
from cslearn.cstree import CStree
from cslearn.data import Table, incomplete_codes
from cslearn.errors import InputError, LimitError
from cslearn.grown import GrownContexts, GrownLevel, GrownScores
from cslearn.mixture import STRENGTH, specialised
from cslearn.orders.tempering import random_order
from cslearn.orders.workers import Workers
from cslearn.stagings import Context, Staging

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CStreeEnsemble", "far_orders", "grown_ensemble"]

FORMAT = "cslearn.ensemble"
VERSION = 1
# Orders that are drawn for each that is wanted, until there are enough different ones.
TRIES = 10
# Rows that weights are found for; of more, so many that are spread evenly over all.
MOST_ROWS = 200_000

Floats = NDArray[np.float64]


@checked
class CStreeEnsemble:
    """A mixture of CStrees, for prediction.

    It has no order, no stages and no relations of its own: what explains the data is a single CStree, such as the
    learner's. It is made by :meth:`cslearn.CStreeLearner.ensemble`.

    Parameters
    ----------
    trees : sequence of CStree
        With the same variables and states, and with parameters.
    weights : array of float, optional
        They sum to one; all alike by default.

    Attributes
    ----------
    trees : tuple of CStree
    weights : ndarray of float

    Examples
    --------
    >>> from cslearn import CStreeLearner
    >>> from cslearn.datasets import chickenpox_model
    >>> model = chickenpox_model()
    >>> learner = CStreeLearner(random_state=0).fit(model.sample(1000, random_state=0))
    >>> ensemble = learner.ensemble(n=10)
    >>> ensemble
    CStreeEnsemble(10 CStrees of 4 variables)
    >>> new = model.sample(1000, random_state=1)
    >>> round(float(ensemble.log_prob(new).mean()), 2)
    -2.1...
    """

    def __init__(self, trees: Sequence[CStree], weights: ArrayLike | None = None) -> None:
        self.trees = tuple(trees)
        if not self.trees:
            raise InputError("an ensemble has at least one CStree")
        first = self.trees[0]
        for number, tree in enumerate(self.trees, 1):
            tree.needed_parameters()
            if tree.variables != first.variables or dict(tree.states) != dict(first.states):
                raise InputError(f"CStree {number} has other variables or states than the first one")
        try:
            given = np.ones(len(self.trees)) / len(self.trees) if weights is None else np.array(weights, dtype=float)
        except (TypeError, ValueError):
            raise InputError(
                "the weights of an ensemble are numbers, one for each CStree", parameter="weights"
            ) from None
        if given.shape != (len(self.trees),):
            raise InputError(f"{len(self.trees)} CStrees need as many weights, not an array of shape {given.shape}")
        if not (np.isfinite(given).all() and (given >= 0).all() and abs(given.sum() - 1) < 1e-6):
            raise InputError("the weights are not shares that sum to 1")
        self.weights = given
        self.weights.setflags(write=False)

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables in the order of the columns."""
        return self.trees[0].variables

    @property
    def states(self) -> Mapping[str, tuple[Any, ...]]:
        """The states of each variable."""
        return self.trees[0].states

    def log_prob(self, data: Any) -> Floats:
        """Return the log-probability of every row.

        Parameters
        ----------
        data : Table, frame, array, path or whatever :func:`cslearn.data.as_table` reads
            Without missing cells.

        Returns
        -------
        ndarray, shape (n,)
        """
        codes = self.trees[0].encode(data).codes
        return self._mixed([tree.log_prob_of_codes(codes) for tree, _ in self._used()])

    def predict_proba(self, data: Any, target: str) -> pd.DataFrame:
        """Return the probabilities of the states of one variable given the others, for each row.

        Parameters
        ----------
        data : frame or whatever :func:`cslearn.data.as_table` reads
            Cells may be missing, and columns too; they are summed out of each CStree. A state that was not there in
            training counts as missing, with a warning. A column of the target is not looked at.
        target : str

        Returns
        -------
        DataFrame
            A row for each row of the data, a column for each state of the target.
        """
        import pandas as pd

        from cslearn.inference.prediction import index_of
        from cslearn.inference.queries import labels_index

        if target not in self.states:
            raise InputError(f"there is no variable {target!r}; there are {', '.join(self.variables)}")
        codes = incomplete_codes(data, self.states, leave_out=[target])
        found = self._target_probabilities(codes, self.variables.index(target))
        return pd.DataFrame(found, columns=labels_index(self.states[target], target), index=index_of(data))

    def _target_probabilities(self, codes: NDArray[np.int32], target: int) -> Floats:
        from cslearn.inference import Queries

        n, d = len(codes), len(self.states[self.variables[target]])
        by_state = np.repeat(codes, d, axis=0)
        by_state[:, target] = np.tile(np.arange(d), n)
        gaps = (by_state < 0).any(axis=1)
        logs = []
        for tree, _ in self._used():
            of_tree = np.empty(n * d)
            of_tree[~gaps] = tree.log_prob_of_codes(by_state[~gaps])
            if gaps.any():
                # Not `tree.queries`, which would be kept: tables of deep stages are large.
                of_tree[gaps] = Queries(tree).rows.log_prob(by_state[gaps])
            logs.append(of_tree)
        joint = self._mixed(logs).reshape(n, d)
        top = joint.max(axis=1, keepdims=True)
        # What no CStree thinks possible tells nothing of the target.
        weights = np.where(np.isneginf(top), 1.0, np.exp(joint - np.where(np.isneginf(top), 0.0, top)))
        return weights / weights.sum(axis=1, keepdims=True)

    def predict(self, data: Any, target: str) -> pd.Series[Any]:
        """Return the most probable state of one variable given the others, for each row; see :meth:`predict_proba`."""
        from cslearn.inference.prediction import most_probable_states

        return most_probable_states(self.predict_proba(data, target), self.states[target], target)

    def sample(self, n: int, random_state: RandomState = None) -> pd.DataFrame:
        """Draw `n` rows, each from a CStree that is drawn by the weights."""
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
            raise InputError(f"the number of rows to draw is 0, 1, 2, ..., not {n!r}")
        rng = as_generator(random_state)
        member = rng.choice(len(self.trees), size=n, p=self.weights / self.weights.sum())
        codes = np.zeros((n, len(self.variables)), dtype=np.int64)
        for number, tree in enumerate(self.trees):
            rows = np.flatnonzero(member == number)
            codes[rows] = tree.sample_table(len(rows), rng).codes
        return Table(codes, self.variables, tuple(self.states[v] for v in self.variables)).to_frame()

    def save(self, path: str | PathLike[str]) -> None:
        """Write the ensemble to a JSON file, which appears whole or not at all."""
        from cslearn.cstree.files import to_document, to_text

        text = to_text(
            {
                "format": FORMAT,
                "version": VERSION,
                "written_by": f"cslearn {version('cslearn')}",
                "weights": self.weights.tolist(),
                "trees": [to_document(tree) for tree in self.trees],
            }
        )
        if len(text.encode("utf-8")) > SIZE_LIMIT or n_values(text) > VALUE_LIMIT:
            raise LimitError(
                f"the ensemble is larger than a file that is read may be ({SIZE_LIMIT >> 20} MB, {VALUE_LIMIT:,}"
                " values): make one of fewer CStrees (n)"
            )
        atomic_write(path, text)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> CStreeEnsemble:
        """Read an ensemble from a file; a :class:`~cslearn.errors.FileError` says what is wrong with it."""
        from cslearn.cstree.files import read_document

        return read_document(path, cls._from_document)

    @classmethod
    def _from_document(cls, document: Any) -> CStreeEnsemble:
        from cslearn.cstree.files import from_document

        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise InputError("it is not an ensemble of cslearn, which has the format " + repr(FORMAT))
        number, trees, weights = (document.get(name) for name in ("version", "trees", "weights"))
        if not isinstance(number, int) or number < 1:
            raise InputError(f"its schema version is {number!r}, not a whole number of at least 1")
        if number > VERSION:
            raise InputError(
                f"it has schema version {number} and this cslearn reads up to {VERSION}: install a newer one"
            )
        if not isinstance(trees, list) or not isinstance(weights, list):
            raise InputError("it lacks its CStrees or their weights")
        if not all(isinstance(weight, int | float) for weight in weights):
            raise InputError("its weights are not numbers")
        return cls([from_document(tree) for tree in trees], weights)

    def _used(self) -> Iterator[tuple[CStree, float]]:
        return ((tree, float(w)) for tree, w in zip(self.trees, self.weights, strict=True) if w > 0)

    def _mixed(self, logs: Sequence[Floats]) -> Floats:
        """Return the log of the mixture, given the log-probabilities by each CStree whose weight is not zero."""
        return log_sum_exp_axis([of_tree + np.log(w) for of_tree, (_, w) in zip(logs, self._used(), strict=True)], 0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CStreeEnsemble):
            return NotImplemented
        return self.trees == other.trees and bool(np.array_equal(self.weights, other.weights))

    def __hash__(self) -> int:
        return hash(self.trees)

    def __repr__(self) -> str:
        return f"CStreeEnsemble({len(self.trees)} CStrees of {len(self.variables)} variables)"


def far_orders(
    own: Sequence[int], before: NDArray[np.bool_], n: int, rng: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Return an order and others drawn at random, in which `i` comes before `j` wherever ``before[i, j]``.

    They are all different, so they are fewer than `n` where knowledge leaves few.
    """
    found = {tuple(map(int, own)): None}
    for _ in range(TRIES * n):
        if len(found) == n:
            break
        found[tuple(random_order(before, rng).tolist())] = None
    return [np.array(order, dtype=np.int64) for order in found]


def grown_ensemble(
    scores: GrownScores, orders: Sequence[NDArray[np.int64]], client: Any = None, strength: float = STRENGTH
) -> CStreeEnsemble:
    """Return the mixture of the trees that are grown for some orders, with the weights that suit the data.

    The workers of a Dask cluster grow them if there is a client, to the same result. Each is then turned to the
    rows that it tells better than the others; see :func:`cslearn.mixture.specialised`.
    """
    table, mask = _rows(scores)
    grower = _Grower(scores.contexts.narrow().deeper, scores.candidates, table, mask)
    members = (
        [grower.member(order) for order in orders]
        if client is None
        else Workers(client, grower).ask_all(_Grower.member, orders)
    )
    trees, logs = zip(*members, strict=True)
    return CStreeEnsemble(*specialised(trees, np.array(logs), table, mask, strength))


@dataclass(frozen=True)
class _Grower:
    """What all members are grown from."""

    contexts: GrownContexts
    candidates: Sequence[NDArray[np.int64]]
    table: Table
    interventions: NDArray[np.bool_] | None

    def member(self, order: NDArray[np.int64]) -> tuple[CStree, Floats]:
        """Return the tree of an order, and the log-probability of each row given the others."""
        table, position = self.table, np.argsort(order)
        stages: dict[str, Staging] = {}
        parameters: dict[str, Floats] = {}
        of_order = np.zeros(table.n)
        for t, i in enumerate(order.tolist()):
            own = self.candidates[i]
            level = GrownLevel(self.contexts, i, own[position[own] < t]).of_best_set()
            variable = table.variables[i]
            stages[variable], parameters[variable] = _staging(level, table, order[:t])
            of_order += _leave_one_out(level, table.codes, i, self.interventions)
        names = [table.variables[i] for i in order]
        return CStree(names, stages, parameters, states=table.state_map), of_order


def _rows(scores: GrownScores) -> tuple[Table, NDArray[np.bool_] | None]:
    """Return the rows that weights are found for, equal ones merged, and what was set in them from outside."""
    frame, mask = scores.table, scores.interventions
    at = np.arange(frame.n) if frame.n <= MOST_ROWS else np.linspace(0, frame.n - 1, MOST_ROWS).astype(np.int64)
    weights = None if frame.weights is None else frame.weights[at]
    table = Table(scores.counts.rows(at), frame.variables, frame.states, weights)
    return (table.collapse(), None) if mask is None else (table, mask[at])


def _staging(level: GrownLevel, table: Table, before: NDArray[np.int64]) -> tuple[Staging, Floats]:
    """Return the whole tree of a level as a staging, and its probabilities."""
    scope = {table.variables[c]: table.states[c] for c in before.tolist()}
    of_place = [(table.variables[c], table.states[c]) for c in level.columns.tolist()]
    pairs, probabilities = level.whole_tree()
    contexts = [Context((of_place[k][0], of_place[k][1][x]) for k, x in stage) for stage in pairs]
    staging = Staging.trusted(scope, contexts)
    row = {context: r for r, context in enumerate(contexts)}
    return staging, probabilities[[row[context] for context in staging]]


def _leave_one_out(
    level: GrownLevel, codes: NDArray[np.integer], target: int, interventions: NDArray[np.bool_] | None
) -> Floats:
    """Return the log-probability of a variable in each row given the other rows; 0 where it was set from outside."""
    if interventions is None:
        return level.leave_one_out(codes)
    found, counted = np.zeros(len(codes)), ~interventions[:, target]
    found[counted] = level.leave_one_out(codes[counted])
    return found
