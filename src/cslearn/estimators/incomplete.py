"""Learning from data with missing cells: structural expectation-maximisation.

The structure is learned from completed data and the data are completed by the model learned, in turns. A completed
table holds each row a few times, with its missing cells drawn from their distribution given the known ones, and
counts each copy for its share: the counts are then unbiased estimates of the expected counts under the model, as in
structural EM, with the noise of the draws. At last the parameters are estimated by EM on the structure of the last
round, from the data as they are. Averages over stagings are not taken: those of completed tables came out no better
than the posterior means of EM, which stand in for them.

The first model is learned from the complete rows if there are enough of them. Otherwise it is learned from cells drawn
from the column they are in.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cslearn._warnings import warn
from cslearn.cstree import CStree
from cslearn.cstree.parameters import Method
from cslearn.data import Table, as_table
from cslearn.data._gaps import gaps_of
from cslearn.data.incomplete import MISSING_STATE, check_missing_label, refuse_missing_label
from cslearn.data.structural_gaps import warn_of_structural_gaps
from cslearn.errors import EstimateWarning, InputError
from cslearn.estimators.evidence import relation_table
from cslearn.estimators.plan import plan_of
from cslearn.graphs.evidence import evidence_record
from cslearn.inference.completed import completed_table
from cslearn.inference.gaps import EMResult, em, summable

if TYPE_CHECKING:
    from cslearn.estimators.learner import Learner

__all__ = ["ROUNDS", "copies_of", "fit_incomplete", "read_incomplete"]

# Copies of each row with gaps in a completed table, fewer where these are many rows, and rounds of learning after the
# first.
COPIES = 5
MOST_COPIED = 10_000
ROUNDS = 3
# Rounds of parameters with rows that are completed by draws, where exact sums are too large.
DRAWN_ROUNDS = 3
# The first model is learned from the complete rows if they are at least this many, and this share of all.
COMPLETE_ROWS = 50
COMPLETE_SHARE = 0.05


def read_incomplete(
    X: Any, states: Any, sample_weight: Any, own: Collection[str] = ()
) -> tuple[Table, NDArray[np.int32]]:
    """Return the states and weights of data as a table without rows, and the codes with -1 for missing cells.

    The state "missing" of a :class:`~cslearn.data.Table` stands for its missing cells, as ``as_table`` makes it. In
    other data such a state is refused, because it would go by the same name as what is not known. Of the columns
    `own` it is a state like any other.
    """
    for name, labels in (states or {}).items():
        if name not in own:
            refuse_missing_label(name, labels)
    given = None if states is None else {v: [*labels, MISSING_STATE] for v, labels in states.items()}
    table = as_table(X, states=given, missing="state", sample_weight=sample_weight)
    check_missing_label(X, table, but_for=own)
    gaps_of(dict.fromkeys(own, "state"), table.variables)  # names columns that there are
    codes = table.codes.astype(np.int32)
    labels = []
    for column, (name, known) in enumerate(table.state_map.items()):
        if MISSING_STATE in known and name not in own:
            code = known.index(MISSING_STATE)
            codes[:, column] -= codes[:, column] > code
            codes[table.codes[:, column] == code, column] = -1
            known = (*known[:code], *known[code + 1 :])
        if not known:
            raise InputError(f"column {name!r} has no known cell: leave it out, or give its states")
        labels.append(known)
    return Table(codes.clip(0), table.variables, labels, table.weights), codes


def copies_of(n_gappy: int) -> int:
    """Return how often a row with gaps stands in a completed table: of many rows the draws even out by themselves."""
    return min(COPIES, max(1, MOST_COPIED // max(n_gappy, 1)))


def fit_incomplete(learner: Learner, X: Any, sample_weight: Any) -> None:
    """Fit a learner to data with missing cells: its attributes are those of the last round, and ``em_``."""
    own = gaps_of(learner.missing)[1]
    filled, codes = read_incomplete(X, learner.states, sample_weight, own)
    warn_of_structural_gaps(filled.variables, filled.states, list(codes.T))
    rng = np.random.default_rng(learner._seeds()[0].spawn(1)[0])
    weights = np.ones(len(codes)) if filled.weights is None else filled.weights
    inner = _changed(learner, missing="error", states=None)
    method: Method = "mean" if learner.parameters == "averaged" else learner.parameters
    if (codes >= 0).all():
        inner._learn(filled)
        learner.__dict__.update({k: v for k, v in vars(inner).items() if k.endswith("_")})
        learner.em_ = em(inner.cstree_, codes, method, ess=inner.ess_, gamma=inner.gamma_, weights=weights)
        learner.cstree_ = _recorded(inner.cstree_, inner.cstree_.learning, own)
        return
    copies = copies_of(int((codes < 0).any(axis=1).sum()))
    # A table is completed by one model, so only the last round needs draws of orders and averages over them.
    once = plan_of(inner, filled.cards).samples_once(filled.p)
    quick = _changed(inner, search="greedy", parameters="mean") if once else inner
    table, before, same, seconds = _first(filled, codes, rng), None, False, dict[str, float]()
    for number in range(ROUNDS + 1):
        last = number == ROUNDS or same
        step = inner if last else quick
        step._learn(table)
        seconds = {phase: seconds.get(phase, 0.0) + spent for phase, spent in step.timings_.items()}
        tree = step.cstree_
        same = before is not None and (tree.order, tree.stagings) == (before.order, before.stagings)
        if last or step.interrupted_ or (same and quick is inner):
            inner = step
            break
        table, before = completed_table(tree, codes, weights, copies, rng), tree
    learner.__dict__.update({k: v for k, v in vars(inner).items() if k.endswith("_")})
    learner.timings_ = seconds
    learner.em_ = _parameters(inner, codes, method, weights, rng)
    fitted, record = learner.em_.tree, dict(inner.cstree_.learning or {})
    # What the data say of the relations is said of the data completed by this very model, as a report does.
    learner.relations_ = relation_table(
        _recorded(fitted, record), completed_table(fitted, codes, filled.weights), ess=inner.ess_
    )
    record |= {
        "rows": len(codes),
        "rows_with_gaps": int((codes < 0).any(axis=1).sum()),
        "weight": None if filled.weights is None else filled.total_weight,
        "evidence": evidence_record(fitted, learner.relations_),
    }
    learner.cstree_ = _recorded(fitted, record, own)


def _changed(learner: Learner, **parameters: Any) -> Learner:
    """Return a learner that is not fitted, with other values of some parameters."""
    return type(learner)(**{**learner.get_params(deep=False), **parameters})


def _parameters(
    learner: Learner,
    codes: NDArray[np.int32],
    method: Method,
    weights: NDArray[np.float64],
    rng: np.random.Generator,
) -> EMResult:
    """Estimate the parameters by EM; rows over whose gaps the sums are too large are completed by draws before."""
    tree, options = learner.cstree_, dict[str, Any](ess=learner.ess_, gamma=learner.gamma_)
    exact = summable(tree, codes)
    if exact.all():
        return em(tree, codes, method, weights=weights, **options)
    for _ in range(DRAWN_ROUNDS):
        drawn = completed_table(tree, codes[~exact], weights[~exact], random_state=rng)
        of_drawn = np.ones(drawn.n) if drawn.weights is None else drawn.weights
        rows, counted = np.concatenate([codes[exact], drawn.codes]), np.concatenate([weights[exact], of_drawn])
        tree = em(tree, rows.astype(np.int32), method, weights=counted, **options).tree
    warn(
        f"{int((~exact).sum()):,} of {len(codes):,} rows miss so many cells that depend on one another that the sums"
        " over them are too large: the parameters are estimated with draws in place of these cells.",
        EstimateWarning,
    )
    return EMResult(tree, [], np.nan, False)


def _recorded(tree: CStree, record: Mapping[str, Any] | None, own: Collection[str] = ()) -> CStree:
    """Return the CStree with a record that says how missing cells were dealt with."""
    record = dict(record or {})
    states = {"missing_is_a_state_of": sorted(own)} if own else {}
    record["settings"] = {**record.get("settings", {}), "missing": "em", **states}
    return CStree(tree.order, tree.stagings, tree.parameters, states=tree.states, learning=record)


def _first(filled: Table, codes: NDArray[np.int32], rng: np.random.Generator) -> Table:
    """Return the table that the first model is learned from."""
    complete = (codes >= 0).all(axis=1)
    if complete.sum() >= max(COMPLETE_ROWS, COMPLETE_SHARE * len(codes)):
        return filled.take(complete)
    drawn = codes.copy()
    for column in drawn.T:
        missing = column < 0
        column[missing] = rng.choice(column[~missing], size=int(missing.sum()))
    return Table(drawn, filled.variables, filled.states, filled.weights)
