"""Learn the edges of Bayesian networks with other programs. Called by `experiments.learners`.

One process for each program, in an environment of its own. Every line that it reads is JSON: the file of training rows
(with the cardinalities in the row after the names), the learner, and how many CPU seconds it may take; a process that
takes more is ended by a signal. It answers each with a line of JSON: edges from parent to child, undirected edges, and
CPU and wall seconds of learning alone.
"""

import contextlib
import io
import json
import logging
import random
import signal
import sys
import time
import warnings

import numpy as np
import pandas as pd

warnings.simplefilter("ignore")


def pgmpy_climbing(rows, cards, score="BIC"):
    """Hill climbing with BIC, pgmpy's default."""
    from pgmpy import structure_score
    from pgmpy.causal_discovery import HillClimbSearch

    logging.disable()
    states = {name: list(range(card)) for name, card in cards.items()}
    judge = getattr(structure_score, score)(rows, state_names=states)
    search = HillClimbSearch(scoring_method=judge, return_type="dag", show_progress=False).fit(rows)
    return list(search.causal_graph_.edges()), []


def pgmpy_bdeu(rows, cards):
    """Hill climbing with BDeu, with pgmpy's equivalent sample size."""
    return pgmpy_climbing(rows, cards, "BDeu")


def pgmpy_pc(rows, cards):
    """PC with chi-square tests at pgmpy's default level."""
    from pgmpy.causal_discovery import PC

    logging.disable()
    graph = PC(ci_test="chi_square", return_type="pdag", show_progress=False).fit(rows).causal_graph_
    return list(graph.directed_edges), list(graph.undirected_edges)


def _marks(graph, names):
    """Return the edges of a graph of causal-learn: entry (i, j) is the mark at i, 1 a head and -1 a tail."""
    marks = graph.graph
    pairs = [(i, j) for i in range(len(names)) for j in range(len(names)) if i != j]
    directed = [(names[j], names[i]) for i, j in pairs if marks[i, j] == 1 and marks[j, i] == -1]
    undirected = [(names[i], names[j]) for i, j in pairs if i < j and marks[i, j] == marks[j, i] != 0]
    return directed, undirected


def causallearn_pc(rows, cards):
    """PC with G-squared tests at level 0.05."""
    from causallearn.search.ConstraintBased.PC import pc

    return _marks(pc(rows.to_numpy(), 0.05, "gsq", show_progress=False).G, list(rows))


def causallearn_grasp(rows, cards):
    """GRaSP with BDeu. Of constant columns it makes nothing, so they are left out."""
    from causallearn.search.PermutationBased.GRaSP import grasp

    seen = rows[[name for name in rows if rows[name].nunique() > 1]]
    return _marks(grasp(seen.to_numpy(), "local_score_BDeu", verbose=False), list(seen))


def _agrum(rows, cards):
    import pyagrum

    pyagrum.setNumberOfThreads(1)  # idle threads wait busily, which would count
    network = pyagrum.BayesNet()
    for name, card in cards.items():
        network.add(pyagrum.RangeVariable(name, name, 0, card - 1))
    return network, pyagrum.BNLearner(rows.astype(str), network)


def _arcs(network, graph):
    names = {node: network.variable(node).name() for node in network.nodes()}
    return [(names[a], names[b]) for a, b in graph.arcs()]


def agrum_bic(rows, cards):
    """Greedy hill climbing with BIC."""
    network, learner = _agrum(rows, cards)
    learner.useGreedyHillClimbing()
    learner.useScoreBIC()
    return _arcs(network, learner.learnDAG()), []


def agrum_bdeu(rows, cards):
    """Greedy hill climbing with BDeu."""
    network, learner = _agrum(rows, cards)
    learner.useGreedyHillClimbing()
    learner.useScoreBDeu()
    return _arcs(network, learner.learnDAG()), []


def agrum_miic(rows, cards):
    """MIIC, by mutual information."""
    network, learner = _agrum(rows, cards)
    learner.useMIIC()
    return _arcs(network, learner.learnDAG()), []


LEARNERS = {
    function.__name__: function
    for function in (
        pgmpy_climbing,
        pgmpy_bdeu,
        pgmpy_pc,
        causallearn_pc,
        causallearn_grasp,
        agrum_bic,
        agrum_bdeu,
        agrum_miic,
    )
}


def learn(path, name):
    data = pd.read_csv(path)
    cards, rows = {v: int(card) for v, card in data.iloc[0].items()}, data[1:].reset_index(drop=True)
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - causal-learn draws from it
    noise = io.StringIO()
    wall, cpu = time.perf_counter(), time.process_time()
    with contextlib.redirect_stdout(noise), contextlib.redirect_stderr(noise):
        directed, undirected = LEARNERS[name](rows, cards)
    return {
        "cpu": time.process_time() - cpu,
        "wall": time.perf_counter() - wall,
        "edges": [list(edge) for edge in directed],
        "undirected": [list(edge) for edge in undirected],
    }


def main():
    small = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (60, 3)), columns=list("abc"))
    with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
        LEARNERS[sys.argv[1]](small, dict.fromkeys("abc", 2))  # so that imports do not count
    for line in sys.stdin:
        path, name, limit = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, limit)
        try:
            answer = learn(path, name)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:200]}
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
