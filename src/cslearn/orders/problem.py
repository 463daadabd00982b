"""What the kernels of the order searches need to know of the scores."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn._numerics import n_threads
from cslearn.errors import LimitError
from cslearn.orders.triples import triple_problem, triple_weights
from cslearn.priors import Prior
from cslearn.scores import Scores

__all__ = ["has_usual_weights", "order_problem", "with_prior"]

Floats = NDArray[np.float64]

# Numbers of the kernels lie within 2^-64 and 2^64 times a power of their base, so no weight may be far smaller.
SMALLEST_WEIGHT = 2.0**-60

# The parts of a problem that `_prior_weights` gives.
WEIGHTS = ("stop_weight", "split_weight", "whole", "both", "norm", "norm_e")


def has_usual_weights(scores: Scores) -> bool:
    """Tell whether the prior's weights are such as the kernels reckon with: no split costs as much as 40 nats."""
    cards = np.unique(np.array(scores.table.cards, dtype=np.int64))
    m = max(map(len, scores.candidates))
    stop, split, *_ = _prior_weights(scores.prior, cards, m, min(scores.beta, 2))
    splits = split[2:] if scores.beta >= 2 else split[:0]
    return bool(stop.min() > SMALLEST_WEIGHT and splits.min(initial=1.0) > SMALLEST_WEIGHT)


def order_problem(scores: Scores, before: NDArray[np.bool_] | None = None, *, light: bool = True) -> Any:
    """Return the arrays that the kernels work on.

    Parameters
    ----------
    scores : Scores
    before : ndarray of bool, shape (p, p), optional
        ``before[i, j]`` tells that variable `i` must come before `j` in every order; transitively closed.
    light : bool
        Whether targets of binary variables may go without exponents, where the range of a double suffices.
    """
    from cslearn._kernels.levels import Problem
    from cslearn._kernels.scaling import scale_target

    if not has_usual_weights(scores):
        raise LimitError(
            f"the prior {scores.prior.name!r} gives a stage or a split a weight below {SMALLEST_WEIGHT:.0e}, with which"
            " a search with so many candidates cannot reckon: bound them (alpha), or take a prior that costs less"
        )
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

    may_be_light = light and scores.beta == 2 and pair.shape[3] == 2

    def scale(i: int) -> bool:
        return bool(
            scale_target(
                scores.beta,
                may_be_light,
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

    is_light = np.zeros(p, dtype=bool)
    if scores.beta > 0:
        with ThreadPoolExecutor(n_threads(scores.n_jobs)) as pool:
            is_light[:] = list(pool.map(scale, range(p)))

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
    return Problem(**common, **weights, light=is_light)


def with_prior(problem: Any, prior: Prior) -> Any:
    """Return the problem with another prior over stagings; the large arrays are shared."""
    if problem.beta > 2:
        return problem._replace(**triple_weights(prior, problem.sizes, problem.columns.shape[1]))
    weights = _prior_weights(prior, np.unique(problem.cards), problem.columns.shape[1], problem.beta)
    return problem._replace(**dict(zip(WEIGHTS, weights, strict=True)))


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
