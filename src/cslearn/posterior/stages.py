"""Stages and parents of a variable, and how many stages there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from cslearn.errors import InputError
from cslearn.posterior.levels import Floats
from cslearn.stagings import Context

if TYPE_CHECKING:
    import pandas as pd

    from cslearn.posterior.posterior import CStreePosterior

__all__ = ["n_stages", "n_stages_distribution", "parents_probability", "stage_probability"]

MOST_PARENTS = 10


def stage_probability(
    posterior: CStreePosterior, variable: str, context: Mapping[str, Any], *, n_orders: int | None = None
) -> float:
    """Return the probability that a context is a stage of a variable.

    Parameters
    ----------
    variable : str
    context : mapping of variable to state
    n_orders : int, optional
        Orders to average over. After an exact search by default all levels, or of very many a thousand.
    """
    i, context = posterior._column(variable), Context(context)
    pairs = sorted(posterior._coded(v, state) for v, state in context.items())
    total = 0.0
    for level, probability in posterior._probable_levels(i, n_orders).items():
        total += probability * posterior._levels.stage_chance(i, level, pairs)
    return min(max(total, 0.0), 1.0)


def parents_probability(
    posterior: CStreePosterior, variable: str, parents: Iterable[str], *, n_orders: int | None = None
) -> float:
    """Return the probability that a variable has these parents: each in at least one stage, and no others.

    Parameters
    ----------
    variable : str
    parents : iterable of str
        At most ten.
    n_orders : int, optional
        Orders to average over. After an exact search by default all levels, or of very many a thousand.

    Examples
    --------
    >>> from cslearn import CStreeLearner
    >>> from cslearn.datasets import chickenpox_model
    >>> posterior = CStreeLearner().fit(chickenpox_model().sample(1000, random_state=0)).posterior_
    >>> round(posterior.parents_probability("carrier", ["exposed", "diagnosis"]), 2)
    0.9
    """
    i, columns = posterior._column(variable), frozenset(map(posterior._column, parents))
    if len(columns) > MOST_PARENTS:
        raise InputError(f"parents are at most {MOST_PARENTS}, not {len(columns)}: their subsets are gone through")
    levels = posterior._probable_levels(i, n_orders).items()
    total = sum(probability * posterior._levels.parents(i, level, columns) for level, probability in levels)
    return min(max(total, 0.0), 1.0)


def n_stages(posterior: CStreePosterior, *, n_orders: int | None = None) -> pd.Series:
    """Return the expected number of stages of each variable."""
    import pandas as pd

    numbers = [_n_stages(posterior, i, n_orders) for i in range(len(posterior.variables))]
    expected = [float(chances @ np.arange(len(chances))) for chances in numbers]
    return pd.Series(expected, index=list(posterior.variables), name="stages")


def n_stages_distribution(
    posterior: CStreePosterior, variable: str | None = None, *, n_orders: int | None = None
) -> pd.Series:
    """Return how probable each number of stages is, of one variable or of all together.

    Given an order both are in closed form, by the generating function of the number of stages.

    Parameters
    ----------
    variable : str, optional
        By default the stages of all variables are counted together.
    n_orders : int, optional
        Orders to average over. After an exact search by default all: for one variable always (all levels, or of
        very many a thousand), for all together while their levels are few, as in :meth:`log_prob`.

    Returns
    -------
    Series
        Probabilities by the number of stages, from 1 on.

    Examples
    --------
    >>> from cslearn import CStreeLearner
    >>> from cslearn.datasets import chickenpox_model
    >>> posterior = CStreeLearner().fit(chickenpox_model().sample(1000, random_state=0)).posterior_
    >>> posterior.n_stages_distribution("exposed").round(2).tolist()
    [0.65, 0.19, 0.12, 0.04, 0.0, 0.0, 0.0, 0.0]
    >>> posterior.n_stages_distribution().idxmax()
    8
    """
    import pandas as pd

    if variable is not None:
        found = _n_stages(posterior, posterior._column(variable), n_orders)
    else:
        found = _total_stages(posterior, n_orders)
    found = np.trim_zeros(found.round(15), "b")[1:]
    return pd.Series(found, index=pd.RangeIndex(1, len(found) + 1, name="stages"), name="probability")


def _n_stages(posterior: CStreePosterior, i: int, n_orders: int | None) -> Floats:
    levels = posterior._probable_levels(i, n_orders)
    numbers = [posterior._levels.n_stages(i, level) for level in levels]
    total = np.zeros(max(map(len, numbers)))
    for chances, probability in zip(numbers, levels.values(), strict=True):
        total[: len(chances)] += probability * chances
    return total / sum(levels.values())


def _total_stages(posterior: CStreePosterior, n_orders: int | None) -> Floats:
    every = posterior._all_levels if n_orders is None else None
    if every is None:
        levels = posterior._drawn_levels(n_orders)
        by_variable = [{level: posterior._levels.n_stages(i, level) for level in of} for i, of in enumerate(levels)]
    else:
        by_variable = [{level: posterior._levels.n_stages(i, level) for level in of} for i, of in enumerate(every)]
    size = 1 + sum(max(map(len, numbers.values())) - 1 for numbers in by_variable)
    # A sum of independent numbers: their transforms are multiplied.
    waves = [{level: np.fft.rfft(chances, size) for level, chances in of.items()} for of in by_variable]
    if every is not None:
        mean = posterior._mean_over_orders(waves)
    else:
        draws = range(len(levels[0]))
        products = [np.prod([waves[i][of[draw]] for i, of in enumerate(levels)], axis=0) for draw in draws]
        mean = np.mean(products, axis=0)
    return np.clip(np.fft.irfft(mean, size), 0.0, 1.0)
