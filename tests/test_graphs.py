"""What a CStree shows: labels, relations, axioms, entailment, minimal contexts, equivalence."""

import pickle
from io import StringIO
from itertools import combinations, permutations, product

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cslearn import LDAG, CStree, random_cstree
from cslearn.data import Table
from cslearn.datasets import chickenpox_model, dense_model, supplement_model
from cslearn.errors import InputError, LimitError
from cslearn.estimators import relation_table
from cslearn.graphs import (
    CSIRelation,
    RelationTable,
    WeighedRelation,
    absorption,
    contraction,
    decomposition,
    intersection,
    specialization,
    symmetry,
    weak_union,
)
from cslearn.graphs import entailment as entailment_module
from cslearn.graphs import minimal_contexts as minimal_module
from cslearn.graphs import patterns as patterns_module
from cslearn.graphs.entailment import Entailment
from cslearn.graphs.patterns import hole, prime_patterns, smallest_cover
from cslearn.graphs.relations import latex
from cslearn.scores import Scores
from cslearn.stagings import Context, listing
from naive_graphs import all_patterns, covered, fewest_patterns, independent, joined, joint_table, outcomes


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


@given(problem=covers())
def test_a_cover_is_exact_and_smallest(problem):
    patterns, scope = problem
    target = covered(patterns, scope)
    cover = smallest_cover(patterns, scope)
    assert covered(cover, scope) == target
    assert len(cover) == fewest_patterns(target, scope)


@pytest.mark.parametrize("limit", ["PATTERN_LIMIT", "PRIME_LIMIT", "STEP_LIMIT"])
@given(problem=covers())
def test_beyond_the_limits_a_cover_is_exact_with_no_more_patterns_than_given(limit, problem):
    patterns, scope = problem
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patterns_module, limit, -1)
        cover = smallest_cover(patterns, scope)
    assert covered(cover, scope) == covered(patterns, scope)
    assert len(cover) <= len(patterns)


def test_beyond_the_limits_the_leaves_of_a_tree_are_joined_to_its_branches():
    tree = random_cstree(14, 10, method="grow", max_stages=100, random_state=3)
    child = tree.order[-1]
    parents = tree.parents[child]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patterns_module, "PATTERN_LIMIT", 0)
        label = tree.to_ldag().labels[parents[1], child]
    leaves = [context for context in tree.stagings[child] if parents[1] not in context]
    assert len(label) < len(leaves)
    assert all(hole(label, leaf, tree.states) is None for leaf in leaves)
    assert all(hole(leaves, context, tree.states) is None for context in label)


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


@given(data=st.data())
def test_labels_join_the_outcomes_that_joining_one_by_one_does(data):
    cards = data.draw(st.lists(st.integers(1, 3), max_size=4))
    scope = {f"v{i}": tuple(range(d)) for i, d in enumerate(cards)}
    labels = {
        v: data.draw(st.lists(st.sampled_from(all_patterns({u: s for u, s in scope.items() if u != v})), max_size=3))
        for v in scope
    }
    graph = nx.DiGraph([(v, "x") for v in scope])
    ldag = LDAG(graph, {(v, "x"): label for v, label in labels.items()}, states={**scope, "x": (0, 1)})
    found = ldag.joined_outcomes("x")
    assert list(map(sorted, found)) == sorted(map(sorted, joined(labels, scope)))


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


# ---------------------------------------------------------------- relations as values
def test_relations_are_values():
    one = CSIRelation(["a", "b"], ["c", "d"], {"s": 1, "t": 2}, given=["e", "f"])
    same = CSIRelation(["b", "a"], ("d", "c"), Context({"t": 2, "s": 1}), given=("f", "e"))
    assert one == same
    assert hash(one) == hash(same)
    assert len({one, same, symmetry(one)}) == 2
    assert pickle.loads(pickle.dumps(one)) == one
    assert str(one) == "a, b _||_ c, d | e, f, s=1, t=2"
    assert one.in_words() == "a and b do not depend on c or d once s is 1 and t is 2, whatever e and f are"
    assert CSIRelation("a", "b").in_words() == "a does not depend on b"
    assert CSIRelation("a", "b", given="c").in_words() == "a does not depend on b given c"
    assert one.variables == set("abcdefst")
    with pytest.raises(AttributeError, match="cannot be changed"):
        one.left = ()


def test_the_names_of_stage_relations():
    relation = CSIRelation("carrier", ("background", "diagnosis"), Context({"exposed": "no"}))
    assert relation.target == "carrier"
    assert relation.independent_of == ("background", "diagnosis")
    with pytest.raises(InputError, match="2 variables on its left, so no single target"):
        CSIRelation(["a", "b"], "c").target  # noqa: B018


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((["a"], []), "at least one variable on each side"),
        (((), "b"), "at least one variable on each side"),
        (("a", "a"), "'a' is named more than once"),
        (("a", "b", {"a": 1}), "'a' is named more than once"),
        (("a", "b", {"c": 1}, ["c"]), "'c' is named more than once"),
    ],
)
def test_relations_that_make_no_sense(parts, message):
    with pytest.raises(InputError, match=message):
        CSIRelation(*parts)


NAMES = st.text(" ,|=\"_ab⊥é🐟'", min_size=1, max_size=4)


@given(data=st.data())
def test_what_a_relation_prints_can_be_read(data):
    names = data.draw(st.lists(NAMES, min_size=2, max_size=6, unique=True))
    states = {v: data.draw(st.lists(NAMES, min_size=1, max_size=2, unique=True)) for v in names}
    roles = [data.draw(st.sampled_from("LRCS-")) for _ in names[2:]]
    part = {r: [v for v, role in zip(names, "LR" + "".join(roles), strict=True) if role == r] for r in "LRCS"}
    relation = CSIRelation(part["L"], part["R"], {v: states[v][0] for v in part["S"]}, part["C"])
    assert CSIRelation.parse(str(relation), states) == relation
    relation.check(states)


def test_latex_escapes_what_means_something_to_it():
    assert latex('<b>&"\\ $5_{x}^~#') == (
        r"\textless{}b\textgreater{}\&\textquotedbl{}\textbackslash{} \$5\_\{x\}\textasciicircum{}\textasciitilde{}\#"
    )
    assert CSIRelation("a", "b", {"s": 1}, given="c").to_latex() == (
        r"\text{a} \perp\!\!\!\perp \text{b} \mid \text{c}, \text{s}=\text{1}"
    )


def test_unknown_variables_and_states_are_named():
    tree = chickenpox_model()
    with pytest.raises(InputError, match="names 'age', but there is no such variable"):
        tree.implies(CSIRelation("carrier", "age"))
    with pytest.raises(InputError, match=r"'exposed' has no state 'maybe' \(it has no, yes\)"):
        tree.implies(CSIRelation("carrier", "background", {"exposed": "maybe"}))
    with pytest.raises(InputError, match="no variable 'age'"):
        tree.implies("carrier _||_ age")


# ---------------------------------------------------------------- every relation over some variables
def all_relations(states):
    """Every relation: each variable is on the left, on the right, given, in one of its states, or left out."""
    for roles in product(*(["left", "right", "given", None, *((x,) for x in states[v])] for v in states)):
        part = {r: [v for v, role in zip(states, roles, strict=True) if role == r] for r in ("left", "right", "given")}
        if part["left"] and part["right"]:
            context = {v: role[0] for v, role in zip(states, roles, strict=True) if isinstance(role, tuple)}
            yield CSIRelation(part["left"], part["right"], context, part["given"])


def holding(tree):
    """The relations that hold in the joint distribution of a tree with its parameters, by summing outcomes."""
    joint = joint_table(tree)
    return {
        r for r in all_relations(tree.states) if independent(joint, tree.variables, r.left, r.right, r.given, r.context)
    }


# ---------------------------------------------------------------- axioms
@pytest.mark.parametrize("seed", [1, 2, 5])
def test_axioms_lead_from_what_holds_to_what_holds(seed):
    tree = random_cstree([2, 3, 2, 2], 3, concentration=3.0, random_state=seed)
    true = holding(tree)
    applied = dict.fromkeys(
        ["symmetry", "decomposition", "weak union", "contraction", "intersection", "specialization", "absorption"], 0
    )

    def note(axiom, *results):
        applied[axiom] += 1
        assert true.issuperset(results), (axiom, results)

    for relation in true:
        note("symmetry", symmetry(relation))
        if len(relation.right) > 1:
            for v in relation.right:
                note("decomposition", decomposition(relation, v))
                note("weak union", weak_union(relation, v))
        for size in range(1, len(relation.given) + 1):
            for fixed in combinations(relation.given, size):
                results = specialization(relation, fixed, tree.states)
                assert absorption(results, fixed, tree.states) == relation
                note("specialization", *results)
        for v in relation.context:
            rest = {u: x for u, x in relation.context.items() if u != v}
            family = [CSIRelation(relation.left, relation.right, {**rest, v: x}, relation.given)
                      for x in tree.states[v]]  # fmt: skip
            if true.issuperset(family):
                note("absorption", absorption(family, v, tree.states))
        for axiom, rule in (("contraction", contraction), ("intersection", intersection)):
            for other in true:
                try:
                    result = rule(relation, other)
                except InputError:
                    continue
                note(axiom, result)
    assert all(applied.values()), applied


def test_axioms_that_do_not_apply_say_why():
    one = CSIRelation("a", ["b", "d"], {"s": 1}, given="c")
    for rule in (decomposition, weak_union):
        with pytest.raises(InputError, match="'z' is not in the right side"):
            rule(one, "z")
        with pytest.raises(InputError, match="leaves nothing on the right side"):
            rule(one, ["b", "d"])
    with pytest.raises(InputError, match="same left side and the same context"):
        contraction(one, CSIRelation("a", "c", {"s": 0}))
    with pytest.raises(InputError, match="to be given what"):
        contraction(one, CSIRelation("a", "z", {"s": 1}))
    with pytest.raises(InputError, match="right sides without a common variable"):
        intersection(one, CSIRelation("a", "b", {"s": 1}, given=["c", "d"]))
    with pytest.raises(InputError, match="given the right side of the other"):
        intersection(one, CSIRelation("a", "z", {"s": 1}, given="c"))
    with pytest.raises(InputError, match="'b' is not in what"):
        specialization(one, "b", {"b": (0, 1)})
    with pytest.raises(InputError, match="states of 'c' are not given"):
        specialization(one, "c", {})
    with pytest.raises(LimitError, match="65,536"):
        specialization(one, "c", {"c": range(70_000)})
    states = {"s": (0, 1, 2), "t": (0, 1)}
    family = [CSIRelation("a", "b", {"s": x, "t": 0}) for x in (0, 1, 2)]
    assert absorption(family, "s", states) == CSIRelation("a", "b", {"t": 0}, given="s")
    with pytest.raises(InputError, match=r"\(s=2\) is missing"):
        absorption(family[:2], "s", states)
    with pytest.raises(InputError, match="'u' is not in the context"):
        absorption(family, "u", states)
    with pytest.raises(InputError, match="differ in the states of s alone"):
        absorption([*family[:2], CSIRelation("a", "b", {"s": 2, "t": 1})], "s", states)
    with pytest.raises(InputError, match="differ in the states of s alone"):
        absorption([*family, CSIRelation("a", "b", {"t": 0})], "s", states)
    with pytest.raises(InputError, match="there are none"):
        absorption([], "s", states)


def test_absorption_needs_every_state():
    # A negative control: with a state left out, the conclusion of absorption does not hold.
    tree = chickenpox_model()
    assert tree.implies("background _||_ carrier | exposed=no")
    assert not tree.implies("background _||_ carrier | exposed=yes")
    assert not tree.implies("background _||_ carrier | exposed")


# ---------------------------------------------------------------- entailment
@given(tree=models(max_p=4))
def test_entailed_is_what_holds_for_generic_parameters(tree):
    true = holding(tree)
    by_tree, by_ldag = Entailment(tree), Entailment(tree.to_ldag())
    for relation in all_relations(tree.states):
        expected = relation in true
        assert by_tree.implies(relation) == by_ldag.implies(relation) == expected
        # The proof by graphs never claims too much.
        assert expected or not by_tree.is_separated(relation)


@pytest.mark.parametrize("seed", range(3))
def test_an_ldag_that_is_no_cstree_entails_what_holds_for_its_generic_parameters(seed):
    # y depends on a and b only if both are 1, and its three other outcomes share their distribution.
    states = {"a": (0, 1), "b": (0, 1), "y": (0, 1), "z": (0, 1, 2)}
    ldag = LDAG(
        nx.DiGraph([("a", "y"), ("b", "y"), ("y", "z"), ("a", "z")]),
        {("a", "y"): [{"b": 0}], ("b", "y"): [{"a": 0}], ("y", "z"): [{"a": 1}]},
        states=states,
    )
    rng = np.random.default_rng(seed)
    names = ("a", "b", "y11", "y", "z1", "z00", "z01")
    chance = {name: rng.dirichlet(np.ones(3 if name[0] == "z" else 2)) for name in names}
    joint = {}
    for a, b, y, z in product(*states.values()):
        rows = chance["a"], chance["b"], chance["y11" if a and b else "y"], chance["z1" if a else f"z0{y}"]
        joint[a, b, y, z] = np.prod([row[x] for row, x in zip(rows, (a, b, y, z), strict=True)])
    relations = list(all_relations(states))
    true = {r for r in relations if independent(joint, list(states), r.left, r.right, r.given, r.context)}
    assert {r for r in relations if ldag.implies(r)} == true
    assert ldag.implies("b _||_ z | a=1")
    assert not ldag.implies("b _||_ y | a=1")


def test_relations_that_follow_from_several_contexts_together_are_found():
    # In each state of s, y depends on a or on b, which are both independent of w: so y _||_ w, and the graph shows it.
    # But whether y depends on w through a is cut by s: w -> a only if s=0, a -> y only if s=1.
    states = dict.fromkeys("swayx", (0, 1))
    tree = CStree.from_contexts(
        {
            "w": [""],
            "a": ["s=0, w=0", "s=0, w=1", "s=1"],
            "y": ["s=0", "s=1, a=0", "s=1, a=1"],
            "x": [""],
        },
        states=states,
        order=list("swayx"),
    )
    assert tree.implies("w _||_ y | s")
    assert tree.implies("w _||_ y, s")
    assert not Entailment(tree).is_separated(CSIRelation("w", "y", given="s"))
    assert not Entailment(tree).is_separated(CSIRelation("w", "y"))
    assert tree.implies("w _||_ y")
    assert not tree.implies("w _||_ a")


def test_large_models_are_decided_by_graphs_and_small_tables():
    tree = random_cstree(100, method="split", p_context=0.01, concentration=None, random_state=1)
    for relation in tree.csi_relations():
        assert tree.implies(relation)
    v = next(v for v in tree.order if tree.parents[v])
    assert not tree.implies(CSIRelation(v, tree.parents[v][0]))


def test_what_cannot_be_decided_is_an_error():
    p = 30
    states = {f"x{i}": (0, 1) for i in range(p)}
    chain = CStree.from_dag(nx.DiGraph([(f"x{i}", f"x{i + 1}") for i in range(p - 1)]), states=states)
    middle = [f"x{i}" for i in range(1, p - 1)]
    assert chain.implies(CSIRelation("x0", f"x{p - 1}", given=middle))
    assert not chain.implies(CSIRelation("x0", f"x{p - 1}"))  # weaker than any rounding error would show
    with pytest.raises(LimitError, match=r"cannot decide whether \(x0 _\|\|_ .* table of 1,073,741,824 cells"):
        chain.implies(CSIRelation("x0", "x1", given=[*middle[1:], "x29"]))


def test_cases_are_tried_where_tables_are_too_large(monkeypatch):
    states = dict.fromkeys("sway", (0, 1))
    tree = CStree.from_contexts(
        {"w": [""], "a": ["s=0, w=0", "s=0, w=1", "s=1"], "y": ["s=0", "s=1, a=0", "s=1, a=1"]},
        states=states,
        order=list("sway"),
    )
    monkeypatch.setattr(entailment_module, "CELL_LIMIT", 2)
    assert tree.implies("w _||_ y | s")
    with pytest.raises(LimitError, match="cannot decide"):
        tree.implies("w _||_ y")


# ---------------------------------------------------------------- minimal contexts
def graphs_of(tree):
    return {str(context): set(graph.edges) for context, graph in tree.minimal_contexts().items()}


def test_the_four_graphs_of_the_supplements_example():
    def edges(text):
        return {(f"X{i}", f"X{j}") for i, j in text.split()}

    assert graphs_of(supplement_model()) == {
        "": edges("13 14 23 24 34"),
        "X1=1": edges("23 34"),
        "X2=1": edges("14 34"),
        "X3=1": edges("12 14"),
    }
    found = supplement_model().minimal_contexts()
    assert [sorted(graph) for graph in found.values()] == [
        ["X1", "X2", "X3", "X4"],
        ["X2", "X3", "X4"],
        ["X1", "X3", "X4"],
        ["X1", "X2", "X4"],
    ]
    assert found.contexts == tuple(found)


def naive_minimal_contexts(tree):
    """From the definition: the contexts of relations that hold, from which nothing can be absorbed."""
    true = holding(tree)
    contexts = {Context()}
    for relation in true:
        absorbable = (
            CSIRelation(
                relation.left,
                relation.right,
                {u: x for u, x in relation.context.items() if u != v},
                (*relation.given, v),
            )
            for v in relation.context
        )
        if not any(result in true for result in absorbable):
            contexts.add(relation.context)
    return contexts


@given(tree=models(max_p=4))
def test_minimal_contexts_follow_the_definition(tree):
    found = tree.minimal_contexts()
    assert set(found) == naive_minimal_contexts(tree)
    joint = joint_table(tree)
    for context, graph in found.items():
        free = [v for v in tree.order if v not in context]
        expected = {
            (i, j)
            for place, j in enumerate(free)
            for i in free[:place]
            if not independent(joint, tree.variables, [j], [i], [v for v in free[:place] if v != i], context)
        }
        assert set(graph.edges) == expected
        assert set(graph) == set(free)
    assert set(found[{}].edges) <= set(tree.to_dag().edges)


def test_a_context_may_be_minimal_for_a_set_of_variables_only():
    # y _||_ a needs s=1, y _||_ b needs t=1; y _||_ a, b needs both.
    states = dict.fromkeys("staby", (0, 1))
    stages = [{"s": s, "t": t, **({"a": a} if not s else {}), **({"b": b} if not t else {})}
              for s, t, a, b in product((0, 1), repeat=4)]  # fmt: skip
    tree = CStree.from_contexts(
        {"t": [""], "a": [""], "b": [""], "y": dict.fromkeys(map(Context, stages))},
        states=states,
        order=list("staby"),
    )
    assert {str(c) for c in tree.minimal_contexts()} == {"", "s=1", "t=1", "s=1, t=1"}
    assert set(tree.minimal_contexts()) == naive_minimal_contexts(with_parameters(tree, 0))


def with_parameters(tree, seed):
    rng = np.random.default_rng(seed)
    return tree.with_parameters(
        {v: rng.dirichlet([3.0] * len(tree.states[v]), size=len(tree.stagings[v])) for v in tree.order}
    )


def test_minimal_contexts_state_their_limit():
    with pytest.raises(LimitError, match=r"limited to 262,144 joint outcomes .* which 12 variables have \(here 13"):
        random_cstree(13, random_state=0).minimal_contexts()


def test_ten_variables_have_minimal_contexts():
    tree = random_cstree(10, method="split", p_context=0.2, concentration=None, random_state=3)
    found = tree.minimal_contexts()
    assert set(found[{}].edges) <= set(tree.to_dag().edges)
    assert all(tree.implies(relation) for relation in tree.csi_relations())
    assert {relation.context for relation in tree.csi_relations() if len(relation.context) == 1} <= set(found)


# ---------------------------------------------------------------- Markov equivalence
def all_trees(cards):
    """All CStrees over all orders."""
    names = [f"x{i}" for i in range(len(cards))]
    states = {v: tuple(range(d)) for v, d in zip(names, cards, strict=True)}
    for order in permutations(names):
        levels = [listing({u: states[u] for u in order[:k]}, len(order)) for k in range(len(order))]
        for stagings in product(*levels):
            yield CStree(order, dict(zip(order, stagings, strict=True)), states=states)


@pytest.fixture(scope="module")
def trees_of_three():
    trees = list(all_trees([2, 2, 2]))
    assert len(trees) == 6 * 2 * 8
    return trees


def test_equivalence_of_all_pairs_of_cstrees_of_three_binary_variables(trees_of_three):
    # Brute force, twice: the same relations hold for generic parameters; the same maximal likelihood on random tables.
    relations = [holding(with_parameters(tree, seed)) for seed, tree in enumerate(trees_of_three)]
    rng = np.random.default_rng(0)
    names = list(trees_of_three[0].variables)
    data = [Table(rng.integers(0, 2, size=(40, 3)), names, [(0, 1)] * 3) for _ in range(2)]
    likelihood = np.array([[t.fit_parameters(d, "mle").log_prob(d).sum() for d in data] for t in trees_of_three])
    contexts = [tree.minimal_contexts() for tree in trees_of_three]
    counts = {True: 0, False: 0}
    for i, j in combinations(range(len(trees_of_three)), 2):
        same = relations[i] == relations[j]
        counts[same] += 1
        assert np.allclose(likelihood[i], likelihood[j], rtol=1e-9) == same
        assert trees_of_three[i].is_markov_equivalent(trees_of_three[j]) == same
        assert contexts[i].same_graphs(contexts[j]) == same
    assert min(counts.values()) > 100


def test_equivalent_trees_score_the_same_and_others_do_not(trees_of_three):
    rng = np.random.default_rng(1)
    # With weights, counts are no whole numbers, so different structures do not score the same by chance.
    names = list(trees_of_three[0].variables)
    data = Table(rng.integers(0, 2, size=(40, 3)), names, [(0, 1)] * 3, rng.random(40))
    scores = Scores(data, ess=3.0)
    values = np.array([scores.log_marginal_likelihood(tree) for tree in trees_of_three])
    for one, two in combinations(range(len(values)), 2):
        same = trees_of_three[one].is_markov_equivalent(trees_of_three[two])
        assert np.isclose(values[one], values[two], rtol=1e-10) == same


@pytest.mark.parametrize("cards", [[2, 3], [3, 2, 2]])
def test_equivalence_with_other_cardinalities_agrees_with_scores(cards):
    trees = list(all_trees(cards))
    rng = np.random.default_rng(2)
    trees = [trees[k] for k in rng.permutation(len(trees))[:60]]
    table = Table(
        np.column_stack([rng.integers(0, d, size=60) for d in cards]),
        list(trees[0].variables),
        [tuple(range(d)) for d in cards],
        rng.random(60),
    )
    scores = Scores(table, ess=2.0)
    met = set()
    for one, two in combinations(trees, 2):
        same = one.is_markov_equivalent(two)
        met.add(same)
        gap = scores.log_marginal_likelihood(one) - scores.log_marginal_likelihood(two)
        assert (abs(gap) < 1e-8) == same
    assert met == {True, False}


@given(seed=st.integers(0, 10_000))
def test_orders_that_keep_parents_first_make_no_difference(seed):
    tree = random_cstree([2, 3, 2, 2, 2], method="split", p_context=0.3, concentration=None, random_state=seed)
    rng = np.random.default_rng(seed)
    left, order = set(tree.order), []
    while left:
        ready = [v for v in tree.order if v in left and not left.intersection(tree.parents[v])]
        order.append(ready[rng.integers(len(ready))])
        left.remove(order[-1])
    other = CStree.from_ldag(tree.to_ldag(), order=order)
    assert tree.is_markov_equivalent(other)
    assert other.is_markov_equivalent(tree)


def ring(order):
    """A ring a - b - d - e in the context c=1, which no DAG can say; see `cslearn.graphs.minimal_contexts`."""
    parents = {"b": "a", "d": "b", "e": "a", "c": "de"}
    states = dict.fromkeys("abdecy", (0, 1))
    contexts = {v: outcomes(dict.fromkeys(parents.get(v, ""), (0, 1))) for v in "abdec"}
    contexts["y"] = [{"c": 1}, *({**o, "c": 0} for o in outcomes(dict.fromkeys("abde", (0, 1))))]
    return CStree(order, contexts, states=states)


def test_equivalent_trees_may_have_different_context_graphs():
    one, two = ring("abdecy"), ring("abedcy")
    assert one.to_ldag() == two.to_ldag()
    assert one.is_markov_equivalent(two)
    first, second = one.minimal_contexts(), two.minimal_contexts()
    assert set(first) == set(second) == {Context(), Context({"c": 1})}
    assert {frozenset(e) for e in first[{"c": 1}].edges} ^ {frozenset(e) for e in second[{"c": 1}].edges} == {
        frozenset("ad"),
        frozenset("be"),
    }
    assert not first.same_graphs(second)


def test_trees_of_other_variables_cannot_be_compared():
    with pytest.raises(InputError, match="same variables and states"):
        supplement_model().is_markov_equivalent(chickenpox_model())


def test_deep_models_are_decided_by_their_stages_or_refused():
    tree = random_cstree([3] * 30, 9, method="grow", max_stages=40, max_parents=14, random_state=0)
    assert tree.is_markov_equivalent(tree)
    relation = tree.csi_relations()[-1]
    assert tree.implies(relation)
    with pytest.raises(LimitError, match=r"cannot decide whether .* limit of 4,194,304"):
        tree.implies(CSIRelation(tree.order[-1], tree.order[0]))
    # The same order, and one stage split: not the same model, which no table is needed to see.
    v = max(tree.order, key=lambda v: len(tree.stagings[v]))
    context = next(c for c in tree.stagings[v] if len(c) < len(tree.parents[v]))
    parent = next(u for u in tree.parents[v] if u not in context)
    finer = [c for c in tree.stagings[v] if c != context] + [context | {parent: x} for x in tree.states[parent]]
    split = CStree(tree.order, {**tree.stagings, v: finer}, states=tree.states)
    assert not tree.is_markov_equivalent(split)


@given(cards=st.lists(st.integers(2, 3), min_size=2, max_size=4), seed=st.integers(0, 2**32 - 1))
def test_with_the_same_order_each_stage_lies_within_one_just_if_its_relation_is_entailed(cards, seed):
    order = [f"X{k + 1}" for k in range(len(cards))]
    one, two = (
        random_cstree(cards, 3, method="grow", max_stages=5, order=order, random_state=[seed, k]) for k in range(2)
    )
    for position, v in enumerate(order):
        expected = all(
            Entailment(one).implies(CSIRelation(v, others, context))
            for context in two.stagings[v]
            if (others := [u for u in order[:position] if u not in context])
        )
        assert minimal_module._refines(two.stagings[v], one.stagings[v]) == expected


# ---------------------------------------------------------------- tables of relations
AWKWARD = CSIRelation('<b>&"', "50%_a", {"c, d": "=\n🐟"})


def test_a_table_shows_the_columns_that_there_are():
    plain = RelationTable([CSIRelation("a", "b", {"s": 1}), AWKWARD])
    assert plain.to_frame().columns.tolist() == ["relation", "in_words"]
    full = RelationTable([WeighedRelation(plain[0].relation, 2.25, 1000.0, 0.9), WeighedRelation(AWKWARD, -1.0)])
    assert full.to_frame().columns.tolist() == [
        "relation", "in_words", "verdict", "log_bayes_factor", "rows", "probability",
    ]  # fmt: skip
    lines = str(full[:1]).splitlines()
    assert lines == ["relation          verdict  log Bayes factor   rows  probability",
                     "a _||_ b | s=1  supported               2.2  1,000        0.900"]  # fmt: skip
    assert len(full[1:]) == 1
    assert full[1].n_rows is None
    assert full == RelationTable(full)
    assert hash(full) == hash(RelationTable(full))
    assert full != plain
    assert pickle.loads(pickle.dumps(full)) == full
    assert str(RelationTable([])) == "relation"


def test_a_table_as_csv_gives_relations_back():
    states = {'<b>&"': (0, 1), "50%_a": (0, 1), "c, d": ("x", "=\n🐟"), "e": (0, 1)}
    table = RelationTable([WeighedRelation(AWKWARD, 1.5, 10.0), WeighedRelation(CSIRelation("e", "50%_a"), 0.5, 20.0)])
    frame = pd.read_csv(StringIO(table.to_csv()))
    assert [CSIRelation.parse(text, states) for text in frame["relation"]] == [row.relation for row in table]
    assert frame["log_bayes_factor"].tolist() == [1.5, 0.5]
    assert frame["rows"].tolist() == [10, 20]


def test_a_table_in_html_and_latex_does_no_harm():
    table = RelationTable([WeighedRelation(AWKWARD, 1.5)])
    html = table._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;&amp;" in html
    tex = table.to_latex()
    assert r"\text{\textless{}b\textgreater{}\&\textquotedbl{}}" in tex
    assert r"\text{50\%\_a}" in tex
    assert tex.splitlines()[0] == r"\begin{tabular}{llr}"


def test_the_evidence_for_relations_compares_a_stage_with_its_best_split():
    tree = chickenpox_model()
    data = tree.sample(500, random_state=0)
    scores = Scores(data, ess=2.0)
    target = tree.csi_relations()[1]
    table = relation_table(tree, data, ess=2.0, probabilities={target: 0.75})
    assert table == relation_table(tree, scores, probabilities={target: 0.75})
    factors = [row.log_bayes_factor for row in table]
    assert factors == sorted(factors, reverse=True)
    (row,) = [row for row in table if row.relation == target]
    inside = data[data["exposed"] == "no"]
    assert row.n_rows == len(inside)
    assert row.probability == 0.75
    splits = [
        sum(scores.log_z("carrier", {"exposed": "no", v: x}) for x in tree.states[v])
        for v in ("background", "diagnosis")
    ]
    assert row.log_bayes_factor == pytest.approx(scores.log_z("carrier", {"exposed": "no"}) - max(splits))
    assert [other.probability for other in table if other is not row] == [None, None]


def test_evidence_speaks_against_a_relation_that_is_false():
    yesno = ("no", "yes")
    false = CStree.from_contexts(
        {"exposed": ["diagnosis=yes", "diagnosis=no"], "carrier": ["exposed=no", "exposed=yes, diagnosis=no",
                                                                   "exposed=yes, diagnosis=yes"]},
        states={"diagnosis": yesno, "exposed": yesno, "carrier": yesno},
    )  # fmt: skip
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"diagnosis": rng.integers(0, 2, 1000), "exposed": rng.integers(0, 2, 1000)})
    rows["carrier"] = rows["diagnosis"]  # whatever exposed is
    (row,) = relation_table(false, rows.replace({0: "no", 1: "yes"}))
    assert row.log_bayes_factor < -100
