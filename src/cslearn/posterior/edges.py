"""Orders with the scores of the data: levels, edges, and whether the draws can be trusted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cslearn.errors import InputError
from cslearn.orders import ExactOrders, OrderPosterior
from cslearn.orders.diagnostics import MAX_ERROR, Quantities, Verdict
from cslearn.orders.lookup import are_looked_up
from cslearn.posterior.levels import Level, Levels, draw_levels, drawn_levels, exact_levels, levels_of
from cslearn.scores import Scores

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

    from cslearn.plots._figure import Picture

__all__ = ["EdgePosterior", "evenly_spread"]

Floats = NDArray[np.float64]

# Orders that closed forms are averaged over, unless more or fewer are asked for.
N_ORDERS = 200
# Operations that the edge probabilities of drawn orders may take.
EDGE_WORK = 6 * 10**7
# Numbers that are kept at once.
EDGE_MEMORY = 2**25
# Edges that are diagnosed: those whose probability varies by this much from order to order, of these not more than so
# many, and none if that is too much work for so many draws of each chain. More draws than these, of all chains, are not
# looked at; where scores are looked up there are enough of them for standard errors.
LEAST_SPREAD = 0.01
MAX_EDGES = 5000
# Orders of each chain that its own edge probabilities are averaged over.
ORDERS_FOR_ERRORS = 100
LEAST_DRAWS, MOST_DRAWS, DRAWS_FOR_ERRORS = 200, 2000, 4000
# Averages over all orders: levels whose probability matters, of all variables together, and variables.
EXACT_LEVELS = 2500
EXACT_VARIABLES = 14
# Levels of a variable that an exact posterior is averaged over.
MOST_LEVELS = 1000


def evenly_spread(orders: NDArray[np.int32], n_orders: int) -> NDArray[np.int32]:
    """Return `n_orders` of some orders, evenly spread; all of them if there are fewer."""
    if isinstance(n_orders, bool) or not isinstance(n_orders, int | np.integer) or n_orders < 1:
        raise InputError(f"n_orders is a whole number, at least 1, not {n_orders!r}")
    return orders[np.unique(np.linspace(0, len(orders) - 1, min(n_orders, len(orders))).astype(int))]


@dataclass(frozen=True, repr=False)
class EdgePosterior(OrderPosterior):
    """What orders say of levels and edges; the first part of :class:`cslearn.posterior.CStreePosterior`."""

    scores: Scores | None = field(default=None, kw_only=True)
    exact: ExactOrders | None = field(default=None, kw_only=True)
    levels: Levels | None = field(default=None, kw_only=True)

    # ------------------------------------------------------------------ orders
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

    # ------------------------------------------------------------------ levels
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

    # ------------------------------------------------------------------ edges
    def edge_probabilities(self, directed: bool = True, *, n_orders: int | None = None) -> pd.DataFrame:
        """Return how probable it is that one variable is a context variable of another.

        Parameters
        ----------
        directed : bool
            True: that the variable of the row is a context variable, in at least one stage, of that of the column.
            False: that one of the two is a context variable of the other.
        n_orders : int, optional
            Orders to average over, by default all that were drawn or as many as take about a second; not needed after
            an exact search.

        Returns
        -------
        DataFrame
            With the variables as index (from) and columns (to).
        """
        found = self.edge_shares(n_orders)
        return self._frame(found if directed else np.minimum(found + found.T, 1.0))

    def edge_shares(self, n_orders: int | None = None) -> Floats:
        """Return :meth:`edge_probabilities` as an array, shape (p, p), from row to column."""
        if self.exact is not None:
            return self.exact.context_probabilities
        p = len(self.variables)
        orders = self._some_orders(EDGE_WORK // self._levels.cost_of_edges + 1 if n_orders is None else n_orders)
        parts = np.array_split(orders, len(orders) * p**2 // EDGE_MEMORY + 1)
        return sum((self._levels.edges(part).sum(axis=0) for part in parts), np.zeros((p, p))) / len(orders)

    def edge_errors(self) -> pd.DataFrame:
        """Return the standard errors of the edge probabilities: how far the chains disagree about them.

        That is the standard deviation of the probabilities by chain, over the root of the number of chains. It needs no
        convergence to be honest, and is rough if there are few chains. Zero after an exact search; not a number if
        there is one chain.

        Returns
        -------
        DataFrame
            With the variables as index (from) and columns (to).

        Examples
        --------
        >>> from cslearn import Chains, CStreeLearner
        >>> from cslearn.datasets import chickenpox_model
        >>> data = chickenpox_model().sample(1000, random_state=0)
        >>> posterior = CStreeLearner(search=Chains(n_iter=500), random_state=0).fit(data).posterior_
        >>> float(posterior.edge_errors().to_numpy().max()) < 0.2
        True
        """
        return self._frame(self.share_errors())

    def share_errors(self) -> Floats:
        """Return :meth:`edge_errors` as an array, shape (p, p), from row to column."""
        p, n = len(self.variables), len(self.chains)
        if self.exact is not None:
            return np.zeros((p, p))
        if n < 2:
            return np.full((p, p), np.nan)
        most = max(1, min(ORDERS_FOR_ERRORS, EDGE_WORK // self._levels.cost_of_edges // n))
        means = [self._levels.edges(evenly_spread(chain.orders, most)).mean(axis=0) for chain in self.chains]
        return np.std(means, axis=0, ddof=1) / np.sqrt(n)

    def edge_draws(self, n_orders: int | None = None) -> Floats:
        """Return the edge probabilities given each of the drawn orders, shape (orders, p, p), from row to column."""
        return self._levels.edges(self._some_orders(n_orders))

    def _quantities(self) -> Iterator[Quantities]:
        yield from super()._quantities()
        yield from self._edge_quantities()

    def _verdict(self) -> Verdict:
        # Edges take longer: they are looked at if the orders give no reason for doubt.
        of_orders = self._judge(super()._quantities())
        return self._judge(self._quantities()) if of_orders.converged else of_orders

    def _standards(self) -> dict[str, Any]:
        if self.scores is None or self.exact is not None:
            return {}
        number, p = self._draws_for_edges, len(self.variables)
        if not number:
            return {"note": f"edges were not looked at, which would take long with {p} variables"}
        if not are_looked_up(self.scores):
            return {}
        if number * len(self.chains) < DRAWS_FOR_ERRORS and number < min(len(chain.orders) for chain in self.chains):
            return {"note": f"edges were looked at in {number} draws of each chain, too few for their standard errors"}
        return {"max_error": MAX_ERROR}

    @property
    def _draws_for_edges(self) -> int:
        """The draws of each chain in which edges are looked at; zero if that takes too long."""
        n, p = min(len(chain.orders) for chain in self.chains), len(self.variables)
        most = min(EDGE_WORK // self._levels.cost_of_edges, EDGE_MEMORY // p**2) // len(self.chains)
        if most < min(n, LEAST_DRAWS):
            return 0
        enough = DRAWS_FOR_ERRORS if are_looked_up(self._scores) else MOST_DRAWS
        return min(n, most, max(-(-enough // len(self.chains)), LEAST_DRAWS))

    def _edge_quantities(self) -> Iterator[Quantities]:
        if self.scores is None or self.exact is not None:
            return
        n, p = min(len(chain.orders) for chain in self.chains), len(self.variables)
        number = self._draws_for_edges
        if not number:
            return
        some = np.unique(np.linspace(0, n - 1, number).astype(int)) - n
        orders = np.concatenate([chain.orders[some] for chain in self.chains])
        # Two digits of each probability: further ones would only be rounding errors for the ranks.
        draws = self._levels.edges(orders).round(2).reshape(len(self.chains), len(some), p * p)
        spread = draws.std(axis=(0, 1))
        chosen = np.sort(np.argsort(-spread, kind="stable")[:MAX_EDGES])
        chosen = chosen[spread[chosen] >= LEAST_SPREAD]
        names = [f"{self.variables[k // p]} -> {self.variables[k % p]}" for k in chosen]
        yield Quantities("edge", names, draws[:, :, chosen])

    def graph(
        self, threshold: float = 0.5, *, directed: bool = True, n_orders: int | None = None
    ) -> nx.DiGraph | nx.Graph:
        """Return the graph of the edges that are more probable than a threshold.

        Parameters
        ----------
        threshold : float
            From one half on no edge stands in both directions; a longer cycle is possible, though hardly met.
        directed : bool
            False: an undirected graph of the pairs of which one is a context variable of the other, whichever. It has
            the edges whose direction the data leave open, which may miss the threshold in both directions.
        n_orders : int, optional
            As for :meth:`edge_probabilities`.

        Returns
        -------
        networkx.DiGraph or networkx.Graph
            Edges have the attribute ``probability``.

        Examples
        --------
        >>> from cslearn import CStreeLearner
        >>> from cslearn.datasets import chickenpox_model
        >>> posterior = CStreeLearner().fit(chickenpox_model().sample(1000, random_state=0)).posterior_
        >>> sorted(posterior.graph(0.8).edges)
        [('diagnosis', 'carrier'), ('exposed', 'carrier')]
        >>> len(posterior.graph(0.8, directed=False).edges)
        3
        """
        import networkx as nx

        if not 0 <= threshold < 1:
            raise InputError(f"the threshold is a probability below 1, not {threshold!r}")
        found = self.edge_shares(n_orders)
        values = found if directed else np.minimum(found + found.T, 1.0)
        graph = nx.DiGraph() if directed else nx.Graph()
        graph.add_nodes_from(self.variables)
        for parent, child in np.argwhere(values > threshold).tolist():
            graph.add_edge(self.variables[parent], self.variables[child], probability=float(values[parent, child]))
        return graph

    def plot_graph(self, threshold: float = 0.5) -> Picture:
        """Draw the graph of the probable edges with their probabilities: see :func:`cslearn.plots.plot_edge_graph`.

        Examples
        --------
        >>> from cslearn import CStreeLearner
        >>> from cslearn.datasets import chickenpox_model
        >>> posterior = CStreeLearner().fit(chickenpox_model().sample(1000, random_state=0)).posterior_
        >>> "<svg" in posterior.plot_graph().to_svg()
        True
        """
        from cslearn.plots import plot_edge_graph

        return plot_edge_graph(self.edge_probabilities(), threshold)

    def plot_edge_probabilities(self, directed: bool = True) -> Picture:
        """Draw :meth:`edge_probabilities` as a heat map: see :func:`cslearn.plots.plot_edge_probabilities`."""
        from cslearn.plots import plot_edge_probabilities

        return plot_edge_probabilities(self.edge_probabilities(directed))

    def _frame(self, values: Floats) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame(
            values,
            index=pd.Index(list(self.variables), name="parent"),
            columns=pd.Index(list(self.variables), name="child"),
        )
