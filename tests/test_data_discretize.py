"""Cutting numbers into bins."""

from __future__ import annotations

import json
import os
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import KBinsDiscretizer

from cslearn.data import Discretizer, as_table, discretize, pack
from cslearn.errors import DataWarning, InputError

RNG = np.random.default_rng(7)
VALUES = np.round(RNG.normal(size=101), 6)


def _frame() -> pd.DataFrame:
    return pd.DataFrame(
        {"x": VALUES, "few": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] * 10 + [0], "kind": ["a"] * 50 + ["b"] * 51}
    )


def test_bins_are_closed_on_the_left() -> None:
    frame = Discretizer({"x": (0.31, 0.9)}).transform({"x": [-1, 0.30999, 0.31, 0.9, np.inf, np.nan]})
    series = frame["x"]
    assert series.cat.ordered
    assert series.cat.categories.tolist() == ["<0.31", "[0.31, 0.9)", ">=0.9"]
    assert series.cat.codes.tolist() == [0, 0, 1, 2, 2, -1]


@pytest.mark.parametrize(
    ("cuts", "labels"),
    [
        ((1.0,), ["<1", ">=1"]),
        ((0.123456,), ["<0.123456", ">=0.123456"]),
        ((1 / 3,), ["<0.3333", ">=0.3333"]),
        ((0.123456, 0.123457), ["<0.123456", "[0.123456, 0.123457)", ">=0.123457"]),
        ((0.12341, 0.12342), ["<0.12341", "[0.12341, 0.12342)", ">=0.12342"]),
        ((-2.5, 1234567.8), ["<-2.5", "[-2.5, 1234567.8)", ">=1234567.8"]),
        ((1e-9, 1e20), ["<1e-09", "[1e-09, 1e+20)", ">=1e+20"]),
        ((1.0, np.nextafter(1.0, 2)), ["<1.0", "[1.0, 1.0000000000000002)", ">=1.0000000000000002"]),
    ],
)
def test_labels(cuts: tuple[float, ...], labels: list[str]) -> None:
    assert Discretizer({"x": cuts}).transform({"x": [0.0]})["x"].cat.categories.tolist() == labels


@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=8, unique=True))
def test_labels_differ(cuts: list[float]) -> None:
    discretizer = Discretizer({"x": tuple(sorted(set(cuts)))})
    categories = discretizer.transform({"x": [0.0]})["x"].cat.categories
    assert len(set(categories)) == len(cuts) + 1


@pytest.mark.parametrize("cuts", [(), (1.0, 1.0), (2.0, 1.0), (np.nan,), (np.inf,), ("x",), 3])
def test_bad_cuts(cuts: Any) -> None:
    with pytest.raises(InputError, match="cuts of 'x'"):
        Discretizer({"x": cuts})


def test_stored_form() -> None:
    discretizer = Discretizer({"x": (0.1, 0.2), "y": [3]})  # type: ignore[dict-item]
    stored = json.loads(json.dumps(discretizer.to_dict()))
    assert Discretizer.from_dict(stored) == discretizer
    assert pickle.loads(pickle.dumps(discretizer)) == discretizer
    assert discretizer.cuts == {"x": (0.1, 0.2), "y": (3.0,)}
    for bad in ({}, {"cuts": 3}, [1]):
        with pytest.raises(InputError, match="stored as"):
            Discretizer.from_dict(bad)  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        discretizer.cuts = {}  # type: ignore[misc]


def test_the_cuts_are_a_copy() -> None:
    mine = {"x": (1.0,)}
    discretizer = Discretizer(mine)
    mine["x"] = (2.0,)
    assert discretizer.cuts == {"x": (1.0,)}


def test_default_columns() -> None:
    frame = _frame().assign(
        many=np.arange(101) // 2, whole=np.where(np.arange(101) % 2, 1.0, np.nan), flag=VALUES > 0, same=["1.5"] * 101
    )
    binned, discretizer = discretize(frame)
    assert list(discretizer.cuts) == ["x", "many"]
    assert list(binned.columns) == list(frame.columns)
    untouched = ["few", "kind", "whole", "flag", "same"]
    pd.testing.assert_frame_equal(binned[untouched], frame[untouched])
    assert frame["x"].dtype == np.float64


def test_an_identifier_is_not_cut_unless_it_is_named() -> None:
    frame = _frame().assign(id=np.arange(101), other=np.arange(101) + 7.0)
    with pytest.warns(DataWarning, match="Columns 'id', 'other' have a different whole number in every row"):
        binned, discretizer = discretize(frame)
    assert list(discretizer.cuts) == ["x"]
    assert binned["id"].tolist() == list(range(101))
    assert list(discretize(frame, columns=["id"])[1].cuts) == ["id"]


def test_cells_that_are_no_numbers_are_named(tmp_path: Path) -> None:
    file = tmp_path / "ages.csv"
    file.write_text("age;kind\n" + "".join(f"{age}.5;{'ab'[age % 2]}\n" for age in range(20, 60)) + "gone;a\n;b\n")
    with pytest.warns(DataWarning, match=r"'age' is not cut: it has 41 .* but for 'gone'.*na_values="):
        assert discretize(file, sep=";")[1].cuts == {}
    binned, discretizer = discretize(file, sep=";", na_values=["gone", ""])
    assert discretizer.cuts == {"age": (40.0,)}
    assert binned["age"].isna().sum() == 2
    again = discretizer.transform(file, sep=";", na_values=["gone", ""])
    pd.testing.assert_frame_equal(again, binned)


def test_two_bins_are_cut_at_the_median() -> None:
    binned, discretizer = discretize(_frame())
    assert discretizer.cuts["x"] == pytest.approx((float(np.median(VALUES)),), rel=1e-3)
    assert binned["x"].cat.codes.tolist() == (np.median(VALUES) <= VALUES).astype(int).tolist()


@pytest.mark.parametrize("method", ["quantile", "uniform", "kmeans"])
@pytest.mark.parametrize("bins", [2, 3, 5])
def test_the_bins_are_those_of_sklearn(method: Any, bins: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = KBinsDiscretizer(bins, encode="ordinal", strategy=method, subsample=None, random_state=0)
        if method == "quantile" and "quantile_method" in theirs.get_params():
            theirs.set_params(quantile_method="linear")
        codes = theirs.fit_transform(VALUES.reshape(-1, 1)).ravel()
    binned, discretizer = discretize(_frame(), bins=bins, method=method)
    assert discretizer.cuts["x"] == pytest.approx(theirs.bin_edges_[0][1:-1], rel=1e-3)  # the cuts are rounded
    assert binned["x"].cat.codes.tolist() == codes.astype(int).tolist()


@pytest.mark.parametrize("method", ["quantile", "uniform", "kmeans"])
@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_bins_do_not_depend_on_the_scale(method: Any, scale: float) -> None:
    plain, _ = discretize(_frame(), bins=4, method=method)
    scaled, _ = discretize(_frame().assign(x=VALUES * scale), columns=["x"], bins=4, method=method)
    assert scaled["x"].cat.codes.tolist() == plain["x"].cat.codes.tolist()


def test_bins_by_column() -> None:
    frame = _frame().assign(y=VALUES**2)
    _, discretizer = discretize(frame, bins={"y": 4})
    assert {name: len(cuts) + 1 for name, cuts in discretizer.cuts.items()} == {"x": 2, "y": 4}
    _, chosen = discretize(frame, columns=["few"], bins=5)
    assert list(chosen.cuts) == ["few"]


@pytest.mark.parametrize("bins", [1, 0, 2.5, True, "2"])
def test_bad_bins(bins: Any) -> None:
    with pytest.raises(InputError, match="bins must be an integer of 2 or more"):
        discretize(_frame(), bins=bins)
    with pytest.raises(InputError, match="bins must be an integer of 2 or more"):
        discretize(_frame(), bins={"x": bins})
    with pytest.raises(InputError, match="bins must be an integer of 2 or more"):
        discretize({"a": ["x"]}, bins=bins)


@given(cuts=st.sets(st.floats(-1e20, 1e20), min_size=1, max_size=8), seed=st.integers(0, 5))
def test_bins_are_found_in_their_order_again_in_a_file(
    cuts: set[float], seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    numbers = sorted(cuts)
    values = [numbers[0] - abs(numbers[0]) - 1, *numbers]
    binned = Discretizer({"x": tuple(numbers)}).transform({"x": values})
    file = tmp_path_factory.mktemp("bins") / "binned.csv"
    binned.sample(frac=1, random_state=seed).to_csv(file, index=False)
    assert as_table(file, max_states=10).states == (tuple(binned["x"].cat.categories),)


def test_other_texts_are_not_taken_for_bins() -> None:
    assert as_table({"x": ["<5", ">=5", "[1,2)", "all"]}).states == (("<5", ">=5", "[1,2)", "all"),)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "equal"}, "method must be"),
        ({"columns": "x"}, r"pass \['x'\]"),
        ({"columns": ["nowhere"]}, "no column 'nowhere'. The columns are 'x', 'few', 'kind'"),
        ({"columns": ["x", "x"]}, "more than once"),
        ({"columns": ["kind"]}, "'kind' is not numeric"),
        ({"bins": {"nowhere": 3}}, "no column 'nowhere'"),
        ({"bins": {"few": 3}}, "'few', which would not be cut"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        discretize(_frame(), **options)


def test_ties_give_fewer_bins_with_a_warning() -> None:
    source = {"x": [0.0] * 6 + [1.5, 2.5, 3.5, 4.5]}
    with pytest.warns(DataWarning, match="Column 'x' has 2 bins instead of 3"):
        binned, discretizer = discretize(source, bins=3)
    assert len(discretizer.cuts["x"]) == 1
    assert set(binned["x"].cat.codes) == {0, 1}
    with pytest.warns(DataWarning, match="2 bins instead of 3"):
        discretize({"x": [0.5, 1.5, 0.5]}, bins=3, method="kmeans")


def test_a_tie_at_the_top_can_be_cut() -> None:
    binned, discretizer = discretize({"x": [0.5, 1.5, 1.5, 1.5]})
    assert discretizer.cuts == {"x": (1.5,)}
    assert binned["x"].cat.codes.tolist() == [0, 1, 1, 1]


def test_a_tie_at_the_bottom_cannot_be_cut_by_quantiles() -> None:
    source = {"x": [0.5, 0.5, 0.5, 1.5], "y": [0.5, 0.5, 0.5, 2.5], "z": [0.5, 1.5, 2.5, 3.5]}
    with pytest.raises(InputError, match=r"do not cut 'x', 'y'\..*method=\"uniform\""):
        discretize(source)
    assert discretize(source, method="uniform")[0]["x"].cat.codes.tolist() == [0, 0, 0, 1]


@given(st.lists(st.sampled_from([0.25, 1.5, 2.5, 3.5, 4.5]), min_size=2, max_size=40), st.integers(2, 6))
def test_no_bin_of_quantiles_is_empty(values: list[float], bins: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            binned, discretizer = discretize({"x": values}, columns=["x"], bins=bins)
        except InputError as error:
            assert "constant" in str(error) or "do not cut" in str(error)
            return
    assert set(binned["x"].cat.codes) == set(range(len(discretizer.cuts["x"]) + 1))


def test_constant_columns() -> None:
    source = {"x": [0.5, 0.5, np.nan]}
    with pytest.raises(InputError, match="'x' is constant"):
        discretize(source, columns=["x"])
    with pytest.warns(DataWarning, match="'x' is constant; it is left as it is"):
        binned, discretizer = discretize(source)
    assert discretizer.cuts == {}
    assert binned["x"].tolist()[:2] == [0.5, 0.5]


def test_columns_that_cannot_be_cut() -> None:
    with pytest.raises(InputError, match="'x', row 2: inf is not a finite number"):
        discretize({"x": [0.5, np.inf, 1.5]})
    with pytest.raises(InputError, match="'x' has no cell that is not missing"):
        discretize(pd.DataFrame({"x": [np.nan, np.nan]}), columns=["x"])
    with pytest.raises(InputError, match="'x' is categorical already"):
        discretize(pd.DataFrame({"x": pd.Categorical([1, 2])}), columns=["x"])


def test_missing_cells_stay_missing() -> None:
    values = [0.5, None, 2.5, 3.5]
    binned, discretizer = discretize({"x": values})
    assert discretizer.cuts == {"x": (2.5,)}
    assert binned["x"].isna().tolist() == [False, True, False, False]


def _sources(folder: Path) -> dict[str, Any]:
    frame = _frame()
    frame.to_csv(folder / "d.csv", index=False)
    frame.to_parquet(folder / "d.parquet")
    return {
        "pandas": frame,
        "nullable": frame.convert_dtypes(),
        "arrow dtypes": frame.convert_dtypes(dtype_backend="pyarrow"),
        "polars": pl.from_pandas(frame),
        "pyarrow": pa.Table.from_pandas(frame),
        "csv": folder / "d.csv",
        "parquet": str(folder / "d.parquet"),
        "dict": {name: frame[name].tolist() for name in frame},
        "records": frame.to_dict("records"),
    }


def test_every_kind_of_data_gives_the_same(tmp_path: Path) -> None:
    expected, expected_cuts = discretize(_frame(), bins=3)
    for kind, source in _sources(tmp_path).items():
        binned, discretizer = discretize(source, bins=3)
        assert discretizer == expected_cuts, kind
        assert as_table(binned) == as_table(expected), kind
        assert as_table(discretizer.transform(source)) == as_table(expected), kind


def test_numbers_as_text_in_files(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("x,y,k\n0.5,1,a\n1e1,2,b\n?,3,a\n+2,4,b\n")
    binned, discretizer = discretize(tmp_path / "d.csv")
    assert discretizer.cuts == {"x": (2.0,)}
    assert binned["x"].tolist()[:2] == ["<2", ">=2"]
    assert binned["x"].isna().tolist() == [False, False, True, False]
    assert binned["y"].tolist() == [1, 2, 3, 4]


def test_transform_checks_its_columns() -> None:
    discretizer = Discretizer({"x": (1.0,)})
    with pytest.raises(InputError, match="no column 'x'"):
        discretizer.transform({"y": [1.0]})
    with pytest.raises(InputError, match="'x' is not numeric"):
        discretizer.transform({"x": ["a"]})


def test_categories_stay_categories() -> None:
    kind = pl.Series(["u", "v"], dtype=pl.Enum(["w", "v", "u"]))
    binned, _ = discretize(pl.DataFrame({"x": [0.5, 1.5], "kind": kind}))
    assert binned["kind"].cat.categories.tolist() == ["w", "v", "u"]
    assert binned["kind"].tolist() == ["u", "v"]


def test_names_that_are_no_strings() -> None:
    frame, discretizer = discretize(pd.DataFrame({0: [0.5, 1.5]}))
    assert list(frame.columns) == ["0"]
    assert list(discretizer.cuts) == ["0"]


@pytest.mark.parametrize("make", [pd.DataFrame, dict])
def test_the_data_stay_as_they_are(make: Callable[[Any], Any]) -> None:
    source = make({"x": [0.5, 1.5]})
    discretize(source)
    assert list(source["x"]) == [0.5, 1.5]


def test_sachs() -> None:
    folder = os.environ.get("CSLEARN_DATA")
    if not folder:
        pytest.skip("the environment variable CSLEARN_DATA names no directory with the real data sets")
    file = Path(folder, "sachs_observational_log.csv.gz")
    binned, discretizer = discretize(file)
    plain = pd.read_csv(file)
    for name in plain:
        median = float(plain[name].median())
        assert discretizer.cuts[name] == pytest.approx((median,), rel=1e-3)
        assert (binned[name].cat.codes == (plain[name] >= median)).all()
    table = as_table(binned)
    assert (table.n, table.cards) == (1_755, (2,) * 11)


# ---------------------------------------------------------------- data in batches
def test_cuts_of_few_rows_in_batches_are_those_of_all_rows_at_once(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "dose": rng.normal(size=300),
            "count": rng.poisson(30, size=300),
            "few": rng.integers(3, size=300),
            "id": np.arange(300),
            "word": rng.choice(["a", "b"], size=300),
        }
    )
    frame.to_csv(tmp_path / "d.csv", index=False)
    for bins in (2, 3, 7):
        with pytest.warns(DataWarning, match="'id'"):
            expected = discretize(frame, bins=bins)[1]
        for source in (tmp_path / "d.csv", iter([frame[:17], frame[17:]])):
            with pytest.warns(DataWarning, match="Not cut are 'id'"):
                assert Discretizer.learn(source, bins=bins) == expected
    for method in ("quantile", "uniform"):
        options: Any = {"columns": ["dose"], "bins": {"dose": 4}, "method": method}
        assert Discretizer.learn(iter([frame]), **options) == discretize(frame, **options)[1]
        assert Discretizer.learn(frame, **options) == discretize(frame, **options)[1]


@pytest.mark.parametrize("order", ["random", "ascending", "descending", "zigzag"])
def test_quantiles_of_many_rows_are_near_the_exact_ones(order: str) -> None:
    from cslearn.data._quantiles import Quantiles

    values = np.random.default_rng(1).lognormal(size=200_000)
    if order != "random":
        values = np.sort(values)
    if order == "descending":
        values = values[::-1]
    if order == "zigzag":
        values = np.ravel([values[:100_000], values[100_000:][::-1]], order="F")
    size = 1000
    quantiles = Quantiles(size)
    for batch in np.array_split(values, 37):
        quantiles.add(batch)
    cuts = quantiles.cuts(10)
    ranks = np.searchsorted(np.sort(values), cuts) / len(values)
    bound = np.log2(len(values) / size) / size
    assert len(cuts) == 9
    assert np.abs(ranks - np.arange(1, 10) / 10).max() < bound / 2
    assert sum(map(len, quantiles._levels)) < size * 10


def test_numbers_in_batches_that_cannot_be_cut() -> None:
    def batches(cells: list[Any]) -> Any:
        return iter([pd.DataFrame({"a": cells}), pd.DataFrame({"a": cells})])

    with pytest.raises(InputError, match="There is no column 'b'. The columns are 'a'"):
        Discretizer.learn(batches([1.5]), columns=["b"])
    with pytest.raises(InputError, match="'a' is not numeric"):
        Discretizer.learn(batches(["x"]), columns=["a"])
    with pytest.raises(InputError, match="'a' has no cell that is not missing"):
        Discretizer.learn(batches([np.nan]), columns=["a"])
    with pytest.raises(InputError, match="'a', one of the rows after 0: a number is not finite"):
        Discretizer.learn(batches([np.inf]))
    with pytest.raises(InputError, match="quantiles do not cut 'a'"):
        Discretizer.learn(batches([0.5, 0.5]))
    with pytest.raises(InputError, match='method must be "quantile" or "uniform"'):
        Discretizer.learn(batches([0.5]), method="kmeans")  # type: ignore[arg-type]
    with pytest.warns(DataWarning, match="has 2 bins instead of 5, because of ties"):
        assert Discretizer.learn(batches([0.5, 0.5, 1]), columns=["a"], bins=5).cuts == {"a": (1.0,)}
    assert Discretizer.learn(batches(["x"])).cuts == {}


def test_packing_cuts_numbers_on_the_way(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"dose": rng.normal(size=300), "word": rng.choice(["a", "b"], size=300)})
    frame.loc[7, "dose"] = np.nan
    cutter = Discretizer.learn(iter([frame]), bins=3)
    expected = as_table(cutter.transform(frame), missing="state")
    frame.to_csv(tmp_path / "d.csv", index=False)
    frame.to_parquet(tmp_path / "d.parquet")
    for source in (tmp_path / "d.csv", tmp_path / "d.parquet", iter([frame[:5], frame[5:]]), frame):
        packed = pack(source, discretizer=cutter, missing="state", collapse=False)
        assert as_table(packed) == expected
    with pytest.raises(InputError, match="discretizer= names 'x', which the data do not have"):
        pack(tmp_path / "d.parquet", discretizer=Discretizer({"x": (1.0,)}))
