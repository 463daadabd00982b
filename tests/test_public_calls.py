"""Every public function and method, called with anything: each answers, or says what is wrong with its input.

What is public is looked up, so that nothing new is forgotten: a parameter that must be given and is not known fails.
"""

import inspect
import random
from functools import cache
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

import cslearn
from cslearn import Chains, CStreeClassifier, CStreeLearner
from cslearn.candidates import Knowledge
from cslearn.data import Discretizer, PackedTable, Table, as_table
from cslearn.datasets import chickenpox_model
from cslearn.errors import InputError
from cslearn.graphs import CSIRelation, MinimalContexts, RelationTable
from cslearn.inference import Queries
from cslearn.posterior import CStreePosterior
from test_fuzz import VALUES, attempt, elsewhere, quiet  # noqa: F401  # fixtures

TREE = chickenpox_model()
MODULES = [
    *("candidates", "data", "datasets", "estimators", "formats", "generators", "graphs", "inference", "metrics"),
    *("plots", "posterior", "report"),
]
# They fetch files, or are of programs that need not be there.
ELSEWHERE = {"load_density", "from_pyagrum", "to_pyagrum", "from_pgmpy", "to_pgmpy"}
CLASSES = [
    *(
        cslearn.CStree,
        cslearn.LDAG,
        cslearn.CStreeEnsemble,
        CStreeLearner,
        CStreeClassifier,
        CStreePosterior,
        Knowledge,
    ),
    *(PackedTable, Table, Discretizer, CSIRelation, MinimalContexts, RelationTable, Queries),
]


@cache
def given():
    """What parameters are given that have no default, or a slow one."""
    rows, relation = TREE.sample(60, random_state=0), TREE.csi_relations()[0]
    table = [
        ("tree model reference other p q a b", TREE),
        ("data source X", rows),
        ("target targets outcome variable child", "carrier"),
        ("exposure treatment of", "exposed"),
        ("do evidence known fix", {"exposed": "yes"}),
        ("relation first second", relation),
        ("graph dag", TREE.to_dag()),
        ("path name text", "x.json"),
        ("parents columns drop move absorb", ["exposed"]),
        ("variables order", list(TREE.order)),
        ("y", rows["carrier"]),
        ("table", as_table(rows)),
        ("values", np.array([0.5])),
        ("counts", TREE.count_stages(rows)),
        ("codes", np.zeros((2, 4), dtype=np.int32)),
        ("planes", np.zeros((1, 1), dtype=np.uint64)),
        ("change", ("no", "yes")),
        ("edge", ("background", "exposed")),
        ("context", {"diagnosis": "yes"}),
        ("contexts", {"carrier": ["exposed=no", "exposed=yes"]}),
        ("interventions", {"carrier": "yes"}),
        ("statements", ["carrier _||_ background, diagnosis | exposed=no"]),
        ("candidates", {v: [] for v in TREE.variables}),
        ("rows", [["a"]]),
        ("cards", [2, 2]),
        ("relations", [relation]),
        ("trees", [TREE]),
        ("left", ["a"]),
        ("right", ["b"]),
        ("column j i beta", 0),
        ("content labels cuts sizes", {}),
        ("draws", []),
        ("verdict", "supported"),
        ("knowledge frame exact scores posterior sets config orders", None),
        ("n n_draws max_iter", 3),
        ("n_samples", 50),
        *(("ldag", TREE.to_ldag()), ("graphs", TREE.minimal_contexts()), ("states", TREE.states)),
        *(("parameters", TREE.parameters), ("stagings", TREE.stagings)),
    ]
    return {name: value for names, value in table for name in names.split()}


@cache
def made():
    """Objects whose methods are called, by their class."""
    rows, numbers = given()["data"], pd.DataFrame({"x": np.random.default_rng(0).normal(size=100)})
    learner = CStreeLearner(search=Chains(n_iter=30, n_chains=1), random_state=0).fit(rows)
    classifier = CStreeClassifier(CStreeLearner(search="greedy")).fit(rows.drop(columns="carrier"), rows["carrier"])
    things = [
        *(TREE, TREE.to_ldag(), TREE.minimal_contexts(), TREE.queries, given()["relation"], cslearn.pack(rows)),
        *(as_table(rows), learner, learner.posterior_, learner.relations_, learner.ensemble(n=2), classifier),
        *(Knowledge(tiers=[["background"], ["carrier"]]), Discretizer.learn(numbers, columns=["x"])),
    ]
    return {type(thing): thing for thing in things}


def calls():
    """Yield names of public calls, and what gives the call."""
    for module in MODULES:
        for name in import_module(f"cslearn.{module}").__all__:
            call = getattr(import_module(f"cslearn.{module}"), name)
            if inspect.isfunction(call) and name not in ELSEWHERE:
                yield pytest.param(lambda call=call: call, id=f"{module}.{name}")
    for name in cslearn.__all__:
        if name not in ("CStreeLearner", "CStreeClassifier"):  # they check in `fit`
            yield pytest.param(lambda name=name: getattr(cslearn, name), id=name)
    for kind in CLASSES:
        for name, member in inspect.getmembers(kind, inspect.isroutine):
            if not name.startswith("_") and member.__module__.startswith("cslearn"):
                yield pytest.param(
                    lambda kind=kind, name=name: getattr(made()[kind], name), id=f"{kind.__name__}.{name}"
                )


@pytest.mark.parametrize("call", [*calls()])
def test_public_calls(call, request):
    call = call()
    named = [
        p for p in inspect.signature(call).parameters.values() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    options = {p.name: given()[p.name] for p in named if p.default is p.empty or p.name in ("n_draws", "n_samples")}
    rng = random.Random(request.node.name)
    for parameter in named:
        for value in rng.sample(VALUES, 12):
            attempt(call, **{**options, parameter.name: value})


REFUSED = {
    "from_dag": (lambda: cslearn.CStree.from_dag(TREE, states=TREE.states), "dag is a DiGraph, not CStree"),
    "from_ldag": (lambda: cslearn.CStree.from_ldag(TREE), "ldag is an LDAG, not CStree"),
    "order": (lambda: cslearn.CStree.from_ldag(TREE.to_ldag(), order=["carrier"]), "the order lacks 'background'"),
    "contexts": (
        lambda: cslearn.CStree.from_contexts(["a=1"], states={"a": [1]}),
        r"contexts is a mapping from strings to sequences, not \['a=1'\]",
    ),
    "statements": (lambda: cslearn.CStree.from_statements(3, states={"a": [1]}), "statements is a sequence of strings"),
    "ess": (lambda: TREE.fit_parameters(given()["data"], ess="x"), "ess is a number, not 'x'"),
    "interventions": (
        lambda: TREE.fit_parameters(given()["data"], interventions=np.ones(3, bool)),
        r"True or False for each of 60 rows and 4 variables, not an array of bool of shape \(3,\)",
    ),
    "implies": (lambda: TREE.implies(None), "relation is a CSIRelation or a string, not None"),
    "equivalence": (lambda: TREE.is_markov_equivalent(None), "other is a CStree, not None"),
    "method": (lambda: TREE.query("carrier", method=np.ones(2)), 'method is "auto", "exact" or "sampling", not array'),
    "change": (lambda: TREE.average_causal_effect("exposed", "carrier", ("no",)), "change is a pair, not"),
    "path": (lambda: TREE.save(None), "path is a string or the name of a file, not None"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_is_named_with_what_is_allowed(what):
    call, message = REFUSED[what]
    with pytest.raises(InputError, match=message):
        call()


def test_what_is_checked_keeps_its_names_and_its_examples():
    call = cslearn.CStree.from_dag.__func__
    assert (call.__name__, call.__module__) == ("from_dag", "cslearn.cstree.model")
    assert list(inspect.signature(call).parameters) == ["cls", "dag", "states", "order"]
    assert call.__globals__["__name__"] == call.__module__  # where doctest looks
