"""Ours on the very splits of real data on which R's learners were measured: bnlearn, BiDAG and stagedtrees.

Their figures are read from ``peers/r_real.csv`` in the directory ``CSLEARN_DATA`` and kept with ours, so that the page
can be written without them. pyAgrum's greedy hill climbing runs beside.
"""

import csv
import math
import os
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from time import process_time
from typing import Any

import numpy as np

from cslearn import CStreeLearner
from cslearn.data import Table, as_table, write_benchpress
from cslearn.datasets import load_alarm, load_dataset, load_sachs
from experiments.common import DEEP, arguments, complete, compute, defaults, number, publish, table
from experiments.environments import pinned
from experiments.learners import ask, dismiss, log_prob_of_dag, warmed

SEED = 0
SPLIT_SEED, SHARE = 20240, 0.7
N_ORDERS = 100  # of those that chains drew, for averaged prediction
# Names of the file of figures, where they are not those of `load_dataset`.
NAMES = {"st_Asym": "asym", "st_PhDArticles": "phd-articles"}
SETS = (
    "titanic",
    "chds",
    "lizards",
    "coronary",
    "st_Asym",
    "st_PhDArticles",
    "asia",
    "car",
    "sachs",
    "mushroom",
    "monks3",
)
ALARM = {"alarm1000": 1000, "alarm5000": 5000}
# The learners of the file by the package that they are of.
PACKAGES = {
    "bnlearn": ("hc_", "tabu_", "mmhc", "h2pc"),
    "BiDAG": ("bidag_map",),
    "stagedtrees": ("st_",),
    "BiDAG, averaged": ("bidag_avg",),
}
AGRUM = ("agrum_bdeu", "agrum_bic")


# ---------------------------------------------------------------- data
def rows_of(name: str) -> Table:
    """Return a set as the figures of R were measured on it: without missing cells, Sachs above the median or not."""
    if name in ALARM:
        return as_table(load_alarm())
    if name == "sachs":
        numbers = load_sachs(bins=None)
        return as_table((numbers > numbers.median()).astype(str))
    frame = load_dataset(NAMES.get(name, name))
    if name == "mushroom":
        frame = frame.drop(columns="veil-type")
    return as_table(frame[~frame.isin(["", "?"]).any(axis=1)])


def split_of(name: str, split: int) -> tuple[Table, Table]:
    """Return the rows to learn from and those held out."""
    rows = rows_of(name)
    if name in ALARM:
        return rows.take(np.arange(ALARM[name])), rows.take(np.arange(rows.n - 5000, rows.n))
    rng = np.random.default_rng(SPLIT_SEED)
    for _ in range(split + 1):
        shuffled = rng.permutation(rows.n)
    cut = round(SHARE * rows.n)
    return rows.take(shuffled[:cut]), rows.take(shuffled[cut:])


def figures(name: str, split: int) -> dict[str, list[float]]:
    """Return what R's learners reached on a split: log-likelihood a row held out and CPU seconds."""
    path = Path(os.environ.get("CSLEARN_DATA", ""), "peers/r_real.csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if (row["set"], row["split"]) == (name, f"s{split}")]
    return {row["learner"]: [float(row["test_loglik"]), float(row["cpu_s"] or "nan")] for row in rows}


# ---------------------------------------------------------------- one split
def cell(task: dict[str, Any], read: Any = figures) -> dict[str, Any]:
    """Learn with the defaults from a split; return the figures of all learners on it."""
    train, test = split_of(task["set"], task["split"])
    warmed("auto")
    begin = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner = CStreeLearner(**DEEP, n_jobs=1, random_state=SEED).fit(train)
    seconds = process_time() - begin
    n_orders = None if learner.posterior_.exact is not None else N_ORDERS
    found = {"ours": [float(np.mean(learner.cstree_.log_prob(test))), seconds]}
    begin = process_time()
    averaged = learner.posterior_.log_prob(test, n_orders=n_orders)
    found["ours, averaged"] = [float(np.mean(averaged)), seconds + process_time() - begin]
    found |= greedy_networks(train, test)
    return {"rows": [train.n, test.n], "variables": train.p, "found": found | read(task["set"], task["split"])}


def greedy_networks(train: Table, test: Table) -> dict[str, list[float]]:
    """Return what pyAgrum's hill climbing reaches with each score and with 1 or 0.1 added to each cell."""
    names = [f"V{j}" for j in range(train.p)]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "train.csv")
        write_benchpress(Table(train.codes, names, train.states), path)
        for learner in AGRUM:
            answer = ask(learner, path, False)
            if "edges" not in answer:
                continue
            import networkx as nx

            dag = nx.DiGraph([(train.variables[int(a[1:])], train.variables[int(b[1:])]) for a, b in answer["edges"]])
            for added in (1.0, 0.1):
                mean = float(np.mean(log_prob_of_dag(dag, train, test, added)))
                found[f"{learner} +{added:g}"] = [mean, answer["cpu"]]
    return found


def settings(task: dict[str, Any]) -> str:
    """Return our settings, the defaults, and the version of pyAgrum."""
    return f"{defaults(**DEEP)}; {pinned('pyagrum')}"


# ---------------------------------------------------------------- the page
Cells = Sequence[Mapping[str, Sequence[float]]]


def best_of(cells: Cells, prefixes: Sequence[str]) -> str | None:
    """Return the learner with the best mean over the splits, of those that were run on all of them."""
    names = [name for name in cells[0] if name.startswith(tuple(prefixes)) and all(name in cell for cell in cells)]
    return max(names, key=lambda name: fmean(cell[name][0] for cell in cells), default=None)


def difference(cells: Cells, ours: str, other: str) -> tuple[float, float]:
    """Return how far ours is ahead of another learner: the mean over the splits, and its standard error."""
    ahead = [cell[ours][0] - cell[other][0] for cell in cells]
    return fmean(ahead), stdev(ahead) / math.sqrt(len(ahead)) if len(ahead) > 1 else math.nan


def ours_beside(package: str) -> str:
    """Return which of ours is compared with a package: the averaged prediction with an average, or one tree."""
    return "ours, averaged" if "averaged" in package else "ours"


def told(ahead: float, error: float) -> str:
    """Return a difference with its standard error."""
    return f"{ahead:+.4f}" + ("" if math.isnan(error) else f" ± {error:.4f}")


def main(argv: list[str] | None = None) -> None:
    options = arguments(__doc__, argv, limit=600)
    names = ["titanic"] if options.quick else [*SETS, *ALARM]
    tasks = [{"set": name, "split": split} for name in names for split in range(1 if name in ALARM else 5)]
    results = compute("r_peers", partial(cell, read=figures), tasks, options, settings=settings)
    dismiss()
    if not complete("r_peers", results):
        return
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for task, result in zip(tasks, results, strict=True):
        found[task["set"]].append(result)
    publish("r_peers", "R's learners on the same splits", text(found), options, SEED)


def text(found: dict[str, list[dict[str, Any]]]) -> str:
    """Return the page."""
    packages = {**PACKAGES, "pyAgrum": ("agrum_",)}
    heads = ["set", "variables", "rows", "splits", "ours", "ours, averaged"]
    levels, leads, costs = [], [], []
    score = {package: [0, 0, 0, 0, 0] for package in packages}  # sets, ahead, clearly, behind, clearly
    for name, results in found.items():
        cells = [result["found"] for result in results]
        about = [name, results[0]["variables"], f"{results[0]['rows'][0]:,}", len(cells)]
        mean = {own: fmean(cell[own][0] for cell in cells) for own in ("ours", "ours, averaged")}
        level, lead, cost = [*about, *(number(v, 4) for v in mean.values())], [name], [name]
        cost.append(number(fmean(cell["ours"][1] for cell in cells), 2))
        for package, prefixes in packages.items():
            best = best_of(cells, prefixes)
            if best is None:
                level.append("")
                lead.append("")
                cost.append("")
                continue
            level.append(f"{fmean(cell[best][0] for cell in cells):.4f} ({best})")
            ahead, error = difference(cells, ours_beside(package), best)
            lead.append(told(ahead, error))
            cost.append(number(fmean(cell[best][1] for cell in cells), 2))
            clear = not math.isnan(error) and abs(ahead) > 2 * error
            counts = score[package]
            counts[0] += 1
            counts[1 if ahead > 0 else 3] += 1
            counts[2 if ahead > 0 else 4] += clear
        levels.append(level)
        leads.append(lead)
        costs.append(cost)
    return "\n\n".join(
        [
            "Mean log-likelihood of a row held out, in nats; larger is better. All learn from the same rows: five"
            " random splits of each set, 70 % to learn from, and for ALARM its first 1,000 or 5,000 rows, with the"
            " last 5,000 held out. *Ours* is the default fit, and *averaged* the prediction averaged over its"
            " posterior. Of each package the one learner is shown that has the best mean on the very rows held out,"
            " and its smoothing was chosen on them too, which is to its advantage. R's were measured elsewhere (R"
            " 4.2, bnlearn 4.9, BiDAG 2.1.4, stagedtrees of 2024), on two cores as well; pyAgrum's greedy hill"
            " climbing (BDeu or BIC, with 1 or 0.1 added to each cell) here, where alone monks3 was measured.",
            table([*heads, *packages], levels),
            "## Ours ahead by",
            "The mean of the differences over the splits, with its standard error; negative where ours is behind. One"
            " tree is compared with one model, and the averaged prediction with BiDAG's average.",
            table(["set", *packages], leads),
            "In short, where *clearly* is by more than two standard errors:",
            table(
                ["package", "sets", "ours ahead", "clearly", "ours behind", "clearly behind"],
                [[package, *counts] for package, counts in score.items()],
            ),
            "## CPU seconds",
            "Of learning, mean over the splits; BiDAG's average includes its sampling.",
            table(["set", "ours", *packages], costs),
        ]
    )


if __name__ == "__main__":
    main()
