"""What all benchmarks share: how a time is taken, and what a table says of where it was measured."""

import os
import platform
import resource
from collections.abc import Callable
from importlib.metadata import version
from time import perf_counter

# Models and data that no choice of a default was made on: `benchmarks.defaults` and the trials before it used seeds
# below 100 for models.
FRESH_SEED = 50_000
RESULTS = os.path.join(os.path.dirname(__file__), os.pardir, "docs", "benchmarks")


def provenance(packages: tuple[str, ...] = ("numpy", "numba")) -> str:
    """Return a line that says on what a table was measured."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = ", ".join(f"{name} {version(name)}" for name in ("cslearn", *packages))
    return f"Measured on {os.cpu_count()} cores, {memory:.0f} GiB, Python {platform.python_version()}, {versions}."


def timed(function: Callable[[], object], repeat: int = 3) -> float:
    """Return the seconds of the fastest of a few calls, after one that warms up."""
    function()
    best = float("inf")
    for _ in range(repeat):
        begin = perf_counter()
        function()
        best = min(best, perf_counter() - begin)
    return best


def peak_memory_mb() -> float:
    """Return the largest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def table(headers: list[str], rows: list[list[object]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(headers) + " |", "|" + " --- |" * len(headers)]
    lines += ["| " + " | ".join(str(cell).replace("|", r"\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def publish(name: str, title: str, text: str) -> None:
    """Print a result and write it to the docs."""
    page = f"# {title}\n\n<!-- written by `python -m benchmarks.{name}` -->\n\n{text}\n\n{provenance()}\n"
    print(page)
    os.makedirs(RESULTS, exist_ok=True)
    with open(os.path.join(RESULTS, f"{name}.md"), "w", encoding="utf-8") as file:
        file.write(page)
