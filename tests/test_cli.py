"""The command line: what people see, exit codes, and bad input."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from io import StringIO
from math import isclose

import numpy as np
import pandas as pd
import pytest

from cslearn import CStree, random_cstree
from cslearn.candidates.sets import memory_of_tables
from cslearn.datasets import chickenpox_model

QUICK = ["--n-iter", "auto"]


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "children.csv"
    chickenpox_model().sample(500, random_state=0).to_csv(path, index=False)
    return path


# ---------------------------------------------------------------- the way through
def test_demo(run):
    code, out, err = run("demo")
    assert (code, err) == (0, "")
    assert "exposed does not depend on background once diagnosis is yes" in out
    assert "cslearn fit data.csv -o model.json" in out
    assert json.loads(run("demo", "--json")[1])["order"] == ["background", "diagnosis", "exposed", "carrier"]


def test_fit_show_sample_score(run, data, tmp_path):
    path = tmp_path / "model.json"
    code, out, err = run("fit", data, "-o", path, "--beta", 2, "--seed", 0, *QUICK)
    assert (code, err) == (0, "")
    assert "Learned from 500 rows:" in out
    assert "carrier" in out
    assert "depends on" in out
    assert "Log score" not in out
    assert f"Model written to {path}" in out
    tree = CStree.load(path)
    assert set(tree.variables) == {"background", "diagnosis", "exposed", "carrier"}

    code, out, _ = run("show", path)
    assert code == 0
    assert str(tree) in out

    code, out, _ = run("sample", path, "-n", 5, "--seed", 3)
    assert code == 0
    assert out == tree.sample(5, random_state=3).to_csv(index=False)
    assert run("sample", path, "-n", 5, "-o", tmp_path / "drawn.csv")[0] == 0
    assert len(pd.read_csv(tmp_path / "drawn.csv")) == 5

    code, out, _ = run("score", path, data, "--json", "-o", tmp_path / "rows.csv")
    document = json.loads(out)
    assert document["rows"] == 500
    assert isclose(document["mean_log_prob"], tree.log_prob(data).mean())
    assert np.allclose(pd.read_csv(tmp_path / "rows.csv")["log_prob"], tree.log_prob(data))
    assert "mean log-probability" in run("score", path, data)[1]


def test_chains_are_judged_and_kept(run, data, tmp_path):
    def fit(*options):
        return run("fit", data, "-o", tmp_path / "m.json", "--checkpoint", tmp_path / "run.ckpt", *options)

    code, out, err = fit("--n-iter", 300)
    assert code == 0
    assert "note: the chains have not converged after 300 moves each" in err
    assert "give --search exact without --checkpoint, which searches all orders, a larger --n-iter (or auto), or" in err
    assert "or more chains (--n-chains)" in err
    code, out, err = fit("--posterior", tmp_path / "draws.npz", "--json")
    document = json.loads(out)["chains"]
    assert (code, err, document["converged"], document["n_chains"]) == (0, "", True, 4)
    from cslearn.orders import OrderPosterior

    draws = OrderPosterior.load(tmp_path / "draws.npz")
    # The file has the orders; edges, which the fit judged as well, need the scores of the data.
    assert document["r_hat"] >= draws.verdict.r_hat
    assert document["ess"] == draws.verdict.ess
    _, out, _ = fit()
    assert f"4 chains of {document['n_iter']:,} moves agree: R-hat up to 1.0" in out
    code, _, err = fit("--seed", 1)
    assert code == 2
    assert "random_state was 0 and is now 1" in err


def test_fit_for_machines(run, data, tmp_path):
    code, out, _ = run("fit", data, "-o", tmp_path / "m.json", "--json", *QUICK)
    document = json.loads(out)
    assert code == 0
    assert set(document) == {
        "model", "order", "parents", "stages", "n_free_parameters", "csi_relations", "log_order_score", "log_score",
        "prior", "ess", "beta", "search", "moves", "interrupted", "chains", "seconds",
    }  # fmt: skip
    assert document["order"] == list(CStree.load(tmp_path / "m.json").order)
    columns = {"relation", "in_words", "verdict", "log_bayes_factor", "rows"}
    assert all(set(relation) == columns for relation in document["csi_relations"])
    assert json.loads(run("show", tmp_path / "m.json", "--json")[1])["order"] == document["order"]


def test_show_relations(run, data, model):
    tree = CStree.load(model)
    code, out, _ = run("show", model, "--csi")
    assert code == 0
    assert out.splitlines() == ["relation", *map(str, tree.csi_relations())]
    code, out, _ = run("show", model, data, "--csi", "--json")
    documents = json.loads(out)
    assert code == 0
    assert {row["relation"] for row in documents} == set(map(str, tree.csi_relations()))
    assert all(set(row) == {"relation", "in_words", "verdict", "log_bayes_factor", "rows"} for row in documents)
    factors = [row["log_bayes_factor"] for row in documents]
    assert factors == sorted(factors, reverse=True)
    assert factors != [
        r["log_bayes_factor"] for r in json.loads(run("show", model, data, "--csi", "--json", "--ess", 1)[1])
    ]
    text = run("show", model, data, "--csi")[1]
    assert text.splitlines()[0].split() == ["relation", "verdict", "log", "Bayes", "factor", "rows"]
    code, out, _ = run("show", model, data, "--csi", "--csv")
    assert pd.read_csv(StringIO(out))["rows"].tolist() == [row["rows"] for row in documents]
    code, out, _ = run("show", model, "--csi", "--latex")
    assert out.startswith(r"\begin{tabular}{l}")
    assert out.count("perp") == 2 * len(documents)


def test_show_of_a_deep_model(run, tmp_path):
    tree = random_cstree(35, 8, method="grow", max_stages=40, max_parents=8, random_state=0)
    tree.save(tmp_path / "deep.json")
    code, out, _ = run("show", tmp_path / "deep.json")
    assert code == 0
    assert "cslearn show --variable NAME" in out
    assert len(out.splitlines()) < 100
    v = tree.order[-1]
    code, out, _ = run("show", tmp_path / "deep.json", "--variable", v)
    assert code == 0
    assert "more stages (cslearn show --all)" in out
    code, out, _ = run("show", tmp_path / "deep.json", "--variable", v, "--all")
    assert len(out.splitlines()) == 1 + len(tree.stagings[v])
    code, out, _ = run("show", tmp_path / "deep.json", "--all")
    assert len(out.splitlines()) > tree.n_stages
    code, _, err = run("show", tmp_path / "deep.json", "--variable", "nobody")
    assert code != 0
    assert "no such variable" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--csv"], "go with --csi"),
        (["--latex"], "go with --csi"),
        (["DATA"], "go with --csi"),
        (["--csi", "--csv", "--json"], "exclude each other"),
        (["--csi", "nowhere.csv"], "no file nowhere.csv"),
    ],
)
def test_show_refuses_what_makes_no_sense(run, data, model, arguments, message):
    code, out, err = run("show", model, *(data if a == "DATA" else a for a in arguments))
    assert (code, out) == (2, "")
    assert message in err


def test_the_same_seed_writes_the_same_model(run, data, tmp_path):
    for name, jobs in (("a", 1), ("b", 4)):
        run("fit", data, "-o", tmp_path / name, "--seed", 5, "--jobs", jobs, *QUICK)
    assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text()


def test_options_reach_the_learner(run, data, tmp_path):
    knowledge = tmp_path / "known.json"
    knowledge.write_text(json.dumps({"tiers": [["carrier"], ["background", "diagnosis", "exposed"]]}))
    code, out, _ = run("fit", data, "-o", tmp_path / "m.json", "--json", "--knowledge", knowledge, "--alpha", 1,
                       "--prior", "uniform", "--ess", 2, "--parameters", "mle", "--n-chains", 1,
                       "--n-iter", 200)  # fmt: skip
    document = json.loads(out)
    assert code == 0
    assert document["order"][0] == "carrier"
    assert all(len(parents) <= 1 for parents in document["parents"].values())
    assert document["moves"] == 200


def test_weights_separator_and_missing(run, tmp_path):
    frame = chickenpox_model().sample(200, random_state=0).astype(object).assign(w=1.5)
    frame.loc[4, "exposed"] = "?"
    path = tmp_path / "data.tsv"
    frame.to_csv(path, index=False, sep=";")
    code, _, err = run(
        "fit", path, "-o", tmp_path / "m.json", "--sep", ";", "--weights", "w", "--missing", "state", *QUICK
    )
    assert (code, err) == (0, "")
    assert "missing" in CStree.load(tmp_path / "m.json").states["exposed"]
    assert "w" not in CStree.load(tmp_path / "m.json").variables


def test_benchpress_tables(run, tmp_path):
    path = tmp_path / "data.csv"
    rows = np.random.default_rng(0).integers(2, size=(50, 3))
    path.write_text("a,b,c\n2,2,2\n" + "\n".join(",".join(map(str, row)) for row in rows) + "\n")
    assert run("fit", path, "-o", tmp_path / "m.json", "--format", "benchpress", *QUICK)[0] == 0
    assert CStree.load(tmp_path / "m.json").states["a"] == (0, 1)
    code, _, err = run("fit", path, "-o", tmp_path / "m.json", "--format", "xml", *QUICK)
    assert code == 2
    assert "benchpress" in err


@pytest.mark.parametrize("beta", [2, 3])
def test_an_estimate_covers_the_whole_fit(run, data, beta):
    estimated = json.loads(run("estimate", data, "--json", "--n-iter", 10, "--beta", beta)[1])
    assert estimated["covers"] == "the whole fit"
    assert 0 < estimated["seconds"]["total"] < 60


def test_estimate(run, data):
    code, out, err = run("estimate", data)
    assert (code, err) == (0, "")
    for line in ("500 rows, 4 variables", "candidates            3 to 3", "memory", "takes most of it"):
        assert line in out
    document = json.loads(run("estimate", data, "--json", "--n-iter", 10, "--n-chains", 3)[1])
    assert document["candidate_set_sizes"] == dict.fromkeys(["background", "diagnosis", "exposed", "carrier"], 3)
    assert (document["n_iter"], document["n_chains"]) == (10, 3)
    assert document["seconds"]["total"] > 0


def test_the_memory_allowed_decides_on_candidates(run, tmp_path):
    path = tmp_path / "wide.csv"
    random_cstree(30, random_state=0).sample(200, random_state=0).to_csv(path, index=False)
    much, little = (
        json.loads(run("estimate", path, "--beta", 2, "--json", "--n-iter", 10, "--max-memory", memory)[1])
        for memory in (1, 0.0002)
    )
    assert set(much["candidate_set_sizes"].values()) == {29}
    widest = max(little["candidate_set_sizes"].values())
    assert memory_of_tables(30, widest, 2) <= 0.0002 * 2**30 < memory_of_tables(30, widest + 1, 2)
    assert little["memory_bytes"] < much["memory_bytes"]
    code, out, _ = run("fit", path, "-o", tmp_path / "m.json", "--beta", 2, "--n-iter", 10, "--max-memory", 0.0002)
    assert code == 0
    assert f"the memory allowed has room for {widest} candidates of a variable" in out
    code, _, err = run("fit", path, "-o", tmp_path / "m.json", "--max-memory", 0)
    assert (code, err) == (2, "error: --max-memory is a positive number of GB, not 0\n")


def test_constant_columns_are_reported(run, data, tmp_path):
    frame = pd.read_csv(data).assign(site="here")
    frame.to_csv(data, index=False)
    code, out, err = run("fit", data, "-o", tmp_path / "m.json", *QUICK)
    assert code == 0
    assert "note: " in err
    assert "site" in err
    assert "Constant, so independent of everything else: site" in out


def test_what_alpha_drops_is_said(run, data, tmp_path):
    assert "bound alpha=1 dropped" in run("fit", data, "-o", tmp_path / "m.json", "--alpha", 1, *QUICK)[1]


def test_names_with_brackets_are_printed_as_they_are(run, tmp_path):
    path = tmp_path / "data.csv"
    frame = pd.DataFrame({"[red]a": list("xyxy") * 5, "b & <c>": list("uvuv") * 5, "é": ["[/]", "q"] * 10})
    frame.to_csv(path, index=False)
    code, out, err = run("fit", path, "-o", tmp_path / "m.json", *QUICK)
    assert (code, err) == (0, "")
    assert "[red]a" in out
    assert "[/]" in run("show", tmp_path / "m.json")[1]


def test_columns_can_be_left_out(run, data, tmp_path):
    pd.read_csv(data).assign(id=range(500)).to_csv(data, index=False)
    code, _, err = run("fit", data, "-o", tmp_path / "m.json", *QUICK)
    assert code == 2
    assert "--leave-out" in err
    assert run("fit", data, "-o", tmp_path / "m.json", "--leave-out", "id", *QUICK)[0] == 0
    assert "id" not in CStree.load(tmp_path / "m.json").variables


def test_cells_that_count_as_missing(run, data, tmp_path):
    data.write_text(data.read_text().replace("rural", "unknown", 7))
    assert run("fit", data, "-o", tmp_path / "m.json", *QUICK)[0] == 0
    code, _, err = run("fit", data, "-o", tmp_path / "m.json", "--na", "unknown", *QUICK)
    assert code == 2
    assert "'background' (7 of 500)" in err
    assert "--missing drop" in err
    assert "--na" in err


def test_a_model_is_not_overwritten_by_default(run, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("fit", data, *QUICK)[0] == 0
    code, _, err = run("fit", data, *QUICK)
    assert code == 2
    assert "name the file to write with -o" in err
    assert run("fit", data, "-o", "model.json", *QUICK)[0] == 0


def test_weighted_scores(run, data, model):
    frame = pd.read_csv(data).assign(w=np.arange(500) % 3)
    frame.to_csv(data, index=False)
    document = json.loads(run("score", model, data, "--weights", "w", "--json")[1])
    logs = CStree.load(model).log_prob(frame)
    assert isclose(document["mean_log_prob"], np.average(logs, weights=frame["w"]))
    assert document["weight"] == frame["w"].sum()


def test_missing_cells_are_found_again_by_a_model_with_such_a_state(run, tmp_path):
    path = tmp_path / "data.csv"
    pd.DataFrame({"a": list("xy?x") * 5, "b": list("uvvu") * 5}).to_csv(path, index=False)
    assert run("fit", path, "-o", tmp_path / "m.json", "--missing", "state", *QUICK)[0] == 0
    code, out, _ = run("score", tmp_path / "m.json", path, "--json")
    assert code == 0
    assert json.loads(out)["rows"] == 20


@pytest.fixture
def with_gaps(data):
    lines = data.read_text().splitlines()
    for line in (1, 4, 7):
        lines[line] = "," + lines[line].partition(",")[2]
    data.write_text("\n".join(lines) + "\n")
    return data


@pytest.mark.parametrize("policy", ["drop", "em"])
def test_a_table_with_gaps_is_read_as_the_model_was_learned(run, with_gaps, tmp_path, policy):
    model, out_file = tmp_path / "m.json", tmp_path / "logs.csv"
    assert run("fit", with_gaps, "-o", model, "--missing", policy, *QUICK)[0] == 0
    assert CStree.load(model).learning["settings"]["missing"] == policy
    rows = 497 if policy == "drop" else 500
    code, out, err = run("score", model, with_gaps, "--json", "-o", out_file)
    told = "3 of 500 rows have missing cells and are left out." if policy == "drop" else "Missing cells are summed out"
    assert code == 0
    assert told in err
    assert (json.loads(out)["rows"], json.loads(out)["rows_left_out"]) == (rows, 500 - rows)
    logs = pd.read_csv(out_file, skip_blank_lines=False)["log_prob"]
    assert len(logs) == 500
    assert np.flatnonzero(logs.isna()).tolist() == ([0, 3, 6] if policy == "drop" else [])
    assert isclose(json.loads(out)["mean_log_prob"], logs.mean())
    told = "and are left out." if policy == "drop" else ": counts are expected counts, "
    for command in (["show", model, with_gaps, "--csi"], ["report", model, with_gaps, "-o", tmp_path / "r.html"]):
        code, _, err = run(*command)
        assert code == 0
        assert err.startswith("note: 3 of 500 rows have missing cells")
        assert told in err
        assert f"(The model was learned with --missing {policy}.)" in err
    assert f'"rows":{rows},' in (tmp_path / "r.html").read_text()
    code, _, err = run("score", model, with_gaps, "--missing", "error")
    assert code == 2
    assert "'background' (3 of 500)" in err


def test_a_table_with_gaps_is_refused_for_a_model_that_was_learned_without_any(run, with_gaps, tmp_path):
    model = tmp_path / "m.json"
    chickenpox_model().save(model)
    for command in (["score"], ["report", "-o", tmp_path / "r.html"], ["show", "--csi"]):
        code, _, err = run(command[0], model, with_gaps, *command[1:])
        assert code == 2
        assert "'background' (3 of 500). Pass --missing em to sum over what the cells may be, or --missing drop" in err
        code, _, err = run(command[0], model, with_gaps, *command[1:], "--missing", "drop")
        assert (code, err) == (0, "note: 3 of 500 rows have missing cells and are left out.\n")
        assert run(command[0], model, with_gaps, *command[1:], "--missing", "em")[0] == 0


# ---------------------------------------------------------------- bad input
BAD_TABLES = {
    "empty file": ("", "empty"),
    "header only": ("a,b\n", "row"),
    "one column": ("a\nx\ny\n", "one column"),
    "one row": ("a,b\nx,y\n", "one row"),
    "duplicate names": ("a,b,a\n1,2,3\n1,1,1\n", "'a'"),
    "unique ids": ("id,b\n" + "".join(f"case{i},{i % 2}\n" for i in range(30)), "id"),
    "missing values": ("a,b\nx,\ny,u\n?,v\n", r"'a' \(1 of 3\), 'b' \(1 of 3\)"),
    "ragged": ("a,b\n1,2\n3\n", "3"),
    "real numbers": ("a,b\n" + "".join(f"{i / 7:.4f},{i % 2}\n" for i in range(40)), "discretize"),
    "wrong separator": ("a;b\n1;2\n3;4\n", "sep"),
}


@pytest.mark.filterwarnings("ignore::cslearn.errors.DataWarning")
@pytest.mark.parametrize("name", BAD_TABLES)
def test_bad_tables_exit_with_2_and_say_what_is_wrong(run, tmp_path, name):
    content, message = BAD_TABLES[name]
    path = tmp_path / "data.csv"
    path.write_text(content)
    code, out, err = run("fit", path, "-o", tmp_path / "m.json", *QUICK)
    assert code == 2
    assert out == ""
    assert err.splitlines()[-1].startswith("error: ")
    assert re.search(message, err)
    assert not (tmp_path / "m.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "none.csv"], "none.csv"),
        (["fit", "{data}", "--beta", "many"], "of a stage, is auto or a whole number of at least 0, not 'many'"),
        (["fit", "{data}", "--ess", "0"], "--ess, the equivalent sample size, is auto or a positive number, not 0.0"),
        (["fit", "{data}", "--candidates", "magic"], "magic"),
        (["fit", "{data}", "-o", "no/such/place.json"], "no/such/place.json"),
        (["fit", "{data}", "--knowledge", "none.json"], "none.json"),
        (["fit", "{data}", "--weights", "weight"], "weight"),
        (["fit", "{data}", "--n-iter", "0"], "--n-iter is auto or a whole number of at least 1, not 0"),
        (["fit", "{data}", "--n-iter", "long"], "--n-iter is auto or a whole number of at least 1, not 'long'"),
        (["fit", "{data}", "--n-iter", "9", "--max-iter", "9"], "--max-iter 9 bounds --n-iter auto, but --n-iter 9 is"),
        (["fit", "{data}", "--jobs", "0"], "--jobs is a whole number of at least 1 or -1 for all cores, not 0"),
        (
            ["fit", "{data}", "--alpha", "-1"],
            "--alpha, the largest number of candidates of a variable, is a whole number of at least 0",
        ),
        (["fit", "{data}", "--level", "0.1"], "--level is for --candidates pc: leave it out"),
        (["fit", "{data}", "--candidates", "pc", "--level", "2"], "--level is a significance level between 0 and 1"),
        (
            ["fit", "{data}", "--search", "exact", "--n-chains", "2"],
            "--n-chains is for chains, and --search exact runs none",
        ),
        (["estimate", "{data}", "--beta", "-1"], "of a stage, is auto or a whole number of at least 0, not -1"),
        (["fit", "{data}", "--checkpoint", "no/such/place"], "Cannot write no/such/place"),
        (["fit"], "DATA"),
        (["show", "none.json"], "none.json"),
        (["show", "{data}"], "not JSON"),
        (["score", "{model}", "none.csv"], "none.csv"),
        (["sample", "{model}", "-n", "-3"], "number of rows"),
        (["teach"], "teach"),
    ],
)
def test_bad_usage_exits_with_2(run, data, model, arguments, message):
    code, _, err = run(*(argument.format(data=data, model=model) for argument in arguments))
    assert code == 2
    assert message in err


@pytest.mark.parametrize(
    ("knowledge", "message"),
    [
        ({"required": [["carrier", "exposed"], ["exposed", "carrier"]]}, "carrier"),
        ({"required": [["carrier", "exposed"]], "forbidden": [["carrier", "exposed"]]}, "carrier"),
        ({"tiers": [["carrier"], ["age"]]}, "age"),
    ],
)
def test_contradictory_knowledge(run, data, tmp_path, knowledge, message):
    path = tmp_path / "known.json"
    path.write_text(json.dumps(knowledge))
    code, _, err = run("fit", data, "-o", tmp_path / "m.json", "--knowledge", path)
    assert code == 2
    assert message in err


def test_an_unknown_state_at_scoring(run, data, model):
    data.write_text(data.read_text().replace("rural", "moon", 1))
    code, _, err = run("score", model, data)
    assert code == 2
    assert "background" in err
    assert "moon" in err
    assert "row" in err


def test_impossible_rows_are_counted(run, data, tmp_path):
    tree = chickenpox_model()
    parameters = {v: rows.copy() for v, rows in tree.parameters.items()}
    parameters["background"] = [[0.0, 1.0]]
    tree.with_parameters(parameters).save(tmp_path / "m.json")
    code, out, _ = run("score", tmp_path / "m.json", data)
    rural = (pd.read_csv(data)["background"] == "rural").to_numpy()
    assert code == 0
    assert f"impossible rows       {rural.sum()}, the first is row {np.flatnonzero(rural)[0] + 1}" in out
    assert json.loads(run("score", tmp_path / "m.json", data, "--json")[1])["mean_log_prob"] is None


def test_names_in_messages_are_those_of_the_data(run, tmp_path):
    """Whatever they are: what Python's parameters are called here is nobody's business in the data."""
    path = tmp_path / "data.csv"
    odd = ["n_iter (or 'auto')", "leave_out=", 'missing="drop"', "search='exact'", "max_memory"]
    frame = pd.DataFrame({name: list("xyxy") * 5 for name in odd}).assign(n_chains=[str(i) for i in range(20)])
    frame.to_csv(path, index=False)
    code, _, err = run("fit", path, "-o", tmp_path / "m.json", "--leave-out", "sample_weight=")
    assert code == 2
    assert err.startswith("error: --leave-out names 'sample_weight=', which the data do not have.")
    assert all(repr(name) in err for name in odd)
    code, _, err = run("fit", path, "-o", tmp_path / "m.json")
    assert (code, err.split(" looks")[0]) == (2, "error: Column 'n_chains'")
    assert "(--leave-out)" in err
    assert "states=" not in err


def test_phase_1_without_its_extra(run, data, tmp_path, monkeypatch):
    for name in [n for n in sys.modules if n.partition(".")[0] == "causallearn"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "causallearn", None)
    code, _, err = run("fit", data, "-o", tmp_path / "m.json", "--candidates", "pc")
    assert code == 2
    assert 'pip install "cslearn[phase1]"' in err


# ---------------------------------------------------------------- the process
def test_help_and_version(run):
    for command in ([], ["fit"], ["show"], ["sample"], ["score"], ["estimate"], ["demo"]):
        code, out, _ = run(*command, "--help")
        assert code == 0
        assert "Usage" in out
    assert run("--version")[1].startswith("cslearn ")
    module = subprocess.run([sys.executable, "-m", "cslearn", "--version"], capture_output=True, text=True, check=True)
    assert module.stdout == run("--version")[1]


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("code", ["import cslearn", "import cslearn.cli; import cslearn.cli.app"])
def test_starting_up_loads_nothing_heavy(code):
    loaded = python(code + "; import sys; print([m for m in sys.modules if '.' not in m])")
    for heavy in ("pandas", "numba", "sklearn", "scipy", "networkx", "matplotlib", "polars", "pyarrow", "causallearn"):
        assert f"'{heavy}'" not in loaded


def test_the_learner_of_the_command_line_does_not_load_scikit_learn():
    loaded = python("import cslearn.cli.text, cslearn.estimators.learner, sys; print(list(sys.modules))")
    assert "'cslearn.estimators.learner'" in loaded
    for heavy in ("sklearn", "pandas", "scipy.stats", "joblib", "networkx"):
        assert f"'{heavy}'" not in loaded


def test_public_names_are_there():
    names = python(
        "import cslearn; print([getattr(cslearn, n).__name__ for n in cslearn.__all__], cslearn.__version__)"
    )
    assert "CStreeLearner" in names
    assert "no_such_thing" in python(
        "import cslearn\ntry:\n    cslearn.no_such_thing\nexcept AttributeError as error:\n    print(error)"
    )


def on_a_terminal(arguments, **environment):
    """Run the program with a terminal as standard error; returns what is shown there."""
    master, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", "from cslearn.cli import main; main()", *map(str, arguments)],
        stdin=terminal, stdout=subprocess.DEVNULL, stderr=terminal, env={**os.environ, "TERM": "xterm", **environment},
    )  # fmt: skip
    os.close(terminal)
    shown = b""
    try:
        while chunk := os.read(master, 1024):
            shown += chunk
    except OSError:
        pass  # the terminal closes with the process
    os.close(master)
    assert process.wait(timeout=60) == 0
    return shown.decode()


@pytest.mark.slow
def test_a_fit_that_compiles_says_so_and_the_next_one_does_not(data, tmp_path):
    """With a cache of compiled code of its own, empty at first, and then filled by a small fit."""
    cache = str(tmp_path / "cache")
    first = on_a_terminal(["fit", data, "-o", tmp_path / "1.json"], NUMBA_CACHE_DIR=cache)
    assert first.count("compiling the inner loops, to be kept for the next time") == 1
    assert "compiling" not in on_a_terminal(["fit", data, "-o", tmp_path / "2.json"], NUMBA_CACHE_DIR=cache)
    # Chains need other loops than the exact search; where nobody looks nothing is said.
    arguments = ["fit", str(data), "-o", str(tmp_path / "3.json"), "--n-iter", "10"]
    code = f"import sys; sys.argv[1:] = {arguments!r}; from cslearn.cli import main; main()"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "NUMBA_CACHE_DIR": cache}
    )
    assert run.returncode == 0
    assert "compiling" not in run.stderr + run.stdout


COMPILE = """
import logging
import sys
import numpy as np
logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s", stream=sys.stdout)
from cslearn._kernels.context_counts import count_pairs, pack_columns
words = pack_columns(np.zeros((3, 1), np.uint8), np.array([0, 1]))
count_pairs(words, words[0], np.zeros((1, 1), np.int64))
"""


def test_python_is_told_of_compilation_by_a_logger(tmp_path):
    def told(code=COMPILE, **environment):
        env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), **environment}
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env).stdout

    assert told() == "cslearn: compiling the inner loops, to be kept for the next time; this takes some seconds\n"
    assert told() == ""
    read_only = """
import numba.core.caching as caching
def refuse(self):
    raise OSError("read-only")
for name in dir(caching):
    if "InTree" in name or "UserWide" in name:
        getattr(caching, name).ensure_cache_path = refuse
"""
    for _ in range(2):
        said = told(read_only + COMPILE, NUMBA_CACHE_DIR="", TMPDIR=str(tmp_path))
        assert "as there is no directory where they could be kept" in said


@pytest.mark.parametrize("beta", ["auto", 2])
def test_a_search_that_ends_at_one_order_claims_no_directions(run, data, tmp_path, beta):
    path = tmp_path / "m.json"
    code, out, err = run("fit", data, "-o", path, "--search", "greedy", "--beta", beta)
    assert (code, err) == (0, "")
    assert "hold for the one order that was searched for" in out
    assert "identify" not in out and "order typical" not in out and "moves" not in out
    shown = run("edges", path)[1]
    assert " -- " in shown and "->" not in shown
    document = json.loads(run("fit", data, "-o", path, "--search", "greedy", "--beta", beta, "--json")[1])
    assert (document["search"], document["chains"]) == ("greedy", None)
    run("report", path, "-o", tmp_path / "m.html")
    assert '"one_order":true' in (tmp_path / "m.html").read_text(encoding="utf-8").replace(" ", "")


def test_an_exact_search_says_on_a_terminal_what_it_will_take(run, data, tmp_path):
    master, terminal = pty.openpty()
    arguments = ["fit", str(data), "-o", str(tmp_path / "m.json"), "--search", "exact"]
    process = subprocess.Popen(
        [sys.executable, "-c", "from cslearn.cli import main; main()", *arguments],
        stdin=terminal, stdout=subprocess.PIPE, stderr=terminal, env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )  # fmt: skip
    os.close(terminal)
    shown = b""
    try:
        while chunk := os.read(master, 1024):
            shown += chunk
    except OSError:
        pass  # the terminal closes with the process
    process.communicate(timeout=60)
    os.close(master)
    assert process.returncode == 0
    assert b"note: exact search over 2^4 sets: about 1 MB, " in shown
    # Elsewhere nothing is said.
    assert run(*arguments)[2] == ""


def test_progress_on_a_terminal_and_ctrl_c_keeps_the_best(data, tmp_path):
    """A real terminal: the bar is drawn, and an interrupt leaves a model and says so."""
    master, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", "from cslearn.cli import main; main()", "fit", str(data), "-o", str(tmp_path / "m.json"),
         "--n-iter", "100000000", "--n-chains", "1", "--beta", "2"],
        stdin=terminal, stdout=subprocess.PIPE, stderr=terminal, env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )  # fmt: skip
    os.close(terminal)
    shown = b""
    deadline = time.monotonic() + 120
    while b"moves/s" not in shown and time.monotonic() < deadline:
        shown += os.read(master, 1024)
    process.send_signal(signal.SIGINT)
    drained = b""
    try:
        while chunk := os.read(master, 1024):
            drained += chunk
    except OSError:
        pass  # the terminal closes with the process
    out, _ = process.communicate(timeout=60)
    os.close(master)
    assert process.returncode == 0
    assert b"sampling orders" in shown
    assert b"interrupted after" in drained
    assert b"Model written to" in out
    assert CStree.load(tmp_path / "m.json")
