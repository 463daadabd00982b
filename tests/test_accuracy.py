"""How near learned models come to the truth, on random CStrees that no default was chosen on. Slow."""

from functools import cache

import numpy as np
import pytest
from benchmarks.report import FRESH_SEED

from cslearn import Chains, CStreeLearner, kl_divergence, random_cstree

pytestmark = pytest.mark.slow


def ratio_to_oracle(p, models, n=1000, **settings):
    """Median D(learned || true) as a multiple of that with the true structure and estimated parameters."""
    learned, oracle = [], []
    for seed in range(FRESH_SEED, FRESH_SEED + models):
        truth = random_cstree(p, random_state=seed)
        data = truth.sample_table(n, random_state=seed + 1000)
        tree = CStreeLearner(random_state=0, **settings).fit(data).cstree_
        learned.append(kl_divergence(tree, truth))
        oracle.append(kl_divergence(truth.fit_parameters(data), truth))
    return np.median(learned) / np.median(oracle)


@pytest.mark.parametrize(("p", "models", "bound"), [(5, 50, 1.6), (7, 10, 2.0), (10, 10, 2.0), (15, 10, 2.0)])
def test_the_divergence_is_within_reach_of_the_oracles(p, models, bound):
    assert ratio_to_oracle(p, models) <= bound


def test_the_measure_tells_good_models_from_bad_ones():
    assert ratio_to_oracle(10, 5, beta=0) > 5


def test_more_data_bring_the_learned_model_closer_to_the_oracles():
    assert ratio_to_oracle(10, 20, n=10_000) < 1.35


@cache
def held_out_gap(p, models, n=1000, **settings):
    """Mean gap to the truth in held-out log-likelihood, as a multiple of that with the true structure."""
    learned, oracle = [], []
    for seed in range(FRESH_SEED, FRESH_SEED + models):
        truth = random_cstree(p, random_state=seed)
        train, test = (truth.sample_table(rows, random_state=seed + k) for rows, k in ((n, 1000), (20_000, 2000)))
        best = truth.log_prob(test).mean()
        learned.append(
            best - CStreeLearner(search=Chains(n_iter=1000), random_state=0, **settings).fit(train).score(test)
        )
        oracle.append(best - truth.fit_parameters(train).log_prob(test).mean())
    return np.mean(learned) / np.mean(oracle)


def test_the_adaptive_prior_and_averaged_parameters_predict_fifty_variables_better_than_either_alone():
    both = held_out_gap(50, 10)
    assert both < 1.7
    assert held_out_gap(50, 10, parameters="mean") > both
    assert held_out_gap(50, 10, prior="tree") > both


def test_a_central_order_predicts_fifty_variables_better_than_the_best_one():
    assert held_out_gap(50, 20) < held_out_gap(50, 20, estimate="best") - 0.02


def test_fifty_variables_are_predicted_within_1_6_times_the_gap_of_the_oracle():
    """On fifty models: ten have a standard error of 0.07, and the first ten are at 1.61."""
    assert held_out_gap(50, 50) < 1.6
