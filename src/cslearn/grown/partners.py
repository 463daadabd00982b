"""Of many variables the best candidates of each, so that contexts need not know all of them."""

from __future__ import annotations

from math import lgamma

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from cslearn.counts import Contexts, Counts

__all__ = ["best_partners"]

# Numbers of counts that are asked for at once, and log-gammas that are looked up.
BATCH, LOOKED_UP = 1 << 23, 1 << 16


def best_partners(
    counts: Counts, number: int, ahead: int, allowed: NDArray[np.bool_] | None = None, ess: float = 1.0
) -> list[NDArray[np.int64]]:
    """Return for each variable those that promise most as its parents, the best first.

    A variable promises what a split on it gains, of all rows or of a part of them after one of the `ahead` best splits:
    so those are found that matter only together with another one. All pairs take O(p^2 n / 64), the parts
    O(p^2 n ahead / 64); nothing is held but one batch and the result.

    Parameters
    ----------
    counts : Counts
    number : int
        How many are returned for each variable, if there are so many.
    ahead : int
    allowed : ndarray of bool, shape (p, p), optional
        ``allowed[i, k]`` tells whether variable `i` may be split on `k`.
    ess : float
        The prior count of every stage.

    Returns
    -------
    list of ndarray of int
    """
    cards, starts = counts.cards, counts.starts
    p, gains = len(cards), _Gains(counts, ess)
    nothing = np.zeros(0, dtype=np.int64)
    found: list[NDArray[np.int64]] = []
    size = max(1, BATCH // max(1, int(starts[-1]) * int(cards.max(initial=1))))
    for begin in range(0, p, size):
        targets = np.arange(begin, min(p, begin + size))
        roots = gains(Contexts(targets, np.zeros(len(targets) + 1, dtype=np.int64), nothing, nothing))
        for i, values in zip(targets.tolist(), roots, strict=True):
            barred = np.zeros(p, dtype=bool) if allowed is None else ~allowed[i]
            barred[i] = True
            values[barred | (cards == 1)] = -np.inf
            first = np.argsort(-values, kind="stable")[:ahead]
            first = first[np.isfinite(values[first])]
            of_part = np.repeat(first, cards[first])
            states = np.concatenate([np.arange(cards[k]) for k in first]) if len(first) else nothing
            promise = values.copy()
            for at in range(0, len(of_part), size):
                some = slice(at, at + size)
                pairs = zip(of_part[some].tolist(), states[some].tolist(), strict=True)
                parts = gains(Contexts.of_target(i, [[pair] for pair in pairs]))
                parts += np.minimum(0.0, values[of_part[some]])[:, None]
                np.maximum(promise, parts.max(axis=0), out=promise)
            promise[~np.isfinite(values)] = -np.inf
            best = np.argsort(-promise, kind="stable")[:number]
            found.append(best[np.isfinite(promise[best])])
    return found


class _Gains:
    """The gain of a split of contexts on each variable."""

    def __init__(self, counts: Counts, ess: float) -> None:
        self._counts, self._ess = counts, ess
        cards, whole = counts.cards, np.arange(min(LOOKED_UP, int(counts.total) + 1))
        self._look_up = np.zeros((int(cards.max(initial=1)) + 1, 2, len(whole)))
        for d in {*cards.tolist()}:
            self._look_up[d] = [gammaln(b + whole) - lgamma(b) for b in (ess, ess / d)]

    def __call__(self, contexts: Contexts) -> NDArray[np.float64]:
        from cslearn._kernels.partners import split_gains

        own, counts = self._counts.of(contexts)
        gains = np.empty((len(own), len(self._counts.cards)))
        split_gains(contexts.targets, own, counts, self._counts.starts, self._ess, self._look_up, gains)
        return gains
