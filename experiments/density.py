"""Density estimation: the public binary sets with their standard splits, beside what others published on them.

Learned from the train split alone, with the defaults; the validation split is not looked at.
"""

import csv
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from cslearn import CStreeLearner, random_cstree
from cslearn.datasets import density_names, load_density
from cslearn.errors import CslearnError
from experiments.alone import alone, peak_mb
from experiments.common import DEEP, PAPER_BOUND, arguments, compute, defaults, number, publish, save_figure, table

PUBLISHED = Path(__file__).parent / "published/density.csv"
SEED = 0
LEARNERS: dict[str, dict[str, Any]] = {
    "greedy": {**DEEP, "search": "greedy"},
    "default": DEEP,
    "beta 2": PAPER_BOUND,
}
# Columns of the page: the learner and what it predicts with.
SHOWN = {
    "greedy": ("greedy", "tree"),
    "beta 2": ("beta 2", "tree"),
    "one tree": ("default", "tree"),
    "averaged": ("default", "averaged"),
    "ensemble": ("default", "ensemble"),
}
MEMBERS = 30  # of the ensemble, and orders that the averaged prediction takes of those drawn
QUICK_ROWS = 500


def settings(task: dict[str, Any]) -> str:
    """Return the settings of a cell."""
    return defaults(**LEARNERS[task["learner"]])


def fit(task: dict[str, Any]) -> dict[str, Any]:
    """Learn from the train split: mean log-likelihoods of the test rows, CPU seconds, and the peak of memory."""
    learner = CStreeLearner(**LEARNERS[task["learner"]], n_jobs=1, random_state=SEED)
    _warm_up(task["learner"])
    splits = load_density(task["set"])
    train, test = splits.train[: task["rows"]], splits.test[: task["rows"]]
    learner.set_params(states=dict.fromkeys(train, (0, 1)))  # some columns are constant in the train split
    result: dict[str, Any] = {"variables": train.shape[1], "rows": [len(train), len(test)]}

    begin = process_time()
    learner.fit(train)
    result |= {"fit": process_time() - begin, "peak": peak_mb(), "stages": learner.cstree_.n_stages}
    result["tree"] = _mean(learner.cstree_.log_prob(test))
    if task["learner"] == "default":
        begin = process_time()
        n_orders = None if learner.posterior_.exact is not None else MEMBERS
        result["averaged"] = _mean(learner.posterior_.log_prob(test, n_orders=n_orders))
        result["averaging"] = process_time() - begin
        begin = process_time()
        ensemble = learner.ensemble(n=MEMBERS)
        result["growing"] = process_time() - begin
        result["ensemble"] = _mean(ensemble.log_prob(test))
        result["peak of all"] = peak_mb()
    return result


def _warm_up(learner: str) -> None:
    """Compile what is compiled, so that it does not count."""
    for p in (6, 20):
        rows = random_cstree(p, random_state=0).sample(200, random_state=0)
        small = CStreeLearner(**LEARNERS[learner], n_jobs=1, random_state=0).fit(rows)
    if learner == "default":
        small.posterior_.log_prob(rows[:10], n_orders=2)
        small.ensemble(n=2).log_prob(rows[:10])


def _mean(log_prob: np.ndarray) -> list[float]:
    """Return a mean with its standard error."""
    return [float(np.mean(log_prob)), float(np.std(log_prob, ddof=1) / np.sqrt(len(log_prob)))]


def published() -> dict[str, dict[str, float]]:
    """Return the figures of each set by the name of the method, as printed."""
    lines = [line for line in PUBLISHED.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    rows = list(csv.DictReader(lines))
    return {row.pop("set"): {name: float(text) for name, text in row.items() if text} for row in rows}


def at_hand(names: list[str]) -> list[str]:
    """Return the sets that are in the directory ``CSLEARN_DATA`` or can be fetched."""
    found = []
    for name in names:
        try:
            load_density(name)
        except CslearnError as error:
            print(error)
        else:
            found.append(name)
    return found


# ---------------------------------------------------------------- the page
def main(argv: list[str] | None = None) -> None:
    options = arguments(__doc__, argv, limit=1800)
    names = at_hand(["nltcs"] if options.quick else density_names())
    rows = QUICK_ROWS if options.quick else None
    tasks = [{"set": name, "learner": learner, "rows": rows} for learner in LEARNERS for name in names]
    results = compute("density", partial(alone, fit, limit=options.limit), tasks, options, settings=settings)
    found: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in names}
    for task, result in zip(tasks, results, strict=True):
        if "stopped" not in result:
            found[task["set"]][task["learner"]] = result
    found = {name: cells for name, cells in found.items() if cells}
    if not found:
        print("density: no set was done, so no page is written")
        return
    publish("density", "Density estimation", text(found, options), options, SEED)


def reached(cells: dict[str, dict[str, Any]], column: str) -> float | None:
    """Return the mean log-likelihood of the test rows in a column of the page, if it was measured."""
    learner, what = SHOWN[column]
    return cells[learner][what][0] if learner in cells else None


def _measured(found: dict[str, dict[str, dict[str, Any]]]) -> list[str]:
    """Return the columns in which anything was measured."""
    return [column for column in SHOWN if any(reached(cells, column) is not None for cells in found.values())]


def text(found: dict[str, dict[str, dict[str, Any]]], options: Any) -> str:
    """Return the page."""
    others = published()
    shown = _measured(found)
    figures, costs = [], []
    for name, cells in found.items():
        first = next(iter(cells.values()))
        ours = [reached(cells, column) for column in shown]
        best = max(others[name].values())
        whose = ", ".join(method for method, value in others[name].items() if value == best)
        stated = [f"{others[name][method]:.2f}" for method in ("WinMine", "ID-SPN")]
        row = [name, first["variables"], f"{first['rows'][0]:,}", *(number(v, 3) for v in ours), *stated]
        figures.append([*row, f"{best:.2f} ({whose})"])
        whole = cells.get("default", {})
        costs.append(
            [
                name,
                *(number(cells[learner]["fit"], 1) if learner in cells else "" for learner in LEARNERS),
                number(whole.get("averaging"), 1),
                number(whole.get("growing"), 1),
                *(number(cells[learner]["peak"], 0) if learner in cells else "" for learner in LEARNERS),
            ]
        )
    shows = "Nats a row behind the best published figure on each set; to the left of zero ours is ahead."
    return "\n\n".join(
        [
            "Mean log-likelihood of a row of the test split, in nats; larger is better. Ours learn from the train"
            " split alone, with default settings and `beta='auto'`, and never see the validation split, on which"
            " most of the others choose settings. *Greedy* (`search='greedy'`) stops at the first good order;"
            " *beta 2* has contexts of at most two variables, as the paper; *one tree* is the default fit, and"
            f" *averaged* and *ensemble* are predictions from the same fit: averaged over the posterior ({MEMBERS}"
            f" drawn orders, or all after an exact search), and a mixture of {MEMBERS} CStrees from orders far"
            " apart (`learner.ensemble()`).",
            table(
                ["set", "variables", "train rows", *shown, "WinMine", "ID-SPN", "best published"],
                figures,
            ),
            "The published figures are those printed in the papers that `experiments/published/README.md` names."
            f" {_places(found)}",
            save_figure(_picture(found), "density", shows, options, SEED),
            "## What it takes",
            "CPU seconds of one thread, without compiling and reading; averaging and the ensemble come on top of the"
            " default fit. The peak of memory is that of the process that fits, Python, its packages and"
            " the compiled code included.",
            table(
                [
                    "set",
                    *(f"{learner}, s" for learner in LEARNERS),
                    "averaging, s",
                    "ensemble, s",
                    *(f"{learner}, MB" for learner in LEARNERS),
                ],
                costs,
            ),
        ]
    )


def _places(found: dict[str, dict[str, dict[str, Any]]]) -> str:
    """Say on how many sets ours is at least as good as others, as they are printed: to two digits."""
    others = published()
    told = []
    for column in _measured(found):
        ours = {name: reached(cells, column) for name, cells in found.items()}
        done = {name: round(value, 2) for name, value in ours.items() if value is not None}
        counts = [
            sum(value >= others[name][method] for name, value in done.items()) for method in ("WinMine", "ID-SPN")
        ]
        best = sum(value >= max(others[name].values()) for name, value in done.items())
        told.append([column, len(done), *counts, best])
    near = [
        abs(value - others[name]["WinMine"]) <= 0.5
        for name, cells in found.items()
        if (value := reached(cells, "greedy")) is not None
    ]
    return (
        f"*Greedy* is what WinMine does, and within 0.5 nats of it on {sum(near)} of {len(near)} sets. Sets on which"
        " ours is at least as good, rounded to two digits:\n\n"
        + table(["", "sets", "WinMine", "ID-SPN", "best published"], told)
    )


def _picture(found: dict[str, dict[str, dict[str, Any]]]) -> Any:
    from matplotlib import pyplot

    others = published()
    figure, ax = pyplot.subplots(figsize=(7, 1 + 0.35 * len(found)))
    best = {name: max(others[name].values()) for name in found}
    series = {column: [reached(cells, column) for cells in found.values()] for column in _measured(found)}
    series["WinMine"] = [others[name]["WinMine"] for name in found]
    for (column, values), marker in zip(series.items(), "v^so*x", strict=False):
        behind = [b - v if v is not None else np.nan for b, v in zip(best.values(), values, strict=True)]
        ax.plot(behind, range(len(found)), marker, label=column, markersize=6, alpha=0.8)
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_xscale("symlog", linthresh=0.1)
    ax.set_yticks(range(len(found)), list(found))
    ax.invert_yaxis()
    ax.grid(axis="x", alpha=0.3)
    ax.set_xlabel("nats a row behind the best published (symmetric log scale)")
    ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure


if __name__ == "__main__":
    main()
