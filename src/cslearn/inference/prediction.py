"""Predicting one variable from others, row by row, with gaps in the rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cslearn._numerics import RandomState
from cslearn._warnings import warn
from cslearn.data import incomplete_codes
from cslearn.errors import DataWarning
from cslearn.inference.estimates import Method
from cslearn.inference.factors import Floats
from cslearn.inference.queries import labels_index
from cslearn.inference.rows import N_ROW_SAMPLES

if TYPE_CHECKING:
    import pandas as pd

    from cslearn.cstree import CStree

__all__ = ["index_of", "most_probable_states", "predict", "predict_proba", "target_probabilities"]


def target_probabilities(
    tree: CStree,
    codes: NDArray[np.int32],
    target: int,
    *,
    method: Method = "auto",
    n_samples: int = N_ROW_SAMPLES,
    random_state: RandomState = 0,
    start: int = 0,
) -> Floats:
    """Return the distribution of a column in each row of codes, -1 for cells that are not known.

    A row that is impossible under the model gets the distribution of the target without evidence, with a warning, which
    counts rows from `start`.
    """
    distribution = partial(
        tree.queries.rows.distribution, target, method=method, n_samples=n_samples, random_state=random_state
    )
    result = distribution(codes)
    impossible = np.isnan(result[:, 0])
    if impossible.any():
        row = start + int(np.flatnonzero(impossible)[0]) + 1
        warn(
            f"{int(impossible.sum()):,} rows, the first of them row {row}, have probability zero under the model:"
            f" {tree.variables[target]!r} is predicted in them as if nothing were known",
            DataWarning,
        )
        nothing = np.full((1, codes.shape[1]), -1, dtype=np.int32)
        result[impossible] = distribution(nothing)
    return result


def predict_proba(
    tree: CStree,
    data: Any,
    target: str,
    *,
    method: Method = "auto",
    n_samples: int = N_ROW_SAMPLES,
    random_state: RandomState = 0,
    **options: Any,
) -> pd.DataFrame:
    """See :meth:`cslearn.CStree.predict_proba`."""
    import pandas as pd

    column = tree.queries.coder.variable(target)
    codes = incomplete_codes(data, tree.states, leave_out=[target], **options)
    probabilities = target_probabilities(
        tree,
        codes,
        column,
        method=method,
        n_samples=n_samples,
        random_state=random_state,
        start=getattr(data, "start", 0),  # of a batch
    )
    return pd.DataFrame(probabilities, columns=labels_index(tree.states[target], target), index=index_of(data))


def predict(tree: CStree, data: Any, target: str, **options: Any) -> pd.Series[Any]:
    """See :meth:`cslearn.CStree.predict`."""
    return most_probable_states(predict_proba(tree, data, target, **options), tree.states[target], target)


def most_probable_states(probabilities: pd.DataFrame, labels: Sequence[Any], target: str) -> pd.Series[Any]:
    """Return the most probable state of a variable in each row of the probabilities of its states."""
    import pandas as pd

    best = probabilities.to_numpy().argmax(axis=1)
    states = pd.Categorical.from_codes(best, categories=labels_index(labels), ordered=True)
    return pd.Series(states, index=probabilities.index, name=target)


def index_of(data: Any) -> Any:
    """Return the index of a pandas frame; None for other data."""
    return data.index if type(data).__module__.partition(".")[0] == "pandas" else None
