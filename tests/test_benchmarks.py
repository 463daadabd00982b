"""That the benchmarks run, and that what they share does what it says."""

import importlib
import json
import re
from math import log
from pathlib import Path

import numpy as np
import pytest
from benchmarks import __main__ as program
from benchmarks import defaults, estimates, report, search
from benchmarks.report import Kept, bold_least

from cslearn.priors import UniformPrior
from cslearn.stagings import listing

FOLDER = Path(report.__file__).parent


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A directory in place of the one with the pages."""
    monkeypatch.setattr(report, "RESULTS", str(tmp_path))
    return tmp_path


# ---------------------------------------------------------------- what all share
def test_what_was_kept_is_not_computed_again(tmp_path):
    path = str(tmp_path / "kept.jsonl")
    calls = []

    def double(x):
        calls.append(x)
        return {"twice": 2 * x}

    first = Kept(path)
    assert first("a", double, 1) == {"twice": 2}
    assert first("b", double, 2) == {"twice": 4}
    again = Kept(path)
    assert [again(name, double, 100) for name in "abc"] == [{"twice": 2}, {"twice": 4}, {"twice": 200}]
    assert calls == [1, 2, 100]
    assert [json.loads(line)[0] for line in Path(path).read_text().splitlines()] == ["a", "b", "c"]


def test_nothing_is_kept_without_a_file():
    assert Kept(None)("a", lambda: 1) == 1
    assert Kept(None)("a", lambda: 2) == 2


def test_the_least_figures_as_they_are_printed_are_bold():
    assert bold_least([0.204, 0.196, 0.3, 0.2], 2) == ["**0.20**", "**0.20**", "0.30", "**0.20**"]
    assert bold_least([-0.5, -1.5], 1) == ["-0.5", "**-1.5**"]


# ---------------------------------------------------------------- all benchmarks, one after the other
def test_every_benchmark_is_run_or_is_a_choice_of_defaults():
    scripts = {path.stem for path in FOLDER.glob("*.py") if re.search(r"\bpublish\(\s*\"", path.read_text())}
    listed = [*program.ALWAYS, *program.WITH_DATA, *program.WITH_PEERS, *program.CHOICES]
    assert sorted(scripts) == sorted(listed)


@pytest.mark.parametrize("name", [*program.ALWAYS, *program.WITH_DATA, *program.CHOICES])
def test_a_benchmark_can_be_loaded_and_run_without_arguments(name):
    module = importlib.import_module(f"benchmarks.{name}")
    assert callable(module.main)
    assert Path(module.__file__).read_text(encoding="utf-8").rstrip().endswith('if __name__ == "__main__":\n    main()')


@pytest.mark.parametrize("peers", [False, True])
def test_what_needs_data_or_peers_is_left_out_without_them(peers):
    without = program.chosen(peers=peers, data=False)
    assert set(without) == {*program.ALWAYS, *(["peers"] if peers else [])}
    more = {*program.WITH_DATA, *(["queries"] if peers else [])}
    assert set(program.chosen(peers=peers, data=True)) - set(without) == more


def test_every_benchmark_that_is_run_is_in_one_part():
    parts = [name for part in program.PARTS.values() for name in part]
    assert sorted(parts) == sorted(program.chosen(peers=True, data=True))
    assert program.chosen(peers=False, data=False, part="use") == ["start", "model"]
    makefile = (FOLDER.parent / "Makefile").read_text(encoding="utf-8")
    targets = re.search(r"^BENCH_PARTS := (.*)$", makefile, flags=re.MULTILINE)[1].split()
    assert targets == [f"bench-{part}" for part in program.PARTS]


def test_a_benchmark_that_fails_does_not_keep_the_next_from_running(monkeypatch, capsys):
    run = []

    def call(command):
        run.append(command[-1])
        return 3 if command[-1] == "benchmarks.model" else 0

    monkeypatch.setattr(program.subprocess, "call", call)
    monkeypatch.delenv("CSLEARN_DATA", raising=False)
    assert program.main([]) == 1
    assert run == [f"benchmarks.{name}" for name in program.ALWAYS]
    said = capsys.readouterr().err
    assert "benchmarks.model: failed with status 3" in said
    assert said.splitlines()[-1] == "failed: model"
    monkeypatch.setattr(program.subprocess, "call", lambda command: 0)
    assert program.main([]) == 0


# ---------------------------------------------------------------- the choice of defaults
@pytest.mark.parametrize("penalty", [0.5, 2.0])
def test_the_penalty_of_a_binary_staging_is_for_each_stage_beyond_the_first(penalty):
    prior, m = defaults.PenaltyPrior(penalty), 3
    weights = []
    for staging in listing((2, 2, 2), 2):
        weight = prior.log_weight(staging, m, 2)
        # The full split on a pair is drawn by two trees.
        trees = 2 if len(set(map(frozenset, staging))) == 1 and len(staging) == 4 else 1
        assert weight == pytest.approx(log(trees) - penalty * (len(staging) - 1))
        weights.append(weight)
    assert prior.log_normaliser(np.array([2, 2, 2]), 2) == pytest.approx(np.logaddexp.reduce(weights))


def test_the_uniform_prior_has_no_penalty():
    weights = {UniformPrior().log_weight(staging, 3, 2) for staging in listing((2, 2, 2), 2)}
    assert max(weights) == pytest.approx(min(weights))


def found(gaps):
    """Columns with these gaps (settings by cases), the same for both estimates, of one trial each."""
    settings = [defaults.DEFAULT, defaults.PAPER, defaults.Setting("penalty 2.0", 1.0)]
    columns = defaults.Columns(settings)
    for k, column in enumerate(np.transpose(gaps)):
        trial = {"oracle": 0.5}
        for (prior, ess), gap in zip(settings, column, strict=True):
            figures = {"averaged": gap, "best staging": 2 * gap, "stages": 1.0, "wrong": 0.0}
            trial[f"{prior}, {ess}"] = figures
        columns.add(defaults.Case("network", 5 + k, 100, 1), "networks", [trial])
    return columns


def test_regret_is_the_log_ratio_to_the_best_of_each_column():
    columns = found([[1.0, 3.0], [2.0, 1.0], [4.0, 3.0]])
    np.testing.assert_allclose(columns["averaged"], [[2, 6], [4, 2], [8, 6]])
    np.testing.assert_allclose(columns.regrets("averaged"), np.log([[1, 3], [2, 1], [4, 3]]))
    np.testing.assert_allclose(columns.regrets("best staging"), np.log([[2, 6], [4, 2], [8, 6]]))


@pytest.mark.parametrize(
    ("gaps", "verdict"),
    [([[1, 1.1], [2, 1], [4, 3]], "the least of 3"), ([[2, 2], [1, 1], [4, 2]], "place 2 of 3")],
)
def test_the_page_says_where_the_default_stands(gaps, verdict):
    columns = found(gaps)
    assert verdict in defaults.verdict(columns, columns.regrets("averaged"))


def test_the_choice_of_defaults_runs_and_goes_on(results, tmp_path, capsys):
    path = str(tmp_path / "kept.jsonl")
    arguments = ["--quick", "--jobs", "1", "--keep", path]
    defaults.main(arguments)
    first = capsys.readouterr()
    cases = sum(len(section.cases) for section in defaults.QUICK)
    assert len(first.err.splitlines()) == cases == len(Path(path).read_text().splitlines())
    for section in defaults.QUICK:
        assert f"## {section.title}" in first.out
    defaults.main(arguments)
    assert capsys.readouterr() == (first.out, "")
    assert list(results.glob("*.md")) == []


def test_the_choice_of_the_search_runs(results, capsys):
    search.main(["--quick"])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert len(rows) == 2 + len(search.QUICK_SETTINGS)
    assert list(results.glob("*.md")) == []


def test_a_page_is_written_whole_with_where_it_was_measured(results, monkeypatch, capsys):
    monkeypatch.setattr(search, "CASES", search.QUICK)
    monkeypatch.setattr(search, "SETTINGS", search.QUICK_SETTINGS)
    monkeypatch.setattr(search, "DEFAULT", (1, 20))
    search.main([])
    page = (results / "search.md").read_text(encoding="utf-8")
    assert page.startswith("# Choice of the search settings\n\n<!-- written by `python -m benchmarks.search` -->")
    assert page.rstrip().splitlines()[-1].startswith(f"{report.PAPER_BOUND} {report.provenance().partition(';')[0]}")
    assert capsys.readouterr().out.strip() == page.strip()


@pytest.mark.slow
def test_the_best_and_the_central_order_are_compared(results, capsys):
    estimates.main(["--quick"])
    *_, line = (text for text in capsys.readouterr().out.splitlines() if text.startswith("| "))
    best, central, difference, *edges = (cell.strip() for cell in line.split("|")[5:-1])
    assert float(difference.split()[0]) == pytest.approx(float(central) - float(best), abs=0.0011)
    assert all(0 <= float(wrong) <= 15 for wrong in edges)
    assert list(results.glob("*.md")) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cluster", "depth", "large_fit", "many", "posterior", "queries", "speed"])
def test_longer_benchmarks_run(name, results, capsys):
    if name == "queries":
        pytest.importorskip("pyagrum")
        pytest.importorskip("opt_einsum")
    importlib.import_module(f"benchmarks.{name}").main(["--quick"])
    assert "| --- |" in capsys.readouterr().out
    assert list(results.glob("*.md")) == []


# ---------------------------------------------------------------- large tables
def test_fewer_rows_are_the_first_parts_of_more_rows(tmp_path):
    from benchmarks.large_rows import write_parts

    from cslearn.data import as_table, pack

    few = write_parts(tmp_path / "few", 100, variables=5, part=50)
    more = write_parts(tmp_path / "more", 120, variables=5, part=50)
    assert [path.name for path in more] == ["part00000.parquet", "part00001.parquet", "part00002.parquet"]
    all_rows, first = pack(more, collapse=False), pack(few, collapse=False)
    assert (first.n, all_rows.n) == (100, 120)
    assert as_table(all_rows).take(slice(100)) == as_table(first)
