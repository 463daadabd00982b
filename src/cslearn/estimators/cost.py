"""What a fit will take: measured on a small part of the work and scaled up."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from os import cpu_count
from time import perf_counter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cslearn._parameters import check
from cslearn.candidates import CandidateSets, Knowledge, candidate_sets
from cslearn.candidates.sets import DEFAULT_MEMORY, memory_of_tables
from cslearn.data import Table
from cslearn.estimators.greedy_search import greedy_search
from cslearn.estimators.growing import first_scores
from cslearn.estimators.incomplete import ROUNDS, copies_of, read_incomplete
from cslearn.estimators.plan import Plan, Search
from cslearn.estimators.settings import LEARNER, Chains
from cslearn.grown import GrownEngine, GrownScores, greedy_order
from cslearn.orders import (
    ExactOrders,
    SubsetScores,
    lookup_problem,
    order_problem,
    sample_chains,
)
from cslearn.orders.subsets import check_subsets_fit, memory_of_subsets
from cslearn.scores import Scores

__all__ = ["Cost", "estimate_cost", "estimate_cost_with_gaps", "exact_seconds"]

# The part of the work that is timed: a fit of this many variables, or an exact search of so many.
TRIAL_VARIABLES = 12
EXACT_VARIABLES = 15
DEEP_EXACT_VARIABLES = 9
TRIAL_MOVES = 1000
GROWN_TRIAL_MOVES = 20
# Where a few moves take longer than this, fewer are tried.
FEW_MOVES, LONG_SECONDS = 5, 2.0
# Orders whose levels are timed for an exact search.
GROWN_TRIAL_ORDERS = 10
# The contexts that a search visits are about so many times those that the trial has visited.
GROWTH_OF_MEMORY = 4
# Counts, tables of log-gammas, the model and the evidence for its relations: small beside the rest where memory
# matters.
SMALL = 5 << 20


@dataclass(frozen=True)
class Cost:
    """The time and memory that a fit will take; at most that, if `up_to`, as chains that agree end earlier.

    With missing cells that are summed over, the times are those of each of so many `rounds`, and `seconds` that of all;
    so many `searches` of them sample orders. The `plan` and the `search` are those that the fit will follow.
    """

    rows: int
    largest_card: int
    plan: Plan
    search: Search
    candidates: CandidateSets
    score_seconds: float
    move_seconds: float
    memory_bytes: float
    exact_seconds: float | None = None
    rounds: int = 1
    searches: int = 1

    @property
    def exact(self) -> bool:
        """Whether all orders will be searched."""
        return self.search.way == "exact"

    @property
    def n_chains(self) -> int:
        """How many chains there will be, if it comes to that; none where the search ends at a first order."""
        return 0 if self._ends_at_first else self.search.n_chains

    @property
    def n_iter(self) -> int:
        """The most moves of a chain."""
        return 0 if self._ends_at_first else self.search.most_moves(len(self.candidates.sets))

    @property
    def up_to(self) -> bool:
        """Whether chains end earlier if they agree."""
        return self.search.until_they_agree and self.search.way == "chains"

    @property
    def _ends_at_first(self) -> bool:
        return self.search.engine == "grown" and self.search.way == "greedy"

    @property
    def order_seconds(self) -> float:
        """Seconds for the exact search, or for all chains, as many at a time as there are cores."""
        if self.exact_seconds is not None:
            return self.exact_seconds
        rounds = -(-self.n_chains // (cpu_count() or 1))
        return rounds * self.n_iter * self.move_seconds

    @property
    def seconds(self) -> float:
        """Seconds for everything that was estimated, selecting the candidates included."""
        return self.rounds * (self.candidates.seconds + self.score_seconds) + self.searches * self.order_seconds

    @property
    def dominated_by(self) -> str:
        """The phase that takes most of the time."""
        phases = {
            "selecting candidates": self.rounds * self.candidates.seconds,
            "scoring contexts": self.rounds * self.score_seconds,
            "searching all orders" if self.exact else "sampling orders": self.searches * self.order_seconds,
        }
        return max(phases, key=phases.__getitem__)

    def document(self) -> dict[str, Any]:
        """Return the estimate as a JSON document."""
        return {
            "rows": self.rows,
            "candidate_set_sizes": self.candidates.sizes(),
            "engine": self.search.engine,
            "beta": self.plan.beta,
            "search": "mcmc" if self.search.way == "chains" else self.search.way,
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
            "rounds": self.rounds,
            "covers": "the whole fit" if self.rounds == 1 else "the fits to completed tables, without completing them",
        }


def estimate_cost(
    table: Table,
    *,
    beta: int | Literal["auto"] = "auto",
    candidates: Any = "auto",
    max_memory: float = DEFAULT_MEMORY,
    search: Literal["auto", "exact", "mcmc"] | Chains = "auto",
    knowledge: Knowledge | Mapping[str, Any] | None = None,
) -> Cost:
    """Estimate what a fit will take on this machine.

    A fit of a few of the variables is timed, and scaled by the number of pairs of candidates (scoring contexts) and by
    the number of candidates that a move looks at (sampling orders). Candidates of ``"pc"``, ``"grasp"`` and a screen
    are really selected, as there is no other way to know how many there will be. The memory is that of all arrays, as
    `max_memory` counts them and those that judge the chains besides; Python itself and its packages come on top. With
    deep contexts the first order is really found, and some moves from it are timed.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.estimators.cost import estimate_cost
    >>> cost = estimate_cost(chickenpox_model().sample_table(100, random_state=0))
    >>> cost.exact, cost.seconds < 60
    (True, True)
    """
    given = {"beta": beta, "candidates": candidates, "max_memory": max_memory, "search": search, "knowledge": knowledge}
    check({name: LEARNER[name] for name in given}, given)
    known = Knowledge.coerce(knowledge)
    plan = Plan.of(table.cards, beta=beta, candidates=candidates, search=search, max_memory=max_memory)
    sets = candidate_sets(
        table,
        **plan.selection,
        knowledge=known,
        ess=plan.ess,
        max_memory=max_memory,
        search=greedy_search(table, knowledge=known, beta=min(plan.beta, 2), ess=plan.ess),
    )
    if plan.trees is not None:
        return _grown_cost(table, plan, sets, known)
    of_all = Scores(table, beta=plan.beta, candidates=sets.sets)
    check_subsets_fit(of_all)
    how = plan.search(of_all)
    trial = table.select(_trial_variables(table))
    # The first run compiles the kernels, the second is timed.
    for _ in range(2):
        scores = Scores(trial, beta=plan.beta)
        begin = perf_counter()
        problem = order_problem(scores) if plan.beta <= 2 else lookup_problem(SubsetScores(scores))
        score_seconds = perf_counter() - begin
        begin = perf_counter()
        if how.way != "exact":
            sample_chains(problem, n_chains=1, n_iter=TRIAL_MOVES, greedy_start=False, random_state=0)
        seconds = perf_counter() - begin
    full, small = _work(table, {v: len(c) for v, c in sets.sets.items()}), _work(trial, None)
    m, d = max(sets.sizes().values()), max(table.cards)
    memory = memory_of_tables(table.p, m, d, min(plan.beta, 2), how.n_chains) + table.codes.nbytes + SMALL + how.memory
    return Cost(
        table.n,
        d,
        plan,
        how,
        sets,
        score_seconds * full[0] / small[0],
        seconds / TRIAL_MOVES * full[1] / small[1],
        memory,
        exact_seconds(of_all, plan.searches) if how.way == "exact" else None,
    )


def estimate_cost_with_gaps(table: Table, own: Collection[str] = (), **options: Any) -> Cost:
    """Estimate a fit with ``missing="em"``: rounds of fits to completed tables.

    Parameters
    ----------
    table : Table
        In which the state "missing" stands for cells that are not known.
    own : collection of str
        Variables of which it is a state like any other.
    **options
        As for :func:`estimate_cost`.

    Examples
    --------
    >>> from cslearn.data import as_table
    >>> from cslearn.estimators.cost import estimate_cost_with_gaps
    >>> table = as_table({"a": ["x", None, "y"] * 50, "b": [0, 1, 1] * 50}, missing="state")
    >>> cost = estimate_cost_with_gaps(table)
    >>> cost.rows, cost.rounds
    (350, 4)
    """
    filled, codes = read_incomplete(table, None, None, own)
    gappy = (codes < 0).any(axis=1)
    if not gappy.any():
        return estimate_cost(filled, **options)
    rows = np.repeat(np.arange(len(codes)), np.where(gappy, copies_of(int(gappy.sum())), 1))
    cost = estimate_cost(filled.take(rows), **options)
    return replace(cost, rounds=1 + ROUNDS, searches=1 if cost.plan.samples_once(filled.p) else 1 + ROUNDS)


def _grown_cost(table: Table, plan: Plan, sets: CandidateSets, knowledge: Knowledge) -> Cost:
    """Estimate a fit with deep contexts: the first order is really found, and some moves from it are timed."""
    before = knowledge.precedence(table.variables)
    common: dict[str, Any] = {"beta": plan.beta, "prior": plan.trees, "max_memory": plan.max_memory}
    common |= {"ess": "auto", "n_jobs": None, "candidates": sets.sets, "interventions": None}
    small = table.take(np.arange(min(table.n, 50)))
    # The first run compiles the kernels, the second is timed. Early moves fill contexts that later ones find there.
    for rows, moves in ((small, 1), (table, GROWN_TRIAL_MOVES)):
        begin = perf_counter()
        scores = first_scores(rows, **common)
        order = greedy_order(scores.contexts, before)
        start_seconds = perf_counter() - begin
        engine = GrownEngine(scores.contexts, before)
        few = min(FEW_MOVES, moves)
        seconds = _seconds_of_a_move(engine, order, few)
        if few * seconds < LONG_SECONDS:
            _seconds_of_a_move(engine, order, 4 * moves)
        # The climb to a first good order fills contexts, which chains then find there.
        seconds = _seconds_of_a_move(engine, order, moves if few * seconds < LONG_SECONDS else few)
    how = plan.search(scores, order)
    levels = sum(1 << len(own) for own in scores.candidates)
    of_exact = levels * seconds / (2 * table.p) if how.way == "exact" else None
    memory = min(plan.max_memory, GROWTH_OF_MEMORY * scores.contexts.store.memory) + how.memory
    memory += table.codes.nbytes + SMALL
    return Cost(table.n, max(table.cards), plan, how, sets, 3 * start_seconds, seconds, memory, of_exact)


def _seconds_of_a_move(engine: GrownEngine, order: NDArray[np.int64], moves: int) -> float:
    begin = perf_counter()
    sample_chains(engine, n_iter=moves, starts=[order], n_chains=1, burn_in=0, greedy_start=False, random_state=0)
    return (perf_counter() - begin) / moves


def exact_seconds(scores: Scores, searches: int = 2) -> float:
    """Return the seconds that exact searches with these scores will take: those of a small part of it, scaled up.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.estimators.cost import exact_seconds
    >>> from cslearn.scores import Scores
    >>> 0 < exact_seconds(Scores(chickenpox_model().sample(100, random_state=0))) < 60
    True
    """
    if isinstance(scores, GrownScores):
        return _grown_exact_seconds(scores)
    most = EXACT_VARIABLES if scores.beta <= 2 else DEEP_EXACT_VARIABLES
    trial = scores.rows.select(_trial_variables(scores.rows, most))
    runs = []
    # The first run compiles the kernels; what disturbs the others makes them longer, never shorter.
    for _ in range(4):
        begin = perf_counter()
        of_few = Scores(trial, beta=scores.beta)
        ExactOrders(SubsetScores(of_few)).best_order()
        runs.append(perf_counter() - begin)
    return searches * min(runs) * _exact_work(scores) / _exact_work(of_few)


def _grown_exact_seconds(scores: GrownScores) -> float:
    """Return the seconds that the levels of an exact search take, by those of some random orders."""
    engine, rng, p = GrownEngine(scores.contexts), np.random.default_rng(0), scores.table.p
    orders = [rng.permutation(p) for _ in range(2 * GROWN_TRIAL_ORDERS)]
    # The first half fills contexts that later levels find there.
    for order in orders[:GROWN_TRIAL_ORDERS]:
        engine.local_scores(order)
    begin = perf_counter()
    for order in orders[GROWN_TRIAL_ORDERS:]:
        engine.local_scores(order)
    of_a_level = (perf_counter() - begin) / (GROWN_TRIAL_ORDERS * p)
    return of_a_level * sum(1 << len(own) for own in scores.candidates)


def _exact_work(scores: Scores) -> int:
    """Return the steps of an exact search: the brackets of all levels, and the sets that may come first."""
    cards = [tuple(int(scores.table.cards[c]) for c in own) for own in scores.candidates]
    if scores.beta <= 2:
        levels = sum(sum(own) << len(own) for own in cards)
    else:
        # In each part of the table the splits of a context on any of the variables left.
        levels = sum(len(own) * memory_of_subsets(own, beta) for own, beta in zip(cards, scores.betas, strict=True))
    return levels + (scores.table.p**2 << scores.table.p)


def _trial_variables(table: Table, most: int = TRIAL_VARIABLES) -> list[str]:
    """Return a few variables, spread over the cardinalities."""
    by_card = sorted(range(table.p), key=lambda i: table.cards[i])
    chosen = np.unique(np.linspace(0, table.p - 1, min(table.p, most)).round().astype(int))
    return [table.variables[by_card[i]] for i in chosen]


def _work(table: Table, sizes: Mapping[str, int] | None) -> tuple[float, float]:
    """Return the amounts of work of scoring contexts and of a move, in arbitrary units."""
    m = np.array([table.p - 1 if sizes is None else sizes[v] for v in table.variables], dtype=float)
    return max(float((m**2).sum()), 1.0), max(float(m.sum()) * float(np.mean(table.cards)), 1.0)
