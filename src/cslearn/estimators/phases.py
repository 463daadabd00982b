"""The phases of Algorithm 1, one function each; :class:`cslearn.CStreeLearner` puts them in their order.

They read the settings of a learner, and leave its attributes alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cslearn.candidates import CandidateSets, Knowledge, candidate_sets
from cslearn.data import TableLike
from cslearn.errors import InputError
from cslearn.estimators.greedy_search import greedy_search
from cslearn.estimators.growing import (
    GROWN_CHAINS,
    MANY,
    chain_of_one,
    default_moves,
    first_scores,
    grown_prior,
    most_moves,
    with_what_the_data_choose,
)
from cslearn.estimators.interventions import read_interventions
from cslearn.estimators.order_search import (
    Problem,
    affordable,
    chain_problem,
    check_exact,
    default_temperatures,
    exact_memory,
    search_by_chains,
    search_exactly,
    with_adapted_prior,
)
from cslearn.estimators.reading import read_table
from cslearn.estimators.search_settings import search_settings
from cslearn.estimators.settings import Auto, Screen, chains_of, selection_of
from cslearn.grown import DEEPEST, GrownScores
from cslearn.orders import (
    FIRST_ESS,
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
from cslearn.priors import ADAPTIVE, ParentsPrior, Prior, TreePrior
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

# Up to so many variables the prior is chosen for the best order of as many climbs as there are chains.
FEW_VARIABLES = 50


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
def select_candidates(learner: Learner, data: Data) -> CandidateSets:
    """Select who may be in the contexts of whom."""
    selection = selection_of(learner.candidates)
    arguments = selection.arguments()
    if _grown_prior(learner, data) is not None and isinstance(selection, Auto | Screen):
        # Contexts are filled when they are visited: there is no table that would have to hold all candidates.
        arguments["candidates"] = "all"
    return candidate_sets(
        data.table,
        **arguments,
        knowledge=data.knowledge,
        ess=_first_ess(learner),
        max_memory=learner.max_memory,
        search=greedy_search(
            data.table,
            knowledge=data.knowledge,
            beta=min(_bound(learner), 2),
            ess=_first_ess(learner),
            prior=_first_prior(learner),
            random_state=learner._seeds()[1],
            n_jobs=learner.n_jobs,
            interventions=data.mask,
        ),
        random_state=learner._seeds()[1],
        interventions=data.mask,
    )


def first_pass(learner: Learner, data: Data, candidates: CandidateSets, start: Sequence[str] | None = None) -> Pass:
    """Score the contexts of the candidates; those of grown trees are scored when they are visited.

    Orders are searched from `start` on, unless the knowledge forbids it.
    """
    names = data.table.variables
    before = data.knowledge.precedence(names)
    first = None if start is None else np.array([names.index(v) for v in start])
    if first is not None and np.tril(before[np.ix_(first, first)]).any():
        first = None
    if (prior := _grown_prior(learner, data)) is not None:
        return Pass(
            first_scores(
                data.table,
                beta=DEEPEST if learner.beta == "auto" else _bound(learner),
                ess=learner.ess,
                prior=prior,
                candidates=candidates.sets,
                max_memory=learner.max_memory,
                n_jobs=learner.n_jobs,
                interventions=data.mask,
            ),
            before,
            start=first,
        )
    scores = Scores(
        data.table,
        beta=_bound(learner),
        ess=_first_ess(learner),
        prior=_first_prior(learner),
        candidates=candidates.sets,
        n_jobs=learner.n_jobs,
        interventions=data.mask,
    )
    check_subsets_fit(scores)
    state = Pass(scores, before, start=first)
    if _exactly(learner, scores):
        check_exact(scores, learner.max_memory)
        _tell_cost(learner, scores)
    else:
        state.problem = chain_problem(scores, state.before)
    return state


# ---------------------------------------------------------------- what the data choose
def choose_prior(learner: Learner, state: Pass) -> tuple[Sequence[Chain], bool]:
    """Let the data choose the prior and the equivalent sample size, where they are asked to.

    They are chosen for the best order before that, or for one found greedily. Returns the chains that found it, and
    whether an interrupt ended them; then nothing is chosen.
    """
    if isinstance(state.scores, GrownScores):
        state.scores, state.start = with_what_the_data_choose(
            state.scores,
            state.before,
            adaptive=_is_adaptive(learner),
            counts=learner.ess == "auto",
            climbs=not _is_greedy(learner, state.scores),
            # What is chosen for a search of all orders depends on the data alone.
            start=None if _exactly(learner, state.scores) else state.start,
        )
        if _exactly(learner, state.scores):
            check_exact(state.scores, learner.max_memory)
            _tell_cost(learner, state.scores)
        else:
            state.problem = chain_problem(state.scores, state.before)
        return (), False
    if not _is_adaptive(learner) and learner.ess != "auto":
        return (), False
    options, exact, names = chains_of(learner.search), state.problem is None, state.scores.table.variables
    chains: Sequence[Chain] = ()
    if exact or (options.auto and affordable(state.scores)):
        order, _ = ExactOrders(SubsetScores(state.scores), state.before).best_order()
    else:
        # Of many variables one climb tells as much as several, and takes long.
        chains, interrupted = sample_chains(
            state.problem,
            n_chains=options.n_chains if len(names) <= FEW_VARIABLES else 1,
            n_iter=1,
            starts=state.starts,
            random_state=learner._seeds()[0],
            n_jobs=learner.n_jobs,
        )
        if interrupted:
            return chains, True
        order = max(chains, key=lambda chain: chain.best_log_score).best_order
    if learner.ess == "auto":
        chosen = adapted_ess(state.scores, [names[i] for i in order])
        if chosen != state.scores.ess:
            state.scores, state.problem = state.scores.with_ess(chosen), None
            state.problem = None if exact else chain_problem(state.scores, state.before)
    if _is_adaptive(learner):
        state.scores, state.problem = with_adapted_prior(state.scores, state.problem, order)
    return chains, False


def _is_greedy(learner: Learner, scores: GrownScores) -> bool:
    """Tell whether the search ends at a first good order of deep stagings, as it does by default if there are many."""
    return learner.search == "greedy" or (learner.search == "auto" and scores.table.p > MANY)


# ---------------------------------------------------------------- orders
def search_orders(learner: Learner, state: Pass) -> tuple[CStreePosterior, bool]:
    """Return the posterior over orders, and whether an interrupt ended the search early."""
    scores, options = state.scores, chains_of(learner.search)
    seeds, seed = learner._seeds()
    names = scores.table.variables
    n_temperatures, n_chains = options.n_temperatures, options.n_chains
    n_iter, longest = None if options.auto else options.n_iter, options.max_iter
    starts, climb = state.starts, True
    if isinstance(scores, GrownScores) and state.start is not None:
        if _is_greedy(learner, scores):
            chain = chain_of_one(scores, state.start, state.before)
            return CStreePosterior(names, [chain], scores=scores), False
        if learner.search == "auto":
            n_chains = GROWN_CHAINS
        # The first order is climbed already; of few variables the other chains have starts of their own.
        climb = len(names) <= FEW_VARIABLES
        starts = [state.start] * (1 if climb else n_chains)
        if options.auto:
            n_iter = default_moves(scores, state.start)
            longest = longest or (most_moves(scores, state.start) if climb else n_iter)
    elif learner.search == "greedy":
        n_chains, n_iter, longest = 1, 1, None
    if n_temperatures is None:
        # A checkpoint may be of a search with a number of moves, which has one temperature.
        n_temperatures = default_temperatures(scores) if options.auto and options.checkpoint is None else 1
    settings = search_settings(
        scores.table,
        {v: [names[c] for c in own] for v, own in zip(names, scores.candidates, strict=True)},
        state.before,
        scores.interventions,
        beta=learner.beta,
        ess=scores.ess,
        prior=scores.prior,
        n_chains=n_chains,
        n_temperatures=n_temperatures,
        random_state=seed,
    )
    if state.problem is None:
        rng = np.random.default_rng(seeds)
        posterior = search_exactly(
            scores, state.before, max_memory=learner.max_memory, random_state=rng, settings=settings
        )
        return posterior, False
    file = None
    if options.checkpoint is not None:
        file = Checkpoint(options.checkpoint, options.checkpoint_every, settings)
    return search_by_chains(
        scores,
        state.problem,
        # Without candidates all orders are equally probable, and there is nothing to agree on.
        auto=options.auto and learner.search != "greedy" and any(map(len, scores.candidates)),
        settings=settings,
        n_chains=n_chains,
        n_iter=n_iter,
        max_iter=longest,
        burn_in=options.burn_in,
        thin=options.thin,
        greedy_start=climb,
        n_temperatures=n_temperatures,
        random_state=seeds,
        n_jobs=learner.n_jobs,
        callback=None if learner.callback is None else partial(learner.callback, "orders"),
        checkpoint=file,
        starts=starts,
    )


# ---------------------------------------------------------------- settings that depend on each other
def _bound(learner: Learner) -> int:
    """Return the context bound where no trees are grown."""
    return 2 if learner.beta == "auto" else int(learner.beta)


def _grown_prior(learner: Learner, data: Data) -> ParentsPrior | None:
    """Return the prior that trees are grown with; None where all stagings are summed."""
    return grown_prior(learner.beta, learner.prior, sorted(data.table.cards))


def _first_ess(learner: Learner) -> float:
    return FIRST_ESS if learner.ess == "auto" else float(learner.ess)


def _is_adaptive(learner: Learner) -> bool:
    return isinstance(learner.prior, str) and learner.prior == ADAPTIVE


def _first_prior(learner: Learner) -> str | Prior:
    return TreePrior() if _is_adaptive(learner) else learner.prior


def _exactly(learner: Learner, scores: Scores) -> bool:
    """Tell whether all orders are searched."""
    return learner.search == "exact" or (learner.search == "auto" and affordable(scores))


def _tell_cost(learner: Learner, scores: Scores) -> None:
    """Tell the callback what an exact search that was asked for will take."""
    if learner.callback is not None and learner.search == "exact":
        from cslearn.estimators.cost import exact_seconds

        searches = 2 if _is_adaptive(learner) or learner.ess == "auto" else 1
        seconds, memory = exact_seconds(scores, searches), exact_memory(scores)
        learner.callback("orders", Progress(0, 1 << scores.table.p, -np.inf, seconds, memory))
