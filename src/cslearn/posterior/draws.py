"""CStrees drawn from the posterior, and single ones that stand for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from cslearn._numerics import RandomState, as_generator
from cslearn.counts import stage_counts
from cslearn.cstree import CStree
from cslearn.data import Table, as_table
from cslearn.errors import InputError
from cslearn.posterior.edges import N_ORDERS, EdgePosterior, Floats
from cslearn.posterior.levels import Level, draw_levels
from cslearn.stagings import Context, Staging

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DrawnPosterior"]

Stages = tuple[tuple[tuple[int, int], ...], ...]
"""The stages of a variable as pairs of column and code."""


class DrawnPosterior(EdgePosterior):
    """Draws and point estimates; the second part of :class:`cslearn.posterior.CStreePosterior`."""

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
            over orders and stagings together, which takes about as long as the search itself (for four context
            variables and more under a prior that weighs trees, up to what
            :attr:`cslearn.orders.SubsetScores.best` leaves out); otherwise the best among
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

    @staticmethod
    def _tails(interval: float) -> tuple[float, float]:
        if not 0 < interval < 1:
            raise InputError(f"interval is a probability between 0 and 1, not {interval!r}")
        return (1 - interval) / 2, (1 + interval) / 2
