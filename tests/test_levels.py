"""Sums, maxima, draws and stage probabilities over the stagings that decision trees draw, for any context bound."""

from collections import Counter
from functools import cache
from itertools import product
from math import exp, inf, isclose, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

import naive
from cslearn.priors import PRIORS
from cslearn.stagings.level import LevelWeights
from cslearn.stagings.tree_weights import TreeWeights, layout

LEVELS = [([2], 1), ([2, 3], 1), ([3, 2], 2), ([2, 2, 3], 2), ([2, 2, 2], 3), ([2, 3, 2], 3), ([2, 2, 2, 2], 3)]


def key(context):
    return frozenset(context.items())


def random_scores(cards, beta, rng, scale=1.0, zeros=0.0):
    return {key(c): -inf if rng.random() < zeros else scale * rng.normal() for c in naive.contexts(cards, beta)}


def tree_weights(cards, beta, scores, prior):
    """Likelihoods times prior, in the arrays in which each context stands once."""
    weights, places = PRIORS[prior], layout(tuple(cards), beta)
    values = [
        scores[frozenset(zip(own, states, strict=True))]
        + weights.log_stage(len(cards), len(own), beta, prod(cards[k] for k in own))
        for own in places.sets
        for states in product(*(range(cards[k]) for k in own))
    ]
    return TreeWeights(np.array(cards), np.array(values), weights.splits(len(cards), beta))


def level_weights(cards, beta, scores, prior, once=False):
    """Likelihoods times prior, in the arrays for at most two context variables, or in those for any number."""
    if once or beta > 2:
        return tree_weights(cards, beta, scores, prior)
    m, d = len(cards), max(cards)
    weights = PRIORS[prior].level_weights(np.array(cards), beta)
    stages = [np.array(np.broadcast_to(s, (m, d) * t)) for t, s in enumerate(weights.stages)]
    deepest = np.array(weights.deepest)
    for t in range(beta + 1):
        for variables in product(range(m), repeat=t):
            if len(set(variables)) == t:
                for states in product(*(range(cards[k]) for k in variables)):
                    value = scores[frozenset(zip(variables, states, strict=True))]
                    at = tuple(n for pair in zip(variables, states, strict=True) for n in pair)
                    if t < beta:
                        stages[t][at] += value
                    else:
                        deepest[at[:-1]] += value
    return LevelWeights(np.array(cards), stages, deepest, weights.splits)


@cache
def weighted_trees(cards, beta, prior):
    """Every staging that a tree draws, with its log prior weight."""
    trees = [s for s in naive.stagings(cards, beta) if naive.is_tree(s)]
    return [(naive.log_prior_weight(prior, cards, range(len(cards)), s, beta), s) for s in trees]


def enumerated(cards, beta, scores, prior):
    """The log-weight of every staging that a tree draws."""
    return [(w + sum(scores[key(c)] for c in s), s) for w, s in weighted_trees(tuple(cards), beta, prior)]


@given(
    level=st.sampled_from(LEVELS),
    prior=st.sampled_from(list(PRIORS)),
    seed=st.integers(0, 2**32 - 1),
    scale=st.sampled_from([0.0, 1.0, 50.0, 1000.0]),
    zeros=st.sampled_from([0.0, 0.0, 0.2]),
    once=st.booleans(),
)
def test_sum_and_maximum_equal_enumeration(level, prior, seed, scale, zeros, once):
    check_sum_and_maximum(*level, prior, seed, scale, zeros, once)


def check_sum_and_maximum(cards, beta, prior, seed, scale, zeros, once):
    scores = random_scores(cards, beta, np.random.default_rng(seed), scale, zeros)
    weights = level_weights(cards, beta, scores, prior, once)
    values = enumerated(cards, beta, scores, prior)
    assert isclose(weights.log_sum(), naive.log_sum(v for v, _ in values), rel_tol=1e-9, abs_tol=1e-9)
    best = max(v for v, _ in values)
    value, contexts = weights.maximum()
    if best == -inf:
        assert value == -inf
        return
    found = [dict(context) for context in contexts]
    (weight,) = [v for v, s in values if naive.as_key(s) == naive.as_key(found)]
    assert isclose(value, weight, rel_tol=1e-9, abs_tol=1e-9)
    if beta <= 2 or prior != "tree":
        assert isclose(value, best, rel_tol=1e-9, abs_tol=1e-9)
    else:
        # A staging has the sum over its trees; it is at least as good as the best tree alone.
        splits = PRIORS[prior].splits(len(cards), beta)
        stop = [PRIORS[prior].log_stop(len(cards), t, beta) for t in range(beta)] + [0.0]
        alone = naive.best_tree(cards, beta, lambda c: scores[key(c)] + stop[len(c)], lambda t, r: splits[t][r - 1])
        assert alone - 1e-9 * max(1.0, abs(alone)) <= value <= best + 1e-9 * max(1.0, abs(best))


@pytest.mark.slow
@pytest.mark.parametrize("zeros", [0.0, 0.3])
@pytest.mark.parametrize("prior", ["uniform", "tree"])
def test_four_context_variables_equal_enumeration(prior, zeros):
    assert len(weighted_trees((2, 2, 2, 2), 4, prior)) == 61_712
    check_sum_and_maximum([2, 2, 2, 2], 4, prior, 3, 2.0, zeros, True)


@pytest.mark.parametrize("prior", list(PRIORS))
@pytest.mark.parametrize(
    ("cards", "beta", "once"), [([2, 3], 2, False), ([2, 2, 3], 2, False), ([2, 2, 3], 2, True), ([2, 2, 2], 3, True)]
)
def test_draws_have_the_right_frequencies(cards, beta, once, prior):
    scores = random_scores(cards, beta, np.random.default_rng(1))
    values = enumerated(cards, beta, scores, prior)
    total = naive.log_sum(v for v, _ in values)
    expected = {naive.as_key(s): exp(v - total) for v, s in values}
    n, rng = 1000, np.random.default_rng(5)
    weights = level_weights(cards, beta, scores, prior, once)
    drawn = Counter(naive.as_key([dict(c) for c in weights.draw(rng)]) for _ in range(n))
    assert set(drawn) <= set(expected)
    # Cells with few expected draws are thrown together.
    chances = np.array(list(expected.values()))
    often = chances * n >= 5
    observed = np.array([drawn[k] for k in expected])
    share, seen = [*chances[often], chances[~often].sum()], [*observed[often], observed[~often].sum()]
    if share[-1] * n < 1:
        share, seen = share[:-1], seen[:-1]
    share = np.array(share) / sum(share)
    assert chisquare(seen, sum(seen) * share).pvalue > 1e-3
    assert chisquare(np.roll(seen, 1), sum(seen) * share).pvalue < 1e-3


@given(
    level=st.sampled_from(LEVELS),
    prior=st.sampled_from(list(PRIORS)),
    seed=st.integers(0, 2**32 - 1),
    scale=st.sampled_from([0.0, 1.0, 10.0]),
    once=st.booleans(),
)
def test_probabilities_of_stages_and_of_their_number_equal_enumeration(level, prior, seed, scale, once):
    cards, beta = level
    scores = random_scores(cards, beta, np.random.default_rng(seed), scale)
    values = enumerated(cards, beta, scores, prior)
    total = naive.log_sum(v for v, _ in values)
    expected = Counter()
    for value, staging in values:
        for context in staging:
            expected[key(context)] += exp(value - total)
    found = level_weights(cards, beta, scores, prior, once).stage_probabilities()
    for context in naive.contexts(cards, beta):
        variables = tuple(sorted(context))
        probability = found[variables][tuple(context[v] for v in variables)] if variables in found else 0.0
        assert isclose(probability, expected[key(context)], rel_tol=1e-7, abs_tol=1e-9)
    numbers = Counter()
    for value, staging in values:
        numbers[len(staging)] += exp(value - total)
    of_numbers = level_weights(cards, beta, scores, prior, once).n_stages()
    np.testing.assert_allclose(of_numbers, [numbers[k] for k in range(len(of_numbers))], atol=1e-9)
    assert set(numbers) <= set(range(len(of_numbers)))
    # Every outcome is in one stage.
    shares = sum(p.sum() / prod(cards[v] for v in variables) for variables, p in found.items())
    assert isclose(shares, 1.0, rel_tol=1e-9)


@given(
    level=st.sampled_from(LEVELS),
    prior=st.sampled_from(list(PRIORS)),
    seed=st.integers(0, 2**32 - 1),
    scale=st.sampled_from([0.0, 1.0, 10.0]),
    once=st.booleans(),
)
def test_sums_without_a_variable_equal_enumeration(level, prior, seed, scale, once):
    cards, beta = level
    scores = random_scores(cards, beta, np.random.default_rng(seed), scale)
    values = enumerated(cards, beta, scores, prior)
    total = naive.log_sum(v for v, _ in values)
    expected = [sum(exp(v - total) for v, s in values if not any(k in c for c in s)) for k in range(len(cards))]
    weights = level_weights(cards, beta, scores, prior, once)
    left = [weights.without(j).log_sum() for j in range(len(cards))]
    np.testing.assert_allclose(np.exp(np.array(left) - total), expected, rtol=1e-7, atol=1e-10)
