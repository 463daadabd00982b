"""The CS-BDeu score: contexts, local order scores, orders and CStrees. Logarithms are natural.

A stage with context variables ``S`` of target ``i`` has the Dirichlet parameters ``a_stage = ess / prod d_s`` and
``a_cell = a_stage / d_i``, so its log marginal likelihood ``log z(i, x_S)`` depends on the target and the context
alone. A context without data has ``log z = 0``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from itertools import pairwise
from math import fsum, inf, lgamma, prod
from threading import Lock
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from cslearn._numerics import n_threads
from cslearn.counts import Contexts, Counts, counts_of, joint_counts
from cslearn.counts.tables import as_counted
from cslearn.data import Table, TableLike, as_table
from cslearn.errors import InputError
from cslearn.priors import Prior, get_prior
from cslearn.stagings import Context, Staging
from cslearn.stagings.counting import check_beta
from cslearn.stagings.level import LevelWeights
from cslearn.stagings.tree_weights import Layout, TreeWeights, chosen_blocks, layout

__all__ = [
    "Scores",
    "check_ess",
    "log_gamma_tables",
    "log_marginal_likelihood",
]

# Log-gammas of whole counts are looked up while their table has at most this many entries.
LOOK_UP_LIMIT = 10_000_000
# Cells of the contexts of two candidates that are counted at once.
CELLS_AT_ONCE = 1 << 15


Floats = NDArray[np.float64]


class _CStreeLike(Protocol):
    @property
    def order(self) -> Sequence[str]: ...
    @property
    def stagings(self) -> Mapping[str, Staging]: ...


def log_marginal_likelihood(counts: NDArray[np.float64], a_stage: float) -> float:
    """Return the log Dirichlet-multinomial likelihood of the counts of one stage.

    Parameters
    ----------
    counts : ndarray, shape (d,)
        Number of rows of the stage with each state of the target.
    a_stage : float
        Total prior count of the stage, spread evenly over the states.

    Examples
    --------
    >>> import numpy as np
    >>> from cslearn.scores import log_marginal_likelihood
    >>> round(log_marginal_likelihood(np.array([3.0, 1.0]), 2.0), 4)
    -2.9957
    >>> log_marginal_likelihood(np.zeros(2), 2.0)
    0.0
    """
    a_cell = a_stage / len(counts)
    seen = counts[counts > 0]
    if not len(seen):
        return 0.0
    cells = fsum(gammaln(a_cell + seen)) - len(seen) * lgamma(a_cell)
    return cells + lgamma(a_stage) - lgamma(a_stage + float(counts.sum()))


class Scores:
    """Scores of contexts, stagings, orders and CStrees on a table of data.

    Parameters
    ----------
    data : Table or anything that :func:`cslearn.data.as_table` reads
    beta : int
        Context bound of the stagings that local order scores sum over; beyond two context variables they are those that
        a decision tree can draw. A variable with fewer candidates (but at least two) has their number as its bound.
    ess : float
        Equivalent sample size of the Dirichlet priors.
    prior : {"uniform", "sparse", "tree"} or Prior
        Prior over the stagings of a level; see :mod:`cslearn.priors`.
    candidates : mapping of variable to iterable of variables, optional
        The candidate set of each variable; all other variables by default.
    n_jobs : int, optional
        Threads that fill the tables; all cores by default. The result does not depend on it.
    interventions : array of bool, shape (n, p), optional
        Where a variable was set from outside. Such a row tells nothing of how the variable comes about: it is left out
        of the counts of that variable as a target, and of no others.

    Notes
    -----
    The tables of ``log z`` over single variables and pairs are filled when they are first needed, in
    O(p m^2 (n + d^3)) for candidate sets of size `m`, and take O(p m^2 d) memory. Beyond two context variables they are
    filled for one target at a time, in O(m^beta (n + d^(beta + 1))), and take the memory of each context once; see
    :mod:`cslearn.stagings.tree_weights`.

    Examples
    --------
    >>> from cslearn.scores import Scores
    >>> rows = [{"exposed": e, "carrier": c} for e, c in ["nn", "nn", "yy", "yn", "yy", "nn"]]
    >>> scores = Scores(rows, beta=1)
    >>> round(scores.log_z("carrier", {"exposed": "n"}), 4)
    -0.9808
    >>> round(scores.order_score(["exposed", "carrier"]), 4)
    -10.5043
    """

    def __init__(
        self,
        data: Any,
        *,
        beta: int = 2,
        ess: float = 1.0,
        prior: str | Prior = "uniform",
        candidates: Mapping[str, Iterable[str]] | None = None,
        n_jobs: int | None = None,
        interventions: NDArray[np.bool_] | None = None,
    ) -> None:
        self.table: TableLike = self._read(data)
        self.interventions = None if interventions is None else check_mask(interventions, self.table)
        self.ess = check_ess(ess)
        self.prior = get_prior(prior)
        self.n_jobs = n_jobs
        # The tables, once they are filled: shared by the scores with other priors, and with the threads that ask first.
        self._filled: list[tuple[Floats, Floats, Floats]] = []
        self._filling = Lock()
        self._flat: dict[int, Floats] = {}
        self.index = {name: i for i, name in enumerate(self.table.variables)}
        self.candidates = self._checked_candidates(candidates)
        # No context has more variables than there are candidates.
        bound = check_beta(beta)
        self.betas = tuple(min(bound, max(2, len(own))) for own in self.candidates)

    def _read(self, data: Any) -> TableLike:
        """Return the data; those of which pairs are counted are faster as codes in memory than packed."""
        return as_counted(data)

    @property
    def rows(self) -> Table:
        """The rows in memory, for what looks at them itself."""
        return as_table(self.table)

    @cached_property
    def counts(self) -> Counts:
        """The counts of the rows."""
        return counts_of(self.table, self.interventions, self.n_jobs)

    # Whether stagings are those of grown trees, as in `cslearn.grown.GrownScores`, and the power of the outcomes of the
    # context variables by which the prior count of a stage shrinks.
    grown = False
    gamma = 1.0

    def a_stage(self, outcomes: float) -> float:
        """Return the prior count of a stage whose context variables have so many outcomes."""
        return float(self.ess * outcomes**-self.gamma)

    def with_prior(self, prior: str | Prior) -> Scores:
        """Return the scores with another prior over stagings; the tables, which do not depend on it, are shared."""
        other = self._twin()
        other.prior = get_prior(prior)
        return other

    def with_ess(self, ess: float) -> Scores:
        """Return the scores with another equivalent sample size; their tables are filled anew."""
        other = self._twin()
        other.ess = check_ess(ess)
        other._filled, other._filling = [], Lock()
        other._flat = {}
        return other

    def _twin(self) -> Scores:
        other = object.__new__(Scores)
        other.__dict__.update(self.__dict__)
        return other

    def __getstate__(self) -> dict[str, Any]:
        # A copy elsewhere fills the tables beyond two context variables when it needs them, and locks for itself.
        state = self.__dict__ | {"_filling": None, "_flat": {}}
        state.pop("counts", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _filling=Lock())

    def _checked_candidates(self, candidates: Mapping[str, Iterable[str]] | None) -> tuple[NDArray[np.intp], ...]:
        """Return the columns of the candidates of each variable, ascending, constant variables left out."""
        names, varies, index = self.table.variables, np.array(self.table.cards) > 1, self.index
        given = dict.fromkeys(names, names) if candidates is None else candidates
        sets = []
        for name in [*names, *(name for name in given if name not in index)]:
            usable = np.zeros(len(names), dtype=bool)
            # Looked up in place where they are known: with many variables there are many pairs of them.
            usable[[index[v] if v in index else self._column(v) for v in given.get(name, ())]] = True
            usable[self._column(name)] = False
            sets.append(np.flatnonzero(usable & varies))
        return tuple(sets)

    @property
    def beta(self) -> int:
        """The largest of the context bounds."""
        return max(self.betas)

    def _column(self, name: str) -> int:
        if name not in self.index:
            raise InputError(f"there is no variable {name!r}; the data have {', '.join(self.table.variables)}")
        return self.index[name]

    def log_normaliser(self, target: int, cards: NDArray[np.intp]) -> float:
        """Return the log of the sum of the prior's weights over a level of candidates with these cardinalities."""
        return self.prior.log_normaliser(cards, self.betas[target])

    # ------------------------------------------------------------------ contexts
    def log_z(self, target: str, context: Mapping[str, Any]) -> float:
        """Return the log marginal likelihood of `target` in the rows that agree with `context`, of any size."""
        (score,) = self._stage_scores(target, [Context(context)])
        return score

    def n_rows(self, context: Mapping[str, Any]) -> float:
        """Return the number (or total weight) of the rows that agree with `context`."""
        pairs = [self._coded(v, state) for v, state in context.items()]
        counts = self.counts if self.interventions is None else counts_of(self.table)
        return float(counts.own(Contexts.of_target(0, [pairs])).sum())

    def _stage_scores(self, target: str, contexts: Iterable[Context]) -> list[float]:
        counts, sizes = self.stage_counts(target, list(contexts))
        return [log_marginal_likelihood(own, self.a_stage(size)) for own, size in zip(counts, sizes, strict=True)]

    def stage_counts(self, target: str, stages: Sequence[Context]) -> tuple[Floats, Floats]:
        """Return how often each state of `target` stands in each of some contexts, and the sizes of the contexts.

        The size of a context is the number of outcomes of its variables, by which `ess` is divided.
        """
        i, cards = self._column(target), self.table.cards
        pairs = [[self._coded(variable, state) for variable, state in context.items()] for context in stages]
        sizes = np.array([prod(cards[v] for v, _ in context) for context in pairs], dtype=float)
        return self.cells(i, pairs), sizes

    def cells(self, target: int, contexts: Sequence[Sequence[tuple[int, int]]]) -> Floats:
        """Return how often each state of a target stands in each of some contexts, by columns and codes.

        Rows in which the target was set from outside are not counted.

        Parameters
        ----------
        target : int
            Its column.
        contexts : sequence of sequences of (column, code) pairs

        Returns
        -------
        ndarray, shape (contexts, cardinality of the target)
        """
        return self.counts.own(Contexts.of_target(target, contexts))[:, : self.table.cards[target]]

    def _coded(self, variable: str, state: Any) -> tuple[int, int]:
        column = self._column(variable)
        states = self.table.states[column]
        if state not in states:
            raise InputError(f"{variable!r} has no state {state!r}; it has {', '.join(map(str, states))}")
        return column, states.index(state)

    # ------------------------------------------------------------------ tables
    @property
    def tables(self) -> tuple[Floats, Floats, Floats]:
        """``(stop, single, pair)``: the log scores of all contexts of at most two candidates of each target.

        ``stop[i]`` is for the empty context, ``single[i, k, x]`` for ``x_k = x`` and ``pair[i, j, k, x]`` the sum
        over the states ``y`` of ``j`` for ``x_k = x, x_j = y``, minus infinity for ``j = k``. Here `j` and `k` are
        positions in the candidate set of `i`; what lies beyond the size of that set, or beyond the cardinality of
        ``k``, is not to be read. They are filled when first asked for, once for an equivalent sample size.
        """
        with self._filling:
            if not self._filled:
                self._filled.append(self._fill_all())
        return self._filled[0]

    def _fill_all(self) -> tuple[Floats, Floats, Floats]:
        """Fill the tables, one target in a thread."""
        p, m, d = self.table.p, max(map(len, self.candidates)), max(self.table.cards)
        beta, cards = min(self.beta, 2), np.array(self.table.cards, dtype=np.int64)
        stop = np.zeros(p)
        single = np.zeros((p, m, d) if beta >= 1 else (p, 0, d))
        pair = np.zeros((p, m, m, d) if beta >= 2 else (p, 0, 0, d))
        for i in range(p):
            stop[i] = log_marginal_likelihood(self.cells(i, [()])[0], self.ess)
        look_ups = self._look_ups(cards) if beta else {}

        def fill(i: int) -> None:
            self._fill_single(i, cards, look_ups[cards[i]], single[i])
            if beta >= 2:
                self._fill_pairs(i, cards, look_ups[cards[i]], pair[i])

        with ThreadPoolExecutor(n_threads(self.n_jobs)) as pool:
            list(pool.map(fill, range(p) if beta else ()))
        return stop, single, pair

    def _look_ups(self, cards: NDArray[np.int64]) -> dict[int, tuple[Floats, NDArray[np.int64]]]:
        """Return for targets of each cardinality tables of log-gammas, and where in them each size of context is."""
        sizes = np.unique(cards[cards > 1])
        products = np.unique(np.concatenate([sizes, np.outer(sizes, sizes).ravel()]))
        entry = np.zeros(int(products.max(initial=0)) + 1, dtype=np.int64)
        entry[products] = np.arange(len(products))
        weights, total = self.table.weights, self.counts.total
        whole = weights is None or bool(np.all(weights == np.floor(weights)))
        n = int(total) if whole and 2 * len(products) * (total + 1) <= LOOK_UP_LIMIT else -1
        return {d: (log_gamma_tables(n, self.ess, products, d), entry) for d in set(cards.tolist())}

    def _fill_single(self, i: int, cards: NDArray[np.int64], look_ups: tuple[Any, ...], single: Floats) -> None:
        """Fill the scores of the contexts of one candidate of a target."""
        from cslearn._kernels.context_scores import score_cells

        own = cards[self.candidates[i]]
        counts, found = joint_counts(self.counts, i, self.candidates[i][:, None]), np.empty(int(own.sum()))
        score_cells(counts, own, cards[i], self.ess, *look_ups, found)
        single[: len(own)][np.arange(single.shape[1]) < own[:, None]] = found

    def _fill_pairs(self, i: int, cards: NDArray[np.int64], look_ups: tuple[Any, ...], pair: Floats) -> None:
        """Fill the scores of the contexts of two candidates of a target, added up over the states of the second."""
        from cslearn._kernels.context_scores import score_pairs

        columns = self.candidates[i]
        own = cards[columns]
        positions = _pairs(len(columns))
        first, second = positions
        ends = np.cumsum(own[first] * own[second] * cards[i])
        starts = np.flatnonzero(np.diff(ends // CELLS_AT_ONCE, prepend=-1)).tolist()
        for begin, end in pairwise([*starts, len(ends)]):
            some = positions[:, begin:end]
            counts = joint_counts(self.counts, i, columns[some].T)
            score_pairs(counts, own, cards[i], *some, self.ess, *look_ups, pair)
        there = np.arange(len(columns))
        pair[there, there] = -inf

    def level_weights(self, target: int, level: NDArray[np.intp]) -> LevelWeights | TreeWeights:
        """Return the log-weights, likelihood times unnormalised prior, of the stages of a level.

        `level` holds positions in the candidate set of the target, ascending.
        """
        cards = np.array(self.table.cards, dtype=np.intp)[self.candidates[target][level]]
        beta, m = self.betas[target], len(level)
        if self.beta > 2:
            places = layout(tuple(map(int, cards)), beta)
            sizes = [prod(places.cards[k] for k in own) for own in places.sets]
            log_stages = [self.prior.log_stage(m, len(own), beta, d) for own, d in zip(places.sets, sizes, strict=True)]
            flat = chosen_blocks(self._layout(target), self.context_scores(target), level.tolist())
            return TreeWeights(cards, flat + np.repeat(log_stages, sizes), self.prior.splits(m, beta))
        stages, deepest = self.stage_tables(target, level)
        prior = self.prior.level_weights(cards, beta)
        return LevelWeights(
            cards,
            [scores + weights for scores, weights in zip(stages, prior.stages, strict=True)],
            None if prior.deepest is None or deepest is None else deepest + prior.deepest,
            prior.splits,
        )

    def _layout(self, target: int) -> Layout:
        return layout(tuple(int(self.table.cards[c]) for c in self.candidates[target]), self.betas[target])

    def context_scores(self, target: int) -> Floats:
        """Return the log scores of all contexts of the candidates of a target, as :func:`layout` says."""
        if target not in self._flat:
            from cslearn._kernels.context_scores import score_cells

            places, columns = self._layout(target), self.candidates[target]
            out, sizes = np.empty(int(places.start[-1])), np.diff(places.start)
            computed, nowhere = np.empty((1, 2, 0)), np.zeros(int(sizes.max()) + 1, dtype=np.int64)
            for t in range(min(places.beta, len(places.cards)) + 1):
                sets = [s for s, own in enumerate(places.sets) if len(own) == t]
                a, b = sets[0], sets[-1] + 1
                there = columns[np.array(places.sets[a:b], dtype=np.intp).reshape(b - a, t)]
                score_cells(
                    joint_counts(self.counts, target, there),
                    sizes[a:b],
                    self.counts.cards[target],
                    self.ess,
                    computed,
                    nowhere,
                    out[places.start[a] : places.start[b]],
                )
            self._flat[target] = out
        return self._flat[target]

    def stage_tables(self, target: int, level: NDArray[np.intp]) -> tuple[list[Floats], Floats | None]:
        """Return the log scores of the contexts of a level, as :class:`cslearn.stagings.level.LevelWeights` wants them.

        For a context bound of at most two. `level` holds positions in the candidate set of the target.
        """
        cards = np.array(self.table.cards)[self.candidates[target][level]]
        d = int(cards.max(initial=1))
        beta = self.betas[target]
        stop, single, pair = (table[target] for table in self.tables)
        if beta == 0:
            return [np.asarray(stop)], None
        if beta == 1:
            exists = np.arange(d) < cards[:, None]
            return [np.asarray(stop)], np.where(exists, single[level, :d], 0.0).sum(axis=1)
        return [np.asarray(stop), single[level, :d]], pair[np.ix_(level, level, np.arange(d))].transpose(1, 2, 0)

    # ------------------------------------------------------------------ stagings, orders, CStrees
    def _level(self, target: str, predecessors: Iterable[str]) -> tuple[int, NDArray[np.intp]]:
        before = {self._column(name) for name in predecessors}
        i = self._column(target)
        return i, np.array([k for k, c in enumerate(self.candidates[i]) if c in before], dtype=np.intp)

    def local_order_score(self, target: str, predecessors: Iterable[str]) -> float:
        """Return ``log los(i, L)``, with ``L`` the candidates of `target` among `predecessors`.

        It is the log of the sum over the stagings of the level of prior times marginal likelihood.
        """
        i, level = self._level(target, predecessors)
        weights = self.level_weights(i, level)
        return weights.log_sum() - self.log_normaliser(i, weights.cards)

    def order_score(self, order: Sequence[str]) -> float:
        """Return the log of ``P(data, order)``, with the uniform prior ``1 / p!`` over orders."""
        self._check_order(order)
        local = (self.local_order_score(name, order[:position]) for position, name in enumerate(order))
        return fsum(local) - lgamma(len(order) + 1)

    def best_staging(self, target: str, predecessors: Sequence[str]) -> tuple[float, Staging]:
        """Return the most probable staging of `target` after `predecessors`, and its log joint score.

        With a prior that weighs trees and more than two context variables it is that of the best decision tree; see
        :mod:`cslearn.stagings.level`.
        """
        i, level = self._level(target, predecessors)
        weights = self.level_weights(i, level)
        value, contexts = weights.maximum()
        staging = self._named(contexts, i, level, predecessors)
        return value - self.log_normaliser(i, weights.cards), staging

    def draw_staging(self, target: str, predecessors: Sequence[str], rng: np.random.Generator) -> Staging:
        """Draw a staging of `target` after `predecessors` from its posterior given the order."""
        i, level = self._level(target, predecessors)
        return self._named(self.level_weights(i, level).draw(rng), i, level, predecessors)

    def _named(
        self,
        contexts: Iterable[Iterable[tuple[int, int]]],
        target: int,
        level: NDArray[np.intp],
        predecessors: Sequence[str],
    ) -> Staging:
        names = [self.table.variables[c] for c in self.candidates[target][level]]
        scope = {name: self.table.states[self._column(name)] for name in predecessors}
        return Staging.trusted(scope, [Context((names[k], scope[names[k]][x]) for k, x in pairs) for pairs in contexts])

    def staging_score(self, target: str, staging: Staging) -> float:
        """Return the log of prior times marginal likelihood of a staging of `target`.

        It is minus infinity if the staging passes the context bound or leaves the candidate set.
        """
        i, level = self._level(target, staging.scope)
        names = {self.table.variables[c] for c in self.candidates[i][level]}
        if staging.bound > self.betas[i] or not names.issuperset(staging.context_variables):
            return -inf
        cards = np.array([self.table.cards[self._column(name)] for name in names], dtype=np.intp)
        prior = self.prior.log_weight(staging, len(level), self.betas[i])
        likelihood = fsum(self._stage_scores(target, staging.contexts))
        return prior + likelihood - self.log_normaliser(i, cards)

    def cstree_score(self, tree: _CStreeLike) -> float:
        """Return the log of ``P(data, staging, order)``: the posterior of the CStree up to a constant."""
        self._check_order(tree.order)
        local = (self.staging_score(name, tree.stagings[name]) for name in tree.order)
        return fsum(local) - lgamma(len(tree.order) + 1)

    def log_marginal_likelihood(self, tree: _CStreeLike) -> float:
        """Return the log of ``P(data | staging, order)``, which Markov equivalent CStrees share."""
        self._check_order(tree.order)
        return fsum(s for name in tree.order for s in self._stage_scores(name, tree.stagings[name].contexts))

    def _check_order(self, order: Sequence[str]) -> None:
        if sorted(order) != sorted(self.table.variables):
            odd = sorted(set(order).symmetric_difference(self.table.variables)) or ["a variable that stands twice"]
            raise InputError(f"the order is not a permutation of the variables of the data: see {', '.join(odd)}")


LARGEST_ESS = 1e15  # beyond, counts vanish beside it, and its gamma function beyond all numbers


def check_ess(ess: Any) -> float:
    """Return an equivalent sample size as a float, or raise an error."""
    if isinstance(ess, bool) or not (isinstance(ess, int | float | np.number) and 0 < ess <= LARGEST_ESS):
        raise InputError(f"ess, the equivalent sample size, is a positive number up to {LARGEST_ESS:g}, not {ess!r}")
    return float(ess)


def check_mask(mask: Any, table: TableLike) -> NDArray[np.bool_]:
    """Return which variables were set in which rows, shape (n, p); an error says what is wrong with the mask."""
    array = np.asarray(mask)
    if array.shape != (table.n, table.p) or array.dtype != bool:
        raise InputError(
            f"interventions are a mask of True and False with a row for each of the {table.n} rows and a column for"
            f" each of the {table.p} variables; this one has shape {array.shape} and type {array.dtype}"
        )
    return array


@lru_cache(maxsize=4)
def _pairs(m: int) -> NDArray[np.intp]:
    """Return all pairs of positions below `m`, shape (2, pairs)."""
    return np.array(np.tril_indices(m, -1))


def log_gamma_tables(n: int, ess: float, products: NDArray[np.int64], d_i: int) -> NDArray[np.float64]:
    """Return ``lgamma(a + c) - lgamma(a)`` for c = 0..n, shape (products, 2, n + 1), as the kernels want it."""
    whole = np.arange(n + 1.0)
    stage = ess / products[:, None]
    return np.stack([gammaln(a + whole) - gammaln(a) for a in (stage, stage / d_i)], axis=1)
