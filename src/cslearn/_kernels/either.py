"""The functions of levels for a problem of either kind: which of them is compiled follows from its type.

Kernels that call these work with the levels of :mod:`cslearn._kernels.levels` and of
:mod:`cslearn._kernels.triple_levels`. From Python only :func:`new_state` can be called.
"""

from typing import Any

from numba.extending import overload

from cslearn._kernels import levels, triple_levels

__all__ = ["fill", "join", "leave", "log_score", "new_state", "sum_of_stagings"]

_OPTIONS: Any = {"error_model": "numpy"}


def new_state(problem):
    """Return a state with room for everything; :func:`set_order` fills it."""
    of_pairs = isinstance(problem, levels.Problem)
    return levels.new_state(problem) if of_pairs else triple_levels.new_state(problem)


def fill(problem, i, state, row, end, without):
    """Make a level anew."""


def join(problem, i, state, row, v):
    """Let a candidate join a level."""


def leave(problem, i, state, row, v):
    """Let a candidate leave a level."""


def log_score(problem, i, state, row, v, sign):
    """Score a level."""


def sum_of_stagings(problem, i, state, row, v, sign, m):
    """Sum over the stagings of a level."""


def _of(problem):
    return levels if problem.instance_class is levels.Problem else triple_levels


@overload(fill, jit_options=_OPTIONS)
def _fill(problem, i, state, row, end, without):
    return _of(problem).fill.py_func


@overload(join, jit_options=_OPTIONS)
def _join(problem, i, state, row, v):
    return _of(problem).join.py_func


@overload(leave, jit_options=_OPTIONS)
def _leave(problem, i, state, row, v):
    return _of(problem).leave.py_func


@overload(log_score, jit_options=_OPTIONS)
def _log_score(problem, i, state, row, v, sign):
    return _of(problem).log_score.py_func


@overload(sum_of_stagings, jit_options=_OPTIONS)
def _sum_of_stagings(problem, i, state, row, v, sign, m):
    return _of(problem).sum_of_stagings.py_func
