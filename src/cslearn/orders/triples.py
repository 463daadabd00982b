"""What the kernels of the order searches need to know of scores with a context bound of three."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from math import exp, inf, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn._numerics import n_threads
from cslearn.priors import Prior
from cslearn.scores import Scores, entries_of_tables

__all__ = ["are_triples", "memory_of_triples", "triple_problem", "triple_weights"]

Floats = NDArray[np.float64]

# A number that is zero: no exponent of a product of others is as low.
ZERO_EXPONENT = -(2**14)


def are_triples(scores: Scores) -> bool:
    """Tell whether scores have a context bound of three for all variables with as many candidates, and only trees."""
    bounds = all(beta == min(3, max(2, len(own))) for beta, own in zip(scores.betas, scores.candidates, strict=True))
    counted = all(len(own) == of for own, of in zip(scores.candidates, scores.chosen_from, strict=True))
    return scores.beta == 3 and scores.stagings == "tree" and bounds and counted


def memory_of_triples(sets: Sequence[tuple[int, ...]], n_chains: int = 4) -> int:
    """Return the bytes that a search with these cardinalities of the candidates of each variable works on.

    Those are the logarithms of the scores, a mantissa and an exponent for each (12 bytes), and the sums of each chain.
    """
    contexts = [(sum(cards) ** 2 - sum(d * d for d in cards)) // 2 for cards in sets]
    tables = sum(8 * entries_of_tables(cards, 3) for cards in sets)
    splits = sum(12 * len(cards) * number for cards, number in zip(sets, contexts, strict=True))
    return tables + splits + n_chains * 12 * (len(sets) + 1) * max(contexts, default=0)


def triple_problem(scores: Scores, common: dict[str, Any]) -> Any:
    """Return the arrays that the kernels work on.

    Parameters
    ----------
    scores : Scores
    common : dict
        What does not depend on a third variable, as :class:`cslearn._kernels.levels.Problem` has it.
    """
    from cslearn._kernels.triple_levels import TripleProblem

    stop, _, pair = scores.tables
    cards = np.array(scores.table.cards, dtype=np.int64)
    p, m = common["columns"].shape
    first = np.zeros((p, m * (m - 1) // 2 + 1), dtype=np.int64)
    every, every_e = np.ones(first.shape), np.zeros(first.shape, dtype=np.int64)
    contexts = np.zeros(p, dtype=np.int64)
    for i, own in enumerate(scores.candidates):
        n, sizes = len(own), cards[own]
        high, low = np.tril_indices(n, -1)
        ends = np.cumsum(sizes[low] * sizes[high])
        first[i, 1 : len(low) + 1] = ends
        contexts[i] = ends[-1] if len(low) else 0
        exists = np.arange(pair.shape[3]) < sizes[:, None]
        both = np.where(exists, pair[i, :n, :n], 0.0).sum(axis=2)[high, low] - stop[i]
        every[i, : len(low)], every_e[i, : len(low)] = _scaled(both)
    offset = np.concatenate([[0], np.cumsum([len(own) for own in scores.candidates] * contexts)])
    triple, triple_e = np.zeros(int(offset[-1])), np.full(int(offset[-1]), ZERO_EXPONENT, dtype=np.int32)

    def fill(i: int) -> None:
        if scores.betas[i] == 3:
            here = slice(offset[i], offset[i + 1])
            triple[here], triple_e[here] = _splits(scores, i, cards[scores.candidates[i]])

    with ThreadPoolExecutor(n_threads(scores.n_jobs)) as pool:
        list(pool.map(fill, range(p)))
    distinct = np.unique(cards)
    return TripleProblem(
        **common,
        first=first,
        contexts=contexts,
        every=every,
        every_e=every_e,
        triple=triple,
        triple_e=triple_e,
        offset=offset[:-1],
        **triple_weights(scores.prior, distinct, m),
    )


def _scaled(logs: Floats, wider: int = 1) -> tuple[Floats, NDArray[np.int64]]:
    """Return mantissas and exponents, to the base of the kernels' numbers or one that is wider by a power."""
    from cslearn._kernels.numbers import LOG_BASE

    exponents = np.floor(logs / (wider * LOG_BASE) + 0.5)
    return np.exp(logs - exponents * (wider * LOG_BASE)), exponents.astype(np.int64)


def _splits(scores: Scores, i: int, cards: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int64]]:
    """Return the splits of the contexts of two candidates on each third one, flat, a row for each third one."""
    from cslearn._kernels.triple_levels import WIDER

    stages, deepest = scores.stage_tables(i, np.arange(len(cards)))
    assert deepest is not None
    d = stages[2].shape[1]
    high, low = np.tril_indices(len(cards), -1)
    # The contexts of each pair, by the states of the lower variable and then of the higher one.
    x, y = np.divmod(np.arange(d * d), d)
    exists = (x < cards[low, None]) & (y < cards[high, None])
    pair, cell = np.nonzero(exists)
    at = low[pair], x[cell], high[pair], y[cell]
    values, exponents = _scaled(np.ascontiguousarray((deepest[at] - stages[2][at][:, None]).T), WIDER)
    here = np.arange(len(pair))
    for own in (low[pair], high[pair]):
        values[own, here], exponents[own, here] = 0.0, ZERO_EXPONENT
    return values.ravel(), exponents.ravel()


def triple_weights(prior: Prior, sizes: NDArray[np.int64], most: int) -> dict[str, Any]:
    """Return the prior's weights by the size of the level, up to `most`, and by cardinalities where these matter."""
    kinds = len(sizes)
    whole, root, pair, triple = np.ones(most + 1), np.ones(most + 1), np.zeros(most + 1), np.zeros(most + 1)
    stop_one, split_one, full_one = np.ones((most + 1, kinds)), np.zeros(most + 1), np.zeros((most + 1, kinds))
    stop_two, split_two = np.ones((most + 1, kinds, kinds)), np.zeros((most + 1, kinds, kinds))
    log_below_one, log_pair = np.full((most + 1, kinds, kinds), -inf), np.full((most + 1, kinds, kinds), -inf)
    sign = np.ones(most + 1)
    for m in range(most + 1):
        splits = prior.splits(m, 3)
        whole[m] = exp(prior.log_stage(m, 0, 3, 1))
        if m >= 1:
            root[m] = splits[0][0]
            stop_one[m] = [exp(prior.log_stage(m, 1, 3, int(d))) for d in sizes]
        if m < 2:
            continue
        share = prior.log_share(m, 3) if m > 2 else 0.0
        pair[m], split_one[m], triple[m] = splits[0][1], splits[1][0], splits[0][2] * exp(share)
        full_one[m] = splits[1][1] * np.exp(share / sizes)
        areas = np.multiply.outer(sizes, sizes)
        log_stop_two = np.array([[prior.log_stage(m, 2, 3, int(area)) for area in row] for row in areas])
        stop_two[m] = np.exp(log_stop_two)
        split_two[m] = splits[2][0] * np.exp(share / areas)
        # The same for scores that are one. Relative to the product of the brackets what is subtracted is small.
        bracket = np.logaddexp(log_stop_two, _log((m - 2) * splits[2][0]) + share / areas)
        below, both = bracket * sizes, bracket * areas
        log_below_one[m] = below + np.log(
            splits[1][0] + (m - 2) / 2 * splits[1][1] * np.exp(share / sizes[:, None] - below)
        )
        last = pair[m] + (m - 2) / 3 * splits[0][2] * np.exp(share - both)
        sign[m] = -1.0 if pair[m] < 0 else 1.0
        log_pair[m] = both + [[_log(abs(float(value))) for value in row] for row in last]
    return {
        "whole": whole,
        "root_weight": root,
        "pair_weight": pair,
        "triple_weight": triple,
        "stop_one": stop_one,
        "split_one": split_one,
        "full_one": full_one,
        "stop_two": stop_two,
        "split_two": split_two,
        "log_root": np.log(root),
        "log_stop_one": np.log(stop_one),
        "log_below_one": log_below_one,
        "log_pair": log_pair,
        "pair_sign": sign,
        "sizes": sizes,
    }


def _log(value: float) -> float:
    return log(value) if value > 0 else -inf
