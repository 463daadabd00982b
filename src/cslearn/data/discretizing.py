"""Cutting numeric columns into bins."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from cslearn.data._frames import numbers_of, read_frame
from cslearn.data._labels import listing, not_numbers
from cslearn.data._markers import DEFAULT_NA_VALUES
from cslearn.errors import DataWarning, InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Discretizer", "discretize"]

# Whole numbers with no more distinct values than this are taken to be categories.
_FEW_VALUES = 20


@dataclass(frozen=True)
class Discretizer:
    """The cut points of some columns, to bin other data in the same way.

    Parameters
    ----------
    cuts : mapping from str to sequence of float
        The ascending cut points of each column. Cuts a < b make the bins "below a", "from a to below b" and
        "b or more"; a value that equals a cut is in the upper bin.

    Examples
    --------
    >>> from cslearn.data import Discretizer
    >>> binned = Discretizer({"dose": (0.31, 0.9)}).transform({"dose": [0.1, 0.31, 2.0]})
    >>> binned["dose"].tolist()
    ['<0.31', '[0.31, 0.9)', '>=0.9']
    """

    cuts: Mapping[str, tuple[float, ...]]

    def __post_init__(self) -> None:
        """Check the cuts and keep a copy of them."""
        object.__setattr__(self, "cuts", {str(name): _check_cuts(name, cuts) for name, cuts in self.cuts.items()})

    def transform(
        self, data: Any, *, na_values: Collection[str] = DEFAULT_NA_VALUES, sep: str | None = None
    ) -> pd.DataFrame:
        """Put the numbers into their bins.

        Parameters
        ----------
        data : DataFrame, path, or anything that :func:`as_table` reads
            It must have all columns of ``cuts``, and they must be numeric.
        na_values, sep
            As for :func:`as_table`.

        Returns
        -------
        pandas.DataFrame
            These columns as ordered categoricals, in which every bin is a category; the others as they are.
            Missing cells stay missing.

        Examples
        --------
        >>> from cslearn.data import Discretizer
        >>> Discretizer({"x": (1.0,)}).transform({"x": [0, 1]})["x"].tolist()
        ['<1', '>=1']
        """
        import pandas as pd

        frame = read_frame(data, na_values=na_values, sep=sep)
        _check_columns(self.cuts, frame)
        for name, cuts in self.cuts.items():
            values = numbers_of(frame[name])
            # side="right" puts a value that equals a cut above it.
            codes = np.where(np.isnan(values), -1, np.searchsorted(cuts, values, side="right"))
            frame[name] = pd.Categorical.from_codes(codes, categories=pd.Index(_bin_labels(cuts)), ordered=True)
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Give the cuts in a form that JSON can hold.

        Returns
        -------
        dict

        Examples
        --------
        >>> from cslearn.data import Discretizer
        >>> Discretizer({"x": (1.0, 2.5)}).to_dict()
        {'cuts': {'x': [1.0, 2.5]}}
        """
        return {"cuts": {name: list(cuts) for name, cuts in self.cuts.items()}}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Discretizer:
        """Undo :meth:`to_dict`.

        Parameters
        ----------
        content : mapping
            What :meth:`to_dict` gave.

        Returns
        -------
        Discretizer

        Examples
        --------
        >>> from cslearn.data import Discretizer
        >>> Discretizer.from_dict({"cuts": {"x": [1.0, 2.5]}})
        Discretizer(cuts={'x': (1.0, 2.5)})
        """
        if not isinstance(content, Mapping) or not isinstance(content.get("cuts"), Mapping):
            raise InputError('A discretizer is stored as {"cuts": {column: [cut, ...]}}; this is something else.')
        return cls(content["cuts"])


def discretize(
    data: Any,
    *,
    columns: Sequence[str] | None = None,
    bins: int | Mapping[str, int] = 2,
    method: Literal["quantile", "uniform", "kmeans"] = "quantile",
    na_values: Collection[str] = DEFAULT_NA_VALUES,
    sep: str | None = None,
) -> tuple[pd.DataFrame, Discretizer]:
    """Cut numeric columns into bins.

    Parameters
    ----------
    data : DataFrame, path, or anything that :func:`as_table` reads
        In text files a column counts as numeric if all its cells, apart from missing ones, are numbers.
    columns : sequence of str, optional
        The columns to cut. By default those with numbers that are not whole, and those with more than 20
        different whole numbers, unless each row has another one, as in an identifier.
    bins : int or mapping from str to int, default 2
        The number of bins, of all columns or of each; columns that a mapping leaves out get 2.
    method : {"quantile", "uniform", "kmeans"}, default "quantile"
        Bins of equal frequency (2 bins are cut at the median), of equal width, or around the means of
        clusters (:class:`sklearn.preprocessing.KBinsDiscretizer`, started from bins of equal width).
    na_values, sep
        As for :func:`as_table`.

    Returns
    -------
    frame : pandas.DataFrame
        The cut columns as ordered categoricals, the others as they are. Missing cells stay missing.
    discretizer : Discretizer
        The cut points, which do the same to other data.

    Warns
    -----
    DataWarning
        If a column has fewer bins than asked for, because of ties; or if a column is constant, and for that
        reason left as it is; or if a column is not cut because a few of its cells are no
        numbers, or because it looks like an identifier.

    Raises
    ------
    InputError
        If a column is not there, is not numeric, has infinite numbers, has no cell that is not missing, is
        constant although named in ``columns``, or cannot be cut at all because of ties.

    Examples
    --------
    >>> from cslearn.data import discretize
    >>> frame, cutter = discretize({"dose": [0.5, 1.5, 2.5, 3.5], "kind": ["a", "b", "a", "b"]})
    >>> frame["dose"].tolist()
    ['<2', '<2', '>=2', '>=2']
    >>> cutter.cuts
    {'dose': (2.0,)}
    """
    if method not in ("quantile", "uniform", "kmeans"):
        raise InputError(f'method must be "quantile", "uniform" or "kmeans", not {method!r}.')
    if isinstance(columns, str):
        raise InputError(f"columns must be a sequence of names, not a single string: pass [{columns!r}].")
    frame = read_frame(data, na_values=na_values, sep=sep)
    chosen = _measurements(frame) if columns is None else [str(name) for name in columns]
    _check_columns(chosen, frame)
    asked = _check_bins(bins, chosen, frame)
    cuts: dict[str, tuple[float, ...]] = {}
    uncut: list[str] = []
    for name in chosen:
        values = _finite_numbers(frame, name)
        if values.min() == values.max():
            if columns is not None:
                raise InputError(f"Column {name!r} is constant and cannot be cut. Leave it out of columns.")
            warnings.warn(f"Column {name!r} is constant; it is left as it is.", DataWarning, stacklevel=2)
            continue
        cuts[name] = _cut_points(values, asked[name], method)
        if not cuts[name]:
            uncut.append(name)
        elif len(cuts[name]) + 1 < asked[name]:
            warnings.warn(
                f"Column {name!r} has {len(cuts[name]) + 1} bins instead of {asked[name]}, because of ties.",
                DataWarning,
                stacklevel=2,
            )
    if uncut:
        raise InputError(
            f"So many values are equal to the smallest one that quantiles do not cut {listing(uncut)}. Use "
            "more bins, "
            'method="uniform" or method="kmeans", or give cut points of your own to Discretizer.'
        )
    discretizer = Discretizer(cuts)
    return discretizer.transform(frame), discretizer


def _check_cuts(name: object, cuts: Sequence[float]) -> tuple[float, ...]:
    try:
        numbers = tuple(float(cut) for cut in cuts)
    except (TypeError, ValueError):
        raise InputError(f"The cuts of {name!r} must be a sequence of numbers, not {cuts!r}.") from None
    ascending = all(low < high for low, high in itertools.pairwise(numbers))
    if not numbers or not ascending or not all(map(math.isfinite, numbers)):
        raise InputError(f"The cuts of {name!r} must be at least one finite number, and ascending; not {cuts!r}.")
    return numbers


def _check_columns(names: Sequence[str] | Mapping[str, Any], frame: pd.DataFrame) -> None:
    unknown = [name for name in names if name not in frame.columns]
    if unknown:
        raise InputError(f"There is no column {listing(unknown)}. The columns are {listing(frame.columns)}.")
    if len(set(names)) < len(names):
        raise InputError(f"columns names a column more than once: {listing(names)}.")


def _check_bins(bins: int | Mapping[str, int], chosen: Sequence[str], frame: pd.DataFrame) -> dict[str, int]:
    if isinstance(bins, Mapping):
        _check_columns(bins, frame)
        idle = [name for name in bins if name not in chosen]
        if idle:
            raise InputError(f"bins names {listing(idle)}, which would not be cut. Name them in columns as well.")
        asked = {name: bins.get(name, 2) for name in chosen}
    else:
        asked = dict.fromkeys(chosen, bins)
        # Checked even if there is nothing to cut.
        asked.setdefault("", bins)
    for number in asked.values():
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 2:
            raise InputError(f"bins must be an integer of 2 or more, not {number!r}.")
    return asked


def _measurements(frame: pd.DataFrame) -> list[str]:
    """Give the columns that are cut unless the user names some."""
    import pandas as pd

    names, identifiers = [], []
    for name in frame.columns:
        series = frame[name]
        _warn_of_stray_cells(series)
        if not pd.api.types.is_numeric_dtype(series.dtype) or pd.api.types.is_bool_dtype(series.dtype):
            continue
        values = numbers_of(series)
        values = values[~np.isnan(values)]
        whole, distinct = bool((values == np.round(values)).all()), len(np.unique(values))
        if whole and _FEW_VALUES < distinct == len(values):
            identifiers.append(name)
        elif not whole or distinct > _FEW_VALUES:
            names.append(name)
    if identifiers:
        one = len(identifiers) == 1
        warnings.warn(
            f"{'Column' if one else 'Columns'} {listing(identifiers)} {'has' if one else 'have'} another whole number "
            f"in each row, as an identifier has, and {'is' if one else 'are'} not cut. Name "
            f"{'it' if one else 'them'} in columns= if {'it is a measurement' if one else 'they are measurements'}.",
            DataWarning,
            stacklevel=3,
        )
    return names


def _warn_of_stray_cells(series: pd.Series[Any]) -> None:
    """Name the cells that keep a column from being numeric, if they are few."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(series.dtype) or isinstance(series.dtype, pd.CategoricalDtype):
        return
    labels = [label for label in series.dropna().unique() if isinstance(label, str | int | float)]
    stray = not_numbers(labels)
    if stray:
        warnings.warn(
            f"Column {series.name!r} is not cut: it has {len(labels):,} different values, all of them numbers but for "
            f"{listing(stray)}. If {'that cell is' if len(stray) == 1 else 'those cells are'} missing, say so by "
            "na_values=.",
            DataWarning,
            stacklevel=4,
        )


def _finite_numbers(frame: pd.DataFrame, name: str) -> NDArray[np.float64]:
    values = numbers_of(frame[name])
    infinite = np.flatnonzero(np.isinf(values))
    if len(infinite):
        raise InputError(
            f"Column {name!r}, row {infinite[0] + 1}: {values[infinite[0]]} is not a finite number. Replace "
            "it, or mark it as missing."
        )
    values = values[~np.isnan(values)]
    if not len(values):
        raise InputError(f"Column {name!r} has no cell that is not missing, so it cannot be cut. Leave it out.")
    return values


def _cut_points(values: NDArray[np.float64], bins: int, method: str) -> tuple[float, ...]:
    """Give ascending cuts, none of which leaves the lowest bin empty."""
    if method == "quantile":
        # Linear interpolation with whole-number positions: np.quantile can miss a value by a rounding error,
        # which puts that value into the bin below.
        ordered = np.sort(values)
        position, rest = np.divmod(np.arange(1, bins) * (len(ordered) - 1), bins)
        cuts = ordered[position] + (ordered[position + 1] - ordered[position]) * rest / bins
        # Cuts with equally many values below them part the data in the same way; the first of them is enough.
        _, first = np.unique(np.searchsorted(ordered, cuts, side="left"), return_index=True)
        cuts = cuts[first]
        cuts = cuts[cuts > values.min()]
    elif method == "uniform":
        cuts = np.linspace(values.min(), values.max(), bins + 1)[1:-1]
    else:
        cuts = _kmeans_cuts(values, bins)
    return tuple(float(cut) for cut in np.unique(cuts))


def _kmeans_cuts(values: NDArray[np.float64], bins: int) -> NDArray[np.float64]:
    from sklearn.preprocessing import KBinsDiscretizer

    # More clusters than values cannot be found. On the unit interval the bins do not depend on the scale:
    # sklearn drops bins narrower than a fixed 1e-8.
    bins = min(bins, len(np.unique(values)))
    low, width = values.min(), np.ptp(values)
    binner = KBinsDiscretizer(n_bins=bins, encode="ordinal", strategy="kmeans", subsample=None, random_state=0)
    with warnings.catch_warnings():
        # About bins that were dropped; discretize gives its own warning, with the name of the column.
        warnings.simplefilter("ignore")
        binner.fit(((values - low) / width).reshape(-1, 1))
    edges: NDArray[np.float64] = binner.bin_edges_[0]
    cuts: NDArray[np.float64] = low + width * edges[1:-1]
    return cuts


def _bin_labels(cuts: Sequence[float]) -> list[str]:
    """Name the bins, with 4 significant digits or as many as it takes to tell the cuts apart."""
    texts = [repr(cut) for cut in cuts]
    for digits in range(4, 17):
        rounded = [_format(cut, digits) for cut in cuts]
        if len(set(rounded)) == len(cuts):
            texts = rounded
            break
    inner = [f"[{low}, {high})" for low, high in itertools.pairwise(texts)]
    return [f"<{texts[0]}", *inner, f">={texts[-1]}"]


def _format(number: float, digits: int) -> str:
    # All digits before the point are written out, up to where a float has no more of them.
    if 10**digits <= abs(number) < 1e15:
        return f"{number:.0f}"
    return f"{number:.{digits}g}"
