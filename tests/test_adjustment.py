"""What to adjust for: back-door sets and Markov blankets, against d-separation path by path."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_graphs
from cslearn import random_cstree
from cslearn.datasets import chickenpox_model
from cslearn.errors import InputError
from cslearn.inference import adjustment_sets, markov_blanket

# It had another name before networkx 3.3.
separated = getattr(nx, "is_d_separator", None) or nx.d_separated


@st.composite
def dags(draw, max_nodes=6):
    n = draw(st.integers(2, max_nodes))
    names = draw(st.permutations([f"v{i}" for i in range(n)]))
    chosen = draw(st.lists(st.booleans(), min_size=n * (n - 1) // 2, max_size=n * (n - 1) // 2))
    dag = nx.DiGraph()
    dag.add_nodes_from(sorted(names))
    dag.add_edges_from(pair for pair, there in zip(combinations(names, 2), chosen, strict=True) if there)
    return dag


@given(dags(), st.data())
def test_adjustment_sets_are_all_minimal_back_door_sets(dag, data):
    exposure, outcome = data.draw(st.permutations(list(dag)))[:2]
    found = adjustment_sets(dag, exposure, outcome)
    expected = naive_graphs.adjustment_sets(list(dag), list(dag.edges), exposure, outcome)
    assert len(set(found)) == len(found)
    assert {frozenset(s) for s in found} == {frozenset(s) for s in expected}
    assert [len(s) for s in found] == sorted(len(s) for s in found)
    # Without a set there is an arrow from the outcome to the exposure, and the other way round.
    assert (not found) == dag.has_edge(outcome, exposure)


@pytest.mark.parametrize("seed", range(3))
def test_denser_and_larger_graphs(seed):
    rng = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(9)]
    dag = nx.DiGraph()
    dag.add_nodes_from(names)
    dag.add_edges_from(pair for pair in combinations(names, 2) if rng.random() < 0.3)
    for exposure, outcome in [("v3", "v8"), ("v5", "v8"), ("v6", "v7")]:
        expected = naive_graphs.adjustment_sets(names, list(dag.edges), exposure, outcome)
        assert {frozenset(s) for s in adjustment_sets(dag, exposure, outcome)} == {frozenset(s) for s in expected}


@given(dags(max_nodes=5), st.data())
def test_the_naive_separation_is_that_of_networkx(dag, data):
    """A second opinion on the twin that the other tests rest on."""
    a, b, *others = data.draw(st.permutations(list(dag)))
    given_ = set(data.draw(st.lists(st.sampled_from(others), unique=True))) if others else set()
    assert naive_graphs.d_separated(list(dag.edges), a, b, given_) == separated(dag, {a}, {b}, given_)


@given(dags(), st.data())
def test_the_markov_blanket_is_the_smallest_set_that_separates_from_all_others(dag, data):
    v = data.draw(st.sampled_from(list(dag)))
    others = [u for u in dag if u != v]

    def separates(s):
        return all(naive_graphs.d_separated(list(dag.edges), v, u, s) for u in others if u not in s)

    separating = [s for size in range(len(others) + 1) for s in combinations(others, size) if separates(s)]
    assert markov_blanket(dag, v) == separating[0]
    # Every other such set holds it.
    assert all(set(separating[0]) <= set(s) for s in separating)


def test_models_with_many_variables_are_quick_to_ask_and_lists_are_bounded():
    tree = random_cstree(100, random_state=0)
    exposure, outcome = tree.order[40], tree.order[-1]
    found = adjustment_sets(tree, exposure, outcome, limit=5)
    assert 1 <= len(found) <= 5
    dag = tree.to_dag()
    dag.remove_edges_from(list(dag.out_edges(exposure)))
    for s in found:
        assert separated(dag, {exposure}, {outcome}, set(s))
        assert not set(s) & nx.descendants(tree.to_dag(), exposure)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda t: adjustment_sets(t, "exposed", "x"), "no variable 'x'; it has 'background', 'diagnosis'"),
        (lambda t: adjustment_sets(t, "exposed", "exposed"), "both exposure and outcome"),
        (lambda t: adjustment_sets(t, "exposed", "carrier", limit=0), "at least 1, not 0"),
        (lambda t: markov_blanket(t, "x"), "no variable 'x'"),
        (lambda t: markov_blanket(nx.DiGraph([("a", "b"), ("b", "a")]), "a"), "acyclic"),
    ],
)
def test_bad_questions(ask, message):
    with pytest.raises(InputError, match=message):
        ask(chickenpox_model())
