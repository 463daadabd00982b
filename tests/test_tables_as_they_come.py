"""Tables as other programs leave them: row names, other formats, dates, measurements, and models of cut columns."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest

from cslearn import CStree, CStreeLearner
from cslearn.candidates import Knowledge
from cslearn.data import StateIndex, as_frame, as_table, discretize
from cslearn.datasets import chickenpox_model
from cslearn.errors import DataWarning, FileError, InputError, MissingExtraError
from cslearn.graphs import CSIRelation


@pytest.fixture
def people():
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, 400)
    ill = np.where(rng.random(400) < age / 100, "yes", "no")
    return pd.DataFrame({"age": age, "sex": rng.choice(["f", "m"], 400), "ill": ill})


# ---------------------------------------------------------------- row names
@pytest.mark.parametrize("header", [',"a","b"', '"","a","b"', " ,a,b"])
def test_a_first_column_without_a_name_holds_row_names(tmp_path, header):
    path = tmp_path / "r.csv"
    path.write_text(f"{header}\n1,x,y\n2,x,z\n3,w,z\n")
    with pytest.warns(DataWarning, match=r"r\.csv: the first column has no name and is taken for row names"):
        table = as_table(path)
    assert table.variables == ("a", "b")
    assert table.codes.tolist() == [[1, 0], [1, 1], [0, 1]]


def test_other_columns_must_have_names(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text(",a,\n1,x,y\n")
    with pytest.warns(DataWarning), pytest.raises(InputError, match="column 2 has no name"):
        as_table(path)


# ---------------------------------------------------------------- other formats
@pytest.mark.parametrize("ending", [".xlsx", ".dta", ".sav"])
def test_files_of_other_programs(tmp_path, ending):
    frame = pd.DataFrame({"sex": ["f", "m", "f"], "dose": [1, 2, 2]})
    path = tmp_path / f"t{ending}"
    if ending == ".xlsx":
        pytest.importorskip("openpyxl")
        frame.to_excel(path)  # with row names
    elif ending == ".dta":
        frame.to_stata(path, write_index=False)
    else:
        pytest.importorskip("pyreadstat").write_sav(frame, str(path))
    table = as_table(path)
    assert table.variables == ("sex", "dose")
    assert table.states == (("f", "m"), (1, 2))
    assert table.codes.tolist() == [[0, 0], [1, 1], [0, 1]]


@pytest.mark.parametrize("ending", [".xlsx", ".dta", ".sav"])
def test_damaged_files_of_other_programs(tmp_path, ending):
    if ending == ".xlsx":
        pytest.importorskip("openpyxl")
    if ending == ".sav":
        pytest.importorskip("pyreadstat")
    path = tmp_path / f"t{ending}"
    path.write_bytes(b"no such thing")
    with pytest.raises(FileError, match="or a damaged one"):
        as_table(path)
    with pytest.raises(FileError, match="There is no file"):
        as_table(tmp_path / f"none{ending}")


def test_the_extra_is_named(tmp_path, monkeypatch):
    path = tmp_path / "t.xlsx"
    path.write_bytes(b"")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    monkeypatch.setattr(pd, "read_excel", lambda path: __import__("openpyxl"))
    with pytest.raises(MissingExtraError, match=r'pip install "cslearn\[files\]"'):
        as_table(path)


def test_value_labels_are_the_states(tmp_path):
    path = tmp_path / "t.dta"
    frame = pd.DataFrame({"school": pd.Categorical(["low", "high", "middle"], ["low", "middle", "high"], ordered=True)})
    frame.to_stata(path, write_index=False)
    assert as_table(path).states == (("low", "middle", "high"),)


# ---------------------------------------------------------------- what is no category
@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d/%m/%Y", "%m/%d/%y", "%Y-%m-%d %H:%M:%S", "%d.%m.%Y"])
def test_dates_are_recognised(form):
    days = pd.date_range("2020-01-01", periods=50).strftime(form).tolist()
    with pytest.raises(InputError, match=r"Column 'day' holds 50 different dates.*leave_out="):
        as_table({"day": days * 3})
    assert as_table({"day": days[:5] * 3}).cards == (5,)  # few dates may be the waves of a survey
    assert as_table({"day": [f"no {day}" for day in days] * 3}).cards == (50,)


def test_fit_and_discretize_agree_on_what_is_a_measurement(people):
    for k in (20, 21):
        frame = pd.DataFrame({"x": list(range(k)) * 5, "y": ["a", "b"] * (k * 5 // 2) + ["a"] * (k * 5 % 2)})
        cut = discretize(frame)[1].cuts
        if "x" in cut:
            with pytest.raises(InputError, match=r"holds numbers with 21 different values.*max_states=65"):
                as_table(frame)
            assert as_table(frame, max_states=65).cards[0] == k
        else:
            assert as_table(frame).cards[0] == k
        assert ("x" in cut) == (k > 20)


def test_few_rows_for_each_state_are_noted(run, tmp_path):
    path = tmp_path / "t.csv"
    frame = chickenpox_model().sample(300, random_state=0)
    frame.assign(town=[f"town {i % 30}" for i in range(300)]).to_csv(path, index=False)
    code, _, err = run("fit", path, "-o", tmp_path / "m.json")
    assert code == 0
    assert "note: fewer than 20 rows for each state of 'town' (30 states), in 300 rows" in err
    assert run("fit", path, "-o", tmp_path / "m2.json", "--leave-out", "town")[2] == ""


# ---------------------------------------------------------------- columns that are left out
def test_columns_are_left_out_in_a_list(run, tmp_path):
    path = tmp_path / "t.csv"
    chickenpox_model().sample(200, random_state=0).assign(**{"a,b": "x"}).to_csv(path, index=False)
    known = tmp_path / "k.json"
    known.write_text('{"tiers": [["background", "exposed"], ["carrier"]], "forbidden": [["exposed", "diagnosis"]]}')
    left = ["--leave-out", 'background,"a,b"', "--leave-out", "exposed"]
    code, _, err = run("fit", path, "-o", tmp_path / "m.json", *left, "--knowledge", known)
    assert (code, err) == (0, "")
    assert set(CStree.load(tmp_path / "m.json").variables) == {"diagnosis", "carrier"}
    assert run("estimate", path, *left, "--knowledge", known)[0] == 0
    code, _, err = run("fit", path, "-o", tmp_path / "m.json", "--leave-out", 'bakground,"a,b"')
    assert code == 2
    assert "'bakground'" in err


def test_knowledge_without_columns_is_that_of_the_others():
    knowledge = Knowledge(forbidden=[("a", "b")], required=[("b", "c")], tiers=[["a"], ["b", "c"]])
    assert knowledge.without(["a"]) == Knowledge(required=[("b", "c")], tiers=[["b", "c"]])
    assert knowledge.without([]) == knowledge
    assert not knowledge.without(["a", "b", "c"])


# ---------------------------------------------------------------- the model keeps its cuts
@pytest.mark.parametrize("bins", [2, 3, 7])
@pytest.mark.parametrize("method", ["quantile", "uniform", "kmeans"])
def test_the_label_of_a_bin_says_exactly_what_is_in_it(bins, method):
    rng = np.random.default_rng(bins)
    values = np.concatenate([rng.lognormal(3, 2, 200), rng.normal(size=100), [1e-9, 1e9, 0.1 + 0.2]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # of empty clusters
        binned, cutter = discretize({"x": values}, bins=bins, method=method)
    index = StateIndex(list(binned["x"].cat.categories))
    assert [index.find(value) for value in values] == binned["x"].cat.codes.tolist()
    assert [index.find(str(value)) for value in values] == binned["x"].cat.codes.tolist()
    assert list(cutter.transform({"x": values})["x"]) == list(binned["x"])


def test_numbers_are_put_into_bins_only_where_all_states_are_bins():
    assert StateIndex(["<20", ">=20", "missing"]).find(3) == 0
    assert StateIndex(["<20", ">=20", "unknown"]).find(3) is None
    assert StateIndex(["<20", "[30, 40)"]).find(25) is None
    assert StateIndex(["<20", ">=20"]).find("young") is None
    assert StateIndex(["<20", ">=20"]).find(True) is None


def test_predict_and_score_take_the_raw_table(run, people, tmp_path):
    raw, cut, model = tmp_path / "raw.csv", tmp_path / "cut.csv", tmp_path / "m.json"
    people.to_csv(raw, index=False)
    assert run("discretize", raw, "-o", cut, "--cut", "age=30,63")[0] == 0
    assert as_frame(cut)["age"].unique().tolist() and set(as_frame(cut)["age"]) == {"<30", "[30, 63)", ">=63"}
    assert run("fit", cut, "-o", model)[0] == 0
    for command in (["score"], ["predict", "-t", "ill", "--proba"], ["impute"], ["report", "-o", tmp_path / "r.html"]):
        answers = [run(command[0], model, table, *command[1:]) for table in (raw, cut)]
        assert answers[0][0] == 0
        assert "age" not in answers[0][2]
        assert answers[0] == answers[1]
    tree = CStree.load(model)
    assert tree.query(["ill"], {"age": 70}).equals(tree.query(["ill"], {"age": ">=63"}))


def test_cut_points_of_ones_own_beside_the_others(people):
    people["weight"] = np.linspace(40, 120.5, 400)
    binned, cutter = discretize(people, cuts={"age": (20, 35)}, bins=3)
    assert cutter.cuts["age"] == (20.0, 35.0)
    assert len(cutter.cuts["weight"]) == 2
    assert binned["age"].cat.categories.tolist() == ["<20", "[20, 35)", ">=35"]
    with pytest.raises(InputError, match="There is no column 'height'"):
        discretize(people, cuts={"height": (1, 2)})


@pytest.mark.parametrize("cut", ["age", "age=x", "=3", "age=35,20"])
def test_bad_cut_points(run, people, tmp_path, cut):
    path = tmp_path / "t.csv"
    people.to_csv(path, index=False)
    code, _, err = run("discretize", path, "--cut", cut)
    assert code == 2
    assert "--cut" in err or "ascending" in err


def test_bins_are_said_as_inequalities(people):
    binned, _ = discretize(people, cuts={"age": (30, 63)})
    tiers = {"tiers": [["age"], ["sex"], ["ill"]]}
    words = str(CStreeLearner(beta=2, random_state=0, knowledge=tiers).fit(binned).cstree_)
    for said in ("  age < 30", "  30 <= age < 63", "  age >= 63"):
        assert said in words
    assert CSIRelation("ill", "sex", {"age": ">=63"}).in_words() == "ill does not depend on sex once age >= 63"
