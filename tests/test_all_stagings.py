"""All stagings, also those that no decision tree draws: sums, maxima, draws and probabilities against enumeration."""

from collections import Counter
from functools import cache
from itertools import permutations
from math import exp, inf, isclose, log, prod

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import naive
from cslearn import CStree, CStreeLearner
from cslearn.cli.app import app
from cslearn.data import Table
from cslearn.errors import InputError, LimitError
from cslearn.estimators.deep import check_fit
from cslearn.orders import ExactOrders, SubsetScores
from cslearn.posterior import CStreePosterior
from cslearn.scores import Scores
from cslearn.stagings import Context, Staging, count
from cslearn.stagings.deep import DeepWeights
from cslearn.stagings.every import (
    BinaryWeights,
    CoverWeights,
    all_weights,
    cover_fits,
    log_sum_of_binary_others,
    tree_weights,
)
from cslearn.stagings.level import inclusion_exclusion
from problems import random_table, rows_of

# Binary levels have a closed form; from four variables on with the second family, and with splits outside of a triple.
LEVELS = [((2, 2, 2), 3), ((2,) * 4, 3), ((2, 2, 3), 3), ((3, 2, 3), 3), ((2, 2), 3), ((3,), 4), ((2, 2, 3), 2)]


def key(context):
    return frozenset(context.items())


@cache
def stagings_of(cards, beta):
    return naive.stagings(cards, beta)


def level_and_stagings(cards, beta, rng, scale=1.0, zeros=0.0):
    """Random log-weights of contexts, in tables, and the log-weight of every staging."""
    m, d = len(cards), max(cards)
    # What stands where a variable stands twice is never read.
    tables = [np.full((m, d) * t, 1e6) for t in range(beta + 1)]
    weights = {}
    for context in naive.contexts(cards, beta):
        weights[key(context)] = value = -inf if rng.random() < zeros else scale * rng.normal()
        for variables in permutations(context):
            tables[len(context)][tuple(n for v in variables for n in (v, context[v]))] = value
    stagings = [(sum(weights[key(c)] for c in s), s) for s in stagings_of(cards, beta)]
    return all_weights(np.array(cards), tables), stagings


@settings(max_examples=40, deadline=None)
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


@settings(max_examples=40, deadline=None)
@given(level=st.sampled_from(LEVELS), seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([0.0, 1.0, 10.0]))
def test_probabilities_of_stages_and_of_unused_variables_equal_enumeration(level, seed, scale):
    cards, beta = level
    weights, values = level_and_stagings(cards, beta, np.random.default_rng(seed), scale)
    total = naive.log_sum(v for v, _ in values)
    expected, unused, numbers = Counter(), np.zeros(len(cards)), Counter()
    for value, staging in values:
        numbers[len(staging)] += exp(value - total)
        for context in staging:
            expected[key(context)] += exp(value - total)
        unused[[k for k in range(len(cards)) if not any(k in c for c in staging)]] += exp(value - total)
    found = weights.stage_probabilities()
    for context in naive.contexts(cards, beta):
        variables = tuple(sorted(context))
        probability = found[variables][tuple(context[v] for v in variables)] if variables in found else 0.0
        assert isclose(probability, expected[key(context)], rel_tol=1e-7, abs_tol=1e-9)
    assert isclose(sum(p.sum() / prod(cards[v] for v in k) for k, p in found.items()), 1.0, rel_tol=1e-9)
    np.testing.assert_allclose(weights.unused_probabilities(), unused, rtol=1e-7, atol=1e-10)
    of_numbers = weights.n_stages()
    np.testing.assert_allclose(of_numbers, [numbers[k] for k in range(len(of_numbers))], atol=1e-9)
    assert set(numbers) <= set(range(len(of_numbers)))


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


@pytest.mark.parametrize(("cards", "zeros"), [((2,) * 4, 0.4), ((2, 3, 2, 2), 0.5)])
@pytest.mark.parametrize("kind", ["all", "tree", "deep"])
def test_four_context_variables_with_many_zeros_equal_enumeration(cards, zeros, kind):
    """Most contexts have weight zero, so that the stagings that are left can be listed."""
    rng = np.random.default_rng(12)
    m, d = len(cards), max(cards)
    tables = [np.full((m, d) * t, 1e6) for t in range(5)]
    weights = {}
    for context in naive.contexts(cards, 4):
        value = -inf if rng.random() < zeros else rng.normal()
        weights[key(context)] = value
        for variables in permutations(context):
            tables[len(context)][tuple(n for v in variables for n in (v, context[v]))] = value
    listed = naive.stagings(cards, 4, allowed={c for c, value in weights.items() if value > -inf})
    values = [(sum(weights[key(c)] for c in s), s) for s in listed if kind == "all" or naive.is_tree(s)]
    assert len(values) > 40 and max(len(c) for _, s in values for c in s) == 4
    if kind == "deep":
        flat = [weights[key(c)] for c in naive.contexts(cards, 4)]
        level = DeepWeights(np.array(cards), np.array(flat), inclusion_exclusion(4))
    else:
        level = (all_weights if kind == "all" else tree_weights)(np.array(cards), tables)
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


def test_both_ways_agree_on_binary_levels():
    rng = np.random.default_rng(4)
    tables = [np.zeros((6, 2) * t) for t in range(4)]
    for context in naive.contexts([2] * 6, 3):
        value = rng.normal()
        for variables in permutations(context):
            tables[len(context)][tuple(n for v in variables for n in (v, context[v]))] = value
    closed, cover = BinaryWeights(np.array([2] * 6), tables), CoverWeights.of_level(np.array([2] * 6), tables)
    assert isclose(closed.log_sum(), cover.log_sum(), rel_tol=1e-12)
    assert isclose(closed.maximum()[0], cover.maximum()[0], rel_tol=1e-12)
    np.testing.assert_allclose(closed.unused_probabilities(), cover.unused_probabilities(), atol=1e-12)


@pytest.mark.parametrize("m", range(3, 9))
def test_the_closed_form_counts_all_stagings(m):
    trees = all_weights(np.array([2] * m), [np.zeros((m, 2) * t) for t in range(4)]).trees.log_sum()
    assert round(exp(np.logaddexp(trees, log_sum_of_binary_others(m, 0.0, 0.0)))) == count([2] * m, 3)


@pytest.mark.parametrize(("cards", "beta"), [((2,) * 4, 4), ((2, 2, 3, 3), 3), ((2, 2, 2, 3), 3), ((2, 3, 4), 3)])
def test_covers_count_all_stagings(cards, beta):
    m, d = len(cards), max(cards)
    weights = all_weights(np.array(cards), [np.zeros((m, d) * t) for t in range(beta + 1)])
    assert round(exp(weights.log_sum())) == count(cards, beta)


# ---------------------------------------------------------------- with data
TABLES = [([2] * 5, 3), ([2, 3, 2, 2], 3)]


@pytest.mark.parametrize("prior", ["uniform", "sparse"])
@pytest.mark.parametrize(("cards", "beta"), TABLES)
def test_local_order_scores_equal_the_sum_over_all_stagings(cards, beta, prior):
    table = random_table(cards, 25, np.random.default_rng(5))
    rows, weights = rows_of(table)
    scores = Scores(table, beta=beta, prior=prior, ess=2.0, stagings="all")
    subsets = SubsetScores(scores)
    names = table.variables
    for i, target in list(enumerate(names))[-1:]:
        candidates = scores.candidates[i]
        for subset in range(1 << len(candidates)):
            level = [int(c) for k, c in enumerate(candidates) if subset >> k & 1]
            terms = naive.log_joint_terms(rows, weights, table.cards, i, level, beta, 2.0, prior, "all")
            total, best = naive.log_sum(v for v, _ in terms), max(v for v, _ in terms)
            before = [names[c] for c in level]
            assert isclose(scores.local_order_score(target, before), total, rel_tol=1e-9)
            assert isclose(subsets.local[i][subset], total, rel_tol=1e-9)
            value, staging = scores.best_staging(target, before)
            assert isclose(value, best, rel_tol=1e-9)
            assert isclose(subsets.best[i][subset], best, rel_tol=1e-9)
            assert isclose(scores.staging_score(target, staging), best, rel_tol=1e-9)
            for k, c in enumerate(candidates):
                if c in level:
                    unused = exp(subsets.without[i][subset & ~(1 << k)] - subsets.sums[i][subset])
                    expected = sum(exp(v - total) for v, s in terms if not any(c in x for x in s))
                    assert isclose(unused, expected, rel_tol=1e-8)


def test_the_prior_sums_to_one_over_all_stagings():
    table = random_table([2, 2, 2, 2, 2], 10, np.random.default_rng(6))
    for prior in ("uniform", "sparse"):
        scores = Scores(table.take(np.arange(0)), beta=3, prior=prior, stagings="all")
        scope = {v: table.states[i] for i, v in enumerate(table.variables[:4])}
        everything = [
            Staging.trusted(scope, [Context((f"v{k}", x) for k, x in c.items()) for c in s])
            for s in naive.stagings([2] * 4, 3)
        ]
        values = [scores.staging_score("v4", staging) for staging in everything]
        assert isclose(naive.log_sum(values), 0.0, abs_tol=1e-9)
        of_trees = Scores(table.take(np.arange(0)), beta=3, prior=prior)
        drawn = [naive.is_tree(s) for s in naive.stagings([2] * 4, 3)]
        assert [of_trees.staging_score("v4", s) > -inf for s in everything] == drawn


@pytest.mark.parametrize(("cards", "prior"), [([2, 2, 2, 2], "uniform"), ([2, 3, 2, 2], "sparse")])
def test_the_exact_search_sums_over_all_orders_and_stagings(cards, prior):
    table = random_table(cards, 30, np.random.default_rng(7))
    rows, weights = rows_of(table)
    terms, log_scores = {}, []
    for order in permutations(range(4)):
        for t, i in enumerate(order):
            level = tuple(sorted(order[:t]))
            if (i, level) not in terms:
                values = naive.log_joint_terms(rows, weights, table.cards, i, level, 3, 1.0, prior, "all")
                terms[i, level] = naive.log_sum(v for v, _ in values)
        log_scores.append(sum(terms[i, tuple(sorted(order[:t]))] for t, i in enumerate(order)) - log(24))
    exact = ExactOrders(SubsetScores(Scores(table, beta=3, prior=prior, stagings="all")))
    assert isclose(exact.log_evidence, naive.log_sum(log_scores), rel_tol=1e-10)
    of_trees = ExactOrders(SubsetScores(Scores(table, beta=3, prior=prior)))
    assert not isclose(of_trees.log_evidence, naive.log_sum(log_scores), rel_tol=1e-6)


@pytest.mark.parametrize(("cards", "prior"), [([2, 2, 2, 2], "uniform"), ([2, 3, 2, 2], "sparse")])
def test_averaged_predictions_are_ratios_of_evidences(cards, prior):
    """The probability of a row, averaged over all orders and stagings, is what it adds to the evidence."""
    table = random_table(cards, 30, np.random.default_rng(10))
    rows = [[0, 0, 0, 0], [1, 1, 0, 1], [0, 1, 1, 0]]

    def posterior(data, kind="all"):
        return CStreePosterior.of_exact(ExactOrders(SubsetScores(Scores(data, beta=3, prior=prior, stagings=kind))), 0)

    def with_row(row):
        return Table(np.vstack([table.codes, row]), table.variables, table.states)

    whole = posterior(table)
    expected = [posterior(with_row(row)).log_evidence - whole.log_evidence for row in rows]
    found = whole.log_prob(pd.DataFrame(rows, columns=table.variables))
    np.testing.assert_allclose(found, expected, atol=1e-8)
    assert np.abs(posterior(table, "tree").log_prob(pd.DataFrame(rows, columns=table.variables)) - found).max() > 1e-6


# ---------------------------------------------------------------- learning
def ring(n, seed=0):
    """`child` follows two corners of three variables and three edges around them: no tree draws that."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(2, size=(n, 5))
    a, b, c = codes[:, 0], codes[:, 1], codes[:, 2]
    chance = np.select([(a == 0) & (b == 1), (b == 0) & (c == 1), (a == 1) & (c == 0)], [0.1, 0.9, 0.3], default=0.6)
    chance = np.where((a == 0) & (b == 0) & (c == 0), 0.05, chance)
    codes[:, 4] = rng.random(n) < chance
    return Table(codes, ["a", "b", "c", "other", "child"], [["no", "yes"]] * 5)


KNOWN = {"tiers": [["a", "b", "c", "other"], ["child"]]}


@pytest.mark.parametrize("search", ["exact", pytest.param("mcmc", marks=pytest.mark.slow)])
def test_a_staging_that_no_tree_draws_is_learned(search, tmp_path):
    data, test = ring(8000), ring(4000, seed=1)
    common = {"beta": 3, "prior": "sparse", "knowledge": KNOWN, "search": search, "random_state": 0}
    everything = CStreeLearner(stagings="all", **common).fit(data)
    trees = CStreeLearner(**common).fit(data)
    expected = ["a=no, b=no, c=no", "a=no, b=yes", "a=yes, b=yes, c=yes", "a=yes, c=no", "b=no, c=yes"]
    stages = everything.cstree_.stagings["child"]
    assert sorted(", ".join(sorted(str(c).split(", "))) for c in stages) == expected
    assert everything.log_score_ > trees.log_score_ + 1
    assert everything.score(test) > trees.score(test)
    assert trees.cstree_.stagings["child"] != stages
    # The model is one like any other.
    everything.cstree_.save(tmp_path / "ring.json")
    assert CStree.load(tmp_path / "ring.json") == everything.cstree_
    assert set(everything.cstree_.to_dag().predecessors("child")) == {"a", "b", "c"}
    assert everything.cstree_.is_markov_equivalent(CStree.load(tmp_path / "ring.json"))
    assert everything.posterior_.stage_probability("child", {"b": "no", "c": "yes"}) > 0.75
    averaged = everything.posterior_.log_prob(test).mean()
    assert abs(averaged - everything.score(test)) < 0.01
    drawn = everything.posterior_.sample(20, random_state=0)
    assert any(tree.stagings["child"] == stages for tree in drawn)


def test_up_to_two_context_variables_nothing_changes():
    data = ring(200)
    assert (
        CStreeLearner(stagings="all", random_state=0).fit(data).cstree_
        == CStreeLearner(random_state=0).fit(data).cstree_
    )


def test_what_cannot_be_done_says_what_to_choose_instead():
    with pytest.raises(
        InputError, match="gives them to decision trees: take prior='sparse' or 'uniform', or stagings="
    ):
        CStreeLearner(beta=3, stagings="all").fit(ring(50))
    with pytest.raises(InputError, match="no stagings of the kind 'some': there are 'tree' and 'all'"):
        CStreeLearner(stagings="some").fit(ring(50))
    wide = random_table([3] * 7, 60, np.random.default_rng(8))
    with pytest.raises(LimitError, match=r"'v0' has 6 candidates .* Give stagings='tree' .*, alpha=3 or"):
        check_fit(Scores(wide, beta=3, stagings="all", prior="sparse"))


@pytest.mark.parametrize("cards", [[3] * 6, [2, 3, 2, 4, 3], [2, 2, 3, 2, 2, 2, 2, 2]])
def test_candidates_are_chosen_where_all_stagings_are_too_many(cards):
    """Whatever the order of the columns; the prior counts the others, without their stagings."""
    data = random_table(cards, 100, np.random.default_rng(8))
    learner = CStreeLearner(beta=3, stagings="all", prior="sparse", random_state=0).fit(data)
    sizes = dict(zip(data.variables, data.cards, strict=True))
    fitting = [cover_fits([sizes[w] for w in own], 3) for own in learner.candidates_.sets.values()]
    assert all(fitting)
    assert max(learner.betas_.values()) == 3


def test_levels_of_chosen_candidates_are_normalised_without_the_stagings_of_the_others():
    table = random_table([2, 2, 3, 2], 30, np.random.default_rng(9))
    for prior in ("uniform", "sparse"):
        common = {"beta": 3, "prior": prior, "chosen_from": {"v3": 15}}
        everything, trees = Scores(table, stagings="all", **common), Scores(table, **common)
        cards = np.array([2, 2, 3])
        share = everything.prior.log_normaliser(cards, 3, "all") - everything.prior.log_normaliser(cards, 3)
        found = everything.log_normaliser(3, cards)
        assert isclose(found, trees.log_normaliser(3, cards) + share, rel_tol=1e-12)
        # Many more stagings of 15 than of three candidates.
        assert found > everything.prior.log_normaliser(cards, 3, "all") + (5 if prior == "uniform" else 0.1)
        assert isclose(SubsetScores(everything).local[3][7], everything.local_order_score("v3", ["v0", "v1", "v2"]))


def test_the_command_line_takes_all_stagings(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    monkeypatch.chdir(tmp_path)
    ring(400).to_frame().to_csv("ring.csv", index=False)
    common = ["fit", "ring.csv", "--beta", "3", "--stagings", "all"]
    done = CliRunner().invoke(app, [*common, "--prior", "sparse", "-o", "m.json"])
    assert done.exit_code == 0, done.output
    assert CStree.load("m.json").learning["settings"]["stagings"] == "all"
