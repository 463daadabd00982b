"""The grown tree of one variable in one order, with all its prunings: sums, maxima, draws, stages and predictions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn.grown.contexts import GrownContexts, new_known, new_paused

__all__ = ["GrownLevel", "codes_of_contexts"]

Floats = NDArray[np.float64]
Pairs = tuple[tuple[int, int], ...]


class GrownLevel:
    """The stagings of a variable that the prunings of its grown tree are, with their weights.

    Parameters
    ----------
    contexts : GrownContexts
    target : int
        Column of the variable.
    columns : ndarray of int
        The variables before it that may be in its contexts. Stages are told by positions among them.
    """

    def __init__(self, contexts: GrownContexts, target: int, columns: NDArray[np.integer]) -> None:
        self.contexts, self.target, self.columns = contexts, target, np.asarray(columns)
        self.before = np.zeros(len(contexts.store.counts.cards), dtype=bool)
        self.before[self.columns] = True
        self._graph, self._roots, memo = self._flattened()
        at = self._graph.context
        self._own = memo.own[at][:, : contexts.store.counts.cards[target]]
        self._a = contexts.store.ess * memo.outcomes[at] ** -contexts.store.gamma
        self._places = _places_of(memo, at, self.columns)

    @cached_property
    def _pairs(self) -> list[Pairs]:
        """The contexts, as pairs of the position of a variable and a state by ascending positions."""
        return [self._pairs_of(node) for node in range(len(self._graph.context))]

    def _pairs_of(self, node: int) -> Pairs:
        pointers, positions, states = self._places
        own = slice(pointers[node], pointers[node + 1])
        return tuple(sorted(zip(positions[own].tolist(), states[own].tolist(), strict=True)))

    @property
    def cards(self) -> NDArray[np.intp]:
        """Cardinalities of the variables before."""
        return self.contexts.store.counts.cards[self.columns].astype(np.intp)

    @property
    def size(self) -> int:
        """Number of the variables before."""
        return len(self.columns)

    def without(self, k: int) -> GrownLevel:
        """Return the same trees but those that split on the variable at position `k`."""
        other = object.__new__(GrownLevel)
        other.__dict__.update(self.__dict__)
        for name in ("_pairs", "_sums", "_shares", "visits"):
            other.__dict__.pop(name, None)
        weight = np.where(self._graph.split == self.columns[k], -np.inf, self._graph.weight)
        other._graph = self._graph._replace(weight=weight)
        other.columns = np.delete(self.columns, k)
        # Positions after `k` move up. No tree comes to the contexts that had it.
        pointers, positions, states = self._places
        kept = positions != k
        pointers = np.append(0, np.cumsum(kept))[pointers]
        other._places = pointers, positions[kept] - (positions[kept] > k), states[kept]
        return other

    def _flattened(self) -> tuple[Any, int, Any]:
        from cslearn._kernels.grown_contexts import Graph, flatten

        found: list[Any] = []
        size, known, paused = 256, new_known(1), new_paused(1, self.contexts.growth)

        def ask(memo: Any, wanted: Any) -> None:
            nonlocal size
            while True:
                graph = Graph(
                    np.empty(size, np.int64),
                    np.empty(size),
                    np.empty(size, np.int64),
                    np.empty(size, np.int64),
                    np.empty(size, np.int64),
                    np.empty(size),
                    np.empty(size, np.int64),
                    np.empty(size - 1, np.int64),
                    np.empty(size, np.int64),
                )
                answer = flatten(memo, self.contexts.rules, self.target, self.before, graph, wanted, known, paused)
                roots, nodes, splits, parts = answer
                if roots >= 0:
                    break
                size *= 2
            sizes = (nodes,) * 4 + (splits,) * 3 + (parts, nodes)
            found[:] = [Graph._make(a[:s] for a, s in zip(graph, sizes, strict=True)), roots, memo]

        self.contexts.store.asked(ask)
        return found[0], found[1], found[2]

    @cached_property
    def _sums(self) -> tuple[Floats, Floats]:
        from cslearn._kernels.grown_contexts import log_sums_of_graph

        total, of_split = np.empty(len(self._graph.stop)), np.empty(len(self._graph.split))
        log_sums_of_graph(self._graph, self.contexts.store.counts.cards, total, of_split)
        return total, of_split

    def of_best_set(self) -> GrownLevel:
        """Return the trees of the most probable set of parents alone."""
        graph, best = self._graph, int(np.argmax(self._shares))
        nodes = graph.of_set == best
        splits = np.repeat(nodes, graph.last - graph.first)
        place, split_place = np.cumsum(nodes) - 1, np.append(0, np.cumsum(splits))
        part = np.concatenate([[], *(self._parts(e) for e in np.flatnonzero(splits).tolist())]).astype(np.int64)
        ends = np.cumsum(self.contexts.store.counts.cards[graph.split[splits]])
        other = object.__new__(GrownLevel)
        other.__dict__.update({name: self.__dict__[name] for name in ("contexts", "target", "columns", "before")})
        other._roots = 1
        other._own, other._a = self._own[nodes], self._a[nodes]
        pointers, positions, states = self._places
        sizes = np.diff(pointers)
        kept = np.repeat(nodes, sizes)
        other._places = np.append(0, np.cumsum(sizes[nodes])), positions[kept], states[kept]
        other._graph = graph._replace(
            context=graph.context[nodes],
            stop=graph.stop[nodes],
            first=split_place[graph.first[nodes]],
            last=split_place[graph.last[nodes]],
            split=graph.split[splits],
            weight=graph.weight[splits],
            parts=np.append(0, ends)[:-1].astype(np.int64),
            part=place[part],
            of_set=np.zeros(int(nodes.sum()), dtype=np.int64),
        )
        return other

    def log_sum(self) -> float:
        """Return the log of the sum of the weights of all prunings."""
        return float(np.logaddexp.reduce(self._sums[0][: self._roots]))

    @cached_property
    def _shares(self) -> Floats:
        """The probability of each set of parents."""
        return np.exp(self._sums[0][: self._roots] - self.log_sum())

    def _splits(self, node: int) -> range:
        return range(int(self._graph.first[node]), int(self._graph.last[node]))

    def _parts(self, e: int) -> list[int]:
        begin = int(self._graph.parts[e])
        return [
            int(n) for n in self._graph.part[begin : begin + self.contexts.store.counts.cards[self._graph.split[e]]]
        ]

    def maximum(self) -> tuple[float, list[Pairs]]:
        """Return the log-weight of the best pruning, and its stages as pairs of position and state."""
        best, taken = self._best
        root = int(np.argmax(best[: self._roots]))
        return float(best[root]), self._stages(root, lambda node: int(taken[node]))

    @property
    def _best(self) -> tuple[Floats, NDArray[np.int64]]:
        """The log-weight of the best pruning from each context on, and the split that it makes there, or -1."""
        from cslearn._kernels.grown_contexts import best_of_graph

        best, taken = np.empty(len(self._graph.stop)), np.empty(len(self._graph.stop), dtype=np.int64)
        best_of_graph(self._graph, self.contexts.store.counts.cards, best, taken)
        return best, taken

    def likely(self, least: float) -> list[Pairs]:
        """Return the stages of the best pruning, with those split that the data would split on its variables.

        A stage is split on the most probable one of the variables that the best pruning has, if splits on these have
        together at least the probability `least`, given that the tree comes to that context; and so are its parts.
        """
        best, taken = self._best
        root = int(np.argmax(best[: self._roots]))
        own = {int(self.columns[k]) for pairs in self._stages(root, lambda node: int(taken[node])) for k, _ in pairs}
        total, of_split = self._sums

        def pick(node: int) -> int:
            if taken[node] >= 0 and int(self._graph.split[taken[node]]) in own:
                return int(taken[node])
            splits = [e for e in self._splits(node) if int(self._graph.split[e]) in own]
            if not splits or sum(exp(of_split[e] - total[node]) for e in splits) < least:
                return -1
            return max(splits, key=lambda e: float(of_split[e]))

        return self._stages(root, pick)

    def draw(self, rng: np.random.Generator) -> list[Pairs]:
        """Draw a pruning with a chance proportional to its weight; returns its stages."""
        total, of_split = self._sums

        def pick(node: int) -> int:
            goal = rng.random()
            for e in self._splits(node):
                goal -= exp(of_split[e] - total[node])
                if goal < 0:
                    return e
            return -1

        return self._stages(int(rng.choice(self._roots, p=self._shares / self._shares.sum())), pick)

    def _stages(self, root: int, pick: Any) -> list[Pairs]:
        waiting, found = [root], []
        while waiting:
            node = waiting.pop()
            e = pick(node)
            if e < 0:
                found.append(self._pairs_of(node))
            else:
                waiting.extend(self._parts(e))
        return found

    @cached_property
    def visits(self) -> Floats:
        """The probability that each context of the graph is a context of the tree."""
        from cslearn._kernels.grown_contexts import visits_of_graph

        found = np.zeros(len(self._graph.stop))
        found[: self._roots] = self._shares
        visits_of_graph(self._graph, self.contexts.store.counts.cards, *self._sums, found)
        return found

    @property
    def n_contexts(self) -> int:
        """Number of the contexts of all trees."""
        return len(self._graph.context)

    def stage_probabilities(self) -> dict[Pairs, float]:
        """Return the probability of each context to be a stage."""
        total, _ = self._sums
        chances = self.visits * np.exp(self._graph.stop - total)
        found: dict[Pairs, float] = {}
        for pairs, chance in zip(self._pairs, chances.tolist(), strict=True):
            found[pairs] = found.get(pairs, 0.0) + chance
        return found

    def stage_means(self, smallest: float = 0.0) -> tuple[NDArray[np.int16], Floats, Floats]:
        """Return the contexts that are stages with at least that probability, how probably, and the means there.

        The contexts are rows of codes, one for each variable before, with -1 for those that are not in the context.
        """
        total, _ = self._sums
        _, first, at = np.unique(self._graph.context, return_index=True, return_inverse=True)
        chances = np.bincount(at, weights=self.visits * np.exp(self._graph.stop - total)).astype(np.float64)
        # As they come in the graph: their numbers depend on what was asked before, and the last digits of sums on them.
        kept = [c for c in np.argsort(first).tolist() if chances[c] >= smallest]
        return self._codes_of(first[kept]), chances[kept], self._means[first[kept]]

    def _codes_of(self, nodes: NDArray[np.integer]) -> NDArray[np.int16]:
        """Return contexts as rows of codes, one for each variable before, with -1 for those that are not in them."""
        pointers, positions, states = self._places
        sizes = np.diff(pointers)[nodes]
        rows = np.repeat(np.arange(len(nodes)), sizes)
        there = np.arange(len(rows)) + np.repeat(pointers[nodes] - np.append(0, np.cumsum(sizes))[:-1], sizes)
        found = np.full((len(nodes), self.size), -1, dtype=np.int16)
        found[rows, positions[there]] = states[there]
        return found

    def n_stages(self) -> Floats:
        """Return the distribution of the number of stages: the entry `k` is the probability of `k`."""
        total, of_split = self._sums
        found: list[Floats] = [np.empty(0)] * len(total)
        for node in range(len(total) - 1, -1, -1):
            numbers = np.array([0.0, exp(self._graph.stop[node] - total[node])])
            for e in self._splits(node):
                product = np.array([exp(of_split[e] - total[node])])
                for part in self._parts(e):
                    product = np.convolve(product, found[part])
                longer, shorter = (product, numbers) if len(product) > len(numbers) else (numbers, product)
                numbers = longer.copy()
                numbers[: len(shorter)] += shorter
            found[node] = numbers
        mixed = np.zeros(max(map(len, found[: self._roots])))
        for share, numbers in zip(self._shares, found, strict=False):
            mixed[: len(numbers)] += share * numbers
        return mixed

    @cached_property
    def _means(self) -> Floats:
        counts = self._own + (self._a / self._own.shape[1])[:, None]
        return counts / counts.sum(axis=1, keepdims=True)

    def predictive(self, codes: NDArray[np.integer]) -> Floats:
        """Return the probabilities of the states of the variable in each row, averaged over all prunings."""
        from cslearn._kernels.grown_contexts import predict

        out = np.empty((len(codes), self._own.shape[1]))
        predict(self._graph, self._roots, *self._sums, self._means, codes, out)
        return out

    def whole_tree(self) -> tuple[list[Pairs], Floats]:
        """Return the stages of the tree before it is pruned, and the probabilities there averaged over all prunings.

        With these probabilities that one staging predicts as the average over all prunings does. It takes a tree in
        which each context has one split at most; see :meth:`GrownContexts.narrow`.
        """
        assert (self._graph.last - self._graph.first <= 1).all()
        leaves = np.flatnonzero(self._graph.first == self._graph.last).tolist()
        stages = [self._pairs_of(node) for node in leaves]
        codes = np.zeros((len(stages), len(self.before)), dtype=np.int64)
        for row, pairs in enumerate(stages):
            for k, state in pairs:
                codes[row, self.columns[k]] = state
        found = self.predictive(codes)
        return stages, found / found.sum(axis=1, keepdims=True)

    def leave_one_out(self, codes: NDArray[np.integer]) -> Floats:
        """Return the log-probability of the variable in each row of the data given all other rows."""
        from cslearn._kernels.grown_contexts import leave_one_out

        out = np.empty(len(codes))
        leave_one_out(self._graph, self._roots, *self._sums, self._own, self._a, codes, self.target, out)
        return out


def codes_of_contexts(contexts: Sequence[Iterable[tuple[int, int]]], size: int) -> NDArray[np.int16]:
    """Return contexts, pairs of position and code, as rows of codes with -1 for variables that are not in them."""
    found = np.full((len(contexts), size), -1, dtype=np.int16)
    for row, pairs in zip(found, contexts, strict=True):
        for k, x in pairs:
            row[k] = x
    return found


def _places_of(memo: Any, nodes: NDArray[np.int64], columns: NDArray[np.integer]) -> tuple[NDArray[np.int64], ...]:
    """Return pointers to the variables of contexts, as positions among some columns, and to their states."""
    from cslearn._kernels.grown_contexts import list_contexts

    pointers, variables, states = list_contexts(memo, nodes)
    position = np.zeros(len(memo.rank[0]), dtype=np.int64)
    position[columns] = np.arange(len(columns))
    return pointers, position[variables], states
