"""Packing sources of every kind in batches: the same states and codes as where the rows are read at once."""

import datetime
import gzip
import itertools
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cslearn
import naive
from cslearn.data import Table, as_table, pack
from cslearn.errors import DataWarning, FileError, InputError

ROWS = 400
RNG = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Batches of 30 rows and parts of 64, so that a few hundred rows are many of both."""
    monkeypatch.setattr("cslearn.data._batches.BATCH_ROWS", 30)
    monkeypatch.setattr("cslearn.data._batches.BLOCK_BYTES", 1500)
    monkeypatch.setattr("cslearn.data._passes._LEAST_ROWS", 64)
    monkeypatch.setattr("cslearn.data._passes._MOST_ROWS", 64)


def pick(values, *, rows=ROWS):
    return [values[i] for i in RNG.integers(len(values), size=rows)]


def late(common, rare):
    """Cells that are all `common`, but for a `rare` one in the end: a whole column that no batch can know."""
    return [*pick(common, rows=ROWS - 1), rare]


day = datetime.date
COLUMNS = {
    "words": pick(["no", "yes", "Ünsure", "a, b"]),
    "late word": late(["b", "c"], "a"),
    "whole": pick([10, 2, -1]),
    "bytes": np.array(pick([0, 255, 7]), dtype=np.uint8),
    "signed bytes": np.array(pick([0, -1, 7]), dtype=np.int8),
    "whole floats": pick([1.0, 2.0, 3.0]),
    "late fraction": late([1.0, 2.0], 0.5),
    "small floats": np.array(pick([0.1, 0.5]), dtype=np.float32),
    "flags": pick([True, False]),
    "days": pick([day(2020, 1, 31), day(2021, 2, 1)]),
    "times": pick([datetime.datetime(2020, 1, 31, 12), datetime.datetime(2021, 2, 1)]),
    "decimals": pick([Decimal("1.50"), Decimal("2.25")]),
    "numbers as texts": pick(["10", "9", "8.5"]),
    "bins": pick(["<1.5", "[1.5, 2)", ">=2"]),
    "nearly whole": late([1, 2, 3], 2**40),
}
GAPS = {
    "words": pick(["no", "yes", None]),
    "whole": pick([10, 2, None]),
    "large": pick([2**60 + 1, 2**60 + 2, None]),
    "floats": pick([1.5, 2.5, None]),
    "late gap": late([1, 2], None),
    "flags": pick([True, False, None]),
    "days": pick([day(2020, 1, 31), day(2021, 2, 1), None]),
    "first gap": [None, *pick(["x", "y"], rows=ROWS - 1)],
}


def categories(values):
    cells = pa.array(pick(values)).dictionary_encode()
    return pa.DictionaryArray.from_arrays(cells.indices, pa.array([*cells.dictionary.to_pylist(), "never"]))


def write_parts(table, folder):
    for i in range(4):
        pq.write_table(table.slice(i * 100, 100), folder / f"part{i}.parquet", row_group_size=45)
    return str(folder / "part*.parquet")


def write_one(table, folder):
    pq.write_table(table, folder / "one.parquet", row_group_size=77)
    return folder / "one.parquet"


def lazy(table):
    return pl.from_arrow(table).lazy()


# From an Arrow table and a directory to a source of the same rows.
ARROW_SOURCES = {
    "parquet": write_one,
    "parts": write_parts,
    "list of paths": lambda table, folder: [
        write_one(table.slice(0, 100), folder),
        *(lambda rest: (pq.write_table(table.slice(100), rest), [rest])[1])(folder / "rest.parquet"),
    ],
    "table": lambda table, _: table,
    "record batch": lambda table, _: table.combine_chunks().to_batches()[0],
    "reader": lambda table, _: pa.RecordBatchReader.from_batches(table.schema, table.to_batches(33)),
    "dataset in memory": lambda table, _: pa.dataset.dataset(table),
    "dataset of files": lambda table, folder: (write_parts(table, folder), pa.dataset.dataset(folder))[1],
    "iterator of batches": lambda table, _: iter(table.to_batches(33)),
    "iterator of tables": lambda table, _: (table.slice(i, 50) for i in range(0, ROWS, 50)),
    "list of tables": lambda table, _: [table.slice(0, 333), table.slice(333)],
    "duckdb": lambda table, _: duckdb.from_arrow(table),
    "duckdb of files": lambda table, folder: duckdb.read_parquet(write_parts(table, folder)),
}


@pytest.mark.parametrize("kind", ARROW_SOURCES)
@pytest.mark.parametrize("columns", ["full", "gaps"])
def test_arrow_sources_give_the_table_that_is_read_at_once(kind, columns, tmp_path):
    table = pa.table(COLUMNS if columns == "full" else GAPS)
    expected = as_table(table, missing="state")
    packed = pack(ARROW_SOURCES[kind](table, tmp_path), missing="state")
    assert as_table(packed) == expected
    assert [list(map(type, labels)) for labels in packed.states] == [list(map(type, x)) for x in expected.states]


@pytest.mark.parametrize("kind", ["parquet", "table", "reader", "iterator of batches"])
def test_categories_keep_their_order_and_those_that_do_not_occur(kind, tmp_path):
    table = pa.table({"a": categories(["z", "m", "a"]), "b": categories(["x", "y"])})
    expected = as_table(table)
    assert "never" in expected.states[0]
    packed = pack(ARROW_SOURCES[kind](table, tmp_path), collapse=False)
    assert as_table(packed) == expected


def test_enums_of_duckdb_are_categories():
    query = "select (['z', 'b'][1 + i % 2])::enum('z', 'never', 'b') as e, i % 3 as k from range(400) t(i)"
    packed = pack(duckdb.sql(query), collapse=False)
    assert packed.states == (("z", "never", "b"), (0, 1, 2))
    assert as_table(packed) == as_table(duckdb.sql(query).to_arrow_table())


FRAME_SOURCES = {
    "pandas": lambda frame: (frame.iloc[i : i + 90] for i in range(0, ROWS, 90)),
    "pandas list": lambda frame: [frame.iloc[:1], frame.iloc[1:]],
    "pandas nullable": lambda frame: (frame.iloc[i : i + 90].convert_dtypes() for i in range(0, ROWS, 90)),
    "pandas objects": lambda frame: (frame.iloc[i : i + 90].astype(object) for i in range(0, ROWS, 90)),
}


@pytest.mark.parametrize("kind", FRAME_SOURCES)
@pytest.mark.parametrize("columns", ["full", "gaps"])
def test_batches_of_pandas_frames(kind, columns):
    frame = pd.DataFrame(COLUMNS if columns == "full" else {name: GAPS[name] for name in GAPS if name != "large"})
    expected = as_table(frame, missing="state")
    assert as_table(pack(FRAME_SOURCES[kind](frame), missing="state")) == expected


def test_categories_of_pandas_batches_count_only_if_all_batches_have_them():
    same = [pd.DataFrame({"a": pd.Categorical(cells, ["z", "b", "a"])}) for cells in (["a", "a"], ["z", "a"])]
    assert pack(iter(same)).states == (("z", "b", "a"),)
    assert as_table(pd.concat(same)).states == (("z", "b", "a"),)
    others = [same[0], pd.DataFrame({"a": pd.Categorical(["z", "c"], ["z", "c"])})]
    assert pack(iter(others)).states == (("a", "c", "z"),)
    assert as_table(pd.concat(others)).states == (("a", "c", "z"),)


@pytest.mark.parametrize("columns", ["full", "gaps"])
@pytest.mark.parametrize("kind", ["lazy", "frames"])
def test_polars(columns, kind):
    frame = pl.DataFrame(COLUMNS if columns == "full" else GAPS, strict=False).with_columns(
        pl.Series("kinds", pick(["z", "b"]), dtype=pl.Categorical),
        pl.Series("ranks", pick(["z", "b"]), dtype=pl.Enum(["z", "never", "b"])),
    )
    source = frame.lazy() if kind == "lazy" else iter([frame[:10], frame[10:10], frame[10:]])
    packed = pack(source, missing="state")
    assert as_table(packed) == as_table(frame, missing="state")
    assert packed.states[-2:] == (("b", "z"), ("z", "never", "b"))


TEXT = {
    "a": pick(["no", "yes", "a, b", 'say "so"', "two\nlines", "Ünsure", " x"]),
    "plain": pick(["10", "9", "-3"]),
    "late text": late(["1", "2"], "x"),
    "zeros": pick(["01", "2"]),
    "points": pick(["1.0", "2", "10"]),
    "dashes": pick(["1", "2", "-"]),
    "signs": pick(["+", "-"]),
    "gaps": pick(["u", "v", "", "NA", " ? "]),
    "late gap": late(["u", "v"], ""),
    "null": pick(["null", "NULL", "1", "2"]),
}


def write_csv(folder, name="d.csv", sep=",", rows=slice(None), columns=None):
    path = folder / name
    text = pd.DataFrame(columns or TEXT).iloc[rows].to_csv(index=False, sep=sep)
    packing = {".gz": "gzip", ".zst": "zstd"}.get(path.suffix.lower())
    with pa.output_stream(path, compression=packing) as file:
        file.write(text.encode())
    return path


@pytest.mark.parametrize("missing", ["state", "drop"])
@pytest.mark.parametrize("name", ["d.csv", "d.csv.gz", "d.csv.zst", "d.tsv", "D.TSV.GZ"])
def test_text_files(name, missing, tmp_path):
    path = write_csv(tmp_path, name, "\t" if "tsv" in name.lower() else ",")
    with pytest.warns(DataWarning, match="Cells that count as missing: '-' in 'dashes'; 'NULL', 'null' in 'null'"):
        expected = as_table(path, missing=missing)
    with pytest.warns(DataWarning, match="Cells that count as missing: '-' in 'dashes'; 'NULL', 'null' in 'null'"):
        packed = pack(path, missing=missing)
    assert as_table(packed) == expected
    assert [list(map(type, labels)) for labels in packed.states] == [list(map(type, x)) for x in expected.states]


@pytest.mark.parametrize("several", ["one", "wildcard", "list"])
def test_no_file_that_is_read_is_replaced_by_the_packed_table(tmp_path, several):
    path = write_csv(tmp_path)
    before = path.read_bytes()
    source = {"one": path, "wildcard": tmp_path / "*.csv", "list": [path]}[several]
    with pytest.raises(InputError, match="would replace .*, which is read: give another name"):
        pack(source, path, missing="state")
    assert path.read_bytes() == before


def test_parts_of_text_and_other_markers(tmp_path):
    path = write_csv(tmp_path)
    for i in range(5):
        write_csv(tmp_path, f"part{i}.csv", rows=slice(80 * i, 80 * i + 80))
    options = {"missing": "state", "na_values": ["x", "?"], "leave_out": ["zeros"]}
    expected = as_table(path, **options)
    assert as_table(pack(tmp_path / "part*.csv", **options)) == expected
    assert as_table(tmp_path / "part*.csv", **options) == expected
    states = {"dashes": ["2", "-", "1"], "plain": [10, 9, -3, 5]}
    options = {"missing": "state", "variables": ["plain", "dashes"], "states": states}
    assert as_table(pack(tmp_path / "part*.csv", collapse=False, **options)) == as_table(path, **options)


def test_a_text_file_with_a_mark_blank_lines_and_other_line_ends(tmp_path):
    path = tmp_path / "d.csv"
    path.write_bytes('a;b\r\n1;x\r\n\r\n2;"y"\r\n1;x\r\n'.encode("utf-8-sig"))
    assert as_table(pack(path, sep=";")) == as_table(path, sep=";")
    path.write_text("a,b\n")
    with pytest.raises(InputError, match="no rows"):
        pack(path)
    assert pack(path, states={"a": [1, 2], "b": [0]}).n == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("a,b\n1,2\n3\n", "d.csv cannot be read: .*Expected 2 columns, got 1"),
        ("a;b\n1;2\n", "The separator looks to be ';'"),
        ("a,a\n1,2\n", "several columns are called 'a'"),
        ("a,\n1,2\n", "column 2 has no name"),
        (b"a,b\n" + b"1,2\n" * 50_000 + b"\xff,2\n", "d.csv cannot be read: .*UTF8"),
    ],
)
def test_bad_text_files(content, message, tmp_path):
    path = tmp_path / "d.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(FileError if "column" not in message or "Expected" in message else InputError, match=message):
        pack(path)


# ---------------------------------------------------------------- options
@pytest.mark.parametrize("missing", ["error", "drop", "state"])
def test_missing_cells_are_treated_as_by_as_table(missing):
    table = pa.table(GAPS)
    if missing == "error":
        with pytest.raises(InputError) as one:
            as_table(table)
        with pytest.raises(InputError) as other:
            pack(table)
        assert str(other.value) == str(one.value)
        assert f"'late gap' (1 of {ROWS})" in str(one.value)
    else:
        assert as_table(pack(table, missing=missing)) == as_table(table, missing=missing)


def test_a_state_that_only_dropped_rows_show_is_none():
    table = pa.table({"a": ["x", "y", "z"] * 30, "b": ["u", "v", None] * 30})
    packed = pack(table, missing="drop", collapse=False)
    assert packed.states == (("x", "y"), ("u", "v"))
    with pytest.warns(DataWarning, match="Cells are missing in 'b' exactly where a is z"):
        dropped = as_table(table, missing="drop")
    assert as_table(packed) == dropped
    nothing = pa.table({"a": ["x", "y", None], "b": [None, None, "u"]})
    with pytest.raises(InputError, match="Every row has a missing cell.*Column 'b' has the most"):
        pack(nothing, missing="drop")


def test_weights_from_a_column_or_an_array():
    weights = RNG.integers(0, 4, size=ROWS)
    table = pa.table({**GAPS, "w": weights, "kilos": RNG.random(ROWS)})
    for column in ("w", "kilos"):
        options = {"missing": "drop", "sample_weight": column, "leave_out": {"w", "kilos"} - {column}}
        assert as_table(pack(table, collapse=False, **options)) == as_table(table, **options)
    plain = pa.table(COLUMNS)
    assert as_table(pack(plain, sample_weight=weights, collapse=False)) == as_table(plain, sample_weight=weights)
    for wrong in (weights[1:], [*weights, 1]):
        with pytest.raises(InputError, match=f"sample_weight= has {len(wrong)} weights, but the data have"):
            pack(plain, sample_weight=wrong)
    bad = weights.astype(float)
    bad[333] = -1
    with pytest.raises(InputError, match="Weight of row 334: -1.0"):
        pack(plain.append_column("w", [bad]), sample_weight="w")
    with pytest.raises(InputError, match="weights of all rows are zero"):
        pack(plain, sample_weight=np.zeros(ROWS))


ERRORS = {
    "infinite": ({"a": [*[1.0] * 300, np.inf, *[2.0] * 99]}, {}, "Column 'a', row 301: inf is not a finite"),
    "measurement": ({"a": [i / 7 for i in range(40)] * 10}, {}, "holds numbers with 40 different.*discretize"),
    "identifier": ({"a": [f"id{i}" for i in range(ROWS)]}, {}, "looks like an identifier: 400 different"),
    "too many": ({"a": [f"id{i}" for i in range(100)] * 4}, {}, "has 100 states, more than max_states=64"),
    "stray": ({"a": [*map(str, range(39)), "x"] * 10}, {"max_states": 20}, "all of them numbers but for 'x'"),
    "unknown": ({"a": [*["x"] * 200, "y", "w"] * 2}, {"states": {"a": ["x"]}}, "'a', row 201: 'y' is none"),
    "no column": ({"a": [1]}, {"leave_out": ["b"]}, "leave_out= names 'b', which the data do not have"),
    "no states": ({"a": [1]}, {"states": {"b": [1]}}, "states= names 'b'"),
    "missing label": ({"a": ["missing", None] * 10}, {"missing": "state"}, "and also the state 'missing'"),
    "several": ({"a": [*range(99), None] * 4, "b": [0.5, np.inf] * 200}, {}, "for 3 reasons:\n- Missing cells"),
}


@pytest.mark.parametrize("kind", ERRORS)
def test_errors_are_those_of_as_table(kind):
    columns, options, message = ERRORS[kind]
    table = pa.table(columns)
    with pytest.raises(InputError, match=message) as one:
        as_table(table, **options)
    with pytest.raises(InputError, match=message) as other:
        pack(table, **options)
    assert str(one.value) == str(other.value)


def test_a_dictionary_that_would_fill_the_memory_is_an_error_at_once():
    batches = (pa.table({"a": np.arange(20_000) + i * 20_000}) for i in itertools.count())
    with pytest.raises(InputError, match="'a' has more than 32,768 different values. Cut it.*discretize"):
        pack(batches)


def test_constant_columns_are_told():
    with pytest.warns(DataWarning, match="Column 'a' has a single state"):
        assert pack(pa.table({"a": [1, 1], "b": [1, 2]})).states == ((1,), (1, 2))


def test_columns_of_parts_must_agree_but_may_change_places_and_types(tmp_path):
    pq.write_table(pa.table({"a": pa.array([1, -1], pa.int8()), "b": ["x", "y"]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"b": ["y", "z"], "a": pa.array([255, 1], pa.uint8())}), tmp_path / "2.parquet")
    pq.write_table(pa.table({"b": ["y", "z"], "a": [0.5, 1]}), tmp_path / "3.parquet")
    packed = pack(tmp_path / "[12].parquet")
    assert packed.states == ((-1, 1, 255), ("x", "y", "z"))
    assert packed.codes().tolist() == [[1, 0], [0, 1], [2, 1], [1, 2]]
    packed = pack(tmp_path / "[123].parquet")
    assert packed.states[0] == (-1.0, 0.5, 1.0, 255.0)
    assert {type(label) for label in packed.states[0]} == {float}
    pq.write_table(pa.table({"b": ["y"]}), tmp_path / "4.parquet")
    with pytest.raises(FileError, match="4.parquet and .*1.parquet do not have the same columns: 'a' only"):
        pack(tmp_path / "*.parquet")


def test_sources_that_cannot_be_read(tmp_path):
    with pytest.raises(FileError, match="There is no file that .*none.parquet fits"):
        pack(tmp_path / "*none.parquet")
    with pytest.raises(FileError, match="There is no file .*none.parquet"):
        pack(tmp_path / "none.parquet")
    (tmp_path / "x.parquet").write_bytes(b"PAR1 nothing of the kind")
    with pytest.raises(FileError, match="x.parquet is not a Parquet file, or a damaged one"):
        pack(tmp_path / "x.parquet")
    with pytest.raises(InputError, match="The iterator has no batch"):
        pack(iter([]))
    with pytest.raises(InputError, match="An iterator of dict cannot be read"):
        pack(iter([{"a": 1}]))
    with pytest.raises(InputError, match="Batch 2 and the first one have different columns: 'b'"):
        pack(iter([pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1], "b": [2]})]))
    with pytest.raises(InputError, match="Parquet files and text files cannot be read together"):
        pack([tmp_path / "x.parquet", write_csv(tmp_path)])
    with pytest.raises(InputError, match="Data of type builtins.int cannot be read"):
        pack(3)
    with gzip.open(tmp_path / "cut.csv.gz", "wb") as file:
        file.write(b"a,b\n" + b"1,2\n" * 10_000)
    content = (tmp_path / "cut.csv.gz").read_bytes()
    (tmp_path / "cut.csv.gz").write_bytes(content[:-20])
    with pytest.raises(FileError, match="cut.csv.gz"):
        pack(tmp_path / "cut.csv.gz")


def test_an_index_of_pandas_is_no_column(tmp_path):
    frame = pd.DataFrame({"a": ["x", "y"]}, index=pd.Index([5, 6], name="id"))
    frame.to_parquet(tmp_path / "d.parquet")
    assert pack(tmp_path / "d.parquet").variables == ("a",)
    assert pack(pa.Table.from_pandas(frame)).variables == ("a",)


def test_data_in_memory_are_packed_too():
    data = {"rain": ["no", "yes"], "level": [10, 2]}
    for source in (data, pd.DataFrame(data), pl.DataFrame(data), as_table(data), np.array([[0, 1], [1, 0]])):
        assert as_table(pack(source)) == as_table(source)


def test_progress_counts_the_rows(tmp_path):
    told = []
    pack(write_one(pa.table(COLUMNS), tmp_path), progress=lambda *rows: told.append(rows))
    assert told[0] == (30, ROWS)
    assert told[-1] == (ROWS, ROWS)
    told.clear()
    pack(write_csv(tmp_path), missing="drop", na_values=["x"], progress=lambda *rows: told.append(rows))
    assert told[-1] == (ROWS, None)


# ---------------------------------------------------------------- equal rows
def test_equal_rows_are_merged_where_that_pays():
    table = pa.table({"a": pick(["x", "y"]), "b": pick([1, 2, 3])})
    packed = pack(table)
    assert as_table(packed) == as_table(table).collapse()
    assert packed.n == 6
    assert packed.total_weight == ROWS
    assert pack(table, collapse=False).n == ROWS
    wide = pa.table({f"v{j}": pick([0, 1]) for j in range(12)})
    assert pack(wide).n == ROWS
    assert as_table(pack(wide, collapse=True)) == as_table(wide).collapse(1.0)
    weights = RNG.random(ROWS)
    expected = as_table(table, sample_weight=weights).collapse()
    assert as_table(pack(table, sample_weight=weights)) == expected
    with pytest.raises(InputError, match="collapse is \"auto\" or True or False, not 'never'"):
        pack(table, collapse="never")


@given(
    st.integers(0, 2**32 - 1),
    st.integers(0, 300),
    st.lists(st.sampled_from([1, 2, 3, 4, 5, 9]), min_size=1, max_size=70),
)
def test_packed_codes_are_those_of_the_naive_twin(seed, n, cards):
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.integers(d, size=n) for d in cards])
    table = Table(rows, [f"v{j}" for j in range(len(cards))], [range(d) for d in cards])
    packed = cslearn.pack(table, collapse=False)
    assert packed.planes.tolist() == naive.planes(rows.tolist(), cards, n)
    assert packed.codes().tolist() == rows.tolist()
    start = n // 3
    assert packed.codes(start, n - 1).tolist() == rows[start : n - 1 if n else 0].tolist()
    merged = packed.collapse(1.0)
    if n:
        assert list(zip(map(tuple, merged.codes().tolist()), merged.weights, strict=True)) == naive.distinct(
            rows.tolist()
        )


def test_row_names_of_a_text_file_are_left_out(tmp_path):
    path = tmp_path / "d.csv"
    pd.DataFrame({"a": ["x", "y"] * 9, "b": [1, 2, 2] * 6}).to_csv(path)
    with pytest.warns(DataWarning, match="row names"):
        packed = pack(path, collapse=False)
    with pytest.warns(DataWarning, match="row names"):
        assert as_table(packed) == as_table(path)
