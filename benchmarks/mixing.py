"""How well chains over orders mix: plain chains, many short ones, and chains with companions (parallel tempering).

The multimodal case is built by symmetry. Rows of a CStree over (A1, A2, B1, B2) are put together with the same rows in
which A and B have changed their roles, so that an order and its mirror image score exactly alike; where dependence is
strong the orders between them are far worse. The model is the worst of 150 that were tried, by the gap between the two
largest eigenvalues of the transition matrix. ALARM is a real case, of 37 variables and 20,000 rows. Every way gets the
same number of moves, companions included. *Scores apart*: how far the best order of the worst chain is below that of
the best chain, in log score.
"""

import os

import numpy as np

from benchmarks.report import FRESH_SEED, publish, table
from cslearn import random_cstree
from cslearn.data import Table, as_table
from cslearn.datasets import load_alarm
from cslearn.orders import OrderPosterior, order_problem, sample_chains
from cslearn.scores import Scores

MOVES = 160_000
WAYS = {
    "4 chains": {"n_chains": 4},
    "16 chains, a quarter as long": {"n_chains": 16},
    "4 chains, 4 temperatures": {"n_chains": 4, "n_temperatures": 4},
}


def mirrored(n: int) -> Table:
    """Two blocks of two variables whose roles are the same."""
    half = random_cstree([3, 4, 3, 4], concentration=0.1, random_state=135).sample_table(n, random_state=1).codes
    codes = np.vstack([half, np.column_stack([half[:, 2:], half[:, :2]])])
    return Table(codes, ["A1", "A2", "B1", "B2"], [range(d) for d in (3, 4, 3, 4)])


def main() -> None:
    cases = {f"mirrored, n = {2 * n:,}": mirrored(n) for n in (1500, 3000, 6000)}
    for seed in range(FRESH_SEED, FRESH_SEED + 3):
        cases[f"random, p = 20, model {seed}"] = random_cstree(20, random_state=seed).sample_table(1000, random_state=1)
    if "CSLEARN_DATA" in os.environ:
        cases["ALARM"] = as_table(load_alarm())
    rows = []
    for name, data in cases.items():
        problem = order_problem(Scores(data, prior="tree", ess=5.0))
        for way, options in WAYS.items():
            n_iter = MOVES // options["n_chains"] // options.get("n_temperatures", 1)
            chains, _ = sample_chains(problem, n_iter=n_iter, random_state=0, **options)
            frame = OrderPosterior(data.variables, chains).diagnostics()
            pairs = frame[frame["kind"] == "precedence"]
            error = np.sqrt(pairs["mean"] * (1 - pairs["mean"]) / pairs["ess"]).max()
            first = f"{frame['mean'][2]:.3f}" if name.startswith("mirrored") else "-"
            figures = [f"{pairs['r_hat'].max():.3f}", f"{pairs['ess'].min():,.0f}", f"{error:.3f}"]
            best = [chain.best_log_score for chain in chains]
            rows.append([name, way, *figures, f"{max(best) - min(best):.1f}", first])
            print(rows[-1], flush=True)
    head = ["data", f"{MOVES:,} moves as", "largest R-hat", "smallest ess", "largest standard error", "scores apart"]
    head.append("P(A1 before B1)")
    publish(
        "mixing",
        "Mixing",
        f"{(__doc__ or '').strip()}\n\nFigures are those of what comes before what. In the mirrored data P(A1 before"
        " B1) is 0.5 exactly. A chain keeps 1000 to 2000 draws, which bounds its effective sample size.\n\n"
        + table(head, rows),
    )


if __name__ == "__main__":
    main()
