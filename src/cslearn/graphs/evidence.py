"""The evidence for the CSI relations of a model, as model files keep it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cslearn.graphs.tables import RelationTable, WeighedRelation

if TYPE_CHECKING:
    from cslearn.cstree import CStree

__all__ = ["evidence_record", "recorded_relations"]


def evidence_record(tree: CStree, relations: RelationTable) -> dict[str, list[Any]]:
    """Return the evidence for the relations of a CStree as a JSON document.

    For each variable that has relations, one entry for each of its stages: the log Bayes factor, the rows, and the
    variable of the best split; null for a stage that leaves out no parent.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.estimators import relation_table
    >>> from cslearn.graphs.evidence import evidence_record
    >>> tree = chickenpox_model()
    >>> evidence_record(tree, relation_table(tree, tree.sample(2000, random_state=1)))["exposed"]
    [None, None, [2.81, 588.0, 'background']]
    """
    known = {(row.relation.target, row.relation.context): row for row in relations}
    record = {}
    for v in {row.relation.target: None for row in relations}:
        rows = [known.get((v, context)) for context in tree.stagings[v]]
        record[v] = [
            None if row is None or row.log_bayes_factor is None else
            [round(row.log_bayes_factor, 3), row.n_rows, row.against]
            for row in rows
        ]  # fmt: skip
    return record


def recorded_relations(tree: CStree) -> RelationTable:
    """Return the CSI relations of a CStree: see :meth:`cslearn.CStree.relation_table`."""
    record = (tree.learning or {}).get("evidence") or {}
    place = {(v, context): k for v in tree.order for k, context in enumerate(tree.stagings[v])}
    found = []
    for relation in tree.csi_relations():
        entries = record.get(relation.target, ())
        known = len(entries) == len(tree.stagings[relation.target])
        entry = entries[place[relation.target, relation.context]] if known else None
        factor, rows, against = entry or (None, None, None)
        found.append(WeighedRelation(relation, factor, rows, None, against))
    found.sort(key=lambda row: -(row.log_bayes_factor or 0.0))
    return RelationTable(found)
