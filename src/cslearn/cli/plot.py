"""The command that draws a model."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from cslearn.cli.app import ModelFile, app
from cslearn.cli.paths import check_outputs, write_output
from cslearn.cli.streams import tell
from cslearn.errors import InputError

__all__ = ["plot"]

TEXT = {".dot": "to_dot", ".gv": "to_dot", ".tex": "to_tikz", ".tikz": "to_tikz"}
DRAWN = (".svg", ".pdf", ".png")


class Kind(StrEnum):
    """What is drawn."""

    ldag = "ldag"
    staged_tree = "staged-tree"


class Labels(StrEnum):
    """Where the labels of edges are written."""

    auto = "auto"
    inline = "inline"
    legend = "legend"
    none = "none"


@app.command()
def plot(
    model: ModelFile,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Picture: .svg, .pdf, .png, .dot (Graphviz) or .tex (TikZ)."
        ),
    ] = Path("picture.svg"),
    kind: Annotated[Kind, typer.Option("--kind", help="An LDAG, or a staged tree for few variables.")] = Kind.ldag,
    context: Annotated[
        list[str] | None,
        typer.Option("--context", metavar="A=x", help="LDAG: draw what remains in this context; may be repeated."),
    ] = None,
    labels: Annotated[
        Labels, typer.Option("--labels", help="LDAG: labels on the edges, in a legend, or none.")
    ] = Labels.auto,
    strength: Annotated[
        bool,
        typer.Option("--strength", metavar="", help="LDAG: draw edges thicker the more a parent changes its child."),
    ] = False,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", metavar="", help="Staged tree: write the probabilities on the edges.")
    ] = False,
    levels: Annotated[
        int | None,
        typer.Option(
            "--levels", help="Staged tree: draw only this many variables, beginning with the first.", show_default="all"
        ),
    ] = None,
) -> None:
    """Draw a model as an LDAG, which shows where dependences vanish, or as a staged tree."""
    from cslearn import CStree

    ending = output.suffix.lower()
    if ending not in (*DRAWN, *TEXT):
        raise InputError(f"a picture cannot be written to {output}: end the name in {', '.join((*DRAWN, *TEXT))}")
    check_outputs({"-o": output}, [model])
    tree = CStree.load(model)
    if kind is Kind.staged_tree:
        _refuse(kind, {"--context": context, "--labels": labels is not Labels.auto, "--strength": strength})
        subject: Any = tree
        options: dict[str, Any] = {"probabilities": probabilities, "levels": levels}
    else:
        _refuse(kind, {"--probabilities": probabilities, "--levels": levels is not None})
        subject = tree.to_ldag()
        options = {"context": _context(context or [], tree)}
        if strength:
            from cslearn.plots import edge_strengths

            options["strength"] = edge_strengths(tree)
    if ending in TEXT:
        if labels is not Labels.auto:
            raise InputError(f"--labels is for {', '.join(DRAWN)}: {ending} has the labels on the edges")
        if ending == ".tex":
            options["standalone"] = True
        write_output(getattr(subject, TEXT[ending])(**options), output)
    elif kind is Kind.staged_tree:
        subject.plot("staged-tree", **options).savefig(output)
    else:
        subject.plot(labels=labels.value, **options).savefig(output)
    tell(f"Picture written to {output}.")


def _refuse(kind: Kind, given: dict[str, object]) -> None:
    for option, value in given.items():
        if value:
            raise InputError(f"{option} does not go with --kind {kind.value}")


def _context(texts: list[str], tree: Any) -> dict[str, Any]:
    from cslearn.graphs.statements import parse_context

    found: dict[str, Any] = {}
    for text in texts:
        for v, x in parse_context(text, tree.states).items():
            if found.setdefault(v, x) != x:
                raise InputError(f"--context gives {v!r} two states, {found[v]!r} and {x!r}: it can have one")
    return found
