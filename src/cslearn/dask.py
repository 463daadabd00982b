"""Tables on the workers of a Dask cluster: each packs and keeps its part of the rows, and counts it.

Learning asks for counts of contexts alone, and counts add up. So :func:`pack` leaves the rows where they are read,
every request goes to all workers at once, and the driver adds whole numbers: the model is that of the same rows in one
process, bit for bit, whatever the number of workers and partitions. When a worker is lost, Dask has its part packed
again from the source.

It needs ``pip install "cslearn[dask]"``.
"""

from __future__ import annotations

import glob
import itertools
import os
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha256
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from cslearn._cluster import ATTEMPTS, answer_of, lost, need_workers
from cslearn.counts import Contexts, PackedCounts, RememberedCounts
from cslearn.data import PackedTable, State
from cslearn.data import pack as pack_rows
from cslearn.data._union import union_of_states
from cslearn.data.packed import concatenate
from cslearn.data.packing import check_states_found
from cslearn.data.reading import DEFAULT_NA_VALUES, warn_constant
from cslearn.errors import InputError, MissingExtraError

__all__ = ["DaskTable", "Traffic", "pack"]

Result = TypeVar("Result")


@dataclass
class Traffic:
    """What went between the driver and the workers: numbers of round trips and contexts, and bytes of arrays."""

    requests: int = 0
    contexts: int = 0
    sent: int = 0
    received: int = 0


class DaskTable:
    """A packed table whose rows are on the workers of a Dask cluster; :func:`pack` makes one.

    :meth:`cslearn.CStreeLearner.fit` takes it with ``beta="auto"``.

    Attributes
    ----------
    variables : tuple of str
    states : tuple of tuple
    n : int
        The number of rows.
    traffic : Traffic
        What was asked of the workers and what they answered, since the table was made.
    """

    weights: None = None

    def __init__(
        self,
        client: Any,
        makers: Sequence[Callable[[], Any]],
        variables: tuple[str, ...],
        states: tuple[tuple[State, ...], ...],
        sizes: Sequence[int],
        parts: Sequence[Any],
    ) -> None:
        self.client, self.variables, self.states = client, variables, states
        self.traffic = Traffic()
        self._makers, self._parts = list(makers), list(parts)
        self._ends = np.cumsum([0, *sizes])

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self._ends[-1])

    @property
    def p(self) -> int:
        """The number of variables."""
        return len(self.variables)

    @cached_property
    def cards(self) -> tuple[int, ...]:
        """The cardinalities, in the order of the variables."""
        return tuple(len(labels) for labels in self.states)

    @property
    def total_weight(self) -> float:
        """The number of rows."""
        return float(self.n)

    @property
    def constant(self) -> tuple[str, ...]:
        """The variables with a single state."""
        return tuple(name for name, card in zip(self.variables, self.cards, strict=True) if card == 1)

    @property
    def state_map(self) -> dict[str, tuple[State, ...]]:
        """The states by the name of the variable."""
        return dict(zip(self.variables, self.states, strict=True))

    def counts(self) -> RememberedCounts:
        """Return the counts of the rows; each context is asked for once."""
        return RememberedCounts(_DaskCounts(self))

    def __repr__(self) -> str:
        """Give the size."""
        return f"DaskTable({self.n:,} rows, {self.p} variables, {len(self._parts)} parts)"

    def ask(self, question: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]) -> list[Result]:
        """Ask each part a question, with arguments of its own; again where Dask has given up."""
        answers: dict[int, Result] = {}
        for _ in range(ATTEMPTS):
            left = [at for at in range(len(self._parts)) if at not in answers]
            futures = {
                at: self.client.submit(question, self._parts[at], *arguments[at], pure=False, retries=2) for at in left
            }
            for at, future in futures.items():
                try:
                    answers[at] = answer_of(self.client, future)
                except lost():
                    if self._parts[at].status not in ("pending", "finished"):
                        self._parts[at] = self._recoded(self._makers[at]())
            if len(answers) == len(self._parts):
                return [answers[at] for at in range(len(self._parts))]
        raise InputError(f"the workers were lost {ATTEMPTS} times in a row: have they enough memory for their rows?")

    def _recoded(self, part: Any) -> Any:
        return self.client.submit(_recoded, part, self.variables, self.states, pure=False, retries=2)


class _DaskCounts:
    """Counts that are added up over the parts of a table; see :class:`cslearn.counts.Counts`."""

    def __init__(self, table: DaskTable) -> None:
        self._table = table
        self.cards = np.array(table.cards, dtype=np.int64)
        self.starts = np.concatenate([[0], np.cumsum(self.cards - 1)]).astype(np.int64)

    @property
    def total(self) -> float:
        return self._table.total_weight

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the states and of the counts of all pairs, which do not depend on the partitions."""
        names = repr((self._table.variables, self._table.states))
        p = len(self.cards)
        nothing = np.zeros(0, dtype=np.int64)
        own, counts = self.of(Contexts(np.arange(p), np.zeros(p + 1, dtype=np.int64), nothing, nothing))
        return sha256(names.encode() + own.tobytes() + counts.astype(np.int64).tobytes()).hexdigest()

    def of(self, contexts: Contexts) -> tuple[NDArray[np.float64], NDArray[np.number]]:
        own, counts = self._added(_counted, contexts)
        return own.astype(np.float64), counts

    def own(self, contexts: Contexts) -> NDArray[np.float64]:
        (own,) = self._added(_counted_own, contexts)
        return own.astype(np.float64)

    def rows(self, at: NDArray[np.int64]) -> NDArray[np.integer]:
        ends = self._table._ends
        parts = [(at[(at >= begin) & (at < end)] - begin,) for begin, end in itertools.pairwise(ends)]
        found = self._table.ask(_taken, parts)
        self._record(parts, found)
        # They come part by part, and within a part in the order in which they were asked for.
        by_part = np.argsort(np.searchsorted(ends, at, side="right"), kind="stable")
        return np.concatenate(found)[np.argsort(by_part)]

    def _added(self, question: Any, contexts: Contexts) -> tuple[NDArray[np.number], ...]:
        """Ask all parts, and add up what they answer."""
        small = tuple(_narrow(array) for array in contexts)
        arguments = [small] * len(self._table._parts)
        answers = self._table.ask(question, arguments)
        self._record(arguments, [array for answer in answers for array in answer])
        self._table.traffic.contexts += len(contexts.targets)
        kind = np.int32 if self._table.n < 2**31 else np.int64
        totals = []
        for arrays in zip(*answers, strict=True):
            total = np.zeros(arrays[0].shape, dtype=kind)
            for array in arrays:
                total += array.astype(kind)
            totals.append(total)
        return tuple(totals)

    def _record(self, arguments: Sequence[tuple[NDArray[Any], ...]], answers: Sequence[NDArray[Any]]) -> None:
        traffic = self._table.traffic
        traffic.requests += 1
        traffic.sent += sum(array.nbytes for of_part in arguments for array in of_part)
        traffic.received += sum(array.nbytes for array in answers)


def pack(
    source: Any,
    client: Any = None,
    *,
    parts: int | None = None,
    leave_out: Collection[str] = (),
    states: Mapping[str, Sequence[Any]] | None = None,
    missing: Literal["error", "drop", "state"] = "error",
    na_values: Collection[str] = DEFAULT_NA_VALUES,
    sep: str | None = None,
    max_states: int = 64,
) -> DaskTable:
    """Pack a table on the workers of a Dask cluster, where its rows stay.

    Parameters
    ----------
    source : dask.dataframe.DataFrame, path or list of paths
        Partitions or files that follow each other are packed together, as many parts as there are workers. Paths, which
        may have wildcards, are read by the workers, so these must find them.
    client : dask.distributed.Client, optional
        By default the one that was made last.
    parts : int, optional
        Into how many parts the rows go; by default one for each worker. What is learned does not depend on it.
    leave_out, states, missing, na_values, sep, max_states
        As for :func:`cslearn.pack`.

    Returns
    -------
    DaskTable

    Raises
    ------
    InputError
        If the data cannot be used, or the cluster has no workers for a minute.
    MissingExtraError
        If Dask is not installed.

    Examples
    --------
    >>> import cslearn.dask
    >>> from dask.distributed import Client
    >>> client = Client(processes=False, dashboard_address=":0")  # doctest: +SKIP
    >>> packed = cslearn.dask.pack("parts/*.parquet")  # doctest: +SKIP
    >>> cslearn.CStreeLearner().fit(packed)  # doctest: +SKIP
    """
    client = _client(client)
    need_workers(client)
    options = {
        "leave_out": leave_out,
        "states": states,
        "missing": missing,
        "na_values": na_values,
        "sep": sep,
        "max_states": None,
        "collapse": False,
    }
    pieces, n_parts = _pieces(source), parts or len(client.scheduler_info(n_workers=-1)["workers"])
    groups = [group.tolist() for group in np.array_split(np.arange(len(pieces)), max(1, n_parts))]
    makers = [partial(_packed_there, client, [pieces[at] for at in group], options) for group in groups if group]
    futures = [maker() for maker in makers]
    descriptions = [client.submit(_description, future, pure=False) for future in futures]
    told = [answer_of(client, description) for description in descriptions]
    variables, found, _ = union_of_states([(names, labels) for names, labels, _ in told])
    n = sum(rows for _, _, rows in told)
    asked = {name: labels for name, labels in zip(variables, found, strict=True) if name not in (states or {})}
    check_states_found(asked, n, max_states)
    warn_constant([name for name, labels in asked.items() if len(labels) == 1])
    table = DaskTable(client, makers, variables, found, [rows for _, _, rows in told], futures)
    table._parts = [table._recoded(future) for future in futures]
    return table


def _client(client: Any) -> Any:
    try:
        from distributed import default_client
    except ImportError:
        raise MissingExtraError('cslearn.dask needs Dask: pip install "cslearn[dask]"') from None
    if client is not None:
        return client
    try:
        return default_client()  # type: ignore[no-untyped-call]
    except ValueError:
        raise InputError(
            "there is no Dask client: make one, such as dask.distributed.Client() for the cores of this machine"
        ) from None


def _pieces(source: Any) -> list[Any]:
    """Return what is read one after the other: paths, or partitions that are still to be computed."""
    if hasattr(source, "to_delayed"):
        return list(source.to_delayed())
    given = [source] if isinstance(source, str | os.PathLike) else source
    if not isinstance(given, list | tuple) or not all(isinstance(item, str | os.PathLike) for item in given):
        raise InputError(
            "cslearn.dask.pack takes a Dask data frame, or paths that the workers can read, not"
            f" {type(source).__name__}"
        )
    names = [os.fspath(item) for item in given]
    found = [path for name in names for path in (sorted(glob.glob(name)) if glob.has_magic(name) else [name])]
    if not found:
        raise InputError(f"There is no file {' or '.join(names)}. Check the name and the directory.")
    return found


def _packed_there(client: Any, pieces: list[Any], options: dict[str, Any]) -> Any:
    """Have some pieces packed, wherever Dask finds a worker for them."""
    if isinstance(pieces[0], str):
        return client.submit(_packed_files, pieces, options, pure=False, retries=2)
    from dask.delayed import delayed

    return client.compute(delayed(_packed_frames)(pieces, options), retries=2)


# ---------------------------------------------------------------- on the workers
def _packed_files(paths: list[str], options: dict[str, Any]) -> PackedTable:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a column with one state here may have others elsewhere
        return pack_rows(paths, **options)


def _packed_frames(frames: list[Any], options: dict[str, Any]) -> PackedTable:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pack_rows(iter(frames), **options)


def _description(part: PackedTable) -> tuple[tuple[str, ...], tuple[tuple[State, ...], ...], int]:
    return part.variables, part.states, part.n


def _recoded(part: PackedTable, variables: tuple[str, ...], states: tuple[tuple[State, ...], ...]) -> PackedTable:
    """Give the rows with the codes of the states of the whole table."""
    if part.variables == variables and part.states == states:
        return part
    nothing = PackedTable(np.zeros((_n_planes(states), 0), dtype=np.uint64), variables, states, 0)
    return concatenate([nothing, part])


def _n_planes(states: tuple[tuple[State, ...], ...]) -> int:
    from cslearn.data._planes import plane_starts

    return int(plane_starts([len(labels) for labels in states])[-1])


def _counted(part: PackedTable, *contexts: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    return tuple(_narrow(array) for array in PackedCounts(part, n_jobs=1).of(_wide(contexts)))


def _counted_own(part: PackedTable, *contexts: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    return (_narrow(PackedCounts(part, n_jobs=1).own(_wide(contexts))),)


def _taken(part: PackedTable, at: NDArray[np.int64]) -> NDArray[np.integer]:
    return part.take(at)


def _wide(arrays: Sequence[NDArray[Any]]) -> Contexts:
    return Contexts(*(array.astype(np.int64) for array in arrays))


def _narrow(array: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers that are not negative in as few bytes as hold them."""
    return array.astype(np.min_scalar_type(int(array.max(initial=0))))
