"""CSlearn, Algorithm 1 of the paper, as a scikit-learn estimator."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from time import perf_counter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from cslearn.candidates import CandidateSets, Knowledge, candidate_sets
from cslearn.candidates.sets import DEFAULT_MEMORY
from cslearn.cstree import CStree
from cslearn.data import Table, as_table
from cslearn.errors import ConvergenceWarning, DataWarning, InputError
from cslearn.estimators.averaging import averaged_parameters
from cslearn.estimators.deep import deeper_scores, used_candidates
from cslearn.estimators.evidence import relation_table
from cslearn.estimators.identity import search_settings
from cslearn.estimators.incomplete import fit_incomplete
from cslearn.estimators.interventions import read_interventions
from cslearn.estimators.search import greedy_search
from cslearn.estimators.searching import (
    affordable,
    chain_problem,
    check_exact,
    default_temperatures,
    exact_memory,
    is_feasible,
    looked_up_moves,
    search_by_chains,
    search_exactly,
    with_adapted_prior,
)
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
from cslearn.orders.lookup import are_looked_up
from cslearn.orders.summary import summarise
from cslearn.posterior import CStreePosterior
from cslearn.priors import ADAPTIVE, Prior, TreePrior, check_stagings
from cslearn.scores import Scores, check_ess
from cslearn.stagings.counting import check_beta

__all__ = ["CStreeLearner"]

PARAMETERS = ("averaged", "mean", "map", "mle")
ESTIMATES = ("auto", "best", "central")
SEARCHES = ("auto", "exact", "mcmc")
# Up to so many variables the prior is chosen for the best order of as many climbs as there are chains.
FEW_VARIABLES = 50


class CStreeLearner(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Learn a CStree from categorical data.

    Candidate context variables are selected (or all are taken), orders of the variables are sampled from their
    posterior, the most probable staging for one of them is found, and its parameters are estimated.

    Parameters
    ----------
    beta : int, "auto", or mapping of str to int or "auto"
        Context bound: no stage has more context variables. Beyond two, candidates come from a first pass with two, but
        for a bound of three with ``candidates="all"`` (or sets of one's own) while `max_memory` allows it. ``"auto"``
        raises the bound above two, up to four, for each variable whose data ask for it. A mapping gives some variables
        a bound of their own, all others two.
    stagings : {"tree", "all"}
        Beyond two context variables: only the stagings that a decision tree can draw, or all. All is for a prior that
        weighs stages (``"sparse"`` or ``"uniform"``), and for ``beta=3`` with binary candidates or few other ones; see
        :mod:`cslearn.stagings.every`.
    candidates : {"auto", "all", "screen", "pc", "grasp"}, graph, mapping or matrix
        Which variables may be context variables of which; see :func:`cslearn.candidates.candidate_sets`. ``"auto"``
        takes all while `max_memory` and time allow it, and otherwise a repeated screen. ``"pc"`` and ``"grasp"`` need
        the extra ``cslearn[phase1]``.
    alpha : int, optional
        Bound on the number of candidates of a variable; the best-scoring ones are kept.
    level : float
        Only for ``candidates="pc"``: significance level of the tests.
    from_graph : {"cpdag", "skeleton"}
        For ``"pc"``, ``"grasp"`` and a graph: take parents and undirected neighbours, or all neighbours.
    max_memory : float
        Bytes that the tables of scores may take before ``candidates="auto"`` turns to a screen, whose sets are cut to
        what there is room for.
    prior : {"adaptive", "tree", "sparse", "uniform"} or Prior
        Prior over the stagings of a variable given the order; see :mod:`cslearn.priors`. ``"adaptive"`` is a tree prior
        whose probabilities are chosen by the data; see :mod:`cslearn.orders.adaptive`.
    ess : float or "auto"
        Equivalent sample size of the Dirichlet priors; ``"auto"`` lets the data choose it, see
        :mod:`cslearn.orders.adaptive`.
    estimate : {"auto", "best", "central"}
        Which order the learned model has: the most probable one met, or one in the middle of the posterior, whose
        CStree has the least mean divergence from those of drawn orders
        (:meth:`cslearn.posterior.CStreePosterior.central_tree`). ``"auto"`` takes the best of an exact search and the
        central one of chains, which predicts a little better among many variables. Of a search that was interrupted
        the best is taken.
    parameters : {"averaged", "mean", "map", "mle"}
        How the parameters are estimated: by the posterior mean over all stagings of the order
        (:mod:`cslearn.estimators.averaging`), or given the best staging (:meth:`cslearn.CStree.fit_parameters`).
    search : {"auto", "exact", "mcmc"}
        How orders are searched: all of them, by dynamic programming (up to 22 variables, within `max_memory`), or by
        chains of the relocation Gibbs sampler. ``"auto"`` takes all of them where that is a matter of seconds (up to 18
        variables), unless `n_iter` or `checkpoint` ask for chains.
    n_iter : int, "auto" or None
        Moves of each chain. With ``"auto"`` the chains go on until they agree (:attr:`OrderPosterior.converged`) or
        have made `max_iter` moves; with None their number is fixed and grows with the number of variables.
    max_iter : int, optional
        Only for ``n_iter="auto"``: the most moves of each chain, by default 200,000 divided by the number of variables,
        but at least as many as with None.
    n_chains : int
        Chains, each with a start of its own.
    n_temperatures : int, optional
        More than one for parallel tempering, if orders far apart are about equally good and chains do not agree; four
        temperatures take four times as long. By default three where moves are cheap, that is if each variable has at
        most 14 candidates, with ``n_iter="auto"`` and without a checkpoint, and otherwise one.
    burn_in, thin : int, optional
        Moves that are not kept as posterior draws, and every how many moves one is kept.
    knowledge : Knowledge or mapping, optional
        Forbidden and required edges and tiers; see :class:`cslearn.candidates.Knowledge`.
    states : mapping of str to sequence of states, optional
        States of some or all variables, if not all of them are in the data or their order matters.
    missing : {"error", "drop", "state", "em"}
        What is done about missing values; see :func:`cslearn.data.as_table`. With ``"em"`` the structure is learned
        from data completed by the model learned before, in turns, and the parameters by expectation-maximisation; see
        :mod:`cslearn.estimators.incomplete`.
    random_state : int, RandomState or None
        Seed. The same seed gives the same result for any number of jobs.
    n_jobs : int, optional
        Threads; all cores by default.
    checkpoint : str or path-like, optional
        A file to which the search, by chains, is written every `checkpoint_every` seconds. If it is there, the search
        goes on from it to the very same result as without a break; one of other data or settings is refused. A longer
        `n_iter` or `max_iter` continues a search that had ended. Beyond two context variables the second pass has a
        file next to it, with ``.second`` at the end of its name.
    checkpoint_every : float
        Seconds.
    callback : callable, optional
        Called as ``callback(phase, progress)`` while fitting: `phase` is a string, `progress` a
        :class:`cslearn.orders.Progress`, or None when a phase begins. With ``search="exact"`` it is told what the
        search will take before it begins, by the same estimate as ``cslearn estimate``.

    Attributes
    ----------
    cstree_ : CStree
        The learned model.
    order_ : tuple of str
        The order of ``cstree_``; the best order met is ``posterior_.best.best_order``, by columns.
    estimate_ : {"best", "central"}
        How that order was chosen.
    candidates_ : CandidateSets
        The candidate sets that were used; beyond two context variables they may be smaller than those selected first,
        which a note in them says.
    prior_ : Prior
        The prior over stagings, chosen by the data if it is adaptive.
    ess_ : float
        The equivalent sample size, chosen by the data if it is ``"auto"``.
    posterior_ : CStreePosterior
        The posterior over orders and CStrees.
    betas_ : dict of str to int
        The context bound of each variable.
    relations_ : RelationTable
        The CSI relations of the model with the evidence for them, strongest first: a sequence of
        :class:`cslearn.graphs.SupportedRelation` that prints as a table.
    log_order_score_ : float
        Log of ``P(data, order)`` for the order of the model; ``posterior_.best.best_log_score`` is the largest.
    log_score_ : float
        Log of ``P(data, stagings, order)`` for the learned structure.
    timings_ : dict of str to float
        Seconds by phase.
    n_iter_ : int
        Moves made by all chains together.
    interrupted_ : bool
        Whether Ctrl-C ended the search early; the model is the best found until then.
    em_ : EMResult
        Only with ``missing="em"``: how the likelihood grew; see :func:`cslearn.inference.em`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Names of the variables; not there if the data had none.

    Examples
    --------
    >>> from cslearn import CStreeLearner
    >>> from cslearn.datasets import chickenpox_model
    >>> data = chickenpox_model().sample(10_000, random_state=0)
    >>> first_comes = {"tiers": [["background"], ["diagnosis"], ["exposed"], ["carrier"]]}
    >>> learner = CStreeLearner(knowledge=first_comes, random_state=0).fit(data)
    >>> for supported in learner.relations_:
    ...     print(supported.relation.in_words())
    exposed does not depend on background once diagnosis is yes
    carrier does not depend on diagnosis once exposed is no
    >>> round(learner.score(data), 2)
    -2.15
    """

    def __init__(
        self,
        *,
        beta: int | Literal["auto"] | Mapping[str, int | Literal["auto"]] = 2,
        stagings: Literal["tree", "all"] = "tree",
        candidates: Any = "auto",
        alpha: int | None = None,
        level: float = 0.05,
        from_graph: Literal["cpdag", "skeleton"] = "cpdag",
        max_memory: float = DEFAULT_MEMORY,
        prior: str | Prior = ADAPTIVE,
        ess: float | Literal["auto"] = "auto",
        estimate: Literal["auto", "best", "central"] = "auto",
        parameters: Literal["averaged", "mean", "map", "mle"] = "averaged",
        search: str = "auto",
        n_iter: int | Literal["auto"] | None = "auto",
        max_iter: int | None = None,
        n_chains: int = 4,
        n_temperatures: int | None = None,
        burn_in: int | None = None,
        thin: int | None = None,
        knowledge: Knowledge | Mapping[str, Any] | None = None,
        states: Mapping[str, Sequence[Any]] | None = None,
        missing: Literal["error", "drop", "state", "em"] = "error",
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float = 60.0,
        callback: Callable[[str, Progress | None], None] | None = None,
    ) -> None:
        self.beta = beta
        self.stagings = stagings
        self.candidates = candidates
        self.alpha = alpha
        self.level = level
        self.from_graph = from_graph
        self.max_memory = max_memory
        self.prior = prior
        self.ess = ess
        self.estimate = estimate
        self.parameters = parameters
        self.search = search
        self.n_iter = n_iter
        self.max_iter = max_iter
        self.n_chains = n_chains
        self.n_temperatures = n_temperatures
        self.burn_in = burn_in
        self.thin = thin
        self.knowledge = knowledge
        self.states = states
        self.missing = missing
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.callback = callback

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, interventions: Any = None) -> CStreeLearner:
        """Learn a CStree.

        Parameters
        ----------
        X : Table, frame, array, path or whatever :func:`cslearn.data.as_table` reads
            One row for each observation, one column for each variable.
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
        """
        self._check_parameters()
        if self.missing == "em":
            if interventions is not None:
                raise InputError('interventions cannot be combined with missing="em": drop the rows with missing cells')
            fit_incomplete(self, X, sample_weight)
        else:
            self.fit_silently(X, sample_weight, interventions)
        self._set_names(X)
        self._warn_of_chains()
        return self

    def fit_silently(self, X: Any, sample_weight: Any = None, interventions: Any = None) -> None:
        """Do what :meth:`fit` does with complete data, without a word about chains that have not converged."""
        self.timings_: dict[str, float] = {}
        adaptive = isinstance(self.prior, str) and self.prior == ADAPTIVE
        prior = TreePrior() if adaptive else self.prior
        first_ess = FIRST_ESS if self.ess == "auto" else float(self.ess)
        with self._phase("data"):
            data, mask = read_interventions(X, interventions, sample_weight, self.missing)
            missing = "error" if self.missing == "em" else self.missing
            table = as_table(data, states=self.states, missing=missing, sample_weight=sample_weight)
            _check_size(table)
            knowledge = Knowledge.coerce(self.knowledge)
            knowledge.check(table.variables)
            unknown = [v for v in (self.beta if isinstance(self.beta, Mapping) else ()) if v not in table.variables]
            if unknown:
                raise InputError(
                    f"beta is given for {unknown[0]!r}, but there is no such variable; there are"
                    f" {', '.join(table.variables)}"
                )
        with self._phase("candidates"):
            self.candidates_: CandidateSets = candidate_sets(
                table,
                self.candidates,
                knowledge=knowledge,
                alpha=self.alpha,
                ess=first_ess,
                level=self.level,
                from_graph=self.from_graph,
                max_memory=self.max_memory,
                search=greedy_search(
                    table,
                    knowledge=knowledge,
                    beta=self._first_bound(),
                    ess=first_ess,
                    prior=prior,
                    random_state=self._seeds()[1],
                    n_jobs=self.n_jobs,
                    interventions=mask,
                ),
                random_state=self._seeds()[1],
                interventions=mask,
            )
        with self._phase("scores"):
            scores = Scores(
                table,
                beta=self._first_bound(),
                stagings=self.stagings,
                ess=first_ess,
                prior=prior,
                candidates=self.candidates_.sets,
                n_jobs=self.n_jobs,
                interventions=mask,
            )
            before = knowledge.precedence(table.variables)
            exact = self._exactly(scores)
            if exact:
                check_exact(scores, self.max_memory)
                self._tell_cost(scores, searches=2 if adaptive or self.ess == "auto" else 1)
            problem = None if exact else chain_problem(scores, before)
        self.interrupted_ = False
        with self._phase("prior"):
            chains: Sequence[Chain] = ()
            if adaptive or self.ess == "auto":
                # What the data choose is chosen for the best order before it, or for one found greedily.
                if exact or (self.n_iter == "auto" and affordable(scores)):
                    columns, _ = ExactOrders(SubsetScores(scores), before).best_order()
                else:
                    # Of many variables one climb tells as much as several, and takes long.
                    chains, self.interrupted_ = sample_chains(
                        problem,
                        n_chains=self.n_chains if table.p <= FEW_VARIABLES else 1,
                        n_iter=1,
                        random_state=self._seeds()[0],
                        n_jobs=self.n_jobs,
                    )
                    columns = max(chains, key=lambda chain: chain.best_log_score).best_order
                if self.ess == "auto" and not self.interrupted_:
                    chosen = adapted_ess(scores, [table.variables[i] for i in columns])
                    if chosen != scores.ess:
                        # The old tables are given up before there are new ones.
                        scores, problem = scores.with_ess(chosen), None
                        problem = None if exact else chain_problem(scores, before)
                if adaptive and not self.interrupted_:
                    scores, problem = with_adapted_prior(scores, problem, columns)
            self.prior_: Prior = scores.prior
        bounds = self._larger_bounds()
        with self._phase("orders"):
            if self.interrupted_:
                posterior = CStreePosterior(table.variables, chains, scores=scores)
            else:
                posterior = self._search(scores, before, problem, max_iter=self.max_iter)
        if bounds and not self.interrupted_:
            with self._phase("context bounds"):
                joined = posterior.edge_probabilities(directed=False).to_numpy()
                order = posterior.order_names(posterior.best.best_order)
                wanted = not isinstance(self.candidates, str) or self.candidates == "all"
                room = self.max_memory if wanted and self.search != "exact" else 0.0
                deep = deeper_scores(scores, joined, order, beta=bounds.get(None, bounds), max_memory=room)
                if deep is not scores:
                    self.candidates_ = used_candidates(self.candidates_, deep, wanted=wanted, max_memory=room)
                    # What the data choose was chosen for two context variables.
                    chosen = adapted_ess(deep, order) if self.ess == "auto" else deep.ess
                    # The old tables are given up here too.
                    scores = deep = deep if chosen == deep.ess else deep.with_ess(chosen)
                    problem = None if are_looked_up(scores) else chain_problem(scores, before)
                    if adaptive:
                        scores, problem = with_adapted_prior(scores, problem, posterior.best.best_order)
                    self.prior_ = scores.prior
                    if problem is None and not self._exactly(scores):
                        problem = chain_problem(scores, before)
                    # Where only some variables have a larger bound the first pass has found most of the order.
                    longest = self.max_iter
                    if self.n_iter == "auto" and longest is None and None not in bounds:
                        longest = looked_up_moves(table.p)
                    posterior = self._search(scores, before, problem, second=True, max_iter=longest)
        self.ess_ = scores.ess
        self.betas_ = dict(zip(table.variables, scores.betas, strict=True))
        self.posterior_ = posterior
        self.n_iter_ = 0 if posterior.exact is not None else sum(chain.n_iter for chain in posterior.chains)
        with self._phase("stagings"):
            best, structure = posterior.best, self._structure(posterior)
            self.order_ = structure.order
            best_is_taken = self.order_ == posterior.order_names(best.best_order)
            self.log_order_score_ = best.best_log_score if best_is_taken else scores.order_score(self.order_)
            self.log_score_ = scores.cstree_score(structure)
        with self._phase("parameters"):
            if self.parameters == "averaged":
                fitted = self._averaged(structure, scores)
            else:
                fitted = structure.fit_parameters(table, self.parameters, ess=self.ess_, interventions=mask)
            self.cstree_ = CStree(
                fitted.order, fitted.stagings, fitted.parameters, states=table.state_map, learning=self._record(table)
            )
            self.relations_ = relation_table(structure, scores)

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
                self.estimate_ = "central"
                return tree
        return posterior.tree_of(posterior.best.best_order)

    def _averaged(self, structure: CStree, scores: Scores) -> CStree:
        """Return the CStree with averaged parameters; after an interrupt, with those it has, the posterior means."""
        try:
            return structure.with_parameters(averaged_parameters(structure, scores))
        except KeyboardInterrupt:
            self.interrupted_ = True
            return structure

    def _set_names(self, X: Any) -> None:
        variables = self.cstree_.variables
        self.n_features_in_ = len(variables)
        if has_names(X):
            self.feature_names_in_ = np.array(variables, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Return the log-probability of every row of `X` under the learned model."""
        check_is_fitted(self)
        shape = np.shape(X) if isinstance(X, np.ndarray | list) and not has_names(X) else ()
        if len(shape) == 2 and shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features"
                " as input"
            )
        return self.cstree_.log_prob(X)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the (weighted) mean log-probability of the rows of `X` under the learned model; larger is better."""
        return float(np.average(self.score_samples(X), weights=sample_weight))

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what data the learner takes."""
        tags = super().__sklearn_tags__()
        tags.estimator_type = "density_estimator"
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.non_deterministic = False
        return tags

    def _first_bound(self) -> int:
        """Return the context bound of the first pass; larger ones build on it."""
        return min(self.beta, 2) if isinstance(self.beta, int | np.integer) else 2

    def _larger_bounds(self) -> dict[Any, int | None]:
        """Return the context bounds beyond two, None where the data choose; that of all variables under None."""
        given = self.beta if isinstance(self.beta, Mapping) else {None: self.beta}
        return {v: None if b == "auto" else int(b) for v, b in given.items() if b == "auto" or b > 2}

    def _exactly(self, scores: Scores) -> bool:
        """Tell whether to search exactly."""
        if self.search != "auto":
            return self.search == "exact"
        return self.n_iter == "auto" and self.checkpoint is None and affordable(scores)

    def _tell_cost(self, scores: Scores, searches: int) -> None:
        """Tell the callback what an exact search that was asked for will take."""
        if self.callback is not None and self.search == "exact":
            from cslearn.estimators.cost import exact_seconds

            seconds, memory = exact_seconds(scores, searches), exact_memory(scores)
            self.callback("orders", Progress(0, 1 << scores.table.p, -np.inf, seconds, memory))

    def _search(
        self,
        scores: Scores,
        before: NDArray[np.bool_],
        problem: Any,
        *,
        second: bool = False,
        max_iter: int | None,
    ) -> CStreePosterior:
        """Return the posterior over orders, by chains on a problem, or exactly if that is None.

        `second` says that it is the search that builds on a first one with two context variables.
        """
        seeds, seed = self._seeds()
        names = scores.table.variables
        auto = self.n_iter == "auto"
        n_temperatures = self.n_temperatures
        if n_temperatures is None:
            # A checkpoint may be of a search with a number of moves, which has one temperature.
            n_temperatures = default_temperatures(scores) if auto and self.checkpoint is None else 1
        settings = search_settings(
            scores.table,
            {v: [names[c] for c in own] for v, own in zip(names, scores.candidates, strict=True)},
            before,
            scores.interventions,
            beta=self.beta,
            stagings=self.stagings,
            ess=scores.ess,
            prior=scores.prior,
            n_chains=self.n_chains,
            n_temperatures=n_temperatures,
            random_state=seed,
        )
        if problem is None:
            return search_exactly(
                scores, before, max_memory=self.max_memory, random_state=np.random.default_rng(seeds), settings=settings
            )
        file = None
        if self.checkpoint is not None:
            file = Checkpoint(self.checkpoint, self.checkpoint_every, settings)
            if second:
                # The bounds that the data choose may be others after a longer first search.
                file = file.second({**settings, "bounds": repr(scores.betas)})
        posterior, self.interrupted_ = search_by_chains(
            scores,
            problem,
            auto=auto,
            settings=settings,
            n_chains=self.n_chains,
            n_iter=None if auto else self.n_iter,
            max_iter=max_iter,
            burn_in=self.burn_in,
            thin=self.thin,
            n_temperatures=n_temperatures,
            random_state=seeds,
            n_jobs=self.n_jobs,
            callback=None if self.callback is None else partial(self.callback, "orders"),
            checkpoint=file,
        )
        return posterior

    def _seeds(self) -> tuple[np.random.SeedSequence, int | None]:
        """Return the seed of the chains, and that of phase 1."""
        seed = self.random_state
        if isinstance(seed, np.random.RandomState):
            seed = int(seed.randint(2**31))
        return np.random.SeedSequence(seed), seed

    def _record(self, table: Table) -> dict[str, Any]:
        """Return how the model was learned; not how long it took, so that the same seed writes the same file."""
        knowledge = Knowledge.coerce(self.knowledge)
        return {
            "written_by": f"cslearn {version('cslearn')}",
            "rows": table.n,
            "weight": None if table.weights is None else table.total_weight,
            "settings": {
                "beta": _plain(self.beta),
                "stagings": self.stagings,
                "candidates": self.candidates_.method,
                "alpha": None if self.alpha is None else int(self.alpha),
                "level": self.level if self.candidates_.method == "pc" else None,
                "prior": self.prior if isinstance(self.prior, str) else self.prior.name,
                "ess": self.ess_,
                "estimate": self.estimate_,
                "parameters": self.parameters,
                "search": self.search,
                "knowledge": {name: value for name, value in asdict(knowledge).items() if value} or None,
                "missing": self.missing,
                "seed": int(self.random_state) if isinstance(self.random_state, int | np.integer) else None,
            },
            "prior": {"name": self.prior_.name, **asdict(self.prior_)},
            "betas": {v: bound for v, bound in self.betas_.items() if bound > 2} or None,
            "log_score": self.log_score_,
            "log_order_score": self.log_order_score_,
            "interrupted": self.interrupted_,
            "orders": summarise(self.posterior_),
        }

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        if self.callback is not None:
            self.callback(name, None)
        begin = perf_counter()
        yield
        self.timings_[name] = perf_counter() - begin

    def _check_parameters(self) -> None:
        given = list(self.beta.values()) if isinstance(self.beta, Mapping) else [self.beta]
        for bound in given:
            if bound != "auto":
                check_beta(bound)
            if isinstance(self.beta, Mapping) and bound != "auto" and bound < 2:
                raise InputError(f"a context bound (beta) of single variables is 2, 3, ... or 'auto', not {bound!r}")
        check_stagings(self.stagings, self.prior, beyond_two=any(bound == "auto" or bound > 2 for bound in given))
        if not (isinstance(self.ess, str) and self.ess == "auto"):
            check_ess(self.ess)
        if self.search not in SEARCHES:
            raise InputError(f"there is no search {self.search!r}; choose one of {', '.join(map(repr, SEARCHES))}")
        if self.estimate not in ESTIMATES:
            raise InputError(f"there is no estimate {self.estimate!r}; choose one of {', '.join(map(repr, ESTIMATES))}")
        if self.parameters not in PARAMETERS:
            raise InputError(
                f"there is no estimate {self.parameters!r} of parameters; choose one of"
                f" {', '.join(map(repr, PARAMETERS))}"
            )
        for name, least in (
            ("n_chains", 1),
            ("n_temperatures", 1),
            ("n_iter", 1),
            ("max_iter", 1),
            ("burn_in", 0),
            ("thin", 1),
        ):
            value = getattr(self, name)
            if (name != "n_chains" and value is None) or (name == "n_iter" and value == "auto"):
                continue
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
                other = " or 'auto'" if name == "n_iter" else ""
                raise InputError(f"{name} is a whole number, at least {least},{other} not {value!r}")
        if self.max_iter is not None and self.n_iter != "auto":
            raise InputError(
                f"max_iter={self.max_iter} bounds n_iter='auto', but n_iter is {self.n_iter!r}: leave one out"
            )
        every = self.checkpoint_every
        if isinstance(every, bool) or not isinstance(every, int | float | np.number) or not every >= 0:
            raise InputError(f"checkpoint_every is a number of seconds, at least 0, not {every!r}")
        if self.checkpoint is not None and self.missing == "em":
            raise InputError(
                'a checkpoint holds one search, and missing="em" makes several: leave checkpoint= out, or drop the rows'
                " with missing cells"
            )
        if self.checkpoint is not None and self.search == "exact":
            raise InputError(
                "an exact search is made at once and has nothing to go on from: leave checkpoint= out, or give"
                " search='mcmc' for chains, which a checkpoint keeps"
            )
        seed = self.random_state
        whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool) and seed >= 0
        if not (whole or seed is None or isinstance(seed, np.random.RandomState)):
            raise InputError(f"random_state is a whole number from 0, a RandomState or None, not {seed!r}")
        if self.checkpoint is not None and not whole:
            raise InputError(
                f"a search can only be continued with the same seed: with checkpoint= give random_state= a number, not"
                f" {self.random_state!r}"
            )
        if isinstance(self.n_iter, int) and self.burn_in is not None and self.burn_in >= self.n_iter:
            raise InputError(f"burn_in={self.burn_in} leaves no draws of n_iter={self.n_iter}")

    def _warn_of_chains(self) -> None:
        """Say if the search ended early, or if its draws cannot be trusted."""
        chains = self.posterior_.chains
        if self.interrupted_:
            go_on = ""
            if self.checkpoint is not None and os.path.exists(self.checkpoint):
                go_on = f"; the same call goes on from {os.fspath(self.checkpoint)}"
            warnings.warn(
                f"interrupted after {self.n_iter_:,} moves of {len(chains)} chains: this is the best model so"
                f" far{go_on}",
                DataWarning,
                stacklevel=3,
            )
        elif not self.posterior_.converged:
            warnings.warn(
                f"the chains have not converged after {chains[0].n_iter:,} moves each:"
                f" {self.posterior_.verdict.reason}. The model may be good, but shares of the draws may be far"
                f" from posterior probabilities. For those give {self._remedies()}.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _remedies(self) -> str:
        """Return what helps chains that have not converged."""
        scores, settings = self.posterior_.scores, self.posterior_.settings
        more = "max_iter" if self.n_iter == "auto" else "n_iter (or 'auto')"
        found = [f"a larger {more}", "more chains (n_chains)"]
        if settings.get("n_temperatures") == 1:
            found.append("several temperatures (n_temperatures=4)")
        if scores is not None and is_feasible(scores, self.max_memory):
            exact = "search='exact'" if self.checkpoint is None else "search='exact' without a checkpoint"
            found.insert(0, f"{exact}, which searches all orders")
        return f"{', '.join(found[:-1])}, or {found[-1]}"


def _plain(bound: Any) -> Any:
    """Return a context bound, or a mapping of them, as a file can hold it."""
    if isinstance(bound, Mapping):
        return {v: _plain(of_one) for v, of_one in bound.items()}
    return bound if isinstance(bound, str) else int(bound)


def _check_size(table: Table) -> None:
    if table.p < 2:
        raise InputError(
            f"there is nothing to learn from one column (n_features = 1): {table.variables[0]!r}. A table with at least"
            " two variables is needed."
        )
    if table.n < 2:
        raise InputError("there is nothing to learn from one row (n_samples = 1). Give more rows.")


def has_names(X: Any) -> bool:
    """Tell whether the columns of `X` have names of their own."""
    if isinstance(X, np.ndarray):
        return X.dtype.names is not None
    return not isinstance(X, list) or (bool(X) and isinstance(X[0], Mapping))
