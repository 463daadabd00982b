"""Background knowledge about the order and the parents of the variables. Every pair is (parent, child)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cslearn._checked import checked
from cslearn.data._labels import listing
from cslearn.errors import FileError, InputError

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["Knowledge"]

Pair = tuple[str, str]
_KEYS = ("forbidden", "required", "tiers")


@checked
@dataclass(frozen=True)
class Knowledge:
    """What is known of the structure before the data are seen, by the names of the variables.

    Parameters
    ----------
    forbidden : iterable of (parent, child) pairs, or networkx.DiGraph
        The parent is never a context variable of the child. It may still come before it in the order.
    required : iterable of (parent, child) pairs, or networkx.DiGraph
        The parent comes before the child in every order, and is always in its candidate set. Whether its states
        make a difference to the child is still left to the data.
    tiers : sequence of collections of str, optional
        The earliest tier first. In every order the variables of a tier come before those of later tiers, and so
        have none of them as a context variable. Variables in no tier are not restricted by the tiers.

    Notes
    -----
    Pairs and tiers are stored sorted and without repetitions, so equal knowledge compares equal. Whether the names
    exist and the parts agree is seen by :meth:`check`, which the other methods call. Empty knowledge is falsy.

    Examples
    --------
    >>> from cslearn.candidates import Knowledge
    >>> knowledge = Knowledge(forbidden=[("age", "smokes")], tiers=[["age", "sex"], ["ill"]])
    >>> knowledge.allows(["sex", "age", "smokes", "ill"])
    True
    >>> knowledge.allows(["ill", "age", "sex", "smokes"])
    False
    >>> bool(Knowledge())
    False
    """

    forbidden: tuple[Pair, ...]
    required: tuple[Pair, ...]
    tiers: tuple[tuple[str, ...], ...]

    # Written out, and not left to dataclass, to say what is accepted rather than what is stored.
    def __init__(
        self,
        forbidden: Iterable[Pair] | nx.DiGraph = (),
        required: Iterable[Pair] | nx.DiGraph = (),
        tiers: Iterable[Iterable[str]] | None = None,
    ) -> None:
        object.__setattr__(self, "forbidden", _pairs(forbidden, "forbidden"))
        object.__setattr__(self, "required", _pairs(required, "required"))
        object.__setattr__(self, "tiers", _tiers(tiers))

    def __bool__(self) -> bool:
        """Say whether anything is known at all."""
        return bool(self.forbidden or self.required or self.tiers)

    @classmethod
    def coerce(cls, knowledge: Knowledge | Mapping[str, Any] | None) -> Knowledge:
        """Make knowledge of None (nothing is known) or of a mapping with the keys forbidden, required and tiers.

        Examples
        --------
        >>> from cslearn.candidates import Knowledge
        >>> Knowledge.coerce({"required": [["age", "ill"]]}).required
        (('age', 'ill'),)
        """
        if knowledge is None:
            return cls()
        if isinstance(knowledge, cls):
            return knowledge
        if not isinstance(knowledge, Mapping):
            raise InputError(
                f"Background knowledge is a Knowledge, or a mapping with some of the keys {listing(_KEYS)}, "
                f"not of type {type(knowledge).__name__}."
            )
        unknown = [key for key in knowledge if key not in _KEYS]
        if unknown:
            raise InputError(f"Background knowledge has the keys {listing(_KEYS)}, not {listing(unknown)}.")
        # A key with null in a JSON file says the same as no key.
        return cls(**{key: value for key, value in knowledge.items() if value is not None})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Knowledge:
        """Read a JSON file: an object with some of the keys forbidden, required (lists of pairs) and tiers.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from cslearn.candidates import Knowledge
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "knowledge.json")
        ...     _ = file.write_text('{"forbidden": [["ill", "age"]], "tiers": [["age"], ["ill"]]}')
        ...     Knowledge.load(file)
        Knowledge(forbidden=(('ill', 'age'),), required=(), tiers=(('age',), ('ill',)))
        """
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise FileError(
                f"Cannot read {os.fspath(path)}: {error.strerror or error}. Check the path and the permissions."
            ) from error
        except (ValueError, RecursionError) as error:
            raise FileError(f"{os.fspath(path)} is not a JSON file, or a damaged one: {error}. Mend it.") from error
        if not isinstance(document, dict):
            raise FileError(
                f"{os.fspath(path)} holds no background knowledge: it must be an object with some of the keys "
                f"{listing(_KEYS)}."
            )
        try:
            return cls.coerce(document)
        except InputError as error:
            raise FileError(f"The background knowledge in {os.fspath(path)} cannot be used: {error}") from error

    def without(self, columns: Iterable[str]) -> Knowledge:
        """Return what is known of the other variables, where some columns are left out of the data.

        Examples
        --------
        >>> from cslearn.candidates import Knowledge
        >>> Knowledge(forbidden=[("id", "ill"), ("ill", "age")], tiers=[["id", "age"], ["ill"]]).without(["id"])
        Knowledge(forbidden=(('ill', 'age'),), required=(), tiers=(('age',), ('ill',)))
        """
        gone = set(columns)
        tiers = [[v for v in tier if v not in gone] for tier in self.tiers]
        return Knowledge(
            [pair for pair in self.forbidden if not gone & set(pair)],
            [pair for pair in self.required if not gone & set(pair)],
            [tier for tier in tiers if tier] or None,
        )

    def check(self, variables: Iterable[str]) -> None:
        """Raise an :class:`InputError` if the knowledge does not fit the variables, or contradicts itself.

        Parameters
        ----------
        variables : iterable of str
            The names of all variables, all different.

        Examples
        --------
        >>> from cslearn.candidates import Knowledge
        >>> Knowledge(required=[("a", "b"), ("b", "a")]).check(["a", "b", "c"])
        Traceback (most recent call last):
        ...
        cslearn.errors.InputError: Required edges form a cycle: 'a' -> 'b' -> 'a'. Leave one of them out.
        """
        names = _distinct(variables)
        self._check_names(names)
        for parent, child in chain(self.forbidden, self.required):
            if parent == child:
                raise InputError(f"The edge {parent!r} -> {child!r} leads from a variable to itself. Leave it out.")
        for parent, child in self.required:
            if (parent, child) in self.forbidden:
                raise InputError(
                    f"The edge {parent!r} -> {child!r} is both required and forbidden. Leave one of the two out."
                )
        tier = self._tier_of()
        _refuse_cycle(self.required, "Required edges form a cycle", "Leave one of them out.")
        for parent, child in self.required:
            if parent in tier and child in tier and tier[parent] > tier[child]:
                raise InputError(
                    f"The required edge {parent!r} -> {child!r} goes against the tiers: {parent!r} is in tier "
                    f"{tier[parent] + 1} and {child!r} in tier {tier[child] + 1}. Change one of the two."
                )
        if not self.required:
            return
        _refuse_cycle(
            (*self.required, *self._tier_edges()),
            "Required edges and tiers together form a cycle",
            "Leave a required edge out, or change the tiers.",
        )

    def _check_names(self, names: Sequence[str]) -> None:
        known = set(names)
        for part, used in (
            ("forbidden", chain.from_iterable(self.forbidden)),
            ("required", chain.from_iterable(self.required)),
            ("tiers", chain.from_iterable(self.tiers)),
        ):
            unknown = dict.fromkeys(name for name in used if name not in known)
            if unknown:
                raise InputError(f"{part} names {listing(unknown)}, but the variables are {listing(names)}.")

    def _tier_of(self) -> dict[str, int]:
        tier: dict[str, int] = {}
        for number, members in enumerate(self.tiers):
            for name in members:
                if name in tier:
                    raise InputError(
                        f"Variable {name!r} is in tier {tier[name] + 1} and in tier {number + 1}. Keep one of them."
                    )
                tier[name] = number
        return tier

    def _tier_edges(self) -> Iterable[Pair]:
        """Give the edges from each tier to the next; the edges to later tiers follow from them."""
        filled = [members for members in self.tiers if members]
        return ((early, late) for one, other in pairwise(filled) for early in one for late in other)

    def precedence(self, variables: Iterable[str]) -> NDArray[np.bool_]:
        """Return which variables must come before which: the transitive closure of required edges and tiers.

        Parameters
        ----------
        variables : iterable of str
            The names of all p variables.

        Returns
        -------
        ndarray of bool, shape (p, p)
            ``[i, j]``, row to column, is True if variable `i` comes before variable `j` in every order.

        Examples
        --------
        >>> from cslearn.candidates import Knowledge
        >>> Knowledge(required=[("a", "b"), ("b", "c")]).precedence(["c", "b", "a"]).astype(int)
        array([[0, 0, 0],
               [1, 0, 0],
               [1, 1, 0]])
        """
        names = _distinct(variables)
        self.check(names)
        index = {name: i for i, name in enumerate(names)}
        before = np.zeros((len(names), len(names)), dtype=np.bool_)
        for first, second in chain(self.required, self._tier_edges()):
            before[index[first], index[second]] = True
        # Warshall's algorithm: what comes before k comes before everything that comes after k.
        for k in range(len(names)):
            before[before[:, k]] |= before[k]
        return before

    def restrict(self, candidates: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
        """Take out the candidates that the knowledge rules out, and put in the required ones.

        Parameters
        ----------
        candidates : mapping of str to iterable of str
            The candidate set of each variable. Its keys are all the variables.

        Returns
        -------
        dict of str to tuple of str
            The candidates that are not forbidden and need not come after the variable, with the required ones, in
            the order of the keys.

        Examples
        --------
        >>> from cslearn.candidates import Knowledge
        >>> knowledge = Knowledge(forbidden=[("sex", "ill")], required=[("age", "ill")])
        >>> knowledge.restrict({"age": ["sex", "ill"], "sex": ["age"], "ill": ["sex"]})
        {'age': ('sex',), 'sex': ('age',), 'ill': ('age',)}
        """
        names = tuple(candidates)
        before = self.precedence(names)
        index = {name: i for i, name in enumerate(names)}
        forbidden, required = set(self.forbidden), set(self.required)
        result = {}
        for child, given in candidates.items():
            old = set(given)
            unknown = [name for name in old if name not in index]
            if unknown:
                raise InputError(f"The candidates of {child!r} include {listing(sorted(unknown))}, which have none.")
            result[child] = tuple(
                name
                for name in names
                if (name, child) in required
                or (name in old and (name, child) not in forbidden and not before[index[child], index[name]])
            )
        return result

    def allows(self, order: Sequence[str]) -> bool:
        """Say whether an order of all the variables agrees with the required edges and the tiers.

        Examples
        --------
        >>> from cslearn.candidates import Knowledge
        >>> Knowledge(required=[("age", "ill")]).allows(["ill", "age"])
        False
        """
        return not np.tril(self.precedence(order)).any()


def _pairs(given: Any, part: str) -> tuple[Pair, ...]:
    # Told by its method, so that networkx is not imported for lists of pairs.
    if hasattr(given, "is_directed"):
        if not given.is_directed():
            raise InputError(
                f"{part} is a graph without directions. Give a networkx.DiGraph with parent -> child edges."
            )
        given = given.edges()
    # Not any Mapping, since the edges of a graph are one.
    if isinstance(given, str | dict) or not isinstance(given, Iterable):
        raise InputError(f"{part} is a list of (parent, child) pairs of names or a networkx.DiGraph, not {given!r}.")
    pairs = set()
    for pair in given:
        names = tuple(pair) if isinstance(pair, Sequence) and not isinstance(pair, str) else ()
        if len(names) != 2 or not all(isinstance(name, str) for name in names):
            raise InputError(f"{part} holds {pair!r}, which is no pair (parent, child) of names of variables.")
        pairs.add(names)
    return tuple(sorted(pairs))


def _tiers(given: Any) -> tuple[tuple[str, ...], ...]:
    if given is None:
        return ()
    # A set has no order, and the tiers are nothing but an order.
    if isinstance(given, str | Mapping | set | frozenset) or not isinstance(given, Iterable):
        raise InputError(f"tiers is a list of collections of names, the earliest tier first, not {given!r}.")
    tiers = []
    for number, members in enumerate(given, start=1):
        if isinstance(members, str):
            raise InputError(f"Tier {number} is the single string {members!r}. A tier is a collection: [{members!r}].")
        if not isinstance(members, Iterable):
            raise InputError(f"Tier {number} is {members!r}, which is no collection of names of variables.")
        names = list(members)
        odd = [name for name in names if not isinstance(name, str)]
        if odd:
            raise InputError(f"Tier {number} holds {listing(odd)}, no names of variables.")
        tiers.append(tuple(sorted(set(names))))
    return tuple(tiers)


def _distinct(variables: Iterable[str]) -> tuple[str, ...]:
    names = tuple(variables)
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1] if len(set(names)) < len(names) else []
    if repeated:
        raise InputError(f"Each variable stands once; repeated: {listing(repeated)}.")
    return names


def _refuse_cycle(edges: Sequence[Pair], problem: str, remedy: str) -> None:
    if not edges:
        return
    import networkx as nx

    try:
        cycle = nx.find_cycle(nx.DiGraph(edges))
    except nx.NetworkXNoCycle:
        return
    shown = " -> ".join(repr(parent) for parent, _ in cycle)
    raise InputError(f"{problem}: {shown} -> {cycle[0][0]!r}. {remedy}")
