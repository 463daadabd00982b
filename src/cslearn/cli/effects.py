"""The commands that tell which edges to believe, and what an exposure does to an outcome."""

from __future__ import annotations

import json
from dataclasses import replace
from enum import StrEnum
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cslearn.cli.app import Format, GapsOption, Json, ModelFile, NaValues, Seed, Separator, Weights, app
from cslearn.cli.paths import write_output
from cslearn.cli.streams import plain
from cslearn.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from cslearn import CStree

__all__ = ["adjust", "blanket", "edges", "effect"]


class Measure(StrEnum):
    """Effect measures."""

    rd = "rd"
    rr = "rr"
    odds = "or"


Csv = Annotated[bool, typer.Option("--csv", metavar="", help="Print CSV instead of text.")]


def _check_form(csv: bool, json_output: bool) -> None:
    if csv and json_output:
        raise InputError("--csv and --json exclude each other: choose one")


@app.command()
def edges(
    model: ModelFile,
    threshold: Annotated[float, typer.Option("--threshold", help="Hide edges with a smaller probability.")] = 0.1,
    csv: Csv = False,
    json_output: Json = False,
) -> None:
    """Show how probable each edge is, and whether its direction is identified."""
    from cslearn import CStree
    from cslearn.cli.text import print_edges
    from cslearn.posterior import edge_table

    _check_form(csv, json_output)
    tree = CStree.load(model)
    if csv:
        write_output(edge_table(tree, threshold).to_csv(index=False, lineterminator="\n"), None)
    elif json_output:
        print(json.dumps(_records(edge_table(tree, threshold))))
    else:
        print_edges(tree, threshold)


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows as JSON can hold them: what is not a number, or not finite, is null."""
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    endless = [(row, name) for row in rows for name, x in row.items() if isinstance(x, float) and not isfinite(x)]
    for row, name in endless:
        row[name] = None
    return [{str(name): value for name, value in row.items()} for row in rows]


def _direction(tree: CStree, exposure: str, outcome: str) -> str | None:
    """Return what the file says of the direction between two variables, if it says that they are joined."""
    from cslearn.posterior import edge_rows

    if (tree.learning or {}).get("edges") is None:
        return None
    for row in edge_rows(tree):
        if {row["from"], row["to"]} == {exposure, outcome}:
            there, back = (row["forward"], row["backward"])
            return (
                f"Averaged over models that fit the data, the arrow {row['from']} -> {row['to']} has probability"
                f" {there:.2f}, and {row['to']} -> {row['from']} has {back:.2f}."
            )
    return None


@app.command()
def effect(
    model: ModelFile,
    outcome: Annotated[
        str, typer.Argument(metavar="OUTCOME[=STATE]", help="The outcome, and which of its states is the risk.")
    ],
    of: Annotated[str, typer.Option("--of", metavar="EXPOSURE", help="The exposure.")],
    given: Annotated[
        list[str] | None,
        typer.Option("--given", "-g", metavar="VARIABLE", help="Stratify by this variable; may be repeated."),
    ] = None,
    measure: Annotated[
        Measure, typer.Option("--measure", help="Risk difference, risk ratio or odds ratio.")
    ] = Measure.rd,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", metavar="STATE", help="The reference state of the exposure.", show_default="the first"
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="DATA", help="A table, for intervals and observed proportions."),
    ] = None,
    interval: Annotated[
        float, typer.Option("--interval", help="Posterior probability that an interval covers.")
    ] = 0.95,
    missing: GapsOption = None,
    weights: Weights = None,
    na_values: NaValues = None,
    sep: Separator = None,
    table_format: Format = None,
    seed: Seed = 0,
    csv: Csv = False,
    json_output: Json = False,
) -> None:
    """Estimate the effect of an exposure on the risk of an outcome, overall and by stratum."""
    from cslearn import CStree
    from cslearn.cli.tables import read_for_model
    from cslearn.cli.using import outcome_and_state
    from cslearn.inference import DIRECTIONS
    from cslearn.inference import effect as effect_of

    _check_form(csv, json_output)
    tree = CStree.load(model)
    name, state = outcome_and_state(outcome, tree)
    table = None
    if data is not None:
        table = read_for_model(tree, data, missing, weights, na_values, sep, table_format)
    found = effect_of(
        tree,
        name,
        of=of,
        given=given,
        state=state,
        against=against,
        measure=measure.value,
        data=table,
        interval=interval,
        random_state=seed,
    )
    direction = _direction(tree, of, name)
    if direction is not None:
        found = replace(found, notes=(direction, *found.notes))
    if csv:
        write_output(found.to_frame().to_csv(index=False, lineterminator="\n"), None)
    elif json_output:
        told = {
            "outcome": found.outcome,
            "state": found.state,
            "exposure": found.exposure,
            "reference": found.reference,
            "measure": found.measure,
            "interval": found.interval,
            "notes": [DIRECTIONS, *found.notes],
            "rows": _records(found.to_frame()),
        }
        print(json.dumps(told))
    else:
        print(plain(str(found)))


@app.command()
def adjust(
    model: ModelFile,
    exposure: Annotated[str, typer.Argument(metavar="EXPOSURE", help="The exposure.")],
    outcome: Annotated[str, typer.Argument(metavar="OUTCOME", help="The outcome.")],
    json_output: Json = False,
) -> None:
    """List what to adjust for: the minimal sets of variables that remove all confounding in the model."""
    from cslearn import CStree
    from cslearn.cli.text import print_adjustment
    from cslearn.inference import adjustment_sets

    tree = CStree.load(model)
    found = adjustment_sets(tree, exposure, outcome)
    if json_output:
        print(json.dumps({"sets": [list(s) for s in found], "parents": list(tree.parents[exposure])}))
    else:
        print_adjustment(tree, exposure, outcome, found)


@app.command()
def blanket(
    model: ModelFile,
    variable: Annotated[str, typer.Argument(metavar="VARIABLE", help="The variable.")],
    json_output: Json = False,
) -> None:
    """Show the Markov blanket of a variable: once it is known, no other variable adds information."""
    from cslearn import CStree
    from cslearn.cli.text import print_blanket
    from cslearn.inference import markov_blanket

    tree = CStree.load(model)
    found = markov_blanket(tree, variable)
    parents = list(tree.parents[variable])
    children = [v for v in tree.order if variable in tree.parents[v]]
    others = [v for v in found if v not in parents and v not in children]
    if json_output:
        told = {"blanket": list(found), "parents": parents, "children": children, "other_parents": others}
        print(json.dumps(told))
    else:
        print_blanket(variable, parents, children, others)
