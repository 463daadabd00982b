"""A model as arrays, for kernels that go through rows with gaps one by one."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cslearn.errors import LimitError
from cslearn.inference.factors import Floats, stage_factors

if TYPE_CHECKING:
    from cslearn.inference.queries import Queries

__all__ = ["Compiled"]

# Most entries of the tables of all factors together.
TABLES = 1 << 24
# Most entries of a table that is made for a row, and of all of them together.
ROW_TABLE, ROW_TABLES = 1 << 18, 1 << 20

Codes = NDArray[np.int32]


class Compiled:
    """The factors of a model as arrays; see :mod:`cslearn._kernels.gaps`.

    Parameters
    ----------
    queries : Queries

    Attributes
    ----------
    fits : bool
        Whether the tables of the factors are small enough; without that nothing else is there.
    cells : ndarray of int64
        For each entry of the tables, which parameter it is, with the parameters of all variables one after the other,
        and the number 1 behind them for entries that no stage of the factor is about.
    parameters : ndarray of float64
        The parameters in that order, with the number 1 behind them.
    """

    def __init__(self, queries: Queries) -> None:
        scopes: list[tuple[int, ...]] = []
        numbers, owners, strides, tables = [], [], [], [0]
        first = 0
        for v, stages in enumerate(queries.stages):
            # The factors of the numbers of the parameters instead of the parameters; 1 stands for none.
            d = queries.cards[v]
            cells = [np.arange(d, dtype=np.float64) + (first + s * d + 2) for s in range(len(stages))]
            contexts = [pairs for pairs, _ in stages]
            first += len(stages) * d
            try:
                numbered = list(zip(contexts, cells, strict=True))
                factors = stage_factors(v, numbered, queries.cards, total=TABLES - tables[-1])
            except LimitError:
                self.fits = False
                return
            for scope, table in factors:
                scopes.append(scope)
                owners.append(v)
                numbers.append(table.ravel().astype(np.int64) - 2)
                strides += [prod(table.shape[axis + 1 :]) for axis in range(table.ndim)]
                tables.append(tables[-1] + table.size)
        self.fits = True
        self.cells: NDArray[np.int64] = np.concatenate(numbers)
        self._neutral = self.cells < 0
        self.cells[self._neutral] = first
        families = [(*parents, v) for v, parents in enumerate(queries.parents)]
        touching: list[list[int]] = [[] for _ in families]
        for v, family in enumerate(families):
            for u in family:
                touching[u].append(v)
        self._order = np.array([queries.coder.column[name] for name in queries.tree.order])
        self._cards = np.array(queries.cards)
        # The tables of integers, in the order of the kernel.
        self._model = (
            *_flat(families),
            *_flat(touching),
            np.searchsorted(owners, np.arange(len(families) + 1)),
            *_flat(scopes),
            np.array(strides),
            np.array(tables[:-1]),
        )
        self.parameters: Floats = np.concatenate([*(row for stages in queries.stages for _, row in stages), [1.0]])

    def _work(self, parameters: Floats) -> tuple[Floats, int]:
        work = np.empty(len(self.cells) + ROW_TABLES)
        work[: len(self.cells)] = parameters[self.cells]
        return work, len(self.cells)

    def posteriors(self, target: int, codes: Codes) -> tuple[Floats, Floats]:
        """Return the distribution of the target in each row and the log of its normaliser.

        The latter is NaN in rows that are too large, and minus infinity in impossible ones.
        """
        from cslearn._kernels.gaps import target_posteriors

        work, room = self._work(self.parameters)
        out, log_prob = np.zeros((len(codes), self._cards[target])), np.empty(len(codes))
        arrays = self._cards, self._order, self._model, self._neutral
        target_posteriors(np.ascontiguousarray(codes), target, *arrays, work, room, ROW_TABLE, out, log_prob)
        return out, log_prob

    def log_prob(self, codes: Codes) -> Floats:
        """Return the log-probability of what is known in each row; NaN in rows that are too large."""
        from cslearn._kernels.gaps import target_posteriors

        work, room = self._work(self.parameters)
        out, log_prob = np.zeros((0, 0)), np.empty(len(codes))
        arrays = self._cards, self._order, self._model, self._neutral
        target_posteriors(np.ascontiguousarray(codes), -1, *arrays, work, room, ROW_TABLE, out, log_prob)
        return log_prob

    def draws(self, codes: Codes, begins: NDArray[np.int64], rng: np.random.Generator) -> tuple[Codes, Floats]:
        """Return rows with their missing cells drawn given the known ones, so many for each row as `begins` says.

        Those of row ``r`` are the rows ``begins[r]`` to ``begins[r + 1]``. Beside them the logarithm of the sum over
        the missing cells of each row: NaN in rows that are too large, and minus infinity in impossible ones; their
        draws are of no use.
        """
        from cslearn._kernels.gaps import draw_completions

        work, room = self._work(self.parameters)
        times = np.diff(begins)
        out, log_prob = np.repeat(codes, times, axis=0), np.empty(len(codes))
        uniforms = rng.random(int(times @ (codes < 0).sum(axis=1)))
        arrays = self._cards, self._model, self._neutral
        draw_completions(np.ascontiguousarray(codes), begins, uniforms, *arrays, work, room, ROW_TABLE, out, log_prob)
        return out, log_prob

    def expected_counts(self, codes: Codes, weights: Floats, parameters: Floats) -> tuple[Floats, Floats]:
        """Return the expected counts of the families with missing members, aligned with the parameters (without the 1).

        Beside them the logarithm of the sum over the missing cells of each row; NaN for rows that are too large, which
        are not counted.
        """
        from cslearn._kernels.gaps import expected_counts

        work, room = self._work(np.append(parameters, 1.0))
        counts, log_prob = np.zeros(len(self.parameters)), np.empty(len(codes))
        expected_counts(
            np.ascontiguousarray(codes),
            weights,
            self.cells,
            self._cards,
            self._model,
            self._neutral,
            work,
            room,
            ROW_TABLE,
            counts,
            log_prob,
        )
        return counts[:-1], log_prob


def _flat(lists: list[tuple[int, ...]] | list[list[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where each list begins, and all of them one after the other."""
    starts = np.cumsum([0, *map(len, lists)])
    return starts, np.array([v for members in lists for v in members], dtype=np.int64)
