"""Candidate sets ``K_i``: the variables that may be context variables of variable ``i``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cslearn._checked import checked
from cslearn._numerics import RandomState
from cslearn.candidates.knowledge import Knowledge
from cslearn.candidates.screen import Screen, Search, Sets, screen
from cslearn.counts.tables import as_counted
from cslearn.data import TableLike, as_table
from cslearn.data._labels import listing
from cslearn.errors import InputError
from cslearn.scores import Scores, check_ess

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["CandidateSets", "candidate_sets"]

DEFAULT_MEMORY = 2.0 * 2**30
# Of all candidates of p variables with up to d states there are p^3 d pairs with a state. Up to so many (400 binary
# variables) a search with the default settings takes minutes, however much memory there is.
MOST_PAIRS = 1 << 27
_SHOWN = 10


@dataclass(frozen=True, repr=False)
class CandidateSets:
    """The candidate sets of all variables, and how they came about.

    Attributes
    ----------
    sets : dict of str to tuple of str
        The candidate set ``K_i`` of each variable; variables and candidates in the order of the table.
    dropped : dict of str to tuple of str
        What the bound alpha took away, for the variables that lost anything.
    method : str
        Where the sets come from: ``all``, ``screen``, ``pc``, ``grasp``, ``graph``, ``mapping`` or ``matrix``; and
        ``partners`` where deep contexts of many variables have the best candidates of each.
    seconds : float
        How long it took; not compared.
    alpha : int or None
        The bound on the size of the sets.
    notes : tuple of str
        What a screen could not do: sentences about sets cut to what `max_memory` has room for, and about variables
        that would still have entered.
    """

    sets: Sets
    dropped: Sets
    method: str
    seconds: float = field(compare=False)
    alpha: int | None = None
    notes: tuple[str, ...] = ()

    def sizes(self) -> dict[str, int]:
        """Return the number of candidates of each variable."""
        return {name: len(candidates) for name, candidates in self.sets.items()}

    def describe(self) -> str:
        """Tell in a few lines how large the sets are, what the bound alpha dropped, and what else there is to note."""
        sizes = self.sizes()
        total, largest = sum(sizes.values()), max(sizes.values(), default=0)
        lines = [
            f"candidate sets ({self.method}): {_number(len(sizes), 'variable')}, {_number(total, 'candidate')}, "
            f"at most {largest} for one variable"
        ]
        without = [name for name, size in sizes.items() if size == 0]
        if without and total:
            lines.append(f"without candidates: {_shortened(without, ', ')}")
        if self.dropped:
            lost = [f"{name} lost {_shortened(names, ', ')}" for name, names in self.dropped.items()]
            number = _number(sum(map(len, self.dropped.values())), "candidate")
            lines.append(f"bound alpha={self.alpha} dropped {number}: {_shortened(lost, '; ')}")
        elif self.alpha is not None:
            lines.append(f"bound alpha={self.alpha} dropped nothing")
        return "\n".join([*lines, *self.notes])

    def __repr__(self) -> str:
        """Give the method and the size."""
        sizes = self.sizes().values()
        return f"CandidateSets({self.method}: {_number(len(sizes), 'variable')}, {_number(sum(sizes), 'candidate')})"


@checked
def candidate_sets(
    table: TableLike,
    candidates: str | nx.Graph | Mapping[str, Iterable[str]] | ArrayLike = "all",
    *,
    knowledge: Knowledge | Mapping[str, Any] | None = None,
    alpha: int | None = None,
    scores: Scores | None = None,
    ess: float = 1.0,
    level: float = 0.05,
    from_graph: Literal["cpdag", "skeleton"] = "cpdag",
    max_memory: float = DEFAULT_MEMORY,
    search: Search | None = None,
    random_state: RandomState = 0,
    interventions: NDArray[np.bool_] | None = None,
) -> CandidateSets:
    """Choose for each variable the others that may be its context variables.

    Constant variables are never candidates and have none, and no variable is its own. Background knowledge is applied
    to what `candidates` gives, and the bound `alpha` to what is left.

    Parameters
    ----------
    table : Table or PackedTable
    candidates : str, networkx graph, mapping or matrix, default "all"
        ``"all"``: all other variables.
        ``"screen"``: few at first, grown from what `search` meets; see :mod:`cslearn.candidates.screen`.
        ``"auto"``: ``"all"`` if the tables of scores then fit into `max_memory` and the search takes minutes (up to 400
        binary variables, 250 of eight states), otherwise ``"screen"``. A screen is faster before that, with 150 to 200
        variables and 1000 rows by a factor of three to five, but what is learned is further from the truth, by a tenth.
        Choose a screen if time matters more than accuracy.
        ``"pc"``, ``"grasp"``: parents and undirected neighbours in the CPDAG that PC with the G-squared test, or GRaSP
        with the BDeu score, estimates on the codes; they need ``pip install "cslearn[phase1]"`` and a table without
        weights.
        networkx.DiGraph: an edge ``u -> v`` makes `u` a candidate of `v`; a pair of opposite edges is an undirected
        edge. networkx.Graph: neighbours are candidates of each other. A variable that is no node has no candidates.
        Mapping of a variable to its candidates; a variable without a key has none.
        Square array of 0 and 1 or bool, row to column: ``matrix[i, j]`` is 1 if variable `i` is a candidate of variable
        `j`, that is, may be its parent. A DataFrame names the variables in its rows and columns, in any order.
    knowledge : Knowledge or mapping, optional
        Forbidden and required edges, and tiers. Required parents are candidates always, unless one of the two is
        constant; the edge then says something of the order alone.
    alpha : int, optional
        Bound on the number of candidates. The required ones are kept, and of the others those that improve the log
        marginal likelihood most as the only context variable: sum over their states of ``log z(i, x_j)``, minus
        ``log z(i)``.
    scores : Scores, optional
        Scores of the table that rank the candidates for `alpha`.
    ess : float
        Equivalent sample size of the scores by which a screen and `alpha` rank candidates, unless `scores` are given.
    level : float, default 0.05
        Only for ``"pc"``: significance level of the tests.
    from_graph : {"cpdag", "skeleton"}
        For ``"pc"``, ``"grasp"`` and a DiGraph: ``"skeleton"`` takes all neighbours for candidates, whatever the
        direction of the edge, so that the order search may correct it.
    max_memory : float
        Bytes that the tables of scores and the sums of the chains may take. ``"auto"`` turns to a screen where all
        candidates would need more, and of a screen every set is cut to the size for which they have room: the tables
        are as wide as the largest set. Other candidates are taken as they are given.
    search : callable, optional
        Only for ``"screen"``, and ``"auto"`` where it comes to that: given candidate sets, returns the parents of each
        variable in the best model that it finds.
    random_state : int, Generator, RandomState or None, default 0
        Seed of ``"grasp"``.
    interventions : ndarray of bool, shape (n, p), optional
        Where a variable was set from outside: such rows do not count for it. Not for ``"pc"`` and ``"grasp"``.

    Returns
    -------
    CandidateSets

    Examples
    --------
    >>> from cslearn.candidates import candidate_sets
    >>> from cslearn.data import as_table
    >>> table = as_table({"age": [0, 0, 1, 1], "sex": ["f", "m", "f", "m"], "ill": ["no", "no", "yes", "yes"]})
    >>> result = candidate_sets(table, knowledge={"tiers": [["age", "sex"], ["ill"]]}, alpha=1)
    >>> result.sets
    {'age': ('sex',), 'sex': ('age',), 'ill': ('age',)}
    >>> print(result.describe())
    candidate sets (all): 3 variables, 3 candidates, at most 1 for one variable
    bound alpha=1 dropped 1 candidate: ill lost sex
    """
    start = perf_counter()
    if from_graph not in ("cpdag", "skeleton"):
        raise InputError(f'from_graph must be "cpdag" or "skeleton", not {from_graph!r}.')
    known = Knowledge.coerce(knowledge)
    known.check(table.variables)
    alpha = _check_alpha(alpha)
    ess = check_ess(ess) if scores is None else scores.ess
    notes: tuple[str, ...] = ()
    if isinstance(candidates, str) and candidates == "auto":
        candidates = "all" if _affordable(table, max_memory) else "screen"
    if isinstance(candidates, str) and candidates == "screen":
        if search is None:
            raise InputError('candidates="screen" needs search=, which CStreeLearner provides.')
        method = "screen"
        most = _most_candidates(table, max_memory)
        found = screen(as_counted(table), search, knowledge=known, ess=ess, most=most, interventions=interventions)
        given: Mapping[str, Iterable[str]] = found.sets
        notes = _notes(found, most)
    elif interventions is not None and isinstance(candidates, str) and candidates in ("pc", "grasp"):
        raise InputError(
            f'candidates="{candidates}" knows nothing of interventions: use "all", "screen", or sets of your own.'
        )
    else:
        method, given = _given(table, candidates, level, from_graph == "skeleton", random_state)
    sets = _usable(table, given)
    if known:
        sets = _usable(table, known.restrict(sets))
    dropped: Sets = {}
    if alpha is not None:
        if scores is None and interventions is not None:
            scores = Scores(table, beta=1, ess=ess, candidates=sets, interventions=interventions)
        sets, dropped = _bounded(table, sets, known, alpha, scores, ess)
    return CandidateSets(sets, dropped, method, perf_counter() - start, alpha, notes)


def memory_of_tables(p: int, m: int, d: int, beta: int = 2, n_chains: int = 4) -> float:
    """Return the bytes that a search over orders works on, if each variable has `m` candidates of up to `d` states.

    That is, for each pair of candidates and state, a logarithm, a mantissa and its exponent (8 + 8 + 4 bytes); for each
    candidate what belongs to it alone; and the sums and members of the levels of each chain.
    """
    pairs = 20.0 * p * m * m * d if beta >= 2 else 0.0
    return pairs + p * m * (8.0 * d + 24.0) + 8.0 * p * p + n_chains * (p + 1.0) * m * (16.0 * d + 32.0)


def _affordable(table: TableLike, max_memory: float) -> bool:
    """Tell whether memory and time allow all variables as candidates."""
    m, d = table.p - 1, max(table.cards)
    return memory_of_tables(table.p, m, d) <= max_memory and table.p * m * m * d <= MOST_PAIRS


def _most_candidates(table: TableLike, max_memory: float) -> int:
    """Return how many candidates of a variable there is room for; at least one."""
    d, most = max(table.cards), max(table.p - 1, 1)
    while most > 1 and memory_of_tables(table.p, most, d) > max_memory:
        most -= 1
    return most


def _notes(found: Screen, most: int) -> tuple[str, ...]:
    """Tell what a screen could not do."""
    notes = []
    if found.dropped:
        number = _number(sum(map(len, found.dropped.values())), "candidate")
        notes.append(
            f"the memory allowed has room for {_number(most, 'candidate')} of a variable and took away {number}, of "
            f"{_shortened(list(found.dropped), ', ')}"
        )
    if not found.settled:
        notes.append(f"the screen ended after {_number(found.rounds, 'round')}, with candidates that had just entered")
    return tuple(notes)


def _given(
    table: TableLike, candidates: Any, level: float, skeleton: bool, random_state: RandomState
) -> tuple[str, Mapping[str, Collection[str]]]:
    """Return the kind of `candidates`, and the candidate sets that it describes."""
    names = table.variables
    if isinstance(candidates, str):
        if candidates == "all":
            return "all", dict.fromkeys(names, frozenset(names))
        if candidates not in ("pc", "grasp"):
            raise InputError(
                'candidates must be "auto", "all", "screen", "pc", "grasp", a networkx graph, a mapping or a matrix,'
                f" not {candidates!r}."
            )
        from cslearn.candidates.phase1 import estimate_candidates

        if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
            raise InputError(f"level is a significance level between 0 and 1, such as 0.05, not {level!r}.")
        method: Literal["pc", "grasp"] = "pc" if candidates == "pc" else "grasp"
        found = estimate_candidates(as_table(table), method, level=level, skeleton=skeleton, random_state=random_state)
        return method, {name: set(parents) for name, parents in found.items()}
    if isinstance(candidates, Mapping):
        return "mapping", _from_mapping(candidates, names)
    # Told by its method, so that networkx is not imported for matrices.
    if hasattr(candidates, "is_directed"):
        return "graph", _from_graph(candidates, names, skeleton)
    return "matrix", _from_matrix(candidates, names)


def _from_mapping(mapping: Mapping[Any, Any], names: Sequence[str]) -> dict[str, set[str]]:
    _check_known(mapping, names, "candidates has sets of candidates for")
    sets = {}
    for child, parents in mapping.items():
        if isinstance(parents, str) or not isinstance(parents, Iterable):
            raise InputError(
                f"The candidates of {child!r} must be a list of names, not {parents!r}: pass [{parents!r}]."
            )
        listed = list(parents)
        _check_known(listed, names, f"The candidates of {child!r} include")
        sets[child] = set(listed)
    return sets


def _from_graph(graph: Any, names: Sequence[str], skeleton: bool) -> dict[str, set[str]]:
    _check_known(graph.nodes, names, "The graph of candidates has the nodes")
    sets: dict[str, set[str]] = {name: set() for name in names}
    for parent, child in graph.edges():
        sets[child].add(parent)
        if skeleton or not graph.is_directed():
            sets[parent].add(child)
    return sets


def _from_matrix(matrix: Any, names: Sequence[str]) -> dict[str, set[str]]:
    if hasattr(matrix, "columns") and hasattr(matrix, "index"):
        for axis, labels in (("rows", list(matrix.index)), ("columns", list(matrix.columns))):
            _check_known(labels, names, f"The {axis} of the matrix of candidates are called")
            if sorted(labels) != sorted(names):
                raise InputError(
                    f"The {axis} of the matrix of candidates must name each variable once: {listing(names)}. "
                    f"They name {listing(labels)}."
                )
        matrix = matrix.loc[list(names), list(names)].to_numpy()
    try:
        array = np.asarray(matrix)
    except ValueError as error:  # rows of different lengths
        raise InputError(f"The matrix of candidates cannot be read: {error}.") from error
    p = len(names)
    if array.shape != (p, p):
        raise InputError(
            f"The matrix of candidates must have a row and a column for each of the {p} variables, "
            f"shape ({p}, {p}), not {array.shape}."
        )
    odd = [value for value in array.ravel().tolist() if value not in (0, 1)]
    if odd:
        raise InputError(
            f"The matrix of candidates holds 0 and 1 (or False and True), not {odd[0]!r}. "
            "A 1 in row i and column j makes variable i a candidate of variable j."
        )
    return {child: {name for name, use in zip(names, array[:, j], strict=True) if use} for j, child in enumerate(names)}


def _check_known(asked: Iterable[Any], names: Sequence[str], what: str) -> None:
    known = set(names)
    # Not a string first: it may be unhashable.
    unknown = [name for name in asked if not isinstance(name, str) or name not in known]
    if unknown:
        raise InputError(f"{what} {listing(unknown)}, but the variables are {listing(names)}.")


def _check_alpha(alpha: Any) -> int | None:
    if alpha is None:
        return None
    if isinstance(alpha, bool) or not isinstance(alpha, int | np.integer) or alpha < 0:
        raise InputError(f"alpha, the bound on the number of candidates, is None or 0, 1, 2, ..., not {alpha!r}.")
    return int(alpha)


def _usable(table: TableLike, sets: Mapping[str, Iterable[str]]) -> Sets:
    """Put the sets in the order of the table, without constant variables and the variable itself.

    A constant variable has no candidates either: all its stagings have likelihood 1, so that the prior alone would say
    what it depends on.
    """
    constant = set(table.constant)
    free = tuple(name for name in table.variables if name not in constant)
    usable: Sets = dict.fromkeys(table.variables, ())
    for at, child in enumerate(free):
        wanted = set(sets.get(child, ()))
        others = (*free[:at], *free[at + 1 :])
        # Of many variables all are candidates, and are not gone through one by one.
        usable[child] = others if wanted.issuperset(others) else tuple(name for name in others if name in wanted)
    return usable


def _bounded(
    table: TableLike, sets: Sets, known: Knowledge, alpha: int, scores: Scores | None, ess: float
) -> tuple[Sets, Sets]:
    """Return the sets with at most `alpha` candidates each, and what that takes away."""
    kept, dropped = dict(sets), {}
    position = {name: j for j, name in enumerate(table.variables)}
    for child, candidates in sets.items():
        if len(candidates) <= alpha:
            continue
        required = [name for name in candidates if (name, child) in known.required]
        if len(required) > alpha:
            raise InputError(
                f"alpha={alpha} leaves no room for the {len(required)} required parents of {child!r}: "
                f"{listing(required)}. Raise alpha to {len(required)}, or require fewer."
            )
        if scores is None or scores.beta == 0:
            scores = Scores(table, beta=1, ess=ess, candidates=sets)
        gain = _gains(scores, table, child)
        absent = [name for name in candidates if name not in gain]
        if absent:
            raise InputError(
                f"The scores were made without {listing(absent)} among the candidates of {child!r}. "
                "Make them with all candidates, or pass scores=None."
            )
        # Sorting is stable: of equal candidates the first in the table stays.
        ranked = sorted(candidates, key=lambda name: (name not in required, -gain[name]))
        kept[child] = tuple(sorted(ranked[:alpha], key=position.__getitem__))
        dropped[child] = tuple(sorted(ranked[alpha:], key=position.__getitem__))
    return kept, dropped


def _gains(scores: Scores, table: TableLike, child: str) -> dict[str, float]:
    """Return how much each candidate, as the only context variable, improves the log marginal likelihood."""
    if scores.table.variables != table.variables or scores.table.states != table.states:
        raise InputError("The scores belong to other data than the table: make them from this table.")
    i = table.variables.index(child)
    columns = scores.candidates[i]
    stop, single, _ = scores.tables
    # The tables are filled up where others have more candidates, or more states.
    rows = single[i][: len(columns)]
    real = np.arange(rows.shape[1]) < np.array(table.cards)[columns, None]
    gains = np.where(real, rows, 0.0).sum(axis=1) - stop[i]
    return dict(zip((table.variables[column] for column in columns), gains.tolist(), strict=True))


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def _shortened(texts: Sequence[str], separator: str) -> str:
    more = f"{separator}and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return separator.join(texts[:_SHOWN]) + more
