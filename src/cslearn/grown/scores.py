"""Scores of orders and stagings where these are grown trees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn.counts import is_counted
from cslearn.data import TableLike, as_table
from cslearn.errors import InputError
from cslearn.grown.contexts import ContextStore, GrownContexts, Growth
from cslearn.grown.level import GrownLevel
from cslearn.priors import ParentsPrior, Prior, get_prior
from cslearn.scores import Scores
from cslearn.stagings import Staging

__all__ = ["DEEPEST", "GrownScores"]

# The context bound where the data may choose. The paper names ten as its aim; the evidence of plants, accidents,
# kosarek and msweb asks for more, for long lists of exceptions, and none for much more than this.
DEEPEST = 24
# Among many variables only the splits with the largest gains look ahead: contexts of all pairs would take minutes.
AHEAD, FEWEST_AHEAD = 15_000, 30


class GrownScores(Scores):
    """Scores of contexts, stagings, orders and CStrees with contexts as deep as the data ask.

    The local order score of a variable is the sum over nested sets of parents among the variables before it, and over
    all prunings of the tree that is grown for each; see :mod:`cslearn.grown.contexts`. What
    :class:`cslearn.scores.Scores` says of single contexts and stagings holds here too.

    Parameters
    ----------
    data : Table, PackedTable or anything that :func:`cslearn.data.as_table` reads
        A packed table is counted as it is.
    beta : int
        Context bound.
    ess, gamma : float
        A stage whose context variables have `q` outcomes has the prior count ``ess * q ** -gamma``.
    prior : ParentsPrior
    candidates : mapping of variable to iterable of variables, optional
        The candidate set of each variable; all other variables by default.
    growth : Growth, optional
        How trees are grown; its bound is `beta`.
    max_memory : float
        Bytes that the contexts may take.
    n_jobs : int, optional
    interventions : array of bool, shape (n, p), optional

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.grown.scores import GrownScores
    >>> from cslearn.priors import ParentsPrior
    >>> model = chickenpox_model()
    >>> scores = GrownScores(model.sample(2000, random_state=0), prior=ParentsPrior())
    >>> score, staging = scores.best_staging("carrier", ["background", "diagnosis", "exposed"])
    >>> len(staging.contexts)
    3
    """

    grown = True

    def __init__(
        self,
        data: Any,
        *,
        beta: int = DEEPEST,
        ess: float = 1.0,
        gamma: float = 0.0,
        prior: Prior,
        candidates: Mapping[str, Iterable[str]] | None = None,
        growth: Growth | None = None,
        max_memory: float = 2.0**31,
        n_jobs: int | None = None,
        interventions: NDArray[np.bool_] | None = None,
    ) -> None:
        if not isinstance(prior, ParentsPrior):
            raise InputError(f"trees are grown with a ParentsPrior, not with {prior!r}")
        super().__init__(
            data, beta=beta, ess=ess, prior=prior, candidates=candidates, n_jobs=n_jobs, interventions=interventions
        )
        self.gamma, self.max_memory = gamma, max_memory
        base = Growth(ahead=max(FEWEST_AHEAD, AHEAD // self.table.p)) if growth is None else growth
        self.growth = replace(base, bound=beta)

    def _read(self, data: Any) -> TableLike:
        return data if is_counted(data) else as_table(data)

    @cached_property
    def contexts(self) -> GrownContexts:
        """The contexts of all targets."""
        p = self.table.p
        allowed = np.zeros((p, p), dtype=bool)
        for i, own in enumerate(self.candidates):
            allowed[i, own] = True
        store = ContextStore(
            self.counts,
            allowed,
            ess=self.ess,
            gamma=self.gamma,
            growth=self.growth,
            max_memory=self.max_memory,
        )
        return GrownContexts(store, self.parents_prior)

    @property
    def parents_prior(self) -> ParentsPrior:
        """The prior, which is one over parents and trees on them."""
        assert isinstance(self.prior, ParentsPrior)
        return self.prior

    def with_prior(self, prior: str | Prior) -> GrownScores:
        """Return the scores with another prior over trees; the contexts do not depend on it and are kept."""
        other = self._copy()
        other.prior = get_prior(prior)
        other.__dict__["contexts"] = self.contexts.with_prior(other.parents_prior)
        return other

    def with_ess(self, ess: float, gamma: float | None = None) -> GrownScores:
        """Return the scores with other prior counts of stages; their contexts are counted again."""
        other = self._copy()
        other.ess = float(ess)
        other.gamma = self.gamma if gamma is None else gamma
        other.__dict__.pop("contexts", None)
        return other

    def _copy(self) -> GrownScores:
        other = object.__new__(GrownScores)
        other.__dict__.update(self.__dict__)
        return other

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "contexts"}

    def level_weights(self, target: int, level: NDArray[np.intp]) -> GrownLevel:  # type: ignore[override]
        """Return the stagings of a level, given by positions in the candidate set, with their weights."""
        return GrownLevel(self.contexts, target, self.candidates[target][level])

    def predicting_level(self, target: int, level: NDArray[np.intp]) -> GrownLevel:
        """Return the same with the deeper trees that predict."""
        return GrownLevel(self.contexts.deeper, target, self.candidates[target][level])

    def likely_staging(self, target: str, predecessors: Sequence[str], least: float) -> Staging:
        """Return the best staging of `target`, with those stages split that the data would split on its variables.

        See :meth:`cslearn.grown.GrownLevel.likely`.
        """
        i, level = self._level(target, predecessors)
        return self._named(self.predicting_level(i, level).likely(least), i, level, predecessors)
