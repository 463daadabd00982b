"""Many variables: time, memory and the gap to the truth from 1,000 rows, with deep contexts.

The gap is that in held-out mean log-likelihood, as a multiple of the gap with the true structure and estimated
parameters. Each fit has the defaults, with ``beta="auto"``, and a process of its own; the kernels are warm when the
clock starts.
"""

import argparse
import json
import subprocess
import sys
import warnings
from time import perf_counter, process_time

import numpy as np

from benchmarks.peers import random_case
from benchmarks.report import FRESH_SEED, Kept, peak_memory_mb, publish, table
from cslearn import CStreeLearner, random_cstree
from cslearn.errors import ConvergenceWarning

SIZES = (2000, 5000, 10_000)


def warm_up() -> None:
    """Compile or load the kernels of few variables and of many."""
    from cslearn.estimators import growing, phases

    few = random_cstree(30, random_state=0).sample_table(100, random_state=0)
    many, growing.MANY, phases.MANY = growing.MANY, 29, 29
    CStreeLearner(beta="auto", random_state=0).fit(few)
    growing.MANY = phases.MANY = many
    CStreeLearner(beta="auto", search="greedy", random_state=0).fit(few)


def measure(p: int, seed: int) -> dict[str, float]:
    """Learn from 1,000 rows of a random CStree."""
    case = random_case(p, seed)
    warm_up()
    wall, cpu = perf_counter(), process_time()
    learner = CStreeLearner(beta="auto", random_state=0).fit(case.train)
    times = {"wall": perf_counter() - wall, "cpu": process_time() - cpu, "peak": peak_memory_mb()}
    tree, sets = learner.cstree_, learner.candidates_.sets
    edges = [(parent, v) for v in case.truth.order for parent in case.truth.parents[v]]
    return {
        **times,
        "gap": case.quality(tree.log_prob(case.test)),
        "recall": float(np.mean([parent in sets[v] or v in sets[parent] for parent, v in edges])),
        "found": float(np.mean([parent in tree.parents[v] for parent, v in edges])),
        "joined": float(np.mean([parent in tree.parents[v] or v in tree.parents[parent] for parent, v in edges])),
    }


def alone(p: int, seed: int) -> dict[str, float]:
    """Measure in a process of its own, for its memory."""
    command = [sys.executable, "-m", "benchmarks.many", "--only", str(p), "--seed", str(seed)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.many", description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="numbers of variables")
    parser.add_argument("--keep", metavar="FILE", help="where results are kept, so that a run that was ended goes on")
    parser.add_argument("--only", type=int, metavar="P", help="measure one fit of P variables only")
    parser.add_argument("--seed", type=int, default=FRESH_SEED)
    parser.add_argument("--quick", action="store_true", help="few variables, to see that it works; writes no page")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", ConvergenceWarning)
    if options.only:
        print(json.dumps(measure(options.only, options.seed)))
        return
    kept, rows = Kept(options.keep), []
    for p in [40] if options.quick else options.sizes:
        one = kept(str(p), alone, p, options.seed)
        cells = [f"{one[name]:.0f}" for name in ("wall", "cpu")] + [f"{one['peak'] / 1024:.1f}", f"{one['gap']:.2f}"]
        rows.append([f"{p:,}", *cells, *(f"{one[name]:.2f}" for name in ("recall", "joined", "found"))])
    text = f"""{(__doc__ or "").partition(chr(10))[2].strip()}

One random binary model of each size, seed {options.seed:,}. Of the true edges the page gives the shares of those with
one variable among the *candidates* of the other, of those that *join* the same two variables in the model, and of those
that are there with their direction. Many of the true ones are too weak to be told from 1,000 rows.

{table(["p", "wall s", "CPU s", "GB at peak", "gap", "candidates", "joined", "with direction"], rows)}"""
    publish("many", "Many variables", text, quick=options.quick)


if __name__ == "__main__":
    main()
