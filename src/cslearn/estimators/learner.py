"""CSlearn, Algorithm 1 of the paper."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import version
from inspect import signature
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from cslearn._checked import checked
from cslearn._numerics import RandomState, as_generator
from cslearn._parameters import check
from cslearn._warnings import warn
from cslearn._wording import duration, offers, option, spoken_value
from cslearn.candidates import CandidateSets, Knowledge
from cslearn.candidates.sets import DEFAULT_MEMORY
from cslearn.cstree import CStree
from cslearn.cstree.parameters import Method, estimate
from cslearn.data import TableLike
from cslearn.data._gaps import gaps_of
from cslearn.data._weights import check_weights
from cslearn.errors import ConvergenceWarning, DataWarning, InputError
from cslearn.estimators.averaging import averaged_parameters
from cslearn.estimators.cutting import BoundCost, cost_of_bound
from cslearn.estimators.evidence import relation_table
from cslearn.estimators.growing import as_grown, with_likely_splits
from cslearn.estimators.incomplete import fit_incomplete
from cslearn.estimators.phases import (
    choose_prior,
    first_pass,
    read_data,
    search_orders,
    select_candidates,
)
from cslearn.estimators.plan import is_feasible, plan_of
from cslearn.estimators.reading import read_more
from cslearn.estimators.settings import ENSEMBLE, LEARNER, PC, Chains, chains_of, selection_of
from cslearn.graphs.evidence import evidence_record
from cslearn.orders import Progress
from cslearn.orders.summary import summarise
from cslearn.posterior import CStreePosterior, edge_error, edge_record
from cslearn.priors import ADAPTIVE, Prior
from cslearn.scores import Scores

if TYPE_CHECKING:
    from cslearn.ensemble import CStreeEnsemble
    from cslearn.inference import EMResult

__all__ = ["Learner"]

# An exact search is advised if it takes at most so many seconds.
LONGEST_ADVISED = 3600.0


@checked
class Learner:
    """What :class:`cslearn.CStreeLearner` does, without scikit-learn, whose import takes longer than a small fit.

    The parameters and attributes are those of :class:`cslearn.CStreeLearner`, which is this class as an estimator of
    scikit-learn; the command line needs no more than this one.
    """

    em_: EMResult

    def __init__(
        self,
        *,
        beta: int | Literal["auto"] = "auto",
        candidates: Any = "auto",
        max_memory: float = DEFAULT_MEMORY,
        prior: str | Prior = ADAPTIVE,
        ess: float | Literal["auto"] = "auto",
        estimate: Literal["auto", "best", "central"] = "auto",
        parameters: Literal["averaged", "mean", "map", "mle"] = "averaged",
        search: Literal["auto", "greedy", "exact", "mcmc"] | Chains = "auto",
        knowledge: Knowledge | Mapping[str, Any] | None = None,
        states: Mapping[str, Sequence[Any]] | None = None,
        missing: Literal["error", "drop", "state", "em"] | Mapping[str | None, str] = "error",
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
        callback: Callable[[str, Progress | None], None] | None = None,
    ) -> None:
        self.beta = beta
        self.candidates = candidates
        self.max_memory = max_memory
        self.prior = prior
        self.ess = ess
        self.estimate = estimate
        self.parameters = parameters
        self.search = search
        self.knowledge = knowledge
        self.states = states
        self.missing = missing
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; those of `search` and `candidates` are in these, whatever `deep` says."""
        return {name: getattr(self, name) for name in signature(type(self)).parameters}

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, interventions: Any = None) -> Self:
        """Learn a CStree.

        Parameters
        ----------
        X : Table, PackedTable, frame, array, path or whatever :func:`cslearn.data.as_table` reads
            One row for each observation, one column for each variable. A packed table, in memory or in a file, is
            counted as it is with deep stagings (``beta="auto"``), and unpacked otherwise if that takes no more than
            `max_memory`.
        y : None
            Not used; there for scikit-learn.
        sample_weight : array-like or str, optional
            Weight of each row, or the name of the column that holds it.
        interventions : str, sequence or mask, optional
            Which variable was set from outside in which row: the name of a column that holds, for each row, the name
            or the number (from 1) of the variable that was set, or nothing or 0; a sequence of the same; or a mask of
            True and False, an array with a column for each variable or a frame with columns for some. A row in which a
            variable was set does not count for that variable, only for those that depend on it.

        Returns
        -------
        CStreeLearner
            The learner itself.
        """
        self._check_parameters()
        if gaps_of(self.missing)[0] == "em":
            if interventions is not None:
                raise InputError(
                    f"interventions cannot be combined with {option('missing', 'em')}: drop the rows with missing cells"
                )
            fit_incomplete(self, X, sample_weight)
        else:
            self._learn(X, sample_weight, interventions)
        self._set_names(X)
        self._warn_of_chains()
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to those learned from so far, and learn from all of them.

        The counts are those of a fit of all rows together, and so is the model if all orders are searched; chains
        start at the best order found so far, unless the new rows favour a better one. The rows are kept in memory,
        packed. The first call is a :meth:`fit`, and calling :meth:`fit` starts over.

        Parameters
        ----------
        X : Table, PackedTable, frame, array, path or whatever :func:`cslearn.pack` reads
            The new rows, of the same variables. States that were not there before are added to the others, as by
            ``+`` of packed tables, unless `states` of the learner are given.
        y : None
            Not used; there for scikit-learn.
        sample_weight : array-like or str, optional
            Weight of each new row, or the name of the column that holds it; without it each counts once.

        Returns
        -------
        CStreeLearner

        Examples
        --------
        >>> from cslearn import CStreeLearner
        >>> from cslearn.datasets import chickenpox_model
        >>> data = chickenpox_model().sample(1000, random_state=0)
        >>> learner = CStreeLearner(random_state=0)
        >>> for start in range(0, 1000, 250):
        ...     learner = learner.partial_fit(data[start : start + 250])
        >>> learner.cstree_ == CStreeLearner(random_state=0).fit(data).cstree_
        True
        """
        if not hasattr(self, "posterior_"):
            return self.fit(X, sample_weight=sample_weight)
        self._check_parameters()
        check_width(self, X)
        start = self.posterior_.order_names(self.posterior_.best.best_order)
        self._learn(read_more(self, X, sample_weight), start=start)
        self._set_names(X)
        self._warn_of_chains()
        return self

    def _learn(
        self, X: Any, sample_weight: Any = None, interventions: Any = None, start: Sequence[str] | None = None
    ) -> None:
        """Learn from complete data: Algorithm 1 of the paper, one phase after the other.

        Chains begin at `start`, an order.
        """
        self.timings_: dict[str, float] = {}
        with self._phase("data"):
            data = read_data(self, X, sample_weight, interventions)
            plan = plan_of(self, data.table.cards)
        with self._phase("candidates"):
            self.candidates_: CandidateSets = select_candidates(self, data, plan)
        with self._phase("scores"):
            state = first_pass(self, data, plan, self.candidates_, start)
        with self._phase("prior"):
            climbs, self.interrupted_ = choose_prior(self, plan, state)
        with self._phase("orders"):
            if self.interrupted_:
                posterior = CStreePosterior(data.table.variables, climbs, scores=state.scores)
            else:
                posterior, self.interrupted_ = search_orders(self, plan, state)
        scores = state.scores
        self.prior_: Prior = scores.prior
        self.ess_, self.gamma_ = scores.ess, scores.gamma
        bounds = dict(zip(data.table.variables, scores.betas, strict=True))
        self.posterior_ = posterior
        self.n_iter_ = 0 if posterior.exact is not None else sum(chain.n_iter for chain in posterior.chains)
        with self._phase("stagings"):
            best, structure = posterior.best, with_likely_splits(self._structure(posterior), scores)
            self.order_ = structure.order
            if scores.grown and self.beta == "auto":
                # What the data asked for.
                bounds = {v: max(2, structure.stagings[v].bound) for v in bounds}
            self.betas_ = bounds
            best_is_taken = self.order_ == posterior.order_names(best.best_order)
            self.log_order_score_ = best.best_log_score if best_is_taken else scores.order_score(self.order_)
            self.log_score_ = scores.cstree_score(structure)
        with self._phase("parameters"):
            fitted = self._estimated(structure, scores)
            self.relations_ = relation_table(structure, scores)
            record = {**self._record(data.table), "evidence": evidence_record(structure, self.relations_)}
            self.cstree_ = CStree(
                fitted.order, fitted.stagings, fitted.parameters, states=data.table.state_map, learning=record
            )

    def _structure(self, posterior: CStreePosterior) -> CStree:
        """Return the CStree of the order that is asked for; that of the best order after an interrupt."""
        central = self.estimate == "central" or (self.estimate == "auto" and posterior.exact is None)
        self.estimate_ = "best"
        if central and not self.interrupted_:
            try:
                tree = posterior.central_tree()
            except KeyboardInterrupt:
                self.interrupted_ = True
            else:
                self.estimate_ = "best" if posterior.is_of_one_order else "central"
                return tree
        return posterior.tree_of(posterior.best.best_order)

    def _estimated(self, structure: CStree, scores: Scores) -> CStree:
        """Return the CStree with its parameters; posterior means if an interrupt ends their averaging."""
        if self.parameters != "averaged":
            return structure.with_parameters(_parameters_of(structure, scores, self.parameters))
        try:
            return structure.with_parameters(averaged_parameters(structure, scores))
        except KeyboardInterrupt:
            self.interrupted_ = True
            return structure

    def cost_of_bound(self, beta: int = 2) -> BoundCost:
        """Return how many stages the model would have with at most `beta` context variables, and what that loses.

        The trees of the model are cut. A fit with that bound searches for the best model within it, which may lose
        less.

        Parameters
        ----------
        beta : int

        Returns
        -------
        BoundCost
            ``stages`` that are left, and the ``loss`` in mean log-likelihood of the rows learned from.

        Examples
        --------
        >>> from cslearn import CStreeLearner, random_cstree
        >>> data = random_cstree(8, random_state=1).sample(5000, random_state=0)
        >>> learner = CStreeLearner(random_state=0).fit(data)
        >>> cost = learner.cost_of_bound(1)
        >>> cost.stages < learner.cstree_.n_stages, cost.loss > 0
        (True, True)
        """
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        if isinstance(beta, bool) or not isinstance(beta, int | np.integer) or beta < 0:
            raise InputError(f"beta is a whole number, at least 0, not {beta!r}", parameter="beta")
        scores = self.posterior_.scores
        if scores is None:
            raise InputError("the posterior of this learner has no scores any more: fit it again")
        return cost_of_bound(self.cstree_, scores, int(beta))

    def ensemble(self, n: int = 30, random_state: RandomState = None) -> CStreeEnsemble:
        """Return a mixture of CStrees from orders far apart, which predicts better than a single one.

        One is that of the learned order, the others are of random orders that respect the knowledge. Its weights are
        those with which each row is most probable given the others; see :mod:`cslearn.ensemble`. It does not say how
        variables depend on each other: for that there are ``cstree_`` and ``posterior_``.

        Parameters
        ----------
        n : int
            Number of CStrees. There are fewer if the knowledge leaves fewer orders.
        random_state : int, Generator or None
            Seed of the orders; by default that of the learner.

        Returns
        -------
        CStreeEnsemble

        Examples
        --------
        >>> from cslearn import CStreeLearner
        >>> from cslearn.datasets import chickenpox_model
        >>> model = chickenpox_model()
        >>> learner = CStreeLearner(random_state=0).fit(model.sample(1000, random_state=0))
        >>> ensemble = learner.ensemble(n=5)
        >>> ensemble.predict_proba([{"exposed": "yes", "diagnosis": "no"}], "carrier").round(1)
        carrier   no  yes
        0        0.2  0.8
        """
        from sklearn.utils.validation import check_is_fitted

        from cslearn.ensemble import far_orders, grown_ensemble

        check_is_fitted(self)
        check(ENSEMBLE, {"n": n})
        scores = self.posterior_.scores
        if scores is None:
            raise InputError("the posterior of this learner has no scores to make an ensemble with: fit it again")
        names = scores.table.variables
        rng = as_generator(self.random_state if random_state is None else random_state)
        before = Knowledge.coerce(self.knowledge).precedence(names)
        orders = far_orders([names.index(v) for v in self.order_], before, int(n), rng)
        client = chains_of(self.search).client
        return grown_ensemble(as_grown(scores, self.max_memory), orders, client)

    def _set_names(self, X: Any) -> None:
        variables = self.cstree_.variables
        self.n_features_in_ = len(variables)
        if has_names(X):
            self.feature_names_in_ = np.array(variables, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Return the log-probability of every row of `X` under the learned model."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self)
        check_width(self, X)
        return self.cstree_.log_prob(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the (weighted) mean log-probability of the rows of `X` under the learned model; larger is better."""
        scores = self.score_samples(X)
        weights = None if sample_weight is None else check_weights(sample_weight, len(scores))
        return float(np.average(scores, weights=weights))

    def _seeds(self) -> tuple[np.random.SeedSequence, int | None]:
        """Return the seed of the chains, and that of phase 1."""
        seed = self.random_state
        if isinstance(seed, np.random.RandomState):
            seed = int(seed.randint(2**31))
        return np.random.SeedSequence(seed), seed

    def _record(self, table: TableLike) -> dict[str, Any]:
        """Return how the model was learned; not how long it took, so that the same seed writes the same file."""
        knowledge, selection = Knowledge.coerce(self.knowledge), selection_of(self.candidates)
        return {
            "written_by": f"cslearn {version('cslearn')}",
            "rows": table.n,
            "weight": None if table.weights is None else table.total_weight,
            "settings": {
                "beta": self.beta if self.beta == "auto" else int(self.beta),
                "candidates": self.candidates_.method,
                "alpha": None if selection.alpha is None else int(selection.alpha),
                "level": float(selection.level) if isinstance(selection, PC) else None,
                "prior": self.prior if isinstance(self.prior, str) else self.prior.name,
                "ess": self.ess_,
                "gamma": self.gamma_,
                "estimate": self.estimate_,
                "parameters": self.parameters,
                "search": self.search if isinstance(self.search, str) else "mcmc",
                "knowledge": {name: value for name, value in asdict(knowledge).items() if value} or None,
                **_gaps_record(self.missing),
                "seed": int(self.random_state) if isinstance(self.random_state, int | np.integer) else None,
            },
            "prior": {"name": self.prior_.name, **asdict(self.prior_)},
            "betas": {v: bound for v, bound in self.betas_.items() if bound > 2} or None,
            "log_score": self.log_score_,
            "log_order_score": self.log_order_score_,
            "interrupted": self.interrupted_,
            "orders": summarise(self.posterior_),
            "edges": edge_record(self.posterior_),
            "edge_error": edge_error(self.posterior_),
        }

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        if self.callback is not None:
            self.callback(name, None)
        begin = perf_counter()
        yield
        self.timings_[name] = perf_counter() - begin

    def _check_parameters(self) -> None:
        check(LEARNER, self.get_params(deep=False))
        if chains_of(self.search).checkpoint is None:
            return
        if gaps_of(self.missing)[0] == "em":
            raise InputError(
                f"a checkpoint holds one search, and {option('missing', 'em')} makes several: leave"
                f" {option('checkpoint')} out, or drop the rows with missing cells",
                parameter="checkpoint",
            )
        if not isinstance(self.random_state, int | np.integer):
            raise InputError(
                "a search can only be continued with the same seed: with a checkpoint random_state is a number, not"
                f" {self.random_state!r}",
                parameter="random_state",
            )

    def _warn_of_chains(self) -> None:
        """Say if the search ended early, or if its draws cannot be trusted."""
        chains = self.posterior_.chains
        if self.interrupted_:
            go_on, file = "", chains_of(self.search).checkpoint
            if file is not None and os.path.exists(file):
                go_on = f"; the same call goes on from {os.fspath(file)}"
            warn(
                f"interrupted after {self.n_iter_:,} moves of {len(chains)} chains: this is the best model so"
                f" far{go_on}",
                DataWarning,
            )
        elif self.posterior_.is_of_one_order:
            if self.search != "greedy":
                warn(
                    f"one good order of {len(self.cstree_.order):,} variables was searched for: edge probabilities are"
                    " those given this order, more certain than the data are, and say nothing of directions. For those"
                    f" of all orders give {option('search', 'mcmc')}, which takes longer.",
                    ConvergenceWarning,
                )
        elif not self.posterior_.converged:
            error = (self.cstree_.learning or {}).get("edge_error")
            sure = "" if error is None else f" Edge probabilities have standard errors up to {error:.2g}."
            warn(
                f"the chains have not converged after {chains[0].n_iter:,} moves each:"
                f" {self.posterior_.verdict.reason}.{sure} The model itself may still be good. For more certain"
                f" probabilities give {self._remedies()}{self._what_more_takes()}.",
                ConvergenceWarning,
            )

    def _what_more_takes(self) -> str:
        """Return how long converging chains will take, if that can be told."""
        longer, seconds = self.posterior_.verdict.longer, self.timings_.get("orders", 0.0)
        if not np.isfinite(longer):
            return "; the chains disagree too much to say how many moves are needed"
        moves = round(longer * self.posterior_.chains[0].n_iter, -2)
        return f"; about {moves:,.0f} moves are needed, which take {duration(longer * seconds)}"

    def _remedies(self) -> str:
        """Return what helps chains that have not converged."""
        scores, options = self.posterior_.scores, chains_of(self.search)
        more = option("max_iter") if options.auto else f"{option('n_iter')} (or {spoken_value('auto')})"
        found = [f"a larger {more}", f"more chains ({option('n_chains')})"]
        if self.posterior_.settings.get("n_temperatures") == 1 and offers("n_temperatures"):
            found.append(f"several temperatures ({option('n_temperatures', 4)})")
        if scores is not None and is_feasible(scores, self.max_memory):
            from cslearn.estimators.cost import exact_seconds

            # Deep contexts make this long among many variables.
            seconds = exact_seconds(scores) if scores.grown else 0.0
            without = "" if options.checkpoint is None else f" without {option('checkpoint')}"
            takes = f" ({duration(seconds)})" if seconds >= 1 else ""
            if seconds <= LONGEST_ADVISED:
                found.insert(0, f"{option('search', 'exact')}{without}, which searches all orders{takes}")
        return f"{', '.join(found[:-1])}, or {found[-1]}"


def _parameters_of(tree: CStree, scores: Scores, method: Method) -> dict[str, NDArray[np.float64]]:
    """Return the parameters of a CStree given its stagings."""
    found = {}
    for v in tree.order:
        counts, sizes = scores.stage_counts(v, list(tree.stagings[v]))
        found[v] = estimate(counts, np.array([scores.a_stage(size) for size in sizes]), method)
    return found


def _gaps_record(missing: Any) -> dict[str, Any]:
    """Return what was done about missing cells as a file can hold it."""
    policy, columns = gaps_of(missing)
    return {"missing": policy, **({"missing_is_a_state_of": sorted(columns)} if columns else {})}


def has_names(X: Any) -> bool:
    """Tell whether the columns of `X` have names of their own."""
    if isinstance(X, np.ndarray):
        return X.dtype.names is not None
    return not isinstance(X, list) or (bool(X) and isinstance(X[0], Mapping))


def check_width(estimator: Any, X: Any) -> None:
    """Refuse an array, or a list of rows, with another number of columns than was learned from."""
    shape = np.shape(X) if isinstance(X, np.ndarray | list) and not has_names(X) else ()
    if len(shape) == 2 and shape[1] != estimator.n_features_in_:
        raise InputError(
            f"X has {shape[1]} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_}"
            " features as input"
        )
