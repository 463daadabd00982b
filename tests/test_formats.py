"""Models of other programs: round trips lose nothing, other readers agree, and files that are damaged do no harm."""

import gzip
import json
import os
import warnings
from itertools import product
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cslearn import LDAG, CStree, kl_divergence, random_cstree
from cslearn.cstree.joint import conditional_table
from cslearn.datasets import chickenpox_model, supplement_model
from cslearn.errors import DataWarning, FileError, InputError, LimitError, MissingExtraError
from cslearn.formats import (
    FORMATS,
    adjacency_matrix,
    from_bif,
    from_cstrees_table,
    from_dosearch,
    from_networkx,
    from_pgmpy,
    from_pyagrum,
    from_xmlbif,
    read_adjacency,
    read_bif,
    read_cstrees,
    read_dosearch,
    read_graphml,
    read_model,
    read_stagedtrees_table,
    read_xmlbif,
    to_bif,
    to_cstrees_table,
    to_dosearch,
    to_pgmpy,
    to_pyagrum,
    to_stagedtrees,
    to_xmlbif,
    write_adjacency,
    write_benchpress_graph,
    write_bif,
    write_cstrees,
    write_dosearch,
    write_graphml,
    write_model,
    write_stagedtrees_table,
    write_xmlbif,
)

AWKWARD = [
    "",
    " ",
    '"',
    "a b",
    "{x}",
    "(1, 2)",
    "p|q",
    "a;b",
    "007",
    "1e5",
    "-->",
    "\\",
    "\\n",
    "//c",
    "/*c*/",
    "é🙂",
    "<b>&amp;",
]
NAMES = st.one_of(
    st.sampled_from(["table", "default", "property", "variable", "x", *AWKWARD[1:]]),
    st.text(min_size=1, max_size=6).filter(str.isprintable),
)
STATES = st.lists(
    st.one_of(st.sampled_from(AWKWARD), st.text(max_size=5).filter(str.isprintable)),
    min_size=1,
    max_size=3,
    unique=True,
)
TYPED = st.lists(
    st.one_of(st.sampled_from(AWKWARD), st.integers(-(10**6), 10**6), st.booleans(), st.floats(-1e9, 1e9)),
    min_size=1,
    max_size=3,
    unique_by=(str, lambda x: x),
)


@st.composite
def trees(draw, states=STATES, max_p=4, binary=False):
    names = draw(st.lists(NAMES, min_size=1, max_size=max_p, unique=True))
    space = {v: draw(states.filter(lambda s: len(s) == 2) if binary else states) for v in names}
    return random_cstree(space, random_state=draw(st.integers(0, 999)))


def expanded(tree):
    """The CStree with the same distribution in which every joint state of the parents is a stage."""
    structure = CStree.from_dag(tree.to_dag(), states=tree.states, order=tree.order)
    return structure.with_parameters(
        {v: conditional_table(tree, v).reshape(-1, len(tree.states[v])) for v in tree.order}
    )


def types(tree):
    return [[type(x) for x in states] for states in tree.states.values()]


# ---------------------------------------------------------------- BIF and XMLBIF
@given(tree=trees(st.one_of(STATES, TYPED)))
def test_bif_keeps_names_types_order_and_probabilities(tree):
    back = from_bif(to_bif(tree))
    assert back == expanded(tree)
    assert types(back) == types(tree)
    assert to_bif(back) == to_bif(tree)


@given(tree=trees(st.one_of(STATES, TYPED)))
def test_xmlbif_keeps_names_types_order_and_probabilities(tree):
    back = from_xmlbif(to_xmlbif(tree))
    assert back == expanded(tree)
    assert types(back) == types(tree)


@given(tree=trees())
def test_files_of_both_kinds(tree, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name, write, read in (("m.bif", write_bif, read_bif), ("m.xml", write_xmlbif, read_xmlbif)):
        write(tree, folder / name)
        assert read(folder / name) == expanded(tree)


def test_white_space_and_control_characters():
    names = [" a", "b\n", "\tc", "d\re", "f\x85"]
    tree = random_cstree(dict.fromkeys(names, names), random_state=0)
    assert from_bif(to_bif(tree)) == expanded(tree)
    assert from_xmlbif(to_xmlbif(tree)) == expanded(tree)
    tree = random_cstree({"x": ["\x00", "\x07"]}, random_state=0)
    assert from_bif(to_bif(tree)) == tree
    with pytest.raises(InputError, match="XML cannot hold"):
        to_xmlbif(tree)


def test_two_states_that_look_the_same():
    tree = random_cstree({"x": [1, "1"]}, random_state=0)
    for write in (to_bif, to_xmlbif, to_stagedtrees, to_pyagrum):
        with pytest.raises(InputError, match="'x' are both written '1'"):
            write(tree)


def test_a_parent_with_one_state_is_read_and_left_out():
    tree = from_bif("""
        variable one { type discrete [1] { only }; } variable x { type discrete [2] { a, b }; }
        probability ( one ) { table 1.0; }
        probability ( x | one ) { (only) 0.25, 0.75; }
    """)
    assert tree.parents["x"] == ()
    assert tree.parameters["x"].tolist() == [[0.25, 0.75]]


def test_bif_in_the_ways_of_other_programs():
    text = """
    // a comment
    network "Dog-Problem" { property author Charniak, 1991; property "a; b"; }
    variable  "light-on" { type discrete[2] { "true" "false" }; property position = (218, 195) ; }
    variable "family-out" { /* two
        states */ type discrete[2] { "true" "false" }; }
    variable n { type discrete [3] {<5, 5-12, 12+}; }
    probability ( "light-on" | "family-out" ) { table 0.6 0.05 0.4 0.95; }
    probability ( "family-out" ) { table 0.15 .85; }
    probability ( n | "light-on", "family-out" ) { default 1, 0, 0; ("true" "false") 2e-1, 3E-1, 0.5; }
    """
    tree = from_bif(text)
    assert conditional_table(tree, "light-on").tolist() == [[0.6, 0.4], [0.05, 0.95]]
    table = conditional_table(tree, "n")  # axes: family-out, light-on, n
    assert tree.parents["n"] == ("family-out", "light-on")
    assert table[1, 0].tolist() == [0.2, 0.3, 0.5]
    assert (table.reshape(-1, 3) == [1, 0, 0]).all(axis=1).sum() == 3


def test_rows_that_are_rounded_are_scaled_with_a_warning():
    text = "variable x { type discrete [3] { a, b, c }; } probability ( x ) { table 0.333, 0.333, 0.333; }"
    with pytest.warns(DataWarning, match="'x' do not sum to 1"):
        assert from_bif(text).parameters["x"].tolist() == [[1 / 3] * 3]
    with pytest.raises(InputError, match="not probabilities that sum to 1"):
        from_bif(text.replace("0.333, 0.333,", "0.5, 0.333,"))


def test_sizes_are_checked_before_writing():
    parents = [f"p{i}" for i in range(40)]
    staging = [{"p0": 1}, *({"p0": 0, **{f"p{k}": int(k == i) for k in range(1, i + 1)}} for i in range(1, 40))]
    staging.append(dict.fromkeys(parents, 0))
    tree = CStree(
        [*parents, "x"], {**{v: [{}] for v in parents}, "x": staging}, states=dict.fromkeys([*parents, "x"], (0, 1))
    )
    tree = tree.with_parameters({v: [[0.5, 0.5]] * len(tree.stagings[v]) for v in tree.order})
    for write in (to_bif, to_xmlbif, to_pgmpy, to_pyagrum):
        with pytest.raises(LimitError, match=r"'x' given 40 parents has 1,099,511,627,776 rows"):
            write(tree)
    with pytest.raises(LimitError, match="situations"):
        to_stagedtrees(tree)
    assert len(to_cstrees_table(tree)) == 2 + 39 + 41


def test_without_parameters():
    with pytest.raises(InputError, match="no parameters"):
        to_bif(supplement_model())


# ---------------------------------------------------------------- other readers agree
BIF = Path(os.environ.get("CSLEARN_DATA", "/nowhere")) / "bif"
networks = pytest.mark.parametrize("name", ["alarm", "asia", "cancer", "child", "earthquake", "sachs", "survey"])


def network_file(name):
    if not BIF.is_dir():
        pytest.skip("CSLEARN_DATA names no directory with the networks")
    return BIF / f"{name}.bif.gz"


@networks
def test_networks_are_read_as_pgmpy_reads_them(name):
    path = network_file(name)
    pytest.importorskip("pgmpy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pgmpy.readwrite import BIFReader

        theirs = from_pgmpy(BIFReader(string=gzip.decompress(path.read_bytes()).decode()).get_model())
    same_network(read_bif(path), theirs, 1e-12)


@networks
def test_networks_are_read_as_pyagrum_reads_them(name, tmp_path):
    path = network_file(name)
    gum = pyagrum()
    tree = read_bif(path)
    if name == "child":  # its states such as <5 are no words for pyAgrum
        assert tree.states["RUQO2"] == ("<5", "5-12", "12+")
        path = tmp_path / "child.bifxml"
        write_xmlbif(tree, path)
        same_network(tree, from_pyagrum(gum.loadBN(str(path))), 1e-6)
        return
    (tmp_path / "n.bif").write_bytes(gzip.decompress(path.read_bytes()))
    same_network(tree, from_pyagrum(gum.loadBN(str(tmp_path / "n.bif"))), 1e-6)  # it reads single precision


@networks
def test_networks_survive_every_way(name, tmp_path):
    tree = read_bif(network_file(name))
    assert from_bif(to_bif(tree)) == tree
    assert from_xmlbif(to_xmlbif(tree)) == tree
    pyagrum()
    same_network(from_pyagrum(to_pyagrum(tree)), tree, 0)
    pytest.importorskip("pgmpy")
    same_network(from_pgmpy(to_pgmpy(tree)), tree, 0)


def same_network(one, other, tolerance):
    assert dict(one.states) == dict(other.states)
    assert set(one.to_dag().edges) == set(other.to_dag().edges)
    for v in one.variables:
        ours, theirs = one.parents[v], other.parents[v]
        table = conditional_table(other, v).transpose([*map(theirs.index, ours), len(ours)])
        np.testing.assert_allclose(conditional_table(one, v), table, rtol=0, atol=tolerance)


def pyagrum():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("pyagrum")


@pytest.mark.filterwarnings("ignore::cslearn.errors.DataWarning")  # pyAgrum writes few digits
@pytest.mark.parametrize("seed", range(10))
def test_pyagrum_both_ways(seed, tmp_path):
    gum = pyagrum()
    tree = random_cstree(
        {"a": ["x", "y z"], "b": [0, 1, 5], "c": ["<b>&", "🙂", '"'], "d": ["0", "1"]}, random_state=seed
    )
    network = to_pyagrum(tree)
    same_network(from_pyagrum(network), tree, 0)
    marginal = gum.LazyPropagation(network).posterior("c").tolist()
    rows = [dict(zip(tree.variables, x, strict=True)) for x in product(*tree.states.values())]
    chances = np.exp(tree.log_prob(rows))
    ours = [sum(p for p, row in zip(chances, rows, strict=True) if row["c"] == x) for x in tree.states["c"]]
    np.testing.assert_allclose(marginal, ours, atol=1e-12)
    plain = random_cstree([2, 3, 2, 2], random_state=seed)
    plain = CStree(plain.order, plain.stagings, plain.parameters, states=plain.states)
    for ending in ("bif", "bifxml"):  # through its own files
        gum.saveBN(to_pyagrum(plain), str(tmp_path / f"m.{ending}"))
        same_network(texts(plain), texts(read_model(tmp_path / f"m.{ending}")), 2e-6)
        write_model(plain, tmp_path / f"n.{ending}")
        same_network(texts(plain), texts(from_pyagrum(gum.loadBN(str(tmp_path / f"n.{ending}")))), 1e-6)


def texts(tree):
    """The same Bayesian network with states that are text."""
    tree = expanded(tree)
    states = {v: [str(x) for x in s] for v, s in tree.states.items()}
    structure = CStree.from_dag(tree.to_dag(), states=states, order=tree.order)
    return structure.with_parameters(tree.parameters)


@given(tree=trees(TYPED))
def test_pgmpy_both_ways(tree):
    pytest.importorskip("pgmpy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        back = from_pgmpy(to_pgmpy(tree))
    same_network(back, tree, 0)
    assert types(back) == types(tree)


def test_pgmpy_reads_and_writes_the_same_xmlbif():
    pytest.importorskip("pgmpy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pgmpy.readwrite import XMLBIFReader

        theirs = from_pgmpy(XMLBIFReader(string=to_xmlbif(chickenpox_model()).partition("\n")[2]).get_model())
    same_network(expanded(chickenpox_model()), theirs, 1e-12)


@pytest.mark.parametrize(("package", "function"), [("pgmpy", to_pgmpy), ("pyagrum", to_pyagrum)])
def test_a_missing_package_names_its_extra(package, function, monkeypatch):
    for name in [n for n in __import__("sys").modules if n.partition(".")[0] == package]:
        monkeypatch.delitem(__import__("sys").modules, name)
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(MissingExtraError, match=rf'pip install "cslearn\[{package}\]"'):
        function(chickenpox_model())


# ---------------------------------------------------------------- LDAGs
@given(tree=trees(TYPED))
def test_graphml_keeps_the_ldag_and_the_order(tree, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "m.graphml"
    write_graphml(tree, path)
    ldag = read_graphml(path)
    assert ldag == tree.to_ldag()
    assert list(ldag.states) == list(tree.variables)
    assert from_networkx(tree.to_ldag().to_networkx()) == tree.to_ldag()
    assert read_model(path) == tree.with_parameters(None)
    assert set(nx.read_graphml(path).edges) == set(tree.to_dag().edges)


@given(tree=trees(TYPED, binary=True))
def test_dosearch_keeps_the_ldag(tree, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "m.txt"
    write_dosearch(tree, path)
    assert read_dosearch(path) == tree.to_ldag()
    # What dosearch does: it takes the lines with an arrow, without white space, and splits them at its signs.
    for line in path.read_text(encoding="utf-8").splitlines():
        if "->" in line or "--" in line:
            edge, _, label = "".join(line.split()).partition(":")
            ends = edge.split("->")
            assert len(ends) == 2
            for context in filter(None, label.split(";")):
                for assignment in context.split(","):
                    assert assignment.split("=")[1] in ("0", "1")


def test_dosearch_is_for_binary_variables():
    with pytest.raises(InputError, match="'X2' has 3 states"):
        to_dosearch(random_cstree([2, 3], random_state=0))
    ldag = LDAG(nx.DiGraph([("a", "b")]), {("a", "b"): [{}]}, states={"a": (0, 1), "b": (0, 1)})
    with pytest.raises(InputError, match="vanishes always"):
        to_dosearch(ldag)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no edges"),
        ("a -> b -> c", "line 1: 'a -> b -> c' is not an edge"),
        ("a <-> b", "line 1: an LDAG has no bidirected edges"),
        ("a -> b\na -> b", "line 2: the edge 'a -> b' stands twice"),
        ("a -> b : c = 2\nc -> b", "line 1: ' c = 2' is not an assignment"),
        ("a -> b : c = 0", "names 'c', which has no edge"),
        ("a -> b : b = 0", "not another parent"),
        ("a -> b\nb -> a", "cycle"),
        ("hello", "line 1: 'hello' is neither"),
        ("# cslearn [", "damaged"),
        ('# cslearn ["a", "a", {}, []]', "damaged"),
    ],
)
def test_bad_text_for_dosearch(text, message):
    with pytest.raises(InputError) as caught:
        from_dosearch(text)
    assert message in str(caught.value)


# ---------------------------------------------------------------- tables of stages
@given(tree=trees(st.integers(1, 3).map(lambda d: list(range(d)))))
def test_cstrees_tables_keep_the_stages(tree, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "tree.csv"
    write_cstrees(tree, path)
    back = read_cstrees(path)
    assert (back.order, dict(back.stagings)) == (tree.order, dict(tree.stagings))


def test_the_authors_example_is_read():
    # Figure 1 of Duarte and Solus, as the documentation of cstrees prints it, with the empty stage that it may have.
    rows = """0 1 2 3/2 2 2 2/0 - - -/1 - - -/* 0 - -/0 1 - -/1 1 - -/0 * 0 -/0 * 1 -/1 * 0 -/1 1 1 -/1 0 1 -/- - - -"""
    tree = from_cstrees_table([row.split() for row in rows.split("/")])
    assert tree.order == ("0", "1", "2", "3")
    assert str(tree.stagings["2"]) == "1=0 | 1=1, 0=0 | 1=1, 0=1"
    assert len(tree.stagings["3"]) == 5
    singles = from_cstrees_table([["a", "b"], ["2", "3"]])  # no stages: single outcomes
    assert str(singles.stagings["b"]) == "a=0 | a=1"


@given(tree=trees())
def test_staged_tree_tables_keep_the_stages(tree, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "stages.csv"
    write_stagedtrees_table(tree, path)
    back = read_stagedtrees_table(path)
    assert back.order == tree.order
    assert dict(back.stagings) == dict(tree.stagings)
    assert dict(back.states) == dict(tree.states)


def test_the_r_script_counts_situations_as_the_package_does():
    # In stagedtrees the index of a path is 1 + sum over variables of its code times the sizes of all later ones.
    tree = random_cstree([2, 3, 2, 2], random_state=3)
    script = to_stagedtrees(tree)
    for level, variable in list(enumerate(tree.order))[1:]:
        line = next(x for x in script.partition("stages = ")[2].splitlines() if x.startswith(f'    "{variable}"'))
        stages = json.loads("[" + line.partition("c(")[2].partition(")")[0] + "]")
        cards = [len(tree.states[v]) for v in tree.order[:level]]
        assert len(stages) == np.prod(cards)
        for path in product(*(range(d) for d in cards)):
            index = 0
            for code, card in zip(path, cards, strict=True):
                index = index * card + code
            outcome = {v: tree.states[v][code] for v, code in zip(tree.order, path, strict=False)}
            assert stages[index] == str(tree.stagings[variable].stage_of(outcome) + 1)


def test_a_staged_tree_that_is_no_cstree(tmp_path):
    path = tmp_path / "stages.csv"
    rows = [
        "variable,stage,a,b,c",
        "a,1,,,",
        "b,1,0,,",
        "b,1,1,,",
        "c,u,0,0,",
        "c,v,0,1,",
        "c,v,1,0,",
        "c,u,1,1,",
        "c,,,,0",
        "c,,,,1",
    ]
    path.write_text("\n".join(rows))
    with pytest.raises(
        FileError, match="the stage 'u' of 'c' is not the set of all outcomes that agree with a context"
    ):
        read_stagedtrees_table(path)


# ---------------------------------------------------------------- matrices
@given(tree=trees())
def test_adjacency_matrices_say_who_is_the_parent(tree, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for write in (write_adjacency, write_benchpress_graph):
        write(tree, folder / "m.csv")
        if write is write_benchpress_graph and tree.variables[0] == "parent\\child":
            continue
        graph = read_adjacency(folder / "m.csv")
        assert (list(graph), set(graph.edges)) == (list(tree.variables), set(tree.to_dag().edges))
    frame = adjacency_matrix(tree)
    assert {(a, b) for a in frame.index for b in frame.columns if frame.loc[a, b]} == set(tree.to_dag().edges)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is empty"),
        ("a,b\n0,1", "1 rows for 2 variables"),
        ("a,b\n0,1\n1,0", "cycle"),
        ("a,b\n0,2\n0,0", "line 2: '2' is neither 0 nor 1"),
        ("a,a\n0,0\n0,0", "does not name each variable once"),
        ("a,b\n0\n0,0", "row 2 has 1 cells"),
        ("parent\\child,a,b\na,0,1\nc,0,0", "the row of 'b' begins with 'c'"),
        ('a,"b\n0,0', "not comma separated"),
    ],
)
def test_bad_matrices(text, message, tmp_path):
    (tmp_path / "m.csv").write_text(text)
    with pytest.raises(FileError) as caught:
        read_adjacency(tmp_path / "m.csv")
    assert message in str(caught.value)


# ---------------------------------------------------------------- damaged and hostile files
TWO = """variable x { type discrete [2] { a, b }; } variable y { type discrete [2] { a, b }; }
probability ( x ) { table 0.5, 0.5; } """


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "declares no variables"),
        ("\x00\x01", "line 1: expected `network`"),
        ("{" * 100_000, "line 1: expected `network`"),
        ("network x {" * 100_000, "expected `property`"),
        ("variable x { type discrete [ 99999999999999999999 ] { a }; }", "the number of states of 'x'"),
        ("variable x { type discrete [ 900000000 ] { a }; }", "the number of states of 'x' is '900000000'"),
        ("variable x { type continuous; }", "only discrete"),
        ("variable x { type discrete [2] { a, a }; }", "a state twice"),
        ("variable x { }", "no `type`"),
        ('variable "" { type discrete [1] { a }; }', "no name"),
        ('variable "x', "a quote or comment is not closed"),
        ("/* for ever", "a quote or comment is not closed"),
        (r'variable "\q" {', "escape"),
        ("variable x { property a", "not ended by `;`"),
        (TWO, "no table for 'y'"),
        (TWO + "probability ( x ) { table 0.5, 0.5; }", "two tables for 'x'"),
        (TWO + "variable x { type discrete [1] { a }; }", "declared twice"),
        (TWO + "probability ( y | z ) { }", "no variable 'z'"),
        (TWO + "probability ( y | y ) { }", "a variable twice"),
        (TWO + "probability ( y | x ) { (a) 0.5, 0.5; }", "lacks 1 of its 2 rows"),
        (TWO + "probability ( y | x ) { (a) 0.5, 0.5; (a) 0.5, 0.5; }", "a row twice"),
        (TWO + "probability ( y | x ) { (c) 0.5, 0.5; }", "'x' has no state 'c'"),
        (TWO + "probability ( y | x ) { (a) 0.5; }", "1 numbers where 2 are needed"),
        (TWO + "probability ( y ) { table 0.5, 0.25, 0.25; }", "more than 2 numbers"),
        (TWO + "probability ( y ) { table 1e999, 0; }", "too large for a number"),
        (TWO + "probability ( y ) { table nan, 0; }", "expected a number, not 'nan'"),
        (TWO + "probability ( y ) { table 0x1p3, 0; }", "expected a number"),
        (TWO + "probability ( y ) { table -0.5, 1.5; }", "not probabilities"),
        (TWO + f"probability ( y ) {{ table 1{'0' * 5000}, 0; }}", "too large for a number"),
        (TWO + f"probability ( y ) {{ table {'1' * 100_000}e, 0; }}", "expected a number"),
        (
            TWO.replace("( x )", "( x | y )").replace("table", "default") + "probability ( y | x ) { default 1, 0; }",
            "cycle",
        ),
    ],
)
def test_bad_bif(text, message):
    with pytest.raises(InputError) as caught:
        from_bif(text)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 400


def many_parents(n, body):
    names = [f"p{i}" for i in range(n)]
    declared = "".join(f"variable {v} {{ type discrete [2] {{ a, b }}; }}\n" for v in [*names, "x"])
    tables = "".join(f"probability ( {v} ) {{ table 0.5, 0.5; }}\n" for v in names)
    return declared + tables + f"probability ( x | {', '.join(names)} ) {{ {body} }}"


@pytest.mark.parametrize("name", ["json", "bif", "xmlbif", "graphml", "dosearch", "cstrees", "stages"])
def test_files_with_very_many_variables(name, tmp_path, monkeypatch):
    write_model(random_cstree(8, random_state=0), tmp_path / "m", name)
    monkeypatch.setattr("cslearn._files.VARIABLE_LIMIT", 7)
    with pytest.raises(FileError, match="more than 7 variables"):
        read_model(tmp_path / "m", name)


def test_very_many_states():
    states = ", ".join(f"s{i}" for i in range(70_000))
    with pytest.raises(InputError, match="'x' has more than 65536 states"):
        from_bif(f"variable x {{ type discrete {{ {states} }}; }}")
    with pytest.raises(InputError, match="'x' has more than 2 states"):
        from_bif(f"variable x {{ type discrete [ 2 ] {{ {states} }}; }}")


def test_tables_that_claim_to_be_huge():
    with pytest.raises(LimitError, match="'x' given 60 parents has 1,152,921,504,606,846,976 rows"):
        from_bif(many_parents(60, "default 0.5, 0.5;"))
    with pytest.raises(InputError, match="`default` stands for more than 4,096 rows"):
        from_bif(many_parents(14, "default 0.5, 0.5;"))
    assert len(from_bif(many_parents(6, "default 0.5, 0.5;")).stagings["x"]) == 64


@pytest.mark.parametrize("name", ["bif", "xmlbif", "graphml", "json"])
def test_files_cut_at_every_byte(name, tmp_path):
    tree = random_cstree({"a": ["x", "y"], "b é": [1, "{"]}, random_state=1)
    path = tmp_path / "model"
    write_model(tree, path, name)
    content = path.read_bytes()
    whole = read_model(path, name)
    for cut in range(len(content)):
        path.write_bytes(content[:cut])
        try:
            found = read_model(path, name)
        except FileError as error:
            assert str(path) in str(error)
        else:
            assert found == whole  # nothing but white space was cut off


SMALL = supplement_model().fit_parameters(random_cstree(4, random_state=1).sample(50, random_state=1))


@given(
    place=st.integers(0, 10_000),
    byte=st.integers(0, 255),
    name=st.sampled_from(["bif", "xmlbif", "graphml", "dosearch"]),
)
def test_files_with_a_changed_byte(place, byte, name, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / f"changed-{name}"
    write_model(SMALL, path, name)
    content = bytearray(path.read_bytes())
    content[place % len(content)] = byte
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        try:
            read_model(path, name)
        except FileError as error:
            assert str(path) in str(error)


ENTITIES = ['<!ENTITY lol1 "lol">', *(f"<!ENTITY lol{i} '" + f"&lol{i - 1};" * 10 + "'>" for i in range(2, 10))]
LAUGHS = f"""<?xml version="1.0"?><!DOCTYPE lolz [{"".join(ENTITIES)}]>
<BIF><NETWORK><NAME>&lol9;</NAME></NETWORK></BIF>"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LAUGHS, "declares the entity 'lol1'"),
        ('<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><BIF>&e;</BIF>', "declares the entity 'e'"),
        ('<!DOCTYPE x [<!ENTITY % p SYSTEM "http://localhost/x">%p;]><BIF/>', "declares the entity 'p'"),
        ('<!DOCTYPE BIF SYSTEM "http://localhost/bif.dtd"><BIF>&e;</BIF>', "uses the entity 'e'"),
        ("<a>" * 100_000, "nested more than 32 deep"),
        ("<a>", "not well-formed XML"),
        ("", "not well-formed XML"),
        ('<?xml version="1.0" encoding="no-such"?><BIF/>', "in an encoding that is not read"),
        ("<html/>", "not XMLBIF"),
        ("<BIF/>", "0 networks"),
        ("<BIF><NETWORK/></BIF>", "no variables"),
        ("<BIF><NETWORK><VARIABLE><NAME>x</NAME></VARIABLE></NETWORK></BIF>", "no states"),
    ],
)
def test_bad_xml(text, message, tmp_path):
    path = tmp_path / "m.xml"
    path.write_text(text)
    with pytest.raises(FileError) as caught:
        read_xmlbif(path)
    assert message in str(caught.value)
    if "declares the entity" in message:
        with pytest.raises(FileError, match="declares the entity"):
            read_model(path, "graphml")


def xml_table(numbers, given=""):
    return f"""<BIF><NETWORK><VARIABLE><NAME>x</NAME><OUTCOME>a</OUTCOME><OUTCOME>b</OUTCOME></VARIABLE>
    <DEFINITION><FOR>x</FOR>{given}<TABLE>{numbers}</TABLE></DEFINITION></NETWORK></BIF>"""


@pytest.mark.parametrize(
    ("numbers", "given", "message"),
    [
        ("1", "", "has 1 numbers, not 2"),
        ("1 0 0", "", "has 3 numbers, not 2"),
        ("1 x", "", "has 'x' where a number is expected"),
        ("1e9999 0", "", "has '1e9999' where a number is expected"),
        ("1 inf", "", "has 'inf'"),
        ("0.5 0.25", "", "not probabilities that sum to 1"),
        ("1 0", "<GIVEN>y</GIVEN>", "given 'y', which is not a variable"),
        ("1 0", "<GIVEN>x</GIVEN>", "a variable twice"),
    ],
)
def test_bad_tables_in_xml(numbers, given, message):
    with pytest.raises(InputError) as caught:
        from_xmlbif(xml_table(numbers, given))
    assert message in str(caught.value)
    assert from_xmlbif(xml_table("0.25, 0.75")).parameters["x"].tolist() == [[0.25, 0.75]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"directed"', '"undirected"'), "no directed graph"),
        (('["a", "b"]', "[" * 5000), "is not JSON"),
        (('["a", "b"]', "[[1], [2]]"), "strings, numbers or booleans"),
        (('["a", "b"]', '"ab"'), "has no states"),
        (('target="y"', 'target="z"'), "no node 'z'"),
    ],
)
def test_bad_graphml(change, message, tmp_path):
    path = tmp_path / "m.graphml"
    tree = CStree(["x", "y"], {"y": [{"x": "a"}, {"x": "b"}]}, states={"x": ["a", "b"], "y": ["a", "b"]})
    write_graphml(tree, path)
    text = path.read_text()
    assert change[0] in text
    path.write_text(text.replace(*change))
    with pytest.raises(FileError) as caught:
        read_model(path)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("a b", "no row of cardinalities"),
        ("a b/2 x", "the cardinality of 'b' is 'x'"),
        ("a b/2 999999999", "the cardinality of 'b'"),
        ("a a/2 2", "a variable twice"),
        ("a b/2 2/5 -", "row 3: '5' is not a code of 'a'"),
        ("a b/2 2/- 0", "row 3 is not a stage"),
        ("a b/2 2/0 1", "row 3 is not a stage"),
        ("a b/2 2/0 -/* -", "overlap"),
    ],
)
def test_bad_cstrees_tables(rows, message):
    with pytest.raises(InputError) as caught:
        from_cstrees_table([row.split() for row in rows.split("/")])
    assert message in str(caught.value)


def test_files_that_are_missing_packed_or_too_large(tmp_path, monkeypatch):
    for read in (read_bif, read_xmlbif, read_graphml, read_dosearch, read_cstrees, read_adjacency):
        with pytest.raises(FileError, match="there is no file"):
            read(tmp_path / "nothing")
        with pytest.raises(FileError, match="cannot read"):
            read(tmp_path)
    (tmp_path / "m.bif.gz").write_bytes(gzip.compress(b"network"))
    with pytest.raises(FileError, match="end of the file"):
        read_bif(tmp_path / "m.bif.gz")
    (tmp_path / "m.bif.gz").write_bytes(gzip.compress(b"network")[:-4])
    with pytest.raises(FileError, match="not a whole gzip file"):
        read_bif(tmp_path / "m.bif.gz")
    monkeypatch.setattr("cslearn._files.SIZE_LIMIT", 1 << 20)
    (tmp_path / "bomb.bif.gz").write_bytes(gzip.compress(b" " * (1 << 22)))
    with pytest.raises(FileError, match="more than 1 MB"):
        read_bif(tmp_path / "bomb.bif.gz")
    (tmp_path / "latin.bif").write_bytes("variable é".encode("latin-1"))
    with pytest.raises(FileError, match="not UTF-8"):
        read_bif(tmp_path / "latin.bif")


# ---------------------------------------------------------------- what is lost
@given(tree=trees(TYPED, max_p=3))
def test_a_format_that_says_nothing_is_lost_loses_nothing(tree, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name, found in FORMATS.items():
        try:
            lost = write_model(tree, folder / "m", name)
        except InputError:
            continue
        if found.read is None:
            continue
        back = read_model(folder / "m", name)
        assert (back == tree and types(back) == types(tree)) or lost, name
        if not any(what.startswith("contexts") for what in lost):
            assert back.with_parameters(None).to_ldag().graph.edges == tree.to_ldag().graph.edges
        if "probabilities" not in lost and back.states == tree.states:
            assert kl_divergence(tree, back) < 1e-12


def test_formats_by_name_and_ending(tmp_path):
    tree = chickenpox_model()
    assert FORMATS["bif"].lost(expanded(tree)) == []
    assert FORMATS["cstrees"].lost(supplement_model()) == []
    with pytest.raises(InputError, match=r"m\.csv does not tell the format"):
        write_model(tree, tmp_path / "m.csv")
    with pytest.raises(InputError, match="no format 'pdf' that can be written"):
        write_model(tree, tmp_path / "m.csv", "pdf")
    with pytest.raises(InputError, match="no format 'adjacency' that can be read"):
        read_model(tmp_path / "m.csv", "adjacency")
    with pytest.raises(InputError, match=r"leave out the \.gz"):
        write_model(tree, tmp_path / "m.bif.gz")
