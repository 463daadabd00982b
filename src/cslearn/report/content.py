"""What a report says of a model, as a JSON document: variables and states are referred to by their positions.

The page decides itself which edges vanish in a context, from the stages: the edge ``j -> i`` is left exactly if some
stage of ``i`` has ``j`` in its context and otherwise agrees with the chosen context. For such a stage there is an
outcome of the other parents, in agreement with what was chosen, at which changing ``x_j`` changes the stage. If there
is none, every outcome that agrees is in a stage whose context does not hold ``j``, and the edge vanishes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width

from cslearn._wording import condition
from cslearn.counts import stage_counts
from cslearn.inference import DIRECTIONS
from cslearn.metrics import cpdag
from cslearn.plots import edge_strengths
from cslearn.plots.layout import layered_layout
from cslearn.posterior import edge_rows, is_of_one_order
from cslearn.report.citing import citations

if TYPE_CHECKING:
    from cslearn.cstree import CStree
    from cslearn.data import Table
    from cslearn.inference.completed import ModelRows
    from cslearn.stagings import Context

__all__ = ["report_document"]

FONT_SIZE = 13.0
NODE_HEIGHT = 34.0
NODE_WIDTHS = (56.0, 200.0)
LABEL_HEIGHT = 16.0
KEPT_APART = ("orders", "edges", "evidence")  # parts of the record of learning that have places of their own
MOST_ARROWS = 60  # beyond which the strongest are drawn; the page has the same number
SHOWN_LABELS = 14  # labelled edges; if there are more, the page shows their labels on demand, without keeping room
LABEL_LENGTH = 34


def report_document(
    tree: CStree,
    data: ModelRows | None,
    orders: Mapping[str, Any] | None,
    learning: Mapping[str, Any] | None,
    ess: float,
) -> dict[str, Any]:
    """Return the content of a report.

    Parameters
    ----------
    tree : CStree
    data : ModelRows or None
        Rows read for the model, for the counts and the evidence.
    orders : mapping or None
        What :func:`cslearn.orders.summary.summarise` says of the order posterior.
    learning : mapping or None
        How the model was learned; see the `learning` of :class:`cslearn.CStree`.
    ess : float
        Equivalent sample size of the evidence.
    """
    codes, table = _Codes(tree), None if data is None else data.table
    return {
        "variables": [_variable(tree, codes, v, table) for v in tree.variables],
        "order": [codes.column[v] for v in tree.order],
        **_graph(tree, codes),
        "relations": _relations(tree, codes, table, ess),
        "pairs": _pairs(tree, codes),
        "rows": None if table is None else _count(round(table.total_weight, 6)),
        "gaps": None if data is None or not data.note else {"note": data.note, "expected": data.expected},
        "ess": None if table is None and not (learning or {}).get("evidence") else ess,
        "orders": None if orders is None else _orders(tree, codes, orders),
        "one_order": is_of_one_order(tree),
        "learning": None if learning is None else {k: v for k, v in learning.items() if k not in KEPT_APART},
        "directions": DIRECTIONS,
        "effects": None,
        "citations": citations(),
        "n_stages": tree.n_stages,
        "n_free_parameters": tree.n_free_parameters,
    }


class _Codes:
    """Names and states as positions."""

    def __init__(self, tree: CStree) -> None:
        self.column = {v: c for c, v in enumerate(tree.variables)}
        self.code = {v: {state: x for x, state in enumerate(states)} for v, states in tree.states.items()}

    def context(self, context: Context) -> list[tuple[int, int]]:
        return [(self.column[v], self.code[v][state]) for v, state in context.items()]


def _variable(tree: CStree, codes: _Codes, name: str, table: Table | None) -> dict[str, Any]:
    contexts = [codes.context(context) for context in tree.stagings[name]]
    stages: list[dict[str, Any]] = [{"context": context} for context in contexts]
    if tree.parameters is not None:
        for stage, row in zip(stages, tree.parameters[name].tolist(), strict=True):
            stage["p"] = [round(value, 6) for value in row]
    if table is not None:
        for stage, row in zip(stages, stage_counts(table, codes.column[name], contexts).tolist(), strict=True):
            stage["n"] = [_count(value) for value in row]
    return {
        "name": name,
        "states": [str(state) for state in tree.states[name]],
        "parents": [codes.column[v] for v in tree.parents[name]],
        "stages": stages,
    }


def _graph(tree: CStree, codes: _Codes) -> dict[str, Any]:
    ldag = tree.to_ldag()
    # An edge that may be turned round stands in both directions there.
    equivalent, known = cpdag(ldag.graph), _probabilities(tree)
    edges = list(ldag.graph.edges)
    sizes = {v: (_width(v), NODE_HEIGHT) for v in tree.variables}
    labels = {edge: _label(label) for edge, label in ldag.labels.items()}
    shown = len(labels) <= SHOWN_LABELS
    # A graph of more arrows is never drawn as a whole unless that is asked for; then the page does it.
    layout = None
    if len(edges) <= MOST_ARROWS:
        boxes = {edge: (_width(text), LABEL_HEIGHT) for edge, text in labels.items()} if shown else None
        layout = layered_layout(ldag.graph, sizes, boxes)
    strengths = _strengths(tree)
    return {
        "edges": [
            {
                "parent": codes.column[parent],
                "child": codes.column[child],
                "label": [codes.context(context) for context in ldag.labels.get((parent, child), ())],
                "text": labels.get((parent, child)),
                "middle": _point(layout.labels[parent, child]) if layout and (parent, child) in layout.labels else None,
                "curve": [_point(point) for point in layout.curves[parent, child]] if layout else None,
                "strength": round(strengths[parent, child], 4),
                "compelled": not equivalent.has_edge(child, parent),
                **known.get((parent, child), {}),
            }
            for parent, child in edges
        ],
        "labels_shown": shown,
        "places": [_point(layout.positions[v]) for v in tree.variables] if layout else None,
        "sizes": [_point(sizes[v]) for v in tree.variables],
    }


def _strengths(tree: CStree) -> dict[tuple[str, str], float]:
    """Return how strong the arrows are; without parameters, for which share of a child's outcomes each matters."""
    if tree.parameters is not None:
        return edge_strengths(tree)
    return {
        (parent, child): sum(
            1 / prod(len(tree.states[v]) for v in context) for context in tree.stagings[child] if parent in context
        )
        for child in tree.order
        for parent in tree.parents[child]
    }


def _probabilities(tree: CStree) -> dict[tuple[str, str], dict[str, Any]]:
    """Return for each edge of the model how probable it is, in its own direction and in the other."""
    if (tree.learning or {}).get("edges") is None:
        return {}
    unseen = {"probability": 0.0, "forward": 0.0, "backward": 0.0, "directed": False}
    found = {(parent, child): dict(unseen) for child in tree.order for parent in tree.parents[child]}
    for row in edge_rows(tree):
        turned = row["in_model"] == "<-"
        edge = (row["to"], row["from"]) if turned else (row["from"], row["to"])
        if edge in found:
            forward, backward = (row["backward"], row["forward"]) if turned else (row["forward"], row["backward"])
            found[edge] = {
                "probability": round(min(forward + backward, 1.0), 4),
                "forward": forward,
                "backward": backward,
                "directed": bool(row["directed"]) and not turned,
            }
    return found


def _pairs(tree: CStree, codes: _Codes) -> list[dict[str, Any]] | None:
    """Return all pairs of variables that may be joined, the most probable first; None if the file does not say."""
    if (tree.learning or {}).get("edges") is None:
        return None
    return [
        {
            "from": codes.column[row["from"]],
            "to": codes.column[row["to"]],
            "forward": row["forward"],
            "backward": row["backward"],
            "directed": bool(row["directed"]),
            "model": row["in_model"],
        }
        for row in edge_rows(tree)
    ]


def _relations(tree: CStree, codes: _Codes, table: Table | None, ess: float) -> list[dict[str, Any]]:
    from cslearn.estimators import relation_table

    found = tree.relation_table() if table is None else relation_table(tree, table, ess=ess)
    return [
        {
            "target": codes.column[row.relation.target],
            "independent_of": [codes.column[v] for v in row.relation.independent_of],
            "context": codes.context(row.relation.context),
            "given": [codes.column[v] for v in row.relation.given],
            **({} if row.verdict is None else {"verdict": row.verdict}),
            **({} if row.against is None else {"against": codes.column[row.against]}),
            **({} if row.log_bayes_factor is None else {"factor": round(row.log_bayes_factor, 3)}),
            **({} if row.n_rows is None else {"rows": _count(row.n_rows)}),
        }
        for row in found.merged(tree.states)
    ]


def _orders(tree: CStree, codes: _Codes, orders: Mapping[str, Any]) -> dict[str, Any]:
    """Return the summary with the full matrix of precedence, by position of the variables."""
    matrix = None
    if orders.get("precedence") is not None:
        p = len(tree.variables)
        at = [codes.column[v] for v in orders["variables"]]
        matrix = [[0.5] * p for _ in range(p)]
        for i, row in enumerate(orders["precedence"]):
            for j, share in enumerate(row, start=i + 1):
                matrix[at[i]][at[j]] = round(share, 3)
                matrix[at[j]][at[i]] = round(1 - share, 3)
    return {
        "chains": orders["chains"],
        "exact": bool(orders.get("exact")),
        "verdict": orders.get("verdict"),
        "precedence": matrix,
    }


def _label(contexts: Sequence[Context]) -> str:
    """Return a label short enough to stand beside its edge."""
    first = ", ".join(condition(variable, state, " = ") for variable, state in contexts[0].items())
    more = f" (+{len(contexts) - 1})" if len(contexts) > 1 else ""
    return (first if len(first) <= LABEL_LENGTH else first[: LABEL_LENGTH - 1] + "…") + more


def _width(name: str) -> float:
    """Return a width that holds the name in about every font; longer names are cut by the page."""
    ems = sum(1.15 if east_asian_width(sign) in "WF" else 0.64 for sign in name)
    return min(max(ems * FONT_SIZE + 26.0, NODE_WIDTHS[0]), NODE_WIDTHS[1])


def _point(point: tuple[float, float]) -> list[float]:
    return [round(point[0], 1), round(point[1], 1)]


def _count(value: float) -> float:
    return int(value) if value == int(value) else round(value, 3)
