"""Missing cells: their distribution given the rest of the row, expectation-maximisation, imputation.

The missing cells of a row fall into blocks that are independent given what is known; see :mod:`cslearn.inference.rows`.
For expected counts and draws they are eliminated row by row, forth and back. For the most probable completion the
outcomes of a block are listed where there are few.

Expectation-maximisation (EM) alternates between the expected counts of the stages, given the parameters, and the
parameters, given these counts. With relative frequencies (``mle``) each round increases the likelihood of what is
known. The posterior mean ``(n + a) / (N + A)`` is the mode under a Dirichlet prior with parameters ``a + 1``, so that
with ``mean`` each round increases the likelihood times that prior. Both are told by the trace of the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from cslearn._checked import checked
from cslearn._numerics import RandomState, as_generator
from cslearn._warnings import warn
from cslearn.counts import stage_of_rows
from cslearn.cstree.parameters import Method, estimate
from cslearn.data import Table, as_frame, incomplete_codes
from cslearn.data._weights import check_weights
from cslearn.errors import DataWarning, EstimateWarning, InputError, LimitError
from cslearn.inference.evidence import Evidence
from cslearn.inference.factors import Floats
from cslearn.inference.rows import N_ROW_SAMPLES, Block, Codes, Rows, patterns
from cslearn.inference.sampling import NoDrawAgreesError, draws_given

if TYPE_CHECKING:
    import pandas as pd

    from cslearn.cstree import CStree

__all__ = ["EMResult", "complete_codes", "em", "impute"]

# Outcomes of a block of missing cells that are listed; more are summed over by elimination.
LISTED = 1 << 10
# Entries of the lists that are held at once.
HELD = 30_000_000


@dataclass(frozen=True)
class EMResult:
    """What EM found.

    Attributes
    ----------
    tree : CStree
        The structure with the parameters of the last round.
    objective : list of float
        What EM increases, after each round, first for the parameters that it started from: for ``mle`` the
        log-likelihood of the known cells; for ``mean`` that plus the logarithm of the prior it maximises with. Empty
        if a learner drew the missing cells of some rows, because the sums over them are too large.
    log_likelihood : float
        The log-likelihood of the known cells under the parameters of the last round but one; not a number after draws.
    converged : bool
        Whether the last round changed the objective by less than the tolerance.
    """

    tree: CStree
    objective: list[float]
    log_likelihood: float
    converged: bool


@dataclass(frozen=True)
class _Job:
    """Rows that have the same block of missing cells."""

    block: Block
    rows: NDArray[np.intp]


def _jobs(rows: Rows, codes: Codes) -> list[_Job]:
    """Return all blocks of missing cells, each with its rows."""
    everything = [True] * codes.shape[1]
    found: dict[Block, list[NDArray[np.intp]]] = {}
    for missing, members in patterns(codes):
        left = set(np.flatnonzero(missing).tolist())
        while left:
            block = rows.block(min(left), missing, everything)
            left -= set(block[0])
            found.setdefault(block, []).append(members)
    return [_Job(block, np.concatenate(parts)) for block, parts in found.items()]


def _number_of_outcomes(cards: list[int], block: Block) -> float:
    return float(np.prod([cards[v] for v in block[0]], dtype=float))


def _outcomes(cards: list[int], block: Block) -> NDArray[np.intp]:
    """Return the outcomes of a block, shape (outcomes, variables)."""
    return np.indices([cards[v] for v in block[0]]).reshape(len(block[0]), -1).T


class _Cells:
    """Which cell of the parameters each row and outcome of a job falls into, for each family of the block."""

    def __init__(self, tree: CStree, rows: Rows, job: _Job, codes: Codes) -> None:
        outcomes = _outcomes(rows.cards, job.block)
        place = {v: j for j, v in enumerate(job.block[0])}
        size = len(job.rows), len(outcomes)
        self.cells: dict[int, NDArray[np.int32]] = {}
        for v in job.block[1]:
            family = rows.families[v]
            local = {u: j for j, u in enumerate(family)}
            columns = np.empty((*size, len(family)), dtype=np.int32)
            for u in family:
                columns[:, :, local[u]] = outcomes[:, place[u]] if u in place else codes[job.rows, u][:, None]
            contexts = [[(local[u], x) for u, x in pairs] for pairs, _ in rows.queries.stages[v]]
            flat = columns.reshape(-1, len(family))
            stage = stage_of_rows(flat, contexts).reshape(size)
            self.cells[v] = (stage * rows.cards[v] + columns[:, :, local[v]]).astype(np.int32)

    def log_weights(self, logs: dict[int, Floats]) -> Floats:
        """Return the log-probability of each outcome with what is known, shape (rows, outcomes)."""
        return sum(logs[v].ravel()[cells] for v, cells in self.cells.items())  # type: ignore[return-value]


def _parts(rows: Rows, job: _Job) -> list[_Job]:
    """Divide a job so that its lists are not too long."""
    entries = _number_of_outcomes(rows.cards, job.block) * sum(len(rows.families[v]) for v in job.block[1])
    step = max(1, int(HELD / 8 / entries))
    return [_Job(job.block, job.rows[begin : begin + step]) for begin in range(0, len(job.rows), step)]


@checked
def em(
    tree: CStree,
    data: Any,
    method: Method = "mean",
    *,
    ess: float = 1.0,
    gamma: float = 1.0,
    max_iter: int = 200,
    tol: float = 1e-6,
    weights: Any = None,
) -> EMResult:
    """Estimate the parameters of a structure from data with missing cells.

    Parameters
    ----------
    tree : CStree
        The structure; its own parameters, if it has any, are not looked at.
    data : frame, array, path or whatever :func:`cslearn.data.as_table` reads
        Missing cells are taken to be missing at random: that a cell is missing may depend on what is known of the row,
        not on the cell itself.
    method, ess, gamma
        As for :meth:`cslearn.CStree.fit_parameters`. For ``map`` the objective need not increase in every round.
    max_iter : int
        Most rounds.
    tol : float
        EM ends when a round changes the objective by less than this share of it.
    weights : array-like, optional
        Weights of the rows.

    Returns
    -------
    EMResult

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.inference import em
    >>> tree = chickenpox_model()
    >>> data = tree.sample(2000, random_state=0).astype(object)
    >>> data.loc[:500, "exposed"] = None
    >>> result = em(tree, data, "mle")
    >>> result.converged, all(a <= b + 1e-9 for a, b in zip(result.objective, result.objective[1:]))
    (True, True)
    >>> abs(result.tree.query("exposed")["yes"] - tree.query("exposed")["yes"]) < 0.02
    np.True_
    """
    codes = data if _is_codes(data) else incomplete_codes(data, tree.states)
    each = np.ones(len(codes)) if weights is None else check_weights(weights, len(codes))
    return _EM(tree, codes, each, method, ess, float(gamma)).run(max_iter, tol)


def summable(tree: CStree, codes: Codes) -> NDArray[np.bool_]:
    """Tell which rows :func:`em` sums over quickly: not those that miss many cells that depend on one another.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.inference.gaps import summable
    >>> summable(chickenpox_model(), np.array([[0, 1, -1, -1], [0, 1, 0, 0]], dtype=np.int32))
    array([ True,  True])
    """
    found = np.ones(len(codes), dtype=bool)
    of_gappy = _EM(tree, codes, np.ones(len(codes)), "mean", 1.0).summable()
    found[(codes < 0).any(axis=1)] = of_gappy
    return found


def _is_codes(data: Any) -> bool:
    return isinstance(data, np.ndarray) and data.dtype == np.int32 and data.ndim == 2


class _EM:
    def __init__(
        self, tree: CStree, codes: Codes, weights: Floats, method: Method, ess: float, gamma: float = 1.0
    ) -> None:
        self.codes, self.weights, self.method = codes, weights, method
        self.d = [len(tree.states[v]) for v in tree.variables]
        self.contexts = [tree.coded_contexts[v] for v in tree.variables]
        self.a_stage = [
            ess * np.array([np.prod([self.d[u] for u, _ in pairs], initial=1.0) ** -gamma for pairs in contexts])
            for contexts in self.contexts
        ]
        flat = {v: np.full((len(tree.stagings[v]), len(s)), 1 / len(s)) for v, s in tree.states.items()}
        self.tree = tree.with_parameters(flat)
        self.rows = Rows(self.tree.queries)
        self.fixed = [self._known_counts(v, self.rows) for v in range(len(self.d))]
        # Rows that are the same are summed over once, together.
        gaps = (codes < 0).any(axis=1)
        self.gappy, number = np.unique(codes[gaps], axis=0, return_inverse=True)
        self.number = number.ravel()
        self.times = np.bincount(self.number, weights[gaps], len(self.gappy)).astype(float)

    def _known_counts(self, v: int, rows: Rows) -> Floats:
        """Return the counts of the stages of a variable in rows in which its whole family is known."""
        known = (self.codes[:, list(rows.families[v])] >= 0).all(axis=1)
        stage = stage_of_rows(self.codes[known], self.contexts[v])
        cells = stage * self.d[v] + self.codes[known, v]
        size = len(self.contexts[v]) * self.d[v]
        counts = np.bincount(cells, weights=self.weights[known], minlength=size)
        return counts.astype(float).reshape(-1, self.d[v])

    def parameters(self, counts: list[Floats], method: Method) -> list[Floats]:
        return [estimate(c, a, method) for c, a in zip(counts, self.a_stage, strict=True)]

    def expectation(self, parameters: list[Floats]) -> tuple[list[Floats], float]:
        """Return the expected counts of all stages, and the log-likelihood of what is known."""
        with np.errstate(divide="ignore"):
            logs = {v: np.log(table) for v, table in enumerate(parameters)}
        counts = [fixed.copy() for fixed in self.fixed]
        total = 0.0
        for v, fixed in enumerate(self.fixed):
            total += float((fixed[fixed > 0] * logs[v][fixed > 0]).sum())
        log_prob = np.full(len(self.gappy), np.nan)
        if self.rows.compiled.fits:
            flat = np.concatenate([table.ravel() for table in parameters])
            expected, log_prob = self.rows.compiled.expected_counts(self.gappy, self.times, flat)
            ends = np.cumsum([table.size for table in parameters])[:-1]
            for table, part in zip(counts, np.split(expected, ends), strict=True):
                table += part.reshape(table.shape)
        large = np.isnan(log_prob)
        total += _weighted(self.times[~large], log_prob[~large])
        if large.any():
            names = self.tree.variables
            current = self.tree.with_parameters({names[v]: table for v, table in enumerate(parameters)})
            rows, left = Rows(current.queries), np.flatnonzero(large)
            for job in _jobs(rows, self.gappy[left]):
                total += self._eliminated(rows, _Job(job.block, left[job.rows]), counts)
        return counts, total

    def summable(self) -> NDArray[np.bool_]:
        """Tell for each row with gaps whether the kernel sums over it."""
        if not self.rows.compiled.fits:
            return np.zeros(len(self.number), dtype=bool)
        flat = np.concatenate([table.ravel() for table in self.parameters(self.fixed, "mean")])
        log_prob = self.rows.compiled.expected_counts(self.gappy, self.times, flat)[1]
        return ~np.isnan(log_prob)[self.number]

    def _eliminated(self, rows: Rows, job: _Job, counts: list[Floats]) -> float:
        """Add the expected counts of the families of a large block, one by one; return its log-likelihood."""
        codes, weights = self.gappy[job.rows], self.times[job.rows]
        log_prob = np.zeros(len(codes))
        for v in job.block[1]:
            keep = [u for u in rows.families[v] if u in job.block[0]]
            keep.sort()
            try:
                table, log_prob = rows.posterior(job.block, keep, codes)
            except LimitError as error:
                raise LimitError(
                    f"a row has {len(job.block[0])} missing cells that depend on one another, too many for"
                    f" expectation-maximisation: {error} Leave out rows with many gaps, or variables that are often"
                    " missing."
                ) from None
            part = _Job((tuple(keep), (v,)), np.arange(len(codes)))
            cell = _Cells(self.tree, rows, part, codes).cells[v]
            posterior = table.reshape(len(codes), -1) * weights[:, None]
            counts[v] += np.bincount(cell.ravel(), posterior.ravel(), counts[v].size).reshape(counts[v].shape)
        return _weighted(weights, log_prob)

    def run(self, max_iter: int, tol: float) -> EMResult:
        # Started from the known families; posterior means, since a zero would stay one.
        parameters = self.parameters(self.fixed, "mean")
        objective: list[float] = []
        log_likelihood, converged = 0.0, not len(self.gappy)
        for _ in range(max_iter):
            counts, log_likelihood = self.expectation(parameters)
            objective.append(log_likelihood + self._log_prior(parameters))
            if len(objective) > 1 and abs(objective[-1] - objective[-2]) <= tol * (1 + abs(objective[-1])):
                converged = True
                break
            parameters = self.parameters(counts, self.method)
            if not len(self.gappy):
                break
        if not converged:
            warn(
                f"EM has not converged in {max_iter} rounds: the last one changed the objective from"
                f" {objective[-2] if len(objective) > 1 else objective[-1]:.6g} to {objective[-1]:.6g}",
                DataWarning,
            )
        names = self.tree.variables
        fitted = self.tree.with_parameters({names[v]: table for v, table in enumerate(parameters)})
        return EMResult(fitted, objective, log_likelihood, converged)

    def _log_prior(self, parameters: list[Floats]) -> float:
        if self.method != "mean":
            return 0.0
        return sum(
            float((a[:, None] / table.shape[1] * np.log(table)).sum())
            for a, table in zip(self.a_stage, parameters, strict=True)
        )


def _normalised(log_weights: Floats) -> tuple[Floats, Floats]:
    """Return weights that sum to one in each row, and the logarithms of what they were divided by."""
    top = log_weights.max(axis=1)
    safe = np.where(np.isneginf(top), 0.0, top)
    weights = np.exp(log_weights - safe[:, None])
    sums = weights.sum(axis=1)
    with np.errstate(divide="ignore"):
        return weights / np.where(sums > 0, sums, 1)[:, None], safe + np.log(sums)


def _weighted(weights: Floats, logs: Floats) -> float:
    used = weights > 0
    return float(weights[used] @ logs[used])


# ---------------------------------------------------------------- imputation
def complete_codes(
    tree: CStree,
    codes: Codes,
    method: Literal["mode", "draw"] = "mode",
    random_state: RandomState = None,
    *,
    start: int = 0,
) -> Codes:
    """Return codes in which the missing cells (-1) are filled in.

    Parameters
    ----------
    tree : CStree
    codes : ndarray of int32, shape (n, p)
    method : {"mode", "draw"}
        The jointly most probable completion of each row, or one drawn from their distribution given what is known.
    random_state : int, Generator or None
    start : int
        The number of rows before these, for messages.
    """
    if method not in ("mode", "draw"):
        raise InputError(f"there is no method {method!r} of imputing; choose 'mode' or 'draw'")
    rng = as_generator(random_state)
    rows, filled = tree.queries.rows, codes.copy()
    parameters = tree.needed_parameters()
    left = np.flatnonzero((codes < 0).any(axis=1))
    if method == "draw" and len(left) and rows.compiled.fits:
        left = _draw_row_by_row(rows, codes, left, filled, rng, start)
    with np.errstate(divide="ignore"):
        logs = {v: np.log(parameters[name]) for v, name in enumerate(tree.variables)}
    for found in _jobs(rows, codes[left]):
        whole = _Job(found.block, left[found.rows])
        if _number_of_outcomes(rows.cards, whole.block) > LISTED:
            _complete_large(tree, whole, codes, filled, method, rng)
            continue
        for job in _parts(rows, whole):
            weights, log_prob = _normalised(_Cells(tree, rows, job, codes).log_weights(logs))
            _refuse_impossible(job.rows[np.isneginf(log_prob)], start)
            if method == "mode":
                chosen = weights.argmax(axis=1)
            else:
                uniform = rng.random((len(job.rows), 1))
                chosen = np.minimum((np.cumsum(weights, axis=1) < uniform).sum(axis=1), weights.shape[1] - 1)
            filled[np.ix_(job.rows, np.array(job.block[0]))] = _outcomes(rows.cards, job.block)[chosen]
    return filled


def _draw_row_by_row(
    rows: Rows, codes: Codes, gappy: NDArray[np.intp], filled: Codes, rng: np.random.Generator, start: int
) -> NDArray[np.intp]:
    """Complete rows one by one, equal neighbours together; return those whose tables would be too large."""
    given = codes[gappy]
    first = np.flatnonzero(np.append(True, (given[1:] != given[:-1]).any(axis=1)))
    begins = np.append(first, len(given))
    drawn, log_prob = rows.compiled.draws(given[first], begins, rng)
    of_draws = np.repeat(log_prob, np.diff(begins))
    _refuse_impossible(gappy[np.isneginf(of_draws)], start)
    large = np.isnan(of_draws)
    filled[gappy[~large]] = drawn[~large]
    return gappy[large]


def _refuse_impossible(rows: NDArray[np.intp], start: int) -> None:
    if len(rows):
        raise InputError(
            f"row {start + int(rows[0]) + 1} has probability zero under the model whatever its missing cells are."
            " Correct it, or estimate the model's parameters by 'mean', which leaves nothing impossible."
        )


def _complete_large(
    tree: CStree, job: _Job, codes: Codes, filled: Codes, method: str, rng: np.random.Generator
) -> None:
    """Fill in a block of too many outcomes to list: row by row, or variable after variable."""
    rows, names = tree.queries.rows, tree.variables
    if method == "mode":
        for row in job.rows:
            known = {names[v]: tree.states[names[v]][x] for v, x in enumerate(codes[row]) if x >= 0}
            found = tree.most_probable(known).outcome
            for v in job.block[0]:
                filled[row, v] = tree.states[names[v]].index(found[names[v]])
        return
    part = codes[job.rows].copy()
    try:
        # By the chain rule, those drawn already are known. In the order of the model, what comes later and is missing
        # sums to one, so that a row of which nothing is known is as quick to draw as one from the model.
        for v in sorted(job.block[0], key=rows.order.index):
            table = rows.distribution(v, part, method="exact")
            uniform = rng.random((len(part), 1))
            part[:, v] = np.minimum((np.cumsum(table, axis=1) < uniform).sum(axis=1), rows.cards[v] - 1)
    except LimitError:
        different = list(_equal_rows(codes[job.rows]))
        some = "1 row has" if len(different) == 1 else f"{len(different):,} different rows have"
        warn(
            f"{some} too many missing cells to be completed exactly: {N_ROW_SAMPLES:,} weighted draws are used instead",
            EstimateWarning,
        )
        for row, copies in different:  # equal rows share their weighted draws
            part[copies] = _drawn(tree, row, job.block, len(copies), rng)
    filled[np.ix_(job.rows, np.array(job.block[0]))] = part[:, list(job.block[0])]


def _equal_rows(codes: Codes) -> Iterator[tuple[NDArray[np.int32], NDArray[np.intp]]]:
    """Yield each different row, and where it stands."""
    different, number = np.unique(codes, axis=0, return_inverse=True)
    for k, row in enumerate(different):
        yield row, np.flatnonzero(number.ravel() == k)


def _drawn(tree: CStree, row: NDArray[np.int32], block: Block, n: int, rng: np.random.Generator) -> Codes:
    """Return a row completed `n` times, each by one of many weighted draws: nearly a draw from the conditional."""
    known = {v: int(x) for v, x in enumerate(row) if x >= 0}
    try:
        draws = draws_given(tree.queries, Evidence(known, {}, {}), block[0], N_ROW_SAMPLES, rng)
    except NoDrawAgreesError:
        raise InputError("a row has probability zero under the model, or nearly so: correct it") from None
    weights = draws.weights.ravel()
    chosen = rng.choice(draws.n, size=n, p=weights / weights.sum())
    return draws.codes[:, chosen].T.astype(np.int32)


def impute(
    tree: CStree,
    data: Any,
    method: Literal["mode", "draw"] = "mode",
    random_state: RandomState = None,
    **options: Any,
) -> pd.DataFrame:
    """See :meth:`cslearn.CStree.impute`."""
    frame = as_frame(data, **options)
    codes = incomplete_codes(data, tree.states, **options)
    filled = complete_codes(tree, codes, method, random_state, start=getattr(data, "start", 0))
    completed = Table(filled, tree.variables, [tree.states[v] for v in tree.variables]).to_frame()
    completed.index = frame.index
    for name in tree.variables:
        frame[name] = completed[name]
    return frame
