"""Run cegpy's agglomerative clustering of stages on a table of codes. Called by `experiments.learners`.

Arguments: training file, file of rows to score. Both files have the cardinalities in the row after the names.
Prints one line of JSON: the log-probability of each row to score, and the CPU seconds of clustering. The order of
the variables is that of the columns. Paths without rows are told to cegpy, so that it does not rule them out.
"""

import contextlib
import io
import itertools
import json
import sys
import time

import numpy as np
import pandas as pd
from cegpy import StagedTree


def unseen(rows, cards):
    """Return the paths from the root that no row takes."""
    seen = {tuple(row[:length]) for row in rows for length in range(1, len(cards) + 1)}
    states = [list(map(str, range(card))) for card in cards]
    paths = itertools.chain.from_iterable(itertools.product(*states[:length]) for length in range(1, len(cards) + 1))
    return [path for path in paths if path not in seen]


def probabilities(tree, stages):
    """Return the posterior mean of each edge; cegpy's own are rounded to three digits."""
    found = {}
    for stage in stages:
        total = {}
        for situation in stage:
            for _, _, label, known in tree.edges(situation, keys=True, data=True):
                total[label] = total.get(label, 0.0) + float(known["posterior"])
        for situation in stage:
            for _, child, label in tree.edges(situation, keys=True):
                found[situation, label] = child, total[label] / sum(total.values())
    return found


def main():
    data = pd.read_csv(sys.argv[1])
    cards, rows = data.iloc[0].tolist(), data[1:].astype(str).reset_index(drop=True)
    held_out = pd.read_csv(sys.argv[2])[1:].astype(str)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            begin = time.process_time()
            tree = StagedTree(rows, sampling_zero_paths=unseen(rows.to_numpy(), cards) or None)
            stages = tree.calculate_AHC_transitions()["Merged Situations"]
            seconds = time.process_time() - begin
        edges = probabilities(tree, stages)
        known = {}
        for row in set(map(tuple, held_out.to_numpy())):
            at, total = tree.root, 0.0
            for label in row:
                at, probability = edges[at, label]
                total += np.log(probability)
            known[row] = total
        result = {"cpu": seconds, "log_prob": [float(known[row]) for row in map(tuple, held_out.to_numpy())]}
    except Exception as error:
        result = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
