"""Pictures as text: DOT for Graphviz and TikZ for LaTeX. Any name is safe in both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from cslearn._checked import checked
from cslearn._wording import condition
from cslearn.plots._words import context_lines, name_lines, one_line
from cslearn.plots.graph import Edge, checked_context, labels_in_context, line_widths, remaining
from cslearn.plots.layout import layered_layout
from cslearn.plots.staged_tree import MAX_LEAVES, staged_tree

if TYPE_CHECKING:
    from cslearn.cstree import CStree
    from cslearn.graphs import LDAG

__all__ = ["ldag_to_dot", "ldag_to_tikz", "staged_tree_to_dot", "staged_tree_to_tikz"]

LABEL = "B34700"


# ---------------------------------------------------------------- escaping
def dot_string(text: Any) -> str:
    r"""Return text as a string of DOT.

    Within quotes only the quote is special to DOT; labels also read backslashes, as in ``\n`` for a new line.

    Examples
    --------
    >>> from cslearn.plots.export import dot_string
    >>> print(dot_string('say "a\\b"'))
    "say \"a\\b\""
    """
    escaped = str(text).replace("\\", "\\\\").replace('"', '\\"').replace("\r", " ").replace("\n", "\\n")
    return f'"{escaped}"'


_TEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "≠": r"\(\neq\)",
    "\n": r"\\",
}


def tex_string(text: Any) -> str:
    r"""Return text with everything escaped that LaTeX would read as a command; ends of lines become ``\\``.

    Examples
    --------
    >>> from cslearn.plots.export import tex_string
    >>> print(tex_string("50 % of x_1 & {y}"))
    50 \% of x\_1 \& \{y\}
    """
    return "".join(_TEX.get(sign, sign) for sign in str(text))


# ---------------------------------------------------------------- LDAG
@checked
def ldag_to_dot(
    ldag: LDAG, *, context: Mapping[str, Any] | None = None, strength: Mapping[Edge, float] | Any = None
) -> str:
    """Return an LDAG in the language of Graphviz; see :func:`cslearn.plots.plot_ldag` for the parameters.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.plots import ldag_to_dot
    >>> print(ldag_to_dot(chickenpox_model().to_ldag()).splitlines()[4])
      n0 [label="background"];
    """
    fixed = checked_context(ldag, context)
    number = {v: f"n{k}" for k, v in enumerate(ldag.graph)}
    widths = line_widths(ldag.graph, strength)
    lines = [
        "digraph {",
        '  node [shape=box, style="rounded,filled", fillcolor="#EAF1F8", color="#35618A", fontname="sans-serif"];',
        '  edge [color="#43556A", fontname="sans-serif", fontsize=10];',
        "  rankdir=TB;",
    ]
    for v, name in number.items():
        held = f', fillcolor="#FBEBB5", xlabel={dot_string("= " + one_line(fixed[v]))}' if v in fixed else ""
        lines.append(f"  {name} [label={dot_string(one_line(v))}{held}];")
    for (u, v), contexts in labels_in_context(ldag, fixed).items():
        options = [f"penwidth={widths[u, v]:.2f}"] if strength is not None else []
        if contexts:
            text = "\n".join(context_lines(contexts, ldag.states))
            options += [f"label={dot_string(text)}", f'color="#{LABEL}"', f'fontcolor="#{LABEL}"', "style=dashed"]
        lines.append(f"  {number[u]} -> {number[v]}" + (f" [{', '.join(options)}];" if options else ";"))
    return "\n".join([*lines, "}", ""])


@checked
def ldag_to_tikz(
    ldag: LDAG,
    *,
    context: Mapping[str, Any] | None = None,
    strength: Mapping[Edge, float] | Any = None,
    standalone: bool = False,
) -> str:
    r"""Return an LDAG as a ``tikzpicture``; see :func:`cslearn.plots.plot_ldag` for the parameters.

    Nodes, curves and labels stand where the layered layout puts them. It needs the package ``tikz`` alone. Names with
    signs that the font of the document lacks need LuaLaTeX or XeLaTeX and another font.

    Parameters
    ----------
    ldag : LDAG
    context, strength
        As for :func:`cslearn.plots.plot_ldag`.
    standalone : bool
        Return a whole document instead of the picture alone.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.plots import ldag_to_tikz
    >>> print(ldag_to_tikz(chickenpox_model().to_ldag()).splitlines()[0])
    \begin{tikzpicture}[x=1pt, y=-1pt,
    """
    fixed = checked_context(ldag, context)
    drawn = labels_in_context(ldag, fixed)
    names = {v: name_lines(v) + (f"\n= {one_line(fixed[v])}" if v in fixed else "") for v in ldag.graph}
    labels = {edge: "\n".join(context_lines(own, ldag.states)) for edge, own in drawn.items() if own}
    sizes = {v: _text_size(name, 5.6, 12.5, 16.0, 11.0) for v, name in names.items()}
    label_sizes = {edge: _text_size(text, 4.4, 10.5, 6.0, 3.0) for edge, text in labels.items()}
    layout = layered_layout(remaining(ldag, drawn), sizes, label_sizes)
    widths = line_widths(ldag.graph, strength)
    number = {v: f"n{k}" for k, v in enumerate(ldag.graph)}
    lines = [
        r"\begin{tikzpicture}[x=1pt, y=-1pt,",
        r"  variable/.style={draw={rgb,255:red,53;green,97;blue,138}, fill={rgb,255:red,234;green,241;blue,248},"
        r" rounded corners=4pt, align=center, inner sep=4pt},",
        r"  fixed/.style={variable, fill={rgb,255:red,251;green,235;blue,181}},",
        r"  edge/.style={->, >=stealth, line width=0.8pt, draw={rgb,255:red,67;green,85;blue,106}},",
        r"  labelled/.style={edge, dashed, draw={rgb,255:red,179;green,71;blue,0}},",
        r"  label text/.style={fill=white, align=center, inner sep=1.5pt, font=\scriptsize,"
        r" text={rgb,255:red,179;green,71;blue,0}}]",
    ]
    for edge in drawn:
        style = "labelled" if edge in labels else "edge"
        thick = f", line width={widths[edge]:.2f}pt" if strength is not None else ""
        first, *rest = layout.curves[edge]
        pieces = [rest[k : k + 3] for k in range(0, len(rest), 3)]
        path = _at(first) + "".join(f" .. controls {_at(a)} and {_at(b)} .. {_at(c)}" for a, b, c in pieces)
        lines.append(rf"  \draw[{style}{thick}] {path};")
    for v, name in names.items():
        style = "fixed" if v in fixed else "variable"
        width, height = layout.sizes[v]
        box = f"minimum width={width:.2f}pt, minimum height={height:.2f}pt"
        lines.append(rf"  \node[{style}, {box}] ({number[v]}) at {_at(layout.positions[v])} {{{tex_string(name)}}};")
    for edge, text in labels.items():
        lines.append(rf"  \node[label text] at {_at(layout.labels[edge])} {{{tex_string(text)}}};")
    return _document([*lines, r"\end{tikzpicture}"], standalone)


def _text_size(text: str, per_sign: float, per_line: float, wide: float, high: float) -> tuple[float, float]:
    rows = text.split("\n")
    return per_sign * max(map(len, rows)) + wide, per_line * len(rows) + high


def _at(point: tuple[float, float]) -> str:
    return f"({point[0]:.2f}, {point[1]:.2f})"


def _document(lines: Iterable[str], standalone: bool) -> str:
    body = "\n".join(lines) + "\n"
    if not standalone:
        return body
    head = [r"\documentclass[tikz, border=4pt]{standalone}", r"\usepackage[T1]{fontenc}"]
    head += [r"\renewcommand{\familydefault}{\sfdefault}", r"\begin{document}"]
    return "\n".join(head) + f"\n{body}\\end{{document}}\n"


# ---------------------------------------------------------------- staged tree
@checked
def staged_tree_to_dot(
    tree: CStree, *, probabilities: bool = False, levels: int | None = None, max_leaves: int = MAX_LEAVES
) -> str:
    """Return the staged tree of a CStree in the language of Graphviz; see :func:`cslearn.plots.plot_staged_tree`.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.plots import staged_tree_to_dot
    >>> print(staged_tree_to_dot(chickenpox_model(), levels=1).splitlines()[-2])
      t0_0 -> t1_1 [label="urban"];
    """
    drawn = staged_tree(tree, levels, max_leaves)
    parameters = tree.needed_parameters() if probabilities else None
    lines = [
        "digraph {",
        "  rankdir=LR;",
        '  node [shape=circle, style=filled, label="", width=0.25, color="#43556A", fontname="sans-serif"];',
        '  edge [color="#43556A", arrowsize=0.6, fontname="sans-serif", fontsize=10];',
    ]
    for depth, level in enumerate(drawn.levels):
        for k, node in enumerate(level):
            tip = dot_string(_outcome(drawn.variables, node.outcome))
            lines.append(f'  t{depth}_{k} [fillcolor="{node.colour or "#FFFFFF"}", tooltip={tip}];')
    for depth, v in enumerate(drawn.variables):
        for k in range(len(drawn.levels[depth + 1])):
            parent, x = divmod(k, len(tree.states[v]))
            text = one_line(tree.states[v][x])
            if parameters is not None:
                text += f"\n{parameters[v][drawn.levels[depth][parent].stage, x]:.2f}"
            lines.append(f"  t{depth}_{parent} -> t{depth + 1}_{k} [label={dot_string(text)}];")
    return "\n".join([*lines, "}", ""])


def _outcome(variables: tuple[str, ...], outcome: tuple[Any, ...]) -> str:
    return ", ".join(condition(one_line(v), one_line(x)) for v, x in zip(variables, outcome, strict=False)) or "root"


@checked
def staged_tree_to_tikz(
    tree: CStree,
    *,
    probabilities: bool = False,
    levels: int | None = None,
    max_leaves: int = MAX_LEAVES,
    standalone: bool = False,
) -> str:
    """Return the staged tree of a CStree as a ``tikzpicture``; see :func:`cslearn.plots.plot_staged_tree`.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.plots import staged_tree_to_tikz
    >>> text = staged_tree_to_tikz(chickenpox_model())
    >>> text.count("node[outcome")
    31
    """
    drawn = staged_tree(tree, levels, max_leaves)
    parameters = tree.needed_parameters() if probabilities else None
    names = [["\u2009"], *([one_line(x) for x in tree.states[v]] for v in drawn.variables)]
    widths = [5.0 * max(map(len, own)) + 10.0 for own in names]
    x, left = [], 0.0
    for width in widths:
        x.append(left + width / 2)
        left += width + 50.0
    lines = [
        r"\begin{tikzpicture}[x=1pt, y=-1pt,",
        r"  outcome/.style={draw, rounded corners=2pt, inner sep=2pt, font=\scriptsize},",
        r"  chance/.style={midway, fill=white, inner sep=1pt, font=\tiny}]",
    ]
    for k, colour in enumerate(sorted(set(drawn.colours.values()))):
        lines.append(rf"  \definecolor{{stage{k}}}{{HTML}}{{{colour[1:]}}}")
    shade = {colour: f"stage{k}" for k, colour in enumerate(sorted(set(drawn.colours.values())))}
    for depth, level in enumerate(drawn.levels):
        for k, node in enumerate(level):
            fill = shade[node.colour] if node.colour else "white"
            text = tex_string(one_line(node.outcome[-1])) if node.outcome else ""
            at = _at((x[depth], 16.0 * node.row))
            box = f"minimum width={widths[depth]:.2f}pt, minimum height=12pt"
            lines.append(rf"  \node[outcome, fill={fill}, {box}] (t{depth}-{k}) at {at} {{{text}}};")
    for depth, v in enumerate(drawn.variables):
        for k in range(len(drawn.levels[depth + 1])):
            parent, state = divmod(k, len(tree.states[v]))
            chance = ""
            if parameters is not None:
                value = parameters[v][drawn.levels[depth][parent].stage, state]
                chance = f" node[chance] {{{value:.2f}}}"
            lines.append(rf"  \draw[->] (t{depth}-{parent}.east) -- (t{depth + 1}-{k}.west){chance};")
    bottom = 16.0 * len(drawn.levels[-1]) + 8.0
    for depth, v in enumerate(drawn.variables, start=1):
        at = _at((x[depth], bottom))
        lines.append(rf"  \node[anchor=north, font=\scriptsize\bfseries] at {at} {{{tex_string(one_line(v))}}};")
    return _document([*lines, r"\end{tikzpicture}"], standalone)
