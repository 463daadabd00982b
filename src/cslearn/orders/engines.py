"""What a search over orders asks of scores: a state of an order, and moves from it."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Engine", "KernelEngine", "Moves", "Record", "as_engine"]

Floats = NDArray[np.float64]


class Moves(NamedTuple):
    """Moves to be made one after the other: each takes a variable out of the order and puts it back in a place.

    Attributes
    ----------
    draws : ndarray, shape (moves, 2)
        Two uniform numbers for each move: the first picks the variable, the second the place.
    greedy : bool
        Whether a move goes to the best place, and stays where that is not better.
    power : float
        Otherwise the chances of places are proportional to the scores to this power.
    """

    draws: Floats
    greedy: bool = False
    power: float = 1.0


class Record(NamedTuple):
    """Where is noted what comes of moves.

    Attributes
    ----------
    trace : ndarray, shape (moves,)
        Gets the log score after each move.
    best_order : ndarray of int, shape (p,)
    best : ndarray, shape (1,)
        Get the best order met, where it is better than what they hold, and its log score.
    thin : int
        Every how many moves the order is kept.
    kept : ndarray of int, shape (moves // thin, p)
        Gets these orders.
    """

    trace: Floats
    best_order: NDArray[np.int64]
    best: Floats
    thin: int
    kept: NDArray[np.int32]

    @classmethod
    def of_best(cls, moves: int, best_order: NDArray[np.int64], best: Floats) -> Record:
        """Return a record of so many moves that keeps the best order alone."""
        return cls(np.empty(moves), best_order, best, moves + 1, np.empty((0, len(best_order)), dtype=np.int32))


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

    def run(self, state: Any, moves: Moves, record: Record) -> int:
        """Make moves from a state, which is changed in place; returns how many changed the order."""


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

    def run(self, state: Any, moves: Moves, record: Record) -> int:
        """Make moves; see :class:`Engine`."""
        return int(self._kernels.run(self._problem, state, moves.draws, moves.greedy, *record, moves.power))


def as_engine(problem: Any) -> Engine:
    """Return `problem` if it is an engine, and otherwise the engine of these arrays."""
    return problem if hasattr(problem, "new_state") else KernelEngine(problem)
