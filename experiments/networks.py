"""Bayesian networks of 20 to 441 variables: ours next to other learners on rows drawn from them, in the same run.

The others, what they are given, and how their graphs get parameters is as in `experiments.learners`, which has smaller
networks; here every learner has the same limit of CPU seconds.
"""

from functools import partial
from typing import Any

from cslearn.datasets import load_network
from experiments import learners
from experiments.common import SEED, arguments, compute, number, publish, table
from experiments.environments import pinned, python_of
from experiments.learners import AVERAGED, DAGS, HOMES, N_ORDERS, N_TEST, OURS, TITLES, Page

# By the number of variables, so that those that are harder come after those that are easier.
NETWORKS = ("child", "insurance", "alarm", "hailfinder", "hepar2", "win95pts", "andes", "pigs")
SMALL = ("asia",)  # for a quick run
ROWS = (1000, 10_000)
LEARNERS = [*OURS, *DAGS]
PACKAGES = {"pyagrum": "pyAgrum", "pgmpy": "pgmpy", "causal-learn": "causal-learn"}
LIMIT = 300.0


def harder(task: dict[str, Any], stopped: dict[str, Any]) -> bool:
    """Say whether a task is for the same learner, of no fewer variables and rows than one that took too long."""
    names = [*SMALL, *NETWORKS]
    larger = names.index(task["name"]) >= names.index(stopped["name"]) and task["n"] >= stopped["n"]
    return task["learner"] == stopped["learner"] and larger


def read(found: dict[str, dict[str, Any]]) -> Page:
    """Return the results by task as a page: only networks and learners of which anything is known."""
    found = learners.with_averages(found)
    tasks = [task for task in map(learners.task_of, found) if found[learners.name_of(task)].get("stopped") != 0.0]
    order = [*SMALL, *NETWORKS]
    tasks.sort(key=lambda task: (order.index(task["name"]), task["n"], task["seed"]))
    sets = [{key: value for key, value in task.items() if key != "learner"} for task in tasks]
    there = [name for name in LEARNERS if any(task["learner"] == name for task in tasks)]
    return Page(found, [data for i, data in enumerate(sets) if data not in sets[:i]], there)


# ---------------------------------------------------------------- the page
def main(argv: list[str] | None = None) -> None:
    options = arguments(__doc__, argv, models=1, limit=LIMIT)
    install = not options.quick and not options.recorded
    there = [name for name in LEARNERS if name in OURS or not options.quick or python_of(HOMES[name], install)]
    names, samples = (SMALL, (250,)) if options.quick else (NETWORKS, ROWS)
    tasks = [
        {"kind": "network", "name": name, "n": n, "seed": seed, "learner": learner}
        for name in names
        if learners.at_hand(name, network=True)
        for n in samples
        for learner in there
        if learner != AVERAGED
        for seed in range(SEED, SEED + options.models)
    ]
    cell = partial(learners.cell, install=install, limit=options.limit)
    results = compute("networks", cell, tasks, options, harder, learners.settings)
    learners.dismiss()
    page = read(dict(zip(map(learners.name_of, tasks), results, strict=True)))
    if not page.ours:
        print("networks: ours is not done for any network, so no page is written")
        return
    publish("networks", "Bayesian networks", text(page), options)


def variables(name: str) -> tuple[int, int]:
    """Return how many variables and edges a network has."""
    dag = load_network(name).to_dag()
    return dag.number_of_nodes(), dag.number_of_edges()


def best_of(page: Page, home: str, group: dict[str, Any]) -> str | None:
    """Return the learner of a package with the smallest gap, of those that came to an end."""
    gaps = {name: page.median(name, group, "gap") for name in page.others if HOMES[name] == home}
    done = {name: gap for name, gap in gaps.items() if isinstance(gap, float) and gap == gap}
    return min(done, key=done.__getitem__, default=None)


def text(page: Page) -> str:
    """Return the page."""
    groups = page.groups["network"]
    titles = [TITLES[learner] for learner in page.learners]
    homes = [home for home in PACKAGES if any(HOMES[name] == home for name in page.others)]
    short = []
    for names, group in groups:
        row = [*names, *(_shown(page.median(own, group, "gap"), 4) for own in page.ours)]
        for home in homes:
            best = best_of(page, home, group)
            told = "none ended" if best is None else f"{_shown(page.median(best, group, 'gap'), 4)} ({_brief(best)})"
            row.append(told)
        short.append(row)
    sizes = {names[0]: variables(names[0]) for names, _ in groups}
    models = max(page.count(name, group) for name in page.ours for _, group in groups)
    versions = sorted({pinned(HOMES[name]) for name in page.others})
    limits = sorted({result["stopped"] for result in page.found.values() if result.get("stopped")})
    limit = " and ".join(f"{seconds:.0f}" for seconds in limits)
    return "\n\n".join(
        [
            "Rows drawn from networks of the bnlearn repository: "
            + ", ".join(f"{name} ({p} variables, {edges} edges)" for name, (p, edges) in sizes.items())
            + ". All learners learn from the same rows"
            + (f", and figures are medians over {models} samples." if models > 1 else ", one sample of each size.")
            + f" *Gap* is how much less log-likelihood each of {N_TEST:,} rows held out has than under the network"
            " itself, in nats: an estimate of D(true ‖ learned). Smaller is better.",
            "*Ours* is the default fit (`beta='auto'`), one tree; *averaged* is the prediction of the same fit,"
            f" averaged over {N_ORDERS} orders that chains drew (all orders after an exact search); *beta 2* has"
            " contexts of at most two variables.",
            f"The others ({', '.join(versions) or 'none'}) learn a graph. Its parameters are relative frequencies with"
            " 1 or 0.1 added to each cell, whichever predicts the rows held out better; a graph with undirected edges"
            " is completed to a DAG."
            + (
                f" *Too long* is what did not end within {limit} CPU seconds, or was not tried as the same learner had"
                " not ended on fewer variables or rows."
                if limits
                else ""
            ),
            "## Ours and the best of each package",
            "The gap; of each package the learner whose gap is smallest on these very rows, which is to its advantage.",
            table(["network", "n", *page.ours, *(f"{PACKAGES[home]}, best" for home in homes)], short),
            "## Gap",
            "Of all learners. Bold is the smallest.",
            table(["network", "n", *titles], page.body(groups, "gap", 4)),
            "## Structure",
            "Structural Hamming distance between the CPDAGs of the learned graph and the network's.",
            table(["network", "n", *titles], page.body(groups, "shd", 0)),
            "## CPU seconds",
            "Of learning alone, without loading the program and reading the data, one thread; *averaged* includes the"
            " fit.",
            table(["network", "n", *titles], page.body(groups, "cpu", 2)),
        ]
    )


def _shown(value: float | str, digits: int) -> str:
    return value if isinstance(value, str) else number(value, digits)


def _brief(learner: str) -> str:
    """Return what a learner is called beside the name of its package."""
    return TITLES[learner].split(" ", 1)[1]


if __name__ == "__main__":
    main()
