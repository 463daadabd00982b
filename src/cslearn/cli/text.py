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
from rich.markup import escape
from rich.table import Table as TextTable

if TYPE_CHECKING:
    import pandas as pd

    from cslearn import CStree
    from cslearn.data import Table
    from cslearn.estimators import CStreeLearner
    from cslearn.estimators.cost import Cost
    from cslearn.graphs import RelationTable
    from cslearn.priors import Prior

__all__ = [
    "duration",
    "fit_document",
    "model_document",
    "print_confusion",
    "print_demo",
    "print_estimate",
    "print_fit",
    "print_model",
    "print_relations",
    "print_score",
    "relation_documents",
]

SHOWN_RELATIONS = 10
NO_RELATIONS = "No context-specific relations: every dependence holds in all contexts."


def _console() -> Console:
    return Console(highlight=False, soft_wrap=True)


def _say(console: Console, text: str = "") -> None:
    console.print(escape(text))


# ---------------------------------------------------------------- documents
def relation_documents(table: RelationTable) -> list[dict[str, Any]]:
    """Return the rows of a table of relations, with the evidence that there is."""
    return [{str(name): value for name, value in row.items()} for row in table.to_frame().to_dict("records")]


def model_document(tree: CStree) -> dict[str, Any]:
    """Return the structure of a model: order, parents, stages, relations."""
    from cslearn.graphs import RelationTable

    return {
        "order": list(tree.order),
        "parents": {v: list(tree.parents[v]) for v in tree.order},
        "stages": {v: [dict(context) for context in tree.stagings[v]] for v in tree.order},
        "n_free_parameters": tree.n_free_parameters,
        "csi_relations": relation_documents(RelationTable(tree.csi_relations())),
    }


def fit_document(learner: CStreeLearner) -> dict[str, Any]:
    """Return what a fit found: the structure, the evidence for its relations, scores and timings."""
    return {
        **model_document(learner.cstree_),
        "csi_relations": relation_documents(learner.relations_),
        "prior": {"name": learner.prior_.name, **asdict(learner.prior_)},
        "ess": learner.ess_,
        "log_order_score": learner.log_order_score_,
        "log_score": learner.log_score_,
        "beta": learner.betas_,
        "search": "mcmc" if learner.posterior_.exact is None else "exact",
        "moves": learner.n_iter_,
        "interrupted": learner.interrupted_,
        "chains": None if learner.posterior_.exact is not None else _chains_document(learner),
        "seconds": learner.timings_,
    }


def _chains_document(learner: CStreeLearner) -> dict[str, Any]:
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
    """Return a table with a row for each variable, in the learned order."""
    table = TextTable(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name, justify in (("variable", "left"), ("states", "right"), ("stages", "right"), ("depends on", "left")):
        table.add_column(name, justify=justify, header_style="bold")  # type: ignore[arg-type]
    for v in tree.order:
        parents = ", ".join(tree.parents[v]) or "-"
        table.add_row(escape(v), str(len(tree.states[v])), str(len(tree.stagings[v])), escape(parents))
    return table


def _print_relations(console: Console, learner: CStreeLearner) -> None:
    relations = learner.relations_
    if not relations:
        _say(console, NO_RELATIONS)
        return
    shown = relations[:SHOWN_RELATIONS]
    more = f", the {len(shown)} with the strongest evidence" if len(relations) > len(shown) else ""
    _say(console, f"Where dependence vanishes ({len(relations)} context-specific relations{more}):")
    for supported in shown:
        factor = f"log Bayes factor {supported.log_bayes_factor:.1f}, {supported.n_rows:,.0f} rows"
        _say(console, f"  {supported.relation.in_words()}  ({factor})")


def _in_words(prior: Prior, beta: int) -> str:
    """Return the name of a prior with the settings that matter for a context bound."""
    known = {name: value for name, value in asdict(prior).items() if beta > 2 or name != "deeper"}
    settings = ", ".join(f"{name} {value}" for name, value in known.items())
    return prior.name + (f" ({settings})" if settings else "")


def _print_learned(console: Console, learner: CStreeLearner) -> None:
    tree = learner.cstree_
    edges = sum(map(len, tree.parents.values()))
    _say(
        console,
        f"{len(tree.order)} variables, {edges} {'dependence' if edges == 1 else 'dependences'}, {tree.n_stages} stages,"
        f" {tree.n_free_parameters} free parameters",
    )
    console.print()
    console.print(_variables(tree))
    console.print()
    _print_relations(console, learner)
    console.print()
    _say(console, f"Prior over stagings: {_in_words(learner.prior_, max(learner.betas_.values()))}")
    _say(console, f"Equivalent sample size: {learner.ess_:g}")
    _say(console, f"Log score {learner.log_score_:,.2f} (order {learner.log_order_score_:,.2f})")
    raised = {v: beta for v, beta in learner.betas_.items() if beta > 2}
    if raised:
        bounds = ", ".join(f"{v} {beta}" for v, beta in raised.items())
        _say(console, f"Context bounds above two: {bounds}")
    phases = ", ".join(f"{phase} {seconds:.2f}" for phase, seconds in learner.timings_.items())
    if learner.posterior_.exact is not None:
        _say(console, f"All orders searched: log evidence {learner.posterior_.log_evidence:,.2f}")
        _say(console, f"Seconds: {phases}")
        return
    verdict, chains = learner.posterior_.verdict, learner.posterior_.chains
    if verdict.converged and isfinite(verdict.r_hat):
        _say(
            console,
            f"{len(chains)} chains of {chains[0].n_iter:,} moves agree: R-hat up to {verdict.r_hat:.3f}, effective"
            f" sample sizes from {verdict.ess:,.0f}{f'; {verdict.note}' if verdict.note else ''}",
        )
    moves = learner.n_iter_ / max(learner.timings_["orders"], 1e-9)
    _say(console, f"Seconds: {phases} ({learner.n_iter_:,} moves, {moves:,.0f} a second)")


def print_fit(learner: CStreeLearner, table: Table, output: Path) -> None:
    """Print what a fit found."""
    console = _console()
    _say(console, f"Learned from {table.n:,} rows:")
    _print_learned(console, learner)
    order = "the best order of all" if learner.posterior_.exact is not None else "the best order met"
    if learner.estimate_ == "central":
        order = "an order in the middle of the drawn ones"
    _say(console, f"Dependences point along {order}; the data may fit other directions as well.")
    if learner.candidates_.dropped or learner.candidates_.notes:
        _say(console, learner.candidates_.describe())
    if table.constant:
        _say(console, f"Constant, so never a context and dependent on nothing: {', '.join(table.constant)}")
    _say(console, f"Model written to {output}. See it with: cslearn show {output}")


def print_model(tree: CStree) -> None:
    """Print a model with its probabilities and relations."""
    console = _console()
    _say(console, str(tree))
    relations = tree.csi_relations()
    if relations:
        console.print()
        _say(console, "Where dependence vanishes:")
        for relation in relations:
            _say(console, f"  {relation.in_words()}")


def print_relations(table: RelationTable) -> None:
    """Print a table of CSI relations."""
    console = _console()
    _say(console, str(table) if len(table) else NO_RELATIONS)


def print_demo(learner: CStreeLearner, truth: CStree, data: pd.DataFrame) -> None:
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
        f"The data were drawn from a known model: D(known || learned) = {float(divergence):.5f} nats.",
    )
    _say(console, "(It has stages of three context variables, which a context bound of two cannot tell apart.)")
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
    _say(console, f"BIC of the structure  {document['bic']:,.2f} (smaller is better)")


def print_confusion(target: str, states: Sequence[Any], counts: list[list[int]], accuracy: float) -> None:
    """Print how often each state was predicted where each was true."""
    console = _console()
    table = TextTable(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(escape(target), header_style="bold")
    for state in states:
        table.add_column(escape(f"predicted {state}"), justify="right", header_style="bold")
    for state, row in zip(states, counts, strict=True):
        table.add_row(escape(f"true {state}"), *(f"{count:,}" for count in row))
    console.print(table)
    _say(console, f"accuracy {accuracy:.4f} on {sum(map(sum, counts)):,} rows")


def print_estimate(cost: Cost) -> None:
    """Print what a fit will take."""
    console = _console()
    sizes = sorted(cost.candidates.sizes().values())
    _say(console, f"{cost.rows:,} rows, {len(sizes)} variables with up to {cost.largest_card} states")
    _say(console, f"candidates            {sizes[0]} to {sizes[-1]}, median {sizes[len(sizes) // 2]}")
    _say(console, f"scoring contexts      {duration(cost.score_seconds)}")
    if cost.exact:
        _say(console, f"searching all orders  {duration(cost.order_seconds)}")
    else:
        _say(
            console,
            f"sampling orders       {duration(cost.order_seconds)} for {cost.n_chains} chains of"
            f" {'up to ' if cost.up_to else ''}{cost.n_iter:,} moves, {1 / cost.move_seconds:,.0f} moves a second",
        )
    _say(console, f"memory                {max(cost.memory_bytes / 2**20, 1):,.0f} MB")
    _say(console, f"all together          {duration(cost.seconds)}; {cost.dominated_by} takes most of it")
    if cost.first_pass:
        _say(
            console,
            "This is the pass with two context variables. A larger bound looks at candidates and orders once more after"
            " it, which is not estimated and may take several times as long.",
        )


def duration(seconds: float) -> str:
    """Return a time in words, rounded as an estimate is."""
    if seconds < 1:
        return "under a second"
    if seconds < 120:
        return f"about {seconds:.0f} s"
    return f"about {seconds / 60:.0f} min" if seconds < 7200 else f"about {seconds / 3600:.1f} h"
