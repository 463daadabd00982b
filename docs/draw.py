"""Draw the pictures of the documents: ``python docs/draw.py`` writes them to ``docs/pictures``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from cslearn import Chains, CStreeLearner
from cslearn.datasets import chickenpox_model, supplement_model

FOLDER = Path(__file__).parent / "pictures"


def precedence() -> Any:
    """Draw which variables come first in the orders sampled for 1,000 rows."""
    learner = CStreeLearner(search=Chains(n_iter=1000), random_state=0).fit(
        chickenpox_model().sample(1000, random_state=0)
    )
    return learner.posterior_.plot_precedence()


COLOURS = ("#B8D4E8", "#F5C9A6", "#C3E0B4", "#DCC8E8", "#F0E2A0", "#D5D5D5")


def stages() -> Any:
    """Draw the outcomes before `carrier`, coloured by the stage that they are in."""
    from itertools import product

    from cslearn.plots._figure import charts

    model = chickenpox_model()
    before = ("background", "diagnosis", "exposed")
    contexts = list(model.stagings["carrier"])
    with charts((430.0, 190.0)) as (picture, axes):
        for row, pair in enumerate(product(*(model.states[v] for v in before[:2]))):
            axes.text(-0.05, 3.5 - row, f"{before[0]}={pair[0]}, {before[1]}={pair[1]}", ha="right", va="center")
            for column, exposed in enumerate(model.states["exposed"]):
                outcome = dict(zip(before, (*pair, exposed), strict=True))
                (stage,) = (s for s, context in enumerate(contexts) if context.agrees(outcome))
                probability = model.query("carrier", outcome)["yes"]
                corner = (column, 3 - row)
                axes.add_patch(_box(corner, COLOURS[stage]))
                axes.text(column + 0.5, 3.5 - row, f"{probability:.2f}", ha="center", va="center")
        for column, exposed in enumerate(model.states["exposed"]):
            axes.text(column + 0.5, 4.1, f"exposed={exposed}", ha="center", va="bottom")
        axes.set(xlim=(-1.6, 2.1), ylim=(-0.1, 4.6))
        axes.axis("off")
    return picture


def _box(corner: tuple[float, float], colour: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(corner, 1.0, 1.0, facecolor=colour, edgecolor="white", linewidth=2)


def shapes() -> Any:
    """Draw the kinds of stagings whose contexts have at most two variables."""
    from cslearn.plots._figure import charts

    # Each: title, and for each state of the root what it splits on (None: stop).
    kinds: list[tuple[str, list[str | None] | None]] = [
        ("no split", None),
        ("a root", [None, None]),
        ("a state splits", ["B", None]),
        ("states differ", ["B", "C"]),
        ("a full split", ["B", "B"]),
    ]
    with charts((560.0, 170.0)) as (picture, axes):
        for place, (title, splits) in enumerate(kinds):
            x, colours = 4.0 * place, iter(COLOURS)
            axes.text(x, 3.0, title, ha="center", va="bottom")
            if splits is None:
                _node(axes, (x, 2.0), "", next(colours))
                continue
            for side, split in zip((-1.0, 1.0), splits, strict=True):
                below = (x + 0.95 * side, 1.0)
                axes.plot([x, below[0]], [2.0, below[1]], color="#666666", zorder=1, clip_on=False)
                if split is None:
                    _node(axes, below, "", next(colours))
                    continue
                for end in (-0.45, 0.45):
                    axes.plot([below[0], below[0] + end], [1.0, 0.0], color="#666666", zorder=1, clip_on=False)
                    _node(axes, (below[0] + end, 0.0), "", next(colours))
                _node(axes, below, split, "white")
            _node(axes, (x, 2.0), "A", "white")
        axes.set(xlim=(-1.8, 17.8), ylim=(-0.5, 3.6))
        axes.axis("off")
    return picture


def _node(axes: Any, place: tuple[float, float], text: str, colour: str) -> None:
    axes.plot(*place, "o", markersize=17, markerfacecolor=colour, markeredgecolor="#444444", zorder=2, clip_on=False)
    axes.text(*place, text, ha="center", va="center_baseline", zorder=3)


PICTURES: dict[str, Callable[[], Any]] = {
    "chickenpox.svg": lambda: chickenpox_model().to_ldag().plot(),
    "chickenpox-strength.svg": lambda: chickenpox_model().plot(strength=True, labels="legend"),
    "chickenpox-unexposed.svg": lambda: chickenpox_model().to_ldag().plot(context={"exposed": "no"}),
    "chickenpox-tree.svg": lambda: chickenpox_model().plot("staged-tree", probabilities=True),
    "supplement-contexts.svg": lambda: supplement_model().minimal_contexts().plot(columns=4),
    "precedence.svg": precedence,
    "method-stages.svg": stages,
    "method-shapes.svg": shapes,
}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        draw().savefig(FOLDER / name)
        print(FOLDER / name)
