"""Slow, obvious twins of the deep stagings: counts in plain loops, parents and trees by the rule, all prunings listed.

The rules of the engine, stated here once more. A context with rows in one state of the target is not split, nor is any
on a variable of which it has fewer than two states. A context without rows weighs 1. Stopping weighs 1 at the bound and
where no variable is left, and otherwise as the prior says, also in the contexts that are not split for the reasons
above.
"""

from dataclasses import dataclass, field
from itertools import combinations, product
from math import comb, exp, inf, lgamma, log, prod

import numpy as np

from cslearn.data import Table
from cslearn.priors import ParentsPrior
from naive import agrees, log_sum
from problems import random_table

PRIOR = ParentsPrior(more=0.4, root=0.7, split=0.4, deeper=0.25, pairs=0.2)


class PlainCounts:
    """All that learning asks of rows, by going through them one by one."""

    def __init__(self, table, interventions=None):
        self.table, self.interventions = table, interventions
        self.cards = np.array(table.cards, dtype=np.int64)
        self.starts = np.concatenate([[0], np.cumsum(self.cards - 1)]).astype(np.int64)
        self.weights = [1.0] * table.n if table.weights is None else table.weights.tolist()
        self.total = sum(self.weights)
        self.fingerprint = repr((table.codes.tolist(), self.weights))

    def of(self, contexts):
        size, most = len(contexts.targets), int(self.cards.max())
        own, counts = np.zeros((size, most)), np.zeros((size, most, int(self.starts[-1])))
        for r, target in enumerate(contexts.targets.tolist()):
            own_pairs = range(contexts.pointers[r], contexts.pointers[r + 1])
            context = {int(contexts.variables[e]): int(contexts.states[e]) for e in own_pairs}
            for n, row in enumerate(self.table.codes.tolist()):
                if not agrees(row, context) or (self.interventions is not None and self.interventions[n, target]):
                    continue
                own[r, row[target]] += self.weights[n]
                for k, x in enumerate(row):
                    if x > 0:
                        counts[r, row[target], self.starts[k] + x - 1] += self.weights[n]
        return own, counts

    def own(self, contexts):
        return self.of(contexts)[0]


@dataclass
class Node:
    """A context of the grown tree, with the log-weight of stopping there, if it can, and the splits that are made."""

    context: dict
    log_stop: float
    counts: list
    a: float
    splits: list = field(default_factory=list)  # variable, log-weight, nodes by state


class Trees:
    """The trees of one target in a table.

    Two promises that are closer than `TIE`, where one is taken and the other is not, may go either way: `ties` tells
    how many such there were.
    """

    TIE = 1e-9

    def __init__(self, table, target, prior, growth, ess=1.0, gamma=0.0, allowed=None):
        self.rows = table.codes.tolist()
        self.weights = [1.0] * table.n if table.weights is None else table.weights.tolist()
        self.cards, self.target, self.prior, self.growth = table.cards, target, prior, growth
        self.ess, self.gamma = ess, gamma
        self.allowed = [k for k in range(table.p) if k != target] if allowed is None else allowed
        self.ties = 0

    def counts(self, context):
        found = [0.0] * self.cards[self.target]
        for row, weight in zip(self.rows, self.weights, strict=True):
            if agrees(row, context):
                found[row[self.target]] += weight
        return found

    def a(self, context):
        return self.ess * prod(self.cards[k] for k in context) ** -self.gamma

    def log_z(self, context):
        return log_marginal(self.counts(context), self.a(context))

    def parts(self, context, k):
        return [{**context, k: x} for x in range(self.cards[k])]

    def can_split(self, context, k):
        filled = [part for part in self.parts(context, k) if sum(self.counts(part)) > 0]
        return k not in context and sum(c > 0 for c in self.counts(context)) > 1 and len(filled) > 1

    def chance(self, t):
        return 0.0 if t >= self.growth.bound else self.prior.chance(t)

    # ---------------------------------------------------------------- the sum over all trees
    def log_of_set(self, size, m):
        """The log-probability of a given set of so many parents."""
        numbers = [self.prior.more**r for r in range(m + 1)]
        return log((1 - self.prior.pairs) * numbers[size] / sum(numbers) / comb(m, size))

    def log_sum_of_all(self, level):
        """The sum over all sets of parents and all trees on them, and over all trees of at most two variables."""
        m = len(level)
        sets = [parents for r in range(m + 1) for parents in combinations(level, r)]
        terms = [self.log_of_set(len(parents), m) + self.log_sum_on(parents) for parents in sets]
        if self.prior.pairs:
            terms.append(log(self.prior.pairs) + self.log_sum_on(level, bound=2))
        return log_sum(terms)

    def log_sum_on(self, parents, context=None, bound=None):
        """F(c; P) = (1 - s) z(c) + s / (m - t) sum over k of the product over x of F(c, x_k; P)."""
        context = context or {}
        if sum(self.counts(context)) == 0:
            return 0.0
        t, m = len(context), len(parents)
        if t >= min(m, self.growth.bound if bound is None else bound):
            return self.log_z(context)
        terms = [log(1 - self.chance(t)) + self.log_z(context)]
        for k in parents:
            if self.can_split(context, k):
                below = sum(self.log_sum_on(parents, part, bound) for part in self.parts(context, k))
                terms.append(log(self.chance(t) / (m - t)) + below)
        return log_sum(terms)

    # ---------------------------------------------------------------- the sets of parents
    def largest(self, values):
        """The key of the largest value, the first one among equals; near ones are ties."""
        top = max(values.values())
        self.ties += sum(value > top - self.TIE for value in values.values()) > 1
        return min(k for k, value in values.items() if value == top)

    def parent_sets(self, level):
        """No parents, then one more at a time, as long as that may pay."""
        m, slack = len(level), self.growth.slack
        if not self.growth.sets:
            return [parents for r in range(m + 1) for parents in combinations(level, r)]
        found, leaves, height, top = [()], [{}], 0.0, 0.0
        heights = [height]
        while len(found) < self.growth.sets and len(found[-1]) < m:
            parents, size = found[-1], len(found[-1])
            rest = [k for k in level if k not in parents]
            if size:
                values = {k: sum(max(0.0, self.gain_of(leaf, k, size + 1)) for leaf in leaves) for k in rest}
            else:
                values = {k: self.first_promise(k, level) for k in rest if k in dict(self.by_variable({}))}
            if not values:
                break
            k = self.largest(values)
            height += values[k] + self.log_of_set(size + 1, m) - self.log_of_set(size, m)
            self.ties += abs(height - top + slack) < self.TIE
            if height < top - slack or (size and values[k] <= 0):
                break
            top = max(top, height)
            found.append((*parents, k))
            heights.append(height)
            if not size:
                leaves = self.parts({}, k)
            leaves = [end for leaf in leaves for end in self.ends(leaf, found[-1])]
        self.ties += any(abs(height - top + self.growth.within) < self.TIE for height in heights)
        return [parents for parents, height in zip(found, heights, strict=True) if height >= top - self.growth.within]

    def by_variable(self, context):
        return [(k, gain) for gain, k in self.ranked(context)]

    def gain_of(self, context, k, size):
        """What a split of a leaf on one of so many parents promises; minus infinity where it is not ranked."""
        gains = dict(self.by_variable(context))
        return self.promise(gains[k], k, len(context), size) if k in gains else -inf

    def first_promise(self, k, level):
        value = self.gain_of({}, k, 1)
        if not self.growth.look or sum(self.counts({})) < self.growth.enough or min(self.growth.bound, len(level)) < 2:
            return value
        for part in self.parts({}, k):
            splits = [(gain, j) for gain, j in self.ranked(part) if j in level]
            if splits:
                self.ties += len(splits) > 1 and abs(splits[0][0] - splits[1][0]) < self.TIE
                value += max(0.0, self.promise(*splits[0], 1, len(level)))
        return value

    def ends(self, context, parents):
        """The leaves of the greedy tree on some parents, from a context on."""
        values = {k: self.gain_of(context, k, len(parents)) for k in parents if k not in context}
        values = {k: value for k, value in values.items() if value > 0}
        if not values:
            return [context]
        return [end for part in self.parts(context, self.largest(values)) for end in self.ends(part, parents)]

    # ---------------------------------------------------------------- the splits that are made
    def looks_ahead(self, context):
        return len(context) < self.growth.look and sum(self.counts(context)) >= self.growth.enough

    def ranked(self, context):
        """The gains of the splits of a context, whatever comes before, from the largest on."""
        if len(context) >= self.growth.bound:
            return []
        gains = [
            (sum(self.log_z(part) for part in self.parts(context, k)) - self.log_z(context), k)
            for k in self.allowed
            if self.can_split(context, k)
        ]
        gains = sorted(gains, key=lambda pair: (-pair[0], pair[1]))
        if self.looks_ahead(context):
            return gains
        least = -max(self.growth.slack, self.growth.averaged_slack)
        self.ties += any(abs(gain - least) < self.TIE for gain, _ in gains)
        return [pair for pair in gains if pair[0] > least][: self.growth.most]

    def promise(self, gain, k, t, m):
        after = log(1 - self.chance(t + 1))
        return gain + log(self.chance(t) / (1 - self.chance(t))) + self.cards[k] * after - log(m - t)

    def chosen(self, context, parents):
        """By what is promised; with a look ahead this includes the best split of each part."""
        t, m, growth = len(context), len(parents), self.growth
        if t >= min(m, growth.bound):
            return []
        width = growth.width[min(t, len(growth.width) - 1)]
        splits = [(self.promise(gain, k, t, m), k) for gain, k in self.ranked(context) if k in parents]
        if self.looks_ahead(context):
            splits = [(value + self.ahead(context, k, parents), k) for value, k in splits]
        splits.sort(key=lambda split: -split[0])
        keys = [value for value, _ in splits]
        self.ties += any(abs(keys[r] - keys[r + 1]) < self.TIE for r in range(len(keys) - 1) if r == width - 1)
        self.ties += any(abs(value + growth.slack) < self.TIE for value in keys)
        found = [(value, k) for value, k in splits if value >= -growth.slack][:width]
        best = max((value for value, _ in found), default=-inf)
        self.ties += any(abs(value - best + growth.near) < self.TIE for value, _ in found)
        return [k for value, k in found if value >= best - growth.near]

    def ahead(self, context, k, parents):
        t, m = len(context), len(parents)
        if t + 1 >= min(m, self.growth.bound):
            return 0.0
        return sum(
            max([0.0, *(self.promise(gain, j, t + 1, m) for gain, j in self.ranked(part) if j in parents)])
            for part in self.parts(context, k)
        )

    def grown(self, level):
        """The trees that are grown for the variables before: one for each set of parents, below a node of their own.

        And those of at most two variables, if they are summed beside them.
        """
        m = len(level)
        trees = [(self.log_of_set(len(parents), m), self.grown_on(parents)) for parents in self.parent_sets(level)]
        if self.prior.pairs:
            trees.append((log(self.prior.pairs), self.of_pairs(level)))
        return Node({}, None, [], 1.0, [(-1, weight, [tree]) for weight, tree in trees])

    def of_pairs(self, level, context=None):
        """Trees of at most two variables: all splits but those that weigh much less than the best alternative."""
        context = context or {}
        t, m, counts = len(context), len(level), self.counts(context)
        if sum(counts) == 0:
            return Node(context, 0.0, counts, self.a(context))
        here = self.chance(t) if t < min(m, 2) else 0.0
        node = Node(context, log(1 - here), counts, self.a(context))
        ranked = self.ranked(context) if here else []
        if not context and self.growth.look:
            ranked = ranked[: self.growth.ahead]
        splits = []
        for _, k in ranked:
            if k in level:
                parts = [self.of_pairs(level, part) for part in self.parts(context, k)]
                splits.append((k, log(here / (m - t)), parts))
        weights = [weight + sum(log_sum_of(part) for part in parts) for _, weight, parts in splits]
        top = max([node.log_stop + self.log_z(context), *weights])
        self.ties += any(abs(weight - top + self.growth.wide) < self.TIE for weight in weights)
        node.splits = [split for split, weight in zip(splits, weights, strict=True) if weight >= top - self.growth.wide]
        return node

    def grown_on(self, parents, context=None):
        """The tree that is grown on some parents, from a context on."""
        context = context or {}
        t, m, counts = len(context), len(parents), self.counts(context)
        if sum(counts) == 0:
            return Node(context, 0.0, counts, self.a(context))
        here = self.chance(t) if t < m else 0.0
        node = Node(context, log(1 - here), counts, self.a(context))
        for k in self.chosen(context, parents):
            parts = [self.grown_on(parents, part) for part in self.parts(context, k)]
            node.splits.append((k, log(here / (m - t)), parts))
        return node


def log_marginal(counts, a):
    """The log marginal likelihood of counts of a stage with prior count `a`."""
    cell = a / len(counts)
    return lgamma(a) - lgamma(a + sum(counts)) + sum(lgamma(cell + c) - lgamma(cell) for c in counts)


def prunings(node, banned=None):
    """Every pruning of a grown tree, as its log-weight and the nodes that are its stages."""
    found = [] if node.log_stop is None else [(node.log_stop + log_marginal(node.counts, node.a), [node])]
    for k, weight, parts in node.splits:
        if k != banned:
            found.extend(
                (weight + sum(value for value, _ in choice), [n for _, stages in choice for n in stages])
                for choice in product(*(prunings(part, banned) for part in parts))
            )
    return found


def log_sum_of(node, row=None, target=None):
    """The sum over all prunings of a grown tree; without a row, if one is given, in the same tree."""
    counts = list(node.counts)
    if row is not None and counts and agrees(row, node.context):
        counts[row[target]] -= 1
    terms = [] if node.log_stop is None else [node.log_stop + log_marginal(counts, node.a)]
    for _, weight, parts in node.splits:
        terms.append(weight + sum(log_sum_of(part, row, target) for part in parts))
    return log_sum(terms)


def best_value(node):
    return max(value for value, _ in prunings(node))


def likely_stages(node, least, own=None):
    """The stages of the best pruning, where stages that are probably split on its variables are split further."""
    if own is None:  # -1 stands for the choice of a tree
        own = {-1} | {k for stage in max(prunings(node), key=lambda found: found[0])[1] for k in stage.context}
    stop = -inf if node.log_stop is None else node.log_stop + log_marginal(node.counts, node.a)
    best = [(weight + sum(best_value(part) for part in parts), k, parts) for k, weight, parts in node.splits]
    sums = [(weight + sum(map(log_sum_of, parts)), parts) for k, weight, parts in node.splits if k in own]
    value, k, parts = max(best, key=lambda split: split[0], default=(-inf, None, []))
    if value > stop and k in own:
        pass
    elif sums and sum(exp(value - log_sum_of(node)) for value, _ in sums) >= least:
        parts = max(sums, key=lambda split: split[0])[1]
    else:
        return [node]
    return [stage for part in parts for stage in likely_stages(part, least, own)]


def pairs(context):
    return tuple(sorted(context.items()))


def chances(found):
    """The probability of each pruning."""
    total = log_sum(value for value, _ in found)
    return [(exp(value - total), stages) for value, stages in found]


def small_table(seed, p=None, n=None, weights=None):
    """A table of 3 to 5 variables with 2 to 4 states, some of which are never seen, and 5 to 200 rows."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(3, 6)) if p is None else p
    n = int(rng.choice([5, 17, 64, 65, 130, 200])) if n is None else n
    table = random_table(rng.integers(2, 5, p).tolist(), n, rng)
    codes = np.array(table.codes)
    if seed % 2:
        codes[:, -1] = np.minimum(codes[:, -1], 1)
    weights = {None: None, "whole": rng.integers(0, 4, n).astype(float), "real": rng.random(n) * 3}[weights]
    return Table(codes, table.variables, table.states, weights)
