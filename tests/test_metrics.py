"""The Kullback-Leibler divergence."""

from itertools import pairwise, product
from math import exp, inf, isclose, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cslearn import CStree, kl_divergence, random_cstree
from cslearn.errors import InputError


def by_hand(p, q):
    total = 0.0
    for outcome in product(*p.states.values()):
        row = [dict(zip(p.variables, outcome, strict=True))]
        log_p, log_q = p.log_prob(row)[0], q.log_prob(row)[0]
        total += exp(log_p) * (log_p - log_q)
    return total


@given(cards=st.lists(st.integers(1, 3), min_size=1, max_size=4), seed=st.integers(0, 999))
def test_exact_equals_the_sum_over_all_outcomes(cards, seed):
    p, q = random_cstree(cards, random_state=seed), random_cstree(cards, random_state=seed + 1)
    divergence = kl_divergence(p, q)
    assert isclose(divergence, by_hand(p, q), rel_tol=1e-8, abs_tol=1e-12)
    assert (divergence.method, divergence.standard_error) == ("exact", 0.0)
    assert 0 <= kl_divergence(p, p) < 1e-12


def test_it_is_not_symmetric():
    p, q = random_cstree(4, random_state=1), random_cstree(4, random_state=2)
    assert isclose(kl_divergence(q, p), by_hand(q, p), rel_tol=1e-9)
    assert not isclose(kl_divergence(p, q), kl_divergence(q, p), rel_tol=0.01)


def test_the_order_of_variables_and_states_does_not_matter():
    p = random_cstree({"a": 2, "b": 3, "c": 2}, random_state=1)
    q = random_cstree({"a": 2, "b": 3, "c": 2}, random_state=2)
    turned = random_cstree(
        {"c": (1, 0), "b": (2, 0, 1), "a": (1, 0)}, order=q.order, concentration=None, random_state=0
    )
    contexts = {v: q.stagings[v].contexts for v in q.order}
    rows = {
        v: [[q.parameters[v][s, q.states[v].index(x)] for x in turned.states[v]] for s in range(len(q.stagings[v]))]
        for v in q.order
    }
    same = CStree(q.order, contexts, rows, states=turned.states)
    assert isclose(kl_divergence(p, same), kl_divergence(p, q), rel_tol=1e-12)
    drawn = kl_divergence(p, same, method="monte carlo", n_samples=20_000)
    assert abs(drawn - kl_divergence(p, q)) < 4 * drawn.standard_error


@pytest.mark.parametrize("seed", range(5))
def test_monte_carlo_is_within_its_standard_error(seed):
    p, q = random_cstree([2, 3, 2, 2, 3], random_state=seed), random_cstree([2, 3, 2, 2, 3], random_state=seed + 50)
    exact = kl_divergence(p, q)
    drawn = kl_divergence(p, q, method="monte carlo", n_samples=50_000, random_state=seed)
    assert abs(drawn - exact) < 4 * drawn.standard_error
    assert drawn.standard_error < 0.05 * exact + 0.01
    assert drawn.n_samples == 50_000


def test_large_joint_spaces_are_drawn_from():
    p, q = random_cstree(40, random_state=0), random_cstree(40, random_state=1)
    divergence = kl_divergence(p, q, n_samples=2000)
    assert divergence.method == "monte carlo"
    assert "Monte Carlo, 2,000 draws" in repr(divergence)
    with pytest.raises(InputError, match="limited to 4,194,304"):
        kl_divergence(p, q, method="exact")


def deterministic(p_a, b_given_a):
    states = {"a": (0, 1), "b": (0, 1)}
    return CStree(["a", "b"], {"b": [{"a": 0}, {"a": 1}]}, {"a": [[1 - p_a, p_a]], "b": b_given_a}, states=states)


@pytest.mark.parametrize("method", ["exact", "monte carlo"])
def test_infinite_exactly_when_q_excludes_what_p_can_produce(method):
    sure = deterministic(0.5, [[1.0, 0.0], [0.5, 0.5]])
    never_a = deterministic(0.0, [[1.0, 0.0], [0.5, 0.5]])
    everything = deterministic(0.5, [[0.5, 0.5], [0.5, 0.5]])
    assert kl_divergence(everything, sure, method=method) == inf
    assert kl_divergence(sure, never_a, method=method) == inf
    assert kl_divergence(never_a, sure, method=method) < inf
    assert isclose(kl_divergence(never_a, sure, method=method), log(2))
    rare = deterministic(1e-12, [[1.0, 0.0], [0.5, 0.5]])
    assert kl_divergence(rare, deterministic(0.5, [[1.0, 0.0], [1.0, 0.0]]), method=method) == inf


def test_zeros_through_other_variables_are_found_in_large_models():
    base = random_cstree(30, random_state=3)
    zeroed = {v: rows.copy() for v, rows in base.parameters.items()}
    last = base.order[-1]
    zeroed[last][0] = [1.0, 0.0]
    q = base.with_parameters(zeroed)
    assert kl_divergence(base, q, n_samples=10) == inf
    assert kl_divergence(q, q, n_samples=10) == 0


def test_zeros_at_the_end_of_a_long_chain_are_found():
    names = [f"v{i}" for i in range(1200)]
    structure = CStree(
        names,
        {b: [{a: 0}, {a: 1}] for a, b in pairwise(names)},
        states=dict.fromkeys(names, (0, 1)),
    )
    same = {v: [[1.0, 0.0], [0.0, 1.0]] for v in names[1:]}
    p = structure.with_parameters({"v0": [[0.5, 0.5]], **same})
    q = structure.with_parameters({"v0": [[0.5, 0.5]], **same, "v1199": [[1.0, 0.0], [1.0, 0.0]]})
    assert kl_divergence(p, q, n_samples=10) == inf
    assert kl_divergence(q, p, n_samples=10) == inf
    only = {"v0": [[1.0, 0.0]]}  # nothing but zeros can be drawn, and both agree on these
    assert kl_divergence(structure.with_parameters({**same, **only}), q, n_samples=10) < inf


@pytest.mark.parametrize("seed", range(20))
def test_the_search_for_zeros_agrees_with_the_joint_distribution(seed):
    rng = np.random.default_rng(seed)
    trees = []
    for _ in range(2):
        tree = random_cstree([2, 3, 2, 2], 2, random_state=rng)
        zeroed = {}
        for v, rows in tree.parameters.items():
            kept = np.where(rng.random(rows.shape) < 0.3, 0.0, rows)
            kept[kept.sum(axis=1) == 0, 0] = 1.0
            zeroed[v] = kept / kept.sum(axis=1, keepdims=True)
        trees.append(tree.with_parameters(zeroed))
    p, q = trees
    assert (kl_divergence(p, q, method="monte carlo", n_samples=10) == inf) == (kl_divergence(p, q) == inf)


def test_models_that_cannot_be_compared():
    p = random_cstree({"a": 2, "b": 2}, random_state=0)
    with pytest.raises(InputError, match="different variables: b, c"):
        kl_divergence(p, random_cstree({"a": 2, "c": 2}, random_state=0))
    with pytest.raises(InputError, match="different states of 'b'"):
        kl_divergence(p, random_cstree({"a": 2, "b": 3}, random_state=0))
    with pytest.raises(InputError, match="q has no parameters"):
        kl_divergence(p, p.with_parameters(None))
    with pytest.raises(InputError, match='method is "auto", "exact" or "monte carlo"'):
        kl_divergence(p, p, method="guess")
    with pytest.raises(InputError, match="n_samples"):
        kl_divergence(p, p, method="monte carlo", n_samples=1)


def test_it_is_a_float():
    p = random_cstree(3, random_state=0)
    divergence = kl_divergence(p, p)
    assert isinstance(divergence, float)
    assert f"{divergence:.3f}" == "0.000"
    assert np.asarray([divergence]).dtype == float


def test_a_ratio_beyond_the_range_of_doubles_is_no_trouble():
    states = {"a": (0, 1), "b": (0, 1)}
    narrow = CStree(["a", "b"], {"b": [{}]}, {"a": [[1.0, 1e-250]], "b": [[1.0, 1e-250]]}, states=states)
    even = CStree(["a", "b"], {"b": [{}]}, {"a": [[0.5, 0.5]], "b": [[0.5, 0.5]]}, states=states)
    assert isclose(kl_divergence(narrow, even), log(4))


def test_seeds_that_are_none():
    tree = random_cstree(3, random_state=0)
    for seed in (-1, "x", 0.5):
        with pytest.raises(InputError, match="random_state is a whole number of at least 0"):
            tree.sample(3, random_state=seed)
