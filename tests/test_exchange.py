"""`cslearn compare` and `cslearn convert`: what people see, exit codes, and bad input."""

import json

import pytest

from cslearn import CStree, kl_divergence
from cslearn.datasets import chickenpox_model
from cslearn.formats import FORMATS, read_model
from cslearn.metrics import held_out


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_written_and_those_that_hold_a_model_are_read(name, run, model, tmp_path):
    code, out, err = run("convert", model, tmp_path / "there", "--to", name)
    assert (code, err) == (0, "")
    assert f"there written as {name}." in out
    lost = [line.removeprefix("lost: ") for line in out.splitlines()[1:]]
    assert lost == FORMATS[name].lost(chickenpox_model())
    code, out, err = run("convert", tmp_path / "there", tmp_path / "back.json", "--from", name)
    if FORMATS[name].read is None:
        assert code == 2
        assert f"no format '{name}' that can be read" in err
    else:
        assert code == 0
        back = CStree.load(tmp_path / "back.json")
        assert back == read_model(tmp_path / "there", name)
        assert set(back.to_dag().edges) == set(chickenpox_model().to_dag().edges)


def test_what_cannot_be_converted(run, model, tmp_path):
    for arguments, message in [
        ((model, tmp_path / "x.csv"), "x.csv does not tell the format"),
        ((model, tmp_path / "x", "--to", "pdf"), "no format 'pdf'"),
        ((tmp_path / "none.bif", tmp_path / "x.json"), "there is no file"),
        ((model, tmp_path / "no/x.bif"), "does not exist"),
        ((model, tmp_path / "y.json", "--from", "bif"), "line 1: expected `network`"),
    ]:
        code, out, err = run("convert", *arguments)
        assert (code, out) == (2, "")
        assert message in err
    (tmp_path / "laughs.xml").write_text('<!DOCTYPE x [<!ENTITY a "b">]><BIF>&a;</BIF>')
    code, _, err = run("convert", tmp_path / "laughs.xml", tmp_path / "x.json")
    assert code == 2
    assert "laughs.xml: line 1: it declares the entity 'a'" in err
    assert not (tmp_path / "x.json").exists()


def test_compare(run, model, tmp_path):
    truth = chickenpox_model()
    data = truth.sample(300, random_state=1)
    learned = truth.fit_parameters(truth.sample(300, random_state=2))
    learned.save(tmp_path / "b.json")
    # States in another order, so that codes cannot be shared.
    turned = {v: s[::-1] for v, s in truth.states.items()}
    data.assign(w=range(300)).to_csv(tmp_path / "test.csv", index=False)
    run("convert", tmp_path / "b.json", tmp_path / "b.bif")
    code, out, err = run("compare", model, tmp_path / "b.bif", "--data", tmp_path / "test.csv", "--weights", "w")
    assert (code, err) == (0, "")
    assert "SHD of the DAGs    0\n" in out
    assert "CSI relations      precision 1.000, recall 0.000  (0 of 0 in B are right, 0 of 3 in A are found)" in out
    assert f"D(A || B)          {float(kl_divergence(truth, learned)):.5f} nats" in out
    code, out, _ = run(
        "compare", model, tmp_path / "b.json", "--data", tmp_path / "test.csv", "--weights", "w", "--json"
    )
    document = json.loads(out)
    for name, tree in (("reference", truth), ("model", learned)):
        expected = held_out(tree, data, sample_weight=range(300))
        assert document["held_out"][name]["mean_log_prob"] == pytest.approx(expected.mean)
    other = CStree(truth.order, {v: truth.stagings[v].contexts for v in truth.order}, states=turned)
    other.fit_parameters(data).save(tmp_path / "c.json")
    code, out, _ = run("compare", model, tmp_path / "c.json", "--data", tmp_path / "test.csv", "--json")
    assert code == 0
    assert json.loads(out)["divergence"]["nats"] == pytest.approx(
        kl_divergence(truth, CStree.load(tmp_path / "c.json"))
    )


def test_what_cannot_be_compared(run, model, tmp_path):
    chickenpox_model().with_parameters(None).save(tmp_path / "structure.json")
    code, out, _ = run("compare", model, tmp_path / "structure.json")
    assert code == 0
    assert "a model has no probabilities" in out
    (tmp_path / "other.bif").write_text("variable x { type discrete [1] { a }; } probability ( x ) { table 1; }")
    code, _, err = run("compare", model, tmp_path / "other.bif")
    assert code == 2
    assert "different variables" in err


def test_drawings_are_made_by_another_command(run, model, tmp_path):
    drawn = tmp_path / "m.dot"
    for arguments in ((model, drawn), (model, tmp_path / "m.tex"), (drawn, tmp_path / "m.bif")):
        code, _, err = run("convert", *arguments)
        assert code == 2
        assert "is that of a drawing" in err
        assert "`cslearn plot`" in err
