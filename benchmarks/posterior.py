"""Posteriors: what the exact search takes, whether chains agree with it, and whether edge probabilities are right.

Each exact search has a process of its own, so that its peak memory is its own.
"""

import argparse
import json
import os
import subprocess
import sys
import warnings
from time import perf_counter, process_time

import numpy as np
import pandas as pd

from benchmarks.prior_draws import draw_from_prior
from benchmarks.report import FRESH_SEED, RESULTS, peak_memory_mb, publish, table
from benchmarks.speed import warm_up
from cslearn import CStreeLearner, random_cstree
from cslearn.datasets import load_sachs
from cslearn.errors import ConvergenceWarning
from cslearn.orders import ExactOrders, SubsetScores
from cslearn.scores import Scores

SIZES = (10, 15, 18, 20)
MODELS = 50
ESS = 4.0


# ------------------------------------------------------------------ the exact search
def exact_case(p: int) -> dict[str, float]:
    data = random_cstree(p, random_state=FRESH_SEED).sample_table(1000, random_state=1)
    warm_up()
    before, wall, cpu = peak_memory_mb(), perf_counter(), process_time()
    CStreeLearner(search="exact", random_state=0).fit(data)
    return {"wall": perf_counter() - wall, "cpu": process_time() - cpu, "mb": peak_memory_mb() - before}


def exact_rows() -> list[list[object]]:
    rows: list[list[object]] = []
    for p in SIZES:
        command = [sys.executable, "-m", "benchmarks.posterior", "--case", str(p)]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
        case = json.loads(done.stdout.splitlines()[-1])
        rows.append([p, f"{case['cpu']:.1f}", f"{case['wall']:.1f}", f"{case['mb']:,.0f}"])
        print(rows[-1], file=sys.stderr)
    return rows


# ------------------------------------------------------------------ chains against the exact search
def agreement_rows() -> list[list[object]]:
    cases: dict[str, pd.DataFrame] = {}
    if "CSLEARN_DATA" in os.environ:
        cases["Sachs, cut at medians, p = 11"] = load_sachs()
    for p in (12, 13, 15):
        truth = random_cstree(p, random_state=FRESH_SEED + p)
        cases[f"random, p = {p}, n = 500"] = truth.sample(500, random_state=1)
    rows: list[list[object]] = []
    for name, data in cases.items():
        exact = CStreeLearner(search="exact", random_state=0).fit(data)
        edges = exact.posterior_.edge_probabilities()
        for settings in ({}, {"n_iter": 100}):
            begin = process_time()
            learner = CStreeLearner(search="mcmc", prior=exact.prior_, ess=exact.ess_, random_state=0, **settings).fit(
                data
            )
            taken = process_time() - begin
            difference = float((learner.posterior_.edge_probabilities() - edges).abs().max(axis=None))
            verdict = learner.posterior_.verdict
            how = "default" if not settings else "100 moves"
            said = "yes" if verdict.converged else "no"
            rows.append([name, how, f"{taken:.1f}", f"{difference:.3f}", f"{verdict.r_hat:.3f}", said])
    return rows


# ------------------------------------------------------------------ calibration
def edges_of_prior_models() -> tuple[np.ndarray, np.ndarray]:
    """Edge probabilities and whether the edges are there, for models from the prior that the search assumes."""
    chances, there = [], []
    for seed in range(FRESH_SEED, FRESH_SEED + MODELS):
        rng = np.random.default_rng(seed)
        truth = draw_from_prior([2] * 8, rng, ess=ESS)
        scores = Scores(truth.sample_table(300, random_state=rng), ess=ESS, prior="tree")
        found = ExactOrders(SubsetScores(scores)).context_probabilities
        names = scores.table.variables
        pairs = [(i, j) for i in range(8) for j in range(8) if i != j]
        chances += [found[i, j] for i, j in pairs]
        there += [names[i] in truth.parents[names[j]] for i, j in pairs]
    return np.array(chances), np.array(there)


def edges_of_random_models() -> tuple[np.ndarray, np.ndarray]:
    """The same for models in which all stagings are equally probable, learned with the defaults."""
    chances, there = [], []
    for seed in range(FRESH_SEED, FRESH_SEED + MODELS):
        truth = random_cstree(10, random_state=seed)
        learner = CStreeLearner(random_state=0).fit(truth.sample(1000, random_state=seed))
        found = learner.posterior_.edge_probabilities()
        pairs = [(i, j) for i in truth.order for j in truth.order if i != j]
        chances += [found.loc[i, j] for i, j in pairs]
        there += [i in truth.parents[j] for i, j in pairs]
    return np.array(chances), np.array(there)


def bins(chances: np.ndarray, there: np.ndarray) -> list[tuple[float, float, float, int]]:
    """Return for each tenth: mean probability, share that is there, its standard error, and the number of pairs."""
    which = np.minimum((chances * 10).astype(int), 9)
    found = []
    for k in range(10):
        inside = which == k
        error = np.sqrt((chances[inside] * (1 - chances[inside])).sum()) / inside.sum()
        found.append((float(chances[inside].mean()), float(there[inside].mean()), float(error), int(inside.sum())))
    return found


def draw(curves: dict[str, list[tuple[float, float, float, int]]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5, 4.6))
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    for (name, points), marker in zip(curves.items(), "os", strict=True):
        x, y, error, _ = zip(*points, strict=True)
        axes.errorbar(x, y, yerr=2 * np.array(error), marker=marker, markersize=4, linewidth=1, capsize=2, label=name)
    axes.set_xlabel("probability of the edge")
    axes.set_ylabel("share of such edges in the true models")
    axes.legend(frameon=False, loc="upper left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(os.path.join(RESULTS, "posterior.png"), dpi=110)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", type=int, metavar="P", help="one exact search only, as JSON")
    case = parser.parse_args(arguments).case
    if case is not None:
        print(json.dumps(exact_case(case)))
        return
    warnings.simplefilter("ignore", ConvergenceWarning)
    curves = {
        "models from the prior": bins(*edges_of_prior_models()),
        "random models, defaults": bins(*edges_of_random_models()),
    }
    draw(curves)
    rows = []
    for k, ends in enumerate(zip(*curves.values(), strict=True)):
        cells = [f"{share:.2f} ± {2 * error:.2f} of {number:,}" for _, share, error, number in ends]
        rows.append([f"{k / 10:.1f} to {(k + 1) / 10:.1f}", *cells])
    text = (
        f"{(__doc__ or '').strip()}\n\n## The exact search\n\n"
        "Binary variables, n = 1,000, all variables as candidates, two context variables; from rows to model.\n\n"
        + table(["p", "CPU s", "wall s", "memory on top, MB"], exact_rows())
        + "\n\n## Chains against the exact search\n\n"
        "Largest absolute difference between the edge probabilities, and what the diagnostics say.\n\n"
        + table(["data", "chains", "CPU s", "difference", "largest R-hat", "converged?"], agreement_rows())
        + "\n\n## Are edges there as often as they should be?\n\n"
        f"{MODELS} models each. *Models from the prior*: 8 variables, 300 rows, the search assumes the prior that they"
        " are drawn from. *Random models*: 10 variables, 1,000 rows, stagings equally probable, which is not what the"
        " default prior assumes. Shares of directed edges that are in the true model, with two standard errors if the"
        " probabilities were right.\n\n"
        "![Share of edges in the true models against their probability](posterior.png)\n\n"
        + table(["probability", *curves], rows)
    )
    publish("posterior", "Posteriors", text)


if __name__ == "__main__":
    main()
