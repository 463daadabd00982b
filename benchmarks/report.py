"""What all benchmarks share: how a time is taken, what is kept of a run, and what a page says of where it was made."""

import json
import os
import platform
import resource
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any

# Models and data from this seed on are none that a default was chosen on: these had seeds below 1,000.
FRESH_SEED = 50_000
# The bound of the paper, which these benchmarks are about.
PAPER_BOUND = "Ours learns contexts of at most two variables (`beta=2`), as the paper does."
ROOT = Path(__file__).parent.parent
RESULTS = os.path.join(os.path.dirname(__file__), os.pardir, "docs", "benchmarks")


class Kept:
    """Results of cases by name, in a file of JSON lines if there is one, so that a run that was ended can go on."""

    def __init__(self, path: str | None) -> None:
        self.path = path
        self.found: dict[str, Any] = {}
        if path and Path(path).exists():
            lines = Path(path).read_text(encoding="utf-8").splitlines()
            self.found = dict(json.loads(line) for line in lines)

    def __call__(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        if name not in self.found:
            begin = perf_counter()
            self.found[name] = function(*arguments)
            seconds = perf_counter() - begin
            print(f"{name}, {seconds:.0f} s: {str(self.found[name])[:200]}", file=sys.stderr, flush=True)
            if self.path:
                with open(self.path, "a", encoding="utf-8") as file:
                    file.write(json.dumps([name, self.found[name]]) + "\n")
        return self.found[name]


@cache
def commit() -> str | None:
    """Return the commit that this run started from, and whether the code was changed since; None without git."""
    told = []
    for words in (
        ["rev-parse", "--short", "HEAD"],
        ["status", "--porcelain", "--", "src", ":(glob)experiments/*.py", ":(glob)benchmarks/*.py"],
    ):
        try:
            run = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            return None
        told.append(run.stdout.strip())
    return told[0] + (" with changes" if told[1] else "")


def provenance(packages: tuple[str, ...] = ("numpy", "numba")) -> str:
    """Return a line that says on what a table was measured."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = ", ".join(f"{name} {version(name)}" for name in ("cslearn", *packages))
    machine = f"{os.cpu_count()} cores, {memory:.0f} GiB, Python {platform.python_version()}"
    code = f", commit {commit()}" if commit() else ""
    return f"Measured on {machine}, {versions}{code}; load of the last five minutes {os.getloadavg()[1]:.1f}."


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


def bold_least(column: list[float], digits: int) -> list[str]:
    """Return the figures of a column of a table, the least in bold."""
    texts = [f"{value:.{digits}f}" for value in column]
    least = min(texts, key=float)
    return [f"**{text}**" if text == least else text for text in texts]


def publish(name: str, title: str, text: str, *, quick: bool = False, paper_bound: bool = False) -> None:
    """Print a result and write it to the docs; a quick run, which only shows that all works, is printed alone."""
    told = f"{PAPER_BOUND} {provenance()}" if paper_bound else provenance()
    page = f"# {title}\n\n<!-- written by `python -m benchmarks.{name}` -->\n\n{text}\n\n{told}\n"
    print(page)
    if not quick:
        os.makedirs(RESULTS, exist_ok=True)
        with open(os.path.join(RESULTS, f"{name}.md"), "w", encoding="utf-8") as file:
            file.write(page)


def picture(figure: Any, name: str, caption: str, *, quick: bool = False) -> str:
    """Write a figure of matplotlib to the docs and close it; return the Markdown that shows it."""
    from matplotlib import pyplot

    if not quick:
        os.makedirs(RESULTS, exist_ok=True)
        figure.savefig(os.path.join(RESULTS, f"{name}.png"), dpi=120)
    pyplot.close(figure)
    return f"![{caption}]({name}.png)"
