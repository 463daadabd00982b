"""Staged trees learned by the R package stagedtrees, for Figure 2c: best order search and backward hill climbing.

R is called with a script, data and results are comma separated tables. What comes back are the stages of all
situations and the probabilities of the stages, from which the probability of every outcome follows.
"""

import csv
import math
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

import networkx as nx
import numpy as np

from cslearn.data import Table

METHODS = {"best order": "best order search", "backward": "backward hill climbing from GRaSP's DAG"}
# Arguments: the rows, the parents of each variable in a topological order ("-" for best order search), the directory of
# the results. Both searches start with relative frequencies (lambda = 0), as the package does by default. Stages of the
# DAG without rows are set aside under the name that the package gives to what was not observed, and are not joined.
SCRIPT = """\
suppressMessages(library(stagedtrees))
given <- commandArgs(trailingOnly = TRUE)
rows <- read.csv(given[1], check.names = FALSE, colClasses = "character")
for (v in names(rows)) rows[[v]] <- factor(rows[[v]], levels = c("0", "1"))
begin <- proc.time()
if (given[2] == "-") {
  model <- search_best(rows, alg = stages_bhc)
} else {
  listed <- read.csv(given[2], colClasses = "character", na.strings = character(0))
  parents <- lapply(seq_len(nrow(listed)), function(i) {
    list(parents = strsplit(listed$parents[i], " ")[[1]], values = c("0", "1"))
  })
  names(parents) <- listed$variable
  class(parents) <- "parentslist"
  model <- sevt_fit(as_sevt(parents), data = rows, lambda = 0)
  for (v in names(model$tree)[-1]) {
    seen <- rowsum(rowSums(unclass(model$ctables[[v]])), model$stages[[v]])
    model$stages[[v]][model$stages[[v]] %in% rownames(seen)[seen == 0]] <- "UNOBSERVED"
  }
  model$name_unobserved <- "UNOBSERVED"
  model <- stages_bhc(sevt_fit(model, lambda = 0))
}
used <- (proc.time() - begin)[["user.self"]]
order <- names(model$tree)
stages <- lapply(order, function(v) if (v == order[1]) "1" else model$stages[[v]])
situations <- data.frame(variable = rep(order, lengths(stages)), stage = unlist(stages))
write.csv(situations, file.path(given[3], "stages.csv"), row.names = FALSE)
known <- do.call(rbind, lapply(order, function(v) {
  found <- model$prob[[v]]
  data.frame(
    variable = v, stage = names(found), zero = vapply(found, function(x) x[["0"]], 1),
    one = vapply(found, function(x) x[["1"]], 1)
  )
}))
write.csv(format(known, digits = 15), file.path(given[3], "probabilities.csv"), row.names = FALSE)
writeLines(format(used), file.path(given[3], "seconds"))
"""


@cache
def version() -> str | None:
    """Return the version of stagedtrees, or None if R or the package is not there."""
    program = shutil.which("Rscript")
    if program is None:
        return None
    command = [program, "--vanilla", "-e", 'cat(as.character(packageVersion("stagedtrees")))']
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() or None if done.returncode == 0 else None


def learn(data: Table, dag: nx.DiGraph | None, limit: float) -> dict[str, Any]:
    """Learn a staged tree from binary data: within the DAG, or in the best order if there is none.

    Returns the order, the log-probabilities of all outcomes (the last variable of the order is the fastest) and the CPU
    seconds; ``{"stopped": seconds}`` if it takes longer than `limit`, and ``{"error": ...}`` if R fails.
    """
    program = shutil.which("Rscript")
    assert program is not None and set(data.cards) == {2}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "learn.R").write_text(SCRIPT, encoding="utf-8")
        _write(folder / "rows.csv", [data.variables, *data.codes.tolist()])
        graph = "-"
        if dag is not None:
            graph = str(folder / "dag.csv")
            listed = [[v, " ".join(sorted(dag.predecessors(v)))] for v in nx.lexicographical_topological_sort(dag)]
            _write(Path(graph), [["variable", "parents"], *listed])
        command = [program, "--vanilla", str(folder / "learn.R"), str(folder / "rows.csv"), graph, name]
        begin = perf_counter()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return {"stopped": limit, "final": True, "wall": perf_counter() - begin}
        if done.returncode != 0:
            return {"error": done.stderr.strip()[-200:] or f"R ended with code {done.returncode}"}
        order, log_prob = outcomes(folder / "stages.csv", folder / "probabilities.csv")
        seconds = float((folder / "seconds").read_text(encoding="utf-8"))
    return {"order": order, "log_prob": log_prob, "cpu": seconds}


def outcomes(stages: Path, probabilities: Path) -> tuple[list[str], np.ndarray]:
    """Return the order of a staged tree on binary variables, and the log-probabilities of all outcomes.

    The situations of a variable are in the order of the outcomes before it, of which the last variable is the fastest.
    A stage without rows has no relative frequencies: its distribution is uniform, as in our own models.
    """
    known: dict[tuple[str, str], list[float]] = {}
    for row in _read(probabilities):
        values = [math.nan if x.strip() == "NA" else float(x) for x in (row["zero"], row["one"])]
        known[row["variable"], row["stage"].strip()] = [0.5, 0.5] if any(map(math.isnan, values)) else values
    at: dict[str, list[str]] = {}
    for row in _read(stages):
        at.setdefault(row["variable"], []).append(row["stage"].strip())
    log_prob = np.zeros(1)
    for variable, listed in at.items():
        if len(listed) != len(log_prob):
            raise ValueError(f"{variable} has {len(listed)} situations, not {len(log_prob)}")
        with np.errstate(divide="ignore"):
            steps = np.log([known[variable.strip(), stage] for stage in listed])
        log_prob = (log_prob[:, None] + steps).ravel()
    return [variable.strip() for variable in at], log_prob


def divergences(log_learned: np.ndarray, log_true: np.ndarray) -> list[float]:
    """Return D(learned || true) and D(true || learned) from the log-probabilities of all outcomes."""
    return [_divergence(log_learned, log_true), _divergence(log_true, log_learned)]


def _divergence(left: np.ndarray, right: np.ndarray) -> float:
    here = left > -np.inf
    if (right[here] == -np.inf).any():
        return math.inf
    return max(0.0, float(np.sum(np.exp(left[here]) * (left[here] - right[here]))))


def all_outcomes(order: list[str], like: Table) -> Table:
    """Return a table of all outcomes of binary data, of which the last variable of the order is the fastest."""
    p = len(order)
    bits = np.arange(2**p)[:, None] >> np.arange(p)[::-1] & 1
    return Table(bits[:, [order.index(v) for v in like.variables]], like.variables, like.states)


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _write(path: Path, rows: Any) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
