"""The order posterior: its diagnostics, frames and files."""

from dataclasses import replace

import numpy as np
import pytest

from cslearn.data import Table
from cslearn.errors import CslearnError, FileError, MissingExtraError
from cslearn.orders import OrderPosterior, effective_sample_size, order_problem, r_hat, sample_chains
from cslearn.orders.files import read_arrays, write_arrays
from cslearn.scores import Scores
from problems import random_table

NAMES = ('<b>&"', "größe", "🙂", "1")


def posterior_of(n_chains=3, settings=None, **options):
    table = random_table([2, 3, 2, 2], 60, np.random.default_rng(1))
    table = Table(table.codes, NAMES, table.states, table.weights)
    chains, _ = sample_chains(order_problem(Scores(table)), n_chains=n_chains, random_state=0, **options)
    return OrderPosterior(NAMES, chains, settings or {})


def test_the_diagnostics_are_those_of_each_quantity():
    posterior = posterior_of(n_iter=800)
    frame = posterior.diagnostics()
    assert frame["quantity"].tolist()[:3] == ["log score", '<b>&" before größe', '<b>&" before 🙂']
    assert len(frame) == 1 + 6
    scores = np.stack([chain.log_scores for chain in posterior.chains]).round(4)
    assert (frame["r_hat"][0], frame["ess"][0]) == (r_hat(scores), effective_sample_size(scores))
    before = np.array([[list(o).index(1) < list(o).index(3) for o in chain.orders] for chain in posterior.chains])
    row = frame.set_index("quantity").loc["größe before 1"]
    assert row["mean"] == pytest.approx(posterior.precedence().loc["größe", "1"])
    assert row["ess"] == pytest.approx(effective_sample_size(before))
    assert row["r_hat"] == pytest.approx(r_hat(before))


def test_long_chains_converge_and_short_ones_do_not():
    assert posterior_of(n_iter=5000).converged
    short = posterior_of(n_iter=30)
    assert not short.converged
    assert "should be at least 300" in short.verdict.reason


def test_scores_that_differ_by_rounding_alone_are_equal():
    """Kept scores drift by rounding errors; where all orders score the same these are all that there is."""
    posterior = posterior_of(n_iter=5000)
    drift = np.random.default_rng(0).normal(scale=1e-12, size=(3, len(posterior.chains[0].orders))).cumsum(axis=1)
    assert effective_sample_size(drift) < 20
    chains = [replace(chain, log_scores=-290.3 + e) for chain, e in zip(posterior.chains, drift, strict=True)]
    equal = OrderPosterior(NAMES, chains)
    assert np.isnan(equal.diagnostics()["ess"][0])
    assert equal.converged


def test_many_variables_are_diagnosed_by_some_of_their_pairs(monkeypatch):
    monkeypatch.setattr("cslearn.orders.posterior.MAX_PAIRS", 4)
    monkeypatch.setattr("cslearn.orders.posterior.PAIRS_AT_ONCE", 3)
    posterior = posterior_of(n_iter=100)
    quantities = posterior.diagnostics()["quantity"].tolist()
    assert len(set(quantities)) == 5
    assert quantities == posterior.diagnostics()["quantity"].tolist()


def test_chains_of_different_length_are_compared_where_they_overlap():
    long, short = posterior_of(n_iter=400, n_chains=1), posterior_of(n_iter=200, n_chains=1)
    posterior = OrderPosterior(NAMES, [*long.chains, *short.chains])
    n = len(short.orders)
    scores = np.stack([long.log_scores[-n:], short.log_scores]).round(4)
    assert posterior.diagnostics()["ess"][0] == effective_sample_size(scores)


def test_the_frame_has_every_draw():
    posterior = posterior_of(n_iter=50)
    frame = posterior.to_frame()
    assert frame["chain"].tolist() == [c for c in range(3) for _ in range(40)]
    assert frame["draw"].tolist() == list(range(40)) * 3
    assert np.array_equal(frame["log_score"], posterior.log_scores)
    assert frame["order"].tolist() == [posterior.order_names(order) for order in posterior.orders]


def test_arviz_gets_the_scores_and_what_comes_before_what():
    posterior = posterior_of(n_iter=50)
    data = posterior.to_arviz().posterior
    assert np.array_equal(data["log_score"].values.ravel(), posterior.log_scores)
    shares = data["before"].mean(["chain", "draw"])
    assert np.allclose(shares.values, posterior.precedence().to_numpy())
    assert shares.sel(variable="🙂", other="1") == posterior.precedence().loc["🙂", "1"]


def test_without_arviz_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "arviz_base", None)
    with pytest.raises(MissingExtraError, match=r"pip install cslearn\[arviz\]"):
        posterior_of(n_iter=10).to_arviz()


# ---------------------------------------------------------------- files
def test_a_file_brings_everything_back(tmp_path):
    posterior = posterior_of(n_iter=50, settings={"prior": "tree", "größe": 1})
    posterior.save(tmp_path / "draws.npz")
    again = OrderPosterior.load(tmp_path / "draws.npz")
    assert again.variables == NAMES
    assert again.settings == posterior.settings
    for old, new in zip(posterior.chains, again.chains, strict=True):
        for name, value in vars(old).items():
            assert np.array_equal(value, getattr(new, name))
            assert type(value) is type(getattr(new, name))
    assert again.diagnostics().equals(posterior.diagnostics())
    content = (tmp_path / "draws.npz").read_bytes()
    posterior.save(tmp_path / "draws.npz")
    assert (tmp_path / "draws.npz").read_bytes() == content
    assert list(tmp_path.iterdir()) == [tmp_path / "draws.npz"]


def test_files_that_cannot_be_read_are_refused(tmp_path):
    good = tmp_path / "good.npz"
    posterior_of(n_iter=50).save(good)
    content = good.read_bytes()
    bad = tmp_path / "bad.npz"
    with pytest.raises(FileError, match="There is no file"):
        OrderPosterior.load(bad)
    for damaged in (
        b"",
        b"nonsense",
        content[:-100],
        content[: len(content) // 2],
        content.replace(b"orders", b"orderz"),
    ):
        bad.write_bytes(damaged)
        with pytest.raises(FileError, match=r"bad\.npz is.* damaged"):
            OrderPosterior.load(bad)
    with bad.open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(FileError, match="damaged"):
        OrderPosterior.load(bad)
    with bad.open("wb") as file:
        np.savez(file, header=np.array([{"a": object()}], dtype=object))
    with pytest.raises(FileError, match="damaged"):
        OrderPosterior.load(bad)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "checkpoint"}, "holds a checkpoint, not an order posterior"),
        ({"format": 99}, "format 99"),
        ({"variables": ["a", "b"]}, "damaged"),
        ({"chains": 7}, "damaged"),
    ],
)
def test_headers_that_do_not_fit_are_refused(tmp_path, change, message):
    import json

    path = tmp_path / "draws.npz"
    posterior_of(n_iter=50).save(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    header = {**json.loads(arrays["header"].tobytes()), **change}
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with path.open("wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(CslearnError, match=message):
        OrderPosterior.load(path)


def test_orders_in_a_file_are_checked(tmp_path):
    path = tmp_path / "draws.npz"
    posterior_of(n_iter=50).save(path)
    header, arrays = read_arrays(path, "order posterior")
    arrays["1.orders"][3, 0] = 77
    write_arrays(path, "order posterior", header, arrays)
    with pytest.raises(FileError, match="no order of the variables"):
        OrderPosterior.load(path)
