"""What the kernels of the order searches need to know of the scores."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn._numerics import n_threads
from cslearn.errors import LimitError
from cslearn.priors import Prior
from cslearn.scores import Scores

__all__ = ["has_usual_weights", "order_problem", "with_prior"]

Floats = NDArray[np.float64]

# Numbers of the kernels lie within 2^-64 and 2^64 times a power of their base. Weights whose logarithm is farther from
# zero than this have exponents of their own, and do without the short cuts for usual ones.
USUAL = 60 * log(2.0)


def has_usual_weights(scores: Scores) -> bool:
    """Tell whether the prior's weights are such as the kernels reckon with: nothing costs as much as 40 nats."""
    cards = np.unique(np.array(scores.table.cards, dtype=np.int64))
    m = max(map(len, scores.candidates))
    return not _prior_weights(scores.prior, cards, m, min(scores.beta, 2))["costly"]


def order_problem(scores: Scores, before: NDArray[np.bool_] | None = None, *, light: bool = True) -> Any:
    """Return the arrays that the kernels work on.

    Parameters
    ----------
    scores : Scores
    before : ndarray of bool, shape (p, p), optional
        ``before[i, j]`` tells that variable `i` must come before `j` in every order; transitively closed.
    light : bool
        Whether targets of binary variables may go without exponents, where the range of a double suffices.

    Notes
    -----
    For a context bound of at most two; beyond, scores are looked up (:func:`cslearn.orders.lookup_problem`).
    """
    if scores.beta > 2:
        raise LimitError(f"beta={scores.beta}: for more than two context variables scores are looked up, not summed up")
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

    distinct, kind = np.unique(cards, return_inverse=True)
    weights = _prior_weights(scores.prior, distinct, m, scores.beta)
    may_be_light = light and scores.beta == 2 and pair.shape[3] == 2 and not weights["costly"]

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

    return Problem(
        beta=scores.beta,
        width=pair.shape[3],
        stop=stop,
        root=root,
        root_e=root_e,
        pair=splits.ravel(),
        pair_e=splits_e.ravel(),
        n_candidates=np.array([len(candidates) for candidates in scores.candidates], dtype=np.int64),
        columns=columns,
        place=place,
        cards=cards,
        kind=kind.astype(np.int64),
        before=np.zeros((p, p), dtype=bool) if before is None else np.ascontiguousarray(before, dtype=bool),
        light=is_light,
        **weights,
    )


def with_prior(problem: Any, prior: Prior) -> Any:
    """Return the problem with another prior over stagings; the large arrays are shared."""
    weights = _prior_weights(prior, np.unique(problem.cards), problem.columns.shape[1], problem.beta)
    if weights["costly"] and problem.light.any():
        raise LimitError(
            f"the prior {prior.name!r} makes a stage or a split cost more than 40 nats, which these arrays have no room"
            " for: compute them again with order_problem"
        )
    return problem._replace(**weights)


def _prior_weights(prior: Prior, cards: NDArray[np.int64], m: int, beta: int) -> dict[str, Any]:
    """Return the prior's weights by the size of the level, and where it matters by the root's cardinality.

    Those of a stop, a split, the whole level and a pair; then the term of a root in the normaliser, in which each of
    its `d` states stops or splits on one of the ``m - 1`` others. All are mantissas with exponents.
    """
    log_stop, log_split = np.zeros((m + 1, len(cards))), np.full((m + 1, len(cards)), -np.inf)
    whole, log_pair, sign = np.zeros(m + 1), np.full(m + 1, -np.inf), np.zeros(m + 1)
    for k in range(m + 1):
        splits = prior.splits(k, beta)
        whole[k] = prior.log_stage(k, 0, beta, 1)
        if k >= 1 and beta >= 1:
            # What belongs to the root is shared by its states.
            root = log(splits[0][0])
            log_stop[k] = (root + prior.log_share(k, 1)) / cards + prior.log_ending(k, 1, beta)
        if k >= 2 and beta >= 2:
            log_split[k] = (root + prior.log_share(k, 2)) / cards + log(splits[1][0])
            if splits[0][1]:
                sign[k] = np.sign(splits[0][1])
                log_pair[k] = log(abs(splits[0][1]) / 2) + prior.log_share(k, 2)
    others = np.maximum(np.arange(m + 1) - 1, 0)[:, None]
    with np.errstate(divide="ignore"):
        log_norm = cards * np.logaddexp(log_stop, np.log(others) + log_split)
    found: dict[str, Any] = {}
    for name, logs in (
        ("stop_weight", log_stop),
        ("split_weight", log_split),
        ("whole", whole),
        ("both", log_pair),
        ("norm", log_norm),
    ):
        found[name], found[f"{name}_e"] = _scaled(logs)
    found["both"] *= sign
    given = np.concatenate([log_stop.ravel(), log_split.ravel(), whole, log_pair])
    found["costly"] = bool(np.abs(given[np.isfinite(given)]).max() > USUAL)
    return found


def _scaled(logs: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return the mantissas and exponents of numbers with these logarithms."""
    from cslearn._kernels.wide_numbers import LOG_BASE, ZERO_EXPONENT

    some = np.isfinite(logs)
    exponents = np.where(some, np.floor(np.where(some, logs, 0.0) / LOG_BASE + 0.5), 0.0)
    return np.exp(logs - exponents * LOG_BASE), np.where(some, exponents, ZERO_EXPONENT).astype(np.int64)
