"""The table of the README: where ours stands on public sets, real sets and random CStrees. From the recorded results.

python -m experiments.summary
"""

import json
from typing import Any

from experiments import density, learners, networks, r_peers
from experiments.common import ROOT, table

RESULTS = ROOT / "docs/reproduction/results"
HEADS = ["data", "ours", "compared with", "sets", "ahead", "clearly", "behind", "clearly behind"]
NAMES = {"cstree": "random CStrees", "network": "Bayesian networks", "real": "real sets, other splits"}


def recorded(name: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return the tasks of an experiment with their results, without those that were given up."""
    path = RESULTS / f"{name}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    records = map(json.loads, lines)
    return [(r["task"], r["result"]) for r in records if "stopped" not in r["result"] and "error" not in r["result"]]


def summary() -> str:
    """Return the table."""
    return table(HEADS, [*_density(), *_r_peers(), *_learners(), *_networks()])


def _density() -> list[list[object]]:
    """Compare with printed figures, to two digits; equal ones count for neither."""
    found: dict[str, dict[str, Any]] = {}
    for task, result in recorded("density"):
        found.setdefault(task["set"], {})[task["learner"]] = result
    stated = density.published()
    rows: list[list[object]] = []
    for column, other in (
        ("greedy", "WinMine"),
        ("one tree", "WinMine"),
        ("ensemble", "ID-SPN"),
        ("ensemble", "the best published"),
    ):
        pairs = []
        for name, cells in found.items():
            value = density.reached(cells, column)
            theirs = max(stated[name].values()) if other.startswith("the") else stated[name][other]
            if value is not None:
                pairs.append((round(value, 2), theirs))
        if pairs:
            ahead, behind = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
            rows.append(["public density sets", column, other, len(pairs), ahead, "", behind, ""])
    return rows


def _r_peers() -> list[list[object]]:
    """Compare with the best learner of each package, over the same splits."""
    found: dict[str, list[Any]] = {}
    for task, result in recorded("r_peers"):
        found.setdefault(task["set"], []).append(result["found"])
    rows: list[list[object]] = []
    for package, prefixes in (r_peers.PACKAGES | {"pyAgrum": ("agrum_",)}).items():
        own = r_peers.ours_beside(package)
        leads = []
        for cells in found.values():
            if (best := r_peers.best_of(cells, prefixes)) is not None:
                ahead, error = r_peers.difference(cells, own, best)
                leads.append((ahead, abs(ahead) > 2 * error))  # of one split there is no error, and nothing is clear
        title = {"ours": "one tree", "ours, averaged": "averaged"}[own]
        rows.append(["real sets", title, f"the best of {package}" if own == "ours" else package, *_counted(leads)])
    return rows


def _learners() -> list[list[object]]:
    """Compare with the one other learner that is furthest ahead in the mean, picked for each row of the page."""
    found = learners.with_averages({learners.name_of(task): result for task, result in recorded("learners")})
    tasks = list(map(learners.task_of, found))
    sets = list({learners.name_of({k: v for k, v in t.items() if k != "learner"}): None for t in tasks})
    there = [name for name in learners.LEARNERS if any(task["learner"] == name for task in tasks)]
    page = learners.Page(found, list(map(learners.task_of, sets)), there)
    return [row for kind, title in NAMES.items() for row in _page(page, kind, title, [page.own])]


def _networks() -> list[list[object]]:
    """The same for larger networks, with the default and with contexts of two variables."""
    page = networks.read({learners.name_of(task): result for task, result in recorded("networks")})
    compared = [name for name in page.ours if name != learners.AVERAGED]
    return _page(page, "network", "larger Bayesian networks", compared)


def _page(page: learners.Page, kind: str, title: str, compared: list[str]) -> list[list[object]]:
    """Return a row for each of ours that others are compared with: over the data that it was run on."""
    rows: list[list[object]] = []
    for own in compared:
        leads = []
        for _, group in page.groups[kind]:
            if (best := page.hardest_other(group, own)) is not None:
                behind, error, _ = page.ahead(best, group, own)
                # Another may be ahead by less, and more clearly.
                leads.append((-behind, bool(page.clearly_ahead(group, own)) if behind > 0 else behind < -2 * error))
        told = own.replace("ours, beta 2", "one tree, `beta=2`").replace("ours", "one tree")
        rows.append([title, told, f"the best of {len(page.others)} others", *_counted(leads)])
    return rows


def _counted(leads: list[tuple[float, bool]]) -> list[int]:
    """Count how far ours is ahead and whether clearly: all, ahead, clearly ahead, behind, clearly behind."""
    return [
        len(leads),
        sum(ahead > 0 for ahead, _ in leads),
        sum(ahead > 0 and clear for ahead, clear in leads),
        sum(ahead <= 0 for ahead, _ in leads),
        sum(ahead <= 0 and clear for ahead, clear in leads),
    ]


if __name__ == "__main__":
    print(summary())
