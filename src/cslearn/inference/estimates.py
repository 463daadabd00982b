"""Answers estimated from draws: shares, probabilities of evidence, entropies, and the most probable outcome met.

Each function takes evidence in the user's words and says in it what draws did not agree with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, prod
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cslearn._numerics import RandomState
from cslearn._warnings import warn
from cslearn._wording import offers, option
from cslearn.errors import EstimateWarning, InputError, LimitError
from cslearn.inference.evidence import Evidence
from cslearn.inference.factors import Floats
from cslearn.inference.sampling import (
    FEW,
    Draws,
    NoDrawAgreesError,
    best_outcome,
    draws_given,
    jackknife,
    surprises,
)

if TYPE_CHECKING:
    from cslearn.inference.queries import Queries

__all__ = ["METHODS", "Estimate", "Estimator", "Method", "check_method"]

Method = Literal["auto", "exact", "sampling"]
METHODS = "auto", "exact", "sampling"
# Most joint states whose shares are estimated.
CELLS = 1 << 20
# An entropy is estimated if there are this many draws for each joint state.
DRAWS_FOR_EACH = 10


def check_method(method: str) -> None:
    """Refuse a way of answering that there is not."""
    if method not in METHODS:
        raise InputError(f"there is no method {method!r} of answering a query; choose 'auto', 'exact' or 'sampling'")


class Estimate(float):
    """A number that was estimated from draws.

    Attributes
    ----------
    standard_error : float

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> found = chickenpox_model().log_prob_of({"carrier": "yes"}, method="sampling")
    >>> round(found, 2), found.standard_error < 0.01
    (-1.46, True)
    """

    standard_error: float

    def __new__(cls, value: float, standard_error: float = inf) -> Estimate:
        """Make a number with its standard error."""
        made = super().__new__(cls, value)
        made.standard_error = standard_error
        return made


class Estimator:
    """Draws for one answer, and the warnings that belong to it.

    Parameters
    ----------
    queries : Queries
    evidence : mapping, optional
        In the user's words.
    n_samples, random_state
        As for :meth:`cslearn.CStree.query`.
    asked : bool
        Whether an estimate was asked for: then only a rough one is worth a warning.
    """

    def __init__(
        self,
        queries: Queries,
        evidence: Mapping[str, Any] | None,
        n_samples: int,
        random_state: RandomState,
        *,
        asked: bool,
    ) -> None:
        self.queries, self.evidence = queries, evidence
        self.n_samples, self.random_state = n_samples, random_state
        self.asked = asked
        self.coded: Evidence = queries.coder.evidence(evidence)

    def draws(self, wanted: Sequence[int]) -> Draws:
        """Return draws of some variables given the evidence."""
        try:
            return draws_given(self.queries, self.coded, wanted, self.n_samples, self.random_state)
        except NoDrawAgreesError as none:
            raise self._none_agrees(none) from None

    def _none_agrees(self, none: NoDrawAgreesError) -> InputError:
        """Return an error that says which evidence no draw agrees with, and whether that is certain."""
        names, evidence = self.queries.tree.variables, self.evidence or {}
        last = names[none.variable]
        parents = [u for u in self.queries.tree.parents[last] if u in evidence]
        for part in ([last], [*parents, last], [*(names[v] for v in none.before), last]):
            items = {name: evidence[name] for name in part}
            if self.queries.is_impossible(items):
                return self.queries.impossible(items)
        before = [names[v] for v in none.before]
        rest = f" that agrees with that on {', '.join(before[:5])}{' and others' * (len(before) > 5)}" if before else ""
        return InputError(
            f"the evidence on {last!r} agrees with no draw{rest}: it is impossible, or so rare that more draws are"
            " needed (n_samples)"
        )

    def shares(self, columns: Sequence[int]) -> tuple[Floats, dict[str, Any]]:
        """Return the estimated joint distribution of some columns, one axis for each, and what to tell of it."""
        groups, draws = self._tables(columns, CELLS)
        shares, errors = jackknife(groups, lambda total: total / total.sum())
        shares = np.clip(shares, 0.0, None)
        shares /= shares.sum()
        # Less than a draw cannot be told.
        error = max(float(errors.max()), 1 / draws.effective)
        effective = (
            min(draws.effective, float((shares * (1 - shares)).max()) / error**2) if draws.moved else draws.effective
        )
        self.tell(f"with standard errors up to {error:.1g}", draws, effective)
        told = {"exact": False, "standard_error": error, "effective_draws": effective}
        return shares.reshape([self.queries.cards[v] for v in columns]), told

    def log_prob(self) -> Estimate:
        """Return the log-probability of the evidence."""
        draws = self.draws(())
        estimate, error = draws.log_prob()
        self.tell(f"with a standard error of {error:.1g}", draws, draws.effective)
        return Estimate(estimate, error)

    def joint_entropy(self) -> Estimate:
        """Return the entropy of all variables given the evidence.

        It is the log-probability of the evidence less the mean log-probability of a draw.
        """
        draws = self.draws(range(len(self.queries.cards)))
        weights = draws.weights
        values = surprises(self.queries, self.coded, draws).reshape(weights.shape)
        sums = np.stack([weights.sum(axis=1), (weights * np.where(weights > 0, values, 0.0)).sum(axis=1)], axis=1)
        top = float(draws.log_weights.max())
        found, error = jackknife(sums, lambda total: total[1:] / total[0] + top + np.log(total[:1] / draws.n))
        return self._number(found, error, draws)

    def entropy(self, columns: Sequence[int]) -> Estimate:
        """Return the entropy of some columns given the evidence."""
        groups, draws = self._tables(columns, self.n_samples // DRAWS_FOR_EACH)
        return self._number(*jackknife(groups, lambda total: np.array([_entropy(total / total.sum())])), draws)

    def information(self, first: Sequence[int], second: Sequence[int]) -> Estimate:
        """Return the mutual information of two lists of columns given the evidence."""
        groups, draws = self._tables([*first, *second], self.n_samples // DRAWS_FOR_EACH)
        rows = prod(self.queries.cards[v] for v in first)

        def statistic(total: Floats) -> Floats:
            joint = total.reshape(rows, -1) / total.sum()
            sides = _entropy(joint.sum(axis=0)) + _entropy(joint.sum(axis=1))
            return np.array([sides - _entropy(joint.ravel())])

        return self._number(*jackknife(groups, statistic), draws)

    def best(self) -> tuple[dict[int, int], float]:
        """Return the most probable outcome met, and its log-probability with the weights of soft evidence."""
        try:
            found = best_outcome(self.queries, self.coded, self.n_samples, self.random_state)
        except NoDrawAgreesError as none:
            raise self._none_agrees(none) from None
        if not self.asked:
            warn(
                f"an exact search would need too large tables: this is the best outcome found from {self.n_samples:,}"
                " draws. No change of one variable improves it, but a more probable one may exist.",
                EstimateWarning,
            )
        return found

    def _tables(self, columns: Sequence[int], most: int) -> tuple[Floats, Draws]:
        """Return the weights of the joint states of some columns in each group of draws, and the draws."""
        sizes = [self.queries.cards[v] for v in columns]
        if prod(sizes) > most:
            raise LimitError(
                f"{len(columns)} targets with {float(prod(sizes)):.3g} joint states are too many: from"
                f" {self.n_samples:,} draws at most {most:,} can be told apart. Ask for fewer targets at once, or look"
                " at rows drawn with tree.sample or tree.impute."
            )
        draws = self.draws(columns)
        cell = np.zeros(draws.n, dtype=np.intp)
        for v, size in zip(columns, sizes, strict=True):
            cell = cell * size + draws.codes[v]
        weights = draws.weights
        groups = [
            np.bincount(cells, weights=row, minlength=prod(sizes))
            for cells, row in zip(cell.reshape(weights.shape), weights, strict=True)
        ]
        return np.array(groups), draws

    def _number(self, found: Floats, error: Floats, draws: Draws) -> Estimate:
        # Neither an entropy nor an information is below zero, as an estimate may be.
        result = Estimate(max(0.0, float(found[0])), max(float(error[0]), 1 / draws.effective))
        self.tell(f"with a standard error of {result.standard_error:.1g}", draws, draws.effective)
        return result

    def tell(self, precision: str, draws: Draws, effective: float) -> None:
        """Warn that an answer is an estimate that was not asked for, or that it is a rough one."""
        if effective < FEW:
            warn(
                f"this estimate is rough: its {draws.n:,} draws tell no more than {effective:.0f} independent ones"
                f" would ({precision}, uncertain themselves), as few draws agree with the evidence. More draws help"
                " (n_samples), and so does less evidence.",
                EstimateWarning,
            )
        elif not self.asked:
            without = f" {option('method', 'sampling')} asks for an estimate, without this warning."
            warn(
                f"an exact answer would need too large tables: this is an estimate from {draws.n:,} weighted draws,"
                f" {precision}.{without if offers('method') else ''}",
                EstimateWarning,
            )


def _entropy(probabilities: Floats) -> float:
    positive = probabilities[probabilities > 0]
    return -float((positive * np.log(positive)).sum())
