"""Reading data of every kind into a table."""

from __future__ import annotations

import builtins
import datetime
import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cslearn._wording import option
from cslearn.data import Table, as_table
from cslearn.errors import DataWarning, FileError, InputError, MissingExtraError

COLUMNS: dict[str, list[Any]] = {
    "rain": ["no", "yes", "no", "no"],
    "level": [10, 2, 10, -1],
    "z, ö": ["b", "a", "b", "c"],
}
EXPECTED = Table(
    [[0, 2, 1], [1, 1, 0], [0, 2, 1], [0, 0, 2]],
    ["rain", "level", "z, ö"],
    [["no", "yes"], [-1, 2, 10], ["a", "b", "c"]],
)


def _structured() -> np.ndarray[Any, Any]:
    kinds = [("rain", "U3"), ("level", "i4"), ("z, ö", "U1")]
    return np.array(list(zip(*COLUMNS.values(), strict=True)), dtype=kinds)


def _written(name: str, write: Callable[[pd.DataFrame, Path], Any]) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        write(pd.DataFrame(COLUMNS), folder / name)
        return folder / name

    return make


SOURCES: dict[str, Callable[[Path], Any]] = {
    "pandas": lambda _: pd.DataFrame(COLUMNS),
    "pandas object": lambda _: pd.DataFrame(COLUMNS, dtype=object),
    "pandas nullable": lambda _: pd.DataFrame(COLUMNS).convert_dtypes(),
    "pandas arrow": lambda _: pd.DataFrame(COLUMNS).convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda _: pl.DataFrame(COLUMNS),
    "pyarrow": lambda _: pa.table(COLUMNS),
    "records": lambda _: [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)],
    "dict of lists": lambda _: COLUMNS,
    "dict of arrays": lambda _: {name: np.array(cells) for name, cells in COLUMNS.items()},
    "dict of pandas series": lambda _: dict(pd.DataFrame(COLUMNS).items()),
    "dict of polars series": lambda _: pl.DataFrame(COLUMNS).to_dict(),
    "dict of arrow columns": lambda _: {name: pa.chunked_array([cells]) for name, cells in COLUMNS.items()},
    "structured": lambda _: _structured(),
    "recarray": lambda _: _structured().view(np.recarray),
    "csv": _written("d.csv", lambda frame, path: frame.to_csv(path, index=False)),
    "csv as str": lambda folder: str(SOURCES["csv"](folder)),
    "CSV": _written("D.CSV", lambda frame, path: frame.to_csv(path, index=False)),
    "csv with mark": _written("d.csv", lambda frame, path: frame.to_csv(path, index=False, encoding="utf-8-sig")),
    "csv with CRLF": _written("d.csv", lambda frame, path: frame.to_csv(path, index=False, lineterminator="\r\n")),
    "csv all quoted": _written("d.csv", lambda frame, path: frame.to_csv(path, index=False, quoting=1)),
    "csv.gz": _written("d.csv.gz", lambda frame, path: frame.to_csv(path, index=False)),
    "tsv": _written("d.tsv", lambda frame, path: frame.to_csv(path, index=False, sep="\t")),
    "tab": _written("d.tab", lambda frame, path: frame.to_csv(path, index=False, sep="\t")),
    "tsv.gz": _written("d.tsv.gz", lambda frame, path: frame.to_csv(path, index=False, sep="\t")),
    "parquet": _written("d.parquet", lambda frame, path: frame.to_parquet(path)),
    "parquet of polars": _written("d.parquet", lambda frame, path: pl.DataFrame(COLUMNS).write_parquet(path)),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_the_same_data_give_the_same_table(kind: str, tmp_path: Path) -> None:
    table = as_table(SOURCES[kind](tmp_path))
    assert table == EXPECTED
    assert [type(label) for label in table.states[1]] == [int, int, int]


@pytest.mark.parametrize("kind", SOURCES)
def test_variables_choose_columns_in_their_order(kind: str, tmp_path: Path) -> None:
    source = SOURCES[kind](tmp_path)
    assert as_table(source, variables=["level", "rain"]) == EXPECTED.select(["level", "rain"])
    with pytest.raises(InputError, match=r"variables= names 'snow', which the data do not have.*'rain', 'level'"):
        as_table(source, variables=["rain", "snow"])


@pytest.mark.parametrize("kind", SOURCES)
def test_weights_may_be_a_column(kind: str, tmp_path: Path) -> None:
    source = SOURCES[kind](tmp_path)
    with pytest.raises(InputError, match=r"row 4: -1.0 is not a non-negative"):
        as_table(source, sample_weight="level")


@pytest.mark.parametrize("kind", SOURCES)
def test_given_states_for_every_kind_of_source(kind: str, tmp_path: Path) -> None:
    states: dict[str, list[Any]] = {"level": [10, 5, 2, -1], "rain": ["yes", "no"]}
    table = as_table(SOURCES[kind](tmp_path), states=states)
    assert table.states[:2] == (("yes", "no"), (10, 5, 2, -1))
    assert table.codes[:, :2].tolist() == [[1, 0], [0, 2], [1, 0], [1, 3]]


def test_an_index_of_pandas_is_no_column(tmp_path: Path) -> None:
    frame = pd.DataFrame(COLUMNS, index=pd.Index([5, 6, 7, 8], name="id"))
    frame.to_parquet(tmp_path / "d.parquet")
    assert as_table(frame) == EXPECTED
    assert as_table(tmp_path / "d.parquet") == EXPECTED
    assert as_table(pa.Table.from_pandas(frame)) == EXPECTED


def test_subclasses_of_frames_are_frames() -> None:
    class Frame(pd.DataFrame):
        pass

    assert as_table(Frame(COLUMNS)) == EXPECTED


def test_arrays_without_names() -> None:
    array = np.array([[0, 5], [1, 5], [1, 7]])
    table = as_table(array)
    assert table.variables == ("X1", "X2")
    assert table.states == ((0, 1), (5, 7))
    assert as_table(array, variables=["a", "b"]).variables == ("a", "b")
    assert as_table(array.astype(np.uint8)) == table
    assert as_table(array.astype(float)) == table
    assert as_table(array.astype(object)) == table
    assert as_table(array.astype(str)).states == (("0", "1"), ("5", "7"))
    assert as_table(array.astype("S")).states == (("0", "1"), ("5", "7"))
    assert as_table(array > 0, states={"X2": [True]}).states[0] == (False, True)
    with pytest.raises(InputError, match="has 1 names, but the array has 2 columns"):
        as_table(array, variables=["a"])
    assert as_table(array, variables=["w", "b"], sample_weight="w").variables == ("b",)


def test_masked_cells_are_missing() -> None:
    array = np.ma.array([[0], [1], [1]], mask=[[False], [False], [True]])
    assert as_table(array, missing="drop").codes.tolist() == [[0], [1]]
    assert as_table({"a": array[:, 0]}, missing="state").states == ((0, 1, "missing"),)
    fields: Any = np.ma.array([(1, 2), (3, 4)], dtype=[("a", int), ("b", int)], mask=[(True, False), (False, False)])
    with pytest.warns(DataWarning, match="'a', 'b'"):
        assert as_table(fields, missing="drop").states == ((3,), (4,))


@pytest.mark.parametrize("shape", [(4,), (), (2, 2, 1)])
def test_arrays_of_other_dimensions(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=f"two dimensions .* not {len(shape)}"):
        as_table(np.zeros(shape, dtype=int))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (pd.Series([1, 2]), "type pandas.Series cannot be read"),
        (pa.chunked_array([[1]]), "type pyarrow.ChunkedArray cannot be read"),
        (3, "type builtins.int cannot be read"),
        ([[1, 2]], "Row 1 of the list is of type list, not a dict"),
        ([], "no rows or no columns"),
        ({}, "no column"),
        (pd.DataFrame(index=[1, 2]), "no column"),
        (np.empty((3, 0)), "no column"),
        (np.zeros(3, dtype=[("a", int, (2,))]), "'a' must have one dimension"),
        ({"a": [1, 2], "b": [1]}, "'b' has 1 cells but column 'a' has 2"),
        ({"a": "xy"}, "'a' must be a sequence of cells, not str"),
        ({"a": 3}, "'a' must be a sequence of cells, not int"),
        ({"a": {0: "x"}}, "'a' must be a sequence of cells, not dict"),
        ({"a": np.zeros((2, 2))}, "'a' must have one dimension"),
        (pd.DataFrame({"a": []}), "no rows"),
        (pd.DataFrame({"a": [[1], [2]]}), "'a', row 1: a cell of type list"),
        (pd.DataFrame({"a": ["x", {"k": 1}]}), "'a', row 2: a cell of type dict"),
        (pd.DataFrame({"a": [0.5, np.inf]}), "'a', row 2: inf is not a finite number"),
    ],
)
def test_what_is_no_data(source: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_table(source)


@pytest.mark.parametrize("kind", ["polars", "arrow"])
def test_nested_cells_of_other_libraries(kind: str) -> None:
    cells = [[1], [2]]
    source = pl.DataFrame({"a": cells}) if kind == "polars" else pa.table({"a": cells})
    with pytest.raises(InputError, match="Column 'a'"):
        as_table(source)
    frame = pd.DataFrame({"a": pd.Series(cells, dtype=pd.ArrowDtype(pa.list_(pa.int64())))})
    with pytest.raises(InputError, match="Column 'a'"):
        as_table(frame)


def test_names_of_columns() -> None:
    assert as_table(pd.DataFrame([[1, 2], [2, 1]])).variables == ("0", "1")
    assert as_table({1: ["x", "y"]}).variables == ("1",)
    assert as_table([{1: "x"}, {1: "y"}]).variables == ("1",)
    with pytest.raises(InputError, match="several columns are called 'a'"):
        as_table(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(InputError, match="several columns are called '1'"):
        as_table(pd.DataFrame([[1, 2]], columns=[1, "1"]))
    with pytest.raises(InputError, match="column 2 has no name"):
        as_table(pd.DataFrame([[1, 2]], columns=["a", " "]))


@pytest.mark.parametrize(
    ("variables", "message"),
    [("ab", "not a single string"), ([], "is empty"), (["a", "a"], "'a' more than once")],
)
def test_bad_variables(variables: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_table({"a": [1, 2], "b": [1, 2]}, variables=variables)


@pytest.mark.parametrize(
    ("cells", "states"),
    [
        ([True, False, True], (False, True)),
        ([3, -2, 10], (-2, 3, 10)),
        ([0.5, -1.5, 10.25], (-1.5, 0.5, 10.25)),
        ([2.0, 1.0, 2.0], (1, 2)),
        ([1, 2.5], (1, 2.5)),
        (["10", "9", "-1.5"], ("-1.5", "9", "10")),
        (["10", "9", "x"], ("10", "9", "x")),
        (["b", "B", "a"], ("B", "a", "b")),
        (["b", 2, True, 0.5, "a", 1.5], (True, 0.5, 1.5, 2, "a", "b")),
        ([datetime.date(2020, 1, 2), datetime.date(2019, 1, 2)], ("2019-01-02", "2020-01-02")),
    ],
)
def test_order_of_states(cells: list[Any], states: tuple[Any, ...]) -> None:
    found = as_table({"a": cells}).states[0]
    assert found == states
    assert [type(label) for label in found] == [type(label) for label in states]


def test_true_and_one_in_one_column() -> None:
    with pytest.raises(InputError, match="'a' has the state 1 twice"):
        as_table({"a": [True, 1, "x"]})


def test_categories_keep_their_order_and_the_unobserved() -> None:
    cells, categories = ["x", "y", "x"], ["z", "y", "x"]
    expected = Table([[2], [1], [2]], ["a"], [categories])
    assert as_table(pd.DataFrame({"a": pd.Categorical(cells, categories=categories)})) == expected
    assert as_table(pd.DataFrame({"a": pd.Categorical(cells, categories=categories, ordered=True)})) == expected
    assert as_table(pl.DataFrame({"a": pl.Series(cells, dtype=pl.Enum(categories))})) == expected
    dictionary = pa.DictionaryArray.from_arrays([2, 1, 2], categories)
    assert as_table(pa.table({"a": dictionary})) == expected
    arrow = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([dictionary])))
    assert as_table(pd.DataFrame({"a": arrow})) == expected
    assert as_table({"a": pd.Categorical(cells, categories=categories)}) == expected
    assert as_table(pl.DataFrame({"a": pl.Series(cells, dtype=pl.Categorical)})).states == (("x", "y"),)


def test_intervals_and_times_become_text() -> None:
    frame = pd.DataFrame({"a": pd.cut([1, 5, 9], [0, 4, 10]), "t": pd.to_datetime(["2020-01-02", "2019-01-01", "NaT"])})
    table = as_table(frame, missing="state")
    assert table.states == (("(0, 4]", "(4, 10]"), ("2019-01-01 00:00:00", "2020-01-02 00:00:00", "missing"))


@pytest.mark.parametrize(
    "series",
    [
        pd.Series([1, None, 2], dtype="Int64"),
        pd.Series([1, None, 2]),
        pd.Series([1, None, 2], dtype=object),
        pd.Series([1, pd.NA, 2], dtype=object),
        pd.Series([1, np.nan, 2], dtype="Float64"),
        pd.Series([1, None, 2], dtype="int64[pyarrow]"),
        pd.Series([1, None, 2], dtype="double[pyarrow]"),
        pl.Series([1, None, 2]),
        pl.Series([1.0, None, 2.0]),
        pl.Series([1.0, float("nan"), 2.0]),
        pa.chunked_array([[1, None, 2]]),
        np.array([1, np.nan, 2]),
        [1, None, 2],
        [1, float("nan"), 2],
    ],
    ids=lambda column: type(column).__name__,
)
def test_whole_numbers_stay_whole_beside_missing_cells(series: Any) -> None:
    table = as_table({"a": series}, missing="state")
    assert table == Table([[0], [2], [1]], ["a"], [[1, 2, "missing"]])
    assert type(table.states[0][0]) is int


def test_nan_beside_null_is_missing_too() -> None:
    cells = pd.arrays.ArrowExtensionArray(pa.chunked_array([[1.0, float("nan"), 2.0, None]]))
    table = as_table(pd.DataFrame({"a": cells}), missing="state")
    assert table == Table([[0], [2], [1], [2]], ["a"], [[1, 2, "missing"]])


@pytest.mark.parametrize(
    "series",
    [
        pd.Series([True, None, False], dtype="boolean"),
        pd.Series([True, None, False]),
        pd.Series([True, None, False], dtype="bool[pyarrow]"),
        pl.Series([True, None, False]),
        [True, None, False],
    ],
    ids=lambda column: type(column).__name__,
)
def test_nullable_booleans(series: Any) -> None:
    table = as_table({"a": series}, missing="state")
    assert table == Table([[1], [2], [0]], ["a"], [[False, True, "missing"]])


@pytest.mark.parametrize("dtype", [None, "string", "string[pyarrow]", object, "large_string[pyarrow]"])
def test_dtypes_of_strings(dtype: Any) -> None:
    frame = pd.DataFrame({"a": pd.Series(["y", None, "x", "NA", ""], dtype=dtype)})
    table = as_table(frame, missing="drop")
    assert table == Table([[3], [2], [1], [0]], ["a"], [["", "NA", "x", "y"]])


# States that are given


def test_a_value_outside_the_given_states() -> None:
    frame = pd.DataFrame({"a": ["x", None, "y", "w"]})
    with pytest.raises(InputError, match=r"'a', row 3: 'y' is none of its states, which are 'x', 'z'"):
        as_table(frame, states={"a": ["x", "z"]}, missing="drop")


@pytest.mark.parametrize(
    ("cells", "states", "codes"),
    [
        (["1", "2"], [2, 1], [1, 0]),
        ([1, 2], ["2", "1"], [1, 0]),
        ([1.0, 2.0], [2, 1], [1, 0]),
        ([1, 2], [2.0, 1.0], [1, 0]),
        (["1.0", "2.0"], [2, 1], [1, 0]),
        ([1, 2], ["2.0", "1.0"], [1, 0]),
        (["1", "1.0"], ["1.0", "1"], [1, 0]),
        (["1", 1], [1, "1"], [1, 0]),
        ([0.5], ["0.5"], [0]),
        ([True, False], ["True", "False"], [0, 1]),
        (["True", "False"], [False, True], [1, 0]),
        ([True], ["x", True], [1]),
        ([np.True_], [True], [0]),
    ],
)
def test_matching_with_given_states(cells: list[Any], states: list[Any], codes: list[int]) -> None:
    assert as_table({"a": cells}, states={"a": states}).codes.ravel().tolist() == codes


@pytest.mark.parametrize(
    ("cell", "states"),
    [
        (True, [0, 1]),
        (1, [False, True]),
        (1.0, [False, True]),
        ("1", [False, True]),
        ("TRUE", [True]),
        ("01", [1]),
    ],
)
def test_what_does_not_match_given_states(cell: Any, states: list[Any]) -> None:
    with pytest.raises(InputError, match="none of its states"):
        as_table({"a": [cell]}, states={"a": states})


def test_an_ambiguous_text_matches_nothing() -> None:
    with pytest.raises(InputError, match="none of its states"):
        as_table({"a": [datetime.date(2020, 1, 1), "1.00"]}, states={"a": [1, "1", "2020-01-01"]})


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ({"b": ["x"]}, "states= names 'b', which the data do not have. The columns are 'a'"),
        ({"a": "xy"}, "'a' must be a sequence of labels"),
        ({"a": 3}, "'a' must be a sequence of labels"),
        ({"a": ["x", None]}, "'a' contains a missing value"),
        ({"a": ["x", "x"]}, "state 'x' twice"),
        ({"a": []}, "none of its states"),
    ],
)
def test_bad_states(states: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_table({"a": ["x"]}, states=states)


def test_states_of_other_variables_are_ignored_when_variables_are_named() -> None:
    table = as_table({"a": ["x"]}, variables=["a"], states={"a": ["x", "y"], "target": [0, 1]})
    assert table.cards == (2,)


def test_no_rows_with_all_states_given(tmp_path: Path) -> None:
    file = tmp_path / "d.csv"
    file.write_text("a,b\n")
    states: dict[str, list[Any]] = {"a": [0, 1], "b": ["x"]}
    assert as_table(file, states=states) == Table(np.empty((0, 2), int), ["a", "b"], [[0, 1], ["x"]])
    with pytest.raises(InputError, match="no rows"):
        as_table(file, states={"a": [0, 1]})


# A table as the source


def test_a_table_is_returned_unchanged() -> None:
    assert as_table(EXPECTED) is EXPECTED
    assert as_table(EXPECTED, variables=EXPECTED.variables, states=EXPECTED.state_map) is EXPECTED


def test_a_table_is_encoded_anew() -> None:
    table = as_table(EXPECTED, variables=["level"], states={"level": [10, 5, 2, -1]})
    assert table == Table([[0], [2], [0], [3]], ["level"], [[10, 5, 2, -1]])
    weighted = as_table(EXPECTED, sample_weight=[1, 2, 3, 4])
    assert weighted.total_weight == 10
    assert as_table(weighted, variables=["rain"]).total_weight == 10


# Text files


def _csv(folder: Path, text: str, name: str = "d.csv") -> Path:
    file = folder / name
    file.write_bytes(text.encode())
    return file


@pytest.mark.parametrize(
    ("cells", "states"),
    [
        (["0", "-3", "12"], (-3, 0, 12)),
        (["0", "-3", "012"], ("-3", "0", "012")),
        (["1", "+2"], ("1", "+2")),
        (["-0", "1"], ("-0", "1")),
        (["1.0", "2.0"], ("1.0", "2.0")),
        (["1", " 2"], (" 2", "1")),
        (["1", "9223372036854775807"], (1, 2**63 - 1)),
        (["1", "9223372036854775808"], ("1", "9223372036854775808")),
        (["TRUE", "FALSE"], ("FALSE", "TRUE")),
        (["1", "x"], ("1", "x")),
        (['"a,b"', '"say ""x"""'], ("a,b", 'say "x"')),
    ],
)
def test_labels_of_text_files(tmp_path: Path, cells: list[str], states: tuple[Any, ...]) -> None:
    found = as_table(_csv(tmp_path, "\n".join(["a", *cells, ""]))).states[0]
    assert found == states
    assert [type(label) for label in found] == [type(label) for label in states]


def test_separators(tmp_path: Path) -> None:
    expected = Table([[0, 1], [1, 0]], ["a", "b"], [["x", "y"], [1, 2]])
    for sep in ";|\t":
        file = _csv(tmp_path, f"a{sep}b\nx{sep}2\ny{sep}1\n")
        assert as_table(file, sep=sep) == expected
        with pytest.raises(FileError, match="separator looks to be") as caught:
            as_table(file)
        assert f"pass {option('sep', sep)}" in str(caught.value)
    with pytest.raises(FileError, match='pass sep=","'):
        as_table(_csv(tmp_path, "a,b\nx,2\n", "d.tsv"))
    assert as_table(_csv(tmp_path, "a;b\nx\ny\n"), sep=",").variables == ("a;b",)
    bad: list[Any] = ["", "ab", '"', 3]
    for sep in bad:
        with pytest.raises(InputError, match="single character"):
            as_table(_csv(tmp_path, "a\nx\n"), sep=sep)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("a,b\n", "no rows"),
        ("a,b\nx,1\ny\n", "line 3: 1 cells, but the header has 2"),
        ('a,b\nx,1\n"y\nz",1\nx,1,2\n', "line 5: 3 cells"),
        ("a,a\n1,2\n", "several columns are called 'a'"),
        ("a,\n1,2\n", "column 2 has no name"),
        ("a,\n0,2\n", "column 2 has no name.*index=False"),
        ('a,b\n"x,1\n', "line 2: unexpected end of data"),
    ],
)
def test_bad_text_files(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_table(_csv(tmp_path, text))


def test_blank_lines_are_skipped(tmp_path: Path) -> None:
    assert as_table(_csv(tmp_path, "a,b\n\nx,1\n\ny,2\n")).n == 2


def test_more_rows_than_one_chunk(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 3, size=(25_001, 2))
    table = Table(codes, ["a", "b"], [range(3)] * 2)
    table.to_frame().to_csv(tmp_path / "d.csv", index=False)
    assert as_table(tmp_path / "d.csv") == table


def test_files_that_are_not_there_or_not_what_they_seem(tmp_path: Path) -> None:
    for name in ("d.csv", "d.parquet", "d.what"):
        with pytest.raises(FileError, match="There is no file"):
            as_table(tmp_path / name)
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    with pytest.raises(FileError, match="is a directory"):
        as_table(folder)
    with pytest.raises(FileError, match=r"unknown extension.*\.csv, \.tsv, .*\.parquet"):
        as_table(_csv(tmp_path, "a\n1\n", "d.docx"))
    with pytest.raises(FileError, match="not a gzip file"):
        as_table(_csv(tmp_path, "a\n1\n", "d.csv.gz"))
    (tmp_path / "latin.csv").write_bytes("a\nä\n".encode("latin-1"))
    with pytest.raises(FileError, match="not UTF-8"):
        as_table(tmp_path / "latin.csv")
    with pytest.raises(FileError, match="not a Parquet file"):
        as_table(_csv(tmp_path, "a\n1\n", "d.parquet"))


@pytest.mark.parametrize("damage", ["cut", "flip"])
def test_a_damaged_gzip_file(tmp_path: Path, damage: str) -> None:
    rng = np.random.default_rng(0)
    text = "a\n" + "\n".join(map(str, rng.integers(0, 9, 3000)))
    packed = bytearray(gzip.compress(text.encode()))
    if damage == "cut":
        packed = packed[: len(packed) // 2]
    else:
        packed[len(packed) // 2] ^= 0xFF
    (tmp_path / "d.csv.gz").write_bytes(packed)
    with pytest.raises(FileError, match="damaged"):
        as_table(tmp_path / "d.csv.gz")


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = SOURCES["parquet"](tmp_path)
    original = builtins.__import__

    def no_pyarrow(name: str, *rest: Any, **options: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return original(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", no_pyarrow)
    with pytest.raises(MissingExtraError, match=r'pip install "cslearn\[parquet\]"'):
        as_table(file)


# Real data


def _real(name: str) -> Path:
    folder = os.environ.get("CSLEARN_DATA")
    if not folder:
        pytest.skip("the environment variable CSLEARN_DATA names no directory with the real data sets")
    return Path(folder, name)


SIZES = {
    "alarm.csv.gz": (20_000, 37),
    "alarm_true_edges.csv": (46, 4),
    "asia.csv": (5_000, 8),
    "car.csv": (1_728, 7),
    "chds.csv": (500, 4),
    "coronary.csv": (1_841, 6),
    "lizards.csv": (409, 3),
    "monks1.csv": (432, 7),
    "monks2.csv": (432, 7),
    "monks3.csv": (432, 7),
    "sachs_interventional_disc.csv": (5_400, 12),
    "st_Asym.csv": (1_000, 4),
    "st_PhDArticles.csv": (915, 6),
    "titanic.csv": (2_201, 4),
}


@pytest.mark.parametrize("name", SIZES)
def test_real_data(name: str) -> None:
    file = _real(name)
    table = as_table(file)
    assert (table.n, table.p) == SIZES[name]
    frame = pd.read_csv(file, dtype=str, keep_default_na=False)
    assert table.to_frame().astype(str).equals(frame.astype(str))


def test_every_file_is_read_by_some_test() -> None:
    here = {file.name for file in _real("").glob("*.csv*")}
    elsewhere = {"mushroom.csv.gz", "sachs_observational_log.csv.gz", "sachs_full_raw.csv.gz"}
    assert here == {*SIZES, *elsewhere}


def test_mushroom() -> None:
    file = _real("mushroom.csv.gz")
    with pytest.raises(InputError, match=r"Missing cells \(None, NaN\) in 'stalk-root' \(2,480 of 8,124\)\."):
        as_table(file)
    with pytest.warns(DataWarning, match="'veil-type'"):
        complete = as_table(file, missing="drop")
    assert (complete.n, complete.p) == (5_644, 23)
    with pytest.warns(DataWarning, match="Column 'veil-type' has"):
        whole = as_table(file, missing="state")
    assert whole.n == 8_124
    assert whole.state_map["stalk-root"][-1] == "missing"


@pytest.mark.parametrize("name", ["sachs_observational_log.csv.gz", "sachs_full_raw.csv.gz"])
def test_measurements(name: str) -> None:
    with pytest.raises(InputError, match=r"cslearn\.data\.discretize"):
        as_table(_real(name))
