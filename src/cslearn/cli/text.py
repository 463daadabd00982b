"""What the commands print: for people as text, for machines as JSON documents."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table as TextTable

from cslearn._files import is_standard_output
from cslearn._wording import duration
from cslearn.cli.streams import plain

if TYPE_CHECKING:
    import pandas as pd

    from cslearn import CStree
    from cslearn.data import TableLike
    from cslearn.estimators.cost import Cost
    from cslearn.estimators.learner import Learner
    from cslearn.graphs import RelationTable
    from cslearn.priors import Prior

__all__ = [
    "fit_document",
    "model_document",
    "print_adjustment",
    "print_blanket",
    "print_confusion",
    "print_demo",
    "print_edges",
    "print_estimate",
    "print_fit",
    "print_model",
    "print_relations",
    "print_score",
    "relation_documents",
]

SHOWN_RELATIONS = 10
# Edges that are less probable have their probability beside them.
SURE = 0.95
# Beyond this standard error, edge probabilities are called rough.
ROUGH = 0.1
TRAINED = {
    True: "The model was learned from this file: expect it to be less accurate on new rows.",
    False: "The model was learned from another file.",
    None: "It is not known whether the model was learned from these rows.",
}
# Beyond this many variables `show` prints stages only with --all or --variable.
SHOWN_VARIABLES = 30
SHOW_ALL = "cslearn show --all"
NO_RELATIONS = "No context-specific relations: every dependence holds in all contexts."


def _console() -> Console:
    # Names and states are the user's own: nothing in them is markup, or the code of an emoji.
    return Console(highlight=False, soft_wrap=True, markup=False, emoji=False)


def _say(console: Console, text: str = "") -> None:
    console.print(plain(text))


# ---------------------------------------------------------------- documents
def relation_documents(table: RelationTable) -> list[dict[str, Any]]:
    """Return the rows of a table of relations, with the evidence that there is."""
    return [{str(name): value for name, value in row.items()} for row in table.to_frame().to_dict("records")]


def model_document(tree: CStree) -> dict[str, Any]:
    """Return the structure of a model: order, parents, stages, relations."""
    return {
        "order": list(tree.order),
        "parents": {v: list(tree.parents[v]) for v in tree.order},
        "stages": {v: [dict(context) for context in tree.stagings[v]] for v in tree.order},
        "n_free_parameters": tree.n_free_parameters,
        "csi_relations": relation_documents(tree.relation_table()),
    }


def fit_document(learner: Learner) -> dict[str, Any]:
    """Return what a fit found: the structure, the evidence for its relations, scores and timings."""
    return {
        **model_document(learner.cstree_),
        "csi_relations": relation_documents(learner.relations_),
        "prior": {"name": learner.prior_.name, **asdict(learner.prior_)},
        "ess": learner.ess_,
        "log_order_score": learner.log_order_score_,
        "log_score": learner.log_score_,
        "beta": learner.betas_,
        "search": _search_of(learner),
        "moves": learner.n_iter_,
        "interrupted": learner.interrupted_,
        "chains": _chains_document(learner) if _search_of(learner) == "mcmc" else None,
        "seconds": learner.timings_,
    }


def _search_of(learner: Learner) -> str:
    """Return how orders were searched."""
    from cslearn.posterior import is_of_one_order

    if learner.posterior_.exact is not None:
        return "exact"
    return "greedy" if is_of_one_order(learner.cstree_) else "mcmc"


def _chains_document(learner: Learner) -> dict[str, Any]:
    verdict, chains = learner.posterior_.verdict, learner.posterior_.chains
    return {
        "n_chains": len(chains),
        "n_iter": min(chain.n_iter for chain in chains),
        "converged": verdict.converged,
        "r_hat": verdict.r_hat if isfinite(verdict.r_hat) else None,
        "ess": verdict.ess if isfinite(verdict.ess) else None,
        "note": verdict.note or None,
    }


# ---------------------------------------------------------------- text
def _variables(tree: CStree) -> TextTable:
    """Return a table with a row for each variable, in the learned order; unsure edges with their probability."""
    joined = _joined(tree)
    table = TextTable(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name, justify in (("variable", "left"), ("states", "right"), ("stages", "right"), ("depends on", "left")):
        table.add_column(name, justify=justify, header_style="bold")  # type: ignore[arg-type]
    for v in tree.order:
        parents = ", ".join(_with_probability(u, joined.get(frozenset((u, v)))) for u in tree.parents[v]) or "-"
        table.add_row(plain(v), str(len(tree.states[v])), str(len(tree.stagings[v])), plain(parents))
    return table


def _joined(tree: CStree) -> dict[frozenset[str], float]:
    """Return how probable it is that two variables are joined, either way; empty if the file does not say."""
    kept = (tree.learning or {}).get("edges")
    if kept is None:
        return {}
    found = {frozenset((u, v)): 0.0 for v in tree.order for u in tree.parents[v]}
    found |= {frozenset(edge["between"]): min(edge["forward"] + edge["backward"], 1.0) for edge in kept}
    return found


def _with_probability(name: str, probability: float | None) -> str:
    return name if probability is None or probability >= SURE else f"{name} ({probability:.2f})"


def _print_edges_in_brief(console: Console, tree: CStree, output: Path | str) -> None:
    """Print how sure the edges are, and how to see all of them."""
    from cslearn.posterior import edge_rows, is_of_one_order

    if (tree.learning or {}).get("edges") is None:
        return
    in_model = [row for row in edge_rows(tree, SURE) if row["in_model"]]
    there, told = len(in_model), sum(row["directed"] for row in in_model)
    edges = sum(map(len, tree.parents.values()))
    if not edges:
        return

    unsure = "; those of the others are in brackets above" if there < edges else ""
    known = f" The direction of {f'{told:,}' if told else 'none'} of them is identified." if there else ""
    if is_of_one_order(tree):
        known = ""
    _say(
        console,
        f"{there:,} of {_plural(edges, 'dependence')} {'has' if there == 1 else 'have'} a probability of at least"
        f" {SURE:g}{unsure}.{known}{_edge_errors(tree)}",
    )
    _say(console, f"All edge probabilities: cslearn edges {output}")


def _edge_errors(tree: CStree) -> str:
    """Return a sentence on how far edge probabilities may be off, or nothing where they are exact or not known."""
    from cslearn.posterior import is_of_one_order

    if is_of_one_order(tree):
        return (
            " These probabilities hold for the one order that was searched for: they are more certain than the data"
            " are, and say nothing of directions. For those of all orders: cslearn fit --search mcmc."
        )
    error = (tree.learning or {}).get("edge_error")
    if not error:
        return ""
    rough = ": the chains disagree, so take probabilities and directions as rough" if error > ROUGH else ""
    return f" Standard errors of these probabilities are up to {error:.2g}{rough}."


def _print_findings(
    console: Console, relations: RelationTable, tree: CStree, most: int | None = SHOWN_RELATIONS, more: str = ""
) -> None:
    """Print relations in words by what the data say of them; those that differ in irrelevant states as one."""
    if not relations:
        _say(console, NO_RELATIONS)
        return
    found = relations.merged(tree.states)
    holding = found.with_verdict("supported") if found.with_verdict(None) != found else found
    if holding:
        ranked = " with the strongest evidence" if holding[0].verdict else ""
        _say(console, f"Where dependence vanishes{_shown(len(holding), most, ranked)}:")
        _print_rows(console, holding, most)
    ignored = found.with_verdict("ignored")[::-1]
    if ignored:
        count = _shown(len(ignored), most, " with the strongest evidence")
        _say(console, f"Ignored by the model, although the data support it{count}:")
        _print_rows(console, ignored, most)
        _say(console, f"  ({_why_ignored(tree)})")
    undecided = len(found.with_verdict("undecided"))
    if undecided:
        _say(console, f"Undecided, with little evidence either way: {_plural(undecided, 'further relation')}.")
    gaps = (tree.learning or {}).get("rows_with_gaps")
    if gaps and found[0].n_rows is not None:
        have = "row has" if gaps == 1 else "rows have"
        _say(console, f"{gaps:,} {have} missing cells, so the numbers of rows above are expected counts.")
    cut = most is not None and max(len(holding), len(ignored)) > most
    if more and (cut or undecided):
        _say(console, f"All relations, with the evidence: {more}")


def _why_ignored(tree: CStree) -> str:
    """Return why a model may have left out what the data speak for."""
    if (tree.learning or {}).get("settings", {}).get("beta") == "auto":
        return "The model splits a stage only where the evidence outweighs the prior's penalty for a split."
    return "With a larger context bound, --beta, the model may include them."


def _shown(n: int, most: int | None, which: str) -> str:
    if most is None or n <= most:
        return f" ({n:,} context-specific {'relation' if n == 1 else 'relations'})"
    return f" ({n:,} context-specific relations, the {most}{which or ' first'})"


def _print_rows(console: Console, rows: RelationTable, most: int | None) -> None:
    for row in rows[: len(rows) if most is None else most]:
        factor = ""
        if row.log_bayes_factor is not None and row.n_rows is not None:
            # For a dependence that is ignored, the evidence shown is the evidence for it: against the relation.
            size = -row.log_bayes_factor if row.verdict == "ignored" else row.log_bayes_factor
            factor = f"  (log Bayes factor {size:.1f}, {row.n_rows:,.0f} rows)"
        _say(console, f"  {row.dependence() if row.verdict == 'ignored' else row.in_words()}{factor}")


def _in_words(prior: Prior, beta: int) -> str:
    """Return the name of a prior with the settings that matter for a context bound."""
    # Of a tree prior two context variables are the bound; of that over parents they are what was found.
    matters = beta > 2 or prior.name == "parents"
    known = {name: value for name, value in asdict(prior).items() if matters or name != "deeper"}
    settings = ", ".join(f"{name} {value}" for name, value in known.items())
    return prior.name + (f" ({settings})" if settings else "")


def _print_learned(console: Console, learner: Learner, verbose: bool = False) -> None:
    from cslearn.posterior import is_of_one_order

    tree = learner.cstree_
    edges = sum(map(len, tree.parents.values()))
    _say(
        console,
        f"{_plural(len(tree.order), 'variable')}, {_plural(edges, 'dependence')}, {_plural(tree.n_stages, 'stage')},"
        f" {_plural(tree.n_free_parameters, 'free parameter')}",
    )
    console.print()
    console.print(_variables(tree))
    console.print()
    _print_findings(console, learner.relations_, tree)
    console.print()
    _print_depth(console, learner)
    if verbose:
        _say(console, f"Prior over stagings: {_in_words(learner.prior_, max(learner.betas_.values()))}")
        _say(console, f"Equivalent sample size: {learner.ess_:g}")
        _say(console, f"Log score {learner.log_score_:,.2f} (order {learner.log_order_score_:,.2f})")
        bounds = ", ".join(f"{v} {beta}" for v, beta in learner.betas_.items() if beta > 2)
        _say(console, f"Variables in the deepest context, where more than two: {bounds or '-'}")
    phases = ", ".join(f"{phase} {seconds:.2f}" for phase, seconds in learner.timings_.items())
    if learner.posterior_.exact is not None:
        evidence = f": log evidence {learner.posterior_.log_evidence:,.2f}" if verbose else "."
        _say(console, f"All orders searched{evidence}")
        _say(console, f"Seconds: {phases}")
        return
    verdict, chains = learner.posterior_.verdict, learner.posterior_.chains
    if verdict.converged and isfinite(verdict.r_hat):
        _say(
            console,
            f"{len(chains)} chains of {chains[0].n_iter:,} moves agree: R-hat up to {verdict.r_hat:.3f}, effective"
            f" sample sizes from {verdict.ess:,.0f}{f'; {verdict.note}' if verdict.note else ''}",
        )
    if is_of_one_order(tree):
        _say(console, f"Seconds: {phases}")
        return
    moves = learner.n_iter_ / max(learner.timings_["orders"], 1e-9)
    _say(console, f"Seconds: {phases} ({learner.n_iter_:,} moves, {_rate(moves)} a second)")


def _print_depth(console: Console, learner: Learner) -> None:
    """Print how deep contexts are and, where more than two variables are, what two alone would cost."""
    from cslearn.estimators.cutting import cost_of_bound

    tree, scores = learner.cstree_, learner.posterior_.scores
    deepest = max(staging.bound for staging in tree.stagings.values())
    if deepest <= 2 or scores is None:
        return
    cost = cost_of_bound(tree, scores, 2)
    _say(
        console,
        f"Contexts have up to {deepest} variables. With at most two, the model would have"
        f" {_plural(cost.stages, 'stage')}, and the mean log-likelihood of these rows would be {cost.loss:.2g} lower."
        " For a smaller model: --beta 2.",
    )


def print_fit(learner: Learner, table: TableLike, output: Path, verbose: bool = False) -> None:
    """Print what a fit found; `verbose` adds the prior, the equivalent sample size and the scores."""
    console = _console()
    _say(console, f"Learned from {_plural(table.n, 'row')}:")
    _print_learned(console, learner, verbose)
    order = "the best of all orders" if learner.posterior_.exact is not None else "the best order found"
    if learner.estimate_ == "central":
        order = "an order typical of those sampled"
    _say(console, f"Directions are those of {order}. Where a direction is not identified, the other may fit as well.")
    where, model = ("standard output", "MODEL") if is_standard_output(output) else (output, output)
    _print_edges_in_brief(console, learner.cstree_, model)
    if learner.candidates_.dropped or learner.candidates_.notes:
        _say(console, learner.candidates_.describe())
    if table.constant:
        _say(console, f"Constant, so independent of everything else: {', '.join(table.constant)}")
    _say(console, f"Model written to {where}. See it with: cslearn show {model}")


def print_model(tree: CStree, variable: str | None = None, everything: bool = False) -> None:
    """Print a model with its probabilities and relations, or one of its variables.

    Beyond thirty variables the stages are printed only if `everything` is set.
    """
    from cslearn.cstree.text import MOST_STAGES, describe

    console = _console()
    if variable is not None:
        _say(console, describe(tree, [variable], most_stages=None if everything else MOST_STAGES, hint=SHOW_ALL))
        return
    head = f"CStree of {len(tree.order)} variables: {tree.n_stages} stages, {tree.n_free_parameters} free parameters"
    _say(console, head)
    _say(console, "order: " + ", ".join(tree.order))
    console.print()
    if everything or len(tree.order) <= SHOWN_VARIABLES:
        _say(console, describe(tree, most_stages=None if everything else MOST_STAGES, hint=SHOW_ALL))
    else:
        console.print(_variables(tree))
        _say(console)
        _say(console, "Stages and probabilities: cslearn show --variable NAME, or for all variables cslearn show --all")
    relations = tree.relation_table()
    if relations:
        console.print()
        _print_findings(console, relations, tree, None if everything else SHOWN_RELATIONS, "cslearn show --csi")


def print_relations(table: RelationTable) -> None:
    """Print a table of CSI relations."""
    console = _console()
    _say(console, str(table) if len(table) else NO_RELATIONS)


def print_demo(learner: Learner, truth: CStree, data: pd.DataFrame) -> None:
    """Print the story of the demo."""
    from cslearn.metrics import kl_divergence

    console = _console()
    _say(console, f"{len(data):,} children checked into an emergency room (made-up data). Which of them carry")
    _say(console, "chicken-pox, and what does that depend on?")
    console.print()
    _say(console, "\n".join(f"  {line}" for line in data.head(3).to_string(index=False).splitlines()))
    console.print()
    _print_learned(console, learner)
    console.print()
    divergence = kl_divergence(truth, learner.cstree_)
    _say(
        console,
        f"The data were drawn from a known model: D(known || learned) = {float(divergence):.3g} nats.",
    )
    console.print()
    program = "cslearn" if shutil.which("cslearn") else os.path.relpath(sys.argv[0])  # as it can be called from here
    _say(console, "Next, on a table of your own:")
    _say(console, f"  {program} fit data.csv -o model.json")
    _say(console, f"  {program} show model.json")
    _say(console, f"  {program} report model.json data.csv -o report.html   then open it in a browser")


def print_score(document: dict[str, Any], first_impossible: int | None) -> None:
    """Print how probable rows are."""
    console = _console()
    _say(console, f"rows                  {document['rows']:,}")
    if first_impossible is None:
        mean = document["mean_log_prob"]
        _say(console, f"mean log-probability  {'-' if mean is None else format(mean, '.6f')}")
        _say(console, f"total                 {document['total_log_prob']:,.4f}")
    else:
        _say(
            console,
            f"impossible rows       {document['impossible_rows']:,}, the first is row {first_impossible}:"
            " the model gives them probability zero",
        )
    bic = "- (for complete rows only)" if document["bic"] is None else f"{document['bic']:,.2f} (smaller is better)"
    _say(console, f"BIC of the structure  {bic}")


def print_confusion(target: str, states: Sequence[Any], document: dict[str, Any]) -> None:
    """Print how often each state was predicted where each was true, and what that is worth."""
    counts: list[list[int]] = document["confusion"]
    console = _console()
    table = TextTable(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(plain(target), header_style="bold")
    for state in states:
        table.add_column(plain(f"predicted {state}"), justify="right", header_style="bold")
    for state, row in zip(states, counts, strict=True):
        table.add_row(plain(f"true {state}"), *(f"{count:,}" for count in row))
    console.print(table)
    _say(
        console,
        f"accuracy {document['accuracy']:.3f} on {_plural(document['rows'], 'row')}; always {document['majority']}:"
        f" {document['majority_accuracy']:.3f}",
    )
    _say(console, TRAINED[document["trained_on"]])


def print_adjustment(tree: CStree, exposure: str, outcome: str, sets: Sequence[Sequence[str]]) -> None:
    """Print what to adjust for, after what arrows mean."""
    from cslearn.inference import DIRECTIONS

    console = _console()
    _say(console, DIRECTIONS)
    console.print()
    if not sets:
        _say(
            console,
            f"In this model {exposure} depends on {outcome}: {exposure} has no effect on {outcome}, and there is"
            " nothing to adjust for.",
        )
        return
    if sets[0]:
        _say(console, f"Each of these removes all confounding of {exposure} and {outcome} in the model:")
        for names in sets:
            _say(console, f"  {', '.join(names)}")
        _say(console, f"Adjusting for all parents of {exposure} does so, too: {', '.join(tree.parents[exposure])}")
    else:
        _say(console, f"In this model there is no confounding of {exposure} and {outcome}: adjust for nothing.")


def print_blanket(variable: str, parents: Sequence[str], children: Sequence[str], others: Sequence[str]) -> None:
    """Print a Markov blanket by the part that each variable plays in it."""
    console = _console()
    if not (parents or children):
        _say(console, f"{variable} is independent of all other variables in this model.")
        return
    _say(console, f"Once these are known, no other variable in the model says anything more about {variable}:")
    parts = ("what it depends on", "what depends on it", "what else those depend on")
    for what, names in zip(parts, (parents, children, others), strict=True):
        if names:
            _say(console, f"  {what}: {', '.join(names)}")


def print_edges(tree: CStree, threshold: float) -> None:
    """Print edge probabilities: an arrow where the direction is identified, a line where it is not."""
    from cslearn.posterior import edge_table, is_of_one_order

    console, table, one_order = _console(), edge_table(tree, threshold), is_of_one_order(tree)
    if table.empty:
        _say(console, f"No two variables are joined with a probability of {threshold:g} or more.")
        return
    grid = TextTable(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name, justify in (("edge", "left"), ("probability", "right"), ("this way", "right"), ("back", "right")):
        grid.add_column(name, justify=justify, header_style="bold")  # type: ignore[arg-type]
    grid.add_column("in the model", header_style="bold")
    said = {"->": "yes", "<-": "yes, reversed", "": "no"}
    for row in table.to_dict("records"):
        numbers = [f"{row[name]:.3f}" for name in ("probability", "forward", "backward")]
        if one_order:
            numbers[1:] = "-", "-"
        edge = f"{row['from']} {'->' if row['directed'] else '--'} {row['to']}"
        grid.add_row(plain(edge), *numbers, said[row["in_model"]])
    console.print(grid)
    console.print()
    if not one_order:
        _say(console, "a -> b: the direction is identified; the probability is that of this arrow.")
    _say(console, "a -- b: the direction is not identified; the probability is that of an arrow either way.")
    if errors := _edge_errors(tree).strip():
        _say(console, errors)


def print_estimate(cost: Cost) -> None:
    """Print what a fit will take."""
    console = _console()
    sizes = sorted(cost.candidates.sizes().values())
    _say(console, f"{cost.rows:,} rows, {len(sizes)} variables with up to {cost.largest_card} states")
    _say(console, f"candidates            {sizes[0]} to {sizes[-1]}, median {sizes[len(sizes) // 2]}")
    most, trees = cost.plan.beta, cost.search.engine == "grown"
    _say(console, f"contexts              {'decision trees of' if trees else 'exact sums over'} up to {most} variables")
    _say(console, f"scoring contexts      {duration(cost.score_seconds)}")
    if not cost.exact and not cost.n_chains:
        _say(console, "searching orders      no further than to a first good one")
    elif cost.exact:
        _say(console, f"searching all orders  {duration(cost.order_seconds)}")
    else:
        _say(
            console,
            f"sampling orders       {duration(cost.order_seconds)} for {cost.n_chains} chains of"
            f" {'up to ' if cost.up_to else ''}{cost.n_iter:,} moves, {_rate(1 / cost.move_seconds)} moves a second",
        )
    _say(console, f"memory                {max(cost.memory_bytes / 2**20, 1):,.0f} MB")
    at_most = "up to " if cost.up_to and not cost.exact else ""
    _say(console, f"in total              {at_most}{duration(cost.seconds)}; {cost.dominated_by} takes most of it")
    if cost.rounds > 1:
        _say(
            console,
            f"This covers up to {cost.rounds} fits, each to a table completed by the previous model. The time to"
            " complete the tables is not included; it is long where rows miss many cells that depend on one another.",
        )


def _rate(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.2g}"


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
