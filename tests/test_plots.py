"""Pictures: nothing overlaps, names are drawn as they are, and the same model gives the same file."""

import importlib.util
import io
import os
import re
import sys
import xml.etree.ElementTree as ET
from itertools import combinations, islice, pairwise
from math import hypot
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pydot
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from sklearn.isotonic import isotonic_regression

import naive_plots as naive
from cslearn import LDAG, Chains, CStree, CStreeLearner, random_cstree
from cslearn.datasets import chickenpox_model, supplement_model
from cslearn.errors import FileError, InputError, LimitError, MissingExtraError
from cslearn.plots import (
    edge_strengths,
    layered_layout,
    ldag_to_tikz,
    plot_context_graphs,
    plot_edge_probabilities,
    plot_ldag,
    plot_precedence,
    plot_staged_tree,
    plot_trace,
)
from cslearn.plots import graph as graphs
from cslearn.plots import layout as layouts
from cslearn.plots._words import boxed, context_lines, keys, name_lines, one_line
from cslearn.plots.export import dot_string, tex_string
from cslearn.plots.graph import labels_in_context
from cslearn.plots.staged_tree import distinct_colours, staged_tree
from cslearn.stagings import Context

ROOT = Path(__file__).parent.parent
DATA = Path(os.environ.get("CSLEARN_DATA", ""))
AWKWARD = ['<b>&"', "$x_1$", r"\frac{", "50 % & #1", "😀🦄", "a\nb", "naïve—日本", "{}^~|", "-->", "x" * 200]


def awkward_model():
    """A chain of variables with awkward names and states, in which every other edge has a label."""
    order = AWKWARD
    states = {v: (order[k - 1], order[(k + 1) % len(order)]) for k, v in enumerate(order)}
    contexts = {}
    for k, v in enumerate(order):
        if k < 2:
            contexts[v] = [{}]
        else:
            a, b = order[k - 1], order[k - 2]
            contexts[v] = [{a: states[a][0]}, *({a: states[a][1], b: x} for x in states[b])]
    return CStree.from_contexts(contexts, states=states)


def read(name):
    return pd.read_csv(DATA / name, dtype=str, keep_default_na=False)


SHORT = Chains(n_iter=100, n_chains=1)


def sachs():
    data = pd.read_csv(DATA / "sachs_observational_log.csv.gz")
    return CStreeLearner(beta=2, search=SHORT, random_state=0).fit(
        (data > data.median()).replace({True: "high", False: "low"})
    )


def alarm():
    return CStreeLearner(beta=2, search=SHORT, random_state=0).fit(read("alarm.csv.gz"))


def mushroom():
    data = read("mushroom.csv.gz")
    return CStreeLearner(beta=2, search=SHORT, random_state=0).fit(
        data[~data.eq("?").any(axis=1)].reset_index(drop=True)
    )


# ---------------------------------------------------------------- reading a picture
def texts(figure):
    return [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]


def extents(figure, *roles):
    """The boxes, in points from the lower left corner, of all that has one of these roles."""
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    scale = 72 / figure.dpi
    found = [artist for artist in figure.findobj() if artist.get_label() in {f"_{role}" for role in roles}]
    boxes = [artist.get_window_extent(renderer) for artist in found]
    return [(b.x0 * scale, b.y0 * scale, b.x1 * scale, b.y1 * scale) for b in boxes]


def overlapping(boxes, slack=0.0):
    return [
        (a, b)
        for a, b in combinations(boxes, 2)
        if a[0] < b[2] - slack and b[0] < a[2] - slack and a[1] < b[3] - slack and b[1] < a[3] - slack
    ]


def check_picture(figure, names):
    """Boxes and labels are apart, text stays in its box and in the picture, and every name is there."""
    boxes = extents(figure, "node box", "label box")
    assert len(extents(figure, "node box")) == len(names)
    assert overlapping(boxes) == []
    for box, role in (("node box", "node"), ("label box", "label")):
        around, inside = extents(figure, box), extents(figure, role)
        assert len(around) == len(inside)
        for (a, b, c, d), (x, y, z, w) in zip(around, inside, strict=True):
            assert a - 0.5 <= x and z <= c + 0.5 and b - 1.0 <= y and w <= d + 1.0
    written = extents(figure, "legend", "note", "node", "label")
    assert overlapping(written, slack=1.0) == []
    width, height = figure.get_size_inches() * 72
    assert all(x >= 0 and z <= width and y >= 0 and w <= height for x, y, z, w in [*boxes, *written])
    drawn = {text.get_text() for text in texts(figure) if text.get_label() == "_node"}
    assert len(drawn) == len(names)
    return drawn


def test_the_check_notices_an_overlap():
    figure = plot_ldag(chickenpox_model().to_ldag())
    check_picture(figure, chickenpox_model().order)
    boxes = [artist for artist in figure.findobj() if artist.get_label() == "_node box"]
    boxes[0].set_x(boxes[1].get_x())
    boxes[0].set_y(boxes[1].get_y())
    with pytest.raises(AssertionError):
        check_picture(figure, chickenpox_model().order)


# ---------------------------------------------------------------- LDAG
@pytest.mark.parametrize("labels", ["auto", "inline", "legend", "none"])
@pytest.mark.parametrize("strong", [False, True])
def test_chickenpox(labels, strong):
    model = chickenpox_model()
    figure = model.plot(labels=labels, strength=True if strong else None)
    assert check_picture(figure, model.order) == set(model.order)
    found = {text.get_text() for text in texts(figure) if text.get_label() == "_label"}
    legend = [text.get_text() for text in texts(figure) if text.get_label() == "_legend"]
    if labels in ("auto", "inline"):
        assert found == {"diagnosis=yes", "exposed=no", "exposed=no\nexposed=yes, diagnosis=no"}
        assert not legend
    elif labels == "legend":
        assert found == {"a", "b", "c"} and {"a", "diagnosis=yes", "b", "c", "exposed=no"} <= set(legend)
    else:
        assert not found and not legend


@pytest.mark.parametrize("seed", range(6))
def test_random_models(seed):
    model = random_cstree([2, 3, 2, 4] * 5, random_state=seed)
    check_picture(model.plot(labels=["auto", "inline", "legend"][seed % 3]), model.order)


def test_a_hundred_variables():
    model = random_cstree(100, random_state=0)
    assert check_picture(model.plot(strength=True), model.order) == set(model.order)


@pytest.mark.skipif(not os.environ.get("CSLEARN_DATA"), reason="CSLEARN_DATA names no directory with real data")
@pytest.mark.filterwarnings("ignore::cslearn.errors.DataWarning")
@pytest.mark.parametrize("learn", [sachs, alarm, mushroom])
def test_real_models(learn):
    model = learn().cstree_
    figure = model.plot(strength=True)
    assert check_picture(figure, model.order) == set(map(name_lines, model.order))
    check_curves(model.to_ldag(), figure)


def check_curves(ldag, figure):
    """No edge of a picture runs through a node that it does not join, or through the label of another edge."""
    boxes = [artist for artist in figure.findobj() if artist.get_label() == "_node box"]
    sizes = {v: (box.get_width(), box.get_height()) for v, box in zip(ldag.graph, boxes, strict=True)}
    drawn = labels_in_context(ldag, Context())
    look = graphs._label_look(drawn, ldag.states, "auto")
    labels = {edge: look.size(graphs.figures(), edge) for edge in drawn if edge in look.text}
    layout = layered_layout(ldag.graph, sizes, labels)
    check_layout(layout, ldag.graph, labels)
    # The layout that was checked is the one that was drawn, but for where the picture begins.
    shifts = {
        (round(box.get_x() + box.get_width() / 2 - x, 3), round(box.get_y() + box.get_height() / 2 - y, 3))
        for box, (x, y) in zip(boxes, (layout.positions[v] for v in ldag.graph), strict=True)
    }
    assert max(x for x, _ in shifts) - min(x for x, _ in shifts) < 0.01 and {abs(y) for _, y in shifts} == {0.0}


def test_labels_go_to_a_legend_when_they_are_many_or_long():
    def has_legend(n, state="yes"):
        states = {"child": (0, 1)}
        labels = {}
        for k in range(n):
            states |= {f"a{k}": (0, 1), f"b{k}": ("no", state), f"c{k}": (0, 1)}
            labels[f"a{k}", f"c{k}"] = [{f"b{k}": state}]
        graph = nx.DiGraph([(f"{x}{k}", f"c{k}") for k in range(n) for x in "ab"])
        figure = plot_ldag(LDAG(graph, labels, states=states))
        check_picture(figure, states)
        return bool(extents(figure, "legend"))

    assert not has_legend(8) and has_legend(9)
    assert not has_legend(1) and has_legend(1, "a very long state " * 4)


def test_edges_with_the_same_label_share_a_letter():
    states = dict.fromkeys("abcd", (0, 1))
    graph = nx.DiGraph([("a", "d"), ("b", "d"), ("c", "d")])
    ldag = LDAG(graph, {("a", "d"): [{"c": 0}], ("b", "d"): [{"c": 0}]}, states=states)
    letters = [t.get_text() for t in texts(plot_ldag(ldag, labels="legend")) if t.get_label() == "_label"]
    assert letters == ["a", "a"]


def test_dashed_edges_are_those_with_labels():
    ldag = chickenpox_model().to_ldag()
    for context, labelled, plain in (({}, 3, 2), ({"diagnosis": "yes"}, 2, 2)):
        lines = list(plot_ldag(ldag, context=context).findobj(lambda a: hasattr(a, "get_linestyle")))
        styles = [line.get_linestyle() for line in lines if type(line).__name__ == "PathPatch"]
        # Each edge has a white line below it.
        assert styles.count("solid") + styles.count("-") == labelled + 2 * plain
        assert len(styles) == 2 * (labelled + plain)


def test_what_remains_in_a_context():
    ldag = chickenpox_model().to_ldag()
    assert labels_in_context(ldag, Context({"exposed": "no"})) == {
        ("background", "exposed"): [Context({"diagnosis": "yes"})],
        ("diagnosis", "exposed"): [],
        ("exposed", "carrier"): [],
    }
    yes = labels_in_context(ldag, Context({"exposed": "yes"}))
    assert yes["background", "carrier"] == [Context({"diagnosis": "no"})]
    assert yes["diagnosis", "carrier"] == []
    figure = plot_ldag(ldag, context={"exposed": "no"})
    assert "exposed\n= no" in {t.get_text() for t in texts(figure)}
    with pytest.raises(InputError, match="'fever', which is no variable"):
        plot_ldag(ldag, context={"fever": "no"})
    with pytest.raises(InputError, match="'exposed' the state 'perhaps'"):
        plot_ldag(ldag, context={"exposed": "perhaps"})


@pytest.mark.parametrize("seed", range(5))
def test_labels_in_a_context_say_when_an_edge_vanishes_there(seed):
    ldag = random_cstree([2, 3, 2, 3, 2], random_state=seed).to_ldag()
    rng = np.random.default_rng(seed)
    fixed = Context({v: ldag.states[v][int(rng.integers(len(ldag.states[v])))] for v in list(ldag.states)[:2]})
    left = labels_in_context(ldag, fixed)
    inside = LDAG(nx.DiGraph(list(left)), left, states=ldag.states)
    from itertools import product

    for edge in ldag.graph.edges:
        gone = ldag.vanishes(edge, fixed)
        assert gone == (edge not in left)
        for outcome in product(*ldag.states.values()) if not gone else ():
            full = dict(zip(ldag.states, outcome, strict=True))
            if fixed.agrees(full):
                assert ldag.vanishes(edge, full) == any(c.agrees(full) for c in inside.labels.get(edge, ()))


def test_thickness_follows_strength():
    model = chickenpox_model()
    ldag = model.to_ldag()
    strengths = edge_strengths(model)

    def widths(strength):
        lines = [p for p in plot_ldag(ldag, strength=strength).findobj() if type(p).__name__ == "PathPatch"]
        return sorted(line.get_linewidth() for line in lines[1::2])

    frame = pd.DataFrame(0.0, index=model.order, columns=model.order)
    for (u, v), value in strengths.items():
        frame.loc[u, v] = value
    assert widths(strengths) == widths(frame)
    assert len(set(widths(None))) == 1
    assert widths(strengths)[-1] == 4.5
    assert len(set(widths(strengths))) == len({round(s, 9) for s in strengths.values()})
    with pytest.raises(InputError, match="'exposed' -> 'carrier' is -1.0; it must be 0 or more"):
        plot_ldag(ldag, strength={("exposed", "carrier"): -1})
    with pytest.raises(InputError, match="maps edges to numbers"):
        plot_ldag(ldag, strength=[1, 2])


@pytest.mark.parametrize("seed", range(8))
def test_strengths_are_means_over_all_outcomes(seed):
    model = random_cstree([2, 3, 4, 2, 3], random_state=seed)
    strengths = edge_strengths(model)
    assert set(strengths) == set(model.to_dag().edges)
    for (parent, child), value in strengths.items():
        assert value == pytest.approx(naive.strength(model, parent, child), abs=1e-12)


# ---------------------------------------------------------------- layout
def check_layout(layout, graph, label_sizes):
    assert set(layout.positions) == set(graph) and set(layout.curves) == set(graph.edges)
    assert set(layout.labels) == set(label_sizes)
    boxes = {v: around(layout.positions[v], layout.sizes[v]) for v in graph}
    labels = {edge: around(layout.labels[edge], size) for edge, size in label_sizes.items()}
    assert overlapping([*boxes.values(), *labels.values()]) == []
    width, height = layout.size
    for x, y, z, w in [*boxes.values(), *labels.values()]:
        assert x >= -1e-6 and y >= -1e-6 and z <= width + 1e-6 and w <= height + 1e-6
    for u, v in graph.edges:
        curve = layout.curves[u, v]
        assert curve[0][1] == pytest.approx(boxes[u][3]) and boxes[u][0] <= curve[0][0] <= boxes[u][2]
        assert curve[-1][1] == pytest.approx(boxes[v][1]) and boxes[v][0] <= curve[-1][0] <= boxes[v][2]
        points = along(curve)
        assert all(a[1] <= b[1] + 1e-6 for a, b in pairwise(points))
        # Smoothing may take a corner off: of a box by less than the margin around words, of a label by a little more
        # (3.6 is the most that was seen, in one of some hundred graphs).
        others = [(box, 2) for w, box in boxes.items() if w not in (u, v)]
        others += [(box, 4) for edge, box in labels.items() if edge != (u, v)]
        for box, off in others:
            hits = [p for p in points if box[0] + off < p[0] < box[2] - off and box[1] + off < p[1] < box[3] - off]
            assert hits == [], (u, v, box)
        if (u, v) in labels:
            assert min(hypot(p[0] - layout.labels[u, v][0], p[1] - layout.labels[u, v][1]) for p in points) < 3.0


def around(centre, size):
    return centre[0] - size[0] / 2, centre[1] - size[1] / 2, centre[0] + size[0] / 2, centre[1] + size[1] / 2


def along(curve):
    points = []
    for k in range(0, len(curve) - 1, 3):
        a, b, c, d = (np.array(point) for point in curve[k : k + 4])
        points += [
            tuple((1 - t) ** 3 * a + 3 * t * (1 - t) ** 2 * b + 3 * t * t * (1 - t) * c + t**3 * d)
            for t in np.linspace(0, 1, 25)
        ]
    return points


@st.composite
def sized_graphs(draw):
    n = draw(st.integers(1, 14))
    pairs = [(i, j) for j in range(n) for i in range(j)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=28)) if pairs else []
    graph = nx.DiGraph()
    graph.add_nodes_from(draw(st.permutations(range(n))))
    graph.add_edges_from(edges)
    size = st.tuples(st.floats(20, 160), st.floats(15, 60))
    sizes = {v: draw(size) for v in range(n)}
    labels = {edge: draw(size) for edge in edges if draw(st.booleans())}
    return graph, sizes, labels


@settings(max_examples=80, derandomize=True, phases=[Phase.generate])
@given(sized_graphs())
def test_layouts_are_layered_and_nothing_overlaps(problem):
    graph, sizes, labels = problem
    layout = layered_layout(graph, sizes, labels)
    check_layout(layout, graph, labels)
    assert layout == layered_layout(graph, sizes, labels)


def test_layouts_without_sizes_and_of_nothing():
    assert layered_layout(nx.DiGraph()).positions == {}
    layout = layered_layout(nx.DiGraph([("a", "b"), ("b", "c"), ("a", "c")]))
    assert layout.bends["a", "b"] == () and len(layout.bends["a", "c"]) == 1
    with pytest.raises(InputError, match="a -> b -> ..."):
        layered_layout(nx.DiGraph([("a", "b"), ("b", "a")]))


def test_a_wide_layer_is_broken():
    star = nx.DiGraph([("root", f"leaf {k}") for k in range(40)])
    layout = layered_layout(star, max_width=600.0)
    # The edges to the lower leaves pass the upper ones, and need room as well.
    assert layout.size[0] < layered_layout(star, max_width=1e9).size[0] / 2
    assert len({y for _, y in layout.positions.values()}) > 3
    check_layout(layout, star, {})


@given(st.integers(2, 5), st.data())
def test_edges_are_as_short_as_can_be(n, data):
    pairs = [(i, j) for j in range(n) for i in range(j)]
    edges = data.draw(st.lists(st.sampled_from(pairs), unique=True, min_size=1))
    nodes = sorted({v for edge in edges for v in edge})
    for group in nx.weakly_connected_components(nx.DiGraph(edges)):
        own = [edge for edge in edges if edge[0] in group]
        members = [v for v in nodes if v in group]
        layer = layouts._layers(members, own, dict.fromkeys(members, (1.0, 1.0)), float("inf"))
        assert all(layer[u] < layer[v] for u, v in own)
        assert sum(layer[v] - layer[u] for u, v in own) == naive.shortest_layers(members, own)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), unique=True))
def test_crossings_are_counted(pairs):
    items = layouts._Items()
    upper = [items.add(0, (1.0, 1.0), True) for _ in range(6)]
    lower = [items.add(1, (1.0, 1.0), True) for _ in range(6)]
    for a, b in pairs:
        items.join(upper[a], lower[b], 1.0)
    place = list(range(6)) * 2
    expected = naive.crossings(upper, lower, [(upper[a], lower[b]) for a, b in pairs])
    assert layouts._crossings(upper, lower, items, place) == expected


@given(st.lists(st.tuples(st.floats(-100, 100), st.floats(0.1, 10)), min_size=1, max_size=12))
def test_isotonic_regression(pairs):
    targets, weights = [a for a, _ in pairs], [b for _, b in pairs]
    expected = isotonic_regression(targets, sample_weight=weights)
    np.testing.assert_allclose(layouts._isotonic(targets, weights), expected, atol=1e-6)


@given(st.lists(st.tuples(st.floats(5, 50), st.floats(-60, 60), st.floats(2, 40)), min_size=2, max_size=9))
def test_the_string_is_the_shortest_line_through_the_gates(rows):
    heights = np.cumsum([row[0] for row in rows])
    gates = [(float(y), a, a + w) for y, (_, a, w) in zip(heights, rows, strict=True)]
    gates[0] = layouts._fixed((gates[0][1], gates[0][0]))
    gates[-1] = layouts._fixed((gates[-1][1], gates[-1][0]))
    line = layouts._taut(gates)
    length = sum(hypot(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(line))
    assert length == pytest.approx(naive.shortest_line(gates), rel=1e-5)
    for height, low, high in gates:
        assert low - 1e-6 <= layouts._on(line, height) <= high + 1e-6 if height > gates[0][0] else True


# ---------------------------------------------------------------- words
def test_names():
    assert one_line("a\nb\tc\x00") == "a b c"
    assert one_line("\n") == "(blank)" and one_line(True) == "True"
    assert name_lines("short") == "short"
    assert name_lines("stalk_surface_above_the_ring_of_it") == "stalk_surface_above_\nthe_ring_of_it"
    long = name_lines("x" * 200)
    assert long.endswith("…") and max(map(len, long.split("\n"))) <= 22
    assert list(islice(keys(), 51))[24:26] == ["z", "A"] and list(islice(keys(), 51))[49:] == ["aa", "ab"]
    assert not set("lIO") & set("".join(islice(keys(), 500)))  # they look like each other, or like digits


@given(st.data())
def test_patterns_cover_the_same_outcomes(data):
    states = {v: tuple(range(data.draw(st.integers(2, 4)))) for v in "abc"}
    context = st.dictionaries(st.sampled_from("abc"), st.integers(0, 3)).filter(
        lambda c: all(x in states[v] for v, x in c.items())
    )
    contexts = data.draw(st.lists(context, max_size=6))
    patterns = boxed(contexts, states)
    exact = [{v: (x,) for v, x in c.items()} for c in contexts]
    assert naive.covered(patterns, states) == naive.covered(exact, states)
    assert len(patterns) <= len(contexts)


def test_contexts_in_short():
    states = {"odor": ("none", "foul", "musty"), "ring": ("one", "two")}
    assert context_lines([{"odor": "foul"}, {"odor": "musty"}], states) == ["odor≠none"]
    assert context_lines([{"odor": "foul"}], states) == ["odor=foul"]
    assert context_lines([{"ring": "one"}, {"ring": "two"}], states) == ["always"]
    assert context_lines([{"odor": "foul"}, {"ring": "one"}], states) == ["odor=foul", "ring=one"]


# ---------------------------------------------------------------- staged tree
def test_nodes_have_one_colour_exactly_if_they_are_in_one_stage():
    for model in (chickenpox_model(), random_cstree([2, 3, 2, 3], random_state=1)):
        drawn = staged_tree(model)
        for depth, level in enumerate(drawn.levels[:-1]):
            v = model.order[depth]
            for a, b in combinations(level, 2):
                same = a.stage == b.stage
                assert (a.colour is not None and a.colour == b.colour) == same
            for node in level:
                context = model.stagings[v].contexts[node.stage]
                assert context.agrees(dict(zip(model.order, node.outcome, strict=False)))
                alone = sum(other.stage == node.stage for other in level) == 1
                assert (node.colour is None) == alone
        assert len(set(drawn.colours.values())) == len(drawn.colours)
        assert all(node.colour is None for node in drawn.levels[-1])


def test_staged_tree_pictures():
    model = chickenpox_model()
    figure = plot_staged_tree(model, probabilities=True)
    assert overlapping(extents(figure, "node box")) == []
    assert overlapping(extents(figure, "probability", "node", "head", "note", "legend"), slack=1.0) == []
    assert len(extents(figure, "node box")) == 31
    shown = [t.get_text() for t in texts(figure)]
    assert [t for t in shown if t in model.order] == list(model.order)
    assert shown.count("0.98") == 4 and shown.count("0.60") == 1
    assert "carrier | exposed=no" in shown
    assert "0.98" not in [t.get_text() for t in texts(plot_staged_tree(model))]
    fills = [b.get_facecolor() for b in figure.findobj() if b.get_label() == "_node box"]
    assert len(set(fills)) == len(staged_tree(model).colours) + 1


def test_large_trees_are_refused_with_advice():
    model = random_cstree(37, random_state=0)
    with pytest.raises(LimitError, match=r"137,438,953,472 leaves.* limit of 64: draw the LDAG.*\(levels=6\)"):
        model.plot("staged-tree")
    with pytest.raises(LimitError, match="10\\^30 leaves"):
        random_cstree(100, random_state=0).plot("staged-tree")
    assert len(staged_tree(model, levels=6).levels[-1]) == 64
    with pytest.raises(InputError, match="from 1 to 37, not 0"):
        model.plot("staged-tree", levels=0)
    with pytest.raises(InputError, match="kind is 'ldag' or 'staged-tree', not 'tree'"):
        model.plot("tree")
    with pytest.raises(InputError, match="no parameters"):
        model.with_parameters(None).plot("staged-tree", levels=2, probabilities=True)


def simulated(colour, matrix):
    rgb = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(matrix) @ linear, 0, 1)
    return np.where(seen <= 0.0031308, seen * 12.92, 1.055 * seen ** (1 / 2.4) - 0.055)


# Machado, Oliveira and Fernandes (2009), full severity: how red-blind and green-blind eyes see linear RGB.
EYES = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
}


@pytest.mark.parametrize("eyes", EYES)
def test_stage_colours_can_be_told_apart_without_red_or_green(eyes):
    def nearest(colours):
        return min(
            np.linalg.norm(simulated(a, EYES[eyes]) - simulated(b, EYES[eyes])) for a, b in combinations(colours, 2)
        )

    assert nearest([*islice(distinct_colours(), 6), "#FFFFFF"]) > 0.1
    assert nearest(["#FF6666", "#A0A040" if eyes == "deuteranopia" else "#908060"]) < 0.35  # red and olive: poor


# ---------------------------------------------------------------- files
@pytest.mark.parametrize("kind", ["svg", "pdf", "png"])
def test_the_same_model_gives_the_same_file(kind, tmp_path):
    for name in ("a", "b"):
        chickenpox_model().plot().savefig(tmp_path / f"{name}.{kind}")
    content = (tmp_path / f"a.{kind}").read_bytes()
    assert content == (tmp_path / f"b.{kind}").read_bytes()
    assert content.startswith({"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}[kind])
    chickenpox_model().plot(labels="none").savefig(tmp_path / f"c.{kind}")
    assert content != (tmp_path / f"c.{kind}").read_bytes()


def test_files_that_cannot_be_written(tmp_path):
    picture = chickenpox_model().plot()
    with pytest.raises(InputError, match=r"end the name in .svg, .pdf or .png"):
        picture.savefig(tmp_path / "picture.doc")
    with pytest.raises(FileError, match="does not exist"):
        picture.savefig(tmp_path / "nowhere" / "picture.svg")
    stream = io.BytesIO()
    picture.savefig(stream, format="png")
    assert stream.getvalue().startswith(b"\x89PNG")


def script():
    spec = importlib.util.spec_from_file_location("draw", ROOT / "docs/draw.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", [name for name in script().PICTURES if name != "precedence.svg"])
def test_the_pictures_of_the_documents_are_those_of_the_code(name):
    kept = (ROOT / "docs/pictures" / name).read_text(encoding="utf-8")
    drawn = script().PICTURES[name]().to_svg()
    made_by = re.compile(r"<dc:title>(cslearn, matplotlib [^<]*)<")
    if made_by.findall(kept) == made_by.findall(drawn):
        assert kept == drawn, "the picture has changed: python docs/draw.py draws it again"
    # Other versions of matplotlib draw letters with other outlines.
    assert re.findall("<!-- .* -->", kept) == re.findall("<!-- .* -->", drawn)


def test_no_picture_is_left_over():
    assert {path.name for path in (ROOT / "docs/pictures").iterdir()} == set(script().PICTURES)


def test_svg_is_well_formed_with_unique_ids():
    for picture in (chickenpox_model().plot(labels="legend"), awkward_model().plot()):
        root = ET.fromstring(picture.to_svg())
        ids = [element.get("id") for element in root.iter() if element.get("id")]
        assert len(ids) == len(set(ids))


# ---------------------------------------------------------------- awkward names
def test_awkward_names_are_drawn_as_they_are():
    model = awkward_model()
    pictures = [(model.plot(), ""), (model.plot(labels="inline"), "")]
    pictures += [(model.plot(context={AWKWARD[2]: AWKWARD[1]}), AWKWARD[2])]
    for figure, fixed in pictures:
        drawn = check_picture(figure, AWKWARD)
        assert {'<b>&"', "$x_1$", r"\frac{", "50 % & #1", "😀⟨1F984⟩", "a b", "{}^~|", "-->"} - {fixed} <= drawn
        assert not any(text.get_parse_math() or text.get_usetex() for text in texts(figure))
        for kind in ("svg", "pdf", "png"):
            figure.savefig(io.BytesIO(), format=kind)
    plot_staged_tree(model, levels=4).savefig(io.BytesIO(), format="svg")
    # Without this care the names would be read as mathematics.
    figure = Figure()
    figure.text(0.5, 0.5, r"$\frac{$")
    with pytest.raises(ValueError, match="frac"):
        figure.savefig(io.BytesIO())


def test_awkward_names_in_charts():
    frame = pd.DataFrame(0.5, index=AWKWARD, columns=AWKWARD)
    figure = plot_edge_probabilities(frame)
    figure.savefig(io.BytesIO(), format="svg")
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels[:5] == ['<b>&"', "$x_1$", r"\frac{", "50 % & #1", "😀⟨1F984⟩"]
    assert not any(label.get_parse_math() for label in figure.axes[0].get_yticklabels())
    graphs = {Context({v: "$y"}): nx.DiGraph([(u, v)]) for u, v in pairwise(AWKWARD)}
    plot_context_graphs(graphs).savefig(io.BytesIO(), format="svg")


def unquoted(text):
    assert text[0] == text[-1] == '"'
    return re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], text[1:-1])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # within pydot
def test_dot_is_read_back():
    for model in (chickenpox_model(), awkward_model()):
        ldag = model.to_ldag()
        (graph,) = pydot.graph_from_dot_data(ldag.to_dot(strength=dict.fromkeys(ldag.graph.edges, 1.0)))
        nodes = {n.get_name(): unquoted(n.get("label")) for n in graph.get_nodes() if n.get_name()[1:].isdigit()}
        assert list(nodes.values()) == [one_line(v) for v in ldag.graph]
        back = dict(zip(nodes, ldag.graph, strict=True))
        edges = {(back[e.get_source()], back[e.get_destination()]): e for e in graph.get_edges()}
        assert set(edges) == set(ldag.graph.edges)
        for edge, drawn in edges.items():
            lines = context_lines(ldag.labels.get(edge, ()), ldag.states)
            assert (unquoted(drawn.get("label")) if drawn.get("label") else "") == "\n".join(lines)
            assert (drawn.get("style") == "dashed") == bool(lines)
        (tree,) = pydot.graph_from_dot_data(model.to_dot(levels=3))
        assert len(tree.get_edges()) == 14
    assert dot_string('a"b\\') == '"a\\"b\\\\"'


def tex_groups(text):
    """Check that braces and environments are balanced; return the texts of the nodes."""
    depth = 0
    for command in re.findall(r"\\.|[{}]", text, flags=re.DOTALL):
        depth += {"{": 1, "}": -1}.get(command, 0)
        assert depth >= 0
    assert depth == 0
    stack = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if kind == "begin":
            stack.append(name)
        else:
            assert stack.pop() == name
    assert not stack
    assert "%" not in re.sub(r"\\%", "", text)
    nodes = re.findall(r"^  \\node\[.*?\](?: \([\w-]+\))? at \([^)]*\) \{(.*)\};$", text, flags=re.MULTILINE)
    assert len(nodes) == len(re.findall(r"^  \\node", text, flags=re.MULTILINE))
    for node in nodes:
        bare = re.sub(r"\\text\w+\{\}|\\\(\\neq\\\)|\\\\|\\[{}$&#_%]", "", node)
        assert not re.search(r"[\\{}$&#_%~^]", bare), node
    return nodes


def test_tikz_is_balanced_and_escaped():
    for model in (chickenpox_model(), awkward_model()):
        ldag = model.to_ldag()
        strength = dict.fromkeys(ldag.graph.edges, 1.0)
        for text in (ldag.to_tikz(), ldag_to_tikz(ldag, standalone=True, strength=strength)):
            nodes = tex_groups(text)
            assert nodes[: len(ldag.graph)] == [tex_string(name_lines(v)) for v in ldag.graph]
            assert len(nodes) == len(ldag.graph) + len(ldag.labels)
            assert text.count(r"\draw[") == ldag.graph.number_of_edges()
        assert len(tex_groups(model.to_tikz(levels=3))) == 15 + 3
    assert tex_string(r"\a_b") == r"\textbackslash{}a\_b"
    with pytest.raises(AssertionError):
        tex_groups(r"\begin{tikzpicture} { \end{tikzpicture}")


# ---------------------------------------------------------------- charts and context graphs
@pytest.fixture(scope="module")
def posterior():
    return (
        CStreeLearner(beta=2, search=Chains(n_iter=5000), random_state=0)
        .fit(chickenpox_model().sample(500, random_state=0))
        .posterior_
    )


def test_traces(posterior):
    figure = posterior.plot_trace()
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    best = max(chain.best_log_score for chain in posterior.chains)
    chains = len(posterior.chains)
    assert labels == [*(f"chain {k + 1}" for k in range(chains)), f"best, {best:,.1f}"]
    lines = figure.axes[0].get_lines()
    # Runs of moves are drawn by their mean.
    moves = posterior.chains[0].n_iter
    run = max(moves // 2000, 1)
    np.testing.assert_allclose(
        lines[0].get_ydata(), posterior.chains[0].trace[: moves // run * run].reshape(-1, run).mean(axis=1)
    )
    assert len({line.get_color() for line in lines}) == chains + 1
    assert plot_trace(posterior).to_svg() == figure.to_svg()


def test_precedence(posterior):
    figure = plot_precedence(posterior)
    shown = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    frame = posterior.precedence()
    assert sorted(shown) == sorted(posterior.variables)
    drawn = figure.axes[0].get_images()[0].get_array().filled(np.nan)
    expected = frame.loc[shown, shown].to_numpy()
    off = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(drawn[off], expected[off])
    assert np.isnan(drawn[~off]).all()
    assert (np.diff(expected.sum(axis=1)) <= 0).all()
    assert posterior.plot_precedence().to_svg() == figure.to_svg()


def test_edge_probabilities():
    names = [f"v{k}" for k in range(20)]
    frame = pd.DataFrame(np.linspace(0, 1, 400).reshape(20, 20), index=names, columns=names)
    figure = plot_edge_probabilities(frame, order=names[::-1])
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == names[::-1]
    assert figure.axes[0].get_images()[0].get_array()[0, 1] == frame.loc["v19", "v18"]
    with pytest.raises(InputError, match="between 0 and 1, but one is 3.0"):
        plot_edge_probabilities(frame * 0 + 3)
    with pytest.raises(InputError, match="same variables"):
        plot_edge_probabilities(frame.rename(columns={"v0": "w"}))
    with pytest.raises(InputError, match="each variable of the frame once"):
        plot_edge_probabilities(frame, order=names[:5])


def test_context_graphs_keep_their_places():
    full = chickenpox_model().to_dag()
    less = nx.DiGraph(full)
    less.remove_node("exposed")
    figure = plot_context_graphs({Context(): full, Context({"exposed": "no"}): less}, columns=2)
    shown = [(t.get_text(), t.get_position()) for t in texts(figure) if t.get_label() == "_node"]
    assert [name for name, _ in shown] == [*full, *less]
    places = {}
    for name, (x, y) in shown:
        places.setdefault(name, []).append((x, y))
    shifts = {(round(b[0] - a[0], 3), round(b[1] - a[1], 3)) for a, b in (p for p in places.values() if len(p) == 2)}
    assert len(shifts) == 1 and shifts.pop()[1] == 0
    assert overlapping(extents(figure, "node box", "title")) == []
    titles = [t.get_text() for t in texts(figure) if t.get_label() == "_title"]
    assert titles == ["always", "exposed=no"]
    with pytest.raises(InputError, match="no graphs"):
        plot_context_graphs({})


def test_minimal_contexts_of_the_supplement():
    figure = supplement_model().minimal_contexts().plot()
    titles = [t.get_text() for t in texts(figure) if t.get_label() == "_title"]
    assert titles == ["always", "X1=1", "X2=1", "X3=1"]
    assert len(extents(figure, "node box")) == 4 + 3 * 3
    assert overlapping(extents(figure, "node box", "title")) == []


def test_drawing_into_axes():
    figure = Figure(figsize=(6, 3))
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    assert chickenpox_model().plot(ax=left) is figure
    chickenpox_model().plot("staged-tree", ax=right)
    assert overlapping(extents(figure, "node box")) == []
    figure.savefig(io.BytesIO())


# ---------------------------------------------------------------- notebooks, and no matplotlib
def test_notebooks_show_pictures():
    model = chickenpox_model()
    assert model._repr_svg_().startswith("<svg")
    assert model.to_ldag()._repr_svg_() == model._repr_svg_() == model.plot()._repr_svg_()
    large = random_cstree(61, random_state=0)
    assert large._repr_svg_() is None and large.to_ldag()._repr_svg_() is None


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    model = chickenpox_model()
    assert model._repr_svg_() is None
    for draw in (model.plot, lambda: model.plot("staged-tree"), model.to_ldag().plot):
        with pytest.raises(MissingExtraError, match=r"pip install 'cslearn\[plots\]'"):
            draw()
    assert model.to_ldag().to_dot().startswith("digraph")
    assert "tikzpicture" in model.to_tikz()


# ---------------------------------------------------------------- command line
@pytest.fixture
def run(run, model, monkeypatch):
    """Draw the model; return the exit code and all that is printed."""
    monkeypatch.chdir(model.parent)

    def plot(*options):
        code, out, err = run("plot", "model.json", *options)
        return code, out + err

    return plot


def test_the_command_draws(run, tmp_path):
    assert run() == (0, "Picture written to picture.svg.\n")
    assert (tmp_path / "picture.svg").read_text() == chickenpox_model().to_ldag().plot().to_svg()
    for name, options in {
        "a.png": [],
        "b.pdf": ["--strength", "--labels", "legend"],
        "c.dot": ["--context", "exposed=no"],
        "d.tex": [],
        "e.svg": ["--kind", "staged-tree", "--probabilities"],
        "f.gv": ["--kind", "staged-tree", "--levels", 2],
        "g.tikz": ["--strength"],
    }.items():
        assert run("-o", name, *options) == (0, f"Picture written to {name}.\n")
    assert "n1 -> n3" not in (tmp_path / "c.dot").read_text()
    assert (tmp_path / "d.tex").read_text().startswith(r"\documentclass")
    assert (tmp_path / "g.tikz").read_text().startswith(r"\begin{tikzpicture}")
    tex_groups((tmp_path / "d.tex").read_text())


@pytest.mark.parametrize(
    "options, message",
    [
        (["-o", "a.doc"], "end the name in .svg, .pdf, .png, .dot, .gv, .tex, .tikz"),
        (["--probabilities"], "--probabilities does not go with --kind ldag"),
        (["--kind", "staged-tree", "--context", "exposed=no"], "--context does not go with --kind staged-tree"),
        (["--context", "fever=no"], "there is no variable 'fever'"),
        (["--context", "exposed=no", "--context", "exposed=yes"], "gives 'exposed' two states, 'no' and 'yes'"),
        (["-o", "a.dot", "--labels", "legend"], "--labels is for .svg, .pdf, .png"),
        (["--kind", "staged-tree", "--levels", "9"], "from 1 to 4, not 9"),
        (["-o", "nowhere/a.svg"], "does not exist"),
    ],
)
def test_the_command_says_what_is_wrong(run, options, message):
    code, text = run(*options)
    assert code == 2 and text.startswith("error: ") and message in text
