"""The command that packs tables of any size."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cslearn.cli.app import Json, LeaveOut, MaxStates, NaValues, Separator, Weights, app, columns_of
from cslearn.cli.discretize import read_cuts
from cslearn.cli.paths import check_outputs
from cslearn.cli.streams import tell
from cslearn.errors import InputError

if TYPE_CHECKING:
    from cslearn.data import PackedTable

__all__ = ["pack"]


class MissingCells(StrEnum):
    """What is done about missing values when rows are packed."""

    error = "error"
    drop = "drop"
    state = "state"


@app.command()
def pack(
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA...",
            help="Tables with the same columns, one after the other: .parquet, or .csv, .tsv, .tab (also .gz, .zst); "
            "names may have wildcards.",
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The packed table, such as table.cspack.")
    ] = None,
    into: Annotated[
        Path | None, typer.Option("--into", metavar="FILE", help="An existing packed table to add the rows to.")
    ] = None,
    missing: Annotated[
        MissingCells,
        typer.Option("--missing", help="Refuse missing cells, drop incomplete rows, or make 'missing' a state."),
    ] = MissingCells.error,
    weights: Weights = None,
    leave_out: LeaveOut = None,
    cuts: Annotated[
        Path | None,
        typer.Option("--cuts", metavar="FILE", help="JSON file of cut points that `cslearn discretize` wrote."),
    ] = None,
    keep_rows: Annotated[
        bool,
        typer.Option(
            "--keep-rows",
            metavar="",
            help="Keep all rows, even where merging equal ones into one with a weight would save space.",
        ),
    ] = False,
    na_values: NaValues = None,
    max_states: MaxStates = 64,
    sep: Separator = None,
    json_output: Json = False,
) -> None:
    """Pack a table of any size into bits, reading it once and a batch of rows at a time."""
    from cslearn.data import DEFAULT_NA_VALUES, Discretizer, PackedTable
    from cslearn.data import pack as pack_rows

    if (output is None) == (into is None):
        raise InputError("say where the packed table goes: to a new file (-o), or into one that is there (--into)")
    target = Path(str(output or into))
    check_outputs({"-o" if into is None else "--into": target}, [*map(Path, data), cuts])
    begin = perf_counter()
    with pack_progress() as progress:
        packed = pack_rows(
            data,
            target,
            into=None if into is None else PackedTable.load(into),
            missing=missing.value,
            sample_weight=weights,
            leave_out=columns_of(leave_out) or (),
            discretizer=None if cuts is None else Discretizer.from_dict(read_cuts(cuts)),
            collapse=False if keep_rows else "auto",
            na_values=na_values or DEFAULT_NA_VALUES,
            max_states=max_states,
            sep=sep,
            progress=progress,
        )
    if json_output:
        print(json.dumps(_document(packed, target)))
    else:
        _print(packed, target, progress.rows / max(perf_counter() - begin, 1e-9))


def _document(packed: PackedTable, path: Path) -> dict[str, Any]:
    return {
        "table": str(path),
        "rows": packed.n,
        "weight": packed.total_weight,
        "variables": packed.p,
        "bits_per_row": int(packed.starts[-1]),
        "bytes": path.stat().st_size,
        "fingerprint": packed.fingerprint,
    }


def _print(packed: PackedTable, path: Path, rate: float) -> None:
    weight = "" if packed.weights is None else f" of weight {packed.total_weight:,.10g}"
    rows = f"{packed.n:,} row{'' if packed.n == 1 else 's'}{weight}"
    columns = f"{packed.p:,} variable{'' if packed.p == 1 else 's'}"
    size = f"{packed.starts[-1]:,} bits a row, {path.stat().st_size / 2**20:,.1f} MB"
    tell(f"{rows}, {columns}, {size}: {path}")
    tell(f"Rows read a second: {rate:,.0f}")


class _Progress:
    """Counts the rows that were read, and shows them if there is a bar."""

    def __init__(self, show: Callable[[int, int | None], None] | None) -> None:
        self.rows = 0
        self._show = show

    def __call__(self, rows: int, of: int | None) -> None:
        self.rows = rows
        if self._show is not None:
            self._show(rows, of)


@contextmanager
def pack_progress() -> Iterator[_Progress]:
    """Count rows while a table is packed, and on a terminal show how many there are, and how many a second."""
    if not sys.stderr.isatty():
        yield _Progress(None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("packing rows"), BarColumn(), TextColumn("{task.fields[rate]}"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, rate="")
        begin = perf_counter()

        def show(rows: int, of: int | None) -> None:
            rate = rows / max(perf_counter() - begin, 1e-9)
            bar.update(task, completed=rows, total=of, rate=f"{rows:,} rows, {rate:,.0f} a second")

        yield _Progress(show)
