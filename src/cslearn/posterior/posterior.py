"""The posterior over CStrees, from drawn orders or from all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isclose, log
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from cslearn._numerics import RandomState, as_generator, log_sum_exp_axis
from cslearn.counts import stage_counts
from cslearn.cstree import CStree
from cslearn.data import Table, as_table, incomplete_codes
from cslearn.errors import InputError
from cslearn.graphs import CSIRelation
from cslearn.orders import Chain, ExactOrders, OrderPosterior
from cslearn.orders.diagnostics import MAX_ERROR, Quantities, Verdict
from cslearn.orders.problem import are_looked_up
from cslearn.posterior.levels import Level, Levels, draw_levels, drawn_levels, exact_levels
from cslearn.scores import Scores
from cslearn.stagings import Context, Staging

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

    from cslearn.plots._figure import Picture

__all__ = ["CStreePosterior"]

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
LEAST_DRAWS, MOST_DRAWS, DRAWS_FOR_ERRORS = 200, 2000, 4000
# CStrees that missing cells are summed out of.
N_TREES = 50
# Effects that are smaller than this part of the largest are zero.
ROUNDING = 1e-12
EXACT_DRAWS = 2000
MOST_PARENTS = 10
# Averages over all orders: levels whose probability matters, of all variables together, and variables.
EXACT_LEVELS = 2500
EXACT_VARIABLES = 14
# Levels of a variable that an exact posterior is averaged over.
MOST_LEVELS = 1000
# Two scores of an order are the same if they differ by no more.
SCORE_TOLERANCE = 1e-6

Stages = tuple[tuple[tuple[int, int], ...], ...]
"""The stages of a variable as pairs of column and code."""


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
    0.92
    >>> float(posterior.edge_probabilities(directed=False).loc["exposed", "carrier"].round(2))
    1.0
    """

    scores: Scores | None = field(default=None, kw_only=True)
    exact: ExactOrders | None = field(default=None, kw_only=True)
    levels: Levels | None = field(default=None, kw_only=True)

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
        >>> learner = CStreeLearner(prior="tree", ess=2.0).fit(data)
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

    # ------------------------------------------------------------------ orders
    def precedence(self) -> pd.DataFrame:
        """Return the probability that the variable of the row comes before that of the column."""
        return super().precedence() if self.exact is None else self._frame(self.exact.precedence)

    @property
    def converged(self) -> bool:
        """Whether there is no reason to doubt the draws; an exact search gives none."""
        return self.exact is not None or super().converged

    @property
    def log_evidence(self) -> float:
        """Log of ``P(data)``, summed over all orders and stagings; only after an exact search."""
        if self.exact is None:
            raise InputError("the evidence is known after an exact search only: fit with search='exact'")
        return self.exact.log_evidence

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
        return Levels(self._scores) if self.levels is None else self.levels

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
        wanted = N_ORDERS if n_orders is None else n_orders
        if wanted < 1:
            raise InputError(f"n_orders is a whole number, at least 1, not {n_orders!r}")
        orders = self.orders
        return orders[np.unique(np.linspace(0, len(orders) - 1, min(wanted, len(orders))).astype(int))]

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
        if self.exact is not None:
            found = self.exact.context_probabilities
        else:
            p = len(self.variables)
            orders = self._some_orders(EDGE_WORK // self._levels.cost_of_edges + 1 if n_orders is None else n_orders)
            parts = np.array_split(orders, len(orders) * p**2 // EDGE_MEMORY + 1)
            found = sum((self._levels.edges(part).sum(axis=0) for part in parts), np.zeros((p, p))) / len(orders)
        return self._frame(found if directed else np.minimum(found + found.T, 1.0))

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
        values = self.edge_probabilities(directed, n_orders=n_orders).to_numpy()
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

    # ------------------------------------------------------------------ stages
    def stage_probability(self, variable: str, context: Mapping[str, Any], *, n_orders: int | None = None) -> float:
        """Return the probability that a context is a stage of a variable.

        Parameters
        ----------
        variable : str
        context : mapping of variable to state
        n_orders : int, optional
            Orders to average over. After an exact search by default all levels, or of very many a thousand.
        """
        i, context = self._column(variable), Context(context)
        pairs = sorted(self._coded(v, state) for v, state in context.items())
        columns, states = tuple(c for c, _ in pairs), tuple(x for _, x in pairs)
        total = 0.0
        for level, probability in self._probable_levels(i, n_orders).items():
            stages = self._levels.stages(i, level)
            if columns in stages:
                total += probability * float(stages[columns][states])
        return min(max(total, 0.0), 1.0)

    def parents_probability(self, variable: str, parents: Iterable[str], *, n_orders: int | None = None) -> float:
        """Return the probability that a variable has these parents: each in at least one stage, and no others.

        Parameters
        ----------
        variable : str
        parents : iterable of str
            At most ten.
        n_orders : int, optional
            Orders to average over. After an exact search by default all levels, or of very many a thousand.

        Examples
        --------
        >>> from cslearn import CStreeLearner
        >>> from cslearn.datasets import chickenpox_model
        >>> posterior = CStreeLearner().fit(chickenpox_model().sample(1000, random_state=0)).posterior_
        >>> round(posterior.parents_probability("carrier", ["exposed", "diagnosis"]), 2)
        0.8
        """
        i, columns = self._column(variable), frozenset(map(self._column, parents))
        if len(columns) > MOST_PARENTS:
            raise InputError(f"parents are at most {MOST_PARENTS}, not {len(columns)}: their subsets are gone through")
        levels = self._probable_levels(i, n_orders).items()
        total = sum(probability * self._levels.parents(i, level, columns) for level, probability in levels)
        return min(max(total, 0.0), 1.0)

    def relation_probability(
        self, relation: CSIRelation | str, *, n_draws: int = N_ORDERS, random_state: RandomState = 0
    ) -> float:
        """Return the probability that the CStree entails a CSI relation: that it holds for all its parameters.

        It is the share, of CStrees drawn from the posterior, of those that :meth:`cslearn.CStree.implies` it. Whether a
        relation holds depends on the stagings of all variables between its sides, so that there is no closed form. The
        standard error of a probability `q` is the square root of ``q (1 - q) / n_draws``: at most 0.035 for 200.

        Parameters
        ----------
        relation : CSIRelation or str
            A text is read by :meth:`cslearn.graphs.CSIRelation.parse`.
        n_draws : int
            CStrees that are drawn.
        random_state : int, Generator or None

        Raises
        ------
        LimitError
            If a drawn CStree is too large to decide; see :meth:`cslearn.CStree.implies`.

        Examples
        --------
        >>> from cslearn import CStreeLearner
        >>> from cslearn.datasets import chickenpox_model
        >>> posterior = CStreeLearner().fit(chickenpox_model().sample(1000, random_state=0)).posterior_
        >>> posterior.relation_probability("diagnosis _||_ carrier") < 0.05
        True
        >>> posterior.relation_probability("background _||_ carrier | exposed=no") > 0.5
        True
        """
        if isinstance(relation, str):
            relation = CSIRelation.parse(relation, self._scores.table.state_map)
        return self._relation_probabilities([relation], n_draws, random_state)[relation]

    def relation_probabilities(
        self, tree: CStree, *, n_draws: int = N_ORDERS, random_state: RandomState = 0
    ) -> dict[CSIRelation, float]:
        """Return :meth:`relation_probability` of all relations of a CStree, as ``relation_table`` takes them.

        Examples
        --------
        >>> from cslearn import CStreeLearner
        >>> from cslearn.datasets import chickenpox_model
        >>> learner = CStreeLearner().fit(chickenpox_model().sample(1000, random_state=0))
        >>> probabilities = learner.posterior_.relation_probabilities(learner.cstree_)
        >>> all(0 <= p <= 1 for p in probabilities.values())
        True
        """
        return self._relation_probabilities(tree.csi_relations(), n_draws, random_state)

    def _relation_probabilities(
        self, relations: Sequence[CSIRelation], n_draws: int, random_state: RandomState
    ) -> dict[CSIRelation, float]:
        from cslearn.graphs.entailment import Entailment

        # Few variables have few structures, which are drawn again and again.
        drawn = Counter(zip(*self._drawn_structures(n_draws, as_generator(random_state)), strict=True))
        found = dict.fromkeys(relations, 0)
        for (order, stagings), times in drawn.items():
            holds = Entailment(self._structure(order, stagings))
            for relation in relations:
                found[relation] += times * holds.implies(relation)
        return {relation: number / n_draws for relation, number in found.items()}

    def n_stages(self, *, n_orders: int | None = None) -> pd.Series:
        """Return the expected number of stages of each variable."""
        import pandas as pd

        numbers = [self._n_stages(i, n_orders) for i in range(len(self.variables))]
        expected = [float(chances @ np.arange(len(chances))) for chances in numbers]
        return pd.Series(expected, index=list(self.variables), name="stages")

    def n_stages_distribution(self, variable: str | None = None, *, n_orders: int | None = None) -> pd.Series:
        """Return how probable each number of stages is, of one variable or of all together.

        Given an order both are in closed form, by the generating function of the number of stages.

        Parameters
        ----------
        variable : str, optional
            By default the stages of all variables are counted together.
        n_orders : int, optional
            Orders to average over. After an exact search by default all: for one variable always (all levels, or of
            very many a thousand), for all together while their levels are few, as in :meth:`log_prob`.

        Returns
        -------
        Series
            Probabilities by the number of stages, from 1 on.

        Examples
        --------
        >>> from cslearn import CStreeLearner
        >>> from cslearn.datasets import chickenpox_model
        >>> posterior = CStreeLearner().fit(chickenpox_model().sample(1000, random_state=0)).posterior_
        >>> posterior.n_stages_distribution("exposed").round(2).tolist()
        [0.55, 0.24, 0.16, 0.04]
        >>> posterior.n_stages_distribution().idxmax()
        8
        """
        import pandas as pd

        if variable is not None:
            found = self._n_stages(self._column(variable), n_orders)
        else:
            found = self._total_stages(n_orders)
        found = np.trim_zeros(found.round(15), "b")[1:]
        return pd.Series(found, index=pd.RangeIndex(1, len(found) + 1, name="stages"), name="probability")

    def _n_stages(self, i: int, n_orders: int | None) -> Floats:
        levels = self._probable_levels(i, n_orders)
        numbers = [self._levels.n_stages(i, level) for level in levels]
        total = np.zeros(max(map(len, numbers)))
        for chances, probability in zip(numbers, levels.values(), strict=True):
            total[: len(chances)] += probability * chances
        return total / sum(levels.values())

    def _total_stages(self, n_orders: int | None) -> Floats:
        every = self._all_levels if n_orders is None else None
        if every is None:
            levels = self._drawn_levels(n_orders)
            by_variable = [{level: self._levels.n_stages(i, level) for level in of} for i, of in enumerate(levels)]
        else:
            by_variable = [{level: self._levels.n_stages(i, level) for level in of} for i, of in enumerate(every)]
        size = 1 + sum(max(map(len, numbers.values())) - 1 for numbers in by_variable)
        # A sum of independent numbers: their transforms are multiplied.
        waves = [{level: np.fft.rfft(chances, size) for level, chances in of.items()} for of in by_variable]
        if every is not None:
            mean = self._mean_over_orders(waves)
        else:
            draws = range(len(levels[0]))
            products = [np.prod([waves[i][of[draw]] for i, of in enumerate(levels)], axis=0) for draw in draws]
            mean = np.mean(products, axis=0)
        return np.clip(np.fft.irfft(mean, size), 0.0, 1.0)

    def _coded(self, variable: str, state: Any) -> tuple[int, int]:
        column = self._column(variable)
        states = self._scores.table.states[column]
        if state not in states:
            raise InputError(f"{variable!r} has no state {state!r}; it has {', '.join(map(str, states))}")
        return column, states.index(state)

    # ------------------------------------------------------------------ prediction
    def log_prob(self, data: Any, *, n_orders: int | None = None) -> Floats:
        """Return the log-probability of every row, averaged over stagings, parameters and orders.

        Given an order the average over all stagings and parameters is exact. Over orders it is taken by the draws, or
        exactly after an exact search in which few levels matter (2,500, of up to 14 variables): always with nine.

        Parameters
        ----------
        data : Table, frame, array, path or whatever :func:`cslearn.data.as_table` reads
        n_orders : int, optional
            Draws of orders to average over; by default all orders where that is feasible, otherwise 200 draws.

        Returns
        -------
        ndarray, shape (n,)
        """
        return self._log_prob(self._encoded(data).codes, n_orders)

    def _log_prob(self, codes: NDArray[np.integer], n_orders: int | None) -> Floats:
        rows, inverse = np.unique(codes, axis=0, return_inverse=True)
        if n_orders is None and self._all_levels is not None:
            return self._exact_log_prob(self._all_levels, rows)[inverse.reshape(-1)]
        levels = self._drawn_levels(n_orders)
        n_draws = len(levels[0])
        by_order = np.zeros((n_draws, len(rows)))
        for i, of_variable in enumerate(levels):
            kept: dict[Level, Floats] = {}
            for draw, level in enumerate(of_variable):
                if level not in kept:
                    kept[level] = np.log(self._levels.predictive(i, level, rows))
                by_order[draw] += kept[level]
        return (log_sum_exp_axis(by_order, axis=0) - log(n_draws))[inverse.reshape(-1)]

    def _exact_log_prob(self, levels: Sequence[Mapping[Level, float]], rows: NDArray[np.integer]) -> Floats:
        found = []
        for part in np.array_split(rows, (len(rows) << len(levels)) // EDGE_MEMORY + 1):
            scale, values = np.zeros(len(part)), []
            for i, of_variable in enumerate(levels):
                predicted = {level: self._levels.predictive(i, level, part) for level in of_variable}
                largest = np.max(list(predicted.values()), axis=0)
                scale += np.log(largest)
                values.append({level: chances / largest for level, chances in predicted.items()})
            found.append(scale + np.log(self._mean_over_orders(values)))
        return np.concatenate(found)

    def predict_proba(
        self,
        data: Any,
        target: str,
        *,
        n_orders: int | None = None,
        n_draws: int = N_TREES,
        random_state: RandomState = 0,
    ) -> pd.DataFrame:
        """Return the probabilities of the states of one variable given the others, averaged over the posterior.

        In complete rows that is in closed form given an order, as in :meth:`log_prob`. Missing cells are summed out of
        CStrees drawn from the posterior, each with the means of its parameters: the probability of what is known in the
        row together with each state of the target, on average over the draws.

        Parameters
        ----------
        data : frame or whatever :func:`cslearn.data.as_table` reads
            Cells may be missing, and columns too. A state that was not there in training counts as missing, with a
            warning. A column of the target is not looked at.
        target : str
        n_orders : int, optional
            For complete rows: draws of orders to average over, as in :meth:`log_prob`.
        n_draws : int
            For rows with missing cells: CStrees that are drawn.
        random_state : int, Generator or None
            Seed of these draws.

        Returns
        -------
        DataFrame
            A row for each row of the data, a column for each state of the target.
        """
        import pandas as pd

        from cslearn.inference.prediction import index_of
        from cslearn.inference.queries import labels_index

        i, table = self._column(target), self._scores.table
        codes = incomplete_codes(data, table.state_map, leave_out=[target])
        found = self.target_probabilities(codes, i, n_orders=n_orders, n_draws=n_draws, random_state=random_state)
        return pd.DataFrame(found, columns=labels_index(table.states[i]), index=index_of(data))

    def target_probabilities(
        self,
        codes: NDArray[np.int32],
        i: int,
        *,
        n_orders: int | None = None,
        n_draws: int = N_TREES,
        random_state: RandomState = 0,
    ) -> Floats:
        """Return what :meth:`predict_proba` does for column `i` of rows of codes, in which -1 is a missing cell."""
        codes = codes.copy()
        codes[:, i] = 0
        gaps = (codes < 0).any(axis=1)
        trees = self.sample(n_draws, parameters="mean", random_state=random_state) if gaps.any() else []
        logs = np.empty((len(codes), self._scores.table.cards[i]))
        for code in range(logs.shape[1]):
            codes[:, i] = code
            if not gaps.all():
                logs[~gaps, code] = self._log_prob(codes[~gaps], n_orders)
            if trees:
                by_tree = [tree.queries.rows.log_prob(codes[gaps]) for tree in trees]
                logs[gaps, code] = log_sum_exp_axis(by_tree, axis=0)
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)

    def predict(self, data: Any, target: str, **options: Any) -> pd.Series:
        """Return the most probable state of one variable given the others, for each row; see :meth:`predict_proba`."""
        return self.predict_proba(data, target, **options).idxmax(axis=1).rename(target)

    def _encoded(self, data: Any) -> Table:
        table = self._scores.table
        states = dict(zip(table.variables, table.states, strict=True))
        return as_table(data, variables=table.variables, states=states)

    def query(
        self,
        targets: Sequence[str] | str,
        evidence: Mapping[str, Any] | None = None,
        *,
        interval: float = 0.95,
        n_draws: int = N_ORDERS,
        random_state: RandomState = 0,
    ) -> pd.DataFrame:
        """Return the posterior mean and a credible interval of each probability of a query.

        The query is asked of CStrees drawn from the joint posterior of order, stagings and parameters. So the mean is
        that of ``P(targets | evidence)``, a property of the model that the data leave uncertain. What
        :meth:`predict_proba` gives for a new row is another mean: the evidence in that row is data too, and counts
        the models by how probable they make it, ``E P(targets, evidence) / E P(evidence)``. Without evidence the two
        are the same, and with much data about the same.

        Parameters
        ----------
        targets, evidence
            As in :meth:`cslearn.CStree.query`.
        interval : float
            Posterior probability of the interval, with equal tails.
        n_draws : int
            CStrees that are drawn.
        random_state : int, Generator or None

        Returns
        -------
        DataFrame
            Columns ``mean``, ``lower`` and ``upper``, and a row for each outcome of the targets.
        """
        import pandas as pd

        tails = self._tails(interval)
        names = [targets] if isinstance(targets, str) else list(targets)
        trees = self.sample(n_draws, random_state=random_state)
        answers = [tree.query(names, evidence=evidence) for tree in trees]
        values = np.array([np.asarray(answer) for answer in answers])
        lower, upper = np.quantile(values, tails, axis=0)
        return pd.DataFrame({"mean": values.mean(axis=0), "lower": lower, "upper": upper}, index=answers[0].index)

    def effect(
        self,
        outcome: str,
        do: Mapping[str, Any],
        against: Mapping[str, Any] | None = None,
        *,
        value: Any = None,
        evidence: Mapping[str, Any] | None = None,
        interval: float = 0.95,
        n_draws: int = N_ORDERS,
        random_state: RandomState = 0,
    ) -> pd.Series:
        """Return the average causal effect of setting variables, with its posterior uncertainty.

        The effect is computed in CStrees drawn from the joint posterior of order, stagings and parameters. Its spread
        says how far the data leave the model open, directions included. It does not say how true the causal reading of
        any of these models is: common causes that were not measured, and selection by effects, are in none of them.

        Parameters
        ----------
        outcome : str
        do, against : mapping of variable to state, or to odds
            What is set, and what it is compared with, as for :meth:`cslearn.CStree.do`. Without `against` it is
            compared with setting nothing.
        value : state or mapping of state to number, optional
            The state of the outcome whose probability is meant, or the number that each counts for; not needed if the
            states are numbers.
        evidence : mapping of str to evidence, optional
            As for :meth:`cslearn.CStree.query`: the effect where this is seen after setting.
        interval : float
            Posterior probability of the interval, with equal tails.
        n_draws : int
            CStrees that are drawn.
        random_state : int, Generator or None

        Returns
        -------
        pandas.Series
            ``mean``, ``sd``, ``lower`` and ``upper`` of the effect, ``positive``, the probability that it is above
            zero, and ``none``, the probability that it is zero because the outcome does not depend on what is set.

        Examples
        --------
        >>> from cslearn import CStreeLearner
        >>> from cslearn.datasets import chickenpox_model
        >>> data = chickenpox_model().sample(1000, random_state=0)
        >>> order = [["background"], ["diagnosis"], ["exposed"], ["carrier"]]
        >>> posterior = CStreeLearner(knowledge={"tiers": order}, random_state=0).fit(data).posterior_
        >>> posterior.effect("carrier", do={"exposed": "yes"}, against={"exposed": "no"}, value="yes").round(2)
        mean        0.5...
        sd          0.0...
        lower       0.5...
        upper       0.6...
        positive    1.0...
        none        0.0...
        dtype: float64
        """
        import pandas as pd

        from cslearn.inference.causal import expected_value

        tails = self._tails(interval)
        trees = self.sample(n_draws, random_state=random_state)
        effects = np.array(
            [
                expected_value(tree, outcome, do, value, evidence)
                - expected_value(tree, outcome, against, value, evidence)
                for tree in trees
            ]
        )
        # Where nothing that was set leads to the outcome the two sums differ by rounding alone.
        effects[np.abs(effects) < ROUNDING * (1 + np.abs(effects).max())] = 0.0
        lower, upper = np.quantile(effects, tails)
        told = {"mean": effects.mean(), "sd": effects.std(ddof=1), "lower": lower, "upper": upper}
        return pd.Series({**told, "positive": (effects > 0).mean(), "none": (effects == 0).mean()})

    # ------------------------------------------------------------------ draws and point estimates
    def sample(
        self, n: int, *, parameters: Literal["draw", "mean"] = "draw", random_state: RandomState = None
    ) -> list[CStree]:
        """Draw CStrees from the posterior.

        Parameters
        ----------
        n : int
        parameters : {"draw", "mean"}
            Draw the parameters from their Dirichlet distributions, or take their posterior means.
        random_state : int, Generator or None

        Returns
        -------
        list of CStree
            Each with one of the drawn orders, or after an exact search with an order drawn anew, and stagings drawn
            exactly given the order.

        Examples
        --------
        >>> from cslearn import CStreeLearner
        >>> from cslearn.datasets import chickenpox_model
        >>> data = chickenpox_model().sample(1000, random_state=0)
        >>> posterior = CStreeLearner(search="exact").fit(data).posterior_
        >>> [tree.n_stages for tree in posterior.sample(3, random_state=0)]
        [9, 7, 8]
        """
        rng = as_generator(random_state)
        orders, stagings = self._drawn_structures(n, rng)
        return [self._draw_parameters(*drawn, parameters, rng) for drawn in zip(orders, stagings, strict=True)]

    def _drawn_structures(
        self, n: int, rng: np.random.Generator
    ) -> tuple[list[tuple[int, ...]], list[tuple[Stages, ...]]]:
        """Draw orders, and the stages of each variable in each order."""
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise InputError(f"the number of CStrees to draw is a whole number, at least 1, not {n!r}")
        scores = self._scores
        if self.exact is not None:
            orders = self.exact.draw(int(n), rng)
        else:
            orders = self.orders[rng.integers(len(self.orders), size=n)]
        by_variable: list[list[Stages]] = []
        for i, levels in enumerate(draw_levels(scores, orders)):
            drawn: list[Stages] = [()] * len(orders)
            with_level: dict[Level, list[int]] = {}
            for draw, level in enumerate(levels):
                with_level.setdefault(level, []).append(draw)
            for level, draws in with_level.items():
                weights, columns = self._levels.weights(i, level), scores.candidates[i][list(level)].tolist()
                for draw in draws:
                    drawn[draw] = tuple(tuple((columns[k], x) for k, x in pairs) for pairs in weights.draw(rng))
            by_variable.append(drawn)
        return [tuple(order) for order in orders.tolist()], [tuple(of) for of in zip(*by_variable, strict=True)]

    def _contexts(self, stages: Stages) -> list[Context]:
        table = self._scores.table
        return [Context((table.variables[c], table.states[c][x]) for c, x in pairs) for pairs in stages]

    def _structure(self, order: Sequence[int], stagings: Sequence[Stages]) -> CStree:
        """Return the CStree with these stages, without parameters."""
        states, names = self._scores.table.state_map, self.order_names(np.array(order))
        scopes = {v: {u: states[u] for u in names[:t]} for t, v in enumerate(names)}
        found = {v: Staging.trusted(scopes[v], self._contexts(stagings[i])) for v, i in zip(names, order, strict=True)}
        return CStree(names, found, states=states)

    def _draw_parameters(
        self, order: Sequence[int], stagings: Sequence[Stages], parameters: str, rng: np.random.Generator
    ) -> CStree:
        table, scores = self._scores.table, self._scores
        structure, values = self._structure(order, stagings), {}
        for name, i in zip(structure.order, order, strict=True):
            counts = stage_counts(scores.counted(i), i, stagings[i])
            cells = [scores.ess / np.prod([table.cards[c] for c, _ in (*pairs, (i, 0))]) for pairs in stagings[i]]
            alphas = dict(zip(self._contexts(stagings[i]), counts + np.array(cells)[:, None], strict=True))
            rows = [alphas[context] for context in structure.stagings[name]]
            values[name] = np.array([rng.dirichlet(row) if parameters == "draw" else row / row.sum() for row in rows])
        return structure.with_parameters(values)

    def point_estimate(
        self,
        kind: Literal["best", "hamming", "divergence"] = "best",
        *,
        n_draws: int = N_ORDERS,
        random_state: RandomState = 0,
    ) -> CStree:
        """Return one CStree that stands for the posterior.

        Parameters
        ----------
        kind : {"best", "hamming", "divergence"}
            ``"best"``: the CStree with the largest posterior probability. After an exact search it is the best of all,
            over orders and stagings together, which takes about as long as the search itself; otherwise the best among
            CStrees drawn from the posterior, the best stagings of drawn orders, and those of the best orders met.
            Of the same, the one with the smallest expected number of edges that differ from the truth's
            (``"hamming"``), or with the smallest expected divergence from the truth (``"divergence"``), as judged on
            rows drawn from the averaged prediction.
        n_draws : int
        random_state : int, Generator or None
        """
        if kind == "best" and self.exact is not None:
            return self._best_tree(self.exact.best_joint()[0])
        rng = as_generator(random_state)
        met = [chain.best_order for chain in self.chains]
        orders = np.unique(np.vstack([*met, self._some_orders(n_draws)]), axis=0)
        trees = [*map(self._best_tree, orders), *self.sample(n_draws, parameters="mean", random_state=rng)]
        if kind == "best":
            return max(trees, key=self._scores.cstree_score)
        if kind == "hamming":
            chances = self.edge_probabilities().to_numpy()
            return min(trees, key=lambda tree: self._expected_distance(tree, chances))
        if kind == "divergence":
            rows = [tree.sample_table(20, random_state=rng) for tree in trees[-n_draws:]]
            table = self._scores.table
            codes = np.concatenate([self._encoded(one.to_frame()).codes for one in rows])
            test = Table(codes, table.variables, table.states)
            return max(trees, key=lambda tree: float(tree.log_prob(test).mean()))
        raise InputError(f"there is no point estimate {kind!r}; choose 'best', 'hamming' or 'divergence'")

    def _best_tree(self, order: NDArray[np.integer]) -> CStree:
        """Return the CStree with the best stagings of an order."""
        table, names = self._scores.table, self.order_names(order)
        stagings = {v: self._scores.best_staging(v, names[:t])[1] for t, v in enumerate(names)}
        structure = CStree(names, stagings, states=table.state_map)
        return structure.fit_parameters(table, ess=self._scores.ess, interventions=self._scores.interventions)

    def _expected_distance(self, tree: CStree, chances: Floats) -> float:
        """Return the expected number of directed edges in which the DAG of a CStree differs from the truth's."""
        import networkx as nx

        has = nx.to_numpy_array(tree.to_dag(), nodelist=list(self.variables)) > 0
        return float(np.where(has, 1 - chances, chances).sum())

    def parameter_intervals(self, tree: CStree, interval: float = 0.95) -> pd.DataFrame:
        """Return posterior means and credible intervals of the parameters of a CStree, given its structure.

        Parameters
        ----------
        tree : CStree
        interval : float
            Posterior probability of the intervals, with equal tails.

        Returns
        -------
        DataFrame
            Columns ``variable``, ``context``, ``state``, ``rows``, ``mean``, ``lower``, ``upper``.
        """
        import pandas as pd
        from scipy.stats import beta

        tails = self._tails(interval)
        table, found = self._scores.table, []
        for name in tree.order:
            i = self._column(name)
            contexts = list(tree.stagings[name])
            coded = [[self._coded(v, state) for v, state in context.items()] for context in contexts]
            counts = stage_counts(self._scores.counted(i), i, coded)
            for context, pairs, row in zip(contexts, coded, counts, strict=True):
                cell = self._scores.ess / np.prod([table.cards[c] for c, _ in pairs], initial=1) / table.cards[i]
                alpha = row + cell
                rest = alpha.sum() - alpha
                lower, upper = (beta.ppf(tail, alpha, rest) for tail in tails)
                for code, state in enumerate(table.states[i]):
                    mean = alpha[code] / alpha.sum()
                    found.append((name, str(context), state, row.sum(), mean, lower[code], upper[code]))
        columns = ["variable", "context", "state", "rows", "mean", "lower", "upper"]
        return pd.DataFrame(found, columns=columns)

    @staticmethod
    def _tails(interval: float) -> tuple[float, float]:
        if not 0 < interval < 1:
            raise InputError(f"interval is a probability between 0 and 1, not {interval!r}")
        return (1 - interval) / 2, (1 + interval) / 2

    def _frame(self, values: Floats) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame(values, index=list(self.variables), columns=list(self.variables))

    def __repr__(self) -> str:
        draws, p = self.orders.shape
        how = "exact" if self.exact is not None else f"{len(self.chains)} chains"
        return f"CStreePosterior({how}, {draws} draws of {p} variables)"
