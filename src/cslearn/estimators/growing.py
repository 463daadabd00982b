"""From a table to a posterior over orders with deep stagings: the start, what the data choose, and the search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf, lgamma
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn.counts import Counts
from cslearn.cstree import CStree
from cslearn.data import PackedTable, Table, TableLike
from cslearn.grown import GrownEngine, GrownScores, Growth, best_partners, climbed_locally, greedy_order
from cslearn.grown.adaptive import FIRST_COUNTS, FIRST_PRIOR, adapted_counts, adapted_parents_prior
from cslearn.orders import Chain
from cslearn.orders.subsets import subsets_fit
from cslearn.priors import ADAPTIVE, ParentsPrior, Prior, TreePrior, get_prior
from cslearn.scores import Scores

__all__ = [
    "as_grown",
    "chain_of_one",
    "default_moves",
    "few_among_many",
    "first_scores",
    "grown_prior",
    "most_moves",
    "partners_of_many",
    "with_likely_splits",
    "with_what_the_data_choose",
]

# Steps that the moves of a chain may take: contexts walked through, and rows counted in new ones.
STEPS = 1.0e7
FEWEST_MOVES, MOST_MOVES = 300, 1500
# Sweeps of greedy moves before the chains find better orders sooner than these do. They end when one gains less than so
# much, as a log, for each variable; or when they have taken about so many seconds, judged by the contexts they fill.
MOST_SWEEPS, WORTH, SECONDS_OF_SWEEPS = 16, 0.05, 30.0
# Seconds that it takes to fill a context, and a cell of the table for it; measured on sets of 69 to 294 variables. A
# first sweep fills at least so many contexts for each variable.
SECONDS_OF_A_CONTEXT, SECONDS_OF_A_CELL, FEWEST_CONTEXTS = 5e-5, 1e-11, 100
# Chains of few variables go on until they agree, up to so many times longer. On six public tables of 13 to 37 variables
# a chain took 10 to 20 seconds for that; of four of them, and of ALARM, chains agreed by then that did not before.
LONGER = 64
# Of more variables each has so many candidates, found by looking ahead from so many splits; and the search ends when
# all variables are in their best places among these, for chains take time with the square of the number of variables.
# Of 500 variables and 1,000 rows, the candidates lost nothing with the true order known; 24 of them lost a fifth of the
# gap, and candidates without a look ahead three times as much as all.
# With 1,000 rows of one random CStree each it was better: for 500 variables 3.1 times the gap of the oracle in 41 CPU
# seconds, where chains on all variables had 4.3 times in 90; for 300 variables 2.59 in 24, and 2.61 in 47.
MANY = 250
PARTNERS, AHEAD = 40, 30
# Orders are first drawn with the best few of these alone, one sweep over all variables with each of these heats: sweeps
# with a heat of one cost little, as most of what they ask is known. Without them orders were 100 to 400 nats worse on
# random CStrees of 300 to 500 variables, and worse than the true one; 200 of them gained 20 nats on 30. With all
# candidates the first sweeps took three times as long, and ended at orders that were no better.
FEWER = 12
HEATS = (8.0, 4.0, 2.0, *(30 * (1.0,)))
# Then sweeps with all candidates, in which each variable goes to its best place; they end when one gains less than so
# much, as a log, for each variable.
MOST_LOCAL_SWEEPS, WORTH_LOCALLY = 8, 0.1
# Each variable has a table of its candidates: codes, bytes for the states and bits.
BYTES_OF_A_CELL = 3
# Of so few variables all trees are summed: whatever three or four of them say only together is seen.
FEW_ENOUGH = 5
WHOLE = Growth(slack=inf, width=(FEW_ENOUGH,), near=inf, look=0, sets=0, wide=inf)
# A stage of the best trees is split further on their variables if that is at least so probable: no context is said to
# make no difference of which the data are less sure. On 25 random CStrees of 12 to 50 variables, with values from 0.1
# to 0.5, the gap and the number of wrong relations fell from 0.5 on and stages grew in number; so they did on nltcs,
# plants, dna, ALARM and Mushroom, where trees predict as well as averages over prunings from about 0.1 on.
LIKELY = 0.2
# A row that is counted for a variable in a context takes so many steps; found for 10 to 100 variables.
STEPS_OF_A_ROW = 1 / 1300


def grown_prior(beta: Any, prior: str | Prior, cards: Sequence[int]) -> ParentsPrior | None:
    """Return the prior that trees are grown with for variables of these cardinalities; None where not.

    A bound of two, bounds of single variables, and a bound that is given for few variables have exact sums over all
    stagings; so have priors that weigh stagings, which grown trees have no sum for.
    """
    if beta != "auto" and (beta <= 2 or subsets_fit(tuple(cards[1:]), beta)):
        return None
    return FIRST_PRIOR if isinstance(prior, str) and prior == ADAPTIVE else _among_parents(get_prior(prior))


def _among_parents(prior: Prior) -> ParentsPrior | None:
    """Return a prior whose trees split as readily, after their variables were chosen; None if it weighs no trees."""
    if isinstance(prior, TreePrior):
        return ParentsPrior(root=prior.root, split=prior.split, deeper=prior.deeper)
    return prior if isinstance(prior, ParentsPrior) else None


def as_grown(scores: Scores, max_memory: float) -> GrownScores:
    """Return scores of grown trees for the same data, with at least two context variables; the scores if they are."""
    if isinstance(scores, GrownScores):
        return scores
    names = scores.table.variables
    return GrownScores(
        scores.table,
        beta=max(2, *scores.betas),
        ess=scores.ess,
        gamma=scores.gamma,
        prior=_among_parents(scores.prior) or FIRST_PRIOR,
        candidates={v: [names[c] for c in own] for v, own in zip(names, scores.candidates, strict=True)},
        max_memory=max_memory,
        n_jobs=scores.n_jobs,
        interventions=scores.interventions,
    )


def first_scores(
    table: TableLike,
    *,
    beta: int,
    ess: float | str,
    prior: ParentsPrior,
    candidates: Mapping[str, Iterable[str]],
    max_memory: float,
    n_jobs: int | None,
    interventions: NDArray[np.bool_] | None,
) -> GrownScores:
    """Return the scores that the first order is found with."""
    first, gamma = FIRST_COUNTS if isinstance(ess, str) else (float(ess), 1.0)
    return GrownScores(
        table,
        beta=beta,
        ess=first,
        gamma=gamma,
        prior=prior,
        candidates=candidates,
        growth=WHOLE if table.p <= FEW_ENOUGH else None,
        max_memory=max_memory,
        n_jobs=n_jobs,
        interventions=interventions,
    )


def with_what_the_data_choose(
    scores: GrownScores,
    before: NDArray[np.bool_],
    *,
    adaptive: bool,
    counts: bool,
    climbs: bool,
    start: NDArray[np.int64] | None = None,
) -> tuple[GrownScores, NDArray[np.int64]]:
    """Return the scores with the prior and the prior counts that suit a first order, and an order for them.

    The first order is the one that the largest gains ask for, or `start`, if that is given and better; `climbs` says
    whether moves make it better.
    """
    if few_among_many(scores):
        order = _order_of_many(scores, before, start)
        start, climbs = None, False
    else:
        order = greedy_order(scores.contexts, before)
    if start is not None:
        found = GrownEngine(scores.contexts, before)
        if found.local_scores(start).sum() > found.local_scores(order).sum():
            order = start
    scores = _adapted(scores, order, adaptive, counts)
    if climbs:
        p = scores.table.p
        most = int(SECONDS_OF_SWEEPS / (SECONDS_OF_A_CONTEXT + SECONDS_OF_A_CELL * scores.counts.total * p))
        if most > FEWEST_CONTEXTS * p:
            order = GrownEngine(scores.contexts, before).climbed(order, MOST_SWEEPS, WORTH * p, most)
            # The first order was not found with what it asks for: a better one may ask for something else.
            scores = _adapted(scores, order, adaptive, counts)
            order = GrownEngine(scores.contexts, before).climbed(order, MOST_SWEEPS, WORTH * p, most)
    return scores, order


def _adapted(scores: GrownScores, order: NDArray[np.int64], adaptive: bool, counts: bool) -> GrownScores:
    """Return the scores with the prior, and the prior counts, that suit an order, where the data are to choose them."""
    if adaptive:
        scores = scores.with_prior(adapted_parents_prior(scores, order))
    if counts:
        chosen = adapted_counts(scores, [scores.table.variables[i] for i in order])
        if chosen != (scores.ess, scores.gamma):
            scores = scores.with_ess(*chosen)
    return scores


def partners_of_many(table: TableLike, counts: Counts, before: NDArray[np.bool_]) -> dict[str, list[str]] | None:
    """Return the best candidates of each of many variables; None where variables are few, or on a cluster.

    Parts of the rows are counted for each variable on the columns of its candidates, which must fit into memory.
    """
    if table.p <= MANY or not isinstance(table, Table | PackedTable):
        return None
    found = best_partners(counts, PARTNERS, AHEAD, ~before if before.any() else None)
    return {v: [table.variables[k] for k in own] for v, own in zip(table.variables, found, strict=True)}


def few_among_many(scores: GrownScores) -> bool:
    """Tell whether variables are many and their candidates few, so that moves are looked for among these."""
    table, most = scores.table, max(map(len, scores.candidates))
    if table.p <= MANY or not isinstance(table, Table | PackedTable) or most > 2 * PARTNERS:
        return False
    return BYTES_OF_A_CELL * table.n * (most + 1) * table.p <= scores.max_memory


def _order_of_many(
    scores: GrownScores, before: NDArray[np.bool_], start: NDArray[np.int64] | None
) -> NDArray[np.int64]:
    """Return an order in which no variable has a better place.

    Unless there is a start, it is climbed to from an order at random: one that the largest gains ask for ended at worse
    ones, as their wrong directions hold each other.
    """
    p = scores.table.p
    if start is None:
        start = np.random.default_rng(0).permutation(p)
        # Who has fewer before them comes first, so that what must come before does.
        start = start[np.argsort(before.sum(axis=0)[start], kind="stable")]
        fewer = best_partners(scores.counts, FEWER, AHEAD, scores.contexts.store.allowed)
        start = climbed_locally(scores, start, before, heats=HEATS, candidates=fewer)
    return climbed_locally(scores, start, before, MOST_LOCAL_SWEEPS, WORTH_LOCALLY * p)


def with_likely_splits(tree: CStree, scores: Scores) -> CStree:
    """Return the CStree of the best grown trees with the splits that are likely besides; other CStrees as they are."""
    if not isinstance(scores, GrownScores):
        return tree
    stagings = {v: scores.likely_staging(v, tree.order[:t], LIKELY) for t, v in enumerate(tree.order)}
    return CStree(tree.order, stagings, states=scores.table.state_map)


def default_moves(scores: GrownScores, order: NDArray[np.int64]) -> int:
    """Return how many moves a chain makes: as many as there is time for, judged by the trees of a first order.

    It depends on the data alone, not on the clock, so that the result can be had again.
    """
    return int(np.clip(_affordable_moves(scores, order), FEWEST_MOVES, MOST_MOVES))


def most_moves(scores: GrownScores, order: NDArray[np.int64]) -> int:
    """Return how many moves a chain of few variables makes at most until it agrees with others."""
    return max(default_moves(scores, order), int(LONGER * _affordable_moves(scores, order)))


def _affordable_moves(scores: GrownScores, order: NDArray[np.int64]) -> float:
    """Return how many moves take :data:`STEPS`."""
    p, names = scores.table.p, scores.table.variables
    position = np.argsort(order)
    sizes = [
        scores.level_weights(i, np.flatnonzero(position[own] < position[i])).n_contexts
        for i, own in enumerate(scores.candidates)
    ]
    walk = float(np.mean(sizes)) + len(names) + scores.counts.total * p * STEPS_OF_A_ROW
    scored = 2 * p if p <= 24 else 0.5 * p + 18
    return STEPS / (walk * scored)


def chain_of_one(scores: GrownScores, order: NDArray[np.int64], before: NDArray[np.bool_]) -> Chain:
    """Return an order as if it were all that a chain had drawn."""
    score = float(GrownEngine(scores.contexts, before).local_scores(order).sum()) - lgamma(len(order) + 1)
    scores_of_one = np.array([score])
    return Chain(order[None].astype(np.int32), scores_of_one, scores_of_one, order, score, 0, score)
