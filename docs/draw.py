"""Draw the pictures of the documents: ``python docs/draw.py`` writes them to ``docs/pictures``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from cslearn import CStreeLearner
from cslearn.datasets import chickenpox_model, supplement_model

FOLDER = Path(__file__).parent / "pictures"


def precedence() -> Any:
    """Draw which variables come first in the orders sampled for 1,000 rows."""
    learner = CStreeLearner(n_iter=1000, random_state=0).fit(chickenpox_model().sample(1000, random_state=0))
    return learner.posterior_.plot_precedence()


PICTURES: dict[str, Callable[[], Any]] = {
    "chickenpox.svg": lambda: chickenpox_model().to_ldag().plot(),
    "chickenpox-strength.svg": lambda: chickenpox_model().plot(strength=True, labels="legend"),
    "chickenpox-unexposed.svg": lambda: chickenpox_model().to_ldag().plot(context={"exposed": "no"}),
    "chickenpox-tree.svg": lambda: chickenpox_model().plot("staged-tree", probabilities=True),
    "supplement-contexts.svg": lambda: supplement_model().minimal_contexts().plot(columns=4),
    "precedence.svg": precedence,
}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        draw().savefig(FOLDER / name)
        print(FOLDER / name)
