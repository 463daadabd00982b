"""The experiments run, keep what is done, and say where their results come from."""

import json
import os
import random
from argparse import Namespace

import networkx as nx
import numpy as np
import pytest
from experiments import alarm, common, figure2, figure3, learners, mushroom, numbers, sachs

from cslearn import random_cstree
from cslearn.graphs import CSIRelation
from cslearn.metrics import cpdag

real = pytest.mark.skipif(not os.environ.get("CSLEARN_DATA"), reason="CSLEARN_DATA names no directory with real data")


def page(name, folder):
    text = (folder / f"{name}.md").read_text(encoding="utf-8")
    assert "Python 3." in text and "cores" in text and "Seed" in text and "prior" in text
    return text


@pytest.mark.parametrize("experiment", [figure2, figure3])
def test_random_models(experiment, tmp_path):
    name = experiment.__name__.rpartition(".")[2]
    experiment.main(["--quick", "--output", str(tmp_path)])
    assert "1 random model" in page(name, tmp_path)
    records = [json.loads(line) for line in (tmp_path / f"results/{name}.jsonl").read_text().splitlines()]
    assert {record["task"]["method"] for record in records} >= {"pc", "grasp"}


def test_other_learners(tmp_path):
    learners.main(["--quick", "--output", str(tmp_path)])
    text = page("learners", tmp_path)
    assert "| 5 | 250 |" in text and "| titanic |" in text and "No other learner was run" in text
    assert "1 for random CStrees, 1 for real data sets" in text


@real
def test_one_real_set(tmp_path):
    sachs.main(["--quick", "--output", str(tmp_path)])
    assert "114,561,216,000" in page("sachs", tmp_path)


@pytest.mark.slow
@real
def test_real_data_and_the_table_of_numbers(tmp_path):
    for experiment, name in ((alarm, "alarm"), (sachs, "sachs"), (mushroom, "mushroom")):
        experiment.main(["--quick", "--output", str(tmp_path)])
        page(name, tmp_path)
        assert (tmp_path / f"{name}.svg").read_text(encoding="utf-8").startswith("<?xml")
    numbers.main(["--quick", "--output", str(tmp_path)])
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
        **{"quick": True, "fresh": False, "output": folder, "jobs": 1, "limit": 60.0, "recorded": False} | changes
    )


def square(task):
    while task["x"] == 13:  # for ever, and busy
        pass
    return {"square": task["x"] ** 2}


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
    monkeypatch.setattr(common, "defaults", lambda: "other")
    seen = []
    common.compute("squares", lambda task: seen.append(task) or {}, [{"x": 2}], options(tmp_path))
    assert seen == [{"x": 2}]


def test_processes_share_cells_and_slow_ones_are_given_up(tmp_path):
    tasks = [{"x": x} for x in (2, 13, 15)]
    here = options(tmp_path, quick=False, jobs=1, limit=1.0)
    results = common.compute("squares", square, tasks, here, lambda task, stopped: task["x"] > stopped["x"])
    assert results == [{"square": 4}, {"stopped": 1.0}, {"stopped": 1.0}]
    seen = []
    common.compute("squares", lambda task: seen.append(task["x"]) or {}, tasks, options(tmp_path, limit=0.5))
    assert seen == []  # half the time would not be enough either
    common.compute("squares", lambda task: seen.append(task["x"]) or {}, tasks, options(tmp_path, limit=2.0))
    assert seen == [13, 15]


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


def test_larger_data_of_the_same_kind_are_harder():
    stopped = {"kind": "cstree", "p": 10, "n": 500, "seed": 1, "learner": "agrum_bic"}
    assert learners.harder({**stopped, "seed": 2}, stopped)
    assert learners.harder({**stopped, "p": 15, "n": 1000}, stopped)
    assert not learners.harder({**stopped, "p": 15, "n": 250}, stopped)
    assert not learners.harder({**stopped, "learner": "pgmpy_pc"}, stopped)
    assert not learners.harder({"kind": "real", "name": "car", "seed": 1, "learner": "agrum_bic"}, stopped)
