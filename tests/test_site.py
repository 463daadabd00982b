"""The documentation site: it builds without a warning, its links lead somewhere, its search finds; and the page on
mathematics has the numbers that brute force counts."""

import importlib.util
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parent.parent


def module_of(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BRUTE = module_of(ROOT / "docs/brute_force.py")
NOTEBOOKS = module_of(ROOT / "docs/site/notebook_pages.py")
MATHEMATICS = BRUTE.PAGE.read_text(encoding="utf-8")


# ---------------------------------------------------------------- the numbers of the page on mathematics
@pytest.mark.parametrize("name", BRUTE.TABLES)
def test_a_table_has_what_brute_force_counts(name):
    assert BRUTE.differences(MATHEMATICS, name, full=False) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", BRUTE.TABLES)
def test_a_whole_table_has_what_brute_force_counts(name):
    assert BRUTE.differences(MATHEMATICS, name, full=True) == []


@pytest.mark.parametrize("check", BRUTE.CHECKS, ids=lambda check: check.__name__)
def test_an_identity_holds(check):
    check()


def test_every_table_of_the_page_is_counted():
    assert re.findall(r"<!-- numbers: (\w+) -->", MATHEMATICS) == list(BRUTE.TABLES)


def test_a_wrong_number_on_the_page_is_noticed():
    for name, right, wrong in [
        ("three", "2,283", "2,284"),
        ("two", "| 25 |", "| 26 |"),
        ("predictive", "0.80", "0.81"),
    ]:
        assert right in BRUTE.block(MATHEMATICS, name)
        assert BRUTE.differences(MATHEMATICS.replace(right, wrong), name, full=False)


def test_a_wrong_identity_is_noticed(monkeypatch):
    monkeypatch.setattr(BRUTE, "is_tree", lambda staging: True)
    with pytest.raises(AssertionError):
        BRUTE.check_sums()


def test_the_formula_is_proved_by_its_values():
    """The count is a polynomial of degree seven: what is listed for v variables determines it for any number."""
    used = [1, 1, 5, 135, 1708, 7110, 10680, 5040]
    row = BRUTE.block(MATHEMATICS, "shapes").splitlines()[-1]
    assert re.findall(r"[\d,]+", row.partition(")$")[2]) == [*(f"{u:,}" for u in used), "0"]
    for n in range(30):
        assert sum(BRUTE.comb(n, v) * u for v, u in enumerate(used)) == BRUTE.trees_three(n) + BRUTE.others_three(n)


# ---------------------------------------------------------------- figures on the page of other programs
def test_figures_of_other_programs_are_measured_ones():
    figures = re.findall(r"(?<![\d.])-?\d+\.\d+(?![\d.])", (ROOT / "docs/peers.md").read_text(encoding="utf-8"))
    measured = (ROOT / "docs/benchmarks/peers.md").read_text(encoding="utf-8")
    assert len(figures) > 20
    # After a new measurement docs/peers.md has to follow.
    assert [figure for figure in figures if figure not in re.findall(r"-?\d+\.\d+", measured)] == []


# ---------------------------------------------------------------- notebooks as pages
def notebook(*sources):
    nbformat = pytest.importorskip("nbformat")
    cells = [nbformat.v4.new_markdown_cell("# Title"), *map(nbformat.v4.new_code_cell, sources)]
    return nbformat.writes(nbformat.v4.new_notebook(cells=cells))


def test_what_a_cell_shows_is_below_it():
    data = {"text/html": '<table border="1" class="dataframe"></table>', "text/plain": "a table"}
    assert '<table class="docutils">' in NOTEBOOKS.markdown_of({"data": data})
    assert "data:image/svg+xml;base64," in NOTEBOOKS.markdown_of({"data": {"image/svg+xml": "<svg/>"}})
    assert NOTEBOOKS.markdown_of({"data": {"text/plain": "1"}}) == "```text\n1\n```"
    assert NOTEBOOKS.markdown_of({"name": "stdout", "text": "one\n"}) == "```text\none\n```"
    assert NOTEBOOKS.markdown_of({"name": "stderr", "text": "a warning"}) == ""


def test_a_notebook_whose_data_are_not_there_says_how_to_run_it(monkeypatch):
    monkeypatch.delenv("CSLEARN_DATA", raising=False)
    page = NOTEBOOKS.page_of(notebook("1 + 1"), "alarm")
    assert page.startswith("# Title\n\nThe notebook") and "To see what its cells show, run it" in page
    assert page.endswith("```python\n1 + 1\n```")


@pytest.mark.slow
def test_a_notebook_is_run_once(tmp_path, monkeypatch):
    monkeypatch.setattr(NOTEBOOKS, "KEPT", tmp_path)
    text = notebook("1 + 1", "print('two')")
    page = NOTEBOOKS.page_of(text, "chickenpox")
    assert "```python\n1 + 1\n```\n\n```text\n2\n```" in page and "```text\ntwo\n```" in page
    monkeypatch.setattr(NOTEBOOKS, "run", lambda text: [[], [{"data": {"text/plain": "3"}}], []])
    assert NOTEBOOKS.page_of(text, "chickenpox") == page
    assert "```text\n3\n```" in NOTEBOOKS.page_of(notebook("1 + 2", ""), "chickenpox")
    assert len(list(tmp_path.iterdir())) == 1


# ---------------------------------------------------------------- the site
class Page(HTMLParser):
    """The anchors of a page, its links, and what it loads."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loads = {""}, [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors.update(filter(None, (given.get("id"), given.get("name"))))
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload"):
            self.loads.append(given["href"])
        elif given.get("src"):
            self.loads.append(given["src"])


def troubles(site):
    """Links that lead nowhere, and what is loaded from elsewhere or is not there."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    found = []
    for path, page in pages.items():
        for link in [*page.links, *page.loads]:
            if re.match(r"(https?:)?//|mailto:|data:", link):
                if link in page.loads and not link.startswith("data:"):
                    found.append(f"{path.name} loads {link}")
                continue
            address, _, anchor = link.partition("#")
            target = (path.parent / unquote(address.partition("?")[0])).resolve() if address else path
            if not target.exists():
                found.append(f"{path.name}: {link} is not there")
            elif anchor and target in pages and unquote(anchor) not in pages[target].anchors:
                found.append(f"{path.name}: {link} has no such place")
    return found


def test_a_broken_link_of_a_site_is_noticed(tmp_path):
    (tmp_path / "a.html").write_text(
        '<p id="here"><a href="#here">x</a><a href="a.html#no">x</a><img src="no.png"></p>'
    )
    (tmp_path / "b.html").write_text(
        '<script src="https://cdn.example/x.js"></script><a href="https://example.org">x</a>'
    )
    assert sorted(troubles(tmp_path)) == [
        "a.html: a.html#no has no such place",
        "a.html: no.png is not there",
        "b.html loads https://cdn.example/x.js",
    ]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site").resolve()
    command = ["-m", "sphinx", "-q", "-W", "--keep-going", "-c", str(ROOT / "docs/site"), "-d", str(folder / "trees")]
    done = subprocess.run(
        [sys.executable, *command, str(ROOT), str(folder / "html")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "html"


@pytest.mark.slow
def test_links_and_pictures_of_the_site_are_there(site):
    assert troubles(site) == []


@pytest.mark.slow
def test_every_page_and_public_module_is_in_the_site(site):
    for page in (ROOT / "docs").rglob("*.md"):
        assert (site / page.relative_to(ROOT).with_suffix(".html")).exists()
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        page = (site / notebook.relative_to(ROOT).with_suffix(".html")).read_text(encoding="utf-8")
        assert "CStreeLearner" in page or "CStreeClassifier" in page
        assert "cell_type" not in page
    assert "The picture that the cell above draws" in (site / "notebooks/chickenpox.html").read_text(encoding="utf-8")
    reference = "".join(path.read_text(encoding="utf-8") for path in (site / "docs/api").glob("*.html"))
    for name in ["cslearn.CStreeLearner", "cslearn.CStree.query", "cslearn.stagings.count", "cslearn.data.as_table"]:
        assert f'id="{name}"' in reference


@pytest.mark.slow
def test_wide_tables_fit_into_a_wide_window(site, browser):
    page = browser.new_page(viewport={"width": 1600, "height": 1200})
    for name in ("reproduction/learners", "reproduction/figure2", "reproduction/figure3", "benchmarks/speed"):
        page.goto((site / f"docs/{name}.html").as_uri())
        widths = page.eval_on_selector_all("table.docutils", "all => all.map(t => [t.scrollWidth, t.clientWidth])")
        assert widths
        assert [(inner, outer) for inner, outer in widths if inner > outer] == []
    page.add_style_tag(content=".content { width: 46em !important; flex: none !important; }")
    inner, outer = page.eval_on_selector("table.docutils", "table => [table.scrollWidth, table.clientWidth]")
    assert inner > outer
    page.close()


@pytest.mark.slow
def test_the_site_works_in_a_browser_without_a_network(site, browser):
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    wrong = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "request", lambda request: None if request.url.startswith(("file:", "data:")) else wrong.append(request.url)
    )
    page.goto((site / "index.html").as_uri())
    page.wait_for_url("**/docs/index.html")
    page.fill("input[name=q]", "Tarsi")
    page.press("input[name=q]", "Enter")
    page.wait_for_selector("#search-results li a")
    assert "Mathematics" in page.inner_text("#search-results")
    page.goto((site / "docs/method.html").as_uri())
    sizes = page.eval_on_selector_all("article img", "images => images.map(i => i.naturalWidth)")
    assert len(sizes) >= 6
    assert all(sizes)
    page.goto((site / "docs/mathematics.html").as_uri())
    # Drawn by the browser itself: a fraction is higher than a line of text.
    assert page.eval_on_selector("math mfrac", "fraction => fraction.getBoundingClientRect().height") > 20
    assert wrong == []
    context.close()
