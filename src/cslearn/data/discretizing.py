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

from cslearn._checked import checked
from cslearn._warnings import warn
from cslearn._wording import keyword, option, wording
from cslearn.data._checks import MOST_NUMBERS
from cslearn.data._frames import numbers_of, read_frame
from cslearn.data._labels import listing, not_numbers
from cslearn.data._markers import DEFAULT_NA_VALUES
from cslearn.data._quantiles import quantile_cuts, stream_numbers
from cslearn.errors import DataWarning, InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Discretizer", "discretize"]

# Whole numbers with no more distinct values than this are taken to be categories.
_FEW_VALUES = MOST_NUMBERS
_EXACT_DIGITS = 12


@checked
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
        frame = read_frame(data, na_values=na_values, sep=sep)
        _check_columns(self.cuts, frame.columns)
        for name in self.cuts:
            frame[name] = self.cut(name, numbers_of(frame[name]))
        return frame

    def cut(self, name: str, values: NDArray[np.float64]) -> pd.Categorical[str]:
        """Put the numbers of one column into their bins.

        Parameters
        ----------
        name : str
            The column, one of ``cuts``.
        values : array of float
            Its numbers, NaN for missing cells.

        Returns
        -------
        pandas.Categorical
            Ordered, with every bin as a category.

        Examples
        --------
        >>> import numpy as np
        >>> from cslearn.data import Discretizer
        >>> Discretizer({"x": (1.0,)}).cut("x", np.array([0.5, np.nan, 1.0])).tolist()
        ['<1', nan, '>=1']
        """
        import pandas as pd

        if name not in self.cuts:
            raise InputError(f"there are no cut points of {name!r}; there are those of {', '.join(self.cuts)}")
        cuts = self.cuts[name]
        # side="right" puts a value that equals a cut above it.
        codes = np.where(np.isnan(values), -1, np.searchsorted(cuts, values, side="right"))
        return pd.Categorical.from_codes(codes, categories=pd.Index(_bin_labels(cuts)), ordered=True)

    @classmethod
    def learn(
        cls,
        source: Any,
        *,
        columns: Sequence[str] | None = None,
        bins: int | Mapping[str, int] = 2,
        method: Literal["quantile", "uniform"] = "quantile",
        na_values: Collection[str] = DEFAULT_NA_VALUES,
        sep: str | None = None,
    ) -> Discretizer:
        """Find cut points in one pass over data of any size.

        Parameters
        ----------
        source : path, relation, frame, reader or iterator
            Whatever :func:`cslearn.pack` reads.
        columns, bins, na_values, sep
            As for :func:`discretize`; without `columns`, an identifier is a column of whole numbers in which none
            occurs twice in a batch.
        method : {"quantile", "uniform"}, default "quantile"
            Bins of equal frequency or of equal width. Quantiles are exact up to 16,384 rows. Beyond, the frequencies of
            the bins are off by less than 0.1 percent of the rows, up to a billion of them.

        Returns
        -------
        Discretizer
            To be given to :func:`cslearn.pack`.

        Examples
        --------
        >>> import cslearn
        >>> import pandas as pd
        >>> from cslearn.data import Discretizer
        >>> batches = (pd.DataFrame({"dose": doses, "ill": ["n", "y"]}) for doses in ([0.5, 1], [2, 3]))
        >>> cutter = Discretizer.learn(batches)
        >>> cutter
        Discretizer(cuts={'dose': (1.5,)})
        """
        if method not in ("quantile", "uniform"):
            raise InputError(f'method must be "quantile" or "uniform" where data are read in batches, not {method!r}.')
        numbers = stream_numbers(source, _names(columns), na_values, sep)
        if numbers is None:
            return discretize(source, columns=columns, bins=bins, method=method, na_values=na_values, sep=sep)[1]
        asked = _check_bins(bins, list(numbers), list(numbers))
        cuts = {}
        for name, found in numbers.items():
            if not found.n:
                raise InputError(f"Column {name!r} has no cell that is not missing, so it cannot be cut. Leave it out.")
            ends = np.array([found.least, found.largest])
            exact = found.cuts(asked[name]) if method == "quantile" else _cut_points(ends, asked[name], method)
            cuts[name] = _rounded(exact, found.kept)
            _check_found(name, cuts[name], asked[name])
        return cls(cuts)

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


@checked
def discretize(
    data: Any,
    *,
    columns: Sequence[str] | None = None,
    bins: int | Mapping[str, int] = 2,
    cuts: Mapping[str, Sequence[float]] | None = None,
    method: Literal["quantile", "uniform", "kmeans"] = "quantile",
    leave_out: Collection[str] = (),
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
        different whole numbers, unless these differ in every row, as those of an identifier do.
    bins : int or mapping from str to int, default 2
        The number of bins, of all columns or of each; columns that a mapping leaves out get 2.
    cuts : mapping from str to sequence of float, optional
        Cut points of your own for some columns, as for :class:`Discretizer`. The other columns are cut as without it.
    method : {"quantile", "uniform", "kmeans"}, default "quantile"
        Bins of equal frequency (2 bins are cut at the median), of equal width, or around the means of
        clusters (:class:`sklearn.preprocessing.KBinsDiscretizer`, started from bins of equal width).
    leave_out : collection of str
        Columns that the result does not have, such as identifiers.
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
    named = _names(columns)
    frame = read_frame(data, na_values=na_values, sep=sep)
    unwanted = [leave_out] if isinstance(leave_out, str) else list(leave_out)
    _check_columns(unwanted, frame.columns)
    frame = frame.drop(columns=unwanted)
    given = {str(name): _check_cuts(name, points) for name, points in (cuts or {}).items()}
    _check_columns(given, frame.columns)
    rest = frame.drop(columns=list(given))
    chosen = _measurements(rest) if named is None else [name for name in named if name not in given]
    _check_columns(chosen, frame.columns)
    asked = _check_bins(bins, chosen, frame.columns)
    found: dict[str, tuple[float, ...]] = {}
    uncut: list[str] = []
    for name in chosen:
        values = _finite_numbers(frame, name)
        if values.min() == values.max():
            if columns is not None:
                raise InputError(f"Column {name!r} is constant and cannot be cut. Leave it out of {option('columns')}.")
            warn(f"Column {name!r} is constant; it is left as it is.", DataWarning)
            continue
        found[name] = _rounded(_cut_points(values, asked[name], method), values)
        if found[name]:
            _check_found(name, found[name], asked[name])
        else:
            uncut.append(name)
    if uncut:
        raise _cannot_be_cut(uncut)
    every = {**found, **given}
    discretizer = Discretizer({name: every[name] for name in frame.columns if name in every})
    return discretizer.transform(frame), discretizer


def _names(columns: Sequence[str] | None) -> list[str] | None:
    if isinstance(columns, str):
        raise InputError(f"columns must be a sequence of names, not a single string: pass [{columns!r}].")
    return None if columns is None else [str(name) for name in columns]


def _check_found(name: str, cuts: Sequence[float], bins: int) -> None:
    """Tell of ties that leave fewer bins than asked for, or refuse them if they leave none."""
    if not cuts:
        raise _cannot_be_cut([name])
    if len(cuts) + 1 < bins:
        warn(f"Column {name!r} has {len(cuts) + 1} bins instead of {bins}, because of ties.", DataWarning)


def _cannot_be_cut(names: Sequence[str]) -> InputError:
    own = wording("cuts=", "--cut COLUMN=POINTS")
    return InputError(
        f"So many values equal the smallest one that quantiles do not cut {listing(names)}. Use more bins "
        f"({keyword('bins')}), {option('method', 'uniform')} or {option('method', 'kmeans')}, or give your own cut "
        f"points ({own}). A column that identifies rows or families should be left out ({keyword('leave_out')})."
    )


def _check_cuts(name: object, cuts: Sequence[float]) -> tuple[float, ...]:
    try:
        numbers = tuple(float(cut) for cut in cuts)
    except (TypeError, ValueError):
        raise InputError(f"The cuts of {name!r} must be a sequence of numbers, not {cuts!r}.") from None
    ascending = all(low < high for low, high in itertools.pairwise(numbers))
    if not numbers or not ascending or not all(map(math.isfinite, numbers)):
        raise InputError(f"The cuts of {name!r} must be at least one finite number, and ascending; not {cuts!r}.")
    return numbers


def _check_columns(names: Collection[str], columns: Collection[Any]) -> None:
    unknown = [name for name in names if name not in columns]
    if unknown:
        raise InputError(f"There is no column {listing(unknown)}. The columns are {listing(columns)}.")
    if len(set(names)) < len(names):
        raise InputError(f"columns names a column more than once: {listing(names)}.")


def _check_bins(bins: int | Mapping[str, int], chosen: Sequence[str], columns: Collection[Any]) -> dict[str, int]:
    if isinstance(bins, Mapping):
        _check_columns(bins, columns)
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
        warn(
            f"{'Column' if one else 'Columns'} {listing(identifiers)} {'has' if one else 'have'} a different whole "
            f"number in every row, like an identifier, and {'is' if one else 'are'} not cut. If "
            f"{'it is a measurement, name it' if one else 'they are measurements, name them'} with "
            f"{keyword('columns')}.",
            DataWarning,
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
        warn(
            f"Column {series.name!r} is not cut: it has {len(labels):,} different values, all of them numbers but for "
            f"{listing(stray)}. If {'that cell is' if len(stray) == 1 else 'those cells are'} missing, say so with "
            f"{keyword('na_values')}.",
            DataWarning,
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
        return quantile_cuts(np.sort(values), np.arange(1, len(values) + 1), bins)
    if method == "uniform":
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


def _rounded(cuts: tuple[float, ...], values: NDArray[np.float64]) -> tuple[float, ...]:
    """Round cut points to the digits that their labels show, or to more if values would change their bin otherwise.

    One value in a thousand may, so that large tables have short labels; a value that many rows share does not.
    So a label says exactly what is in the bin, and a number can be put into it later by the label alone.
    """
    ordered = np.sort(values)
    for digits in range(4, _EXACT_DIGITS + 1):
        rounded = tuple(float(_format(cut, digits)) for cut in cuts)
        moved = np.abs(np.searchsorted(ordered, rounded) - np.searchsorted(ordered, cuts))
        if (moved <= len(ordered) // 1000).all() and len(set(rounded)) == len(cuts):
            return rounded
    return cuts


def _bin_labels(cuts: Sequence[float]) -> list[str]:
    """Name the bins by the cuts, with 4 significant digits or as many as it takes to write them exactly.

    Cuts with very many digits, which :func:`discretize` does not make, are rounded as far as they can be told apart.
    """
    exact = ([_format(cut, digits) for cut in cuts] for digits in range(4, _EXACT_DIGITS + 1))
    apart = ([_format(cut, digits) for cut in cuts] for digits in range(4, 17))
    texts = next(
        (texts for texts in exact if [float(text) for text in texts] == list(cuts)),
        next((texts for texts in apart if len(set(texts)) == len(cuts)), [repr(cut) for cut in cuts]),
    )
    inner = [f"[{low}, {high})" for low, high in itertools.pairwise(texts)]
    return [f"<{texts[0]}", *inner, f">={texts[-1]}"]


def _format(number: float, digits: int) -> str:
    # All digits before the point are written out, up to where a float has no more of them.
    if 10**digits <= abs(number) < 1e15:
        return f"{number:.0f}"
    return f"{number:.{digits}g}"
