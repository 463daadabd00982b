"""What a CStree shows: labels, relations, axioms, entailment, minimal contexts, equivalence."""

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cslearn import LDAG, CStree, random_cstree
from cslearn.datasets import dense_model, supplement_model
from cslearn.errors import InputError
from cslearn.graphs import patterns as patterns_module
from cslearn.graphs.patterns import hole, prime_patterns, smallest_cover
from cslearn.stagings import Context
from naive_graphs import all_patterns, covered, fewest_patterns, independent, joint_table, outcomes


@st.composite
def models(draw, max_p=5, max_beta=3):
    cards = draw(st.lists(st.integers(1, 3), min_size=1, max_size=max_p))
    seed = draw(st.integers(0, 2**32 - 1))
    method = draw(st.sampled_from(["uniform", "split"]))
    return random_cstree(cards, draw(st.integers(0, max_beta)), method=method, concentration=2.0, random_state=seed)


@st.composite
def covers(draw, max_size=6):
    cards = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    scope = {f"v{i}": tuple(range(d)) for i, d in enumerate(cards)}
    chosen = draw(st.lists(st.sampled_from(all_patterns(scope)), max_size=max_size))
    return [Context(pattern) for pattern in chosen], scope


# ---------------------------------------------------------------- patterns
@given(problem=covers())
def test_primes_are_the_patterns_that_cannot_be_freed_further(problem):
    patterns, scope = problem
    target = covered(patterns, scope)
    inside = [p for p in all_patterns(scope) if covered([p], scope) <= target]
    # The largest sets of outcomes; a variable with one state is never assigned.
    sets = {frozenset(covered([p], scope)) for p in inside}
    largest = {s for s in sets if not any(s < other for other in sets)}
    primes = prime_patterns(patterns, scope)
    assert {frozenset(covered([p], scope)) for p in primes} == largest
    assert len(primes) == len(largest)
    assert all(len(scope[v]) > 1 for p in primes for v in p)


@settings(max_examples=200)
@given(problem=covers())
def test_a_cover_is_exact_and_smallest(problem):
    patterns, scope = problem
    target = covered(patterns, scope)
    cover = smallest_cover(patterns, scope)
    assert covered(cover, scope) == target
    assert len(cover) == fewest_patterns(target, scope)


@given(problem=covers())
def test_beyond_the_limit_a_cover_is_exact_irredundant_and_prime(problem):
    patterns, scope = problem
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patterns_module, "STEP_LIMIT", -1)
        cover = smallest_cover(patterns, scope)
    assert covered(cover, scope) == covered(patterns, scope)
    if len(cover) < len(patterns):
        assert set(cover) <= set(prime_patterns(patterns, scope))
        assert all(covered([p for p in cover if p != q], scope) < covered(patterns, scope) for q in cover)


def test_a_cover_may_need_more_than_a_greedy_one():
    # The cycle of six cells of a 2 x 2 x 2 box: two smallest covers of three patterns, and larger irredundant ones.
    scope = dict.fromkeys("abc", (0, 1))
    cells = [Context(o) for o in outcomes(scope) if 0 < sum(o.values()) < 3]
    assert len(prime_patterns(cells, scope)) == 6
    assert len(smallest_cover(cells, scope)) == 3


@given(problem=covers(), data=st.data())
def test_a_hole_is_an_outcome_that_is_not_covered(problem, data):
    patterns, scope = problem
    known = data.draw(st.sampled_from(all_patterns(scope)))
    found = hole(patterns, known, scope)
    inside = covered([known], scope)
    if found is None:
        assert inside <= covered(patterns, scope)
    else:
        assert covered([found], scope)
        assert covered([found], scope) <= inside - covered(patterns, scope)


# ---------------------------------------------------------------- labels: the paper's figures
def starred(ldag, *names):
    """The label of an edge as the paper writes it: tuples over the other parents in the order of their names."""
    edge = (names[0], names[-1])
    others = sorted(set(ldag.graph.predecessors(edge[1])) - {edge[0]}, key=list(ldag.states).index)
    return {tuple(context.get(v, "*") for v in others) for context in ldag.labels.get(edge, ())}


def figure_1():
    """The chicken-pox model with the paper's names: X1 to X4, 0 for no and 1 for yes."""
    return CStree.from_statements(
        ["X2 _||_ X1", "X3 _||_ X1 | X2=1", "X4 _||_ X1, X2 | X3=0", "X4 _||_ X1 | X2=0, X3=1"],
        states={f"X{i}": (0, 1) for i in range(1, 5)},
    )


def test_figure_1b():
    ldag = figure_1().to_ldag()
    assert set(ldag.graph.edges) == {("X1", "X3"), ("X2", "X3"), ("X1", "X4"), ("X2", "X4"), ("X3", "X4")}
    assert {edge: starred(ldag, *edge) for edge in ldag.graph.edges} == {
        ("X1", "X3"): {(1,)},
        ("X2", "X3"): set(),
        ("X1", "X4"): {(0, 1), ("*", 0)},
        ("X2", "X4"): {("*", 0)},
        ("X3", "X4"): set(),
    }


def test_the_labels_of_the_supplements_example():
    ldag = supplement_model().to_ldag()
    assert {edge: starred(ldag, *edge) for edge in ldag.labels} == {
        ("X1", "X3"): {(1,)},
        ("X2", "X4"): {(1, "*"), ("*", 1)},
    }
    assert ldag.label_text(("X2", "X4"), stars=True) == "(X1, X3) = (1, *), (*, 1)"
    assert ldag.label_text(("X2", "X4")) == "X1=1; X3=1"
    assert ldag.label_text(("X1", "X4")) == ldag.label_text(("X1", "X4"), stars=True) == ""


def test_the_labels_of_the_remarks_complete_dag():
    ldag = dense_model().to_ldag()
    assert ldag.graph.number_of_edges() == 6
    assert {edge: starred(ldag, *edge) for edge in ldag.labels} == {
        ("X2", "X4"): {(1, "*")},
        ("X3", "X4"): {(0, "*")},
    }


# ---------------------------------------------------------------- labels: what they mean
@settings(max_examples=60)
@given(tree=models())
def test_labels_are_smallest_and_hold_exactly_the_pairwise_relations_of_the_joint_distribution(tree):
    ldag = tree.to_ldag()
    joint = joint_table(tree)
    for parent, child in ldag.graph.edges:
        others = {v: tree.states[v] for v in ldag.graph.predecessors(child) if v != parent}
        label = ldag.labels.get((parent, child), ())
        inside = covered(label, others)
        for outcome in outcomes(others):
            holds = independent(joint, tree.variables, [child], [parent], [], outcome)
            # A variable with one state depends on nothing, whatever the stages say.
            if len(tree.states[child]) > 1:
                assert holds == (tuple(outcome.values()) in inside) == ldag.vanishes((parent, child), outcome)
        if len(inside) <= 9:
            assert len(label) == fewest_patterns(inside, others)
        assert all(covered([p for p in label if p != q], others) < inside for q in label)


def test_labels_are_the_same_whatever_the_size_of_the_label():
    # A 9-state variable whose states split on different variables: labels of 72 stages shrink to 8 states.
    states = {"k": tuple(range(9)), **{f"j{x}": tuple(range(9)) for x in range(9)}, "y": (0, 1)}
    contexts = [{"k": x, f"j{x}": s} for x in range(9) for s in range(9)]
    tree = CStree.from_contexts({"y": contexts, **{v: [{}] for v in states if v not in "ky"}}, states=states,
                                order=list(states))  # fmt: skip
    ldag = tree.to_ldag()
    assert set(ldag.labels["j3", "y"]) == {Context({"k": x}) for x in range(9) if x != 3}
    assert ("k", "y") not in ldag.labels


def test_networkx_graphs_carry_the_labels():
    ldag = supplement_model().to_ldag()
    graph = ldag.to_networkx()
    assert set(graph.edges) == set(ldag.graph.edges)
    assert graph.edges["X2", "X4"] == {"label": "X1=1; X3=1", "contexts": [{"X1": 1}, {"X3": 1}]}
    assert graph.edges["X1", "X4"] == {}
    assert graph.nodes["X1"] == {"states": [0, 1]}
    graph.add_edge("X1", "X2")
    assert not ldag.graph.has_edge("X1", "X2")


def test_labels_with_any_names_and_states():
    states = {'<b>&"': ("🐟", "="), "a, b": (True, False), "y": (1.5, 2)}
    ldag = LDAG(
        nx.DiGraph([('<b>&"', "y"), ("a, b", "y")]), {('<b>&"', "y"): [{"a, b": True}, {"a, b": False}]}, states=states
    )
    assert ldag.compact().label_text(('<b>&"', "y")) == "always"
    assert ldag.label_text(('<b>&"', "y"), stars=True) == "(a, b) = (True), (False)"
    assert ldag == ldag.compact()
    with pytest.raises(InputError, match=r"'a, b' has no state 'maybe' \(it has True, False\)"):
        ldag.vanishes(('<b>&"', "y"), {"a, b": "maybe"})
    with pytest.raises(InputError, match="no edge 'y' -> 'a, b'"):
        ldag.label_text(("y", "a, b"))
