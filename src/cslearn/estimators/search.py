"""A quick search: the parents of each variable in a good model, for the screen of candidates."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from cslearn.candidates import Knowledge
from cslearn.data import Table
from cslearn.orders import order_problem, sample_chains
from cslearn.priors import Prior
from cslearn.scores import Scores

__all__ = ["greedy_search"]

Sets = dict[str, tuple[str, ...]]

# Random orders to climb from. One is not enough: what a poor order hides from a screen stays hidden.
STARTS = 4


def greedy_search(
    table: Table,
    *,
    knowledge: Knowledge,
    beta: int = 2,
    ess: float = 1.0,
    prior: str | Prior = "tree",
    random_state: int | None = 0,
    n_jobs: int | None = None,
    interventions: NDArray[np.bool_] | None = None,
) -> Callable[[Sets], Mapping[str, tuple[str, ...]]]:
    """Return a function from candidate sets to the parents in the best stagings of an order found greedily."""
    before = knowledge.precedence(table.variables)

    def search(sets: Sets) -> Mapping[str, tuple[str, ...]]:
        scores = Scores(
            table, beta=beta, ess=ess, prior=prior, candidates=sets, n_jobs=n_jobs, interventions=interventions
        )
        chains, _ = sample_chains(
            order_problem(scores, before), n_chains=STARTS, n_iter=1, random_state=random_state, n_jobs=n_jobs
        )
        best = max(chains, key=lambda chain: chain.best_log_score)
        order = [table.variables[column] for column in best.best_order]
        return {v: scores.best_staging(v, order[:t])[1].context_variables for t, v in enumerate(order)}

    return search
