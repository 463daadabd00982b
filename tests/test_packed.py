"""Packed tables as values and as files: sums, what is refused, and that a file is whole or not there."""

import json
import os
import pickle
import signal
import struct
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cslearn
from cslearn.data import PackedTable, Table, as_table, pack
from cslearn.data import _packed_files as files
from cslearn.errors import FileError, InputError

RNG = np.random.default_rng(5)


def random_table(n, cards, rng=RNG, weighted=False):
    codes = np.column_stack([rng.integers(d, size=n) for d in cards])
    weights = rng.integers(1, 5, size=n) if weighted else None
    return Table(codes, [f"v{j}" for j in range(len(cards))], [range(d) for d in cards], weights)


@pytest.fixture
def packed():
    return PackedTable.from_table(random_table(1000, [2, 3, 5, 300, 2]))


# ---------------------------------------------------------------- values
def test_a_packed_table_has_the_shapes_it_promises(packed):
    assert packed.starts.tolist() == [0, 1, 3, 6, 15, 16]
    assert packed.planes.shape == (16, 16)
    assert packed.planes.dtype == np.uint64
    assert packed.starts.dtype == np.int64
    assert (packed.p, packed.cards, packed.total_weight, packed.nbytes) == (5, (2, 3, 5, 300, 2), 1000.0, 2048)
    assert not packed.planes.flags.writeable
    assert repr(packed) == "PackedTable(1,000 rows, 5 variables)"
    assert packed.codes().dtype == np.uint16
    assert pack({"a": [0, 1]}).codes().dtype == np.uint8


@pytest.mark.parametrize(
    ("planes", "states", "n", "message"),
    [
        ([[3]], [[0, 1, 2]], 2, r"uint64 of shape \(2, 1\)"),
        ([[1], [1]], [[0, 1, 2]], 2, "'a' has a code beyond its 3 states"),
        ([[1]], [["x"]], 1, "'a' has a code beyond its 1 states"),
        ([[4]], [[0, 1]], 2, "bits past the last row"),
    ],
)
def test_planes_that_are_no_table_are_refused(planes, states, n, message):
    with pytest.raises(InputError, match=message):
        PackedTable(np.array(planes, dtype=np.uint64), ["a"], states, n)


def test_the_fingerprint_is_that_of_the_content(packed, tmp_path):
    packed.save(tmp_path / "t.cspack")
    loaded = PackedTable.load(tmp_path / "t.cspack")
    again = PackedTable.from_table(as_table(packed))
    assert packed.fingerprint == loaded.fingerprint == again.fingerprint
    assert packed == loaded
    changed = [
        packed + packed,
        PackedTable.from_table(as_table(packed).take(np.arange(1000)[::-1])),
        PackedTable(packed.planes, ["w0", *packed.variables[1:]], packed.states, packed.n),
        PackedTable(packed.planes, packed.variables, [[False, True], *packed.states[1:]], packed.n),
        PackedTable(packed.planes, packed.variables, packed.states, packed.n, np.ones(packed.n)),
    ]
    assert len({packed.fingerprint, *(table.fingerprint for table in changed)}) == 6
    assert all(table != packed for table in changed)
    assert packed != 3


def test_pickles_hold_the_content(packed, tmp_path):
    packed.save(tmp_path / "t.cspack")
    copy = pickle.loads(pickle.dumps(PackedTable.load(tmp_path / "t.cspack")))
    (tmp_path / "t.cspack").unlink()
    assert copy == packed


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 200), min_size=2, max_size=3), st.booleans())
def test_sums_have_the_rows_of_both(seed, sizes, weighted):
    rng = np.random.default_rng(seed)
    tables = [random_table(n, [2, 3, 1, 6], rng, weighted and i == 0) for i, n in enumerate(sizes)]
    total = PackedTable.from_table(tables[0])
    for table in tables[1:]:
        total = total + PackedTable.from_table(table)
    assert total.codes().tolist() == np.vstack([table.codes for table in tables]).tolist()
    if weighted:
        assert total.weights.tolist() == [*tables[0].weights, *[1.0] * sum(sizes[1:])]
    else:
        assert total.weights is None


UNIONS = {
    "numbers": ([3, 1], [2, 10]),
    "the same": (["b", "a"], ["a", "b"]),
    "part": ([1, 2, 3], [2]),
    "fractions": ([1.0, 2.0], [0.5, 1.0]),
    "texts": (["b", "d"], ["c", "a"]),
    "bins": (["<1", ">=1"], ["<1", "[1, 2)"]),
    "flags": ([True], [False, True]),
    "gaps": (["b", None, "b"], ["z", "a"]),
    "gaps in both": ([2, None], [None, 1]),
}


@pytest.mark.filterwarnings("ignore::cslearn.errors.DataWarning")
@pytest.mark.parametrize("kind", UNIONS)
def test_states_of_a_sum_are_those_of_all_rows_read_at_once(kind):
    first, second = ([{"a": x, "b": i % 2} for i, x in enumerate(cells)] for cells in UNIONS[kind])
    total = pack(first, missing="state", collapse=False) + pack(second, missing="state", collapse=False)
    expected = as_table([*first, *second], missing="state")
    assert as_table(total) == expected
    assert [*map(type, total.states[0])] == [*map(type, expected.states[0])]


@pytest.mark.filterwarnings("ignore::cslearn.errors.DataWarning")
def test_whole_numbers_of_a_text_file_become_texts_beside_texts(tmp_path):
    (tmp_path / "1.csv").write_text("a\n10\n9\n10\n")
    (tmp_path / "2.csv").write_text("a\n9\nx\n")
    total = pack(tmp_path / "1.csv") + pack(tmp_path / "2.csv")
    assert total.states == as_table([tmp_path / "1.csv", tmp_path / "2.csv"]).states == (("10", "9", "x"),)
    assert total.codes().ravel().tolist() == [0, 1, 0, 1, 2]


def test_sums_put_columns_in_the_order_of_the_first_table_and_keep_given_orders():
    one = pack({"a": ["x", "y"], "b": [0, 1]}, states={"a": ["y", "x"]})
    other = pack({"b": [1, 0], "a": ["x", "y"]}, states={"a": ["y", "x", "w"]})
    total = one + other
    assert total.variables == ("a", "b")
    assert total.states == (("y", "x", "w"), (0, 1))
    assert total.codes().tolist() == [[1, 0], [0, 1], [1, 1], [0, 0]]
    assert (one + pack({"b": [1, 0], "a": ["w", "x"]})).states[0] == ("y", "x", "w")


def test_sums_that_make_no_sense(packed):
    with pytest.raises(InputError, match="must have the same variables; only one of them has 'b'"):
        _ = pack({"a": [0, 1], "b": [0, 1]}) + pack({"a": [0, 1]})
    with pytest.raises(InputError, match="'a' has states in one table that are True or False, and 1 or 0"):
        _ = pack({"a": [True, False]}) + pack({"a": [0, 1]})
    with pytest.raises(TypeError):
        _ = packed + 3


def test_rows_are_added_to_a_table_whose_states_are_known(tmp_path):
    old = pack({"a": [f"s{i % 15}" for i in range(60)], "b": [0, 1] * 30})
    # Ten different cells in ten rows would be an identifier otherwise.
    new = pa.table({"a": [f"s{i}" for i in range(10)], "b": [0, 1] * 5})
    with pytest.raises(InputError, match="looks like an identifier"):
        pack(new)
    total = pack(new, into=old)
    assert total.n == 70
    assert total.codes(60).tolist() == [[old.states[0].index(f"s{i}"), i % 2] for i in range(10)]
    path = tmp_path / "t.cspack"
    old.save(path)
    assert pack(new, path, into=PackedTable.load(path)) == total == PackedTable.load(path)
    heavy = pack({"a": ["s1", "s2"] * 30, "b": [0, 1] * 30})
    assert heavy.weights.tolist() == [30, 30]
    both = pack(pa.table({"a": ["s1"] * 3, "b": [0] * 3}), into=heavy)
    assert both.weights.tolist() == [33, 30]


# ---------------------------------------------------------------- files
def test_a_file_is_mapped_and_equal(packed, tmp_path):
    path = tmp_path / "t.cspack"
    packed.save(path)
    loaded = PackedTable.load(path)
    assert loaded == packed
    assert as_table(path) == as_table(packed)
    base = loaded.planes
    while base.base is not None and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap) or type(base).__name__ == "mmap"
    weighted = packed.collapse(1.0)
    weighted.save(path)  # while the old one is still mapped
    assert np.array_equal(PackedTable.load(path).weights, weighted.weights)
    assert loaded.codes().tolist() == packed.codes().tolist()


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65])
def test_files_of_few_rows(n, tmp_path):
    table = PackedTable.from_table(random_table(n, [2, 3]))
    table.save(tmp_path / "t.cspack")
    assert PackedTable.load(tmp_path / "t.cspack") == table


def test_packing_to_a_file_gives_the_same_as_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("cslearn.data._passes._LEAST_ROWS", 64)
    monkeypatch.setattr("cslearn.data._passes._MOST_ROWS", 64)
    table = pa.table({f"v{j}": RNG.integers(3, size=1000) for j in range(8)} | {"w": RNG.random(1000)})
    for options in ({"leave_out": ["w"]}, {"sample_weight": "w"}, {"leave_out": ["w"], "collapse": True}):
        there = pack(table, tmp_path / "t.cspack", **options)
        assert there == pack(table, **options) == PackedTable.load(tmp_path / "t.cspack")
    assert [path.name for path in tmp_path.iterdir()] == ["t.cspack"]


def damage(path, at, content):
    data = bytearray(path.read_bytes())
    data[at : at + len(content)] = content
    path.write_bytes(data)


def header(path):
    head = path.read_bytes()
    return json.loads(head[files._HEAD.size : files._HEAD.size + struct.unpack_from("<Q", head, 12)[0]])


def rewrite(path, **changes):
    """Write a file whose description was changed, with a checksum that fits."""
    data = path.read_bytes()
    text = json.dumps({**header(path), **changes}).encode()
    head = files._HEAD.pack(files.MAGIC, files.VERSION, len(text), files.hashlib.sha256(text).digest())
    path.write_bytes((head + text).ljust(4096, b"\0") + data[4096:])


HARM = {
    "empty": (lambda path: path.write_bytes(b""), "is no packed table"),
    "text": (lambda path: path.write_text("a,b\n1,2\n" * 100), "is no packed table"),
    "half": (lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]), "was cut off"),
    "no end": (lambda path: path.write_bytes(path.read_bytes()[:-1]), "was cut off"),
    "longer": (lambda path: path.write_bytes(path.read_bytes() + b"x"), "is longer than it should be"),
    "no beginning": (lambda path: damage(path, 0, bytes(4096)), "is no packed table"),
    "new": (lambda path: damage(path, 8, struct.pack("<I", 99)), "version 99 .* up to version 1. Install a newer"),
    "old": (lambda path: damage(path, 8, struct.pack("<I", 0)), "its first bytes make no sense"),
    "length": (lambda path: damage(path, 12, struct.pack("<Q", 2**50)), "its first bytes make no sense"),
    "description": (lambda path: damage(path, 80, b"#"), "description does not fit its checksum"),
    "a bit": (lambda path: damage(path, 4100, bytes([path.read_bytes()[4100] ^ 4])), "does not fit its checksums"),
    "rows": (lambda path: rewrite(path, rows=2**60), "was cut off"),
    "less rows": (lambda path: rewrite(path, rows=3), "is longer"),
    "rows of text": (lambda path: rewrite(path, rows="many"), "the number of rows is none"),
    "no rows": (lambda path: rewrite(path, rows=None), "the number of rows is none"),
    "list": (lambda path: rewrite(path, states=[[1, [2]]]), "a state is neither text nor number"),
    "names": (lambda path: rewrite(path, variables=[1]), "names of the variables are no texts"),
    "same names": (lambda path: rewrite(path, variables=["a"] * 5), "Names of variables must differ"),
    "few states": (lambda path: rewrite(path, states=[[0, 1], [0, 1, 2], [0], [0], [0]]), "planes must be uint64 of"),
    "codes": (lambda path: rewrite(path, states=[[0], *header(path)["states"][1:]]), "beyond its 1 states"),
    "checksums": (lambda path: rewrite(path, planes=[1] * 16), "checksums are no texts"),
}


@pytest.mark.parametrize("kind", HARM)
def test_a_file_that_was_harmed_gives_one_clear_error(kind, packed, tmp_path):
    path = tmp_path / "t.cspack"
    packed.save(path)
    harm, message = HARM[kind]
    harm(path)
    with pytest.raises(FileError, match=message) as error:
        PackedTable.load(path)
    assert str(path) in str(error.value)
    with pytest.raises(FileError, match=message):
        as_table(path)


def test_files_that_are_not_there_or_no_files(tmp_path, packed):
    with pytest.raises(FileError, match="There is no file .*none.cspack"):
        PackedTable.load(tmp_path / "none.cspack")
    with pytest.raises(FileError, match="is a directory"):
        PackedTable.load(tmp_path)
    with pytest.raises(FileError, match="directory .* does not exist"):
        packed.save(tmp_path / "none" / "t.cspack")
    with pytest.raises(FileError, match="directory .* does not exist"):
        pack(pa.table({"a": [0, 1]}), tmp_path / "none" / "t.cspack")


def run_python(code, *arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(cslearn.__file__).parent.parent)},
        **options,
    )


SLOW_PACKING = """
    import sys, time
    import numpy as np, pyarrow as pa
    import cslearn

    def batches(value):
        for i in range(20):
            yield pa.table({"a": np.full(70_001, value), "b": np.arange(70_001) % 2, "c": np.arange(70_001) % 3})
            if i == 5:
                print("begun", flush=True)
            time.sleep(float(sys.argv[3]))

    cslearn.pack(batches(int(sys.argv[2])), sys.argv[1], states={"a": [1, 2]}, collapse=False)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_packing_that_is_ended_leaves_the_old_file_and_nothing_else(how, tmp_path, packed):
    path = tmp_path / "t.cspack"
    packed.save(path)
    process = run_python(SLOW_PACKING, path, 1, 0.2)
    assert process.stdout.readline() == "begun\n"
    process.send_signal(how)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert [file.name for file in tmp_path.iterdir()] == ["t.cspack"]
    assert PackedTable.load(path) == packed


def test_processes_that_pack_to_the_same_path_do_not_mix(tmp_path):
    path = tmp_path / "t.cspack"
    processes = [run_python(SLOW_PACKING, path, value, 0) for value in (1, 2)]
    seen = set()
    while any(process.poll() is None for process in processes):
        if path.exists():
            seen.add(PackedTable.load(path).fingerprint)
        time.sleep(0.02)
    for process in processes:
        _, err = process.communicate()
        assert process.returncode == 0, err
    last = PackedTable.load(path)
    assert last.n == 20 * 70_001
    assert len(np.unique(last.codes(0, 1000)[:, 0])) == len(np.unique(last.codes()[:, 0])) == 1
    assert len(seen | {last.fingerprint}) <= 2
    assert [file.name for file in tmp_path.iterdir()] == ["t.cspack"]


FULL = """
    import resource, sys
    import numpy as np, pyarrow as pa
    import cslearn

    table = pa.table({f"v{j}": np.random.default_rng(j).integers(0, 2, size=500_000) for j in range(20)})
    cslearn.pack(table.slice(0, 10))
    packed = cslearn.pack(table)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
    try:
        packed.save(sys.argv[1]) if sys.argv[3] == "save" else cslearn.pack(table, sys.argv[1])
    except cslearn.errors.FileError as error:
        print(error)
"""


@pytest.mark.parametrize("way", ["save", "pack"])
@pytest.mark.parametrize("size", [1000, 700_000])
def test_a_full_disk_leaves_nothing_behind(way, size, tmp_path):
    process = run_python(FULL, tmp_path / "t.cspack", size, way)
    out, err = process.communicate(timeout=120)
    assert "t.cspack: File too large. Check the permissions and the free space" in out, err
    assert list(tmp_path.iterdir()) == []


def test_a_learner_takes_a_packed_table(tmp_path):
    tree = cslearn.random_cstree([2, 3, 2, 2], random_state=0)
    data = tree.sample(500, random_state=0)
    path = tmp_path / "t.cspack"
    pack(data, collapse=False).save(path)
    for source in (PackedTable.load(path), path):
        learner = cslearn.CStreeLearner(search=cslearn.Chains(n_iter=100), random_state=0).fit(source)
        expected = cslearn.CStreeLearner(search=cslearn.Chains(n_iter=100), random_state=0).fit(data)
        assert learner.cstree_ == expected.cstree_
        assert np.array_equal(tree.log_prob(source), tree.log_prob(data))
