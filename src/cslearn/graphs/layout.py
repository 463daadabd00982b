"""Where the nodes and edges of a DAG are drawn: layers from top to bottom, in the manner of Sugiyama.

Each connected component is laid out on its own and the components are packed in rows. Within a component

1. every node gets a layer below those of its parents, so that the edges pass as few layers as possible in total;
2. an edge that passes through layers gets a bend in each of them, which takes part in what follows like a narrow node;
3. layers are ordered by the barycentres of the neighbours in the layer before, down and up in turn, then by exchanging
   neighbours; of all orders met, the one with the fewest crossings is kept;
4. the horizontal places of a layer minimise the squared distance to the means of their neighbours, under the condition
   that nothing overlaps. This is an isotonic regression, solved exactly by pooling adjacent violators.

Nothing is random, so the same graph is always drawn in the same way.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import networkx as nx

__all__ = ["Layout", "layered_layout"]

Point = tuple[float, float]
Size = tuple[float, float]

SWEEPS = 12
BEND_WIDTH = 12.0
# Edges between bends count more than edges between nodes, so that long edges run straight.
PULL = (1.0, 3.0, 10.0)


@dataclass(frozen=True)
class Layout:
    """The places of a drawing, in units of the sizes of its nodes; y grows downwards, and all begins at zero.

    Attributes
    ----------
    places : mapping of node to (x, y)
        The centres of the nodes.
    bends : mapping of (parent, child) to tuple of (x, y)
        The points that an edge passes on its way, from parent to child; empty for an edge to the next layer.
    layers : mapping of node to int
        The layer of each node in its component, 0 at the top.
    size : (width, height)
    """

    places: Mapping[Any, Point]
    bends: Mapping[tuple[Any, Any], tuple[Point, ...]]
    layers: Mapping[Any, int]
    size: Size


def layered_layout(
    graph: nx.DiGraph,
    sizes: Mapping[Any, Size] | None = None,
    *,
    gap: Size = (28.0, 64.0),
) -> Layout:
    """Lay out a DAG in layers, parents above their children.

    Parameters
    ----------
    graph : networkx.DiGraph
        Without cycles; edges from parent to child.
    sizes : mapping of node to (width, height), optional
        By default every node is 80 wide and 32 high.
    gap : (horizontal, vertical)
        The space between neighbours of a layer, and between layers.

    Returns
    -------
    Layout

    Examples
    --------
    >>> import networkx as nx
    >>> from cslearn.graphs.layout import layered_layout
    >>> layout = layered_layout(nx.DiGraph([("a", "b"), ("b", "c"), ("a", "c")]))
    >>> layout.layers
    {'a': 0, 'b': 1, 'c': 2}
    >>> len(layout.bends["a", "b"]), len(layout.bends["a", "c"])
    (0, 1)
    """
    given = dict.fromkeys(graph, (80.0, 32.0)) if sizes is None else sizes
    position = {v: i for i, v in enumerate(graph)}
    parts = []
    for component in nx.weakly_connected_components(graph):
        nodes = sorted(component, key=position.__getitem__)
        parts.append(_component(graph.subgraph(nodes), nodes, given, gap))
    return _packed(parts, gap, list(graph), list(graph.edges))


# ---------------------------------------------------------------- one component
def _component(graph: nx.DiGraph, nodes: Sequence[Any], sizes: Mapping[Any, Size], gap: Size) -> Layout:
    parents = {v: [u for u in nodes if graph.has_edge(u, v)] for v in nodes}
    layer_of = _layers(nodes, parents)
    # Bends are keys of their own: (parent, child, layer).
    above: dict[Hashable, list[Hashable]] = {v: [] for v in nodes}
    bends: dict[tuple[Any, Any], list[Hashable]] = {}
    level: dict[Hashable, int] = dict(layer_of)
    for child in nodes:
        for parent in parents[child]:
            chain: list[Hashable] = [_Bend(parent, child, t) for t in range(layer_of[parent] + 1, layer_of[child])]
            bends[parent, child] = chain
            for upper, lower in zip([parent, *chain], [*chain, child], strict=True):
                above.setdefault(lower, []).append(upper)
            level.update({bend: layer_of[parent] + 1 + t for t, bend in enumerate(chain)})
    below: dict[Hashable, list[Hashable]] = {v: [] for v in above}
    for lower, uppers in above.items():
        for upper in uppers:
            below[upper].append(lower)
    layers: list[list[Hashable]] = [[] for _ in range(max(level.values()) + 1)]
    for v in _depth_first(above, below, level):
        layers[level[v]].append(v)
    layers = _ordered(layers, above, below)
    widths = {v: BEND_WIDTH if isinstance(v, _Bend) else sizes[v][0] for v in level}
    x = _horizontal(layers, above, below, widths, gap[0])
    heights = [max((sizes[v][1] for v in layer if not isinstance(v, _Bend)), default=0.0) for layer in layers]
    y, centres = 0.0, []
    for height in heights:
        centres.append(y + height / 2)
        y += height + gap[1]
    left = min(x[v] - widths[v] / 2 for v in x)
    right = max(x[v] + widths[v] / 2 for v in x)
    point = {v: (x[v] - left, centres[level[v]]) for v in x}
    return Layout(
        {v: point[v] for v in nodes},
        {edge: tuple(point[bend] for bend in chain) for edge, chain in bends.items()},
        layer_of,
        (right - left, y - gap[1]),
    )


@dataclass(frozen=True)
class _Bend:
    parent: Any
    child: Any
    layer: int


def _layers(nodes: Sequence[Any], parents: Mapping[Any, list[Any]]) -> dict[Any, int]:
    """Return the layers that make the edges shortest in total.

    It is a linear programme whose matrix, the incidence of the edges, is totally unimodular, so that the solution
    of the simplex method is whole.
    """
    edges = [(u, v) for v in nodes for u in parents[v]]
    if not edges:
        return dict.fromkeys(nodes, 0)
    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    index = {v: i for i, v in enumerate(nodes)}
    ends = np.array([(index[u], index[v]) for u, v in edges])
    rows = np.arange(len(edges))
    signs = np.ones(len(edges))
    incidence = csr_array(
        (np.concatenate([signs, -signs]), (np.concatenate([rows, rows]), ends.T.ravel())), (len(edges), len(nodes))
    )
    surplus = np.asarray(-incidence.sum(axis=0)).ravel()
    solution = linprog(surplus, A_ub=incidence, b_ub=-signs, bounds=(0, len(nodes)), method="highs-ds")
    layers = np.rint(solution.x - solution.x.min()).astype(int)
    return {v: int(layers[i]) for v, i in index.items()}


def _depth_first(
    above: Mapping[Hashable, list[Hashable]], below: Mapping[Hashable, list[Hashable]], level: Mapping[Hashable, int]
) -> list[Hashable]:
    """Return the nodes so that what is connected stands together."""
    seen: dict[Hashable, None] = {}
    for root in sorted(above, key=level.__getitem__):
        stack = [root]
        while stack:
            v = stack.pop()
            if v not in seen:
                seen[v] = None
                stack += [w for w in reversed([*below[v], *above[v]]) if w not in seen]
    return list(seen)


Neighbours = Mapping[Hashable, list[Hashable]]


def _ordered(layers: list[list[Hashable]], above: Neighbours, below: Neighbours) -> list[list[Hashable]]:
    layers = [list(layer) for layer in layers]
    best, fewest = [list(layer) for layer in layers], _crossings(layers, above)
    for sweep in range(2 * SWEEPS):
        down = sweep % 2 == 0
        for t in range(1, len(layers)) if down else range(len(layers) - 2, -1, -1):
            fixed = {v: i for i, v in enumerate(layers[t - 1 if down else t + 1])}
            neighbours = above if down else below
            here = {v: float(i) for i, v in enumerate(layers[t])}
            for v in layers[t]:
                if neighbours[v]:
                    here[v] = sum(fixed[u] for u in neighbours[v]) / len(neighbours[v])
            layers[t].sort(key=here.__getitem__)
        _exchange(layers, above, below)
        crossings = _crossings(layers, above)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
        if not fewest:
            break
    return best


def _crossings(layers: Sequence[Sequence[Hashable]], above: Neighbours) -> int:
    """Return how many pairs of edges cross: pairs whose upper ends are in the other order than their lower ends."""
    crossings = 0
    for upper, lower in pairwise(layers):
        place = {v: i for i, v in enumerate(upper)}
        ends: list[int] = []
        for v in lower:
            mine = sorted(place[u] for u in above[v])
            crossings += sum(len(ends) - bisect_right(ends, end) for end in mine)
            for end in mine:
                insort(ends, end)
    return crossings


def _exchange(layers: list[list[Hashable]], above: Neighbours, below: Neighbours) -> None:
    """Exchange neighbours of a layer wherever that removes crossings."""
    for _ in range(4):
        improved = False
        for t, layer in enumerate(layers):
            sides = []
            for other, neighbours in ((t - 1, above), (t + 1, below)):
                if 0 <= other < len(layers):
                    place = {v: i for i, v in enumerate(layers[other])}
                    sides.append({v: sorted(place[u] for u in neighbours[v]) for v in layer})
            for i in range(len(layer) - 1):
                left, right = layer[i], layer[i + 1]
                now = sum(_inversions(side[left], side[right]) for side in sides)
                then = sum(_inversions(side[right], side[left]) for side in sides)
                if then < now:
                    layer[i], layer[i + 1] = right, left
                    improved = True
        if not improved:
            break


def _inversions(left: Sequence[int], right: Sequence[int]) -> int:
    return sum(len(left) - bisect_right(left, end) for end in right)


def _horizontal(
    layers: Sequence[Sequence[Hashable]],
    above: Neighbours,
    below: Neighbours,
    widths: Mapping[Hashable, float],
    gap: float,
) -> dict[Hashable, float]:
    x: dict[Hashable, float] = {}
    for layer in layers:
        at = 0.0
        for v in layer:
            x[v] = at + widths[v] / 2
            at += widths[v] + gap
        for v in layer:
            x[v] -= (at - gap) / 2
    for sweep in range(4 * SWEEPS):
        # At last both sides pull at once, so that neither is favoured.
        sides = [above, below] if sweep >= 3 * SWEEPS else [above] if sweep % 2 == 0 else [below]
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wanted, weights = [], []
            for v in layer:
                pulls = [(x[u], PULL[isinstance(u, _Bend) + isinstance(v, _Bend)]) for side in sides for u in side[v]]
                weight = sum(w for _, w in pulls)
                wanted.append(sum(at * w for at, w in pulls) / weight if pulls else x[v])
                weights.append(weight if pulls else 0.1)
            apart = [(widths[u] + widths[v]) / 2 + gap for u, v in pairwise(layer)]
            x.update(zip(layer, separated(wanted, weights, apart), strict=True))
    return x


def separated(wanted: Sequence[float], weights: Sequence[float], apart: Sequence[float]) -> list[float]:
    """Return the places nearest to the wanted ones, by weighted squares, with each at least `apart` after the last.

    Examples
    --------
    >>> from cslearn.graphs.layout import separated
    >>> separated([0.0, 1.0, 10.0], [1.0, 1.0, 1.0], [3.0, 3.0])
    [-1.0, 2.0, 10.0]
    """
    offsets = [0.0]
    for distance in apart:
        offsets.append(offsets[-1] + distance)
    blocks: list[tuple[float, float, int]] = []  # mean, weight, members
    for want, weight, offset in zip(wanted, weights, offsets, strict=True):
        mean, total, members = want - offset, weight, 1
        while blocks and blocks[-1][0] > mean:
            other, more, count = blocks.pop()
            mean = (mean * total + other * more) / (total + more)
            total, members = total + more, members + count
        blocks.append((mean, total, members))
    means = [mean for mean, _, members in blocks for _ in range(members)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]


# ---------------------------------------------------------------- all components
def _packed(parts: Sequence[Layout], gap: Size, nodes: list[Any], edges: list[tuple[Any, Any]]) -> Layout:
    """Put the components side by side in rows, large ones first, in a frame that is wider than high."""
    space = (2 * gap[0], gap[1])
    area = sum((part.size[0] + space[0]) * (part.size[1] + space[1]) for part in parts)
    width = max([(1.8 * area) ** 0.5, *(part.size[0] for part in parts)])
    places: dict[Any, Point] = {}
    bends: dict[tuple[Any, Any], tuple[Point, ...]] = {}
    layers: dict[Any, int] = {}
    # A row is as high as its first component; under a lower one there is place for others.
    left = top = row = column = used = widest = 0.0
    for part in sorted(parts, key=lambda part: (-part.size[1], -part.size[0])):
        if used and part.size[0] <= column and used + part.size[1] <= row:
            dx, dy = left, top + used
        else:
            if used:
                left += column + space[0]
            if left + part.size[0] > width:
                left, top, row = 0.0, top + row + space[1], 0.0
            dx, dy = left, top
            column, used = part.size[0], 0.0
            row = max(row, part.size[1])
            widest = max(widest, left + column)
        used += part.size[1] + space[1]
        places.update({v: (x + dx, y + dy) for v, (x, y) in part.places.items()})
        bends.update({e: tuple((x + dx, y + dy) for x, y in points) for e, points in part.bends.items()})
        layers.update(part.layers)
    return Layout(
        {v: places[v] for v in nodes},
        {edge: bends[edge] for edge in edges},
        {v: layers[v] for v in nodes},
        (widest, top + row),
    )
