"""The commands about edges and effects."""

import csv
import io
import json

import pandas as pd
import pytest

from cslearn import CStree, CStreeLearner
from cslearn.datasets import chickenpox_model
from cslearn.errors import InputError
from cslearn.inference import DIRECTIONS, effect
from cslearn.posterior import edge_table


@pytest.fixture(scope="module")
def data():
    return chickenpox_model().sample(1000, random_state=0)


@pytest.fixture(scope="module")
def learner(data):
    return CStreeLearner(beta=2, random_state=0).fit(data)


@pytest.fixture
def learned(learner, tmp_path):
    """The path of a model with the record of its fit."""
    path = tmp_path / "learned.json"
    learner.cstree_.save(path)
    return path


# ---------------------------------------------------------------- edges
def test_the_file_keeps_the_edge_probabilities_of_the_posterior(learner, learned):
    expected = learner.posterior_.edge_probabilities()
    table = edge_table(CStree.load(learned))
    assert len(table) == 6
    for row in table.to_dict("records"):
        forward, backward = expected.loc[row["from"], row["to"]], expected.loc[row["to"], row["from"]]
        assert row["forward"] == pytest.approx(forward, abs=1e-4)
        assert row["backward"] == pytest.approx(backward, abs=1e-4)
        assert row["forward"] >= row["backward"]
        assert row["directed"] == (forward >= 0.95 * (forward + backward))
        assert row["probability"] == pytest.approx(forward if row["directed"] else forward + backward, abs=2e-4)
        there = {"->": (row["from"], row["to"]), "<-": (row["to"], row["from"])}.get(row["in_model"])
        assert (there is None) or there in learner.cstree_.to_dag().edges
    assert (table["in_model"] != "").sum() == len(learner.cstree_.to_dag().edges)
    both = table["forward"] + table["backward"]
    assert both.is_monotonic_decreasing


def test_directions_that_are_known_beforehand_are_arrows(data):
    tiers = [["background"], ["diagnosis"], ["exposed"], ["carrier"]]
    known = edge_table(CStreeLearner(beta=2, knowledge={"tiers": tiers}).fit(data).cstree_)
    assert known["directed"].all()
    assert (known["backward"] == 0).all()
    assert not edge_table(CStreeLearner(beta=2).fit(data).cstree_)["directed"].all()


def test_edges_are_printed_as_text_csv_and_json(run, learned):
    code, out, _ = run("edges", learned, "--threshold", "0.9")
    assert code == 0
    assert [line.split()[:3] for line in out.splitlines()[1:4]] == [
        ["diagnosis", "--", "carrier"],
        ["exposed", "--", "carrier"],
        ["exposed", "--", "background"],
    ]
    _, printed, _ = run("edges", learned, "--threshold", "0", "--csv")
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert len(rows) == 6
    _, printed, _ = run("edges", learned, "--threshold", "0", "--json")
    assert [row["from"] for row in json.loads(printed)] == [row["from"] for row in rows]
    _, out, _ = run("edges", learned, "--threshold", "1", "--json")
    assert json.loads(out) == [row for row in json.loads(printed) if row["forward"] + row["backward"] >= 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [(["--threshold", "2"], "--threshold is a probability, from 0 to 1, not 2.0"), (["--csv", "--json"], "exclude")],
)
def test_bad_options_of_edges(run, learned, options, message):
    code, _, err = run("edges", learned, *options)
    assert code == 2
    assert message in err


def test_a_model_that_was_not_learned_keeps_no_edge_probabilities(run, model):
    code, _, err = run("edges", model)
    assert code == 2
    assert "keeps no edge probabilities" in err


def test_a_damaged_record_of_edges_is_noticed():
    tree = chickenpox_model()
    damaged = CStree(
        tree.order, tree.stagings, tree.parameters, states=tree.states, learning={"edges": [{"between": "a"}]}
    )
    with pytest.raises(InputError, match="damaged"):
        edge_table(damaged)


# ---------------------------------------------------------------- effects
@pytest.fixture
def table(data, tmp_path):
    path = tmp_path / "children.csv"
    data.to_csv(path, index=False)
    return path


def test_an_effect_is_that_of_python(run, learned, table, data):
    code, out, _ = run("effect", learned, "carrier=yes", "--of", "exposed", "--given", "diagnosis", "--data", table)
    assert code == 0
    tree = CStree.load(learned)
    found = effect(tree, "carrier", of="exposed", given="diagnosis", data=data)
    assert str(found).split("\n\n")[-2] in out
    options = ["--measure", "or", "--against", "yes", "--interval", "0.5", "--json"]
    _, out, _ = run("effect", learned, "carrier", "--of", "exposed", "--data", table, *options)
    told = json.loads(out)
    found = effect(tree, "carrier", of="exposed", measure="or", against="yes", interval=0.5, data=data)
    assert told["reference"] == "yes"
    assert told["rows"][1]["estimate"] == pytest.approx(found.rows[1].estimate)
    assert told["rows"][1]["lower"] == pytest.approx(found.rows[1].lower)
    assert told["rows"][0]["estimate"] is None
    _, out, _ = run("effect", learned, "carrier", "--of", "exposed", "--csv")
    assert [row["exposed"] for row in csv.DictReader(io.StringIO(out))] == ["no", "yes"]


def test_what_arrows_mean_and_how_sure_their_direction_is_stand_before_the_numbers(run, learned):
    _, out, _ = run("effect", learned, "carrier", "--of", "exposed")
    flat = " ".join(out.split())
    assert flat.index(DIRECTIONS) < flat.index("the arrow exposed -> carrier has probability 0.92") < flat.index("0.")
    _, out, _ = run("adjust", learned, "exposed", "carrier")
    assert out.startswith(DIRECTIONS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["carrier=maybe", "--of", "exposed"], "'carrier' has no state 'maybe'"),
        (["child=yes", "--of", "exposed"], "OUTCOME child=yes: the model has no variable 'child'"),
        (["carrier", "--of", "exposed", "--interval", "95"], "--interval is a probability between 0 and 1"),
        (["carrier", "--of", "exposed", "--csv", "--json"], "exclude"),
    ],
)
def test_bad_effects(run, model, arguments, message):
    code, _, err = run("effect", model, *arguments)
    assert code == 2
    assert message in err


def test_adjustment_sets_and_blankets_are_those_of_python(run, model):
    _, out, _ = run("adjust", model, "exposed", "carrier", "--json")
    assert json.loads(out) == {"sets": [["background", "diagnosis"]], "parents": ["background", "diagnosis"]}
    _, out, _ = run("adjust", model, "exposed", "carrier")
    assert "\n  background, diagnosis\n" in out
    _, out, _ = run("adjust", model, "background", "carrier")
    assert "adjust for nothing" in out
    _, out, _ = run("adjust", model, "carrier", "exposed")
    assert "carrier depends on exposed: carrier has no effect on exposed" in out
    _, out, _ = run("blanket", model, "background", "--json")
    assert json.loads(out) == {
        "blanket": ["diagnosis", "exposed", "carrier"],
        "parents": [],
        "children": ["exposed", "carrier"],
        "other_parents": ["diagnosis"],
    }
    _, out, _ = run("blanket", model, "background")
    assert out.splitlines()[1:] == [
        "  what depends on it: exposed, carrier",
        "  what else those depend on: diagnosis",
    ]
    code, _, err = run("blanket", model, "x")
    assert code == 2
    assert "no variable 'x'" in err


def test_an_outcome_with_several_states_needs_one_of_them(run, tmp_path):
    path = tmp_path / "three.json"
    CStreeLearner(beta=2).fit(pd.DataFrame({"x": list("aabb") * 5, "y": list("abca") * 5})).cstree_.save(path)
    code, _, err = run("effect", path, "y", "--of", "x")
    assert code == 2
    assert "'y' has 3 states: write OUTCOME=STATE, with one of 'a', 'b', 'c'" in err
