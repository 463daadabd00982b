"""What all experiments share: options, cells that are kept once they are done, pages with their provenance."""

import argparse
import itertools
import json
import math
import multiprocessing
import os
import platform
import signal
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from multiprocessing import connection
from pathlib import Path
from time import perf_counter, process_time
from typing import Any
from unittest import mock

from benchmarks.report import commit

from cslearn._files import atomic_write
from cslearn.errors import ConvergenceWarning, DataWarning

ROOT = Path(__file__).parent.parent
# Models and data on which no default of the learner was chosen.
SEED = 50_000
TOO_LONG = signal.SIGPROF
# Contexts of the experiments of the paper: at most two variables.
PAPER_BOUND: dict[str, Any] = {"beta": 2}
# And those of all others: as deep as the data ask for, said here so that results do not depend on what the default is.
DEEP: dict[str, Any] = {"beta": "auto"}
PACKAGES = ("cslearn", "numpy", "numba", "pandas", "causal-learn")


def arguments(
    description: str | None,
    argv: Sequence[str] | None = None,
    models: int | None = None,
    variables: Sequence[int] | None = None,
    limit: float = 3600.0,
) -> Any:
    """Read the options of an experiment."""
    parser = argparse.ArgumentParser(description=description)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="a small run that shows that everything works")
    size.add_argument("--full", action="store_true", help="the sizes of the paper (default)")
    if models is not None:
        parser.add_argument("--models", type=int, help=f"models for each cell: {models}, or 1 with --quick")
    if variables is not None:
        parser.add_argument("--variables", type=int, nargs="+", default=variables, help="numbers of variables")
    parser.add_argument(
        "--limit", type=float, default=limit, help="CPU seconds after which a cell is given up (default: %(default).0f)"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the cells")
    parser.add_argument("--recorded", action="store_true", help="write the page from the cells that are done")
    parser.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="KEY=VALUE",
        help="compute only cells with these values, as p=500 method=pc,grasp; the page has all that are done",
    )
    parser.add_argument("--fresh", action="store_true", help="forget the cells that are done")
    parser.add_argument("--output", type=Path, help="directory of pages and results")
    options = parser.parse_args(argv)
    if unclear := [text for text in options.only if "=" not in text]:
        parser.error(f"--only takes KEY=VALUE, as p=500, not {unclear[0]!r}")
    options.only = dict(text.split("=", 1) for text in options.only)
    if models is not None and options.models is None:
        options.models = 1 if options.quick else models
    options.output = options.output or ROOT / ("build/reproduction" if options.quick else "docs/reproduction")
    (options.output / "results").mkdir(parents=True, exist_ok=True)
    return options


def provenance() -> str:
    """Return a line that says on what something was measured."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return f"{os.cpu_count()} cores, {memory:.0f} GiB, Python {platform.python_version()}, {versions}"


def defaults(**changed: Any) -> str:
    """Return the learner's settings, so that cells of other settings are not taken for these."""
    shown = ("beta", "prior", "ess", "search", "n_iter", "max_iter", "n_chains", "estimate", "parameters")
    from cslearn import Chains, CStreeLearner  # which takes longer to load than many a task

    settings = CStreeLearner(**changed).get_params(deep=False)
    if isinstance(settings["search"], Chains):
        settings |= settings["search"].get_params() | {"search": "mcmc"}
    else:
        settings |= Chains().get_params()
    return ", ".join(f"{name} {settings[name]}" for name in shown)


def our_settings(task: dict[str, Any]) -> str:
    """Return the settings with which a task is computed, unless its experiment says otherwise: those of the paper."""
    return defaults(**PAPER_BOUND)


# ---------------------------------------------------------------- cells
def compute(
    name: str,
    function: Callable[[dict[str, Any]], dict[str, Any]],
    tasks: Iterable[dict[str, Any]],
    options: Any,
    harder: Callable[[dict[str, Any], dict[str, Any]], bool] = lambda task, stopped: False,
    settings: Callable[[dict[str, Any]], str] = our_settings,
) -> list[dict[str, Any]]:
    """Return the result of each task, in order; those that an earlier run finished are not computed again.

    Every result is written to ``results/<name>.jsonl`` as soon as it is there, with the task, the `settings` of its
    learner, the machine and the commit; what was computed with other settings is forgotten. A task that takes too long
    (in seconds of the processor, so that other work on the machine does not matter) has the result ``{"stopped":
    seconds}``. Those that are `harder` than one that was stopped are not tried, and their result says so. What was
    stopped is tried again if it gets more time, unless the task has a limit of its own and its result says that it is
    final. With the option ``--recorded`` nothing is computed, with ``--only`` those that it chooses, and what is
    missing then has the result ``{"stopped": 0.0}``. Finished cells that are not among the tasks, as those of other
    sizes, are kept.
    """
    path = options.output / "results" / f"{name}.jsonl"
    tasks = list(tasks)
    if options.recorded:
        done = _finished(path, settings, 0.0)
        return [done[_key(task)]["result"] if _key(task) in done else {"stopped": 0.0} for task in tasks]
    done = {} if options.fresh else _finished(path, settings, options.limit)
    if options.only:  # what is not chosen stays as it is
        others = _finished(path, settings, 0.0)
        done |= {key: record for key, record in others.items() if not _chosen(record["task"], options.only)}
    missing = [task for task in tasks if _key(task) not in done and _chosen(task, options.only)]
    stopped = [record["task"] for record in done.values() if _given_up(record["result"])]
    _write(path, done.values())
    with _progress(name, len(missing)) as say:
        for task, result in _results(function, missing, options, harder, stopped):
            record = {"task": task, "result": result, "settings": settings(task), "machine": provenance()}
            record |= {"commit": commit(), "load": round(os.getloadavg()[0], 1)}
            done[_key(task)] = record
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
            say(task)
    # In the order of the tasks, whichever was finished first.
    here = [_key(task) for task in tasks]
    _write(path, [done[key] for key in dict.fromkeys([*here, *done]) if key in done])
    return [done[key]["result"] if key in done else {"stopped": 0.0} for key in here]


def _chosen(task: dict[str, Any], only: dict[str, str]) -> bool:
    """Say whether a task has one of the values that are wanted of each key."""
    return all(str(task.get(key)) in (wanted, *wanted.split(",")) for key, wanted in only.items())


def _given_up(result: dict[str, Any]) -> bool:
    return bool(result.get("stopped")) and result.get("tried", True)


@contextmanager
def _progress(name: str, total: int) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Show how many cells are done: a bar on a terminal, lines elsewhere."""
    if not sys.stderr.isatty():
        begin, count = perf_counter(), itertools.count(1)
        yield lambda task: _say(f"{name}: {next(count)} of {total}, {perf_counter() - begin:.0f} s, {task}")
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn(name),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        cells = bar.add_task("", total=total)
        yield lambda task: bar.update(cells, advance=1, description=" ".join(map(str, task.values())))


def _results(
    function: Any, tasks: list[dict[str, Any]], options: Any, harder: Any, stopped: list[dict[str, Any]]
) -> Iterable[tuple[dict[str, Any], Any]]:
    if options.quick:  # small, and in tests: no processes
        yield from ((task, _quietly(function, task)) for task in tasks)
        return
    # Processes of their own, each of which is replaced when its cell is given up.
    context = multiprocessing.get_context("spawn")
    workers = [_Worker(context, function, options.limit) for _ in range(max(1, min(options.jobs, len(tasks))))]
    waiting = list(reversed(tasks))
    try:
        while waiting or any(worker.task is not None for worker in workers):
            for worker in workers:
                while worker.task is None and waiting:
                    task = waiting.pop()
                    if any(harder(task, other) for other in stopped):
                        yield task, {"stopped": options.limit, "tried": False}
                    else:
                        worker.start(task)
            connection.wait([w.pipe for w in workers if w.task is not None], timeout=0.2)
            for worker in workers:
                answer = worker.answer()
                if answer is not None:
                    if "stopped" in answer[1]:
                        stopped.append(answer[0])
                    yield answer
    finally:
        for worker in workers:
            worker.stop()


class _Worker:
    """A process that computes cells, one after the other."""

    def __init__(self, context: Any, function: Any, limit: float) -> None:
        self.context, self.function, self.limit = context, function, limit
        self.task: dict[str, Any] | None = None
        self.process: Any = None

    def _begin(self) -> None:
        self.pipe, theirs = self.context.Pipe()
        self.process = self.context.Process(target=_serve, args=(theirs, self.function, self.limit), daemon=True)
        self.process.start()
        theirs.close()
        # Loading does not count for the time limit of a cell, but has one of its own.
        if not self.pipe.poll(300):
            raise RuntimeError("a process that computes cells did not start within 300 s")
        self.pipe.recv()

    def start(self, task: dict[str, Any]) -> None:
        if self.process is None:
            self._begin()
        self.task = task
        self.pipe.send(task)

    def answer(self) -> tuple[dict[str, Any], Any] | None:
        """Return a finished task with its result, if there is one."""
        if self.task is None or not self.pipe.poll():
            return None
        task = self.task
        try:
            kind, result = self.pipe.recv()
        except EOFError:
            self.process.join()
            if self.process.exitcode != -TOO_LONG:
                raise RuntimeError(f"{task} failed: its process ended, perhaps for want of memory") from None
            self.stop()
            kind, result = "stopped", {"stopped": self.limit}
        if kind == "error":
            raise RuntimeError(f"{task} failed:\n{result}")
        self.task = None
        return task, result

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.join()
            self.pipe.close()
            self.process = None


def _serve(pipe: Any, function: Any, limit: float) -> None:
    import traceback

    pipe.send("ready")
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        signal.setitimer(signal.ITIMER_PROF, limit)  # its signal ends this process
        try:
            pipe.send(("done", _quietly(function, task)))
        except Exception:
            pipe.send(("error", traceback.format_exc()))


def _quietly(function: Any, task: dict[str, Any]) -> dict[str, Any]:
    """Compute a cell without warnings of data and chains, which nobody would read among thousands of cells."""
    with warnings.catch_warnings():
        for kind in (ConvergenceWarning, DataWarning):
            warnings.simplefilter("ignore", kind)
        return function(task)


@contextmanager
def cpu_timings() -> Iterator[None]:
    """Let learners take the seconds of their phases from the processor's clock, of all threads together."""
    with mock.patch("cslearn.estimators.learner.perf_counter", process_time):
        yield


def _key(task: dict[str, Any]) -> str:
    return json.dumps(task, sort_keys=True)


def _finished(path: Path, settings: Callable[[dict[str, Any]], str], limit: float) -> dict[str, dict[str, Any]]:
    done = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            record = json.loads(line)
        except ValueError:  # the last line of a run that was ended in the middle of writing
            continue
        result = record["result"]
        enough = result.get("final") or result.get("stopped", limit) >= limit
        if enough and record["settings"] == settings(record["task"]):
            done[_key(record["task"])] = record
    return done


def _write(path: Path, records: Iterable[dict[str, Any]]) -> None:
    atomic_write(path, "".join(json.dumps(record) + "\n" for record in records))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def complete(name: str, results: Iterable[dict[str, Any]]) -> bool:
    """Say whether every cell of a page is done."""
    if any("stopped" in result for result in results):
        _say(f"{name}: no page is written, since not all of its cells are done")
        return False
    return True


def measured(name: str, options: Any) -> list[dict[str, Any]]:
    """Return the records of an experiment that was run before."""
    path = options.output / "results" / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


# ---------------------------------------------------------------- pages
def number(value: float | None, digits: int = 4) -> str:
    """Return a number for a table."""
    if value is None or math.isnan(value):
        return ""
    return "∞" if math.isinf(value) else f"{value:.{digits}f}"


def table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(headers) + " |", "|" + " --- |" * len(headers)]
    lines += ["| " + " | ".join(str(cell).replace("|", r"\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def publish(
    name: str, title: str, text: str, options: Any, seed: object = SEED, sources: Sequence[str] | None = None
) -> None:
    """Write a page, with what its cells were measured on: those of its own name, or of the sources."""
    records = _records(name, options, sources)
    learners = sorted({record["settings"] for record in records})
    caption = _measured_on(records, seed)
    if records:
        caption += f" Learners: {'; '.join(learners)}."
    loads = sorted(record["load"] for record in records if "load" in record)
    if loads and loads[len(loads) // 2] > (os.cpu_count() or 1):
        caption += f" The machine had other work to do (median load {loads[len(loads) // 2]})."
    page = f"# {title}\n\n<!-- written by `python -m experiments.{name}` -->\n\n{text}\n\n{caption}\n"
    atomic_write(options.output / f"{name}.md", page)
    _say(f"{name}: wrote {options.output / f'{name}.md'}")


def _records(name: str, options: Any, sources: Sequence[str] | None) -> list[dict[str, Any]]:
    return [record for source in sources or (name,) for record in measured(source, options)]


def _measured_on(records: Sequence[dict[str, Any]], seed: object) -> str:
    """Say with what versions, on what machine, from what code and with what seed something was measured."""
    if not records:
        return f"Nothing was measured yet. Seed {seed}."
    machines = sorted({record["machine"] for record in records})
    known = sorted({record["commit"] for record in records if record.get("commit")})
    commits = f", commit{'s' * (len(known) > 1)} {', '.join(known)}" if known else ""
    if known and not all(record.get("commit") for record in records):
        commits += " and earlier ones"
    return f"Measured on {'; and on '.join(machines)}{commits}. Seed {seed}."


def save_figure(
    figure: Any, name: str, shows: str, options: Any, seed: object = SEED, sources: Sequence[str] | None = None
) -> str:
    """Write a picture beside the pages and return the Markdown for it: what it shows, and what it was measured on."""
    import matplotlib

    caption = _measured_on(_records(name, options, sources), seed)
    with matplotlib.rc_context({"svg.hashsalt": name}):  # the same picture is the same file
        metadata = {"Date": None, "Title": shows, "Description": caption}
        figure.savefig(options.output / f"{name}.svg", metadata=metadata, bbox_inches="tight")
    return f"![{shows}]({name}.svg)\n\n*{shows} {caption}*"
