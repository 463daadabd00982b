"""The commands that use a model: query, predict, impute."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cslearn.cli.app import DataFile, Json, ModelFile, NaValues, Seed, Separator, app
from cslearn.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from cslearn import CStree

__all__ = ["impute", "predict", "query"]

OutputCsv = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="CSV file.", show_default="the terminal")
]


def _item(text: str, tree: CStree, option: str) -> tuple[str, str]:
    """Split ``variable=state``; names of variables may contain an equals sign themselves."""
    fitting = [v for v in tree.variables if text.startswith(f"{v}=")]
    if not fitting:
        name, sign, _ = text.partition("=")
        if not sign:
            raise InputError(f"{option} {text}: write variable=state")
        raise InputError(f"{option} {text}: the model has no variable {name!r}; it has {', '.join(tree.variables)}")
    variable = max(fitting, key=len)
    return variable, text[len(variable) + 1 :]


def _evidence(tree: CStree, given: Sequence[str], likelihood: Sequence[str]) -> dict[str, Any]:
    """Read evidence from options; a variable that is given several times is in one of those states."""
    states: dict[str, list[str]] = {}
    weights: dict[str, dict[str, str]] = {}
    for text in given:
        variable, state = _item(text, tree, "--given")
        states.setdefault(variable, []).append(state)
    for text in likelihood:
        variable, rest = _item(text, tree, "--likelihood")
        state, sign, weight = rest.rpartition(":")
        if not sign:
            raise InputError(f"--likelihood {text}: write variable=state:weight")
        weights.setdefault(variable, {})[state] = weight
    both = sorted(set(states) & set(weights))
    if both:
        raise InputError(f"{both[0]!r} has both --given and --likelihood: use one of them")
    return {**{v: s[0] if len(s) == 1 else s for v, s in states.items()}, **weights}


def _write(text: str, output: Path | None) -> None:
    from cslearn._files import atomic_write

    if output is None:
        sys.stdout.write(text)
    else:
        atomic_write(output, text)


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        {str(name): getattr(value, "item", lambda value=value: value)() for name, value in row.items()}
        for row in frame.astype(object).to_dict("records")
    ]


@app.command()
def query(
    model: ModelFile,
    targets: Annotated[list[str] | None, typer.Argument(metavar="[TARGETS]...", help="Variables to ask for.")] = None,
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--given",
            "-g",
            metavar="VARIABLE=STATE",
            help="Evidence; may be repeated, also for one variable, which is in one of those states then.",
        ),
    ] = None,
    likelihood: Annotated[
        list[str] | None,
        typer.Option(
            "--likelihood", metavar="VARIABLE=STATE:WEIGHT", help="Uncertain evidence: the weight of each state."
        ),
    ] = None,
    most_probable: Annotated[
        bool, typer.Option("--most-probable", help="The most probable outcome of all variables instead.")
    ] = False,
    sampling: Annotated[
        bool, typer.Option("--sampling", help="Find the answer from draws, also where it could be exact.")
    ] = False,
    output: OutputCsv = None,
    json_output: Json = False,
) -> None:
    """Ask a model for the probabilities of some variables given evidence on others."""
    from cslearn import CStree

    tree = CStree.load(model)
    evidence = _evidence(tree, given or (), likelihood or ())
    if most_probable:
        if targets:
            raise InputError("--most-probable is about all variables: name no targets with it")
        found = tree.most_probable(evidence, method="sampling" if sampling else "auto")
        if json_output:
            document = {"outcome": found.outcome, "log_prob": found.log_prob, "exact": found.exact}
            _write(json.dumps(document) + "\n", output)
        else:
            import pandas as pd

            frame = pd.DataFrame({"variable": list(found.outcome), "state": list(found.outcome.values())})
            _write(frame.to_csv(index=False), output)
        return
    if not targets:
        raise InputError(f"name a variable to ask for; the model has {', '.join(tree.variables)}")
    answer = tree.query(targets, evidence, method="sampling" if sampling else "auto")
    frame = answer.reset_index()
    error = answer.attrs.get("standard_error")
    if json_output:
        document = {
            "probabilities": _records(frame),
            "exact": answer.attrs["exact"],
            "standard_error": None if error is None else float(error),
        }
        _write(json.dumps(document) + "\n", output)
        return
    if error is not None and sampling:  # otherwise a warning has said so
        print(f"note: estimated from draws; the largest standard error is {error:.2g}", file=sys.stderr)
    _write(frame.to_csv(index=False), output)


@app.command()
def predict(
    model: ModelFile,
    data: DataFile,
    target: Annotated[str, typer.Option("--target", "-t", metavar="VARIABLE", help="The variable to predict.")],
    output: OutputCsv = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="The probability of each state beside the prediction.")
    ] = False,
    confusion: Annotated[
        bool, typer.Option("--confusion", help="Compare with the target's own column: accuracy and confusion matrix.")
    ] = False,
    na_values: NaValues = None,
    sep: Separator = None,
    json_output: Json = False,
) -> None:
    """Predict a variable in each row of a table; missing cells are summed out."""
    import numpy as np
    import pandas as pd

    from cslearn import CStree
    from cslearn.data import DEFAULT_NA_VALUES
    from cslearn.inference.prediction import predict_proba

    tree = CStree.load(model)
    options: dict[str, Any] = {"na_values": na_values or DEFAULT_NA_VALUES, "sep": sep}
    if confusion:  # what cannot be compared is said before anything is written
        truth = _true_codes(tree, data, target, options)
    probabilities = predict_proba(tree, data, target, **options)
    best = probabilities.to_numpy().argmax(axis=1)
    frame = pd.DataFrame({target: pd.Series([tree.states[target][code] for code in best], dtype=object)})
    if proba:
        frame = frame.join(probabilities.set_axis([f"{target}={state}" for state in tree.states[target]], axis=1))
    if not confusion:
        _write(json.dumps(_records(frame)) + "\n" if json_output else frame.to_csv(index=False), output)
        return
    if output is not None:
        _write(frame.to_csv(index=False), output)
    size = len(tree.states[target])
    known = truth >= 0
    counts = np.zeros((size, size), dtype=int)
    np.add.at(counts, (truth[known], best[known]), 1)
    accuracy = float(counts.trace() / counts.sum())
    if json_output:
        document = {
            "accuracy": accuracy,
            "rows": int(known.sum()),
            "states": list(tree.states[target]),
            "confusion": counts.tolist(),
        }
        print(json.dumps(document))
        return
    from cslearn.cli.text import print_confusion

    print_confusion(target, tree.states[target], counts.tolist(), accuracy)


def _true_codes(tree: CStree, data: Path, target: str, options: dict[str, Any]) -> Any:
    """Return the codes of the target's own column, with -1 where it is missing or in a state that is not known."""
    from cslearn.data import incomplete_codes

    if target not in tree.states:
        raise InputError(f"the model has no variable {target!r}; it has {', '.join(tree.variables)}")
    codes = incomplete_codes(data, {target: tree.states[target]}, **options)[:, 0]
    left_out = int((codes < 0).sum())
    if left_out == len(codes):
        raise InputError(f"--confusion: no row has a known state of {target!r}, so there is nothing to compare")
    if left_out:
        print(f"note: --confusion leaves out {left_out:,} rows without a known state of {target!r}", file=sys.stderr)
    return codes


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
    from cslearn import CStree
    from cslearn.data import DEFAULT_NA_VALUES

    tree = CStree.load(model)
    frame = tree.impute(data, method.value, seed, na_values=na_values or DEFAULT_NA_VALUES, sep=sep)
    _write(json.dumps(_records(frame)) + "\n" if json_output else frame.to_csv(index=False), output)
