"""A CStree as text: small stagings as tables, large ones as decision trees that are cut where they get small."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from cslearn._wording import condition
from cslearn.stagings.trees import Node, decision_tree

if TYPE_CHECKING:
    from cslearn.cstree.model import CStree

__all__ = ["MOST_STAGES", "describe"]

# A variable with more stages is shown as a decision tree with this many branches, the largest.
MOST_STAGES = 16

Line = tuple[str, int | None]  # what stands on the left, and the stage whose probabilities stand beside it


def describe(
    tree: CStree,
    variables: Iterable[str] | None = None,
    *,
    most_stages: int | None = MOST_STAGES,
    hint: str = "tree.to_frame() has all",
) -> str:
    """Return variables of a CStree with their stages and probabilities.

    Parameters
    ----------
    tree : CStree
    variables : iterable of str, optional
        By default all, in the order of the tree.
    most_stages : int, optional
        A variable with more stages is shown as a decision tree, cut to this many branches: those with the largest
        share of the outcomes are opened first. None shows all stages.
    hint : str
        Where the others are to be found.

    Examples
    --------
    >>> from cslearn import random_cstree
    >>> from cslearn.cstree.text import describe
    >>> tree = random_cstree(6, beta=5, method="grow", max_stages=20, random_state=1)
    >>> print(describe(tree, [tree.order[-1]], most_stages=5))
    X4                                                     0     1
      X2=0
        X5=0
          X3=0: 3 stages
          X3=1: 3 stages
        X5=1: 5 stages
      X2=1
        X1=0: 6 stages
        X1=1: 3 stages
      ... and 20 more stages (tree.to_frame() has all)
    """
    shown = list(tree.order if variables is None else variables)
    parts = [_lines(tree, v, most_stages, hint) for v in shown]
    width = max(len(text) for part in parts for text, _ in part)
    out = []
    for v, part in zip(shown, parts, strict=True):
        names = [str(state) for state in tree.states[v]]
        columns = [max(len(name), 5) for name in names]
        for number, (text, stage) in enumerate(part):
            cells: list[str] = []
            if tree.parameters is not None and number == 0:
                cells = [name.rjust(w) for name, w in zip(names, columns, strict=True)]
            elif tree.parameters is not None and stage is not None:
                cells = [f"{x:.3f}".rjust(w) for x, w in zip(tree.parameters[v][stage], columns, strict=True)]
            out.append(" ".join([text.ljust(width), *cells]).rstrip())
    return "\n".join(out)


def _lines(tree: CStree, variable: str, most_stages: int | None, hint: str) -> list[Line]:
    contexts = tree.stagings[variable].contexts
    if most_stages is None or len(contexts) <= most_stages:
        return [(variable, None), *(("  " + (str(c) or "(always)"), stage) for stage, c in enumerate(contexts))]
    nodes = decision_tree(contexts)
    opened = _opened(tree, nodes, most_stages)
    lines: list[Line] = [(variable, None)]
    hidden = 0
    left: list[tuple[int, int, str]] = [(0, 0, "")]
    while left:
        number, depth, text = left.pop()
        node = nodes[number]
        if number in opened:
            if number:
                lines.append(("  " * depth + text, None))
            below = [(child, depth + 1, condition(node.variable, state)) for state, child in node.children.items()]
            left += reversed(below)
        elif len(node.stages) == 1:
            lines.append(("  " * depth + text, node.stages[0]))
        else:
            lines.append((f"{'  ' * depth}{text}: {len(node.stages)} stages", None))
            hidden += len(node.stages)
    if hidden:
        lines.append((f"  ... and {hidden} more stages ({hint})", None))
    return lines


def _opened(tree: CStree, nodes: list[Node], most: int) -> set[int]:
    """Return the nodes to open so that at most `most` branches are left, those with the largest share first."""
    opened: set[int] = set()
    branches = 1
    heap: list[Any] = [(-1.0, 0)]
    while heap:
        share, number = heappop(heap)
        node = nodes[number]
        if not node.children or branches + len(node.children) - 1 > max(most, len(nodes[0].children)):
            continue
        opened.add(number)
        branches += len(node.children) - 1
        for child in node.children.values():
            heappush(heap, (share / len(tree.states[node.variable]), child))
    return opened
