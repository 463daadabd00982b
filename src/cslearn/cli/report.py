"""The command that writes a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cslearn.cli.app import Format, GapsOption, ModelFile, NaValues, Separator, Weights, app
from cslearn.errors import InputError

__all__ = ["report"]


@app.command()
def report(
    model: ModelFile,
    data: Annotated[
        Path | None,
        typer.Argument(metavar="DATA", help="A table, for counts and the evidence for the relations."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write the report.", show_default="report.html"),
    ] = None,
    title: Annotated[str | None, typer.Option("--title", help="Title of the report.")] = None,
    missing: GapsOption = None,
    weights: Weights = None,
    na_values: NaValues = None,
    sep: Separator = None,
    table_format: Format = None,
) -> None:
    """Write a report of a model: one HTML file to open in a browser, no network needed."""
    from cslearn import CStree
    from cslearn.cli.tables import read_for_model
    from cslearn.report import write_report

    tree = CStree.load(model)
    table = None
    if data is not None:
        table, _ = read_for_model(tree, data, missing, weights, na_values, sep, table_format)
    if output is None:
        output = Path("report.html")
        if output.exists():
            raise InputError("there is a report.html here already: name the file to write with -o")
    write_report(tree, output, table, title=title)
    size = output.stat().st_size / 2**20
    print(f"Report written to {output} ({size:.1f} MB). Open it in a browser.")
