"""Learning on packed tables: the same counts and the same models as from the rows in memory."""

import numpy as np
import pytest

from cslearn import PC, Chains, CStreeLearner, random_cstree
from cslearn.counts import BitCounts, PackedCounts
from cslearn.data import PackedTable, Table
from cslearn.errors import InputError
from naive_grown import PlainCounts, small_table
from problems import random_table
from test_grown import random_contexts

SEEDS = range(6)


# ---------------------------------------------------------------- counts
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("weights", [None, "whole", "real"])
def test_counts_on_planes_equal_plain_loops(seed, weights):
    table = small_table(seed, weights=weights)
    contexts = random_contexts(table, np.random.default_rng(100 + seed))
    fast, slow = PackedCounts(PackedTable.from_table(table)), PlainCounts(table)
    assert fast.total == pytest.approx(slow.total)
    np.testing.assert_array_equal(fast.starts, slow.starts)
    (own, counts), (own_there, counts_there) = fast.of(contexts), slow.of(contexts)
    assert own_there.sum() > 0
    np.testing.assert_allclose(own, own_there, atol=1e-12)
    np.testing.assert_allclose(counts, counts_there, atol=1e-12)
    np.testing.assert_allclose(fast.own(contexts), own_there, atol=1e-12)


@pytest.mark.parametrize("n", [64, 1500, 200_001])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_counts_on_planes_equal_those_of_rows_in_memory(n, n_jobs):
    # Blocks of rows, threads, contexts with few rows, and more than two states.
    table = random_table([3, 2, 5, 2, 2, 9], n, np.random.default_rng(n))
    contexts = random_contexts(table, np.random.default_rng(4), 60)
    packed = PackedCounts(PackedTable.from_table(table), n_jobs=n_jobs)
    own, counts = packed.of(contexts)
    own_there, counts_there = BitCounts(table).of(contexts)
    assert own.sum(axis=1).max() > 4 * own.sum(axis=1).min()
    np.testing.assert_array_equal(own, own_there)
    np.testing.assert_array_equal(packed.own(contexts), own_there)
    states = np.arange(own.shape[1]) < np.array(table.cards)[contexts.targets][:, None]
    there = states & ((own > 0).sum(axis=1) > 1)[:, None]
    np.testing.assert_array_equal(counts[there], counts_there[there])


@pytest.mark.parametrize("weights", ["whole", "real"])
def test_rows_with_weights_are_added_in_the_same_order(weights, monkeypatch):
    monkeypatch.setattr("cslearn.counts.packed.WEIGHED_ROWS", 128)
    table = random_table([3, 2, 4, 5, 6, 7], 1000, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    drawn = rng.integers(1, 9, table.n).astype(float) if weights == "whole" else rng.random(table.n)
    table = Table(table.codes, table.variables, table.states, drawn)
    contexts = random_contexts(table, rng)
    packed, memory = PackedCounts(PackedTable.from_table(table)), BitCounts(table)
    np.testing.assert_array_equal(packed.own(contexts), memory.own(contexts))
    for mine, theirs in zip(packed.of(contexts), memory.of(contexts), strict=True):
        np.testing.assert_array_equal(mine, theirs)


# ---------------------------------------------------------------- models
def learned(data, **settings):
    options = {"beta": "auto", "search": Chains(n_iter=60, n_chains=2), "random_state": 0, **settings}
    return CStreeLearner(**options).fit(data)


def tables(tmp_path, cards=(2, 3, 2, 2, 4, 2, 2), n=3000, weights=None):
    """A table, and the same rows packed in memory and in a file."""
    table = random_cstree(cards, random_state=1).sample_table(n, random_state=2)
    table = Table(table.codes, table.variables, table.states, weights)
    packed = PackedTable.from_table(table)
    packed.save(tmp_path / "rows.cspack")
    return table, packed, PackedTable.load(tmp_path / "rows.cspack")


@pytest.mark.parametrize("parameters", ["averaged", "mean", "map"])
def test_a_fit_of_packed_rows_is_that_of_the_same_rows_in_memory(tmp_path, monkeypatch, parameters):
    table, packed, mapped = tables(tmp_path)
    learner = learned(table, parameters=parameters)
    learner.cstree_.save(tmp_path / "memory.json")
    held_out = random_table(table.cards, 50, np.random.default_rng(3))
    held_out = Table(held_out.codes, table.variables, table.states)
    # No more rows than an ensemble looks at are unpacked.
    monkeypatch.setattr(PackedTable, "codes", None)
    monkeypatch.setattr(PackedTable, "column", None)
    for name, data in (("packed", packed), ("file", mapped), ("path", tmp_path / "rows.cspack")):
        other = learned(data, parameters=parameters)
        other.cstree_.save(tmp_path / f"{name}.json")
        assert (tmp_path / f"{name}.json").read_bytes() == (tmp_path / "memory.json").read_bytes()
        np.testing.assert_array_equal(other.posterior_.orders, learner.posterior_.orders)
        np.testing.assert_array_equal(other.posterior_.edge_probabilities(), learner.posterior_.edge_probabilities())
        np.testing.assert_array_equal(other.posterior_.log_prob(held_out), learner.posterior_.log_prob(held_out))
        assert str(other.relations_) == str(learner.relations_)
    mine, theirs = learned(packed).ensemble(n=4, random_state=0), learned(table).ensemble(n=4, random_state=0)
    np.testing.assert_array_equal(mine.log_prob(held_out), theirs.log_prob(held_out))


@pytest.mark.parametrize("kind", ["whole", "real"])
def test_rows_with_weights_give_the_same_fit_packed_and_in_memory(tmp_path, kind):
    rng = np.random.default_rng(5)
    weights = rng.integers(1, 5, 800).astype(float) if kind == "whole" else rng.random(800)
    table, packed, mapped = tables(tmp_path, (2, 3, 2, 2), 800, weights)
    models = [learned(data, search="exact").cstree_ for data in (table, packed, mapped)]
    assert models[0] == models[1] == models[2]


@pytest.mark.parametrize(
    "settings", [{"beta": 2}, {"candidates": PC(alpha=2)}, {"states": {"X1": [0, 1, 2]}}, {"prior": "sparse"}]
)
def test_what_reads_rows_unpacks_them_within_the_memory_that_is_allowed(tmp_path, settings):
    table, packed, _ = tables(tmp_path)
    assert learned(packed, **settings).cstree_ == learned(table, **settings).cstree_
    with pytest.raises(InputError, match=r"the packed table is unpacked, into 0\.0 GB, and max_memory allows 0\.0"):
        learned(packed, max_memory=1000.0, **settings)


def test_interventions_unpack_the_rows_within_the_memory_that_is_allowed(tmp_path):
    table, packed, _ = tables(tmp_path)
    mask = np.random.default_rng(0).random((table.n, table.p)) < 0.2
    settings = {"beta": "auto", "search": "greedy"}
    models = [CStreeLearner(**settings).fit(data, interventions=mask).cstree_ for data in (table, packed)]
    assert models[0] == models[1] != CStreeLearner(**settings).fit(table).cstree_
    with pytest.raises(InputError, match="interventions: for this the packed table is unpacked"):
        CStreeLearner(**settings, max_memory=1000.0).fit(packed, interventions=mask)


def test_ensembles_of_many_rows_look_at_some_of_them(tmp_path, monkeypatch):
    monkeypatch.setattr("cslearn.ensemble.MOST_ROWS", 500)
    table, packed, _ = tables(tmp_path)
    (mine, theirs) = (learned(data).ensemble(n=3, random_state=0) for data in (packed, table))
    np.testing.assert_array_equal(mine.weights, theirs.weights)
    assert mine.trees == theirs.trees
