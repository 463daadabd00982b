"""The command that writes a report."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from cslearn.cli.app import Format, GapsOption, ModelFile, NaValues, Separator, Weights, app
from cslearn.cli.paths import check_outputs
from cslearn.cli.streams import tell
from cslearn.errors import InputError

__all__ = ["report"]


@app.command()
def report(
    model: ModelFile,
    data: Annotated[
        Path | None,
        typer.Argument(metavar="DATA", help="A table, for counts and for the evidence behind relations."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write the report.", show_default="report.html"),
    ] = None,
    title: Annotated[str | None, typer.Option("--title", help="Title of the report.")] = None,
    outcome: Annotated[
        str | None,
        typer.Option("--outcome", metavar="OUTCOME[=STATE]", help="Also show what changes the risk of this outcome."),
    ] = None,
    missing: GapsOption = None,
    weights: Weights = None,
    na_values: NaValues = None,
    sep: Separator = None,
    table_format: Format = None,
) -> None:
    """Write a report on a model: one HTML file to open in a browser, even offline."""
    from cslearn import CStree
    from cslearn.cli.tables import read_for_model
    from cslearn.cli.using import outcome_and_state
    from cslearn.report import write_report

    if output is None:
        output = Path("report.html")
        if os.path.exists(output):
            raise InputError("there is a report.html here already: name the file to write with -o")
    check_outputs({"-o": output}, [model, data])
    tree = CStree.load(model)
    table = None
    if data is not None:
        table = read_for_model(tree, data, missing, weights, na_values, sep, table_format)
    name, state = (None, None) if outcome is None else outcome_and_state(outcome, tree)
    write_report(tree, output, table, title=title, outcome=name, state=state)
    size = f" ({output.stat().st_size / 2**20:.1f} MB)" if output.is_file() else ""
    tell(f"Report written to {output}{size}. Open it in a browser.")
