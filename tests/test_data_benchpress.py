"""The Benchpress format, and writing files safely."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cslearn._files import atomic_write
from cslearn.data import Table, as_table, read_benchpress, write_benchpress
from cslearn.errors import FileError, InputError


def test_reading(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_text("a,b\n2,3\n0,1\n1,0\n")
    expected = Table([[0, 1], [1, 0]], ["a", "b"], [[0, 1], [0, 1, 2]])
    assert read_benchpress(file) == expected
    assert read_benchpress(str(file)) == expected
    assert as_table(file, table_format="benchpress") == expected
    assert as_table(file, table_format="benchpress", variables=["b"]) == expected.select(["b"])
    packed = tmp_path / "data.csv.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert read_benchpress(packed) == expected


def test_without_rows_the_cardinalities_are_enough(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_text("a,b\n2,3\n")
    table = read_benchpress(file)
    assert (table.n, table.cards) == (0, (2, 3))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("a,b\n", "second row should hold the cardinalities"),
        ("a,b\n2,x\n0,0\n", "column 'b': the cardinality 'x'"),
        ("a,b\n0,2\n0,0\n", "column 'a': the cardinality '0'"),
        (",".join(f"v{i}" for i in range(70)) + "\n" + ",".join(["65536"] * 70), "cardinalities sum to 4,587,520"),
        ("a,b\n2,70000\n0,0\n", "'70000' .* 1 to 65,536"),
        ("a,b\n2,2\n0,0\n0,2\n0,5\n", "column 'b', row 2: '2' is not a code from 0 to 1"),
        ("a,b\n2,2\n0,0\n-1,0\n", "column 'a', row 2: '-1'"),
        ("a,b\n2,2\nyes,0\n", "column 'a', row 1: 'yes'"),
        ("a,b\n2,2\n0,0,0\n", "line 3: 3 cells, but the header has 2"),
        ("a,a\n2,2\n0,0\n", "several columns are called 'a'"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "data.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        read_benchpress(file)


def test_table_format_is_for_known_formats_and_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='must be None or "benchpress"'):
        as_table(tmp_path / "x.csv", table_format="other")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="is for files"):
        as_table([{"a": 1}], table_format="benchpress")
    with pytest.raises(FileError, match="There is no file"):
        read_benchpress(tmp_path / "x.csv")


def test_writing_drops_the_labels(tmp_path: Path) -> None:
    table = Table([[0, 1], [1, 0]], ["a", "b, c"], [["no", "yes"], [5, 6, 7]])
    file = tmp_path / "out.csv"
    write_benchpress(table, file)
    assert file.read_text() == 'a,"b, c"\n2,3\n0,1\n1,0\n'
    back = read_benchpress(file)
    assert np.array_equal(back.codes, table.codes)
    assert back.states == ((0, 1), (0, 1, 2))


def test_writing_weights_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no weights"):
        write_benchpress(Table([[0]], ["a"], [["x"]], [2]), tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=20))
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, int]]) -> None:
    file = tmp_path_factory.mktemp("round") / "out.csv"
    table = Table(rows, ["a", "b"], [range(3), range(2)])
    write_benchpress(table, file)
    assert read_benchpress(file) == table


def test_atomic_write_of_text_and_bytes(tmp_path: Path) -> None:
    file = tmp_path / "f.txt"
    atomic_write(file, "ä\n")
    assert file.read_bytes() == "ä\n".encode()
    atomic_write(str(file), b"\x00\r\n")
    assert file.read_bytes() == b"\x00\r\n"
    assert os.listdir(tmp_path) == ["f.txt"]


@pytest.mark.parametrize("step", ["replace", "fsync"])
def test_a_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    file = tmp_path / "f.txt"
    file.write_text("old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(FileError, match="No space left on device"):
        atomic_write(file, "new")
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["f.txt"]


def test_atomic_write_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"directory .*nowhere does not exist"):
        atomic_write(tmp_path / "nowhere" / "f.txt", "x")
    with pytest.raises(FileError, match="is a directory"):
        atomic_write(tmp_path, "x")


@pytest.mark.skipif(os.name == "nt", reason="permissions as on POSIX systems")
def test_atomic_write_and_permissions(tmp_path: Path) -> None:
    file = tmp_path / "f.txt"
    plain = tmp_path / "plain.txt"
    plain.write_text("x")
    atomic_write(file, "x")
    assert file.stat().st_mode == plain.stat().st_mode
    file.chmod(0o640)
    atomic_write(file, "y")
    assert file.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the superuser may write everywhere")
def test_atomic_write_without_permission(tmp_path: Path) -> None:
    file = tmp_path / "f.txt"
    file.write_text("y")
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(FileError, match="Permission denied"):
            atomic_write(file, "z")
    finally:
        tmp_path.chmod(0o700)
    assert file.read_text() == "y"


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need rights on Windows")
def test_atomic_write_follows_a_link(tmp_path: Path) -> None:
    file = tmp_path / "f.txt"
    file.write_text("old")
    link = tmp_path / "link.txt"
    link.symlink_to(file)
    atomic_write(link, "new")
    assert link.is_symlink()
    assert file.read_text() == "new"
