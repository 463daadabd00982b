"""Ours next to peers, on the same data in the same run: the authors' package `cstrees` and pyAgrum's hill climbing.

Each peer has a virtual environment of its own, which is made on the first run and takes a few hundred MB. Real data are
read from the directory in the environment variable CSLEARN_DATA; without it their rows are left out.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

from benchmarks.report import FRESH_SEED, publish, table
from benchmarks.speed import warm_up
from cslearn import Chains, CStree, CStreeLearner, kl_divergence, random_cstree
from cslearn.data import as_table, write_benchpress

HERE = Path(__file__).parent
N_ITER = 5000
LIMIT = 300.0
ONCE = 60.0
MODELS = 5
INSTALL = {
    "cstrees": [
        ["--no-deps", "cstrees==1.3.1", "causal-learn==0.1.4.8", "momentchi2"],
        ["numpy<2", "pandas<3", "networkx", "tqdm", "matplotlib", "scipy", "scikit-learn", "statsmodels"],
        ["pydot", "graphviz"],
    ],
    "pyagrum": [["pyagrum==3.3.1", "pandas"]],
    "pgmpy": [["pgmpy==1.1.2"]],
    "causal-learn": [["causal-learn==0.1.4.8"]],
    "cegpy": [["cegpy==1.1.0"]],
}


def notice(text):
    print(text, file=sys.stderr, flush=True)


def environment(folder, name):
    """Return the Python of a peer's environment, made if it is not there, or None if it cannot be made."""
    home = Path(folder).resolve() / name
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    done = home / "installed"
    if done.exists():
        return str(python)
    try:
        subprocess.run([sys.executable, "-m", "venv", home], check=True, stdout=sys.stderr)
        for packages in INSTALL[name]:
            subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True, stdout=sys.stderr)
    except (OSError, subprocess.CalledProcessError) as error:
        notice(f"{name} cannot be installed, its columns are left out: {type(error).__name__}")
        return None
    done.touch()
    return str(python)


def installed(python, package):
    """Return the version of a package in an environment."""
    code = f"from importlib.metadata import version; print(version({package!r}))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def children_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def call(python, script, *arguments):
    """Run a peer and return the last line of JSON that it printed, with the CPU time of its whole process."""
    begin, stopped = children_cpu(), False
    try:
        command = [python, HERE / script, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, timeout=LIMIT)
        output, errors = done.stdout, done.stderr
    except subprocess.TimeoutExpired as error:
        output, errors, stopped = error.stdout or b"", b"", True
    lines = output.decode().splitlines()
    if not lines:
        notice(f"{script} printed nothing: {errors.decode()[-300:]}")
    result = json.loads(lines[-1]) if lines else {"error": "no output"}
    return {**result, "stopped": stopped, "process": children_cpu() - begin}


def real(name):
    """Return the path of a real data set, or None."""
    folder = os.environ.get("CSLEARN_DATA")
    path = Path(folder, name) if folder else None
    if path is None or not path.exists():
        notice(f"{name} is left out: CSLEARN_DATA does not have it")
        return None
    return path


def sachs():
    path = real("sachs_observational_log.csv.gz")
    if path is None:
        return None
    values = np.genfromtxt(path, delimiter=",", names=True)
    names = values.dtype.names
    return as_table({name: (values[name] > np.median(values[name])).astype(int) for name in names})


def mushroom():
    path = real("mushroom.csv.gz")
    if path is None:
        return None
    return as_table(path, missing="drop", na_values=("?", ""), leave_out=("veil-type",))


def alarm():
    path = real("alarm.csv.gz")
    return None if path is None else as_table(path)


def split(data, n_test):
    """Return a random part for training and the rest for testing."""
    rows = np.random.default_rng(0).permutation(data.n)
    return data.take(np.sort(rows[n_test:])), data.take(np.sort(rows[:n_test]))


class Case:
    """A data set with what is known of the truth.

    `measure` is "gap" (to the truth in held-out mean log-likelihood, over the oracle's), "held out" (mean
    log-likelihood) or None.
    """

    def __init__(self, name, train, test=None, truth=None, measure=None):
        self.name, self.train, self.test, self.truth, self.measure = name, train, test, truth, measure
        if measure == "gap":
            self.true = truth.log_prob(test)
            self.oracle = truth.fit_parameters(train).log_prob(test)

    def quality(self, log_prob):
        log_prob = np.asarray(log_prob)
        if self.measure == "gap":
            return float(np.mean(self.true - log_prob) / np.mean(self.true - self.oracle))
        return float(np.mean(log_prob))

    def in_words(self, log_prob):
        if self.measure is None or log_prob is None:
            return "–"
        value = self.quality(log_prob)
        return f"gap {value:.2f} × oracle's" if self.measure == "gap" else f"log-likelihood {value:.3f}"


def random_case(p, seed=FRESH_SEED, n=1000, n_test=2000):
    """Return a binary random CStree with rows to learn from and rows held out."""
    truth = random_cstree(p, random_state=seed)
    train, test = truth.sample_table(n, random_state=seed + 1000), truth.sample_table(n_test, random_state=seed + 2000)
    return Case(f"random CStree, p = {p}, n = {n:,}", train, test, truth, "gap")


def ours(case, candidates="all"):
    """Return wall and CPU seconds of the faster of two fits, and the model."""
    runs = []
    for _ in range(2):
        wall, cpu = perf_counter(), process_time()
        learner = CStreeLearner(
            beta=2, candidates=candidates, search=Chains(n_iter=N_ITER, n_chains=1), random_state=0
        ).fit(case.train)
        runs.append((process_time() - cpu, perf_counter() - wall))
        if runs[0][1] > ONCE / 6:
            break
    cpu, wall = min(runs)
    log_prob = learner.cstree_.log_prob(case.test) if case.measure else None
    notice(f"ours, {case.name}: {cpu:.2f} s of CPU time")
    return {
        "cpu": cpu,
        "wall": wall,
        "log_prob": log_prob,
        "kind": learner.candidates_.method,
        "tree": learner.cstree_,
    }


def theirs(python, case, candidates):
    """Run the authors' package: twice, unless once takes long."""
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        train, test = Path(folder, "train.csv"), "-"
        write_benchpress(case.train, train)
        if case.measure:
            test = Path(folder, "test.csv")
            write_benchpress(case.test, test)
        for _ in range(2):
            begin = perf_counter()
            runs.append(call(python, "peer_cstrees.py", train, test, candidates, N_ITER))
            if perf_counter() - begin > ONCE or "error" in runs[-1]:
                break
    best = min(runs, key=lambda run: sum(run.get("cpu", {}).values()))
    notice(f"cstrees, {case.name}: { {k: v for k, v in best.items() if k in ('cpu', 'candidates', 'error')} }")
    return best


def tree_of(peer, truth):
    """Return the CStree that the authors' package has learned, with probabilities that sum to one."""
    contexts = {v: [] for v in peer["order"]}
    parameters = {v: [] for v in peer["order"]}
    for target, context, probabilities in peer["stages"]:
        contexts[target].append(context)
        parameters[target].append(np.array(probabilities) / sum(probabilities))
    return CStree(peer["order"], contexts, parameters, states=truth.states)


def divergence_section(python):
    """Compare the divergences of both, over several models."""
    if python is None:
        return "The package could not be installed."
    rows = []
    for p in (10, 15, 20):
        found = []
        for seed in range(FRESH_SEED, FRESH_SEED + MODELS):
            case = random_case(p, seed)
            peer = theirs(python, Case(case.name, case.train), "pc")
            trees = [case.truth.fit_parameters(case.train), ours(case)["tree"]]
            if "stages" in peer:
                found.append([kl_divergence(tree, case.truth) for tree in (*trees, tree_of(peer, case.truth))])
        oracle, mine, other = np.median(found, axis=0)
        share = np.median([a / b for _, a, b in found])
        rows.append([p, len(found), f"{oracle:.4f}", f"{mine:.4f}", f"{other:.4f}", f"{share:.3f}"])
    return table(["p", "models", "oracle", "ours", "theirs (PC)", "median of ours / theirs"], rows)


def compared(mine, peer):
    """Return their CPU and wall seconds and both ratios, as text."""
    if peer.get("fitted"):
        cpu, wall = sum(peer["cpu"].values()), sum(peer["wall"].values())
        return [f"{cpu:.1f}", f"{wall:.1f}", f"{cpu / mine['cpu']:,.1f}", f"{wall / mine['wall']:,.1f}"]
    if peer["stopped"]:
        cpu = peer["process"] - peer.get("before", 0.0)
        return [
            f"over {cpu:.0f}",
            f"over {LIMIT:.0f}",
            f"over {cpu / mine['cpu']:,.0f}",
            f"over {LIMIT / mine['wall']:,.0f}",
        ]
    return ["failed", "failed", "–", "–"]


def remark(peer):
    """Say what became of a run of theirs, and where its time went."""
    phases = ", ".join(f"{name} {seconds:.1f}" for name, seconds in peer.get("cpu", {}).items())
    told = [f"CPU seconds by phase: {phases or 'none finished'}"]
    if "candidates" in peer:
        told.append(f"at most {peer['candidates']} candidates")
    if peer["stopped"]:
        told.append(f"stopped after {LIMIT:.0f} s")
    if "error" in peer:
        told.append(f"ended with `{peer['error']}`")
    return "; ".join(told)


def cstrees_cases():
    yield random_case(10), "pc"
    yield random_case(15), "pc"
    yield random_case(20), "pc"
    yield random_case(50), "pc"
    yield random_case(100), "pc"
    data = alarm()
    if data is not None:
        yield Case(f"ALARM, p = {data.p}, n = {data.n:,}", data), "pc"
        train, test = split(data, 2000)
        yield Case(f"ALARM, p = {data.p}, n = {train.n:,}", train, test, measure="held out"), "pc"
    data = sachs()
    if data is not None:
        yield Case(f"Sachs, p = {data.p}, n = {data.n:,}", data), "all"


def cstrees_section(python):
    """Compare with the authors' package."""
    rows, remarks = [], []
    for case, candidates in cstrees_cases():
        mine = ours(case)
        row = [case.name, f"{mine['cpu']:.2f}", f"{mine['wall']:.2f}"]
        if python is None:
            rows.append([*row, case.in_words(mine["log_prob"])])
            continue
        peer = theirs(python, case, candidates)
        row += [candidates, *compared(mine, peer), case.in_words(mine["log_prob"])]
        rows.append([*row, case.in_words(peer.get("log_prob"))])
        remarks.append(f"- {case.name}: {remark(peer)}.")
    if python is None:
        return "The package could not be installed.\n\n" + table(["data", "our CPU", "our wall", "our accuracy"], rows)
    headers = ["data", "our CPU", "our wall", "their candidates", "their CPU", "their wall"]
    headers += ["CPU ratio", "wall ratio", "our accuracy", "their accuracy"]
    return table(headers, rows) + "\n\nTheir runs:\n\n" + "\n".join(remarks)


def alone_section():
    """Measure what the authors' package is not tried on."""
    data = mushroom()
    cases = [] if data is None else [Case(f"Mushroom, p = {data.p}, n = {data.n:,}", data)]
    cases.append(random_case(500))
    rows = []
    for case in cases:
        mine = ours(case, "auto")
        rows.append(
            [case.name, mine["kind"], f"{mine['cpu']:.2f}", f"{mine['wall']:.2f}", case.in_words(mine["log_prob"])]
        )
    return table(["data", "candidates", "CPU", "wall", "accuracy"], rows)


def climbed(python, case, score):
    """Return the faster of two runs of pyAgrum."""
    with tempfile.TemporaryDirectory() as folder:
        train, test = Path(folder, "train.csv"), Path(folder, "test.csv")
        write_benchpress(case.train, train)
        write_benchpress(case.test, test)
        runs = [call(python, "peer_agrum.py", train, test, score) for _ in range(2)]
    return min(runs, key=lambda run: run.get("cpu", np.inf))


def agrum_row(python, name, cases):
    """Return the medians over some cases: seconds and quality, ours and theirs."""
    mine = [ours(case) for case in cases]
    row = [name, f"{np.median([run['cpu'] for run in mine]):.2f}"]
    quality = [f"{np.median([c.quality(run['log_prob']) for c, run in zip(cases, mine, strict=True)]):.3f}"]
    for score in ("BIC", "BDeu"):
        runs = [climbed(python, case, score) for case in cases]
        if any("log_prob" not in run for run in runs):
            row, quality = [*row, "failed"], [*quality, "–"]
            continue
        row.append(f"{np.median([run['cpu'] for run in runs]):.2f}")
        found = [case.quality(run["log_prob"]) for case, run in zip(cases, runs, strict=True)]
        quality.append(f"{np.median(found):.3f}")
    notice(f"pyagrum, {name}: {row[1:]} {quality}")
    return row + quality


def agrum_section(python):
    """Compare with pyAgrum's greedy hill climbing."""
    if python is None:
        return "pyAgrum could not be installed."
    rows = []
    for p in (20, 50, 100):
        cases = [random_case(p, FRESH_SEED + seed, n_test=10_000) for seed in range(3)]
        rows.append(agrum_row(python, cases[0].name, cases))
    data = alarm()
    if data is not None:
        train, test = split(data, 2000)
        case = Case("", train, test, measure="held out")
        rows.append(agrum_row(python, f"ALARM, p = {data.p}, n = {train.n:,}: log-likelihood", [case]))
    headers = ["data", "our CPU", "BIC: CPU", "BDeu: CPU", "our gap", "BIC: gap", "BDeu: gap"]
    return table(headers, rows)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--envs", default=HERE.parent / ".venv-peers", help="where the peers' environments are kept")
    options = parser.parse_args(arguments)
    pythons = {name: environment(options.envs, name) for name in ("cstrees", "pyagrum")}
    versions = ", ".join(f"{name} {installed(python, name)}" for name, python in pythons.items() if python)
    warm_up()
    text = f"""\
Ours: `CStreeLearner(beta=2, candidates="all", search=Chains(n_iter={N_ITER}, n_chains=1))`, all cores, warm kernels.
Seconds; each run is made twice and the faster one taken, unless it takes long (ours over {ONCE / 6:.0f} s, theirs over
{ONCE:.0f} s). CPU time is that of all threads. Peers: {versions or "none"}, each in an environment of
its own; the time to start and to read the data does not count.

Accuracy: *gap* is the gap to the truth in held-out mean log-likelihood as a multiple of the oracle's, which knows the
structure and estimates its parameters from the same data; for real data the held-out mean log-likelihood. Figures of
accuracy are of one random model each, unless said otherwise, with seeds from {FRESH_SEED:,} on. Our defaults were
chosen on other models of the same kind, and partly on ALARM's rows; theirs were not.

## The authors' package

{N_ITER:,} iterations of its order sampler, context bound 2, score BDeu with weight 1. Its candidates are from PC (chi
square tests at level 0.05) or all variables. Ratios are theirs over ours.

{cstrees_section(pythons["cstrees"])}

D(learned || true) in nats, over all outcomes, from 1,000 rows; medians. In their models a state that does not occur
in a stage has the prior's share of the probability beside the others', so that the sum may be more than one: here it is
made one.

{divergence_section(pythons["cstrees"])}

## Ours alone

Here with `candidates="auto"`.

{alone_section()}

## pyAgrum

Greedy hill climbing with its scores BIC and BDeu, parameters with a Laplace prior of 1 for each cell, which is the
prior that the random models are drawn from. Medians of three random models.

{agrum_section(pythons["pyagrum"])}"""
    publish("peers", "Ours next to peers", text, paper_bound=True)


if __name__ == "__main__":
    main()
