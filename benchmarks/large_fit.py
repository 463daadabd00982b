"""Packing and learning from many rows: time and memory against the number of rows, and whether the model is the same.

    python -m benchmarks.large_fit --folder parts --rows 1_000_000 10_000_000 100_000_000

The rows are those of `benchmarks.large_rows`; parts that are there already are not written again. Each number of rows
is packed into a file and learned from in a process of its own, with ``beta="auto"`` and ``search="greedy"``, which
stops at the first good order. The counts of the first million rows are compared with those in memory, and so is the
model learned from the file of the fewest rows.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from time import perf_counter, process_time
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq

from benchmarks.large_rows import PART, write_parts
from benchmarks.report import Kept, peak_memory_mb, publish, table
from benchmarks.speed import warm_up
from cslearn import CStreeLearner
from cslearn.counts import BitCounts, Contexts, PackedCounts
from cslearn.data import PackedTable, as_table, pack
from cslearn.errors import ConvergenceWarning

ROWS = (1_000_000, 10_000_000)
SEARCH = "greedy"


class Seconds(NamedTuple):
    """Time that something took."""

    wall: float
    cpu: float


def parts_of(folder: Path, rows: int) -> list[Path]:
    """Return the files of so many rows, written if they are not there."""
    paths = [folder / f"part{i:05d}.parquet" for i in range(-(-rows // PART))]
    whole = all(path.exists() for path in paths) and sum(pq.read_metadata(path).num_rows for path in paths) == rows
    return paths if whole else write_parts(folder, rows)


class Clock:
    """Seconds since it was made, of the wall clock and of all threads of the process."""

    def __init__(self) -> None:
        self._wall, self._cpu = perf_counter(), process_time()

    def read(self) -> Seconds:
        return Seconds(perf_counter() - self._wall, process_time() - self._cpu)


def read_by_pyarrow(paths: list[Path]) -> Seconds:
    """Return how long pyarrow takes to read the files, one after the other."""
    clock = Clock()
    for path in paths:
        pq.read_table(path)
    return clock.read()


def measure(paths: list[Path], packed_path: Path) -> dict[str, object]:
    """Pack the files and learn from the result."""
    warm_up()
    pack(paths[:1])
    reading = read_by_pyarrow(paths)
    clock = Clock()
    packed = pack(paths, packed_path, collapse=False)
    packing, of_packing = clock.read(), peak_memory_mb()
    few = PackedTable.from_table(as_table(paths[0]).take(slice(1000)))
    CStreeLearner(search=SEARCH, random_state=0).fit(few)  # compiles or loads the kernels
    clock = Clock()
    learner = CStreeLearner(beta="auto", search=SEARCH, random_state=0).fit(packed)
    fitting = clock.read()
    learner.cstree_.save(packed_path.with_suffix(".json"))
    return {
        "rows": packed.n,
        "reading": reading,
        "packing": packing,
        "fitting": fitting,
        "stages": learner.cstree_.n_stages,
        "packing_mb": of_packing,
        "peak_mb": peak_memory_mb(),
        "file_mb": packed.nbytes / 2**20,
    }


def same_counts(path: Path) -> bool:
    """Tell whether the rows of a file are counted alike packed and in memory: all pairs, and contexts of one."""
    packed, rows = pack(path, collapse=False), as_table(path)
    p = rows.p
    own = np.arange(p), np.zeros(p + 1, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    deeper = np.arange(1, p), np.arange(p), np.zeros(p - 1, dtype=np.int64), np.ones(p - 1, dtype=np.int64)
    return all(
        np.array_equal(mine, theirs)
        for contexts in (Contexts(*own), Contexts(*deeper))
        for mine, theirs in zip(PackedCounts(packed).of(contexts), BitCounts(rows).of(contexts), strict=True)
    )


def same_model(paths: list[Path], model: Path) -> bool:
    """Tell whether the rows in memory give the model of the packed file, byte for byte."""
    rows = as_table([str(path) for path in paths])
    other = model.with_name("memory.json")
    CStreeLearner(beta="auto", search=SEARCH, random_state=0).fit(rows).cstree_.save(other)
    return other.read_bytes() == model.read_bytes()


def alone(folder: Path, rows: int, packed_path: Path) -> dict[str, object]:
    """Measure in a process of its own, for its memory."""
    command = [sys.executable, "-m", "benchmarks.large_fit", "--folder", str(folder), "--rows", str(rows)]
    done = subprocess.run([*command, "--into", str(packed_path)], stdout=subprocess.PIPE, check=True, text=True)
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def of_rows(folder: Path, rows: int, scratch: Path, compare: bool) -> dict[str, object]:
    """Measure a number of rows; and if asked, compare counts and model with those of the rows in memory."""
    own = scratch / str(rows) if rows % PART else folder
    paths, packed_path = parts_of(own, rows), scratch / f"{rows}.cspack"
    found = alone(own, rows, packed_path)
    assert PackedTable.load(packed_path).n == rows
    packed_path.unlink()
    if compare:
        found["counts"], found["model"] = same_counts(paths[0]), same_model(paths, packed_path.with_suffix(".json"))
    return found


def cells_of(one: dict[str, object]) -> list[object]:
    rows, reading, packing, fitting = one["rows"], *(Seconds(*one[name]) for name in ("reading", "packing", "fitting"))
    return [
        f"{rows:,}",
        *(f"{seconds.wall:.1f} / {seconds.cpu:.1f}" for seconds in (reading, packing, fitting)),
        f"{rows / packing.wall / 1e6:.2f} / {rows / packing.cpu / 1e6:.2f}",
        f"{packing.wall / reading.wall:.1f} / {packing.cpu / reading.cpu:.1f}",
        f"{1e6 * fitting.cpu / rows:.2f}",
        one["stages"],
        f"{one['file_mb']:.0f}",
        f"{one['packing_mb']:.0f}",
        f"{one['peak_mb']:.0f}",
    ]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.large_fit", description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path("build/parts"))
    parser.add_argument("--rows", type=lambda text: int(text.replace("_", "")), nargs="+", default=list(ROWS))
    parser.add_argument("--into", type=Path, help="measure one number of rows, packed into this file, only")
    parser.add_argument("--keep", metavar="FILE", help="where results are kept, so that a run that was ended goes on")
    parser.add_argument("--scratch", type=Path, help="a directory for packed files, instead of the system's")
    parser.add_argument("--quick", action="store_true", help="few rows, to see that it works; writes no page")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", ConvergenceWarning)
    if options.into:
        print(json.dumps(measure(parts_of(options.folder, options.rows[0]), options.into)))
        return
    numbers = [2000, 4000] if options.quick else sorted(options.rows)
    kept = Kept(options.keep)
    with tempfile.TemporaryDirectory(dir=options.scratch) as scratch:
        found = [kept(str(rows), of_rows, options.folder, rows, Path(scratch), rows == numbers[0]) for rows in numbers]
    said = {True: "equal", False: "NOT EQUAL"}
    heads = ["rows", "reading by pyarrow", "packing", "fit", "million rows packed a second", "packing / reading"]
    heads += ["fit, CPU s a million rows", "stages", "file MB", "peak MB of packing", "peak MB"]
    text = "\n".join(
        [
            "Rows of a random CStree with 40 binary variables, in Parquet files of a million rows, packed into a file",
            f'and learned from with `beta="auto"` and `search="{SEARCH}"`, which stops at the first good order. Times',
            "are seconds of the wall clock / CPU seconds of all threads. Peaks are those of the process, with Python,",
            "compiled code, and what is mapped of the packed file.",
            "",
            table(heads, [cells_of(one) for one in found]),
            "",
            f"Counts of the first {min(numbers[0], PART):,} rows, packed and in memory: {said[found[0]['counts']]}.",
            f"The model of {numbers[0]:,} rows in the file and in memory: {said[found[0]['model']]}, byte for byte.",
        ]
    )
    publish("large_fit", "Many rows", text, quick=options.quick)


if __name__ == "__main__":
    main()
