"""From scores to a posterior over orders: exactly, by chains that look local scores up, or by chains that sum them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn.errors import LimitError
from cslearn.orders import ExactOrders, SubsetScores, lookup_problem, order_problem, sample_chains
from cslearn.orders.subsets import memory_of_subsets
from cslearn.posterior import CStreePosterior
from cslearn.scores import Scores

__all__ = ["MOST_EXACT", "exact_memory", "search_by_chains", "search_exactly"]

# Up to so many variables an exact search is a matter of seconds, and taken by default; beyond the second it is refused.
AUTO_EXACT = 11
MOST_EXACT = 22
# Local scores are looked up if no variable has more candidates: cheaper than summing them at every move.
MOST_LOOKED_UP = 11


def exact_memory(scores: Scores) -> int:
    """Return the bytes that an exact search needs at its peak."""
    p, cards = scores.table.p, scores.table.cards
    work = max(
        memory_of_subsets(tuple(int(cards[c]) for c in own), beta)
        for own, beta in zip(scores.candidates, scores.betas, strict=True)
    )
    kept = sum(3 * 8 << len(own) for own in scores.candidates)
    return 2 * work + kept + (32 << p)


def search_exactly(
    scores: Scores,
    before: NDArray[np.bool_],
    *,
    max_memory: float,
    random_state: Any,
    settings: dict[str, Any],
) -> CStreePosterior:
    """Return the exact posterior, or raise an error that states its cost if that is too high."""
    p = scores.table.p
    needed = exact_memory(scores)
    if p > MOST_EXACT or needed > max_memory:
        raise LimitError(
            f"an exact search over the orders of {p} variables goes through 2^{p} sets and needs about"
            f" {needed / 2**30:.1f} GB, more than the {max_memory / 2**30:.1f} GB allowed (max_memory) or than"
            f" {MOST_EXACT} variables. Use search='mcmc', or fewer candidates (alpha)."
        )
    exact = ExactOrders(SubsetScores(scores), before)
    return CStreePosterior.of_exact(exact, random_state, **settings)


def search_by_chains(
    scores: Scores, before: NDArray[np.bool_], *, settings: dict[str, Any], **options: Any
) -> tuple[CStreePosterior, bool]:
    """Return the posterior by chains, and whether an interrupt ended them early."""
    small = max(map(len, scores.candidates)) <= MOST_LOOKED_UP
    if scores.beta > 2 or small or len(set(scores.betas)) > 1:
        problem = lookup_problem(SubsetScores(scores), before)
    else:
        problem = order_problem(scores, before)
    chains, interrupted = sample_chains(problem, **options)
    return CStreePosterior(scores.table.variables, chains, settings, scores=scores), interrupted
