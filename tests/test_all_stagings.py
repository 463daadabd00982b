"""All stagings, also those that no decision tree draws: weighted sums, maxima and draws by exact cover."""

from collections import Counter
from functools import cache
from math import exp, inf, isclose

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

import naive
from cslearn.stagings import count, log_sum
from cslearn.stagings.cover_weights import CoverWeights
from cslearn.stagings.level import inclusion_exclusion
from cslearn.stagings.tree_weights import TreeWeights

LEVELS = [((2, 2, 2), 3), ((2,) * 4, 3), ((2, 2, 3), 3), ((3, 2, 3), 3), ((2, 2), 3), ((3,), 4), ((2, 2, 3), 2)]


def key(context):
    return frozenset(context.items())


@cache
def stagings_of(cards, beta):
    return naive.stagings(cards, beta)


def level_and_stagings(cards, beta, rng, scale=1.0, zeros=0.0):
    """Random log-weights of contexts, and the log-weight of every staging."""
    weights = {
        key(context): -inf if rng.random() < zeros else scale * rng.normal() for context in naive.contexts(cards, beta)
    }
    stagings = [(sum(weights[key(c)] for c in s), s) for s in stagings_of(cards, beta)]
    return CoverWeights(cards, beta, lambda pairs: weights[frozenset(pairs)]), stagings


@given(
    level=st.sampled_from(LEVELS),
    seed=st.integers(0, 2**32 - 1),
    scale=st.sampled_from([0.0, 1.0, 50.0, 1000.0]),
    zeros=st.sampled_from([0.0, 0.0, 0.2]),
)
def test_sum_and_maximum_equal_enumeration(level, seed, scale, zeros):
    weights, values = level_and_stagings(*level, np.random.default_rng(seed), scale, zeros)
    assert isclose(weights.log_sum(), naive.log_sum(v for v, _ in values), rel_tol=1e-9, abs_tol=1e-9)
    best = max(v for v, _ in values)
    value, contexts = weights.maximum()
    if best == -inf:
        assert value == -inf
        return
    assert isclose(value, best, rel_tol=1e-9, abs_tol=1e-9)
    (weight,) = [v for v, s in values if naive.as_key(s) == naive.as_key(map(dict, contexts))]
    assert isclose(weight, best, rel_tol=1e-9, abs_tol=1e-9)


def test_of_tied_stagings_the_one_with_the_fewest_stages_is_best():
    for cards, beta in LEVELS:
        weights, _ = level_and_stagings(cards, beta, np.random.default_rng(0), scale=0.0)
        assert weights.maximum() == (0.0, [()])


@pytest.mark.parametrize(("cards", "beta"), [((2, 2, 2), 3), ((2,) * 4, 3), ((2, 2, 3), 3)])
def test_draws_have_the_right_frequencies(cards, beta):
    weights, values = level_and_stagings(cards, beta, np.random.default_rng(2))
    total = naive.log_sum(v for v, _ in values)
    expected = {naive.as_key(s): exp(v - total) for v, s in values}
    n, rng = 5000, np.random.default_rng(3)
    drawn = Counter(naive.as_key(map(dict, weights.draw(rng))) for _ in range(n))
    assert set(drawn) <= set(expected)
    assert any(not naive.is_tree([dict(c) for c in staging]) for staging in drawn)
    chances, seen = np.array(list(expected.values())), np.array([drawn[k] for k in expected])
    often = chances * n >= 5
    share = np.append(chances[often], chances[~often].sum())
    observed = np.append(seen[often], seen[~often].sum())
    assert chisquare(observed, n * share / share.sum()).pvalue > 1e-3
    assert chisquare(np.roll(observed, 1), n * share / share.sum()).pvalue < 1e-3


@pytest.mark.parametrize(("cards", "zeros"), [((2,) * 4, 0.4), pytest.param((2, 3, 2, 2), 0.5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["all", "tree"])
def test_four_context_variables_with_many_zeros_equal_enumeration(cards, zeros, kind):
    """Most contexts have weight zero, so that the stagings that are left can be listed."""
    rng = np.random.default_rng(12)
    weights = {key(c): -inf if rng.random() < zeros else rng.normal() for c in naive.contexts(cards, 4)}
    listed = naive.stagings(cards, 4, allowed={c for c, value in weights.items() if value > -inf})
    values = [(sum(weights[key(c)] for c in s), s) for s in listed if kind == "all" or naive.is_tree(s)]
    assert len(values) > 40 and max(len(c) for _, s in values for c in s) == 4
    if kind == "tree":
        flat = [weights[key(c)] for c in naive.contexts(cards, 4)]
        level = TreeWeights(np.array(cards), np.array(flat), inclusion_exclusion(4))
    else:
        level = CoverWeights(cards, 4, lambda pairs: weights[frozenset(pairs)])
    total = naive.log_sum(v for v, _ in values)
    assert isclose(level.log_sum(), total, rel_tol=1e-9)
    best, contexts = level.maximum()
    assert isclose(best, max(v for v, _ in values), rel_tol=1e-9)
    assert isclose(sum(weights[frozenset(c)] for c in contexts), best, rel_tol=1e-9)
    chances = {naive.as_key(s): exp(v - total) for v, s in values}
    n = 4000
    drawn = Counter(naive.as_key(map(dict, level.draw(rng))) for _ in range(n))
    assert set(drawn) <= set(chances)
    expected, seen = np.array(list(chances.values())), np.array([drawn[s] for s in chances])
    often = expected * n >= 5
    share = np.append(expected[often], expected[~often].sum())
    observed = np.append(seen[often], seen[~often].sum())
    assert chisquare(observed, n * share / share.sum()).pvalue > 1e-3
    assert chisquare(np.roll(observed, 1), n * share / share.sum()).pvalue < 1e-3


@pytest.mark.parametrize(("cards", "beta"), [((2,) * 4, 4), ((2, 2, 3, 3), 3), ((2, 2, 2, 3), 3), ((2, 3, 4), 3)])
def test_covers_count_all_stagings(cards, beta):
    assert round(exp(CoverWeights(cards, beta, lambda _: 0.0).log_sum())) == count(cards, beta)
    assert round(exp(log_sum(cards, beta))) == round(exp(log_sum(cards, beta, lambda _: 0.0))) == count(cards, beta)
