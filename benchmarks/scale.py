"""Accuracy at scale: the gap to the truth against time, and what the screen of candidates keeps.

The gap is that in held-out mean log-likelihood, as a multiple of the gap with the true structure and estimated
parameters. *Greedy* (`search="greedy"`) and *default* have contexts as deep as the data support; the models have at
most two variables in a context, which these fits are not told. All other columns are told, with `beta=2`: the search
climbs from a random order to a local optimum; *first tree* and *climbing* stop there, the first with a fixed prior and
plain estimates, the second with what the data choose; *moves* go on from there by the sampler. These are the gaps of
one learned CStree; *averaged* is that of the prediction averaged over stagings and 30 drawn orders. pyAgrum's greedy
hill climbing runs beside, on the same rows.
"""

import argparse
import json
import subprocess
import sys
import warnings
from time import perf_counter, process_time
from typing import NamedTuple

import numpy as np

from benchmarks.peers import Case, climbed
from benchmarks.report import FRESH_SEED, peak_memory_mb, picture, publish, table
from benchmarks.speed import warm_up
from cslearn import Chains, CStreeLearner, random_cstree
from cslearn.data import Table
from cslearn.errors import ConvergenceWarning

LARGE = [500, 1000]
CASES = [(50, 1000, 20), (50, 10_000, 5), (100, 1000, 5), (100, 10_000, 5), (500, 1000, 3)]
# Averages are taken up to this many variables, over so many orders, and for so many of the test rows.
AVERAGED, N_ORDERS, N_ROWS = 50, 30, 4000
CLIMBING: dict[str, object] = {"search": Chains(n_iter=1, n_chains=1)}
STAGES: dict[str, dict[str, object]] = {
    "greedy": {"beta": "auto", "search": "greedy"},
    "default": {"beta": "auto"},
    "first tree": {"beta": 2, **CLIMBING, "prior": "tree", "ess": 5.0, "parameters": "mean"},
    "climbing": {"beta": 2, **CLIMBING},
    "1,000 moves": {"beta": 2, "search": Chains(n_iter=1000)},
    "`beta=2`": {"beta": 2},
}
DEEP = 2  # The first so many are as deep as the data support.

BESIDE = """\
Measured elsewhere, on other models of this kind and a machine with two cores: hill climbing of R's bnlearn (BIC) ended
at a gap of 3.4 after 0.14 s (p = 50, n = 1,000), 3.6 after 0.7 s (100; 1,000), 3.4 after 5 s (100; 10,000) and 4.4
after 32 s (500; 1,000); iterative order MCMC of R's BiDAG took 4 s, 12 s and 82 s (p = 20, 50, 100; n = 1,000). R
is not needed here, and was not run."""


class Trial(NamedTuple):
    """What one model gave: CPU seconds and gap for each stage of the search and for pyAgrum, and other gaps."""

    stages: list[tuple[float, float]]
    climbed: tuple[float, float]
    averaged: float = np.nan
    screened: float = np.nan
    kept: float = np.nan
    recall: float = np.nan


def sampled(p: int, n: int, seed: int) -> Case:
    """Return a random model with rows to learn from and rows held out."""
    truth = random_cstree(p, random_state=seed)
    train, test = truth.sample_table(n, random_state=seed + 1000), truth.sample_table(20_000, random_state=seed + 2000)
    return Case(f"p = {p}, n = {n:,}", train, test, truth, "gap")


def trial(p: int, n: int, seed: int) -> Trial:
    case = sampled(p, n, seed)
    truth, train, test = case.truth, case.train, case.test
    stages = []
    for settings in STAGES.values():
        begin = process_time()
        learner = CStreeLearner(n_jobs=1, random_state=0, **settings).fit(train)
        stages.append((process_time() - begin, case.quality(learner.cstree_.log_prob(test))))
    other = climbed(sys.executable, case, "BDeu")
    beside = (other["cpu"], case.quality(other["log_prob"])) if "log_prob" in other else (np.nan, np.nan)
    averaged = np.nan
    if p <= AVERAGED:
        rows = Table(test.codes[:N_ROWS], test.variables, test.states)
        log_prob = learner.posterior_.log_prob(rows, n_orders=N_ORDERS)
        averaged = np.mean(case.true[:N_ROWS] - log_prob) / np.mean(case.true[:N_ROWS] - case.oracle[:N_ROWS])
    edges = [(parent, v) for v in truth.order for parent in truth.parents[v]]
    if learner.candidates_.method == "screen":
        return Trial(stages, beside, averaged, recall=recall(learner, edges))
    found = [(parent, v) for parent, v in edges if parent in learner.cstree_.parents[v]]
    screened = CStreeLearner(beta=2, candidates="screen", search=Chains(n_iter=1000), random_state=0).fit(train)
    gap = case.quality(screened.cstree_.log_prob(test))
    return Trial(stages, beside, averaged, gap, recall(screened, found), recall(screened, edges))


def recall(learner: CStreeLearner, edges: list[tuple[str, str]]) -> float:
    """Return the share of edges (parent, child) whose parent is among the candidates of the child."""
    return float(np.mean([parent in learner.candidates_.sets[v] for parent, v in edges]))


def warmed() -> None:
    """Compile what all these fits need."""
    warm_up()
    few = random_cstree(20, random_state=0).sample_table(200, random_state=0)
    for settings in STAGES.values():
        CStreeLearner(n_jobs=1, random_state=0, **settings).fit(few)


def large(p: int, beta: str) -> dict[str, object]:
    """Return what a fit with the defaults takes from 1,000 rows, in a process of its own."""
    case = sampled(p, 1000, FRESH_SEED)
    warmed()
    wall, cpu = perf_counter(), process_time()
    learner = CStreeLearner(beta=beta if beta == "auto" else int(beta), random_state=0).fit(case.train)
    times = {"wall": perf_counter() - wall, "cpu": process_time() - cpu, "peak": peak_memory_mb()}
    gap = case.quality(learner.cstree_.log_prob(case.test))
    return {**times, "gap": gap, "candidates": learner.candidates_.method}


def large_table(sizes: list[int]) -> str:
    rows = []
    for p, beta in ((p, beta) for p in sizes for beta in ("auto", "2")):
        command = [sys.executable, "-m", "benchmarks.scale", "--large", str(p), "--beta", beta]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
        one = json.loads(done.stdout.splitlines()[-1])
        times = [f"{one['wall']:.0f}", f"{one['cpu']:.0f}", f"{one['peak'] / 1024:.1f}"]
        rows.append([p, "default" if beta == "auto" else f"`beta={beta}`", one["candidates"], *times])
        rows[-1].append(f"{one['gap']:.2f}")
        print(rows[-1], flush=True)
    return table(["p", "settings", "candidates", "wall s", "CPU s", "GB at peak", "gap"], rows)


def plot(curves: dict[str, tuple[np.ndarray, tuple[float, float]]], quick: bool) -> str:
    """Draw the gap against CPU time, ours by stages and pyAgrum's as a point; return the Markdown."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.5, 4))
    for number, (name, (stages, beside)) in enumerate(curves.items()):
        axes.plot(*stages[:DEEP].T, "o-", color=f"C{number}", label=name)
        axes.plot(*stages[DEEP:].T, "o:", color=f"C{number}", markerfacecolor="none")
        axes.plot(*beside, "x", color=f"C{number}", markersize=9)
    axes.plot([], [], "ko-", label="greedy, default")
    axes.plot([], [], "ko:", markerfacecolor="none", label="with beta=2")
    axes.plot([], [], "kx", label="pyAgrum")
    axes.set(xscale="log", xlabel="CPU seconds", ylabel="held-out gap / the oracle's", ylim=(1, None))
    axes.legend(fontsize=8)
    figure.tight_layout()
    return picture(figure, "scale", "Held-out gap against CPU seconds", quick=quick)


def figure(values: list[float], digits: int) -> str:
    middle = np.median(values) if digits == 2 else np.mean(values)
    return "–" if np.isnan(middle) else f"{middle:.{digits}f}"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small models, to see that it works; writes no page")
    parser.add_argument("--large", type=int, metavar="P", help="measure one fit of P variables only")
    parser.add_argument("--beta", default="auto", help="the bound of that fit")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", ConvergenceWarning)
    if options.large:
        print(json.dumps(large(options.large, options.beta)))
        return
    cases = [(20, 200, 2)] if options.quick else CASES
    warmed()
    rows, other_rows, curves = [], [], {}
    for p, n, models in cases:
        results = [trial(p, n, FRESH_SEED + seed) for seed in range(models)]
        stages = np.median([one.stages for one in results], axis=0)
        beside = tuple(np.median([one.climbed for one in results], axis=0))
        curves[f"p = {p}, n = {n:,}"] = stages, beside
        cells = [f"{gap:.2f} in {seconds:.2f} s" for seconds, gap in [*stages, beside]]
        rows.append([p, f"{n:,}", models, *cells, figure([one.averaged for one in results], 2)])
        shares = [figure([getattr(one, name) for one in results], 3) for name in ("kept", "recall")]
        other_rows.append([p, f"{n:,}", figure([one.screened for one in results], 2), *shares])
        print(rows[-1], other_rows[-1], flush=True)
    headers = ["p", "n", "models", *STAGES, "pyAgrum (BDeu)", "averaged"]
    text = f"""\
{(__doc__ or "").strip()}

Medians over binary models with all stagings equally probable, seeds from {FRESH_SEED:,} on, on which no default was
chosen. Seconds are CPU time, of one thread.

{table(headers, rows)}

{plot(curves, options.quick)}

The dots of a line are the columns of the table, in its order.

{BESIDE}

## The screen of candidates

With `beta=2` and 1,000 moves, where all variables could be taken as well. *Keeps*: of the true parents that a search
over all candidates finds, the share that is among the screened candidates; *recall*: of all true parents, those of
which the rows tell too little included. With 500 variables `beta=2` screens by default.

{table(["p", "n", "gap with a screen", "keeps", "recall"], other_rows)}

## Many variables

From 1,000 rows to a model with the defaults, and with `beta=2`, one random model each, all threads.

{large_table([100] if options.quick else LARGE)}"""
    publish("scale", "Accuracy at scale", text, quick=options.quick)


if __name__ == "__main__":
    main()
