"""The report: what is in the file, and what a reader sees and does in a real browser."""

import base64
import hashlib
import json
import re
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from playwright.sync_api import expect

from cslearn import Chains, CStree, CStreeLearner, random_cstree
from cslearn.datasets import chickenpox_model
from cslearn.errors import FileError, InputError
from cslearn.estimators import relation_table
from cslearn.inference import DIRECTIONS, effect
from cslearn.orders import order_problem, sample_chains
from cslearn.posterior import CStreePosterior
from cslearn.report import report_html, write_report
from cslearn.report.citing import citations
from cslearn.scores import Scores

ROOT = Path(__file__).parent.parent
HOSTILE = [
    '<b>&"',
    "</script><script>alert(1)</script>",
    "<!--",
    "😀\u2028",
    "{{data}}",
    "__proto__",
    "a'b\\",
    "\u202eabc",
]


def document_of(page):
    (text,) = re.findall(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    return json.loads(text)


def hostile_tree():
    """Names and states that would do harm as markup; the last variable depends on all the others."""
    states = {v: [f"{v} no", '<img src=x onerror="alert(2)">', "</script>"] for v in HOSTILE}
    graph = nx.DiGraph([(v, HOSTILE[-1]) for v in HOSTILE[:2]])
    rng = np.random.default_rng(0)
    structure = CStree.from_dag(graph, states=states)
    rows = {v: rng.dirichlet(np.ones(3), len(structure.stagings[v])) for v in structure.order}
    return structure.with_parameters(rows)


@pytest.fixture(scope="module")
def learner():
    data = chickenpox_model().sample(2000, random_state=1)
    return CStreeLearner(beta=2, search=Chains(n_iter=1000), random_state=0).fit(data)


@pytest.fixture(scope="module")
def exact_learner():
    return CStreeLearner(beta=2, search="exact", random_state=0).fit(chickenpox_model().sample(2000, random_state=1))


# ---------------------------------------------------------------- the content
def test_the_document_has_the_stages_probabilities_and_counts():
    tree = chickenpox_model()
    data = tree.sample(500, random_state=0)
    document = document_of(report_html(tree, data))
    names = [variable["name"] for variable in document["variables"]]
    assert [names[v] for v in document["order"]] == list(tree.order)
    for variable in document["variables"]:
        v = variable["name"]
        contexts = [
            {names[u]: document["variables"][u]["states"][x] for u, x in s["context"]} for s in variable["stages"]
        ]
        assert contexts == [dict(context) for context in tree.stagings[v]]
        assert np.allclose([s["p"] for s in variable["stages"]], tree.parameters[v], atol=1e-6)
        for context, stage in zip(contexts, variable["stages"], strict=True):
            rows = data[np.logical_and.reduce([data[u] == x for u, x in context.items()] or [np.full(500, True)])]
            assert stage["n"] == [int((rows[v] == x).sum()) for x in variable["states"]]
    assert {(names[e["parent"]], names[e["child"]]) for e in document["edges"]} == set(tree.to_dag().edges)


def test_the_evidence_is_that_of_the_scores():
    tree = chickenpox_model()
    data = tree.sample(500, random_state=0)
    document = document_of(report_html(tree, data, ess=3))
    scores = Scores(data, ess=3)
    names = list(tree.variables)
    assert len(document["relations"]) == len(tree.csi_relations()) == 3
    for relation in document["relations"]:
        context = {names[v]: tree.states[names[v]][x] for v, x in relation["context"]}
        target = names[relation["target"]]
        splits = [
            sum(scores.log_z(target, {**context, names[v]: x}) for x in tree.states[names[v]])
            for v in relation["independent_of"]
        ]
        assert relation["factor"] == pytest.approx(scores.log_z(target, context) - max(splits), abs=1e-3)
        assert relation["rows"] == scores.n_rows(context)


def test_the_equivalent_sample_size_is_that_of_the_learning(learner):
    data = chickenpox_model().sample(2000, random_state=1)
    uneven = learner.cstree_.learning | {"settings": {"ess": 0.5}}
    assert document_of(report_html(learner.cstree_, data))["ess"] == learner.ess_
    assert document_of(report_html(learner.cstree_, data, learning=uneven))["ess"] == 0.5
    assert document_of(report_html(chickenpox_model(), data))["ess"] == 5.0


def test_a_learner_gives_its_posterior_and_seconds(learner):
    document = document_of(report_html(learner))
    assert set(document["learning"]["seconds"]) == set(learner.timings_)
    shares = learner.posterior_.precedence().to_numpy(copy=True)
    np.fill_diagonal(shares, 0.5)
    assert np.allclose(document["orders"]["precedence"], shares, atol=1e-3)
    assert "seconds" not in document_of(report_html(learner.cstree_))["learning"]


def test_a_model_file_keeps_what_the_report_says_of_the_orders(learner, exact_learner, tmp_path):
    for fitted, exact in ((learner, False), (exact_learner, True)):
        fitted.cstree_.save(tmp_path / "m.json")
        loaded = document_of(report_html(CStree.load(tmp_path / "m.json")))
        assert loaded["orders"] == document_of(report_html(fitted))["orders"]
        assert loaded["orders"]["exact"] is exact


def test_rows_with_gaps_do_not_count_if_the_model_was_learned_without_them():
    data = chickenpox_model().sample(300, random_state=1).astype(object)
    data.iloc[[3, 5], 0] = None
    fitted = CStreeLearner(beta=2, missing="drop", random_state=0).fit(data)
    assert document_of(report_html(fitted, data))["rows"] == 298
    with pytest.raises(InputError, match="2 of 300"):
        report_html(chickenpox_model(), data)


def test_the_page_fetches_nothing_and_allows_one_script_and_one_style():
    page = report_html(chickenpox_model())
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy.startswith("default-src 'none';")
    for kind, tag in (("script", r"<script>(.*?)</script>"), ("style", r"<style>(.*?)</style>")):
        (text,) = re.findall(tag, page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert set(re.findall(r"(?:https?:)?//[\w.]+", re.sub(r"^ *//.*$", "", page, flags=re.MULTILINE))) <= {
        "http://www.w3.org"
    }


def test_names_cannot_leave_the_data_element():
    page = report_html(hostile_tree(), title="</title><b>")
    assert [v["name"] for v in document_of(page)["variables"]] == HOSTILE
    assert page.count("<script") == 2
    assert "<b>" not in page
    assert "alert(1)</script>" not in page


def test_a_structure_without_parameters_has_a_report():
    document = document_of(report_html(chickenpox_model().with_parameters(None)))
    assert all("p" not in stage for variable in document["variables"] for stage in variable["stages"])
    assert document["learning"] is None


def test_the_citations_are_those_of_the_citation_file():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    paper, package = citations()
    (title,) = re.findall(r'^title: "(.*)"$', text, re.MULTILINE)
    (number,) = re.findall(r"^version: (.*)$", text, re.MULTILINE)
    (paper_title,) = re.findall(r"^    title: (.*)$", text, re.MULTILINE)
    people = re.findall(r"given-names: (.*)\n +family-names: (.*)", text)
    assert title in package["text"]
    assert number in package["text"]
    assert paper_title in paper["text"]
    assert [f"{given} {family}" in paper["text"] for given, family in people] == [True] * 3


def test_a_hundred_variables_are_less_than_five_megabytes(tmp_path):
    tree = random_cstree([2, 3] * 50, random_state=0)
    data = tree.sample_table(500, random_state=0)
    scores = Scores(data)
    chains, _ = sample_chains(order_problem(scores), n_chains=2, n_iter=200, greedy_start=False, random_state=0)
    posterior = CStreePosterior(data.variables, chains, scores=scores)
    write_report(tree, tmp_path / "r.html", data, posterior)
    assert (tmp_path / "r.html").stat().st_size < 5e6


def test_what_is_no_model_is_refused(tmp_path):
    with pytest.raises(InputError, match="a report is of a CStree or of a fitted CStreeLearner, not of dict"):
        write_report({}, tmp_path / "r.html")
    with pytest.raises(FileError, match="does not exist"):
        write_report(chickenpox_model(), tmp_path / "nowhere" / "r.html")


# ---------------------------------------------------------------- the command
@pytest.fixture
def run(run, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    return run


def test_the_command_writes_a_report(run, tmp_path):
    tree = chickenpox_model()
    tree.save(tmp_path / "m.json")
    tree.sample(200, random_state=0).assign(w=2).to_csv(tmp_path / "d.csv", index=False, sep=";")
    code, out, _ = run("report", "m.json", "d.csv", "-o", "r.html", "--sep", ";", "--weights", "w", "--title", "Mine")
    assert code == 0
    assert "Report written to r.html" in out
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<h1>Mine</h1>" in page
    assert document_of(page)["rows"] == 400
    assert run("report", "m.json")[0] == 0
    code, _, err = run("report", "m.json")
    assert code == 2
    assert "there is a report.html here already" in err


def test_the_command_tells_what_is_wrong(run, tmp_path):
    chickenpox_model().save(tmp_path / "m.json")
    (tmp_path / "d.csv").write_text("background,diagnosis\nrural,no\n")
    code, _, err = run("report", "m.json", "d.csv", "-o", "r.html")
    assert code == 2
    assert "exposed" in err
    assert not (tmp_path / "r.html").exists()
    assert run("report", "nothing.json")[0] == 2


# ---------------------------------------------------------------- in a browser
@pytest.fixture
def open_report(browser, tmp_path):
    """Open a report; at the end nothing may have gone wrong on the page or been asked of the network."""
    troubles, contexts = [], []

    def open_report(model, *args, viewport=(1280, 900), colours="light", **options):
        path = tmp_path / f"r{len(contexts)}.html"
        write_report(model, path, *args, **options)
        context = browser.new_context(
            viewport={"width": viewport[0], "height": viewport[1]}, color_scheme=colours, reduced_motion="reduce"
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: troubles.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (troubles.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: None if request.url == path.as_uri() else troubles.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        return page

    yield open_report
    for context in contexts:
        context.close()
    assert [trouble for trouble in troubles if not trouble.startswith("data:")] == []


def add_to_context(page, tree, variable, state):
    page.select_option("#context-variable", str(tree.variables.index(variable)))
    page.select_option("#context-state", str(tree.states[variable].index(state)))
    page.click("#chooser button[type=submit]")


def edges_in_state(page, tree, state):
    document = page.evaluate("JSON.parse(document.getElementById('data').textContent).edges")
    found = page.eval_on_selector_all(f'.edge[data-state="{state}"]', "all => all.map(e => Number(e.dataset.edge))")
    return {(tree.variables[document[e]["parent"]], tree.variables[document[e]["child"]]) for e in found}


def details(page):
    return page.inner_text("#details")


@pytest.mark.parametrize("seed", range(3))
def test_exactly_the_right_edges_vanish_in_a_context(open_report, seed):
    rng = np.random.default_rng(seed)
    tree = random_cstree([2, 3, 2, 4, 2, 3], random_state=seed)
    ldag = tree.to_ldag()
    page = open_report(tree)
    vanished = 0
    for _ in range(8):
        page.evaluate("document.getElementById('clear-context').click()")
        chosen = {}
        for variable in rng.choice(tree.variables, size=rng.integers(1, 4), replace=False):
            chosen[str(variable)] = rng.choice(np.array(tree.states[variable], dtype=object))
            add_to_context(page, tree, variable, chosen[str(variable)])
        expected = {edge for edge in ldag.graph.edges if ldag.vanishes(edge, chosen)}
        assert edges_in_state(page, tree, "vanished") == expected
        held = {edge for edge in ldag.graph.edges if edge[0] in chosen} - expected
        assert edges_in_state(page, tree, "held") == held
        assert page.locator(".chip").count() == len(chosen)
        assert page.locator(".node.fixed").count() == len(chosen)
        vanished += len(expected)
    assert vanished, "no context took an edge away: this test shows nothing"


def test_a_context_is_told_in_words_hides_edges_and_can_be_taken_back(open_report):
    tree = chickenpox_model()
    page = open_report(tree)
    assert edges_in_state(page, tree, "left") == set(tree.to_dag().edges)
    add_to_context(page, tree, "exposed", "no")
    told = page.inner_text("#context-result")
    assert "The model leaves out 2 of 5 dependences once exposed is no" in told
    assert "background → carrier" in told
    page.check("#hide-vanished")
    assert page.locator(".edge:visible").count() == 3
    page.click(".chip")
    assert page.locator(".edge:visible").count() == 5
    assert page.inner_text("#context-result") == ""


def test_pointing_shows_tables_and_contexts(open_report):
    tree = chickenpox_model()
    page = open_report(tree, tree.sample(1000, random_state=0))
    page.hover(f'[data-node="{tree.variables.index("carrier")}"]')
    assert "It depends on background, diagnosis and exposed, and has 4 stages." in details(page)
    assert "0.980" in details(page)
    edges = list(tree.to_ldag().graph.edges)
    e = edges.index(("background", "exposed"))
    page.hover(f'[data-edge="{e}"] .edge-label')
    said = re.sub(r"\n+", "\n", details(page))
    assert "exposed depends on background. The model leaves this out once\ndiagnosis is yes" in said
    page.hover("h1")
    assert "Point at a variable" in details(page)


def test_search_and_sort(open_report):
    tree = random_cstree([2, 3, 2, 2, 3, 2], random_state=4)
    data = tree.sample(300, random_state=0)
    page = open_report(tree, data)

    def column(position):
        return page.eval_on_selector_all(
            "#relations-table tbody tr", f"rows => rows.map(row => row.cells[{position}].textContent)"
        )

    total = len(relation_table(tree, data).merged(tree.states))
    factors = [float(text.replace(",", "")) for text in column(3)]
    assert len(factors) == total > 5
    assert factors == sorted(factors, reverse=True)
    assert page.get_attribute("#relations-table th:nth-child(4)", "aria-sort") == "descending"
    page.click("#relations-table th:nth-child(4) button")
    assert [float(text.replace(",", "")) for text in column(3)] == sorted(factors)
    page.click("#relations-table th:nth-child(5) button")
    rows = [float(text.replace(",", "")) for text in column(4)]
    assert rows == sorted(rows, reverse=True)
    page.click("#relations-table th:nth-child(1) button")
    assert column(0) == sorted(column(0))
    wanted = next(r for r in tree.csi_relations() if r.target == "X6")
    page.fill("#search", f"{wanted.target.lower()} {next(iter(wanted.context))}")
    found = column(0)
    assert 0 < len(found) < total
    text = page.eval_on_selector_all("#relations-table tbody tr", "rows => rows.map(row => row.textContent)")
    assert all(wanted.target in row and next(iter(wanted.context)) in row for row in text)
    assert page.inner_text("#found") == f"{len(found)} of {total}"
    page.fill("#search", "nothing is called so")
    assert column(0) == []


def test_of_many_stages_and_relations_the_first_are_shown_and_only_what_is_supported_is_independence(open_report):
    tree, other = (random_cstree(9, 8, method="grow", max_stages=30, random_state=k) for k in (1, 2))
    data = other.sample(400, random_state=0)  # of another model, so that many relations are refuted
    page = open_report(tree, data)
    found = relation_table(tree, data).merged(tree.states)
    counts = {verdict: len(found.with_verdict(verdict)) for verdict in ("supported", "undecided", "ignored")}
    assert min(counts.values()) > 0
    rows = "#relations-table tbody tr"
    assert page.locator(rows).count() == 20
    page.click("#more-relations")
    assert page.locator(rows).count() == len(found)
    for words, factor in page.eval_on_selector_all(
        rows, "rows => rows.map(r => [r.textContent, r.cells[3].textContent])"
    ):
        assert ("does not depend" in words) == (float(factor.replace(",", "")) >= 1.1)
    for verdict, number in counts.items():
        page.select_option("#verdict", verdict)
        assert page.locator(rows).count() == number
    v = max(tree.order, key=lambda v: len(tree.stagings[v]))
    page.click(f"#variables-list summary:has-text('{v}')")
    panel = page.locator("#variables-list details[open] table.stages tbody tr")
    expect(panel).to_have_count(16)
    page.click("#variables-list details[open] button.more")
    expect(panel).to_have_count(len(tree.stagings[v]))


def test_a_relation_shows_the_graph_in_its_context(open_report):
    tree = chickenpox_model()
    page = open_report(tree)
    page.click("#relations-table tbody tr:has-text('exposed = no') .link")
    assert edges_in_state(page, tree, "vanished") == {("background", "carrier"), ("diagnosis", "carrier")}


def test_the_graph_by_keyboard(open_report):
    tree = chickenpox_model()
    page = open_report(tree)

    def label():
        return page.evaluate("document.activeElement.getAttribute('aria-label') || document.activeElement.id")

    page.focus("#find")
    page.keyboard.press("Tab")
    assert label().startswith("background.")
    page.keyboard.press("ArrowDown")
    assert label().startswith("Dependence of ")
    assert " on background: left out of the model once" in label()
    page.keyboard.press("ArrowRight")
    assert " on background: " in label()
    assert "The model leaves this out once" in details(page)
    page.keyboard.press("ArrowDown")
    child = label().split(".")[0]
    assert child in ("exposed", "carrier")
    page.keyboard.press("End")
    assert label().startswith("carrier.")
    page.keyboard.press("Enter")
    assert page.get_attribute(".node:focus", "aria-pressed") == "true"
    outline = page.evaluate("parseFloat(getComputedStyle(document.activeElement.querySelector('rect')).strokeWidth)")
    assert outline > 3
    before = page.get_attribute(".node:focus", "transform")
    page.keyboard.press("Shift+ArrowRight")
    assert page.get_attribute(".node:focus", "transform") != before
    view = page.get_attribute("#ldag", "viewBox")
    page.keyboard.press("+")
    assert page.get_attribute("#ldag", "viewBox") != view
    page.keyboard.press("Tab")  # to the states of the variable that is kept in view
    page.keyboard.press("Enter")
    assert page.inner_text(".chip").startswith("carrier = no")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Escape")
    assert page.locator('[aria-pressed="true"]').count() == 0


def test_everything_that_acts_can_be_reached_by_tab(open_report, learner):
    page = open_report(learner, chickenpox_model().sample(300, random_state=0))
    seen = []
    for _ in range(80):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.id || document.activeElement.className.toString()"))
    for wanted in (
        "theme",
        "context-variable",
        "context-state",
        "zoom-in",
        "fit",
        "show-labels",
        "find",
        "search",
        "sort",
    ):
        assert wanted in seen, wanted


def test_zoom_drag_and_fit(open_report):
    tree = chickenpox_model()
    page = open_report(tree)
    start = page.get_attribute("#ldag", "viewBox")
    box = page.locator("#ldag").bounding_box()
    page.mouse.move(box["x"] + 30, box["y"] + 30)
    page.mouse.wheel(0, -300)
    expect(page.locator("#ldag")).not_to_have_attribute("viewBox", start)
    assert float(page.get_attribute("#ldag", "viewBox").split()[2]) < float(start.split()[2])
    page.click("#fit")
    fitted = [float(x) for x in page.get_attribute("#ldag", "viewBox").split()]
    assert fitted == pytest.approx([float(x) for x in start.split()], abs=1)
    page.mouse.move(box["x"] + 30, box["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + 90, box["y"] + 50, steps=4)
    page.mouse.up()
    moved = [float(x) for x in page.get_attribute("#ldag", "viewBox").split()]
    assert moved[0] < fitted[0] - 10
    assert moved[2] == fitted[2]
    node = page.locator('[data-node="0"]')
    place, at = node.get_attribute("transform"), node.bounding_box()
    line = page.locator(".edge .line").first.get_attribute("d")
    page.mouse.move(at["x"] + 20, at["y"] + 15)
    page.mouse.down()
    page.mouse.move(at["x"] - 60, at["y"] + 45, steps=4)
    page.mouse.up()
    assert node.get_attribute("transform") != place
    assert page.locator(".edge .line").first.get_attribute("d") != line
    page.click("#reset")
    assert node.get_attribute("transform") == place
    assert page.locator(".edge .line").first.get_attribute("d") == line


def test_hostile_names_are_shown_as_they_are(open_report):
    tree = hostile_tree()
    learner_like = tree.sample(100, random_state=0)
    page = open_report(tree, learner_like, title="<i>& 😀")
    assert page.inner_text("h1") == "<i>& 😀"
    options = page.eval_on_selector_all("#context-variable option", "all => all.map(o => o.textContent)")
    assert sorted(options) == sorted(HOSTILE)
    for v in HOSTILE:
        add_to_context(page, tree, v, '<img src=x onerror="alert(2)">')
    page.eval_on_selector_all("details", "all => all.forEach(d => { d.open = true; })")
    expect(page.locator("details table")).to_have_count(8)
    assert page.locator("main img, main b").count() == 0
    assert page.evaluate("document.scripts.length") == 2
    page.mouse.move(0, 0)  # away from the graph
    e = page.locator(".edge").first
    e.focus()
    assert page.locator("#details h3").text_content() in {f"{v} → {HOSTILE[-1]}" for v in HOSTILE}


def luminance(colour):
    red, green, blue = (int(part) / 255 for part in re.findall(r"\d+", colour)[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_light_and_dark(open_report):
    def colours(page):
        return [
            luminance(page.evaluate(f"getComputedStyle(document.body).{name}")) for name in ("backgroundColor", "color")
        ]

    light = open_report(chickenpox_model())
    paper, ink = colours(light)
    assert paper > 0.9
    assert ink < 0.2
    light.click("#theme")
    paper, ink = colours(light)
    assert paper < 0.15
    assert ink > 0.8
    dark = open_report(chickenpox_model(), colours="dark")
    assert colours(dark)[0] < 0.15
    dark.click("#theme")
    assert colours(dark)[0] > 0.9


@pytest.mark.parametrize("width", [360, 800, 1600])
def test_the_page_is_never_wider_than_the_window(open_report, learner, width):
    page = open_report(learner, chickenpox_model().sample(300, random_state=0), viewport=(width, 800))
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_all_tables_and_the_graph_are_printed(open_report, learner):
    tree = learner.cstree_
    page = open_report(learner, chickenpox_model().sample(300, random_state=0))
    page.evaluate(
        "addEventListener('beforeprint', () => {"
        " window.opened = document.querySelectorAll('details[open] table').length; })"
    )
    assert page.pdf().startswith(b"%PDF")
    assert page.evaluate("window.opened") == len(tree.variables)
    assert page.locator("details[open]").count() == 0
    page.emulate_media(media="print")
    assert not page.is_visible(".toolbar")
    assert page.is_visible("#ldag")


def facts_of(page):
    terms, values = (page.locator(f"#learning-content {kind}").all_inner_texts() for kind in ("dt", "dd"))
    return dict(zip(terms, values, strict=True))


def test_the_orders_of_chains_are_drawn(open_report, learner):
    page = open_report(learner)
    assert "Orders were drawn from their posterior distribution in 4 chains." in page.inner_text("#orders-content")
    assert page.locator(".chain").count() == len(learner.posterior_.chains) == 4
    page.focus(".heat")
    page.keyboard.press("ArrowRight")
    first, third = (learner.order_[i] for i in (0, 2))
    share = 100 * round(learner.posterior_.precedence().loc[first, third], 3)
    assert page.inner_text(".readout") == f"{first} comes before {third} in {share:.1f} % of the draws"
    assert facts_of(page)["Search over orders"] == "chains"


def test_after_an_exact_search_nothing_is_said_of_chains(open_report, exact_learner):
    page = open_report(exact_learner)
    assert "All orders were searched, so that what follows is exact." in page.inner_text("#orders-content")
    assert "chain" not in page.inner_text("#orders-content").lower()
    assert page.locator(".chain").count() == 0
    page.focus(".heat")
    page.keyboard.press("ArrowRight")
    first, third = (exact_learner.order_[i] for i in (0, 2))
    share = round(exact_learner.posterior_.precedence().loc[first, third], 3)
    assert page.inner_text(".readout") == f"{first} comes before {third} with probability {share:.3f}"


def test_every_setting_has_a_name_that_can_be_read(open_report, exact_learner):
    facts = facts_of(open_report(exact_learner))
    assert facts["Equivalent sample size"] == "5"
    assert facts["Order of the model"] == "the best one found"
    assert facts["Search over orders"] == "all orders"
    assert facts["Missing values"] == "none"
    assert all(term[0].isupper() for term in facts)


def test_no_names_overlap_or_leave_their_boxes(open_report):
    names = [
        "x",
        "a rather long name of a variable that does not fit",
        "変数の名前はとても長いので切られます",
        "W" * 40,
    ]
    structure = CStree.from_dag(
        nx.DiGraph([(names[0], names[1]), (names[2], names[3])]), states={v: [0, 1] for v in names}
    )
    page = open_report(structure)
    fits = page.eval_on_selector_all(
        ".node",
        "all => all.map(g => [g.querySelector('.name').getBBox().width, g.querySelector('rect').getBBox().width])",
    )
    assert all(text <= box for text, box in fits)


def test_a_hundred_variables_open(open_report):
    tree = random_cstree([2, 3] * 50, random_state=1)
    page = open_report(tree)
    assert page.locator(".node").count() == 100
    assert page.locator(".edge").count() == tree.to_dag().number_of_edges()
    page.fill("#find", "X42")
    assert page.inner_text("#details h3") == "X42"


def test_one_variable_alone(open_report):
    tree = CStree(["only"], {}, {"only": [[0.5, 0.5]]}, states={"only": [True, False]})
    page = open_report(tree)
    page.hover("[data-node='0']")
    assert "It depends on no other variable." in details(page)
    assert "Nowhere" in page.inner_text("#relations-lead")


# ---------------------------------------------------------------- effects
def test_effects_on_an_outcome_are_those_of_python_and_stand_after_what_arrows_mean(open_report):
    tree = chickenpox_model()
    data = tree.sample(1000, random_state=0)
    page = open_report(tree, data=data, outcome="carrier", ess=2.0)
    assert page.locator("#directions").inner_text() == DIRECTIONS
    text = page.inner_text("main")
    assert text.index(DIRECTIONS) < text.index("What changes the risk")
    rows = page.locator("#effects-content tbody tr")
    assert rows.count() == 6
    found = effect(tree, "carrier", of="exposed", data=data, ess=2.0).rows[1]
    cells = [text for text in rows.all_inner_texts() if f"({found.lower:.3f} to {found.upper:.3f})" in text]
    assert len(cells) == 1
    assert f"{found.risk:.3f}" in cells[0]
    assert "higher" in cells[0]


def test_without_an_outcome_there_are_no_effects(open_report):
    page = open_report(chickenpox_model())
    assert page.locator("#effects").count() == 0
    assert page.locator("#directions").inner_text() == DIRECTIONS
    alone = open_report(chickenpox_model(), outcome="background")
    assert "nothing changes its risk" in alone.locator("#effects-content").inner_text()


def test_the_command_shows_effects(run, tmp_path):
    model, data, out = tmp_path / "m.json", tmp_path / "d.csv", tmp_path / "r.html"
    chickenpox_model().save(model)
    chickenpox_model().sample(200, random_state=0).to_csv(data, index=False)
    code, _, _ = run("report", model, data, "-o", out, "--outcome", "carrier=yes")
    assert code == 0
    assert '"outcome":"carrier","state":"yes"' in out.read_text(encoding="utf-8")
    code, _, err = run("report", model, data, "-o", tmp_path / "s.html", "--outcome", "x")
    assert code == 2
    assert "no variable 'x'" in err
