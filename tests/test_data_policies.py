"""Missing cells, weights, and columns that are no variables."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from cslearn.data import DEFAULT_NA_VALUES, Table, as_table, incomplete_codes
from cslearn.errors import DataWarning, InputError


def _csv(folder: Path, text: str) -> Path:
    file = folder / "d.csv"
    file.write_bytes(text.encode())
    return file


# Missing cells


def test_missing_cells_are_an_error_that_counts_them(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": ["x", None, None], "b": [1, 2, 2], "c": [None, "u", "v"]})
    with pytest.raises(InputError) as caught:
        as_table(frame)
    message = str(caught.value)
    assert "'a' (2 of 3), 'c' (1 of 3)." in message
    assert 'missing="drop"' in message
    assert 'missing="state"' in message
    assert "na_values" not in message
    frame.to_csv(tmp_path / "d.csv", index=False)
    with pytest.raises(InputError, match="na_values="):
        as_table(tmp_path / "d.csv")
    assert as_table(frame, variables=["b"]).n == 3


def test_at_most_ten_columns_with_missing_cells_are_shown() -> None:
    with pytest.raises(InputError, match=r"'v9' \(1 of 2\) and 2 more\."):
        as_table({f"v{j}": ["x", None] for j in range(12)})


@pytest.mark.parametrize("token", DEFAULT_NA_VALUES)
def test_tokens_are_missing_in_files_only(tmp_path: Path, token: str) -> None:
    file = _csv(tmp_path, f"a,b\nx,{token}\ny,1\n")
    plain = token in ("", "?", "NA", "NaN", "nan")
    with nullcontext() if plain else pytest.warns(DataWarning, match=f"count as missing: '{re.escape(token)}' in 'b'"):
        assert as_table(file, missing="state").states[1] == (1, "missing")
    with pytest.raises(InputError, match=re.escape("'b' (1 of 2)" if plain else f"'b' (1 of 2, among them '{token}')")):
        as_table(file)
    assert as_table(file, na_values=()).states[1] == tuple(sorted(["1", token]))
    assert as_table({"a": [token, "x"]}).cards == (2,)


@pytest.mark.parametrize("token", ["-", "--", ".", "None", "none", "na", " - "])
def test_some_tokens_are_missing_among_numbers_and_states_among_words(tmp_path: Path, token: str) -> None:
    file = _csv(tmp_path, f"a,b,c\n1,{token},{token}\n2,1.5,few\n{token},2,few\n")
    with pytest.warns(DataWarning, match=re.escape(f"'{token}' in 'a'; '{token}' in 'b'.")):
        table = as_table(file, missing="state")
    assert table.states == ((1, 2, "missing"), ("1.5", "2", "missing"), tuple(sorted([token, "few"])))
    assert as_table(file, na_values=["?"]).states[0] == tuple(sorted(["1", "2", token]))


def test_a_column_of_such_tokens_alone_has_states(tmp_path: Path) -> None:
    assert as_table(_csv(tmp_path, "a,b\n-,x\n--,y\n")).states[0] == ("-", "--")
    assert as_table(_csv(tmp_path, "a,b\n+,x\n-,y\n")).states[0] == ("+", "-")
    assert as_table(_csv(tmp_path, "a,b\nTRUE,x\nFALSE,y\n")).states[0] == ("FALSE", "TRUE")


def test_a_given_state_is_no_missing_cell(tmp_path: Path) -> None:
    file = _csv(tmp_path, "a,b\n1,n/a\n-,x\n")
    states = {"a": [1, "-"], "b": ["n/a", "x"]}
    assert as_table(file, states=states).codes.tolist() == [[0, 0], [1, 1]]
    assert incomplete_codes(file, states).tolist() == [[0, 0], [1, 1]]
    with pytest.raises(InputError, match=r"'b' \(1 of 2\)"):
        as_table(file, states=states, na_values=["n/a"])


def test_spaces_around_a_token_do_not_matter(tmp_path: Path) -> None:
    file = _csv(tmp_path, "a,b\n1, NA\n2,x\n  ,y\n")
    assert as_table(file, missing="state").codes.tolist() == [[0, 2], [1, 0], [2, 1]]


def test_everything_that_is_wrong_is_told_at_once() -> None:
    data = {
        "id": [f"k{i}" for i in range(30)],
        "dose": [i / 7 for i in range(29)] + [None],
        "kind": ["a", None, "b"] * 10,
        "sex": ["f", "m", "x"] * 10,
    }
    with pytest.raises(InputError) as caught:
        as_table(data, states={"sex": ["f", "m"]})
    first, *reasons = str(caught.value).split("\n")
    assert first == "The data cannot be used as they are, for 4 reasons:"
    starts = [
        "- Missing cells (None, NaN) in 'dose' (1 of 30), 'kind' (10 of 30). ",
        "- Column 'id' looks like an identifier: 30 different values in 30 rows. ",
        "- Column 'dose' holds numbers with 29 different values. ",
        "- Column 'sex', row 3: 'x' is none of its states",
    ]
    assert len(reasons) == 4
    assert all(reason.startswith(start) for reason, start in zip(reasons, starts, strict=True))
    with pytest.raises(InputError, match=r"for 2 reasons:\n- Column 'id'.*\n- Column 'dose'"):
        as_table({"id": data["id"], "dose": data["dose"]}, missing="drop")
    # With states of its own a column has nothing wrong with it but the gaps.
    with pytest.raises(InputError, match=r"^Missing cells \(None, NaN\) in 'kind' \(10 of 30\)"):
        as_table({"kind": data["kind"]}, states={"kind": ["a", "b"]})


def test_at_most_ten_reasons_are_shown() -> None:
    with pytest.raises(InputError, match=r"for 12 reasons:(?s:.*)\n- and 2 more columns$"):
        as_table({f"v{j}": [i / 7 for i in range(30)] for j in range(12)})


def test_numbers_with_stray_words_are_named(tmp_path: Path) -> None:
    ages = [f"{age}" for age in range(18, 90)] * 2 + ["old", "young"]
    file = _csv(tmp_path, "a,b\n" + "".join(f"{age},{'xy'[i % 2]}\n" for i, age in enumerate(ages)))
    message = "'a' has 74 different values, all of them numbers but for 'old', 'young'.*na_values=.*discretize"
    with pytest.raises(InputError, match=message):
        as_table(file)
    with pytest.raises(InputError, match="'a' holds numbers with 72 different values"):
        as_table(file, na_values=["old", "young"], missing="drop")
    # Few numbers among many words are no measurement.
    words = _csv(tmp_path, "a\n" + "".join(f"w{i % 70}\n" for i in range(200)) + "1\n2\n")
    with pytest.raises(InputError, match="'a' has 72 states"):
        as_table(words)


def test_other_tokens(tmp_path: Path) -> None:
    file = _csv(tmp_path, "a,b\nx,-\ny,?\nx,1\n")
    assert as_table(file, na_values="-", missing="state").states[1] == ("1", "?", "missing")
    assert as_table(file, na_values=["-", "?"], missing="state").states[1] == (1, "missing")


def test_drop_takes_states_from_the_rows_that_stay() -> None:
    source = {"a": ["x", "y", "z", "x"], "b": [1, 2, None, 1]}
    table = as_table(source, missing="drop", sample_weight=[1, 2, 3, 4])
    assert table == Table([[0, 0], [1, 1], [0, 0]], ["a", "b"], [["x", "y"], [1, 2]], [1, 2, 4])
    with pytest.raises(InputError, match=r"Every row has a missing cell.*'b' has the most"):
        as_table({"a": [1, None, 2], "b": [None, 1, None]}, missing="drop")
    with pytest.raises(InputError, match="weights of all rows are zero"):
        as_table(source, missing="drop", sample_weight=[0, 0, 1, 0])


def test_missing_as_a_state() -> None:
    source = {"a": ["x", None, "z"], "b": [1, 2, 1]}
    table = as_table(source, missing="state")
    assert table.states == (("x", "z", "missing"), (1, 2))
    assert table.codes[:, 0].tolist() == [0, 2, 1]
    fixed = pd.DataFrame({"a": pd.Categorical(["z", None], categories=["z", "x"])})
    assert as_table(fixed, missing="state").states == (("z", "x", "missing"),)
    with pytest.raises(InputError, match="'a' has missing cells and also the state 'missing'"):
        as_table({"a": ["missing", None]}, missing="state")
    assert as_table({"a": ["missing", "x"]}, missing="state").cards == (2,)
    with pytest.warns(DataWarning, match="'a'"):
        assert as_table({"a": [None, None]}, missing="state").states == (("missing",),)


def test_missing_as_a_given_state() -> None:
    source = {"a": ["x", None]}
    table = as_table(source, missing="state", states={"a": ["missing", "x", "y"]})
    assert table.codes.ravel().tolist() == [1, 0]
    with pytest.raises(InputError, match="given states have no 'missing'"):
        as_table(source, missing="state", states={"a": ["x"]})
    with pytest.raises(InputError, match=r"Missing cells \(None, NaN\) in 'a'"):
        as_table(source, states={"a": ["missing", "x"]})


def test_options_are_checked() -> None:
    with pytest.raises(InputError, match='missing is "error", "drop", "state" or a mapping'):
        as_table({"a": [1]}, missing="ignore")  # type: ignore[arg-type]
    for bad in (0, 2.5, True):
        with pytest.raises(InputError, match="max_states is a whole number of at least 1"):
            as_table({"a": [1]}, max_states=bad)  # type: ignore[arg-type]


# Weights


@pytest.mark.parametrize("make", [list, np.array, pd.Series, pl.Series, tuple])
def test_weights_of_every_kind(make: Callable[[list[float]], Any]) -> None:
    table = as_table({"a": ["x", "y", "x"]}, sample_weight=make([0.5, 0, 2]))
    assert table.weights is not None
    assert table.weights.tolist() == [0.5, 0, 2]
    assert table.total_weight == 2.5


def test_weights_from_a_column(tmp_path: Path) -> None:
    expected = Table([[0], [1], [0]], ["a"], [["x", "y"]], [0.5, 1, 2])
    frame = pd.DataFrame({"w": [0.5, 1, 2], "a": ["x", "y", "x"]})
    assert as_table(frame, sample_weight="w") == expected
    assert as_table(frame, sample_weight="w", variables=["a"]) == expected
    assert as_table(frame, sample_weight="w", variables=["w", "a"]) == expected
    frame.to_csv(tmp_path / "d.csv", index=False)
    assert as_table(tmp_path / "d.csv", sample_weight="w") == expected
    many = pd.DataFrame({"w": np.arange(1, 101) / 7, "a": ["x", "y"] * 50})
    assert as_table(many, sample_weight="w").total_weight == pytest.approx(5050 / 7)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], r"each of the 3 rows; their shape is \(2,\)"),
        ([[1, 2, 3]], "their shape is"),
        ([1, -2, 3], "row 2: -2.0"),
        ([1, 2, np.nan], "row 3: nan"),
        ([1, np.inf, 1], "row 2: inf"),
        (["a", "b", "c"], "real numbers"),
        ([0, 0, 0], "weights of all rows are zero"),
        ("nowhere", "sample_weight= names 'nowhere'"),
        ("text", r"row 2 \(column 'text'\): 'two' is not a number"),
        ("gap", r"row 2 \(column 'gap'\): a missing cell"),
        ("negative", "row 3: -1.0"),
    ],
)
def test_bad_weights(weights: Any, message: str) -> None:
    source = {"a": ["x", "y", "x"], "text": ["1", "two", "3"], "gap": [1, None, 2], "negative": [1, 2, -1]}
    with pytest.raises(InputError, match=message):
        as_table(source, sample_weight=weights, missing="state")


def test_weights_are_not_the_only_column() -> None:
    with pytest.raises(InputError, match="no column left beside the weights"):
        as_table({"w": [1, 2]}, sample_weight="w")


# Columns that are no variables


def _repeated(k: int, n: int, make: Callable[[int], Any]) -> list[Any]:
    return [make(i % k) for i in range(n)]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (_repeated(70, 700, int), "'a' holds numbers with 70 different values.*cslearn.data.discretize"),
        (_repeated(21, 700, lambda i: i + 0.5), "21 different values.*cslearn.data.discretize"),
        (_repeated(21, 700, lambda i: f"{i}.25"), "21 different values.*cslearn.data.discretize"),
        ([i / 7 for i in range(10)], "10 different values.*cslearn.data.discretize"),
        (
            _repeated(10, 10, lambda i: f"id{i}"),
            "'a' looks like an identifier: 10 different values in 10 rows",
        ),
        (_repeated(30, 30, int), "looks like an identifier.*cslearn.data.discretize"),
        (_repeated(95, 100, lambda i: f"id{i}"), "looks like an identifier: 95 different values in 100 rows"),
        (_repeated(30, 30, lambda i: f"id{i}") + [None] * 5, "identifier: 30 different values in 30 rows"),
        (_repeated(70, 700, lambda i: f"s{i}"), "'a' has 70 states, more than max_states=64.*max_states=70"),
    ],
)
def test_columns_that_are_no_variables(tmp_path: Path, cells: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_table({"a": cells}, missing="state")
    pd.DataFrame({"a": cells, "b": 1}).to_csv(tmp_path / "d.csv", index=False)
    with pytest.raises(InputError, match=message):
        as_table(tmp_path / "d.csv", missing="state")
    distinct = list(dict.fromkeys(cell for cell in cells if cell is not None))
    categorical = pd.DataFrame({"a": pd.Categorical(cells, categories=distinct)})
    assert as_table(categorical, missing="state").cards[0] >= len(distinct)
    table = as_table({"a": cells}, states={"a": [*distinct, "missing"]}, missing="state")
    assert table.cards == (len(distinct) + 1,)


@pytest.mark.parametrize(
    "cells",
    [
        _repeated(9, 9, lambda i: f"id{i}"),
        _repeated(9, 10, lambda i: f"id{i}"),
        _repeated(20, 100, lambda i: i + 0.5),
        _repeated(20, 128, int),
        _repeated(64, 128, lambda i: f"s{i}"),
        _repeated(20, 80, float),
        _repeated(20, 80, lambda i: f"{i:03}"),
        _repeated(20, 80, lambda i: f"{i}.0"),
    ],
)
def test_columns_that_are_variables(cells: list[Any]) -> None:
    assert as_table({"a": cells}).cards == (len(set(cells)),)


def test_max_states() -> None:
    cells = _repeated(70, 700, lambda i: f"s{i}")
    assert as_table({"a": cells}, max_states=70).cards == (70,)
    assert as_table({"a": _repeated(300, 900, int)}, max_states=300).codes.dtype == np.uint16
    with pytest.raises(InputError, match="max_states=3"):
        as_table({"a": ["a", "b", "c", "d", "a"] * 4}, max_states=3)


def test_constant_columns_are_kept_with_a_warning() -> None:
    source = {"a": ["x", "x"], "b": ["x", "y"]}
    with pytest.warns(DataWarning, match="Column 'a' has a single state: kept in the model, never used as a context"):
        table = as_table(source)
    assert table.constant == ("a",)
    with pytest.warns(DataWarning, match="Columns 'a', 'c' have"):
        as_table({**source, "c": [1, 1]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_table(source, states={"a": ["x"]})
        as_table(table, variables=["a"])
