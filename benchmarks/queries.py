"""Queries: our elimination beside opt_einsum and pyAgrum, on ALARM and on models of 100 and 500 variables.

Needs ``pip install pyagrum opt_einsum``, and CSLEARN_DATA for the ALARM network.
"""

import argparse
import gzip
import os
import tempfile
import warnings
from pathlib import Path
from time import process_time

import networkx as nx
import numpy as np
import opt_einsum
import pyagrum

from benchmarks.report import FRESH_SEED, publish, table
from cslearn import Chains, CStree, CStreeLearner, random_cstree
from cslearn.cstree.joint import conditional_table
from cslearn.errors import ConvergenceWarning, EstimateWarning, LimitError
from cslearn.inference import Queries

SAMPLES = 10_000


class ByEinsum(Queries):
    """The same reduced factors, contracted by opt_einsum."""

    path = "greedy"

    def _solve(self, targets, evidence, *, everything):
        return self._sum(self._plan(targets, evidence, everything), targets)

    def _sum(self, plan, targets):
        log_prob, result = plan.log_prob, np.ones(())
        for number, (factors, _) in enumerate(plan.parts, start=1):
            keep = sorted(targets) if number == len(plan.parts) else []
            operands = [part for scope, values in factors for part in (values, list(scope))]
            if not operands:
                continue
            _, info = opt_einsum.contract_path(*operands, keep, optimize=self.path)
            if info.largest_intermediate > self.max_table:
                raise LimitError(f"a table of {info.largest_intermediate} entries")
            result = opt_einsum.contract(*operands, keep, optimize=self.path)
            log_prob += float(np.log(result.sum()))
        return result, log_prob


def as_agrum(tree: CStree) -> "pyagrum.BayesNet":
    """Return the model as a Bayesian network, in which context-specific structure is not seen."""
    network = pyagrum.BayesNet()
    for v in tree.order:
        network.add(pyagrum.LabelizedVariable(v, v, [f"s{x}" for x in range(len(tree.states[v]))]))
    for v in tree.order:
        for u in tree.parents[v]:
            network.addArc(u, v)
    for v in tree.order:
        values = conditional_table(tree, v)
        names = list(reversed(network.cpt(v).names))
        members = [*tree.parents[v], v]
        network.cpt(v)[:] = np.ascontiguousarray(values.transpose([members.index(name) for name in names]))
    return network


def alarm() -> CStree:
    """Return the ALARM network as a CStree."""
    path = Path(tempfile.mkdtemp()) / "alarm.bif"
    path.write_bytes(gzip.decompress((Path(os.environ["CSLEARN_DATA"]) / "bif/alarm.bif.gz").read_bytes()))
    network = pyagrum.loadBN(str(path))
    states = {network.variable(n).name(): list(network.variable(n).labels()) for n in network.nodes()}
    dag = nx.DiGraph([(network.variable(a).name(), network.variable(b).name()) for a, b in network.arcs()])
    tree = CStree.from_dag(dag, states=states)
    parameters = {}
    for v in tree.order:
        names = list(reversed(network.cpt(v).names))
        values = network.cpt(v).toarray().transpose([names.index(u) for u in (*tree.parents[v], v)])
        rows = [values[tuple(states[u].index(c[u]) for u in tree.parents[v])] for c in tree.stagings[v]]
        parameters[v] = [row / row.sum() for row in rows]
    return tree.with_parameters(parameters)


def sparse(cards: int | list[int]) -> CStree:
    """Return a random model that has few context variables."""
    p = cards if isinstance(cards, int) else len(cards)
    return random_cstree(cards, method="split", p_context=1.5 / p, random_state=FRESH_SEED)


def learned(p: int, rows: int, cards: list[int] | None = None) -> CStree:
    """Return a model learned from the sample of a random one that has few context variables."""
    truth = sparse(cards or p)
    learner = CStreeLearner(beta=2, search=Chains(n_iter=1000, n_chains=1), random_state=0)
    return learner.fit(truth.sample_table(rows, random_state=FRESH_SEED)).cstree_


def questions(tree: CStree, number: int, observed: int, seed: int = 0):
    """Return targets with evidence on up to `observed` variables, drawn from the model so that it is possible."""
    rng = np.random.default_rng(seed)
    rows = tree.sample(number, random_state=rng)
    found = []
    for i in range(number):
        target, *others = rng.choice(tree.variables, size=1 + rng.integers(0, observed + 1), replace=False).tolist()
        found.append((target, {v: rows[v].iloc[i] for v in others}))
    return found


def by_agrum(network, tree, target, evidence):
    engine = pyagrum.LazyPropagation(network)
    engine.setEvidence({v: tree.states[v].index(x) for v, x in evidence.items()})
    engine.addTarget(target)
    engine.makeInference()
    return engine.posterior(target).toarray()


def measure(answer, asked, budget: float):
    """Return seconds of processor time for each query, how many were answered, how many refused, and the answers."""
    answers, refused = [], 0
    begin = process_time()
    for target, evidence in asked:
        try:
            answers.append(answer(target, evidence))
        except LimitError:
            answers.append(None)
            refused += 1
        if process_time() - begin > budget:
            break
    return (process_time() - begin) / len(answers), len(answers) - refused, refused, answers


def dense_table() -> str:
    """Return what each question to a dense model of 500 variables takes, where no exact answer is feasible."""
    tree = random_cstree(500, random_state=FRESH_SEED)
    a, b = tree.order[-1], tree.order[-2]
    row = tree.sample(1, random_state=FRESH_SEED).iloc[0]
    downstream = {v: row[v] for v in tree.order[300:]}
    tree.log_prob_of({tree.order[0]: row[tree.order[0]]})  # compiled before the clock starts
    questions = {
        "joint distribution of two variables": lambda: tree.query([a, b]),
        "log-probability of two states": lambda: tree.log_prob_of({a: row[a], b: row[b]}),
        "entropy of two variables": lambda: tree.entropy([a, b]),
        "entropy of all variables": lambda: tree.entropy(),
        "mutual information of two variables": lambda: tree.mutual_information(a, b),
        "most probable outcome": lambda: tree.most_probable(),
        "prediction of a row with one known cell": lambda: tree.predict_proba([{a: row[a]}], b),
        "distribution of one variable given 200 after it": lambda: tree.query(tree.order[150], downstream),
        "log-probability of these 200": lambda: tree.log_prob_of(downstream),
    }
    rows = []
    for question, ask in questions.items():
        begin = process_time()
        found = ask()
        seconds = process_time() - begin
        error = getattr(found, "attrs", {}).get("standard_error", getattr(found, "standard_error", None))
        rows.append([question, f"{seconds:.2f}", "" if error is None else f"{error:.1g}"])
        print(rows[-1], flush=True)
    return table(["asked of 500 variables", "s", "standard error"], rows)


def treewidth(tree: CStree) -> int:
    return nx.algorithms.approximation.treewidth_min_fill_in(nx.moral_graph(tree.to_dag()))[0]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=1000, help="queries of each model")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds for each engine and model")
    parser.add_argument("--quick", action="store_true", help="two models, to see that it works; writes no page")
    options = parser.parse_args(arguments)
    pyagrum.setNumberOfThreads(1)
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", EstimateWarning)
    models = {
        "ALARM network, p = 37": alarm,
        "learned, up to 4 states, p = 100": lambda: learned(100, 5000, [2, 3, 4, 2] * 25),
        "learned, binary, p = 100": lambda: learned(100, 5000),
        "learned, binary, p = 500": lambda: learned(500, 2000),
        "random (sparse), binary, p = 500": lambda: sparse(500),
        "random (dense), binary, p = 100": lambda: random_cstree(100, random_state=FRESH_SEED),
        "random (dense), binary, p = 500": lambda: random_cstree(500, random_state=FRESH_SEED),
    }
    if options.quick:
        models = dict(list(models.items())[:1])
    rows: list[list[object]] = []
    total = 0.0
    for name, make in models.items():
        tree = make()
        asked = questions(tree, options.number, 5)
        width = treewidth(tree)
        own, einsum = Queries(tree), ByEinsum(tree)
        engines = {
            "cslearn": lambda t, e, own=own: own.query(t, e, method="exact").to_numpy(),
            "opt_einsum": lambda t, e, einsum=einsum: einsum.query(t, e, method="exact").to_numpy(),
        }
        if width <= 25:
            network = as_agrum(tree)
            engines["pyAgrum"] = lambda t, e, network=network, tree=tree: by_agrum(network, tree, t, e)
        if "p = 500" in name:
            engines["cslearn, sampling"] = lambda t, e, own=own: own.query(
                t, e, method="sampling", n_samples=SAMPLES
            ).to_numpy()
        reference = None
        for engine, answer in engines.items():
            seconds, answered, refused, answers = measure(answer, asked, options.budget)
            reference = reference or answers
            if engine == "cslearn" and make is alarm:
                total = seconds * (answered + refused)
            both = [(a, b) for a, b in zip(reference, answers, strict=False) if a is not None and b is not None]
            gap = max((float(np.abs(a - b).max()) for a, b in both), default=float("nan"))
            rows.append([name, width, engine, f"{1000 * seconds:.2f}", answered, refused, f"{gap:.0e}"])
            print(rows[-1], flush=True)
    headers = ["model", "width", "engine", "ms a query", "answered", "refused", "largest difference"]
    text = f"""Queries for one variable given evidence on up to five others, {options.number:,} of each model, or as
many as {options.budget:.0f} s allow, in processor time of one thread. Every query stands alone: nothing is kept between
them but, by cslearn,
reduced factors. "Width" is the treewidth of the moral graph by the min-fill heuristic: a Bayesian network of width w
needs tables over w + 1 variables when nothing is left out. "Refused" queries need a table of more than 2^25 entries
after all reductions.

- cslearn: stages reduced by the evidence, one factor for each set of context variables, elimination in NumPy, in cases
  where a table would be too large.
- opt_einsum: the same reduced factors, contracted along its greedy path.
- cslearn, sampling: {SAMPLES:,} weighted draws; it answers always, and the difference is its error.
- pyAgrum: lazy propagation in the Bayesian network with all stages written out; not tried where the width is above 25.

The sparse model is a random CStree with few context variables. The models called learned are learned from 5,000
(p = 100) or 2,000 rows (p = 500) of such ones, with one short chain; what a chain misses makes the learned model denser
than the truth. The dense ones are CStrees drawn uniformly, in which nearly every variable has three parents anywhere
before it.

{table(headers, rows)}

The {options.number:,} random queries of ALARM for one variable took cslearn {total:.2f} s together.

## Where no exact answer is feasible

A dense random model of 500 binary variables, asked with `method="auto"`: that an exact answer would need too large
tables is found before anything is summed, and an estimate is made instead. Processor time of one thread, the search for
an exact answer included. The standard error of a distribution is the largest of its states.

{dense_table()}"""
    publish("queries", "Queries", text, quick=options.quick)


if __name__ == "__main__":
    main()
