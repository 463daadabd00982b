"""What deep contexts cost: contexts filled and seconds, by moves, variables, rows and depth; and the bound of memory.

A chain is run on scores with a fixed prior from the order that greedy splits suggest, and the same moves are run again
when all contexts are there: the second run shows what walking through trees takes, and the difference what counting and
ranking contexts takes.
"""

import argparse
import sys
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from benchmarks.report import FRESH_SEED, publish, table
from cslearn import random_cstree
from cslearn.data import Table, as_table
from cslearn.datasets import load_density
from cslearn.errors import CslearnError
from cslearn.grown import GrownEngine, GrownScores, greedy_order
from cslearn.orders import sample_chains
from cslearn.priors import ParentsPrior

MOVES = 300
P, N, DEPTH = 50, 10_000, 24
VARIABLES, ROWS, DEPTHS = (25, 50, 100, 200), (1000, 10_000, 100_000), (2, 4, 8, 24)
GROWN: dict[str, Any] = {"beta": 10, "max_stages": 40, "max_parents": 8}
REAL = ("nltcs", "plants", "dna")
SHARES = (1.0, 0.5, 0.25)


class Chain(NamedTuple):
    """What a chain took: contexts filled before and by its moves, seconds without and with contexts, and bytes."""

    before: int
    by_moves: int
    first: float
    again: float
    memory: float
    best: float


def chain(table: Table, bound: int, max_memory: float = np.inf) -> Chain:
    """Run a chain twice; the second time on the contexts that the first has left."""
    scores = GrownScores(table, beta=bound, prior=ParentsPrior(pairs=0.0), max_memory=max_memory)
    order = greedy_order(scores.contexts)
    engine, store = GrownEngine(scores.contexts), scores.contexts.store
    engine.local_scores(order)
    before, taken, most = store.fills, [], 0.0
    for _ in range(2):
        begin = process_time()
        options: dict[str, Any] = {"n_chains": 1, "n_iter": MOVES, "greedy_start": False, "starts": [order]}
        (found,), _ = sample_chains(engine, random_state=0, n_jobs=1, **options)
        taken.append(process_time() - begin)
        most = max(most, store.memory)
        if len(taken) == 1:
            filled = store.fills - before
    return Chain(before, filled, *taken, most, found.best_log_score)


def warm_up() -> None:
    chain(random_cstree(10, random_state=0).sample_table(100, random_state=0), DEPTH)


def model(p: int, n: int) -> Table:
    """Return rows of a random CStree with deep contexts."""
    truth = random_cstree(p, method="grow", **GROWN, random_state=FRESH_SEED)
    return truth.sample_table(n, random_state=1)


def cells(found: Chain) -> list[object]:
    """Return what the tables show of a chain."""
    fills = max(0.0, found.first - found.again)
    return [
        f"{found.before:,}",
        f"{found.by_moves / MOVES:.1f}",
        f"{1000 * found.again / MOVES:.2f}",
        f"{1e6 * fills / found.by_moves:.0f}" if found.by_moves else "-",
        f"{found.first:.2f}",
        f"{found.memory / 2**20:.0f}",
    ]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.depth", description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small tables, to see that it works; writes no page")
    options = parser.parse_args(arguments)
    p, n = (10, 200) if options.quick else (P, N)
    cases = [(k, n) for k in VARIABLES] + [(p, k) for k in ROWS]
    cases = [(10, 200), (12, 200)] if options.quick else list(dict.fromkeys(cases))
    warm_up()
    heads = ["contexts of the start", "contexts a move", "walk, ms a move", "µs a context", "CPU s", "MB of contexts"]
    sizes, depths, shares = [], [], []
    for variables, rows in cases:
        sizes.append([variables, f"{rows:,}", *cells(chain(model(variables, rows), DEPTH))])
        print(sizes[-1], file=sys.stderr)
    tables = {f"random, p = {p}": model(p, n)}
    for name in () if options.quick else REAL:
        try:
            tables[name] = as_table(load_density(name).train, states=dict.fromkeys(load_density(name).train, (0, 1)))
        except CslearnError as error:
            print(error, file=sys.stderr)
    for name, data in tables.items():
        for bound in DEPTHS:
            depths.append([name, bound, *cells(chain(data, bound))])
            print(depths[-1], file=sys.stderr)
    data = list(tables.values())[-1]
    whole = chain(data, DEPTH)
    for share in SHARES:
        found = chain(data, DEPTH, whole.memory * share)
        same = "yes" if found.best == whole.best else "no"
        figures = [f"{found.by_moves / MOVES:.1f}", f"{found.first:.2f}", f"{found.memory / 2**20:.0f}"]
        shares.append([f"{whole.memory * share / 2**20:.0f}", *figures, same])
    text = f"""{(__doc__ or "").partition(chr(10))[2].strip()}

{MOVES} moves of one chain, on one thread. *Contexts of the start* are those that the greedy order needs; *contexts a
move* those that the moves fill on average, which is less the longer a chain runs.

## Variables and rows

Binary random CStrees, one of each size, seed {FRESH_SEED:,}, with up to {GROWN["max_parents"]} parents and
{GROWN["max_stages"]} stages of a variable; contexts up to {DEPTH} variables deep.

{table(["p", "n", *heads], sizes)}

## Depth

{table(["data", "deepest", *heads], depths)}

## Memory

The same for {list(tables)[-1]} when contexts may take less memory than they would: they are forgotten when they take
more, and counted again. *Same*: whether the best order has the same score as without a bound.

{table(["MB allowed", "contexts a move", "CPU s", "MB of contexts", "same"], shares)}"""
    publish("depth", "The cost of depth", text, quick=options.quick)


if __name__ == "__main__":
    main()
