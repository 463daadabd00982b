"""A Dask cluster of worker processes: the same model, the traffic of a fit, and workers that are killed.

The rows are those of a random CStree in Parquet files. Each fit learns from the same files, packed by the workers, with
``beta="auto"``; the model is compared byte for byte with that of one process, which packs and learns alone. In the
second table worker processes are killed with SIGKILL at random moments of two fits, all but one that is left to go on;
where Dask starts them again they may be killed again. What they held is packed again.
"""

import argparse
import os
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import perf_counter

import numpy as np

import cslearn
from benchmarks.large_rows import write_parts
from benchmarks.report import Kept, publish, table
from cslearn import Chains, CStreeLearner
from cslearn.errors import ConvergenceWarning

ROWS, VARIABLES, PARTS, KILLS = 100_000, 10, 8, 10
SEARCH = Chains(n_iter=10, n_chains=2)
# Seconds between two kills.
SOONEST, LATEST = 0.2, 3.0
MOST_FITS = 2


def learned(data: object) -> str:
    """Return the model file of a fit."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        CStreeLearner(beta="auto", search=SEARCH, random_state=0).fit(data).cstree_.save(path)
        return path.read_text(encoding="utf-8")


@contextmanager
def cluster(workers: int) -> Iterator[object]:
    """Give a client of so many worker processes."""
    from distributed import Client, LocalCluster

    settings = {"n_workers": workers, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with LocalCluster(**settings, silence_logs=50) as here, Client(here, set_as_default=False) as client:
        yield client


def fit_on(workers: int, files: list[str], model: str) -> dict[str, object]:
    """Pack and learn on so many workers."""
    with cluster(workers) as client:
        begin = perf_counter()
        packed = cslearn.dask.pack(files, client)
        packing, begin = perf_counter() - begin, perf_counter()
        same = learned(packed) == model
        traffic = packed.traffic
        return {
            "packing": packing,
            "fit": perf_counter() - begin,
            "requests": traffic.requests,
            "contexts": traffic.contexts,
            "sent": traffic.sent,
            "received": traffic.received,
            "same": same,
        }


def with_kills(workers: int, files: list[str], model: str, kills: int) -> dict[str, object]:
    """Learn again and again while workers are killed; tell how many models were learned, and how many are the same."""
    rng, stop, killed, models = np.random.default_rng(workers), threading.Event(), [], []
    with cluster(workers) as client:
        packed = cslearn.dask.pack(files, client)

        def kill() -> None:
            while len(killed) < kills and not stop.wait(rng.uniform(SOONEST, LATEST)):
                known = client.scheduler_info(n_workers=-1)["workers"]
                nannies = client.cluster.workers.values()
                # A worker that is killed while it starts is not started again by Dask.
                processes = [n.pid for n in nannies if n.worker_address in known and n.status.name == "running"]
                if len(processes) > 1:  # one is left to go on
                    with suppress(ProcessLookupError):
                        os.kill(int(rng.choice(processes)), signal.SIGKILL)
                        killed.append(len(models))

        thread = threading.Thread(target=kill)
        thread.start()
        try:
            while not models or (len(killed) < kills and len(models) < MOST_FITS):
                models.append(learned(packed) == model)
        finally:
            stop.set()
            thread.join()
    return {"kills": len(killed), "fits": len(models), "same": sum(models)}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.cluster", description=__doc__.partition("\n")[0])
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--keep", metavar="FILE", help="where results are kept, so that a run that was ended goes on")
    parser.add_argument("--quick", action="store_true", help="few rows and kills, to see that it works; writes no page")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows, p, kills = (4000, 6, 1) if options.quick else (ROWS, VARIABLES, options.kills)
    kept, lines, killed = Kept(options.keep), [], []
    with tempfile.TemporaryDirectory() as folder:
        files = [str(path) for path in write_parts(Path(folder), rows, p, part=rows // PARTS)]
        begin = perf_counter()
        alone = cslearn.pack(files, collapse=False)
        packing, begin = perf_counter() - begin, perf_counter()
        model = learned(alone)
        lines.append(["none", f"{packing:.1f}", f"{perf_counter() - begin:.1f}", *["–"] * 5])
        for workers in [2] if options.quick else options.workers:
            one = kept(f"{workers} workers", fit_on, workers, files, model)
            mb = [f"{one[name] / 2**20:.2f}" for name in ("sent", "received")]
            said = "yes" if one["same"] else "NO"
            numbers = [f"{one[name]:,}" for name in ("requests", "contexts")]
            lines.append([workers, f"{one['packing']:.1f}", f"{one['fit']:.1f}", *numbers, *mb, said])
            two = kept(f"{workers} workers, {kills} kills", with_kills, workers, files, model, kills)
            killed.append([workers, two["kills"], two["fits"], two["same"]])
            print(lines[-1], killed[-1], file=sys.stderr, flush=True)
    text = f"""{(__doc__ or "").partition(chr(10))[2].strip()}

{rows:,} rows of {p} binary variables in {PARTS} files, chains of {SEARCH.n_iter} moves. The first row is one process
without Dask. Workers have one thread each, and share the cores of the machine with each other and with the process that
learns. *Sent* and *received* are the bytes of the arrays that went to all workers and came from all of them.

{
        table(
            ["workers", "packing s", "fit s", "round trips", "contexts", "MB sent", "MB received", "same model"],
            lines,
        )
    }

{table(["workers", "killed", "fits meanwhile", "of these the same model"], killed)}"""
    publish("cluster", "A cluster", text, quick=options.quick)


if __name__ == "__main__":
    main()
