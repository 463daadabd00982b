"""What data say for the CSI relations of a CStree."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cslearn.counts import stage_of_rows
from cslearn.cstree import CStree
from cslearn.graphs import CSIRelation, RelationTable, WeighedRelation
from cslearn.orders import FIRST_ESS
from cslearn.scores import Scores, log_marginal_likelihood
from cslearn.stagings import Context, Staging

__all__ = ["relation_table"]

Floats = NDArray[np.float64]


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
        Scores come with an equivalent sample size of their own.
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
        scores = Scores(tree.encode(data), ess=settings.get("ess", FIRST_ESS) if ess is None else ess)
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

    The stages of all rows are found once; for each parent, all stages are then split at once. O(n) for each parent.
    """
    i = scores.index[target]
    table = scores.counted(i)
    d, cards = table.cards[i], table.cards
    column = {v: scores.index[v] for v in staging.context_variables}
    code = {v: {state: x for x, state in enumerate(staging.scope[v])} for v in column}
    stages = stage_of_rows(table.codes, [[(column[v], code[v][x]) for v, x in c.items()] for c in staging])
    cell = stages * d + table.codes[:, i]
    outcomes = [prod(cards[column[v]] for v in context) for context in staging]

    def log_z(cells: NDArray[np.intp], pieces: int, wanted: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Return log z of the wanted stages, each split into so many pieces, and their rows."""
        shape = len(staging), pieces, d
        counts = np.bincount(cells, weights=table.weights, minlength=prod(shape)).astype(float).reshape(shape)[wanted]
        priors = [scores.a_stage(outcomes[s] * pieces) for s in wanted]
        values = [sum(log_marginal_likelihood(row, a) for row in own) for own, a in zip(counts, priors, strict=True)]
        return np.array(values), counts.sum(axis=(1, 2))

    whole, rows = log_z(cell, 1, np.arange(len(staging)))
    best = np.full(len(staging), -inf)
    against = np.full(len(staging), -1)
    for k, (parent, c) in enumerate(column.items()):
        without = np.flatnonzero([parent not in context for context in staging])
        split, _ = log_z((stages * cards[c] + table.codes[:, c]) * d + table.codes[:, i], cards[c], without)
        better = split > best[without]
        best[without[better]], against[without[better]] = split[better], k
    parents = list(column)
    return {
        context: (float(whole[s] - best[s]), float(rows[s]), parents[against[s]])
        for s, context in enumerate(staging)
        if against[s] >= 0
    }
