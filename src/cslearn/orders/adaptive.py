"""What the data choose: the probabilities of the tree prior, and the equivalent sample size.

The order score sums over all stagings, so ``P(data | order, prior)`` is known in closed form for every prior, up to a
constant. The probabilities of the tree prior (that there is a root, that a state of it splits, that all split on the
same variable, and beyond two context variables that splits go on) belong to all variables together, so that already ten
variables tell whether the truth has few splits or many, and whether they are those of a Bayesian network. They are
chosen by empirical Bayes: for one good order, from round numbers, so that this probability times a weak prior of their
own is largest. That prior is worth `STRENGTH` variables that behave as the fixed tree prior says, which keeps a choice
made from few variables moderate.

Only the weights of the pieces change with the prior, not the sums over pairs of candidates, so one trial takes
O(p m d) time for `m` candidates of cardinality `d`.

The equivalent sample size says how even the probabilities in a stage are before there are data, and that differs
between data sets more than any one number can suit. It is chosen in the same way, but given the best stagings of the
order instead of summed over all: these need no new tables for each trial, and choose the same value, or its neighbour.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple
from math import fsum, inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from cslearn.orders.problem import with_prior
from cslearn.priors import TreePrior
from cslearn.scores import Scores

__all__ = ["FIRST_ESS", "adapted_ess", "adapted_prior", "adapted_prior_of_scores"]

VALUES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
STRENGTH = 2.0
# The first order is found with this one. The weak prior of the values is log-normal around it.
FIRST_ESS = 5.0
ESS_VALUES = (0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 50.0, 70.0, 100.0)


def adapted_prior(problem: Any, order: NDArray[np.int64]) -> TreePrior:
    """Choose the probabilities of the tree prior for an order.

    They are changed one at a time, to the best of the values, until none is better than what there is.

    Parameters
    ----------
    problem : Problem
        From :func:`cslearn.orders.problem.order_problem`, for any prior.
    order : ndarray of int, shape (p,)
        Columns of the data. A bad order makes for a bad choice: take one that a search has found.

    Returns
    -------
    TreePrior

    Examples
    --------
    >>> import numpy as np
    >>> from cslearn import random_cstree
    >>> from cslearn.orders import adapted_prior, order_problem
    >>> from cslearn.scores import Scores
    >>> nothing, much = (random_cstree(20, method="split", p_context=c, random_state=0) for c in (0.0, 1.0))
    >>> order = np.array([much.variables.index(v) for v in much.order])
    >>> adapted_prior(order_problem(Scores(nothing.sample_table(1000, random_state=0))), order)
    TreePrior(root=0.1, split=0.3, same=0.1, deeper=0.3)
    >>> adapted_prior(order_problem(Scores(much.sample_table(1000, random_state=0))), order)
    TreePrior(root=0.98, split=0.8, same=0.05, deeper=0.3)
    """
    from cslearn._kernels.levels import new_state
    from cslearn._kernels.relocation import rescore, set_order

    state = new_state(problem)
    set_order(problem, state, np.asarray(order, dtype=np.int64))

    def log_score(prior: TreePrior) -> float:
        rescore(with_prior(problem, prior), state)
        return float(state.score.sum())

    return _largest(log_score, problem.beta)


def adapted_prior_of_scores(scores: Scores, order: Sequence[str]) -> TreePrior:
    """Choose the same without compiled code: for few variables, whose levels are small."""
    levels = [(v, order[:t]) for t, v in enumerate(order)]

    def log_score(prior: TreePrior) -> float:
        other = scores.with_prior(prior)
        return fsum(other.local_order_score(v, before) for v, before in levels)

    return _largest(log_score, scores.beta)


def adapted_ess(scores: Scores, order: Sequence[str]) -> float:
    """Choose the equivalent sample size for the best stagings of an order.

    Parameters
    ----------
    scores : Scores
        For any equivalent sample size.
    order : sequence of str
        All variables of the data.

    Returns
    -------
    float
        One of `ESS_VALUES`.

    Examples
    --------
    >>> from cslearn import random_cstree
    >>> from cslearn.orders import adapted_ess
    >>> from cslearn.scores import Scores
    >>> uneven, even = (random_cstree(10, concentration=c, random_state=0) for c in (0.2, 5.0))
    >>> adapted_ess(Scores(uneven.sample_table(1000, random_state=0), prior="tree"), uneven.order)
    1.0
    >>> adapted_ess(Scores(even.sample_table(1000, random_state=0), prior="tree"), even.order)
    30.0
    """
    counts: list[NDArray[np.float64]] = []
    sizes: list[NDArray[np.float64]] = []
    for t, v in enumerate(order):
        _, staging = scores.best_staging(v, order[:t])
        found, size = scores.stage_counts(v, staging.contexts)
        seen = found.any(axis=1)  # stages without rows say nothing, and may be very many
        counts.append(found[seen])
        sizes.append(size[seen])

    def value(ess: float) -> float:
        return _log_likelihood(counts, sizes, ess) - log(ess / FIRST_ESS) ** 2 / 2

    return max(ESS_VALUES, key=value)


def _log_likelihood(counts: list[NDArray[np.float64]], sizes: list[NDArray[np.float64]], ess: float) -> float:
    """Return the log marginal likelihood of the counts of stages, whose contexts have `sizes` outcomes."""
    total = 0.0
    for found, size in zip(counts, sizes, strict=True):
        a_stage = ess / size
        stage, state = found.nonzero()
        a_cell = a_stage[stage] / found.shape[1]
        total += float((gammaln(a_cell + found[stage, state]) - gammaln(a_cell)).sum())
        total -= float((gammaln(a_stage + found.sum(axis=1)) - gammaln(a_stage)).sum())
    return total


def _largest(log_score: Callable[[TreePrior], float], beta: int) -> TreePrior:
    """Change one probability at a time, as long as the log score with that of the prior's own prior grows."""
    tried: dict[TreePrior, float] = {}

    def value(prior: TreePrior) -> float:
        if prior not in tried:
            tried[prior] = log_score(prior) + log_hyperprior(prior)
        return tried[prior]

    best, before = TreePrior(), -inf
    while value(best) > before:
        before = value(best)
        for place in range(4 if beta > 2 else 3):
            trials = [(*astuple(best)[:place], x, *astuple(best)[place + 1 :]) for x in VALUES]
            best = max((best, *(TreePrior(*trial) for trial in trials)), key=value)
    return best


def log_hyperprior(prior: TreePrior) -> float:
    """Return the log-density, up to a constant, of the weak prior of the probabilities: independent Beta densities."""
    pairs = zip(astuple(TreePrior()), astuple(prior), strict=True)
    return STRENGTH * sum(usual * log(x) + (1 - usual) * log(1 - x) for usual, x in pairs)
