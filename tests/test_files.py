"""Models as files: saving is the identity, and nothing that is read does harm."""

import json
import os
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cslearn import CStree, CStreeLearner, random_cstree
from cslearn.cstree.files import from_document, to_document
from cslearn.datasets import chickenpox_model, supplement_model
from cslearn.errors import FileError

LABELS = st.lists(
    st.one_of(
        st.text(max_size=5).filter(lambda t: t.isprintable()),
        st.integers(-(10**6), 10**6),
        st.booleans(),
        st.floats(allow_nan=False, allow_infinity=False),
    ),
    min_size=1,
    max_size=4,
    unique=True,
)


@given(
    names=st.lists(st.text(min_size=1, max_size=6).filter(str.isprintable), min_size=1, max_size=4, unique=True),
    data=st.data(),
)
def test_save_and_load_is_the_identity(names, data, tmp_path_factory):
    states = {name: data.draw(LABELS) for name in names}
    tree = random_cstree(states, random_state=data.draw(st.integers(0, 99)))
    path = tmp_path_factory.mktemp("models") / "model.json"
    tree.save(path)
    loaded = CStree.load(path)
    assert loaded == tree
    assert [list(map(type, s)) for s in loaded.states.values()] == [list(map(type, s)) for s in tree.states.values()]


def test_a_structure_without_parameters_is_saved_as_such(tmp_path):
    supplement_model().save(tmp_path / "m.json")
    assert CStree.load(str(tmp_path / "m.json")) == supplement_model()


def test_a_large_model_is_saved(tmp_path):
    tree = random_cstree(100, random_state=0)
    tree.save(tmp_path / "m.json")
    assert CStree.load(tmp_path / "m.json") == tree


@pytest.mark.parametrize("cut", [0, 1, 50, 500, -2])
def test_truncated_files(tmp_path, cut):
    path = tmp_path / "m.json"
    chickenpox_model().save(path)
    path.write_text(path.read_text()[:cut])
    with pytest.raises(FileError, match=r"m\.json: it is damaged or not JSON \(line"):
        CStree.load(path)


def changed(change):
    document = to_document(chickenpox_model())
    change(document)
    return document


HOSTILE = {
    "not an object": ([], "not a cslearn model"),
    "another format": ({"format": "png"}, "not a cslearn model"),
    "too new": (changed(lambda d: d.update(version=3)), "schema version 3 and this cslearn reads up to 2: install"),
    "odd version": (changed(lambda d: d.update(version="1")), "schema"),
    "no order": (changed(lambda d: d.pop("order")), "schema.*order"),
    "an unknown key": (changed(lambda d: d.update(run="rm -rf")), "schema"),
    "order of numbers": (changed(lambda d: d.update(order=[1, 2, 3, 4])), "schema.*order"),
    "order lacks a variable": (changed(lambda d: d["order"].pop()), "lacks 'carrier'"),
    "a null state": (changed(lambda d: d["variables"][0]["states"].append(None)), "schema"),
    "a state twice": (changed(lambda d: d["variables"][0].update(states=["x", "x"])), "state twice"),
    "a variable twice": (changed(lambda d: d["variables"].append(d["variables"][0])), "same name"),
    "an unknown state": (changed(lambda d: d["stages"]["carrier"][0].update(context={"exposed": "?"})), "no state"),
    "a hole": (changed(lambda d: d["stages"]["carrier"].pop()), "staging of 'carrier'.*hole"),
    "an overlap": (
        changed(lambda d: d["stages"]["carrier"].append({"context": {}, "probabilities": [1, 0]})),
        "overlap",
    ),
    "not probabilities": (changed(lambda d: d["stages"]["carrier"][0].update(probabilities=[0.5, 0.6])), "sum to 1"),
    "too few probabilities": (
        changed(lambda d: d["stages"]["carrier"][0].update(probabilities=[1])),
        "table of numbers",
    ),
    "some probabilities": (changed(lambda d: d["stages"]["carrier"][0].pop("probabilities")), "some have not"),
    "a stage of nobody": (changed(lambda d: d["stages"].update(z=[{"context": {}, "probabilities": [1]}])), "'z'"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_documents(tmp_path, name):
    document, message = HOSTILE[name]
    path = tmp_path / "m.json"
    path.write_text(json.dumps(document))
    with pytest.raises(FileError, match=rf"cannot read .*m\.json: (?s:.*){message}"):
        CStree.load(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"a": ' * 100_000, "nested too deeply"),
        (b'{"format": "cslearn.cstree", "format": "x"}', "'format' stands twice"),
        (b'{"format": NaN}', "NaN is not a number"),
        (b'{"format": 1e999}', "1e999 is not a number"),
        (b'{"version": ' + b"9" * 10_000 + b"}", "cannot read"),
    ],
)
def test_hostile_bytes(tmp_path, content, message):
    path = tmp_path / "m.json"
    path.write_bytes(content)
    with pytest.raises(FileError, match=message):
        CStree.load(path)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileError, match=r"no file .*none\.json"):
        CStree.load(tmp_path / "none.json")
    with pytest.raises(FileError, match="directory"):
        CStree.load(tmp_path)
    with pytest.raises(FileError, match="none"):
        chickenpox_model().save(tmp_path / "none" / "m.json")


def test_a_file_too_large_for_a_model_is_not_read(tmp_path):
    path = tmp_path / "m.json"
    with path.open("wb") as file:
        os.truncate(file.fileno(), 1 << 30)
    with pytest.raises(FileError, match="too much for a model"):
        CStree.load(path)


def test_a_document_gives_the_model_back():
    assert from_document(to_document(chickenpox_model())) == chickenpox_model()


# ---------------------------------------------------------------- files that were changed
@pytest.fixture(scope="module")
def learned():
    return CStreeLearner(beta=2, random_state=0).fit(chickenpox_model().sample(200, random_state=0)).cstree_


def test_a_changed_file_does_not_load_as_another_model(tmp_path, learned):
    path = tmp_path / "m.json"
    learned.save(path)
    text = path.read_text()
    rng = random.Random(0)
    loaded = 0
    for _ in range(300):
        at = rng.randrange(len(text))
        changed = rng.choice(
            [
                text[:at] + rng.choice('0123456789.-eE"{}[],: abtfn') + text[at + 1 :],
                text[:at] + text[at + rng.randrange(1, 30) :],
                text[:at] + rng.choice("0123456789") + text[at:],
            ]
        )
        path.write_text(changed)
        try:
            again = CStree.load(path)
        except FileError:
            continue
        loaded += 1
        assert again == learned
        assert again.learning == learned.learning
    assert loaded < 100  # those with other white space


def test_the_checksum_does_not_depend_on_white_space_or_the_order_of_keys(tmp_path, learned):
    path = tmp_path / "m.json"
    learned.save(path)
    document = json.loads(path.read_text())
    path.write_text(json.dumps(dict(reversed(document.items()))))
    assert CStree.load(path) == learned


def test_a_file_without_a_checksum_is_read_as_before(tmp_path, learned):
    path = tmp_path / "m.json"
    document = {**to_document(learned), "version": 1}
    path.write_text(json.dumps(document))
    assert CStree.load(path) == learned
    document["order"].reverse()
    path.write_text(json.dumps(document))
    with pytest.raises(FileError):
        CStree.load(path)


def test_an_edited_file_says_what_to_do(tmp_path):
    path = tmp_path / "m.json"
    chickenpox_model().save(path)
    path.write_text(path.read_text().replace('"rural"', '"country"'))
    with pytest.raises(FileError, match=r"m\.json: it was changed after it was written.* delete the line 'checksum'"):
        CStree.load(path)
    document = json.loads(path.read_text())
    del document["checksum"]
    path.write_text(json.dumps(document))
    assert CStree.load(path).states["background"] == ("country", "urban")


WRONG_LEARNING = {
    "settings": {"settings": []},
    "ess": {"settings": {"ess": "much"}},
    "no ess": {"settings": {"ess": 0}},
    "gamma": {"settings": {"gamma": "1"}},
    "missing": {"settings": {"missing": ["em"]}},
    "orders": {"orders": [1, 2]},
    "chains": {"orders": {"variables": ["a"], "chains": [{"moves": -1}]}},
    "verdict": {"orders": {"variables": ["a"], "chains": [], "verdict": "fine"}},
    "rows": {"rows": "many"},
    "edges": {"edges": [{"between": ["a"], "forward": 0.5, "backward": 0.5}]},
}


@pytest.mark.parametrize("name", WRONG_LEARNING)
def test_how_a_model_was_learned_is_checked(tmp_path, name):
    path = tmp_path / "m.json"
    path.write_text(json.dumps({**to_document(chickenpox_model()), "learning": WRONG_LEARNING[name]}))
    with pytest.raises(FileError, match="does not follow the schema of a model: data.learning"):
        CStree.load(path)


OTHER_VARIABLES = {
    "orders": ({"orders": {"variables": ["a"], "chains": []}}, "learning.orders is not of the variables"),
    "precedence": (
        {"orders": {"variables": [*chickenpox_model().variables], "chains": [], "precedence": [[0.5]]}},
        "precedence is not of all pairs of 4 variables",
    ),
    "edges": ({"edges": [{"between": ["exposed", "a"], "forward": 0.5, "backward": 0.5}]}, "learning is of 'a'"),
    "an edge to itself": (
        {"edges": [{"between": ["exposed", "exposed"], "forward": 0.5, "backward": 0.5}]},
        "of a variable and itself",
    ),
    "evidence": ({"evidence": {"exposed": [None, [1.0, 10.0, "a"]]}}, "learning is of 'a'"),
    "betas": ({"betas": {"a": 3}}, "learning is of 'a'"),
}


@pytest.mark.parametrize("name", OTHER_VARIABLES)
def test_what_was_learned_is_of_the_variables_of_the_model(tmp_path, name):
    learning, message = OTHER_VARIABLES[name]
    path = tmp_path / "m.json"
    path.write_text(json.dumps({**to_document(chickenpox_model()), "learning": learning}))
    with pytest.raises(FileError, match=message):
        CStree.load(path)
