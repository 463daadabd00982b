"""Tables on the workers of a Dask cluster with processes: the same models as in one process."""

import os
import pickle
import signal
import threading
from contextlib import contextmanager, suppress

import numpy as np
import pytest
from sklearn.base import clone

import cslearn
from cslearn import Chains, CStreeLearner, random_cstree
from cslearn.counts import Contexts, PackedCounts
from cslearn.data import Table
from cslearn.errors import InputError
from cslearn.orders import Progress
from cslearn.orders.workers import Workers
from test_grown import random_contexts

pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("default")  # of Dask's own, such as those of workers that end

CARDS = [2, 3, 2, 2, 4, 2]


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Eight Parquet files; some states are in one of them alone."""
    folder = tmp_path_factory.mktemp("parts")
    frame = random_cstree(CARDS, random_state=1).sample(4000, random_state=2)
    frame.loc[frame["X5"] == 3, "X5"] = 2
    frame.loc[3990, "X5"] = 3
    for i in range(8):
        frame[500 * i : 500 * (i + 1)].to_parquet(folder / f"{i}.parquet")
    return folder


@contextmanager
def workers(number):
    """A client of a cluster with so many processes."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=number, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client():
    with workers(2) as client:
        yield client


def learned(data):
    return CStreeLearner(beta="auto", search=Chains(n_iter=10, n_chains=2), random_state=0).fit(data)


@pytest.fixture(scope="module")
def in_one_process(parts):
    return learned(cslearn.pack(f"{parts}/*.parquet", collapse=False))


def test_rows_are_counted_on_the_workers(client, parts):
    packed, table = cslearn.dask.pack(f"{parts}/*.parquet", client), cslearn.pack(f"{parts}/*.parquet", collapse=False)
    assert (packed.variables, packed.states, packed.n) == (table.variables, table.states, table.n)
    assert repr(packed) == "DaskTable(4,000 rows, 6 variables, 2 parts)"
    counts, there = packed.counts(), PackedCounts(table)
    contexts = random_contexts(Table(table.codes(), table.variables, table.states), np.random.default_rng(0), 50)
    for _ in range(2):
        for mine, theirs in zip(counts.of(contexts), there.of(contexts), strict=True):
            np.testing.assert_array_equal(mine, theirs)
    # The second time nothing was asked.
    assert packed.traffic.requests == 1
    np.testing.assert_array_equal(counts.own(contexts), there.own(contexts))
    at = np.array([3999, 7, 2000, 2001, 0])
    np.testing.assert_array_equal(counts.rows(at), there.rows(at))
    assert packed.traffic.requests == 3 and packed.traffic.contexts == 100
    assert 0 < packed.traffic.sent < packed.traffic.received < 2 * 50 * 4 * (1 + 10) * 8


@pytest.mark.parametrize("number", [3, *(pytest.param(number, marks=pytest.mark.slow) for number in (1, 8))])
def test_a_fit_is_that_of_one_process_for_any_number_of_parts(client, parts, in_one_process, number, tmp_path):
    packed = cslearn.dask.pack(f"{parts}/*.parquet", client, parts=number)
    learner = learned(packed)
    learner.cstree_.save(tmp_path / "workers.json")
    in_one_process.cstree_.save(tmp_path / "one.json")
    assert (tmp_path / "workers.json").read_bytes() == (tmp_path / "one.json").read_bytes()
    np.testing.assert_array_equal(learner.posterior_.orders, in_one_process.posterior_.orders)
    if number == 3:
        ensembles = [a.ensemble(n=3, random_state=0) for a in (learner, in_one_process)]
        assert ensembles[0] == ensembles[1]


def test_a_data_frame_of_dask_is_packed_where_it_is(client, parts, in_one_process):
    import dask.dataframe as dd

    learner = learned(cslearn.dask.pack(dd.read_parquet(f"{parts}/*.parquet"), client))
    assert learner.cstree_ == in_one_process.cstree_


def running(client):
    """The processes of workers that can be asked; one that is killed while it starts is not started again."""
    known = client.scheduler_info(n_workers=-1)["workers"]
    nannies = client.cluster.workers.values()
    return [nanny.pid for nanny in nannies if nanny.worker_address in known and nanny.pid is not None]


@contextmanager
def killing(client, kills, seed):
    """Kill workers at random moments, so many times; gives the list of those killed so far."""
    rng, stop, killed = np.random.default_rng(seed), threading.Event(), []

    def kill():
        while len(killed) < kills and not stop.wait(rng.uniform(0.2, 3.0)):
            processes = running(client)
            if processes:
                with suppress(ProcessLookupError):
                    os.kill(int(rng.choice(processes)), signal.SIGKILL)
                    killed.append(processes)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        stop.set()
        thread.join()


def test_a_killed_worker_changes_nothing(client, parts, in_one_process):
    packed, models = cslearn.dask.pack(f"{parts}/*.parquet", client, parts=3), []
    with killing(client, 1, seed=1) as killed:
        while not killed:
            models.append(learned(packed).cstree_)
    assert models and all(model == in_one_process.cstree_ for model in models)


@pytest.mark.slow
@pytest.mark.parametrize("number", [2, 4])
def test_workers_killed_ten_times_change_nothing(parts, number, in_one_process):
    """Of a table on the workers, and of chains and ensembles spread over them."""
    data = random_cstree([2, 3] * 7, random_state=1).sample(400, random_state=2)
    settings = {"n_iter": 100, "n_chains": 3}
    alone = CStreeLearner(search=Chains(**settings), random_state=3).fit(data)
    members = alone.ensemble(n=8)
    rounds = 0
    with workers(number) as client:
        packed = cslearn.dask.pack(f"{parts}/*.parquet", client, parts=3)
        with killing(client, 10, seed=number) as killed:
            while len(killed) < 10:
                assert learned(packed).cstree_ == in_one_process.cstree_
                learner = CStreeLearner(search=Chains(**settings, client=client), random_state=3).fit(data)
                assert learner.cstree_ == alone.cstree_
                assert learner.ensemble(n=8) == members
                rounds += 1
    assert rounds and len(killed) == 10


# ---------------------------------------------------------------- chains on workers
CHAINS = {
    "deep": ({"beta": "auto"}, {"n_iter": 40, "n_chains": 3}),
    "deep, until they agree": ({"beta": "auto"}, {"n_chains": 2, "max_iter": 60}),
    "pairs, two temperatures": ({"beta": 2}, {"n_iter": 300, "n_chains": 3, "n_temperatures": 2}),
}


def same_search(settings, chains, rows, client):
    """Learn without and with the client; return both learners, whose draws are the same."""
    learners = [
        CStreeLearner(search=Chains(**chains, client=some), random_state=3, **settings).fit(rows)
        for some in (None, client)
    ]
    one, other = (learner.posterior_ for learner in learners)
    np.testing.assert_array_equal(one.orders, other.orders)
    assert len(one.chains) == len(other.chains) and learners[0].n_iter_ == learners[1].n_iter_
    for mine, theirs in zip(one.chains, other.chains, strict=True):
        np.testing.assert_array_equal(mine.trace, theirs.trace)
        np.testing.assert_array_equal(mine.best_order, theirs.best_order)
        assert (mine.moved, mine.start_log_score) == (theirs.moved, theirs.start_log_score)
    assert learners[0].cstree_ == learners[1].cstree_
    return learners


@pytest.mark.parametrize("name", CHAINS)
def test_chains_on_workers_are_those_of_one_process(client, name):
    settings, chains = CHAINS[name]
    data = random_cstree([2, 3] * 7, random_state=1).sample(400, random_state=2)
    learners = same_search(settings, chains, data, client)
    # The client is of this process: it is neither copied nor kept.
    assert clone(learners[1]).search.client is client
    assert pickle.loads(pickle.dumps(learners[1])).search.client is None
    assert learners[0].search == learners[1].search


def test_chains_on_workers_take_packed_rows(client, parts):
    settings, chains = CHAINS["deep"]
    same_search(settings, chains, cslearn.pack(f"{parts}/*.parquet", collapse=False), client)


def test_chains_on_workers_that_are_killed_change_nothing(client):
    data = random_cstree([2, 3] * 7, random_state=1).sample(400, random_state=2)
    stop, killed = threading.Event(), []

    def kill():
        # While chains are on their way.
        while not killed and not stop.wait(0.05):
            if any(client.processing().values()):
                for pid in running(client):
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                        killed.append(pid)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        same_search({"beta": "auto"}, {"n_iter": 100, "n_chains": 3}, data, client)
    finally:
        stop.set()
        thread.join()
    assert killed


@pytest.mark.parametrize("beta", ["auto", 2])
def test_members_of_an_ensemble_on_workers_are_those_of_one_process(client, beta, monkeypatch):
    asked, submit = [], client.submit
    monkeypatch.setattr(client, "submit", lambda f, *args, **kw: asked.append(f.__name__) or submit(f, *args, **kw))
    data = random_cstree([2, 3] * 4, random_state=1).sample(400, random_state=2)
    set_from_outside = np.zeros((400, 8), dtype=bool)
    set_from_outside[:50, 3] = True
    ensembles = []
    for some in (None, client):
        learner = CStreeLearner(beta=beta, search=Chains(n_iter=20, n_chains=2, client=some), random_state=3)
        ensembles.append(learner.fit(data, interventions=set_from_outside).ensemble(n=6))
    assert ensembles[0] == ensembles[1]
    assert len(ensembles[0].trees) == asked.count("member") == 6


def test_progress_of_chains_on_workers_is_told(client):
    data, told = random_cstree([2] * 13, random_state=1).sample(200, random_state=2), []
    search = Chains(n_iter=20, n_chains=2, client=client)
    CStreeLearner(search=search, callback=lambda *now: told.append(now), random_state=0).fit(data)
    told = [now for phase, now in told if isinstance(now, Progress)]
    assert [now.done for now in told] == [20, 40] and {now.total for now in told} == {40}


@contextmanager
def without_workers():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def test_a_cluster_without_workers_is_not_waited_for_without_end(parts, monkeypatch):
    monkeypatch.setattr("cslearn._cluster.SECONDS", 0.5)
    data = random_cstree([2] * 6, random_state=1).sample(100, random_state=2)
    with without_workers() as client:
        for work in (
            lambda: cslearn.dask.pack(f"{parts}/*.parquet", client),
            lambda: CStreeLearner(search=Chains(n_iter=10, client=client)).fit(data),
        ):
            with pytest.raises(InputError, match=r"no workers for 0.5 seconds: .* client.wait_for_workers"):
                work()


def test_workers_that_all_leave_are_not_waited_for_without_end(parts, monkeypatch):
    monkeypatch.setattr("cslearn._cluster.SECONDS", 0.5)
    with without_workers() as client:
        client.cluster.scale(1)
        packed = cslearn.dask.pack(f"{parts}/*.parquet", client)
        there = Workers(client, [1])
        client.cluster.scale(0)
        while client.scheduler_info(n_workers=-1)["workers"]:
            pass
        for work in (lambda: learned(packed), lambda: there.ask(len, stop=threading.Event())):
            with pytest.raises(InputError, match="no workers for 0.5 seconds"):
                work()


def test_what_a_client_is_not_for(client, parts, tmp_path):
    with pytest.raises(InputError, match="leave one out"):
        Chains(client=client, checkpoint=tmp_path / "run.ckpt")
    with pytest.raises(InputError, match="a client of Dask"):
        Chains(client="here")
    packed = cslearn.dask.pack(f"{parts}/*.parquet", client)
    with pytest.raises(InputError, match="are there in parts: leave it out"):
        CStreeLearner(search=Chains(n_iter=10, client=client)).fit(packed)


def test_what_is_wrong_with_the_whole_table_is_refused(client, tmp_path):
    import pandas as pd

    for i in range(2):
        pd.DataFrame({"id": range(100 * i, 100 * (i + 1)), "a": [0, 1] * 50}).to_parquet(tmp_path / f"{i}.parquet")
    with pytest.raises(InputError, match="'id'"):
        cslearn.dask.pack(f"{tmp_path}/*.parquet", client)
    assert cslearn.dask.pack(f"{tmp_path}/*.parquet", client, leave_out=["id"]).variables == ("a",)
    with pytest.raises(InputError, match="There is no file"):
        cslearn.dask.pack(f"{tmp_path}/*.csv", client)
    with pytest.raises(InputError, match="takes a Dask data frame, or paths"):
        cslearn.dask.pack({"a": [1]}, client)


def test_exact_sums_are_refused(client, parts):
    packed = cslearn.dask.pack(f"{parts}/*.parquet", client)
    with pytest.raises(InputError, match="beta=2, with exact sums over stagings: this takes the rows in memory"):
        CStreeLearner(beta=2).fit(packed)


def test_a_client_is_needed(parts):
    with pytest.raises(InputError, match="there is no Dask client"):
        cslearn.dask.pack(f"{parts}/*.parquet")


def test_contexts_are_taken_by_their_numbers():
    contexts = Contexts.of_target(2, [[(0, 1)], [], [(0, 0), (1, 2)]])
    some = contexts.take([2, 0])
    assert some.pointers.tolist() == [0, 2, 3]
    assert some.variables.tolist() == [0, 1, 0] and some.states.tolist() == [0, 2, 1]
