"""Ours next to other learners on the same data: random CStrees, Bayesian networks and real data.

The others run in environments of their own, which are made on the first run (see `benchmarks.peers`). They learn a
graph; its parameters are then estimated from the same rows by adding 1 or 0.1 to every cell, whichever predicts better
on the rows held out, which is to their advantage. The authors' `cstrees` and cegpy estimate their own.
"""

import atexit
import json
import math
import os
import subprocess
import tempfile
import warnings
from functools import cache, cached_property, partial
from pathlib import Path
from time import process_time
from typing import Any

import networkx as nx
import numpy as np
from benchmarks.peers import HERE, LIMIT, call

from cslearn import CStreeLearner, random_cstree
from cslearn.data import Table, as_table, write_benchpress
from cslearn.datasets import load_alarm, load_dataset, load_mushroom, load_network, load_sachs, true_edges
from cslearn.errors import CslearnError
from cslearn.metrics import shd
from experiments.common import DEEP, PAPER_BOUND, SEED, arguments, compute, defaults, number, publish, table
from experiments.environments import pinned, python_of
from experiments.figure2 import extension

# What a learner is called on the page, its environment, and the CPU seconds that it may take.
# The averaged prediction is of the same fit as ours.
AVERAGED = "ours, averaged"
OURS: dict[str, dict[str, Any]] = {"ours": DEEP, AVERAGED: DEEP, "ours, beta 2": PAPER_BOUND}
DAGS = {
    "agrum_bdeu": ("pyAgrum greedy, BDeu", "pyagrum", 60),
    "agrum_bic": ("pyAgrum greedy, BIC", "pyagrum", 60),
    "agrum_miic": ("pyAgrum MIIC", "pyagrum", 60),
    "pgmpy_bdeu": ("pgmpy hill climbing, BDeu", "pgmpy", 60),
    "pgmpy_climbing": ("pgmpy hill climbing, BIC", "pgmpy", 60),
    "pgmpy_pc": ("pgmpy PC", "pgmpy", 60),
    "causallearn_pc": ("causal-learn PC", "causal-learn", 60),
    "causallearn_grasp": ("causal-learn GRaSP", "causal-learn", 20),
}
# And the candidates that the package of the authors is given.
TREES = {
    "cstrees": ("cstrees (PC)", "cstrees", "pc"),
    "cstrees_grasp": ("cstrees (GRaSP)", "cstrees", "grasp"),
    "cegpy": ("cegpy AHC", "cegpy", ""),
}
LEARNERS = [*OURS, *DAGS, *TREES]
TITLES = {name: name for name in OURS} | {name: title for name, (title, *_) in (DAGS | TREES).items()}
HOMES = {name: home for name, (_, home, _) in (DAGS | TREES).items()}
SIZES, ROWS = (5, 7, 10, 15, 20), (250, 500, 1000, 10_000)
NETWORKS = (
    "asia",
    "cancer",
    "earthquake",
    "survey",
    "sachs",
    "child",
    "alarm",
)  # `experiments.networks` has larger ones
REAL = ("alarm", "sachs", "mushroom", "titanic", "coronary", "car", "lizards", "chds", "phd-articles", "monks3")
LARGE = ("child", "alarm", "mushroom")  # many variables of several states: minutes with GRaSP
SLOW = ("causallearn_grasp", *TREES)  # some take more than 5 s for 20 variables
KINDS = {"cstree": "random CStrees", "network": "networks", "real": "real data sets"}
N_TEST = 10_000
MOVES = 5000
N_ORDERS = 100  # of the draws of chains, for averaged prediction
# The event tree of cegpy has a leaf for every outcome, and its clustering compares all pairs of situations.
MOST_OUTCOMES = 64


def settings(task: dict[str, Any]) -> str:
    """Return what a cell was computed with: our settings, or another program with its version."""
    learner = task["learner"]
    return defaults(**OURS[learner]) if learner in OURS else pinned(HOMES[learner])


def models_of(learner: str, data: dict[str, Any], most: int) -> int:
    """Return on how many models, samples or splits a learner is tried: fewer where it or the data are slow."""
    return min(most, 3) if learner in SLOW or data.get("name") in LARGE else most


# ---------------------------------------------------------------- data
def data_of(task: dict[str, Any]) -> tuple[Table, Table, Any, Any]:
    """Return the rows to learn from, those held out, the true DAG and the true model; None where it is not known."""
    seed = task["seed"]
    if task["kind"] != "real":
        drawn = task["kind"] == "cstree"
        truth = random_cstree(task["p"], random_state=seed) if drawn else load_network(task["name"])
        train = truth.sample_table(task["n"], random_state=seed + 1000)
        test = truth.sample_table(N_TEST, random_state=seed + 2000)
        return train, test, truth.to_dag(), truth
    data = real_table(task["name"])
    shuffled = np.random.default_rng(seed).permutation(data.n)
    cut = round(0.7 * data.n)
    train = data.take(np.sort(shuffled[:cut]))
    dag = None
    if task["name"] in ("alarm", "sachs"):
        dag = nx.DiGraph(true_edges(task["name"]))
        dag.add_nodes_from(data.variables)
    return train, data.take(np.sort(shuffled[cut:])), dag, None


@cache
def real_table(name: str) -> Table:
    """Return a real data set without missing cells."""
    if name == "sachs":
        return as_table(load_sachs())
    if name == "alarm":
        return as_table(load_alarm())
    frame = load_mushroom(complete=True) if name == "mushroom" else load_dataset(name)
    frame = frame[(frame != "?").all(axis=1)]
    return as_table(frame.loc[:, frame.nunique() > 1])


def log_prob_of_dag(dag: nx.DiGraph, train: Table, test: Table, added: float) -> np.ndarray:
    """Return the log-probability of each row held out, with parameters from counts and `added` in each cell."""
    at = {v: j for j, v in enumerate(train.variables)}
    total = np.zeros(test.n)
    for v in train.variables:
        parents = [at[w] for w in sorted(dag.predecessors(v), key=at.__getitem__)] if v in dag else []
        r = train.cards[at[v]]
        both = np.vstack([train.codes[:, parents], test.codes[:, parents]])
        rows = np.unique(both, axis=0, return_inverse=True)[1].reshape(-1) if parents else np.zeros(len(both), int)
        seen, asked = rows[: train.n], rows[train.n :]
        counts = np.full((rows.max() + 1, r), added)
        np.add.at(counts, (seen, train.codes[:, at[v]]), 1.0)
        total += np.log(counts[asked, test.codes[:, at[v]]] / counts[asked].sum(axis=1))
    return total


# ---------------------------------------------------------------- learners
_served: dict[str, Any] = {}


def ask(learner: str, path: Path, install: bool, limit: float | None = None) -> dict[str, Any]:
    """Let another program learn edges, within a limit of CPU seconds: its own, which is final, unless one is given."""
    _, home, own = DAGS[learner]
    python = python_of(home, install)
    if python is None:
        return {"error": "cannot be installed"}
    if learner not in _served:
        command = [python, HERE / "peer_structures.py", learner]
        pipe = subprocess.PIPE
        clean = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        clean["PYTHONHASHSEED"] = "0"  # pgmpy takes the first of equally good moves, in the order of a set
        _served[learner] = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, env=clean
        )
    process = _served[learner]
    process.stdin.write(json.dumps([str(path), learner, limit or own]) + "\n")
    process.stdin.flush()
    line = process.stdout.readline()
    if not line:
        process.communicate()
        del _served[learner]
        return {"stopped": limit} if limit else {"stopped": own, "final": True}
    return json.loads(line)


@atexit.register
def dismiss() -> None:
    """End the other programs."""
    while _served:
        _, process = _served.popitem()
        process.terminate()
        process.communicate()


@cache
def warmed(beta: Any) -> None:
    """Compile what is compiled, so that it does not count."""
    for cards in ([2] * 6, [2, 3, 4, 2, 3]):
        rows = random_cstree(cards, random_state=0).sample_table(200, random_state=0)
        CStreeLearner(beta=beta, n_jobs=1, random_state=0).fit(rows)


def ours(settings: dict[str, Any], train: Table, test: Table) -> dict[str, Any]:
    """Learn with our defaults, but for the settings; predict by the learned tree, and averaged over the posterior."""
    warmed(settings["beta"])
    begin = process_time()
    learner = CStreeLearner(**settings, n_jobs=1, random_state=0).fit(train)
    seconds = process_time() - begin
    n_orders = None if learner.posterior_.exact is not None else N_ORDERS
    begin = process_time()
    averaged = float(np.mean(learner.posterior_.log_prob(test, n_orders=n_orders)))
    tree = learner.cstree_
    return {
        "cpu": seconds,
        "dag": tree.to_dag(),
        "log_prob": tree.log_prob(test),
        "averaged": {"held out": averaged, "cpu": seconds + process_time() - begin},
    }


def tree_peer(name: str, train: Path, test: Path, install: bool) -> dict[str, Any]:
    """Let `cstrees` or cegpy learn a tree and say the probability of the rows held out."""
    _, home, candidates = TREES[name]
    python = python_of(home, install)
    if python is None:
        return {"error": "cannot be installed"}
    if candidates:
        found = call(python, "peer_cstrees.py", train, test, candidates, MOVES)
    else:
        found = call(python, "peer_cegpy.py", train, test)
    seconds = found.pop("process")
    if found.pop("stopped"):
        return {"stopped": seconds, "final": True}
    if "error" in found:
        return {"error": found["error"][:200]}
    if isinstance(found["cpu"], dict):
        found["cpu"] = sum(found["cpu"].values())
    return found


def cell(task: dict[str, Any], install: bool = True, limit: float | None = None) -> dict[str, Any]:
    """Learn from one data set with one learner: held-out log-likelihood, structural distance, CPU seconds.

    With a `limit` it is that of all other learners that learn graphs, in place of their own.
    """
    train, test, true_dag, truth = data_of(task)
    learner = task["learner"]
    if learner in OURS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = ours(OURS[learner], train, test)
    else:
        with tempfile.TemporaryDirectory() as folder:
            paths = Path(folder, "train.csv"), Path(folder, "test.csv")
            names = [f"V{j}" for j in range(train.p)]  # what every program can read
            for path, rows in zip(paths, (train, test), strict=True):
                write_benchpress(Table(rows.codes, names, rows.states), path)
            found = ask(learner, paths[0], install, limit) if learner in DAGS else tree_peer(learner, *paths, install)
        if "stopped" in found or "error" in found:
            return found
        back = dict(zip(names, train.variables, strict=True))
        if "edges" in found:
            parents: dict[str, set[str]] = {v: set() for v in train.variables}
            for a, b in found["edges"]:
                parents[back[b]].add(back[a])
            for a, b in found.get("undirected", ()):
                parents[back[a]].add(back[b])
                parents[back[b]].add(back[a])
            found["dag"] = extension({v: tuple(sorted(k)) for v, k in parents.items()})
        if learner in DAGS:
            choices = {added: log_prob_of_dag(found["dag"], train, test, added) for added in (1.0, 0.1)}
            found["added"] = max(choices, key=lambda added: choices[added].mean())
            found["log_prob"] = choices[found["added"]]
    result = {"held out": float(np.mean(found["log_prob"])), "cpu": found["cpu"]}
    if truth is not None:
        result["true"] = float(np.mean(truth.log_prob(test)))
    if "averaged" in found:
        result["averaged"] = found["averaged"]
    if "dag" in found:
        result["edges"] = found["dag"].number_of_edges()
        if true_dag is not None:
            result["shd"] = shd(true_dag, found["dag"], cpdag=True)
    return result


def harder(task: dict[str, Any], stopped: dict[str, Any]) -> bool:
    """Say whether a task is of the same kind and larger than one that took too long, or the same with another seed."""
    if task["learner"] != stopped["learner"] or task["kind"] != stopped["kind"]:
        return False
    if task["kind"] == "cstree":
        return task["p"] >= stopped["p"] and task["n"] >= stopped["n"]
    return task["name"] == stopped["name"] and task.get("n", 0) >= stopped.get("n", 0)


# ---------------------------------------------------------------- the page
def main(argv: list[str] | None = None) -> None:
    options = arguments(__doc__, argv, models=5)
    # Environments are made before processes share the cells; a quick run has what is installed already.
    install = not options.quick and not options.recorded
    pythons = {name: python_of(HOMES[name], install) for name in LEARNERS if name not in OURS}
    learners = [name for name in LEARNERS if not options.quick or name in OURS or pythons[name]]
    sizes, rows = ((5,), (250,)) if options.quick else (SIZES, ROWS)
    networks, samples = (("asia",), (250,)) if options.quick else (NETWORKS, ROWS[2:])
    real = ("titanic",) if options.quick else REAL  # which is built in
    seeds = range(SEED, SEED + options.models)
    sets: list[dict[str, Any]] = []
    sets += [{"kind": "cstree", "p": p, "n": n, "seed": s} for p in sizes for n in rows for s in seeds]
    sets += [{"kind": "network", "name": name, "n": n, "seed": s} for name in networks for n in samples for s in seeds]
    sets += [{"kind": "real", "name": name, "seed": s} for name in real for s in seeds]
    missing = {("network", name) for name in networks if not at_hand(name, True)}
    missing |= {("real", name) for name in real if not at_hand(name, False)}
    sets = [data for data in sets if (data["kind"], data.get("name")) not in missing]
    tasks = [
        {**data, "learner": learner}
        for kind in KINDS
        for learner in learners
        if learner != AVERAGED
        for data in sets
        if data["kind"] == kind
        and data["seed"] < SEED + models_of(learner, data, options.models)
        and _suits(learner, data)
    ]
    results = compute("learners", partial(cell, install=not options.quick), tasks, options, harder, settings)
    dismiss()
    found = with_averages(dict(zip(map(name_of, tasks), results, strict=True)))
    if options.recorded:
        done = [task_of(name) for name, result in found.items() if result.get("stopped") != 0.0]
        sets = [data for data in sets if any(data.items() <= task.items() for task in done)]
        learners = [name for name in learners if any(task["learner"] == name for task in done)]
    page = Page(found, sets, learners)
    publish("learners", "Other learners on the same data", page.text(options), options)
    print(page.short())


def with_averages(found: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the results with the averaged predictions of our fits as a learner of their own."""
    more = {}
    for name, result in found.items():
        task = task_of(name)
        if task["learner"] == "ours" and "averaged" in result:
            about = {key: result[key] for key in ("true",) if key in result}
            more[name_of({**task, "learner": AVERAGED})] = result["averaged"] | about
    return found | more


def name_of(task: dict[str, Any]) -> str:
    """Return the name of a task among results."""
    return json.dumps(task, sort_keys=True)


def task_of(name: str) -> dict[str, Any]:
    """Return the task that has a name."""
    return json.loads(name)


def at_hand(name: str, network: bool) -> bool:
    """Say whether a network or a data set can be read; if not, print why."""
    try:
        load_network(name) if network else real_table(name)
    except CslearnError as error:
        print(error)
        return False
    return True


@cache
def _outcomes(name: str | None, network: bool, p: int | None) -> int:
    if name is None:
        return 2 ** (p or 0)
    states = load_network(name).states.values() if network else real_table(name).states
    return math.prod(map(len, states))


def _suits(learner: str, data: dict[str, Any]) -> bool:
    """Say whether a learner is tried: cegpy makes a leaf for every outcome, and `cstrees` lists all stagings."""
    if learner == "causallearn_grasp" and data.get("name") in LARGE:
        return False
    if learner not in TREES:
        return True
    if learner == "cegpy":
        return _outcomes(data.get("name"), data["kind"] == "network", data.get("p")) <= MOST_OUTCOMES
    return data["kind"] == "cstree" or data["name"] in ("sachs", "asia", "titanic", "coronary")


class Page:
    """The results in tables."""

    def __init__(self, found: dict[str, Any], sets: list[dict[str, Any]], learners: list[str]) -> None:
        self.found, self.sets, self.learners = found, sets, learners
        self.others = [name for name in learners if name not in OURS]
        measured = {task_of(name)["learner"] for name, result in found.items() if "cpu" in result}
        self.ours = [name for name in learners if name in OURS and name in measured]
        # What is one row: how it is called in a table of its kind, and what its data have in common.
        self.groups: dict[str, list[tuple[list[Any], dict[str, Any]]]] = {kind: [] for kind in KINDS}
        for data in sets:
            group = {key: value for key, value in data.items() if key != "seed"}
            if all(group != other for _, other in self.groups[data["kind"]]):
                names = [data["p"], f"{data['n']:,}"] if data["kind"] == "cstree" else [data["name"]]
                names += [f"{data['n']:,}"] if data["kind"] == "network" else []
                self.groups[data["kind"]].append((names, group))

    @cached_property
    def own(self) -> str:
        """Which of ours others are compared with: the first that was run on all data, by default the first."""
        whole = (
            name for name in self.ours if all(self.count(name, g) for kind in self.groups.values() for _, g in kind)
        )
        return next(whole, self.ours[0])

    # -------------------------------------------------------- what was found
    def results(self, learner: str, group: dict[str, Any]) -> dict[int, dict[str, Any]]:
        """Return the results of a learner on some data, by seed."""
        keys = {d["seed"]: name_of({**d, "learner": learner}) for d in self.sets if group.items() <= d.items()}
        return {
            seed: self.found[key]
            for seed, key in keys.items()
            if key in self.found and self.found[key].get("stopped") != 0.0
        }

    def count(self, learner: str, group: dict[str, Any]) -> int:
        """Return the number of models for which a learner has a result."""
        return sum("cpu" in result for result in self.results(learner, group).values())

    def median(self, learner: str, group: dict[str, Any], what: str) -> float | str:
        """Return a median over models, or why there is none."""
        here = list(self.results(learner, group).values())
        if not here:
            return math.nan
        for reason, word in (("error", "failed"), ("stopped", "too long")):
            if 2 * sum(reason in result for result in here) >= len(here):
                return word
        good = [result for result in here if "cpu" in result]
        if what == "gap":
            values = [result["true"] - result["held out"] for result in good]
        else:
            values = [result[what] for result in good if what in result]
        return float(np.median(values)) if values else math.nan

    def ahead(self, learner: str, group: dict[str, Any], of: str | None = None) -> tuple[float, float, int]:
        """Return how much more log-likelihood a row held out has than with another learner, over the same models.

        The mean difference, its standard error, and the number of models.
        """
        theirs, ours = self.results(learner, group), self.results(of or self.own, group)
        pairs = [(theirs[seed].get("held out"), ours[seed].get("held out")) for seed in theirs if seed in ours]
        differences = [a - b for a, b in pairs if a is not None and b is not None]
        n = len(differences)
        if not n:
            return -math.inf, math.nan, 0
        error = float(np.std(differences, ddof=1) / math.sqrt(n)) if n > 1 else math.nan
        return float(np.mean(differences)), error, n

    def _others_of_most_models(self, group: dict[str, Any], of: str | None = None) -> list[str]:
        tried = {name: n for name in self.others if (n := self.ahead(name, group, of)[2])}
        return [name for name, n in tried.items() if n == max(tried.values())]

    def best_other(self, group: dict[str, Any], what: str) -> str | None:
        """Return the other learner with the best median, which is what tables show, of those on the most models."""
        medians = {name: self.median(name, group, what) for name in self._others_of_most_models(group)}
        best = max if what == "held out" else min
        finite = {name: value for name, value in medians.items() if isinstance(value, float) and not math.isnan(value)}
        return best(finite, key=finite.__getitem__, default=None)

    def hardest_other(self, group: dict[str, Any], of: str | None = None) -> str | None:
        """Return the other learner that is furthest ahead of ours in the mean, or least behind."""
        tried = self._others_of_most_models(group, of)
        return max(tried, key=lambda name: self.ahead(name, group, of)[0], default=None)

    def clearly_ahead(self, group: dict[str, Any], of: str | None = None) -> list[str]:
        """Return the other learners that are ahead of ours by more than two standard errors."""
        leads = {name: self.ahead(name, group, of) for name in self._others_of_most_models(group, of)}
        return [name for name, (lead, error, _) in leads.items() if lead > 2 * error]

    def place(self, group: dict[str, Any]) -> str:
        """Return the place of ours among all learners, by the mean difference over the same models."""
        tried = [name for name in self.learners if name != self.own and self.ahead(name, group)[2]]
        before = sum(self.ahead(name, group)[0] > 0 for name in tried)
        return f"{before + 1} of {len(tried) + 1}"

    # -------------------------------------------------------- tables
    def body(self, groups: list[tuple[list[Any], dict[str, Any]]], what: str, digits: int) -> list[list[Any]]:
        """Return rows of medians; bold is the best of those over the most models.

        A median over fewer models than others of its column has their number behind it.
        """
        rows = []
        counts = [[self.count(learner, group) for learner in self.learners] for _, group in groups]
        usual = [max(column) for column in zip(*counts, strict=True)]
        for (names, group), tried in zip(groups, counts, strict=True):
            values = [self.median(learner, group, what) for learner in self.learners]
            full = [n == max(tried) for n in tried]
            finite = [
                v for v, whole in zip(values, full, strict=True) if whole and isinstance(v, float) and not math.isnan(v)
            ]
            best = (max if what == "held out" else min)(finite, default=None)
            shown = []
            for v, whole, n, most in zip(values, full, tried, usual, strict=True):
                text = v if isinstance(v, str) else number(v, digits)
                same = whole and best is not None and text == number(best, digits)
                fewer = f" ({n})" if isinstance(v, float) and text and n < most else ""
                shown.append((f"**{text}**" if same and what != "cpu" else text) + fewer)
            rows.append([*names, *shown])
        return rows

    def label(self, kind: str, names: list[Any]) -> str:
        """Return what a row is called where all kinds are in one table."""
        if kind == "real":
            return str(names[0])
        source = f"random CStree, {names[0]} variables" if kind == "cstree" else f"network {names[0]}"
        return f"{source}, {names[1]} rows"

    def short(self) -> str:
        """Return a table with one row for all data: ours, and the best of the others."""
        rows = []
        compared = [name for name in self.ours if name in (self.own, AVERAGED)]
        for kind, groups in self.groups.items():
            what, digits = ("held out", 3) if kind == "real" else ("gap", 4)
            for names, group in groups:
                mine = [self.median(name, group, what) for name in self.ours]
                row = [self.label(kind, names), *(v if isinstance(v, str) else number(v, digits) for v in mine)]
                best = self.best_other(group, what)
                if best is None:
                    rows.append([*row, "", "", *("" for _ in compared), ""])
                    continue
                value = self.median(best, group, what)
                shown = value if isinstance(value, str) else number(value, digits)
                leads = [self.ahead(best, group, own) for own in compared]
                told = [_with_error(-behind, error) if n else "" for behind, error, n in leads]
                rows.append([*row, shown, TITLES[best], *told, max(n for *_, n in leads)])
        ahead = [f"{name} ahead by (nats a row)" for name in compared]
        return table(["data", *self.ours, "best other", "which", *ahead, "models"], rows)

    def losses(self) -> list[str]:
        """Say where another learner predicts better than ours, by how much, and what was measured of it."""
        if not self.others:
            return ["No other learner was run."]
        rows: list[list[Any]] = []
        told = []
        for kind, groups in self.groups.items():
            worse = clear = 0
            for names, group in groups:
                best = self.hardest_other(group)
                lost, error, n = self.ahead(best, group) if best else (-math.inf, math.nan, 0)
                if best is None or lost <= 0:
                    continue
                worse += 1
                clear += bool(self.clearly_ahead(group))
                deeper = [self.ahead(best, group, own) for own in self.ours if own != self.own]
                shown = [_with_error(d, e) if k else "not tried" for d, e, k in deeper]
                reason = self.reason(best, group)
                place = self.place(group)
                rows.append([self.label(kind, names), TITLES[best], n, _with_error(lost, error), *shown, place, reason])
            told.append(f"{worse} of {len(groups)} {KINDS[kind]} ({clear} clearly)")
        first = (
            "Another learner has the larger mean log-likelihood of rows held out, over the models that both were run"
            f" on, for {', '.join(told)}; *clearly* is by more than two standard errors. The best of"
            f" {len(self.others)} others is picked after the fact, with its pseudo-count, so a part of these is chance"
            " even then. Differences are means with their standard errors, in nats a row; *place* is that of"
            f" *{self.own}* among all learners, by these differences. The other learner of a row is the one that is"
            " furthest ahead of it by them, which need not be the one with the best median."
        )
        behind = [
            f"{own.removeprefix('ours, ')} behind by" for own in [self.own, *(o for o in self.ours if o != self.own)]
        ]
        heads = ["data", "other", "models", *behind, "place", "what was measured"]
        return [first, table(heads, rows)] if rows else [first]

    def reason(self, best: str, group: dict[str, Any]) -> str:
        """Say what the measurements tell of a difference, and no more."""
        lost, error, n = self.ahead(best, group)
        if n < 2:
            return "one model only"
        if lost <= 2 * error:
            others = [f"{TITLES[o]} by {_with_error(*self.ahead(o, group)[:2])}" for o in self.clearly_ahead(group)]
            return "within two standard errors" + (f"; clearly ahead: {', '.join(others)}" if others else "")
        told = []
        for own in self.ours:
            behind, spread, k = self.ahead(best, group, own)
            if own != self.own and k and behind <= max(0.0, 2 * (0.0 if math.isnan(spread) else spread)):
                told.append(f"{own.removeprefix('ours, ')} is {'ahead' if behind < 0 else 'not clearly behind'}")
        edges = [self.median(name, group, "edges") for name in (self.own, best)]
        if not told:
            told.append("neither averaging nor contexts of two make up for it")
        if all(isinstance(e, float) and not math.isnan(e) for e in edges):
            told.append(f"ours has {edges[0]:.0f} edges, the other {edges[1]:.0f}")
        return "; ".join(told)

    def text(self, options: Any) -> str:
        """Return the page."""
        titles = [TITLES[learner] for learner in self.learners]
        versions = sorted({pinned(HOMES[name]) for name in self.others})
        limits = sorted({limit for _, _, limit in DAGS.values()})
        text = [
            "Every learner learns from the same rows, and is judged by the log-likelihood of rows held out. Figures are"
            " medians over random models, samples or splits, at most so many:",
            self.how_many(),
            "Where a figure rests on fewer than others of its column, as for large networks and data, the number is in"
            " brackets behind it. Empty cells were not tried.",
            "*Ours* grows contexts as deep as the data ask for (`beta='auto'`); *averaged* is the prediction of the"
            " same fit averaged over orders and stagings"
            f" (`posterior_.log_prob`; all orders, or {N_ORDERS} that chains drew), which is no single model, as the"
            " others are; with *beta 2* stages have at most two context variables, as in the paper. Others are compared"
            f" with *{self.own}*, the first of these that was run on all data.",
            f"The others: {', '.join(versions) or 'none'}. They learn a graph from the"
            " rows; the graph's parameters are relative frequencies with 1 or 0.1 added to each cell, whichever"
            " predicts the rows held out better, which is to their advantage. `cstrees` (candidates from PC or GRaSP,"
            f" {MOVES:,} moves) and cegpy (agglomerative clustering of stages in the order of the columns, which for"
            " random CStrees need not be the true one) estimate their own. A graph with undirected edges is completed"
            " to a DAG. A"
            f" learner is given up after {limits[-1]} CPU seconds (GRaSP {limits[0]}, `cstrees` and cegpy {LIMIT:.0f}"
            " seconds of the clock), as are larger data of the same kind.",
            "Bold is the best median of those learners that were run on the most models. The last table compares ours"
            " with the learner that is furthest ahead in the mean over the same models, which may be another one.",
            "## Ours and the best other",
            "All data in short: the gap to the truth for random CStrees and networks (smaller is better), the"
            " log-likelihood for real data (larger is better). The best other has the best median, which is shown, of"
            " those that were run on the most models. *Ours ahead by* compares ours with that learner: the mean of the"
            " differences in log-likelihood over the same models, with its standard error. A difference of means may"
            " have another sign than that of the medians.",
            self.short(),
            "## Random CStrees",
            f"The gap to the truth in mean log-likelihood of {N_TEST:,} rows held out, in nats: an estimate of"
            " D(true ‖ learned). Smaller is better. The divergence itself is never negative; a negative estimate is"
            " chance, that of the rows held out.",
            table(["p", "n", *titles], self.body(self.groups["cstree"], "gap", 4)),
        ]
        if self.groups["network"]:
            text += [
                "## Bayesian networks",
                "The same gap, for rows drawn from networks of the bnlearn repository. These have no context-specific"
                " structure but what their tables happen to have.",
                table(["network", "n", *titles], self.body(self.groups["network"], "gap", 4)),
            ]
        with_graph = [
            *(([f"CStree, p = {names[0]}", names[1]], group) for names, group in self.groups["cstree"]),
            *(([f"network {names[0]}", names[1]], group) for names, group in self.groups["network"]),
            *(([f"{names[0]} (real)", ""], g) for names, g in self.groups["real"] if names[0] in ("alarm", "sachs")),
        ]
        graphs = [group for _, group in with_graph]
        others = [([*names, ""], group) for names, group in self.groups["real"] if group not in graphs]
        text += [
            "## Real data",
            "Mean log-likelihood of 30 % of the rows, held out, in nats; larger is better. Rows with missing cells are"
            " left out; Sachs' measurements are cut at the medians.",
            table(["data", *titles], self.body(self.groups["real"], "held out", 3)),
            "## Structure",
            "Structural Hamming distance between the CPDAGs of the learned and the true graph. For ALARM's and Sachs'"
            " real data the graph is the one that is agreed on.",
            table(["data", "n", *titles], self.body(with_graph, "shd", 0)),
            "## CPU seconds",
            "Of learning alone, without loading the program and reading the data, one thread.",
            table(["data", "n", *titles], self.body([*with_graph, *others], "cpu", 2)),
            "## Where ours is not best",
            *self.losses(),
        ]
        return "\n\n".join(text)

    def how_many(self) -> str:
        """Return a table of how many models, samples or splits each learner was run on, by kind of data."""
        kinds = [kind for kind, groups in self.groups.items() if groups]
        rows = []
        for learner in self.learners:
            most = [max(self.count(learner, group) for _, group in self.groups[kind]) for kind in kinds]
            rows.append([TITLES[learner], *(n or "not run" for n in most)])
        return table(["models, samples or splits", *(KINDS[kind] for kind in kinds)], rows)


def _with_error(value: float, error: float) -> str:
    return number(value) + ("" if math.isnan(error) else f" ± {number(error)}")


if __name__ == "__main__":
    main()
