"""Pictures of staged trees.

The root is on the left. A node is an outcome of the first variables of the order and shows the state of the last of
them; its edges are the states of the next variable. Nodes of the same stage, and so with the same distribution of the
next variable, have the same colour; a stage of a single node is white (paper, section 3).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from cslearn._checked import checked
from cslearn._wording import condition
from cslearn.errors import InputError, LimitError
from cslearn.plots._extra import figures
from cslearn.plots._words import name_lines, one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cslearn.cstree import CStree
    from cslearn.plots._figure import Picture

__all__ = ["MAX_LEAVES", "StagedTree", "TreeNode", "plot_staged_tree", "staged_tree"]

MAX_LEAVES = 64
ROW, GAP = 22.0, 62.0
NOTE = (
    "Nodes of one colour are in the same stage: the next variable has the same probabilities there. A white node is a"
    " stage of its own."
)


@dataclass(frozen=True)
class TreeNode:
    """A node of a staged tree.

    Attributes
    ----------
    outcome : tuple of states
        Of the first variables of the order; empty for the root.
    stage : int or None
        The stage of the next variable, as an index into its staging; None for a leaf.
    colour : str or None
        The stage's colour as ``#RRGGBB``, None for a stage of a single node and for leaves.
    row : float
        Where it stands, in leaves from the top.
    """

    outcome: tuple[Any, ...]
    stage: int | None
    colour: str | None
    row: float


@dataclass(frozen=True)
class StagedTree:
    """The nodes of a staged tree, level by level, and its stages that have a colour.

    Attributes
    ----------
    variables : tuple of str
        Those whose states are drawn, in order.
    levels : tuple of tuple of TreeNode
    colours : dict of (variable, stage) to str
    """

    variables: tuple[str, ...]
    levels: tuple[tuple[TreeNode, ...], ...]
    colours: dict[tuple[str, int], str]


def staged_tree(tree: CStree, levels: int | None = None, max_leaves: int = MAX_LEAVES) -> StagedTree:
    """Return the nodes of the staged tree of a CStree; an error if there are too many.

    Parameters
    ----------
    tree : CStree
    levels : int, optional
        Only the first so many variables of the order.
    max_leaves : int
        The most leaves.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.plots.staged_tree import staged_tree
    >>> [len(level) for level in staged_tree(chickenpox_model()).levels]
    [1, 2, 4, 8, 16]
    """
    p = len(tree.order)
    if levels is not None and (isinstance(levels, bool) or not isinstance(levels, int) or not 1 <= levels <= p):
        raise InputError(f"levels is a number of variables from 1 to {p}, not {levels!r}")
    shown = tree.order[:levels]
    cards = [len(tree.states[v]) for v in shown]
    leaves = prod(cards)
    if leaves > max_leaves:
        fit = sum(1 for k in range(1, len(cards) + 1) if prod(cards[:k]) <= max_leaves)
        number = f"{leaves:,}" if leaves < 10**15 else f"about 10^{len(str(leaves)) - 1}"
        advice = "draw the LDAG instead (kind='ldag')"
        if fit:
            advice += f", or the first variables of the order alone (levels={fit})"
        raise LimitError(
            f"the staged tree of {len(shown)} variables has {number} leaves, more than the limit of {max_leaves}:"
            f" {advice}"
        )
    colours: dict[tuple[str, int], str] = {}
    palette = distinct_colours()
    rows = [tuple(_level(tree, shown, depth, leaves, colours, palette)) for depth in range(len(shown) + 1)]
    return StagedTree(shown, tuple(rows), colours)


def _level(
    tree: CStree,
    shown: tuple[str, ...],
    depth: int,
    leaves: int,
    colours: dict[tuple[str, int], str],
    palette: Iterator[str],
) -> Iterator[TreeNode]:
    from itertools import product

    outcomes = list(product(*(tree.states[v] for v in shown[:depth])))
    span = leaves / len(outcomes)
    stages: list[int | None] = [None] * len(outcomes)
    if depth < len(shown):
        contexts = tree.stagings[shown[depth]].contexts
        for k, outcome in enumerate(outcomes):
            here = dict(zip(shown, outcome, strict=False))
            stages[k] = next(s for s, context in enumerate(contexts) if context.agrees(here))
    for k, outcome in enumerate(outcomes):
        stage, colour = stages[k], None
        if stage is not None and stages.count(stage) > 1:
            if (shown[depth], stage) not in colours:
                colours[shown[depth], stage] = next(palette)
            colour = colours[shown[depth], stage]
        yield TreeNode(outcome, stage, colour, (k + 0.5) * span)


def distinct_colours() -> Iterator[str]:
    """Yield light colours without end, no two the same; the first seven are those of Okabe and Ito, made lighter.

    Examples
    --------
    >>> from itertools import islice
    >>> from cslearn.plots.staged_tree import distinct_colours
    >>> len(set(islice(distinct_colours(), 200)))
    200
    """
    from colorsys import hls_to_rgb

    seen = set()
    for colour in ("#56B4E9", "#E69F00", "#009E73", "#F0E442", "#CC79A7", "#D55E00", "#0072B2"):
        parts = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
        seen.add("#" + "".join(f"{round(0.62 * x + 0.38 * 255):02X}" for x in parts))
        yield "#" + "".join(f"{round(0.62 * x + 0.38 * 255):02X}" for x in parts)
    k = 0
    while True:
        # The golden angle keeps hues apart; lightness changes along, which all eyes see.
        rgb = hls_to_rgb((0.08 + 0.618034 * k) % 1.0, 0.62 + 0.1 * (k % 4), 0.4 + 0.15 * (k % 3))
        colour = "#" + "".join(f"{round(255 * x):02X}" for x in rgb)
        k += 1
        if colour not in seen:
            seen.add(colour)
            yield colour


@checked
def plot_staged_tree(
    tree: CStree,
    *,
    probabilities: bool = False,
    levels: int | None = None,
    max_leaves: int = MAX_LEAVES,
    ax: Axes | None = None,
) -> Picture:
    """Draw the staged tree of a CStree.

    Parameters
    ----------
    tree : CStree
    probabilities : bool
        Write the probability of each state on its edge; the CStree must have parameters.
    levels : int, optional
        Draw only the first so many variables of the order.
    max_leaves : int
        Refuse to draw more leaves than this.
    ax : matplotlib.axes.Axes, optional
        Draw into these axes, scaled to fit, instead of a figure of its own.

    Returns
    -------
    Picture

    Raises
    ------
    LimitError
        If there are too many leaves; the message says what to draw instead.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.plots import plot_staged_tree
    >>> picture = plot_staged_tree(chickenpox_model(), probabilities=True)
    >>> "<!-- 0.60 -->" in picture.to_svg()
    True
    """
    drawn = staged_tree(tree, levels, max_leaves)
    parameters = tree.needed_parameters() if probabilities else None
    draw = figures()
    points = draw.LABEL_POINTS
    names = [{}] + [{x: draw.plain(_short(x)) for x in tree.states[v]} for v in drawn.variables]
    widths = [24.0] + [max(draw.text_size(name, points)[0] for name in own.values()) + 12.0 for own in names[1:]]
    heads = [""] + [draw.plain(name_lines(v, 18)) for v in drawn.variables]
    columns = [max(w, draw.text_size(h, points, True)[0]) for w, h in zip(widths, heads, strict=True)]
    left, x = 0.0, []
    for width in columns:
        x.append(left + width / 2)
        left += width + GAP
    top = max(draw.text_size(head, points, True)[1] for head in heads) + 10.0
    legend = _legend(tree, drawn, draw)
    notes = [draw.plain(line) for line in _broken(NOTE, max(left - GAP, 300.0), draw)]
    key_rows = _key_rows(legend, max(left - GAP, 300.0), draw)
    height = top + ROW * len(drawn.levels[-1])
    line = 1.5 * draw.SMALL_POINTS
    foot = 14.0 + line * (len(notes) + len(key_rows))
    wide = max([left - GAP, *(draw.text_size(n, draw.SMALL_POINTS)[0] for n in notes), *(w for _, w in key_rows)])
    canvas = draw.Canvas((wide, height + foot), ax)
    offset = (wide - (left - GAP)) / 2
    x = [value + offset for value in x]
    for depth, head in enumerate(heads):
        canvas.text((x[depth], (top - 10.0) / 2), head, points, bold=True, role="head")
    for depth, level in enumerate(drawn.levels[1:], start=1):
        previous = drawn.levels[depth - 1]
        card = len(tree.states[drawn.variables[depth - 1]])
        for k, node in enumerate(level):
            parent = previous[k // card]
            start = (x[depth - 1] + widths[depth - 1] / 2, top + ROW * parent.row)
            end = (x[depth] - widths[depth] / 2, top + ROW * node.row)
            canvas.line([start, end], draw.EDGE, 1.0)
            if parameters is not None:
                value = parameters[drawn.variables[depth - 1]][parent.stage, k % card]
                share = 0.62
                at = (start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1]))
                text = f"{value:.2f}"
                canvas.box(at, (draw.text_size(text, 8.0)[0] + 3, 10.0), "white", "white", 0.0, 2.0, 1.0)
                canvas.text(at, text, 8.0, colour=draw.FAINT, role="probability")
    for depth, level in enumerate(drawn.levels):
        for node in level:
            at = (x[depth], top + ROW * node.row)
            canvas.box(at, (widths[depth], ROW - 5.0), node.colour or "white", draw.EDGE, 0.9, role="node box")
            if node.outcome:
                canvas.text(at, names[depth][node.outcome[-1]], points, role="node")
    y = height + 12.0
    for text in notes:
        canvas.text((0.0, y), text, draw.SMALL_POINTS, colour=draw.FAINT, align="left", role="note")
        y += line
    for entries, _ in key_rows:
        for at_x, colour, text in entries:
            canvas.box((at_x + 6.0, y), (12.0, 9.0), colour, draw.EDGE, 0.7, round_by=2.0)
            canvas.text((at_x + 17.0, y), text, draw.SMALL_POINTS, align="left", role="legend")
        y += line
    return canvas.figure


def _short(state: Any) -> str:
    line = one_line(state)
    return line if len(line) <= 18 else line[:17] + "…"


def _legend(tree: CStree, drawn: StagedTree, draw: Any) -> list[tuple[str, str]]:
    """Return the colours with what they stand for: the variable that follows, and the context."""
    entries = []
    for (v, stage), colour in drawn.colours.items():
        context = ", ".join(condition(one_line(u), one_line(x)) for u, x in tree.stagings[v].contexts[stage].items())
        entries.append((colour, draw.plain(f"{one_line(v)} | {context}" if context else f"{one_line(v)}, always")))
    return entries


def _key_rows(
    legend: list[tuple[str, str]], width: float, draw: Any
) -> list[tuple[list[tuple[float, str, str]], float]]:
    """Return the legend in rows of equal columns, each with its width."""
    if not legend:
        return []
    column = max(draw.text_size(text, draw.SMALL_POINTS)[0] for _, text in legend) + 32.0
    columns = max(1, int((width + 15.0) // column))
    rows = [legend[k : k + columns] for k in range(0, len(legend), columns)]
    return [
        ([(k * column, colour, text) for k, (colour, text) in enumerate(row)], len(row) * column - 15.0) for row in rows
    ]


def _broken(text: str, width: float, draw: Any) -> list[str]:
    """Return a sentence in lines of at most a width."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if draw.text_size(longer, draw.SMALL_POINTS)[0] > width and lines[-1]:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
