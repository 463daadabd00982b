"""Posterior probabilities are what they say: simulation-based calibration, and chains against the exact search."""

import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks.prior_draws import draw_from_prior
from scipy.stats import chisquare

from cslearn import CStreeLearner, kl_divergence, random_cstree
from cslearn.errors import ConvergenceWarning
from cslearn.orders import ExactOrders, SubsetScores
from cslearn.posterior import CStreePosterior
from cslearn.priors import TreePrior
from cslearn.scores import Scores

pytestmark = pytest.mark.slow

CARDS = [2, 3, 2, 2]
ESS = 4.0


def statistics(tree):
    """An order indicator, the number of edges, the number of stages, and a probability."""
    position = {v: t for t, v in enumerate(tree.order)}
    first = tree.query(["v0"]).iloc[0]
    edges = sum(map(len, tree.parents.values()))
    return [float(position["v0"] < position["v1"]), float(edges), float(tree.n_stages), float(first)]


def ranks(simulations, wrong=False, draws=31):
    """Ranks of true values among those of posterior draws, ties broken at random: uniform on 0..draws."""
    found = []
    for seed in range(simulations):
        rng = np.random.default_rng(seed)
        truth = draw_from_prior(CARDS, rng, ess=ESS)
        data = truth.sample_table(60, random_state=rng)
        prior = TreePrior(root=0.3, split=0.1, same=0.1) if wrong else TreePrior()
        scores = Scores(data, ess=ESS, prior=prior)
        posterior = CStreePosterior.of_exact(ExactOrders(SubsetScores(scores)), rng)
        drawn = np.array([statistics(tree) for tree in posterior.sample(draws, random_state=rng)])
        true = np.array(statistics(truth))
        ties = (drawn == true).sum(axis=0)
        found.append((drawn < true).sum(axis=0) + rng.integers(0, ties + 1))
    return np.array(found)


def p_values(found, draws=31, bins=8):
    each = (draws + 1) // bins
    return [chisquare(np.bincount(column // each, minlength=bins)).pvalue for column in found.T]


def test_simulation_based_calibration():
    assert min(p_values(ranks(320))) > 1e-3


def test_a_wrong_prior_fails_the_calibration():
    assert min(p_values(ranks(320, wrong=True))) < 1e-4


def edge_bins(n_models):
    """Edge probabilities of exact posteriors and whether the edges are there, for models from the prior."""
    chances, there = [], []
    for seed in range(n_models):
        rng = np.random.default_rng(1000 + seed)
        truth = draw_from_prior([2] * 7, rng, ess=ESS)
        scores = Scores(truth.sample_table(200, random_state=rng), ess=ESS, prior="tree")
        found = ExactOrders(SubsetScores(scores)).context_probabilities
        names = scores.table.variables
        for i, parent in enumerate(names):
            for j, child in enumerate(names):
                if i != j:
                    chances.append(found[i, j])
                    there.append(parent in truth.parents[child])
    return np.array(chances), np.array(there)


def test_edge_probabilities_are_calibrated():
    chances, there = edge_bins(60)
    for low in np.arange(0, 1, 0.1):
        inside = (chances >= low) & (chances < low + 0.1)
        expected, spread = chances[inside].sum(), np.sqrt((chances[inside] * (1 - chances[inside])).sum())
        assert abs(there[inside].sum() - expected) < 4 * spread + 1
    # Probabilities that are too sure of themselves would be noticed.
    sharper = np.where(chances > 0.5, 1 - (1 - chances) ** 2, chances**2)
    assert abs(there.sum() - sharper.sum()) > 4 * np.sqrt((sharper * (1 - sharper)).sum())


def sachs_medians():
    folder = os.environ.get("CSLEARN_DATA")
    if folder is None:
        pytest.skip("CSLEARN_DATA is not set")
    raw = pd.read_csv(Path(folder) / "sachs_observational_log.csv.gz")
    return (raw > raw.median()).astype(int)


@pytest.mark.parametrize("name", ["sachs", "random 12", "random 13"])
def test_chains_agree_with_the_exact_search(name):
    if name == "sachs":
        data = sachs_medians()
    else:
        data = random_cstree(int(name.split()[1]), random_state=7).sample(500, random_state=8)
    exact = CStreeLearner(search="exact", random_state=0).fit(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        drawn = CStreeLearner(search="mcmc", prior=exact.prior_, ess=exact.ess_, random_state=0).fit(data)
    assert drawn.posterior_.converged
    difference = drawn.posterior_.edge_probabilities() - exact.posterior_.edge_probabilities()
    assert difference.abs().max(axis=None) < 0.02
    assert drawn.log_order_score_ == pytest.approx(exact.log_order_score_, abs=1e-6)


def test_short_chains_disagree_with_the_exact_search_and_say_so():
    data = random_cstree(12, random_state=7).sample(500, random_state=8)
    exact = CStreeLearner(search="exact", random_state=0).fit(data)
    with pytest.warns(ConvergenceWarning):
        short = CStreeLearner(search="mcmc", n_iter=60, prior=exact.prior_, ess=exact.ess_, random_state=0).fit(data)
    difference = short.posterior_.edge_probabilities() - exact.posterior_.edge_probabilities()
    assert difference.abs().max(axis=None) > 0.02


def test_the_averaged_prediction_beats_the_best_tree_on_new_rows():
    better = 0
    for seed in range(60_000, 60_010):
        truth = random_cstree(20, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            learner = CStreeLearner(parameters="mean", random_state=0).fit(truth.sample(250, random_state=seed))
        test = truth.sample_table(1000, random_state=seed + 1)
        better += learner.posterior_.log_prob(test, n_orders=50).mean() >= learner.cstree_.log_prob(test).mean()
    assert better >= 9


@pytest.mark.parametrize("p", [10, 12, 20])
def test_the_divergence_from_the_averaged_prediction_is_near_the_oracles(p):
    learned, oracle = [], []
    for seed in range(60_100, 60_130):
        truth = random_cstree(p, random_state=seed)
        data = truth.sample_table(1000, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            learner = CStreeLearner(random_state=0).fit(data)
        test = truth.sample_table(5000, random_state=seed + 1)
        reference = truth.log_prob(test)
        learned.append((reference - learner.posterior_.log_prob(test, n_orders=50)).mean())
        oracle.append(float(kl_divergence(truth, truth.fit_parameters(data))))
    assert np.median(learned) <= 1.5 * np.median(oracle)
