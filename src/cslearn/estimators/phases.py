"""The phases of Algorithm 1, one function each; :class:`cslearn.CStreeLearner` puts them in their order.

They read the settings of a learner, and leave its attributes alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from cslearn._wording import option
from cslearn.candidates import CandidateSets, Knowledge, candidate_sets
from cslearn.counts import counts_of
from cslearn.counts.tables import Counted
from cslearn.data import TableLike
from cslearn.errors import InputError
from cslearn.estimators.greedy_search import greedy_search
from cslearn.estimators.growing import chain_of_one, first_scores, partners_of_many, with_what_the_data_choose
from cslearn.estimators.interventions import read_interventions
from cslearn.estimators.order_search import (
    Problem,
    chain_problem,
    search_by_chains,
    search_exactly,
    with_adapted_prior,
)
from cslearn.estimators.plan import Plan, check_exact, exact_memory
from cslearn.estimators.reading import read_table
from cslearn.estimators.search_settings import search_settings
from cslearn.grown import GrownScores
from cslearn.orders import (
    Chain,
    Checkpoint,
    ExactOrders,
    Progress,
    SubsetScores,
    adapted_ess,
    sample_chains,
)
from cslearn.orders.subsets import check_subsets_fit
from cslearn.posterior import CStreePosterior
from cslearn.scores import Scores

if TYPE_CHECKING:
    from cslearn.estimators.learner import Learner

__all__ = [
    "Data",
    "Pass",
    "choose_prior",
    "first_pass",
    "read_data",
    "search_orders",
    "select_candidates",
]


class Data(NamedTuple):
    """What is learned from: the table, what was set from outside in which row, and what is known beforehand."""

    table: TableLike
    mask: NDArray[np.bool_] | None
    knowledge: Knowledge


@dataclass
class Pass:
    """A pass over orders: its scores, what chains work on, None if all orders are searched, and where they start.

    It is changed in place, so that old tables are given up before there are new ones.
    """

    scores: Scores
    before: NDArray[np.bool_]
    problem: Problem | None = None
    start: NDArray[np.int64] | None = None

    @property
    def starts(self) -> list[NDArray[np.integer]]:
        """The orders that chains start at."""
        return [] if self.start is None else [self.start]


# ---------------------------------------------------------------- data
def read_data(learner: Learner, X: Any, sample_weight: Any, interventions: Any) -> Data:
    """Read the data, and check that the settings suit them."""
    rows, mask = read_interventions(X, interventions, sample_weight, learner.missing)
    table = read_table(learner, rows, sample_weight, packed=mask is None)
    if table.p < 2:
        raise InputError(
            f"there is nothing to learn from one column (n_features = 1): {table.variables[0]!r}. A table with at least"
            " two variables is needed."
        )
    if table.n < 2:
        raise InputError("there is nothing to learn from one row (n_samples = 1). Give more rows.")
    knowledge = Knowledge.coerce(learner.knowledge)
    knowledge.check(table.variables)
    return Data(table, mask, knowledge)


# ---------------------------------------------------------------- candidates and scores
def select_candidates(learner: Learner, data: Data, plan: Plan) -> CandidateSets:
    """Select who may be in the contexts of whom."""
    if plan.partners:
        rows = counts_of(data.table, data.mask, learner.n_jobs)
        partners = partners_of_many(data.table, rows, data.knowledge.precedence(data.table.variables))
        if partners is not None:
            alpha = plan.selection["alpha"]
            found = candidate_sets(data.table, partners, alpha=alpha, knowledge=data.knowledge, ess=plan.ess)
            return replace(found, method="partners")
    return candidate_sets(
        data.table,
        **plan.selection,
        knowledge=data.knowledge,
        ess=plan.ess,
        max_memory=plan.max_memory,
        search=greedy_search(
            data.table,
            knowledge=data.knowledge,
            beta=min(plan.beta, 2),
            ess=plan.ess,
            prior=plan.prior,
            random_state=learner._seeds()[1],
            n_jobs=learner.n_jobs,
            interventions=data.mask,
        ),
        random_state=learner._seeds()[1],
        interventions=data.mask,
    )


def first_pass(
    learner: Learner, data: Data, plan: Plan, candidates: CandidateSets, start: Sequence[str] | None = None
) -> Pass:
    """Score the contexts of the candidates; those of grown trees are scored when they are visited.

    Orders are searched from `start` on, unless the knowledge forbids it.
    """
    names = data.table.variables
    before = data.knowledge.precedence(names)
    first = None if start is None else np.array([names.index(v) for v in start])
    if first is not None and np.tril(before[np.ix_(first, first)]).any():
        first = None
    if plan.trees is not None:
        return Pass(
            first_scores(
                data.table,
                beta=plan.beta,
                ess=learner.ess,
                prior=plan.trees,
                candidates=candidates.sets,
                max_memory=plan.max_memory,
                n_jobs=learner.n_jobs,
                interventions=data.mask,
            ),
            before,
            start=first,
        )
    scores = Scores(
        data.table,
        beta=plan.beta,
        ess=plan.ess,
        prior=plan.prior,
        candidates=candidates.sets,
        n_jobs=learner.n_jobs,
        interventions=data.mask,
    )
    check_subsets_fit(scores)
    state = Pass(scores, before, start=first)
    if plan.is_exact(scores):
        check_exact(scores, plan.max_memory)
        _tell_cost(learner, plan, scores)
    else:
        state.problem = chain_problem(scores, state.before)
    return state


# ---------------------------------------------------------------- what the data choose
def choose_prior(learner: Learner, plan: Plan, state: Pass) -> tuple[Sequence[Chain], bool]:
    """Let the data choose the prior and the equivalent sample size, where they are asked to.

    They are chosen for the best order before that, or for one found greedily. Returns the chains that found it, and
    whether an interrupt ended them; then nothing is chosen.
    """
    if isinstance(state.scores, GrownScores):
        state.scores, state.start = with_what_the_data_choose(
            state.scores,
            state.before,
            adaptive=plan.chooses_prior,
            counts=plan.chooses_ess,
            climbs=not plan.is_greedy(state.scores.table.p),
            # What is chosen for a search of all orders depends on the data alone.
            start=None if plan.is_exact(state.scores) else state.start,
        )
        if plan.is_exact(state.scores):
            check_exact(state.scores, plan.max_memory)
            _tell_cost(learner, plan, state.scores)
        else:
            state.problem = chain_problem(state.scores, state.before)
        return (), False
    if not plan.chooses_prior and not plan.chooses_ess:
        return (), False
    exact, names = state.problem is None, state.scores.table.variables
    chains: Sequence[Chain] = ()
    if plan.looks_up_first(state.scores):
        order, _ = ExactOrders(SubsetScores(state.scores), state.before).best_order()
    else:
        chains, interrupted = sample_chains(
            state.problem,
            n_chains=plan.climbs(len(names)),
            n_iter=1,
            starts=state.starts,
            random_state=learner._seeds()[0],
            n_jobs=learner.n_jobs,
        )
        if interrupted:
            return chains, True
        order = max(chains, key=lambda chain: chain.best_log_score).best_order
    if plan.chooses_ess:
        chosen = adapted_ess(state.scores, [names[i] for i in order])
        if chosen != state.scores.ess:
            state.scores, state.problem = state.scores.with_ess(chosen), None
            state.problem = None if exact else chain_problem(state.scores, state.before)
    if plan.chooses_prior:
        state.scores, state.problem = with_adapted_prior(state.scores, state.problem, order)
    return chains, False


# ---------------------------------------------------------------- orders
def search_orders(learner: Learner, plan: Plan, state: Pass) -> tuple[CStreePosterior, bool]:
    """Return the posterior over orders, and whether an interrupt ended the search early."""
    scores, options = state.scores, plan.chains
    if options.client is not None and isinstance(scores.table, Counted):
        raise InputError(
            f"{option('client')} runs chains on rows that are sent to the workers, but those of {scores.table!r} are"
            " there in parts: leave it out, or pack the rows with cslearn.pack",
            parameter="search",
        )
    seeds, seed = learner._seeds()
    names, search = scores.table.variables, plan.search(scores, state.start)
    if search.engine == "grown" and search.way == "greedy" and state.start is not None:
        chain = chain_of_one(cast(GrownScores, scores), state.start, state.before)
        return CStreePosterior(names, [chain], scores=scores), False
    settings = search_settings(
        scores.table,
        {v: [names[c] for c in own] for v, own in zip(names, scores.candidates, strict=True)},
        state.before,
        scores.interventions,
        beta=learner.beta,
        ess=scores.ess,
        prior=scores.prior,
        n_chains=search.n_chains,
        n_temperatures=search.n_temperatures,
        random_state=seed,
    )
    if state.problem is None:
        rng = np.random.default_rng(seeds)
        posterior = search_exactly(
            scores, state.before, max_memory=plan.max_memory, random_state=rng, settings=settings
        )
        return posterior, False
    file = None
    if options.checkpoint is not None:
        file = Checkpoint(options.checkpoint, options.checkpoint_every, settings)
    return search_by_chains(
        scores,
        state.problem,
        auto=search.until_they_agree,
        settings=settings,
        n_chains=search.n_chains,
        n_iter=search.n_iter,
        max_iter=search.max_iter,
        further=search.further,
        burn_in=options.burn_in,
        thin=search.thin,
        greedy_start=search.climb,
        n_temperatures=search.n_temperatures,
        random_state=seeds,
        n_jobs=learner.n_jobs,
        client=options.client,
        callback=None if learner.callback is None else partial(learner.callback, "orders"),
        checkpoint=file,
        # Where no chain climbs, all begin at the order that was climbed to.
        starts=state.starts * (1 if search.climb else search.n_chains),
    )


# ---------------------------------------------------------------- what a search will take
def _tell_cost(learner: Learner, plan: Plan, scores: Scores) -> None:
    """Tell the callback what an exact search that was asked for will take."""
    if learner.callback is not None and learner.search == "exact":
        from cslearn.estimators.cost import exact_seconds

        seconds, memory = exact_seconds(scores, plan.searches), exact_memory(scores)
        learner.callback("orders", Progress(0, 1 << scores.table.p, -np.inf, seconds, memory))
