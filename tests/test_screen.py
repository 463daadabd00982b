"""The repeated screen of candidates, for many variables."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from cslearn import Chains, CStree, CStreeLearner, random_cstree
from cslearn.candidates import Knowledge, candidate_sets
from cslearn.candidates.screen import FIRST, _Counter, screen
from cslearn.candidates.sets import memory_of_tables
from cslearn.counts import counts_of
from cslearn.data import Table, as_table
from cslearn.errors import InputError
from cslearn.estimators.greedy_search import greedy_search
from plain_counts import PlainTable
from problems import random_table, rows_of, tables


def no_parents(sets):
    return dict.fromkeys(sets, ())


@pytest.mark.parametrize("kind", [as_table, PlainTable])
@given(table=tables(min_p=3, max_p=5, max_card=4, max_n=60), ess=st.sampled_from([0.5, 5.0]), data=st.data())
def test_gains_of_one_more_variable_are_those_of_the_best_trees(kind, table, ess, data):
    """Without weights rows are counted by bits, with weights one by one; or anywhere else."""
    counter = _Counter(counts_of(kind(table)), ess)
    target = data.draw(st.integers(0, table.p - 1))
    usable = [j for j in range(table.p) if j != target and table.cards[j] > 1]
    parents = sorted(data.draw(st.sets(st.sampled_from(usable), max_size=2))) if usable else []
    gains = counter.gains_within(target, parents)
    for j in set(range(table.p)) - set(parents):
        if j not in usable:
            assert gains[j] == -np.inf
        else:
            expected = naive.gain_of_one_more(*rows_of(table), table.cards, target, parents, j, ess)
            assert gains[j] == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_in_which_a_variable_was_set_do_not_count_for_it(weighted):
    table = random_table([2, 3, 2, 4], 130, np.random.default_rng(2))
    mask = np.zeros((130, 4), dtype=bool)
    mask[:50, 2] = True
    if weighted:
        table = Table(table.codes, table.variables, table.states, np.linspace(0.1, 2.0, 130))
    counter, rest = _Counter(counts_of(table, mask), 1.0), _Counter(counts_of(table.take(np.arange(50, 130))), 1.0)
    everything = _Counter(counts_of(table), 1.0)
    for parents in ([], [0], [0, 1]):
        assert np.allclose(counter.gains_within(2, parents), rest.gains_within(2, parents))
        assert np.array_equal(counter.gains_within(3, parents), everything.gains_within(3, parents))
        assert not np.allclose(counter.gains_within(2, parents), everything.gains_within(2, parents))


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
    first = screen(data, no_parents, knowledge=Knowledge()).sets
    assert "late" not in first["target"]
    grown = screen(data, lambda sets: {**no_parents(sets), "target": ("root",)}, knowledge=Knowledge()).sets
    assert "late" in grown["target"]
    learned = CStreeLearner(beta=2, candidates="screen", search="greedy", random_state=0).fit(data)
    assert "late" in learned.candidates_.sets["target"]
    assert learned.candidates_.method == "screen"


def test_the_screen_keeps_the_parents_that_can_be_found():
    tree = random_cstree(60, random_state=3)
    data = tree.sample_table(5000, random_state=4)
    chosen = {"beta": 2, "search": "greedy", "prior": "tree", "ess": 5.0, "estimate": "best", "random_state": 0}
    found = CStreeLearner(candidates="all", **chosen).fit(data).cstree_
    sets = CStreeLearner(candidates="screen", **chosen).fit(data).candidates_.sets
    wanted = [(parent, v) for v in found.order for parent in found.parents[v] if parent in tree.parents[v]]
    assert len(wanted) > 60
    assert np.mean([parent in sets[v] for parent, v in wanted]) > 0.97


def test_sets_are_symmetric_and_respect_knowledge():
    data = random_cstree(40, random_state=3).sample_table(500, random_state=4)
    sets = screen(data, no_parents, knowledge=Knowledge()).sets
    assert all(v in sets[u] for v in sets for u in sets[v])
    known = Knowledge(forbidden=[("X1", "X2")], required=[("X3", "X4")], tiers=[["X5"], ["X6"]])
    sets = screen(data, no_parents, knowledge=known).sets
    assert "X1" not in sets["X2"]
    assert "X3" in sets["X4"]
    assert "X6" not in sets["X5"]


def star(leaves, n, strength, rng):
    """A hub, and leaves that follow it with a chance of `strength` each, as a table."""
    hub = rng.integers(2, size=n)
    codes = [hub, *(np.where(rng.random(n) < s, hub, rng.integers(2, size=n)) for s in strength)]
    names = ["hub", *(f"leaf{i:02d}" for i in range(leaves))]
    return Table(np.column_stack(codes), names, [[0, 1]] * (leaves + 1))


def test_what_knowledge_forbids_takes_no_place_among_the_first(monkeypatch):
    """Two hubs tell less of each other than their leaves do, but leaves come later."""
    monkeypatch.setattr("cslearn.candidates.screen.ROUNDS", 0)
    rng = np.random.default_rng(0)
    one = star(30, 2000, [0.8] * 30, rng)
    other = np.where(rng.random(2000) < 0.3, one.codes[:, 0], rng.integers(2, size=2000))
    copies = [np.where(rng.random(2000) < 0.8, other, rng.integers(2, size=2000)) for _ in range(30)]
    names = [*one.variables, "other", *(f"copy{i:02d}" for i in range(30))]
    table = Table(np.column_stack([one.codes, other, *copies]), names, [[0, 1]] * 62)
    hubs = ["hub", "other"]
    leaves = [name for name in names if name not in hubs]
    assert "other" not in screen(table, no_parents, knowledge=Knowledge()).sets["hub"]
    forbidden = Knowledge(forbidden=[(leaf, hub) for leaf in leaves for hub in hubs])
    for known in (Knowledge(tiers=[hubs, leaves]), forbidden):
        sets = screen(table, no_parents, knowledge=known).sets
        assert sets["hub"] == ("other",)
        assert sets["other"] == ("hub",)
        assert "hub" in sets["leaf07"]


def test_a_hub_keeps_the_best_candidates_for_which_there_is_memory():
    leaves = 80
    strength = np.linspace(0.2, 0.9, leaves)
    table = star(leaves, 1000, strength, np.random.default_rng(1))
    unbounded = screen(table, no_parents, knowledge=Knowledge())
    assert len(unbounded.sets["hub"]) > 70
    assert not unbounded.dropped
    budget = 3e6
    assert memory_of_tables(table.p, len(unbounded.sets["hub"]), 2) > budget
    found = candidate_sets(table, "screen", search=no_parents, max_memory=budget)
    largest = max(found.sizes().values())
    assert memory_of_tables(table.p, largest, 2) <= budget < memory_of_tables(table.p, largest + 1, 2)
    assert "the memory allowed has room for" in found.describe()
    kept = np.array([f"leaf{i:02d}" in found.sets["hub"] for i in range(leaves)])
    gains = _Counter(counts_of(table), 1.0).gains_alone(0)[1:]
    assert gains[kept].min() >= gains[~kept].max()
    assert all("hub" in found.sets[f"leaf{i}"] for i in range(40, 80))
    required = Knowledge(required=[("leaf00", "hub")])
    assert not kept[0]
    assert "leaf00" in screen(table, no_parents, knowledge=required, most=largest).sets["hub"]


def test_a_fit_with_a_hub_stays_within_its_memory():
    table = star(60, 300, np.linspace(0.2, 0.9, 60), np.random.default_rng(1))
    learner = CStreeLearner(beta=2, candidates="screen", max_memory=1e6, search=Chains(n_iter=20, n_chains=2)).fit(
        table
    )
    widest = max(map(len, learner.posterior_.scores.candidates))
    assert memory_of_tables(61, widest, 2) <= 1e6
    assert learner.posterior_.scores.tables[2].shape == (61, widest, widest, 2)


def test_the_sample_size_of_a_fit_is_that_of_its_screen():
    data = random_cstree(40, random_state=3).sample_table(300, random_state=4)
    known = Knowledge()

    def chosen(ess):
        search = greedy_search(data, knowledge=known, ess=ess)
        return candidate_sets(data, "screen", search=search, ess=ess).sets

    learned = CStreeLearner(
        beta=2, candidates="screen", ess=20.0, prior="tree", search=Chains(n_iter=20, n_chains=1)
    ).fit(data)
    assert learned.candidates_.sets == chosen(20.0)
    assert learned.candidates_.sets != chosen(1.0)


def test_a_screen_that_is_cut_off_says_so(monkeypatch):
    data = star(60, 1000, np.linspace(0.3, 0.9, 60), np.random.default_rng(1))
    whole = candidate_sets(data, "screen", search=no_parents)
    assert whole.notes == ()
    monkeypatch.setattr("cslearn.candidates.screen.MOST_A_ROUND", 1)
    monkeypatch.setattr("cslearn.candidates.screen.ROUNDS", 1)
    cut = candidate_sets(data, "screen", search=no_parents)
    assert "the screen ended after 1 round, with candidates that had just entered" in cut.describe()
    assert sum(cut.sizes().values()) < sum(whole.sizes().values())


def test_weighted_rows_count_as_repeated_rows():
    data = random_cstree(30, random_state=3).sample_table(300, random_state=4)
    weights = np.arange(300) % 3
    weighted = Table(data.codes, data.variables, data.states, weights)
    repeated = data.take(np.repeat(np.arange(300), weights))
    assert screen(weighted, no_parents, knowledge=Knowledge()) == screen(repeated, no_parents, knowledge=Knowledge())


def test_fractions_of_a_row_add_up_to_the_row():
    data = random_cstree(30, random_state=3).sample_table(300, random_state=4)
    parts = Table(np.tile(data.codes, (2, 1)), data.variables, data.states, np.repeat([0.25, 0.75], 300))
    options = {"beta": 2, "candidates": "screen", "search": Chains(n_iter=50, n_chains=1), "prior": "tree", "ess": 5.0}
    whole, split = CStreeLearner(**options).fit(data), CStreeLearner(**options).fit(parts)
    assert split.candidates_ == whole.candidates_
    assert split.order_ == whole.order_
    assert split.log_score_ == pytest.approx(whole.log_score_)


def test_auto_takes_all_while_memory_and_time_allow(monkeypatch):
    data = random_cstree(30, random_state=3).sample_table(300, random_state=4)

    def method(**settings):
        chosen = {"beta": 2, "search": "greedy", "prior": "tree", "ess": 5.0, "estimate": "best"}
        return CStreeLearner(**chosen, **settings).fit(data).candidates_.method

    assert method() == "all"
    assert method(max_memory=1e5) == "screen"
    monkeypatch.setattr("cslearn.candidates.sets.MOST_PAIRS", 30 * 29 * 29 * 2 - 1)
    assert method(max_memory=1e12) == "screen"
    assert method(max_memory=1e12, candidates="all") == "all"
    with pytest.raises(InputError, match="needs search="):
        candidate_sets(data, "screen")
