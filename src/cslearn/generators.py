"""Random CStrees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

from cslearn._checked import checked
from cslearn._numerics import RandomState, as_generator
from cslearn._parameters import NAMES, Row, Table, check, number, whole
from cslearn.cstree import CStree
from cslearn.errors import InputError, LimitError
from cslearn.stagings import Context, Staging, draw
from cslearn.stagings.counting import StagingKind, check_beta
from cslearn.stagings.cover_weights import cover_fits
from cslearn.stagings.types import Scope, as_scope

__all__ = ["random_cstree"]

Method = Literal["uniform", "tree", "split", "grow"]


ALLOWED: Table = {
    "method": Row(*get_args(Method)),
    "p_context": Row(number("a probability", least=0.0, most=1.0)),
    "max_stages": Row(whole(1)),
    "max_parents": Row(whole(0), None),
    "concentration": Row(number("a positive number", above=0.0), None),
    "order": Row(NAMES, None),
}
MOST_VARIABLES = 1 << 20


@checked
def random_cstree(
    cards: int | Sequence[int] | Mapping[str, int | Sequence[Any]],
    beta: int = 2,
    *,
    method: Method = "uniform",
    p_context: float = 0.5,
    max_stages: int = 40,
    max_parents: int | None = None,
    concentration: float | None = 1.0,
    order: Sequence[str] | None = None,
    random_state: RandomState = None,
) -> CStree:
    """Draw a CStree at random: its order, the staging of each variable, and its parameters.

    Parameters
    ----------
    cards : int, sequence of int, or mapping of str to int or states
        A number `p` stands for `p` binary variables. Variables without names are called ``X1``, ``X2``, ...
    beta : int
        Context bound.
    method : {"uniform", "tree", "split", "grow"}
        ``uniform``: every staging with contexts of at most `beta` variables is equally probable; for ``beta > 2``
        only with ``beta = 3`` and binary variables, or where the levels are small. ``tree``: every staging that a
        decision tree can draw is, which is the same for ``beta <= 2`` and has no limit. ``split``: the level is
        split top-down, as in the generator of the paper's experiments: each variable that a context does not hold
        yet gets its chance `p_context` of becoming a context variable there; if several do, one of them is taken at
        random. ``grow``: one stage after the other, chosen at random, is split on a variable chosen at random, until
        there are `max_stages` of them or no split is left. This makes deep and sparse CStrees, such as are learned
        from data with a large context bound.
    p_context : float
        Only for ``split``: the smaller, the fewer stages. At 1 every stage has `beta` context variables.
    max_stages : int
        Only for ``grow``: the most stages of a variable.
    max_parents : int, optional
        Only for ``grow``: the most context variables of all stages of a variable together.
    concentration : float or None
        Parameter of the symmetric Dirichlet distribution of the probabilities in each stage; None leaves the CStree
        without parameters.
    order : sequence of str, optional
        The order of the variables; by default all orders are equally probable.
    random_state : int, Generator or None
        Seed.

    Returns
    -------
    CStree

    Examples
    --------
    >>> from cslearn import random_cstree
    >>> tree = random_cstree([2, 3, 2, 2], random_state=2)
    >>> tree.order
    ('X4', 'X3', 'X1', 'X2')
    >>> random_cstree(100, method="split", p_context=0.01, random_state=1)
    CStree(100 variables, 173 stages)
    >>> deep = random_cstree(30, beta=10, method="grow", max_stages=40, max_parents=8, random_state=1)
    >>> max(staging.bound for staging in deep.stagings.values()), max(map(len, deep.parents.values()))
    (8, 8)
    """
    check_beta(beta)
    check(ALLOWED, locals())
    rng = as_generator(random_state)
    states = _named_states(cards)
    order = None if order is None else list(order)
    if order is None:
        order = [list(states)[i] for i in rng.permutation(len(states))]
    largest = [len(states[v]) for v in order[:-1] if v in states and len(states[v]) > 1]
    if method == "uniform" and not cover_fits(largest, beta):
        raise LimitError(
            f"there are too many stagings of {len(largest)} variables with beta={beta} to draw from all of them: give"
            " method='tree', which draws from those of decision trees, or a smaller beta"
        )
    stagings: dict[str, Staging] = {}
    for position, variable in enumerate(order):
        scope = {v: states[v] for v in order[:position] if v in states}
        if method == "split":
            stagings[variable] = Staging.trusted(as_scope(scope), _split(scope, beta, p_context, rng))
        elif method == "grow":
            stagings[variable] = Staging.trusted(as_scope(scope), _grow(scope, beta, max_stages, max_parents, rng))
        else:
            kind: StagingKind = "all" if method == "uniform" else "tree"
            (stagings[variable],) = draw(scope, beta, kind=kind, random_state=rng)
    tree = CStree(order, stagings, states=states)
    if concentration is None:
        return tree
    return tree.with_parameters(
        {v: rng.dirichlet([concentration] * len(states[v]), size=len(stagings[v])) for v in order}
    )


def _named_states(cards: int | Sequence[int] | Mapping[str, int | Sequence[Any]]) -> dict[str, tuple[Any, ...]]:
    if isinstance(cards, int | np.integer):
        if not 0 <= cards <= MOST_VARIABLES:
            raise InputError(f"the number of variables is at most {MOST_VARIABLES:,}, and not negative; not {cards!r}")
        cards = [2] * int(cards)
    if not isinstance(cards, Mapping):
        cards = {f"X{i}": d for i, d in enumerate(as_scope(cards).values(), start=1)}
    return {v: tuple(labels) for v, labels in as_scope(cards).items()}


def _split(scope: Scope, beta: int, p_context: float, rng: np.random.Generator) -> list[Context]:
    """Return the contexts of a staging that is drawn by splitting the level top-down."""
    done: list[Context] = []
    left = [Context()]
    while left:
        context = left.pop()
        free = [v for v in scope if v not in context and len(scope[v]) > 1]
        chosen = rng.random(len(free)) < p_context
        if len(context) == beta or not chosen.any():
            done.append(context)
        else:
            root = free[int(rng.choice(np.flatnonzero(chosen)))]
            left += [context | {root: state} for state in reversed(scope[root])]
    return done


def _grow(scope: Scope, beta: int, max_stages: int, max_parents: int | None, rng: np.random.Generator) -> list[Context]:
    """Return the contexts of a staging that is drawn by splitting one stage at random after the other."""
    parents = [v for v in scope if len(scope[v]) > 1]
    if max_parents is not None and max_parents < len(parents):
        parents = [parents[k] for k in rng.permutation(len(parents))[:max_parents]]
    done: list[Context] = []
    left = [Context()]
    while left:
        context = left.pop(int(rng.integers(len(left))))
        room = max_stages - len(done) - len(left)
        fitting = [v for v in parents if v not in context and len(scope[v]) <= room]
        if len(context) == beta or not fitting:
            done.append(context)
        else:
            chosen = fitting[int(rng.integers(len(fitting)))]
            left += [context | {chosen: state} for state in scope[chosen]]
    return done
