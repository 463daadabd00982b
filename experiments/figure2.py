"""Figure 2: how far the learned model is from the truth, on random binary CStrees.

For every number of variables p and of rows n, models are drawn at random (each staging with contexts of at most two
variables is equally probable) and learned from rows that are drawn from them. The candidates are all variables, or come
from PC or GRaSP. The oracle knows the structure and estimates its parameters alone. The DAGs are those of phase 1, with
parameters from 10,000 rows. Figure 2c has staged trees beside ours: those of the R package stagedtrees, where R and the
package are there, and those of cegpy.
"""

import math
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import networkx as nx
import numpy as np
from benchmarks.peers import call

from cslearn import CStree, CStreeLearner, kl_divergence, random_cstree
from cslearn.candidates import candidate_sets
from cslearn.data import Table, write_benchpress
from experiments import staged_trees
from experiments.common import PAPER_BOUND, SEED, arguments, compute, measured, number, publish, save_figure, table
from experiments.environments import pinned, python_of

ESTIMATORS = ("mean", "map", "mle")
METHODS = ("all", "grasp", "pc")
DAG_ROWS = 10_000
ESS = 1.0  # of the parameters that are estimated on a learned structure
# Figure 2c: rows; other learners of staged trees, how many variables they are tried on, and how they are called.
STAGED_ROWS = (1000, 10_000)
SIZES, ROWS = (5, 7, 10, 15, 20), (250, 500, *STAGED_ROWS)
STAGED_LIMIT = 3600.0
STAGED = {"best order": 10, "backward": 20, "cegpy": 5}
STAGED_TITLES = {name: f"stagedtrees, {title}" for name, title in staged_trees.METHODS.items()} | {"cegpy": "cegpy AHC"}


def cell(task: dict[str, Any]) -> dict[str, Any]:
    """Learn one model and return its divergences, both ways, for each estimator of the parameters."""
    p, n, seed = task["p"], task["n"], task["seed"]
    truth = random_cstree(p, random_state=seed)
    data = truth.sample_table(n, random_state=seed + 1000)
    result: dict[str, Any] = {}
    begin = process_time()
    if task["method"] == "oracle":
        structures = {"": truth.with_parameters(None)}
    else:
        learner = CStreeLearner(**PAPER_BOUND, candidates=task["method"], n_jobs=1, random_state=0).fit(data)
        structures = {"": learner.cstree_}
        if task["method"] != "all" and n == DAG_ROWS:
            dag = extension(learner.candidates_.sets)
            states = dict(zip(data.variables, data.states, strict=True))
            structures["dag "] = CStree.from_dag(dag, states=states)
    result["seconds"] = process_time() - begin
    for name, structure in structures.items():
        for estimator in ESTIMATORS:
            result[name + estimator] = both_ways(structure.fit_parameters(data, estimator, ess=ESS), truth)
    if task["method"] == "all":
        result["default"] = both_ways(learner.cstree_, truth)
    return result


def both_ways(learned: CStree, truth: CStree) -> list[float]:
    """Return D(learned || true) and D(true || learned)."""
    return [float(kl_divergence(learned, truth)), float(kl_divergence(truth, learned))]


def staged_cell(task: dict[str, Any], install: bool = True) -> dict[str, Any]:
    """Let another program learn a staged tree from the rows of :func:`cell`, and return its divergences, both ways."""
    truth = random_cstree(task["p"], random_state=task["seed"])
    data = truth.sample_table(task["n"], random_state=task["seed"] + 1000)
    if task["method"] == "cegpy":
        outcomes = staged_trees.all_outcomes(list(data.variables), data)
        python = python_of("cegpy", install)
        if python is None:
            return {"error": "cannot be installed"}
        with tempfile.TemporaryDirectory() as folder:
            paths = Path(folder, "train.csv"), Path(folder, "outcomes.csv")
            for path, rows in zip(paths, (data, outcomes), strict=True):
                write_benchpress(Table(rows.codes, rows.variables, rows.states), path)
            found = call(python, "peer_cegpy.py", *paths)
        if found["stopped"]:
            return {"stopped": found["process"], "final": True}
    else:
        dag = None
        if task["method"] == "backward":
            dag = extension(candidate_sets(data, "grasp").sets)
        found = staged_trees.learn(data, dag, STAGED_LIMIT)
        if "stopped" in found:
            return found
    if "error" in found:
        return {"error": found["error"][:200]}
    if "order" in found:
        outcomes = staged_trees.all_outcomes(found["order"], data)
    both = staged_trees.divergences(np.asarray(found["log_prob"]), truth.log_prob(outcomes))
    result = {"kl": both, "cpu": found["cpu"]}
    return result if task["method"] == "cegpy" else result | {"version": staged_trees.version()}


def staged_settings(task: dict[str, Any]) -> str:
    """Return what learned a staged tree of Figure 2c."""
    return pinned("cegpy") if task["method"] == "cegpy" else "stagedtrees (R), BIC, lambda 0"


def extension(sets: Any) -> nx.DiGraph:
    """Return a DAG with the edges of a CPDAG, given as parents and undirected neighbours of each variable.

    Sinks are removed one after the other (Dor and Tarsi). Where the graph has no consistent extension, as may happen
    with PC, the variable with the fewest directed edges out is taken for the next sink.
    """
    into = {v: set(k) for v, k in sets.items()}
    out = {v: {w for w in into if v in into[w]} for v in into}
    dag = nx.DiGraph()
    dag.add_nodes_from(into)
    left = set(into)
    while left:

        def badness(v: str) -> tuple[int, int, str]:
            children = (out[v] & left) - into[v]
            neighbours = out[v] & into[v] & left
            around = (into[v] | out[v]) & left
            unlinked = sum(1 for u in neighbours for w in around - {u} if w not in into[u] and u not in into[w])
            return len(children), unlinked, v

        sink = min(left, key=badness)
        dag.add_edges_from((parent, sink) for parent in into[sink] & left)
        left.remove(sink)
    return dag


def harder(task: dict[str, Any], stopped: dict[str, Any]) -> bool:
    """Say whether a task has as many variables and rows as one that took too long, and more of either."""
    same = task["method"] == stopped["method"]
    larger = task["p"] + task["n"] > stopped["p"] + stopped["n"]
    return same and larger and task["p"] >= stopped["p"] and task["n"] >= stopped["n"]


def main(argv: list[str] | None = None) -> None:
    options = arguments(__doc__, argv, models=10, variables=SIZES)
    sizes = (5, 7) if options.quick else tuple(options.variables)
    rows = (250, *STAGED_ROWS) if options.quick else ROWS
    tasks = [
        {"p": p, "n": n, "method": method, "seed": SEED + model}
        for p in sizes
        for n in rows
        for model in range(options.models)
        for method in ("oracle", *METHODS)
    ]
    results = compute("figure2", cell, tasks, options, harder)

    def median(p: int, n: int, method: str, column: str, way: int = 0) -> float:
        results_here = [
            result
            for task, result in zip(tasks, results, strict=True)
            if (task["p"], task["n"], task["method"]) == (p, n, method)
        ]
        found = [result[column][way] for result in results_here if "stopped" not in result]
        return float(np.median(found)) if 2 * len(found) > len(results_here) else math.nan

    models = "1 random model" if options.models == 1 else f"{options.models} random models"
    text = [
        f"The median over {models} for each p (the paper: 10; p to 20), in nats. D(learned ‖ true) is the divergence"
        " that the paper plots. `mean`, `map` and `mle` estimate the parameters by the posterior mean, the posterior"
        " mode, and relative frequencies, on the learned structure and with an equivalent sample size of"
        f" {ESS:g}, whatever the learner chose for its structure. Of the random models every staging with contexts of"
        " at most two variables has the same probability (`random_cstree` with its default method, `uniform`), and the"
        " parameters of each stage are uniform on the simplex. The paper says that its models come from the generator"
        " of its package, and no more." + _given_up(tasks, results, options.limit),
        table(
            ["p", "n", "oracle (mean)", *(f"{m} ({e})" for m in METHODS for e in ESTIMATORS)],
            [
                [
                    p,
                    n,
                    number(median(p, n, "oracle", "mean")),
                    *(number(median(p, n, m, e)) for m in METHODS for e in ESTIMATORS),
                ]
                for p in sizes
                for n in rows
            ],
        ),
        "The other way, D(true ‖ learned), which is infinite if the learned model rules out what can happen:",
        table(
            ["p", "n", "oracle (mean)", *(f"{m} ({e})" for m in METHODS for e in ESTIMATORS)],
            [
                [
                    p,
                    n,
                    number(median(p, n, "oracle", "mean", 1)),
                    *(number(median(p, n, m, e, 1)) for m in METHODS for e in ESTIMATORS),
                ]
                for p in sizes
                for n in rows
            ],
        ),
    ]
    text += [
        f"The DAG of phase 1 alone, from {DAG_ROWS:,} rows (posterior mean), next to the CStree that was learned"
        " with its candidates. Where the DAG is closer to the truth, candidates are the reason: a variable whose"
        " parents phase 1 missed has neighbours in their stead, many of which make up for one parent, and the DAG"
        " splits on all of them at once, where a stage has at most two context variables. With all variables as"
        " candidates there is nothing to make up for.",
        table(
            ["p", "GRaSP: DAG", "GRaSP: CStree", "PC: DAG", "PC: CStree", "all: CStree"],
            [
                [
                    p,
                    *(number(median(p, DAG_ROWS, m, e)) for m in ("grasp", "pc") for e in ("dag mean", "mean")),
                    number(median(p, DAG_ROWS, "all", "mean")),
                ]
                for p in sizes
            ],
        ),
        save_figure(
            _picture(median, sizes, rows),
            "figure2",
            "Median D(learned ‖ true) with posterior means for the parameters, by the number of variables, a panel for"
            " each kind of candidates and a line for each number of rows; with it the oracle, and the DAG of phase 1.",
            options,
        ),
        "## Figure 2c: staged trees",
        *_staged_trees(median, sizes, options),
    ]
    publish(
        "figure2",
        "Figure 2: accuracy on random CStrees",
        "\n\n".join(text),
        options,
        sources=("figure2", "figure2c"),
    )


def _given_up(tasks: list[dict[str, Any]], results: list[dict[str, Any]], limit: float) -> str:
    """Say how many models each cell has."""
    lost = Counter(
        (task["p"], task["n"], task["method"])
        for task, result in zip(tasks, results, strict=True)
        if "stopped" in result
    )
    if not lost:
        return " Every fit finished."
    listed = ", ".join(f"{count} of {m} at p = {p}, n = {n:,}" for (p, n, m), count in lost.items())
    return (
        f" Given up after {limit:.0f} CPU seconds, or not tried since a smaller one was: {listed}. These are left out"
        " of the medians; a cell is empty where they are more than half."
    )


def _staged_trees(median: Callable[..., float], sizes: Sequence[int], options: Any) -> list[str]:
    """Compute Figure 2c and return its part of the page."""
    here = set(staged_trees.METHODS) if staged_trees.version() is not None else set()
    if python_of("cegpy", install=not options.quick and not options.recorded) is not None:
        here.add("cegpy")
    done = [] if options.fresh else [record["task"] for record in measured("figure2c", options)]
    tasks = [
        {"p": p, "n": n, "method": method, "seed": SEED + model}
        for p in sizes
        for n in STAGED_ROWS
        for method in STAGED
        if p <= STAGED[method] and not (method == "best order" and n > STAGED_ROWS[0])
        for model in range(options.models)
    ]
    tasks = [task for task in tasks if task["method"] in here or task in done]
    function = partial(staged_cell, install=not options.quick)
    results = compute("figure2c", function, tasks, options, harder, staged_settings)
    found = [(task, result) for task, result in zip(tasks, results, strict=True) if result.get("stopped") != 0.0]
    methods = [method for method in STAGED if any(task["method"] == method for task, _ in found)]

    def theirs(p: int, n: int, method: str, way: int) -> float:
        here = [r for t, r in found if (t["p"], t["n"], t["method"]) == (p, n, method)]
        values = [r["kl"][way] for r in here if "kl" in r]
        return float(np.median(values)) if 2 * len(values) > len(here) else math.nan

    def values(p: int, n: int, way: int) -> list[float]:
        ours = [median(p, n, "grasp", "mle", way), median(p, n, "all", "default", way)]
        return [*ours, *(theirs(p, n, method, way) for method in methods)]

    titles = ["ours, GRaSP (mle)", "ours, all (default)", *(STAGED_TITLES[method] for method in methods)]
    tables = [
        table(["p", "n", *titles], [[p, n, *map(number, values(p, n, way))] for p in sizes for n in STAGED_ROWS])
        for way in (0, 1)
    ]
    missing = [method for method in staged_trees.METHODS if method not in methods]
    versions = sorted({r["version"] for t, r in found if t["method"] in staged_trees.METHODS and "kl" in r})
    told = [
        "Medians over the same models. The paper has candidates from GRaSP with relative frequencies (`mle`), the"
        " estimator of staged trees; beside it is our default: all variables as candidates, parameters averaged over"
        " stagings. cegpy clusters the situations in the order of the columns, which need not be the true one, and"
        f" estimates posterior means; it is tried for p = {STAGED['cegpy']} alone, since its time grows with the square"
        " of the number of situations.",
    ]
    if missing:
        told.append(
            "The columns of the paper's other learners, best order search and backward hill climbing of the R package"
            " stagedtrees, are left out: R or the package was not there when this was run."
        )
    else:
        told.append(
            f"stagedtrees {', '.join(versions)}: best order search to p = {STAGED['best order']} and for"
            f" {STAGED_ROWS[0]:,} rows, as in the paper; backward hill climbing starts with GRaSP's DAG. A fit is"
            f" given up after {STAGED_LIMIT:.0f} s."
        )
    picture = _staged_picture(titles, values, tuple(sizes))
    told += ["D(learned ‖ true):", tables[0], "D(true ‖ learned):", tables[1]]
    shows = "Median D(learned ‖ true) by the number of variables, of the columns of the first of these two tables."
    return [*told, save_figure(picture, "figure2c", shows, options, sources=("figure2", "figure2c"))]


def _staged_picture(titles: list[str], values: Callable[..., list[float]], sizes: Sequence[int]) -> Any:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(STAGED_ROWS), figsize=(10, 3.6), sharey=True)
    for n, ax in zip(STAGED_ROWS, axes, strict=True):
        for title, line in zip(titles, zip(*(values(p, n, 0) for p in sizes), strict=True), strict=True):
            ax.semilogy(sizes, line, marker="o", label=title)
        ax.set_title(f"n = {n:,}")
        ax.set_xticks(sizes)
        ax.set_xlabel("variables")
        ax.grid(alpha=0.3)
    axes[-1].legend(loc="upper left", bbox_to_anchor=(1.02, 1.0), fontsize=8, frameon=False)
    axes[0].set_ylabel("median D(learned ‖ true), nats")
    figure.tight_layout()
    return figure


def _picture(median: Any, sizes: tuple[int, ...], rows: tuple[int, ...]) -> Any:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(METHODS), figsize=(11, 3.6), sharey=True)
    for method, ax in zip(METHODS, axes, strict=True):
        for n in rows:
            ax.semilogy(sizes, [median(p, n, method, "mean") for p in sizes], marker="o", label=f"n = {n:,}")
        if method != "all":
            ax.semilogy(sizes, [median(p, DAG_ROWS, method, "dag mean") for p in sizes], "k--", label="DAG alone")
        ax.semilogy(
            sizes, [median(p, rows[-1], "oracle", "mean") for p in sizes], "k:", label=f"oracle, n = {rows[-1]:,}"
        )
        ax.set_title({"all": "all variables", "grasp": "candidates from GRaSP", "pc": "candidates from PC"}[method])
        ax.set_xticks(sizes)
        ax.set_xlabel("variables")
        ax.grid(alpha=0.3)
    axes[-1].legend(loc="upper left", bbox_to_anchor=(1.02, 1.0), fontsize=8, frameon=False)
    axes[0].set_ylabel("median D(learned ‖ true), nats,\nof posterior means")
    figure.tight_layout()
    return figure


if __name__ == "__main__":
    main()
