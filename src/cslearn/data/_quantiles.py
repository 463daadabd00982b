"""Cut points of columns that are read in batches, from quantiles in bounded memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn._warnings import warn
from cslearn._wording import keyword
from cslearn.data._batches import open_stream
from cslearn.data._labels import listing
from cslearn.data._passes import numbers_in
from cslearn.errors import DataWarning, InputError

__all__ = ["Quantiles", "quantile_cuts", "stream_numbers"]

_SIZE = 1 << 14
_FEW_VALUES = 20  # as in discretize


class Quantiles:
    """The quantiles of numbers that come in batches.

    Numbers are kept as they are until there are `size` of them. Then they are sorted, every second one is kept, and
    stands for two; so are those that stand for two, four and so on. Of n numbers the rank of an answer is off by at
    most ``n log2(n / size) / size``, and usually by much less, as those that are kept alternate.

    Examples
    --------
    >>> import numpy as np
    >>> from cslearn.data._quantiles import Quantiles
    >>> quantiles = Quantiles()
    >>> quantiles.add(np.array([3.0, 1.0, 2.0]))
    >>> quantiles.cuts(2)
    (2.0,)
    """

    def __init__(self, size: int = _SIZE) -> None:
        self.n, self.least, self.largest = 0, np.inf, -np.inf
        self._size = size
        self._levels: list[NDArray[np.float64]] = [np.empty(0)]
        self._odd: list[bool] = [False]

    def add(self, values: NDArray[np.float64]) -> None:
        """Take numbers, none of them NaN."""
        if not len(values):
            return
        self.n += len(values)
        self.least, self.largest = min(self.least, values.min()), max(self.largest, values.max())
        level = 0
        while True:
            self._levels[level] = np.concatenate([self._levels[level], values])
            if len(self._levels[level]) <= self._size:
                return
            ordered = np.sort(self._levels[level])
            even = len(ordered) // 2 * 2
            values = ordered[int(self._odd[level]) : even : 2]
            self._levels[level], self._odd[level] = ordered[even:], not self._odd[level]
            level += 1
            if level == len(self._levels):
                self._levels.append(np.empty(0))
                self._odd.append(False)

    @property
    def kept(self) -> NDArray[np.float64]:
        """The numbers that stand for all of them: all, unless there are many."""
        return np.concatenate(self._levels)

    def cuts(self, bins: int) -> tuple[float, ...]:
        """Return the cuts that make bins of equal frequency, as :func:`cslearn.data.discretize` does."""
        values = self.kept
        weights = np.repeat(2 ** np.arange(len(self._levels)), [len(level) for level in self._levels])
        order = np.argsort(values, kind="stable")
        return quantile_cuts(values[order], np.cumsum(weights[order]), bins)


def quantile_cuts(ordered: NDArray[np.float64], ranks: NDArray[Any], bins: int) -> tuple[float, ...]:
    """Give ascending cuts at quantiles, none of which leaves the lowest bin empty.

    `ranks` are how many numbers there are up to each of those that are given, in their order.
    """
    # Linear interpolation with whole-number positions: np.quantile can miss a value by a rounding error, which puts
    # that value into the bin below.
    position, rest = np.divmod(np.arange(1, bins) * (ranks[-1] - 1), bins)
    last = len(ordered) - 1
    low, high = (ordered[np.minimum(np.searchsorted(ranks, at, side="right"), last)] for at in (position, position + 1))
    cuts = low + (high - low) * rest / bins
    # Cuts with equally many values below them part the data in the same way; the first of them is enough.
    _, first = np.unique(np.searchsorted(ordered, cuts, side="left"), return_index=True)
    cuts = cuts[first]
    return tuple(float(cut) for cut in np.unique(cuts[cuts > ordered[0]]))


def stream_numbers(
    source: Any, columns: Sequence[str] | None, na_values: Collection[str], sep: str | None
) -> Mapping[str, Quantiles] | None:
    """Pass over a source once for the quantiles of columns, or of those that look like measurements.

    Gives None if the source does not come in batches.
    """
    stream = open_stream(source, sep=sep)
    if stream is None:
        return None
    if columns is not None:
        unknown = [name for name in columns if name not in stream.names]
        if unknown:
            raise InputError(f"There is no column {listing(unknown)}. The columns are {listing(stream.names)}.")
    asked = list(stream.names if columns is None else columns)
    found = {name: _Numbers(Quantiles()) for name in asked}
    for batch in stream.read(asked):
        for name in [name for name in asked if name in found]:
            try:
                values = numbers_in(name, batch.column(name), na_values if stream.text else None)
            except InputError:
                if columns is not None:
                    raise
                del found[name]  # texts are no measurements
                continue
            found[name].add(name, values)
    if columns is not None:
        return {name: numbers.quantiles for name, numbers in found.items()}
    identifiers = [name for name, numbers in found.items() if numbers.looks_like_an_identifier]
    if identifiers:
        warn(
            f"Not cut are {listing(identifiers)}, in which no number occurs twice in a batch, as in an identifier. "
            f"Name them by {keyword('columns')} if they are measurements.",
            DataWarning,
        )
    chosen = [name for name, numbers in found.items() if numbers.is_measurement and name not in identifiers]
    return {name: found[name].quantiles for name in chosen}


class _Numbers:
    """What is found out about a column on the way."""

    def __init__(self, quantiles: Quantiles) -> None:
        self.quantiles = quantiles
        self._whole, self._unique = True, True
        self._values: set[float] = set()

    def add(self, name: str, values: NDArray[np.float64]) -> None:
        before = self.quantiles.n
        values = values[~np.isnan(values)]
        if np.isinf(values).any():
            raise InputError(
                f"Column {name!r}, one of the rows after {before:,}: a number is not finite. Replace it, or mark it as"
                " missing."
            )
        self._whole &= bool((values == np.round(values)).all())
        if self._unique or len(self._values) <= _FEW_VALUES:
            distinct = np.unique(values)
            self._unique &= len(distinct) == len(values)
            self._values.update(distinct[: _FEW_VALUES + 1].tolist())
        self.quantiles.add(values)

    @property
    def looks_like_an_identifier(self) -> bool:
        return self._whole and self._unique and self.quantiles.n > _FEW_VALUES

    @property
    def is_measurement(self) -> bool:
        return self.quantiles.n > 0 and (not self._whole or len(self._values) > _FEW_VALUES)
