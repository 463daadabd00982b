"""R-hat and the effective sample size: equal to their twins and to ArviZ, and right about chains of known quality."""

from math import inf, isclose, isnan

import numpy as np
import pandas as pd
import pytest
from arviz_stats.base import array_stats
from hypothesis import given
from hypothesis import strategies as st

import naive_diagnostics
from cslearn import random_cstree
from cslearn.errors import InputError
from cslearn.estimators.order_search import chain_problem, search_by_chains
from cslearn.grown import GrownScores
from cslearn.orders import effective_sample_size, r_hat
from cslearn.orders.diagnostics import Quantities, Verdict, diagnose, error_of
from cslearn.posterior import CStreePosterior
from cslearn.priors import ParentsPrior


def autoregressive(phi, shape, seed=0, heavy=False):
    rng = np.random.default_rng(seed)
    noise = rng.standard_cauchy(shape) if heavy else rng.normal(size=shape)
    draws = np.empty(shape)
    draws[:, 0] = noise[:, 0] / np.sqrt(1 - phi**2)
    for t in range(1, shape[1]):
        draws[:, t] = phi * draws[:, t - 1] + noise[:, t]
    return draws


# ---------------------------------------------------------------- twins
@given(
    chains=st.integers(1, 4),
    n=st.integers(4, 40),
    phi=st.sampled_from([-0.7, 0.0, 0.5, 0.95]),
    kind=st.sampled_from(["real", "heavy", "ties", "indicator"]),
    seed=st.integers(0, 9999),
)
def test_both_equal_their_slow_twins(chains, n, phi, kind, seed):
    draws = autoregressive(phi, (chains, n), seed, heavy=kind == "heavy")
    draws = {"ties": np.round(draws), "indicator": draws > 0.4}.get(kind, draws)
    if np.ptp(draws.astype(float)) == 0:
        assert isnan(r_hat(draws))
        assert isnan(effective_sample_size(draws))
        return
    # Ranks of two values are a linear function of them, so both take the same way for indicators.
    assert isclose(r_hat(draws), naive_diagnostics.r_hat(draws.astype(float).tolist()), rel_tol=1e-9)
    half = draws[:, : n // 2], draws[:, n - n // 2 :]
    if np.ptp(np.concatenate(half).astype(float)) > 0:
        twin = naive_diagnostics.effective_sample_size(draws.astype(float).tolist())
        assert isclose(effective_sample_size(draws), twin, rel_tol=1e-9)


@pytest.mark.parametrize("phi", [-0.5, 0.0, 0.5, 0.9])
@pytest.mark.parametrize("indicator", [False, True])
def test_both_equal_those_of_arviz(phi, indicator):
    for seed in range(5):
        draws = autoregressive(phi, (4, 1001), seed)
        draws = (draws > 0.3).astype(float) if indicator else draws
        axes = {"chain_axis": 0, "draw_axis": 1}
        assert isclose(r_hat(draws), float(array_stats.rhat(draws, method="rank", **axes)), rel_tol=1e-9)
        size = float(array_stats.ess(draws, method="bulk", **axes))
        # ArviZ lets the very last pair of autocorrelations that it adds be larger than the one before.
        assert isclose(effective_sample_size(draws), size, rel_tol=2e-3)


def test_many_quantities_at_once_are_those_one_by_one():
    draws = np.stack([autoregressive(phi, (3, 60), 1) for phi in (0.0, 0.5, 0.9)], axis=2)
    draws = np.concatenate([draws, draws > 0, np.ones((3, 60, 1))], axis=2)
    sizes = [effective_sample_size(draws[:, :, k]) for k in range(7)]
    assert np.allclose(effective_sample_size(draws), sizes, rtol=1e-12, equal_nan=True)
    assert np.allclose(r_hat(draws), [r_hat(draws[:, :, k]) for k in range(7)], rtol=1e-12, equal_nan=True)


# ---------------------------------------------------------------- known values
@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
def test_the_size_is_that_of_an_autoregressive_series(phi):
    """Its integrated autocorrelation time is (1 + phi) / (1 - phi)."""
    sizes = [effective_sample_size(autoregressive(phi, (4, 5000), seed)) for seed in range(10)]
    assert abs(np.mean(sizes) / (20_000 * (1 - phi) / (1 + phi)) - 1) < 0.07


def test_chains_that_disagree_are_noticed():
    draws = autoregressive(0.0, (4, 500))
    assert r_hat(draws) < 1.01
    assert r_hat(draws + np.array([[2.0], [0], [0], [0]])) > 1.2  # one is elsewhere
    assert r_hat(draws * np.array([[9.0], [1], [1], [1]])) > 1.1  # one is wider
    assert r_hat(draws + np.linspace(0, 3, 500)) > 1.1  # all drift
    assert effective_sample_size(draws + np.array([[2.0], [0], [0], [0]])) < 40


def test_constants():
    same = np.ones((4, 100), dtype=bool)
    assert isnan(r_hat(same))
    assert isnan(effective_sample_size(same))
    apart = same.copy()
    apart[0] = False
    assert r_hat(apart) == inf
    assert effective_sample_size(apart) < 10


@pytest.mark.parametrize("shape", [(2, 0), (4, 3)])
def test_too_few_draws_say_nothing(shape):
    assert isnan(r_hat(np.zeros(shape)))
    assert isnan(effective_sample_size(np.random.default_rng(0).normal(size=shape)))


def test_a_wrong_shape_is_refused():
    with pytest.raises(InputError, match=r"shape \(chains, draws\)"):
        r_hat(np.zeros(10))


# ---------------------------------------------------------------- the verdict
def judged(*columns, n_chains=4, kind="precedence", **standards):
    draws = np.stack(columns, axis=2)
    names = [f"q{i}" for i in range(len(columns))]
    found = diagnose([Quantities("score", names[:1], draws[:, :, :1]), Quantities(kind, names[1:], draws[:, :, 1:])])
    return Verdict.of(found, n_chains, draws.shape[1], **standards)


def test_the_verdict():
    good = autoregressive(0.0, (4, 500))
    constant = np.zeros((4, 500))
    both = (good, good > 0)
    largest, fewest = max(map(r_hat, both)), min(map(effective_sample_size, both))
    verdict = judged(*both, constant)
    assert verdict.converged
    assert verdict.reason == ""
    assert (verdict.r_hat, verdict.ess) == pytest.approx((largest, fewest), rel=1e-9)
    assert not judged(good, constant + np.array([[0], [0], [0], [1]])).converged
    slow = judged(good, autoregressive(0.99, (4, 500)) > 0)
    assert not slow.converged
    assert "'q1'" in slow.reason
    assert "should be at least 400" in slow.reason
    # Some of the draws are looked at for edges: their number says nothing, their disagreement does.
    drifting = autoregressive(0.7, (4, 500))
    assert effective_sample_size(drifting) < 400
    assert judged(good, drifting, kind="edge").converged
    assert not judged(good, drifting, kind="precedence").converged
    assert not judged(good, good + np.array([[1.0], [0], [0], [0]]), kind="edge").converged
    elsewhere = judged(good + np.array([[1.0], [0], [0], [0]]), good > 0)
    assert elsewhere.reason.startswith("R-hat of 'q0' is 1.")
    assert "should be at most 1.01" in elsewhere.reason
    assert not judged(good[:, :3]).converged
    assert judged(constant).converged
    assert isnan(judged(constant).r_hat)


def test_standard_errors_of_edges_are_judged_where_that_is_asked_for():
    good = autoregressive(0.0, (4, 500))
    edge = 0.5 + 0.4 * np.sign(autoregressive(0.5, (4, 500)))
    error = edge.std() / np.sqrt(effective_sample_size(edge))
    assert 0.01 < error < 0.03
    assert judged(good, edge, kind="edge").converged
    assert judged(good, edge, kind="edge", max_error=1.01 * error).converged
    wide = judged(good, edge, kind="edge", max_error=0.99 * error)
    assert not wide.converged
    assert wide.reason.startswith(f"the standard error of the probability of 'q1' is {error:.3f} and should be at most")
    # It is a standard of edges alone.
    assert judged(good, edge > 0.5, kind="precedence", max_error=0.001).converged
    # Where edges are judged by it, precedences have to agree, and that is all.
    slow = autoregressive(0.7, (4, 500))
    assert effective_sample_size(slow) < 400
    assert not judged(good, slow, kind="precedence").converged
    assert judged(good, slow, kind="precedence", max_error=0.01).converged
    assert not judged(slow, max_error=0.01).converged
    assert not judged(good, good + np.array([[1.0], [0], [0], [0]]), kind="precedence", max_error=0.01).converged
    assert judged(good, edge, kind="edge", note="of two things one").note == "of two things one"


def test_the_error_that_is_asked_for_is_that_of_independent_draws():
    chains = 2
    draws = np.random.default_rng(0).random((5000, 100 * chains)) < 0.5
    assert error_of(chains) == pytest.approx(draws.mean(axis=1).std(), rel=0.05)


def test_standard_errors_are_those_of_the_means():
    rng = np.random.default_rng(3)
    draws = rng.random((4, 400, 200))
    found = diagnose([Quantities("edge", list(map(str, range(200))), draws)])
    assert found.standard_error.mean() == pytest.approx(draws.mean(axis=(0, 1)).std(), rel=0.15)
    both = [Quantities("edge", list(map(str, range(200))), values) for values in (draws < 0.2, (draws < 0.2) * 1.0)]
    np.testing.assert_allclose(diagnose(both[:1]).standard_error, diagnose(both[1:]).standard_error)


def test_the_frame_joins_blocks():
    good = autoregressive(0.0, (4, 50))[:, :, None]
    frame = diagnose(
        iter(
            [Quantities("score", ["a"], good), Quantities("edge", ["b", "c"], np.concatenate([good, good], axis=2) > 0)]
        )
    ).to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns.tolist() == ["kind", "quantity", "mean", "r_hat", "ess", "standard_error"]
    assert frame["kind"].tolist() == ["score", "edge", "edge"]
    assert frame["quantity"].tolist() == ["a", "b", "c"]
    assert frame["mean"][1] == (good > 0).mean()


@pytest.mark.parametrize(("asked", "made"), [(2.0, 640), (2.1, 320), (8.1, 320)])
def test_chains_end_where_even_the_longest_would_be_too_short(asked, made, monkeypatch):
    verdict = Verdict(False, 1.5, 10.0, "chains disagree", longer=np.nan, at_least=asked)
    monkeypatch.setattr(CStreePosterior, "verdict", property(lambda self: verdict))
    table = random_cstree(6, random_state=0).sample_table(100, random_state=0)
    scores = GrownScores(table, prior=ParentsPrior())
    problem = chain_problem(scores, np.zeros((6, 6), dtype=bool))
    options = {"n_chains": 2, "n_iter": 20, "max_iter": 640, "further": 0, "random_state": 0}
    posterior, _ = search_by_chains(scores, problem, auto=True, settings={}, **options)
    assert posterior.chains[0].n_iter == made


def test_how_many_moves_the_score_asks_for_is_told_where_chains_disagree():
    rng = np.random.default_rng(0)
    still = rng.normal(size=(4, 300, 1)) * 0.01 + np.arange(4)[:, None, None]
    found = diagnose([Quantities("score", ["log score"], still)])
    verdict = Verdict.of(found, 4, 300)
    assert np.isnan(verdict.longer)
    assert verdict.at_least == pytest.approx(400 / found.ess[0]) and verdict.at_least > 50
