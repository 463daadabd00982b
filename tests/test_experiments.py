"""The experiments run, keep what is done, and say where their results come from."""

import io
import json
import os
import random
import re
import sys
from argparse import Namespace

import networkx as nx
import numpy as np
import pytest
from experiments import __main__ as experiments
from experiments import (
    alarm,
    alone,
    common,
    density,
    figure2,
    figure3,
    learners,
    mushroom,
    networks,
    r_peers,
    sachs,
    staged_trees,
    summary,
    tables,
)
from experiments.environments import pinned, python_of
from tests.tasks import halves, square

from cslearn import CStree, kl_divergence, random_cstree
from cslearn.datasets import chickenpox_model, density_names, load_alarm, true_edges
from cslearn.graphs import CSIRelation
from cslearn.metrics import cpdag

real = pytest.mark.skipif(not os.environ.get("CSLEARN_DATA"), reason="CSLEARN_DATA names no directory with real data")


def page(name, folder):
    text = (folder / f"{name}.md").read_text(encoding="utf-8")
    assert "Python 3." in text and "cores" in text and "Seed" in text and "prior" in text
    return text


def captioned(text):
    """The pictures of a page that have a sentence for those who do not see them, and below it what they come from."""
    pictures = re.findall(r"^!\[(.*?)\]\((.*?)\.svg\)\n\n(.*)$", text, flags=re.MULTILINE)
    told = [
        name
        for shows, name, caption in pictures
        if len(shows.split()) > 5 and caption.startswith(f"*{shows} ") and re.search("cores.*cslearn.*Seed", caption)
    ]
    assert len(told) == text.count("![")
    return told


def test_every_picture_says_what_it_shows_and_what_it_comes_from():
    for name, pictures in {
        "figure2": ["figure2", "figure2c"],
        **{n: [n] for n in ("alarm", "sachs", "mushroom")},
    }.items():
        assert captioned((RESULTS.parent / f"{name}.md").read_text(encoding="utf-8")) == pictures
    assert "posterior means" in (RESULTS.parent / "figure2.svg").read_text(encoding="utf-8")
    with pytest.raises(AssertionError):
        captioned("![figure3](figure3.svg)\n\nText.")


def test_the_same_picture_is_the_same_file(tmp_path):
    from matplotlib import pyplot

    written = []
    for _ in range(2):
        figure, ax = pyplot.subplots()
        ax.plot([1, 2], [2, 1])
        common.save_figure(figure, "line", "A line that falls.", options(tmp_path))
        pyplot.close(figure)
        written.append((tmp_path / "line.svg").read_bytes())
    assert written[0] == written[1] and b"A line that falls." in written[0]


@pytest.mark.parametrize("experiment", [figure2, figure3])
def test_random_models(experiment, tmp_path):
    name = experiment.__name__.rpartition(".")[2]
    experiment.main(["--quick", "--output", str(tmp_path)])
    assert "1 random model" in page(name, tmp_path)
    assert (tmp_path / f"{name}.svg").exists()
    assert captioned(page(name, tmp_path))
    records = [json.loads(line) for line in (tmp_path / f"results/{name}.jsonl").read_text().splitlines()]
    assert {record["task"]["method"] for record in records} >= {"pc", "grasp"}
    if experiment is figure2:
        text = page(name, tmp_path)
        assert "GRaSP: DAG" in text and "ours, all (default)" in text and "equivalent sample size of 1" in text
    else:
        assert {record["task"]["search"] for record in records} == {"default", "5000 moves"}
        assert {record["settings"] for record in records} == set(map(figure3.settings, (r["task"] for r in records)))


@pytest.mark.parametrize("others", [[], ["agrum_bdeu", "pgmpy_bdeu"]])
def test_other_learners(tmp_path, monkeypatch, capsys, others):
    if any(python_of(learners.HOMES[other], False) is None for other in others):
        pytest.skip("pyAgrum or pgmpy is not installed")
    monkeypatch.setattr(learners, "LEARNERS", ["ours", *others])
    learners.main(["--quick", "--output", str(tmp_path)])
    text = page("learners", tmp_path)
    assert "| 5 | 250 |" in text and "| titanic |" in text
    assert "| models, samples or splits | random CStrees |" in text
    assert re.search(r"^\| ours( \| 1){2,3} \|$", text, flags=re.MULTILINE)  # networks have to be at hand
    assert ("No other learner was run" in text) == (not others)
    for other in others:
        assert learners.TITLES[other] in text and pinned(learners.HOMES[other]) in text
    assert "| data | ours | best other | which | ours ahead by (nats a row) | models |" in capsys.readouterr().out


def drawn(name, n, learner, gap, cpu=1.0):
    task = {"kind": "network", "name": name, "n": n, "seed": 1, "learner": learner}
    return {learners.name_of(task): {"true": -1.0, "held out": -1.0 - gap, "cpu": cpu, "shd": 3}}


@real  # which has the network
def test_networks(tmp_path, monkeypatch):
    monkeypatch.setattr(networks, "LEARNERS", ["ours, beta 2", "agrum_bic"])
    networks.main(["--quick", "--output", str(tmp_path)])
    text = page("networks", tmp_path)
    assert "asia (8 variables, 8 edges)" in text and "Too long" not in text
    assert re.search(r"^\| asia \| 250 \| 0\.0\d+ \|", text, flags=re.MULTILINE)
    if python_of("pyagrum", False) is not None:
        assert re.search(r"^\| asia \| 250 \| 0\.0\d+ \| 0\.\d+ \(greedy, BIC\) \|", text, flags=re.MULTILINE)


@real
def test_the_page_of_networks_has_the_best_of_each_package_and_what_was_too_long():
    found = drawn("child", 1000, "ours", 0.1) | drawn("child", 1000, "agrum_bic", 0.3)
    found |= drawn("child", 1000, "agrum_bdeu", 0.2)
    slow = {"kind": "network", "name": "child", "n": 1000, "seed": 1, "learner": "pgmpy_pc"}
    found[learners.name_of(slow)] = {"stopped": 300.0}
    found[learners.name_of({**slow, "name": "asia"})] = {"stopped": 0.0}  # not tried yet
    read = networks.read(found)
    assert read.learners == ["ours", "agrum_bdeu", "agrum_bic", "pgmpy_pc"]
    text = networks.text(read)
    assert "| child | 1,000 | 0.1000 | 0.2000 (greedy, BDeu) | none ended |" in text
    assert "| child | 1,000 | **0.1000** | 0.2000 | 0.3000 | too long |" in text
    assert "did not end within 300 CPU seconds" in text and "asia" not in text
    rows = summary._page(read, "network", "networks", ["ours"])
    assert rows == [["networks", "one tree", "the best of 3 others", 1, 1, 0, 0, 0]]


def test_a_network_with_more_variables_and_rows_is_harder_for_the_same_learner():
    stopped = {"kind": "network", "name": "alarm", "n": 1000, "seed": 1, "learner": "pgmpy_pc"}
    assert networks.harder({**stopped, "name": "pigs", "n": 10_000}, stopped)
    assert not networks.harder({**stopped, "name": "child"}, stopped)
    assert not networks.harder({**stopped, "learner": "agrum_bic"}, stopped)


@real
def test_one_real_set(tmp_path):
    sachs.main(["--quick", "--output", str(tmp_path)])
    assert "114,561,216,000" in page("sachs", tmp_path)


@pytest.mark.slow
@real
def test_all_experiments_run_in_small(tmp_path):
    """What `make reproduce-quick` runs; more than a minute."""
    experiments.main(["--quick", "--output", str(tmp_path)])
    for name in ("alarm", "sachs", "mushroom", "figure2", "figure3"):
        assert name in captioned(page(name, tmp_path))
        assert (tmp_path / f"{name}.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert "| titanic |" in page("learners", tmp_path)
    text = page("numbers", tmp_path)
    for stated in ("46", "41", "0.9895", "14.188 s", "114,561,216,000", "95.8 %", "5644"):
        assert f"| {stated} |" in text


def test_without_data_the_experiment_says_so(tmp_path, monkeypatch, capsys):
    from dataclasses import replace

    from cslearn.datasets import sources

    monkeypatch.delenv("CSLEARN_DATA", raising=False)
    monkeypatch.setenv("CSLEARN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    bad = replace(sources.SOURCES["alarm"], urls=("http://127.0.0.1:9/nothing",))
    monkeypatch.setitem(sources.SOURCES, "alarm", bad)
    alarm.main(["--quick", "--output", str(tmp_path)])
    assert "The data 'alarm' are not at hand" in capsys.readouterr().out
    assert not (tmp_path / "alarm.md").exists()


# ---------------------------------------------------------------- cells
def options(folder, **changes):
    (folder / "results").mkdir(exist_ok=True)
    return Namespace(
        **{"quick": True, "fresh": False, "output": folder, "jobs": 1, "limit": 60.0, "recorded": False, "only": {}}
        | changes
    )


def test_a_run_goes_on_where_it_was_ended(tmp_path):
    seen = []

    def counted(task):
        seen.append(task["x"])
        if task["x"] == 3 and seen.count(3) == 1:
            raise KeyboardInterrupt
        return square(task)

    tasks = [{"x": x} for x in range(5)]
    with pytest.raises(KeyboardInterrupt):
        common.compute("squares", counted, tasks, options(tmp_path))
    path = tmp_path / "results/squares.jsonl"
    with path.open("a") as file:
        file.write('{"task": {"x"')  # as if it had been ended while writing
    results = common.compute("squares", counted, tasks, options(tmp_path))
    assert [result["square"] for result in results] == [0, 1, 4, 9, 16]
    assert seen == [0, 1, 2, 3, 3, 4]
    assert len(path.read_text().splitlines()) == 5
    common.compute("squares", counted, tasks, options(tmp_path, fresh=True))
    assert seen[6:] == [0, 1, 2, 3, 4]
    found = common.compute("squares", counted, [{"x": 4}, {"x": 5}], options(tmp_path, recorded=True))
    assert found == [{"square": 16}, {"stopped": 0.0}]
    assert len(seen) == 11


def test_cells_of_other_settings_are_computed_again(tmp_path, monkeypatch):
    common.compute("squares", square, [{"x": 2}], options(tmp_path))
    monkeypatch.setattr(common, "defaults", lambda **changed: "other")
    seen = []
    common.compute("squares", lambda task: seen.append(task) or {}, [{"x": 2}], options(tmp_path))
    assert seen == [{"x": 2}]


def test_processes_share_cells_and_slow_ones_are_given_up(tmp_path):
    tasks = [{"x": x} for x in (2, 13, 15)]
    here = options(tmp_path, quick=False, jobs=1, limit=1.0)
    results = common.compute("squares", square, tasks, here, lambda task, stopped: task["x"] > stopped["x"])
    assert results == [{"square": 4}, {"stopped": 1.0}, {"stopped": 1.0, "tried": False}]
    seen = []
    common.compute("squares", lambda task: seen.append(task["x"]) or {}, tasks, options(tmp_path, limit=0.5))
    assert seen == []  # half the time would not be enough either
    common.compute("squares", lambda task: seen.append(task["x"]) or {}, tasks, options(tmp_path, limit=2.0))
    assert seen == [13, 15]


def test_two_processes_write_what_one_does(tmp_path):
    tasks = [{"x": x} for x in range(5)]
    found = []
    for jobs in (1, 2):
        folder = tmp_path / str(jobs)
        folder.mkdir()
        common.compute("squares", square, tasks, options(folder, quick=False, jobs=jobs))
        lines = (folder / "results/squares.jsonl").read_text().splitlines()
        found.append([(record["task"], record["result"]) for record in map(json.loads, lines)])
    assert found[0] == found[1] == [(task, square(task)) for task in tasks]


def test_cells_of_other_sizes_are_kept(tmp_path):
    for tasks in ([{"x": 1}, {"x": 2}], [{"x": 3}]):
        common.compute("squares", square, tasks, options(tmp_path))
    assert sorted(record["task"]["x"] for record in common.measured("squares", options(tmp_path))) == [1, 2, 3]


def test_only_what_is_chosen_is_computed_and_the_rest_is_kept(tmp_path):
    path = tmp_path / "results/squares.jsonl"
    tasks = [{"x": x, "y": y} for x in (2, 3) for y in "ab"]
    common.compute("squares", square, tasks[:1], options(tmp_path))
    with path.open("a") as file:
        given_up = {
            "task": tasks[1],
            "result": {"stopped": 10.0},
            "settings": common.our_settings(tasks[1]),
            "machine": "",
        }
        file.write(json.dumps(given_up) + "\n")
    results = common.compute("squares", square, tasks, options(tmp_path, only={"x": "3,4", "y": "b"}))
    assert results == [{"square": 4}, {"stopped": 10.0}, {"stopped": 0.0}, {"square": 9}]
    assert len(path.read_text().splitlines()) == 3
    assert common.arguments("", ["--only", "x=3", "--output", str(tmp_path)]).only == {"x": "3"}
    with pytest.raises(SystemExit):
        common.arguments("", ["--only", "x", "--output", str(tmp_path)])


def test_what_an_earlier_run_gave_up_is_not_tried_in_larger_sizes(tmp_path):
    here = options(tmp_path, quick=False, limit=1.0)

    def larger(task, stopped):
        return task["x"] > stopped["x"]

    common.compute("squares", square, [{"x": 13}], here, larger)
    assert common.compute("squares", square, [{"x": 12}, {"x": 15}], here, larger) == [
        {"square": 144},
        {"stopped": 1.0, "tried": False},
    ]


def test_progress_is_a_bar_on_a_terminal_and_lines_elsewhere(tmp_path, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    shown = {}
    for kind in (Terminal, io.StringIO):
        monkeypatch.setattr(sys, "stderr", kind())
        common.compute("squares", square, [{"x": 1}, {"x": 2}], options(tmp_path, fresh=True))
        shown[kind] = sys.stderr.getvalue()
    assert "2/2" in shown[Terminal] and "squares: 1 of 2" not in shown[Terminal]
    assert shown[io.StringIO].count("squares: ") == 2 and "\x1b" not in shown[io.StringIO]


def test_a_page_tells_the_settings_of_its_cells(tmp_path, monkeypatch):
    common.compute("squares", square, [{"x": 1}], options(tmp_path), settings=lambda task: "other settings")
    monkeypatch.setattr(common, "provenance", lambda: "another machine")
    common.publish("squares", "Squares", "Text.", options(tmp_path))
    text = (tmp_path / "squares.md").read_text()
    assert "other settings" in text and common.defaults() not in text and "another machine" not in text
    (record,) = common.measured("squares", options(tmp_path))
    assert record["commit"] == common.commit()
    if record["commit"]:
        assert f"commit {record['commit']}." in text
        with (tmp_path / "results/squares.jsonl").open("a") as file:
            file.write(json.dumps({**record, "commit": None}) + "\n")
        common.publish("squares", "Squares", "Text.", options(tmp_path))
        assert f"commit {record['commit']} and earlier ones." in (tmp_path / "squares.md").read_text()
    common.publish("nothing", "Nothing", "Text.", options(tmp_path))
    assert "Nothing was measured yet" in (tmp_path / "nothing.md").read_text()


# ---------------------------------------------------------------- processes of their own
def test_a_task_alone_has_its_own_memory_and_time():
    ballast = np.ones(60_000_000)  # 480 MB that do not count
    found = alone.alone(halves, {"x": 3}, 60)
    assert found["half"] == 1.5 and 5 < found["peak"] < 400 < ballast.nbytes / 2**20
    assert alone.alone(halves, {"x": 3, "forever": True}, 1) == {"stopped": 1}
    with pytest.raises(RuntimeError, match=r"(?s)^\{'y': 3\} failed:\n.*KeyError: 'x'"):
        alone.alone(halves, {"y": 3}, 60)


# ---------------------------------------------------------------- public sets beside published figures
def test_every_density_set_has_published_figures():
    stated = density.published()
    assert list(stated) == density_names()
    assert all({"WinMine", "ID-SPN"} <= set(figures) for figures in stated.values())
    assert stated["nltcs"]["WinMine"] == -6.02 and "MADE" not in stated["kosarek"]


def density_cells(tree, ensemble):
    whole = {"variables": 16, "rows": [500, 100], "fit": 1.0, "peak": 300.0, "tree": [tree, 0.1]}
    more = {"averaged": [tree + 0.01, 0.1], "ensemble": [ensemble, 0.1], "averaging": 1.0, "growing": 2.0}
    return {"greedy": whole, "beta 2": whole, "default": whole | more}


def test_the_page_of_density_counts_sets_as_they_are_printed(tmp_path):
    found = {"nltcs": density_cells(-6.024, -5.99), "dna": density_cells(-81.2, -79.0)}
    del found["dna"]["beta 2"]
    text = density.text(found, options(tmp_path))
    assert "within 0.5 nats of it on 1 of 2 sets" in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert "| nltcs | 16 | 500 | -6.024 | -6.024 | -6.024 | -6.014 | -5.990 | -6.02 | -6.02 | -5.99 (CMCLT) |" in rows
    assert "| dna | 16 | 500 | -81.200 |  | -81.200 | -81.190 | -79.000 | -80.65 | -81.21 | -80.65 (WinMine) |" in rows
    assert "| greedy | 2 | 1 | 2 | 0 |" in rows  # -6.024 is -6.02 to two digits
    assert "| beta 2 | 1 | 1 | 1 | 0 |" in rows
    assert "| ensemble | 2 | 2 | 2 | 2 |" in rows
    assert captioned(text.replace("Nothing was measured yet.", "cores, cslearn.")) == ["density"]


@real
def test_a_density_set_is_learned_from_its_train_split():
    found = density.fit({"set": "nltcs", "learner": "greedy", "rows": 300})
    assert found["rows"] == [300, 300] and found["variables"] == 16
    assert -7.5 < found["tree"][0] < -5.5


# ---------------------------------------------------------------- all in short
def test_the_summary_counts_leads_and_those_that_are_clear():
    assert summary._counted([(0.1, True), (0.2, False), (-0.1, True), (0.0, False)]) == [4, 2, 1, 2, 1]


# ---------------------------------------------------------------- the splits of R's learners
@real
@pytest.mark.parametrize("name", [*r_peers.SETS, *r_peers.ALARM])
def test_splits_are_those_that_were_stated(name):
    train, test = r_peers.split_of(name, 0)
    if name in r_peers.ALARM:
        data = load_alarm()
        assert train.n == r_peers.ALARM[name] and test.n == 5000
        assert test.states[0][test.codes[-1, 0]] == data.iloc[-1, 0]
        return
    rows = r_peers.rows_of(name)
    rng = np.random.default_rng(20240)
    first, second = rng.permutation(rows.n), rng.permutation(rows.n)
    cut = round(0.7 * rows.n)
    assert (train.codes == rows.codes[first[:cut]]).all() and (test.codes == rows.codes[first[cut:]]).all()
    assert (r_peers.split_of(name, 1)[1].codes == rows.codes[second[cut:]]).all()
    # R was not run on monks3, where pyAgrum alone stands beside ours.
    assert r_peers.figures(name, 4).keys() >= ({"hc_bde1", "hc_bic"} if name != "monks3" else set())


@real
def test_a_network_on_the_same_split_predicts_what_bnlearn_did():
    """Hill climbing ends in the same graph on four variables, so the splits are the same rows."""
    train, test = r_peers.split_of("titanic", 0)
    dag = nx.complete_graph(train.p, nx.DiGraph)
    dag = nx.DiGraph((train.variables[a], train.variables[b]) for a, b in dag.edges if a < b)
    full = learners.log_prob_of_dag(dag, train, test, 1.0).mean()
    best = max(value for value, _ in r_peers.figures("titanic", 0).values())
    assert abs(full - best) < 0.05
    assert abs(learners.log_prob_of_dag(dag, *r_peers.split_of("titanic", 1), 1.0).mean() - best) > 0.05


def test_differences_are_paired():
    cells = [{"ours": [-1.0, 1], "hc_a": [-1.1, 1], "hc_b": [-3.0, 1]}, {"ours": [-2.0, 1], "hc_a": [-2.2, 1]}]
    assert r_peers.best_of(cells, ("hc_",)) == "hc_a"  # the other was not run on all splits
    assert r_peers.best_of(cells, ("st_",)) is None
    ahead, error = r_peers.difference(cells, "ours", "hc_a")
    assert (ahead, error) == (pytest.approx(0.15), pytest.approx(0.05))
    assert r_peers.told(ahead, error) == "+0.1500 ± 0.0500"


# ---------------------------------------------------------------- the results that are kept here
RESULTS = common.ROOT / "docs/reproduction/results"
SETTINGS = {
    "alarm": alarm.settings,
    "sachs": common.our_settings,
    "mushroom": mushroom.settings,
    "figure2": common.our_settings,
    "figure2c": figure2.staged_settings,
    "figure3": figure3.settings,
    "learners": learners.settings,
    "networks": learners.settings,
    "density": density.settings,
    "r_peers": r_peers.settings,
    "tables": tables.settings,
}


@pytest.mark.parametrize("name", [path.stem for path in sorted(RESULTS.glob("*.jsonl"))])
def test_results_are_of_the_settings_of_today(name):
    """If not, the experiment has to be run again: `python -m experiments.<name>`."""
    records = [json.loads(line) for line in (RESULTS / f"{name}.jsonl").read_text().splitlines()]
    assert records
    assert all(r["settings"] == SETTINGS[name](r["task"]) for r in records)


def test_every_row_of_the_table_of_numbers_says_what_the_paper_states():
    text = (RESULTS.parent / "numbers.md").read_text(encoding="utf-8")
    listed = [line.split(" | ") for line in text.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    assert len(listed) > 50
    for stated in (
        "37² − 37",
        "veil-type",
        "50 % quantiles",
        "250, 500, 1000, 10000",
        "exponential from p = 10",
        "120",
    ):
        assert f"| {stated} |" in text
    assert [row for row in listed if len(row) < 4 or not all(cell.strip("| ") for cell in row[:3])] == []


# ---------------------------------------------------------------- what the pages rest on
def test_the_extension_of_a_cpdag_is_of_its_class():
    for seed in range(40):
        rng = random.Random(seed)
        dag = nx.DiGraph()
        dag.add_nodes_from(range(6))
        dag.add_edges_from((a, b) for a in range(6) for b in range(a + 1, 6) if rng.random() < 0.4)
        graph = cpdag(dag)
        found = figure2.extension({v: tuple(graph.predecessors(v)) for v in graph})
        assert nx.is_directed_acyclic_graph(found)
        assert set(cpdag(found).edges) == set(graph.edges)
    cycle = figure2.extension({"a": ("b",), "b": ("c",), "c": ("a",)})
    assert nx.is_directed_acyclic_graph(cycle)
    assert cycle.number_of_edges() >= 2


def test_oracle_and_learned_divergences_shrink_with_rows():
    few, many = (figure2.cell({"p": 5, "n": n, "seed": 1, "method": "oracle"}) for n in (100, 10_000))
    assert many["mean"][0] < few["mean"][0]


def test_the_relations_of_the_paper_are_sixteen_in_twelve_labels():
    assert len(alarm.PAPER) == 12
    assert sum(len(codes) for *_, codes, _ in alarm.PAPER) == 16
    assert all(len(codes) == len(named) for *_, codes, named in alarm.PAPER)


def test_a_told_structure_is_drawn_as_it_was():
    tree = random_cstree(5, random_state=3)
    told = json.loads(json.dumps(alarm.structure(tree)))
    again = alarm.ldag_of(told, tree.states)
    assert again == tree.to_ldag()
    assert all(str(CSIRelation.parse(r, tree.states)) == r for r in told["relations"])


def test_parameters_of_a_graph_are_counts_with_something_added():
    truth = random_cstree([2, 3, 2], random_state=1)
    train, test = (truth.sample_table(n, random_state=seed) for seed, n in ((1, 50), (2, 20)))
    dag = nx.DiGraph([("X1", "X2"), ("X3", "X2")])
    found = learners.log_prob_of_dag(dag, train, test, 0.5)
    rows = [tuple(map(int, row)) for row in train.codes]
    for row, value in zip(test.codes, found, strict=True):
        a, b, c = map(int, row)
        pairs = [(sum(r[0] == a for r in rows), len(rows), 2), (sum(r[2] == c for r in rows), len(rows), 2)]
        alike = [r for r in rows if (r[0], r[2]) == (a, c)]
        pairs.append((sum(r[1] == b for r in alike), len(alike), 3))
        expected = sum(np.log((n + 0.5) / (total + 0.5 * card)) for n, total, card in pairs)
        assert value == pytest.approx(expected)


def test_a_screen_makes_many_variables_easier():
    stopped = {"p": 250, "n": 1000, "method": "auto", "search": "default", "seed": 1}
    assert not figure3.harder({**stopped, "p": 500}, stopped)
    assert figure3.harder({**stopped, "p": 500, "method": "pc"}, {**stopped, "method": "pc"})
    assert not figure3.harder(
        {**stopped, "p": 500, "method": "pc", "search": "5000 moves"}, {**stopped, "method": "pc"}
    )


def test_a_time_that_is_missing_has_a_reason():
    assert figure3.why_not([{"stopped": 150.0}, {"stopped": 150.0, "tried": False}]) == "more than 150"
    assert figure3.why_not([{"stopped": 150.0, "tried": False}]) == "not tried"
    assert figure3.why_not([{"stopped": 0.0}]) == "not run"
    assert figure3.explained([["pc", "not run"]]).startswith(" What is *not run*")
    assert "not tried" not in figure3.explained([["pc", "not run"]]) and not figure3.explained([["pc", "1.00"]])


def test_what_is_left_of_a_fit_is_of_that_fit():
    fit = dict.fromkeys(figure3.PHASES, 1.0) | {"total": 4.5}
    assert figure3.remainder(fit) == 0.5
    records = [json.loads(line)["result"] for line in (RESULTS / "figure3.jsonl").read_text().splitlines()]
    assert min(figure3.remainder(result) for result in records if "total" in result) >= 0.0


def test_edges_found_and_reversed_are_told_apart():
    (a, b), (c, d), *_ = true_edges("sachs")
    assert sachs.directions({"edges": [[a, b], [d, c]]}) == (1, 1)
    assert sachs.directions({"edges": []}) == (0, 0)


# ---------------------------------------------------------------- learners on the same models
def learned(differences, **other):
    """A page on which one learner is ahead of ours by these differences, and others by as much as they are said to."""
    data = [{"kind": "real", "name": "set", "seed": seed} for seed in range(len(differences))]
    found = {}
    for row, difference in zip(data, differences, strict=True):
        for learner, value in {"ours": 0.0, "agrum_bic": difference, **other}.items():
            key = learners.name_of({**row, "learner": learner})
            found[key] = {"held out": -2.0 + value, "cpu": 1.0, "edges": 3 if learner == "ours" else 5}
    return learners.Page(found, data, ["ours", "agrum_bic", *other])


def test_differences_are_over_the_same_models_with_their_errors():
    there = learned([0.1, 0.2, 0.3])
    mean, error, n = there.ahead("agrum_bic", {"kind": "real"})
    assert (mean, n) == (pytest.approx(0.2), 3)
    assert error == pytest.approx(0.1 / np.sqrt(3))
    del there.found[learners.name_of({"kind": "real", "name": "set", "seed": 2, "learner": "agrum_bic"})]
    assert there.ahead("agrum_bic", {"kind": "real"})[0] == pytest.approx(0.15)
    assert "| set | -2.000 | -1.850 | pyAgrum greedy, BIC | -0.1500 ± 0.0500 | 2 |" in there.short()
    averaged = learned([0.1, 0.2, 0.3], **{"ours, averaged": 0.5}).short()
    assert "| -2.000 | -1.500 | -1.800 | pyAgrum greedy, BIC | -0.2000 ± 0.0577 | 0.3000 ± 0.0577 | 3 |" in averaged


def test_a_loss_is_told_with_what_was_measured_of_it():
    clear = learned([0.2, 0.21, 0.2]).losses()
    assert "1 of 1 real data sets (1 clearly)" in clear[0]
    assert "nor contexts of two make up for it; ours has 3 edges, the other 5" in clear[1] and "2 of 2" in clear[1]
    deep = learned([0.2, 0.21, 0.2], **{"ours, beta 2": 0.3}).losses()
    assert "| beta 2 is ahead; ours has" in deep[1]
    chance = learned([0.2, -0.1, 0.01]).losses()
    assert "1 of 1 real data sets (0 clearly)" in chance[0] and "within two standard errors |" in chance[1]
    steady = learned([0.2, -0.1, 0.01], agrum_bdeu=0.01).losses()
    assert "1 of 1 real data sets (1 clearly)" in steady[0]
    assert "within two standard errors; clearly ahead: pyAgrum greedy, BDeu by 0.0100 ± 0.0000" in steady[1]
    won = learned([-0.1, -0.2, -0.1]).losses()
    assert "0 of 1 real data sets (0 clearly)" in won[0] and len(won) == 1


def test_a_median_over_fewer_models_than_others_of_its_column_says_so():
    there = learned([0.1, 0.2, 0.3])
    few = {"kind": "real", "name": "other", "seed": 0}
    found = {learners.name_of({**few, "learner": name}): {"held out": -1.0, "cpu": 1.0} for name in there.learners}
    both = learners.Page(there.found | found, [*there.sets, few], there.learners)
    assert both.body(both.groups["real"], "held out", 3) == [
        ["set", "-2.000", "**-1.800**"],
        ["other", "**-1.000** (1)", "**-1.000** (1)"],
    ]
    assert "| ours | 3 |" in both.how_many()


def test_the_best_other_is_the_best_of_the_figures_shown():
    """One learner has the better mean, by a single model, and another one the better median."""
    there = learned([0.0, 0.0, 0.9], agrum_bdeu=0.1)
    group = {"kind": "real"}
    assert there.best_other(group, "held out") == "agrum_bdeu" and there.hardest_other(group) == "agrum_bic"
    assert "| -1.900 | pyAgrum greedy, BDeu | -0.1000 ± 0.0000 |" in there.short()
    few = learned([0.0, 0.0, 0.9], agrum_bdeu=0.1)
    del few.found[learners.name_of({"kind": "real", "name": "set", "seed": 2, "learner": "agrum_bdeu"})]
    assert few.best_other(group, "held out") == "agrum_bic"


# ---------------------------------------------------------------- staged trees of R
FAKE = """\
#!{python}
import csv, sys
from pathlib import Path
arguments = sys.argv[1:]
if "-e" in arguments:
    print("9.9.9", end="")
    sys.exit()
script, rows, graph, folder = arguments[1:]
assert "stages_bhc" in Path(script).read_text()
names, *rows = csv.reader(open(rows))
parents = dict.fromkeys(names, "")
if graph != "-":
    parents = {{row["variable"]: row["parents"] for row in csv.DictReader(open(graph))}}
stages, known = [["variable", "stage"]], [["variable", "stage", "zero", "one"]]
before = [""]
for k, v in enumerate(parents):  # one stage for each outcome of the parents, in the order of the DAG
    order = list(parents)
    mine = ["".join(x for x, w in zip(path, order) if w in parents[v].split()) or "1" for path in before]
    stages += [[v, stage] for stage in mine]
    for stage in dict.fromkeys(mine):
        seen = [row[names.index(v)] for row in rows
                if ("".join(row[names.index(w)] for w in order if w in parents[v].split()) or "1") == stage]
        shares = [seen.count(x) / len(seen) if seen else "NA" for x in "01"]
        known.append([v, stage, *shares])
    before = [path + x for path in before for x in "01"]
for name, table in (("stages.csv", stages), ("probabilities.csv", known)):
    csv.writer(open(Path(folder, name), "w", newline="")).writerows(table)
Path(folder, "seconds").write_text("0.5")
"""


@pytest.fixture
def fake_r(tmp_path, monkeypatch):
    """An `Rscript` that fits the DAG, or independent variables, by relative frequencies."""
    folder = tmp_path / "bin"
    folder.mkdir()
    path = folder / "Rscript"
    path.write_text(FAKE.format(python=sys.executable))
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    staged_trees.version.cache_clear()
    yield path
    staged_trees.version.cache_clear()


@pytest.mark.parametrize("n", [25, 400])  # with few rows some parents have outcomes without any
def test_what_r_learned_is_read_as_a_distribution(fake_r, n):
    truth = random_cstree(5, random_state=2)
    data = truth.sample_table(n, random_state=3)
    dag = nx.DiGraph([("X3", "X1"), ("X3", "X2"), ("X1", "X2"), ("X5", "X2"), ("X2", "X4")])
    assert staged_trees.version() == "9.9.9"
    for graph in (dag, None):
        found = staged_trees.learn(data, graph, 60.0)
        assert np.exp(found["log_prob"]).sum() == pytest.approx(1)
        table = staged_trees.all_outcomes(found["order"], data)
        both = staged_trees.divergences(found["log_prob"], truth.log_prob(table))
        states = dict(zip(data.variables, data.states, strict=True))
        same = CStree.from_dag(graph or nx.create_empty_copy(dag), states=states).fit_parameters(data, "mle")
        expected = [float(kl_divergence(same, truth)), float(kl_divergence(truth, same))]
        assert both == [value if np.isinf(value) else pytest.approx(value, abs=1e-9) for value in expected]
        wrong = staged_trees.all_outcomes(found["order"][::-1], data)
        assert staged_trees.divergences(found["log_prob"], truth.log_prob(wrong))[0] != pytest.approx(both[0], abs=1e-6)


def test_figure_2c_has_columns_of_r_if_it_is_there(fake_r, tmp_path, monkeypatch):
    monkeypatch.setattr(figure2, "python_of", lambda name, install: None)
    figure2.main(["--quick", "--output", str(tmp_path)])
    text = page("figure2", tmp_path)
    assert "stagedtrees 9.9.9" in text and "stagedtrees, best order search" in text and "cegpy AHC" not in text
    fake_r.unlink()  # what is recorded stays on the page, and nothing is run
    staged_trees.version.cache_clear()
    figure2.main(["--quick", "--output", str(tmp_path)])
    assert "stagedtrees, best order search" in page("figure2", tmp_path)


def test_r_that_fails_or_takes_too_long_is_told(fake_r):
    data = random_cstree(3, random_state=1).sample_table(20, random_state=1)
    fake_r.write_text("#!/bin/sh\necho no such package >&2\nexit 1\n")
    assert staged_trees.version() is None
    assert staged_trees.learn(data, None, 60.0) == {"error": "no such package"}
    fake_r.write_text("#!/bin/sh\nexec sleep 60\n")
    assert staged_trees.learn(data, None, 0.2)["stopped"] == 0.2


def test_larger_data_of_the_same_kind_are_harder():
    stopped = {"kind": "cstree", "p": 10, "n": 500, "seed": 1, "learner": "agrum_bic"}
    assert learners.harder({**stopped, "seed": 2}, stopped)
    assert learners.harder({**stopped, "p": 15, "n": 1000}, stopped)
    assert not learners.harder({**stopped, "p": 15, "n": 250}, stopped)
    assert not learners.harder({**stopped, "learner": "pgmpy_pc"}, stopped)
    assert not learners.harder({"kind": "real", "name": "car", "seed": 1, "learner": "agrum_bic"}, stopped)


# ---------------------------------------------------------------- untidy tables
def test_an_untidy_table_goes_through_all_commands(monkeypatch):
    visits = chickenpox_model().sample(300, random_state=0).astype(object)
    visits = visits.mask(np.random.default_rng(0).random(visits.shape) < 0.05)
    visits.insert(0, "visit", range(1, 301))
    visits["age"] = np.random.default_rng(1).gamma(4.0, 1.5, 300).round(1)
    source = tables.Source("none", "none", "exposed", ("--missing", "em"), leave_out="visit")
    monkeypatch.setattr(tables, "SOURCES", {"visits": source})
    monkeypatch.setattr(tables, "text_of", lambda _: visits.to_csv(index=False))
    found = tables.cell({"table": "visits", "rows": None, "estimate": True})
    assert (found["rows"], found["counts_of"], found["variables"], found["expected"]) == (300, 300, 5, True)
    assert found["furthest"] < 0.01
    assert found["refuted"] == 0
    assert found["same_predictions"]
    assert found["same_score"]
    assert found["accuracy"] >= found["majority"]
    assert found["estimated"] > 0
    assert found["exposure"] in visits.columns
    assert found["effect"]["lower"] <= found["effect"]["estimate"] <= found["effect"]["upper"]
    (row,) = [line for line in "\n".join(tables.page({"visits": found})).splitlines() if "| 300 | 5 |" in line]
    assert row.startswith("| visits |")


def test_sentences_that_the_data_refute_are_counted():
    heads = "verdict,log_bayes_factor\n"
    said = "a does not depend on b once c is d  (log Bayes factor {}, 30 rows)"
    assert tables.phrased(f"{heads}supported,2.5\nignored,-7\n", said.format("2.5"))["refuted"] == 0
    assert tables.phrased(f"{heads}supported,-2.5\n", said.format("-2.5"))["refuted"] == 2


def test_counts_that_do_not_sum_to_the_rows_are_noticed():
    page = '<script id="data" type="application/json">{}</script>'
    stages = [{"stages": [{"n": [3, 4]}, {"n": [1, 2]}]}, {"stages": [{"n": [5, 4]}]}]
    content = {"rows": 10, "gaps": None, "variables": stages}
    assert tables.counted(page.format(json.dumps(content)))["furthest"] == 1


def test_what_the_untidy_tables_showed():
    records = [json.loads(line) for line in (RESULTS / "tables.jsonl").read_text(encoding="utf-8").splitlines()]
    found = {record["task"]["table"]: record["result"] for record in records}
    assert found.keys() == tables.SOURCES.keys()
    for name, result in found.items():
        # Chains that have not converged come with an error of what they say.
        assert result["edge_error"] is not None, name
        assert result["converged"] or any("standard errors up to" in note for note in result["notes"]), name
        assert result["refuted"] == 0, name
        assert result["furthest"] < 0.01, name
        assert result["same_predictions"], name
        assert result["same_score"], name
    middle = [result for result in found.values() if 19 <= result["variables"] <= 61]
    assert len(middle) > 3
    for result in middle:
        if not result["converged"]:
            assert result["seconds"] < 60
            assert any("Edge probabilities have standard errors up to" in note for note in result["notes"])
