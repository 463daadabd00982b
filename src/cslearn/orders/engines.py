"""What a search over orders asks of scores: a state of an order, and moves from it."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Engine", "KernelEngine", "as_engine"]

Floats = NDArray[np.float64]


class Engine(Protocol):
    """Scores of orders, for chains: how an order is held, and how moves are made.

    A state is a named tuple of arrays, among them ``order`` and ``score``, the log local order score of each variable;
    it is all that a chain needs to go on from where it is.
    """

    p: int
    before: NDArray[np.bool_]
    """``before[i, j]`` tells that variable `i` must come before `j` in every order."""

    def new_state(self) -> Any:
        """Return a state with room for everything; :meth:`set_order` fills it."""

    def set_order(self, state: Any, order: NDArray[np.integer]) -> None:
        """Set the order and everything that follows from it."""

    def run(
        self,
        state: Any,
        draws: Floats,
        greedy: bool,
        trace: Floats,
        best_order: NDArray[np.int64],
        best: Floats,
        thin: int,
        kept: NDArray[np.int32],
        cold: float,
    ) -> int:
        """Make one move for each row of `draws`, two uniform numbers; returns how many changed the order.

        `trace` gets the log score after each move, `best_order` and ``best[0]`` the best order met, `kept` the order
        after every `thin`-th move. A greedy move goes to the best place, and stays where that is not better. Chances
        are proportional to the scores to the power `cold`.
        """


class KernelEngine:
    """An engine whose scores are all in arrays, summed up for each level or looked up by subsets of the candidates.

    Parameters
    ----------
    problem : Problem or LookupProblem
        From :func:`cslearn.orders.order_problem` or :func:`cslearn.orders.lookup_problem`.
    """

    def __init__(self, problem: Any) -> None:
        from cslearn._kernels import lookup, relocation

        self._problem = problem
        self._kernels: ModuleType = lookup if isinstance(problem, lookup.LookupProblem) else relocation
        self.p, self.before = len(problem.cards), problem.before

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what it was made of."""
        return KernelEngine, (self._problem,)

    def new_state(self) -> Any:
        """Return a state with room for everything."""
        return self._kernels.new_state(self._problem)

    def set_order(self, state: Any, order: NDArray[np.integer]) -> None:
        """Set the order and everything that follows from it."""
        self._kernels.set_order(self._problem, state, order)

    def run(self, state: Any, *arguments: Any) -> int:
        """Make moves; see :class:`Engine`."""
        return int(self._kernels.run(self._problem, state, *arguments))


def as_engine(problem: Any) -> Engine:
    """Return `problem` if it is an engine, and otherwise the engine of these arrays."""
    return problem if hasattr(problem, "new_state") else KernelEngine(problem)
