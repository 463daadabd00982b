"""From scores to a posterior over orders: exactly, by chains that look local scores up, or by chains that sum them."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cslearn.estimators.plan import check_exact, engine_of
from cslearn.grown import GrownEngine, GrownScores
from cslearn.grown.subsets import GrownSubsets
from cslearn.orders import (
    Chain,
    ExactOrders,
    SubsetScores,
    adapted_prior,
    adapted_prior_of_scores,
    lookup_problem,
    order_problem,
    sample_chains,
    with_prior,
)
from cslearn.posterior import CStreePosterior
from cslearn.posterior.levels import levels_of
from cslearn.scores import Scores

__all__ = ["Problem", "chain_problem", "search_by_chains", "search_exactly", "with_adapted_prior"]

# Chains go on for so many times their first moves before it is asked whether they have a chance to agree. Their log
# scores tell: where these are so few draws that even the longest chains will not have enough, they end. So fits of
# Mushroom, whose chains stay where they began, take 4 CPU seconds instead of 17. With four times, chains of the public
# tables german and movies ended that agree later, or nearly so.
PATIENCE = 16


class Problem(Protocol):
    """What chains work on: scores as the kernels take them, and what must come before what."""

    @property
    def before(self) -> NDArray[np.bool_]:
        """``before[i, j]`` tells that variable `i` must come before `j`."""


def search_exactly(
    scores: Scores,
    before: NDArray[np.bool_],
    *,
    max_memory: float,
    random_state: np.random.Generator,
    settings: dict[str, Any],
) -> CStreePosterior:
    """Return the exact posterior, or raise an error that states its cost if that is too high."""
    check_exact(scores, max_memory)
    exact = ExactOrders(subsets_of(scores), before)
    return CStreePosterior.of_exact(exact, random_state, settings)


def chain_problem(scores: Scores, before: NDArray[np.bool_]) -> Problem:
    """Return what chains work on: scores that are looked up if the candidate sets are small, otherwise summed up."""
    if isinstance(scores, GrownScores):
        return GrownEngine(scores.contexts, before)
    if engine_of(scores) == "subsets":
        return lookup_problem(SubsetScores(scores), before)
    return order_problem(scores, before)


def subsets_of(scores: Scores) -> SubsetScores | GrownSubsets:
    """Return the local order scores of all levels."""
    return GrownSubsets(scores) if isinstance(scores, GrownScores) else SubsetScores(scores)


def with_adapted_prior(
    scores: Scores, problem: Problem | None, order: NDArray[np.int64]
) -> tuple[Scores, Problem | None]:
    """Return scores and problem with the tree prior that suits an order; the problem is None for an exact search."""
    if problem is None or scores.beta > 2:
        prior = adapted_prior_of_scores(scores, [scores.table.variables[i] for i in order])
    else:
        looked_up = engine_of(scores) == "subsets"
        prior = adapted_prior(order_problem(scores, problem.before) if looked_up else problem, order)
    scores = scores.with_prior(prior)
    if problem is None:
        return scores, None
    if engine_of(scores) == "subsets":
        return scores, lookup_problem(SubsetScores(scores), problem.before)
    return scores, with_prior(problem, prior)


def search_by_chains(
    scores: Scores, problem: Problem, *, auto: bool, settings: dict[str, Any], **options: Any
) -> tuple[CStreePosterior, bool]:
    """Return the posterior by chains, and whether an interrupt ended them early.

    With `auto` the chains go on until they agree, beyond `max_iter` moves if no more than `further` will do, and no
    longer than there is a chance that they will; the rest is for :func:`cslearn.orders.sample_chains`.
    """
    levels = levels_of(scores, problem)
    judged: list[CStreePosterior] = []

    def posterior(chains: list[Chain]) -> CStreePosterior:
        return CStreePosterior(scores.table.variables, chains, settings, scores=scores, levels=levels)

    first, longest, further = options.get("n_iter"), options.get("max_iter"), options.get("further", 0)

    def until(chains: list[Chain]) -> bool:
        judged[:] = [posterior(chains)]
        made, verdict = chains[0].n_iter, judged[0].verdict
        if longest is None or verdict.converged:
            return verdict.converged
        if made < longest:
            asked = first is not None and made >= PATIENCE * first
            return asked and made * verdict.at_least > max(longest, further)
        # Further only where chains agree and are too short: it cannot be told when those that disagree will agree.
        return not made * verdict.longer <= further

    if auto:
        options["until"] = until
    chains, interrupted = sample_chains(problem, **options)
    # Chains that were long enough are judged already, which takes time with many variables.
    if judged and judged[0].converged and judged[0].chains[0].n_iter == chains[0].n_iter:
        return judged[0], interrupted
    return posterior(chains), interrupted
