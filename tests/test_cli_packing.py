"""The command that packs tables, and commands that read packed tables."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import cslearn
from cslearn.data import PackedTable, as_table, iter_tables, pack
from cslearn.datasets import chickenpox_model


@pytest.fixture
def parts(tmp_path):
    """A pattern of three files, and a frame of their rows."""
    frames = [chickenpox_model().sample(100 + i, random_state=i).astype(str) for i in range(3)]
    for i, frame in enumerate(frames):
        frame.to_parquet(tmp_path / f"part{i}.parquet")
    return tmp_path / "part*.parquet", pd.concat(frames, ignore_index=True)


def test_files_are_packed_one_after_the_other(run, parts, tmp_path):
    pattern, frame = parts
    path = tmp_path / "t.cspack"
    code, out, err = run("pack", pattern, "-o", path, "--keep-rows")
    assert (code, err) == (0, "")
    assert out.startswith(f"303 rows, 4 variables, 4 bits a row, 0.0 MB: {path}\nRows read a second: ")
    assert as_table(PackedTable.load(path)) == as_table(frame)
    files = [tmp_path / f"part{i}.parquet" for i in range(3)]
    code, out, _ = run("pack", *files, "-o", path, "--json")
    document = json.loads(out)
    assert document["rows"] == 14
    assert document["weight"] == 303
    assert document["fingerprint"] == pack(files).fingerprint
    assert document["bytes"] == path.stat().st_size
    code, out, _ = run("pack", files[0], "--into", path)
    assert out.startswith("14 rows of weight 403, 4 variables")
    assert PackedTable.load(path).total_weight == 403


def test_options_are_those_of_python(run, tmp_path):
    path, out = tmp_path / "d.csv", tmp_path / "t.cspack"
    path.write_text("id;a;w;x\n1;-;1;0.5\n2;u;2;1.5\n3;v;3;2.5\n4;u;1;3.5\n")
    (tmp_path / "cuts.json").write_text('{"cuts": {"x": [2.0]}}')
    options = ["--sep", ";", "--leave-out", "id", "--weights", "w", "--na", "-", "--cuts", tmp_path / "cuts.json"]
    code, _, err = run("pack", path, "-o", out, *options)
    assert code == 2
    assert "Missing cells (None, NaN) in 'a' (1 of 4). Pass --missing drop to drop those rows" in err
    code, _, err = run("pack", path, "-o", out, *options, "--missing", "drop")
    assert (code, err) == (0, "")
    packed = PackedTable.load(out)
    assert packed.states == (("u", "v"), ("<2", ">=2"))
    assert packed.weights.tolist() == [2, 3, 1]
    code, _, err = run("pack", path, "-o", out, "--sep", ";", "--max-states", "2", "--leave-out", "x")
    assert code == 2
    assert "--max-states" in err or "cslearn discretize" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "say where the packed table goes: to a new file (-o), or into one that is there (--into)"),
        (["-o", "a.cspack", "--into", "b.cspack"], "say where the packed table goes"),
        (["-o", "d.csv"], "-o d.csv would replace d.csv, which is read"),
        (["--into", "none.cspack"], "There is no file none.cspack"),
        (["-o", "none/t.cspack"], "the directory"),
        (["-o", "t.cspack", "--cuts", "d.csv"], "d.csv is no JSON file of cut points"),
        (["-o", "t.cspack", "--leave-out", "c"], "--leave-out names 'c', which the data do not have"),
    ],
)
def test_bad_calls(run, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    Path("d.csv").write_text("a,b\n0,1\n1,0\n")
    code, _, err = run("pack", "d.csv", *arguments)
    assert code == 2
    assert message in err
    assert sorted(os.listdir()) == ["d.csv"]


def test_commands_read_packed_tables_and_many_files(run, parts, tmp_path):
    pattern, frame = parts
    packed, csv = tmp_path / "t.cspack", tmp_path / "all.csv"
    frame.to_csv(csv, index=False)
    run("pack", csv, "-o", packed, "--keep-rows")
    documents = []
    for source in (csv, packed, pattern):
        code, out, _ = run("fit", source, "-o", tmp_path / "m.json", "--json")
        assert code == 0
        _, out, _ = run("score", tmp_path / "m.json", source, "--json")
        documents.append(json.loads(out))
    # Sums over batches are rounded in another order.
    assert all(document == pytest.approx(documents[0]) for document in documents)


def test_cut_points_of_many_files(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = np.random.default_rng(0).normal(size=90)
    for i in range(3):
        pd.DataFrame({"x": values[30 * i :][:30], "b": [0, 1] * 15}).to_parquet(f"{i}.parquet")
    code, out, _ = run("discretize", "*.parquet", "--cuts", "cuts.json", "--bins", 2)
    assert code == 0
    assert out == f"x: {np.median(values):.4g}\nCut points written to cuts.json.\n"
    assert run("pack", "*.parquet", "-o", "t.cspack", "--cuts", "cuts.json")[0] == 0
    assert PackedTable.load("t.cspack").cards == (2, 2)
    code, _, err = run("discretize", "*.parquet", "-o", "d.csv")
    assert code == 2
    assert "yield only cut points: give --cuts a new file, and no -o" in err


def test_an_interrupt_leaves_the_table_as_it_was(tmp_path):
    path = tmp_path / "t.cspack"
    pack({"a": [0, 1]}).save(path)
    before = path.read_bytes()
    os.mkfifo(tmp_path / "slow.csv")
    command = [sys.executable, "-m", "cslearn", "pack", str(tmp_path / "slow.csv"), "--into", str(path)]
    environment = {**os.environ, "PYTHONPATH": str(Path(cslearn.__file__).parent.parent)}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    with (tmp_path / "slow.csv").open("w") as pipe:  # once it is being read
        pipe.write("a\n0\n")
        pipe.flush()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.strip() == "interrupted: no file is half written"
    assert path.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["slow.csv", "t.cspack"]


def test_rows_that_others_added_meanwhile_are_not_lost(tmp_path):
    path = tmp_path / "t.cspack"
    pack({"a": [0, 1]}).save(path)

    def batches():
        yield pd.DataFrame({"a": [1, 1]})
        (PackedTable.load(path) + pack({"a": [0, 0, 1]})).save(path)

    with pytest.raises(cslearn.errors.FileError, match="was changed while rows were added, and is left as it is"):
        pack(batches(), path, into=PackedTable.load(path))
    assert PackedTable.load(path).n == 5


# ---------------------------------------------------------------- rows in batches
@pytest.fixture
def gappy(tmp_path, model):
    """A table with gaps, a state that the model does not know and a further column, as CSV and as Parquet."""
    frame = chickenpox_model().sample(300, random_state=5).astype(object)
    frame.loc[::7, "exposed"] = None
    frame.loc[250, "diagnosis"] = "perhaps"
    frame["note"] = [f"n{i}" for i in range(300)]
    frame.to_csv(tmp_path / "gappy.csv", index=False)
    frame.to_parquet(tmp_path / "gappy.parquet")
    return model, tmp_path / "gappy.csv", tmp_path / "gappy.parquet"


@pytest.fixture
def in_batches(monkeypatch):
    def begin():
        monkeypatch.setattr("cslearn.data.batching._LARGE", 0)
        monkeypatch.setattr("cslearn.data._batches.BATCH_ROWS", 40)
        monkeypatch.setattr("cslearn.data._batches.BLOCK_BYTES", 1000)

    return begin


@pytest.mark.parametrize(
    "command",
    [
        ["predict", "-t", "carrier"],
        ["predict", "-t", "carrier", "--proba"],
        ["predict", "-t", "carrier", "--json"],
        ["predict", "-t", "exposed", "--confusion", "--json"],
        ["impute"],
        ["impute", "--json"],
    ],
)
def test_commands_give_the_same_in_batches(run, gappy, in_batches, command):
    model, *files = gappy
    expected = [run(command[0], model, file, *command[1:]) for file in files]
    in_batches()
    for file, (code, out, err) in zip(files, expected, strict=True):
        assert code == 0
        assert run(command[0], model, file, *command[1:]) == (code, out, err)
    assert "'diagnosis': 'perhaps' (1 row)" in expected[0][2]


def test_scores_are_the_same_in_batches(run, tmp_path, model, in_batches):
    frame = chickenpox_model().sample(300, random_state=5).astype(object)
    frame["w"] = np.arange(300) % 3
    frame.to_parquet(tmp_path / "d.parquet")
    frame.loc[::7, "exposed"] = None
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    calls = [
        [tmp_path / "d.parquet"],
        [tmp_path / "d.parquet", "--weights", "w"],
        [tmp_path / "gaps.csv", "--missing", "drop", "-o", tmp_path / "rows.csv"],
    ]
    first = []
    for call in calls:
        code, out, err = run("score", model, *call, "--json")
        assert code == 0
        first.append((json.loads(out), err))
    rows = (tmp_path / "rows.csv").read_text()
    in_batches()
    for call, (document, err) in zip(calls, first, strict=True):
        code, out, again = run("score", model, *call, "--json")
        assert (code, again) == (0, err)
        assert json.loads(out) == pytest.approx(document)
    assert (tmp_path / "rows.csv").read_text() == rows
    assert rows.count("\n") == 301
    assert first[2][1] == "note: 43 of 300 rows have missing cells and are left out.\n"
    frame.loc[222, "carrier"] = "perhaps"
    frame.to_csv(tmp_path / "gaps.csv", index=False)
    code, _, err = run("score", model, *calls[2])
    assert code == 2
    assert "Column 'carrier', row 223: 'perhaps' is none of its states" in err
    assert (tmp_path / "rows.csv").read_text() == rows


def test_notes_of_a_kind_are_told_once(run, gappy, tmp_path, in_batches):
    model, csv, _ = gappy
    frame = pd.read_csv(csv)
    frame.loc[::5, "diagnosis"] = "perhaps"
    frame.to_csv(csv, index=False)
    in_batches()
    code, _, err = run("predict", model, csv, "-t", "carrier", "-o", tmp_path / "p.csv")
    assert code == 0
    assert err.count("states that the model does not know") == 1
    assert "in later ones there was cause for" in err
    assert len(pd.read_csv(tmp_path / "p.csv")) == 300


def test_tables_in_batches(tmp_path, in_batches):
    in_batches()
    data = chickenpox_model().sample(300, random_state=5)
    states = chickenpox_model().states
    data.to_parquet(tmp_path / "d.parquet")
    packed = pack(data, tmp_path / "d.cspack", states=dict(states), collapse=False)
    expected = as_table(data, states=dict(states))
    for source in (tmp_path / "d.parquet", [tmp_path / "d.parquet"], tmp_path / "d.cspack", packed, data, iter([data])):
        tables = list(iter_tables(source, states))
        assert np.array_equal(np.concatenate([table.codes for table in tables]), expected.codes)
        assert {(table.variables, table.states) for table in tables} == {(expected.variables, expected.states)}
    assert len(list(iter_tables(packed))) == 8
    with pytest.raises(cslearn.errors.InputError, match="must be given by states="):
        next(iter_tables(tmp_path / "d.parquet"))
    tree = chickenpox_model()
    assert np.array_equal(tree.log_prob(str(tmp_path / "*.parquet")), tree.log_prob(data))
    assert tree.predict([tmp_path / "d.parquet"], "carrier").tolist() == tree.predict(data, "carrier").tolist()


# ---------------------------------------------------------------- fits of large tables
def test_a_fit_of_many_files_packs_them(run, tmp_path, monkeypatch):
    frame = cslearn.random_cstree([2, 3, 2, 2], random_state=0).sample(900, random_state=0)
    frame.to_csv(tmp_path / "all.csv", index=False)
    for i in range(3):
        frame[300 * i : 300 * (i + 1)].to_parquet(tmp_path / f"{i}.parquet")
    pack_table = cslearn.data.pack
    packed = []

    def watched(source, path=None, **options):
        packed.append(path)
        return pack_table(source, path, **options)

    monkeypatch.setattr("cslearn.data.pack", watched)
    assert run("fit", tmp_path / "all.csv", "-o", tmp_path / "one.json", "--beta", "auto")[0] == 0
    assert packed == []
    code, _, err = run("fit", tmp_path / "*.parquet", "-o", tmp_path / "many.json", "--beta", "auto")
    assert code == 0, err
    assert packed == [None] and "temporary file" not in err
    one, many = (cslearn.CStree.load(tmp_path / f"{name}.json") for name in ("one", "many"))
    assert one == many
    # A table that would take much of the memory goes through a file, which is gone afterwards.
    monkeypatch.setattr("cslearn.cli.large.memory_of_the_machine", lambda: 1000)
    for name in ("*.parquet", "all.csv"):
        packed.clear()
        code, _, err = run("fit", tmp_path / name, "-o", tmp_path / "large.json", "--beta", "auto")
        assert code == 0, err
        assert cslearn.CStree.load(tmp_path / "large.json") == one
        assert "more than 25% of the memory of this machine" in err and "900 rows packed into 0.0 MB" in err
        (path,) = packed
        assert not path.parent.exists()


def test_a_fit_that_is_interrupted_leaves_no_packed_file(run, tmp_path, monkeypatch):
    frame = cslearn.random_cstree([2, 3, 2, 2], random_state=0).sample(900, random_state=0)
    frame.to_csv(tmp_path / "all.csv", index=False)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr("cslearn.cli.large.memory_of_the_machine", lambda: 1000)

    def interrupted(*_args, **_options):
        assert len(list((tmp_path / "temporary").glob("*/table.cspack"))) == 1
        raise KeyboardInterrupt

    monkeypatch.setattr("cslearn.estimators.learner.Learner.fit", interrupted)
    assert run("fit", tmp_path / "all.csv", "-o", tmp_path / "model.json")[0] != 0
    assert list((tmp_path / "temporary").iterdir()) == []
    assert not (tmp_path / "model.json").exists()
