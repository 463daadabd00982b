"""Prediction with gaps: equal to sums over all outcomes."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_inference as naive
from cslearn import CStree, random_cstree
from cslearn.data import incomplete_codes
from cslearn.datasets import chickenpox_model
from cslearn.errors import DataWarning, EstimateWarning, InputError, LimitError
from cslearn.inference import compiled
from cslearn.inference import rows as rows_module
from cslearn.inference.rows import Rows


@st.composite
def problems(draw):
    cards = draw(st.lists(st.integers(1, 3), min_size=2, max_size=6))
    seed = draw(st.integers(0, 2**32 - 1))
    tree = random_cstree(cards, random_state=seed)
    rng = np.random.default_rng(seed)
    data = tree.sample(draw(st.integers(1, 12)), random_state=rng).astype(object)
    return (
        tree,
        data.mask(rng.random(data.shape) < draw(st.sampled_from([0, 0.3, 0.7, 1]))),
        draw(st.sampled_from(tree.variables)),
    )


@pytest.fixture(params=["together", "one by one", "one by one, small tables"], scope="module")
def way(request):
    """Patterns of gaps looked at one by one, or rows; of the latter, some whose tables are too large for a row."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows_module, "DIFFERENT", 1000 if request.param == "together" else 0)
        patch.setattr(compiled, "ROW_TABLE", 4 if "small" in request.param else 1 << 18)
        yield request.param


@given(problem=problems())
def test_predictions_with_gaps_equal_sums_over_all_outcomes(way, problem):
    tree, data, target = problem
    answer = tree.predict_proba(data, target)
    assert answer.columns.tolist() == list(tree.states[target])
    for (_, row), probabilities in zip(data.iterrows(), answer.to_numpy(), strict=True):
        evidence = {v: x for v, x in row.items() if v != target and not pd.isna(x)}
        expected = naive.query(tree, [target], evidence)
        assert np.allclose(probabilities, list(expected.values()), rtol=1e-9, atol=1e-12)
    best = [tree.states[target][i] for i in answer.to_numpy().argmax(axis=1)]
    assert tree.predict(data, target).tolist() == best


@given(problem=problems())
def test_probabilities_of_what_is_known_equal_sums_over_all_outcomes(way, problem):
    tree, data, _ = problem
    found = tree.queries.rows.log_prob(incomplete_codes(data, tree.states))
    for (_, row), value in zip(data.iterrows(), found, strict=True):
        evidence = {v: x for v, x in row.items() if not pd.isna(x)}
        expected = naive.log_or_zero(naive.probability(tree, evidence))
        assert np.isclose(value, expected, rtol=1e-9, atol=1e-9)


def test_rows_one_by_one_where_tables_are_too_large(monkeypatch):
    tree = random_cstree(10, random_state=3)
    data = tree.sample(30, random_state=0).astype(object)
    data = data.mask(np.random.default_rng(0).random(data.shape) < 0.5)
    expected = tree.predict_proba(data, "X1")

    def refuse(*arguments):
        raise LimitError("too large")

    monkeypatch.setattr(Rows, "posterior", refuse)
    pd.testing.assert_frame_equal(tree.predict_proba(data, "X1"), expected)


def test_columns_may_be_absent_and_the_target_is_not_looked_at():
    tree = chickenpox_model()
    data = tree.sample(20, random_state=0)
    answer = tree.predict_proba(data, "carrier")
    pd.testing.assert_frame_equal(answer, tree.predict_proba(data.drop(columns="carrier"), "carrier"))
    pd.testing.assert_frame_equal(answer, tree.predict_proba(data.assign(age=3, carrier=None), "carrier"))
    only = tree.predict_proba(data[["diagnosis"]], "carrier")
    assert np.allclose(only.iloc[0], tree.query("carrier", {"diagnosis": data["diagnosis"][0]}))
    with pytest.raises(InputError, match="none of the variables 'background', 'diagnosis', 'exposed'"):
        tree.predict(data[["carrier"]], "carrier")
    with pytest.raises(InputError, match="no variable 'age'"):
        tree.predict(data, "age")


def test_the_index_and_the_types_of_states_are_kept():
    tree = random_cstree({"a": [True, False], "b": [1, 2, 3], "c": ["x", "y"]}, random_state=0)
    data = tree.sample(6, random_state=0).set_index(pd.Index(list("uvwxyz")))
    assert tree.predict(data, "b").index.tolist() == list("uvwxyz")
    assert all(isinstance(x, bool) for x in tree.predict(data, "a").tolist())
    array = data.astype(object).to_numpy()
    assert np.allclose(tree.predict_proba(array, "b"), tree.predict_proba(data, "b"))
    assert np.allclose(tree.predict_proba(array[:, [0, 2]], "b"), tree.predict_proba(data, "b"))
    with pytest.raises(InputError, match="has 1 columns, but the model's variables need 2 or 3"):
        tree.predict_proba(array[:, :1], "b")


def test_an_unknown_state_counts_as_missing_and_is_told():
    tree = chickenpox_model()
    data = tree.sample(5, random_state=0).astype(object)
    data.loc[2, "exposed"] = "perhaps"
    with pytest.warns(DataWarning, match=r"count as missing: 'exposed': 'perhaps' \(1 row\)"):
        answer = tree.predict_proba(data, "carrier")
    data.loc[2, "exposed"] = None
    pd.testing.assert_frame_equal(answer, tree.predict_proba(data, "carrier"))


def test_missing_cells_are_in_the_state_missing_if_there_is_one():
    states = {"a": ["x", "y", "missing"], "b": [0, 1]}
    contexts = [{"a": state} for state in states["a"]]
    parameters = {"a": [[0.2, 0.3, 0.5]], "b": [[0.1, 0.9], [0.5, 0.5], [0.8, 0.2]]}
    tree = CStree(["a", "b"], {"b": contexts}, parameters, states=states)
    answer = tree.predict_proba([{"a": None}, {"a": "missing"}], "b").to_numpy()
    assert np.allclose(answer[0], answer[1])
    assert not np.allclose(answer[0], tree.query("b"))


def test_impossible_rows_are_told(way):
    parameters = {"X1": [[0.3, 0.7]], "X2": [[1.0, 0.0], [1.0, 0.0]]}
    tree = CStree(["X1", "X2"], {"X2": [{"X1": 0}, {"X1": 1}]}, parameters, states={"X1": [0, 1], "X2": [0, 1]})
    with pytest.warns(DataWarning, match="1 rows, the first of them row 2, have probability zero"):
        answer = tree.predict_proba([{"X2": 0}, {"X2": 1}], "X1")
    assert np.allclose(answer, [[0.3, 0.7], [0.3, 0.7]])


def with_zeros(seed):
    """A random model half of whose stages are certain of their state."""
    tree = random_cstree(5, random_state=seed)
    rng = np.random.default_rng(seed)
    parameters = {}
    for v in tree.order:
        rows = np.array(tree.parameters[v])
        certain = rng.random(len(rows)) < 0.5
        rows[certain] = np.eye(rows.shape[1])[rng.integers(rows.shape[1], size=certain.sum())]
        parameters[v] = rows
    return tree.with_parameters(parameters)


@pytest.mark.parametrize("seed", range(5))
def test_rows_that_a_query_refuses_are_told(way, seed):
    """Also where what is impossible has nothing to do with the target given the rest."""
    tree = with_zeros(seed)
    rng = np.random.default_rng(seed)
    target = tree.order[seed]
    rows = [{v: int(rng.integers(2)) for v in tree.order if v != target and rng.random() < 0.7} for _ in range(40)]
    refused = [naive.probability(tree, row) == 0 for row in rows]
    assert 0 < sum(refused) < len(rows)
    first = refused.index(True) + 1
    with pytest.warns(DataWarning, match=f"^{sum(refused)} rows, the first of them row {first}, have probability zero"):
        answer = tree.predict_proba(rows, target)
    for row, impossible, told in zip(rows, refused, answer.to_numpy(), strict=True):
        assert np.allclose(told, tree.query(target, {} if impossible else row))


def test_a_misspelt_column_is_told():
    tree = chickenpox_model()
    data = tree.sample(5, random_state=0)
    misspelt = data.rename(columns={"exposed": "expsoed"})
    message = "no column for 'exposed', .* that are no variables of the model: 'expsoed'"
    for act in (lambda d: tree.predict(d, "carrier"), tree.impute, lambda d: tree.predict(d, "background")):
        with pytest.warns(DataWarning, match=message):
            act(misspelt)
        act(data.drop(columns="exposed"))  # a column less or more by itself is no mistake
        act(data.assign(id=range(5)))
    tree.predict(data.rename(columns={"carrier": "class"}), "carrier")  # the target need not be there


def test_rows_of_a_dense_model_are_estimated_and_told():
    """Few known cells of many variables: the averaged classifier asks for the probability of such rows too."""
    tree = random_cstree(500, random_state=0)
    a, b, c = tree.order[-1], tree.order[-2], tree.order[-3]
    rows = pd.DataFrame([{a: 0, b: 1}, {a: 1, b: 1}])
    with pytest.warns(EstimateWarning, match="exact answers for 2 rows would need too large tables"):
        predicted = tree.predict_proba(rows, c)
    for row, found in zip(rows.to_dict("records"), predicted.to_numpy(), strict=True):
        answer = tree.query(c, row, method="sampling")
        assert np.abs(answer - found).max() < 0.03
    codes = incomplete_codes(rows, tree.states)
    with pytest.warns(EstimateWarning, match="exact answers for 2 rows"):
        log_prob = tree.queries.rows.log_prob(codes)
    assert np.allclose(
        log_prob, [tree.log_prob_of(row, method="sampling") for row in rows.to_dict("records")], atol=0.06
    )
    with pytest.raises(LimitError, match="Fill in more columns of the rows, or estimate it with method=.sampling."):
        tree.predict(rows, c, method="exact")
