"""The commands. What they need is imported when they run, so that ``cslearn --help`` is quick."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from csv import reader
from enum import StrEnum
from functools import partial
from inspect import unwrap
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

from cslearn._wording import Option, option, spoken_by
from cslearn.cli.paths import check_outputs, write_output
from cslearn.cli.progress import tell_if_compiling
from cslearn.cli.streams import end_output, keeping_output, note, prepare_streams
from cslearn.errors import ConvergenceWarning, CslearnError, DataWarning, EstimateWarning, InputError

__all__ = ["app", "main"]

app = typer.Typer(
    name="cslearn",
    help="Learn which variables depend on which, and in which contexts a dependence vanishes.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Candidates(StrEnum):
    """Ways to select candidate context variables."""

    auto = "auto"
    all = "all"
    screen = "screen"
    pc = "pc"
    grasp = "grasp"


class Graph(StrEnum):
    """Which graph of phase 1 gives the candidates."""

    cpdag = "cpdag"
    skeleton = "skeleton"


class PriorName(StrEnum):
    """Priors over stagings."""

    adaptive = "adaptive"
    tree = "tree"
    sparse = "sparse"
    uniform = "uniform"


class Search(StrEnum):
    """Searches over orders."""

    auto = "auto"
    exact = "exact"
    mcmc = "mcmc"
    greedy = "greedy"


class Estimate(StrEnum):
    """Orders that a learned model may have."""

    auto = "auto"
    best = "best"
    central = "central"


class Parameters(StrEnum):
    """Estimates of parameters."""

    averaged = "averaged"
    mean = "mean"
    map = "map"
    mle = "mle"


class Gaps(StrEnum):
    """What is done about rows with missing values when a table is read for a model."""

    error = "error"
    drop = "drop"
    em = "em"


DataFile = Annotated[
    Path, typer.Argument(metavar="DATA", help="A table: .csv, .tsv (also .gz), .parquet, .cspack, .xlsx, .dta or .sav.")
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model that `cslearn fit` wrote.")]
Json = Annotated[bool, typer.Option("--json", metavar="", help="Print JSON instead of text.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the random numbers.")]
Separator = Annotated[str | None, typer.Option("--sep", help="Column separator of a text file.")]
MissingOption = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        metavar="[COLUMN=]HOW",
        help="What to do about missing cells: error (refuse them), drop (leave out incomplete rows), state (make"
        " 'missing' a state) or em (average over their possible values). COLUMN=state does so for"
        " one column. May be repeated.",
        show_default="error",
    ),
]
GapsOption = Annotated[
    Gaps | None,
    typer.Option(
        "--missing",
        help="What to do about incomplete rows: refuse them, leave them out, or average over the missing cells.",
        show_default="as in fit",
    ),
]
Weights = Annotated[str | None, typer.Option("--weights", metavar="COLUMN", help="A column of row weights.")]
Beta = Annotated[
    str,
    typer.Option(
        "--beta",
        metavar="NUMBER",
        help="Largest number of variables in a context; auto: as many as the data support; 2: as in the paper.",
    ),
]
SearchOption = Annotated[
    Search,
    typer.Option(
        "--search",
        help="Score all orders (exact), sample them (mcmc), or stop at the first good one (greedy); auto: exact with"
        " few variables, greedy with more than 250, mcmc otherwise.",
    ),
]
CandidatesOption = Annotated[
    Candidates, typer.Option("--candidates", help="Which other variables may occur in the contexts of a variable.")
]
Level = Annotated[
    float | None, typer.Option("--level", help="With pc: significance level of its tests.", show_default="0.05")
]
FromGraph = Annotated[
    Graph | None,
    typer.Option(
        "--from-graph",
        help="With pc or grasp: take candidates from the CPDAG or from its skeleton.",
        show_default="cpdag",
    ),
]
Alpha = Annotated[int | None, typer.Option("--alpha", help="Largest number of candidates per variable.")]
MaxMemory = Annotated[
    float,
    typer.Option(
        "--max-memory", metavar="GB", help="Memory for tables of scores; if it is too little, candidates are screened."
    ),
]
KnowledgeFile = Annotated[
    Path | None,
    typer.Option(
        "--knowledge", metavar="FILE", help="JSON file of background knowledge: forbidden and required edges, tiers."
    ),
]
Iterations = Annotated[
    str | None,
    typer.Option(
        "--n-iter", metavar="MOVES", help="Moves per chain; auto: until the chains agree.", show_default="auto"
    ),
]
MaxIterations = Annotated[
    int | None,
    typer.Option(
        "--max-iter",
        help="Largest number of moves per chain if --n-iter is auto.",
        show_default="as many as take some seconds",
    ),
]
NumberOfChains = Annotated[
    int | None, typer.Option("--n-chains", help="Number of chains.", show_default="2, or 4 with other search options")
]
LeaveOut = Annotated[
    list[str] | None,
    typer.Option("--leave-out", metavar="COLUMNS", help="Columns to leave out, such as a,b; may be repeated."),
]
NaValues = Annotated[
    list[str] | None,
    typer.Option(
        "--na", metavar="TEXT", help="Text that marks a missing cell; may be repeated.", show_default="?, NA, ..."
    ),
]
MaxStates = Annotated[
    int,
    typer.Option("--max-states", help="Largest number of states of a variable; by default 20 for a column of numbers."),
]
Format = Annotated[
    str | None,
    typer.Option("--format", metavar="FORMAT", help="'benchpress' if the second row holds the numbers of states."),
]


def _table(
    data: Path,
    missing: Any,
    weights: str | None,
    leave_out: list[str] | None,
    na_values: list[str] | None,
    max_states: int,
    sep: str | None,
    table_format: str | None,
) -> Any:
    from cslearn.data import DEFAULT_NA_VALUES, as_table
    from cslearn.data._gaps import gaps_of

    policy, own = gaps_of(missing)
    table = as_table(
        data,
        # For em they are a state at first, which the learner takes for what it is.
        missing="state" if policy == "em" else missing,
        sample_weight=weights,
        leave_out=leave_out or (),
        na_values=na_values or DEFAULT_NA_VALUES,
        max_states=max_states,
        sep=sep,
        table_format=table_format,  # type: ignore[arg-type]  # checked there
    )
    if policy == "em" and table_format is None:
        from cslearn.data.incomplete import check_missing_label

        check_missing_label(data, table, na_values=na_values or DEFAULT_NA_VALUES, sep=sep, but_for=own)
    return table


def _packing(
    missing: Any,
    weights: str | None,
    leave_out: list[str] | None,
    na_values: list[str] | None,
    max_states: int,
    sep: str | None,
) -> dict[str, Any] | None:
    """Return the same options for packing a table; None where rows with gaps have to be looked at."""
    from cslearn.data import DEFAULT_NA_VALUES

    if missing == "em" or not isinstance(missing, str):
        return None
    return {
        "missing": missing,
        "sample_weight": weights,
        "leave_out": leave_out or (),
        "na_values": na_values or DEFAULT_NA_VALUES,
        "max_states": max_states,
        "sep": sep,
    }


def _interventions(
    data: Path,
    column: str,
    missing: Any,
    weights: str | None,
    leave_out: list[str] | None,
    na_values: list[str] | None,
    sep: str | None,
    table_format: str | None,
) -> Any:
    """Return which variables were set in which rows, by a column that names them."""
    from cslearn.data import DEFAULT_NA_VALUES, as_frame, as_table
    from cslearn.data._gaps import gaps_of
    from cslearn.estimators.interventions import read_interventions

    policy = gaps_of(missing)[0]
    if policy in ("drop", "em"):
        raise InputError(f"--interventions cannot be combined with --missing {policy}")
    if table_format is None:
        frame = as_frame(data, na_values=na_values or DEFAULT_NA_VALUES, sep=sep)
    else:
        frame = as_table(data, table_format=table_format).to_frame()  # type: ignore[arg-type]  # checked there
    return read_interventions(frame.drop(columns=leave_out or [], errors="ignore"), column, weights)[1]


def _knowledge(path: Path | None, weights: str | None, leave_out: list[str] | None) -> Any:
    """Return what is known; it may name columns that are no variables of this fit."""
    from cslearn.candidates import Knowledge

    gone = [*(leave_out or ()), *([] if weights is None else [weights])]
    return None if path is None else Knowledge.load(path).without(gone)


def columns_of(texts: list[str] | None) -> list[str] | None:
    """Return the names in options of which each may list several, as a line of CSV does."""
    return None if texts is None else [name for row in reader(texts) for name in row]


def _note_rare_states(table: Any) -> None:
    """Say which columns have so many states that the rows hardly tell them apart."""
    from cslearn.data import rare_states
    from cslearn.data.table import ROWS_PER_STATE

    found = rare_states(table)
    if found:
        shown = ", ".join(f"{name!r} ({states} states)" for name, states in list(found.items())[:5])
        more = f" and {len(found) - 5} more columns" if len(found) > 5 else ""
        note(
            f"fewer than {ROWS_PER_STATE} rows for each state of {shown}{more}, in {table.n:,} rows. Group the states,"
            " or leave out (--leave-out) what is no category; what is found about them is uncertain."
        )


def _number(text: str, kind: type[int] | type[float] = int) -> Any:
    """Return a number; what is none, such as auto, as it is: Python says whether it is allowed."""
    try:
        return kind(text)
    except ValueError:
        return text


def _bytes(gigabytes: float) -> float:
    if not gigabytes > 0:
        raise InputError(
            f"{option('max_memory')} is a positive number of GB, not {gigabytes:g}", parameter="max_memory"
        )
    return gigabytes * 2**30


def _search(search: Search, n_iter: str | None, checkpoint: Path | None = None, **others: int | None) -> Any:
    """Return the search: chains if there is an option for them."""
    from cslearn import Chains

    given: dict[str, Any] = {"n_iter": n_iter, "checkpoint": checkpoint, **others}
    given = {name: value for name, value in given.items() if value not in (None, "auto")}
    if not given:
        return search.value
    if search in (Search.exact, Search.greedy):
        raise InputError(
            f"{option(next(iter(given)))} is for chains, and {option('search', search.value)} runs none: leave it out,"
            f" or give {option('search', 'mcmc')}"
        )
    if "n_iter" in given:
        given["n_iter"] = _number(given["n_iter"])
    return Chains(**given)


def _selection(
    candidates: Candidates, alpha: int | None, level: float | None = None, graph: Graph | None = None
) -> Any:
    """Return the way to select candidates."""
    from cslearn.estimators.settings import SELECTIONS

    given = {"alpha": alpha, "level": level, "graph": None if graph is None else graph.value}
    given = {name: value for name, value in given.items() if value is not None}
    way = SELECTIONS[candidates.value]()
    for name in given:
        if name not in way.get_params():
            able = [method for method, other in SELECTIONS.items() if name in other().get_params()]
            raise InputError(f"{option(name)} is for {option('candidates', ' or '.join(able))}: leave it out")
    return way.changed(**given)


@app.command()
def demo(json_output: Json = False, seed: Seed = 0) -> None:
    """Learn a built-in example: no file and no network needed."""
    from cslearn.cli.text import fit_document, print_demo
    from cslearn.datasets import chickenpox_model
    from cslearn.estimators import Chains
    from cslearn.estimators.learner import Learner

    truth = chickenpox_model()
    data = truth.sample(10_000, random_state=seed)
    # What comes first in a child's life cannot depend on what comes later.
    first_comes = {"tiers": [[v] for v in truth.order]}
    learner = Learner(knowledge=first_comes, search=Chains(n_iter=1000), random_state=seed).fit(data)
    if json_output:
        print(json.dumps(fit_document(learner)))
    else:
        print_demo(learner, truth, data)


@app.command()
def fit(
    data: DataFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="MODEL", help="Where to write the model.", show_default="model.json"),
    ] = None,
    beta: Beta = "auto",
    candidates: CandidatesOption = Candidates.auto,
    alpha: Alpha = None,
    level: Level = None,
    graph: FromGraph = None,
    max_memory: MaxMemory = 2.0,
    prior: Annotated[PriorName, typer.Option("--prior", help="Prior over stagings.")] = PriorName.adaptive,
    ess: Annotated[str, typer.Option("--ess", help="Equivalent sample size; auto: chosen by the data.")] = "auto",
    estimate: Annotated[
        Estimate,
        typer.Option(
            "--estimate", help="Report the model of the best order found, or of a central one among those sampled."
        ),
    ] = Estimate.auto,
    parameters: Annotated[Parameters, typer.Option("--parameters", help="How parameters are estimated.")] = (
        Parameters.averaged
    ),
    search: SearchOption = Search.auto,
    n_iter: Iterations = None,
    max_iter: MaxIterations = None,
    n_chains: NumberOfChains = None,
    knowledge: KnowledgeFile = None,
    missing: MissingOption = None,
    weights: Weights = None,
    interventions: Annotated[
        str | None,
        typer.Option(
            "--interventions",
            metavar="COLUMN",
            help="A column that names the variable set by intervention in each row.",
        ),
    ] = None,
    leave_out: LeaveOut = None,
    na_values: NaValues = None,
    max_states: MaxStates = 64,
    sep: Separator = None,
    table_format: Format = None,
    seed: Seed = 0,
    jobs: Annotated[int | None, typer.Option("--jobs", help="Threads.", show_default="all cores")] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", metavar="FILE", help="Save the search here every minute, and resume from it."),
    ] = None,
    posterior: Annotated[
        Path | None, typer.Option("--posterior", metavar="FILE", help="Where to save the sampled orders (.npz).")
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", metavar="", help="Also print the prior and the scores.")
    ] = False,
    json_output: Json = False,
) -> None:
    """Learn a CStree from a table and write it to a file."""
    from cslearn.cli.large import fit_table
    from cslearn.cli.progress import fit_progress
    from cslearn.cli.tables import read_gaps, with_file
    from cslearn.cli.text import fit_document, print_fit
    from cslearn.estimators.learner import Learner

    mask = None
    leave_out, gaps = columns_of(leave_out), read_gaps(missing)
    if interventions is not None:
        mask = _interventions(data, interventions, gaps, weights, leave_out, na_values, sep, table_format)
        leave_out = [*(leave_out or ()), interventions]
    if output is None:
        output = Path("model.json")
        if os.path.exists(output):
            raise InputError("there is a model.json here already: name the file to write with -o")
    check_outputs({"-o": output, "--checkpoint": checkpoint, "--posterior": posterior}, [data, knowledge])
    packing = _packing(gaps, weights, leave_out, na_values, max_states, sep)
    read = partial(_table, data, gaps, weights, leave_out, na_values, max_states, sep, table_format)
    with fit_table(data, read, packing if mask is None and table_format is None else None) as table:
        _note_rare_states(table)
        with fit_progress() as callback:
            learner = Learner(
                beta=_number(beta),
                candidates=_selection(candidates, alpha, level, graph),
                max_memory=_bytes(max_memory),
                prior=prior.value,
                ess=_number(ess, float),
                estimate=estimate.value,
                parameters=parameters.value,
                search=_search(search, n_iter, checkpoint, max_iter=max_iter, n_chains=n_chains),
                knowledge=_knowledge(knowledge, weights, leave_out),
                missing=gaps,  # type: ignore[arg-type]  # read_gaps has checked it
                random_state=seed,
                n_jobs=jobs,
                callback=callback,
            ).fit(table, interventions=mask)
        with_file(learner.cstree_, data).save(output)
        if posterior is not None:
            learner.posterior_.save(posterior)
        if json_output:
            print(json.dumps({"model": str(output), **fit_document(learner)}))
        else:
            print_fit(learner, table, output, verbose)


@app.command()
def show(
    model: ModelFile,
    data: Annotated[
        Path | None, typer.Argument(metavar="DATA", help="A table, to compute the evidence shown by --csi.")
    ] = None,
    variable: Annotated[
        str | None, typer.Option("--variable", metavar="NAME", help="Show only the stages of this variable.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", metavar="", help="Show all stages and all relations, however many there are.")
    ] = False,
    csi: Annotated[
        bool, typer.Option("--csi", metavar="", help="Show only the context-specific relations, as a table.")
    ] = False,
    csv: Annotated[bool, typer.Option("--csv", metavar="", help="With --csi: as CSV.")] = False,
    latex: Annotated[bool, typer.Option("--latex", metavar="", help="With --csi: as a LaTeX tabular.")] = False,
    ess: Annotated[
        float | None,
        typer.Option("--ess", help="With DATA: equivalent sample size.", show_default="that of the fit, or 5"),
    ] = None,
    missing: GapsOption = None,
    weights: Weights = None,
    na_values: NaValues = None,
    sep: Separator = None,
    table_format: Format = None,
    json_output: Json = False,
) -> None:
    """Show a model: its order, parents, stages, probabilities and context-specific relations."""
    from cslearn import CStree
    from cslearn.cli.text import model_document, print_model

    if not csi and (csv or latex or data is not None):
        raise InputError("a table of data, --csv and --latex go with --csi, which shows the CSI relations as a table")
    if csv + latex + json_output > 1:
        raise InputError("--csv, --latex and --json exclude each other: choose one")
    tree = CStree.load(model)
    if csi:
        table = None
        if data is not None:
            from cslearn.cli.tables import read_for_model

            table = read_for_model(tree, data, missing, weights, na_values, sep, table_format)
        form = "csv" if csv else "latex" if latex else "json" if json_output else "text"
        _show_relations(tree, table, ess, form)
    elif json_output:
        print(json.dumps(model_document(tree)))
    else:
        if variable is not None and variable not in tree.states:
            raise InputError(f"--variable {variable}: the model has no such variable; it has {', '.join(tree.order)}")
        print_model(tree, variable, everything)


def _show_relations(tree: Any, data: Any, ess: float | None, form: str) -> None:
    from cslearn.cli.text import print_relations, relation_documents

    if data is None:
        table = tree.relation_table()
    else:
        from cslearn.estimators import relation_table

        table = relation_table(tree, data, ess=ess)
    if form == "csv":
        write_output(table.to_csv(), None)
    elif form == "latex":
        write_output(table.to_latex() + "\n", None)
    elif form == "json":
        print(json.dumps(relation_documents(table)))
    else:
        print_relations(table)


@app.command()
def sample(
    model: ModelFile,
    n: Annotated[int, typer.Option("--n", "-n", help="How many rows to draw.")] = 1000,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="CSV file.", show_default="the terminal")
    ] = None,
    seed: Seed = 0,
) -> None:
    """Draw rows from a model, as CSV."""
    from cslearn import CStree

    check_outputs({"-o": output}, [model])
    write_output(CStree.load(model).sample(n, random_state=seed).to_csv(index=False), output)


@app.command()
def score(
    model: ModelFile,
    data: DataFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="CSV file for the log-probability of each row."),
    ] = None,
    missing: GapsOption = None,
    weights: Weights = None,
    na_values: NaValues = None,
    sep: Separator = None,
    table_format: Format = None,
    json_output: Json = False,
) -> None:
    """Compute how probable rows are under a model, on average and in total."""
    import numpy as np

    from cslearn import CStree
    from cslearn.cli.batches import few_notes, row_writer
    from cslearn.cli.tables import reading, score_rows
    from cslearn.cli.text import print_score
    from cslearn.data import DEFAULT_NA_VALUES
    from cslearn.data.batching import iter_sources
    from cslearn.inference.completed import policy_for

    check_outputs({"-o": output}, [model, data])
    tree = CStree.load(model)
    policy = policy_for(tree, None if missing is None else missing.value)
    total, weight, rows, read, impossible, first = 0.0, 0.0, 0, 0, 0, None
    counts: dict[str, Any] | None = {}
    options = reading(weights, na_values, sep, table_format)
    wanted = [*tree.variables, *([weights] if weights else [])]
    markers = na_values or DEFAULT_NA_VALUES
    batches = [data] if table_format else iter_sources(data, wanted, tree.states, markers, sep)
    with row_writer(output, False) if output is not None else nullcontext() as writer, few_notes():
        for batch in batches:
            logs, used, row_weights, counted = score_rows(tree, batch, policy, **options)
            if writer is not None:
                # Rows that were left out have a line too, so that line and row go together. Alone in its line, an empty
                # cell must be quoted: otherwise readers skip it.
                cells = np.full(len(used), '""', dtype=object)
                cells[used] = [repr(value) for value in logs.tolist()]
                writer.text(("" if read else "log_prob\n") + "".join(f"{cell}\n" for cell in cells))
            lost = np.isneginf(logs) & (row_weights > 0)
            if lost.any() and first is None:
                first = read + int(np.flatnonzero(used)[lost][0]) + 1
            total += float(row_weights @ np.where((row_weights > 0) & ~lost, logs, 0.0))
            weight, rows, read = weight + float(row_weights.sum()), rows + len(logs), read + len(used)
            impossible += int(lost.sum())
            if counts is None or counted is None:
                counts = None
            else:
                counts = {v: counts.get(v, 0) + cells for v, cells in counted.items()}
    if rows < read:
        note(f"{read - rows:,} of {read:,} rows have missing cells and are left out.")
    elif counts is None:
        note("Missing cells are summed out: a row has the probability of what is known of it.")
    document = {
        "rows": rows,
        "rows_left_out": read - rows,
        "weight": weight,
        "mean_log_prob": None if impossible or not rows else total / weight,
        "total_log_prob": None if impossible else total,
        "impossible_rows": impossible,
        "bic": None if counts is None else tree.bic_of_counts(counts),
    }
    if json_output:
        print(json.dumps(document))
    else:
        print_score(document, first)


@app.command()
def estimate(
    data: DataFile,
    beta: Beta = "auto",
    candidates: CandidatesOption = Candidates.auto,
    alpha: Alpha = None,
    max_memory: MaxMemory = 2.0,
    search: SearchOption = Search.auto,
    n_iter: Iterations = None,
    max_iter: MaxIterations = None,
    n_chains: NumberOfChains = None,
    knowledge: KnowledgeFile = None,
    missing: MissingOption = None,
    weights: Weights = None,
    leave_out: LeaveOut = None,
    na_values: NaValues = None,
    max_states: MaxStates = 64,
    sep: Separator = None,
    table_format: Format = None,
    json_output: Json = False,
) -> None:
    """Estimate the time and memory that `cslearn fit` will take."""
    from cslearn.cli.tables import read_gaps
    from cslearn.cli.text import print_estimate
    from cslearn.data._gaps import gaps_of
    from cslearn.estimators.cost import estimate_cost, estimate_cost_with_gaps

    policy, own = gaps_of(read_gaps(missing))
    table = _table(data, read_gaps(missing), weights, columns_of(leave_out), na_values, max_states, sep, table_format)
    options: dict[str, Any] = {
        "beta": _number(beta),
        "search": _search(search, n_iter, max_iter=max_iter, n_chains=n_chains),
        "candidates": _selection(candidates, alpha),
        "max_memory": _bytes(max_memory),
        "knowledge": _knowledge(knowledge, weights, columns_of(leave_out)),
    }
    cost = estimate_cost_with_gaps(table, own, **options) if policy == "em" else estimate_cost(table, **options)
    if json_output:
        print(json.dumps(cost.document()))
    else:
        print_estimate(cost)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"cslearn {version('cslearn')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", metavar="", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


# Python's names of parameters that have shorter ones here.
PARAMETERS = {
    "weights": "sample_weight",
    "seed": "random_state",
    "jobs": "n_jobs",
    "sampling": "method",
    "column": "columns",
    "cuts": "discretizer",
}


def _options_of(command: Any) -> dict[str, Option]:
    """Return the options of a command, by the parameters that messages name."""
    if command is None:
        return {}
    types, found = get_type_hints(unwrap(command.callback)), {}
    for parameter in command.params:
        if parameter.opts[0].startswith("-") and parameter.name in types:
            kind = types[parameter.name]
            choices = [c for c in (kind, *get_args(kind)) if isinstance(c, type) and issubclass(c, StrEnum)]
            found[PARAMETERS.get(parameter.name, parameter.name)] = Option(
                max(parameter.opts, key=len), tuple(choices[0]) if choices else None, is_flag=kind is bool
            )
    return found


def _command() -> str:
    return next((word for word in sys.argv[1:] if not word.startswith("-")), "")


def _notes() -> Callable[..., None]:
    """Return what prints a warning as a note: once, and without the line of code that it came from."""
    told: set[str] = set()

    def show(message: Warning | str, *args: Any, **kwargs: Any) -> None:
        if str(message) not in told:
            told.add(str(message))
            note(str(message))

    return show


def main() -> None:
    """Run the command line. Exit code 0: done; 1: no room for the output; 2: bad input or usage; 130: interrupted."""
    prepare_streams()
    sys.exit(_run())


def _run() -> Any:
    """Run a command to the end of its output; return its exit code."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", DataWarning)
            warnings.simplefilter("always", ConvergenceWarning)
            warnings.simplefilter("always", EstimateWarning)
            warnings.showwarning = _notes()
            tell_if_compiling()
            commands: Any = typer.main.get_command(app)
            try:
                with spoken_by(_options_of(commands.commands.get(_command()))), keeping_output():
                    commands()
                code: Any = 0
            except SystemExit as stop:
                code = stop.code
                if code == 130:  # Typer ends a command so, without a word
                    note("no file is half written", "interrupted")
        sys.stdout.flush()
        return code
    except CslearnError as error:
        note(str(error), "error")
        return 2
    except BrokenPipeError:
        end_output()  # the reader of our output has gone away
        return 0
    except OSError as error:
        end_output()
        where = "standard output" if error.filename is None else str(error.filename)
        note(f"{where}: {error.strerror or error}", "error")
        return 1 if error.filename is None else 2
    except MemoryError as error:
        note(f"there is not enough memory{f': {error}' if str(error) else ''}", "error")
        return 2
