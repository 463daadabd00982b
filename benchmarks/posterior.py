"""Posteriors: what the exact search takes, whether chains agree with it, whether edge probabilities are right, and what
averaged prediction brings.

Each exact search has a process of its own, so that its peak memory is its own.
"""

import argparse
import json
import os
import subprocess
import sys
import warnings
from dataclasses import dataclass
from time import perf_counter, process_time

import numpy as np
import pandas as pd

from benchmarks.prior_draws import draw_from_prior
from benchmarks.report import FRESH_SEED, peak_memory_mb, picture, publish, table
from benchmarks.speed import warm_up
from cslearn import Chains, CStreeLearner, kl_divergence, random_cstree
from cslearn.datasets import load_sachs
from cslearn.errors import ConvergenceWarning
from cslearn.orders import ExactOrders, SubsetScores
from cslearn.scores import Scores

ESS = 4.0
# Seeds of models: those of predictions are apart from the others.
PREDICTION_SEED = FRESH_SEED + 1000


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    exact: tuple[int, ...] = (10, 15, 18, 20)
    agreement: tuple[int, ...] = (12, 13, 15)
    lengths: tuple[int | str, ...] = (100, 1000, 10_000, "auto")
    models: int = 50
    data_sets: int = 10
    predicted: tuple[int, ...] = (10, 15, 20)
    oracles: int = 40


QUICK = Sizes((8,), (8,), (100, 1000), 3, 1, (6,), 2)


# ------------------------------------------------------------------ the exact search
def exact_case(p: int) -> dict[str, float]:
    data = random_cstree(p, random_state=FRESH_SEED).sample_table(1000, random_state=1)
    warm_up()
    before, wall, cpu = peak_memory_mb(), perf_counter(), process_time()
    posterior = CStreeLearner(beta=2, search="exact", random_state=0).fit(data).posterior_
    found = {"wall": perf_counter() - wall, "cpu": process_time() - cpu}
    for name, ask in (("edges", posterior.edge_probabilities), ("precedence", posterior.precedence)):
        wall = perf_counter()
        ask()
        found[name] = perf_counter() - wall
    return {**found, "before": before, "peak": peak_memory_mb()}


def exact_rows(sizes: tuple[int, ...]) -> list[list[object]]:
    rows: list[list[object]] = []
    for p in sizes:
        command = [sys.executable, "-m", "benchmarks.posterior", "--case", str(p)]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
        case = json.loads(done.stdout.splitlines()[-1])
        times = [f"{case[name]:.1f}" for name in ("cpu", "wall", "edges")]
        rows.append([p, *times, f"{case['precedence']:.3f}", f"{case['peak']:,.0f}", f"{case['before']:,.0f}"])
        print(rows[-1], file=sys.stderr)
    return rows


# ------------------------------------------------------------------ chains against the exact search
def agreement_rows(sizes: Sizes) -> list[list[object]]:
    cases: dict[str, pd.DataFrame] = {}
    if "CSLEARN_DATA" in os.environ:
        cases["Sachs, cut at medians, p = 11"] = load_sachs()
    for p in sizes.agreement:
        truth = random_cstree(p, random_state=FRESH_SEED + p)
        cases[f"random, p = {p}, n = 500"] = truth.sample(500, random_state=1)
    rows: list[list[object]] = []
    for name, data in cases.items():
        edges = CStreeLearner(beta=2, search="exact", random_state=0).fit(data).posterior_.edge_probabilities()
        for length in sizes.lengths:
            begin = process_time()
            posterior = CStreeLearner(beta=2, search=Chains(n_iter=length), random_state=0).fit(data).posterior_
            taken = process_time() - begin
            difference = float((posterior.edge_probabilities() - edges).abs().max(axis=None))
            verdict = posterior.verdict
            how = "default" if length == "auto" else f"{length:,} moves"
            figures = [f"{taken:.1f}", f"{difference:.3f}", f"{verdict.r_hat:.3f}", f"{verdict.ess:,.0f}"]
            rows.append([name, how, *figures, "yes" if verdict.converged else "no"])
    return rows


# ------------------------------------------------------------------ prediction
def against_the_tree(sizes: Sizes) -> tuple[list[list[object]], int]:
    """Return a row for each data set, and in how many the averaged prediction is at least as good as the tree."""
    rows: list[list[object]] = []
    better = 0
    for seed in range(PREDICTION_SEED, PREDICTION_SEED + sizes.data_sets):
        truth = random_cstree(20, random_state=seed)
        learner = CStreeLearner(beta=2, random_state=0).fit(truth.sample(250, random_state=seed))
        test = truth.sample_table(2000, random_state=seed + 1)
        tree, averaged = learner.cstree_.log_prob(test).mean(), learner.posterior_.log_prob(test).mean()
        better += int(averaged >= tree)
        rows.append([seed, f"{truth.log_prob(test).mean():.3f}", f"{tree:.3f}", f"{averaged:.3f}"])
    return rows, better


def divergence_by_rows(true: np.ndarray, other: np.ndarray) -> float:
    """Return an estimate of D(true || other) from log-probabilities of rows of the true model.

    The mean of ``q/p - 1``, which is 0 but for chance, is added to that of ``log p - log q``: no term is then below 0,
    and the estimate has a fraction of the error.
    """
    ratio = other - true
    return float((np.expm1(ratio) - ratio).mean())


def against_the_oracle(sizes: Sizes) -> list[list[object]]:
    rows: list[list[object]] = []
    for p in sizes.predicted:
        averaged, tree, oracle = [], [], []
        for seed in range(PREDICTION_SEED + 100, PREDICTION_SEED + 100 + sizes.oracles):
            truth = random_cstree(p, random_state=seed)
            data = truth.sample_table(1000, random_state=seed)
            learner = CStreeLearner(beta=2, random_state=0).fit(data)
            test = truth.sample_table(5000, random_state=seed + 1)
            averaged.append(divergence_by_rows(truth.log_prob(test), learner.posterior_.log_prob(test)))
            tree.append(float(kl_divergence(truth, learner.cstree_)))
            oracle.append(float(kl_divergence(truth, truth.fit_parameters(data))))
        medians = [float(np.median(values)) for values in (averaged, tree, oracle)]
        rows.append([p, *(f"{value:.4f}" for value in medians), f"{medians[0] / medians[2]:.2f}"])
        print(rows[-1], file=sys.stderr)
    return rows


# ------------------------------------------------------------------ calibration
def edges_of_prior_models(models: int) -> tuple[np.ndarray, np.ndarray]:
    """Edge probabilities and whether the edges are there, for models from the prior that the search assumes."""
    chances, there = [], []
    for seed in range(FRESH_SEED, FRESH_SEED + models):
        rng = np.random.default_rng(seed)
        truth = draw_from_prior([2] * 8, rng, ess=ESS)
        scores = Scores(truth.sample_table(300, random_state=rng), ess=ESS, prior="tree")
        found = ExactOrders(SubsetScores(scores)).context_probabilities
        names = scores.table.variables
        pairs = [(i, j) for i in range(8) for j in range(8) if i != j]
        chances += [found[i, j] for i, j in pairs]
        there += [names[i] in truth.parents[names[j]] for i, j in pairs]
    return np.array(chances), np.array(there)


def edges_of_random_models(models: int, beta: int | str) -> tuple[np.ndarray, np.ndarray]:
    """The same for models in which all stagings are equally probable, learned with the defaults."""
    chances, there = [], []
    for seed in range(FRESH_SEED, FRESH_SEED + models):
        truth = random_cstree(10, random_state=seed)
        learner = CStreeLearner(beta=beta, random_state=0).fit(truth.sample(1000, random_state=seed))
        found = learner.posterior_.edge_probabilities()
        pairs = [(i, j) for i in truth.order for j in truth.order if i != j]
        chances += [found.loc[i, j] for i, j in pairs]
        there += [i in truth.parents[j] for i, j in pairs]
    return np.array(chances), np.array(there)


def bins(chances: np.ndarray, there: np.ndarray) -> list[tuple[float, float, float, int]]:
    """Return for each tenth the mean probability, share that is there, its standard error, and the number of pairs."""
    which = np.minimum((chances * 10).astype(int), 9)
    found = []
    for k in range(10):
        inside = which == k
        if not inside.any():
            found.append((np.nan, np.nan, np.nan, 0))
            continue
        error = np.sqrt((chances[inside] * (1 - chances[inside])).sum()) / inside.sum()
        found.append((float(chances[inside].mean()), float(there[inside].mean()), float(error), int(inside.sum())))
    return found


def draw(curves: dict[str, list[tuple[float, float, float, int]]], quick: bool) -> str:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5, 4.6))
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    for (name, points), marker in zip(curves.items(), "os^", strict=True):
        x, y, error, _ = zip(*points, strict=True)
        axes.errorbar(x, y, yerr=2 * np.array(error), marker=marker, markersize=4, linewidth=1, capsize=2, label=name)
    axes.set_xlabel("probability of the edge")
    axes.set_ylabel("share of such edges in the true models")
    axes.legend(frameon=False, loc="upper left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    return picture(figure, "posterior", "Share of edges in the true models against their probability", quick=quick)


def low_bin(name: str, points: list[tuple[float, float, float, int]]) -> str:
    """Return a sentence about the lowest tenth, which holds most pairs."""
    mean, share, _, number = points[0]
    return (
        f"Of the *{name}*, {number / sum(point[3] for point in points):.0%} of the pairs are in the lowest tenth, with"
        f" a mean probability of {mean:.3f}, and a share of {share:.3f} is there."
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", type=int, metavar="P", help="one exact search only, as JSON")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works; writes no page")
    options = parser.parse_args(arguments)
    if options.case is not None:
        print(json.dumps(exact_case(options.case)))
        return
    sizes = QUICK if options.quick else Sizes()
    warnings.simplefilter("ignore", ConvergenceWarning)
    curves = {
        "models from the prior": bins(*edges_of_prior_models(sizes.models)),
        "random models, default": bins(*edges_of_random_models(sizes.models, "auto")),
        "random models, beta=2": bins(*edges_of_random_models(sizes.models, 2)),
    }
    rows = []
    for k, ends in enumerate(zip(*curves.values(), strict=True)):
        cells = [
            cell
            for mean, share, error, number in ends
            for cell in (f"{mean:.3f}", f"{share:.3f} ± {2 * error:.3f} of {number:,}")
        ]
        rows.append([f"{k / 10:.1f} to {(k + 1) / 10:.1f}", *cells])
    data_sets, better = against_the_tree(sizes)
    last = FRESH_SEED + sizes.models - 1
    text = (
        f"{(__doc__ or '').strip()}\n\n## The exact search\n\n"
        f"Binary variables, n = 1,000, all variables as candidates, two context variables; model {FRESH_SEED}, from"
        " rows to model. The fit tells the probabilities of precedence already, so these take no time after it; those"
        " of edges are computed when they are asked for. Memory is the peak of the process, kernels and libraries"
        " included, beside its peak before the fit.\n\n"
        + table(
            ["p", "CPU s", "wall s", "then edges, wall s", "then precedence, wall s", "peak MB", "MB before"],
            exact_rows(sizes.exact),
        )
        + "\n\n## Chains against the exact search\n\n"
        "Largest absolute difference between the edge probabilities, and what the diagnostics say. Chains choose their"
        " prior and equivalent sample size themselves, as the exact search does. The random model of p variables has"
        f" the seed {FRESH_SEED:,} + p, its data the seed 1.\n\n"
        + table(
            ["data", "chains", "CPU s", "difference", "largest R-hat", "smallest ess", "converged?"],
            agreement_rows(sizes),
        )
        + "\n\n## Are edges there as often as they should be?\n\n"
        f"{sizes.models} models each, seeds {FRESH_SEED:,} to {last:,}. *Models from the prior*: 8 variables, 300 rows,"
        " the search assumes the prior that they are drawn from. *Random models*: 10 variables, 1,000 rows, stagings"
        " equally probable, which is not what the default prior assumes; learned with the default, contexts as deep as"
        " the data support, and with `beta=2`. Of the pairs in each tenth: their mean"
        " probability, and the share of directed edges that are in the true model, with two standard errors if the"
        " probabilities were right.\n\n"
        + draw(curves, options.quick)
        + "\n\n"
        + table(["probability", *(head for name in curves for head in (f"{name}: mean", "share"))], rows)
        + "\n\n"
        + " ".join(low_bin(name, points) for name, points in curves.items())
        + " A share above the mean means edges that the data hardly show and that the prior holds for less probable"
        " than they are in such models.\n\n## Averaged prediction against the learned tree\n\n"
        f"Mean log-probability of 2,000 new rows, p = 20, n = 250, with the defaults. In {better} of {sizes.data_sets}"
        " the averaged prediction is at least as good as the tree, whose parameters are averaged over stagings too.\n\n"
        + table(["model", "true model", "learned tree", "averaged prediction"], data_sets)
        + "\n\n## Divergence from the truth\n\n"
        f"Medians over {sizes.oracles} models (seeds from {PREDICTION_SEED + 100:,} on), n = 1,000, with the defaults:"
        " D(true || predictive), estimated by 5,000 rows of the true model, that of the learned tree, and that of the"
        " oracle, the true structure with parameters estimated from the same rows.\n\n"
        + table(["p", "averaged prediction", "learned tree", "oracle", "averaged / oracle"], against_the_oracle(sizes))
    )
    text += "\n\nAll fits but *random models, default* have contexts of at most two variables (`beta=2`)."
    publish("posterior", "Posteriors", text, quick=options.quick)


if __name__ == "__main__":
    main()
