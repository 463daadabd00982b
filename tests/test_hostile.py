"""Small files that ask for much: each is read, or refused with a clear error, in bounded time and memory.

Every file is read in a process of its own that may take so much memory and no more. A process that does not end in
time fails the test; how long it takes is not asserted otherwise.
"""

import ast
import gzip
import json
import subprocess
import sys
from itertools import product

import pytest

MEMORY = 3 << 30  # address space, of which libraries take a large part when they are loaded
SECONDS = 120  # for a loaded machine; what quadratic time or more would take is far beyond

# One process loads the libraries. For each line, a path and a format, it starts a copy of itself, which answers.
READERS = """
import os, resource, signal, sys, traceback
from cslearn.errors import FileError
from cslearn.formats import read_model, read_trajectory

memory, seconds = map(int, sys.argv[1:])

def answer(path, form):
    if form == "too much":
        bytearray(memory)
    try:
        found = read_trajectory(path) if form == "trajectory" else read_model(path, form)
    except FileError as error:
        assert len(str(error)) < 20_000
        return "refused: " + str(error)[-1000:]
    return f"read: {len(found[0] if form == 'trajectory' else found.order)}"

for line in sys.stdin:
    path, form = line.rstrip("\\n").split("\\t")
    if (child := os.fork()) == 0:
        signal.alarm(seconds)
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        try:
            said = answer(path, form)
        except BaseException:
            said = traceback.format_exc()
        print(repr(said), flush=True)
        os._exit(0)
    if status := os.waitpid(child, 0)[1]:
        print(repr(f"ended by signal {os.waitstatus_to_exitcode(status)}"), flush=True)
"""


def document(states, order, stages):
    """A model as JSON, with empty probabilities left out."""
    return json.dumps(
        {
            "format": "cslearn.cstree",
            "version": 1,
            "variables": [{"name": v, "states": s} for v, s in states.items()],
            "order": order,
            "stages": {v: [{"context": c} for c in contexts] for v, contexts in stages.items()},
        },
        separators=(",", ":"),
    )


def names(n):
    return [f"v{i}" for i in range(n)]


def with_states(variables, *states):
    return {v: list(states) for v in variables}


def full_split(n):
    """The last of n + 1 binary variables depends on all others in every way."""
    before = names(n)
    stages = {v: [{}] for v in before}
    stages["x"] = [dict(zip(before, outcome, strict=True)) for outcome in product((0, 1), repeat=n)]
    return document(with_states([*before, "x"], 0, 1), [*before, "x"], stages)


def deep(n):
    """A decision tree as deep as there are variables."""
    before = names(n)
    stages = {v: [{}] for v in before}
    stages["x"] = [{**dict.fromkeys(before[:k], 0), before[k]: 1} for k in range(n)] + [dict.fromkeys(before, 0)]
    return document(with_states([*before, "x"], 0, 1), [*before, "x"], stages)


def many_states(contexts):
    labels = list(range(60_000))
    return document(
        {"a": labels, "b": [0, 1]}, ["a", "b"], {"a": [{}], "b": [{"a": x} for x in labels[:contexts]] or [{}]}
    )


def tableless(n):
    """BIF with variables and no tables."""
    return "".join(f"variable {v} {{ type discrete [2] {{ a, b }}; }}\n" for v in names(n))


def graphml(states, edges):
    head = (
        """<graphml><key id="s" attr.name="states"/><key id="c" attr.name="contexts"/><graph edgedefault="directed">"""
    )
    nodes = "".join(f'<node id="{v}"><data key="s">{json.dumps(s)}</data></node>' for v, s in states.items())
    lines = "".join(
        f'<edge source="{a}" target="{b}"><data key="c">{label}</data></edge>' for (a, b), label in edges.items()
    )
    return f"{head}{nodes}{lines}</graph></graphml>"


def labelled(n, label):
    return graphml(with_states([*names(n), "x"], 0, 1), {(v, "x"): label for v in names(n)})


def cstrees(cards, rows=()):
    return "\n".join([",".join(names(len(cards))), ",".join(map(str, cards)), *rows])


FILES = {
    # partitions
    "dosearch: 12 parents": ("dosearch", lambda: "".join(f"p{i} -> x\n" for i in range(12)), "read: 13"),
    "dosearch: 16 parents": ("dosearch", lambda: "".join(f"p{i} -> x\n" for i in range(16)), "read: 17"),
    "dosearch: 17 parents": ("dosearch", lambda: "".join(f"p{i} -> x\n" for i in range(17)), "joint outcomes"),
    "dosearch: 12 parents of many": (
        "dosearch",
        lambda: "".join(f"p{i} -> x{k}\n" for i in range(12) for k in range(1000)),
        "together: too many",
    ),
    "json: 12 parents": ("json", lambda: full_split(12), "read: 13"),
    "json: one stage less": ("json", lambda: full_split(12).replace('{"v0":0,', '{"v0":1,', 1), "overlap"),
    "json: a deep tree": ("json", lambda: deep(1000), "read: 1001"),
    "json: a state for each stage": ("json", lambda: many_states(60_000), "read: 2"),
    "json: a stage is missing": ("json", lambda: many_states(59_999), "1 of 60000 outcomes are in no stage"),
    "json: no decision tree": (
        "json",
        lambda: document(
            with_states(names(2000), 0, 1),
            names(2000),
            {v: [{}] for v in names(1999)}
            | {"v1999": [{f"v{k}": s, f"v{k + d}": 1 - s} for k in range(1900) for d in range(1, 20) for s in (0, 1)]},
        ),
        "no decision tree",
    ),
    # JSON
    "json: keys": (
        "json",
        lambda: json.dumps({f"k{i}": 0 for i in range(500_000)})[:-1] + ', "k499999": 1}',
        "stands twice",
    ),
    "json: many variables": ("json", lambda: document(with_states(names(3000), 0), names(3000), {}), "2,048 variables"),
    "json: a long order": ("json", lambda: document({"a": [0]}, ["a"] * 500_000, {}), "2,048 variables"),
    "json: many states": ("json", lambda: document({"a": list(range(1_100_000))}, ["a"], {}), "1,048,576 states"),
    "json: empty objects": ("json", lambda: "[" + "{}," * 20_000_000 + "{}]", "4,194,304 values"),
    "json: empty lists": ("json", lambda: "[" + "[]," * 20_000_000 + "[]]", "4,194,304 values"),
    # BIF
    "bif: spaces": ("bif", lambda: "network x { property " + " " * 200_000, "not ended by `;`"),
    "bif: spaces and words": ("bif", lambda: "network x { property " + "a " * 200_000, "not ended by `;`"),
    "bif: quotes": ("bif", lambda: "network x { property " + '"" ' * 100_000, "not ended by `;`"),
    "bif: comments": ("bif", lambda: "/* */ // \n" * 100_000, "declares no variables"),
    "bif: open comments": ("bif", lambda: "/* " * 100_000, "not closed"),
    "bif: many variables": ("bif", lambda: tableless(3000), "2,048 variables"),
    # XML
    "xmlbif: elements": ("xmlbif", lambda: "<BIF>" + "<a/>" * 5_000_000 + "</BIF>", "262,144 tags"),
    "xmlbif: attributes": (
        "xmlbif",
        lambda: "<BIF " + " ".join(f'a{i}=""' for i in range(1_100_000)) + "/>",
        "attributes",
    ),
    "graphml: elements": ("graphml", lambda: "<graphml>" + "<a/>" * 5_000_000 + "</graphml>", "262,144 tags"),
    "graphml: labels": ("graphml", lambda: labelled(14, "[" + ",".join(["{}"] * 50_000) + "]"), "131,072 contexts"),
    "graphml: labels of much": ("graphml", lambda: labelled(16, '[{"v3":0},{"v5":1}]'), "names 'v3'"),
    "graphml: long labels": (
        "graphml",
        lambda: graphml(
            with_states([*names(16), "x"], 0, 1),
            {
                (v, "x"): json.dumps([{"v1": a, "v2": b} for a in (0, 1) for b in (0, 1)] * 1000) if v == "v0" else "[]"
                for v in names(16)
            },
        ),
        "read: 17",
    ),
    "graphml: a complete graph": (
        "graphml",
        lambda: graphml(
            with_states(names(200), 0), {(f"v{i}", f"v{j}"): "[{}]" for j in range(200) for i in range(j)}
        ),
        "read: 200",
    ),
    "graphml: parents with one state": (
        "graphml",
        lambda: graphml({**with_states(names(100), 0), "x": [0, 1]}, {(v, "x"): "[{}]" for v in names(100)}),
        "read: 101",
    ),
    "graphml: states": ("graphml", lambda: graphml({"a": [0] * 1_100_000}, {}), "1,048,576 states"),
    "graphml: an order of numbers": (
        "graphml",
        lambda: graphml({"1": [0, 1]}, {}).replace("</graph>", '<data key="o">[1]</data></graph>').replace(
            "<graph ", '<key id="o" attr.name="order"/><graph '
        ),
        "order does not name",
    ),
    # tables
    "cstrees: cardinalities": ("cstrees", lambda: cstrees([65_536] * 2000), "1,048,576 states"),
    "cstrees: nothing is covered": ("cstrees", lambda: cstrees([2] * 16 + [1] * 1000), "too many"),
    "cstrees: wide outcomes": ("cstrees", lambda: cstrees([1] * 2000 + [2] * 16), "read: 2016"),
    "cstrees: much is covered": (
        "cstrees",
        lambda: cstrees([2] * 17, [",".join(f"{x:016b}") + ",-" for x in range(0, 65_536, 3)]),
        "read: 17",
    ),
    "stages: many variables": ("stages", lambda: "variable,stage," + ",".join(names(3000)), "2,048 variables"),
    "stages: rows": ("stages", lambda: "a\n" * 5_000_000, "2,097,152 rows"),
    "stages: cells": ("stages", lambda: "," * 20_000_000, "8,388,608 cells"),
    "trajectory: names": (
        "trajectory",
        lambda: "index,score,added,removed\n"
        + "-2,0,[" + ";".join(f"a->b{i}" for i in range(10_000)) + "],[]\n-1,0,[],[]\n0,0,[],[]",
        "2,048 variables",
    ),
    "trajectory: edges": (
        "trajectory",
        lambda: "index,score,added,removed\n"
        + "-2,0,[" + ";".join(f"v0->v{i}" for i in range(1, 1000)) + "],[]\n-1,0,[],[]\n"
        + "0,0,[" + ";".join(f"v{i}->v{j}" for i in range(100) for j in range(100) if i != j) + "],[]\n"
        + "".join(f"{2 * i + 1},0,[v999->v0],[]\n{2 * i + 2},0,[],[v999->v0]\n" for i in range(1_000)),
        "16,777,216 edges",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def read_apart():
    """Read a file in a process of its own; return what it says."""
    if sys.platform != "linux":
        pytest.skip("the limit on memory is that of Linux")
    command = [sys.executable, "-c", READERS, str(MEMORY), str(SECONDS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def read(path, form, content):
            path.write_bytes(content)
            process.stdin.write(f"{path}\t{form}\n")
            process.stdin.flush()
            return ast.literal_eval(process.stdout.readline())

        yield read
        process.stdin.close()


# What takes longest, of a kind with others.
LONG = {
    "cstrees: much is covered", "cstrees: wide outcomes", "dosearch: 12 parents of many", "graphml: long labels",
    "json: a deep tree", "json: a stage is missing", "json: no decision tree", "trajectory: edges",
}  # fmt: skip


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n in LONG else []) for n in FILES])
def test_files_that_ask_for_much(name, tmp_path, read_apart):
    form, text, expected = FILES[name]
    assert expected in read_apart(tmp_path / "model", form, text().encode())


def test_a_file_that_unpacks_to_much(tmp_path, read_apart):
    packed = gzip.compress(b" " * (1 << 28), compresslevel=1)
    assert "more than 64 MB" in read_apart(tmp_path / "model.bif.gz", "bif", packed)


def test_the_limit_on_memory_holds(tmp_path, read_apart):
    assert "MemoryError" in read_apart(tmp_path / "model", "too much", b"")
