"""The posterior over CStrees, from drawn orders or from all of them.

The class is made in parts, each building on the one before: levels, edges and whether draws can be trusted
(:mod:`cslearn.posterior.edges`), drawn CStrees and point estimates (:mod:`cslearn.posterior.draws`), predictions and
answers (:mod:`cslearn.posterior.prediction`), and here stages, relations and where a posterior comes from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import isclose
from typing import TYPE_CHECKING, Any

import numpy as np

from cslearn._numerics import RandomState, as_generator
from cslearn.cstree import CStree
from cslearn.errors import InputError
from cslearn.graphs import CSIRelation
from cslearn.orders import Chain, ExactOrders
from cslearn.posterior.edges import N_ORDERS, Floats
from cslearn.posterior.prediction import PredictingPosterior
from cslearn.scores import Scores
from cslearn.stagings import Context

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CStreePosterior"]

EXACT_DRAWS = 2000
MOST_PARENTS = 10
# Two scores of an order are the same if they differ by no more.
SCORE_TOLERANCE = 1e-6


class CStreePosterior(PredictingPosterior):
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
        total = 0.0
        for level, probability in self._probable_levels(i, n_orders).items():
            total += probability * self._levels.stage_chance(i, level, pairs)
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
        0.9
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
        [0.65, 0.19, 0.12, 0.04, 0.0, 0.0, 0.0, 0.0]
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

    def __repr__(self) -> str:
        draws, p = self.orders.shape
        how = "exact" if self.exact is not None else f"{len(self.chains)} chains"
        return f"CStreePosterior({how}, {draws} draws of {p} variables)"
