"""The learner as an estimator of scikit-learn."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import BaseEstimator

from cslearn._parameters import with_nested
from cslearn.estimators.learner import Learner

__all__ = ["CStreeLearner"]


class CStreeLearner(BaseEstimator, Learner):  # type: ignore[misc]  # scikit-learn has no types
    """Learn a CStree from categorical data.

    The learner selects candidate context variables (by default all of them), searches or samples orders of the
    variables, finds the most probable staging for one of these orders, and estimates its parameters.

    Parameters
    ----------
    beta : "auto" or int
        Context bound: the largest number of context variables of a stage. With ``"auto"``, decision trees are grown as
        deep as the data support, with up to 24 context variables; see :mod:`cslearn.grown`. With a number above two,
        they are grown up to that depth, unless there are few enough variables for exact sums. With two, the sums over
        stagings are exact (the paper's algorithm). Priors over stagings rather than trees only allow exact sums; with
        them, ``"auto"`` means two.
    candidates : {"auto", "all", "screen", "pc", "grasp"}, All, Screen, PC, GRaSP, graph, mapping or matrix
        Which variables may be context variables of which; see :func:`cslearn.candidates.candidate_sets`. ``"auto"``
        takes all with deep contexts, and with two context variables all while `max_memory` and time allow it, and
        otherwise a repeated screen. ``"pc"`` and ``"grasp"`` need the extra ``cslearn[phase1]``. Objects have
        parameters of their own, such as ``PC(level=0.01, alpha=10)``: `alpha` bounds the candidates of a variable.
    max_memory : float
        Bytes that contexts may take before some are forgotten, or with two context variables the tables of scores
        before ``candidates="auto"`` turns to a screen, whose sets are cut to what there is room for.
    prior : {"adaptive", "tree", "sparse", "uniform"} or Prior
        Prior over the stagings of a variable given the order; see :mod:`cslearn.priors`. ``"adaptive"`` has
        probabilities that the data choose: of a :class:`cslearn.priors.ParentsPrior` for deep contexts
        (:mod:`cslearn.grown.adaptive`), of a :class:`cslearn.priors.TreePrior` for two context variables
        (:mod:`cslearn.orders.adaptive`).
    ess : float or "auto"
        Equivalent sample size of the Dirichlet priors; ``"auto"`` lets the data choose it in the same way.
    estimate : {"auto", "best", "central"}
        Which order the learned model follows: the most probable one found, or a central one, whose CStree has the
        smallest mean divergence from those of sampled orders
        (:meth:`cslearn.posterior.CStreePosterior.central_tree`). ``"auto"`` means the best order after an exact search,
        and the central one after sampling, which predicts a little better among many variables. After an interrupted
        search it is the best.
    parameters : {"averaged", "mean", "map", "mle"}
        How the parameters are estimated: by the posterior mean over all stagings of the order
        (:mod:`cslearn.estimators.averaging`), or given the best staging (:meth:`cslearn.CStree.fit_parameters`).
    search : {"auto", "greedy", "exact", "mcmc"} or Chains
        How orders are searched: all of them, by dynamic programming (``"exact"``: up to 22 variables, within
        `max_memory`), by chains of the relocation Gibbs sampler, whose length and number
        ``search=Chains(n_iter=..., n_chains=...)`` says (:class:`cslearn.Chains`), or no further than to a first good
        order (``"greedy"``). ``"auto"`` takes all of them where that is a matter of seconds (up to 18 variables, or 12
        with deep contexts), and otherwise chains; with deep contexts and more than 250 variables it stops at an order
        in which no variable has a better place, since a move of a chain takes time with the square of their number.
    knowledge : Knowledge or mapping, optional
        Forbidden and required edges and tiers; see :class:`cslearn.candidates.Knowledge`.
    states : mapping of str to sequence of states, optional
        States of some or all variables, if not all of them are in the data or their order matters.
    missing : {"error", "drop", "state", "em"} or mapping
        What is done about missing values; see :func:`cslearn.data.as_table`. With ``"em"`` the structure is learned in
        rounds, each from a table that the model of the previous round has completed, and then the parameters are
        estimated by expectation-maximisation; see :mod:`cslearn.estimators.incomplete`.
    random_state : int, RandomState or None
        Seed. The same seed gives the same result for any number of jobs.
    n_jobs : int, optional
        Threads; all cores by default, or with -1.
    callback : callable, optional
        Called as ``callback(phase, progress)`` while fitting: `phase` is a string, `progress` a
        :class:`cslearn.orders.Progress`, or None when a phase begins. Before a search with ``search="exact"`` begins,
        the progress contains the estimate of its time and memory that ``cslearn estimate`` makes.

    Attributes
    ----------
    cstree_ : CStree
        The learned model.
    order_ : tuple of str
        The order of ``cstree_``; the best order found is ``posterior_.best.best_order``, by columns.
    estimate_ : {"best", "central"}
        How that order was chosen.
    candidates_ : CandidateSets
        The candidate sets that were used.
    prior_ : Prior
        The prior over stagings, chosen by the data if it is adaptive.
    ess_ : float
        The equivalent sample size, chosen by the data if it is ``"auto"``.
    gamma_ : float
        How the prior count of a stage shrinks with the number `q` of outcomes of its context variables: it is
        ``ess_ * q ** -gamma_``. 1, as in BDeu, with two context variables; chosen by the data with deep ones.
    posterior_ : CStreePosterior
        The posterior over orders and CStrees.
    betas_ : dict of str to int
        The context bound of each variable; with ``beta="auto"`` what its stages have, and at least two.
    relations_ : RelationTable
        The CSI relations of the model with the evidence for them, strongest first: a sequence of
        :class:`cslearn.graphs.WeighedRelation` that prints as a table.
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
    carrier does not depend on background or diagnosis once exposed is no
    carrier does not depend on background once exposed is yes and diagnosis is no
    exposed does not depend on background once diagnosis is yes
    >>> round(learner.score(data), 2)
    -2.15
    """

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also those of `search` and `candidates`, such as ``search__n_iter``."""
        super().set_params(**with_nested(self, params))
        return self

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what data the learner takes."""
        tags = super().__sklearn_tags__()
        tags.estimator_type = "density_estimator"
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.non_deterministic = False
        return tags
