"""A progress bar on the terminal; silent where standard error is not one."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING

from cslearn.cli.streams import note

if TYPE_CHECKING:
    from cslearn.orders import Progress

__all__ = ["fit_progress", "tell_if_compiling"]

PHASES = {
    "data": "reading the data",
    "candidates": "selecting candidates",
    "scores": "scoring contexts",
    "prior": "choosing the prior",
    "orders": "sampling orders",
    "stagings": "finding the best stagings",
    "parameters": "estimating parameters",
}


class _Terminal(logging.Handler):
    """Prints what is logged as a note; a progress bar replaces standard error, so that is looked up each time."""

    def emit(self, record: logging.LogRecord) -> None:
        note(record.getMessage())


def tell_if_compiling() -> None:
    """Have it said, on a terminal, when inner loops are compiled, as by the first fit on a machine."""
    logger = logging.getLogger("cslearn")
    if sys.stderr.isatty() and not logger.handlers:
        logger.addHandler(_Terminal())
        logger.setLevel(logging.INFO)
        logger.propagate = False


def _cost_of_exact(progress: Progress) -> str:
    """Say what an exact search will take."""
    from cslearn._wording import duration

    memory = max((progress.memory or 0.0) / 2**20, 1)
    size = f"{memory:,.0f} MB" if memory < 1000 else f"{memory / 1024:,.1f} GB"
    sets = progress.total.bit_length() - 1
    return f"note: exact search over 2^{sets} sets: about {size}, {duration(progress.seconds or 0.0)}"


@contextmanager
def fit_progress() -> Iterator[Callable[[str, Progress | None], None] | None]:
    """Show phase, rate and time left while a learner fits; gives the learner's callback."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[rate]}"), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, rate="")
        begin = perf_counter()
        phases = dict(PHASES)

        def callback(phase: str, progress: Progress | None) -> None:
            nonlocal begin
            if progress is None:
                begin = perf_counter()
                bar.reset(task, description=phases.get(phase, phase), total=None, rate="")
            elif progress.seconds is not None:
                bar.console.print(_cost_of_exact(progress), highlight=False)
                phases["orders"] = "searching all orders"
            else:
                rate = progress.done / max(perf_counter() - begin, 1e-9)
                bar.update(task, completed=progress.done, total=progress.total, rate=f"{rate:,.0f} moves/s")

        yield callback
