"""The decision tree that draws a staging: what makes deep stagings quick to walk and possible to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["Node", "decision_tree"]


class Node(NamedTuple):
    """A node of a decision tree.

    Attributes
    ----------
    variable : variable or None
        What the node splits on; None at a leaf.
    children : dict of state to int
        Positions of the nodes below.
    stages : list of int
        Positions of the contexts below the node. A leaf has several where no tree draws the rest of the staging.
    """

    variable: Any
    children: dict[Any, int]
    stages: list[int]


def decision_tree(contexts: Sequence[Mapping[Any, Any]]) -> list[Node]:
    """Return the nodes of a tree that draws a staging, the root first and every node before those below it.

    A node splits on the first variable of its first context that all its contexts share. In the contexts of a
    :class:`~cslearn.stagings.Staging` the variables come in the order of such a tree. O(m |S|) for m contexts then.

    Examples
    --------
    >>> from cslearn.stagings.trees import decision_tree
    >>> for node in decision_tree([{"a": 0}, {"a": 1, "b": 0}, {"a": 1, "b": 1}]):
    ...     print(node)
    Node(variable='a', children={0: 1, 1: 2}, stages=[0, 1, 2])
    Node(variable=None, children={}, stages=[0])
    Node(variable='b', children={0: 3, 1: 4}, stages=[1, 2])
    Node(variable=None, children={}, stages=[1])
    Node(variable=None, children={}, stages=[2])
    """
    nodes: list[Node] = []
    left: list[tuple[list[int], frozenset[Any]]] = [(list(range(len(contexts))), frozenset())]
    number = 0
    while number < len(left):
        part, used = left[number]
        number += 1
        free = (v for v in contexts[part[0]] if v not in used) if len(part) > 1 else ()
        shared = next((v for v in free if all(v in contexts[index] for index in part)), None)
        if shared is None:
            nodes.append(Node(None, {}, part))
            continue
        groups: dict[Any, list[int]] = {}
        for index in part:
            groups.setdefault(contexts[index][shared], []).append(index)
        nodes.append(Node(shared, {state: len(left) + k for k, state in enumerate(groups)}, part))
        left += [(group, used | {shared}) for group in groups.values()]
    return nodes
