"""Data sets: from a directory, from an origin (a server on this machine), and what is said when there is neither."""

import gzip
import hashlib
import os
import sys
import threading
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
import rdata

from cslearn import Chains, CStreeLearner
from cslearn.datasets import (
    dataset_names,
    density,
    density_names,
    load_alarm,
    load_dataset,
    load_density,
    load_mushroom,
    load_network,
    load_sachs,
    network_names,
    sources,
    true_edges,
)
from cslearn.errors import FileError, InputError, MissingExtraError
from cslearn.formats import to_bif

DATA = Path(os.environ.get("CSLEARN_DATA", ""))
real = pytest.mark.skipif(not os.environ.get("CSLEARN_DATA"), reason="CSLEARN_DATA names no directory with real data")


def csv(frame):
    return frame.to_csv(index=False, lineterminator="\n").encode()


def checksum(content):
    return hashlib.sha256(content).hexdigest()


# ---------------------------------------------------------------- with a directory
@real
@pytest.mark.parametrize("name", dataset_names())
def test_every_data_set_of_the_directory_is_read(name):
    frame = load_dataset(name)
    assert len(frame) >= 400
    assert all(isinstance(x, str) for x in frame.iloc[0])


@real
@pytest.mark.parametrize("name", ["titanic", "monks1", "monks2", "monks3"])
def test_built_in_sets_are_the_published_ones(name):
    assert csv(load_dataset(name)) == (DATA / f"{name}.csv").read_bytes()


@real
@pytest.mark.parametrize("name", network_names())
def test_networks_can_be_drawn_from(name):
    network = load_network(name)
    assert network.sample(50, random_state=0).shape == (50, len(network.order))


@real
def test_alarm_has_the_states_and_edges_of_the_paper():
    data = load_alarm()
    assert data.shape == (20_000, 37)
    assert set(data["HIST"]) == {"TRUE", "FALSE"}
    published = pd.read_csv(DATA / "alarm_true_edges.csv")
    assert set(true_edges("alarm")) == set(published[["from", "to"]].itertuples(index=False, name=None))
    assert {v for edge in true_edges("alarm") for v in edge} == set(data)


@real
def test_true_edges_are_those_of_the_networks():
    network = load_network("sachs")
    names = {v.lower(): v for v in load_sachs()}
    assert {(names[a.lower()], names[b.lower()]) for a, b in network.to_dag().edges} == set(true_edges("sachs"))
    # Of the network as it is written only the first letters are the data's.
    letters = {
        "asia": "A",
        "tub": "T",
        "smoke": "S",
        "lung": "L",
        "bronc": "B",
        "either": "E",
        "xray": "X",
        "dysp": "D",
    }
    edges = {(letters[a], letters[b]) for a, b in load_network("asia").to_dag().edges}
    assert edges == set(true_edges("asia"))


@real
def test_mushrooms_in_words():
    everything, complete = load_mushroom(), load_mushroom(complete=True)
    assert everything.shape == (8124, 23)
    assert complete.shape == (5644, 22)
    assert not everything.isna().any(axis=None)
    assert (everything == "?").sum().to_dict() == {**dict.fromkeys(everything, 0), "stalk-root": 2480}
    # What every mushroom guide says of these data: a foul smell means poison, almond does not.
    by_odor = everything.groupby("odor")["class"].agg(set)
    assert by_odor["foul"] == {"poisonous"}
    assert by_odor["almond"] == {"edible"}
    letters = load_dataset("mushroom")
    assert (everything.nunique() == letters.nunique()).all()


@real
def test_sachs_by_medians_and_by_width():
    numbers = load_sachs(bins=None)
    assert numbers.shape == (1755, 11)
    halves = load_sachs()
    for variable in numbers:
        assert set(halves[variable]) == {"low", "high"}
        assert (numbers[variable][halves[variable] == "high"] >= numbers[variable].median()).all()
        assert (numbers[variable][halves[variable] == "low"] <= numbers[variable].median()).all()
    wide = load_sachs(bins=3, method="uniform")
    third = (numbers["PKA"].max() - numbers["PKA"].min()) / 3
    assert ((wide["PKA"] == "low") == (numbers["PKA"] < numbers["PKA"].min() + third)).all()
    conditions = load_sachs("conditions")
    assert conditions.shape == (7466, 12)
    assert conditions["condition"].value_counts().to_dict() == dict(sources.SACHS_CONDITIONS)
    # The observational rows of the paper are the first two experiments.
    raw = load_sachs("conditions", bins=None)
    both = raw[raw["condition"].isin(["cd3cd28", "cd3cd28icam2"])].iloc[:, :11]
    assert len(both) == len(numbers)


@real
def test_sachs_interventions_can_be_learned_from():
    data = load_sachs("interventional")
    assert data.shape == (5400, 12)
    assert set(data["INT"]) == {"", "Akt", "Mek", "PIP2", "PKA", "PKC"}
    learner = CStreeLearner(beta=2, search=Chains(n_iter=200), random_state=0).fit(data, interventions="INT")
    assert len(learner.cstree_.order) == 11


@real
def test_another_file_of_the_same_name_is_noticed(tmp_path, monkeypatch):
    (tmp_path / "asia.csv").write_bytes((DATA / "asia.csv").read_bytes().replace(b"no", b"on", 1))
    (tmp_path / "car.csv").write_bytes(b'"')
    monkeypatch.setenv("CSLEARN_DATA", str(tmp_path))
    with pytest.raises(FileError, match=r"asia\.csv is not the data 'asia', as its checksum differs: replace it"):
        load_dataset("asia")
    with pytest.raises(FileError, match=r"car\.csv cannot be read as the data 'car'"):
        load_dataset("car")


@real
@pytest.mark.parametrize("name", [name for name in density_names() if (DATA / f"density/{name}.test.data.gz").exists()])
def test_density_sets_have_their_published_shapes(name):
    published = pd.read_csv(DATA / "density/published.csv", index_col="set").loc[name]
    splits = load_density(name)
    assert splits.train.shape == (published["train"], published["p"])
    assert splits.test.shape == (published["test"], published["p"])
    assert splits.valid.shape[1] == published["p"]
    by_hand = pd.read_csv(DATA / f"density/{name}.valid.data.gz", header=None)
    assert (splits.valid.to_numpy() == by_hand.to_numpy()).all()
    assert list(splits.test)[:2] == ["X1", "X2"]
    assert {str(kind) for kind in splits.test.dtypes} == {"uint8"}


# ---------------------------------------------------------------- without
def test_monks_follow_their_rules():
    first = load_dataset("monks1")
    assert len(first.drop_duplicates()) == 432
    assert ((first["class"] == "1") == ((first["a1"] == first["a2"]) | (first["a5"] == "1"))).all()
    assert load_dataset("monks2")["class"].value_counts()["1"] == 142
    assert load_dataset("monks3")["class"].value_counts()["1"] == 228


def test_everyone_on_the_titanic():
    data = load_dataset("titanic")
    assert len(data) == 2201
    assert (data["Survived"] == "Yes").sum() == 711


@pytest.fixture
def origin(tmp_path, monkeypatch):
    """A server of files on this machine that stands for the origins, counting what it is asked for."""
    served = tmp_path / "origin"
    served.mkdir()
    asked = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            asked.append(self.path)

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(served)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.delenv("CSLEARN_DATA", raising=False)
    monkeypatch.setenv("CSLEARN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def serve(name, file, content, sha256):
        (served / file).write_bytes(content)
        url = f"http://127.0.0.1:{server.server_port}/{file}"
        changed = replace(sources.SOURCES[name], urls=(url,), sha256=sha256, package=None)
        monkeypatch.setitem(sources.SOURCES, name, changed)
        return asked

    yield serve
    server.shutdown()
    server.server_close()


FRAME = pd.DataFrame(list(product(["no", "yes"], ["<140", ">140"], ["1-2", "NA"])), columns=["A", "M. Work", "C"])


def test_a_frame_of_r_is_fetched_once(origin, tmp_path):
    path = tmp_path / "asia.rda"
    rdata.write_rda(path, {"asia": FRAME.astype("category")})
    asked = origin("asia", "asia.rda", path.read_bytes(), checksum(csv(FRAME)))
    for _ in range(2):
        pd.testing.assert_frame_equal(load_dataset("asia"), FRAME, check_dtype=False)
    assert asked == ["/asia.rda"]


def test_tables_without_a_header_and_with_spaces(origin):
    cars = pd.DataFrame([["low", "2", "3", "4", "big", "high", "acc"]] * 2, columns=sources.CAR_COLUMNS)
    origin("car", "car.data", csv(cars).partition(b"\n")[2], checksum(csv(cars)))
    pd.testing.assert_frame_equal(load_dataset("car"), cars, check_dtype=False)
    cells = pd.DataFrame(
        [["1"] * 11 + ["8"], ["3"] * 11 + ["0"]], columns=[*load_sachs.__globals__["_SACHS_NAMES"], "INT"]
    )
    origin("sachs-interventional", "s.txt", csv(cells).replace(b",", b" "), checksum(csv(cells)))
    assert load_sachs("interventional")["INT"].tolist() == ["PKA", ""]


def test_a_network_is_fetched(origin):
    from cslearn.datasets import chickenpox_model

    text = to_bif(chickenpox_model()).encode()
    origin("asia.bif", "asia.bif.gz", gzip.compress(text), checksum(text))
    assert load_network("asia").to_dag().edges == chickenpox_model().to_dag().edges


def test_networks_that_come_with_another_package_are_not_fetched(monkeypatch, tmp_path):
    pytest.importorskip("pgmpy")
    monkeypatch.setenv("CSLEARN_DATA", str(tmp_path))
    monkeypatch.setattr(sources, "_download", lambda name, url: pytest.fail(f"{url} was asked for"))
    network = load_network("insurance")
    assert len(network.order) == 27 and network.to_dag().number_of_edges() == 52
    missing = replace(sources.SOURCES["insurance.bif"], package=("no_such_package", "file"), urls=())
    monkeypatch.setitem(sources.SOURCES, "insurance.bif", missing)
    with pytest.raises(FileError, match="The data 'insurance.bif' are not at hand"):
        load_network("insurance")


def test_the_next_origin_is_tried(origin, monkeypatch):
    cars = pd.DataFrame([["low", "2", "3", "4", "big", "high", "acc"]], columns=sources.CAR_COLUMNS)
    origin("car", "car.data", csv(cars).partition(b"\n")[2], checksum(csv(cars)))
    source = sources.SOURCES["car"]
    monkeypatch.setitem(sources.SOURCES, "car", replace(source, urls=("http://127.0.0.1:9/car.data", *source.urls)))
    assert len(load_dataset("car")) == 1


def test_a_changed_origin_is_noticed(origin):
    origin("car", "car.data", b"low,2,3,4,big,high,acc\n", checksum(b"something else"))
    with pytest.raises(FileError, match=r"car\.data is not the data 'car', as its checksum differs: delete it"):
        load_dataset("car")
    origin("sachs-conditions", "raw.csv", b"a,b\n1,2\n", checksum(b""))
    with pytest.raises(FileError, match=r"has 1 rows where 7466 are expected\): delete it"):
        load_sachs("conditions")
    origin("asia", "asia.rda", b"no R at all", checksum(b""))
    with pytest.raises(FileError, match=r"asia\.rda cannot be read as the data 'asia'"):
        load_dataset("asia")


def test_offline_there_is_one_clear_message(monkeypatch, tmp_path):
    monkeypatch.setenv("CSLEARN_CACHE", str(tmp_path))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name in ("alarm", "mushroom", "sachs-observational", "asia.bif"):
        bad = replace(sources.SOURCES[name], urls=("http://127.0.0.1:9/nothing",), package=None)
        monkeypatch.setitem(sources.SOURCES, name, bad)
    monkeypatch.delenv("CSLEARN_DATA", raising=False)
    with pytest.raises(FileError) as caught:
        load_alarm()
    assert str(caught.value) == (
        "The data 'alarm' are not at hand: CSLEARN_DATA is not set, and nothing could be fetched from"
        " http://127.0.0.1:9/nothing (ConnectionError). Connect to the network, or put alarm.csv.gz into a directory"
        " and set CSLEARN_DATA to it."
    )
    monkeypatch.setenv("CSLEARN_DATA", str(tmp_path))
    for load in (load_mushroom, load_sachs, partial(load_network, "asia")):
        with pytest.raises(FileError, match="is not in the directory CSLEARN_DATA=.*Connect to the network, or put"):
            load()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("package", ["pooch", "rdata"])
def test_a_missing_extra_is_named(package, origin, tmp_path, monkeypatch):
    path = tmp_path / "asia.rda"
    rdata.write_rda(path, {"asia": FRAME.astype("category")})
    origin("asia", "asia.rda", path.read_bytes(), checksum(csv(FRAME)))
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf'{package} is needed.*pip install "cslearn\[data\]"'):
        load_dataset("asia")


@pytest.fixture
def tiny_density(tmp_path, monkeypatch):
    """A density set of two variables in place of the first, with files of its own in a directory."""
    (tmp_path / "density").mkdir()
    monkeypatch.setenv("CSLEARN_DATA", str(tmp_path))
    texts = {"train": "0,1\n1,1\n", "valid": "1,0\n", "test": "0,0\n"}

    def write(known=True, **changed):
        listed = {"variables": "2"}
        for split, text in texts.items():
            listed |= {split: str(text.count("\n")), f"sha256_{split}": checksum(text.encode()) if known else ""}
            content = gzip.compress(changed.get(split, text).encode())
            (tmp_path / f"density/nltcs.{split}.data.gz").write_bytes(content)
        monkeypatch.setattr(density, "_listed", lambda: {"nltcs": listed})

    return write


@pytest.mark.parametrize("known", [False, True])
def test_a_density_set_is_read_whatever_ends_its_lines(tiny_density, known):
    tiny_density(known, train="0,1\r\n1,1")
    splits = load_density("nltcs")
    assert splits.train.to_numpy().tolist() == [[0, 1], [1, 1]]
    assert splits.valid.to_dict("records") == [{"X1": 1, "X2": 0}]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("0,1\n", "it has 1 rows where 2 are expected"),
        ("0,1\n1,1\n\n", "it has 3 rows where 2 are expected"),
        ("0,1\n1\n", "row 2 is not 2 times 0 or 1 with commas between"),
        ("0,1\n1,2\n", "row 2 is not 2 times 0 or 1"),
        ("0,1\n1;1\n", "row 2 is not 2 times 0 or 1"),
        ("0,1\n1,0\n", "as its checksum differs"),
    ],
)
def test_another_density_set_of_the_same_name_is_noticed(tiny_density, text, reason):
    tiny_density(train=text)
    with pytest.raises(FileError, match=rf"nltcs\.train\.data\.gz .*{reason}.*replace it by the original"):
        load_density("nltcs")


def test_without_a_known_checksum_other_cells_are_not_noticed(tiny_density):
    tiny_density(known=False, train="0,1\n1,0\n")
    assert load_density("nltcs").train.to_numpy().tolist() == [[0, 1], [1, 0]]


def test_a_density_set_is_fetched_from_its_origin(tiny_density, origin, monkeypatch, tmp_path):
    tiny_density()
    asked = origin("car", "unused", b"", "")
    folder = tmp_path / "origin/nltcs"
    folder.mkdir()
    for path in (tmp_path / "density").iterdir():
        (folder / path.name.removesuffix(".gz")).write_bytes(gzip.decompress(path.read_bytes()))
    url = sources.SOURCES["car"].urls[0].removesuffix("unused")
    monkeypatch.setattr(density, "_ORIGIN", url)
    for _ in range(2):
        assert [len(split) for split in load_density("nltcs")] == [2, 1, 1]
    assert asked == [f"/nltcs/nltcs.{split}.data" for split in ("train", "valid", "test")]


def test_unknown_names_are_answered_with_the_known_ones():
    with pytest.raises(InputError, match="there is no data set 'mushrooms'; there are alarm, asia"):
        load_dataset("mushrooms")
    with pytest.raises(InputError, match="there is no density data set 'audio'; there are nltcs, msnbc"):
        load_density("audio")
    with pytest.raises(InputError, match="there is no network 'x'; there are alarm, andes, asia"):
        load_network("x")
    with pytest.raises(
        InputError, match="the true edges of 'car' are not known; there are those of alarm, asia, sachs"
    ):
        true_edges("car")
    with pytest.raises(InputError, match="there are no Sachs data 'raw'; choose 'observational'"):
        load_sachs("raw")
    with pytest.raises(InputError, match="bins are made by 'quantile' or 'uniform', not 'kmeans'"):
        load_sachs(method="kmeans")
