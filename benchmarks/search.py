"""How long to search: chains and moves against the order score reached and the gap to the truth.

With ``--keep FILE`` finished cases are kept there, and a run that was ended goes on. The network is read from the
directory that CSLEARN_DATA names, or fetched.
"""

import argparse
import warnings

import numpy as np

from benchmarks.defaults import Case, true_model
from benchmarks.report import FRESH_SEED, Kept, bold_least, publish, table
from benchmarks.speed import warm_up
from cslearn import Chains, CStreeLearner

CASES = [
    Case("all stagings", 50, 250, 3),
    Case("all stagings", 50, 1000, 5),
    Case("all stagings", 50, 10_000, 3),
    Case("few splits", 50, 1000, 4),
    Case("network", 50, 1000, 4),
    Case("alarm", 37, 1000, 3, FRESH_SEED),
    Case("all stagings", 100, 1000, 2),
]
QUICK = [Case("all stagings", 5, 100, 2)]
# Chains, and moves of each.
SETTINGS = [(1, 1), (2, 1), (4, 1), (8, 1), (16, 1), (1, 1000), (4, 1000), (1, 5000), (4, 5000)]
QUICK_SETTINGS = [(1, 1), (2, 50)]
# The search of the defaults: four chains, with as many moves as it takes for them to agree.
DEFAULT = (4, "auto")


def trial(case: Case, settings: list[tuple[int, int | str]], seed: int) -> list[list[float]]:
    """Return log order score, gap over the oracle's and seconds for each of the settings."""
    truth = true_model(case.kind, case.p, seed)
    train = truth.sample_table(case.n, random_state=seed + 1000)
    test = truth.sample_table(20_000, random_state=seed + 2000)
    best = truth.log_prob(test).mean()
    oracle = best - truth.fit_parameters(train).log_prob(test).mean()
    result = []
    for n_chains, n_iter in settings:
        search = Chains(n_chains=n_chains, n_iter=n_iter)
        learner = CStreeLearner(beta=2, search=search, estimate="best", random_state=0).fit(train)
        gap = (best - learner.score(test)) / oracle
        result.append([learner.log_order_score_, float(gap), learner.timings_["orders"]])
    return result


def measured(case: Case, settings: list[tuple[int, int | str]]) -> list[list[list[float]]]:
    return [trial(case, settings, seed) for seed in range(case.seed, case.seed + case.models)]


def section(case: Case, settings: list[tuple[int, int | str]], trials: list[list[list[float]]]) -> str:
    found = np.array(trials)
    scores, gaps, seconds = (found[:, :, k] for k in range(3))
    below = (scores.max(axis=1, keepdims=True) - scores).mean(axis=0)
    columns = [bold_least(list(below), 1), bold_least(list(gaps.mean(axis=0)), 3)]
    columns.append([f"{value:.2f}" for value in seconds.mean(axis=0)])
    rows = [
        [chains, moves if isinstance(moves, str) else f"{moves:,}", *cells]
        for (chains, moves), cells in zip(settings, zip(*columns, strict=True), strict=True)
    ]
    what = "samples" if case.seed else "models"
    head = f"## {case.kind}, p = {case.p}, n = {case.n:,}, {case.models} {what}\n\n"
    return head + table(["chains", "moves of each", "below the best", "gap", "seconds"], rows)


INTRODUCTION = f"""\
How long to search: chains and moves against the order score reached and the held-out gap.

Each chain climbs from a random order of its own to a local optimum, and goes on from there by moves; the best order of
all chains is taken (`estimate="best"`). With one move a chain has only climbed, so that its row shows what more starts
do: sixteen climbs find orders about as good as the default in the same time, but leave no draws, from which edges,
averaged prediction and a central order are told. The row with {DEFAULT[0]} chains and *{DEFAULT[1]}* is the search of
the default: they go on until they agree, or have made as many moves as are allowed. *Below the best*: the best log
order score that any of the settings reached for the model, less that of this one. Up to 50 variables the
prior is chosen for the best of as many first climbs as there are chains, so that scores of
different numbers of chains may be of different priors. *Gap*: to the truth in held-out mean log-likelihood, as a
multiple of the gap with the true structure. Means over models; seconds are those of the order search, on all cores.
Random models have seeds below 100: the defaults were chosen on them. Samples of alarm are none that a default was
chosen on."""


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", help="file that keeps finished cases")
    parser.add_argument("--quick", action="store_true", help="small models, to see that it works; writes no page")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    cases, settings = (QUICK, QUICK_SETTINGS) if options.quick else (CASES, [*SETTINGS, DEFAULT])
    kept = Kept(options.keep)
    if not options.quick:
        warm_up()
    parts = [INTRODUCTION]
    for case in cases:
        label = f"{case.kind}, p = {case.p}, n = {case.n}, {case.models} from seed {case.seed}"
        parts.append(section(case, settings, kept(label, measured, case, settings)))
    text = "\n\n".join(parts)
    publish("search", "Choice of the search settings", text, quick=options.quick, paper_bound=True)


if __name__ == "__main__":
    main()
