"""What a fit will do, decided in one place: the engine, the candidates, the search, its length and its memory.

A :class:`Plan` is made from the settings and the number of states of each variable, before anything is counted. How
orders are searched depends on more than that, on the candidates and, with grown trees, on a first order:
:meth:`Plan.search` says it once these are known. The learner follows a plan, and ``cslearn estimate`` prints it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cslearn._wording import option
from cslearn.candidates.sets import DEFAULT_MEMORY
from cslearn.errors import LimitError
from cslearn.estimators.growing import MANY, default_moves, grown_prior, most_moves
from cslearn.estimators.settings import Auto, Chains, Screen, chains_of, selection_of
from cslearn.grown import DEEPEST, GrownScores
from cslearn.orders import FIRST_ESS, default_max_iter, default_n_iter
from cslearn.orders.lookup import are_looked_up
from cslearn.orders.posterior import PAIRS_AT_ONCE
from cslearn.orders.subsets import memory_of_subsets
from cslearn.priors import ADAPTIVE, ParentsPrior, Prior, TreePrior
from cslearn.scores import Scores

if TYPE_CHECKING:
    from cslearn.estimators.learner import Learner

__all__ = [
    "FEW_VARIABLES",
    "Engine",
    "Plan",
    "Search",
    "check_exact",
    "engine_of",
    "exact_memory",
    "is_affordable",
    "is_feasible",
    "plan_of",
]

Engine = Literal["pairs", "subsets", "grown"]

# Up to so many variables and bytes an exact search takes seconds, less than chains do, and is the default.
AUTO_EXACT = 18
AUTO_EXACT_GROWN = 12
AUTO_MEMORY = 1 << 28
MOST_EXACT = 22
# Up to so many variables the prior is chosen for the best order of as many climbs as there are chains.
FEW_VARIABLES = 50
# Chains of few variables that agree, but are too short, go on up to so many times longer.
FURTHER = 2
# Chains on grown trees, unless more are asked for: two, to tell whether they agree.
GROWN_CHAINS = 2
# If local scores are looked up, moves take microseconds, in proportion to the number of variables: so many make edge
# probabilities right to two digits, and take the same time for more variables than `LOOKED_UP_VARIABLES`.
LOOKED_UP_MOVES = 160_000
LOOKED_UP_VARIABLES = 15
LOOKED_UP_DRAWS = 5000
LOOKED_UP_TEMPERATURES = 3
LOOKED_UP_LONGER = 8
# Chains are judged by pairs of variables, of which each takes so many bytes for each of the orders kept of a chain.
JUDGING = 120
MOST_KEPT, MOST_KEPT_OF_LOOKED_UP = 2000, 5000


class Search(NamedTuple):
    """How orders are searched.

    Attributes
    ----------
    engine : {"pairs", "subsets", "grown"}
        What scores an order: exact sums over pairs of context variables, tables of all subsets of few candidates, or
        trees that are grown.
    way : {"exact", "greedy", "chains"}
        All orders, no further than to a first good one, or chains.
    n_chains, n_temperatures : int
    n_iter : int or None
        Moves of each chain before it is asked whether they are enough, or at all; the usual number if None.
    max_iter : int or None
        The most moves, if chains go on; the usual limit if None.
    further : int
        The most moves of chains that agree, but are too short after that; 0 if they end there.
    thin : int or None
        Every how many moves an order is kept; as many as are wanted if None.
    until_they_agree : bool
        Whether chains go on until they agree.
    climb : bool
        Whether each chain begins with a climb.
    memory : int
        Bytes of an exact search, or of judging the chains.
    """

    engine: Engine
    way: Literal["exact", "greedy", "chains"]
    n_chains: int
    n_temperatures: int
    n_iter: int | None
    max_iter: int | None
    further: int
    thin: int | None
    until_they_agree: bool
    climb: bool
    memory: int

    def most_moves(self, p: int) -> int:
        """Return the moves that a chain makes at most."""
        first = default_n_iter(p) if self.n_iter is None else self.n_iter
        if not self.until_they_agree:
            return first
        return max(first, default_max_iter(p) if self.max_iter is None else self.max_iter, self.further)


@dataclass(frozen=True)
class Plan:
    """What follows from the settings of a fit and the number of states of each variable.

    Attributes
    ----------
    beta : int
        The context bound.
    trees : ParentsPrior or None
        The prior that trees are grown with; None where all stagings are summed.
    prior, ess
        The prior and the equivalent sample size that a first order is found with.
    chooses_prior, chooses_ess : bool
        Whether the data choose them afterwards.
    selection : dict
        Arguments of :func:`cslearn.candidates.candidate_sets`.
    partners : bool
        Whether each of many variables has the candidates that promise most instead.
    orders : str or Chains
        How orders are searched, as it was set.
    max_memory : float

    Examples
    --------
    >>> from cslearn.estimators.plan import Plan
    >>> Plan.of([2, 3, 2]).trees is None, Plan.of([2, 3, 2], beta=2).trees is None
    (False, True)
    >>> Plan.of([2, 3, 2], candidates="screen").selection["candidates"]
    'all'
    """

    beta: int
    trees: ParentsPrior | None
    prior: str | Prior
    ess: float
    chooses_prior: bool
    chooses_ess: bool
    selection: dict[str, Any]
    partners: bool
    orders: str | Chains
    max_memory: float

    @classmethod
    def of(
        cls,
        cards: Sequence[int],
        *,
        beta: int | Literal["auto"] = "auto",
        candidates: Any = "auto",
        prior: str | Prior = ADAPTIVE,
        ess: float | Literal["auto"] = "auto",
        search: str | Chains = "auto",
        max_memory: float = DEFAULT_MEMORY,
    ) -> Plan:
        """Return the plan for variables of these cardinalities, with parameters as those of the learner."""
        trees = grown_prior(beta, prior, sorted(cards))
        chosen = selection_of(candidates)
        selection, of_trees = chosen.arguments(), trees is not None and isinstance(chosen, Auto | Screen)
        if of_trees:
            # Contexts are filled when they are visited: there is no table that would have to hold all candidates.
            selection["candidates"] = "all"
        adaptive = isinstance(prior, str) and prior == ADAPTIVE
        deepest = 2 if trees is None else DEEPEST
        return cls(
            beta=deepest if beta == "auto" else int(beta),
            trees=trees,
            prior=TreePrior() if adaptive else prior,
            ess=FIRST_ESS if ess == "auto" else float(ess),
            chooses_prior=adaptive,
            chooses_ess=ess == "auto",
            selection=selection,
            partners=of_trees and len(cards) > MANY,
            orders=search,
            max_memory=max_memory,
        )

    @property
    def chains(self) -> Chains:
        """How chains are run, if it comes to that."""
        return chains_of(self.orders)

    @property
    def searches(self) -> int:
        """How many exact searches there are, if any: one more where the data choose something."""
        return 2 if self.chooses_prior or self.chooses_ess else 1

    def is_exact(self, scores: Scores) -> bool:
        """Tell whether all orders are searched."""
        return self.orders == "exact" or (self.orders == "auto" and is_affordable(scores))

    def is_greedy(self, p: int) -> bool:
        """Tell whether the search ends at a first good order, as it does by default with many variables and trees."""
        return self.orders == "greedy" or (self.orders == "auto" and self.trees is not None and p > MANY)

    def samples_once(self, p: int) -> bool:
        """Tell whether the rounds of a fit with missing cells sample orders in the last one only.

        Where all orders are searched, every round does so.
        """
        return self.orders == "auto" and p > (AUTO_EXACT if self.trees is None else AUTO_EXACT_GROWN)

    def looks_up_first(self, scores: Scores) -> bool:
        """Tell whether the prior is chosen for the best of all orders, not of one that chains climb to."""
        return self.is_exact(scores) or (self.chains.auto and is_affordable(scores))

    def climbs(self, p: int) -> int:
        """Return how many climbs find the order that the prior is chosen for: of many variables one tells as much."""
        return self.chains.n_chains if p <= FEW_VARIABLES else 1

    def search(self, scores: Scores, order: NDArray[np.int64] | None = None) -> Search:
        """Return how orders are searched with these scores; `order` is the first one with grown trees."""
        p, options, engine = scores.table.p, self.chains, engine_of(scores)
        exact, greedy = self.is_exact(scores), self.is_greedy(p)
        n_chains, thin, climb, further = options.n_chains, options.thin, True, 0
        n_iter = None if options.n_iter is None or options.n_iter == "auto" else int(options.n_iter)
        longest = options.max_iter if options.auto else None
        # Without candidates all orders are equally probable, and there is nothing to agree on.
        agree = options.auto and not greedy and any(map(len, scores.candidates))
        if isinstance(scores, GrownScores):
            if self.orders == "auto":
                n_chains = GROWN_CHAINS
            # The first order is climbed already; of few variables the other chains have starts of their own.
            climb = p <= FEW_VARIABLES
            if options.auto and order is not None and not exact and not greedy:
                n_iter = default_moves(scores, order)
                if longest is None:
                    longest = most_moves(scores, order) if climb else n_iter
                    further = FURTHER * longest if climb else 0
        elif greedy:
            n_chains, n_iter, longest = 1, 1, None
        elif engine == "subsets" and agree:
            moves = max(default_n_iter(p), LOOKED_UP_MOVES * LOOKED_UP_VARIABLES // max(p, LOOKED_UP_VARIABLES))
            longest = longest or LOOKED_UP_LONGER * moves
            n_iter = min(moves, longest)
            # There are more quantities to judge the draws by with more variables.
            draws = max(1000, LOOKED_UP_DRAWS * LOOKED_UP_VARIABLES // max(p, LOOKED_UP_VARIABLES))
            thin = max(1, n_iter // draws) if thin is None else thin
        n_temperatures = options.n_temperatures
        if n_temperatures is None:
            # With many rows and three context variables plain chains stay where they begin, far below each other. A
            # checkpoint may be of a search with a number of moves, which has one temperature.
            several = engine == "subsets" and options.auto and options.checkpoint is None
            n_temperatures = LOOKED_UP_TEMPERATURES if several else 1
        found = Search(
            engine,
            "exact" if exact else "greedy" if greedy else "chains",
            n_chains,
            n_temperatures,
            n_iter,
            longest,
            further,
            thin,
            agree,
            climb,
            exact_memory(scores) if exact else 0,
        )
        if exact:
            return found
        kept = min(found.most_moves(p), MOST_KEPT_OF_LOOKED_UP if engine == "subsets" else MOST_KEPT)
        return found._replace(memory=JUDGING * min(PAIRS_AT_ONCE, p * (p - 1) // 2) * n_chains * kept)


def plan_of(learner: Learner, cards: Sequence[int]) -> Plan:
    """Return the plan of a learner for variables of these cardinalities."""
    return Plan.of(
        cards,
        beta=learner.beta,
        candidates=learner.candidates,
        prior=learner.prior,
        ess=learner.ess,
        search=learner.search,
        max_memory=learner.max_memory,
    )


def engine_of(scores: Scores) -> Engine:
    """Return what scores an order."""
    if scores.grown:
        return "grown"
    return "subsets" if are_looked_up(scores) else "pairs"


# ---------------------------------------------------------------- searches of all orders
def exact_memory(scores: Scores) -> int:
    """Return the bytes that an exact search needs at its peak."""
    p, cards = scores.table.p, scores.table.cards
    kept = sum(3 * 8 << len(own) for own in scores.candidates)
    if scores.grown:
        return kept + (32 << p)
    work = max(
        memory_of_subsets(tuple(int(cards[c]) for c in own), beta)
        for own, beta in zip(scores.candidates, scores.betas, strict=True)
    )
    return 2 * work + kept + (32 << p)


def is_affordable(scores: Scores) -> bool:
    """Tell whether an exact search is a matter of seconds."""
    most = AUTO_EXACT_GROWN if scores.grown else AUTO_EXACT
    return scores.table.p <= most and exact_memory(scores) <= AUTO_MEMORY


def is_feasible(scores: Scores, max_memory: float) -> bool:
    """Tell whether an exact search is within its limits."""
    return scores.table.p <= MOST_EXACT and exact_memory(scores) <= max_memory


def check_exact(scores: Scores, max_memory: float) -> None:
    """Raise an error that states the cost of an exact search if that is too high."""
    if not is_feasible(scores, max_memory):
        p, needed = scores.table.p, exact_memory(scores)
        raise LimitError(
            f"an exact search over the orders of {p} variables goes through 2^{p} sets of them and needs about"
            f" {needed / 2**30:.3g} GB; it is limited to {MOST_EXACT} variables and to {max_memory / 2**30:.3g} GB"
            f" ({option('max_memory')}). Use {option('search', 'mcmc')}, or fewer candidates ({option('alpha')})."
        )
