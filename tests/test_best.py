"""The best staging for context bounds beyond three, where weights belong to trees, against all stagings."""

from functools import cache
from itertools import product
from math import comb, inf, isclose, prod

import numpy as np
import pytest

import naive
from cslearn.priors import SparsePrior, TreePrior, UniformPrior
from cslearn.scores import Scores
from cslearn.stagings import best as search
from cslearn.stagings.deep import DeepWeights, layout
from cslearn.stagings.level import LevelWeights
from problems import random_table, rows_of

FOUR = (2, 2, 2, 2)
# Root, split, same, deeper: sparse trees, even ones, deep ones.
CHANCES = [(0.8, 0.3, 0.1, 0.3), (0.5, 0.5, 0.5, 0.5), (0.95, 0.9, 0.02, 0.9)]


@cache
def all_trees(cards, chances=CHANCES[0]):
    """Every staging that a tree draws, their log prior weights, and the numbers of their contexts."""
    root, split, same, deeper = chances
    return listed(naive.tree_prior_of_all(cards, len(cards), root, split, same, deeper), cards)


def listed(prior, cards):
    numbers = {c: i for i, c in enumerate(contexts(cards))}
    rows = np.full((len(prior), prod(cards)), len(numbers))
    for row, staging in zip(rows, prior, strict=True):
        row[: len(staging)] = [numbers[c] for c in staging]
    return list(prior), np.log(list(prior.values())), rows


def contexts(cards):
    return [frozenset(context.items()) for context in naive.contexts(list(cards), len(cards))]


def log_weights(trees, scores):
    """The log-weight of every staging: its prior and the scores of its contexts."""
    _, prior, rows = trees
    return prior + np.append(scores, 0.0)[rows].sum(axis=1)


def weights_of(cards, scores, prior, kind):
    """The same weights in the arrays of the package."""
    m = beta = len(cards)
    value = dict(zip(contexts(cards), scores, strict=True))
    if kind is DeepWeights:
        places = layout(cards, beta)
        stages = [
            value[frozenset(zip(own, x, strict=True))] + prior.log_stage(m, len(own), beta, prod(cards[k] for k in own))
            for own in places.sets
            for x in product(*(range(cards[k]) for k in own))
        ]
        return DeepWeights(np.array(cards), np.array(stages), prior.splits(m, beta))
    level = prior.level_weights(np.array(cards), beta)
    tables = [np.array(np.broadcast_to(s, (m, max(cards)) * t)) for t, s in enumerate(level.stages)]
    tables.append(np.array(level.deepest))
    for t in range(beta + 1):
        for own in product(range(m), repeat=t):
            if len(set(own)) == t:
                for x in product(*(range(cards[k]) for k in own)):
                    at = tuple(n for pair in zip(own, x, strict=True) for n in pair)
                    tables[t][at[: tables[t].ndim]] += value[frozenset(zip(own, x, strict=True))]
    return LevelWeights(np.array(cards), tables[:-1], tables[-1], level.splits)


@pytest.fixture
def calls(monkeypatch):
    """The log-weights that the recursion alone found, and what the search made of them."""
    found = []

    def recorded(*arguments):
        found.append((arguments[-1][0], original(*arguments)))
        return found[-1][1]

    original = search.best_of_trees
    monkeypatch.setattr(search, "best_of_trees", recorded)
    return found


def check(weights, trees, scores):
    values = log_weights(trees, scores)
    value, found = weights.maximum()
    if values.max() == -inf:
        assert value == -inf
        return
    assert isclose(value, values.max(), rel_tol=1e-9, abs_tol=1e-9)
    assert isclose(value, values[trees[0].index(frozenset(map(frozenset, found)))], rel_tol=1e-9, abs_tol=1e-9)


@pytest.mark.parametrize("chances", CHANCES)
@pytest.mark.parametrize("scale", [0.0, 0.5, 1.0, 2.0, 5.0, 50.0, 1000.0])
def test_the_best_of_four_binary_variables_is_that_of_all_stagings(scale, chances):
    trees = all_trees(FOUR, chances)
    assert len(trees[0]) == 61_712
    assert isclose(np.exp(trees[1]).sum(), 1.0)
    for seed in range(8):
        scores = scale * np.random.default_rng(seed).normal(size=len(contexts(FOUR)))
        check(weights_of(FOUR, scores, TreePrior(*chances), (LevelWeights, DeepWeights)[seed % 2]), trees, scores)


@pytest.mark.parametrize("zeros", [0.1, 0.3, 0.7])
def test_stages_may_have_no_weight(zeros):
    trees = all_trees(FOUR)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        scores = 2 * rng.normal(size=len(contexts(FOUR)))
        scores[rng.random(len(scores)) < zeros] = -inf
        check(weights_of(FOUR, scores, TreePrior(), (LevelWeights, DeepWeights)[seed % 2]), trees, scores)


def test_the_recursion_alone_misses_better_stagings(calls):
    chances, scale = CHANCES[2], 2.0
    trees = all_trees(FOUR, chances)
    for seed in range(20):
        scores = scale * np.random.default_rng(seed).normal(size=len(contexts(FOUR)))
        check(weights_of(FOUR, scores, TreePrior(*chances), DeepWeights), trees, scores)
    assert all(best.proven for _, best in calls)
    gains = np.array([best.log_weight - before for before, best in calls])
    assert (gains > 0.01).sum() >= 3
    assert gains.min() >= 0.0


def test_mixed_cardinalities():
    cards = (2, 3, 2, 2)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        scores = 2 * rng.normal(size=len(contexts(cards)))
        scores[rng.random(len(scores)) < 0.35] = -inf
        forbidden = {c for c, score in zip(contexts(cards), scores, strict=True) if score == -inf}
        trees = listed(naive.tree_prior_of_all(cards, 4, forbidden=forbidden), cards)
        assert len(trees[0]) > 100
        check(weights_of(cards, scores, TreePrior(), (LevelWeights, DeepWeights)[seed % 2]), trees, scores)


@pytest.mark.parametrize("n", [20, 400, 20_000])
def test_the_best_staging_of_a_target_is_that_of_all(n):
    """The scores of data: with few rows most contexts are alike, with many they differ by thousands."""
    trees = all_trees(FOUR)
    table = random_table([2] * 5, n, np.random.default_rng(n))
    scores = Scores(table, beta=4, prior="tree")
    rows, weights = rows_of(table.collapse())
    cards = table.cards
    values = np.array([naive.log_z(rows, weights, cards, 4, dict(c), 1.0) for c in contexts(FOUR)])
    best, staging = scores.best_staging(table.variables[4], table.variables[:4])
    assert isclose(best, log_weights(trees, values).max(), rel_tol=1e-9)
    assert isclose(best, scores.staging_score(table.variables[4], staging), rel_tol=1e-9)


@pytest.mark.parametrize("kind", [LevelWeights, DeepWeights])
@pytest.mark.parametrize("prior", [UniformPrior(), SparsePrior()])
def test_the_recursion_is_enough_where_weights_belong_to_stagings(prior, kind, calls):
    stagings, _, rows = all_trees(FOUR)
    sizes = np.array([len(c) for c in contexts(FOUR)])
    shares = np.array([-np.log(comb(4, t)) / 2**t for t in sizes]) if prior.name == "sparse" else np.zeros(len(sizes))
    for seed in range(4):
        scores = 2 * np.random.default_rng(seed).normal(size=len(sizes))
        check(weights_of(FOUR, scores, prior, kind), (stagings, np.append(shares, 0.0)[rows].sum(axis=1), rows), scores)
    assert not calls


def test_five_context_variables_of_which_four_are_there(calls):
    """With a bound beyond the number of variables all of them may be in a context, and nothing is left to split."""
    trees = all_trees(FOUR)
    scores = 2 * np.random.default_rng(0).normal(size=len(contexts(FOUR)))
    four = weights_of(FOUR, scores, TreePrior(), DeepWeights)
    five = DeepWeights(four.cards, four.stages, TreePrior().splits(4, 5))
    check(five, trees, scores)
    assert len(calls) == 1


def test_where_there_is_too_much_to_look_at_the_staging_found_so_far_is_taken(calls, monkeypatch):
    chances, trees = CHANCES[2], all_trees(FOUR, CHANCES[2])
    monkeypatch.setattr(search, "MOST_STEPS", 3)
    for seed in range(20):
        scores = 2 * np.random.default_rng(seed).normal(size=len(contexts(FOUR)))
        value, found = weights_of(FOUR, scores, TreePrior(*chances), DeepWeights).maximum()
        row = trees[0].index(frozenset(map(frozenset, found)))
        assert isclose(value, log_weights(trees, scores)[row], rel_tol=1e-9)
    assert {best.proven for _, best in calls} == {True, False}
    assert all(best.log_weight >= before for before, best in calls)
