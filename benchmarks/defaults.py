"""Which prior, equivalent sample size and estimate of parameters to take by default: the gap to many truths.

With ``--keep FILE`` finished cases are kept there, and a run that was ended goes on. Networks of the repository of
bnlearn are read from the directory that CSLEARN_DATA names, or fetched.
"""

import argparse
import os
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from math import exp, prod
from textwrap import fill
from typing import Any, ClassVar, NamedTuple

import networkx as nx
import numpy as np

from benchmarks.report import FRESH_SEED, Kept, bold_least, publish, table
from cslearn import Chains, CStree, CStreeLearner, kl_divergence, random_cstree
from cslearn.datasets import load_network
from cslearn.priors import Prior

ROWS = (250, 1000, 10_000)
# How many random models there are of each size.
MODELS = {10: 20, 50: 4}
N_TEST = 50_000
# Up to so many outcomes the gap is computed exactly.
MOST_OUTCOMES = 2**18
# Up to so many variables all orders are searched, as by default; beyond, chains that only climb.
MOST_EXACT = 16
N_CLIMBS = 8
CLIMBS: dict[str, Any] = {"search": Chains(n_chains=N_CLIMBS, n_iter=1), "estimate": "best"}
ORACLE_ESS = 1.0


@dataclass(frozen=True)
class PenaltyPrior(Prior):
    """Every split on a variable costs so many nats, whatever the number of candidates.

    For binary variables that is a penalty for each stage beyond the first. A split on a variable of d states costs the
    same and makes d - 1 more. A staging that several trees draw counts as often.
    """

    penalty: float
    name: ClassVar[str] = "penalty"

    def log_stop(self, m: int, t: int, beta: int) -> float:
        return 0.0

    def split_weight(self, m: int, t: int, r: int, beta: int) -> float:
        return exp(-self.penalty) if r == 1 else 0.0


class Setting(NamedTuple):
    prior: str
    ess: float | str


class Case(NamedTuple):
    """A kind of truth, or the name of a network; `models` of them, or samples of the network, from a seed on."""

    kind: str
    p: int
    n: int
    models: int
    seed: int = 0


class Section(NamedTuple):
    """Cases that share a table, with a short name for the summary and a sentence or two on what they are."""

    title: str
    short: str
    text: str
    cases: list[Case]


PENALTIES = {f"penalty {nats}": PenaltyPrior(nats) for nats in (1.0, 2.0, 4.0)}
PRIORS: dict[str, str | Prior] = {name: name for name in ("adaptive", "uniform", "sparse", "tree")} | PENALTIES
SETTINGS = [
    *(Setting("adaptive", ess) for ess in (0.5, 1.0, 2.0, 5.0, 10.0, "auto")),
    *(Setting(name, ess) for name in ("uniform", "sparse", "tree") for ess in (1.0, 5.0, "auto")),
    *(Setting(name, ess) for name in PENALTIES for ess in (1.0, 5.0)),
]
DEFAULT, PAPER = Setting("adaptive", "auto"), Setting("uniform", 1.0)


def cases_of(kind: str) -> list[Case]:
    return [Case(kind, p, n, models) for p, models in MODELS.items() for n in ROWS]


def samples_of(*networks: tuple[str, int]) -> list[Case]:
    return [Case(name, p, n, 4 if p > 20 else 8, FRESH_SEED) for name, p in networks for n in ROWS]


KINDS = ("all stagings", "few splits", "network")
SECTIONS = [
    Section(
        "CStrees, all stagings equally probable",
        "CStrees",
        "Random binary CStrees. Seeds from 0 on: the defaults were chosen on such models.",
        cases_of("all stagings"),
    ),
    Section(
        "CStrees with few splits",
        "few splits",
        "Random binary CStrees whose stages split with a probability that falls with p. Seeds from 0 on, as above.",
        cases_of("few splits"),
    ),
    Section(
        "Random Bayesian networks",
        "networks",
        "Binary and ternary variables with up to two parents. Seeds from 0 on, as above.",
        cases_of("network"),
    ),
    Section(
        "The networks asia and sachs",
        "asia, sachs",
        "Samples of these networks, none of which a default was chosen on. In sachs a variable has three parents: there"
        " the structure of the network itself is beyond the context bound of two that all settings share.",
        samples_of(("asia", 8), ("sachs", 11)),
    ),
    Section(
        "The networks child and alarm",
        "child, alarm",
        "As above. In alarm variables have up to four parents.",
        samples_of(("child", 20), ("alarm", 37)),
    ),
    Section(
        "Fresh seeds",
        "fresh",
        f"Models of the first three kinds with seeds from {FRESH_SEED:,} on, on which no default was chosen.",
        [Case(kind, p, 1000, models, FRESH_SEED) for kind in KINDS for p, models in MODELS.items()],
    ),
]
QUICK = [
    Section("CStrees", "CStrees", "Small.", [Case("all stagings", 4, 100, 1), Case("few splits", 5, 100, 1)]),
    Section("Networks", "networks", "Small.", [Case("network", 4, 100, 1)]),
]


def network(p: int, seed: int) -> CStree:
    """Return a random Bayesian network of binary and ternary variables, as a CStree."""
    rng = np.random.default_rng(seed)
    graph = nx.DiGraph()
    for i in range(1, p):
        for j in rng.choice(i, size=min(i, rng.integers(0, 3)), replace=False):
            graph.add_edge(f"X{j}", f"X{i}")
    states = {f"X{i}": tuple(range(rng.integers(2, 4))) for i in range(p)}
    tree = CStree.from_dag(graph, states=states)
    return tree.with_parameters(
        {v: rng.dirichlet([0.7] * len(states[v]), size=len(tree.stagings[v])) for v in tree.order}
    )


def true_model(kind: str, p: int, seed: int) -> CStree:
    """Return a random model of a kind, or the network of that name."""
    if kind == "network":
        return network(p, seed)
    if kind in KINDS:
        few = {"method": "split", "p_context": 1 / p} if kind == "few splits" else {}
        return random_cstree(p, random_state=seed, **few)
    return load_network(kind)


def gap_to(truth: CStree, seed: int) -> Callable[[CStree], float]:
    """Return what gives D(truth || model): the expected gap to the truth in held-out mean log-likelihood."""
    if prod(map(len, truth.states.values())) <= MOST_OUTCOMES:
        return lambda model: float(kl_divergence(truth, model, method="exact"))
    test = truth.sample_table(N_TEST, random_state=seed + 2000)
    best = truth.log_prob(test).mean()
    return lambda model: float(best - model.log_prob(test).mean())


def edges(tree: CStree) -> set[frozenset[str]]:
    return {frozenset((parent, v)) for v in tree.order for parent in tree.parents[v]}


def trial(case: Case, settings: list[Setting], seed: int) -> dict[str, Any]:
    """Return the oracle's gap, and for each setting its gaps, its stages over the true ones and the wrong edges."""
    warnings.simplefilter("ignore")
    truth = true_model(case.kind, case.p, seed)
    train = truth.sample_table(case.n, random_state=seed + 1000)
    gap, true_edges = gap_to(truth, seed), edges(truth)
    found: dict[str, Any] = {"oracle": gap(truth.fit_parameters(train, ess=ORACLE_ESS))}
    for prior, ess in settings:
        search = CLIMBS if case.p > MOST_EXACT else {}
        learner = CStreeLearner(beta=2, prior=PRIORS[prior], ess=ess, n_jobs=1, random_state=0, **search).fit(train)
        tree, own = learner.cstree_, edges(learner.cstree_)
        found[f"{prior}, {ess}"] = {
            "averaged": gap(tree),
            "best staging": gap(tree.fit_parameters(train, ess=learner.ess_)),
            "stages": tree.n_stages / truth.n_stages,
            "wrong": len(own - true_edges) / max(len(own), 1),
        }
    return found


def measured(case: Case, settings: list[Setting], jobs: int) -> list[dict[str, Any]]:
    """Return the trials of a case."""
    seeds = range(case.seed, case.seed + case.models)
    one = partial(trial, case, settings)
    if jobs == 1:
        return [one(seed) for seed in seeds]
    with ProcessPoolExecutor(jobs) as pool:
        return list(pool.map(one, seeds))


class Columns:
    """What was found for each setting (rows) and case (columns)."""

    def __init__(self, settings: list[Setting]) -> None:
        self.settings = settings
        self.cases: list[Case] = []
        self.sections: list[str] = []
        self._found: dict[str, list[list[float]]] = {}

    def add(self, case: Case, section: str, trials: list[dict[str, Any]]) -> None:
        """Take up the trials of a case: means over them, gaps as multiples of the oracle's."""
        self.cases.append(case)
        self.sections.append(section)
        oracle = np.mean([one["oracle"] for one in trials])
        for figure in ("averaged", "best staging", "stages", "wrong"):
            means = [np.mean([one[f"{prior}, {ess}"][figure] for one in trials]) for prior, ess in self.settings]
            unit = oracle if figure in ("averaged", "best staging") else 1.0
            self._found.setdefault(figure, []).append([float(mean / unit) for mean in means])

    def __getitem__(self, figure: str) -> np.ndarray:
        return np.array(self._found[figure]).T

    def regrets(self, estimate: str) -> np.ndarray:
        """Return the log ratios to the least gap of each column, of either estimate."""
        least = np.minimum(self["averaged"].min(axis=0), self["best staging"].min(axis=0))
        return np.log(self[estimate] / least)

    def of_section(self, section: str) -> list[int]:
        return [k for k, one in enumerate(self.sections) if one == section]

    def table(self, headers: list[str], columns: list[list[str]]) -> str:
        """Return a table with a row for each setting."""
        cells = zip(*columns, strict=True)
        rows = [[*setting, *row] for setting, row in zip(self.settings, cells, strict=True)]
        return table(["prior", "ess", *headers], rows)


def section_text(columns: Columns, section: Section) -> str:
    places = columns.of_section(section.short)
    headers = []
    for k in places:
        case = columns.cases[k]
        kind = "" if section.short in ("CStrees", "few splits", "networks") else f"{case.kind}, "
        headers.append(f"{kind}p = {case.p}, n = {case.n:,} ({case.models})")
    gaps = [bold_least(list(columns["averaged"][:, k]), 2) for k in places]
    return f"## {section.title}\n\n{fill(section.text, 120)}\n\n{columns.table(headers, gaps)}"


def regret_text(columns: Columns) -> str:
    """Return the summary: how far each setting is from the best of each column."""
    regrets, plain = columns.regrets("averaged"), columns.regrets("best staging")
    shorts = list(dict.fromkeys(columns.sections))
    figures = [list(regrets[:, columns.of_section(short)].mean(axis=1)) for short in shorts]
    means = regrets.mean(axis=1)
    figures += [list(means), list(regrets.max(axis=1)), list(plain.mean(axis=1))]
    headers = [*shorts, "all", "worst", "all, best staging"]
    return f"""\
## How far from the best

*Regret*: the log of the gap over the least gap of that column, so that 0.05 is about 5 % more than the best. Means over
the columns of each table below, over all, and the largest; parameters averaged over the stagings. Last, the mean
over all columns with the parameters of the best staging.

{columns.table(headers, [bold_least(column, 3) for column in figures])}

{fill(verdict(columns, regrets), 120)}"""


def verdict(columns: Columns, regrets: np.ndarray) -> str:
    """Say where the default stands among the settings."""
    means = regrets.mean(axis=1)
    ranks = list(np.argsort(means, kind="stable"))
    own = columns.settings.index(DEFAULT)
    place = ranks.index(own) + 1
    fixed = [k for k in ranks if "auto" not in columns.settings[k] and columns.settings[k].prior != "adaptive"]
    text = f"The default ({name(DEFAULT)}) has the mean regret {means[own]:.3f}: "
    text += "the least" if place == 1 else f"place {place}"
    text += f" of {len(ranks)}. "
    others = [k for k in ranks if k != own][:3]
    text += "Regret of others less that of the default, with the standard error over columns: "
    text += "; ".join(f"{name(columns.settings[k])} {difference(regrets[k] - regrets[own])}" for k in others)
    text += f"; and of the best with nothing chosen by the data, {name(columns.settings[fixed[0]])},"
    text += f" {difference(regrets[fixed[0]] - regrets[own])}."
    return text


def name(setting: Setting) -> str:
    return f"{setting.prior}, ess {setting.ess}"


def difference(values: np.ndarray) -> str:
    return f"{values.mean():+.3f} ± {values.std(ddof=1) / len(values) ** 0.5:.3f}"


def noise_text(columns: Columns) -> str:
    """Return what the best stagings pick up where there are many variables and few rows."""
    largest = max(case.p for case in columns.cases)
    some = [k for k, case in enumerate(columns.cases) if case.p == largest and case.n <= 1000]
    stages, wrong = (columns[figure][:, some].mean(axis=1) for figure in ("stages", "wrong"))
    plain, averaged = (np.exp(np.log(columns[key][:, some]).mean(axis=1)) for key in ("best staging", "averaged"))
    figures = [[f"{value:.2f}" for value in stages], [f"{value:.0%}" for value in wrong]]
    figures += [bold_least(list(plain), 2), bold_least(list(averaged), 2)]

    def told(setting: Setting) -> str:
        k = columns.settings.index(setting)
        return (
            f"{stages[k]:.2f} times as many stages as the truth, {wrong[k]:.0%} of the edges wrong, a gap of"
            f" {plain[k]:.2f} with the parameters of the best staging and of {averaged[k]:.2f} with averaged ones"
            f" ({averaged[k] / plain[k] - 1:+.0%})"
        )

    sentences = f"The paper's settings ({name(PAPER)}): {told(PAPER)}. The default ({name(DEFAULT)}): {told(DEFAULT)}."
    return f"""\
## Noise in the best staging

Where there are many candidates and few rows, some split on one of them fits by chance, and the best staging takes it.
All columns with p = {largest} and n up to 1,000. *Stages*: of the learned model over those of the true one. *Wrong*:
the share of learned edges between variables that the truth does not join. Gaps are geometric means.

{columns.table(["stages", "wrong", "gap, best staging", "gap, averaged"], figures)}

{fill(sentences, 120)}

What was done about it, in the default: a split pays for the number of candidates that its variable was chosen among
(the tree prior), the data of all variables together choose how probable splits are (the adaptive prior), and
parameters are averaged over all stagings of the order, so that a split by chance counts only as much as it is
probable.

{fill(penalty_text(columns), 120)}"""


def penalty_text(columns: Columns) -> str:
    """Say which constant penalty is best for few and for many variables."""
    regrets, own = columns.regrets("averaged"), columns.settings.index(DEFAULT)
    constant = [k for k, setting in enumerate(columns.settings) if setting.prior in PENALTIES]
    sentences = []
    for p in sorted({case.p for case in columns.cases if case.kind in KINDS}):
        some = [k for k, case in enumerate(columns.cases) if case.p == p and case.kind in KINDS]
        means = regrets[:, some].mean(axis=1)
        best = min(constant, key=means.__getitem__)
        sentences.append(
            f"over the columns of random models with p = {p} {name(columns.settings[best])} has the least regret of"
            f" them, {means[best]:.3f}, and the default {means[own]:.3f}"
        )
    return f"Constant penalties instead: {'; '.join(sentences)}."


INTRODUCTION = f"""\
The gap to the truth in expected held-out mean log-likelihood, D(truth || learned), as a multiple of the gap of the
true structure with its parameters estimated from the same rows (ess {ORACLE_ESS:g}); for a Bayesian network that is the
CStree of its graph. Means over models, or over samples of one network, whose number is in brackets. Smaller is better,
and less than 1 is possible: few rows may be predicted better by a model that is smaller than the truth. Up to
{MOST_OUTCOMES:,} outcomes D is exact, beyond that it is estimated by {N_TEST:,} rows. Up to {MOST_EXACT} variables all
orders are searched; beyond, the best of {N_CLIMBS} climbs is taken: see
[the choice of the search](search.md). The context bound is two. *Penalty*: all stagings are equally probable but for a
penalty, in nats, for each split; between binary variables that is one for each stage beyond the first.

These are tables to choose by, not a measure of accuracy: each says whether defaults were chosen on its models. Some
sixty settings were tried in all, of which the tables show a part; also on other random models with seeds below 100, and
on rows of the data sets ALARM and Asia. How the choice was made:

- The fixed tree prior was settled first, with an eye on small models of the first kind. The adaptive prior takes its
  probabilities from the data.
- Its weak hyperprior was tried with a strength of 0, 2 and 5 variables (2 was taken), and its choice made once or twice
  (twice was no better).
- The equivalent sample size was first fixed at 5, and then left to the data, since networks with three and four parents
  asked for more. A first trial, with 5 and 10 to choose from, was dropped: it took 10 for small CStrees, where 5
  predicted better.
- Averaging the parameters was tried with contexts left out below a probability of 0.01, 0.001 and 0.0001, without a
  difference that matters."""


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", help="file that keeps finished cases")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--quick", action="store_true", help="small models, to see that it works; writes no page")
    options = parser.parse_args(arguments)
    sections = QUICK if options.quick else SECTIONS
    settings = [DEFAULT, PAPER, Setting("penalty 2.0", 1.0)] if options.quick else SETTINGS
    kept, columns = Kept(options.keep), Columns(settings)
    for section in sections:
        for case in section.cases:
            label = f"{case.kind}, p = {case.p}, n = {case.n}, {case.models} from seed {case.seed}"
            columns.add(case, section.short, kept(label, measured, case, settings, options.jobs))
    parts = [INTRODUCTION, regret_text(columns), noise_text(columns)]
    text = "\n\n".join([*parts, *(section_text(columns, section) for section in sections)])
    publish(
        "defaults",
        "Choice of the default prior, equivalent sample size and estimate",
        text,
        quick=options.quick,
        paper_bound=True,
    )


if __name__ == "__main__":
    main()
