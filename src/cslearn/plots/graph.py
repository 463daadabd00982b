"""Pictures of graphs: LDAGs and the context graphs of minimal contexts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, get_args

from cslearn._checked import checked
from cslearn._wording import condition
from cslearn.errors import InputError, MissingExtraError
from cslearn.plots._extra import figures
from cslearn.plots._words import context_lines, keys, legend_lines, name_lines, one_line
from cslearn.plots.layout import Layout, Size, layered_layout
from cslearn.stagings import Context

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    from matplotlib.axes import Axes

    from cslearn.graphs import LDAG
    from cslearn.plots._figure import Canvas, Picture

__all__ = ["Labels", "plot_context_graphs", "plot_edge_graph", "plot_ldag"]

Edge = tuple[str, str]
Labels = Literal["auto", "inline", "legend", "none"]

# Labels are written on the edges up to this many, of so many lines and characters; beyond, keys and a legend.
INLINE_LABELS, INLINE_LINES, INLINE_WIDTH = 8, 3, 36
LEGEND_WIDTH = 52  # characters
MOST_KEYS = 60  # a longer legend is left out unless it is asked for
KEY_RADIUS = 7.0
NOTEBOOK_NODES = 60
THINNEST, THICKEST, PLAIN = 0.7, 4.5, 1.3


@checked
def plot_ldag(
    ldag: LDAG,
    *,
    labels: Labels = "auto",
    strength: Mapping[Edge, float] | Any = None,
    strength_name: str = "strength",
    context: Mapping[str, Any] | None = None,
    max_width: float | None = None,
    ax: Axes | None = None,
) -> Picture:
    """Draw an LDAG: parents above children, dashed edges where a label says when they vanish.

    Parameters
    ----------
    ldag : LDAG
    labels : {"auto", "inline", "legend", "none"}
        Write the labels on the edges, or letters there and the labels in a legend; ``"auto"`` decides by their number
        and length, and leaves them out where the legend would have more than 60 entries.
    strength : mapping of (parent, child) to number, or DataFrame, optional
        How thick the edges are, in proportion to the largest: see :func:`edge_strengths`. Of a data frame, rows are
        parents and columns children. Edges that it does not name are thin.
    strength_name : str
        What the thickness says, for the line below the picture.
    context : mapping of variable to state, optional
        Draw what remains in this context: edges that vanish in it are gone, and labels say what else is needed.
    max_width : float, optional
        How wide the graph should be, in points.
    ax : matplotlib.axes.Axes, optional
        Draw into these axes, scaled to fit, instead of a figure of its own.

    Returns
    -------
    Picture
        A matplotlib figure; ``picture.savefig("ldag.svg")`` writes it.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.plots import plot_ldag
    >>> picture = plot_ldag(chickenpox_model().to_ldag())
    >>> "<svg" in picture.to_svg()
    True
    """
    draw = figures()
    fixed = checked_context(ldag, context)
    drawn = labels_in_context(ldag, fixed)
    look = _label_look(drawn, ldag.states, labels)
    names = {v: name_lines(v) if v not in fixed else f"{name_lines(v)}\n= {one_line(fixed[v])}" for v in ldag.graph}
    names = {v: draw.plain(name) for v, name in names.items()}
    sizes = {v: _node_size(draw, name) for v, name in names.items()}
    label_sizes = {edge: look.size(draw, edge) for edge in drawn if look.text.get(edge)}
    layout = layered_layout(remaining(ldag, drawn), sizes, label_sizes, max_width=max_width)
    widths = line_widths(ldag.graph, strength)
    notes = _notes(look, strength, strength_name, fixed)
    legend = _Legend(draw, look.legend, layout.size[0], notes)
    size = (max(layout.size[0], legend.size[0]), layout.size[1] + legend.size[1])
    canvas = draw.Canvas(size, ax)
    shift = (size[0] - layout.size[0]) / 2
    _draw_graph(canvas, draw, layout, drawn, names, widths, shift, look=look, fixed=fixed)
    legend.draw(canvas, ((size[0] - legend.size[0]) / 2, layout.size[1]))
    return canvas.figure


def notebook_svg(ldag: LDAG) -> str | None:
    """Return what a notebook shows: the picture, or None, so the text, if it cannot be drawn or would be large."""
    if len(ldag.graph) > NOTEBOOK_NODES:
        return None
    try:
        return plot_ldag(ldag)._repr_svg_()
    except MissingExtraError:
        return None


# ---------------------------------------------------------------- what is drawn
def checked_context(ldag: LDAG, context: Mapping[str, Any] | None) -> Context:
    """Return a context of the LDAG's variables; an error names what it does not know."""
    fixed = Context(context or {})
    for v, x in fixed.items():
        if v not in ldag.states:
            raise InputError(f"the context names {v!r}, which is no variable of the LDAG")
        if x not in ldag.states[v]:
            known = ", ".join(map(repr, ldag.states[v]))
            raise InputError(f"the context gives {v!r} the state {x!r}, which it does not have: {known}")
    return fixed


def labels_in_context(ldag: LDAG, context: Context) -> dict[Edge, list[Context]]:
    """Return the edges that do not vanish in a context, each with the contexts in which it vanishes further on."""
    left: dict[Edge, list[Context]] = {}
    for edge in ldag.graph.edges:
        contexts = ldag.labels.get(edge, ())
        if contexts and ldag.vanishes(edge, context):
            continue
        more = [Context((v, x) for v, x in c.items() if v not in context) for c in contexts if c.agrees(context)]
        left[edge] = list(dict.fromkeys(more))
    return left


def remaining(ldag: LDAG, edges: Iterable[Edge]) -> nx.DiGraph:
    """Return the graph of an LDAG with some of its edges."""
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(ldag.graph)
    graph.add_edges_from(edges)
    return graph


@dataclass(frozen=True)
class _Look:
    """How labels look: the text on each edge, and the legend of keys, if there is one."""

    text: dict[Edge, str]
    legend: list[tuple[str, list[str]]]
    dashed: frozenset[Edge]

    def size(self, draw: Any, edge: Edge) -> Size:
        if self.legend:
            return max(2 * KEY_RADIUS, draw.text_size(self.text[edge], draw.LABEL_POINTS, True)[0] + 6), 2 * KEY_RADIUS
        width, height = draw.text_size(draw.plain(self.text[edge]), draw.LABEL_POINTS)
        return width + 6, height + 3


def _label_look(drawn: Mapping[Edge, list[Context]], states: Mapping[str, Sequence[Any]], labels: str) -> _Look:
    if labels not in get_args(Labels):
        raise InputError(f"labels is one of {', '.join(map(repr, get_args(Labels)))}, not {labels!r}")
    lines = {edge: context_lines(contexts, states) for edge, contexts in drawn.items() if contexts}
    dashed = frozenset(lines)
    if labels == "none":
        return _Look({}, [], dashed)
    crowded = len(lines) > INLINE_LABELS or any(
        len(own) > INLINE_LINES or max(map(len, own)) > INLINE_WIDTH for own in lines.values()
    )
    if labels == "inline" or (labels == "auto" and not crowded):
        return _Look({edge: "\n".join(own) for edge, own in lines.items()}, [], dashed)
    # Edges with the same label share a key.
    letters = keys()
    key_of: dict[tuple[str, ...], str] = {}
    for own in lines.values():
        if tuple(own) not in key_of:
            key_of[tuple(own)] = next(letters)
    if labels == "auto" and len(key_of) > MOST_KEYS:
        return _Look({}, [], dashed)
    text = {edge: key_of[tuple(own)] for edge, own in lines.items()}
    return _Look(text, [(key, list(own)) for own, key in key_of.items()], dashed)


def line_widths(graph: nx.DiGraph, strength: Mapping[Edge, float] | Any) -> dict[Edge, float]:
    """Return the thickness of each edge, from thin to thick in proportion to its strength."""
    if strength is None:
        return dict.fromkeys(graph.edges, PLAIN)
    values = _strengths(graph, strength)
    largest = max(values.values(), default=0.0)
    return {
        edge: THINNEST + (THICKEST - THINNEST) * (values.get(edge, 0.0) / largest if largest > 0 else 0.0)
        for edge in graph.edges
    }


def _strengths(graph: nx.DiGraph, strength: Any) -> dict[Edge, float]:
    if hasattr(strength, "loc") and hasattr(strength, "columns"):
        values = {
            (u, v): float(strength.loc[u, v]) for u, v in graph.edges if u in strength.index and v in strength.columns
        }
    elif isinstance(strength, Mapping) and all(
        isinstance(edge, tuple) and len(edge) == 2 and isinstance(value, Real) for edge, value in strength.items()
    ):
        values = {edge: float(value) for edge, value in strength.items() if graph.has_edge(*edge)}
    else:
        raise InputError(f"strength maps edges to numbers, or is a data frame, not {type(strength).__name__}")
    for edge, value in values.items():
        if not value >= 0 or value == float("inf"):
            raise InputError(f"the strength of {edge[0]!r} -> {edge[1]!r} is {value}; it must be 0 or more")
    return values


def _notes(look: _Look, strength: Any, strength_name: str, fixed: Context) -> list[str]:
    notes = []
    if fixed:
        where = ", ".join(condition(one_line(v), one_line(x)) for v, x in fixed.items())
        notes.append(f"What remains where {where}.")
    if look.legend:
        notes.append("The model leaves a dashed edge out in the contexts of its letter:")
    elif look.text:
        notes.append("The model leaves a dashed edge out in the contexts of its label.")
    elif look.dashed:
        notes.append("The model leaves a dashed edge out in some contexts, whose labels are not shown.")
    if strength is not None:
        notes.insert(0, f"The thicker an edge, the larger its {strength_name}.")
    return notes


def _node_size(draw: Any, name: str) -> Size:
    width, height = draw.text_size(name, draw.NODE_POINTS)
    return max(width + 16, 28.0), height + 11


# ---------------------------------------------------------------- drawing
def _draw_graph(
    canvas: Canvas,
    draw: Any,
    layout: Layout,
    edges: Iterable[Edge],
    names: Mapping[str, str],
    widths: Mapping[Edge, float],
    dx: float = 0.0,
    dy: float = 0.0,
    *,
    look: _Look | None = None,
    fixed: Mapping[str, Any] | None = None,
) -> None:
    for edge in sorted(edges, key=lambda edge: look is not None and edge in look.dashed):
        dashed = look is not None and edge in look.dashed
        curve = [(x + dx, y + dy) for x, y in layout.curves[edge]]
        canvas.arrow(curve, draw.LABEL if dashed else draw.EDGE, widths[edge], dashed=dashed)
    for v, name in names.items():
        x, y = layout.positions[v]
        held = fixed is not None and v in fixed
        fill, rim = (draw.FIXED_FILL, draw.FIXED_RIM) if held else (draw.NODE_FILL, draw.NODE_RIM)
        canvas.box((x + dx, y + dy), layout.sizes[v], fill, rim, role="node box")
        canvas.text((x + dx, y + dy), name, draw.NODE_POINTS, role="node")
    for edge, (x, y) in layout.labels.items() if look is not None else ():
        assert look is not None
        if look.legend:
            size = look.size(draw, edge)
            canvas.box((x + dx, y + dy), size, "white", draw.LABEL, 0.9, 4.0, KEY_RADIUS, "label box")
            canvas.text(
                (x + dx, y + dy), look.text[edge], draw.LABEL_POINTS, colour=draw.LABEL, bold=True, role="label"
            )
        else:
            canvas.box((x + dx, y + dy), look.size(draw, edge), "white", "white", 0.0, 4.0, 3.0, "label box")
            canvas.text(
                (x + dx, y + dy), draw.plain(look.text[edge]), draw.LABEL_POINTS, colour=draw.LABEL, role="label"
            )


class _Legend:
    """Notes, and keys with their contexts in columns, below a picture."""

    gap = 16.0

    def __init__(self, draw: Any, entries: list[tuple[str, list[str]]], width: float, notes: list[str]) -> None:
        self.draw_module = draw
        self.notes = [draw.plain(note) for note in notes]
        self.line = 1.35 * draw.SMALL_POINTS
        self.entries = [(key, [draw.plain(line) for line in legend_lines(own, LEGEND_WIDTH)]) for key, own in entries]
        self.key_width = (
            max((draw.text_size(key, draw.SMALL_POINTS, True)[0] for key, _ in self.entries), default=0) + 8
        )
        texts = [draw.text_size(line, draw.SMALL_POINTS)[0] for _, own in self.entries for line in own]
        self.column = self.key_width + max(texts, default=0.0) + self.gap
        # As many columns as fit below the picture, filled one after the other.
        wanted = max(1, int(max(width, 480.0) // self.column)) if self.entries else 0
        self.columns = self._filled(wanted)
        rows = max((sum(len(own) for _, own in column) for column in self.columns), default=0)
        widest_note = max((draw.text_size(note, draw.SMALL_POINTS)[0] for note in self.notes), default=0.0)
        height = (
            self.line * (rows + len(self.notes)) + (self.gap if self.notes or rows else 0.0) + (4.0 if rows else 0.0)
        )
        self.size = (max(widest_note, len(self.columns) * self.column - self.gap if self.columns else 0.0), height)

    def _filled(self, wanted: int) -> list[list[tuple[str, list[str]]]]:
        total = sum(len(own) for _, own in self.entries)
        if not wanted or not total:
            return []
        for rows in range(ceil(total / wanted), total + 1):
            columns: list[list[tuple[str, list[str]]]] = [[]]
            used = 0
            for entry in self.entries:
                if used and used + len(entry[1]) > rows:
                    columns.append([])
                    used = 0
                columns[-1].append(entry)
                used += len(entry[1])
            if len(columns) <= wanted:
                return columns
        return [self.entries]

    def draw(self, canvas: Canvas, at: tuple[float, float]) -> None:
        draw = self.draw_module
        left, top = at[0], at[1] + self.gap + self.line / 2
        for note in self.notes:
            canvas.text((left, top), note, draw.SMALL_POINTS, colour=draw.FAINT, align="left", role="note")
            top += self.line
        top += 4.0
        for number, column in enumerate(self.columns):
            y = top
            x = left + number * self.column
            for key, own in column:
                canvas.text((x, y), key, draw.SMALL_POINTS, colour=draw.LABEL, bold=True, align="left", role="legend")
                for line in own:
                    canvas.text((x + self.key_width, y), line, draw.SMALL_POINTS, align="left", role="legend")
                    y += self.line


# ---------------------------------------------------------------- probabilities of edges
@checked
def plot_edge_graph(frame: pd.DataFrame, threshold: float = 0.5) -> Picture:
    """Draw the edges that are more probable than a threshold, with their probabilities, as a graph.

    Two variables are joined if an edge between them, in one direction or the other, is more probable than the
    threshold. The edge is solid where its direction is too. Otherwise it is dashed, and both directions are told, that
    of the arrow first. The thicker an edge, the more probable that the two are joined.

    Parameters
    ----------
    frame : pandas.DataFrame
        Probabilities; rows are parents and columns children.
    threshold : float

    Returns
    -------
    Picture

    Examples
    --------
    >>> import pandas as pd
    >>> from cslearn.plots import plot_edge_graph
    >>> values = [[0.0, 0.9, 0.4], [0.0, 0.0, 0.1], [0.5, 0.1, 0.0]]
    >>> svg = plot_edge_graph(pd.DataFrame(values, index=list("abc"), columns=list("abc"))).to_svg()
    >>> [text in svg for text in ("<!-- 0.90 -->", "<!-- 0.50 / 0.40 -->", "<!-- 0.10")]
    [True, True, False]
    """
    import networkx as nx

    if list(frame.index) != list(frame.columns):
        raise InputError("the rows and columns of edge probabilities are the same variables, in the same order")
    if not 0 <= threshold < 1:
        raise InputError(f"the threshold is a probability below 1, not {threshold!r}")
    draw = figures()
    variables = list(frame.index)
    graph = nx.DiGraph()
    graph.add_nodes_from(variables)
    text: dict[Edge, str] = {}
    dashed, joined = set(), {}
    edges = [(float(frame.loc[u, v]), u, v) for u in variables for v in variables if u != v]
    # The most probable first. One that closes a cycle, which is hardly met, is drawn the other way round.
    for _, u, v in sorted(edges, key=lambda edge: -edge[0]):
        a, b = (v, u) if nx.has_path(graph, v, u) else (u, v)
        along, against = float(frame.loc[a, b]), float(frame.loc[b, a])
        if graph.has_edge(a, b) or along + against <= threshold:
            continue
        graph.add_edge(a, b)
        joined[a, b] = min(along + against, 1.0)
        if along > threshold:
            text[a, b] = f"{along:.2f}"
        else:
            text[a, b] = f"{along:.2f} / {against:.2f}"
            dashed.add((a, b))
    look = _Look(text, [], frozenset(dashed))
    names = {v: draw.plain(name_lines(v)) for v in variables}
    sizes = {v: _node_size(draw, name) for v, name in names.items()}
    layout = layered_layout(graph, sizes, {edge: look.size(draw, edge) for edge in text})
    notes = [f"Edges with a probability above {threshold:g}."]
    if dashed:
        notes.append("Dashed: in one direction or the other; that of the arrow comes first.")
    legend = _Legend(draw, [], layout.size[0], notes)
    size = (max(layout.size[0], legend.size[0]), layout.size[1] + legend.size[1])
    canvas = draw.Canvas(size)
    shift = (size[0] - layout.size[0]) / 2
    _draw_graph(canvas, draw, layout, graph.edges, names, line_widths(graph, joined), shift, look=look)
    legend.draw(canvas, ((size[0] - legend.size[0]) / 2, layout.size[1]))
    return canvas.figure


# ---------------------------------------------------------------- context graphs
@checked
def plot_context_graphs(graphs: Mapping[Any, nx.DiGraph], *, columns: int | None = None) -> Picture:
    """Draw the graphs of several contexts side by side, each node in the same place in all of them.

    Parameters
    ----------
    graphs : mapping of context to networkx.DiGraph
        A context is a :class:`~cslearn.stagings.Context` or a tuple of (variable, state) pairs; the empty one stands
        for the graph that holds always. The graphs together must have no cycle.
    columns : int, optional
        Graphs in a row; by default as many as make the picture about as wide as high.

    Returns
    -------
    Picture

    Examples
    --------
    >>> import networkx as nx
    >>> from cslearn.plots import plot_context_graphs
    >>> from cslearn.stagings import Context
    >>> full, less = nx.DiGraph([("a", "b"), ("b", "c"), ("a", "c")]), nx.DiGraph([("a", "c")])
    >>> picture = plot_context_graphs({Context(): full, Context({"b": "yes"}): less})
    >>> picture.to_svg().count("<!-- c -->")
    2
    """
    import networkx as nx

    draw = figures()
    if columns is not None and columns < 1:
        raise InputError(f"columns is a whole number from 1, not {columns}", parameter="columns")
    if not graphs:
        raise InputError("there are no graphs to draw: give a mapping of contexts to graphs")
    whole = nx.DiGraph()
    for graph in graphs.values():
        whole.add_nodes_from(graph)
        whole.add_edges_from(graph.edges)
    names = {v: draw.plain(name_lines(v)) for v in whole}
    layout = layered_layout(whole, {v: _node_size(draw, name) for v, name in names.items()}, max_width=300.0)
    titles = [draw.plain(name_lines(str(Context(context)) or "always", 40)) for context in graphs]
    widest = max(draw.text_size(title, draw.LABEL_POINTS, True)[0] for title in titles)
    head = max(draw.text_size(title, draw.LABEL_POINTS, True)[1] for title in titles) + 12.0
    inner = 12.0
    panel = (max(layout.size[0], widest) + 2 * inner, layout.size[1] + head + 2 * inner)
    gap = 14.0
    if columns is None:
        columns = max(1, min(len(graphs), round(sqrt(len(graphs) * 1.4 * panel[1] / panel[0]))))
    rows = ceil(len(graphs) / columns)
    canvas = draw.Canvas((columns * (panel[0] + gap) - gap, rows * (panel[1] + gap) - gap))
    for number, (title, graph) in enumerate(zip(titles, graphs.values(), strict=True)):
        left = number % columns * (panel[0] + gap)
        top = number // columns * (panel[1] + gap)
        middle = (left + panel[0] / 2, top + panel[1] / 2)
        canvas.box(middle, panel, "white", "#C9D2DA", 0.8, 0.5, 4.0)
        canvas.text((middle[0], top + inner / 2 + head / 2), title, draw.LABEL_POINTS, bold=True, role="title")
        shift = (left + (panel[0] - layout.size[0]) / 2, top + head + inner)
        shown = {v: names[v] for v in graph}
        widths = dict.fromkeys(graph.edges, PLAIN)
        _draw_graph(canvas, draw, layout, graph.edges, shown, widths, *shift)
    return canvas.figure
