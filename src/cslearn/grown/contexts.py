"""Contexts with their splits ranked, filled when they are first visited, and what is summed over them.

A context of a target knows the gain of a split on every other variable. That depends on no order, so it is computed
once and kept. Given the set ``L`` of variables before the target, parents are added one after the other, the next one
being the variable of ``L`` that gains most, as long as that may pay. For each of these nested sets of parents the
*grown tree* splits a context on the parent that promises most, and the same is asked of its parts. The local order
score ``F(i, L)`` is the sum over the sets and over all prunings of their trees, each with the weight that the prior
gives it: a deterministic function of the set ``L``, whatever was asked before and whatever was forgotten. A sampler
over orders with these scores is reversible, and has the product of ``F(i, L_i)`` as its stationary distribution. With
``sets=0`` all sets of ``L`` are summed, and if nothing else bounds the growth all trees.

Greedy splits miss variables that matter only together. So what the first parent and a split of the root of a target
promise includes what the best split of each part gains, which finds all pairs; and several splits of the root are
summed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import lgamma, log
from threading import Lock
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from cslearn.counts import Contexts, Counts
from cslearn.priors import ParentsPrior

__all__ = ["ContextStore", "GrownContexts", "Growth"]

Floats = NDArray[np.float64]
Result = TypeVar("Result")

# Log-gammas of whole counts are looked up while they are smaller than this.
LOOKED_UP = 4096
# Numbers of counts that are asked for at once.
BATCH = 1 << 22
# Sums over trees on sets of parents that are kept while many levels are asked for.
KNOWN = 1 << 12
# Searches for sets of parents that go on where they were, while many levels are asked for.
MOST_PAUSED = 1 << 11
# Splits that are asked for at once.
MOST_WANTED = 1 << 12
# Bytes of a context, with its place in the hash table and as a part, and of a split.
BYTES_OF_A_CONTEXT, BYTES_OF_A_SPLIT = 138, 20


class Splits(NamedTuple):
    """The ranked splits of a context."""

    target: int
    depth: int
    first: int
    variables: NDArray[np.int32]
    gains: Floats


@dataclass(frozen=True)
class Growth:
    """How trees are grown.

    Parameters
    ----------
    bound : int
        Context bound: no context has more variables.
    slack : float
        A split is made if its log posterior odds against stopping are above minus this.
    averaged_slack : float
        The same where trees predict: splits that hardly pay take long to find, say little about orders, and still make
        averages over prunings better.
    width : tuple of int
        How many splits of a context are summed at most, by the number of its variables; the last goes for all others.
    near : float
        Splits that promise so much less than the best, as a log, are not summed.
    look : int
        Contexts of fewer variables look ahead: what a split promises includes the best split of each of its parts.
    enough : float
        Rows that a context must have for that.
    ahead : int
        Of a context so many splits look ahead, those with the largest gains.
    most : int
        Splits that a context keeps, where it does not look ahead.
    sets : int
        How many sets of parents are summed at most; 0 for all sets of the variables before.
    within : float
        Sets of parents that promise so much less than the best, as a log, are not summed.
    wide : float
        In trees of at most two variables, splits that weigh so much less than the best alternative, as a log, are not
        summed.
    """

    bound: int = 10
    slack: float = 1.0
    averaged_slack: float = 3.0
    width: tuple[int, ...] = (4, 2, 1)
    near: float = 8.0
    look: int = 1
    enough: float = 20.0
    ahead: int = 150
    most: int = 64
    sets: int = 30
    within: float = 10.0
    wide: float = 6.0


class ContextStore:
    """The contexts of all targets that were visited, with their splits ranked.

    Parameters
    ----------
    counts : Counts
    allowed : ndarray of bool, shape (p, p)
        ``allowed[i, k]`` tells whether variable `i` may be split on `k`.
    ess, gamma : float
        A stage whose context variables have `q` outcomes has the prior count ``ess * q ** -gamma``.
    growth : Growth
    max_memory : float
        Bytes. Contexts are forgotten, all but those without variables, when they take more; what is asked for at once
        may go beyond.
    """

    def __init__(
        self,
        counts: Counts,
        allowed: NDArray[np.bool_],
        *,
        ess: float,
        gamma: float,
        growth: Growth,
        max_memory: float = 2.0**31,
    ) -> None:
        self.counts, self.ess, self.gamma, self.growth = counts, ess, gamma, growth
        self.allowed = np.ascontiguousarray(allowed, dtype=bool)
        self.max_memory = max_memory
        self.fills = 0
        self._lock, self._age, self._readers = Lock(), 0, 0
        self._kinds: dict[tuple[float, int], int] = {}
        self._distinct_cards = {1, *counts.cards.tolist()}
        self._tables: tuple[Floats, Floats, Floats] = (np.empty(0), np.empty((0, 2, 0)), np.empty((0, 2)))
        # Keys of contexts are exclusive ors of random words, so that the order of their variables does not matter.
        p, most = len(counts.cards), int(counts.cards.max(initial=1))
        words = np.random.default_rng(0).integers(0, 2**64, (p, most + 1), dtype=np.uint64)
        self._marks, self._root_keys = words[:, :-1].copy(), words[:, -1].copy()
        self._begin()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what it was made of."""
        settings: dict[str, Any] = {
            "ess": self.ess,
            "gamma": self.gamma,
            "growth": self.growth,
            "max_memory": self.max_memory,
        }
        return partial(ContextStore, **settings), (self.counts, self.allowed)

    def asked(self, question: Callable[[Any, Any], Result], wanted: Any = None) -> Result:
        """Ask a compiled function, with contexts and a list of those it wants, until it wants no more."""
        if self.memory > self.max_memory:
            with self._lock:
                if self.memory > self.max_memory:
                    self._begin()
        wanted = new_wanted() if wanted is None else wanted
        with self._lock:
            self._readers += 1
        try:
            while True:
                with self._lock:
                    memo, age = self._memo, self._age
                answer = question(memo, wanted)
                if not wanted.number[0]:
                    return answer
                self._provide(age, wanted.pairs[: wanted.number[0]])
                wanted.number[0] = 0
        finally:
            with self._lock:
                self._readers -= 1

    def splits(self, node: int) -> Splits:
        """Return the ranked splits of a context; the first p contexts are those without variables."""
        memo = self._memo
        first, last = int(memo.first[node]), int(memo.last[node])
        return Splits(
            int(memo.target[node]), int(memo.depth[node]), first, memo.split[first:last], memo.gain[first:last]
        )

    def target_and_variable(self, node: int, split: int) -> tuple[int, int]:
        """Return the target of a context, and the variable of one of its splits."""
        return int(self._memo.target[node]), int(self._memo.split[split])

    def parts(self, split: int) -> list[int] | None:
        """Return the contexts that a split leads to; None if they are not there yet."""
        begin = int(self._memo.parts[split])
        if begin < 0:
            return None
        end = begin + int(self.counts.cards[self._memo.split[split]])
        return [int(node) for node in self._memo.part[begin:end]]

    def provide(self, splits: list[tuple[int, int]]) -> None:
        """Fill the parts of some splits, given as pairs of context and split."""
        self._provide(self._age, np.array(splits, dtype=np.int64))

    @property
    def memory(self) -> int:
        """Bytes that the contexts take."""
        width = 8 * self._memo.own.shape[1] + 2 * self._memo.rank.shape[1]
        return (BYTES_OF_A_CONTEXT + width) * len(self._memo.key) + BYTES_OF_A_SPLIT * len(self._memo.split)

    def a_stage(self, outcomes: float) -> float:
        """Return the prior count of a stage whose context variables have so many outcomes."""
        return float(self.ess * outcomes**-self.gamma)

    def _begin(self) -> None:
        """Forget everything but the contexts without variables."""
        from cslearn._kernels.grown import Memo

        p, d = len(self.counts.cards), int(self.counts.cards.max(initial=1))
        kinds: dict[str, Any] = dict.fromkeys(("target", "parent", "variable", "state", "depth"), np.int32)
        kinds |= dict.fromkeys(("outcomes", "rows", "log_z", "gains"), np.float64) | {
            "first": np.int64,
            "last": np.int64,
        }
        arrays = {name: np.zeros(p, dtype=kind) for name, kind in kinds.items()}
        arrays |= {
            "own": np.zeros((p, d)),
            "rank": np.full((p, p), -1, dtype=np.int16),
            "key": self._root_keys.copy(),
            "slots": np.full(1, -1, dtype=np.int64),
        }
        arrays |= {"split": np.zeros(0, np.int32), "gain": np.zeros(0), "parts": np.zeros(0, np.int32)}
        arrays |= {"part": np.zeros(0, np.int32)}
        arrays["target"][:] = np.arange(p)
        arrays["parent"][:] = arrays["variable"][:] = -1
        arrays["outcomes"][:] = 1.0
        self._age += 1
        self._memo = Memo(**arrays, age=self._age)
        self._n = [p, 0, 0]  # contexts, parts, splits
        self._make_room(p, 0, 0)
        self._fill(0)

    def _provide(self, age: int, pairs: NDArray[np.int64]) -> None:
        """Give splits their parts, counting and ranking those that are new."""
        from cslearn._kernels.grown import expand

        with self._lock:
            if age != self._age:
                return  # they were forgotten meanwhile, and the question is asked again
            pairs = pairs[self._memo.parts[pairs[:, 1]] < 0]
            most = int(self.counts.cards.max())
            self._make_room(most * len(pairs), most * len(pairs), 0)
            first, begins = self._n[0], np.empty(len(pairs), dtype=np.int64)
            self._n[:2] = expand(self._memo, self.counts.cards, self._marks, pairs, *self._n[:2], begins)
            self._fill(first)
            # Only now: chains in other threads may go into these parts as soon as they are told.
            self._memo.parts[pairs[:, 1]] = begins

    def _fill(self, first: int) -> None:
        """Count and rank the contexts from number `first` on."""
        from cslearn._kernels.grown import rank

        cards, starts, n = self.counts.cards, self.counts.starts, self._n[0]
        p = len(cards)
        size = max(1, BATCH // max(1, int(starts[-1]) * int(cards.max())))
        for begin in range(first, n, size):
            end = min(n, begin + size)
            own, counts = self.counts.of(self._contexts(begin, end))
            kinds = self._kinds_of(begin, end)
            self._make_room(0, 0, (end - begin) * p)
            growth = self.growth
            least = -max(growth.slack, growth.averaged_slack)
            limits = growth.bound, growth.look, growth.enough, least, growth.most
            tables = self._tables
            self._n[2] = rank(
                self._memo, begin, own, counts, starts, cards, self.allowed, kinds, tables, limits, self._n[2]
            )
            self.fills += end - begin

    def _contexts(self, begin: int, end: int) -> Contexts:
        from cslearn._kernels.grown_contexts import list_contexts

        return Contexts(self._memo.target[begin:end], *list_contexts(self._memo, np.arange(begin, end)))

    def _kinds_of(self, begin: int, end: int) -> NDArray[np.int64]:
        """Return which prior count each context has, and its parts after a split on each variable."""
        memo, cards = self._memo, self.counts.cards
        found = np.empty((end - begin, len(cards) + 1), dtype=np.int64)
        of_targets = cards[memo.target[begin:end]]
        outcomes = memo.outcomes[begin:end] if self.gamma else np.ones(end - begin)
        pairs = {(float(q), int(d)) for q, d in zip(outcomes, of_targets, strict=True)}
        for q, d in pairs:
            of = {c: self._kind(q * c, d) for c in self._distinct_cards}
            rows = slice(None) if len(pairs) == 1 else (outcomes == q) & (of_targets == d)
            found[rows] = [*(of[c] for c in cards.tolist()), of[1]]
        return found

    def _kind(self, outcomes: float, d: int) -> int:
        key = (outcomes if self.gamma else 1.0, d)
        if key not in self._kinds:
            a, number = self.a_stage(outcomes), len(self._kinds)
            whole = np.arange(min(LOOKED_UP, int(self.counts.total) + 1))
            if number == len(self._tables[0]):
                empty = np.empty(0), np.empty((0, 2, len(whole))), np.empty((0, 2))
                old = self._tables if number else empty
                self._tables = tuple(_enlarged(array, 2 * number + 4) for array in old)  # type: ignore[assignment]
            counts, look_up, log_gammas = self._tables
            counts[number] = a
            look_up[number] = [gammaln(b + whole) - lgamma(b) for b in (a, a / d)]
            log_gammas[number] = lgamma(a), lgamma(a / d)
            self._kinds[key] = number
        return self._kinds[key]

    def _make_room(self, contexts: int, parts: int, splits: int) -> None:
        """Enlarge arrays, if so many more do not fit; those that others may be reading stay as they are."""
        from cslearn._kernels.grown import rehash

        def larger(names: tuple[str, ...], used: int, more: int) -> dict[str, Any]:
            room = len(getattr(self._memo, names[0]))
            if used + more <= room and room:
                return {}
            size = max(2 * room, used + more, 1024)
            return {name: _enlarged(getattr(self._memo, name), size) for name in names}

        nodes = (
            "target",
            "parent",
            "variable",
            "state",
            "depth",
            "outcomes",
            "rows",
            "own",
            "log_z",
            "first",
            "last",
            "gains",
        )
        found = larger((*nodes, "key", "rank"), self._n[0], contexts)
        if found:
            slots = np.full(1 << (2 * len(found["key"]) - 1).bit_length(), -1, dtype=np.int64)
            rehash(found["key"], self._n[0], slots)
            found["slots"] = slots
        found |= larger(("part",), self._n[1], parts)
        found |= larger(("split", "gain", "parts"), self._n[2], splits)
        if found:
            if self._readers > 1:
                # Who reads the old arrays must not be led to contexts that are in the new ones alone.
                found.setdefault("parts", self._memo.parts.copy())
            self._memo = self._memo._replace(**found)


class GrownContexts:
    """Sums over the trees that are grown from contexts, with a prior over trees.

    Parameters
    ----------
    store : ContextStore
    prior : ParentsPrior
    growth : Growth, optional
        How many splits are summed and made, in place of what the growth of the contexts says.
    """

    def __init__(self, store: ContextStore, prior: ParentsPrior, growth: Growth | None = None) -> None:
        self.store, self.prior = store, prior
        self.growth = store.growth if growth is None else growth
        self.rules = self._made_rules()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what it was made of."""
        return GrownContexts, (self.store, self.prior, self.growth)

    def with_prior(self, prior: ParentsPrior) -> GrownContexts:
        """Return the same with another prior; contexts do not depend on it and are shared."""
        return GrownContexts(self.store, prior, self.growth)

    @cached_property
    def deeper(self) -> GrownContexts:
        """The same with the deeper trees that predict."""
        slack = max(self.growth.slack, self.growth.averaged_slack)
        return GrownContexts(self.store, self.prior, replace(self.growth, slack=slack))

    def narrow(self) -> GrownContexts:
        """Return the same with one split of each context alone, so that all stagings are prunings of one tree."""
        return GrownContexts(self.store, replace(self.prior, pairs=0.0), replace(self.growth, width=(1,)))

    def log_sums(self, targets: NDArray[np.integer], before: NDArray[np.bool_], room: SumsRoom | None = None) -> Floats:
        """Return ``log F(i, L)`` for targets `i` and the sets of variables before them, shape (r, p).

        Who asks often for a few gives room that is used again.
        """
        from cslearn._kernels.grown_levels import evaluate

        room = SumsRoom.of(min(len(targets), MOST_PAUSED), self.growth) if room is None else room.emptied()
        out, before = np.full(len(targets), np.nan), before & self.store.allowed[targets]
        known, paused, rules = room.known, room.paused, self.rules
        self.store.asked(
            lambda memo, wanted: evaluate(memo, rules, targets, before, wanted, known, paused, out), room.wanted
        )
        return out

    def _made_rules(self) -> Any:
        from cslearn._kernels.grown import Rules

        growth, cards, prior = self.growth, self.store.counts.cards, self.prior
        p, depths = len(cards), range(growth.bound + 1)
        chance = np.array([prior.chance(t) for t in depths])
        stop, split = np.log1p(-chance), np.log(chance)
        stop[-1] = 0.0  # at the bound there is no choice
        states = np.arange(int(cards.max(initial=1)) + 1)
        price = np.array([split[t] - stop[t] + states * stop[min(t + 1, growth.bound)] for t in depths])
        width = np.array([growth.width[min(t, len(growth.width) - 1)] for t in depths], dtype=np.int64)
        return Rules(
            bound=growth.bound,
            stop=stop,
            split=split,
            price=price,
            top=price[:, 2:].max(axis=1, initial=-np.inf),
            width=width,
            near=np.full(len(width), growth.near),
            slack=growth.slack,
            look=growth.look,
            enough=growth.enough,
            ahead=growth.ahead,
            cards=cards,
            log_of=np.log(np.maximum(np.arange(p + 2), 1)),
            sets=growth.sets,
            within=growth.within,
            log_more=log(prior.more),
            log_fewest=np.array([prior.log_number(0, m) for m in range(p + 1)]) + np.log1p(-prior.pairs),
            log_fact=gammaln(np.arange(p + 2) + 1.0),
            log_pairs=log(prior.pairs) if prior.pairs else -np.inf,
            wide=growth.wide,
            words=np.random.default_rng(1).integers(1, 2**64, (3, p), dtype=np.uint64),
        )


class SumsRoom(NamedTuple):
    """Room in which sums over trees are found."""

    known: Any
    paused: Any
    wanted: Any

    @classmethod
    def of(cls, number: int, growth: Growth, known: int = KNOWN) -> SumsRoom:
        """Return room for so many sums at once."""
        return cls(new_known(known), new_paused(number, growth), new_wanted())

    def emptied(self) -> SumsRoom:
        """Return the same room with nothing in it."""
        self.known.key[:] = 0
        self.paused.age[0] = -1
        self.wanted.number[0] = 0
        return self


def new_wanted() -> Any:
    """Return room for a list of splits whose parts are wanted."""
    from cslearn._kernels.grown import Wanted

    return Wanted(np.empty((MOST_WANTED, 2), dtype=np.int64), np.zeros(1, dtype=np.int64))


def new_known(size: int) -> Any:
    """Return room for so many sums over trees, a power of two."""
    from cslearn._kernels.grown import Known

    return Known(np.zeros(size, np.uint64), np.zeros(size))


def new_paused(number: int, growth: Growth) -> Any:
    """Return room for so many searches for sets of parents that wait for contexts."""
    from cslearn._kernels.grown import MOST_LEAVES, Paused

    # Room that is not used takes no memory: pages are given when they are written to.
    return Paused(
        np.zeros(number, np.int64),
        np.zeros(number, np.int64),
        np.empty((number, MOST_LEAVES), np.int64),
        np.empty((number, growth.sets + 1)),
        np.empty(number),
        np.empty((number, growth.sets), np.int64),
        np.full(1, -1, np.int64),
    )


def _enlarged(array: NDArray[Any], size: int) -> NDArray[Any]:
    found = np.zeros((size, *array.shape[1:]), dtype=array.dtype)
    found[: len(array)] = array
    return found
