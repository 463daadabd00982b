"""Write rows of a random CStree as Parquet parts: the data of the experiment with a hundred million rows.

    python -m benchmarks.large_rows parts --rows 100_000_000

Each part is drawn from a seed of its own, so that fewer rows are the first parts of more rows. Memory is needed for one
part.
"""

import argparse
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from cslearn import random_cstree

PART = 1_000_000


def write_parts(folder: Path, rows: int, variables: int = 40, part: int = PART, seed: int = 0) -> list[Path]:
    """Write the rows in parts; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    tree = random_cstree([2] * variables, random_state=seed)
    paths = []
    for i in range(-(-rows // part)):
        table = tree.sample_table(min(part, rows - i * part), random_state=[seed, i])
        columns = {name: pa.array(table.codes[:, j]) for j, name in enumerate(table.variables)}
        paths.append(folder / f"part{i:05d}.parquet")
        pq.write_table(pa.table(columns), paths[-1])
    return paths


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.large_rows", description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--variables", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    paths = write_parts(options.folder, options.rows, options.variables, seed=options.seed)
    print(f"{options.rows:,} rows of {options.variables} variables in {len(paths)} files in {options.folder}")


if __name__ == "__main__":
    main()
