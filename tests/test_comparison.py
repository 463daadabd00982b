"""Distances between models: each equals its naive twin, and is zero where it should be."""

import json
from collections import defaultdict
from itertools import product
from math import exp, inf, isclose, isnan

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_metrics as naive
from cslearn import CStree, kl_divergence, random_cstree
from cslearn.datasets import chickenpox_model, supplement_model
from cslearn.errors import InputError, LimitError
from cslearn.graphs.entailment import Entailment
from cslearn.metrics import (
    backward_edges,
    compare,
    cpdag,
    csi_scores,
    edge_scores,
    held_out,
    kendall_distance,
    ldag_distance,
    shd,
)
from cslearn.metrics import relations as relations_module


# ---------------------------------------------------------------- DAGs and CPDAGs
@pytest.mark.parametrize("p", [1, 2, 3, 4])
def test_the_cpdag_is_the_union_of_the_equivalence_class(p):
    classes = defaultdict(list)
    for dag in naive.dags("abcd"[:p]):
        classes[naive.independences(dag)].append(dag)
    assert len(classes) == [1, 2, 11, 185][p - 1]  # known numbers of Markov equivalence classes
    for members in classes.values():
        edges = naive.union(members)
        for dag in members:
            assert set(cpdag(dag).edges) == edges


def random_dag(p, seed, density=0.3):
    rng = np.random.default_rng(seed)
    order = rng.permutation(p)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(p))
    graph.add_edges_from(
        (int(order[i]), int(order[j])) for i in range(p) for j in range(i + 1, p) if rng.random() < density
    )
    return graph


@pytest.mark.parametrize("seed", range(20))
def test_covered_edges_can_be_turned_around_and_the_cpdag_stays(seed):
    # Chickering: an edge a -> b is covered if b has the parents of a and a; turning it around gives an equivalent DAG,
    # and any equivalent DAG is reached by such turns.
    dag = random_dag(12, seed)
    original = set(cpdag(dag).edges)
    rng = np.random.default_rng(seed)
    for _ in range(30):
        covered = [(a, b) for a, b in dag.edges if set(dag.predecessors(b)) == {*dag.predecessors(a), a}]
        if not covered:
            break
        a, b = covered[rng.integers(len(covered))]
        dag.remove_edge(a, b)
        dag.add_edge(b, a)
        assert set(cpdag(dag).edges) == original
    other = next((e for e in dag.edges if (e[1], e[0]) not in original), None)
    if other is not None:  # negative control: an edge that is directed in the class
        dag.remove_edge(*other)
        dag.add_edge(*other[::-1])
        if nx.is_directed_acyclic_graph(dag):
            assert set(cpdag(dag).edges) != original


@given(seeds=st.tuples(st.integers(0, 999), st.integers(0, 999)), p=st.integers(1, 6))
def test_the_hamming_distance_counts_pairs(seeds, p):
    a, b = (random_dag(p, seed, 0.5) for seed in seeds)
    assert shd(a, b) == shd(b, a) == naive.shd(a, b)
    assert shd(a, b, cpdag=True) == naive.shd(cpdag(a), cpdag(b))
    assert shd(a, a) == 0
    right = len(set(a.edges) & set(b.edges))
    scores = edge_scores(a, b)
    assert (scores.n_right, scores.n_model, scores.n_reference) == (right, len(b.edges), len(a.edges))
    assert edge_scores(a, b, skeleton=True).n_right == len(
        {frozenset(e) for e in a.edges} & {frozenset(e) for e in b.edges}
    )


def test_scores_of_edges():
    truth, found = nx.DiGraph([("x", "y"), ("y", "z"), ("z", "w")]), nx.DiGraph([("x", "y"), ("z", "y"), ("y", "w")])
    scores = edge_scores(truth, found)
    assert (scores.precision, scores.recall, scores.f1) == (1 / 3, 1 / 3, 1 / 3)
    empty = nx.empty_graph("xyzw", create_using=nx.DiGraph)
    assert (edge_scores(truth, empty).precision, edge_scores(truth, empty).recall) == (1.0, 0.0)
    assert edge_scores(truth, empty).f1 == 0
    with pytest.raises(InputError, match="different variables: w"):
        shd(truth, nx.DiGraph([("x", "y"), ("y", "z")]))
    with pytest.raises(InputError, match="cycle"):
        cpdag(nx.DiGraph([("x", "y"), ("y", "x")]))


# ---------------------------------------------------------------- contexts
@given(
    cards=st.lists(st.integers(1, 3), min_size=1, max_size=5),
    seeds=st.tuples(st.integers(0, 999), st.integers(0, 999)),
)
def test_the_distance_of_ldags_is_a_mean_over_outcomes(cards, seeds):
    a, b = (random_cstree(cards, random_state=seed) for seed in seeds)
    expected = naive.ldag_distance(a.to_ldag(), b.to_ldag())
    assert isclose(ldag_distance(a, b), expected, abs_tol=1e-12)
    assert isclose(ldag_distance(b, a), expected, abs_tol=1e-12)
    assert isclose(ldag_distance(a, a), 0, abs_tol=1e-12)
    plain = [CStree.from_dag(tree.to_dag(), states=tree.states) for tree in (a, b)]
    assert ldag_distance(*plain) == shd(a, b)


def test_relations_count_in_whatever_form():
    tree = chickenpox_model()
    # background and diagnosis in the other order: the same model, so the same relations.
    turned = CStree.from_ldag(tree.to_ldag(), order=["diagnosis", "background", "exposed", "carrier"])
    assert turned.order != tree.order
    assert csi_scores(tree, turned).precision == csi_scores(tree, turned).recall == 1
    independent = CStree.from_dag(nx.DiGraph(), states=tree.states)
    scores = csi_scores(tree, independent)
    assert (scores.n_model, scores.precision, scores.recall) == (0, 1.0, 1.0)  # it says all of them, and more
    assert csi_scores(independent, tree).recall == 1.0
    wrong = CStree.from_contexts(
        {
            "diagnosis": [""],
            "exposed": [""],
            "carrier": ["exposed=no", "exposed=yes, background=rural", "exposed=yes, background=urban"],
        },
        states=tree.states,
    )
    scores = csi_scores(tree, wrong)  # it says that carrier does not depend on background once exposed is no
    assert (scores.n_model, scores.precision) == (1, 1.0)
    wrong = CStree.from_contexts(
        {
            "diagnosis": [""],
            "exposed": [""],
            "carrier": ["exposed=yes", "exposed=no, background=rural", "exposed=no, background=urban"],
        },
        states=tree.states,
    )
    scores = csi_scores(tree, wrong)
    assert (scores.n_model, scores.precision) == (1, 0.0)


def test_what_cannot_be_decided_counts_as_wrong(monkeypatch):
    def undecided(self, relation):
        raise LimitError("too large")

    monkeypatch.setattr(Entailment, "implies", undecided)
    scores = csi_scores(chickenpox_model(), chickenpox_model())
    assert (scores.precision, scores.recall) == (0.0, 0.0)


def test_of_many_relations_an_even_share_is_looked_at(monkeypatch):
    tree = random_cstree(14, 8, method="grow", max_stages=20, random_state=0)
    monkeypatch.setattr(relations_module, "MOST_RELATIONS", 50)
    n = len(tree.csi_relations())
    scores = csi_scores(tree, tree)
    assert n > 100
    assert 25 < scores.n_model <= 50
    assert (scores.precision, scores.recall) == (1.0, 1.0)


# ---------------------------------------------------------------- orders
@given(order=st.permutations("abcdefg"))
def test_kendalls_distance_counts_swapped_pairs(order):
    assert kendall_distance("abcdefg", order) == naive.kendall("abcdefg", order)
    assert kendall_distance("abcdefg", order, normalised=True) == naive.kendall("abcdefg", order) / 21


def test_orders_of_other_variables():
    with pytest.raises(InputError, match="same variables"):
        kendall_distance("abc", "abd")
    with pytest.raises(InputError, match="same variables"):
        kendall_distance("aab", "abb")
    assert kendall_distance("a", "a", normalised=True) == 0.0
    with pytest.raises(InputError, match="not one of the variables"):
        backward_edges("abc", chickenpox_model())


@given(seed=st.integers(0, 99), order=st.permutations(["X1", "X2", "X3", "X4", "X5"]))
def test_an_order_without_backward_edges_is_one_of_the_dags_own(seed, order):
    dag = random_cstree(5, random_state=seed).to_dag()
    backward = backward_edges(order, dag)
    assert backward == sum(order.index(a) > order.index(b) for a, b in dag.edges)
    assert (backward == 0) == (list(order) in [list(x) for x in nx.all_topological_sorts(dag)])


# ---------------------------------------------------------------- rows and all together
def test_held_out_rows(tmp_path):
    tree = chickenpox_model()
    data = tree.sample(400, random_state=0)
    logs = tree.log_prob(data)
    found = held_out(tree, data)
    assert isclose(found.mean, logs.mean())
    assert isclose(found.standard_error, logs.std(ddof=1) / 20)
    assert (found.n, found.n_impossible) == (400, 0)
    assert isnan(held_out(tree, data[:1]).standard_error)
    with pytest.raises(InputError, match="no rows"):
        held_out(tree, data[:0])
    never = tree.with_parameters({**tree.parameters, "background": [[0.0, 1.0]]})
    rural = int((data["background"] == "rural").sum())
    assert (held_out(never, data).mean, held_out(never, data).n_impossible) == (-inf, rural)


def test_the_entropy_is_what_rows_of_a_model_cost():
    tree = chickenpox_model()
    rows = [dict(zip(tree.variables, x, strict=True)) for x in product(*tree.states.values())]
    entropy = -sum(exp(value) * value for value in tree.log_prob(rows))
    found = held_out(tree, tree.sample(50_000, random_state=1))
    assert abs(found.mean + entropy) < 4 * found.standard_error


def test_a_model_compared_with_itself_and_with_another():
    tree = chickenpox_model()
    same = compare(tree, tree, tree.sample(50, random_state=0))
    assert (same.shd, same.shd_cpdag, same.ldag_distance, same.kendall, same.backward) == (0, 0, 0.0, 0.0, 0)
    assert same.divergence == same.reverse_divergence == 0
    assert same.held_out[0] == same.held_out[1]
    other = random_cstree(dict(tree.states), random_state=1)
    found = compare(tree, other)
    assert found.divergence == kl_divergence(tree, other)
    assert found.reverse_divergence == kl_divergence(other, tree)
    assert found.held_out is None
    document = json.loads(json.dumps(found.document(), allow_nan=False))
    assert document["shd"] == shd(tree, other)
    structure = compare(tree, tree.with_parameters(None), tree.sample(50, random_state=0))
    assert structure.divergence is None
    assert structure.document()["held_out"]["model"] is None
    never = tree.with_parameters({**tree.parameters, "background": [[0.0, 1.0]]})
    assert compare(tree, never).document()["divergence"] == {
        "nats": None, "infinite": True, "method": "exact", "standard_error": 0.0,
    }  # fmt: skip
    with pytest.raises(InputError, match="different variables"):
        compare(tree, supplement_model())
