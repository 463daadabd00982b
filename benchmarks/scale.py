"""Accuracy at scale: the gap to the truth against time, and what the screen of candidates keeps.

The gap is that in held-out mean log-likelihood, as a multiple of the gap with the true structure and estimated
parameters. *First tree* and *climbing* stop at the local optimum from which the sampler starts, the first with a fixed
prior and plain estimates, the second with what the data choose; *moves* go on from there. These are the gaps of one
learned CStree; *averaged* is that of the prediction averaged over stagings and 30 drawn orders.
"""

import argparse
import warnings
from time import process_time
from typing import NamedTuple

import numpy as np

from benchmarks.report import FRESH_SEED, publish, table
from benchmarks.speed import warm_up
from cslearn import CStreeLearner, random_cstree
from cslearn.data import Table
from cslearn.errors import ConvergenceWarning

CASES = [(50, 1000, 15), (50, 10_000, 5), (100, 1000, 5), (100, 10_000, 3), (500, 1000, 1)]
# Averages are taken up to this many variables, over so many orders, and for so many of the test rows.
AVERAGED, N_ORDERS, N_ROWS = 50, 30, 4000
CLIMBING: dict[str, object] = {"n_iter": 1, "n_chains": 1}
STAGES: dict[str, dict[str, object]] = {
    "first tree": {**CLIMBING, "prior": "tree", "ess": 5.0, "parameters": "mean"},
    "climbing": CLIMBING,
    "1,000 moves": {"n_iter": 1000},
    "default": {},
}


class Trial(NamedTuple):
    """What one model gave: CPU seconds and gap for each stage of the search, and gaps with an average and a screen."""

    stages: list[tuple[float, float]]
    averaged: float = np.nan
    screened: float = np.nan
    kept: float = np.nan


def trial(p: int, n: int, seed: int) -> Trial:
    truth = random_cstree(p, random_state=seed)
    train, test = truth.sample_table(n, random_state=seed + 1000), truth.sample_table(20_000, random_state=seed + 2000)
    best = truth.log_prob(test)
    oracle = best - truth.fit_parameters(train).log_prob(test)

    def gap(log_prob: np.ndarray) -> float:
        rows = slice(len(log_prob))
        return float((best[rows] - log_prob).mean() / oracle[rows].mean())

    stages = []
    for settings in STAGES.values():
        begin = process_time()
        learner = CStreeLearner(random_state=0, **settings).fit(train)
        stages.append((process_time() - begin, gap(learner.cstree_.log_prob(test))))
    averaged = np.nan
    if p <= AVERAGED:
        rows = Table(test.codes[:N_ROWS], test.variables, test.states)
        averaged = gap(learner.posterior_.log_prob(rows, n_orders=N_ORDERS))
    if learner.candidates_.method == "screen":
        return Trial(stages, averaged)
    other = CStreeLearner(candidates="screen", n_iter=1000, random_state=0).fit(train)
    parents = learner.cstree_.parents
    found = [(parent, v) for v in truth.order for parent in parents[v] if parent in truth.parents[v]]
    kept = float(np.mean([parent in other.candidates_.sets[v] for parent, v in found]))
    return Trial(stages, averaged, gap(other.cstree_.log_prob(test)), kept)


def figure(values: list[float], digits: int) -> str:
    middle = np.median(values) if digits == 2 else np.mean(values)
    return "–" if np.isnan(middle) else f"{middle:.{digits}f}"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="p = 50 and n = 1000 only")
    cases = CASES[:1] if parser.parse_args(arguments).quick else CASES
    warnings.simplefilter("ignore", ConvergenceWarning)
    warm_up()
    rows = []
    for p, n, models in cases:
        results = [trial(p, n, FRESH_SEED + seed) for seed in range(models)]
        stages = np.median([one.stages for one in results], axis=0)
        cells = [f"{gap:.2f} in {seconds:.1f} s" for seconds, gap in stages]
        cells.append(figure([one.averaged for one in results], 2))
        cells += [figure([one.screened for one in results], 2), figure([one.kept for one in results], 3)]
        rows.append([p, f"{n:,}", models, *cells])
        print(rows[-1], flush=True)
    headers = ["p", "n", "models", *STAGES, "averaged", "1,000 moves with a screen", "screen keeps"]
    text = (
        "Medians over binary models with all stagings equally probable. *Screen keeps*: of the true parents that a\n"
        "search over all candidates finds, the share that a screen has among its candidates.\n"
        "Seconds are CPU time, of both cores. Seeds on which no default was chosen.\n\n"
    )
    publish("scale", "Accuracy at scale", f"{__doc__}\n{text}{table(headers, rows)}")


if __name__ == "__main__":
    main()
