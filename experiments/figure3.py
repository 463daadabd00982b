"""Figure 3 and the plot of the supplement: how long learning takes, by phase, on random binary CStrees."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from cslearn import Chains, CStreeLearner, random_cstree
from experiments.common import (
    PAPER_BOUND,
    SEED,
    arguments,
    compute,
    cpu_timings,
    defaults,
    number,
    publish,
    save_figure,
    table,
)

METHODS = ("auto", "pc", "grasp")
PHASES = ("candidates", "scores", "orders", "stagings")
COLUMNS = ("total", *PHASES, "rest")
# How orders are searched: as by default, and with the number of moves that the paper has, in one chain as there. The
# model is that of the best order, as in the paper.
SEARCHES: dict[str, dict[str, Any]] = {
    "default": {**PAPER_BOUND, "estimate": "best"},
    "5000 moves": {**PAPER_BOUND, "search": Chains(n_iter=5000, n_chains=1), "estimate": "best"},
}
LARGE = 100  # with more variables there is one model
SCREENED = 500  # `auto` screens its candidates here, and is faster than with fewer variables
SIZES = (5, 7, 10, 15, 20, 50, 100, 250, SCREENED)
LIMIT = 2400.0


def settings(task: dict[str, Any]) -> str:
    """Return the settings of a cell."""
    return defaults(**SEARCHES[task.get("search", "default")])


def cell(task: dict[str, Any]) -> dict[str, Any]:
    """Return the CPU seconds of each phase of one fit."""
    changed = SEARCHES[task["search"]]
    # Compiles what is compiled: the exact search where it is the default, scores looked up, and kept.
    few = {"search": Chains(n_iter=50)}
    for p, method, more in ((6, task["method"], {}), (6, task["method"], few), (20, "all", few)):
        warm = random_cstree(p, random_state=0).sample_table(50, random_state=0)
        CStreeLearner(**{**changed, **more}, candidates=method, random_state=0).fit(warm)
    truth = random_cstree(task["p"], method="split", p_context=min(0.5, 5 / task["p"]), random_state=task["seed"])
    data = truth.sample_table(task["n"], random_state=task["seed"] + 1000)
    with cpu_timings():
        learner = CStreeLearner(**changed, candidates=task["method"], random_state=0).fit(data)
    return {phase: learner.timings_.get(phase, 0.0) for phase in PHASES} | {"total": sum(learner.timings_.values())}


def harder(task: dict[str, Any], stopped: dict[str, Any]) -> bool:
    """Say whether a task has more variables or rows than one that took too long, and no screen in its favour."""
    if task["method"] == "auto" and task["p"] >= SCREENED:
        return False
    same = task["method"] == stopped["method"] and task["search"] == stopped["search"]
    size, too_long = (task["p"], task["n"]), (stopped["p"], stopped["n"])
    return same and size != too_long and all(mine >= its for mine, its in zip(size, too_long, strict=True))


def main(argv: list[str] | None = None) -> None:
    options = arguments(__doc__, argv, models=3, variables=SIZES, limit=LIMIT)
    options.jobs = 1  # its times are of all threads
    sizes = (5, 7) if options.quick else tuple(options.variables)
    rows = (200,) if options.quick else (1000, 10_000)
    tasks = [
        {"p": p, "n": n, "method": method, "search": search, "seed": SEED + model}
        for p in sizes
        for n in rows
        for search in SEARCHES
        for method in METHODS
        if p < SCREENED or method == "auto" or search == "5000 moves"
        for model in range(options.models if p <= LARGE else 1)
    ]
    results = compute("figure3", cell, tasks, options, harder, settings)
    medians: dict[tuple[str, str, int, int], dict[str, float]] = {}
    body = []
    for search in SEARCHES:
        for method in METHODS:
            for n in rows:
                for p in sizes:
                    key = (search, method, n, p)
                    here = [r for t, r in zip(tasks, results, strict=True) if _key(t) == key]
                    if not here:
                        continue
                    found = [result for result in here if "stopped" not in result]
                    if 2 * len(found) > len(here):
                        fits = [result | {"rest": remainder(result)} for result in found]
                        medians[key] = {k: float(np.median([fit[k] for fit in fits])) for k in COLUMNS}
                        body.append([search, method, n, p, len(found), *(number(medians[key][k], 2) for k in COLUMNS)])
                    else:
                        body.append([search, method, n, p, 0, why_not(here), *[""] * (len(COLUMNS) - 1)])
    models = "1 random model"
    if options.models > 1:
        models = f"medians over {options.models} random models, and 1 model for more than {LARGE} variables"
    text = [
        f"CPU seconds of all threads with context bound 2, phases apart: {models} (the paper: 10). `auto` takes all"
        " variables as candidates while the tables fit into memory, and a repeated screen beyond. PC and GRaSP are"
        " those of causal-learn, GRaSP with our count of its scores.",
        "The search over orders is that of the defaults, exact for few variables and otherwise chains that go on until"
        " they agree or a bound is reached; or it is one chain of 5,000 moves, the number that the paper states."
        " The prior and the equivalent sample size are chosen by the data in both, and the model is that of the best"
        " order, as in the paper. With PC and GRaSP at"
        f" {SCREENED} variables there is only the latter, since nearly all time goes into the candidates there.",
        "The random models are drawn by splitting each level from the top (`random_cstree` with the method `split`):"
        " each variable has a chance of 5 / p, and at most 1 / 2, to be the next context variable. Those of"
        " [Figure 2](figure2.md) are drawn by the method `uniform`. The paper says that its models come from the"
        " generator of its package, and no more.",
        "Each column is a median over the fits, so that the phases need not add up to the total; *prior and"
        " parameters* is what is left of each fit beside the other phases."
        f" A fit is given up after {options.limit:.0f} CPU seconds.{explained(body)}",
        table(["search", "candidates", "n", "p", "models", "total", *PHASES, "prior and parameters"], body),
        save_figure(
            _picture(medians, sizes, rows),
            "figure3",
            "The totals of the table: median CPU seconds of a fit by the number of variables, on logarithmic scales, a"
            " panel for each number of rows and a line for each kind of candidates and search.",
            options,
        ),
        "The paper, for n = 1000 on a c5a.8xlarge instance of Amazon EC2: about 10 s (PC) and 10 minutes (GRaSP) at"
        " p = 50, 15 minutes (GRaSP) at p = 100, 7 minutes (PC) and 27 hours (GRaSP) at p = 500.",
    ]
    publish("figure3", "Figure 3: run time", "\n\n".join(text), options)


def remainder(result: dict[str, float]) -> float:
    """Return the seconds of one fit that are of none of the phases."""
    return result["total"] - sum(result[phase] for phase in PHASES)


def _key(task: dict[str, Any]) -> tuple[str, str, int, int]:
    return task["search"], task["method"], task["n"], task["p"]


def why_not(results: Sequence[dict[str, Any]]) -> str:
    """Say why there is no time: given up, not tried, or not run yet."""
    tried = [result["stopped"] for result in results if result.get("tried", True) and result.get("stopped")]
    if tried:
        return f"more than {max(tried):.0f}"
    return "not tried" if any(result.get("stopped") for result in results) else "not run"


def explained(body: Sequence[Sequence[object]]) -> str:
    """Say what the words of a table mean that stand for a time."""
    meanings = {
        "not tried": "has more variables than a fit that was given up",
        "not run": "has not been measured yet, and is by the next run",
    }
    words = {cell for row in body for cell in row}
    return "".join(f" What is *{word}* {meaning}." for word, meaning in meanings.items() if word in words)


def _picture(medians: Any, sizes: tuple[int, ...], rows: tuple[int, ...]) -> Any:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(rows), figsize=(5 * len(rows), 3.6), sharey=True, squeeze=False)
    styles = dict(zip(SEARCHES, ("-", "--"), strict=True))
    for n, ax in zip(rows, axes[0], strict=True):
        for colour, method in enumerate(METHODS):
            for search, style in styles.items():
                shown = [
                    (p, medians[search, method, n, p]["total"]) for p in sizes if (search, method, n, p) in medians
                ]
                if shown:
                    line = f"C{colour}{style}"
                    ax.loglog(*zip(*shown, strict=True), line, marker="o", label=f"{method}, {search}")
        ax.set_title(f"n = {n:,}")
        ax.set_xticks(sizes, [str(p) if p not in (7, 15) else "" for p in sizes])
        ax.minorticks_off()
        ax.set_xlabel("variables")
        ax.set_ylabel("CPU seconds")
        ax.grid(alpha=0.3)
    axes[0][0].legend(fontsize=8)
    figure.tight_layout()
    return figure


if __name__ == "__main__":
    main()
