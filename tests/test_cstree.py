"""The model: building, probabilities, sampling, parameters, printing."""

import pickle
from itertools import product
from math import exp, isclose, log

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from cslearn import LDAG, CStree, random_cstree
from cslearn.cstree.joint import log_joint
from cslearn.data import Table
from cslearn.datasets import chickenpox_model, dense_model, supplement_model
from cslearn.errors import InputError, LimitError
from cslearn.stagings import Context, Staging
from problems import rows_of, tables

YESNO = ("no", "yes")
THREE = {"a": YESNO, "b": YESNO, "c": YESNO}


@st.composite
def models(draw, max_p=5):
    cards = draw(st.lists(st.integers(1, 3), min_size=1, max_size=max_p))
    seed = draw(st.integers(0, 2**32 - 1))
    method = draw(st.sampled_from(["uniform", "split"]))
    return random_cstree(cards, draw(st.integers(0, 3)), method=method, random_state=seed)


def all_outcomes(tree):
    return pd.DataFrame(list(product(*tree.states.values())), columns=list(tree.variables), dtype=object)


# ---------------------------------------------------------------- the paper's examples
def test_chickenpox_has_the_stagings_of_figure_1():
    tree = chickenpox_model()
    assert tree.order == ("background", "diagnosis", "exposed", "carrier")
    # Levels of Figure 1a: yellow; green and two white nodes; blue, orange and two white nodes.
    assert set(tree.stagings["diagnosis"]) == {Context()}
    sizes = {v: sorted(stage.size for stage in tree.stagings[v].stages) for v in ("exposed", "carrier")}
    assert sizes == {"exposed": [1, 1, 2], "carrier": [1, 1, 2, 4]}
    assert Context({"diagnosis": "yes"}) in tree.stagings["exposed"].contexts
    assert Context({"exposed": "no"}) in tree.stagings["carrier"].contexts
    assert Context({"diagnosis": "no", "exposed": "yes"}) in tree.stagings["carrier"].contexts
    assert tree.n_free_parameters == 1 + 1 + 3 + 4


def test_chickenpox_has_the_graph_and_labels_of_figure_1():
    ldag = chickenpox_model().to_ldag()
    assert set(ldag.graph.edges) == {
        ("background", "exposed"),
        ("diagnosis", "exposed"),
        ("background", "carrier"),
        ("diagnosis", "carrier"),
        ("exposed", "carrier"),
    }
    expected = {
        ("background", "exposed"): {Context({"diagnosis": "yes"})},
        ("background", "carrier"): {Context({"diagnosis": "no", "exposed": "yes"}), Context({"exposed": "no"})},
        ("diagnosis", "carrier"): {Context({"exposed": "no"})},
    }
    assert {edge: set(contexts) for edge, contexts in ldag.labels.items()} == expected


def test_the_supplements_example():
    tree = supplement_model()
    assert set(tree.to_dag().edges) == {("X1", "X3"), ("X2", "X3"), ("X1", "X4"), ("X2", "X4"), ("X3", "X4")}
    white = [stage.context for stage in tree.stagings["X4"].stages if stage.is_singleton]
    assert white == [Context({"X1": 0, "X2": 0, "X3": 0}), Context({"X1": 0, "X2": 1, "X3": 0})]
    assert len(tree.stagings["X4"]) == 5
    assert tree.n_free_parameters == 1 + 1 + 3 + 5
    ldag = tree.to_ldag()
    assert set(ldag.labels) == {("X1", "X3"), ("X2", "X4")}
    vanishing = [x for x in product((0, 1), repeat=2) if ldag.vanishes(("X2", "X4"), {"X1": x[0], "X3": x[1]})]
    assert vanishing == [(0, 1), (1, 0), (1, 1)]


def test_the_supplements_remark_that_two_context_variables_can_make_a_complete_dag():
    tree = dense_model()
    assert tree.stagings["X4"].bound == 2
    assert nx.is_isomorphic(tree.to_dag(), nx.DiGraph([(i, j) for i in range(4) for j in range(i + 1, 4)]))


# ---------------------------------------------------------------- building
def test_building_in_different_ways_gives_the_same_model():
    contexts = {"b": ["a=no", "a=yes"], "c": ["b=no", "b=yes, a=no", "b=yes, a=yes"]}
    tree = CStree.from_contexts(contexts, states=THREE)
    assert tree == CStree.from_statements(["c _||_ a | b=no"], states=THREE)
    assert tree == CStree.from_ldag(tree.to_ldag())
    assert tree == CStree(tree.order, dict(tree.stagings), states=THREE)
    assert tree == CStree.from_contexts({v: map(dict, tree.stagings[v]) for v in tree.order}, states=THREE)
    assert hash(tree) == hash(CStree.from_ldag(tree.to_ldag()))


def test_a_dag_becomes_full_splits_and_back():
    dag = nx.DiGraph([("a", "c"), ("b", "c")])
    tree = CStree.from_dag(dag, states=THREE)
    assert tree.stagings["c"] == Staging.full_split({"a": YESNO, "b": YESNO}, ["a", "b"])
    assert nx.utils.graphs_equal(tree.to_dag(), nx.DiGraph(dag.edges)) or set(tree.to_dag().edges) == set(dag.edges)
    with pytest.raises(InputError, match="cycle"):
        CStree.from_dag(nx.DiGraph([("a", "b"), ("b", "a")]), states=THREE)
    with pytest.raises(InputError, match="'c' before its parent 'a'"):
        CStree.from_dag(dag, states=THREE, order=["b", "c", "a"])
    with pytest.raises(InputError, match="states of 'z' are not given"):
        CStree.from_dag(nx.DiGraph([("z", "a")]), states=THREE)


@pytest.mark.parametrize("sign", ["_||_", "⊥", "⊥⊥", "⫫"])
def test_statements_may_be_written_in_several_ways(sign):
    tree = CStree.from_statements([f"c {sign} a | b = no", f"a {sign} c | b=no"], states=THREE)
    assert str(tree.stagings["c"]) == "b=no | b=yes, a=no | b=yes, a=yes"


def test_a_variable_conditioned_on_freely_gives_a_stage_for_each_of_its_states():
    tree = CStree.from_statements(["c _||_ a | b"], states=THREE)
    assert str(tree.stagings["c"]) == "b=no | b=yes"


def test_statements_with_awkward_names():
    states = {"a, b": ("x|y", 'say "no"'), "c d": (1, 2), "e": YESNO}
    tree = CStree.from_statements(
        ['e _||_ c d | "a, b"="say ""no"""', 'e _||_ "a, b" | "a, b"="x|y"'][:1], states=states
    )
    assert Context({"a, b": 'say "no"'}) in tree.stagings["e"].contexts


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("c _||_ a", "must name every variable before it, and lacks 'b'"),
        ("a _||_ b, c", "must be a single variable that comes after"),
        ("c a | b=no", "no variable 'c a'"),
        ("c | a", "expected `_||_`"),
        ("c _||_ z | b=no", "no variable 'z'"),
        ("c _||_ a | b=maybe", "'b' has no state 'maybe' \\(it has no, yes\\)"),
        ("c _||_ a | b=no, b=yes", "'b' is named more than once"),
        ("c _||_ a |", "expected a name before the end"),
        ("c _||_ a | b=no |", "did not expect '|'"),
        ('c _||_ a | "b', "quote is not closed"),
        ("", "expected a name before the end"),
    ],
)
def test_statements_that_cannot_be_used(statement, message):
    with pytest.raises(InputError, match=message.replace("|", r"\|")):
        CStree.from_statements([statement], states=THREE)


def test_statements_that_contradict_each_other_are_an_overlap():
    with pytest.raises(
        InputError, match=r"staging of 'c': the stages overlap: the outcomes with .*a=no, b=no|b=no, a=no"
    ):
        CStree.from_statements(["c _||_ a | b=no", "c _||_ b | a=no"], states=THREE)


def test_too_many_single_outcomes_state_the_limit():
    states = {f"v{i}": YESNO for i in range(18)}
    with pytest.raises(LimitError, match="65,536 outcomes"):
        CStree.from_statements([], states=states)


@pytest.mark.parametrize(
    ("order", "stagings", "message"),
    [
        (["a", "b"], {}, "lacks 'c'"),
        (["a", "b", "c", "d"], {}, "has 'd', whose states are not given"),
        (["a", "a", "b"], {}, "names 'a' more than once"),
        ([], {}, "order is empty"),
        (["a", "b", "c"], {"b": [{}]}, "no staging for 'c'"),
        (["a", "b", "c"], {"b": [{}], "c": [{}], "z": [{}]}, "stagings for 'z'"),
        (
            ["a", "b", "c"],
            {"b": [{"c": "no"}], "c": [{}]},
            "staging of 'b': .*'c', which is not a variable of this level",
        ),
        (["a", "b", "c"], {"b": [{"a": "no"}], "c": [{}]}, "staging of 'b': the stages leave a hole"),
    ],
)
def test_a_cstree_validates_its_structure(order, stagings, message):
    with pytest.raises(InputError, match=message):
        CStree(order, stagings, states=THREE)


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ({"a": []}, "'a' has no states"),
        ({"a": ["x", "x"]}, "state twice"),
        ({"a": [None, "x"]}, "strings, numbers or booleans, not None"),
        ({"a": [float("nan")]}, "not nan"),
        ({"": ["x"]}, "non-empty strings"),
    ],
)
def test_a_cstree_validates_its_states(states, message):
    with pytest.raises(InputError, match=message):
        CStree(list(states), {}, states=states)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[0.5, 0.5]], r"shape \(1, 2\); 2 stages and 2 states need \(2, 2\)"),
        ([[0.5, 0.5], [0.5, 0.6]], r"in the stage \(a=yes\) are \[0.5, 0.6\]: not probabilities that sum to 1"),
        ([[1.5, -0.5], [0.5, 0.5]], r"in the stage \(a=no\)"),
        ([[float("nan"), 0.5], [0.5, 0.5]], r"in the stage \(a=no\)"),
        ([["x", 0.5], [0.5, 0.5]], "not a table of numbers"),
    ],
)
def test_a_cstree_validates_its_parameters(rows, message):
    states = {"a": YESNO, "b": YESNO}
    with pytest.raises(InputError, match=message):
        CStree(["a", "b"], {"b": [{"a": "no"}, {"a": "yes"}]}, {"a": [[0.5, 0.5]], "b": rows}, states=states)


def test_parameters_follow_the_contexts_they_were_given_with():
    states = {"a": YESNO, "b": YESNO}
    tree = CStree(
        ["a", "b"],
        {"b": [{"a": "yes"}, {"a": "no"}]},
        {"a": [[0.5, 0.5]], "b": [[0.1, 0.9], [0.7, 0.3]]},
        states=states,
    )
    assert isclose(tree.log_prob([{"a": "yes", "b": "yes"}])[0], log(0.5 * 0.9))


def test_a_cstree_cannot_be_changed():
    tree = chickenpox_model()
    with pytest.raises(ValueError, match="read-only"):
        tree.parameters["carrier"][0, 0] = 1
    with pytest.raises(TypeError):
        tree.stagings["carrier"] = None
    staging = tree.stagings["carrier"]
    for value, name in ((tree, "order"), (tree, "parameters"), (staging, "contexts"), (staging.contexts[0], "_hash")):
        with pytest.raises(AttributeError, match="cannot be changed"):
            setattr(value, name, None)
    with pytest.raises(nx.NetworkXError, match="Frozen"):
        tree.to_ldag().graph.add_edge("carrier", "exposed")


# ---------------------------------------------------------------- LDAG
@given(tree=models())
def test_an_edge_vanishes_exactly_where_changing_the_parent_stays_in_the_stage(tree):
    ldag = tree.to_ldag()
    for parent, child in ldag.graph.edges:
        others = [v for v in tree.parents[child] if v != parent]
        for outcome in product(*(tree.states[v] for v in others)):
            context = dict(zip(others, outcome, strict=True))
            stages = {tree.stagings[child].stage_of({**context, parent: x}) for x in tree.states[parent]}
            assert ldag.vanishes((parent, child), context) == (len(stages) == 1)


@given(tree=models())
def test_an_ldag_gives_its_cstree_back(tree):
    structure = tree.with_parameters(None)
    back = CStree.from_ldag(structure.to_ldag(), order=tree.order)
    assert back == structure
    assert back.to_ldag() == structure.to_ldag()


def test_an_ldag_that_is_no_cstree_says_where():
    states = {"a": YESNO, "b": YESNO, "c": YESNO}
    graph = nx.DiGraph([("a", "c"), ("b", "c")])
    ldag = LDAG(graph, {("a", "c"): [{"b": "no"}], ("b", "c"): [{"a": "no"}]}, states=states)
    with pytest.raises(InputError, match="not a CStree: .* parents of 'c' .* a=no, b=no"):
        CStree.from_ldag(ldag)


def test_an_ldag_validates_itself():
    graph = nx.DiGraph([("a", "c"), ("b", "c")])
    with pytest.raises(InputError, match="no such edge"):
        LDAG(graph, {("a", "b"): [{}]}, states=THREE)
    with pytest.raises(InputError, match="'a', which is not another parent"):
        LDAG(graph, {("a", "c"): [{"a": "no"}]}, states=THREE)
    with pytest.raises(InputError, match="'b' has no state 7"):
        LDAG(graph, {("a", "c"): [{"b": 7}]}, states=THREE)
    with pytest.raises(InputError, match="no cycles"):
        LDAG(nx.DiGraph([("a", "b"), ("b", "a")]), {}, states=THREE)
    with pytest.raises(InputError, match="there is no edge"):
        LDAG(graph, {}, states=THREE).vanishes(("a", "b"), {})
    assert LDAG(graph, {("a", "c"): [{"b": "no"}]}, states=THREE) != LDAG(graph, {}, states=THREE)


# ---------------------------------------------------------------- probability
@given(tree=models())
def test_probabilities_sum_to_one_and_factorise(tree):
    outcomes = all_outcomes(tree)
    logs = tree.log_prob(outcomes)
    assert isclose(np.exp(logs).sum(), 1, rel_tol=1e-9)
    for row, value in list(zip(outcomes.to_dict("records"), logs, strict=True))[:20]:
        chance = 1.0
        for variable in tree.order:
            stage = tree.stagings[variable].stage_of(row)
            chance *= tree.parameters[variable][stage, tree.states[variable].index(row[variable])]
        assert isclose(chance, exp(value), rel_tol=1e-9)
    assert np.allclose(log_joint(tree).ravel(), logs)


@pytest.mark.parametrize("seed", range(5))
def test_samples_have_the_right_frequencies(seed):
    tree = random_cstree([2, 3, 2, 2], random_state=seed)
    outcomes = all_outcomes(tree)
    n = 50_000
    sample = tree.sample(n, random_state=seed)
    counts = sample.value_counts().reindex(pd.MultiIndex.from_frame(outcomes), fill_value=0).to_numpy()
    expected = n * np.exp(tree.log_prob(outcomes))
    common = expected > 5
    observed = np.append(counts[common], counts[~common].sum())
    expected = np.append(expected[common], expected[~common].sum())
    keep = expected > 0
    assert chisquare(observed[keep], expected[keep]).pvalue > 1e-3
    # The test can fail: it tells this model from another one.
    assert chisquare(observed[keep][::-1], expected[keep]).pvalue < 1e-3


def test_samples_keep_all_states_and_are_reproducible():
    tree = chickenpox_model()
    sample = tree.sample(3, random_state=1)
    assert sample.equals(tree.sample(3, random_state=1))
    assert all(tuple(sample[v].cat.categories) == tree.states[v] for v in tree.variables)
    assert len(tree.sample(0)) == 0
    with pytest.raises(InputError, match="number of rows"):
        tree.sample(-1)


def test_data_in_any_column_order_and_with_more_columns_have_the_same_probability():
    tree = chickenpox_model()
    sample = tree.sample(50, random_state=1)
    shuffled = sample[["carrier", "background", "exposed", "diagnosis"]].assign(more=1)
    assert np.array_equal(tree.log_prob(sample), tree.log_prob(shuffled))


def test_an_unknown_state_or_a_missing_column_is_named():
    tree = chickenpox_model()
    sample = tree.sample(5, random_state=1).astype(object)
    sample.loc[3, "exposed"] = "maybe"
    with pytest.raises(InputError, match=r"(?s)exposed.*maybe"):
        tree.log_prob(sample)
    with pytest.raises(InputError, match="carrier"):
        tree.log_prob(sample.drop(columns="carrier"))


def test_a_structure_has_no_probabilities():
    structure = chickenpox_model().with_parameters(None)
    for call in (lambda: structure.log_prob([]), lambda: structure.sample(3)):
        with pytest.raises(InputError, match="no parameters: estimate them with"):
            call()


# ---------------------------------------------------------------- parameters
@given(table=tables(min_p=2), method=st.sampled_from(["mean", "map", "mle"]), seed=st.integers(0, 99))
def test_estimates_are_those_of_each_stage(table, method, seed):
    rows, weights = rows_of(table)
    states = dict(zip(table.variables, table.states, strict=True))
    tree = random_cstree(states, random_state=seed).fit_parameters(table, method, ess=3.0)
    for variable in tree.order:
        column, d = table.variables.index(variable), len(states[variable])
        for stage, estimated in zip(tree.stagings[variable].stages, tree.parameters[variable], strict=True):
            counts = [0.0] * d
            for row, weight in zip(rows, weights, strict=True):
                if stage.context.agrees(dict(zip(table.variables, row, strict=True))):
                    counts[row[column]] += weight
            a = 3.0 * float(stage.share) / d
            mean = [(c + a) / (sum(counts) + d * a) for c in counts]
            mass = {"mean": mean, "map": [max(c + a - 1, 0) for c in counts], "mle": counts}[method]
            fallback = {"mean": mean, "map": mean, "mle": [1 / d] * d}[method]
            expected = [m / sum(mass) for m in mass] if sum(mass) > 0 else fallback
            assert np.allclose(estimated, expected)


@pytest.mark.parametrize("method", ["mean", "map", "mle"])
def test_a_stage_without_data_gets_the_uniform_distribution(method):
    tree = CStree.from_contexts({"b": ["a=no", "a=yes"]}, states={"a": YESNO, "b": ("x", "y", "z")})
    data = Table([[0, 0], [0, 2]], ["a", "b"], [YESNO, ("x", "y", "z")])
    assert np.allclose(tree.fit_parameters(data, method).parameters["b"][1], 1 / 3)


def test_an_unknown_estimate_is_refused():
    tree = chickenpox_model()
    with pytest.raises(InputError, match="choose one of 'mean', 'map', 'mle'"):
        tree.fit_parameters(tree.sample(5, random_state=0), "median")


def test_weighted_rows_estimate_as_repeated_rows():
    tree = chickenpox_model()
    table = tree.sample_table(50, random_state=0)
    weighted = Table(table.codes, table.variables, table.states, np.arange(50) % 3)
    repeated = table.take(np.repeat(np.arange(50), np.arange(50) % 3))
    assert tree.fit_parameters(weighted) == tree.fit_parameters(repeated)
    assert isclose(tree.bic(weighted), tree.bic(repeated))


def test_bic_prefers_the_true_structure():
    tree = chickenpox_model()
    data = tree.sample(5000, random_state=0)
    complete = nx.DiGraph([(u, v) for i, u in enumerate(tree.order) for v in tree.order[i + 1 :]])
    assert tree.bic(data) < CStree.from_dag(complete, states=tree.states).bic(data)
    assert tree.bic(data) < CStree.from_dag(nx.DiGraph(), states=tree.states).bic(data)


def test_bic_by_hand():
    tree = CStree(["a"], {}, states={"a": YESNO})
    data = Table([[0], [0], [0], [1]], ["a"], [YESNO])
    assert isclose(tree.bic(data), log(4) - 2 * (3 * log(0.75) + log(0.25)))


# ---------------------------------------------------------------- printing
def test_to_frame_lists_every_probability():
    frame = chickenpox_model().to_frame()
    assert list(frame.columns) == ["variable", "context", "state", "probability"]
    assert len(frame) == 18
    assert np.allclose(frame.groupby(["variable", "context"])["probability"].sum(), 1)
    assert supplement_model().to_frame()["probability"].isna().all()


def test_printing_a_structure():
    text = str(supplement_model())
    assert text.startswith("CStree of 4 variables: 10 stages, 10 free parameters\norder: X1, X2, X3, X4")
    assert "  X1=0, X3=1\n" in text
    assert repr(supplement_model()) == "CStree(4 variables, 10 stages, no parameters)"


def test_trees_with_other_parameters_or_states_are_different():
    tree = chickenpox_model()
    assert tree != tree.with_parameters(None)
    assert tree != tree.fit_parameters(tree.sample(10, random_state=0))
    assert tree == chickenpox_model()
    assert tree != "tree"


def test_pickling_gives_the_same_values():
    tree = chickenpox_model()
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert pickle.loads(pickle.dumps(tree.to_ldag())) == tree.to_ldag()
    staging = tree.stagings["carrier"]
    assert pickle.loads(pickle.dumps(staging)) == staging
