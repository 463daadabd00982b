"""The encoded table: small integer codes, with the names and the states beside them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cslearn._checked import checked
from cslearn.data._labels import State, listing, state_key, to_label
from cslearn.data._weights import check_weights
from cslearn.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Table", "TableLike", "check_names", "check_states", "rare_states"]

_MAX_CARDINALITY = 2**16
ROWS_PER_STATE = 20  # fewer hardly tell what a state goes with


class TableLike(Protocol):
    """What every table tells of itself, wherever its rows are: :class:`Table`, :class:`PackedTable` and others.

    Examples
    --------
    >>> from cslearn.data import Table, TableLike
    >>> table: TableLike = Table([[0, 1]], ["rain", "mood"], [["no", "yes"], ["bad", "good"]])
    >>> table.n, table.variables
    (1, ('rain', 'mood'))
    """

    @property
    def variables(self) -> tuple[str, ...]:
        """The names, all different."""

    @property
    def states(self) -> tuple[tuple[State, ...], ...]:
        """The labels of each variable."""

    @property
    def n(self) -> int:
        """The number of rows held."""

    @property
    def p(self) -> int:
        """The number of variables."""

    @property
    def cards(self) -> tuple[int, ...]:
        """The cardinalities, in the order of the variables."""

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """The weights of the rows; None if each counts once."""

    @property
    def total_weight(self) -> float:
        """The sum of the weights, which is n without weights."""

    @property
    def constant(self) -> tuple[str, ...]:
        """The variables with a single state."""

    @property
    def state_map(self) -> dict[str, tuple[State, ...]]:
        """The states by the name of the variable."""


@checked
@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Categorical data as codes, never changed once made.

    Parameters
    ----------
    codes : array of int, shape (n, p)
        ``codes[row, j]`` is the position of the cell among ``states[j]``. Stored column by column in the
        smallest of uint8 and uint16 that fits, and read-only.
    variables : sequence of str, length p
        The names, all different.
    states : sequence of sequences, length p
        The labels of each variable, all different: bool, int, float or str. ``True`` and ``1`` cannot both be
        states of one variable, since Python and pandas hold them to be equal.
    weights : array of float, shape (n,), optional
        Non-negative, finite weights of the rows; without them each row counts once.

    Examples
    --------
    >>> from cslearn.data import Table
    >>> table = Table([[0, 1], [1, 1]], ["rain", "mood"], [["no", "yes"], ["bad", "good"]])
    >>> table
    Table(2 rows, 2 variables)
    >>> table.cards
    (2, 2)
    """

    codes: NDArray[np.uint8 | np.uint16]
    variables: tuple[str, ...]
    states: tuple[tuple[State, ...], ...]
    weights: NDArray[np.float64] | None = None

    # Written out, and not left to dataclass, to say what is accepted rather than what is stored.
    def __init__(
        self,
        codes: ArrayLike,
        variables: Iterable[str],
        states: Iterable[Iterable[object]],
        weights: ArrayLike | None = None,
    ) -> None:
        names = check_names(variables)
        labels = check_states(states, names)
        array = _check_codes(codes, names, labels)
        object.__setattr__(self, "codes", array)
        object.__setattr__(self, "variables", names)
        object.__setattr__(self, "states", labels)
        object.__setattr__(self, "weights", None if weights is None else check_weights(weights, len(array)))

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.codes.shape[0])

    @property
    def p(self) -> int:
        """The number of variables."""
        return int(self.codes.shape[1])

    @cached_property
    def cards(self) -> tuple[int, ...]:
        """The cardinalities, in the order of the variables."""
        return tuple(len(labels) for labels in self.states)

    @cached_property
    def total_weight(self) -> float:
        """The sum of the weights, which is n without weights."""
        return float(self.n if self.weights is None else self.weights.sum())

    @property
    def constant(self) -> tuple[str, ...]:
        """The variables with a single state."""
        return tuple(name for name, card in zip(self.variables, self.cards, strict=True) if card == 1)

    @property
    def state_map(self) -> dict[str, tuple[State, ...]]:
        """The states by the name of the variable."""
        return dict(zip(self.variables, self.states, strict=True))

    def collapse(self, min_gain: float = 2.0) -> Table:
        """Merge equal rows into one row with their joint weight, if that pays.

        Parameters
        ----------
        min_gain : float, default 2.0
            How many times fewer rows there must be; with less gain the table itself is returned.

        Returns
        -------
        Table
            The distinct rows in the order of their codes, with weights; or this table.

        Examples
        --------
        >>> from cslearn.data import Table
        >>> table = Table([[1], [0], [1], [1]], ["rain"], [["no", "yes"]])
        >>> table.collapse().weights.tolist()
        [1.0, 3.0]
        """
        if self.n == 0:
            return self
        _, first, inverse = np.unique(_row_keys(self.codes, self.cards), return_index=True, return_inverse=True)
        if self.n < min_gain * len(first):
            return self
        weights = np.bincount(inverse.reshape(-1), weights=self.weights, minlength=len(first))
        return Table(self.codes[first], self.variables, self.states, weights)

    def select(self, variables: Sequence[str]) -> Table:
        """Give the table of some variables, in the order asked for.

        Parameters
        ----------
        variables : sequence of str
            Names of variables of this table.

        Returns
        -------
        Table

        Examples
        --------
        >>> from cslearn.data import Table
        >>> table = Table([[0, 1]], ["rain", "mood"], [["no", "yes"], ["bad", "good"]])
        >>> table.select(["mood"]).variables
        ('mood',)
        """
        position = {name: j for j, name in enumerate(self.variables)}
        unknown = [name for name in variables if name not in position]
        if unknown:
            raise InputError(f"No variable {unknown[0]!r}. The variables are {listing(self.variables)}.")
        chosen = [position[name] for name in variables]
        return Table(self.codes[:, chosen], variables, [self.states[j] for j in chosen], self.weights)

    def take(self, rows: ArrayLike | slice) -> Table:
        """Give the table of some rows.

        Parameters
        ----------
        rows : array of int or bool, or slice
            Anything that indexes the rows of a NumPy array.

        Returns
        -------
        Table

        Examples
        --------
        >>> from cslearn.data import Table
        >>> Table([[0], [1], [1]], ["rain"], [["no", "yes"]]).take([0, 2]).codes.ravel().tolist()
        [0, 1]
        """
        index: Any = rows
        if not isinstance(rows, slice):
            index = np.asarray(rows)
            # np.asarray([]) is a float array, which cannot index.
            index = index.astype(np.intp) if index.size == 0 else index
            known = index.ndim == 1 and index.dtype.kind in "iub"
            if known and index.dtype == bool:
                known = len(index) == self.n
            elif known and index.size:
                known = bool(-self.n <= index.min() <= index.max() < self.n)
            if not known:
                raise InputError(f"rows are numbers of some of {self.n:,} rows, or True or False for each of them")
        weights = None if self.weights is None else self.weights[index]
        return Table(self.codes[index], self.variables, self.states, weights)

    def to_frame(self) -> pd.DataFrame:
        """Give the labels as a pandas frame of ordered categoricals; weights are left out.

        Returns
        -------
        pandas.DataFrame

        Examples
        --------
        >>> from cslearn.data import Table
        >>> Table([[0], [1]], ["rain"], [["no", "yes"]]).to_frame()["rain"].tolist()
        ['no', 'yes']
        """
        import pandas as pd

        columns = {}
        for j, (name, labels) in enumerate(self.state_map.items()):
            # Left to itself pandas would turn labels of several types into one type.
            dtype = None if len({type(label) for label in labels}) == 1 else object
            categories = pd.Index(list(labels), dtype=dtype)
            codes = self.codes[:, j].astype(np.int32)
            columns[name] = pd.Categorical.from_codes(codes, categories=categories, ordered=True)
        return pd.DataFrame(columns)

    def __eq__(self, other: object) -> bool:
        """Compare names, states, codes and weights; the order of the rows matters."""
        if not isinstance(other, Table):
            return NotImplemented
        if self.variables != other.variables or _keys(self.states) != _keys(other.states):
            return False
        if self.weights is None or other.weights is None:
            same_weights = self.weights is other.weights
        else:
            same_weights = np.array_equal(self.weights, other.weights)
        return same_weights and np.array_equal(self.codes, other.codes)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Give the size."""
        rows = f"{self.n:,} row" + ("" if self.n == 1 else "s")
        columns = f"{self.p} variable" + ("" if self.p == 1 else "s")
        return f"Table({rows}, {columns}{'' if self.weights is None else ', weighted'})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle through the constructor, which makes the arrays read-only again."""
        return Table, (self.codes, self.variables, self.states, self.weights)


@checked
def rare_states(table: TableLike) -> dict[str, int]:
    """Return the variables with more than two states that have fewer than 20 rows each on average.

    Examples
    --------
    >>> from cslearn.data import Table, rare_states
    >>> rare_states(Table([[0, 0], [1, 1], [0, 2]], ["a", "b"], [range(2), range(3)]))
    {'b': 3}
    """
    cards = zip(table.variables, table.cards, strict=True)
    return {name: card for name, card in cards if card > 2 and table.total_weight < ROWS_PER_STATE * card}


def check_names(variables: Iterable[str]) -> tuple[str, ...]:
    if isinstance(variables, str):
        raise InputError(f"variables must be a sequence of names, not the single string {variables!r}.")
    names = tuple(variables)
    if not names:
        raise InputError("A table needs at least one column.")
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"The name of a variable must be a string that is not empty, not {name!r}.")
        _check_text(name, f"The name {name!r} of a variable")
    if len(set(names)) < len(names):
        repeated = sorted({name for name in names if names.count(name) > 1})
        raise InputError(f"Names of variables must differ; repeated: {listing(repeated)}. Rename them.")
    return names


def _check_text(text: str, what: str) -> None:
    """Refuse half a character (a lone surrogate), which no file can hold."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        reason = "is no valid text: it has half a character. Was it read with the right encoding?"
        raise InputError(f"{what} {reason}") from None


def check_states(states: Iterable[Iterable[object]], names: tuple[str, ...]) -> tuple[tuple[State, ...], ...]:
    labels = tuple(tuple(to_label(label) for label in of_one) for of_one in states)
    if len(labels) != len(names):
        raise InputError(f"There are {len(names)} variables but states for {len(labels)}.")
    for name, of_one in zip(names, labels, strict=True):
        if not of_one:
            raise InputError(f"Variable {name!r} has no states. Give it at least one.")
        if len(of_one) > _MAX_CARDINALITY:
            raise InputError(
                f"Variable {name!r} has {len(of_one):,} states, more than the {_MAX_CARDINALITY:,} that fit. "
                "Group them, or leave the variable out."
            )
        seen: set[State] = set()
        for label in of_one:
            if isinstance(label, float) and not math.isfinite(label):
                raise InputError(f"Variable {name!r} has the state {label}, which is not a finite number.")
            if isinstance(label, str):
                _check_text(label, f"Variable {name!r} has the state {label!r}, which")
            if label in seen:
                raise InputError(
                    f"Variable {name!r} has the state {label!r} twice (True equals 1 and 1.0 equals 1). "
                    "Give different labels."
                )
            seen.add(label)
    return labels


def _check_codes(
    codes: ArrayLike, names: tuple[str, ...], states: tuple[tuple[State, ...], ...]
) -> NDArray[np.uint8 | np.uint16]:
    array = np.asarray(codes)
    if array.size == 0 and array.ndim == 2:
        array = array.astype(np.uint8)
    if array.ndim != 2 or array.dtype.kind not in "biu":
        raise InputError(f"codes must be a 2-D array of integers, not {array.ndim}-D of type {array.dtype}.")
    if array.shape[1] != len(names):
        raise InputError(f"codes has {array.shape[1]} columns but there are {len(names)} variables.")
    for j, (name, labels) in enumerate(zip(names, states, strict=True)):
        column = array[:, j]
        if len(column) and (column.min() < 0 or column.max() >= len(labels)):
            row = int(np.flatnonzero((column < 0) | (column >= len(labels)))[0])
            raise InputError(
                f"Variable {name!r}, row {row + 1}: code {int(column[row])} is outside 0 to {len(labels) - 1}."
            )
    small: Any = np.uint8 if max(map(len, states)) <= 2**8 else np.uint16
    # A copy, so that the caller's array stays writable and cannot change this one.
    result: NDArray[np.uint8 | np.uint16] = array.astype(small, order="F", copy=True)
    result.flags.writeable = False
    return result


def _keys(states: tuple[tuple[State, ...], ...]) -> list[list[tuple[bool, State]]]:
    return [[state_key(label) for label in labels] for labels in states]


def _row_keys(codes: NDArray[Any], cards: tuple[int, ...]) -> NDArray[Any]:
    """Give one sortable key for each row: a mixed-radix number, or the bytes where that would overflow."""
    if math.prod(cards) < 2**63:
        key = np.zeros(len(codes), dtype=np.int64)
        for j, card in enumerate(cards):
            key *= card
            key += codes[:, j]
        return key
    # Big-endian, so that bytes compare as the numbers do.
    rows = np.ascontiguousarray(codes, dtype=codes.dtype.newbyteorder(">"))
    return rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize))).reshape(-1)
