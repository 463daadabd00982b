"""Predictions averaged over the posterior, and answers with their uncertainty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cslearn._numerics import RandomState, log_sum_exp_axis
from cslearn.data import incomplete_codes
from cslearn.errors import InputError
from cslearn.posterior.draws import tails_of
from cslearn.posterior.levels import MOST_NUMBERS, N_ORDERS, Floats, Level

if TYPE_CHECKING:
    import pandas as pd

    from cslearn.posterior.posterior import CStreePosterior

__all__ = ["effect", "log_prob", "predict", "predict_proba", "query", "target_probabilities"]

# CStrees that missing cells are summed out of.
N_TREES = 50
# Effects that are smaller than this part of the largest are zero.
ROUNDING = 1e-12


def log_prob(posterior: CStreePosterior, data: Any, *, n_orders: int | None = None) -> Floats:
    """Return the log-probability of every row, averaged over stagings, parameters and orders.

    Given an order the average over all stagings and parameters is exact. Over orders it is taken by the draws, or
    exactly after an exact search in which few levels matter (2,500, of up to 14 variables): always with nine.

    Parameters
    ----------
    data : Table, frame, array, path or whatever :func:`cslearn.data.as_table` reads
    n_orders : int, optional
        Draws of orders to average over; by default all orders where that is feasible, otherwise 200 draws.

    Returns
    -------
    ndarray, shape (n,)
    """
    return _log_prob(posterior, posterior._encoded(data).codes, n_orders)


def _log_prob(posterior: CStreePosterior, codes: NDArray[np.integer], n_orders: int | None) -> Floats:
    rows, inverse = np.unique(codes, axis=0, return_inverse=True)
    if n_orders is None and posterior._all_levels is not None:
        return _exact_log_prob(posterior, posterior._all_levels, rows)[inverse.reshape(-1)]
    levels = posterior._drawn_levels(n_orders)
    n_draws, found = len(levels[0]), []
    for part in np.array_split(rows, n_draws * len(rows) // MOST_NUMBERS + 1):
        by_order = np.zeros((n_draws, len(part)))
        for i, of_variable in enumerate(levels):
            place = {level: k for k, level in enumerate(dict.fromkeys(of_variable))}
            logs = np.log(posterior._levels.predictive(i, list(place), part))
            by_order += logs[[place[level] for level in of_variable]]
        found.append(log_sum_exp_axis(by_order, axis=0) - log(n_draws))
    return np.concatenate(found)[inverse.reshape(-1)]


def _exact_log_prob(
    posterior: CStreePosterior, levels: Sequence[Mapping[Level, float]], rows: NDArray[np.integer]
) -> Floats:
    found = []
    for part in np.array_split(rows, (len(rows) << len(levels)) // MOST_NUMBERS + 1):
        scale, values = np.zeros(len(part)), []
        for i, of_variable in enumerate(levels):
            predicted = dict(zip(of_variable, posterior._levels.predictive(i, list(of_variable), part), strict=True))
            largest = np.max(list(predicted.values()), axis=0)
            scale += np.log(largest)
            values.append({level: chances / largest for level, chances in predicted.items()})
        found.append(scale + np.log(posterior._mean_over_orders(values)))
    return np.concatenate(found)


def predict_proba(
    posterior: CStreePosterior,
    data: Any,
    target: str,
    *,
    n_orders: int | None = None,
    n_draws: int = N_TREES,
    random_state: RandomState = 0,
) -> pd.DataFrame:
    """Return the probabilities of the states of one variable given the others, averaged over the posterior.

    In complete rows that is in closed form given an order, as in :meth:`log_prob`. Missing cells are summed out of
    CStrees drawn from the posterior, each with the means of its parameters: the probability of what is known in the
    row together with each state of the target, on average over the draws.

    Parameters
    ----------
    data : frame or whatever :func:`cslearn.data.as_table` reads
        Cells may be missing, and columns too. A state that was not there in training counts as missing, with a
        warning. A column of the target is not looked at.
    target : str
    n_orders : int, optional
        For complete rows: draws of orders to average over, as in :meth:`log_prob`.
    n_draws : int
        For rows with missing cells: CStrees that are drawn.
    random_state : int, Generator or None
        Seed of these draws.

    Returns
    -------
    DataFrame
        A row for each row of the data, a column for each state of the target.
    """
    import pandas as pd

    from cslearn.inference.prediction import index_of
    from cslearn.inference.queries import labels_index

    i, table = posterior._column(target), posterior._scores.table
    codes = incomplete_codes(data, table.state_map, leave_out=[target])
    found = posterior.target_probabilities(codes, i, n_orders=n_orders, n_draws=n_draws, random_state=random_state)
    return pd.DataFrame(found, columns=labels_index(table.states[i]), index=index_of(data))


def target_probabilities(
    posterior: CStreePosterior,
    codes: NDArray[np.int32],
    i: int,
    *,
    n_orders: int | None = None,
    n_draws: int = N_TREES,
    random_state: RandomState = 0,
) -> Floats:
    """Return what :meth:`predict_proba` does for column `i` of rows of codes, in which -1 is a missing cell."""
    names = posterior.variables
    if codes.dtype.kind != "i" or codes.ndim != 2 or codes.shape[1] != len(names) or not 0 <= i < len(names):
        raise InputError(f"codes are whole numbers in {len(names)} columns, and i is one of these")
    codes = codes.copy()
    codes[:, i] = 0
    gaps = (codes < 0).any(axis=1)
    trees = posterior.sample(n_draws, parameters="mean", random_state=random_state) if gaps.any() else []
    logs = np.empty((len(codes), posterior._scores.table.cards[i]))
    for code in range(logs.shape[1]):
        codes[:, i] = code
        if not gaps.all():
            logs[~gaps, code] = _log_prob(posterior, codes[~gaps], n_orders)
        if trees:
            by_tree = [tree.queries.rows.log_prob(codes[gaps]) for tree in trees]
            logs[gaps, code] = log_sum_exp_axis(by_tree, axis=0)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def predict(posterior: CStreePosterior, data: Any, target: str, **options: Any) -> pd.Series:
    """Return the most probable state of one variable given the others, for each row; see :meth:`predict_proba`."""
    return posterior.predict_proba(data, target, **options).idxmax(axis=1).rename(target)


def query(
    posterior: CStreePosterior,
    targets: Sequence[str] | str,
    evidence: Mapping[str, Any] | None = None,
    *,
    interval: float = 0.95,
    n_draws: int = N_ORDERS,
    random_state: RandomState = 0,
) -> pd.DataFrame:
    """Return the posterior mean and a credible interval of each probability of a query.

    The query is asked of CStrees drawn from the joint posterior of order, stagings and parameters. So the mean is
    that of ``P(targets | evidence)``, a property of the model that the data leave uncertain. What
    :meth:`predict_proba` gives for a new row is another mean: the evidence in that row is data too, and counts
    the models by how probable they make it, ``E P(targets, evidence) / E P(evidence)``. Without evidence the two
    are the same, and with much data about the same.

    Parameters
    ----------
    targets, evidence
        As in :meth:`cslearn.CStree.query`.
    interval : float
        Posterior probability of the interval, with equal tails.
    n_draws : int
        CStrees that are drawn.
    random_state : int, Generator or None

    Returns
    -------
    DataFrame
        Columns ``mean``, ``lower`` and ``upper``, and a row for each outcome of the targets.
    """
    import pandas as pd

    tails = tails_of(interval)
    names = [targets] if isinstance(targets, str) else list(targets)
    trees = posterior.sample(n_draws, random_state=random_state)
    answers = [tree.query(names, evidence=evidence) for tree in trees]
    values = np.array([np.asarray(answer) for answer in answers])
    lower, upper = np.quantile(values, tails, axis=0)
    return pd.DataFrame({"mean": values.mean(axis=0), "lower": lower, "upper": upper}, index=answers[0].index)


def effect(
    posterior: CStreePosterior,
    outcome: str,
    do: Mapping[str, Any],
    against: Mapping[str, Any] | None = None,
    *,
    value: Any = None,
    evidence: Mapping[str, Any] | None = None,
    interval: float = 0.95,
    n_draws: int = N_ORDERS,
    random_state: RandomState = 0,
) -> pd.Series:
    """Return the average causal effect of setting variables, with its posterior uncertainty.

    The effect is computed in CStrees drawn from the joint posterior of order, stagings and parameters. Its spread
    says how far the data leave the model open, directions included. It does not say how true the causal reading of
    any of these models is: common causes that were not measured, and selection by effects, are in none of them.

    Parameters
    ----------
    outcome : str
    do, against : mapping of variable to state, or to odds
        What is set, and what it is compared with, as for :meth:`cslearn.CStree.do`. Without `against` it is
        compared with setting nothing.
    value : state or mapping of state to number, optional
        The state of the outcome whose probability is meant, or the number that each counts for; not needed if the
        states are numbers.
    evidence : mapping of str to evidence, optional
        As for :meth:`cslearn.CStree.query`: the effect where this is seen after setting.
    interval : float
        Posterior probability of the interval, with equal tails.
    n_draws : int
        CStrees that are drawn.
    random_state : int, Generator or None

    Returns
    -------
    pandas.Series
        ``mean``, ``sd``, ``lower`` and ``upper`` of the effect, ``positive``, the probability that it is above
        zero, and ``none``, the probability that it is zero because the outcome does not depend on what is set.

    Examples
    --------
    >>> from cslearn import CStreeLearner
    >>> from cslearn.datasets import chickenpox_model
    >>> data = chickenpox_model().sample(1000, random_state=0)
    >>> order = [["background"], ["diagnosis"], ["exposed"], ["carrier"]]
    >>> posterior = CStreeLearner(knowledge={"tiers": order}, random_state=0).fit(data).posterior_
    >>> posterior.effect("carrier", do={"exposed": "yes"}, against={"exposed": "no"}, value="yes").round(2)
    mean        0.5...
    sd          0.0...
    lower       0.5...
    upper       0.6...
    positive    1.0...
    none        0.0...
    dtype: float64
    """
    import pandas as pd

    from cslearn.inference.causal import expected_value

    tails = tails_of(interval)
    trees = posterior.sample(n_draws, random_state=random_state)
    effects = np.array(
        [
            expected_value(tree, outcome, do, value, evidence) - expected_value(tree, outcome, against, value, evidence)
            for tree in trees
        ]
    )
    # Where nothing that was set leads to the outcome the two sums differ by rounding alone.
    effects[np.abs(effects) < ROUNDING * (1 + np.abs(effects).max())] = 0.0
    lower, upper = np.quantile(effects, tails)
    told = {"mean": effects.mean(), "sd": effects.std(ddof=1), "lower": lower, "upper": upper}
    return pd.Series({**told, "positive": (effects > 0).mean(), "none": (effects == 0).mean()})
