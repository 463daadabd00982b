"""The command that cuts measurements into bins."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from cslearn._files import atomic_write
from cslearn.cli.app import DataFile, LeaveOut, NaValues, Separator, app, columns_of
from cslearn.cli.paths import check_outputs, write_output
from cslearn.cli.streams import tell
from cslearn.errors import FileError, InputError

__all__ = ["discretize", "read_cuts"]


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
        int | None, typer.Option("--bins", min=2, help="Bins per column.", show_default="2, cut at the median")
    ] = None,
    method: Annotated[
        Method | None,
        typer.Option(
            "--method", help="Bins with equally many rows, of equal width, or clusters.", show_default="quantile"
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="COLUMN",
            help="A column to cut; may be repeated.",
            show_default="those with fractions or more than 20 numbers",
        ),
    ] = None,
    cut_points: Annotated[
        list[str] | None,
        typer.Option("--cut", metavar="COLUMN=POINTS", help="Your own cut points, such as age=20,35; may be repeated."),
    ] = None,
    cuts: Annotated[
        Path | None,
        typer.Option("--cuts", metavar="FILE", help="JSON file of cut points: read if it exists, otherwise written."),
    ] = None,
    leave_out: LeaveOut = None,
    na_values: NaValues = None,
    sep: Separator = None,
) -> None:
    """Cut columns of measurements into bins, so that a model can be learned."""
    from cslearn.data import DEFAULT_NA_VALUES, Discretizer, only_in_batches
    from cslearn.data import discretize as cut

    check_outputs({"-o": output, "--cuts": cuts}, [data])
    markers, unwanted = na_values or DEFAULT_NA_VALUES, columns_of(leave_out) or ()
    if only_in_batches(data):
        if unwanted:
            raise InputError("--leave-out is not for several files: name the columns to cut with --column")
        if cuts is None or os.path.exists(cuts) or output is not None:
            raise InputError(f"several files, {data}, yield only cut points: give --cuts a new file, and no -o")
        learned = Discretizer.learn(
            data,
            columns=column or None,
            bins=bins or 2,
            method=(method or Method.quantile).value,  # type: ignore[arg-type]  # checked there
            na_values=markers,
            sep=sep,
        )
        atomic_write(cuts, json.dumps(learned.to_dict(), indent=2) + "\n")
        for name, points in learned.cuts.items():
            tell(f"{name}: {', '.join(f'{point:g}' for point in points)}")
        tell(f"Cut points written to {cuts}.")
        return
    if cuts is not None and os.path.exists(cuts):
        if bins is not None or method is not None or column or cut_points:
            raise InputError(f"the cut points are read from {cuts}: leave --bins, --method, --column and --cut out")
        discretizer = Discretizer.from_dict(read_cuts(cuts))
        frame = discretizer.transform(data, na_values=markers, sep=sep).drop(columns=list(unwanted))
    else:
        frame, discretizer = cut(
            data,
            columns=column or None,
            cuts=_cuts(cut_points or ()),
            bins=bins or 2,
            method=(method or Method.quantile).value,
            leave_out=unwanted,
            na_values=markers,
            sep=sep,
        )
        if cuts is not None:
            atomic_write(cuts, json.dumps(discretizer.to_dict(), indent=2) + "\n")
    write_output(frame.to_csv(index=False), output)
    if output is None:
        return
    for name in discretizer.cuts:
        counts = frame[name].value_counts(sort=False)
        tell(f"{name}: " + ", ".join(f"{label} ({count:,} rows)" for label, count in counts.items()))
    nothing = "Nothing to cut: no column has fractional numbers, or more than 20 different whole numbers. "
    tell(f"{'' if discretizer.cuts else nothing}Table written to {output}.")


def _cuts(texts: Sequence[str]) -> dict[str, list[float]]:
    found = {}
    for text in texts:
        name, _, points = text.rpartition("=")
        try:
            found[name] = [float(point) for point in points.split(",")]
        except ValueError:
            raise InputError(f"--cut {text}: write column=20,35") from None
        if not name:
            raise InputError(f"--cut {text}: write column=20,35")
    return found


def read_cuts(path: Path) -> Any:
    """Read what a file of cut points holds."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileError(f"{path} is no JSON file of cut points: {error}") from None
