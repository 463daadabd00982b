"""What data say for the CSI relations of a CStree."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn._checked import checked
from cslearn.counts import Contexts
from cslearn.cstree import CStree
from cslearn.graphs import CSIRelation, RelationTable, WeighedRelation
from cslearn.inference.completed import rows_for_model
from cslearn.orders import FIRST_ESS
from cslearn.scores import Scores, log_marginal_likelihood
from cslearn.stagings import Context, Staging

__all__ = ["relation_table"]

Floats = NDArray[np.float64]

# Counts of stages and other variables together that are asked for at once.
AT_ONCE = 1 << 24


@checked
def relation_table(
    tree: CStree, data: Any, *, ess: float | None = None, probabilities: Mapping[CSIRelation, float] | None = None
) -> RelationTable:
    """Return the CSI relations of a CStree with the evidence for them, strongest first.

    The Bayes factor of a relation compares the marginal likelihood of its stage with that of the same stage split on
    one of the variables that the relation leaves out, the best of them. A learned model also has relations that the
    data speak against, because its context bound allowed no more splits: their verdict is "ignored".

    Parameters
    ----------
    tree : CStree
    data : Scores, Table, frame, array, path or whatever :func:`cslearn.data.as_table` reads
        Scores come with an equivalent sample size of their own. Rows with gaps are treated as the model was learned:
        left out, or with ``missing="em"`` completed, so that rows are expected counts.
    ess : float, optional
        Equivalent sample size of the Dirichlet priors; by default the one the model was learned with, or else 5.
    probabilities : mapping of CSIRelation to float, optional
        Posterior probabilities of relations, if they are known; a relation that is not there has none.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.estimators import relation_table
    >>> tree = chickenpox_model()
    >>> print(relation_table(tree, tree.sample(2000, random_state=1)))
    relation                                               verdict  log Bayes factor   rows
    carrier _||_ background | exposed=yes, diagnosis=no  supported               3.0    527
    exposed _||_ background | diagnosis=yes              supported               2.8    588
    carrier _||_ background, diagnosis | exposed=no      supported               1.9  1,270
    """
    if isinstance(data, Scores):
        scores = data
    else:
        settings = (tree.learning or {}).get("settings", {})
        scores = Scores(rows_for_model(tree, data).table, ess=settings.get("ess", FIRST_ESS) if ess is None else ess)
        scores.gamma = settings.get("gamma", 1.0)  # the prior counts of the fit
    known = {} if probabilities is None else probabilities
    weighed = {v: _weighed_stages(tree.stagings[v], v, scores) for v in tree.order if len(tree.stagings[v]) > 1}
    found = []
    for relation in tree.csi_relations():
        factor, rows, against = weighed[relation.target][relation.context]
        found.append(WeighedRelation(relation, factor, rows, known.get(relation), against))
    found.sort(key=lambda row: -(row.log_bayes_factor or 0.0))
    return RelationTable(found)


def _weighed_stages(staging: Staging, target: str, scores: Scores) -> dict[Context, tuple[float, float, str]]:
    """Compare each stage with its best split on a parent that it leaves out: log Bayes factor, rows, and that parent.

    Stages are counted together with all other variables, as many at once as there is room for.
    """
    i, cards = scores.index[target], scores.table.cards
    column = {v: scores.index[v] for v in staging.context_variables}
    code = {v: {state: x for x, state in enumerate(staging.scope[v])} for v in column}
    contexts = [[(column[v], code[v][x]) for v, x in c.items()] for c in staging]
    found: dict[Context, tuple[float, float, str]] = {}
    stages = list(staging)
    size = max(1, AT_ONCE // (max(cards) * sum(cards)))
    for begin in range(0, len(stages), size):
        some = slice(begin, begin + size)
        found |= _weighed(stages[some], contexts[some], i, column, scores)
    return found


def _weighed(
    stages: list[Context], contexts: list[list[tuple[int, int]]], i: int, column: dict[str, int], scores: Scores
) -> dict[Context, tuple[float, float, str]]:
    """Do so for some stages, all counted at once; `column` has those of the variables in contexts."""
    cards = scores.table.cards
    own, together = _counted_splits(scores, i, contexts, list(column.values()))
    outcomes = [prod(cards[v] for v, _ in pairs) for pairs in contexts]
    whole = [log_marginal_likelihood(row, scores.a_stage(q)) for row, q in zip(own, outcomes, strict=True)]
    rows, best = own.sum(axis=1), np.full(len(stages), -inf)
    against = np.full(len(stages), -1)
    for k, (parent, c) in enumerate(column.items()):
        for s, context in enumerate(stages):
            if parent not in context:
                a = scores.a_stage(outcomes[s] * cards[c])
                split = sum(log_marginal_likelihood(part, a) for part in together[c][s])
                if split > best[s]:
                    best[s], against[s] = split, k
    parents = list(column)
    return {
        context: (float(whole[s] - best[s]), float(rows[s]), parents[against[s]])
        for s, context in enumerate(stages)
        if against[s] >= 0
    }


def _counted_splits(
    scores: Scores, i: int, contexts: list[list[tuple[int, int]]], columns: list[int]
) -> tuple[Floats, dict[int, Floats]]:
    """Return the counts of a target in contexts, and in their parts by some variables, shape (contexts, states, d)."""
    d, starts = scores.table.cards[i], scores.counts.starts
    own, counts = scores.counts.of(Contexts.of_target(i, contexts))
    own = own[:, :d]
    # Where the target has one state all rows have it, and its counts together with others are not told.
    one = np.flatnonzero((own > 0).sum(axis=1) < 2)
    found = {}
    for c in columns:
        states = np.swapaxes(counts[:, :d, starts[c] : starts[c + 1]], 1, 2).astype(float)
        found[c] = np.concatenate([own[:, None] - states.sum(axis=1, keepdims=True), states], axis=1)
        parts = [[*contexts[s], (c, x)] for s in one for x in range(scores.table.cards[c])]
        found[c][one] = scores.cells(i, parts).reshape(len(one), scores.table.cards[c], d)
    return own, found
