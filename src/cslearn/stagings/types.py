"""Contexts, stages and stagings as immutable values.

A *context* is a partial assignment of variables. Over a level, that is over the variables that precede a target
in the order, a context stands for a *stage*: all outcomes of the level that agree with it. A *staging* is a set
of contexts whose stages partition the level.
"""

from __future__ import annotations

import reprlib
from collections import Counter
from collections.abc import Hashable, ItemsView, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain, islice, product
from math import prod
from types import MappingProxyType
from typing import Any, SupportsIndex

from cslearn._wording import condition
from cslearn.errors import InputError, LimitError

__all__ = ["Context", "Stage", "Staging"]

Variable = Hashable
State = Hashable
Scope = Mapping[Any, Sequence[Any]]

# Contexts of which no variable is in all are compared with each other, up to this number.
PART_LIMIT = 1 << 14
# Outcomes of a level are counted in messages up to this number.
COUNTED = 10**15


def frozen(self: object, name: str, value: object) -> None:
    """Refuse to change an immutable value; for use as ``__setattr__``."""
    raise AttributeError(f"a {type(self).__name__} cannot be changed: make another one")


class Context(Mapping[Any, Any]):
    """A partial assignment ``x_S``: some variables and one state of each.

    Contexts are equal when they assign the same states to the same variables, whatever the order in which these
    were given; that order is kept for printing.

    Parameters
    ----------
    assignment : mapping or iterable of (variable, state) pairs
        The empty context, which every outcome agrees with, is ``Context()``.

    Examples
    --------
    >>> from cslearn.stagings import Context
    >>> context = Context({"exposed": "yes", "diagnosis": "no"})
    >>> print(context)
    exposed=yes, diagnosis=no
    >>> context == Context({"diagnosis": "no", "exposed": "yes"})
    True
    >>> context.agrees({"exposed": "yes", "diagnosis": "no", "background": "urban"})
    True
    """

    __slots__ = ("_assignment", "_hash")

    _assignment: dict[Any, Any]
    _hash: int

    def __init__(self, assignment: Mapping[Any, Any] | Iterable[tuple[Any, Any]] = ()) -> None:
        try:
            pairs = list(assignment.items() if isinstance(assignment, Mapping) else assignment)
            found = dict(pairs), hash(frozenset(pairs))
        except (TypeError, ValueError):
            raise InputError(
                f"a context is a mapping of variables to states, or pairs of these, not {reprlib.repr(assignment)}"
            ) from None
        object.__setattr__(self, "_assignment", found[0])
        if len(self._assignment) != len(pairs):
            counts = Counter(variable for variable, _ in pairs)
            twice = next(name for name, count in counts.items() if count > 1)
            raise InputError(f"a context gives one state to a variable, but {twice!r} is assigned twice")
        object.__setattr__(self, "_hash", found[1])

    __setattr__ = frozen

    def __getitem__(self, variable: Any) -> Any:
        return self._assignment[variable]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._assignment)

    def __len__(self) -> int:
        return len(self._assignment)

    def __contains__(self, variable: object) -> bool:
        return variable in self._assignment

    def items(self) -> ItemsView[Any, Any]:
        """Return the pairs of a variable and its state."""
        return self._assignment.items()

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self._assignment == other._assignment if isinstance(other, Context) else NotImplemented

    def __or__(self, other: Mapping[Any, Any]) -> Context:
        """Return the context that also assigns what `other` assigns; the two must not contradict."""
        if not self.agrees(other):
            raise InputError(f"the contexts ({self}) and ({Context(other)}) contradict each other")
        return Context(self._assignment | dict(other))

    def __reduce__(self) -> tuple[Any, ...]:
        # The stored hash is only good for this process.
        return Context, (self._assignment,)

    def __str__(self) -> str:
        return ", ".join(condition(variable, state) for variable, state in self._assignment.items())

    def __repr__(self) -> str:
        return f"Context({self._assignment!r})"

    def agrees(self, assignment: Mapping[Any, Any]) -> bool:
        """Tell whether no variable is given different states here and in `assignment`."""
        mine = self._assignment
        return all(mine[variable] == assignment[variable] for variable in mine if variable in assignment)


@dataclass(frozen=True)
class Stage:
    """All outcomes of a level that agree with a context.

    Parameters
    ----------
    context : Context
        The stage-defining context.
    scope : mapping of variable to states
        The variables of the level.

    Examples
    --------
    >>> from cslearn.stagings import Context, Stage
    >>> stage = Stage(Context({"b": 1}), {"a": (0, 1), "b": (0, 1)})
    >>> stage.size, stage.is_singleton
    (2, False)
    >>> [dict(outcome) for outcome in stage.outcomes()]
    [{'a': 0, 'b': 1}, {'a': 1, 'b': 1}]
    """

    context: Context
    scope: Scope

    @property
    def share(self) -> Fraction:
        """Share of the level that the stage covers: one over the product of its context's cardinalities."""
        return Fraction(1, prod(len(self.scope[variable]) for variable in self.context))

    @property
    def size(self) -> int:
        """Number of outcomes in the stage."""
        return prod(len(states) for variable, states in self.scope.items() if variable not in self.context)

    @property
    def is_singleton(self) -> bool:
        """Whether the stage is one single outcome (drawn white in a staged tree)."""
        return self.size == 1

    def outcomes(self) -> Iterator[Context]:
        """Yield the outcomes of the level that are in the stage."""
        choices = [
            (self.context[variable],) if variable in self.context else states for variable, states in self.scope.items()
        ]
        for outcome in product(*choices):
            yield Context(zip(self.scope, outcome, strict=True))


class Staging:
    """A partition of a level into stages, each given by its context.

    Parameters
    ----------
    scope : mapping of variable to states, or sequence of cardinalities
        The variables of the level. A number ``d`` in place of the states stands for the states ``0, ..., d-1``,
        and a sequence for the variables ``0, 1, ...``.
    contexts : iterable of Context or mapping
        The stage-defining contexts. They must cover every outcome of the level exactly once.

    Raises
    ------
    InputError
        If two stages overlap or an outcome is in no stage; the message names outcomes.

    Examples
    --------
    >>> from cslearn.stagings import Staging
    >>> scope = {"exposed": ("no", "yes"), "diagnosis": ("no", "yes")}
    >>> staging = Staging(scope, [{"exposed": "no"}, {"exposed": "yes", "diagnosis": "no"},
    ...                           {"exposed": "yes", "diagnosis": "yes"}])
    >>> print(staging)
    exposed=no | exposed=yes, diagnosis=no | exposed=yes, diagnosis=yes
    >>> staging.context_variables
    ('exposed', 'diagnosis')
    >>> Staging(scope, [{"exposed": "no"}])
    Traceback (most recent call last):
    ...
    cslearn.errors.InputError: the stages leave a hole: 2 of 4 outcomes are in no stage, such as those with
    exposed=yes
    """

    __slots__ = ("__dict__", "contexts", "scope")

    scope: Scope
    contexts: tuple[Context, ...]

    def __init__(self, scope: Scope | Mapping[Any, int] | Sequence[int], contexts: Iterable[Any]) -> None:
        full_scope = as_scope(scope)
        given = [context if isinstance(context, Context) else Context(context) for context in contexts]
        _check_known(full_scope, given)
        _check_partition(full_scope, given)
        self._set(full_scope, given)

    def _set(self, scope: Scope, contexts: Iterable[Context]) -> None:
        object.__setattr__(self, "scope", scope)
        object.__setattr__(self, "contexts", _canonical(scope, list(contexts)))

    __setattr__ = frozen

    @classmethod
    def trusted(cls, scope: Scope, contexts: Iterable[Context]) -> Staging:
        """Build a staging from contexts that are known to partition the level, without checking it."""
        staging = cls.__new__(cls)
        staging._set(scope, contexts)
        return staging

    @classmethod
    def full_split(cls, scope: Scope | Mapping[Any, int] | Sequence[int], variables: Iterable[Any]) -> Staging:
        """Return the staging with one stage for each joint state of `variables`, as in a Bayesian network.

        Examples
        --------
        >>> print(Staging.full_split([2, 3, 2], [1]))
        1=0 | 1=1 | 1=2
        """
        full_scope = as_scope(scope)
        wanted = set(variables)
        unknown = next((variable for variable in wanted if variable not in full_scope), None)
        if unknown is not None:
            raise InputError(f"{unknown!r} is not a variable of this level ({_some(full_scope) or 'there are none'})")
        chosen = [variable for variable in full_scope if variable in wanted]
        contexts = product(*(full_scope[variable] for variable in chosen))
        staging = cls.__new__(cls)
        # Counted in the order of the level, the contexts are canonical as they are.
        object.__setattr__(staging, "scope", full_scope)
        object.__setattr__(staging, "contexts", tuple(Context(zip(chosen, x, strict=True)) for x in contexts))
        return staging

    @property
    def cards(self) -> dict[Any, int]:
        """Cardinality of each variable of the level."""
        return {variable: len(states) for variable, states in self.scope.items()}

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages, in the order of :attr:`contexts`."""
        return tuple(Stage(context, self.scope) for context in self.contexts)

    @cached_property
    def context_variables(self) -> tuple[Any, ...]:
        """Variables that occur in some context, in the order of the level: the target's parents."""
        used = set().union(*self.contexts)
        return tuple(variable for variable in self.scope if variable in used)

    @property
    def bound(self) -> int:
        """Largest number of context variables of a stage, ``ms(s_i)`` in the paper."""
        return max(len(context) for context in self.contexts)

    def stage_of(self, outcome: Mapping[Any, Any]) -> int:
        """Return the position in :attr:`contexts` of the stage that holds `outcome`."""
        for index, context in enumerate(self.contexts):
            if all(variable in outcome and outcome[variable] == context[variable] for variable in context):
                return index
        raise InputError(f"the outcome ({Context(outcome)}) is in no stage: it lacks a context variable")

    def __len__(self) -> int:
        return len(self.contexts)

    def __iter__(self) -> Iterator[Context]:
        return iter(self.contexts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Staging):
            return NotImplemented
        return frozenset(self.contexts) == frozenset(other.contexts) and dict(self.scope) == dict(other.scope)

    def __hash__(self) -> int:
        return hash(frozenset(self.contexts))

    def __reduce__(self) -> tuple[Any, ...]:
        return Staging, (dict(self.scope), self.contexts)

    def __str__(self) -> str:
        return " | ".join(str(context) or "(always)" for context in self.contexts)

    def __repr__(self) -> str:
        return f"Staging({len(self.scope)} variables, {len(self)} stages: {self})"


def as_scope(scope: Mapping[Any, Any] | Sequence[int]) -> Scope:
    """Return a level's variables with their states, from states, cardinalities or a sequence of these."""
    full: dict[Any, tuple[Any, ...]] = {}
    try:
        items = scope.items() if isinstance(scope, Mapping) else enumerate(scope)
        for variable, states in items:
            labels: Iterable[Any] = range(int(states)) if isinstance(states, SupportsIndex) else states
            full[variable] = tuple(labels)
    except (TypeError, OverflowError, MemoryError):
        raise InputError(
            "variables are given by a mapping of names to numbers of states or to sequences of states, or by a sequence"
            f" of numbers of states, not {reprlib.repr(scope)}"
        ) from None
    for variable in full:
        if not full[variable]:
            raise InputError(f"variable {variable!r} has no states; a cardinality is at least 1")
    return MappingProxyType(full)


def _parts(scope: Scope, contexts: list[Context]) -> Iterator[tuple[list[Any], list[Context]]]:
    """Yield the contexts in parts, in the order of a decision tree, each with the variables on the way to it.

    Where all contexts share a variable, the first such in the order of the level, its states part them, and so on
    within each part. A part that is yielded names the same variables throughout, or has none that parts it. Contexts
    of different parts contradict each other.

    Of the parts of a part the largest goes on with its counts of variables, less those of the others, so that a
    context is counted anew at most as often as the logarithm of their number.
    """
    position = {variable: index for index, variable in enumerate(scope)}
    ranks: dict[Any, dict[Any, int]] = {}
    # The way is linked from its end, because parts share its beginning.
    counts = Counter(chain.from_iterable(context._assignment for context in contexts))
    stack: list[tuple[Any, int, list[Context], Counter[Any]]] = [(None, 0, contexts, counts)]
    while stack:
        way, depth, part, counts = stack.pop()
        lengths = [len(context._assignment) for context in part]
        shortest = part[lengths.index(min(lengths))]
        shared = [v for v in shortest._assignment if counts[v] == len(part)]
        groups: dict[Any, list[Context]] = {}
        if depth + len(shared) < max(lengths):
            for variable in sorted(shared, key=position.__getitem__):
                way, depth = (variable, way), depth + 1
                del counts[variable]
                groups = {}
                for context in part:
                    groups.setdefault(context._assignment[variable], []).append(context)
                if len(groups) > 1:
                    break
        if len(groups) < 2:
            yield _unlinked(way), part
            continue
        variable = way[0]
        if variable not in ranks:
            ranks[variable] = {state: rank for rank, state in enumerate(scope[variable])}
        largest = max(groups, key=lambda state: len(groups[state]))
        own = {
            state: Counter(v for context in group for v in context._assignment if v in counts)
            for state, group in groups.items()
            if state != largest
        }
        for other in own.values():
            counts.subtract(other)
        backwards = sorted(groups, key=ranks[variable].__getitem__, reverse=True)
        stack += [(way, depth, groups[state], own.get(state, counts)) for state in backwards]


def _unlinked(way: Any) -> list[Any]:
    variables = []
    while way is not None:
        variable, way = way
        variables.append(variable)
    return variables[::-1]


def _same_variables(part: Sequence[Context]) -> bool:
    return all(context._assignment.keys() == part[0]._assignment.keys() for context in part)


def _canonical(scope: Scope, contexts: list[Context]) -> tuple[Context, ...]:
    """Order contexts, and the variables within each, so that equal stagings look the same.

    They come in the order of the decision tree that people read: see :func:`_parts`.
    """
    if len(contexts) == 1 and len(contexts[0]) <= 1:
        return tuple(contexts)
    position = {variable: index for index, variable in enumerate(scope)}
    ranks: dict[Any, dict[Any, int]] = {}

    def place(context: Context) -> list[tuple[int, int]]:
        for variable in context._assignment:
            if variable not in ranks:
                ranks[variable] = {state: rank for rank, state in enumerate(scope[variable])}
        return [(position[v], ranks[v][x]) for v, x in context._assignment.items()]

    found: list[Context] = []
    for way, part in _parts(scope, contexts):
        leading = set(way)
        names: list[Any] = []
        ordered = []
        for context in part:
            if names != list(context._assignment):
                names = [*way, *sorted(context._assignment.keys() - leading, key=position.__getitem__)]
                context = Context((v, context[v]) for v in names)
            ordered.append(context)
        found += sorted(ordered, key=place) if len(ordered) > 1 else ordered
    return tuple(found)


def _check_known(scope: Scope, contexts: Iterable[Context]) -> None:
    states: dict[Any, frozenset[Any]] = {}
    for context in contexts:
        for variable, state in context.items():
            if variable not in scope:
                known = _some(scope) or "there are none"
                raise InputError(
                    f"context ({context}) uses {variable!r}, which is not a variable of this level ({known})"
                )
            if variable not in states:
                states[variable] = frozenset(scope[variable])
            if state not in states[variable]:
                known = _some(scope[variable])
                raise InputError(f"context ({context}): {variable!r} has no state {state!r} (it has {known})")


def _some(names: Iterable[Any]) -> str:
    """Return names for a message: not more than people read."""
    shown = [str(name) for name in islice(names, 51)]
    return ", ".join([*shown[:50], "..."] if len(shown) > 50 else shown)


def _check_partition(scope: Scope, contexts: Sequence[Context]) -> None:
    """Refuse contexts that overlap or leave a hole.

    The time is nearly proportional to the number of assignments, but for contexts that no decision tree draws, which
    are compared with each other.
    """
    for _, part in _parts(scope, list(contexts)) if contexts else ():
        pair = _overlapping(part)
        if pair is not None:
            first, second = pair
            raise InputError(
                f"the stages overlap: the outcomes with {Context({**first, **second}) or 'any state'} are both in"
                f" the stage ({first or 'always'}) and in the stage ({second or 'always'})"
            )
    # Numbers of outcomes of the variables that contexts name; the other variables would only multiply all of them.
    whole = prod(len(scope[v]) for v in set().union(*contexts))
    weights = [whole // prod(len(scope[v]) for v in context) for context in contexts]
    lacking = whole - sum(weights)
    if lacking:
        size = prod(len(states) for states in scope.values())
        how_many = (
            f"{lacking * (size // whole)} of {size} outcomes are"
            if size <= COUNTED
            else f"a share of {float(Fraction(lacking, whole)):.3g} of the outcomes is"
        )
        hole = _hole(scope, list(zip(contexts, weights, strict=True)), whole)
        raise InputError(
            f"the stages leave a hole: {how_many} in no stage, such as those with {Context(hole) or 'any state'}"
        )


def _overlapping(part: Sequence[Context]) -> tuple[Context, Context] | None:
    """Return two contexts that do not contradict each other; None if there are none.

    The contexts that contradict one are found for all others at once, as the bits of a number.
    """
    if len(part) == 1:
        return None
    numbers = {context: number for number, context in enumerate(part)}
    if len(numbers) < len(part):
        twice = next(context for number, context in enumerate(part) if numbers[context] != number)
        return twice, twice
    if _same_variables(part):
        return None
    if len(part) > PART_LIMIT:
        raise LimitError(
            f"{len(part):,} contexts have no variable in common that could part them, so that no decision tree draws"
            f" them. Up to {PART_LIMIT:,} such contexts are checked for overlaps."
        )
    fixed: dict[Any, int] = {}
    in_state: dict[tuple[Any, Any], int] = {}
    for number, context in enumerate(part):
        for pair in context.items():
            in_state[pair] = in_state.get(pair, 0) | 1 << number
            fixed[pair[0]] = fixed.get(pair[0], 0) | 1 << number
    for number, context in enumerate(part):
        agreeing = (1 << len(part)) - 1 ^ 1 << number
        for pair in context.items():
            agreeing &= ~fixed[pair[0]] | in_state[pair]
        if agreeing:
            return context, part[agreeing.bit_length() - 1]
    return None


def _hole(scope: Scope, contexts: list[tuple[Context, int]], whole: int) -> dict[Any, Any]:
    """Return an assignment that contradicts contexts without overlaps, which have less than all outcomes.

    Beside each context stands the number of its outcomes, and `whole` is that of all. They have less than all in one
    of the states of any variable too, and so on.
    """
    found: dict[Any, Any] = {}
    while contexts:
        variable = next(v for v in contexts[0][0] if v not in found)
        card = len(scope[variable])
        groups: dict[Any, list[tuple[Context, int]]] = {}
        free = []
        for context, weight in contexts:
            if variable in context:
                groups.setdefault(context[variable], []).append((context, weight))
            else:
                free.append((context, weight // card))
        whole //= card
        covered = sum(weight for _, weight in free)
        found[variable] = next(
            state for state in scope[variable] if covered + sum(w for _, w in groups.get(state, ())) < whole
        )
        contexts = [*free, *groups.get(found[variable], ())]
    return found


def find_hole(scope: Scope, contexts: Sequence[Context]) -> Context | None:
    """Return a context none of whose outcomes agrees with any of `contexts`; None if there is no such."""
    if not contexts:
        return Context()
    if any(not context for context in contexts):
        return None
    variable = next(iter(contexts[0]))
    for state in scope[variable]:
        rest = [
            Context((v, s) for v, s in context.items() if v != variable)
            for context in contexts
            if context.get(variable, state) == state
        ]
        hole = find_hole(scope, rest)
        if hole is not None:
            return Context({variable: state, **hole})
    return None
