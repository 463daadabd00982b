"""Packing and learning from many rows: time and memory against the number of rows, and whether the model is the same.

    python -m benchmarks.large_fit --folder parts --rows 1_000_000 10_000_000 100_000_000

The rows are those of `benchmarks.large_rows`; parts that are there already are not written again. Each number of rows
is packed into a file and learned from with ``beta="auto"`` in a process of its own. The counts of the first million
rows are compared with those in memory, and so is the model learned from the file of the fewest rows.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow.parquet as pq

from benchmarks.large_rows import PART, write_parts
from benchmarks.report import peak_memory_mb, publish, table
from benchmarks.speed import warm_up
from cslearn import CStreeLearner
from cslearn.counts import BitCounts, Contexts, PackedCounts
from cslearn.data import PackedTable, as_table, pack
from cslearn.errors import ConvergenceWarning

ROWS = (1_000_000, 10_000_000)


def parts_of(folder: Path, rows: int) -> list[Path]:
    """Return the files of so many rows, written if they are not there."""
    paths = [folder / f"part{i:05d}.parquet" for i in range(-(-rows // PART))]
    whole = all(path.exists() for path in paths) and sum(pq.read_metadata(path).num_rows for path in paths) == rows
    return paths if whole else write_parts(folder, rows)


def read_seconds(paths: list[Path]) -> float:
    """Return how long pyarrow takes to read the files, one after the other."""
    begin = perf_counter()
    for path in paths:
        pq.read_table(path)
    return perf_counter() - begin


def measure(paths: list[Path], packed_path: Path) -> dict[str, float]:
    """Pack the files and learn from the result."""
    warm_up()
    pack(paths[:1])
    reading = read_seconds(paths)
    begin = perf_counter()
    packed = pack(paths, packed_path, collapse=False)
    packing, of_packing = perf_counter() - begin, peak_memory_mb()
    begin = perf_counter()
    learner = CStreeLearner(beta="auto", random_state=0).fit(packed)
    fitting = perf_counter() - begin
    learner.cstree_.save(packed_path.with_suffix(".json"))
    return {
        "rows": packed.n,
        "reading": reading,
        "packing": packing,
        "fitting": fitting,
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
    CStreeLearner(beta="auto", random_state=0).fit(rows).cstree_.save(other)
    return other.read_bytes() == model.read_bytes()


def alone(folder: Path, rows: int, packed_path: Path) -> dict[str, float]:
    """Measure in a process of its own, for its memory."""
    command = [sys.executable, "-m", "benchmarks.large_fit", "--folder", str(folder), "--rows", str(rows)]
    done = subprocess.run([*command, "--into", str(packed_path)], stdout=subprocess.PIPE, check=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.large_fit", description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path("build/parts"))
    parser.add_argument("--rows", type=lambda text: int(text.replace("_", "")), nargs="+", default=list(ROWS))
    parser.add_argument("--into", type=Path, help="measure one number of rows, packed into this file, only")
    parser.add_argument("--quick", action="store_true", help="few rows, to see that it works; writes no page")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", ConvergenceWarning)
    if options.into:
        print(json.dumps(measure(parts_of(options.folder, options.rows[0]), options.into)))
        return
    numbers = [2000, 4000] if options.quick else sorted(options.rows)
    cells = []
    with tempfile.TemporaryDirectory() as scratch:
        for rows in numbers:
            folder = Path(scratch, str(rows)) if rows % PART else options.folder
            paths = parts_of(folder, rows)
            packed_path = Path(scratch, f"{rows}.cspack")
            one = alone(folder, rows, packed_path)
            cells.append(
                [
                    f"{rows:,}",
                    f"{rows / one['packing'] / 1e6:.2f}",
                    f"{one['packing'] / one['reading']:.1f}",
                    f"{one['packing']:.1f}",
                    f"{one['fitting']:.1f}",
                    f"{1e6 * one['fitting'] / rows:.2f}",
                    f"{one['file_mb']:.0f}",
                    f"{one['packing_mb']:.0f}",
                    f"{one['peak_mb']:.0f}",
                ]
            )
            print(cells[-1], file=sys.stderr, flush=True)
            if rows == numbers[0]:
                counts, model = same_counts(paths[0]), same_model(paths, packed_path.with_suffix(".json"))
            assert PackedTable.load(packed_path, verify=False).n == rows
            packed_path.unlink()
    said = {True: "equal", False: "NOT EQUAL"}
    heads = ["rows", "million rows a second", "times reading by pyarrow", "packing s", "fit s", "fit s a million rows"]
    text = "\n".join(
        [
            "Rows of a random CStree with 40 binary variables, in Parquet files of a million rows, packed into a file",
            'and learned from with `beta="auto"`. Peaks are those of the process, with Python and compiled code.',
            "",
            table([*heads, "file MB", "peak MB of packing", "peak MB"], cells),
            "",
            f"Counts of the first {min(numbers[0], PART):,} rows, packed and in memory: {said[counts]}.",
            f"The model of {numbers[0]:,} rows in the file and in memory: {said[model]}, byte for byte.",
        ]
    )
    publish("large_fit", "Many rows", text, quick=options.quick)


if __name__ == "__main__":
    main()
