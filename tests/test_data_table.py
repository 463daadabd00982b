"""The encoded table."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cslearn.data import Table, as_table
from cslearn.errors import InputError


@st.composite
def tables(draw: Any, max_card: int = 4, weighted: bool = False) -> Table:
    cards = draw(st.lists(st.integers(1, max_card), min_size=1, max_size=4))
    n = draw(st.integers(1, 30))
    columns = [draw(hnp.arrays(np.int64, n, elements=st.integers(0, card - 1))) for card in cards]
    kinds = st.sampled_from(["int", "str", "float", "bool"])
    states = [_labels(draw(kinds), card) for card in cards]
    weights = draw(hnp.arrays(np.float64, n, elements=st.floats(0, 10))) if weighted else None
    return Table(np.column_stack(columns), [f"v{j}" for j in range(len(cards))], states, weights)


def _labels(kind: str, card: int) -> list[Any]:
    if kind == "bool" and card <= 2:
        return [True, False][:card]
    if kind == "float":
        return [0.5 * j for j in range(card)]
    return [f"s{card - j}" for j in range(card)] if kind == "str" else list(range(card, 0, -1))


def small() -> Table:
    return Table([[0, 1], [1, 2], [0, 0]], ["a", "b"], [["no", "yes"], [10, 20, 30]])


def test_codes_are_stored_small_by_column_and_read_only() -> None:
    mine = np.array([[0, 1], [1, 0]])
    table = Table(mine, ["a", "b"], [[0, 1], [0, 1]], [1, 2])
    assert table.codes.dtype == np.uint8
    assert table.codes.flags.f_contiguous
    assert not table.codes.flags.writeable
    assert table.weights is not None
    assert not table.weights.flags.writeable
    mine[0, 0] = 1
    assert table.codes[0, 0] == 0
    with pytest.raises(AttributeError):
        table.codes = mine  # type: ignore[misc]


def test_wide_codes() -> None:
    assert Table([[255]], ["a"], [range(256)]).codes.dtype == np.uint8
    assert Table([[256]], ["a"], [range(257)]).codes.dtype == np.uint16
    assert Table([[65535]], ["a"], [range(65536)]).codes[0, 0] == 65535
    with pytest.raises(InputError, match="65,537 states"):
        Table([[0]], ["a"], [range(65537)])


def test_the_array_of_the_caller_stays_writable() -> None:
    mine = np.asfortranarray([[0], [1]], dtype=np.uint8)
    table = Table(mine, ["a"], [[0, 1]])
    mine[0, 0] = 1
    assert mine.flags.writeable
    assert table.codes[0, 0] == 0


def test_properties() -> None:
    table = Table([[0, 0], [1, 0]], ["a", "b"], [["x", "y"], ["only"]], [0.5, 2])
    assert (table.n, table.p, table.cards) == (2, 2, (2, 1))
    assert table.total_weight == 2.5
    assert small().total_weight == 3.0
    assert table.constant == ("b",)
    assert table.state_map == {"a": ("x", "y"), "b": ("only",)}


def test_labels_are_python_scalars_that_json_holds() -> None:
    stamp = pd.Timestamp("2020-01-02")
    labels = [np.int64(3), np.float32(0.5), np.str_("x"), stamp, pd.Interval(0, 1)]
    table = Table([[0]], ["a"], [labels])
    assert table.states == ((3, 0.5, "x", "2020-01-02 00:00:00", "(0, 1]"),)
    assert [type(label) for label in table.states[0]] == [int, float, str, str, str]
    assert type(Table([[0]], ["a"], [[np.True_]]).states[0][0]) is bool
    assert json.loads(json.dumps(table.state_map)) == {"a": list(table.states[0])}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], ["a"], [[0, 1]]), "2-D array of integers, not 1-D"),
        (([[0.0]], ["a"], [[0, 1]]), "2-D array of integers, not 2-D of type float64"),
        (([[0, 1]], ["a"], [[0, 1]]), "2 columns but there are 1 variables"),
        (([[0, 1]], ["a", "a"], [[0, 1], [0, 1]]), "repeated: 'a'"),
        (([[0]], [""], [[0]]), "not empty"),
        (([[0]], "a", [[0]]), "not the single string 'a'"),
        (([[0]], ["a"], [[0], [1]]), "1 variables but states for 2"),
        (([[0]], ["a"], [[]]), "'a' has no states"),
        (([[0], [2]], ["a"], [[0, 1]]), "'a', row 2: code 2 is outside 0 to 1"),
        (([[0], [-1]], ["a"], [[0, 1]]), "'a', row 2: code -1"),
        (([[0]], ["a"], [["x", "x"]]), "state 'x' twice"),
        (([[0]], ["a"], [[1, True]]), "state True twice"),
        (([[0]], ["a"], [[float("nan")]]), "not a finite number"),
        ((np.empty((1, 0), int), [], []), "at least one column"),
        (([[0]], ["a"], [[0]], [1, 2]), r"each of the 1 rows; their shape is \(2,\)"),
        (([[0], [0]], ["a"], [[0]], [1, -1]), "row 2: -1.0 is not a non-negative"),
        (([[0]], ["a"], [[0]], [np.inf]), "row 1: inf"),
        (([[0]], ["a"], [[0]], ["x"]), "real numbers"),
    ],
)
def test_the_constructor_checks(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Table(*arguments)


def test_no_rows() -> None:
    table = Table(np.empty((0, 1)), ["a"], [["x", "y"]])
    assert (table.n, table.total_weight) == (0, 0.0)
    assert table.collapse() is table
    assert as_table(table.to_frame(), states={"a": ["x", "y"]}) == table


def test_equality_and_hash() -> None:
    assert small() == small()
    assert small() != small().take([1, 0, 2])
    assert small() != Table(small().codes, ["a", "c"], small().states)
    assert small() != Table(small().codes, ["a", "b"], small().states, [1, 1, 1])
    assert Table([[0]], ["a"], [[True]]) != Table([[0]], ["a"], [[1]])
    assert Table([[0]], ["a"], [["1"]]) != Table([[0]], ["a"], [[1]])
    assert small() != "a table"
    with pytest.raises(TypeError):
        hash(small())


def test_repr() -> None:
    assert repr(Table(np.zeros((1841, 6), int), list("abcdef"), [["x"]] * 6)) == "Table(1,841 rows, 6 variables)"
    assert repr(Table([[0]], ["a"], [["x"]])) == "Table(1 row, 1 variable)"
    assert repr(Table([[0]], ["a"], [["x"]], [2])) == "Table(1 row, 1 variable, weighted)"


def test_select_and_take() -> None:
    table = Table(small().codes, ["a", "b"], small().states, [1, 2, 3])
    chosen = table.select(["b"])
    assert chosen.variables == ("b",)
    assert chosen.states == ((10, 20, 30),)
    assert chosen.codes.tolist() == [[1], [2], [0]]
    with pytest.raises(InputError, match=r"No variable 'z'\. The variables are 'a', 'b'"):
        table.select(["z"])
    for rows in ([2, 0], np.array([2, 0]), slice(None, None, -2)):
        taken = table.take(rows)
        assert taken.codes.tolist() == [[0, 0], [0, 1]]
        assert taken.weights is not None
        assert taken.weights.tolist() == [3, 1]
    assert table.take([False, True, False]).codes.tolist() == [[1, 2]]
    assert table.take([]).n == 0


def test_pickle_keeps_the_arrays_read_only() -> None:
    table = pickle.loads(pickle.dumps(Table([[0]], ["a"], [["x"]], [2])))
    assert table == Table([[0]], ["a"], [["x"]], [2])
    assert not table.codes.flags.writeable


def test_to_frame() -> None:
    frame = small().to_frame()
    assert frame["a"].tolist() == ["no", "yes", "no"]
    assert frame["b"].cat.ordered
    assert frame["b"].cat.categories.tolist() == [10, 20, 30]
    assert list(frame.columns) == ["a", "b"]


@given(tables())
def test_round_trip_through_a_frame(table: Table) -> None:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert as_table(table.to_frame()) == table


def _counts(table: Table) -> Counter[tuple[int, ...]]:
    counts: Counter[tuple[int, ...]] = Counter()
    weights = np.ones(table.n) if table.weights is None else table.weights
    for row, weight in zip(table.codes.tolist(), weights, strict=True):
        counts[tuple(row)] += weight
    return counts


@given(st.one_of(tables(), tables(weighted=True)))
def test_collapse_keeps_the_weighted_counts(table: Table) -> None:
    merged = table.collapse(min_gain=1.0)
    assert merged.n == len(_counts(table))
    assert merged.states == table.states
    found, expected = _counts(merged), _counts(table)
    assert found.keys() == expected.keys()
    for row, weight in expected.items():
        assert found[row] == pytest.approx(weight)
    assert merged.total_weight == pytest.approx(table.total_weight)


def test_collapse_needs_a_gain() -> None:
    table = Table([[0], [1], [0]], ["a"], [[0, 1]])
    assert table.collapse() is table
    merged = table.collapse(min_gain=1.5)
    assert merged.codes.tolist() == [[0], [1]]
    assert merged.weights is not None
    assert merged.weights.tolist() == [2, 1]


@pytest.mark.parametrize("card", [2, 300])
def test_collapse_of_a_joint_space_that_overflows(card: int) -> None:
    rng = np.random.default_rng(1)
    p = 70
    distinct = rng.integers(0, card, size=(5, p))
    codes = distinct[rng.integers(0, 5, size=100)]
    table = Table(codes, [f"v{j}" for j in range(p)], [range(card)] * p)
    merged = table.collapse()
    assert _counts(merged) == _counts(table)
    assert merged.codes.tolist() == sorted(merged.codes.tolist())


def test_import_loads_no_data_frame_library() -> None:
    code = (
        "import sys, cslearn.data; "
        "print([m for m in ('pandas', 'polars', 'pyarrow', 'sklearn', 'scipy') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
