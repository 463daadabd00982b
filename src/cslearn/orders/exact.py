"""The exact posterior over orders, by dynamic programming over the sets of variables that may come first.

The score of a variable depends on the *set* of variables before it, not on their order. So the sum over the orders that
begin with a set ``U`` is a recursion over its last variable,

    A(U) = sum over i in U of A(U - i) los(i, U - i),

and likewise ``B(U)`` for what comes after. ``A(U) los(i, U) B(U + i) / A(all)`` is the probability that exactly the
variables in ``U`` come before ``i``: from it follow the probabilities of precedence, of levels, and of context
variables. With a maximum in place of the sum the recursion finds the best order of all. Time O(2^p p^2), memory
O(2^p p) with the local order scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from math import lgamma
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn._numerics import n_threads
from cslearn.errors import InputError
from cslearn.orders.subsets import LevelScores

__all__ = ["ExactOrders"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ExactOrders:
    """The posterior over all orders.

    Parameters
    ----------
    subsets : SubsetScores, or scores of all levels of another kind
    before : ndarray of bool, shape (p, p), optional
        ``before[i, j]`` tells that variable `i` must come before `j` in every order.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.orders import ExactOrders, SubsetScores
    >>> from cslearn.scores import Scores
    >>> data = chickenpox_model().sample(500, random_state=0)
    >>> exact = ExactOrders(SubsetScores(Scores(data)))
    >>> order, log_score = exact.best_order()
    >>> bool(exact.log_evidence > log_score)
    True
    """

    subsets: LevelScores
    before: NDArray[np.bool_] | None = None

    @property
    def p(self) -> int:
        """Number of variables."""
        return self.subsets.p

    def _orders(self, values: Sequence[Floats]) -> Any:
        from cslearn._kernels.exact import Orders

        p = self.p
        half = (p + 1) // 2
        lower = np.zeros((p, 1 << half), dtype=np.int64)
        upper = np.zeros((p, 1 << (p - half)), dtype=np.int64)
        for i, candidates in enumerate(self.subsets.scores.candidates):
            for k, column in enumerate(candidates):
                table, bit = (lower, column) if column < half else (upper, column - half)
                table[i] |= ((np.arange(table.shape[1]) >> bit) & 1) << k
        needed = np.zeros(p, dtype=np.int64)
        if self.before is not None:
            needed[:] = [sum(1 << int(j) for j in np.flatnonzero(self.before[:, i])) for i in range(p)]
        offset = np.concatenate([[0], np.cumsum([len(one) for one in values])])[:-1].astype(np.int64)
        return Orders(p, half, np.concatenate(values), offset, lower, upper, needed)

    @cached_property
    def _scored(self) -> Any:
        return self._orders(self.subsets.local)

    @cached_property
    def _ahead(self) -> Floats:
        from cslearn._kernels.exact import forward

        ahead = np.empty(1 << self.p)
        forward(self._scored, ahead)
        if ahead[-1] == -np.inf:
            raise InputError("what must come before what leaves no order of the variables")
        return ahead

    @cached_property
    def log_evidence(self) -> float:
        """Log of ``P(data)``, the sum over all orders and stagings, each order with the prior ``1 / p!``."""
        return float(self._ahead[-1]) - lgamma(self.p + 1)

    def best_order(self) -> tuple[NDArray[np.int64], float]:
        """Return the most probable order, as columns of the data, and the log of ``P(data, order)``."""
        return self._best(self.subsets.local)

    def best_joint(self) -> tuple[NDArray[np.int64], float]:
        """Return the order of the most probable CStree, and the log of ``P(data, stagings, order)``.

        With a prior that weighs trees and more than two context variables the log is a lower bound, and another order
        may have a CStree that is a little more probable: levels are compared by their best decision trees; see
        :meth:`cslearn.scores.Scores.best_staging`.
        """
        return self._best(self.subsets.best)

    def _best(self, values: Sequence[Floats]) -> tuple[NDArray[np.int64], float]:
        from cslearn._kernels.exact import best_last

        best, last = np.empty(1 << self.p), np.empty(1 << self.p, dtype=np.int8)
        best_last(self._orders(values), best, last)
        members, order = (1 << self.p) - 1, []
        while members:
            order.append(int(last[members]))
            members &= ~(1 << order[-1])
        return np.array(order[::-1], dtype=np.int64), float(best[-1]) - lgamma(self.p + 1)

    @cached_property
    def _probabilities(self) -> tuple[tuple[Floats, ...], Floats]:
        from cslearn._kernels.exact import backward, probabilities

        behind = np.empty(1 << self.p)
        backward(self._scored, behind)
        levels = tuple(np.zeros(len(one)) for one in self.subsets.local)
        precedes = np.zeros((self.p, self.p))

        def one(i: int) -> None:
            probabilities(self._scored, i, self._ahead, behind, levels[i], precedes[i])

        with ThreadPoolExecutor(n_threads(self.subsets.scores.n_jobs)) as pool:
            list(pool.map(one, range(self.p)))
        return levels, precedes.T

    @property
    def level_probabilities(self) -> tuple[Floats, ...]:
        """For each variable the probability of every level, by subsets of its candidates."""
        return self._probabilities[0]

    @property
    def precedence(self) -> Floats:
        """The probability that the variable of the row comes before that of the column, shape (p, p)."""
        return self._probabilities[1]

    @cached_property
    def context_probabilities(self) -> Floats:
        """The probability that the variable of the row is a context variable of that of the column, shape (p, p)."""
        found = np.zeros((self.p, self.p))
        for i, candidates in enumerate(self.subsets.scores.candidates):
            found[candidates, i] = self.subsets.context_probabilities(i, self.level_probabilities[i])
        return np.clip(found, 0.0, 1.0)

    def draw(self, size: int, rng: np.random.Generator) -> NDArray[np.int32]:
        """Draw orders independently from the posterior, as columns of the data, shape (size, p)."""
        from cslearn._kernels.exact import draw_orders

        found = np.empty((size, self.p), dtype=np.int32)
        draw_orders(self._scored, self._ahead, rng.random((size, self.p)), found)
        return found

    def mean_over_orders(self, values: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Return the expectation of a product over the variables, of which each gives a number that its level decides.

        The recursion is that of the sum over orders, kept as a share of it: ``E(U)``, given that the variables in ``U``
        come first, is the sum over the last of them of its probability times ``E(U - i)`` times its number.

        Parameters
        ----------
        values : sequence of ndarray, shape (levels, n)
            For each variable, by subsets of its candidates; `n` products at a time, real or complex.

        Returns
        -------
        ndarray, shape (n,)
            In O(2^p p n), with O(2^p n) memory.
        """
        orders, ahead = self._scored, self._ahead
        sets = np.arange(1 << self.p)
        sizes = sum(sets >> i & 1 for i in range(self.p))
        found = np.zeros((1 << self.p, values[0].shape[1]), dtype=np.result_type(*values))
        found[0] = 1.0
        for size in range(self.p):
            for i in range(self.p):
                allowed = (sets >> i & 1 == 0) & (orders.needed[i] & ~sets == 0)
                rest = sets[(sizes == size) & allowed & (ahead > -np.inf)]
                level = orders.lower[i, rest & ((1 << orders.half) - 1)] | orders.upper[i, rest >> orders.half]
                share = np.exp(ahead[rest] + self.subsets.local[i][level] - ahead[rest | 1 << i])
                found[rest | 1 << i] += share[:, None] * found[rest] * values[i][level]
        return found[-1]

    def log_score(self, order: NDArray[np.integer]) -> float:
        """Return the log of ``P(data, order)``."""
        return float(self.log_scores(np.asarray(order)[None])[0])

    def log_scores(self, orders: NDArray[np.integer]) -> Floats:
        """Return the log of ``P(data, order)`` for each of some orders, shape (orders, p)."""
        positions = np.argsort(orders, axis=1)
        total = np.full(len(orders), -lgamma(self.p + 1))
        for i, candidates in enumerate(self.subsets.scores.candidates):
            before = positions[:, candidates] < positions[:, [i]]
            total += self.subsets.local[i][before @ (1 << np.arange(len(candidates)))]
        return total
