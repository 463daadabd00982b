"""Deep stagings against plain loops: counts, sums over trees, and what a level tells of its prunings."""

from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from math import exp, inf

import numpy as np
import pytest

from cslearn.counts import BitCounts, Contexts
from cslearn.data import Table
from cslearn.grown import GrownEngine, GrownLevel, GrownScores, Growth
from naive import log_sum
from naive_grown import PRIOR, PlainCounts, Trees, chances, likely_stages, log_sum_of, pairs, prunings, small_table
from problems import random_table

SEEDS = [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (3, 4, 5))]
# All sets of parents, and all splits.
EVERYTHING = Growth(slack=inf, width=(99,), near=inf, wide=inf, look=0, most=99, sets=0)


def random_contexts(table, rng, number=40):
    targets, pointers, variables, states = [], [0], [], []
    for _ in range(number):
        target = int(rng.integers(table.p))
        others = [k for k in range(table.p) if k != target]
        for k in rng.choice(others, int(rng.integers(0, min(3, len(others)) + 1)), replace=False).tolist():
            variables.append(k)
            states.append(int(rng.integers(table.cards[k])))
        targets.append(target)
        pointers.append(len(variables))
    return Contexts(*(np.array(a, dtype=np.int64) for a in (targets, pointers, variables, states)))


def levels_of(p):
    """All targets with all sets of variables before them."""
    for i in range(p):
        others = [k for k in range(p) if k != i]
        for size in range(p):
            for level in combinations(others, size):
                yield i, level


def questions(p):
    found = list(levels_of(p))
    before = np.zeros((len(found), p), dtype=bool)
    for r, (_, level) in enumerate(found):
        before[r, list(level)] = True
    return found, np.array([i for i, _ in found]), before


# ---------------------------------------------------------------- counts
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("weights", [None, "whole", "real"])
@pytest.mark.parametrize("set_from_outside", [False, True])
def test_counts_on_bits_equal_plain_loops(seed, weights, set_from_outside):
    table = small_table(seed, weights=weights)
    rng = np.random.default_rng(100 + seed)
    mask = rng.random((table.n, table.p)) < 0.3 if set_from_outside else None
    contexts = random_contexts(table, rng)
    fast, slow = BitCounts(table, mask), PlainCounts(table, mask)
    assert fast.total == pytest.approx(slow.total)
    np.testing.assert_array_equal(fast.starts, slow.starts)
    (own, counts), (own_there, counts_there) = fast.of(contexts), slow.of(contexts)
    np.testing.assert_allclose(own, own_there, atol=1e-12)
    np.testing.assert_allclose(fast.own(contexts), own_there, atol=1e-12)
    defined = (own_there > 0).sum(axis=1) > 1
    assert defined.any() and own_there.sum() > 0
    states = np.arange(own.shape[1]) < fast.cards[contexts.targets][:, None]
    there = defined[:, None] & states
    np.testing.assert_allclose(counts[there], counts_there[there], atol=1e-12)


def test_many_rows_are_counted_as_few_are():
    # Contexts of many rows are counted by bits, those of few row by row: both are met here.
    table = random_table([3, 2, 4], 1500, np.random.default_rng(3))
    contexts = random_contexts(table, np.random.default_rng(4), 30)
    own, counts = BitCounts(table).of(contexts)
    own_there, counts_there = PlainCounts(table).of(contexts)
    assert own.sum(axis=1).max() > 1000 and own.sum(axis=1).min() < 64
    np.testing.assert_array_equal(own, own_there)
    there = np.arange(own.shape[1]) < np.array(table.cards)[contexts.targets][:, None]
    np.testing.assert_array_equal(counts[there], counts_there[there])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weights", [None, "real"])
def test_counts_are_all_that_is_asked_of_rows(seed, weights):
    table = small_table(seed, p=4, n=60, weights=weights)
    mask = np.random.default_rng(seed).random((table.n, table.p)) < 0.2
    usual = GrownScores(table, prior=PRIOR, interventions=mask)
    other = GrownScores(table, prior=PRIOR, interventions=mask)
    other.counts = PlainCounts(table, mask)
    _, targets, before = questions(table.p)
    np.testing.assert_allclose(
        other.contexts.log_sums(targets, before), usual.contexts.log_sums(targets, before), rtol=1e-10
    )


# ---------------------------------------------------------------- sums over trees
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0])
def test_with_all_splits_the_sum_is_that_over_all_trees(seed, gamma):
    table = small_table(seed, p=4, n=(5, 30, 90)[seed % 3], weights=(None, None, "real")[seed % 3])
    scores = GrownScores(table, beta=2 + seed % 2, ess=1.5, gamma=gamma, prior=PRIOR, growth=EVERYTHING)
    found, targets, before = questions(table.p)
    sums = scores.contexts.log_sums(targets, before)
    for (i, level), value in zip(found, sums, strict=True):
        trees = Trees(table, i, PRIOR, scores.growth, 1.5, gamma)
        assert value == pytest.approx(trees.log_sum_of_all(level), rel=1e-10), (i, level)


GROWTHS = {
    "default": Growth(),
    "narrow": Growth(slack=0.5, width=(2, 1), near=2.0, wide=1.5),
    "no look": Growth(look=0, width=(3, 2), near=4.0, slack=2.0),
    "far": Growth(look=2, enough=5.0, width=(2, 2, 1), slack=4.0, most=2),
    "likely": Growth(slack=4.0, within=1.0),
}


@pytest.mark.parametrize("name", GROWTHS)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_splits_that_are_made_follow_the_rule(name, seed):
    table = small_table(seed, p=4 + (seed == 1), n=(40, 90, 200)[seed % 3])
    gamma = (0.0, 0.5, 1.0)[seed % 3]
    scores = GrownScores(table, beta=3, gamma=gamma, prior=PRIOR, growth=GROWTHS[name])
    found, targets, before = questions(table.p)
    sums = scores.contexts.log_sums(targets, before)
    compared = 0
    for r in np.random.default_rng(seed).permutation(len(found))[:20]:
        i, level = found[r]
        trees = Trees(table, i, PRIOR, scores.growth, 1.0, gamma)
        value = log_sum_of(trees.grown(level))
        if not trees.ties:
            compared += 1
            assert sums[r] == pytest.approx(value, rel=1e-10), (i, level)
    assert compared > 10


@pytest.mark.parametrize("seed", SEEDS)
def test_sums_depend_on_the_question_alone(seed):
    table = small_table(seed, p=5, n=120)
    _, targets, before = questions(table.p)
    usual = GrownScores(table, beta=4, prior=PRIOR).contexts.log_sums(targets, before)
    rng = np.random.default_rng(seed)
    for max_memory in (2.0**31, 1.0):
        contexts = GrownScores(table, beta=4, prior=PRIOR, max_memory=max_memory).contexts
        some = rng.permutation(len(targets))
        for part in np.array_split(some, 7):
            np.testing.assert_array_equal(contexts.log_sums(targets[part], before[part]), usual[part])
        if max_memory == 1.0:
            # It did forget: what was asked before is filled anew.
            fills = contexts.store.fills
            contexts.log_sums(targets[some[:5]], before[some[:5]])
            assert contexts.store.fills > fills


@pytest.mark.parametrize("max_memory", [2.0**31, 1.0])
def test_threads_that_share_contexts_do_not_disturb_each_other(max_memory):
    table = small_table(4, p=5, n=130)
    _, targets, before = questions(table.p)
    usual = GrownScores(table, beta=4, prior=PRIOR).contexts.log_sums(targets, before)
    contexts = GrownScores(table, beta=4, prior=PRIOR, max_memory=max_memory).contexts

    def ask(seed):
        some = np.random.default_rng(seed).permutation(len(targets))
        parts = np.array_split(some, 16)
        return some, np.concatenate([contexts.log_sums(targets[part], before[part]) for part in parts])

    with ThreadPoolExecutor(4) as pool:
        for some, sums in pool.map(ask, range(8)):
            np.testing.assert_array_equal(sums, usual[some])


def test_the_comparison_with_the_rule_can_fail():
    table = small_table(4, p=4, n=90)
    _, targets, before = questions(table.p)
    sums = [
        GrownScores(table, beta=3, prior=PRIOR, growth=growth).contexts.log_sums(targets, before)
        for growth in (*GROWTHS.values(), EVERYTHING)
    ]
    for one, other in combinations(sums, 2):
        assert np.abs(one - other).max() > 1e-6
    # The sum over fewer trees is never larger than that over all.
    assert all((one <= sums[-1] + 1e-9).all() for one in sums)


# ---------------------------------------------------------------- levels
def a_level(seed, gamma=0.5, share=0.6):
    """A level whose target follows the variables before it, with the prunings of its grown tree, listed."""
    rng = np.random.default_rng(seed)
    cards = [*rng.integers(2, 4, 3).tolist(), 2 + seed % 2]
    codes = np.column_stack([rng.integers(0, d, 110) for d in cards])
    follows = np.where(codes[:, 0] > 0, codes[:, 1] > 0, codes[:, 2] % 2)
    codes[:, 3] = np.where(rng.random(len(codes)) < share, follows, codes[:, 3])
    columns = rng.permutation(4)
    table = Table(codes[:, columns], tuple("abcd"), tuple(tuple(range(cards[c])) for c in columns))
    growth = Growth(width=(2, 1), near=inf, wide=inf, slack=8.0, within=inf)
    scores = GrownScores(table, beta=3, gamma=gamma, prior=PRIOR, growth=growth)
    target = int(np.argsort(columns)[3])
    before = tuple(k for k in range(4) if k != target)
    trees = Trees(table, target, PRIOR, scores.growth, 1.0, gamma)
    root = trees.grown(before)
    assert not trees.ties and len(root.splits) > 2
    return table, scores, GrownLevel(scores.contexts, target, np.array(before)), root, prunings(root)


# Those without ties.
LEVEL_SEEDS = (1, 5, 6, 8)


def stages_of(level, nodes):
    place = {int(c): k for k, c in enumerate(level.columns)}
    return sorted(pairs({place[k]: x for k, x in node.context.items()}) for node in nodes)


@pytest.mark.parametrize("seed", LEVEL_SEEDS)
def test_a_level_equals_its_prunings(seed):
    table, scores, level, _, found = a_level(seed)
    assert level.log_sum() == pytest.approx(log_sum(value for value, _ in found), rel=1e-10)
    asked = scores.contexts.log_sums(np.array([level.target]), level.before[None])[0]
    assert level.log_sum() == pytest.approx(asked, rel=1e-12)
    # The best one.
    value, stages = level.maximum()
    best = max(value for value, _ in found)
    assert value == pytest.approx(best, rel=1e-10)
    assert sorted(stages) in [stages_of(level, nodes) for v, nodes in found if v > best - 1e-9]
    # Each stage, their number, and predictions.
    probable, numbers = {}, np.zeros(max(len(nodes) for _, nodes in found) + 1)
    rows = np.array([[int(x) for x in row] for row in np.ndindex(*table.cards)])
    mean = np.zeros((len(rows), table.cards[level.target]))
    for chance, nodes in chances(found):
        numbers[len(nodes)] += chance
        for stage in stages_of(level, nodes):
            probable[stage] = probable.get(stage, 0.0) + chance
        for node in nodes:
            here = [all(row[k] == x for k, x in node.context.items()) for row in rows]
            counts = np.array(node.counts) + node.a / len(node.counts)
            mean[here] += chance * counts / counts.sum()
    told = level.stage_probabilities()
    assert set(told) == set(probable)
    for stage, chance in probable.items():
        assert told[stage] == pytest.approx(chance, abs=1e-10)
    np.testing.assert_allclose(level.n_stages(), numbers, atol=1e-10)
    np.testing.assert_allclose(level.predictive(rows), mean, atol=1e-9)


@pytest.mark.parametrize(("seed", "share"), [(1, 0.6), (5, 0.5), (11, 0.4), (13, 0.5)])
def test_stages_are_split_further_where_that_is_likely(seed, share):
    _, _, level, root, _ = a_level(seed, share=share)
    best, numbers = sorted(level.maximum()[1]), []
    assert sorted(level.likely(1.0)) == best
    for least in (0.5, 0.1, 0.05, 0.02, 0.01, 0.0):
        stages = sorted(level.likely(least))
        assert stages == stages_of(level, likely_stages(root, least))
        assert {k for stage in stages for k, _ in stage} == {k for stage in best for k, _ in stage}
        numbers.append(len(stages))
    assert numbers == sorted(numbers)
    # In the first tree all splits on these variables are made.
    assert (numbers[-1] > len(best)) == (seed != 1)


@pytest.mark.parametrize("seed", LEVEL_SEEDS)
def test_a_level_without_a_variable_leaves_out_the_splits_on_it(seed):
    _, scores, level, root, found = a_level(seed)
    before = level.before.copy()
    edges = GrownEngine(scores.contexts).edges(np.array([level.target]), before[None])[0]
    for k, column in enumerate(level.columns.tolist()):
        rest, listed = level.without(k), prunings(root, banned=column)
        assert rest.size == level.size - 1
        assert rest.log_sum() == pytest.approx(log_sum(value for value, _ in listed), rel=1e-10)
        assert edges[column] == pytest.approx(1 - exp(rest.log_sum() - level.log_sum()), abs=1e-10)
        told, probable = rest.stage_probabilities(), {}
        for chance, nodes in chances(listed):
            for stage in stages_of(rest, nodes):
                probable[stage] = probable.get(stage, 0.0) + chance
        assert {stage: c for stage, c in told.items() if c > 0} == pytest.approx(probable, abs=1e-10)
        assert max(stages_of(rest, nodes) == sorted(rest.maximum()[1]) for _, nodes in listed)
    assert edges[level.target] == 0.0 and (edges > 0).any()
    # A variable is used where it is in a stage.
    used = sum(c * np.isin(range(len(edges)), [k for n in nodes for k in n.context]) for c, nodes in chances(found))
    np.testing.assert_allclose(edges, used, atol=1e-10)


@pytest.mark.parametrize("seed", LEVEL_SEEDS[:2])
def test_draws_of_a_level_have_the_chances_of_its_prunings(seed):
    _, _, level, _, found = a_level(seed)
    probable = {}
    for chance, nodes in chances(found):
        key = tuple(stages_of(level, nodes))
        probable[key] = probable.get(key, 0.0) + chance
    rng, n = np.random.default_rng(0), 4000
    drawn = dict.fromkeys(probable, 0)
    for _ in range(n):
        drawn[tuple(sorted(level.draw(rng)))] += 1
    often = [key for key, chance in probable.items() if n * chance > 5]
    deviations = [(drawn[key] - n * probable[key]) ** 2 / (n * probable[key]) for key in often]
    assert len(often) > 2 and sum(deviations) < len(often) + 4 * np.sqrt(2 * len(often))


@pytest.mark.parametrize("seed", LEVEL_SEEDS)
@pytest.mark.parametrize("gamma", [0.0, 1.0])
def test_a_row_left_out_is_a_ratio_of_sums_over_the_same_tree(seed, gamma):
    table, _, level, root, _ = a_level(seed, gamma=gamma)
    told = level.leave_one_out(np.array(table.codes))
    whole = log_sum_of(root)
    for row, value in zip(table.codes.tolist()[:25], told, strict=False):
        assert value == pytest.approx(whole - log_sum_of(root, row, level.target), abs=1e-9)
    # Given the rest no row is certain, and none is impossible.
    assert (told < 0).all() and np.isfinite(told).all()
