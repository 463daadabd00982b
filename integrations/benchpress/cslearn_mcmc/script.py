"""Write DAGs drawn from the posterior, for Benchpress, which sets `snakemake`.

Orders are drawn by a Markov chain, and for each order the stagings are drawn from their exact distribution given it.
Nothing is left out at the beginning: Benchpress has a burn-in of its own.
"""

import os
import signal
import time
from math import lgamma

start = time.perf_counter()
output, wildcards = snakemake.output, snakemake.wildcards  # noqa: F821


def finish(seconds):
    for name, text in (("time", str(seconds)), ("ntests", "None")):
        with open(output[name], "w") as file:
            file.write(text)


def give_up(*_):
    """Leave an empty file, which is how Benchpress knows a run that took too long."""
    open(output["seqgraph"], "w").close()
    finish(time.perf_counter() - start)
    os._exit(0)


if wildcards["timeout"] != "None":
    signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, float(wildcards["timeout"]))

import numpy as np  # noqa: E402

from cslearn import Chains, CStreeLearner  # noqa: E402
from cslearn.data import read_benchpress  # noqa: E402
from cslearn.formats import write_trajectory  # noqa: E402

table = read_benchpress(snakemake.input["data"])  # noqa: F821
seed = int(wildcards["mcmc_seed"])
learner = CStreeLearner(
    beta=int(wildcards["beta"]),
    ess="auto" if wildcards["ess"] == "None" else float(wildcards["ess"]),
    search=Chains(n_iter=int(wildcards["n_iterations"]), burn_in=0, thin=1, n_chains=1),
    prior="tree",
    random_state=seed,
    n_jobs=1,
).fit(table)
scores = learner.posterior_.scores  # those that the orders were drawn with
rng = np.random.default_rng(seed)
known = {}


def drawn(order):
    """Return the score and the edges of a CStree with this order."""
    total, edges = -lgamma(len(order) + 1), []
    for position, variable in enumerate(order):
        staging = scores.draw_staging(variable, order[:position], rng)
        key = variable, frozenset(order[:position]), staging
        if key not in known:
            known[key] = scores.staging_score(variable, staging)
        total += known[key]
        edges += [(parent, variable) for parent in staging.context_variables]
    return total, edges


draws = [drawn(learner.posterior_.order_names(order)) for order in learner.posterior_.orders]
signal.setitimer(signal.ITIMER_REAL, 0)
finish(time.perf_counter() - start)
write_trajectory(table.variables, draws, output["seqgraph"])
