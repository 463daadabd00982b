"""Write the DAG of the best CStree found, for Benchpress, which sets `snakemake`."""

import os
import signal
import time

start = time.perf_counter()
output, wildcards = snakemake.output, snakemake.wildcards  # noqa: F821


def finish(seconds):
    for name, text in (("time", str(seconds)), ("ntests", "None")):
        with open(output[name], "w") as file:
            file.write(text)


def give_up(*_):
    """Leave an empty file, which is how Benchpress knows a run that took too long."""
    open(output["adjmat"], "w").close()
    finish(time.perf_counter() - start)
    os._exit(0)


if wildcards["timeout"] != "None":
    signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, float(wildcards["timeout"]))

from cslearn import Chains, CStreeLearner  # noqa: E402
from cslearn.data import read_benchpress  # noqa: E402
from cslearn.formats import write_benchpress_graph  # noqa: E402

table = read_benchpress(snakemake.input["data"])  # noqa: F821
learner = CStreeLearner(
    beta=int(wildcards["beta"]),
    ess="auto" if wildcards["ess"] == "None" else float(wildcards["ess"]),
    search=Chains(n_iter=None if wildcards["n_iter"] == "None" else int(wildcards["n_iter"])),
    random_state=int(wildcards["replicate"]),
    n_jobs=1,
).fit(table)
signal.setitimer(signal.ITIMER_REAL, 0)
finish(time.perf_counter() - start)
write_benchpress_graph(learner.cstree_, output["adjmat"])
