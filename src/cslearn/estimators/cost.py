"""What a fit will take: measured on a small part of the work and scaled up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import cpu_count
from time import perf_counter
from typing import Any, Literal

import numpy as np

from cslearn.candidates import CandidateSets, Knowledge, candidate_sets
from cslearn.candidates.sets import memory_of_tables
from cslearn.data import Table
from cslearn.estimators.search import greedy_search
from cslearn.orders import default_max_iter, default_n_iter, order_problem, sample_chains
from cslearn.scores import Scores

__all__ = ["Cost", "estimate_cost"]

# The part of the work that is timed: a fit of this many variables.
TRIAL_VARIABLES = 12
TRIAL_MOVES = 1000


@dataclass(frozen=True)
class Cost:
    """The time and memory that a fit will take; at most that, if `up_to`, as chains that agree end earlier."""

    rows: int
    largest_card: int
    candidates: CandidateSets
    n_iter: int
    n_chains: int
    score_seconds: float
    move_seconds: float
    memory_bytes: float
    up_to: bool = False

    @property
    def order_seconds(self) -> float:
        """Seconds for all chains, as many at a time as there are cores."""
        rounds = -(-self.n_chains // (cpu_count() or 1))
        return rounds * self.n_iter * self.move_seconds

    @property
    def seconds(self) -> float:
        """Seconds for everything that was estimated, selecting the candidates included."""
        return self.candidates.seconds + self.score_seconds + self.order_seconds

    @property
    def dominated_by(self) -> str:
        """The phase that takes most of the time."""
        phases = {
            "selecting candidates": self.candidates.seconds,
            "scoring contexts": self.score_seconds,
            "sampling orders": self.order_seconds,
        }
        return max(phases, key=phases.__getitem__)

    def document(self) -> dict[str, Any]:
        """Return the estimate as a JSON document."""
        return {
            "rows": self.rows,
            "candidate_set_sizes": self.candidates.sizes(),
            "n_iter": self.n_iter,
            "n_iter_is_a_limit": self.up_to,
            "n_chains": self.n_chains,
            "seconds": {
                "candidates": self.candidates.seconds,
                "scores": self.score_seconds,
                "orders": self.order_seconds,
                "total": self.seconds,
            },
            "memory_bytes": self.memory_bytes,
            "dominated_by": self.dominated_by,
        }


def estimate_cost(
    table: Table,
    *,
    beta: int = 2,
    candidates: Any = "auto",
    alpha: int | None = None,
    n_iter: int | Literal["auto"] | None = "auto",
    max_iter: int | None = None,
    n_chains: int = 4,
    knowledge: Knowledge | Mapping[str, Any] | None = None,
) -> Cost:
    """Estimate what a fit will take on this machine.

    A fit of a few of the variables is timed, and scaled by the number of pairs of candidates (scoring contexts) and by
    the number of candidates that a move looks at (sampling orders). Candidates of ``"pc"``, ``"grasp"`` and a screen
    are really selected, as there is no other way to know how many there will be.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.estimators.cost import estimate_cost
    >>> cost = estimate_cost(chickenpox_model().sample_table(100, random_state=0))
    >>> cost.n_iter, cost.seconds < 60
    (100000, True)
    """
    known = Knowledge.coerce(knowledge)
    search = greedy_search(table, knowledge=known, beta=beta)
    sets = candidate_sets(table, candidates, knowledge=known, alpha=alpha, search=search)
    up_to = n_iter == "auto"
    if n_iter == "auto":
        n_iter = max(default_n_iter(table.p), max_iter or default_max_iter(table.p))
    elif n_iter is None:
        n_iter = default_n_iter(table.p)
    trial = table.select(_trial_variables(table))
    # The first run compiles the kernels, the second is timed.
    for _ in range(2):
        scores = Scores(trial, beta=beta)
        begin = perf_counter()
        problem = order_problem(scores)
        score_seconds = perf_counter() - begin
        begin = perf_counter()
        sample_chains(problem, n_chains=1, n_iter=TRIAL_MOVES, greedy_start=False, random_state=0)
        move_seconds = (perf_counter() - begin) / TRIAL_MOVES
    full, small = _work(table, {v: len(c) for v, c in sets.sets.items()}), _work(trial, None)
    m, d = max(sets.sizes().values()), max(table.cards)
    return Cost(
        table.n,
        d,
        sets,
        n_iter,
        n_chains,
        score_seconds * full[0] / small[0],
        move_seconds * full[1] / small[1],
        memory_of_tables(table.p, m, d, beta) + table.codes.nbytes,
        up_to,
    )


def _trial_variables(table: Table) -> list[str]:
    """Return a few variables, spread over the cardinalities."""
    by_card = sorted(range(table.p), key=lambda i: table.cards[i])
    chosen = np.unique(np.linspace(0, table.p - 1, min(table.p, TRIAL_VARIABLES)).round().astype(int))
    return [table.variables[by_card[i]] for i in chosen]


def _work(table: Table, sizes: Mapping[str, int] | None) -> tuple[float, float]:
    """Return the amounts of work of scoring contexts and of a move, in arbitrary units."""
    m = np.array([table.p - 1 if sizes is None else sizes[v] for v in table.variables], dtype=float)
    return max(float((m**2).sum()), 1.0), max(float(m.sum()) * float(np.mean(table.cards)), 1.0)
