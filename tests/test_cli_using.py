"""The commands that use a model: query, predict, impute; and learning with gaps and interventions."""

import json
from math import isclose

import numpy as np
import pandas as pd
import pytest

from cslearn import CStree, random_cstree
from cslearn.datasets import chickenpox_model


def test_query_prints_the_table_as_csv_and_json(run, model, tmp_path):
    tree = chickenpox_model()
    options = ["--given", "exposed=yes", "--likelihood", "diagnosis=no:0.9", "--likelihood", "diagnosis=yes:0.2"]
    evidence = {"exposed": "yes", "diagnosis": {"no": 0.9, "yes": 0.2}}
    expected = tree.query(["background", "carrier"], evidence)
    code, out, _ = run("query", model, "background", "carrier", *options, "--json")
    assert code == 0
    document = json.loads(out)
    second = {"background": "rural", "carrier": "yes", "probability": expected["rural", "yes"]}
    assert document["probabilities"][1] == second
    assert (document["exact"], document["standard_error"]) == (True, None)
    assert run("query", model, "background", "carrier", *options, "-o", tmp_path / "q.csv") == (0, "", "")
    assert np.allclose(pd.read_csv(tmp_path / "q.csv")["probability"], expected)
    _, out, _ = run("query", model, "carrier", "-g", "exposed=yes", "-g", "exposed=no")
    assert isclose(float(out.split()[1].split(",")[1]), tree.query("carrier")["no"])
    _, out, err = run("query", model, "carrier", "--sampling", "--json")
    document = json.loads(out)
    assert abs(document["probabilities"][0]["probability"] - tree.query("carrier")["no"]) < 0.01
    assert not document["exact"]
    assert 0.0001 < document["standard_error"] < 0.01
    assert err == ""
    _, out, err = run("query", model, "carrier", "--sampling")
    assert err.startswith("note: estimated from draws; the largest standard error is 0.00")


def test_query_gives_the_most_probable_outcome(run, model):
    for option, exact in (([], True), (["--sampling"], False)):
        code, out, _ = run("query", model, "--most-probable", "--given", "carrier=yes", "--json", *option)
        assert code == 0
        assert json.loads(out)["outcome"] == chickenpox_model().most_probable({"carrier": "yes"}).outcome
        assert json.loads(out)["exact"] is exact


def test_names_and_states_may_hold_equals_signs_and_colons(run, tmp_path):
    tree = random_cstree({"a": [0, 1], "a=b": ["x:y", "="], "n": [True, False]}, random_state=0)
    tree.save(tmp_path / "m.json")
    _, out, _ = run("query", tmp_path / "m.json", "n", "-g", "a=b==", "-g", "a=1", "--json")
    expected = tree.query("n", {"a=b": "=", "a": 1})
    found = {row["n"]: row["probability"] for row in json.loads(out)["probabilities"]}
    assert found == {True: expected.iloc[0], False: expected.iloc[1]}
    _, out, _ = run("query", tmp_path / "m.json", "n", "--likelihood", "a=b=x:y:1", "--json")
    assert isclose(json.loads(out)["probabilities"][0]["probability"], tree.query("n", {"a=b": "x:y"}).iloc[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name a variable to ask for; the model has background"),
        (["age"], "no variable 'age'"),
        (["carrier", "--given", "exposed"], "write variable=state"),
        (["carrier", "--given", "age=3"], "--given age=3: the model has no variable 'age'"),
        (["carrier", "--given", "exposed=perhaps"], "'exposed' has no state 'perhaps'"),
        (["carrier", "--likelihood", "exposed=no"], "write variable=state:weight"),
        (["carrier", "--likelihood", "exposed=no:much"], "is a number from 0"),
        (["carrier", "--given", "exposed=no", "--likelihood", "exposed=no:1"], "both --given and --likelihood"),
        (["carrier", "--most-probable"], "name no targets"),
    ],
)
def test_bad_queries(run, model, arguments, message):
    code, _, err = run("query", model, *arguments)
    assert code == 2
    assert message in err


def test_predict_writes_states_probabilities_and_the_confusion_matrix(run, model, tmp_path):
    tree = chickenpox_model()
    data = tree.sample(200, random_state=0)
    data.astype(object).mask(np.random.default_rng(0).random(data.shape) < 0.2).assign(
        carrier=data["carrier"].astype(object)
    ).to_csv(tmp_path / "d.csv", index=False)
    code, out, err = run("predict", model, tmp_path / "d.csv", "--target", "carrier", "--proba", "--json")
    assert (code, err) == (0, "")
    expected = tree.predict_proba(tmp_path / "d.csv", "carrier")
    assert [row["carrier"] for row in json.loads(out)] == tree.predict(tmp_path / "d.csv", "carrier").tolist()
    assert np.allclose([row["carrier=yes"] for row in json.loads(out)], expected["yes"])
    _, out, _ = run("predict", model, tmp_path / "d.csv", "--target", "carrier", "--confusion", "--json")
    document = json.loads(out)
    truth, best = data["carrier"].astype(object), tree.predict(tmp_path / "d.csv", "carrier").astype(object)
    assert document["states"] == ["no", "yes"]
    assert document["confusion"] == [
        [int(((truth == t) & (best == b)).sum()) for b in document["states"]] for t in document["states"]
    ]
    assert isclose(document["accuracy"], (truth == best).mean())
    _, out, _ = run("predict", model, tmp_path / "d.csv", "--target", "carrier", "--confusion")
    assert "predicted no" in out
    assert "true yes" in out


def test_confusion_leaves_out_rows_without_a_true_class(run, model, tmp_path):
    data = chickenpox_model().sample(100, random_state=0).astype(object)
    data.loc[:4, "carrier"], data.loc[5, "carrier"] = None, "perhaps"
    data.to_csv(tmp_path / "d.csv", index=False)
    arguments = ["predict", model, tmp_path / "d.csv", "--target", "carrier", "--confusion"]
    code, out, err = run(*arguments, "-o", tmp_path / "p.csv", "--json")
    document = json.loads(out)
    assert (code, document["rows"], int(np.sum(document["confusion"]))) == (0, 94, 94)
    assert "note: --confusion leaves out 6 rows without a known state of 'carrier'" in err
    predicted = pd.read_csv(tmp_path / "p.csv")["carrier"]
    assert len(predicted) == 100
    assert isclose(document["accuracy"], (predicted == data["carrier"])[6:].mean())
    for rows in (0, 5):
        data[:rows].to_csv(tmp_path / "d.csv", index=False)
        code, out, err = run(*arguments, "-o", tmp_path / "none.csv", "--json")
        assert (code, out) == (2, "")
        assert "no row has a known state of 'carrier'" in err
        assert not (tmp_path / "none.csv").exists()


def test_misspelt_columns_are_told_as_a_note(run, model, tmp_path):
    (tmp_path / "d.csv").write_text("background,diagnosis,expsoed,carrier\nurban,no,yes,no\n")
    for command in (["predict", "--target", "carrier"], ["impute"]):
        code, _, err = run(command[0], model, tmp_path / "d.csv", *command[1:])
        assert code == 0
        assert err.startswith("note: the data have no column for 'exposed'")
        assert "'expsoed'" in err


@pytest.mark.parametrize("command", ["impute", "sample", "fit", "compare", "demo"])
def test_seeds_begin_at_zero(run, model, command):
    files = {"impute": [model, model], "sample": [model], "fit": [model], "compare": [model, model], "demo": []}
    code, _, err = run(command, *files[command], "--seed", "-1")
    assert code == 2
    assert "--seed" in err


def test_messages_name_no_option_that_the_command_lacks(run, model, tmp_path):
    table, bare = tmp_path / "d.csv", tmp_path / "bare.json"
    table.write_text("background,diagnosis,exposed,carrier\nurban,no,,no\n")
    chickenpox_model().with_parameters(None).save(bare)
    code, _, err = run("compare", model, model, "--data", table)
    assert code == 2
    assert "'exposed' (1 of 1). Leave those rows out, or fill them in with `cslearn impute`." in err
    assert "--missing" not in err
    code, _, err = run("score", model, table)
    assert code == 2
    assert "'exposed' (1 of 1). Pass --missing em to sum over what the cells may be, or --missing drop" in err
    assert "--missing state" not in err
    assert "--missing drop" in run("fit", table, "-o", tmp_path / "m.json")[2]  # which has that option
    table.write_text("background,diagnosis,exposed,carrier\nurban,no,perhaps,no\n")
    assert "states=" not in run("score", model, table)[2]
    table.write_text("background,diagnosis,exposed,carier\nurban,no,no,no\n")
    assert "The model has 'carrier', which the data do not have" in run("score", model, table)[2]
    table.write_text("a,b\n" + "".join(f"k{i},{i % 2}\n" for i in range(30)))
    err = run("fit", table, "-o", tmp_path / "m.json")[2]
    assert "looks like an identifier" in err
    assert "states=" not in err
    err = run("compare", model, tmp_path / "m.unknown")[2]
    assert "`cslearn convert --from`" in err
    assert "(--from on the command line)" in run("convert", tmp_path / "m.unknown", tmp_path / "m.bif")[2]
    for arguments in (["query", bare, "carrier"], ["sample", bare], ["convert", bare, tmp_path / "m.bif"]):
        assert "no parameters: `cslearn fit` writes models that have them" in run(*arguments)[2]


def test_interventions_in_a_table_of_benchpress(run, tmp_path):
    tree = random_cstree([2, 2, 2], random_state=0)
    codes = tree.sample(200, random_state=0).assign(set=[0, 2] * 100)
    rows = [list(codes.columns), [2, 2, 2, 4], *codes.to_numpy().tolist()]
    (tmp_path / "b.csv").write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    codes.to_csv(tmp_path / "d.csv", index=False)
    settings = ["--interventions", "set", "--n-iter", "200"]
    assert run("fit", tmp_path / "b.csv", "-o", tmp_path / "b.json", "--format", "benchpress", *settings)[0] == 0
    assert run("fit", tmp_path / "d.csv", "-o", tmp_path / "d.json", *settings)[0] == 0
    assert CStree.load(tmp_path / "b.json") == CStree.load(tmp_path / "d.json")


def test_em_refuses_a_state_that_is_called_missing(run, tmp_path):
    (tmp_path / "d.csv").write_text("a,b\n" + "missing,x\nknown,y\n" * 20)
    code, _, err = run("fit", tmp_path / "d.csv", "-o", tmp_path / "m.json", "--missing", "em", "--n-iter", "20")
    assert code == 2
    assert "'a' has a state that is called 'missing'" in err


def test_unknown_states_are_told_as_a_note(run, model, tmp_path):
    (tmp_path / "d.csv").write_text("exposed\nperhaps\nno\n")
    code, out, err = run("predict", model, tmp_path / "d.csv", "--target", "carrier")
    assert (code, out) == (0, "carrier\nno\nno\n")
    assert err.startswith("note: states that the model does not know, which count as missing: 'exposed': 'perhaps'")


def test_impute_fills_every_gap(run, model, tmp_path):
    (tmp_path / "d.csv").write_text("id,background,diagnosis,exposed,carrier\n7,urban,no,,yes\n8,rural,-,no,no\n")
    code, out, _ = run("impute", model, tmp_path / "d.csv", "--na", "-", "--na", "")
    assert code == 0
    assert out == "id,background,diagnosis,exposed,carrier\n7,urban,no,yes,yes\n8,rural,no,no,no\n"
    one = run("impute", model, tmp_path / "d.csv", "--na", "-", "--na", "", "--method", "draw", "--seed", "3")
    assert one == run("impute", model, tmp_path / "d.csv", "--na", "-", "--na", "", "--method", "draw", "--seed", "3")


def test_fit_with_gaps_and_with_interventions(run, tmp_path):
    tree = chickenpox_model()
    data = tree.sample(300, random_state=0).astype(object)
    holes = data.mask(np.random.default_rng(0).random(data.shape) < 0.1)
    holes.to_csv(tmp_path / "d.csv", index=False)
    code, _, err = run("fit", tmp_path / "d.csv", "-o", tmp_path / "m.json", "--missing", "em", "--n-iter", "200")
    assert code == 0
    assert "error:" not in err
    assert dict(CStree.load(tmp_path / "m.json").states) == dict(tree.states)
    # Of more variables than are searched exactly, all fits but the last are greedy.
    wide = random_cstree([2] * 20, random_state=0).sample(60, random_state=0).astype(object)
    wide.mask(np.random.default_rng(0).random(wide.shape) < 0.05).to_csv(tmp_path / "w.csv", index=False)
    code, _, err = run("fit", tmp_path / "w.csv", "-o", tmp_path / "w.json", "--missing", "em")
    assert code == 0, err
    assert CStree.load(tmp_path / "w.json").learning["rows"] == 60
    data.assign(set=["exposed", ""] * 150).to_csv(tmp_path / "i.csv", index=False)
    settings = ["-o", tmp_path / "i.json", "--interventions", "set", "--n-iter", "200"]
    assert run("fit", tmp_path / "i.csv", *settings)[0] == 0
    fitted = CStree.load(tmp_path / "i.json")
    assert set(fitted.variables) == set(tree.variables)
    code, _, err = run("fit", tmp_path / "i.csv", *settings, "--missing", "drop")
    assert code == 2
    assert "--interventions cannot be combined with --missing drop" in err
    code, _, err = run("fit", tmp_path / "i.csv", "-o", tmp_path / "i.json", "--interventions", "sett")
    assert code == 2
    assert "--interventions sett: the data have no such column" in err


def test_measurements_are_cut_into_bins_and_new_ones_alike(run, tmp_path):
    table, cuts, out = tmp_path / "t.csv", tmp_path / "cuts.json", tmp_path / "cut.csv"
    table.write_text("dose,kind\n0.5,a\n1.5,b\n2.5,a\n3.5,\n")
    code, printed, _ = run("discretize", table, "-o", out, "--cuts", cuts)
    assert (code, printed) == (0, f"dose: <2 (2 rows), >=2 (2 rows)\nTable written to {out}.\n")
    assert out.read_text() == "dose,kind\n<2,a\n<2,b\n>=2,a\n>=2,\n"
    table.write_text("dose,kind\n1.9,a\n9,b\n")
    assert run("discretize", table, "--cuts", cuts)[1] == "dose,kind\n<2,a\n>=2,b\n"
    code, _, err = run("discretize", table, "--cuts", cuts, "--bins", 3)
    assert code == 2
    assert "the cut points are read from" in err
    cuts.write_text("{")
    code, _, err = run("discretize", table, "--cuts", cuts)
    assert code == 2
    assert "is no JSON file of cut points" in err


def test_what_is_not_cut_is_told(run, tmp_path):
    table, out = tmp_path / "t.csv", tmp_path / "cut.csv"
    table.write_text("id;age;kind\n" + "".join(f"{i};{i / 2 if i else 'gone'};{'ab'[i % 2]}\n" for i in range(40)))
    code, printed, err = run("discretize", table, "--sep", ";", "-o", out)
    assert code == 0
    assert "note: Column 'id' has a different whole number in every row, like an identifier, and is not cut." in err
    assert "If it is a measurement, name it with --column." in err
    assert "note: Column 'age' is not cut" in err
    assert "but for 'gone'. If that cell is missing, say so with --na." in err
    assert printed.startswith("Nothing to cut: ")
    code, printed, err = run("discretize", table, "--sep", ";", "--na", "gone", "-o", out)
    assert printed.startswith("age: <10 (19 rows), >=10 (20 rows)\n")
    assert "'age'" not in err
    assert "{{" not in run("discretize", "--help")[1]


def test_discretize_names_its_own_options_and_leaves_columns_out(run, tmp_path):
    table, out = tmp_path / "t.csv", tmp_path / "cut.csv"
    rows = "".join(f"{i if i > 60 else 0},{i / 2},{i % 3},{'ab'[i % 2]}\n" for i in range(100))
    table.write_text("family,age,ward,kind\n" + rows)
    code, _, err = run("discretize", table, "-o", out)
    assert code == 2
    assert "quantiles do not cut 'family'. Use more bins (--bins), --method uniform or --method kmeans" in err
    assert "(--cut COLUMN=POINTS)" in err and "(--leave-out)" in err and "=" not in err.replace("COLUMN=POINTS", "")
    code, printed, err = run("discretize", table, "-o", out, "--leave-out", "family,ward")
    assert (code, err) == (0, "")
    assert printed.startswith("age: ")
    assert out.read_text().splitlines()[0] == "age,kind"
    code, _, err = run("discretize", table, "-o", out, "--leave-out", "clan")
    assert code == 2 and "There is no column 'clan'. The columns are 'family', 'age', 'ward', 'kind'." in err


def test_a_refused_measurement_names_the_command_that_cuts_it(run, tmp_path):
    rows = "\n".join(f"{i / 7:.3f},{'ab'[i % 2]}" for i in range(60))
    (tmp_path / "t.csv").write_text(f"dose,kind\n{rows}\n")
    code, _, err = run("fit", tmp_path / "t.csv", "-o", tmp_path / "m.json")
    assert code == 2
    assert "`cslearn discretize`" in err
    code, _, _ = run("discretize", tmp_path / "t.csv", "-o", tmp_path / "cut.csv", "--bins", 3, "--method", "uniform")
    assert code == 0
    assert run("fit", tmp_path / "cut.csv", "-o", tmp_path / "m.json", "--n-iter", 100)[0] == 0
