"""Any accepted data as a pandas frame, in which numbers are still numbers."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cslearn._checked import checked
from cslearn.data._columns import Column
from cslearn.data._labels import State, is_numeric
from cslearn.data._markers import DEFAULT_NA_VALUES, warn_of_markers
from cslearn.data._sources import open_source
from cslearn.data._text import check_header
from cslearn.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["as_frame", "numbers_of", "read_frame"]


def read_frame(data: Any, *, na_values: Collection[str] = DEFAULT_NA_VALUES, sep: str | None = None) -> pd.DataFrame:
    """Give a new frame with strings as column names; the columns of a pandas frame are taken as they are."""
    import pandas as pd

    if isinstance(data, pd.DataFrame):
        frame = data.copy(deep=False)
        frame.columns = pd.Index(check_header([str(name) for name in data.columns], "The data frame"))
        return frame
    source = open_source(data, na_values=na_values, sep=sep)
    columns = [source.column(j) for j in range(len(source.names))]
    warn_of_markers(columns)
    return pd.DataFrame({column.name: _series_of(column, text=source.text) for column in columns})


@checked
def as_frame(data: Any, *, na_values: Collection[str] = DEFAULT_NA_VALUES, sep: str | None = None) -> pd.DataFrame:
    """Give any accepted data as a new pandas frame, with the labels that :func:`as_table` would read.

    The columns of a pandas frame are taken as they are. `na_values` and `sep` are for text files.

    Examples
    --------
    >>> from cslearn.data import as_frame
    >>> as_frame([{"a": 1, "b": "x"}, {"a": 2}])
       a     b
    0  1     x
    1  2  None
    """
    import pandas as pd

    if isinstance(data, pd.DataFrame):
        return read_frame(data)
    source = open_source(data, na_values=na_values, sep=sep)
    columns: dict[str, Any] = {}
    for j, name in enumerate(source.names):
        column = source.column(j)
        labels: Any = np.empty(len(column.labels) + 1, dtype=object)
        labels[:] = [*column.labels, None]
        if column.fixed:
            dtype = None if len({type(label) for label in column.labels}) == 1 else object
            categories: Any = pd.Index(list(column.labels), dtype=dtype)
            columns[name] = pd.Categorical.from_codes(column.codes, categories=categories, ordered=True)
        else:
            columns[name] = pd.Series(labels[column.codes], dtype=object)
    return pd.DataFrame(columns)


def numbers_of(series: pd.Series[Any]) -> NDArray[np.float64]:
    """Give the numbers of a column, with NaN for missing cells; raise an error if it holds anything else."""
    import pandas as pd

    if isinstance(series.dtype, pd.CategoricalDtype):
        raise InputError(f"Column {series.name!r} is categorical already, so it cannot be cut into bins.")
    try:
        return pd.to_numeric(series).to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise InputError(f"Column {series.name!r} is not numeric, so it cannot be cut: {error}.") from error


def _series_of(column: Column, *, text: bool) -> pd.Series[Any]:
    import pandas as pd

    if column.fixed:
        categories: pd.Index[Any] = pd.Index(list(column.labels))
        return pd.Series(pd.Categorical.from_codes(column.codes, categories=categories, ordered=True))
    labels: list[State] = list(column.labels)
    if text and all(is_numeric(label) for label in labels):
        labels = [float(label) for label in labels] if any(isinstance(x, str) for x in labels) else labels
    values = pd.Series(labels, dtype=None if labels else object)
    # A position of -1, a missing cell, is no index and gives NaN.
    return values.reindex(column.codes).reset_index(drop=True)
