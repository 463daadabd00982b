"""The table of a fit: what is too large for memory is packed into a temporary file first."""

from __future__ import annotations

import glob
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from cslearn.cli.streams import note

if TYPE_CHECKING:
    from cslearn.data import TableLike

__all__ = ["fit_table"]

# The share of the machine's memory that the cells of a table may take before they are packed.
SHARE = 0.25
# Bytes of a cell in a data frame; and how many times larger than its file a compressed text is.
CELL, COMPRESSED = 8, 8


@contextmanager
def fit_table(data: Path, read: Callable[[], TableLike], options: dict[str, Any] | None) -> Iterator[TableLike]:
    """Give a table to learn from; a temporary file that it is packed into is gone afterwards, come what may.

    Parameters
    ----------
    data : Path
        A file, or a name with wildcards.
    read : callable
        Reads a table that is not large.
    options : dict, optional
        Those of :func:`cslearn.pack`; None if the rows cannot be packed.
    """
    from cslearn.cli.packing import pack_progress
    from cslearn.data import PackedTable, only_in_batches, pack

    if options is None:
        yield read()
        return
    if data.name.lower().endswith(".cspack"):
        yield read() if options["leave_out"] or options["sample_weight"] else PackedTable.load(data)
        return
    size, limit = _bytes_in_memory(data), SHARE * memory_of_the_machine()
    if size <= limit and not only_in_batches(data):
        yield read()
        return
    with tempfile.TemporaryDirectory(prefix="cslearn-") as folder:
        path = None
        if size > limit:
            path = Path(folder) / "table.cspack"
            note(
                f"the table takes about {size / 2**30:,.1f} GB, more than {SHARE:.0%} of the memory of this machine: it"
                f" is packed into a temporary file in {folder} first (`cslearn pack` makes one that stays)"
            )
        begin = perf_counter()
        with pack_progress() as progress:
            packed = pack(str(data), path, collapse=False, progress=progress, **options)
        if path is not None:
            rate = progress.rows / max(perf_counter() - begin, 1e-9)
            note(f"{packed.n:,} rows packed into {packed.nbytes / 2**20:,.1f} MB, {rate:,.0f} rows a second")
        yield packed


def memory_of_the_machine() -> int:
    """Return the bytes of memory that this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _bytes_in_memory(data: Path) -> int:
    """Return about how many bytes the cells of some files take in memory."""
    names = glob.glob(str(data)) if glob.has_magic(str(data)) and not data.exists() else [str(data)]
    return sum(_bytes_of(Path(name)) for name in names)


def _bytes_of(path: Path) -> int:
    if not path.is_file():
        return 0
    kind = path.name.lower()
    if kind.endswith(".parquet"):
        try:
            import pyarrow.parquet as pq

            described = pq.read_metadata(path)
        except (ImportError, OSError, ValueError):  # what is wrong is said when it is read
            return 0
        return int(CELL * described.num_rows * described.num_columns)
    return path.stat().st_size * (COMPRESSED if kind.endswith((".gz", ".zst")) else 1)
