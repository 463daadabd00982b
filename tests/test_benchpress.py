"""What is exchanged with Benchpress: its documented formats, and the module folders run as it runs them."""

import json
import runpy
import subprocess
import sys
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace

import fastjsonschema
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cslearn import CStree, random_cstree
from cslearn.data import as_table, write_benchpress
from cslearn.errors import FileError, InputError
from cslearn.formats import read_adjacency, read_trajectory, write_benchpress_graph, write_trajectory
from cslearn.scores import Scores
from cslearn.stagings import listing

MODULES = Path(__file__).parent.parent / "integrations/benchpress"

EDGES = st.sets(st.sampled_from([(a, b) for a in "abcd" for b in "abcd" if a < b]))
DRAWS = st.lists(st.tuples(st.floats(-1e6, 0), EDGES), min_size=1, max_size=12)


@given(draws=DRAWS)
def test_trajectories_come_back(draws, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "trajectory.csv"
    write_trajectory("abcd", draws, path)
    names, back = read_trajectory(path)
    assert names == list("abcd")
    assert back == [(score, frozenset(edges)) for score, edges in draws]


@given(draws=DRAWS)
def test_benchpress_counts_every_draw(draws, tmp_path_factory):
    # As the platform does: each row's graph counts until the next row's index.
    path = tmp_path_factory.getbasetemp() / "counted.csv"
    write_trajectory("abcd", draws, path)
    frame = pd.read_csv(path)
    assert list(frame.columns) == ["index", "score", "added", "removed"]
    assert frame["index"].tolist()[:3] == [-2, -1, 0]
    graph, heat = nx.DiGraph(), np.zeros((4, 4))
    graph.add_nodes_from("abcd")
    for row, (_, line) in enumerate(frame.iterrows()):
        if line["index"] > 0:
            heat += nx.to_numpy_array(graph, nodelist="abcd") * (line["index"] - frame["index"][row - 1])
        graph.add_edges_from(edge.split("->") for edge in line["added"][1:-1].split(";") if edge)
        graph.remove_edges_from([edge.split("->") for edge in line["removed"][1:-1].split(";") if edge])
        if line["index"] == -1:
            assert not graph.edges
    expected = np.zeros((4, 4))
    for _, edges in draws:
        for a, b in edges:
            expected["abcd".index(a), "abcd".index(b)] += 1
    assert (heat == expected).all()
    assert frame["index"].iloc[-1] == len(draws)


def test_the_example_of_the_documentation_with_arrows(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "index,score,added,removed\n-2,0.0,[a->b;a->c;a->d],[]\n-1,0.0,[],[a->b;a->c;a->d]\n"
        "0,-2325.52,[b->c;a->d],[]\n34,-2311.94,[],[b->c]\n89,-2310.81,[c->d],[]\n"
    )
    names, draws = read_trajectory(path)
    assert names == ["a", "b", "c", "d"]
    assert draws[33] == (-2325.52, {("b", "c"), ("a", "d")})
    assert draws[34] == draws[88] == (-2311.94, {("a", "d")})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("index,score", "index,points"), "the first row is not"),
        (("-2,", "-3,"), "do not begin with"),
        (("[a->b;a->c]", "[]"), "row -2 does not join"),
        (("0,-1.0,[a->b]", "0,-1.0,a->b"), "is not a list of edges"),
        (("0,-1.0,[a->b]", "0,-1.0,[a-b]"), "is not an edge"),
        (("0,-1.0,[a->b]", "0,-1.0,[a->z]"), "not between the variables"),
        (("0,-1.0", "0,much"), "the score 'much' is not a number"),
        (("0,-1.0", "0,1e999"), "is not a number"),
        (("2,-1.0,[],[]", "99999999999,-1.0,[],[]"), "is not a number from 1 to"),
        (("1,-1.5,[],[a->b]", "1,-1.5,[],[b->c]"), "removes one that is not"),
        (("2,-1.0,[],[]", "2,-1.0,[]"), "row 6 has 3 cells"),
    ],
)
def test_damaged_trajectories(change, message, tmp_path):
    path = tmp_path / "t.csv"
    write_trajectory("abc", [(-1.0, [("a", "b")]), (-1.5, [])], path)
    text = path.read_text().replace("2,-1.5", "2,-1.0")
    assert change[0] in text
    path.write_text(text.replace(*change))
    with pytest.raises(FileError) as caught:
        read_trajectory(path)
    assert message in str(caught.value)


def test_what_a_trajectory_cannot_hold(tmp_path):
    for names in (["a"], ["a", "a"]):
        with pytest.raises(InputError, match="at least two variables"):
            write_trajectory(names, [(0.0, [])], tmp_path / "t.csv")
    with pytest.raises(InputError, match="cannot hold the name 'a;b'"):
        write_trajectory(["x", "a;b"], [(0.0, [])], tmp_path / "t.csv")
    with pytest.raises(InputError, match="no draws"):
        write_trajectory("ab", [], tmp_path / "t.csv")
    with pytest.raises(InputError, match="draw 0 has the edge"):
        write_trajectory("ab", [(0.0, [("a", "z")])], tmp_path / "t.csv")


# ---------------------------------------------------------------- the module folders
RUN = """
import runpy, sys, json, types
given = json.loads(sys.argv[1])
runpy.run_path(given["script"], init_globals={"snakemake": types.SimpleNamespace(**given["snakemake"])})
"""


def run_module(name, folder, data, **settings):
    outputs = {"time": "time.txt", "ntests": "ntests.txt", "adjmat": "adjmat.csv", "seqgraph": "traj.csv"}
    given = {
        "script": str(MODULES / name / "script.py"),
        "snakemake": {
            "input": {"data": str(data)},
            "output": {key: str(folder / file) for key, file in outputs.items()},
            "wildcards": {key: str(value) for key, value in settings.items()},  # text, as Snakemake gives them
        },
    }
    if settings["timeout"] is None:
        runpy.run_path(given["script"], init_globals={"snakemake": SimpleNamespace(**given["snakemake"])})
    else:  # it ends its process
        subprocess.run([sys.executable, "-c", RUN, json.dumps(given)], check=True)
    assert float((folder / "time.txt").read_text()) > 0
    assert (folder / "ntests.txt").read_text() == "None"


@pytest.fixture
def truth():
    return CStree.from_dag(nx.DiGraph([("a", "c"), ("b", "c")]), states={v: range(2) for v in "abcd"}).with_parameters(
        {"a": [[0.5, 0.5]], "b": [[0.3, 0.7]], "c": [[0.9, 0.1], [0.2, 0.8], [0.3, 0.7], [0.6, 0.4]], "d": [[0.4, 0.6]]}
    )


@pytest.fixture
def data(truth, tmp_path):
    path = tmp_path / "data.csv"
    write_benchpress(truth.sample_table(1000, random_state=0), path)
    return path


def test_the_point_estimate(truth, data, tmp_path):
    run_module("cslearn_map", tmp_path, data, beta=2, ess=5.0, n_iter=None, replicate=1, timeout=None)
    found = read_adjacency(tmp_path / "adjmat.csv")
    assert list(found) == list("abcd")
    assert set(found.edges) == set(truth.to_dag().edges)
    frame = pd.read_csv(tmp_path / "adjmat.csv")  # as Benchpress reads it
    assert frame.loc[0, "c"] == 1
    assert frame.to_numpy().sum() == 2


def test_a_run_that_takes_too_long_leaves_an_empty_file(data, tmp_path):
    run_module("cslearn_map", tmp_path, data, beta=2, ess=5.0, n_iter=10**8, replicate=1, timeout=1.5)
    assert (tmp_path / "adjmat.csv").read_text() == ""


def test_the_draws_of_the_posterior(truth, data, tmp_path):
    run_module(
        "cslearn_mcmc", tmp_path, data, beta=2, ess=5.0, n_iterations=1500, mcmc_seed=3, timeout=None, burnin_frac=0.2,
        threshold=0.5, mcmc_estimator="threshold",
    )  # fmt: skip
    names, draws = read_trajectory(tmp_path / "traj.csv")
    assert names == list("abcd")
    assert len(draws) == 1500
    share = {edge: np.mean([edge in edges for _, edges in draws]) for edge in permutations("abcd", 2)}
    exact = edge_posterior(Scores(truth.sample_table(1000, random_state=0), beta=2, ess=5.0, prior="tree"))
    assert share == pytest.approx(exact, abs=0.08)
    assert exact["a", "c"] + exact["c", "a"] > 0.9
    assert exact["a", "d"] + exact["d", "a"] < 0.2


def test_the_draws_have_stages_of_three_context_variables_and_a_sample_size_that_the_data_choose(tmp_path):
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=(600, 4))
    codes[:, 3] = (codes[:, :3].sum(axis=1) + (rng.random(600) < 0.05)) % 2  # no two of the four tell of a third
    write_benchpress(as_table(codes, variables=list("abcd")), tmp_path / "data.csv")
    run_module(
        "cslearn_mcmc", tmp_path, tmp_path / "data.csv", beta=3, ess=None, n_iterations=300, mcmc_seed=3, timeout=None,
    )  # fmt: skip
    draws = read_trajectory(tmp_path / "traj.csv")[1]
    parents = [max(sum(child == v for _, child in edges) for v in "abcd") for _, edges in draws]
    assert np.mean(np.array(parents) == 3) > 0.9


def edge_posterior(scores):
    """The posterior probability of every edge, by listing all orders and all stagings."""
    names = scores.table.variables
    found = dict.fromkeys(permutations(names, 2), 0.0)
    orders = list(permutations(names))
    logs = np.array([scores.order_score(order) for order in orders])
    weights = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    states = dict(zip(names, scores.table.states, strict=True))
    for order, weight in zip(orders, weights, strict=True):
        for position, target in enumerate(order):
            options = list(listing({v: states[v] for v in order[:position]}, 2))
            total = scores.local_order_score(target, order[:position])
            chances = np.exp([scores.staging_score(target, staging) - total for staging in options])
            assert chances.sum() == pytest.approx(1)
            for staging, chance in zip(options, chances, strict=True):
                for parent in staging.context_variables:
                    found[parent, target] += weight * chance
    return found


def test_stagings_are_drawn_from_their_posterior():
    table = as_table(random_cstree([2, 3, 2], random_state=4).sample(30, random_state=0))
    scores = Scores(table, beta=2, ess=1.0)
    rng = np.random.default_rng(0)
    target, before = table.variables[0], table.variables[1:]
    drawn = [scores.draw_staging(target, before, rng) for _ in range(4000)]
    total = scores.local_order_score(target, before)
    for staging in set(drawn):
        expected = np.exp(scores.staging_score(target, staging) - total)
        assert abs(drawn.count(staging) / 4000 - expected) < 4 * np.sqrt(expected / 4000)


@pytest.mark.parametrize("name", ["cslearn_map", "cslearn_mcmc"])
def test_module_folders_are_whole(name):
    folder = MODULES / name
    info = json.loads((folder / "info.json").read_text())
    assert bool(info["package"]["title"]) is bool(info["package"]["url"])  # it would be a link to nowhere
    assert info["outputs"] == ("graphtraj" if "mcmc" in name else "adjmat")
    assert info["mcmc"] is ("mcmc" in name)
    rule = (folder / "rule.smk").read_text()
    for needed in ("alg_input_data()", "alg_output_time_path(module_name)", "alg_output_ntests_path(module_name)"):
        assert needed in rule
    assert ("alg_output_seqgraph_path" if "mcmc" in name else "alg_output_adjmat_path") in rule
    schema = json.loads((folder / "schema.json").read_text())
    check = fastjsonschema.compile(schema)
    check(schema["items"]["examples"])
    section = (MODULES / "README.md").read_text().partition("```json\n")[2].partition("```")[0]
    check(json.loads("{" + section + "}")[name])
    check([{**schema["items"]["examples"][0], "ess": [1, None]}])
    for wrong in ({"beta": "two"}, {"ess": "auto"}, {"ess": 0}):
        with pytest.raises(fastjsonschema.JsonSchemaValueException):
            check([{**schema["items"]["examples"][0], **wrong}])
    script = (folder / "script.py").read_text()
    for setting in schema["items"]["properties"]:
        used_by_benchpress = {"id", "mcmc_estimator", "threshold", "burnin_frac"}
        assert setting in used_by_benchpress or f'wildcards["{setting}"]' in script


def test_the_matrix_is_the_documented_one(tmp_path):
    tree = CStree.from_dag(nx.DiGraph([("a", "b"), ("a", "c"), ("c", "d")]), states=dict.fromkeys("abcd", (0, 1)))
    write_benchpress_graph(tree, tmp_path / "m.csv")
    assert (tmp_path / "m.csv").read_text() == "a,b,c,d\n0,1,1,0\n0,0,0,0\n0,0,0,1\n0,0,0,0\n"
