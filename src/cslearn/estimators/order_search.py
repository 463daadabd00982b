"""From scores to a posterior over orders: exactly, by chains that look local scores up, or by chains that sum them."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cslearn._wording import option
from cslearn.errors import LimitError
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
from cslearn.orders.chains import default_n_iter
from cslearn.orders.lookup import are_looked_up
from cslearn.orders.subsets import memory_of_subsets
from cslearn.posterior import CStreePosterior
from cslearn.posterior.levels import levels_of
from cslearn.scores import Scores

__all__ = [
    "Problem",
    "affordable",
    "chain_problem",
    "check_exact",
    "default_temperatures",
    "exact_memory",
    "is_feasible",
    "search_by_chains",
    "search_exactly",
    "with_adapted_prior",
]

# Up to so many variables and bytes an exact search takes seconds, less than chains do, and is the default.
AUTO_EXACT = 18
AUTO_EXACT_GROWN = 12
AUTO_MEMORY = 1 << 28
MOST_EXACT = 22
# If local scores are looked up, moves take microseconds, in proportion to the number of variables: so many make edge
# probabilities right to two digits, and take the same time for more variables than `LOOKED_UP_VARIABLES`.
LOOKED_UP_MOVES = 160_000
LOOKED_UP_VARIABLES = 15
LOOKED_UP_DRAWS = 5000
LOOKED_UP_TEMPERATURES = 3


class Problem(Protocol):
    """What chains work on: scores as the kernels take them, and what must come before what."""

    @property
    def before(self) -> NDArray[np.bool_]:
        """``before[i, j]`` tells that variable `i` must come before `j`."""


def exact_memory(scores: Scores) -> int:
    """Return the bytes that an exact search needs at its peak."""
    p, cards = scores.table.p, scores.table.cards
    kept = sum(3 * 8 << len(own) for own in scores.candidates)
    if scores.grown:
        return kept + (32 << p)
    work = max(
        memory_of_subsets(tuple(int(cards[c]) for c in own), beta)
        for own, beta in zip(scores.candidates, scores.betas, strict=True)
    )
    return 2 * work + kept + (32 << p)


def affordable(scores: Scores) -> bool:
    """Tell whether an exact search is a matter of seconds."""
    most = AUTO_EXACT_GROWN if scores.grown else AUTO_EXACT
    return scores.table.p <= most and exact_memory(scores) <= AUTO_MEMORY


def is_feasible(scores: Scores, max_memory: float) -> bool:
    """Tell whether an exact search is within its limits."""
    return scores.table.p <= MOST_EXACT and exact_memory(scores) <= max_memory


def check_exact(scores: Scores, max_memory: float) -> None:
    """Raise an error that states the cost of an exact search if that is too high."""
    if not is_feasible(scores, max_memory):
        p, needed = scores.table.p, exact_memory(scores)
        raise LimitError(
            f"an exact search over the orders of {p} variables goes through 2^{p} sets of them and needs about"
            f" {needed / 2**30:.3g} GB; it is limited to {MOST_EXACT} variables and to {max_memory / 2**30:.3g} GB"
            f" ({option('max_memory')}). Use {option('search', 'mcmc')}, or fewer candidates ({option('alpha')})."
        )


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
    if are_looked_up(scores):
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
        prior = adapted_prior(order_problem(scores, problem.before) if are_looked_up(scores) else problem, order)
    scores = scores.with_prior(prior)
    if problem is None:
        return scores, None
    if are_looked_up(scores):
        return scores, lookup_problem(SubsetScores(scores), problem.before)
    return scores, with_prior(problem, prior)


def looked_up_moves(p: int) -> int:
    """Return the moves of a chain whose scores are looked up, before it is asked whether they are enough."""
    return max(default_n_iter(p), LOOKED_UP_MOVES * LOOKED_UP_VARIABLES // max(p, LOOKED_UP_VARIABLES))


def looked_up_draws(p: int) -> int:
    """Return how many draws such a chain keeps: there are more quantities to judge them by with more variables."""
    return max(1000, LOOKED_UP_DRAWS * LOOKED_UP_VARIABLES // max(p, LOOKED_UP_VARIABLES))


def default_temperatures(scores: Scores) -> int:
    """Return the number of temperatures of each chain: several where a move takes a microsecond.

    With many rows and three context variables plain chains stay where they begin, far below each other.
    """
    return LOOKED_UP_TEMPERATURES if are_looked_up(scores) else 1


def search_by_chains(
    scores: Scores, problem: Problem, *, auto: bool, settings: dict[str, Any], **options: Any
) -> tuple[CStreePosterior, bool]:
    """Return the posterior by chains, and whether an interrupt ended them early.

    With `auto` the chains go on until they agree, beyond `max_iter` moves if no more than `further` will do; the rest
    is for :func:`cslearn.orders.sample_chains`.
    """
    levels = levels_of(scores, problem)
    judged: list[CStreePosterior] = []

    def posterior(chains: list[Chain]) -> CStreePosterior:
        return CStreePosterior(scores.table.variables, chains, settings, scores=scores, levels=levels)

    longest, further = options.get("max_iter"), options.get("further", 0)

    def until(chains: list[Chain]) -> bool:
        judged[:] = [posterior(chains)]
        if longest is None or chains[0].n_iter < longest:
            return judged[0].converged
        # Further only where chains agree and are too short: it cannot be told when those that disagree will agree.
        needed = chains[0].n_iter * judged[0].verdict.longer
        return judged[0].converged or not needed <= further

    if auto:
        options["until"] = until
    if auto and are_looked_up(scores):
        moves = looked_up_moves(scores.table.p)
        longest = options.get("max_iter") or 8 * moves
        options["n_iter"] = min(moves, longest)
        options["max_iter"] = longest
        if options.get("thin") is None:
            options["thin"] = max(1, options["n_iter"] // looked_up_draws(scores.table.p))
    chains, interrupted = sample_chains(problem, **options)
    # Chains that were long enough are judged already, which takes time with many variables.
    if judged and judged[0].converged and judged[0].chains[0].n_iter == chains[0].n_iter:
        return judged[0], interrupted
    return posterior(chains), interrupted
