"""Run pgmpy's hill climbing on a table of codes. Called by `benchmarks.bounds` in an environment of its own.

Arguments: training file, file of rows to score, score ("BIC" or "BDeu"), counts that are added to each cell. Both files
have the cardinalities in the row after the names. Prints one line of JSON: seconds, and the mean log-probability of the
rows with each of the counts.
"""

import json
import logging
import sys
import time
import warnings

import numpy as np
import pandas as pd

warnings.simplefilter("ignore")
logging.disable()


def log_prob(tables, rows):
    """Return the log-probability of each row, by the chain rule."""
    total = np.zeros(len(rows))
    for table in tables:
        at = []
        for name in table.variables:
            place = {state: k for k, state in enumerate(table.state_names[name])}
            at.append(rows[name].map(place).to_numpy())
        with np.errstate(divide="ignore"):
            total += np.log(table.values[tuple(at)])
    return total


def main():
    from pgmpy.causal_discovery import HillClimbSearch
    from pgmpy.estimators import BayesianEstimator
    from pgmpy.models import DiscreteBayesianNetwork
    from pgmpy.structure_score import BIC, BDeu

    train, test, score, *added = sys.argv[1:]
    data = pd.read_csv(train)
    cards, rows = data.iloc[0], data[1:].reset_index(drop=True)
    states = {name: list(range(int(card))) for name, card in cards.items()}
    wall, cpu = time.perf_counter(), time.process_time()
    judge = {"BIC": BIC, "BDeu": BDeu}[score](rows, state_names=states)
    search = HillClimbSearch(scoring_method=judge, return_type="dag", show_progress=False).fit(rows)
    network = DiscreteBayesianNetwork(search.causal_graph_.edges())
    network.add_nodes_from(rows.columns)
    estimator = BayesianEstimator(network, rows, state_names=states)
    held_out = pd.read_csv(test)[1:].astype(int)
    means = []
    for count in added:
        tables = []
        for name in rows.columns:
            parents = network.get_parents(name)
            shape = (int(cards[name]), int(np.prod([cards[v] for v in parents], initial=1)))
            prior = np.full(shape, float(count))
            tables.append(estimator.estimate_cpd(name, prior_type="dirichlet", pseudo_counts=prior))
        if not means:
            result = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        means.append(float(log_prob(tables, held_out).mean()))
    print(json.dumps({**result, "means": means}))


if __name__ == "__main__":
    main()
