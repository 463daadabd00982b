"""The layered layout of DAGs: parents above children, nothing overlaps, edges as short as they can be."""

from itertools import pairwise, product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cslearn.graphs.layout import _crossings, _layers, layered_layout, separated


@st.composite
def dags(draw, max_p=12):
    p = draw(st.integers(1, max_p))
    graph = nx.DiGraph()
    graph.add_nodes_from(range(p))
    pairs = [(i, j) for j in range(p) for i in range(j)]
    graph.add_edges_from(draw(st.lists(st.sampled_from(pairs), unique=True, max_size=20)) if pairs else [])
    return graph


@given(dags(), st.integers(0, 1000))
def test_parents_are_above_and_nothing_overlaps(graph, seed):
    rng = np.random.default_rng(seed)
    sizes = {v: (float(rng.integers(20, 200)), float(rng.integers(10, 60))) for v in graph}
    layout = layered_layout(graph, sizes, gap=(10.0, 20.0))
    for parent, child in graph.edges:
        assert layout.places[parent][1] + sizes[parent][1] / 2 < layout.places[child][1] - sizes[child][1] / 2
        path = [layout.places[parent], *layout.bends[parent, child], layout.places[child]]
        assert all(above[1] < below[1] for above, below in pairwise(path))
        assert len(path) == layout.layers[child] - layout.layers[parent] + 1
    boxes = [(layout.places[v], sizes[v]) for v in graph] + [
        (point, (0.0, 0.0)) for points in layout.bends.values() for point in points
    ]
    for i, ((x, y), (w, h)) in enumerate(boxes):
        assert x - w / 2 + 1e-6 >= 0
        assert x + w / 2 <= layout.size[0] + 1e-6
        assert y - h / 2 + 1e-6 >= 0
        assert y + h / 2 <= layout.size[1] + 1e-6
        for (x2, y2), (w2, h2) in boxes[:i]:
            assert abs(x - x2) >= (w + w2) / 2 + 9.9 or abs(y - y2) >= (h + h2) / 2


@given(dags(max_p=5))
def test_edges_pass_as_few_layers_as_they_can(graph):
    layers = _layers(list(graph), {v: list(graph.predecessors(v)) for v in graph})
    lengths = [
        sum(at[v] - at[u] for u, v in graph.edges)
        for at in product(range(len(graph)), repeat=len(graph))
        if all(at[v] > at[u] for u, v in graph.edges)
    ]
    assert all(layers[v] > layers[u] for u, v in graph.edges)
    assert sum(layers[v] - layers[u] for u, v in graph.edges) == min(lengths)


@given(st.lists(st.tuples(st.floats(-50, 50), st.floats(0.1, 5), st.floats(0, 20)), min_size=1, max_size=7))
def test_places_are_the_nearest_that_are_far_enough_apart(rows):
    from scipy.optimize import minimize

    wanted, weights, apart = (np.array(column) for column in zip(*rows, strict=True))
    apart = apart[:-1]
    found = np.array(separated(wanted, weights, apart))
    assert (np.diff(found) >= apart - 1e-9).all()

    def cost(x):
        return float(weights @ (x - wanted) ** 2)

    start = np.concatenate([[0.0], np.cumsum(apart)])
    far_enough = {"type": "ineq", "fun": lambda x: np.diff(x) - apart}
    best = minimize(cost, start, constraints=[far_enough], method="SLSQP", options={"ftol": 1e-12, "maxiter": 500})
    assert cost(found) <= best.fun + 1e-4 * (1 + abs(best.fun))


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 1000))
def test_crossings_are_counted(upper, lower, seed):
    rng = np.random.default_rng(seed)
    above = {("b", j): [("a", i) for i in range(upper) if rng.random() < 0.5] for j in range(lower)}
    layers = [[("a", int(i)) for i in rng.permutation(upper)], [("b", int(j)) for j in rng.permutation(lower)]]
    place = {v: i for layer in layers for i, v in enumerate(layer)}
    edges = [(place[u], place[v]) for v, us in above.items() for u in us]
    assert _crossings(layers, above) == sum((a < c) and (b > d) for a, b in edges for c, d in edges)


@pytest.mark.parametrize("edges", [[("a", "c"), ("b", "d"), ("a", "d")], [("a", "d"), ("b", "c")]])
def test_a_graph_that_can_be_drawn_without_crossings_is(edges):
    graph = nx.DiGraph(edges)
    layout = layered_layout(graph)
    lines = [(layout.places[u][0], layout.places[v][0]) for u, v in edges]
    assert not any(a < c and b > d for a, b in lines for c, d in lines)


def test_components_without_edges_fill_rows():
    graph = nx.DiGraph()
    graph.add_nodes_from(range(60))
    width, height = layered_layout(graph).size
    assert height < width < 4 * height
