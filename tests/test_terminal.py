"""What the command line does where the world is not as it should be: streams, paths, names and numbers."""

import os
import pty
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest

from cslearn import Chains, CStree, CStreeLearner, random_cstree
from cslearn.cli.streams import plain
from cslearn.data import as_table
from cslearn.datasets import chickenpox_model
from cslearn.errors import FileError, InputError, LimitError

ODD = {"[bold]x[/bold]": ["[red]", ":smile:"], "a\x1b[31mb": ["\x1b]0;owned\x07", "ok"], "größe 😀": ["klein", "groß"]}


@pytest.fixture
def odd_model(tmp_path):
    path = tmp_path / "odd.json"
    random_cstree(ODD, random_state=0).save(path)
    return path


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "children.csv"
    chickenpox_model().sample(100, random_state=0).to_csv(path, index=False)
    return path


def command(*arguments, **options):
    options = {"capture_output": True, **options}
    return subprocess.run([sys.executable, "-m", "cslearn", *map(str, arguments)], **options)


# ---------------------------------------------------------------- names
@pytest.mark.parametrize(
    "arguments",
    [["show"], ["show", "--csi"], ["predict", "-t", "größe 😀", "--confusion"], ["edges"], ["convert"], ["score"]],
)
def test_names_are_printed_as_they_are_and_give_no_commands(run, odd_model, tmp_path, arguments):
    table = tmp_path / "odd.csv"
    CStree.load(odd_model).sample(50, random_state=0).to_csv(table, index=False)
    more = {"predict": [table], "score": [table], "convert": [tmp_path / "out.bif"]}.get(arguments[0], [])
    _, out, err = run(arguments[0], odd_model, *more, *arguments[1:])
    assert "\x1b" not in out + err
    assert "\x07" not in out + err
    if arguments == ["show"]:
        assert "[bold]x[/bold]" in out
        assert "a\\x1b[31mb" in out
        assert ":smile:" in out
        assert "😀" in out


def test_an_error_about_an_odd_name_gives_no_command(run, odd_model):
    code, _, err = run("query", odd_model, "\x1b[31m[x]")
    assert code == 2
    assert "\x1b" not in err
    assert "[x]" in err


def test_what_goes_to_a_file_or_a_pipe_is_not_changed(run, odd_model):
    assert "\x1b" in run("sample", odd_model, "-n", 20)[1]


def test_a_terminal_is_not_sent_the_commands_in_a_table(odd_model):
    reader, writer = pty.openpty()
    command("sample", odd_model, "-n", "20", capture_output=False, stdout=writer, check=True)
    os.close(writer)
    sent = b""
    try:
        while part := os.read(reader, 1 << 16):
            sent += part
    except OSError:  # the end, on Linux
        pass
    assert b"a\\x1b[31mb" in sent
    assert b"\x1b" not in sent


def test_plain_text_stays():
    assert plain("größe 😀\ttab\nline") == "größe 😀\ttab\nline"
    assert plain("a\rb\x9bc\u202ed\ud800") == "a\\rb\\x9bc\\u202ed\\ud800"


@pytest.mark.parametrize(
    ("encoding", "arguments"),
    [
        ("ascii", ["show"]),
        ("cp1252", ["sample", "-n", "3"]),
        pytest.param("ascii", ["sample", "-n", "3"], marks=pytest.mark.slow),
        pytest.param("ascii", ["show", "--json"], marks=pytest.mark.slow),
        pytest.param("cp1252", ["show"], marks=pytest.mark.slow),
        pytest.param("cp1252", ["show", "--json"], marks=pytest.mark.slow),
    ],
)
def test_an_encoding_that_lacks_characters_is_no_error(odd_model, encoding, arguments):
    done = command(arguments[0], odd_model, *arguments[1:], env={**os.environ, "PYTHONIOENCODING": encoding})
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"gr" in done.stdout


def test_half_a_character_is_refused():
    for frame in ({"a\ud800": ["x", "y"]}, {"a": ["x\udfff", "y"]}):
        with pytest.raises(InputError, match="half a character"):
            as_table(frame)


# ---------------------------------------------------------------- streams
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize(
    "arguments",
    [
        ["show"],
        ["sample", "-n", "5000"],
        pytest.param(["show", "--json"], marks=pytest.mark.slow),
        pytest.param(["query", "carrier"], marks=pytest.mark.slow),
    ],
)
def test_a_full_disk_behind_standard_output_is_said(model, arguments):
    with open("/dev/full", "wb") as full:
        done = command(arguments[0], model, *arguments[1:], capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (1, b"error: standard output: No space left on device\n")


def test_a_reader_that_goes_away_is_no_error(model):
    process = subprocess.Popen(
        [sys.executable, "-m", "cslearn", "sample", str(model), "-n", "50000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 0


def test_closed_streams_are_no_error(model, tmp_path):
    line = f"{sys.executable} -m cslearn sample {model} -n 3 -o {tmp_path / 'rows.csv'} >&- 2>&-"
    assert subprocess.run(line, shell=True).returncode == 0
    assert subprocess.run(f"{sys.executable} -m cslearn show {model} >&-", shell=True).returncode == 0
    assert len(pd.read_csv(tmp_path / "rows.csv")) == 3


@pytest.mark.parametrize("delay", [0.05, 0.15, 0.3, 0.6])
def test_an_interrupt_while_modules_are_loaded_shows_no_traceback(model, delay):
    code = "import cslearn.cli; print('ready', flush=True); cslearn.cli.main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "sample", str(model), "-n", "2000000", "-o", os.devnull],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.readline()
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert b"Traceback" not in err
    assert process.returncode in (0, 130)


# ---------------------------------------------------------------- paths
COMMANDS = [
    ["fit", "{bad}"],
    ["estimate", "{bad}"],
    ["discretize", "{bad}"],
    ["show", "{bad}"],
    ["show", "{model}", "{bad}", "--csi"],
    ["plot", "{bad}"],
    ["report", "{bad}"],
    ["report", "{model}", "{bad}"],
    ["sample", "{bad}"],
    ["score", "{model}", "{bad}"],
    ["predict", "{model}", "{bad}", "-t", "carrier"],
    ["impute", "{model}", "{bad}"],
    ["query", "{bad}", "carrier"],
    ["compare", "{model}", "{bad}"],
    ["convert", "{bad}", "out.bif"],
    ["edges", "{bad}"],
    ["fit", "{data}", "--knowledge", "{bad}", "-o", "new.json"],
    ["discretize", "{data}", "--cuts", "{bad}"],
    ["fit", "{data}", "--checkpoint", "{bad}", "-o", "new.json"],
]


def refuse(*args, **options):
    raise PermissionError(13, "Permission denied")


@pytest.mark.parametrize("kind", ["long", "closed", "missing", "under a file"])
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_paths_that_cannot_be_used_are_errors_in_words(run, data, model, tmp_path, monkeypatch, arguments, kind):
    monkeypatch.chdir(tmp_path)
    bad = {"long": "a" * 300 + ".csv", "missing": "none/x.csv", "under a file": "model.json/x.csv"}.get(kind, "c/x.csv")
    if kind == "closed":  # as root nothing is closed: the system calls are made to refuse
        real = os.stat, open, os.open
        closed = lambda path: isinstance(path, str | os.PathLike) and os.fspath(path).startswith("c/")  # noqa: E731
        monkeypatch.setattr(os, "stat", lambda p, *a, **k: refuse() if closed(p) else real[0](p, *a, **k))
        monkeypatch.setattr("io.open", lambda p, *a, **k: refuse() if closed(p) else real[1](p, *a, **k))
        monkeypatch.setattr("builtins.open", lambda p, *a, **k: refuse() if closed(p) else real[1](p, *a, **k))
    code, _, err = run(*(part.format(bad=bad, model=model, data=data) for part in arguments))
    monkeypatch.undo()
    assert code == 2
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1


# ---------------------------------------------------------------- tables that are no text
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32-le"])
def test_tables_in_other_encodings_are_refused(tmp_path, encoding):
    path = tmp_path / "t.csv"
    path.write_bytes("a,b\n1,2\n3,4\n".encode(encoding))
    with pytest.raises(FileError, match="UTF-8"):
        as_table(path)


def test_nul_characters_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\nx,y\nx\0,y\n")
    with pytest.raises(FileError, match=r"t\.csv, line 3: it holds NUL characters"):
        as_table(path)


# ---------------------------------------------------------------- numbers that are too large
def test_too_many_rows_to_draw(run, model):
    with pytest.raises(LimitError, match="draw fewer rows"):
        chickenpox_model().sample(3_000_000_000)
    code, _, err = run("sample", model, "-n", 3_000_000_000)
    assert code == 2
    assert "3,000,000,000 rows of 4 variables are more than" in err


@pytest.mark.parametrize("moves", [10**10, 10**19, 10**40])
def test_too_many_moves(run, data, tmp_path, moves):
    code, _, err = run("fit", data, "-o", tmp_path / "m.json", "--search", "mcmc", "--n-iter", moves)
    assert code == 2
    assert "the most that a chain makes" in err


@pytest.mark.parametrize(
    ("chains", "most"),
    [
        ({"n_iter": 10**9}, "134,217,728"),
        ({"n_iter": 10**8, "n_chains": 50}, "10,737,418"),
        ({"n_iter": 10**8, "thin": 1}, "44,739,242"),
    ],
)
def test_what_chains_keep_is_bounded_before_they_begin(chains, most):
    learner = CStreeLearner(beta=2, search=Chains(**chains))
    with pytest.raises(LimitError, match=f"is more than {most} moves, the most that a chain makes"):
        learner.fit(chickenpox_model().sample(20, random_state=0))


@pytest.mark.parametrize("parameter", ["n_chains", "n_temperatures"])
def test_what_there_can_be_many_of_is_bounded(parameter):
    with pytest.raises(InputError, match=f"{parameter} is a whole number from 1 to 100"):
        Chains(**{parameter: 10**7})


def test_too_little_memory_is_said(run, model, monkeypatch):
    def fail(*args, **options):
        raise MemoryError("Unable to allocate 7 TiB")

    monkeypatch.setattr(CStree, "sample", fail)
    assert run("sample", model)[::2] == (2, "error: there is not enough memory: Unable to allocate 7 TiB\n")
