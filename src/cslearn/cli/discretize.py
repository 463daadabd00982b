"""The command that cuts measurements into bins."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from cslearn._files import atomic_write
from cslearn.cli.app import DataFile, NaValues, Separator, app
from cslearn.errors import FileError, InputError

__all__ = ["discretize"]


class Method(StrEnum):
    """How bins are chosen."""

    quantile = "quantile"
    uniform = "uniform"
    kmeans = "kmeans"


@app.command()
def discretize(
    data: DataFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="CSV file.", show_default="the terminal"),
    ] = None,
    bins: Annotated[
        int | None, typer.Option("--bins", min=2, help="Bins of each column.", show_default="2, cut at the median")
    ] = None,
    method: Annotated[
        Method | None,
        typer.Option("--method", help="Equally many rows, equal width, or clusters.", show_default="quantile"),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="COLUMN",
            help="A column to cut; may be repeated.",
            show_default="those with fractions or many numbers",
        ),
    ] = None,
    cuts: Annotated[
        Path | None,
        typer.Option("--cuts", metavar="FILE", help="JSON file of cut points: used if it is there, otherwise written."),
    ] = None,
    na_values: NaValues = None,
    sep: Separator = None,
) -> None:
    """Cut columns of measurements into bins, so that a model can be learned."""
    from cslearn.data import DEFAULT_NA_VALUES, Discretizer
    from cslearn.data import discretize as cut

    markers = na_values or DEFAULT_NA_VALUES
    if cuts is not None and cuts.exists():
        if bins is not None or method is not None or column:
            raise InputError(f"the cut points are read from {cuts}: leave --bins, --method and --column out")
        discretizer = Discretizer.from_dict(_read(cuts))
        frame = discretizer.transform(data, na_values=markers, sep=sep)
    else:
        frame, discretizer = cut(
            data,
            columns=column or None,
            bins=bins or 2,
            method=(method or Method.quantile).value,
            na_values=markers,
            sep=sep,
        )
        if cuts is not None:
            atomic_write(cuts, json.dumps(discretizer.to_dict(), indent=2) + "\n")
    text = frame.to_csv(index=False)
    if output is None:
        print(text, end="")
        return
    atomic_write(output, text)
    for name in discretizer.cuts:
        counts = frame[name].value_counts(sort=False)
        print(f"{name}: " + ", ".join(f"{label} ({count:,} rows)" for label, count in counts.items()))
    nothing = "Nothing to cut: no column has numbers with fractions, or more than 20 different whole numbers. "
    print(f"{'' if discretizer.cuts else nothing}Table written to {output}.")


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileError(f"{path} is no JSON file of cut points: {error}") from None
