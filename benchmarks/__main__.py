"""Run all benchmarks but those that defaults were chosen by; with ``--peers`` also those with other packages.

Each has a process of its own. One that fails does not keep the next from running, but the exit status says so. Some
read real data from the directory that CSLEARN_DATA names, and leave them out where it is not set.
"""

import argparse
import os
import subprocess
import sys
from time import perf_counter

ALWAYS = ("start", "model", "mixing", "speed", "accuracy", "posterior", "scale", "large_fit", "many", "cluster")
WITH_DATA = ("classifiers",)
WITH_PEERS = ("peers", "queries")
CHOICES = ("defaults", "search", "estimates")


def chosen(*, peers: bool, data: bool) -> list[str]:
    """Return the names of the benchmarks to run."""
    names = [*ALWAYS, *(WITH_DATA if data else ())]
    return [*names, *(name for name in WITH_PEERS if peers and (data or name == "peers"))]


def run(names: list[str]) -> list[str]:
    """Run benchmarks one after the other; return those that failed."""
    failed = []
    for name in names:
        print(f"benchmarks.{name} begins", file=sys.stderr, flush=True)
        begin = perf_counter()
        status = subprocess.call([sys.executable, "-m", f"benchmarks.{name}"])
        ends = f"failed with status {status}" if status else "done"
        print(f"benchmarks.{name}: {ends} after {perf_counter() - begin:.0f} s", file=sys.stderr, flush=True)
        if status:
            failed.append(name)
    return failed


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--peers", action="store_true", help="also those that need other packages")
    options = parser.parse_args(arguments)
    failed = run(chosen(peers=options.peers, data="CSLEARN_DATA" in os.environ))
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
