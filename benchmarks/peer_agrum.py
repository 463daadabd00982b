"""Run pyAgrum's greedy hill climbing on a table of codes, called by other benchmarks in an environment of its own.

Arguments: training file, file of rows to score, score ("BIC" or "BDeu"), and counts that are added to each cell (1 by
default). Both files have the cardinalities in the row after the names. Prints one line of JSON: seconds, the
log-probability of each row with the first of the counts, and its mean with each.
"""

import json
import sys
import time

import numpy as np
import pandas as pd
import pyagrum


def template(cards):
    """Return a network without arcs, which tells the learner all states."""
    network = pyagrum.BayesNet()
    for name, card in cards.items():
        network.add(pyagrum.RangeVariable(name, name, 0, int(card) - 1))
    return network


def log_prob(network, rows):
    """Return the log-probability of each row, by the chain rule."""
    total = np.zeros(len(rows))
    for node in network.nodes():
        potential = network.cpt(node)
        names = list(reversed(potential.names))
        cells = potential.toarray()[tuple(rows[name].to_numpy() for name in names)]
        with np.errstate(divide="ignore"):
            total += np.log(cells)
    return total


def main():
    train, test, score, *added = sys.argv[1:]
    data = pd.read_csv(train)
    cards, rows = data.iloc[0], data[1:].reset_index(drop=True)
    wall, cpu = time.perf_counter(), time.process_time()
    learner = pyagrum.BNLearner(rows.astype(str), template(cards))
    learner.useGreedyHillClimbing()
    learner.useScoreBIC() if score == "BIC" else learner.useScoreBDeu()
    graph = learner.learnDAG()
    held_out = pd.read_csv(test)[1:].astype(int)
    found = []
    for count in added or ["1"]:
        learner.useSmoothingPrior(float(count))
        network = learner.learnParameters(graph)
        if not found:
            result = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        found.append(log_prob(network, held_out))
    means = [float(rows.mean()) for rows in found]
    print(json.dumps({**result, "log_prob": found[0].tolist(), "means": means}))


if __name__ == "__main__":
    main()
