"""Learning on packed tables: the same counts and the same models as from the rows in memory."""

import itertools

import numpy as np
import pytest

from cslearn import PC, Chains, CStreeLearner, random_cstree
from cslearn.counts import BitCounts, PackedCounts
from cslearn.data import PackedTable, Table
from cslearn.errors import DataWarning, InputError
from cslearn.orders import sample_chains
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


# ---------------------------------------------------------------- rows that come later
def in_batches(frame, ends, **settings):
    learner = CStreeLearner(**{"random_state": 0, **settings})
    for begin, end in itertools.pairwise([0, *ends, len(frame)]):
        learner.partial_fit(frame[begin:end])
    return learner


def late_states(n=900):
    """Rows of which the last have states of their own, one of them before all others."""
    frame = random_cstree([2, 3, 2, 2, 4], random_state=1).sample(n, random_state=2).astype(int)
    frame["X2"] = frame["X2"].map({0: "b", 1: "c", 2: "d"})
    frame.loc[n - 3, "X2"] = "a"
    frame["X3"] = (frame.index >= n - 2).astype(int)
    return frame


@pytest.mark.parametrize("settings", [{}, {"beta": 2}, {"missing": "state"}, {"parameters": "mle", "ess": 2.0}])
def test_rows_in_batches_give_the_fit_of_all_of_them(settings):
    frame = late_states()
    if "missing" in settings:
        frame.loc[len(frame) - 1, "X5"] = None
    with pytest.warns(DataWarning, match="'X3' has a single state"):
        learner = in_batches(frame, [300, 310, 880], search="exact", **settings)
    together = CStreeLearner(search="exact", random_state=0, **settings).fit(frame)
    assert learner.cstree_.states == together.cstree_.states
    assert learner.cstree_ == together.cstree_
    assert learner.cstree_.learning == together.cstree_.learning
    np.testing.assert_array_equal(
        learner.posterior_.edge_probabilities().to_numpy(), together.posterior_.edge_probabilities().to_numpy()
    )
    if not settings:
        assert isinstance(learner.posterior_.scores.table, PackedTable)


def test_rows_in_batches_come_as_frames_arrays_packed_tables_iterators_and_files(tmp_path):
    table = random_cstree([2, 3, 2, 2], random_state=1).sample_table(400, random_state=2)
    frame, packed = table.to_frame(), PackedTable.from_table(table)
    (packed + packed).save(tmp_path / "more.cspack")
    frame.to_csv(tmp_path / "more.csv", index=False)
    weights = np.arange(1, 401, dtype=float)
    learner = CStreeLearner(random_state=0).fit(table)
    for more in (frame, table.codes, packed, iter([frame, frame]), tmp_path / "more.cspack", tmp_path / "more.csv"):
        learner.partial_fit(more)
    learner.partial_fit(frame, sample_weight=weights)
    kept = learner.posterior_.scores.table
    assert kept.n == 400 * 10 and kept.total_weight == 400 * 9 + weights.sum()
    both = Table(np.tile(table.codes, (10, 1)), table.variables, table.states, np.append(np.ones(3600), weights))
    assert learner.cstree_ == CStreeLearner(random_state=0).fit(both).cstree_


@pytest.mark.parametrize("beta", ["auto", 2])
def test_chains_go_on_from_the_order_found_so_far(monkeypatch, beta):
    frame = random_cstree(15, random_state=1).sample(2000, random_state=2)
    search = Chains(n_iter=30, n_chains=1)
    learner = CStreeLearner(beta=beta, search=search, random_state=0).fit(frame[:1900])
    found = learner.posterior_.best.best_order
    started = []

    def spy(problem, **options):
        started.append(options["starts"])
        return sample_chains(problem, **options)

    monkeypatch.setattr("cslearn.estimators.order_search.sample_chains", spy)
    monkeypatch.setattr("cslearn.estimators.growing.MOST_SWEEPS", 0)
    monkeypatch.setattr("cslearn.estimators.growing.adapted_counts", lambda scores, order: (scores.ess, scores.gamma))
    learner.partial_fit(frame[1900:])
    assert learner.posterior_.scores.table.n == 2000
    np.testing.assert_array_equal(started[0][0], found)
    # What is known meanwhile is kept to.
    first = learner.cstree_.variables[int(found[-1])]
    learner.set_params(knowledge={"tiers": [[first], [v for v in frame.columns if v != first]]})
    assert learner.partial_fit(frame[:10]).order_[0] == first


def test_what_cannot_be_added_is_refused():
    frame = late_states()[["X1", "X2", "X4"]]
    learner = CStreeLearner(states={"X2": ["a", "b", "c", "d"]}, random_state=0).fit(frame[:500])
    before = learner.cstree_
    odd = frame[500:510].assign(X2="z")
    with pytest.raises(InputError, match=r"'X2'.*'z'"):
        learner.partial_fit(odd)
    with pytest.raises(InputError, match="only one of them has 'X4'"):
        learner.partial_fit(frame[["X1", "X2"]])
    many = CStreeLearner(random_state=0).fit(frame[:500])
    with pytest.raises(InputError, match="'X1' holds numbers with 72 different values"):
        many.partial_fit(frame[500:600].assign(X1=range(70, 170)).iloc[:70])
    assert learner.cstree_ is before and many.posterior_.scores.table.n == 500
    with pytest.raises(InputError, match='missing="em": fit all of them together'):
        CStreeLearner(missing="em", random_state=0).fit(frame).partial_fit(frame)
    mask = np.zeros(frame.shape, dtype=bool)
    with pytest.raises(InputError, match="rows with interventions"):
        CStreeLearner(random_state=0).fit(frame, interventions=mask).partial_fit(frame)
    assert learner.partial_fit(frame[500:]).cstree_ != before


def test_states_that_a_packed_table_has_already_leave_it_packed():
    frame = late_states()[["X1", "X2", "X4"]]
    learner = CStreeLearner(states={"X2": ["a", "b", "c", "d", "e"]}, search="exact", random_state=0)
    learner.fit(frame[:500]).partial_fit(frame[500:])
    kept = learner.posterior_.scores.table
    assert isinstance(kept, PackedTable) and kept.state_map["X2"] == ("a", "b", "c", "d", "e")
