"""Evidence in the user's words, and as codes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cslearn.data import StateIndex
from cslearn.errors import InputError

if TYPE_CHECKING:
    from cslearn.cstree import CStree

__all__ = ["Coder", "Evidence"]


@dataclass(frozen=True)
class Evidence:
    """Evidence as codes.

    Attributes
    ----------
    hard : dict of int to int
        The code of each variable whose state is known, or assumed in one case of a sum.
    weights : dict of int to ndarray
        The likelihood of each state of the variables that there is soft evidence on.
    allowed : dict of int to frozenset of int
        The codes with positive weight, for variables of `weights` that have others.
    """

    hard: dict[int, int]
    weights: dict[int, NDArray[np.float64]]
    allowed: dict[int, frozenset[int]]

    @property
    def variables(self) -> list[int]:
        """All variables that there is evidence on."""
        return [*self.hard, *self.weights]


class Coder:
    """Turns names and states of a model into columns and codes; errors name what is unknown."""

    def __init__(self, tree: CStree) -> None:
        self.tree = tree
        self.column = {name: j for j, name in enumerate(tree.variables)}
        self._index = {name: StateIndex(states) for name, states in tree.states.items()}

    def variable(self, name: Any) -> int:
        """Return the column of a variable."""
        column = self.column.get(name) if isinstance(name, str) else None
        if column is None:
            raise InputError(f"the model has no variable {name!r}; it has {_shortened(map(repr, self.tree.variables))}")
        return column

    def state(self, name: str, state: Any) -> int:
        """Return the code of a state; a text that is written like a state counts as that state."""
        try:
            code = self._index[name].find(state.item() if isinstance(state, np.generic) else state)
        except TypeError:
            code = None
        if code is None:
            known = _shortened(map(repr, self.tree.states[name]))
            raise InputError(f"{name!r} has no state {state!r}; its states are {known}")
        return code

    def evidence(self, given: Mapping[str, Any] | None, soft: Collection[int] = ()) -> Evidence:
        """Return evidence as codes.

        Parameters
        ----------
        given : mapping of str to state, collection of states, or mapping of state to weight
        soft : collection of int
            Variables that are wanted as targets too: their evidence is given as weights.
        """
        if given is None:
            given = {}
        if not isinstance(given, Mapping):
            raise InputError(f"evidence is a mapping such as {{'a': 'yes'}}, not {given!r}")
        hard: dict[int, int] = {}
        weights: dict[int, NDArray[np.float64]] = {}
        allowed: dict[int, frozenset[int]] = {}
        for name, value in given.items():
            column = self.variable(name)
            row = self.weights(name, value)
            possible = np.flatnonzero(row)
            if not len(possible):
                raise InputError(f"the evidence on {name!r} leaves none of its states: {value!r}")
            if len(possible) == 1 and column not in soft and row[possible[0]] == 1:
                hard[column] = int(possible[0])
                continue
            weights[column] = row
            if len(possible) < len(row):
                allowed[column] = frozenset(possible.tolist())
        return Evidence(hard, weights, allowed)

    def weights(self, name: str, value: Any) -> NDArray[np.float64]:
        """Return the weight of each state of a variable by evidence on it."""
        row = np.zeros(len(self.tree.states[name]))
        if isinstance(value, Mapping):
            for state, weight in value.items():
                code = self.state(name, state)
                try:
                    number = float(weight)
                except (TypeError, ValueError):
                    number = inf
                if not isfinite(number) or number < 0:
                    raise InputError(f"the weight of {name!r} = {state!r} is a number from 0, not {weight!r}")
                row[code] = number
        elif isinstance(value, Collection) and not isinstance(value, str):
            for state in value:
                row[self.state(name, state)] = 1.0
        else:
            row[self.state(name, value)] = 1.0
        return row


def _shortened(texts: Any, shown: int = 20) -> str:
    listed = list(texts)
    more = f" and {len(listed) - shown} more" if len(listed) > shown else ""
    return ", ".join(listed[:shown]) + more
