"""Searches over orders of the variables, and what the data choose given an order."""

from cslearn.orders.adaptive import FIRST_ESS, adapted_ess, adapted_prior, adapted_prior_of_scores
from cslearn.orders.chains import Chain, Progress, default_max_iter, default_n_iter, sample_chains
from cslearn.orders.checkpoint import Checkpoint
from cslearn.orders.diagnostics import effective_sample_size, r_hat
from cslearn.orders.exact import ExactOrders
from cslearn.orders.lookup import lookup_problem
from cslearn.orders.posterior import OrderPosterior
from cslearn.orders.problem import order_problem, with_prior
from cslearn.orders.subsets import SubsetScores

__all__ = [
    "FIRST_ESS",
    "Chain",
    "Checkpoint",
    "ExactOrders",
    "OrderPosterior",
    "Progress",
    "SubsetScores",
    "adapted_ess",
    "adapted_prior",
    "adapted_prior_of_scores",
    "default_max_iter",
    "default_n_iter",
    "effective_sample_size",
    "lookup_problem",
    "order_problem",
    "r_hat",
    "sample_chains",
    "with_prior",
]
