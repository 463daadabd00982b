"""The report of many variables, on wide and narrow screens: neighbourhoods, the strongest arrows, edges to believe."""

from __future__ import annotations

import re

import pytest

from cslearn import Chains, CStree, CStreeLearner, random_cstree
from cslearn.estimators import relation_table
from cslearn.graphs.evidence import evidence_record
from cslearn.inference import markov_blanket
from cslearn.metrics import cpdag
from cslearn.report import write_report

PHONE = 390, 844


@pytest.fixture
def opened(browser, tmp_path):
    """Open a report on a screen of some size; nothing may go wrong on the page."""
    contexts, troubles = [], []

    def open_report(model, data=None, viewport=(1280, 900)):
        path = tmp_path / f"r{len(contexts)}.html"
        write_report(model, path, data)
        size = {"width": viewport[0], "height": viewport[1]}
        context = browser.new_context(viewport=size, has_touch=viewport == PHONE, reduced_motion="reduce")
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        return page

    yield open_report
    for context in contexts:
        context.close()
    assert troubles == []


@pytest.fixture(scope="module")
def large():
    return random_cstree([2, 3] * 50, random_state=1)


def shown(page, tree):
    places = page.eval_on_selector_all(".node:not(.away)", "all => all.map(g => Number(g.dataset.node))")
    return {tree.variables[v] for v in places}


def test_a_neighbourhood_is_shown_first_and_the_panel_has_findings(opened, large):
    page = opened(large, large.sample(300, random_state=0))
    assert page.input_value("#scope") == "1"
    assert 1 < len(shown(page, large)) <= 37
    assert page.locator(".edge:visible").count() <= 36
    assert page.inner_text("#details h3") == "Main findings"
    assert page.locator("#details li").count() > 3
    assert page.evaluate("document.documentElement.scrollHeight") < 15_000
    assert page.locator("#variables-list details:visible").count() == 20
    page.click("#more-variables")
    assert page.locator("#variables-list details:visible").count() == 100
    # The boxes do not overlap.
    boxes = page.eval_on_selector_all(
        ".node:not(.away) rect",
        "all => all.map(r => { const b = r.getBoundingClientRect(); return [b.x, b.y, b.right, b.bottom]; })",
    )
    for i, one in enumerate(boxes):
        for other in boxes[:i]:
            assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]


def test_the_neighbourhood_is_that_of_the_graph(opened, large):
    page = opened(large)
    dag = large.to_dag()
    centre = "X42"
    page.select_option("#scope", "all")
    page.check("#all-arrows")
    page.select_option("#scope", "1")
    page.fill("#find", centre)
    near = {*dag.predecessors(centre), *dag.successors(centre)}
    assert shown(page, large) == {centre, *near}
    page.select_option("#scope", "blanket")
    assert shown(page, large) == {centre, *markov_blanket(large, centre)}
    page.select_option("#scope", "2")
    assert shown(page, large) == {centre, *near, *(u for v in near for u in (*dag.predecessors(v), *dag.successors(v)))}
    page.select_option("#scope", "all")
    assert shown(page, large) == set(large.variables)
    assert page.locator(".edge:not(.away)").count() == dag.number_of_edges()


def test_few_variables_are_shown_at_once(opened):
    tree = random_cstree([2] * 6, random_state=0)
    page = opened(tree)
    assert page.input_value("#scope") == "all"
    assert shown(page, tree) == set(tree.variables)


def test_on_a_phone_nothing_is_off_screen_and_what_is_tapped_comes_into_view(opened, large):
    page = opened(large, large.sample(300, random_state=0), viewport=PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    right = page.eval_on_selector_all(
        "#relations-table td, #relations-table th", "all => Math.max(...all.map(c => c.getBoundingClientRect().right))"
    )
    assert right <= PHONE[0]
    node = page.locator(".node:not(.away)").first
    node.scroll_into_view_if_needed()
    node.tap()
    assert page.inner_text("#details h3") in large.variables
    # Without motion it is there at once.
    assert page.locator("#details").bounding_box()["y"] < PHONE[1] - 100
    cells = page.eval_on_selector_all(
        "#details td, #details th", "all => Math.max(...all.map(c => c.getBoundingClientRect().right))"
    )
    assert cells <= PHONE[0]


def test_edges_can_be_chosen_by_probability_and_drawn_as_what_is_identified(opened):
    truth = random_cstree([2] * 8, random_state=3)
    tree = (
        CStreeLearner(beta=2, search=Chains(n_iter=200), random_state=0).fit(truth.sample(300, random_state=0)).cstree_
    )
    page = opened(tree)
    joined = {frozenset(edge["between"]): edge["forward"] + edge["backward"] for edge in tree.learning["edges"]}
    edges = {(u, v) for v in tree.order for u in tree.parents[v]}
    assert page.locator(".edge:not(.away)").count() == len(edges)
    page.fill("#threshold", "0.9")
    likely = {edge for edge in edges if round(min(joined.get(frozenset(edge), 0.0), 1.0), 4) >= 0.9}
    assert 0 < len(likely) < len(edges)  # or this test shows nothing
    assert page.locator(".edge:not(.away)").count() == len(likely)
    page.fill("#threshold", "0")
    page.select_option("#heads", "cpdag")
    both = cpdag(tree.to_dag())
    reversible = {edge for edge in edges if both.has_edge(edge[1], edge[0])}
    assert page.locator(".edge .head:visible").count() == len(edges) - len(reversible)
    page.select_option("#heads", "model")
    assert page.locator(".edge .head:visible").count() == len(edges)
    assert page.locator("#edges-table tbody tr").count() > 0


@pytest.mark.parametrize(("error", "said"), [(0.3, True), (0.01, False)])
def test_chains_that_disagree_make_probabilities_rough(opened, error, said):
    tree = random_cstree([2] * 4, random_state=0)
    edges = [{"between": [u, v], "forward": 0.9, "backward": 0.05} for v in tree.order for u in tree.parents[v]]
    assert edges
    learning = {"edges": edges, "edge_error": error}
    page = opened(CStree(tree.order, tree.stagings, tree.parameters, states=tree.states, learning=learning))
    assert ("The chains disagree (standard errors up to 0.30)" in page.inner_text("#details")) == said
    assert f"probabilities are up to {'0.30' if said else '0.010'}" in page.inner_text("#edges-lead")


@pytest.mark.parametrize("seed", range(3))
def test_nothing_that_the_data_speak_against_is_said_to_be_independent(opened, seed):
    model, truth = (
        random_cstree([2, 3, 2, 2, 2], 4, method="grow", max_stages=8, random_state=[seed, k]) for k in (0, 1)
    )
    data = truth.sample(300, random_state=seed)
    table = relation_table(model, data)
    assert [row for row in table if row.log_bayes_factor < 0]
    learning = {"evidence": evidence_record(model, table)}
    learned = CStree(model.order, model.stagings, model.parameters, states=model.states, learning=learning)
    for page in (opened(model, data), opened(learned)):
        said = page.eval_on_selector_all("#relations-table tbody tr, #details li", "all => all.map(r => r.innerText)")
        supported = len(table.merged(model.states).with_verdict("supported"))
        claims = [text for text in said if re.search("does not depend|independent|vanish", text)]
        assert len(claims) <= supported + min(supported, 6)
        factors = page.eval_on_selector_all(
            "#relations-table tbody tr",
            "all => all.map(r => [r.innerText, r.querySelectorAll('td.number')[0].innerText])",
        )
        for text, factor in factors:
            assert ("does not depend" in text) == (float(factor.replace(",", "")) >= 1.1)
