"""Draws from a model given evidence, for answers whose exact form is too large.

*Likelihood weighting.* Variables are drawn in the order of the model, each from the stage that those before it are in.
A variable with known state is not drawn; instead the weight of the draw is multiplied with the probability of that
state, and likewise with the weights of soft evidence. The mean weight estimates the probability of the evidence, and
weighted means over the draws estimate what holds given the evidence.

With much evidence far down the order nearly all weight falls on a few draws. Then the draws are made anew, fewer of
them, as a *population that is moved*: whenever the weights have become too uneven, draws are taken anew in proportion
to their weights, and then each variable that is not known is drawn again from its distribution given all others of its
row (a sweep of Gibbs sampling), which for a CStree needs its own stage and those of its children alone. Such moves
leave the distribution of the draws as it is and make those apart again that were copies of one. This is sequential
Monte Carlo; the weights stay right, whether the sweeps mix well or not, and the mean weight is still without bias.

*Standard errors.* Draws come in groups that know nothing of one another, so that the differences between groups show
the whole error, whatever happens within them. Estimates are made by the jackknife over groups, which also takes away
the larger part of the bias that entropies of shares have.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cslearn._numerics import RandomState, as_generator, log_sum_exp_axis
from cslearn.counts import StageFinder
from cslearn.errors import InputError
from cslearn.inference.evidence import Evidence
from cslearn.inference.factors import Floats

if TYPE_CHECKING:
    from cslearn.inference.queries import Queries

__all__ = ["FEW", "Draws", "NoDrawAgreesError", "best_outcome", "draws_given", "jackknife", "surprises"]

# Independent groups that the draws come in.
GROUPS = 20
# The draws of likelihood weighting are taken if those that count are at least this share of them all, and this many.
ENOUGH, FEW = 0.01, 100
# A population has this share of the draws, but not fewer than that where there are as many. It is moved when those that
# count are fewer than this share of a group.
POPULATION, LEAST, UNEVEN = 0.1, 1000, 0.5
# Most entries of the table of a family; the stages of a larger one are found by going down their decision tree.
FAMILY = 1 << 14
# The search for the most probable outcome: sweeps, and the power of the probabilities in the last of them.
SWEEPS, POWER = 40, 8.0

Codes = NDArray[np.uint16]


class NoDrawAgreesError(Exception):
    """No draw agrees with the evidence; `variable` is the one whose evidence the last of them did not agree with."""

    def __init__(self, variable: int, before: Sequence[int]) -> None:
        super().__init__(variable)
        self.variable = variable
        self.before = before


@dataclass(frozen=True)
class Draws:
    """Weighted draws.

    Attributes
    ----------
    codes : ndarray of uint16, shape (p, n)
        Variables that do not matter are zero.
    log_weights : ndarray, shape (n,)
        The mean weight estimates the probability of the evidence.
    moved : bool
        Whether they are a population that was moved, or plain weighted draws.
    """

    codes: Codes
    log_weights: Floats
    moved: bool

    @property
    def n(self) -> int:
        """Number of draws."""
        return len(self.log_weights)

    @property
    def weights(self) -> Floats:
        """Weights relative to the largest, shape (groups, draws of a group)."""
        return np.exp(self.log_weights - self.log_weights.max()).reshape(GROUPS, -1)

    @property
    def effective(self) -> float:
        """How many draws of equal weight would tell as much: the squared sum of the weights by the sum of squares."""
        weights = self.weights
        return float(weights.sum() ** 2 / (weights**2).sum())

    def log_prob(self) -> tuple[float, float]:
        """Return the estimated log-probability of the evidence, and its standard error."""
        sums = self.weights.sum(axis=1, keepdims=True) * (GROUPS / self.n)
        estimate, error = jackknife(sums, lambda total: np.log(total / GROUPS))
        return float(self.log_weights.max() + estimate[0]), float(error[0])


class _Model:
    """What drawing needs of a model and evidence: tables of families, who matters, and in which order."""

    def __init__(self, queries: Queries, evidence: Evidence, wanted: Iterable[int]) -> None:
        self.cards, self.parents = queries.cards, queries.parents
        self.hard, self.soft = evidence.hard, evidence.weights
        self.contexts = [[pairs for pairs, _ in stages] for stages in queries.stages]
        self.rows = [np.array([row for _, row in stages]) for stages in queries.stages]
        position = {queries.coder.column[name]: i for i, name in enumerate(queries.tree.order)}
        # Evidence as early as its ancestors allow: the sooner a draw is known to be poor the better.
        self.order: list[int] = []
        seen: set[int] = set()
        for known in (evidence.variables, wanted):
            for v in sorted(known, key=position.__getitem__):
                ancestors, waiting = set(), [v]
                while waiting:
                    u = waiting.pop()
                    if u not in seen:
                        seen.add(u)
                        ancestors.add(u)
                        waiting += self.parents[u]
                self.order += sorted(ancestors, key=position.__getitem__)
        self.stages: dict[int, NDArray[np.intp] | None] = {}
        self.logs: dict[int, Floats] = {}
        self.strides: dict[int, dict[int, np.int32]] = {}
        self.finders: dict[int, StageFinder] = {}
        with np.errstate(divide="ignore"):
            for v in self.order:
                self._tabulate(v)

    def _tabulate(self, v: int) -> None:
        """Make the tables of the stage and the log-probability of each outcome of a family, where they are small."""
        sizes = [self.cards[u] for u in self.parents[v]]
        if prod(sizes) * self.cards[v] > FAMILY:
            self.stages[v], self.logs[v] = None, np.log(self.rows[v])
            self.finders[v] = StageFinder(self.contexts[v])
            return
        place = {u: axis for axis, u in enumerate(self.parents[v])}
        stages = np.zeros(sizes, dtype=np.intp)
        for number, pairs in enumerate(self.contexts[v]):
            index: list[int | slice] = [slice(None)] * len(sizes)
            for u, x in pairs:
                index[place[u]] = x
            stages[tuple(index)] = number
        self.stages[v] = stages.ravel()
        self.logs[v] = np.log(self.rows[v])[self.stages[v]].ravel()
        self.strides[v] = {u: np.int32(prod(sizes[place[u] + 1 :])) for u in self.parents[v]}

    def stage(self, v: int, codes: Codes) -> NDArray[np.intp]:
        """Return the stage of a variable in each draw."""
        table = self.stages[v]
        if table is None:
            return self.finders[v](codes.T)
        index = np.zeros(codes.shape[1], dtype=np.int32)
        for u, stride in self.strides[v].items():
            index += codes[u] * stride
        return table[index]

    def log_probs(self, c: int, v: int, codes: Codes) -> Iterator[Floats]:
        """Yield, for each state of `v`, the log-probability of `c` in each draw were `v` in that state."""
        if self.stages[c] is None:
            own = codes[v].copy()
            for x in range(self.cards[v]):
                codes[v] = x
                yield self.logs[c][self.finders[c](codes.T), codes[c]]
            codes[v] = own
            return
        d = np.int32(self.cards[c])
        index = np.zeros(codes.shape[1], dtype=np.int32) if v == c else codes[c].astype(np.int32)
        for u, stride in self.strides[c].items():
            if u != v:
                index += codes[u] * (stride * d)
        step = np.int32(1) if v == c else self.strides[c][v] * d
        for x in range(self.cards[v]):
            yield self.logs[c][index + np.int32(x) * step]

    def draw(self, n: int, rng: np.random.Generator, move: bool) -> Draws:
        """Draw all variables that matter; with `move`, take draws anew and move them when weights are uneven."""
        codes = np.zeros((len(self.cards), n), dtype=np.uint16)
        logs = np.zeros(n)
        done: list[int] = []
        with np.errstate(divide="ignore"):
            for v in self.order:
                stage = self.stage(v, codes)
                if v in self.hard:
                    codes[v] = self.hard[v]
                    logs += np.log(self.rows[v][:, self.hard[v]])[stage]
                else:
                    rows = self.rows[v]
                    if v in self.soft:
                        # Drawn from what the weights leave; the weight of the draw is the sum that this is divided by.
                        rows = rows * self.soft[v]
                        total = rows.sum(axis=1)
                        logs += np.log(total)[stage]
                        safe = np.where(total > 0, total, 1)[:, None]
                        rows = np.where(total[:, None] > 0, rows / safe, 1 / rows.shape[1])
                    uniform = rng.random(n)
                    for threshold in np.cumsum(rows, axis=1)[:, :-1].T:
                        codes[v] += uniform >= threshold[stage]
                done.append(v)
                if v not in self.hard and v not in self.soft:
                    continue
                if logs.max() == -inf:
                    raise NoDrawAgreesError(v, [u for u in done[:-1] if u in self.hard or u in self.soft])
                if move and self._uneven(logs):
                    logs = self._taken_anew(codes, logs, rng)
                    self.sweep(codes, done, rng)
        return Draws(codes, logs, move)

    def _uneven(self, logs: Floats) -> bool:
        weights = np.exp(logs - logs.max()).reshape(GROUPS, -1)
        squares = (weights**2).sum(axis=1)
        effective = weights.sum(axis=1) ** 2 / np.where(squares > 0, squares, 1)
        return bool(effective.mean() < UNEVEN * weights.shape[1])

    def _taken_anew(self, codes: Codes, logs: Floats, rng: np.random.Generator) -> Floats:
        """Replace the draws of each group by as many of them, in proportion to their weights; return the new weights.

        Systematically: a draw of share ``s`` in a group of ``m`` is taken ``s m`` times, rounded up or down at random.
        """
        grouped = logs.reshape(GROUPS, -1)
        m = grouped.shape[1]
        means = log_sum_exp_axis(grouped, axis=1) - np.log(m)
        for k in range(GROUPS):
            if means[k] == -inf:
                continue
            cumulative = np.cumsum(np.exp(grouped[k] - grouped[k].max()))
            points = (rng.random() + np.arange(m)) * (cumulative[-1] / m)
            taken = np.minimum(np.searchsorted(cumulative, points, side="right"), m - 1) + k * m
            codes[:, k * m : (k + 1) * m] = codes[:, taken]
        return np.repeat(means, m)

    def sweep(self, codes: Codes, done: Sequence[int], rng: np.random.Generator | None, power: float = 1.0) -> bool:
        """Draw each variable of `done` that is not known anew, given all others of `done`.

        Parameters
        ----------
        rng : Generator or None
            None takes the most probable state instead.
        power : float
            The probabilities are raised to this power.

        Returns
        -------
        bool
            Whether anything has changed.
        """
        within, changed = set(done), False
        children: dict[int, list[int]] = {v: [] for v in done}
        for c in done:
            for u in self.parents[c]:
                if u in within:
                    children[u].append(c)
        for v in done:
            if v in self.hard:
                continue
            logits = np.zeros((self.cards[v], codes.shape[1]))
            if v in self.soft:
                logits += np.log(self.soft[v])[:, None]
            for c in (v, *children[v]):
                for x, logs in enumerate(self.log_probs(c, v, codes)):
                    logits[x] += logs
            if rng is None:
                best = logits.argmax(axis=0)
                better = logits.max(axis=0) > np.take_along_axis(logits, codes[v][None].astype(np.intp), axis=0)[0]
                changed |= bool(better.any())
                codes[v][better] = best[better]
                continue
            top = logits.max(axis=0)
            chances = np.exp(power * (logits - np.where(top > -inf, top, 0.0)))
            below = np.cumsum(chances, axis=0)
            uniform = rng.random(codes.shape[1]) * below[-1]
            new = (below[:-1] <= uniform).sum(axis=0).astype(np.uint16)
            # A draw that is impossible as a whole stays as it is: its weight is zero.
            codes[v] = np.where(top > -inf, new, codes[v])
        return changed

    def scores(self, codes: Codes, averaged: Collection[int] = ()) -> Floats:
        """Return the log-probability of all variables that matter in each draw, with the weights of soft evidence.

        Of the variables `averaged` it is the mean over their states in the stage.
        """
        total = np.zeros(codes.shape[1])
        with np.errstate(divide="ignore"):
            for v in self.order:
                stage, logs = self.stage(v, codes), np.log(self.rows[v])
                if v in averaged:
                    total += (self.rows[v] * np.where(self.rows[v] > 0, logs, 0.0)).sum(axis=1)[stage]
                    continue
                total += logs[stage, codes[v]]
                if v in self.soft:
                    total += np.log(self.soft[v])[codes[v]]
        return total


def draws_given(
    queries: Queries, evidence: Evidence, wanted: Iterable[int], n_samples: int, random_state: RandomState
) -> Draws:
    """Draw the wanted variables, those with evidence and their ancestors given the evidence.

    Parameters
    ----------
    n_samples : int
        Draws, rounded up to a multiple of the number of groups. If too few of them count, the answer is a tenth as
        many that were moved.

    Raises
    ------
    NoDrawAgreesError
    """
    if isinstance(n_samples, bool) or not isinstance(n_samples, int | np.integer) or n_samples < 1:
        raise InputError(f"n_samples is a whole number, at least 1, not {n_samples!r}")
    rng = as_generator(random_state)
    model = _Model(queries, evidence, wanted)
    n = -(-int(n_samples) // GROUPS) * GROUPS
    try:
        draws = model.draw(n, rng, move=False)
        if draws.effective >= max(ENOUGH * n, FEW):
            return draws
    except NoDrawAgreesError:
        pass
    fewer = max(n * POPULATION, min(n, LEAST))
    return model.draw(int(-(-fewer // GROUPS)) * GROUPS, rng, move=True)


def jackknife(groups: Floats, statistic: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
    """Return a smooth function of sums over all groups, and its standard error.

    Parameters
    ----------
    groups : ndarray, shape (groups, sums)
    statistic : callable
        From the sums to an array of estimates. It is called with the sums over all groups, and with those over all but
        one as if they were all. Where one group has all the weight there is no telling how far it is off: the standard
        error is infinite then.
    """
    total, k = groups.sum(axis=0), len(groups)
    whole = statistic(total)
    with np.errstate(divide="ignore", invalid="ignore"):
        without = np.array([statistic((total - group) * (k / (k - 1))) for group in groups])
        error = np.sqrt((k - 1) / k * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
        estimate = k * whole - (k - 1) * without.mean(axis=0)
    known = np.isfinite(estimate) & np.isfinite(error)
    return np.where(known, estimate, whole), np.where(known, error, inf)


def surprises(queries: Queries, evidence: Evidence, draws: Draws) -> Floats:
    """Return minus the log-probability of each draw of all variables, with the weights of soft evidence.

    Where there is no evidence on a variable or its descendants, its state has been drawn from its stage alone: the
    entropy of the stage stands there in place of the draw, which leaves the mean as it is and makes the error smaller.
    """
    model = _Model(queries, evidence, range(len(queries.cards)))
    matter = set(_Model(queries, evidence, ()).order)
    return -model.scores(draws.codes, [v for v in model.order if v not in matter])


def best_outcome(
    queries: Queries, evidence: Evidence, n_starts: int, random_state: RandomState
) -> tuple[dict[int, int], float]:
    """Return a probable outcome of all variables that agrees with evidence, and its log-probability.

    Draws given the evidence are moved by sweeps in which probabilities are raised to higher and higher powers, and at
    last by taking for each variable in turn its best state given the others, until that changes nothing. The best of
    them is the answer. No change of a single variable improves it; that no other outcome does is not proven.
    """
    rng = as_generator(random_state)
    draws = draws_given(queries, evidence, range(len(queries.cards)), n_starts, rng)
    model = _Model(queries, evidence, range(len(queries.cards)))
    weights = draws.weights.ravel()
    codes = draws.codes[:, rng.choice(draws.n, size=min(draws.n, n_starts), p=weights / weights.sum())]
    with np.errstate(divide="ignore"):
        for power in np.geomspace(1.0, POWER, SWEEPS):
            model.sweep(codes, model.order, rng, float(power))
        while model.sweep(codes, model.order, None):
            pass
    scores = model.scores(codes)
    best = int(scores.argmax())
    return {v: int(codes[v, best]) for v in range(len(codes))}, float(scores[best])
