"""How long to search: chains and moves against the order score reached and the held-out gap.

Each chain climbs from a random order of its own to a local optimum, and goes on from there by moves; the best order of
all chains is taken. With one move a chain has only climbed, so that its row shows what more starts do. *Below the
best*: the best log order score that any of the settings reached for the model, less that of this one. *Gap*: to the
truth in held-out mean log-likelihood, as a multiple of the gap with the true structure. Means over models; seconds are
those of the order search, on all cores. Models with seeds below 100: the defaults were chosen on them.
"""

import warnings

import numpy as np

from benchmarks.defaults import network
from benchmarks.report import publish, table
from benchmarks.speed import warm_up
from cslearn import CStreeLearner, random_cstree

CASES = [
    ("all stagings", 50, 1000, 6),
    ("few splits", 50, 1000, 6),
    ("network", 50, 1000, 6),
    ("all stagings", 100, 1000, 3),
]
SETTINGS = [
    (1, 1),
    (2, 1),
    (4, 1),
    (8, 1),
    (16, 1),
    (1, 1000),
    (2, 1000),
    (4, 1000),
    (1, 5000),
    (2, 5000),
    (4, 5000),
    (2, 20_000),
]


def trial(kind: str, p: int, n: int, seed: int) -> np.ndarray:
    """Return log order score, gap and seconds for each of the settings."""
    few = {"method": "split", "p_context": 1 / p} if kind == "few splits" else {}
    truth = network(p, seed) if kind == "network" else random_cstree(p, random_state=seed, **few)
    train, test = truth.sample_table(n, random_state=seed + 1000), truth.sample_table(20_000, random_state=seed + 2000)
    best = truth.log_prob(test).mean()
    oracle = best - truth.fit_parameters(train).log_prob(test).mean()
    result = []
    for n_chains, n_iter in SETTINGS:
        learner = CStreeLearner(n_chains=n_chains, n_iter=n_iter, random_state=0).fit(train)
        result.append((learner.log_order_score_, (best - learner.score(test)) / oracle, learner.timings_["orders"]))
    found = np.array(result)
    found[:, 0] = found[:, 0].max() - found[:, 0]
    return found


def main() -> None:
    warnings.simplefilter("ignore")
    warm_up()
    text = __doc__
    for kind, p, n, models in CASES:
        means = np.mean([trial(kind, p, n, seed) for seed in range(models)], axis=0)
        rows = [
            [chains, f"{moves:,}", f"{below:.1f}", f"{gap:.3f}", f"{seconds:.2f}"]
            for (chains, moves), (below, gap, seconds) in zip(SETTINGS, means, strict=True)
        ]
        text += f"\n## {kind}, p = {p}, n = {n:,}, {models} models\n\n"
        text += table(["chains", "moves of each", "below the best", "gap", "seconds"], rows) + "\n"
    publish("search", "Choice of the search settings", text.rstrip())


if __name__ == "__main__":
    main()
