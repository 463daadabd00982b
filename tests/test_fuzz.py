"""Random input, the same in every run: whatever is given, cslearn answers or raises an error of its own."""

import json
import random
import subprocess
import sys
import warnings
from inspect import signature

import numpy as np
import pandas as pd
import pytest

import cslearn
from cslearn import CStree, CStreeLearner
from cslearn.candidates import Knowledge
from cslearn.data import as_table, discretize
from cslearn.datasets import chickenpox_model
from cslearn.errors import CslearnError
from cslearn.estimators import Auto, Given
from cslearn.orders import OrderPosterior

VALUES = [
    *(None, True, False, 0, 1, -1, 2, 10**30, 0.5, -0.0, 1e308, float("nan"), float("inf")),
    *("", "x", "auto", "all", "yes", "carrier", "\0", "\ud800", "[/]", "a" * 1000, b"x"),
    *([], [1], ["carrier"], {}, {"carrier": "yes"}, {"a": 1}, (), set(), object(), np.nan, np.int8(3), pd.NA),
    *(1j, range(3), frozenset([1]), np.array([1, 2]), np.array([[1.0, 0.0]]), pd.DataFrame({"a": [1]})),
]


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture(scope="module")
def rows():
    return chickenpox_model().sample(60, random_state=0)


@pytest.fixture(scope="module")
def learner(rows):
    return CStreeLearner(beta=2, search=cslearn.Chains(n_iter=50, n_chains=1), random_state=0).fit(rows)


def cell(rng):
    return rng.choice([v for v in VALUES if not isinstance(v, int | np.integer) or abs(int(v)) < 100])


def attempt(call, *args, **options):
    """Make a call that may refuse what it is given, but must know why."""
    try:
        call(*args, **options)
    except CslearnError as error:
        assert str(error)


@pytest.mark.parametrize("seed", range(40))
def test_tables_of_anything(seed):
    rng = random.Random(seed)
    n = rng.randrange(6)
    columns = {rng.choice(["a", "b", "", " ", 1, None, "a\0"]): [cell(rng) for _ in range(n)] for _ in range(3)}
    for source in (columns, [columns], cell(rng)):
        attempt(as_table, source, missing=rng.choice(["state", "drop", "error"]))
    attempt(discretize, columns)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Some of the values are names of files: what is written under them goes."""
    monkeypatch.chdir(tmp_path)


OPTIONS = ["missing", "max_states", "states", "sep", "na_values", "leave_out", "variables", "sample_weight"]


@pytest.mark.parametrize("name", OPTIONS)
def test_options_of_tables(rows, name):
    for value in VALUES:
        attempt(as_table, rows, **{name: value})


@pytest.mark.parametrize("beta", [2, "auto"])
@pytest.mark.parametrize("name", sorted(CStreeLearner().get_params(deep=False)))
def test_parameters_of_the_learner(rows, name, beta):
    quick = {"beta": beta, "search": cslearn.Chains(n_iter=20, n_chains=1)}
    for value in VALUES:
        if isinstance(value, int) and value == 10**30 and name == "max_memory":
            continue  # allowed, and no limit then
        attempt(CStreeLearner(**{**quick, name: value}).fit, rows[["exposed", "carrier"]])


TREE = chickenpox_model()
FUNCTIONS = {
    cslearn.kl_divergence: {"p": TREE, "q": TREE},
    cslearn.random_cstree: {"cards": 4},
    cslearn.count_cstrees: {"cards": [2, 2, 3], "beta": 1},
    cslearn.CStree: {"order": TREE.order, "stagings": TREE.stagings, "states": TREE.states},
    cslearn.LDAG: {"graph": TREE.to_dag(), "labels": {}, "states": TREE.states},
    cslearn.pack: {"source": {"a": [0, 1], "b": [1, 0]}},
}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_parameters_of_functions(function):
    for name in signature(function).parameters:
        for value in VALUES:
            attempt(function, **{**FUNCTIONS[function], name: value})


SETTINGS = [cslearn.Chains, cslearn.PC, cslearn.GRaSP, cslearn.All, cslearn.Screen, Auto, Given]


@pytest.mark.parametrize("kind", SETTINGS)
def test_parameters_that_belong_together(rows, kind):
    chains = {"n_iter": 20, "n_chains": 1}
    for name in signature(kind).parameters:
        for value in VALUES:
            given = {"sets": "all"} if kind is Given else chains if kind is cslearn.Chains else {}
            try:
                settings = kind(**{**given, name: value})
            except CslearnError:
                continue
            used = {"search": settings} if kind is cslearn.Chains else {"candidates": settings}
            learner = CStreeLearner(**{"beta": 2, "search": cslearn.Chains(**chains), **used})
            attempt(learner.fit, rows[["exposed", "carrier"]])


@pytest.mark.parametrize("name", ["X", "sample_weight", "interventions"])
def test_what_is_learned_from(rows, name):
    for beta in (2, "auto"):
        learner = CStreeLearner(beta=beta, search=cslearn.Chains(n_iter=20, n_chains=1))
        for value in VALUES:
            attempt(learner.fit, **{"X": rows, name: value})


def test_names_of_models_that_are_none():
    for value in VALUES:
        if not isinstance(value, int | str):  # numbers of open files, and names of files that are not there
            for read in (CStree.load, cslearn.CStreeEnsemble.load):
                with pytest.raises(CslearnError):
                    read(value)


def test_a_matrix_is_no_seed():
    """NumPy goes on taking it apart until the stack of the process is used up."""
    code = "import numpy, warnings; warnings.simplefilter('ignore'); from cslearn.datasets import chickenpox_model\n"
    code += "chickenpox_model().sample(2, random_state=numpy.matrix([[1]]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "InputError: random_state is a whole number of at least 0" in done.stderr


def test_small_numbers_of_numpy_count_like_those_of_python():
    chains = cslearn.Chains(n_iter=np.int16(300), n_chains=np.int8(2), burn_in=np.int8(3))
    assert chains == cslearn.Chains(n_iter=300, n_chains=2, burn_in=3)
    assert type(chains.n_iter) is int


def test_use_of_a_model(rows):
    tree = chickenpox_model()
    for value in VALUES:
        attempt(tree.query, value)
        attempt(tree.query, ["carrier"], value)
        attempt(tree.query, ["carrier"], {"exposed": value})
        attempt(tree.sample, value)
        attempt(tree.log_prob, value)
        attempt(tree.predict, rows, value)
        attempt(Knowledge.coerce, value)
        attempt(Knowledge.coerce, {"tiers": value, "forbidden": value})


# ---------------------------------------------------------------- files
def mutated(content, rng):
    content = bytearray(content)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(content))
        kind = rng.randrange(4)
        if kind == 0:
            content[at] = rng.randrange(256)
        elif kind == 1:
            del content[at : at + rng.randrange(1, 50)]
        elif kind == 2:
            content[at:at] = rng.choice([b"\0", b'"', b"\xff", b"9" * 30, b"NaN", b"[", b"null", b"\r", b",,"])
        else:
            content[at : at + 20] = content[at // 2 : at // 2 + 20]
        if not content:
            return b""
    return bytes(content)


READERS = {
    "model.json": lambda path: CStree.load(path),
    "ensemble.json": lambda path: cslearn.CStreeEnsemble.load(path),
    "draws.npz": lambda path: OrderPosterior.load(path).chains,
    "run.ckpt": lambda path: gone_on(path).cstree_,
    "table.csv": lambda path: as_table(path, missing="state"),
    "table.cspack": lambda path: as_table(path),
    "knowledge.json": lambda path: Knowledge.load(path),
    "model.bif": lambda path: cslearn.formats.read_model(path),
    "model.xml": lambda path: cslearn.formats.read_model(path),
    "model.graphml": lambda path: cslearn.formats.read_model(path),
}
# They have checksums: what is read is what was written.
CHECKED = {"model.json", "ensemble.json", "draws.npz", "run.ckpt", "table.cspack"}


def gone_on(path):
    """Begin a search that is written to a file, or go on with the one that is there."""
    search = cslearn.Chains(n_iter=50, n_chains=2, checkpoint=path)
    return CStreeLearner(beta=2, search=search, random_state=0).fit(chickenpox_model().sample(60, random_state=0))


@pytest.mark.parametrize("name", READERS)
def test_files_that_were_damaged(tmp_path, rows, learner, name):
    path = tmp_path / name
    if name == "model.json":
        learner.cstree_.save(path)
    elif name == "ensemble.json":
        learner.ensemble(n=2).save(path)
    elif name == "draws.npz":
        learner.posterior_.save(path)
    elif name == "run.ckpt":
        gone_on(path)
    elif name == "table.csv":
        rows.to_csv(path, index=False)
    elif name == "table.cspack":
        cslearn.pack(rows, path)
    elif name == "knowledge.json":
        path.write_text(json.dumps({"forbidden": [["a", "b"]], "tiers": [["a"], ["b", "c"]]}))
    else:
        cslearn.formats.write_model(chickenpox_model(), path)
    content = path.read_bytes()
    found, same = READERS[name](path), []
    rng = random.Random(name)
    for _ in range(60):
        path.write_bytes(mutated(content, rng))
        attempt(lambda: same.append(READERS[name](path) == found))
    assert name not in CHECKED or all(same)


# ---------------------------------------------------------------- the command line
COMMANDS = [
    "fit",
    "show",
    "sample",
    "score",
    "predict",
    "impute",
    "query",
    "plot",
    "report",
    "compare",
    "convert",
    "discretize",
    "estimate",
    "edges",
]
OPTION_WORDS = [
    "-o",
    "--json",
    "--csi",
    "--csv",
    "-n",
    "--beta",
    "--ess",
    "--target",
    "-t",
    "--given",
    "-g",
    "--seed",
    "--sep",
    "--na",
    "--missing",
    "--leave-out",
    "--weights",
    "--n-iter",
    "--cut",
    "--column",
    "--bins",
    "-v",
]
VALUE_WORDS = [
    "MODEL",
    "DATA",
    "OUT",
    "carrier",
    "carrier=yes",
    "exposed,carrier",
    "drop",
    "em",
    "auto",
    "-1",
    "0",
    "1e9",
    "nan",
    "[x]",
    "no/such/file",
    ".",
    "=",
    ";",
]
WORDS = [*COMMANDS, *OPTION_WORDS, *VALUE_WORDS, "", "\x1b[1m", "x" * 300, "age=1,2"]


@pytest.mark.parametrize("seed", range(60))
def test_commands_of_anything(run, rows, learner, tmp_path, monkeypatch, seed):
    monkeypatch.chdir(tmp_path)
    rng = random.Random(seed)
    learner.cstree_.save("model.json")
    rows.to_csv("data.csv", index=False)
    places = {"MODEL": "model.json", "DATA": "data.csv", "OUT": f"out{rng.choice(['.json', '.svg', '.csv', '.bif'])}"}
    likely = {"fit": ["DATA"], "estimate": ["DATA"], "discretize": ["DATA"], "compare": ["MODEL", "MODEL"]}
    first = rng.choice(COMMANDS)
    words = [first, *likely.get(first, ["MODEL", *rng.choice([[], ["DATA"]])])]
    words += [rng.choice(WORDS) for _ in range(rng.randrange(5))]
    before = {name: (tmp_path / name).read_bytes() for name in ("model.json", "data.csv")}
    code, _, err = run(*(places.get(word, word) for word in words))
    assert code in (0, 2), (words, err)
    assert code == 0 or err
    assert "\x1b" not in err
    assert {name: (tmp_path / name).read_bytes() for name in before} == before  # nothing that is read is written
