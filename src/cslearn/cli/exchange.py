"""The commands that compare two models and that carry a model from one format to another."""

from __future__ import annotations

import json
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cslearn.cli.app import Json, NaValues, Seed, Separator, Weights, app
from cslearn.cli.paths import check_outputs
from cslearn.cli.streams import tell

if TYPE_CHECKING:
    from cslearn.metrics import Comparison, Divergence, EdgeScores, HeldOut

FromFormat = Annotated[
    str | None, typer.Option("--from", metavar="FORMAT", help="Format of IN.", show_default="from its file name")
]
ToFormat = Annotated[
    str | None, typer.Option("--to", metavar="FORMAT", help="Format of OUT.", show_default="from its file name")
]


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="A model: .json, .bif, .xml, .graphml, ...")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write.")],
    from_format: FromFormat = None,
    to_format: ToFormat = None,
) -> None:
    """Convert a model to the format of another program, and say what is lost."""
    from cslearn.formats import format_of, read_model, write_model

    written = format_of(target, to_format).name  # a wrong name of a format is said before anything is read
    check_outputs({"OUT": target}, [source])
    tree = read_model(source, from_format)
    lost = write_model(tree, target, to_format)
    tell(f"{target} written as {written}.")
    for what in lost:
        tell(f"lost: {what}")


@app.command()
def compare(
    reference: Annotated[Path, typer.Argument(metavar="A", help="The reference, such as the true model.")],
    model: Annotated[Path, typer.Argument(metavar="B", help="The model to compare with it.")],
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="TABLE", help="Held-out rows, to compare the models' log-probabilities on."),
    ] = None,
    weights: Weights = None,
    na_values: NaValues = None,
    sep: Separator = None,
    seed: Seed = 0,
    json_output: Json = False,
) -> None:
    """Compare two models: their graphs, contexts, orders and distributions."""
    from cslearn.formats import read_model
    from cslearn.metrics import compare as compared

    trees = read_model(reference), read_model(model)
    options = {"sep": sep, "sample_weight": weights, "na_values": na_values}
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    found = compared(*trees, data, random_state=seed, **given)
    if json_output:
        print(json.dumps(found.document()))
    else:
        tell(f"A, which counts as the truth: {reference}")
        tell(f"B, which is compared with it: {model}")
        _print_comparison(found)


def _print_comparison(found: Comparison) -> None:
    def counts(scores: EdgeScores) -> str:
        return (
            f"precision {scores.precision:.3f}, recall {scores.recall:.3f}"
            f"  ({scores.n_right} of {scores.n_model} in B are right,"
            f" {scores.n_found} of {scores.n_reference} in A are found)"
        )

    def nats(divergence: Divergence | None) -> str:
        if divergence is None:
            return "-  (a model has no probabilities)"
        if not isfinite(divergence):
            return "infinite: one model gives probability zero to what the other may draw"
        if divergence.n_samples:
            return f"{float(divergence):.3g} ± {divergence.standard_error:.1g} nats, by Monte Carlo"
        return f"{float(divergence):.3g} nats"

    def rows(scored: HeldOut | None) -> str:
        if scored is None:
            return "-  (it has no probabilities)"
        if scored.n_impossible:
            return f"{scored.n_impossible:,} of {scored.n:,} rows are impossible"
        return f"{scored.mean:.5f} ± {scored.standard_error:.5f} nats a row, {scored.n:,} rows"

    lines = [
        ("SHD of the DAGs", f"{found.shd}"),
        ("SHD of the CPDAGs", f"{found.shd_cpdag}"),
        ("SHD over contexts", f"{found.ldag_distance:.4g}  (of the LDAGs: the mean over all outcomes)"),
        ("edges", counts(found.edges)),
        ("skeleton", counts(found.skeleton)),
        ("CSI relations", counts(found.relations)),
        ("orders", f"{found.kendall:.1%} of the pairs swapped; {found.backward} edges of A run against the order of B"),
        ("D(A || B)", nats(found.divergence)),
        ("D(B || A)", nats(found.reverse_divergence)),
    ]
    if found.held_out is not None:
        lines += [("held-out, A", rows(found.held_out[0])), ("held-out, B", rows(found.held_out[1]))]
    for name, value in lines:
        tell(f"{name:<18} {value}")
