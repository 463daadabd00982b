"""The repeated screen of candidates, for many variables."""

import numpy as np
import pytest

from cslearn import CStree, CStreeLearner, random_cstree
from cslearn.candidates import Knowledge, candidate_sets
from cslearn.candidates.screen import FIRST, _Counter, screen
from cslearn.data import Table
from cslearn.errors import InputError
from cslearn.scores import Scores
from problems import random_table


def no_parents(sets):
    return dict.fromkeys(sets, ())


def test_gains_of_single_splits_are_those_of_the_scores():
    table = random_table([2, 3, 1, 4, 2], 80, np.random.default_rng(0))
    counter, scores = _Counter(table, 2.0), Scores(table, ess=2.0)
    for i, name in enumerate(table.variables):
        gains = counter.gains_alone(i)
        for j, other in enumerate(table.variables):
            if j == i or table.cards[j] == 1:
                assert gains[j] == -np.inf
            else:
                split = sum(scores.log_z(name, {other: x}) for x in range(table.cards[j]))
                assert np.isclose(gains[j], split - scores.log_z(name, {}))


def test_gains_within_parents_are_those_of_the_best_tree_with_one_variable_more():
    table = random_table([2, 3, 2, 2], 120, np.random.default_rng(1))
    counter, scores = _Counter(table, 1.0), Scores(table)
    gains = counter.gains_within(3, [0])
    split = {
        (k, x, j): sum(scores.log_z("v3", {f"v{k}": x, f"v{j}": y}) for y in range(table.cards[j]))
        for k in range(3)
        for x in range(table.cards[k])
        for j in range(3)
        if j != k
    }
    alone = {(k, x): scores.log_z("v3", {f"v{k}": x}) for k in range(3) for x in range(table.cards[k])}
    for j in (1, 2):
        within = max(split[0, x, j] - alone[0, x] for x in range(2))
        as_root = sum(max(alone[j, y], split[j, y, 0]) for y in range(table.cards[j])) - alone[0, 0] - alone[0, 1]
        assert np.isclose(gains[j], max(within, as_root))


def test_a_context_variable_that_is_hidden_at_first_enters_later():
    """`late` tells nothing about the target by itself: its effect is turned round by `root`."""
    states = {f"copy{i:02d}": (0, 1) for i in range(3 * FIRST)} | {"root": (0, 1), "late": (0, 1), "target": (0, 1)}
    copies = {f"copy{i:02d}": ["root=0", "root=1"] for i in range(3 * FIRST)}
    contexts = {
        "root": [""],
        **copies,
        "late": [""],
        "target": ["root=0, late=0", "root=0, late=1", "root=1, late=0", "root=1, late=1"],
    }
    structure = CStree.from_contexts(contexts, states=states)
    rows = {v: [[0.9, 0.1], [0.1, 0.9]] for v in copies}
    rows |= {"root": [[0.5, 0.5]], "late": [[0.5, 0.5]]}
    rows["target"] = [[0.9, 0.1], [0.7, 0.3], [0.1, 0.9], [0.3, 0.7]]
    data = structure.with_parameters(rows).sample_table(2000, random_state=1)
    first = screen(data, no_parents, knowledge=Knowledge())
    assert "late" not in first["target"]
    grown = screen(data, lambda sets: {**no_parents(sets), "target": ("root",)}, knowledge=Knowledge())
    assert "late" in grown["target"]
    learned = CStreeLearner(candidates="screen", n_iter=200, random_state=0).fit(data)
    assert "late" in learned.candidates_.sets["target"]
    assert learned.candidates_.method == "screen"


def test_the_screen_keeps_the_parents_that_can_be_found():
    tree = random_cstree(60, random_state=3)
    data = tree.sample_table(5000, random_state=4)
    found = CStreeLearner(candidates="all", n_iter=500, random_state=0).fit(data).cstree_
    sets = CStreeLearner(candidates="screen", n_iter=500, random_state=0).fit(data).candidates_.sets
    wanted = [(parent, v) for v in found.order for parent in found.parents[v] if parent in tree.parents[v]]
    assert len(wanted) > 60
    assert np.mean([parent in sets[v] for parent, v in wanted]) > 0.97


def test_sets_are_symmetric_and_respect_knowledge():
    data = random_cstree(40, random_state=3).sample_table(500, random_state=4)
    sets = screen(data, no_parents, knowledge=Knowledge())
    assert all(v in sets[u] for v in sets for u in sets[v])
    known = Knowledge(forbidden=[("X1", "X2")], required=[("X3", "X4")], tiers=[["X5"], ["X6"]])
    sets = screen(data, no_parents, knowledge=known)
    assert "X1" not in sets["X2"]
    assert "X3" in sets["X4"]
    assert "X6" not in sets["X5"]


def test_weighted_rows_count_as_repeated_rows():
    data = random_cstree(30, random_state=3).sample_table(300, random_state=4)
    weights = np.arange(300) % 3
    weighted = Table(data.codes, data.variables, data.states, weights)
    repeated = data.take(np.repeat(np.arange(300), weights))
    assert screen(weighted, no_parents, knowledge=Knowledge()) == screen(repeated, no_parents, knowledge=Knowledge())


def test_fractional_weights_are_refused():
    data = random_cstree(30, random_state=3).sample_table(300, random_state=4)
    weighted = Table(data.codes, data.variables, data.states, np.full(300, 0.5))
    with pytest.raises(InputError, match='whole numbers.*candidates="all"'):
        screen(weighted, no_parents, knowledge=Knowledge())


def test_auto_takes_all_while_memory_allows():
    data = random_cstree(30, random_state=3).sample_table(300, random_state=4)
    assert CStreeLearner(n_iter=50).fit(data).candidates_.method == "all"
    assert CStreeLearner(n_iter=50, max_memory=1e5).fit(data).candidates_.method == "screen"
    with pytest.raises(InputError, match="needs search="):
        candidate_sets(data, "screen")
