"""What data say for the CSI relations of a CStree."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from cslearn.counts import rows_that_agree
from cslearn.cstree import CStree
from cslearn.graphs import CSIRelation, RelationTable, SupportedRelation
from cslearn.orders import FIRST_ESS
from cslearn.scores import Scores, log_marginal_likelihood

__all__ = ["relation_table"]


def relation_table(
    tree: CStree, data: Any, *, ess: float | None = None, probabilities: Mapping[CSIRelation, float] | None = None
) -> RelationTable:
    """Return the CSI relations of a CStree with the evidence for them, strongest first.

    The Bayes factor of a relation compares the marginal likelihood of its stage with that of the same stage split on
    one of the variables that the relation leaves out, the best of them.

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
    relation                                             log Bayes factor   rows
    carrier _||_ background | exposed=yes, diagnosis=no               3.0    527
    exposed _||_ background | diagnosis=yes                           2.8    588
    carrier _||_ background, diagnosis | exposed=no                   1.9  1,270
    """
    if ess is None:
        ess = (tree.learning or {}).get("settings", {}).get("ess", FIRST_ESS)
    scores = data if isinstance(data, Scores) else Scores(tree.encode(data), ess=ess)
    known = {} if probabilities is None else probabilities
    found = []
    for relation in tree.csi_relations():
        factor, rows = _log_bayes_factor(relation, scores), scores.n_rows(relation.context)
        found.append((factor, SupportedRelation(relation, factor, rows, known.get(relation))))
    found.sort(key=lambda pair: -pair[0])
    return RelationTable(row for _, row in found)


def _log_bayes_factor(relation: CSIRelation, scores: Scores) -> float:
    """Compare a stage with its best split on a variable that a relation leaves out. O(n) for each of these."""
    i = scores.index[relation.target]
    table = scores.counted(i)
    d, states = table.cards[i], table.states
    pairs = [(scores.index[v], states[scores.index[v]].index(x)) for v, x in relation.context.items()]
    rows = np.flatnonzero(rows_that_agree(table.codes, pairs))
    codes = table.codes[rows]
    weights = None if table.weights is None else table.weights[rows]
    a_stage = scores.ess / prod(table.cards[v] for v, _ in pairs)

    def split(column: int | None) -> float:
        states_of = 1 if column is None else table.cards[column]
        cell = codes[:, i] if column is None else codes[:, column].astype(np.intp) * d + codes[:, i]
        counts = np.bincount(cell, weights=weights, minlength=states_of * d).astype(float).reshape(states_of, d)
        return sum(log_marginal_likelihood(row, a_stage / states_of) for row in counts)

    return split(None) - max(split(scores.index[v]) for v in relation.independent_of)
