"""What it takes to start: importing, the help text, the first fit ever, and a warm fit from the command line.

Each command has a process of its own. *First* is with an empty cache of compiled code, as on a new machine; *warm* is
the best of three with what the first has left. ALARM is read from the directory in the variable CSLEARN_DATA;
without it its row is left out.
"""

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from benchmarks.report import FRESH_SEED, publish, table
from cslearn import random_cstree
from cslearn.datasets import load_alarm

COMMAND = [sys.executable, "-m", "cslearn"]


def seconds(command: list[str], cache: str) -> tuple[float, float]:
    """Return wall and CPU seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = perf_counter()
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return perf_counter() - begin, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        tables = {}
        for p in (6, 20, 50):
            rows = random_cstree(p, random_state=FRESH_SEED).sample(1000, random_state=1)
            tables[f"`cslearn fit`, random CStree, p = {p}, n = 1,000"] = rows
        if "CSLEARN_DATA" in os.environ:
            tables["`cslearn fit`, ALARM, p = 37, n = 20,000"] = load_alarm()
        cases = {"`import cslearn`": [sys.executable, "-c", "import cslearn"], "`cslearn --help`": [*COMMAND, "--help"]}
        for number, (name, rows) in enumerate(tables.items()):
            path = Path(home, f"{number}.csv")
            rows.to_csv(path, index=False)
            cases[name] = [*COMMAND, "fit", str(path), "-o", f"{path}.json", "--seed", "0"]
        found: list[list[object]] = []
        for number, (name, command) in enumerate(cases.items()):
            cache = str(Path(home, f"cache{number}"))
            first, *warm = (seconds(command, cache) for _ in range(4))
            found.append([name, *(f"{value:.2f}" for value in (*first, *min(warm)))])
            print(found[-1], flush=True)
    headers = ["what", "first, wall s", "first, CPU s", "warm, wall s", "warm, CPU s"]
    publish("start", "Import and compile time", f"{__doc__}\n{table(headers, found)}")


if __name__ == "__main__":
    main()
