"""Background knowledge: what it accepts and refuses, and the orders and candidates that it leaves."""

import json
import subprocess
import sys
from itertools import permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cslearn.candidates import Knowledge
from cslearn.errors import FileError, InputError

NAMES = ("a", "b", "c", "d")


@st.composite
def problems(draw, consistent=True):
    """Variables, and knowledge about some of them."""
    names = NAMES[: draw(st.integers(1, 4))]
    pairs = st.tuples(st.sampled_from(names), st.sampled_from(names)).filter(lambda pair: pair[0] != pair[1])
    edges = st.lists(pairs, max_size=4) if len(names) > 1 else st.just([])
    tier_of = draw(st.lists(st.integers(-1, 2), min_size=len(names), max_size=len(names)))
    tiers = [[name for name, tier in zip(names, tier_of, strict=True) if tier == number] for number in range(3)]
    knowledge = Knowledge(draw(edges), draw(edges), draw(st.sampled_from([None, tiers])))
    if consistent:
        try:
            knowledge.check(names)
        except InputError:
            assume(False)
    return names, knowledge


def agrees(order, knowledge):
    """Compare each pair of variables with the knowledge as it is worded, without any closure."""
    position = {name: i for i, name in enumerate(order)}
    return all(position[parent] < position[child] for parent, child in knowledge.required) and all(
        position[early] < position[late]
        for number, tier in enumerate(knowledge.tiers)
        for later in knowledge.tiers[number + 1 :]
        for early in tier
        for late in later
    )


# ---------------------------------------------------------------------- orders
@given(problems())
def test_precedence_is_what_all_allowed_orders_share(problem):
    names, knowledge = problem
    allowed = [order for order in permutations(names) if agrees(order, knowledge)]
    assert allowed
    precedence = knowledge.precedence(names)
    assert precedence.dtype == np.bool_
    for i, first in enumerate(names):
        for j, second in enumerate(names):
            always = i != j and all(order.index(first) < order.index(second) for order in allowed)
            assert precedence[i, j] == always


@given(problems())
def test_an_order_is_allowed_iff_precedence_holds(problem):
    names, knowledge = problem
    precedence = knowledge.precedence(names)
    for order in permutations(range(len(names))):
        holds = not any(precedence[later, earlier] for n, later in enumerate(order) for earlier in order[:n])
        named = [names[i] for i in order]
        assert knowledge.allows(named) == holds == agrees(named, knowledge)


@given(problems(consistent=False))
def test_check_passes_iff_some_order_is_allowed_and_no_required_edge_is_forbidden(problem):
    names, knowledge = problem
    possible = any(agrees(order, knowledge) for order in permutations(names))
    try:
        knowledge.check(names)
    except InputError:
        assert not possible or set(knowledge.required) & set(knowledge.forbidden)
    else:
        assert possible and not set(knowledge.required) & set(knowledge.forbidden)


def test_precedence_is_row_to_column():
    precedence = Knowledge(required=[("a", "b")]).precedence(["a", "b"])
    assert precedence.tolist() == [[False, True], [False, False]]


def test_tiers_bind_across_an_empty_tier_and_leave_the_others_alone():
    knowledge = Knowledge(tiers=[["a"], [], ["b"]])
    assert knowledge.precedence(["b", "c", "a"]).tolist() == [[False] * 3, [False] * 3, [True, False, False]]
    assert knowledge.allows("cab") and knowledge.allows("acb") and knowledge.allows("abc")
    assert not knowledge.allows("bca")


def test_variables_of_one_tier_may_stand_either_way():
    knowledge = Knowledge(tiers=[{"a", "b"}])
    assert knowledge.allows("ab") and knowledge.allows("ba")


def test_forbidden_edges_say_nothing_of_the_order():
    assert Knowledge(forbidden=[("a", "b")]).allows("ab")


def test_an_order_names_each_variable_once():
    with pytest.raises(InputError, match="repeated: 'a'"):
        Knowledge().allows(["a", "b", "a"])
    with pytest.raises(InputError, match="required names 'b', but the variables are 'a', 'c'"):
        Knowledge(required=[("a", "b")]).allows(["a", "c"])


# ---------------------------------------------------------------------- candidates
@given(problems(), st.data())
def test_restrict_against_its_definition(problem, data):
    names, knowledge = problem
    candidates = {
        name: tuple(data.draw(st.sets(st.sampled_from(names)).map(lambda s, name=name: s - {name}))) for name in names
    }
    allowed = [order for order in permutations(names) if agrees(order, knowledge)]
    restricted = knowledge.restrict(candidates)
    assert list(restricted) == list(names)
    for child in names:
        expected = [
            name
            for name in names
            if (name, child) in knowledge.required
            or (
                name in candidates[child]
                and (name, child) not in knowledge.forbidden
                and any(order.index(name) < order.index(child) for order in allowed)
            )
        ]
        assert restricted[child] == tuple(expected)


def test_restrict_refuses_candidates_that_are_no_variables():
    with pytest.raises(InputError, match="candidates of 'a' include 'z'"):
        Knowledge().restrict({"a": ("z",)})


# ---------------------------------------------------------------------- contradictions
@pytest.mark.parametrize(
    ("knowledge", "message"),
    [
        (Knowledge(forbidden=[("a", "z")]), "forbidden names 'z', but the variables are 'a', 'b', 'c', 'd'"),
        (Knowledge(required=[("y", "z")]), "required names 'y', 'z'"),
        (Knowledge(tiers=[["a"], ["z"]]), "tiers names 'z'"),
        (Knowledge(forbidden=[("a", "b")], required=[("a", "b")]), "'a' -> 'b' is both required and forbidden"),
        (Knowledge(forbidden=[("a", "a")]), "from a variable to itself"),
        (Knowledge(required=[("a", "a")]), "from a variable to itself"),
        (Knowledge(required=[("a", "b"), ("b", "c"), ("c", "a")]), "cycle: 'a' -> 'b' -> 'c' -> 'a'"),
        (
            Knowledge(required=[("c", "a")], tiers=[["a"], ["b"], ["c"]]),
            "'c' -> 'a' goes against the tiers: 'c' is in tier 3 and 'a' in tier 1",
        ),
        (Knowledge(tiers=[["a", "b"], ["b"]]), "'b' is in tier 1 and in tier 2"),
        (Knowledge(required=[("b", "d"), ("d", "a")], tiers=[["a"], ["b"]]), "edges and tiers together form a cycle"),
    ],
)
def test_contradictions_are_refused(knowledge, message):
    for use in (knowledge.check, knowledge.precedence, knowledge.allows):
        with pytest.raises(InputError, match=message):
            use(NAMES)
    with pytest.raises(InputError, match=message):
        knowledge.restrict(dict.fromkeys(NAMES, ()))


def test_the_cycle_through_the_tiers_is_shown():
    with pytest.raises(InputError, match=r"'a' -> 'b' -> 'd' -> 'a'|'b' -> 'd' -> 'a' -> 'b'|'d' -> 'a' -> 'b' -> 'd'"):
        Knowledge(required=[("b", "d"), ("d", "a")], tiers=[["a"], ["b"]]).check(NAMES)


# ---------------------------------------------------------------------- what is accepted
def test_pairs_graphs_and_generators_are_the_same():
    pairs = [("b", "a"), ("a", "c"), ("b", "a")]
    expected = Knowledge(forbidden=(("a", "c"), ("b", "a")))
    assert Knowledge(forbidden=pairs) == expected
    assert Knowledge(forbidden=(pair for pair in pairs)) == expected
    assert Knowledge(forbidden=nx.DiGraph(pairs)) == expected
    assert Knowledge(forbidden=nx.DiGraph(pairs).edges) == expected
    assert Knowledge(forbidden=nx.MultiDiGraph(pairs)) == expected
    assert hash(Knowledge(forbidden=pairs)) == hash(expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"forbidden": ["ab"]}, "forbidden holds 'ab', which is no pair"),
        ({"required": [("a", "b", "c")]}, "required holds"),
        ({"required": [("a", 1)]}, "required holds"),
        ({"required": "ab"}, "required is a list of"),
        ({"forbidden": {"a": "b"}}, "forbidden is a list of"),
        ({"forbidden": 3}, "forbidden is a list of"),
        ({"forbidden": nx.Graph([("a", "b")])}, "without directions"),
        ({"tiers": ["age", "sex"]}, r"Tier 1 is the single string 'age'. A tier is a collection: \['age'\]"),
        ({"tiers": [["a"], 3]}, "Tier 2 is 3"),
        ({"tiers": [["a", 3]]}, "Tier 1 holds 3"),
        ({"tiers": [[["a"]]]}, "Tier 1 holds"),
        ({"tiers": {"a": 1}}, "tiers is a list of"),
        ({"tiers": {("a",), ("b",)}}, "tiers is a list of"),
        ({"tiers": 3}, "tiers is a list of"),
    ],
)
def test_malformed_parts_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        Knowledge(**options)


def test_empty_knowledge_is_falsy():
    assert not Knowledge()
    assert not Knowledge(tiers=[])
    assert Knowledge(forbidden=[("a", "b")])
    assert Knowledge(required=[("a", "b")])
    assert Knowledge(tiers=[["a"]])


def test_knowledge_is_frozen():
    with pytest.raises(AttributeError):
        Knowledge().tiers = ()


def test_coerce():
    knowledge = Knowledge(required=[("a", "b")], tiers=[["a"], ["b"]])
    assert Knowledge.coerce(knowledge) is knowledge
    assert Knowledge.coerce(None) == Knowledge()
    assert Knowledge.coerce({"required": [["a", "b"]], "tiers": [["a"], ["b"]], "forbidden": None}) == knowledge
    with pytest.raises(InputError, match="has the keys 'forbidden', 'required', 'tiers', not 'forbiden'"):
        Knowledge.coerce({"forbiden": []})
    with pytest.raises(InputError, match="not of type list"):
        Knowledge.coerce([("a", "b")])


# ---------------------------------------------------------------------- files
def test_load(tmp_path):
    file = tmp_path / "knowledge.json"
    file.write_text(json.dumps({"forbidden": [["a", "b"]], "tiers": [["ä"], ["b"]]}), encoding="utf-8")
    assert Knowledge.load(file) == Knowledge.load(str(file)) == Knowledge([("a", "b")], tiers=[["ä"], ["b"]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"forbidden": [', "is not a JSON file, or a damaged one"),
        (b"\xff\xfe{}", "is not a JSON file, or a damaged one"),
        (b"[" * 100_000, "is not a JSON file, or a damaged one"),
        (b"[]", "holds no background knowledge"),
        (b'{"edges": []}', "cannot be used: .* not 'edges'"),
        (b'{"forbidden": ["ab"]}', "cannot be used: forbidden holds 'ab'"),
        (b'{"tiers": 7}', "cannot be used: tiers is"),
    ],
)
def test_damaged_files_give_one_clear_error(tmp_path, content, message):
    file = tmp_path / "knowledge.json"
    file.write_bytes(content)
    with pytest.raises(FileError, match=message) as caught:
        Knowledge.load(file)
    assert str(file) in str(caught.value)


def test_a_missing_file(tmp_path):
    with pytest.raises(FileError, match=r"Cannot read .*none.json: No such file"):
        Knowledge.load(tmp_path / "none.json")


def test_import_is_light():
    heavy = "import sys, cslearn.candidates; print([m for m in ('causallearn', 'networkx') if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", heavy], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
