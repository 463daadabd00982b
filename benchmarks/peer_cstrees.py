"""Run the authors' package on a table of codes. Called by `benchmarks.peers` with the Python of its own environment.

Arguments: training file, file of rows to score (or "-"), "pc" or "all", iterations. Both files have the cardinalities
in the row after the names. Prints a line of JSON at the start, after each phase and at the end, so that a run that
fails or is stopped still says how far it came; the last line is the result.
"""

import contextlib
import io
import json
import random
import sys
import time
import types

import numpy as np
import pandas as pd


def stub(name, **members):
    """Stand in for a module that is imported but not used in what is run here."""
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__dict__.update(members)


stub("pp")
stub("pgmpy")
stub("pgmpy.base", PDAG=None)

import cstrees.learning as learning  # noqa: E402
import cstrees.scoring as scoring  # noqa: E402
from causallearn.search.ConstraintBased.PC import pc  # noqa: E402


class Clock:
    """Wall and CPU seconds by phase."""

    def __init__(self):
        self.result = {"wall": {}, "cpu": {}, "before": time.process_time()}
        self.report()

    @contextlib.contextmanager
    def phase(self, name):
        wall, cpu = time.perf_counter(), time.process_time()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
        self.result["wall"][name] = time.perf_counter() - wall
        self.result["cpu"][name] = time.process_time() - cpu
        self.report()

    def report(self):
        print(json.dumps(self.result), flush=True)


def fit(data, candidates, iterations, clock):
    """Take the steps of their documentation: candidates, score tables, order sampler, best staging, parameters."""
    possible = None
    if candidates == "pc":
        with clock.phase("candidates"):
            graph = pc(data[1:].values, 0.05, "chisq", node_names=list(data.columns), show_progress=False)
            possible = learning.causallearn_graph_to_posscvars(graph, labels=list(data.columns))
        clock.result["candidates"] = max(map(len, possible.values()))
    with clock.phase("scores"):
        scores, contexts, _ = scoring.order_score_tables(
            data, max_cvars=2, alpha_tot=1.0, method="BDeu", poss_cvars=possible
        )
    with clock.phase("orders"):
        orders, order_scores = learning.gibbs_order_sampler(iterations, scores)
    with clock.phase("stagings"):
        tree = learning._optimal_cstree_given_order(orders[int(np.argmax(order_scores))], contexts)
    with clock.phase("parameters"):
        tree.estimate_stage_parameters(data, alpha_tot=1.0, method="BDeu")
    return tree


def edges(tree):
    """Return the edges of the DAG: a parent is a variable that the context of a stage names."""
    found = []
    for level, stages in tree.stages.items():
        for stage in stages:
            fixed = [j for j, states in enumerate(stage.list_repr) if not isinstance(states, set)]
            found += [(tree.labels[j], tree.labels[level + 1]) for j in fixed]
    return sorted(set(found))


def main():
    train, test, candidates, iterations = sys.argv[1:]
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - their sampler draws from it
    clock = Clock()
    try:
        data = pd.read_csv(train)
        tree = fit(data, candidates, int(iterations), clock)
        clock.result["fitted"] = True
        if test != "-":
            rows, names = pd.read_csv(test)[1:], list(data.columns)
            with contextlib.redirect_stdout(io.StringIO()):
                found = [float(tree.pmf_log(row, names)) for row in rows[names].values.tolist()]
            clock.result["log_prob"] = found
        clock.result["edges"] = edges(tree)
    except Exception as error:
        clock.result["error"] = f"{type(error).__name__}: {error}"
    clock.report()


if __name__ == "__main__":
    main()
