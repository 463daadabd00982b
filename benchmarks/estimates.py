"""Which order the learned model has: the best one met, or one in the middle of those drawn.

With ``--keep FILE`` finished cases are kept there, and a run that was ended goes on. The network is read from the
directory that CSLEARN_DATA names, or fetched.
"""

import argparse
import warnings

import numpy as np

from benchmarks.defaults import Case, true_model
from benchmarks.report import FRESH_SEED, Kept, publish, table
from cslearn import CStree, CStreeLearner
from cslearn.estimators.averaging import averaged_parameters
from cslearn.metrics import edge_scores

CASES = [
    Case("all stagings", 20, 1000, 40, FRESH_SEED),
    Case("all stagings", 50, 250, 20, FRESH_SEED),
    Case("all stagings", 50, 1000, 50, FRESH_SEED),
    Case("all stagings", 50, 10_000, 10, FRESH_SEED),
    Case("all stagings", 100, 1000, 10, FRESH_SEED),
    Case("few splits", 50, 1000, 20, FRESH_SEED),
    Case("network", 50, 1000, 20, FRESH_SEED),
    Case("alarm", 37, 1000, 20, FRESH_SEED),
    Case("alarm", 37, 10_000, 10, FRESH_SEED),
]
QUICK = [Case("all stagings", 6, 100, 2, FRESH_SEED)]
# With few variables too, chains are asked for: that is where an order is chosen among draws.
CHAINS = {"beta": 2, "search": "mcmc", "random_state": 0}


def trial(case: Case, seed: int) -> list[list[float]]:
    """Return the gap over the oracle's and the number of wrong edges, of the best order and of the central one."""
    truth = true_model(case.kind, case.p, seed)
    train = truth.sample_table(case.n, random_state=seed + 1000)
    test = truth.sample_table(20_000, random_state=seed + 2000)
    likelihood = truth.log_prob(test).mean()
    oracle = likelihood - truth.fit_parameters(train).log_prob(test).mean()
    posterior = CStreeLearner(**CHAINS).fit(train).posterior_

    def judged(tree: CStree) -> list[float]:
        fitted = tree.with_parameters(averaged_parameters(tree, posterior.scores))
        edges = edge_scores(truth, tree, skeleton=True)
        wrong = edges.n_model + edges.n_reference - 2 * edges.n_right
        return [float(likelihood - fitted.log_prob(test).mean()) / oracle, float(wrong)]

    return [judged(posterior.tree_of(posterior.best.best_order)), judged(posterior.central_tree())]


def measured(case: Case) -> list[list[list[float]]]:
    return [trial(case, seed) for seed in range(case.seed, case.seed + case.models)]


def row(case: Case, trials: list[list[list[float]]]) -> list[object]:
    found = np.array(trials)
    gaps, wrong = found[:, :, 0], found[:, :, 1]
    differs = gaps[:, 1] - gaps[:, 0]
    error = differs.std(ddof=1) / np.sqrt(len(differs))
    figures = [f"{value:.3f}" for value in gaps.mean(axis=0)]
    edges = [f"{value:.1f}" for value in wrong.mean(axis=0)]
    return [case.kind, case.p, f"{case.n:,}", case.models, *figures, f"{differs.mean():+.3f} ± {error:.3f}", *edges]


INTRODUCTION = f"""\
Which order the learned model has: the best one met, or the central one, whose CStree has the least mean divergence from
those of ten drawn orders (`estimate="best"` and `"central"`). Both are of the same chains, those of the defaults.

*Gap*: to the truth in held-out mean log-likelihood, as a multiple of the gap with the true structure; the difference
has its standard error beside it. *Wrong edges*: pairs of variables joined in the one and not in the other of the
learned and the true graph. Means over models, seeds from {FRESH_SEED:,} on, on which no default was chosen: binary
CStrees with all stagings equally probable or with few splits, random Bayesian networks, and samples of alarm."""


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", help="file that keeps finished cases")
    parser.add_argument("--quick", action="store_true", help="small models, to see that it works; writes no page")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    kept = Kept(options.keep)
    rows = []
    for case in QUICK if options.quick else CASES:
        label = f"{case.kind}, p = {case.p}, n = {case.n}, {case.models} from seed {case.seed}"
        rows.append(row(case, kept(label, measured, case)))
    headers = ["truth", "p", "n", "models", "gap, best", "gap, central", "difference", "wrong edges, best", "central"]
    text = f"{INTRODUCTION}\n\n{table(headers, rows)}"
    publish("estimates", "The best order or a central one", text, quick=options.quick, paper_bound=True)


if __name__ == "__main__":
    main()
