"""Checkpoints: an interrupted search goes on to the very same result, and files of other searches are refused."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from cslearn.errors import FileError, InputError
from cslearn.grown import GrownEngine, GrownScores
from cslearn.orders import Checkpoint, OrderPosterior, order_problem, sample_chains
from cslearn.orders.files import read_arrays, write_arrays
from cslearn.priors import ParentsPrior
from cslearn.scores import Scores
from problems import random_table


@pytest.fixture(scope="module")
def problem():
    return order_problem(Scores(random_table([2, 3, 2, 2, 3, 2, 4], 200, np.random.default_rng(4)), prior="tree"))


def assert_same(one, other):
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        for name, value in vars(a).items():
            assert np.array_equal(value, getattr(b, name)), name


# ---------------------------------------------------------------- bit for bit
@pytest.mark.parametrize(("first", "jobs", "temperatures"), [(1, 3, 1), (700, 1, 1), (1013, 2, 3)])
def test_moves_before_and_after_a_checkpoint_are_those_of_one_run(problem, tmp_path, first, jobs, temperatures):
    file = Checkpoint(tmp_path / "run.ckpt")
    options = {"n_chains": 3, "random_state": 5, "n_temperatures": temperatures}
    whole, _ = sample_chains(problem, n_iter=2026, **options)
    sample_chains(problem, n_iter=first, checkpoint=file, **options)
    resumed, _ = sample_chains(problem, n_iter=2026, checkpoint=file, n_jobs=jobs, **options)
    assert_same(whole, resumed)
    again, _ = sample_chains(problem, n_iter=2026, checkpoint=file, **options)
    assert_same(whole, again)


def test_chains_over_deep_contexts_go_on_too(tmp_path):
    scores = GrownScores(random_table([2, 3, 2, 2, 3, 2, 4], 200, np.random.default_rng(4)), prior=ParentsPrior())
    problem, file = GrownEngine(scores.contexts, np.zeros((7, 7), dtype=bool)), Checkpoint(tmp_path / "run.ckpt")
    options = {"n_chains": 2, "random_state": 5}
    sample_chains(problem, n_iter=70, checkpoint=file, **options)
    resumed, _ = sample_chains(problem, n_iter=300, checkpoint=file, **options)
    assert_same(sample_chains(problem, n_iter=300, **options)[0], resumed)


def test_the_draws_of_a_longer_run_are_thinned_as_if_made_at_once(problem, tmp_path):
    file = Checkpoint(tmp_path / "run.ckpt")
    whole, _ = sample_chains(problem, n_chains=2, n_iter=9999, random_state=5)
    for n_iter in (1500, 4001, 9999):
        chains, _ = sample_chains(problem, n_chains=2, n_iter=n_iter, random_state=5, checkpoint=file)
    assert_same(whole, chains)


def test_many_writes_change_nothing(problem, tmp_path, monkeypatch):
    monkeypatch.setattr("cslearn.orders.walks.BLOCK_SECONDS", 0.0)
    whole, _ = sample_chains(problem, n_chains=2, n_iter=301, random_state=5, thin=7)
    file = Checkpoint(tmp_path / "run.ckpt", every=0.0)
    chains, _ = sample_chains(problem, n_chains=2, n_iter=301, random_state=5, thin=7, checkpoint=file)
    assert_same(whole, chains)


def test_random_numbers_from_nowhere_go_on_as_well(problem, tmp_path):
    file = Checkpoint(tmp_path / "run.ckpt")
    half, _ = sample_chains(problem, n_chains=2, n_iter=500, thin=1, checkpoint=file)
    whole, _ = sample_chains(problem, n_chains=2, n_iter=900, thin=1, checkpoint=file)
    for a, b in zip(half, whole, strict=True):
        assert np.array_equal(a.trace, b.trace[:500])


def test_an_interrupted_search_goes_on(problem, tmp_path, monkeypatch):
    file = Checkpoint(tmp_path / "run.ckpt", every=1000)
    monkeypatch.setattr("cslearn.orders.walks.BLOCK_SECONDS", 0.005)
    options = {"n_chains": 2, "n_iter": 10_000, "thin": 10, "random_state": 1}

    def interrupt(progress):
        import _thread

        if not interrupted:
            interrupted.append(True)
            _thread.interrupt_main()

    interrupted = []
    part, ended = sample_chains(problem, callback=interrupt, checkpoint=file, **options)
    assert ended
    assert min(chain.n_iter for chain in part) < 10_000
    resumed, ended = sample_chains(problem, checkpoint=file, **options)
    assert not ended
    assert_same(sample_chains(problem, **options)[0], resumed)


def test_an_interrupt_while_threads_are_started_does_no_harm(problem, tmp_path, monkeypatch):
    """It may come after a thread has begun and before that is known, so that a chain is sent off again."""
    from concurrent.futures import ThreadPoolExecutor

    submit, submitted = ThreadPoolExecutor.submit, []

    def interrupting(self, *args):
        future = submit(self, *args)
        submitted.append(future)
        if len(submitted) == 2:
            raise KeyboardInterrupt
        return future

    monkeypatch.setattr("cslearn.orders.walks.BLOCK_SECONDS", 0.005)
    options = {"n_chains": 2, "n_iter": 10_000, "thin": 10, "random_state": 1}
    file = Checkpoint(tmp_path / "run.ckpt", every=1000)
    with monkeypatch.context() as patch:
        patch.setattr(ThreadPoolExecutor, "submit", interrupting)
        _, ended = sample_chains(problem, checkpoint=file, **options)
    assert ended
    assert len(submitted) == 3
    assert_same(sample_chains(problem, **options)[0], sample_chains(problem, checkpoint=file, **options)[0])


# ---------------------------------------------------------------- until the chains are long enough
def test_beyond_the_limit_chains_go_on_as_long_as_they_are_told_to(problem):
    for enough, expected in (
        (2500, [500, 1000, 1700, 3400]),
        (1700, [500, 1000, 1700]),
        (10_000, [500, 1000, 1700, 3400]),
    ):
        asked = []

        def until(chains, enough=enough, asked=asked):
            asked.append(chains[0].n_iter)
            return chains[0].n_iter >= enough

        options = {"n_iter": 500, "until": until, "max_iter": 1700, "further": 4000}
        chains, _ = sample_chains(problem, n_chains=2, random_state=2, **options)
        assert asked == expected
        assert chains[0].n_iter == (4000 if enough > 4000 else expected[-1])


def test_chains_go_on_until_they_are_long_enough(problem):
    asked = []

    def until(chains):
        asked.append(chains[0].n_iter)
        return len(asked) == 3

    chains, _ = sample_chains(problem, n_chains=2, n_iter=500, until=until, max_iter=10_000, random_state=2)
    assert asked == [500, 1000, 2000]
    assert_same(sample_chains(problem, n_chains=2, n_iter=2000, random_state=2)[0], chains)


def test_the_limit_is_kept(problem):
    chains, _ = sample_chains(
        problem, n_chains=2, n_iter=500, until=lambda _: False, max_iter=1700, random_state=2, n_jobs=1
    )
    assert_same(sample_chains(problem, n_chains=2, n_iter=1700, random_state=2)[0], chains)


def test_a_search_of_open_length_goes_on_from_a_file(problem, tmp_path):
    def until(chains):
        return OrderPosterior(tuple("abcdefg"), chains).verdict.ess > 400

    options = {"n_chains": 2, "n_iter": 300, "until": until, "max_iter": 100_000, "random_state": 3}
    whole, _ = sample_chains(problem, **options)
    assert 300 < whole[0].n_iter < 100_000
    calls = []

    def interrupted(chains):
        calls.append(chains)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return until(chains)

    file = Checkpoint(tmp_path / "run.ckpt")
    _, ended = sample_chains(problem, checkpoint=file, **{**options, "until": interrupted})
    assert ended
    assert_same(whole, sample_chains(problem, checkpoint=file, **options)[0])
    # What is done already is not done again.
    assert_same(whole, sample_chains(problem, checkpoint=file, **options)[0])


# ---------------------------------------------------------------- files that are refused
def test_files_of_other_searches_are_refused(problem, tmp_path):
    path = tmp_path / "run.ckpt"
    settings = {"data": "a" * 64, "beta": 2, "prior": "tree"}
    sample_chains(
        problem, n_chains=2, n_iter=100, thin=2, random_state=0, checkpoint=Checkpoint(path, settings=settings)
    )
    content = path.read_bytes()

    def resume(n_chains=2, n_iter=200, thin=2, **changes):
        file = Checkpoint(path, settings={**settings, **changes})
        sample_chains(problem, n_chains=n_chains, n_iter=n_iter, thin=thin, random_state=0, checkpoint=file)

    for changes, message in [
        ({"data": "b" * 64}, "another search: data are not the same. Use"),
        ({"beta": 1, "prior": "sparse"}, "beta was 2 and is now 1, prior was 'tree' and is now 'sparse'"),
        ({"ess": 1.0}, "ess was None and is now 1.0"),
        ({"n_chains": 3}, "n_chains was 2 and is now 3"),
        ({"n_iter": 50}, "it has 100 moves of a chain already, more than the 50 asked for"),
    ]:
        with pytest.raises(FileError, match=message):
            resume(**changes)
    with pytest.raises(InputError, match="begun with thin=2; thin=3 is no multiple"):
        resume(thin=3)
    assert path.read_bytes() == content


def test_damaged_files_are_refused(problem, tmp_path):
    path = tmp_path / "run.ckpt"
    file = Checkpoint(path)
    options = {"n_chains": 2, "n_iter": 100, "random_state": 0, "checkpoint": file}
    sample_chains(problem, **options)
    content = path.read_bytes()
    with np.load(path) as archive:
        arrays = dict(archive)

    def rewrite(**changes):
        with path.open("wb") as target:
            np.savez(target, **{**arrays, **changes})

    def header(**changes):
        return np.frombuffer(json.dumps({**json.loads(arrays["header"].tobytes()), **changes}).encode(), dtype=np.uint8)

    damages = [
        lambda: path.write_bytes(b""),
        lambda: path.write_bytes(content[:-200]),
        lambda: rewrite(header=header(goal="many")),
        lambda: rewrite(header=header(chains=[{}, {}])),
        lambda: rewrite(**{"0.trace": np.zeros(3)}),
        lambda: rewrite(**{"0.state0.order": np.zeros(3, dtype=np.int64)}),
    ]
    for damage in damages:
        damage()
        with pytest.raises(FileError, match=r"run\.ckpt is damaged"):
            sample_chains(problem, **options)
    rewrite(header=header(kind="order posterior"))
    with pytest.raises(FileError, match="holds an order posterior, not a checkpoint"):
        sample_chains(problem, **options)


@pytest.mark.parametrize("part", ["order", "position", "score", "members"])
def test_an_edited_state_is_noticed(problem, tmp_path, part):
    path = tmp_path / "run.ckpt"
    options = {"n_chains": 1, "n_iter": 100, "random_state": 0, "checkpoint": Checkpoint(path)}
    sample_chains(problem, **options)
    with np.load(path) as archive:
        arrays = dict(archive)
    arrays[f"0.state0.{part}"].flat[0] += 1
    with path.open("wb") as target:
        np.savez(target, **arrays)
    with pytest.raises(FileError, match=r"run\.ckpt is damaged: it was changed after it was written"):
        sample_chains(problem, **options)


@pytest.mark.parametrize("part", ["state0.order", "state0.position", "best_order", "kept"])
def test_an_order_that_is_none_is_refused_whatever_the_checksum_says(problem, tmp_path, part):
    path = tmp_path / "run.ckpt"
    options = {"n_chains": 1, "n_iter": 100, "random_state": 0, "checkpoint": Checkpoint(path)}
    sample_chains(problem, **options)
    header, arrays = read_arrays(path, "checkpoint")
    arrays[f"0.{part}"].flat[0] = 1 << 20
    write_arrays(path, "checkpoint", header, arrays)
    with pytest.raises(FileError, match=r"run\.ckpt is damaged: (a row is no order|the positions are not)"):
        sample_chains(problem, **options)


# ---------------------------------------------------------------- processes that are killed
SEARCH = """
import sys
import numpy as np
from cslearn.orders import Checkpoint, OrderPosterior, order_problem, sample_chains
from cslearn.scores import Scores
sys.path.insert(0, {tests!r})
from problems import random_table
{hook}
problem = order_problem(Scores(random_table([2, 3, 2, 2, 3, 2, 4], 200, np.random.default_rng(4)), prior="tree"))
print("ready", flush=True)
chains, _ = sample_chains(problem, n_chains=3, n_iter=20_000, random_state=7,
                          checkpoint=Checkpoint("run.ckpt", every=0.01))
OrderPosterior(tuple("abcdefg"), chains).save("draws.npz")
"""
# The process ends between writing a temporary file and giving it its name, the fourth time.
KILL_IN_THE_MIDDLE = """
import os, signal
replace, times = os.replace, []
def killing(*args):
    times.append(1)
    if len(times) == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(*args)
os.replace = killing
"""
# The process ends in the middle of the bytes of a file, the fourth time.
KILL_WHILE_WRITING = """
import os, signal
fdopen, times = os.fdopen, []
class Half:
    def __init__(self, file): self.file = file
    def __enter__(self): return self
    def __exit__(self, *args): return self.file.__exit__(*args)
    def write(self, data):
        self.file.write(data[:len(data) // 2]); self.file.flush()
        os.kill(os.getpid(), signal.SIGKILL)
def killing(*args):
    times.append(1)
    return Half(fdopen(*args)) if len(times) == 4 else fdopen(*args)
os.fdopen = killing
"""


def run_search(folder, hook="", kill_after=None):
    code = SEARCH.format(tests=os.path.dirname(__file__), hook=hook)
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    if kill_after is not None:
        assert process.stdout.readline() == "ready\n"
        time.sleep(kill_after)
        process.kill()
    _, errors = process.communicate()
    assert errors == ""
    return process.returncode


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(
    ("hook", "kill_after"),
    [
        pytest.param(KILL_IN_THE_MIDDLE, None, id="before the file gets its name"),
        pytest.param(KILL_WHILE_WRITING, None, id="while bytes are written", marks=pytest.mark.slow),
        pytest.param("", 0.6, id="at some moment", marks=pytest.mark.slow),
    ],
)
def test_a_killed_process_loses_no_more_than_the_last_interval(tmp_path, problem, hook, kill_after):
    assert run_search(tmp_path, hook, kill_after) in (-signal.SIGKILL, 0)
    killed = not (tmp_path / "draws.npz").exists()
    if hook:
        assert killed
        done = Checkpoint(tmp_path / "run.ckpt").read()
        assert done is not None  # the third file is whole
        assert 0 < sum(values.get("done", 0) for values, _ in done[1]) < 60_000
    assert run_search(tmp_path) == 0
    chains, _ = sample_chains(problem, n_chains=3, n_iter=20_000, random_state=7)
    assert_same(chains, OrderPosterior.load(tmp_path / "draws.npz").chains)
