"""Distributions of missing cells for many rows at once.

The missing cells of a row fall into *blocks*: two of them are in one block if they are connected, through missing cells
only, in the graph in which the variables of each family (a variable and its parents) are joined. Given what is known in
the row the blocks are independent, and only the families that touch a block matter for it. Rows in which the same block
needs the same families are handled together: each family gives a factor with an axis for the rows. Where nearly every
row has gaps of its own they are handled one by one, by a kernel.

Of the variables that are missing, those without known descendants and that nobody asks for sum to one: they are left
out before blocks are formed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cslearn._numerics import RandomState, as_generator, log_sum_exp_axis
from cslearn._warnings import warn
from cslearn._wording import option
from cslearn.counts import StageFinder
from cslearn.errors import EstimateWarning, LimitError
from cslearn.inference.compiled import Compiled
from cslearn.inference.estimates import Method, check_method
from cslearn.inference.evidence import Evidence
from cslearn.inference.factors import TABLE_LIMIT, Factor, Floats, elimination_order, stage_factors, sum_out
from cslearn.inference.sampling import FEW, Draws, NoDrawAgreesError, draws_given

if TYPE_CHECKING:
    from cslearn.inference.queries import Queries

__all__ = ["N_ROW_SAMPLES", "Rows", "patterns"]

# Entries of the tables that are made for rows together; more rows are handled in parts.
PART = 1 << 22
# More patterns of gaps than this are not looked at one by one.
DIFFERENT = 50
# Draws for each row that needs an estimate.
N_ROW_SAMPLES = 10_000

Codes = NDArray[np.int32]
Block = tuple[tuple[int, ...], tuple[int, ...]]


def patterns(codes: Codes) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.intp]]]:
    """Yield every pattern of missing cells, and the rows that have it."""
    missing = codes < 0
    packed = np.ascontiguousarray(np.packbits(missing, axis=1))
    keys = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    rows = np.argsort(inverse, kind="stable")
    ends = np.cumsum(np.bincount(inverse, minlength=len(first)))
    for number, end in enumerate(ends):
        begin = ends[number - 1] if number else 0
        yield missing[first[number]], rows[begin:end]


class Rows:
    """A model compiled for rows of codes, in which -1 is a missing cell."""

    def __init__(self, queries: Queries) -> None:
        self.queries = queries
        self.cards = queries.cards
        self.parents = queries.parents
        self.order = [queries.coder.column[name] for name in queries.tree.order]
        self._factors: dict[int, list[Factor]] = {}
        self._room = TABLE_LIMIT
        self._stages: dict[int, tuple[StageFinder, Floats]] = {}
        self.families = [(*parents, v) for v, parents in enumerate(self.parents)]
        self.touching: list[list[int]] = [[] for _ in self.cards]
        for v, family in enumerate(self.families):
            for u in family:
                self.touching[u].append(v)

    def factors(self, v: int) -> list[Factor]:
        """Return the factors of a variable; a LimitError if these, with those made before, are too large to keep."""
        if v not in self._factors:
            self._factors[v] = stage_factors(v, self.queries.stages[v], self.cards, total=self._room)
            self._room -= sum(table.size for _, table in self._factors[v])
        return self._factors[v]

    def log_conditional(self, v: int, codes: Codes) -> Floats:
        """Return the log-probability of a variable given its parents in rows in which its whole family is known."""
        if v not in self._stages:
            stages = self.queries.stages[v]
            with np.errstate(divide="ignore"):
                self._stages[v] = StageFinder([pairs for pairs, _ in stages]), np.log([row for _, row in stages])
        find, logs = self._stages[v]
        found: Floats = logs[find(codes), codes[:, v]]
        return found

    def _posterior_of_one(self, block: Block, keep: Sequence[int], codes: Codes) -> tuple[Floats, Floats]:
        """Return what :meth:`posterior` does for a block of one cell: each of its states is tried, without tables."""
        (only,) = block[0]
        filled = codes.copy()
        logs = np.zeros((len(codes), self.cards[only]))
        for x in range(self.cards[only]):
            filled[:, only] = x
            for v in block[1]:
                logs[:, x] += self.log_conditional(v, filled)
        log_prob = log_sum_exp_axis(logs, 1)
        possible = log_prob > -np.inf
        shares = np.exp(logs - np.where(possible, log_prob, 0.0)[:, None])
        return (shares if keep else possible.astype(float)), log_prob

    @cached_property
    def compiled(self) -> Compiled:
        """The model as arrays, for rows that are handled one by one."""
        return Compiled(self.queries)

    def _all_different(self, codes: Codes) -> bool:
        """Tell whether rows have so many patterns of gaps that they are better handled one by one."""
        return sum(1 for _ in patterns(codes)) > DIFFERENT and self.compiled.fits

    def relevant(self, missing: NDArray[np.bool_], wanted: Collection[int]) -> list[bool]:
        """Tell which variables are known, wanted, or have such a descendant."""
        needed = (~missing).tolist()
        for v in wanted:
            needed[v] = True
        for v in reversed(self.order):
            if needed[v]:
                for u in self.parents[v]:
                    needed[u] = True
        return needed

    def block(self, start: int, missing: NDArray[np.bool_], needed: Sequence[bool]) -> Block:
        """Return the missing cells connected with `start`, and the families that touch them."""
        members, families, waiting = {start}, set(), [start]
        while waiting:
            for v in self.touching[waiting.pop()]:
                if needed[v] and v not in families:
                    families.add(v)
                    for u in self.families[v]:
                        if missing[u] and u not in members:
                            members.add(u)
                            waiting.append(u)
        return tuple(sorted(members)), tuple(sorted(families))

    def row_factors(self, block: Block, codes: Codes) -> list[Factor]:
        """Return the factors of the families of a block, given what is known in each row."""
        members, families = set(block[0]), block[1]
        factors = []
        for v in families:
            for scope, table in self.factors(v):
                known = [axis for axis, u in enumerate(scope) if u not in members]
                free = [axis for axis, u in enumerate(scope) if u in members]
                own = tuple(scope[axis] for axis in free)
                if known:
                    index = tuple(codes[:, scope[axis]] for axis in known)
                    factors.append(Factor((-1, *own), table.transpose([*known, *free])[index]))
                else:
                    factors.append(Factor(own, table))
        return factors

    def posterior(self, block: Block, keep: Sequence[int], codes: Codes) -> tuple[Floats, Floats]:
        """Return the distribution of the variables `keep` of a block in each row, and the log of its normaliser.

        Returns
        -------
        table : ndarray, shape (rows, states of the first of `keep`, ...)
            `keep` ascending. Zero in rows that are impossible.
        log_prob : ndarray, shape (rows,)
            Log of the sum over the block of the product of its families; minus infinity in impossible rows.
        """
        if len(block[0]) == 1:
            return self._posterior_of_one(block, keep, codes)
        cards = dict(enumerate(self.cards)) | {-1: 1}
        scopes = [(*(u for u in scope if u in block[0]), -1) for v in block[1] for scope, _ in self.factors(v)]
        order = elimination_order(scopes, (*keep, -1), cards, self.queries.max_table)
        sizes = [self.cards[v] for v in keep]
        table = np.zeros((len(codes), *sizes))
        log_prob = np.zeros(len(codes))
        step = max(1, PART // self._largest(scopes, order, cards))
        for begin in range(0, len(codes), step):
            part = codes[begin : begin + step]
            factors = [*self.row_factors(block, part), Factor((-1,), np.ones(len(part)))]
            (_, result), scale = sum_out(factors, order)
            sums = result.reshape(len(part), -1).sum(axis=1)
            table[begin : begin + step] = result / np.where(sums > 0, sums, 1).reshape(-1, *[1] * len(sizes))
            with np.errstate(divide="ignore"):
                log_prob[begin : begin + step] = scale + np.log(sums)
        return table, log_prob

    def _largest(self, scopes: Sequence[tuple[int, ...]], order: Sequence[int], cards: dict[int, int]) -> int:
        """Return the number of entries for each row of the largest table that an elimination makes."""
        left = [set(scope) for scope in scopes]
        largest = 1
        for v in order:
            joined = set().union(*(scope for scope in left if v in scope))
            largest = max(largest, int(np.prod([cards[u] for u in joined], dtype=float)))
            left = [*(scope for scope in left if v not in scope), joined - {v}]
        return max(largest, int(np.prod([cards[u] for u in set().union(*left)], dtype=float)))

    def distribution(
        self,
        target: int,
        codes: Codes,
        *,
        method: Method = "auto",
        n_samples: int = N_ROW_SAMPLES,
        random_state: RandomState = 0,
    ) -> Floats:
        """Return the distribution of a variable given the other known cells of each row.

        Rows that are impossible are NaN. Rows whose tables would be too large are estimated, with a warning.

        Returns
        -------
        ndarray, shape (rows, states)
        """
        check_method(method)
        codes = codes.copy()
        codes[:, target] = -1
        result = np.empty((len(codes), self.cards[target]))
        left = np.arange(len(codes))
        if method != "sampling" and self._all_different(codes):
            result, log_prob = self.compiled.posteriors(target, codes)
            result[np.isneginf(log_prob)] = np.nan
            left = np.flatnonzero(np.isnan(log_prob))
        jobs: dict[Block, list[NDArray[np.intp]]] = {}
        for missing, rows in patterns(codes[left]):
            needed = self.relevant(missing, [target])
            jobs.setdefault(self.block(target, missing, needed), []).append(left[rows])
        hard: list[int] = []
        for block, parts in jobs.items():
            rows = np.concatenate(parts)
            try:
                if method == "sampling":
                    raise LimitError("an estimate is wanted")
                table, log_prob = self.posterior(block, [target], codes[rows])
            except LimitError:
                hard += rows.tolist()
                continue
            table[np.isneginf(log_prob)] = np.nan
            result[rows] = table
        # One by one evidence reduces the stages of each row further.
        estimator = _RowEstimates(self.queries, method, n_samples, random_state)
        for row in hard:
            result[row] = estimator.distribution(target, _known(codes[row]))
        estimator.tell()
        if self._has_zeros:
            # What is known apart from the target's block does not change its distribution, but may be impossible.
            result[np.isneginf(self._summed_log_prob(codes)[0])] = np.nan
        return result

    @cached_property
    def _has_zeros(self) -> bool:
        """Whether any outcome is impossible under the model."""
        return any((np.asarray(row) == 0).any() for stages in self.queries.stages for _, row in stages)

    def log_prob(self, codes: Codes, *, n_samples: int = N_ROW_SAMPLES, random_state: RandomState = 0) -> Floats:
        """Return the log-probability of what is known in each row; minus infinity where that is impossible.

        Rows whose tables would be too large are estimated, with a warning.

        Returns
        -------
        ndarray, shape (rows,)
        """
        total, hard = self._summed_log_prob(codes)
        estimator = _RowEstimates(self.queries, "auto", n_samples, random_state)
        for row in hard:
            total[row] = estimator.log_prob(_known(codes[row]))
        estimator.tell()
        return total

    def _summed_log_prob(self, codes: Codes) -> tuple[Floats, set[int]]:
        """Return log-probabilities without estimates, and the rows that lack a part whose tables would be too large."""
        total = np.zeros(len(codes))
        left_over = np.arange(len(codes))
        if self._all_different(codes):
            total = self.compiled.log_prob(codes)
            left_over = np.flatnonzero(np.isnan(total))
            total[left_over] = 0.0
        jobs: dict[Block, list[NDArray[np.intp]]] = {}
        whole: dict[int, list[NDArray[np.intp]]] = {}
        for missing, rows in patterns(codes[left_over]):
            rows = left_over[rows]
            needed = self.relevant(missing, ())
            left = {v for v, gap in enumerate(missing) if gap and needed[v]}
            seen: set[int] = set()
            while left:
                block = self.block(min(left), missing, needed)
                left -= set(block[0])
                seen.update(block[1])
                jobs.setdefault(block, []).append(rows)
            for v, wanted in enumerate(needed):
                if wanted and v not in seen:
                    whole.setdefault(v, []).append(rows)
        with np.errstate(divide="ignore"):
            for v, parts in whole.items():
                rows = np.concatenate(parts)
                total[rows] += self.log_conditional(v, codes[rows])
        hard: set[int] = set()
        for block, parts in jobs.items():
            rows = np.concatenate(parts)
            try:
                total[rows] += self.posterior(block, (), codes[rows])[1]
            except LimitError:
                hard.update(rows.tolist())
        return total, hard


class _RowEstimates:
    """Answers for single rows, estimated where they are too large, and the warning that some were."""

    def __init__(self, queries: Queries, method: Method, n_samples: int, random_state: RandomState) -> None:
        self.queries, self.method, self.n_samples = queries, method, n_samples
        self.rng = as_generator(random_state)
        self.estimated, self.poor = 0, 0

    def distribution(self, target: int, known: dict[int, int]) -> Floats:
        """Return the distribution of a variable given known codes; NaN if they are impossible."""
        if self.method != "sampling":
            try:
                return self.queries.coded_distribution(target, known)
            except LimitError as error:
                if self.method == "exact":
                    raise LimitError(
                        f"{error} Fill in more columns of the rows, or estimate it with {option('method', 'sampling')}."
                    ) from None
        draws = self._draws(known, [target])
        if draws is None:
            return np.full(self.queries.cards[target], np.nan)
        weights = draws.weights.ravel()
        return np.bincount(draws.codes[target], weights, self.queries.cards[target]) / weights.sum()

    def log_prob(self, known: dict[int, int]) -> float:
        """Return the log-probability of known codes."""
        try:
            return self.queries.coded_log_prob(known)
        except LimitError:
            draws = self._draws(known, [])
            return -np.inf if draws is None else draws.log_prob()[0]

    def _draws(self, known: dict[int, int], wanted: list[int]) -> Draws | None:
        try:
            draws = draws_given(self.queries, Evidence(known, {}, {}), wanted, self.n_samples, self.rng)
        except NoDrawAgreesError:
            return None
        self.estimated += 1
        self.poor += draws.effective < FEW
        return draws

    def tell(self) -> None:
        """Warn if there were estimates that were not asked for, or that are rough."""
        if self.poor or (self.estimated and self.method == "auto"):
            poor = (
                f" {self.poor:,} of them are rough, as too few draws agree with the row: more draws help (n_samples)."
            )
            warn(
                f"exact answers for {self.estimated:,} rows would need too large tables: they are estimates from"
                f" {self.n_samples:,} draws each.{poor * bool(self.poor)}",
                EstimateWarning,
            )


def _known(row: NDArray[np.int32]) -> dict[int, int]:
    return {v: int(x) for v, x in enumerate(row) if x >= 0}
