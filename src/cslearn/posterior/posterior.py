"""The posterior over CStrees, from drawn orders or from all of them.

:class:`CStreePosterior` holds orders and the scores of the data. What follows from them are functions of it, which are
its methods: of edges (:mod:`cslearn.posterior.edges`), of stages (:mod:`cslearn.posterior.stages`), of relations
(:mod:`cslearn.posterior.relations`), drawn CStrees and point estimates (:mod:`cslearn.posterior.draws`), and
predictions and answers (:mod:`cslearn.posterior.prediction`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isclose
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cslearn._checked import checked
from cslearn._numerics import RandomState, as_generator
from cslearn.data import Table, as_table
from cslearn.errors import InputError
from cslearn.orders import Chain, ExactOrders, OrderPosterior
from cslearn.orders.diagnostics import Quantities, Verdict
from cslearn.orders.lookup import are_looked_up
from cslearn.posterior import draws, edges, prediction, relations, stages
from cslearn.posterior.levels import (
    N_ORDERS,
    Floats,
    Level,
    Levels,
    draw_levels,
    drawn_levels,
    evenly_spread,
    exact_levels,
    levels_of,
)
from cslearn.scores import Scores

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CStreePosterior"]

EXACT_DRAWS = 2000
# Averages over all orders: levels whose probability matters, of all variables together, and variables.
EXACT_LEVELS = 2500
EXACT_VARIABLES = 14
# Levels of a variable that an exact posterior is averaged over.
MOST_LEVELS = 1000
# Two scores of an order are the same if they differ by no more.
SCORE_TOLERANCE = 1e-6


@checked
@dataclass(frozen=True, repr=False)
class CStreePosterior(OrderPosterior):
    """The posterior over CStrees given data.

    Given an order, sums over all stagings are in closed form. So what is said here of edges, stages and predictions is
    averaged over the orders that were drawn, or exactly over all of them where the search was exact, and never over
    drawn stagings, except where it is said.

    Parameters
    ----------
    variables, chains, settings
        As in :class:`cslearn.orders.OrderPosterior`.
    scores : Scores
        The scores of the data.
    exact : ExactOrders, optional
        The posterior over all orders; the chains are then independent draws from it.
    levels : Levels, optional
        What was computed of these scores before.

    Examples
    --------
    >>> from cslearn import CStreeLearner
    >>> from cslearn.datasets import chickenpox_model
    >>> data = chickenpox_model().sample(1000, random_state=0)
    >>> posterior = CStreeLearner(search="exact").fit(data).posterior_
    >>> float(posterior.edge_probabilities().loc["exposed", "carrier"].round(2))
    0.96
    >>> float(posterior.edge_probabilities(directed=False).loc["exposed", "carrier"].round(2))
    1.0
    """

    scores: Scores | None = field(default=None, kw_only=True)
    exact: ExactOrders | None = field(default=None, kw_only=True)
    levels: Levels | None = field(default=None, kw_only=True)

    # ------------------------------------------------------------------ what it says
    edge_probabilities = edges.edge_probabilities
    edge_shares = edges.edge_shares
    edge_errors = edges.edge_errors
    share_errors = edges.share_errors
    edge_draws = edges.edge_draws
    graph = edges.graph
    plot_graph = edges.plot_graph
    plot_edge_probabilities = edges.plot_edge_probabilities
    stage_probability = stages.stage_probability
    parents_probability = stages.parents_probability
    n_stages = stages.n_stages
    n_stages_distribution = stages.n_stages_distribution
    relation_probability = relations.relation_probability
    relation_probabilities = relations.relation_probabilities
    sample = draws.sample
    point_estimate = draws.point_estimate
    central_tree = draws.central_tree
    tree_of = draws.tree_of
    parameter_intervals = draws.parameter_intervals
    log_prob = prediction.log_prob
    predict_proba = prediction.predict_proba
    target_probabilities = prediction.target_probabilities
    predict = prediction.predict
    query = prediction.query
    effect = prediction.effect

    @classmethod
    def of_exact(
        cls, exact: ExactOrders, random_state: RandomState = None, settings: Mapping[str, Any] | None = None
    ) -> CStreePosterior:
        """Return the posterior of an exact search, with independent draws of orders."""
        orders = exact.draw(EXACT_DRAWS, as_generator(random_state))
        log_scores = exact.log_scores(orders)
        best_order, best = exact.best_order()
        chain = Chain(orders, log_scores, log_scores, best_order, best, len(orders), float(log_scores[0]))
        scores = exact.subsets.scores
        return cls(scores.table.variables, [chain], settings or {}, scores=scores, exact=exact)

    def with_scores(self, scores: Scores) -> CStreePosterior:
        """Return the posterior with the scores of the data, which a file of draws does not hold.

        Parameters
        ----------
        scores : Scores
            Of the same data, prior, equivalent sample size, candidates and context bound that the draws were made with.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from cslearn import CStreeLearner
        >>> from cslearn.datasets import chickenpox_model
        >>> from cslearn.posterior import CStreePosterior
        >>> from cslearn.scores import Scores
        >>> data = chickenpox_model().sample(1000, random_state=0)
        >>> learner = CStreeLearner(beta=2, prior="tree", ess=2.0).fit(data)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     learner.posterior_.save(pathlib.Path(folder, "draws.npz"))
        ...     draws = CStreePosterior.load(pathlib.Path(folder, "draws.npz"))
        >>> posterior = draws.with_scores(Scores(data, prior="tree", ess=2.0))
        >>> bool(posterior.edge_probabilities().loc["exposed", "carrier"] > 0.8)
        True
        """
        if tuple(scores.table.variables) != tuple(self.variables):
            raise InputError(
                f"the draws are orders of {', '.join(self.variables)}, and the scores are of the variables"
                f" {', '.join(scores.table.variables)}"
            )
        chain = self.best
        now = scores.order_score(self.order_names(chain.best_order))
        if not isclose(now, chain.best_log_score, rel_tol=SCORE_TOLERANCE):
            raise InputError(
                f"these are not the scores that the draws were made with: the best order has {now:.6f}, and had"
                f" {chain.best_log_score:.6f}. Give the same data, prior, ess, candidates and beta."
            )
        return CStreePosterior(self.variables, self.chains, self.settings, scores=scores)

    @property
    def log_evidence(self) -> float:
        """Log of ``P(data)``, summed over all orders and stagings; only after an exact search."""
        if self.exact is None:
            raise InputError("the evidence is known after an exact search only: fit with search='exact'")
        return self.exact.log_evidence

    def precedence(self) -> pd.DataFrame:
        """Return the probability that the variable of the row comes before that of the column."""
        return super().precedence() if self.exact is None else self._frame(self.exact.precedence)

    def precedence_shares(self) -> Floats:
        """Return :meth:`precedence` as an array, shape (p, p)."""
        return super().precedence_shares() if self.exact is None else self.exact.precedence

    @property
    def converged(self) -> bool:
        """Whether there is no reason to doubt the draws; an exact search gives none."""
        return self.exact is not None or super().converged

    @property
    def is_of_one_order(self) -> bool:
        """Whether there is a single order, where a search ended at a first good one."""
        return self.exact is None and len(self.chains) == 1 and len(self.chains[0].orders) == 1

    def _quantities(self) -> Iterator[Quantities]:
        yield from super()._quantities()
        yield from edges.edge_quantities(self)

    def _verdict(self) -> Verdict:
        # Edges take longer: they are looked at if the orders give no reason for doubt.
        of_orders = self._judge(super()._quantities())
        return self._judge(self._quantities()) if of_orders.converged else of_orders

    def _standards(self) -> dict[str, Any]:
        return edges.edge_standards(self)

    @property
    def _scores(self) -> Scores:
        if self.scores is None:
            raise InputError(
                "these are orders without the data they were learned from: use `posterior_` of a learner, or"
                " `with_scores` for draws from a file"
            )
        return self.scores

    @cached_property
    def _levels(self) -> Levels:
        return levels_of(self._scores) if self.levels is None else self.levels

    def _probable_levels(self, i: int, n_orders: int | None) -> dict[Level, float]:
        """Return the levels of a variable with their probabilities."""
        if n_orders is None and self.exact is not None:
            return exact_levels(self.exact, i, MOST_LEVELS)
        if n_orders is None:
            # Stages take less time than predictions, and few candidates make few levels: then all draws.
            fewer = max(20_000 // len(self.variables), N_ORDERS // 4)
            n_orders = len(self.orders) if are_looked_up(self._scores) else fewer
        return drawn_levels(self._scores, self._some_orders(n_orders), i)

    @cached_property
    def _all_levels(self) -> list[dict[Level, float]] | None:
        """The levels of every variable whose probability matters; None if they are too many to go through."""
        if self.exact is None or len(self.variables) > EXACT_VARIABLES:
            return None
        found = [exact_levels(self.exact, i) for i in range(len(self.variables))]
        return found if sum(map(len, found)) <= EXACT_LEVELS else None

    def _mean_over_orders(self, values: Sequence[Mapping[Level, NDArray[Any]]]) -> NDArray[Any]:
        """Return the mean over all orders of products over the variables, each given by level: shape (n,)."""
        assert self.exact is not None
        tables = []
        for candidates, of_level in zip(self._scores.candidates, values, strict=True):
            some = next(iter(of_level.values()))
            table = np.zeros((1 << len(candidates), len(some) + 1), dtype=some.dtype)
            for level, row in of_level.items():
                # The last column is the share of the orders that have none of the levels left out.
                table[sum(1 << k for k in level)] = np.append(row, 1.0)
            tables.append(table)
        means = self.exact.mean_over_orders(tables)
        return means[:-1] / means[-1]

    def _drawn_levels(self, n_orders: int | None) -> list[list[Level]]:
        return draw_levels(self._scores, self._some_orders(n_orders))

    def _some_orders(self, n_orders: int | None) -> NDArray[np.int32]:
        """Return `n_orders` of the draws, evenly spread over the chains; all of them if there are fewer."""
        return evenly_spread(self.orders, N_ORDERS if n_orders is None else n_orders)

    def _column(self, variable: str) -> int:
        if variable not in self._scores.index:
            raise InputError(f"there is no variable {variable!r}; there are {', '.join(self.variables)}")
        return self._scores.index[variable]

    def _coded(self, variable: str, state: Any) -> tuple[int, int]:
        column = self._column(variable)
        states = self._scores.table.states[column]
        if state not in states:
            raise InputError(f"{variable!r} has no state {state!r}; it has {', '.join(map(str, states))}")
        return column, states.index(state)

    def _encoded(self, data: Any) -> Table:
        table = self._scores.table
        states = dict(zip(table.variables, table.states, strict=True))
        return as_table(data, variables=table.variables, states=states)

    def _frame(self, values: Floats) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame(
            values,
            index=pd.Index(list(self.variables), name="parent"),
            columns=pd.Index(list(self.variables), name="child"),
        )

    def __repr__(self) -> str:
        draws, p = self.orders.shape
        how = "exact" if self.exact is not None else f"{len(self.chains)} chains"
        return f"CStreePosterior({how}, {draws} draws of {p} variables)"
