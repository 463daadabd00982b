"""What rows say of the stages of one model: how sure its parameters are, and whether its arrows are there at all.

An arrow from `u` to `v` is gone if the stages of `v` that differ in `u` alone are one. The merged stage has the rows
and the prior counts of its parts, so a Bayes factor compares the two; with even odds beforehand it tells how probable
it is that the arrow is gone. The other way round, a stage that leaves the exposure out is compared with its split on
it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, prod
from typing import TYPE_CHECKING

import numpy as np

from cslearn.counts import rows_that_agree, stage_counts
from cslearn.inference.completed import ModelRows
from cslearn.inference.factors import Floats, Pairs
from cslearn.inference.risks import relevant_columns

if TYPE_CHECKING:
    from cslearn.cstree import CStree

__all__ = ["StageEvidence"]

# Draws of which arrows are gone.
ARROW_DRAWS = 10_000


class StageEvidence:
    """The rows of the stages that lead from an exposure to some targets, with the prior counts beside them."""

    def __init__(
        self, tree: CStree, data: ModelRows, ess: float, exposure: int, targets: Sequence[int], gamma: float = 1.0
    ) -> None:
        table = data.table
        self.tree, self.table, self.exposure = tree, table, exposure
        self.order = [tree.variables.index(name) for name in tree.order]
        columns = relevant_columns(tree, exposure, targets)
        self.contexts = {v: [tuple(pairs) for pairs in tree.coded_contexts[tree.variables[v]]] for v in columns}
        self.counts = {v: stage_counts(table, v, contexts) for v, contexts in self.contexts.items()}
        # Rows that were completed say what the model says: parameters are only as sure as the known ones make them.
        self.known = {v: data.known_counts(v, contexts).sum(axis=1) for v, contexts in self.contexts.items()}
        self.prior = {
            v: np.array([ess * prod(table.cards[u] for u, _ in pairs) ** -gamma for pairs in contexts])
            for v, contexts in self.contexts.items()
        }
        self._gone: dict[tuple[int, int, tuple[int, ...]], float] = {}

    def draws(self, parameters: Mapping[str, Floats], n: int, rng: np.random.Generator) -> dict[int, Floats]:
        """Draw from Dirichlet distributions with the given means, as sure as the rows of each stage make them.

        For parameters that are posterior means these are their posterior distributions.
        """
        found = {}
        for v in self.counts:
            alpha = (self.known[v] + self.prior[v])[:, None] * parameters[self.tree.variables[v]]
            gammas = rng.standard_gamma(alpha, size=(n, *alpha.shape))
            total = gammas.sum(axis=2, keepdims=True)
            # Counts far below one may all be drawn as zero: then one state is certain.
            certain = np.eye(alpha.shape[1])[alpha.argmax(axis=1)]
            found[v] = np.where(total > 0, gammas / np.where(total > 0, total, 1.0), certain)
        return found

    def chance_of_none(self, outcome: int, stratum: Pairs, between: tuple[int, int], rng: np.random.Generator) -> float:
        """Return the probability that it makes no difference for the outcome which of two states the exposure is in.

        So it is if no arrows lead from one to the other within the stratum, judged, for those that leave the exposure,
        by these two states alone. Arrows are there or gone independently of each other.
        """
        known = dict(stratum)
        reached = {self.exposure: np.ones(ARROW_DRAWS, dtype=bool)}
        for v in self.order:
            if v not in self.contexts or v in known:
                continue
            stages = self._agreeing(v, known)
            for u in sorted({u for stage in stages for u, _ in self.contexts[v][stage]} & set(reached)):
                pair = between if u == self.exposure else None
                these = [s for s in stages if pair is None or dict(self.contexts[v][s]).get(u, pair[0]) in pair]
                there = reached[u] & (rng.random(ARROW_DRAWS) >= self.chance_gone(v, u, these))
                reached[v] = reached[v] | there if v in reached else there
        return float(1 - reached[outcome].mean()) if outcome in reached else 1.0

    def chance_gone(self, v: int, u: int, stages: Sequence[int]) -> float:
        """Return the probability that the arrow from `u` to `v` is gone, judged by some stages of `v`."""
        key = v, u, tuple(stages)
        if key not in self._gone:
            gain = 0.0
            for members in merged([self.contexts[v][stage] for stage in stages], u):
                if len(members) > 1:
                    together = [stages[m] for m in members]
                    gain += self._log_z(v, together) - sum(self._log_z(v, [stage]) for stage in together)
            self._gone[key] = 1 / (1 + exp(-gain)) if gain > -500 else 0.0
        return self._gone[key]

    def speaks_for_split(self, outcome: int, stratum: Pairs, between: tuple[int, int]) -> bool:
        """Tell whether the rows of a stratum are for telling two states of the exposure apart where stages do not.

        That the outcome does not depend on the exposure is then what the model ignores, perhaps for the bound on its
        contexts, and not what the data say.
        """
        from cslearn.scores import log_marginal_likelihood

        if self.order.index(self.exposure) > self.order.index(outcome):
            return False
        known, gain = dict(stratum), 0.0
        d, states = self.table.cards[outcome], self.table.cards[self.exposure]
        for stage in self._agreeing(outcome, known):
            pairs = dict(self.contexts[outcome][stage])
            if self.exposure in pairs or outcome in known:
                continue
            rest = [(v, x) for v, x in stratum if v not in pairs]
            rows = np.flatnonzero(rows_that_agree(self.table.codes, [*pairs.items(), *rest]))
            cell = self.table.codes[rows, self.exposure].astype(np.intp) * d + self.table.codes[rows, outcome]
            weights = None if self.table.weights is None else self.table.weights[rows]
            counts = np.bincount(cell, weights=weights, minlength=states * d).astype(float).reshape(states, d)
            prior = float(self.prior[outcome][stage]) / prod(self.table.cards[v] for v, _ in rest)
            two, prior = counts[list(between)], prior / states
            gain += sum(log_marginal_likelihood(row, prior) for row in two)
            gain -= log_marginal_likelihood(two.sum(axis=0), 2 * prior)
        return gain > 0

    def _agreeing(self, v: int, known: Mapping[int, int]) -> list[int]:
        contexts = self.contexts[v]
        return [s for s, pairs in enumerate(contexts) if all(known.get(u, x) == x for u, x in pairs)]

    def _log_z(self, v: int, stages: Sequence[int]) -> float:
        from cslearn.scores import log_marginal_likelihood

        return log_marginal_likelihood(self.counts[v][stages].sum(axis=0), float(self.prior[v][stages].sum()))


def merged(contexts: Sequence[Pairs], u: int) -> list[list[int]]:
    """Return groups of stages that have to be one if the target does not depend on `u`: they overlap without it."""
    rest = [dict(pair for pair in pairs if pair[0] != u) for pairs in contexts]
    group = list(range(len(contexts)))
    for i, pairs in enumerate(contexts):
        if len(rest[i]) == len(pairs):
            continue  # it lacks u, and overlaps with none but those that have it
        for j, other in enumerate(rest):
            if group[j] != group[i] and all(other.get(w, x) == x for w, x in rest[i].items()):
                old, new = group[j], group[i]
                group = [new if g == old else g for g in group]
    return [[k for k, g in enumerate(group) if g == name] for name in dict.fromkeys(group)]
