"""Effects in a report: what the variables that an outcome depends on do to its risk."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from cslearn.inference import effect

if TYPE_CHECKING:
    from cslearn.cstree import CStree
    from cslearn.inference.completed import ModelRows

__all__ = ["effects_document"]

# Exposures that are shown: the nearest of all that arrows lead from to the outcome.
MOST_EXPOSURES = 20


def effects_document(tree: CStree, data: ModelRows | None, outcome: str, state: Any, ess: float) -> dict[str, Any]:
    """Return the risk differences of an outcome, by each of the variables that arrows lead from.

    Parameters
    ----------
    tree : CStree
    data : ModelRows or None
        Data, for intervals and observed shares.
    outcome : str
    state : state of the outcome, or None
        As for :func:`cslearn.inference.effect`.
    ess : float
        Equivalent sample size of the intervals.
    """
    import networkx as nx

    tree.queries.coder.variable(outcome)
    steps = nx.single_source_shortest_path_length(tree.to_dag().reverse(), outcome)
    exposures = sorted((v for v in steps if v != outcome), key=lambda v: (steps[v], tree.order.index(v)))
    shown = [effect(tree, outcome, of=v, state=state, data=data, ess=ess) for v in exposures[:MOST_EXPOSURES]]
    label = shown[0].state if shown else state
    return {
        "outcome": outcome,
        "state": None if label is None else str(label),
        "left_out": len(exposures) - len(shown),
        "exposures": [
            {
                "name": found.exposure,
                "notes": list(found.notes),
                "rows": [
                    {
                        "state": str(row.exposure),
                        "n": _number(row.n),
                        "observed": _number(row.observed),
                        "risk": [_number(x) for x in (row.risk, row.risk_lower, row.risk_upper)],
                        "estimate": [_number(x) for x in (row.estimate, row.lower, row.upper)],
                        "no_effect": _number(row.no_effect),
                        "says": row.says,
                    }
                    for row in found.rows
                ],
            }
            for found in shown
        ],
    }


def _number(value: float | None) -> float | None:
    return None if value is None or not isfinite(value) else round(value, 6)
