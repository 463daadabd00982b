"""Orders of many variables, found among few candidates of each, beside what they stand for with all of them."""

import numpy as np
import pytest

from cslearn import CStreeLearner, random_cstree
from cslearn.counts import BitCounts, columns_of
from cslearn.data import PackedTable, Table
from cslearn.grown import GrownEngine, GrownScores, LocalScores, best_partners, climbed_locally
from cslearn.grown.adaptive import FIRST_PRIOR
from cslearn.grown.local import _Climb


def few_candidates(seed, p=9, n=300, each=4):
    """Scores of a random table in which each variable has few candidates."""
    rng = np.random.default_rng(seed)
    table = random_cstree([2, 3] * (p // 2) + [2] * (p % 2), random_state=seed).sample_table(n, random_state=seed)
    sets = {v: [u for u in rng.permutation(table.variables) if u != v][:each] for v in table.variables}
    return GrownScores(table, prior=FIRST_PRIOR, candidates=sets)


@pytest.mark.parametrize("packed", [False, True])
def test_scores_on_columns_of_their_own_are_those_on_all_columns(packed):
    scores = few_candidates(1)
    if packed:
        names = scores.table.variables
        sets = {v: [names[c] for c in own] for v, own in zip(names, scores.candidates, strict=True)}
        scores = GrownScores(PackedTable.from_table(scores.table), prior=FIRST_PRIOR, candidates=sets)
    local, p, rng = LocalScores(scores), scores.table.p, np.random.default_rng(0)
    for target in range(p):
        own = np.sort(scores.candidates[target])
        some = rng.random((6, len(own))) < 0.6
        before = np.zeros((6, p), dtype=bool)
        before[:, own] = some
        sets = (some @ 2 ** np.arange(len(own))).tolist()
        np.testing.assert_allclose(
            local(target, sets), scores.contexts.log_sums(np.full(6, target), before), rtol=1e-12
        )


def test_forgotten_scores_and_contexts_are_computed_again(monkeypatch):
    scores = few_candidates(2)
    usual = climbed_locally(scores, np.arange(9), sweeps=20)
    monkeypatch.setattr("cslearn.grown.local.MOST_KNOWN", 0)
    monkeypatch.setattr("cslearn.grown.local.LEAST_MEMORY", 0.0)
    scores.max_memory = 0.0
    np.testing.assert_array_equal(climbed_locally(scores, np.arange(9), sweeps=20), usual)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("bound", [False, True])
def test_at_the_end_no_variable_has_a_better_place(seed, bound):
    scores, p = few_candidates(seed), 9
    before = np.zeros((p, p), dtype=bool)
    if bound:
        before[[3, 3, 5], [5, 1, 1]] = True  # 3, 5, 1
    engine = GrownEngine(scores.contexts, before)
    start = np.array([3, 5, 1, 0, 2, 4, 6, 7, 8])
    order = climbed_locally(scores, start, before, sweeps=50)
    reached = engine.local_scores(order).sum()
    assert sorted(order) == list(range(p)) and reached > engine.local_scores(start).sum()
    for v in range(p):
        rest = [u for u in order if u != v]
        for place in range(p):
            other = np.array([*rest[:place], v, *rest[place:]])
            if not np.tril(before[np.ix_(other, other)]).any():
                assert engine.local_scores(other).sum() <= reached + 1e-6
    assert not np.tril(before[np.ix_(order, order)]).any()


@pytest.mark.parametrize("heat", [1.0, 5.0])
@pytest.mark.parametrize("bound", [False, True])
def test_with_heat_places_are_drawn_by_what_their_orders_score(heat, bound):
    scores, p, draws = few_candidates(3, p=6, each=3), 6, 3000
    before = np.zeros((p, p), dtype=bool)
    if bound:
        before[[3, 3, 5], [5, 1, 1]] = True  # 3, 5, 1
    engine, rng = GrownEngine(scores.contexts, before), np.random.default_rng(0)
    start, local = np.array([3, 5, 1, 0, 2, 4]), LocalScores(scores)
    for v in range(p):
        rest = [u for u in start if u != v]
        orders = [np.array([*rest[:place], v, *rest[place:]]) for place in range(p)]
        logs = np.array([engine.local_scores(order).sum() for order in orders])
        allowed = np.array([not np.tril(before[np.ix_(order, order)]).any() for order in orders])
        chances = np.where(allowed, np.exp((logs - logs[allowed].max()) / heat), 0.0)
        chances /= chances.sum()
        drawn = np.zeros(p)
        for _ in range(draws):
            climb = _Climb(local, start, before)
            climb.move(v, heat, rng)
            drawn[climb.position[v]] += 1
        assert (drawn[~allowed] == 0).all()
        assert (np.abs(drawn - draws * chances) < 5 * np.sqrt(draws * chances * (1 - chances)) + 3).all()


def test_partners_are_those_whose_split_gains_most():
    table = random_cstree([2, 3, 2, 4, 2, 3], random_state=3).sample_table(200, random_state=3)
    store = GrownScores(table, prior=FIRST_PRIOR).contexts.store
    for i, found in enumerate(best_partners(BitCounts(table), 5, 0)):
        assert found.tolist() == store.splits(i).variables.tolist()
    allowed = np.ones((6, 6), dtype=bool)
    allowed[2, [0, 1]] = False
    found = best_partners(BitCounts(table), 2, 0, allowed)
    assert [len(own) for own in found] == [2] * 6 and not {0, 1} & set(found[2].tolist())


def test_partners_that_matter_only_together_are_found_by_looking_ahead():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (500, 12))
    codes[:, 7] = codes[:, 0] ^ codes[:, 1] ^ (rng.random(500) < 0.05)
    counts = BitCounts(Table(codes, [f"v{j}" for j in range(12)], [("n", "y")] * 12))
    assert set(best_partners(counts, 2, 11)[7]) == {0, 1}
    assert set(best_partners(counts, 2, 0)[7]) != {0, 1}


def test_columns_are_counted_as_they_are():
    table = random_cstree([2, 3, 4], random_state=0).sample_table(50, random_state=0)
    some = columns_of(table, np.array([2, 0]))
    assert some.cards.tolist() == [4, 2] and some.total == 50
    assert columns_of(PackedTable.from_table(table), np.array([2, 0])).fingerprint == some.fingerprint


def test_many_variables_have_partners_and_the_order_of_local_moves(monkeypatch):
    for module in ("growing", "plan"):
        monkeypatch.setattr(f"cslearn.estimators.{module}.MANY", 13)
    monkeypatch.setattr("cslearn.estimators.growing.PARTNERS", 6)
    truth = random_cstree(20, random_state=1)
    data = truth.sample(500, random_state=1)
    knowledge = {"tiers": [truth.order[:5], truth.order[5:]], "forbidden": [[truth.order[0], truth.order[6]]]}
    learner = CStreeLearner(knowledge=knowledge, random_state=0).fit(data)
    assert learner.candidates_.method == "partners" and max(learner.candidates_.sizes().values()) == 6
    assert set(learner.order_[:5]) == set(truth.order[:5])
    assert truth.order[0] not in learner.candidates_.sets[truth.order[6]]
    again = CStreeLearner(knowledge=knowledge, random_state=1, n_jobs=1).fit(data)
    assert again.cstree_ == learner.cstree_
    # All variables can be asked for.
    everyone = CStreeLearner(candidates="all", search="greedy", random_state=0).fit(data)
    assert set(everyone.candidates_.sizes().values()) == {19}
