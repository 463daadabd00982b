"""Files that are written: whole or not at all, never over what is read, and known to be writable before the work."""

import os
import stat
import subprocess
import sys
import threading

import pytest

from cslearn import CStree
from cslearn._files import atomic_write, check_writable, same_file
from cslearn.datasets import chickenpox_model
from cslearn.errors import FileError

LONG = "a" * 300
# As root everything may be written; the checks of permissions would have nothing to check.
not_root = pytest.mark.skipif(getattr(os, "geteuid", lambda: 0)() == 0, reason="root may write everywhere")


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "children.csv"
    chickenpox_model().sample(100, random_state=0).to_csv(path, index=False)
    return path


def test_a_device_stays_a_device():
    atomic_write(os.devnull, "nothing")
    assert not stat.S_ISREG(os.stat(os.devnull).st_mode)


def test_a_pipe_is_written_and_stays_a_pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read = []
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()))
    reader.start()
    atomic_write(path, "through")
    reader.join()
    assert read == [b"through"]
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
@pytest.mark.parametrize("mode", ["wb", "ab"])
def test_standard_output_is_written_where_it_stands(tmp_path, name, mode):
    path = tmp_path / "log.txt"
    path.write_text("before\n")
    code = f"print('one'); from cslearn._files import atomic_write; atomic_write({name!r}, 'two\\n'); print('three')"
    with path.open(mode) as file:
        subprocess.run([sys.executable, "-c", code], stdout=file, check=True)
    assert path.read_text() == ("before\n" if mode == "ab" else "") + "one\ntwo\nthree\n"


def test_standard_output_that_is_a_pipe():
    code = "from cslearn._files import atomic_write; atomic_write('/dev/stdout', 'two')"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"two"


def test_a_name_of_many_bytes_can_be_written(tmp_path):
    path = tmp_path / ("ö" * 120)  # 240 bytes
    atomic_write(path, "x")
    assert list(tmp_path.iterdir()) == [path]


def test_checking_leaves_no_trace(tmp_path):
    old = tmp_path / "old"
    old.write_text("kept")
    check_writable(tmp_path / "new")
    check_writable(old)
    assert (list(tmp_path.iterdir()), old.read_text()) == ([old], "kept")


@pytest.mark.parametrize("path", ["no/such/file", ".", LONG, "a\0b"])
def test_what_cannot_be_written_is_said_by_the_check_as_by_the_write(tmp_path, path):
    errors = []
    for attempt in (check_writable, lambda path: atomic_write(path, "x")):
        with pytest.raises(FileError, match="Cannot write") as caught:
            attempt(tmp_path / path)
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


def test_a_full_disk_is_said():
    with pytest.raises(FileError, match="Cannot write /dev/full: No space left"):
        atomic_write("/dev/full", "x")


def test_one_file_under_two_names(tmp_path):
    file, link, hard = tmp_path / "file", tmp_path / "link", tmp_path / "hard"
    file.write_text("x")
    link.symlink_to(file)
    os.link(file, hard)
    assert same_file(file, link)
    assert same_file(file, hard)
    assert same_file(tmp_path / "new", tmp_path / "." / "new")
    assert not same_file(os.devnull, os.devnull)
    assert not same_file(file, tmp_path / "new")


OVER_AN_INPUT = {
    "fit": ["fit", "{data}", "-o", "{data}"],
    "fit over knowledge": ["fit", "{data}", "--knowledge", "{knowledge}", "-o", "{knowledge}"],
    "fit, posterior": ["fit", "{data}", "--posterior", "{data}", "-o", "{new}"],
    "fit, checkpoint": ["fit", "{data}", "--checkpoint", "{data}", "-o", "{new}"],
    "fit, two outputs": ["fit", "{data}", "--posterior", "{new}", "-o", "{new}"],
    "sample": ["sample", "{model}", "-o", "{model}"],
    "score": ["score", "{model}", "{data}", "-o", "{data}"],
    "predict": ["predict", "{model}", "{data}", "-t", "carrier", "-o", "{data}"],
    "predict over the model": ["predict", "{model}", "{data}", "-t", "carrier", "-o", "{link}"],
    "impute": ["impute", "{model}", "{data}", "-o", "{data}"],
    "query": ["query", "{model}", "carrier", "-o", "{model}"],
    "report": ["report", "{model}", "{data}", "-o", "{data}"],
    "discretize": ["discretize", "{data}", "-o", "{data}"],
    "discretize, cuts": ["discretize", "{data}", "--cuts", "{data}"],
    "discretize, both": ["discretize", "{data}", "--cuts", "{new}", "-o", "{new}"],
    "convert": ["convert", "{model}", "{model}"],
    "fit, one of many": ["fit", "{folder}/*.csv", "-o", "{data}"],
    "pack, one of many": ["pack", "{folder}/*.csv", "-o", "{data}"],
    "pack, cuts": ["pack", "{data}", "--cuts", "{knowledge}", "-o", "{knowledge}"],
}


@pytest.mark.parametrize("name", OVER_AN_INPUT)
def test_no_command_writes_over_what_it_reads(run, data, model, tmp_path, name):
    knowledge, link = tmp_path / "k.json", tmp_path / "link.json"
    knowledge.write_text("{}")
    link.symlink_to(model)
    places = {"data": data, "model": model, "knowledge": knowledge, "link": link, "new": tmp_path / "new.json"}
    places["folder"] = data.parent
    before = {path: path.read_bytes() for path in (data, model, knowledge)}
    code, _, err = run(*(part.format(**places) for part in OVER_AN_INPUT[name]))
    assert code == 2
    assert "would replace" in err or "are the same file" in err
    assert {path: path.read_bytes() for path in before} == before
    assert not (tmp_path / "new.json").exists()


UNWRITABLE = {
    "fit": ["fit", "{data}", "-o", "{bad}"],
    "posterior": ["fit", "{data}", "-o", "{new}", "--posterior", "{bad}"],
    "checkpoint": ["fit", "{data}", "-o", "{new}", "--checkpoint", "{bad}"],
    "sample": ["sample", "{model}", "-o", "{bad}"],
    "score": ["score", "{model}", "{data}", "-o", "{bad}"],
    "predict": ["predict", "{model}", "{data}", "-t", "carrier", "-o", "{bad}"],
    "impute": ["impute", "{model}", "{data}", "-o", "{bad}"],
    "query": ["query", "{model}", "carrier", "-o", "{bad}"],
    "report": ["report", "{model}", "-o", "{bad}"],
    "plot": ["plot", "{model}", "-o", "{bad}.svg"],
    "discretize": ["discretize", "{data}", "-o", "{bad}"],
    "convert": ["convert", "{model}", "{bad}.bif"],
}


@pytest.mark.parametrize("bad", ["nowhere/file", LONG])
@pytest.mark.parametrize("name", UNWRITABLE)
def test_an_output_that_cannot_be_written_is_found_before_the_work(run, data, model, tmp_path, monkeypatch, name, bad):
    def never(*args, **options):
        raise AssertionError("the work began")

    monkeypatch.setattr("cslearn.estimators.CStreeLearner.fit", never)
    monkeypatch.setattr(CStree, "load", never)
    places = {"data": data, "model": model, "new": tmp_path / "new.json", "bad": tmp_path / bad}
    code, _, err = run(*(part.format(**places) for part in UNWRITABLE[name]))
    assert code == 2
    assert err.startswith("error: Cannot write")
    assert not (tmp_path / "new.json").exists()


@not_root
def test_a_directory_without_permission_is_said_before_the_work(tmp_path):
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    with pytest.raises(FileError, match="Permission denied"):
        check_writable(folder / "model.json")


TO_STANDARD_OUTPUT = {
    "fit": (["fit", "{data}", "--beta", "1", "-o"], '{\n "format"', "Learned from 100 rows"),
    "fit, as JSON": (["fit", "{data}", "--beta", "1", "--json", "-o"], '{\n "format"', '"order": '),
    "convert": (["convert", "{model}", "--to", "bif"], "network", "written as"),
    "report": (["report", "{model}", "-o"], "<!doctype html>", "Report written"),
    "discretize": (["discretize", "{data}", "-o"], "background,diagnosis", "Table written"),
}


@pytest.mark.parametrize("name", TO_STANDARD_OUTPUT)
def test_what_goes_to_standard_output_stands_there_alone(data, model, tmp_path, name):
    words, begin, told = TO_STANDARD_OUTPUT[name]
    command = [sys.executable, "-m", "cslearn", *(word.format(data=data, model=model) for word in words)]
    done = subprocess.run([*command, "/dev/stdout"], capture_output=True, check=True, text=True)
    assert done.stdout.startswith(begin) and told in done.stderr
    file = tmp_path / "written"
    subprocess.run([*command, file], capture_output=True, check=True)
    assert done.stdout == file.read_text()
