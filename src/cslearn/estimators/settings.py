"""Parameters that belong together: how chains of orders are run, and how candidates are selected."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np

from cslearn._parameters import CALLABLE, MAPPING, PATH, Row, Rule, Settings, Table, kind, number, whole
from cslearn._wording import option
from cslearn.candidates import Knowledge
from cslearn.data._gaps import gaps_row
from cslearn.errors import InputError
from cslearn.priors import ADAPTIVE, PRIORS, Prior

__all__ = [
    "ENSEMBLE",
    "LEARNER",
    "PC",
    "All",
    "Auto",
    "Chains",
    "GRaSP",
    "Given",
    "Screen",
    "Selection",
    "chains_of",
    "selection_of",
]

# Each of these takes memory and time of its own; more have never been of use.
MOST_CHAINS, MOST_TEMPERATURES, MOST_MEMBERS = 1000, 100, 1000


@dataclass(frozen=True, repr=False)
class Chains(Settings):
    """A search by chains of the relocation Gibbs sampler, for ``CStreeLearner(search=...)``.

    Parameters
    ----------
    n_iter : int, "auto" or None
        Moves of each chain. With ``"auto"`` the chains go on until they agree (:attr:`OrderPosterior.converged`) or
        have made `max_iter` moves; with None their number is fixed and grows with the number of variables.
    max_iter : int, optional
        Only for ``n_iter="auto"``: the largest number of moves of each chain. By default 200,000 divided by the number
        of variables, but at least as many as with None; over deep contexts as many as take some twenty seconds, or with
        more than 50 variables 300 to 1,500.
    n_chains : int
        Chains, each with a start of its own; over deep contexts of more than 50 variables all start at a good order.
    n_temperatures : int, optional
        More than one for parallel tempering, if orders far apart are about equally good and chains do not agree; four
        temperatures take four times as long. By default three where moves are cheap, that is with two context
        variables, at most 14 candidates of each variable, ``n_iter="auto"`` and no checkpoint, and otherwise one.
    burn_in, thin : int, optional
        Moves that are not kept as posterior draws, and every how many moves one is kept.
    checkpoint : str or path-like, optional
        A file to which the search is written every `checkpoint_every` seconds. If it is there, the search goes on from
        it to the very same result as without a break; one of other data or settings is refused. A longer `n_iter` or
        `max_iter` continues a search that had ended. Beyond two context variables the second pass has a file next to
        it, with ``.second`` at the end of its name.
    checkpoint_every : float
        Seconds.
    client : dask.distributed.Client, optional
        Runs the chains on the workers of a Dask cluster (``cslearn[dask]``), to the same result. Workers are sent the
        rows, as they are in memory, and score orders themselves. Not for a :class:`cslearn.dask.DaskTable`, whose
        rows are on the workers already, and not with a checkpoint. The members of an ensemble are spread too.

    Examples
    --------
    >>> from cslearn import Chains, CStreeLearner
    >>> from cslearn.datasets import chickenpox_model
    >>> learner = CStreeLearner(search=Chains(n_iter=1000, n_chains=2), random_state=0)
    >>> learner.fit(chickenpox_model().sample(500, random_state=0)).n_iter_
    2000
    >>> learner.set_params(search__n_iter="auto").search
    Chains(n_chains=2)
    """

    n_iter: int | Literal["auto"] | None = "auto"
    max_iter: int | None = None
    n_chains: int = 4
    n_temperatures: int | None = None
    burn_in: int | None = None
    thin: int | None = None
    checkpoint: str | os.PathLike[str] | None = None
    checkpoint_every: float = 60.0
    client: Any = field(default=None, compare=False)

    allowed: ClassVar[Table] = {
        "n_iter": Row(whole(1), "auto", None),
        "max_iter": Row(whole(1), None),
        "n_chains": Row(whole(1, MOST_CHAINS)),
        "n_temperatures": Row(whole(1, MOST_TEMPERATURES), None),
        "burn_in": Row(whole(0), None),
        "thin": Row(whole(1), None),
        "checkpoint": Row(PATH, None),
        "checkpoint_every": Row(number("a number of seconds from 0", least=0)),
        "client": Row(Rule("a client of Dask", lambda client: hasattr(client, "submit")), None),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_iter is not None and not self.auto:
            raise InputError(
                f"{option('max_iter', self.max_iter)} bounds {option('n_iter', 'auto')}, but"
                f" {option('n_iter', self.n_iter)} is given: leave one out",
                parameter="max_iter",
            )
        if isinstance(self.n_iter, int) and self.burn_in is not None and self.burn_in >= self.n_iter:
            raise InputError(
                f"{option('burn_in', self.burn_in)} leaves no draws of {option('n_iter', self.n_iter)}",
                parameter="burn_in",
            )

        if self.client is not None and self.checkpoint is not None:
            raise InputError(
                f"{option('checkpoint')} is for chains in this process, and {option('client')} for those of a cluster:"
                " leave one out",
                parameter="checkpoint",
            )

    def __getstate__(self) -> dict[str, Any]:
        """Pickle and copy the settings without the client, which is of this process."""
        return {**vars(self), "client": None}

    def __sklearn_clone__(self) -> Chains:
        return self

    @property
    def auto(self) -> bool:
        """Whether the chains go on until they agree."""
        return self.n_iter == "auto"


ALPHA = Row(whole(0), None, what="the largest number of candidates of a variable")
GRAPH = Row("cpdag", "skeleton")


class Selection(Settings):
    """A way to select candidates. The strings of ``CStreeLearner(candidates=...)`` stand for those with defaults."""

    alpha: int | None

    method: ClassVar[str]
    allowed: ClassVar[Table] = {"alpha": ALPHA}

    def arguments(self) -> dict[str, Any]:
        """Return the arguments for :func:`cslearn.candidates.candidate_sets`."""
        return {"candidates": self.method, "alpha": self.alpha}


@dataclass(frozen=True, repr=False)
class Auto(Selection):
    """All variables while memory and time allow it, otherwise a repeated screen.

    Parameters
    ----------
    alpha : int, optional
        Bound on the number of candidates of a variable; the best-scoring ones are kept.

    Examples
    --------
    >>> from cslearn import CStreeLearner
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.estimators import Auto
    >>> learner = CStreeLearner(candidates=Auto(alpha=1)).fit(chickenpox_model().sample(500, random_state=0))
    >>> max(learner.candidates_.sizes().values())
    1
    """

    alpha: int | None = None

    method = "auto"


@dataclass(frozen=True, repr=False)
class All(Selection):
    """All variables are candidates.

    Parameters
    ----------
    alpha : int, optional
        Bound on the number of candidates of a variable; the best-scoring ones are kept.

    Examples
    --------
    >>> from cslearn import All, CStreeLearner
    >>> from cslearn.datasets import chickenpox_model
    >>> learner = CStreeLearner(candidates=All(alpha=2)).fit(chickenpox_model().sample(500, random_state=0))
    >>> sorted(learner.candidates_.sizes().values())
    [2, 2, 2, 2]
    """

    alpha: int | None = None

    method = "all"


@dataclass(frozen=True, repr=False)
class Screen(Selection):
    """Few candidates at first, grown from what searches find; see :mod:`cslearn.candidates.screen`.

    It saves tables of scores. Deep contexts (``beta="auto"``) have none, and all variables are their candidates.

    Parameters
    ----------
    alpha : int, optional
        Bound on the number of candidates of a variable; the best-scoring ones are kept.

    Examples
    --------
    >>> from cslearn import CStreeLearner, Screen
    >>> from cslearn.datasets import chickenpox_model
    >>> data = chickenpox_model().sample(500, random_state=0)
    >>> learner = CStreeLearner(beta=2, candidates=Screen(alpha=2)).fit(data)
    >>> learner.candidates_.method
    'screen'
    """

    alpha: int | None = None

    method = "screen"


@dataclass(frozen=True, repr=False)
class PC(Selection):
    """Parents and undirected neighbours in the CPDAG that PC estimates, with the G-squared test.

    Needs the extra ``cslearn[phase1]``.

    Parameters
    ----------
    level : float
        Significance level of the tests.
    alpha : int, optional
        Bound on the number of candidates of a variable, the paper's; the best-scoring ones are kept.
    graph : {"cpdag", "skeleton"}
        Take parents and undirected neighbours, or all neighbours.

    Examples
    --------
    >>> from cslearn import PC, CStreeLearner
    >>> from cslearn.datasets import chickenpox_model
    >>> learner = CStreeLearner(candidates=PC(level=0.01, alpha=1)).fit(chickenpox_model().sample(500, random_state=0))
    >>> learner.candidates_.sets["carrier"]
    ('exposed',)
    """

    level: float = 0.05
    alpha: int | None = None
    graph: Literal["cpdag", "skeleton"] = "cpdag"

    method = "pc"
    allowed: ClassVar[Table] = {
        "level": Row(number("a significance level between 0 and 1, such as 0.05", above=0, below=1)),
        "alpha": ALPHA,
        "graph": GRAPH,
    }

    def arguments(self) -> dict[str, Any]:
        """Return the arguments for :func:`cslearn.candidates.candidate_sets`."""
        return {**super().arguments(), "level": self.level, "from_graph": self.graph}


@dataclass(frozen=True, repr=False)
class GRaSP(Selection):
    """Parents and undirected neighbours in the CPDAG that GRaSP estimates, with the BDeu score.

    Needs the extra ``cslearn[phase1]``.

    Parameters
    ----------
    alpha : int, optional
        Bound on the number of candidates of a variable; the best-scoring ones are kept.
    graph : {"cpdag", "skeleton"}
        Take parents and undirected neighbours, or all neighbours.

    Examples
    --------
    >>> from cslearn import CStreeLearner, GRaSP
    >>> from cslearn.datasets import chickenpox_model
    >>> learner = CStreeLearner(candidates=GRaSP(graph="skeleton"))
    >>> learner.fit(chickenpox_model().sample(500, random_state=0)).candidates_.method
    'grasp'
    """

    alpha: int | None = None
    graph: Literal["cpdag", "skeleton"] = "cpdag"

    method = "grasp"
    allowed: ClassVar[Table] = {"alpha": ALPHA, "graph": GRAPH}

    def arguments(self) -> dict[str, Any]:
        """Return the arguments for :func:`cslearn.candidates.candidate_sets`."""
        return {**super().arguments(), "from_graph": self.graph}


@dataclass(frozen=True, repr=False)
class Given(Selection):
    """Candidates of the user's own, with a bound.

    Parameters
    ----------
    sets : graph, mapping or matrix
        As in :func:`cslearn.candidates.candidate_sets`.
    alpha : int, optional
        Bound on the number of candidates of a variable; the best-scoring ones are kept.
    graph : {"cpdag", "skeleton"}
        Of a directed graph take parents and undirected neighbours, or all neighbours.

    Examples
    --------
    >>> from cslearn import CStreeLearner
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.estimators import Given
    >>> learner = CStreeLearner(candidates=Given({"carrier": ["exposed", "diagnosis"]}, alpha=1))
    >>> learner.fit(chickenpox_model().sample(500, random_state=0)).candidates_.sets["carrier"]
    ('exposed',)
    """

    sets: Any
    alpha: int | None = None
    graph: Literal["cpdag", "skeleton"] = "cpdag"

    method = "given"
    allowed: ClassVar[Table] = {
        "sets": Row(Rule("a graph, a mapping or a matrix", lambda sets: not isinstance(sets, str | Settings))),
        "alpha": ALPHA,
        "graph": GRAPH,
    }

    def arguments(self) -> dict[str, Any]:
        """Return the arguments for :func:`cslearn.candidates.candidate_sets`."""
        return {"candidates": self.sets, "alpha": self.alpha, "from_graph": self.graph}


SELECTIONS: dict[str, type[Selection]] = {way.method: way for way in (Auto, All, Screen, PC, GRaSP)}


# What the parameters of the learner may be.
ENSEMBLE: Table = {"n": Row(whole(1, MOST_MEMBERS), what="the number of CStrees")}
LEARNER: Table = {
    "beta": Row(whole(0), "auto", what="the largest number of context variables of a stage"),
    "candidates": Row(
        *SELECTIONS,
        Rule("All, Screen, PC, GRaSP", lambda way: isinstance(way, Selection)),
        Rule("a graph, a mapping or a matrix", lambda sets: not isinstance(sets, str | int | float | bool)),
    ),
    "prior": Row(ADAPTIVE, *PRIORS, kind("a Prior", Prior)),
    "ess": Row(number("a positive number", above=0, below=inf), "auto", what="the equivalent sample size"),
    "parameters": Row("averaged", "mean", "map", "mle"),
    "search": Row("auto", "greedy", "exact", "mcmc", kind("Chains(...)", Chains)),
    "estimate": Row("auto", "best", "central"),
    "knowledge": Row(kind("Knowledge", Knowledge), MAPPING, None),
    "states": Row(kind("a mapping of variables to lists of their states", Mapping), None),
    "missing": gaps_row("error", "drop", "state", "em"),
    "max_memory": Row(number("a positive number of bytes", above=0)),
    "random_state": Row(whole(0), kind("a RandomState", np.random.RandomState), None),
    "n_jobs": Row(whole(1), Rule("-1 for all cores", lambda jobs: isinstance(jobs, Integral) and jobs == -1), None),
    "callback": Row(CALLABLE, None),
}


def chains_of(search: Any) -> Chains:
    """Return how chains are run, if it comes to that."""
    return search if isinstance(search, Chains) else Chains()


def selection_of(candidates: Any) -> Selection:
    """Return how candidates are selected.

    Examples
    --------
    >>> from cslearn.estimators.settings import selection_of
    >>> selection_of("pc"), selection_of({"carrier": ["exposed"]})
    (PC(), Given(sets={'carrier': ['exposed']}))
    """
    if isinstance(candidates, Selection):
        return candidates
    return SELECTIONS[candidates]() if isinstance(candidates, str) else Given(candidates)
