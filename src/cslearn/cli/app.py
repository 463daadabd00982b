"""The commands. What they need is imported when they run, so that ``cslearn --help`` is quick."""

from __future__ import annotations

import json
import re
import sys
import warnings
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from cslearn.cli.progress import tell_if_compiling
from cslearn.errors import ConvergenceWarning, CslearnError, DataWarning, EstimateWarning, InputError

__all__ = ["app", "main"]

app = typer.Typer(
    name="cslearn",
    help="Learn which variables depend on which, and in which contexts the dependence vanishes.",
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


class Stagings(StrEnum):
    """Which stagings there are beyond two context variables."""

    tree = "tree"
    all = "all"


class Search(StrEnum):
    """Searches over orders."""

    auto = "auto"
    exact = "exact"
    mcmc = "mcmc"


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


class Missing(StrEnum):
    """What is done about missing values."""

    error = "error"
    drop = "drop"
    state = "state"
    em = "em"


class Gaps(StrEnum):
    """What is done about rows with missing values when a table is read for a model."""

    error = "error"
    drop = "drop"


DataFile = Annotated[Path, typer.Argument(metavar="DATA", help="A table: .csv, .tsv or .tab (also .gz), or .parquet.")]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model that `cslearn fit` wrote.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of text.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the random numbers.")]
Separator = Annotated[str | None, typer.Option("--sep", help="What separates the columns of a text file.")]
MissingOption = Annotated[
    Missing, typer.Option("--missing", help="Missing values: refuse, drop the rows, a state of their own, or em.")
]
GapsOption = Annotated[
    Gaps | None,
    typer.Option("--missing", help="Rows with missing values: refuse, or leave them out.", show_default="as in fit"),
]
Weights = Annotated[str | None, typer.Option("--weights", metavar="COLUMN", help="The column of row weights.")]
Beta = Annotated[
    str,
    typer.Option(
        "--beta",
        metavar="NUMBER",
        help="Most context variables of a stage; auto: two, and more where the data ask for it.",
    ),
]
SearchOption = Annotated[
    Search, typer.Option("--search", help="Search all orders, or by chains; auto: all if there are few variables.")
]
CandidatesOption = Annotated[Candidates, typer.Option("--candidates", help="Who may be a context variable of whom.")]
Level = Annotated[float, typer.Option("--level", help="Significance level of the tests of pc.")]
FromGraph = Annotated[
    Graph, typer.Option("--from-graph", help="Candidates from the CPDAG or its skeleton (pc, grasp).")
]
Alpha = Annotated[int | None, typer.Option("--alpha", help="Most candidates of a variable.")]
MaxMemory = Annotated[
    float,
    typer.Option(
        "--max-memory", metavar="GB", help="Memory for the tables of scores, beyond which candidates are screened."
    ),
]
KnowledgeFile = Annotated[
    Path | None, typer.Option("--knowledge", metavar="FILE", help="JSON with forbidden, required, tiers.")
]
Iterations = Annotated[
    str, typer.Option("--n-iter", metavar="MOVES", help="Moves of each chain; auto: until the chains agree.")
]
MaxIterations = Annotated[
    int | None,
    typer.Option("--max-iter", help="Most moves of each chain, for auto.", show_default="200,000 / variables"),
]
Chains = Annotated[int, typer.Option("--n-chains", help="Number of chains.")]
LeaveOut = Annotated[
    list[str] | None,
    typer.Option("--leave-out", metavar="COLUMN", help="A column that is no variable; may be repeated."),
]
NaValues = Annotated[
    list[str] | None,
    typer.Option(
        "--na", metavar="CELL", help="A cell that counts as missing; may be repeated.", show_default="?, NA, ..."
    ),
]
MaxStates = Annotated[int, typer.Option("--max-states", help="Most states that a variable may have.")]
Format = Annotated[
    str | None, typer.Option("--format", metavar="FORMAT", help="'benchpress' if the second row has the cardinalities.")
]


def _table(
    data: Path,
    missing: Missing,
    weights: str | None,
    leave_out: list[str] | None,
    na_values: list[str] | None,
    max_states: int,
    sep: str | None,
    table_format: str | None,
) -> Any:
    from cslearn.data import DEFAULT_NA_VALUES, as_table

    table = as_table(
        data,
        # For em they are a state at first, which the learner takes for what it is.
        missing="state" if missing is Missing.em else missing.value,  # type: ignore[arg-type]  # one of those
        sample_weight=weights,
        leave_out=leave_out or (),
        na_values=na_values or DEFAULT_NA_VALUES,
        max_states=max_states,
        sep=sep,
        table_format=table_format,  # type: ignore[arg-type]  # checked there
    )
    if missing is Missing.em and table_format is None:
        from cslearn.data.incomplete import check_missing_label

        check_missing_label(data, table, na_values=na_values or DEFAULT_NA_VALUES, sep=sep)
    return table


def _interventions(
    data: Path,
    column: str,
    missing: Missing,
    weights: str | None,
    leave_out: list[str] | None,
    na_values: list[str] | None,
    sep: str | None,
    table_format: str | None,
) -> Any:
    """Return which variables were set in which rows, by a column that names them."""
    from cslearn.data import DEFAULT_NA_VALUES, as_frame, as_table
    from cslearn.estimators.interventions import read_interventions

    if missing in (Missing.drop, Missing.em):
        raise InputError(f"--interventions cannot be combined with --missing {missing.value}")
    if table_format is None:
        frame = as_frame(data, na_values=na_values or DEFAULT_NA_VALUES, sep=sep)
    else:
        frame = as_table(data, table_format=table_format).to_frame()  # type: ignore[arg-type]  # checked there
    return read_interventions(frame.drop(columns=leave_out or [], errors="ignore"), column, weights)[1]


def _knowledge(path: Path | None) -> Any:
    from cslearn.candidates import Knowledge

    return None if path is None else Knowledge.load(path)


def _bound(text: str) -> Any:
    if text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        raise InputError(f"--beta is a whole number or auto, not {text!r}") from None


def _sample_size(text: str) -> Any:
    try:
        return text if text == "auto" else float(text)
    except ValueError:
        raise InputError(f"--ess is a positive number or auto, not {text!r}") from None


def _bytes(gigabytes: float) -> float:
    if not gigabytes > 0:
        raise InputError(f"--max-memory is a positive number of GB, not {gigabytes:g}")
    return gigabytes * 2**30


def _moves(text: str) -> Any:
    if text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        raise InputError(f"--n-iter is a whole number or auto, not {text!r}") from None


@app.command()
def demo(json_output: Json = False, seed: Seed = 0) -> None:
    """Learn a built-in example: no file and no network needed."""
    from cslearn.cli.text import fit_document, print_demo
    from cslearn.datasets import chickenpox_model
    from cslearn.estimators import CStreeLearner

    truth = chickenpox_model()
    data = truth.sample(5000, random_state=seed)
    # What comes first in a child's life cannot depend on what comes later.
    learner = CStreeLearner(knowledge={"tiers": [[v] for v in truth.order]}, n_iter=1000, random_state=seed).fit(data)
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
    beta: Beta = "2",
    stagings: Annotated[
        Stagings,
        typer.Option("--stagings", help="Beyond two context variables: those that a decision tree draws, or all."),
    ] = Stagings.tree,
    candidates: CandidatesOption = Candidates.auto,
    alpha: Alpha = None,
    level: Level = 0.05,
    from_graph: FromGraph = Graph.cpdag,
    max_memory: MaxMemory = 2.0,
    prior: Annotated[PriorName, typer.Option("--prior", help="Prior over stagings.")] = PriorName.adaptive,
    ess: Annotated[str, typer.Option("--ess", help="Equivalent sample size, or auto: the data choose.")] = "auto",
    estimate: Annotated[
        Estimate,
        typer.Option("--estimate", help="The model of the best order met, or one in the middle of the drawn ones."),
    ] = Estimate.auto,
    parameters: Annotated[Parameters, typer.Option("--parameters", help="How parameters are estimated.")] = (
        Parameters.averaged
    ),
    search: SearchOption = Search.auto,
    n_iter: Iterations = "auto",
    max_iter: MaxIterations = None,
    n_chains: Chains = 4,
    knowledge: KnowledgeFile = None,
    missing: MissingOption = Missing.error,
    weights: Weights = None,
    interventions: Annotated[
        str | None,
        typer.Option("--interventions", metavar="COLUMN", help="The column that names the variable set in each row."),
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
        typer.Option("--checkpoint", metavar="FILE", help="Keep the search here each minute, and go on from it."),
    ] = None,
    posterior: Annotated[
        Path | None, typer.Option("--posterior", metavar="FILE", help="Where to keep the sampled orders (.npz).")
    ] = None,
    json_output: Json = False,
) -> None:
    """Learn a CStree from a table and write it to a file."""
    from cslearn.cli.progress import fit_progress
    from cslearn.cli.text import fit_document, print_fit
    from cslearn.estimators import CStreeLearner

    mask = None
    if interventions is not None:
        mask = _interventions(data, interventions, missing, weights, leave_out, na_values, sep, table_format)
        leave_out = [*(leave_out or ()), interventions]
    table = _table(data, missing, weights, leave_out, na_values, max_states, sep, table_format)
    if output is None:
        output = Path("model.json")
        if output.exists():
            raise InputError("there is a model.json here already: name the file to write with -o")
    for file in (output, checkpoint, posterior):
        if file is not None and (not file.parent.is_dir() or file.is_dir()):
            raise InputError(f"cannot write {file}: give the name of a file in a directory that is there")
    with fit_progress() as callback:
        learner = CStreeLearner(
            beta=_bound(beta),
            stagings=stagings.value,
            candidates=candidates.value,
            alpha=alpha,
            level=level,
            from_graph=from_graph.value,
            max_memory=_bytes(max_memory),
            prior=prior.value,
            ess=_sample_size(ess),
            estimate=estimate.value,
            parameters=parameters.value,
            search=search.value,
            n_iter=_moves(n_iter),
            max_iter=max_iter,
            n_chains=n_chains,
            knowledge=_knowledge(knowledge),
            missing=missing.value,
            random_state=seed,
            n_jobs=jobs,
            checkpoint=checkpoint,
            callback=callback,
        ).fit(table, interventions=mask)
    learner.cstree_.save(output)
    if posterior is not None:
        learner.posterior_.save(posterior)
    if json_output:
        print(json.dumps({"model": str(output), **fit_document(learner)}))
    else:
        print_fit(learner, table, output)


@app.command()
def show(
    model: ModelFile,
    data: Annotated[
        Path | None, typer.Argument(metavar="DATA", help="A table, for the evidence for the relations of --csi.")
    ] = None,
    csi: Annotated[bool, typer.Option("--csi", help="Show the CSI relations alone, as a table.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="With --csi: as CSV.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="With --csi: as a LaTeX tabular.")] = False,
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
    """Show a model: its order, parents, stages, probabilities and CSI relations."""
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

            table, _ = read_for_model(tree, data, missing, weights, na_values, sep, table_format)
        form = "csv" if csv else "latex" if latex else "json" if json_output else "text"
        _show_relations(tree, table, ess, form)
    elif json_output:
        print(json.dumps(model_document(tree)))
    else:
        print_model(tree)


def _show_relations(tree: Any, data: Any, ess: float | None, form: str) -> None:
    from cslearn.cli.text import print_relations, relation_documents
    from cslearn.graphs import RelationTable

    if data is None:
        table = RelationTable(tree.csi_relations())
    else:
        from cslearn.estimators import relation_table

        table = relation_table(tree, data, ess=ess)
    if form == "csv":
        sys.stdout.write(table.to_csv())
    elif form == "latex":
        print(table.to_latex())
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
    from cslearn._files import atomic_write

    text = CStree.load(model).sample(n, random_state=seed).to_csv(index=False)
    if output is None:
        sys.stdout.write(text)
    else:
        atomic_write(output, text)


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
    """Score rows: their mean log-probability under a model."""
    import numpy as np

    from cslearn import CStree
    from cslearn._files import atomic_write
    from cslearn.cli.tables import read_for_model
    from cslearn.cli.text import print_score

    tree = CStree.load(model)
    table, used = read_for_model(tree, data, missing, weights, na_values, sep, table_format)
    logs = tree.log_prob(table)
    if output is not None:
        # Rows that were left out have a line too, so that line and row go together. Alone in its line, an empty cell
        # must be quoted: otherwise readers skip it.
        cells = np.full(len(used), '""', dtype=object)
        cells[used] = [repr(value) for value in logs.tolist()]
        atomic_write(output, "log_prob\n" + "".join(f"{cell}\n" for cell in cells))
    row_weights = np.ones(table.n) if table.weights is None else table.weights
    impossible = np.isneginf(logs) & (row_weights > 0)
    total = None if impossible.any() else float(row_weights @ np.where(row_weights > 0, logs, 0.0))
    document = {
        "rows": table.n,
        "rows_left_out": len(used) - table.n,
        "weight": table.total_weight,
        "mean_log_prob": None if total is None or not table.n else total / table.total_weight,
        "total_log_prob": total,
        "impossible_rows": int(impossible.sum()),
        "bic": tree.bic(table),
    }
    if json_output:
        print(json.dumps(document))
    else:
        print_score(document, int(np.flatnonzero(used)[impossible][0]) + 1 if impossible.any() else None)


@app.command()
def estimate(
    data: DataFile,
    beta: Beta = "2",
    candidates: CandidatesOption = Candidates.auto,
    alpha: Alpha = None,
    max_memory: MaxMemory = 2.0,
    search: SearchOption = Search.auto,
    n_iter: Iterations = "auto",
    max_iter: MaxIterations = None,
    n_chains: Chains = 4,
    knowledge: KnowledgeFile = None,
    missing: MissingOption = Missing.error,
    weights: Weights = None,
    leave_out: LeaveOut = None,
    na_values: NaValues = None,
    max_states: MaxStates = 64,
    sep: Separator = None,
    table_format: Format = None,
    json_output: Json = False,
) -> None:
    """Tell the time and memory that `cslearn fit` will take, before it runs."""
    from cslearn.cli.text import print_estimate
    from cslearn.estimators.cost import estimate_cost

    cost = estimate_cost(
        _table(data, missing, weights, leave_out, na_values, max_states, sep, table_format),
        beta=_bound(beta),
        search=search.value,
        candidates=candidates.value,
        alpha=alpha,
        max_memory=_bytes(max_memory),
        n_iter=_moves(n_iter),
        max_iter=max_iter,
        n_chains=n_chains,
        knowledge=_knowledge(knowledge),
    )
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
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


# How the options of Python functions, which errors name, are called here.
OPTIONS = {
    r'missing="?(drop|state|em)"?': r"--missing \1",
    r"interventions='([^']*)'": r"--interventions \1",
    r"method='sampling'": "--sampling",
    r"sep=('[^']*'|\S+)": r"--sep \1",
    r"max_states=(\d+)": r"--max-states \1",
    r"with cslearn\.data\.discretize\b": "(cslearn discretize)",
    r"\bna_values=": "--na",
    r"Name (it|them) in columns= if": r"Name \1 by --column if",
    r"\bmax_iter\b": "--max-iter",
    r"\bn_iter \(or 'auto'\)": "--n-iter (or auto)",
    r"\bn_chains\b": "--n-chains",
    r"\bmax_memory\b": "--max-memory",
    r"\bcheckpoint= out\b": "--checkpoint out",
    r"more chains \(--n-chains\), or several temperatures \(n_temperatures=4\)": "or more chains (--n-chains)",
    r"without a checkpoint": "without --checkpoint",
    r"\bsearch='(\w+)'": r"--search \1",
    r"\bleave_out=": "--leave-out",
    r"\bsample_weight=": "--weights",
    r'table_format must be None or "benchpress"': '--format must be "benchpress"',
    r",? or the states of all variables by states=": "",
    r" If each number is a state of its own, say so by states= or by a pandas Categorical\.": "",
    r" If it is meant as a variable, give its states by states= or by a pandas Categorical\.": "",
    r"Correct the cell, or add the state to states=": "Correct the cell, or learn a model from data with that state",
    r"variables= names (.*), which the data do not have\.": r"The model has \1, which the data do not have.",
    r": estimate them with (tree\.)?fit_parameters\(data\)": ": `cslearn fit` writes models that have them",
}
# What is said in place of options that not all commands have, for those that do not.
GAPS = (r"(?s)Pass --missing drop .*?(?= Which cells|$)", r"Add it to states=, or pass --missing drop\.")
WITHOUT_GAPS = "{} those rows out, or fill them in with `cslearn impute`."
LACKING = {
    "--missing": [(text, WITHOUT_GAPS.format("Leave")) for text in GAPS],
    # Commands that learn have it. The others know no more than to drop.
    "--max-states": [(text, WITHOUT_GAPS.format("Pass --missing drop to leave")) for text in GAPS],
    "--from": [(r" \(--from on the command line\)", "; `cslearn convert --from` carries it to one that is")],
}


def _as_option(message: str, command: str = "") -> str:
    """Return an error message with the options of the command line in place of those of Python."""
    for python, option in OPTIONS.items():
        message = re.sub(python, option, message)
    commands: Any = typer.main.get_command(app)
    known = [name for c in [commands.commands.get(command)] if c for p in c.params for name in p.opts]
    for option, texts in LACKING.items():
        for python, text in texts if known and option not in known else ():
            message = re.sub(python, text, message)
    return message


def _command() -> str:
    return next((word for word in sys.argv[1:] if not word.startswith("-")), "")


def _show_note(message: Warning | str, category: type[Warning], *args: Any, **kwargs: Any) -> None:
    """Print a warning as a note, without the line of code that it came from."""
    print(f"note: {_as_option(str(message), _command())}", file=sys.stderr)


def main() -> None:
    """Run the command line. Exit code 0: done; 2: bad input or usage; 130: interrupted."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", DataWarning)
            warnings.simplefilter("always", ConvergenceWarning)
            warnings.simplefilter("always", EstimateWarning)
            warnings.showwarning = _show_note
            tell_if_compiling()
            app()
    except CslearnError as error:
        print(f"error: {_as_option(str(error), _command())}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("interrupted: nothing was written", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output has gone away; say nothing on the way out either.
        sys.stderr.close()
        sys.exit(0)
