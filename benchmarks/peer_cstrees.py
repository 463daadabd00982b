"""Run the authors' package on a table of codes. Called by `benchmarks.peers` with the Python of its own environment.

Arguments: training file, file of rows to score (or "-"), "pc", "grasp" or "all", iterations. Both files have the
cardinalities in the row after the names. Prints a line of JSON at the start, after each phase and at the end, so that a
run that fails or is stopped still says how far it came; the last line is the result.
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
from causallearn.search.PermutationBased.GRaSP import grasp  # noqa: E402


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
    if candidates != "all":
        rows, names = data[1:].to_numpy(), list(data.columns)
        with clock.phase("candidates"):
            if candidates == "pc":
                graph = pc(rows, 0.05, "chisq", node_names=names, show_progress=False)
            else:
                graph = grasp(rows, "local_score_BDeu", verbose=False)
            possible = learning.causallearn_graph_to_posscvars(graph, labels=names, alg=candidates)
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


def stages(tree):
    """Return all stages: the target, the context by names, and the probabilities."""
    found = []
    for level, staging in tree.stages.items():
        for stage in staging:
            fixed = {tree.labels[j]: int(x) for j, x in enumerate(stage.list_repr) if not isinstance(x, set)}
            found.append((tree.labels[level + 1], fixed, list(map(float, stage.probs))))
    return found


def edges(tree):
    """Return the edges of the DAG: a parent is a variable that the context of a stage names."""
    return sorted({(parent, target) for target, context, _ in stages(tree) for parent in context})


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
        clock.result["order"], clock.result["stages"] = list(tree.labels), stages(tree)
    except Exception as error:
        clock.result["error"] = f"{type(error).__name__}: {error}"
    clock.report()


if __name__ == "__main__":
    main()
