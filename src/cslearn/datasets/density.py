"""The twenty binary data sets on which density estimators are compared, with their standard splits."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from cslearn._checked import checked
from cslearn.datasets.sources import Source, fetch_from, text_of
from cslearn.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Splits", "density_names", "load_density"]

_ORIGIN = "https://raw.githubusercontent.com/UCLA-StarAI/Density-Estimation-Datasets/master/datasets/"


class Splits(NamedTuple):
    """The rows of a data set, split into those to learn from, those to choose settings by, and those to judge by."""

    train: pd.DataFrame
    valid: pd.DataFrame
    test: pd.DataFrame


def density_names() -> list[str]:
    """Return the names that :func:`load_density` knows, those with the fewest variables first.

    Examples
    --------
    >>> from cslearn.datasets import density_names
    >>> density_names()[:4]
    ['nltcs', 'msnbc', 'kdd', 'plants']
    """
    return list(_listed())


@checked
def load_density(name: str) -> Splits:
    """Return a binary data set with its standard splits (Lowd and Davis, 2010; Van Haaren and Davis, 2012).

    The files ``density/NAME.train.data.gz`` and so on are read from the directory that ``CSLEARN_DATA``
    names, or else fetched. All are compared with the published numbers of rows and columns, and ten of the twenty sets
    with checksums too; those of the others are not known yet.

    Parameters
    ----------
    name : str
        One of :func:`density_names`.

    Returns
    -------
    Splits
        ``train``, ``valid`` and ``test``, frames of 0 and 1 with columns ``X1``, ``X2``, and so on.

    Examples
    --------
    >>> from cslearn.datasets import load_density
    >>> load_density("nltcs").train.shape  # doctest: +SKIP
    (16181, 16)
    """
    if name not in _listed():
        raise InputError(f"there is no density data set {name!r}; there are {', '.join(density_names())}")
    return Splits(*(_split(name, split) for split in Splits._fields))


@cache
def _listed() -> Mapping[str, Mapping[str, str]]:
    """Return what is known of each set: its number of variables and, for each split, of rows, and checksums."""
    text = files("cslearn.datasets").joinpath("density.csv").read_text(encoding="utf-8")
    return {row["set"]: row for row in csv.DictReader(text.splitlines())}


def _split(name: str, split: str) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    listed = _listed()[name]
    rows, columns = int(listed[split]), int(listed["variables"])
    file = f"{name}.{split}.data"
    source = Source(
        f"density/{file}.gz",
        (f"{_ORIGIN}{name}/{file}",),
        listed[f"sha256_{split}"],
        lambda content: _binary_lines(text_of(content), rows, columns),
        tabular=False,
    )
    # Cells and separators alternate.
    cells = np.frombuffer(fetch_from(source, file).encode(), dtype=np.uint8)[::2]
    return pd.DataFrame((cells - ord("0")).reshape(rows, columns), columns=[f"X{j}" for j in range(1, columns + 1)])


def _binary_lines(text: str, rows: int, columns: int) -> str:
    """Return the text with a line feed after every line, if it has so many rows of so many cells 0 or 1."""
    lines = text.splitlines()
    if len(lines) != rows:
        raise ValueError(f"it has {len(lines):,} rows where {rows:,} are expected")
    line = re.compile(rf"[01](?:,[01]){{{columns - 1}}}")
    for number, row in enumerate(lines, 1):
        if line.fullmatch(row) is None:
            raise ValueError(f"row {number} is not {columns} times 0 or 1 with commas between")
    return "\n".join(lines) + "\n"
