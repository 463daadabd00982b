"""The commands that use a model: query, predict, impute."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cslearn.cli.app import DataFile, Json, ModelFile, NaValues, Seed, Separator, app
from cslearn.cli.batches import few_notes, records, row_writer
from cslearn.cli.paths import check_outputs, write_output
from cslearn.cli.streams import note
from cslearn.errors import InputError

if TYPE_CHECKING:
    from cslearn import CStree

__all__ = ["impute", "predict", "query"]

OutputCsv = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="CSV file.", show_default="the terminal")
]


def item(text: str, tree: CStree, option: str) -> tuple[str, str]:
    """Split ``variable=state``; names of variables may contain an equals sign themselves."""
    fitting = [v for v in tree.variables if text.startswith(f"{v}=")]
    if not fitting:
        name, sign, _ = text.partition("=")
        if not sign:
            raise InputError(f"{option} {text}: write variable=state")
        raise InputError(f"{option} {text}: the model has no variable {name!r}; it has {', '.join(tree.variables)}")
    variable = max(fitting, key=len)
    return variable, text[len(variable) + 1 :]


def outcome_and_state(text: str, tree: CStree) -> tuple[str, str | None]:
    """Split ``OUTCOME[=STATE]``."""
    return (text, None) if text in tree.variables or "=" not in text else item(text, tree, "OUTCOME")


def _evidence(tree: CStree, given: Sequence[str], likelihood: Sequence[str]) -> dict[str, Any]:
    """Read evidence from options; a variable that is given several times is in one of those states."""
    states: dict[str, list[str]] = {}
    weights: dict[str, dict[str, str]] = {}
    for text in given:
        variable, state = item(text, tree, "--given")
        states.setdefault(variable, []).append(state)
    for text in likelihood:
        variable, rest = item(text, tree, "--likelihood")
        state, sign, weight = rest.rpartition(":")
        if not sign:
            raise InputError(f"--likelihood {text}: write variable=state:weight")
        weights.setdefault(variable, {})[state] = weight
    both = sorted(set(states) & set(weights))
    if both:
        raise InputError(f"{both[0]!r} has both --given and --likelihood: use one of them")
    return {**{v: s[0] if len(s) == 1 else s for v, s in states.items()}, **weights}


@app.command()
def query(
    model: ModelFile,
    targets: Annotated[
        list[str] | None, typer.Argument(metavar="[TARGETS]...", help="Variables whose probabilities to give.")
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--given",
            "-g",
            metavar="VARIABLE=STATE",
            help="Evidence; may be repeated. Several states of one variable mean any of them.",
        ),
    ] = None,
    likelihood: Annotated[
        list[str] | None,
        typer.Option(
            "--likelihood",
            metavar="VARIABLE=STATE:WEIGHT",
            help="Uncertain evidence: the likelihood of each state, up to a factor.",
        ),
    ] = None,
    most_probable: Annotated[
        bool,
        typer.Option("--most-probable", metavar="", help="Show the most probable states of all variables instead."),
    ] = False,
    sampling: Annotated[
        bool,
        typer.Option(
            "--sampling", metavar="", help="Estimate the answer from random draws even where it could be exact."
        ),
    ] = False,
    output: OutputCsv = None,
    json_output: Json = False,
) -> None:
    """Ask a model for the probabilities of some variables given evidence on others."""
    from cslearn import CStree

    check_outputs({"-o": output}, [model])
    tree = CStree.load(model)
    evidence = _evidence(tree, given or (), likelihood or ())
    if most_probable:
        if targets:
            raise InputError("--most-probable is about all variables: name no targets with it")
        found = tree.most_probable(evidence, method="sampling" if sampling else "auto")
        if json_output:
            document = {"outcome": found.outcome, "log_prob": found.log_prob, "exact": found.exact}
            write_output(json.dumps(document) + "\n", output)
        else:
            import pandas as pd

            frame = pd.DataFrame({"variable": list(found.outcome), "state": list(found.outcome.values())})
            write_output(frame.to_csv(index=False), output)
        return
    if not targets:
        raise InputError(f"name a variable to ask for; the model has {', '.join(tree.variables)}")
    answer = tree.query(targets, evidence, method="sampling" if sampling else "auto")
    frame = answer.reset_index()
    error = answer.attrs.get("standard_error")
    if json_output:
        document = {
            "probabilities": records(frame),
            "exact": answer.attrs["exact"],
            "standard_error": None if error is None else float(error),
        }
        write_output(json.dumps(document) + "\n", output)
        return
    if error is not None and sampling:  # otherwise a warning has said so
        note(f"estimated from draws; the largest standard error is {error:.2g}")
    write_output(frame.to_csv(index=False), output)


@app.command()
def predict(
    model: ModelFile,
    data: DataFile,
    target: Annotated[str, typer.Option("--target", "-t", metavar="VARIABLE", help="The variable to predict.")],
    output: OutputCsv = None,
    proba: Annotated[bool, typer.Option("--proba", metavar="", help="Add the probability of each state.")] = False,
    confusion: Annotated[
        bool,
        typer.Option(
            "--confusion", metavar="", help="Compare with the target's column in DATA: accuracy and confusion matrix."
        ),
    ] = False,
    na_values: NaValues = None,
    sep: Separator = None,
    json_output: Json = False,
) -> None:
    """Predict a variable in each row of a table; other cells may be missing."""
    import numpy as np
    import pandas as pd

    from cslearn import CStree
    from cslearn.cli.tables import learned_from
    from cslearn.data import DEFAULT_NA_VALUES, incomplete_codes
    from cslearn.data.batching import iter_sources
    from cslearn.inference.prediction import predict_proba

    check_outputs({"-o": output}, [model, data])
    tree = CStree.load(model)
    options: dict[str, Any] = {"na_values": na_values or DEFAULT_NA_VALUES, "sep": sep}
    if confusion and target not in tree.states:
        raise InputError(f"the model has no variable {target!r}; it has {', '.join(tree.variables)}")
    size = len(tree.states.get(target, ()))
    counts, read = np.zeros((size, size), dtype=int), 0
    silent = confusion and output is None
    with nullcontext() if silent else row_writer(output, json_output and not confusion) as writer, few_notes():
        for batch in iter_sources(data, tree.variables, tree.states, **options):
            if confusion:
                truth = incomplete_codes(batch, {target: tree.states[target]}, **options)[:, 0]
            probabilities = predict_proba(tree, batch, target, **options)
            best = probabilities.to_numpy().argmax(axis=1)
            frame = pd.DataFrame({target: pd.Series([tree.states[target][code] for code in best], dtype=object)})
            if proba:
                named = [f"{target}={state}" for state in tree.states[target]]
                frame = frame.join(probabilities.set_axis(named, axis=1))
            if writer is not None:
                writer.write(frame)
            read += len(frame)
            if confusion:
                known = truth >= 0
                np.add.at(counts, (truth[known], best[known]), 1)
        if confusion and not counts.any():
            raise InputError(f"--confusion: no row has a known state of {target!r}, so there is nothing to compare")
    if not confusion:
        return
    compared = int(counts.sum())
    if compared < read:
        note(f"--confusion leaves out {read - compared:,} rows without a known state of {target!r}")
    most = int(counts.sum(axis=1).argmax())
    document = {
        "accuracy": float(counts.trace() / compared),
        "rows": compared,
        "majority": tree.states[target][most],
        "majority_accuracy": float(counts[most].sum() / compared),
        "trained_on": learned_from(tree, data),
        "states": list(tree.states[target]),
        "confusion": counts.tolist(),
    }
    if json_output:
        print(json.dumps(document))
        return
    from cslearn.cli.text import print_confusion

    print_confusion(target, tree.states[target], document)


class Fill(StrEnum):
    """How missing cells are filled in."""

    mode = "mode"
    draw = "draw"


@app.command()
def impute(
    model: ModelFile,
    data: DataFile,
    method: Annotated[
        Fill, typer.Option("--method", help="The most probable completion of each row, or a random draw.")
    ] = Fill.mode,
    output: OutputCsv = None,
    na_values: NaValues = None,
    sep: Separator = None,
    seed: Seed = 0,
    json_output: Json = False,
) -> None:
    """Fill in the missing cells of a table."""
    import numpy as np

    from cslearn import CStree
    from cslearn.data import DEFAULT_NA_VALUES
    from cslearn.data.batching import iter_sources

    check_outputs({"-o": output}, [model, data])
    tree = CStree.load(model)
    options: dict[str, Any] = {"na_values": na_values or DEFAULT_NA_VALUES, "sep": sep}
    # One generator for all batches, so that no two of them are filled in alike.
    random_state = np.random.default_rng(seed)
    with row_writer(output, json_output) as writer, few_notes():
        for batch in iter_sources(data, None, tree.states, **options):
            writer.write(tree.impute(batch, method.value, random_state, **options))
