"""Layered positions for the nodes of a DAG, and curves for its edges.

This is the method of Sugiyama, Tagawa and Toda, in five steps.

1. *Components* are drawn one by one and packed into rows.
2. *Layers*: each node gets a layer below those of its parents so that the edges are short in total. That is a linear
   program whose matrix is totally unimodular, so its corner solutions are whole numbers. Nodes are then pushed further
   down where a layer would be wider than the page.
3. An edge over several layers is cut into pieces by *virtual nodes*, one for each layer that it passes. If edges have
   labels then there is a layer between each two layers of nodes, and a label is a virtual node of its own size: room is
   kept for it as for a node.
4. *Order within layers*: sweeps by barycentres and exchanges of neighbours, keeping the order with fewest crossings.
5. *Coordinates*: the squared horizontal lengths of the pieces are minimised while neighbours keep their distance.
   Within one layer this is an isotonic regression, so sweeps over the layers descend to the minimum.

Boxes are in layers only, so an edge is free between them and has to pass a gate in each layer: the room between what is
to its left and to its right. Its curve is a string pulled tight through the gates, made smooth. Its height is the
parameter, so it never turns back.
All positions are in points (1/72 inch) from the top left corner, downwards; nothing is random.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import TYPE_CHECKING, Any

from cslearn._checked import checked
from cslearn.errors import InputError

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["Layout", "layered_layout"]

Point = tuple[float, float]
Size = tuple[float, float]
Edge = tuple[Any, Any]

NODE_GAP = 18.0  # between boxes of a layer
EDGE_GAP = 11.0  # between an edge and what is beside it
LAYER_GAP = 30.0  # least height between layers of nodes
LABEL_GAP = 15.0  # least height between a layer of nodes and one of labels
COMPONENT_GAP = 34.0
PORT_GAP = 9.0  # between the ends of edges at a box
MARGIN = 6.0  # between an edge and a box that it passes
FAR = 1e4  # where nothing is in the way
EDGE_ROOM = 3.0  # half of what edges keep from each other where there is room
SWEEPS = 24
PATIENCE = 8  # sweeps without fewer crossings
EXCHANGES = 4
COORDINATE_SWEEPS = 60


@dataclass(frozen=True)
class Layout:
    """Where the nodes, labels and edges of a graph are, in points from the top left corner, downwards.

    Attributes
    ----------
    positions : dict of node to (x, y)
        Centres of the nodes.
    sizes : dict of node to (width, height)
    labels : dict of edge to (x, y)
        Centres of the labels of the edges that have one.
    bends : dict of edge to tuple of (x, y)
        The points between its two nodes that an edge passes.
    curves : dict of edge to tuple of (x, y)
        Cubic Bézier curves from the lower side of the parent's box to the upper side of the child's: the start, and
        three points for each piece.
    size : (width, height)
        Of the whole picture.

    Examples
    --------
    >>> import networkx as nx
    >>> from cslearn.plots import layered_layout
    >>> layout = layered_layout(nx.DiGraph([("a", "b")]), sizes={"a": (40, 20), "b": (60, 20)})
    >>> layout.positions, layout.size
    ({'a': (30.0, 10.0), 'b': (30.0, 60.0)}, (60.0, 70.0))
    """

    positions: dict[Any, Point]
    sizes: dict[Any, Size]
    labels: dict[Edge, Point]
    bends: dict[Edge, tuple[Point, ...]]
    curves: dict[Edge, tuple[Point, ...]]
    size: Size


@checked
def layered_layout(
    graph: nx.DiGraph,
    sizes: Mapping[Any, Size] | None = None,
    label_sizes: Mapping[Edge, Size] | None = None,
    *,
    max_width: float | None = None,
) -> Layout:
    """Return positions for the nodes of a DAG, parents above children, and curves for its edges.

    Parameters
    ----------
    graph : networkx.DiGraph
        Without cycles.
    sizes : mapping of node to (width, height), optional
        The boxes of the nodes, in points; by default large enough for their names in a font of 11 points.
    label_sizes : mapping of edge to (width, height), optional
        The boxes of the labels of the edges that have one.
    max_width : float, optional
        How wide the picture should be, in points: layers that are wider are broken. A single box, or the edges that
        pass a layer, can still make it wider. By default it grows with the number of nodes.

    Returns
    -------
    Layout

    Examples
    --------
    >>> import networkx as nx
    >>> from cslearn.plots import layered_layout
    >>> layout = layered_layout(nx.DiGraph([("a", "b"), ("b", "c"), ("a", "c")]))
    >>> layout.positions["a"][1] < layout.positions["b"][1] < layout.positions["c"][1]
    True
    >>> len(layout.bends["a", "c"])  # it passes the layer of b
    1
    """
    import networkx as nx

    if not nx.is_directed_acyclic_graph(graph):
        cycle = " -> ".join(str(edge[0]) for edge in nx.find_cycle(graph))
        raise InputError(f"only graphs without cycles have layers, but this one has {cycle} -> ...")
    boxes = {v: (7.0 * len(str(v)) + 16.0, 24.0) for v in graph} | dict(sizes or {})
    labelled = {edge: size for edge, size in (label_sizes or {}).items() if graph.has_edge(*edge)}
    if max_width is None:
        area = sum((w + NODE_GAP) * (h + 2.2 * LAYER_GAP) for w, h in boxes.values())
        area += sum((w + NODE_GAP) * (h + 2 * LABEL_GAP) for w, h in labelled.values())
        max_width = max(420.0, 1.5 * sqrt(area))
    place = {v: index for index, v in enumerate(graph)}
    groups = [sorted(group, key=place.__getitem__) for group in nx.weakly_connected_components(graph)]
    groups.sort(key=lambda group: (-len(group), place[group[0]]))
    parts = [_component(graph, group, boxes, labelled, max_width) for group in groups]
    return _packed(parts, boxes, max_width)


# ---------------------------------------------------------------- packing
def _packed(parts: list[Layout], boxes: dict[Any, Size], max_width: float) -> Layout:
    """Return the components side by side, in rows."""
    width = max([max_width, *(part.size[0] for part in parts)])
    rows: list[list[Layout]] = []
    for part in parts:
        used = sum(other.size[0] + COMPONENT_GAP for other in rows[-1]) if rows else 0.0
        # Single nodes go to rows of their own, below.
        single = len(part.positions) == 1
        fits = rows and used + part.size[0] <= width and single == (len(rows[-1][0].positions) == 1)
        if fits:
            rows[-1].append(part)
        else:
            rows.append([part])
    whole = Layout({}, dict(boxes), {}, {}, {}, (0.0, 0.0))
    spans = [sum(part.size[0] for part in row) + COMPONENT_GAP * (len(row) - 1) for row in rows]
    widest = max(spans, default=0.0)
    top = 0.0
    for row, span in zip(rows, spans, strict=True):
        left = (widest - span) / 2
        for part in row:
            _shift_into(whole, part, left, top)
            left += part.size[0] + COMPONENT_GAP
        top += max(part.size[1] for part in row) + COMPONENT_GAP
    return Layout(
        whole.positions, whole.sizes, whole.labels, whole.bends, whole.curves, (widest, max(top - COMPONENT_GAP, 0.0))
    )


def _shift_into(whole: Layout, part: Layout, dx: float, dy: float) -> None:
    def moved(points: tuple[Point, ...]) -> tuple[Point, ...]:
        return tuple((x + dx, y + dy) for x, y in points)

    whole.positions.update((v, moved((point,))[0]) for v, point in part.positions.items())
    whole.labels.update((edge, moved((point,))[0]) for edge, point in part.labels.items())
    whole.bends.update((edge, moved(points)) for edge, points in part.bends.items())
    whole.curves.update((edge, moved(points)) for edge, points in part.curves.items())


# ---------------------------------------------------------------- layers
def _layers(nodes: list[Any], edges: list[Edge], boxes: Mapping[Any, Size], max_width: float) -> dict[Any, int]:
    """Return the layer of each node: short edges, and layers of at most `max_width` where that can be."""
    if len(nodes) == 1:
        return {nodes[0]: 0}
    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    place = {v: index for index, v in enumerate(nodes)}
    n, m = len(nodes), len(edges)
    rows = np.repeat(np.arange(m), 2)
    columns = np.array([[place[u], place[v]] for u, v in edges]).ravel()
    matrix = coo_array((np.tile([1.0, -1.0], m), (rows, columns)), shape=(m, n))
    # A small price on depth, different for each node, makes the solution unique, whatever the solver.
    cost = 1e-3 * (1 + np.arange(n) / n)
    np.add.at(cost, columns[1::2], 1.0)
    np.add.at(cost, columns[0::2], -1.0)
    solution = linprog(cost, A_ub=matrix.tocsr(), b_ub=-np.ones(m), bounds=(0, n))
    wanted = dict(zip(nodes, (round(y) for y in solution.x), strict=True))
    return _narrowed(nodes, edges, wanted, boxes, max_width)


def _narrowed(
    nodes: list[Any], edges: list[Edge], wanted: dict[Any, int], boxes: Mapping[Any, Size], max_width: float
) -> dict[Any, int]:
    """Return the layers with nodes pushed down where a layer is too wide; those with most below them stay."""
    parents: dict[Any, list[Any]] = {v: [] for v in nodes}
    children: dict[Any, list[Any]] = {v: [] for v in nodes}
    for u, v in edges:
        parents[v].append(u)
        children[u].append(v)
    below: dict[Any, int] = {}
    for v in sorted(nodes, key=wanted.__getitem__, reverse=True):
        below[v] = 1 + max((below[c] for c in children[v]), default=0)
    place = {v: index for index, v in enumerate(nodes)}
    layer: dict[Any, int] = {}
    used: dict[int, float] = {}
    for v in sorted(nodes, key=lambda v: (wanted[v], -below[v], place[v])):
        y = max([wanted[v], *(layer[u] + 1 for u in parents[v])])
        width = boxes[v][0] + NODE_GAP
        while used.get(y, 0.0) > 0 and used[y] + width > max_width:
            y += 1
        layer[v] = y
        used[y] = used.get(y, 0.0) + width
    numbers = {y: index for index, y in enumerate(sorted(set(layer.values())))}
    return {v: numbers[y] for v, y in layer.items()}


# ---------------------------------------------------------------- one component
class _Items:
    """The items of the layers: real nodes and the virtual nodes of edges, by number."""

    def __init__(self) -> None:
        self.layer: list[int] = []
        self.width: list[float] = []
        self.height: list[float] = []
        self.is_box: list[bool] = []
        self.up: list[list[int]] = []
        self.down: list[list[int]] = []
        self.pull: dict[tuple[int, int], float] = {}

    def add(self, layer: int, size: Size, is_box: bool) -> int:
        self.layer.append(layer)
        self.width.append(size[0])
        self.height.append(size[1])
        self.is_box.append(is_box)
        self.up.append([])
        self.down.append([])
        return len(self.layer) - 1

    def join(self, upper: int, lower: int, pull: float) -> None:
        self.down[upper].append(lower)
        self.up[lower].append(upper)
        self.pull[upper, lower] = self.pull[lower, upper] = pull


def _component(
    graph: nx.DiGraph,
    nodes: list[Any],
    boxes: Mapping[Any, Size],
    labelled: Mapping[Edge, Size],
    max_width: float,
) -> Layout:
    members = set(nodes)
    edges = [(u, v) for u, v in graph.edges if u in members]
    step = 2 if any(edge in labelled for edge in edges) else 1
    layer = {v: step * y for v, y in _layers(nodes, edges, boxes, max_width).items()}
    items = _Items()
    number = {v: items.add(layer[v], boxes[v], True) for v in nodes}
    chains: dict[Edge, list[int]] = {}
    label_item: dict[Edge, int] = {}
    for u, v in edges:
        between = list(range(layer[u] + 1, layer[v]))
        # A label sits in a layer of labels, as near the middle of its edge as can be.
        home = None
        if (u, v) in labelled:
            home = min((y for y in between if y % 2), key=lambda y: (abs(2 * y - layer[u] - layer[v]), y))
        chain = [number[u]]
        for y in between:
            size = labelled[u, v] if y == home else (0.0, 0.0)
            chain.append(items.add(y, size, y == home))
            if y == home:
                label_item[u, v] = chain[-1]
        chain.append(number[v])
        for upper, lower in pairwise(chain):
            items.join(upper, lower, float(len(chain) - 1))
        chains[u, v] = chain
    layers = _ordered(items)
    x = _coordinates(items, layers)
    half = [max(items.height[item] for item in row) / 2 for row in layers]
    centre = _heights(items, layers, x, half, step)
    left = min(x[i] - items.width[i] / 2 for i in range(len(x)))
    x = [value - left for value in x]
    width = max(x[i] + items.width[i] / 2 for i in range(len(x)))
    points = [(x[i], centre[items.layer[i]]) for i in range(len(x))]
    curves = _curves(items, layers, points, half, chains)
    return Layout(
        {v: points[i] for v, i in number.items()},
        {},
        {edge: points[i] for edge, i in label_item.items()},
        {edge: tuple(points[i] for i in chain[1:-1]) for edge, chain in chains.items()},
        curves,
        (width, centre[-1] + half[-1]),
    )


# ---------------------------------------------------------------- order within layers
def _crossings(upper: list[int], lower: list[int], items: _Items, place: list[int]) -> int:
    """Return how many pieces of edges cross between two layers."""
    seen: list[int] = []
    total = 0
    for item in upper:
        ends = sorted(place[other] for other in items.down[item])
        total += sum(len(seen) - bisect_right(seen, end) for end in ends)
        for end in ends:
            insort(seen, end)
    return total


def _ordered(items: _Items) -> list[list[int]]:
    """Return the items of each layer from left to right."""
    layers: list[list[int]] = [[] for _ in range(max(items.layer) + 1)]
    seen = [False] * len(items.layer)
    # The first order is that of a search from the top, so that what belongs together starts together.
    for root in sorted(range(len(seen)), key=lambda i: (items.layer[i], i)):
        stack = [root]
        while stack:
            item = stack.pop()
            if not seen[item]:
                seen[item] = True
                layers[items.layer[item]].append(item)
                stack += [other for other in reversed(items.down[item] + items.up[item]) if not seen[other]]
    place = [0] * len(seen)

    def number(row: list[int]) -> None:
        for position, item in enumerate(row):
            place[item] = position

    def total() -> int:
        return sum(_crossings(a, b, items, place) for a, b in pairwise(layers))

    for row in layers:
        number(row)
    best, best_layers, last = total(), [list(row) for row in layers], 0
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for index in range(1, len(layers)) if down else range(len(layers) - 2, -1, -1):
            _by_barycentre(layers[index], items.up if down else items.down, place, sweep % 4 >= 2)
            number(layers[index])
        _exchange(layers, items, place)
        now = total()
        if now < best:
            best, best_layers, last = now, [list(row) for row in layers], sweep
        if best == 0 or sweep - last >= PATIENCE:
            break
    return best_layers


def _by_barycentre(row: list[int], neighbours: list[list[int]], place: list[int], flip: bool) -> None:
    """Sort a layer by the mean place of the neighbours; items without any stay where they are."""
    keys = {i: sum(place[j] for j in neighbours[i]) / len(neighbours[i]) for i in row if neighbours[i]}
    ties = {i: -position if flip else position for position, i in enumerate(row)}
    moved = iter(sorted(keys, key=lambda i: (keys[i], ties[i])))
    row[:] = [next(moved) if i in keys else i for i in row]


def _exchange(layers: list[list[int]], items: _Items, place: list[int]) -> None:
    """Exchange neighbours in a layer while that removes crossings."""

    def gain(left: int, right: int) -> int:
        """Return how many crossings an exchange removes."""
        removed = 0
        for side in (items.up, items.down):
            for one in side[left]:
                for other in side[right]:
                    if place[one] > place[other]:
                        removed += 1
                    elif place[one] < place[other]:
                        removed -= 1
        return removed

    improved = True
    rounds = 0
    while improved and rounds < EXCHANGES:
        improved, rounds = False, rounds + 1
        for row in layers:
            for k in range(len(row) - 1):
                left, right = row[k], row[k + 1]
                if gain(left, right) > 0:
                    row[k], row[k + 1] = right, left
                    place[left], place[right] = k + 1, k
                    improved = True


# ---------------------------------------------------------------- coordinates
def _separation(items: _Items, left: int, right: int) -> float:
    gap = NODE_GAP if items.is_box[left] and items.is_box[right] else EDGE_GAP
    return (items.width[left] + items.width[right]) / 2 + gap


def _coordinates(items: _Items, layers: list[list[int]]) -> list[float]:
    """Return the horizontal centre of each item."""
    offsets: list[list[float]] = []
    x = [0.0] * len(items.layer)
    for row in layers:
        at = [0.0]
        for left, right in pairwise(row):
            at.append(at[-1] + _separation(items, left, right))
        offsets.append(at)
        for item, offset in zip(row, at, strict=True):
            x[item] = offset - at[-1] / 2
    pulls = [
        [(other, items.pull[item, other]) for other in items.up[item] + items.down[item]] for item in range(len(x))
    ]
    # A node alone in its component has no neighbours and stays.
    weight = [sum(pull for _, pull in own) or 1.0 for own in pulls]
    order = [*range(len(layers)), *range(len(layers) - 2, 0, -1)]
    for _ in range(COORDINATE_SWEEPS):
        largest = 0.0
        for index in order:
            row, at = layers[index], offsets[index]
            targets = []
            for item, offset in zip(row, at, strict=True):
                mean = 0.0
                for other, pull in pulls[item]:
                    mean += pull * x[other]
                targets.append(mean / weight[item] - offset)
            weights = [weight[item] for item in row]
            for item, offset, value in zip(row, at, _isotonic(targets, weights), strict=True):
                largest = max(largest, abs(x[item] - value - offset))
                x[item] = value + offset
        if largest < 0.05:
            break
    return x


def _isotonic(targets: list[float], weights: list[float]) -> list[float]:
    """Return the non-decreasing values nearest to the targets in weighted squares: pool adjacent violators."""
    blocks: list[tuple[float, float, int]] = []
    for target, weight in zip(targets, weights, strict=True):
        mean, total, count = target, weight, 1
        while blocks and blocks[-1][0] > mean:
            other, other_total, other_count = blocks.pop()
            mean = (mean * total + other * other_total) / (total + other_total)
            total, count = total + other_total, count + other_count
        blocks.append((mean, total, count))
    return [mean for mean, _, count in blocks for _ in range(count)]


def _heights(items: _Items, layers: list[list[int]], x: list[float], half: list[float], step: int) -> list[float]:
    """Return the vertical centre of each layer: further apart where edges run far to the side."""
    y = [half[0]]
    for index in range(1, len(layers)):
        spread = max((abs(x[i] - x[j]) for i in layers[index - 1] for j in items.down[i]), default=0.0)
        least = LAYER_GAP if step == 1 else LABEL_GAP
        gap = max(least, min(spread / 5, 2.2 * least))
        y.append(y[-1] + half[index - 1] + gap + half[index])
    return y


# ---------------------------------------------------------------- curves
Gate = tuple[float, float, float]  # height, and the least and largest x at which an edge may pass there


def _curves(
    items: _Items,
    layers: list[list[int]],
    points: list[Point],
    half: list[float],
    chains: Mapping[Edge, list[int]],
) -> dict[Edge, tuple[Point, ...]]:
    place = {item: k for row in layers for k, item in enumerate(row)}
    gates = {edge: _gates(items, layers, place, points, half, chain) for edge, chain in chains.items()}
    # Edges are first drawn from centre to centre; the directions they come from tell the order of their ends at a box.
    starts: dict[int, list[tuple[float, Edge]]] = {}
    ends: dict[int, list[tuple[float, Edge]]] = {}
    for edge, chain in chains.items():
        string = _taut([_fixed(points[chain[0]]), *gates[edge], _fixed(points[chain[-1]])])
        starts.setdefault(chain[0], []).append((_slope(string[0], string[1]), edge))
        ends.setdefault(chain[-1], []).append((-_slope(string[-2], string[-1]), edge))
    first = {edge: x for item, group in starts.items() for edge, x in _ports(items, points, item, group)}
    last = {edge: x for item, group in ends.items() for edge, x in _ports(items, points, item, group)}
    curves = {}
    for edge, chain in chains.items():
        top = points[chain[0]][1] + items.height[chain[0]] / 2
        bottom = points[chain[-1]][1] - items.height[chain[-1]] / 2
        curves[edge] = _smooth([_fixed((first[edge], top)), *gates[edge], _fixed((last[edge], bottom))])
    return curves


def _fixed(point: Point) -> Gate:
    return point[1], point[0], point[0]


def _slope(a: Point, b: Point) -> float:
    return (b[0] - a[0]) / (b[1] - a[1])


def _gates(
    items: _Items,
    layers: list[list[int]],
    place: dict[int, int],
    points: list[Point],
    half: list[float],
    chain: list[int],
) -> list[Gate]:
    """Return the gates of an edge from top to bottom: room beside boxes, half the room beside other edges."""
    gates: list[Gate] = []
    for position, item in enumerate(chain):
        x, y = points[item]
        row, k, reach = layers[items.layer[item]], place[item], half[items.layer[item]]
        outer = position in (0, len(chain) - 1)
        if items.is_box[item] and not outer:
            gates.append((y, x, x))  # through the middle of its label
            continue
        low, high = x - FAR, x + FAR
        left = next((other for other in reversed(row[:k]) if items.is_box[other]), None)
        right = next((other for other in row[k + 1 :] if items.is_box[other]), None)
        if left is not None:
            low = min(points[left][0] + items.width[left] / 2 + MARGIN, x)
        if right is not None:
            high = max(points[right][0] - items.width[right] / 2 - MARGIN, x)
        if outer:
            # Beside its own box an edge must only mind neighbours that are taller.
            if reach > items.height[item] / 2 + 1:
                gates.append((y + reach if position == 0 else y - reach, low, high))
            continue
        if reach > 0:
            gates.append((y - reach, low, high))
        nearest_low, nearest_high = low, high
        if k > 0 and not items.is_box[row[k - 1]]:
            nearest_low = max(low, min(_between(points, row[k - 1], item), x))
        if k + 1 < len(row) and not items.is_box[row[k + 1]]:
            nearest_high = min(high, max(_between(points, row[k + 1], item), x))
        gates.append((y, nearest_low, nearest_high))
        if reach > 0:
            gates.append((y + reach, low, high))
    return gates


def _between(points: list[Point], other: int, item: int) -> float:
    """Return the end of an edge's share of the room between it and another edge."""
    middle = (points[other][0] + points[item][0]) / 2
    return middle + (EDGE_ROOM if points[other][0] < points[item][0] else -EDGE_ROOM)


def _taut(gates: list[Gate]) -> list[Point]:
    """Return the shortest line through gates of growing height, as its corners: a string pulled tight."""
    y, x, _ = gates[0]
    line = [(x, y)]
    index = 0
    while index < len(gates) - 1:
        y0, x0 = line[-1][1], line[-1][0]
        low, high = (float("-inf"), index), (float("inf"), index)
        turn = None
        for k in range(index + 1, len(gates)):
            height, left, right = gates[k]
            steepest, flattest = (left - x0) / (height - y0), (right - x0) / (height - y0)
            if steepest > high[0]:
                turn = (high[1], gates[high[1]][2])
                break
            if flattest < low[0]:
                turn = (low[1], gates[low[1]][1])
                break
            # A later gate that is as tight is a better place to turn.
            if steepest >= low[0]:
                low = (steepest, k)
            if flattest <= high[0]:
                high = (flattest, k)
        if turn is None:
            turn = (len(gates) - 1, gates[-1][1])
        index = turn[0]
        line.append((turn[1], gates[index][0]))
    return line


def _ports(items: _Items, points: list[Point], item: int, group: list[tuple[float, Edge]]) -> list[tuple[Edge, float]]:
    """Return where the edges of a group meet a side of their box, from left to right without crossing."""
    ordered = sorted(group, key=lambda pair: pair[0])
    gap = min(PORT_GAP, 0.8 * items.width[item] / max(len(group), 1))
    middle = points[item][0]
    return [(edge, middle + gap * (k - (len(group) - 1) / 2)) for k, (_, edge) in enumerate(ordered)]


def _smooth(gates: list[Gate]) -> tuple[Point, ...]:
    """Return a smooth curve of Bézier pieces through gates of growing height.

    It passes the corners of the tight string. Where it leaves a gate, it also passes the string's point there.
    """
    through = _taut(gates)
    line = list(through)
    for _ in range(len(gates)):
        slopes = _slopes(through)
        missed = []
        for height, low, high in gates:
            k = next(k for k in range(len(through) - 1) if height <= through[k + 1][1])
            x = _hermite(through[k], through[k + 1], slopes[k], slopes[k + 1], height)
            if not low - 1.0 <= x <= high + 1.0:
                missed.append((_on(line, height), height))
        known = {y for _, y in through}
        missed = [point for point in missed if point[1] not in known]
        if not missed:
            break
        through = sorted([*through, *missed], key=lambda point: point[1])
    curve: list[Point] = [through[0]]
    for (a, b), (s, t) in zip(pairwise(through), pairwise(_slopes(through)), strict=True):
        third = (b[1] - a[1]) / 3
        curve += [(a[0] + s * third, a[1] + third), (b[0] - t * third, b[1] - third), b]
    return tuple(curve)


def _slopes(through: list[Point]) -> list[float]:
    """Return the slopes at points so that the curve is monotone between each two: those of Fritsch and Butland."""
    secants = [_slope(a, b) for a, b in pairwise(through)]
    inner = []
    for k, (s, t) in enumerate(pairwise(secants)):
        a, b = through[k + 1][1] - through[k][1], through[k + 2][1] - through[k + 1][1]
        inner.append((a + b) / ((2 * b + a) / 3 / s + (b + 2 * a) / 3 / t) if s * t > 0 else 0.0)
    return [secants[0], *inner, secants[-1]]


def _hermite(a: Point, b: Point, s: float, t: float, height: float) -> float:
    h = b[1] - a[1]
    u = (height - a[1]) / h
    return (
        a[0] * (1 + 2 * u) * (1 - u) ** 2
        + b[0] * u * u * (3 - 2 * u)
        + h * (s * u * (1 - u) ** 2 - t * u * u * (1 - u))
    )


def _on(line: list[Point], height: float) -> float:
    """Return the x of a broken line at a height."""
    a, b = next((a, b) for a, b in pairwise(line) if height <= b[1])
    return a[0] + _slope(a, b) * (height - a[1])
