"""Run all benchmarks but those that defaults were chosen by; with ``--peers`` also those with other packages.

With ``--part`` only those of a part, so that no part takes hours; ``python -m benchmarks.NAME`` runs one. Each has a
process of its own. One that fails does not keep the next from running, but the exit status says so. Some read real data
from the directory that CSLEARN_DATA names, and leave them out where it is not set.
"""

import argparse
import os
import subprocess
import sys
from time import perf_counter

ALWAYS = (
    "start",
    "model",
    "mixing",
    "speed",
    "accuracy",
    "posterior",
    "scale",
    "large_fit",
    "many",
    "cluster",
    "depth",
)
WITH_DATA = ("classifiers",)
WITH_PEERS = ("peers", "queries")
CHOICES = ("defaults", "search", "estimates")
# What is run together: a part each for `make bench-use`, `make bench-search` and so on.
PARTS = {
    "use": ("start", "model", "queries", "classifiers"),
    "search": ("mixing", "speed", "posterior", "depth"),
    "accuracy": ("accuracy", "scale"),
    "large": ("peers", "large_fit", "cluster", "many"),
}


def chosen(*, peers: bool, data: bool, part: str | None = None) -> list[str]:
    """Return the names of the benchmarks to run."""
    names = [*ALWAYS, *(WITH_DATA if data else ())]
    names += [name for name in WITH_PEERS if peers and (data or name == "peers")]
    return names if part is None else [name for name in PARTS[part] if name in names]


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


def _told(part: str) -> str:
    return f"{part} ({', '.join(PARTS[part])})"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--peers", action="store_true", help="also those that need other packages")
    parser.add_argument("--part", choices=PARTS, help="only these: " + "; ".join(_told(part) for part in PARTS))
    options = parser.parse_args(arguments)
    failed = run(chosen(peers=options.peers, data="CSLEARN_DATA" in os.environ, part=options.part))
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
