"""Counts of rows by loops in plain Python: a second implementation of what learning asks of rows, slow and obvious."""

import hashlib
from collections import Counter

import numpy as np

from cslearn.data import Table


class PlainCounts:
    """Counts of the rows of a table; `asked` says how often each context of each target was."""

    def __init__(self, table):
        self._codes = table.codes.tolist()
        self._weights = [1.0] * table.n if table.weights is None else table.weights.tolist()
        self.cards = np.array(table.cards, dtype=np.int64)
        self.starts = np.concatenate([[0], np.cumsum(self.cards - 1)]).astype(np.int64)
        self.total = float(sum(self._weights))
        self.fingerprint = hashlib.sha256(repr((self._codes, self._weights)).encode()).hexdigest()
        self.asked = Counter()

    def _rows_in(self, contexts, r):
        """The rows that agree with a context, with their weights."""
        places = range(contexts.pointers[r], contexts.pointers[r + 1])
        pairs = [(int(contexts.variables[e]), int(contexts.states[e])) for e in places]
        for row, weight in zip(self._codes, self._weights, strict=True):
            if all(row[v] == x for v, x in pairs):
                yield row, weight

    def own(self, contexts):
        found = np.zeros((len(contexts.targets), self.cards.max()))
        for r, target in enumerate(contexts.targets):
            for row, weight in self._rows_in(contexts, r):
                found[r, row[target]] += weight
        return found

    def of(self, contexts):
        own = self.own(contexts)
        counts = np.zeros((*own.shape, self.starts[-1]))
        for r, target in enumerate(contexts.targets):
            names = contexts.variables[contexts.pointers[r] : contexts.pointers[r + 1]]
            states = contexts.states[contexts.pointers[r] : contexts.pointers[r + 1]]
            self.asked[int(target), frozenset(zip(names.tolist(), states.tolist(), strict=True))] += 1
            for row, weight in self._rows_in(contexts, r):
                for v, x in enumerate(row):
                    if x > 0:
                        counts[r, row[target], self.starts[v] + x - 1] += weight
        return own, counts

    def rows(self, at):
        return np.array([self._codes[r] for r in at.tolist()], dtype=np.uint8)


class PlainTable:
    """A table that is known by its counts alone."""

    def __init__(self, table: Table):
        self.variables, self.states, self.cards, self.state_map = (
            table.variables,
            table.states,
            table.cards,
            table.state_map,
        )
        self.n, self.p, self.total_weight, self.weights = table.n, table.p, table.total_weight, table.weights
        self.constant = table.constant
        self._counts = PlainCounts(table)

    def counts(self):
        return self._counts
