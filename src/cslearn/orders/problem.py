"""What the kernels of the order searches need to know of the scores."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn._numerics import n_threads
from cslearn.orders.subsets import SubsetScores, subsets_fit
from cslearn.orders.triples import are_triples, triple_problem, triple_weights
from cslearn.priors import Prior
from cslearn.scores import Scores

__all__ = ["are_looked_up", "lookup_problem", "order_problem", "with_prior"]

Floats = NDArray[np.float64]

# Up to this many candidates local scores are looked up by subsets of these.
MOST_LOOKED_UP = 14

# The parts of a problem that `_prior_weights` gives.
WEIGHTS = ("stop_weight", "split_weight", "whole", "both", "norm", "norm_e")


def are_looked_up(scores: Scores) -> bool:
    """Tell whether local scores are looked up by subsets of the candidates, not summed up for each level anew."""
    if scores.beta <= 2:
        return max(map(len, scores.candidates)) <= MOST_LOOKED_UP
    if not are_triples(scores):
        return True
    cards = scores.table.cards
    sets = [tuple(int(cards[c]) for c in own) for own in scores.candidates]
    return all(subsets_fit(own, beta) for own, beta in zip(sets, scores.betas, strict=True))


def order_problem(scores: Scores, before: NDArray[np.bool_] | None = None) -> Any:
    """Return the arrays that the kernels work on.

    Parameters
    ----------
    scores : Scores
    before : ndarray of bool, shape (p, p), optional
        ``before[i, j]`` tells that variable `i` must come before `j` in every order; transitively closed.
    """
    from cslearn._kernels.levels import Problem
    from cslearn._kernels.scaling import scale_target

    stop, single, pair = scores.tables
    p = scores.table.p
    cards = np.array(scores.table.cards, dtype=np.int64)
    m = max(map(len, scores.candidates))
    columns = np.full((p, m), -1, dtype=np.int64)
    place = np.full((p, p), -1, dtype=np.int64)
    for i, candidates in enumerate(scores.candidates):
        columns[i, : len(candidates)] = candidates
        place[i, candidates] = np.arange(len(candidates))

    root, root_e = np.zeros((p, m)), np.zeros((p, m), dtype=np.int64)
    splits, splits_e = np.zeros(pair.shape), np.zeros(pair.shape, dtype=np.int32)

    def scale(i: int) -> bool:
        return bool(
            scale_target(
                scores.beta,
                pair.shape[3],
                stop[i],
                single[i],
                pair[i],
                cards[scores.candidates[i]],
                root[i],
                root_e[i],
                splits[i],
                splits_e[i],
            )
        )

    light = np.zeros(p, dtype=bool)
    if scores.beta > 0:
        with ThreadPoolExecutor(n_threads(scores.n_jobs)) as pool:
            light[:] = list(pool.map(scale, range(p)))

    distinct, kind = np.unique(cards, return_inverse=True)
    common = {
        "beta": scores.beta,
        "width": pair.shape[3],
        "stop": stop,
        "root": root,
        "root_e": root_e,
        "pair": splits.ravel(),
        "pair_e": splits_e.ravel(),
        "n_candidates": np.array([len(candidates) for candidates in scores.candidates], dtype=np.int64),
        "columns": columns,
        "place": place,
        "cards": cards,
        "kind": kind.astype(np.int64),
        "before": np.zeros((p, p), dtype=bool) if before is None else np.ascontiguousarray(before, dtype=bool),
    }
    if scores.beta > 2:
        return triple_problem(scores, common)
    weights = dict(zip(WEIGHTS, _prior_weights(scores.prior, distinct, m, scores.beta), strict=True))
    return Problem(**common, **weights, light=light)


def with_prior(problem: Any, prior: Prior) -> Any:
    """Return the problem with another prior over stagings; the large arrays are shared."""
    if problem.beta > 2:
        return problem._replace(**triple_weights(prior, problem.sizes, problem.columns.shape[1]))
    weights = _prior_weights(prior, np.unique(problem.cards), problem.columns.shape[1], problem.beta)
    return problem._replace(**dict(zip(WEIGHTS, weights, strict=True)))


def lookup_problem(subsets: SubsetScores, before: NDArray[np.bool_] | None = None) -> Any:
    """Return the arrays that the kernels work on if local order scores are looked up by subsets of the candidates."""
    from cslearn._kernels.lookup import LookupProblem

    p = subsets.p
    place = np.full((p, p), -1, dtype=np.int64)
    for i, candidates in enumerate(subsets.scores.candidates):
        place[i, candidates] = np.arange(len(candidates))
    sizes = [len(one) for one in subsets.local]
    return LookupProblem(
        np.array(subsets.scores.table.cards, dtype=np.int64),
        np.concatenate(subsets.local),
        np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int64),
        place,
        np.zeros((p, p), dtype=bool) if before is None else np.ascontiguousarray(before, dtype=bool),
    )


def _prior_weights(prior: Prior, cards: NDArray[np.int64], m: int, beta: int) -> tuple[Floats, ...]:
    """Return the prior's weights by the size of the level, and where it matters by the root's cardinality.

    Those of a stop, a split, the whole level and a pair; then the term of a root in the normaliser, in which each of
    its `d` states stops or splits on one of the ``m - 1`` others, relative to a number whose logarithm comes last.
    """
    from cslearn._kernels.numbers import LOG_BASE

    log_stop, log_split = np.zeros((m + 1, len(cards))), np.full((m + 1, len(cards)), -np.inf)
    whole, pair = np.zeros(m + 1), np.zeros(m + 1)
    for k in range(m + 1):
        splits = prior.splits(k, beta)
        whole[k] = prior.log_share(k, 0) + (prior.log_stop(k, 0, beta) if beta else 0.0)
        if k >= 1 and beta >= 1:
            # What belongs to the root is shared by its states.
            root = log(splits[0][0])
            log_stop[k] = (root + prior.log_share(k, 1)) / cards + (prior.log_stop(k, 1, beta) if beta > 1 else 0.0)
        if k >= 2 and beta >= 2:
            log_split[k] = (root + prior.log_share(k, 2)) / cards + log(splits[1][0])
            pair[k] = splits[0][1] / 2 * exp(prior.log_share(k, 2))
    others = np.maximum(np.arange(m + 1) - 1, 0)[:, None]
    with np.errstate(divide="ignore"):
        log_norm = cards * np.logaddexp(log_stop, np.log(others) + log_split)
    exponent = np.floor(log_norm / LOG_BASE + 0.5)
    norm = np.exp(log_norm - exponent * LOG_BASE)
    return np.exp(log_stop), np.exp(log_split), np.exp(whole), pair, norm, exponent.astype(np.int64)
