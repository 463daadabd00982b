"""The documents: their code runs and prints what they say, their links and commands exist, and they are complete."""

import ast
import doctest
import inspect
import io
import re
import shlex
import sys
import tomllib
import warnings
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path

import pytest
import typer

import cslearn
from cslearn.cli import main
from cslearn.cli.commands import app
from cslearn.datasets import chickenpox_model
from cslearn.errors import ConvergenceWarning, DataWarning

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = typer.main.get_command(app).commands

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def section(text, title):
    """The part of a page between a heading of the second level and the next one."""
    return re.split(r"^## ", text.partition(f"## {title}\n")[2], flags=re.MULTILINE)[0]


# ---------------------------------------------------------------- code and commands, with what they print
def run_python(code, names, where):
    test = doctest.DocTestParser().get_doctest(code, names, where, where, 0)
    report = io.StringIO()
    # A warning goes to standard error, which is no part of what a page shows.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.write, clear_globs=False)
    assert not report.getvalue(), report.getvalue()
    names.update(test.globs)


def run_commands(text, monkeypatch):
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        monkeypatch.setattr(sys, "argv", shlex.split(command))
        printed = io.StringIO()
        with redirect_stdout(printed), redirect_stderr(printed), pytest.raises(SystemExit):
            main()
        same = doctest.OutputChecker().check_output(expected, printed.getvalue(), FLAGS)
        assert same, f"$ {command}\nprints\n{printed.getvalue()}\nwhere the page has\n{expected}"


@pages
def test_code_prints_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for language, code in FENCE.findall(page.read_text(encoding="utf-8")):
        if language == "python":
            assert ">>> " in code, f"this block of {page.name} is not run, as it has no >>>:\n{code}"
            run_python(code, names, page.name)
        elif language == "console":
            run_commands(code, monkeypatch)


def test_wrong_output_is_noticed(monkeypatch):
    run_python(">>> 1 + 1\n2\n", {}, "right")
    with pytest.raises(AssertionError, match="Expected"):
        run_python(">>> 1 + 1\n3\n", {}, "wrong")
    run_commands("$ cslearn --version\ncslearn ...\n", monkeypatch)
    with pytest.raises(AssertionError, match="where the page has"):
        run_commands("$ cslearn --version\ncslearn 0.0.0\n", monkeypatch)


# ---------------------------------------------------------------- links
def broken_links(text, folder):
    links = re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", text))
    paths = [link.partition("#")[0] for link in links if not re.match(r"https?:|#", link)]
    return [path for path in paths if not (folder / path).exists()]


@pages
def test_links_lead_to_files(page):
    assert broken_links(page.read_text(encoding="utf-8"), page.parent) == []


def test_a_broken_link_is_noticed():
    assert broken_links("[this](README.md#top), [that](nowhere.md)", ROOT) == ["nowhere.md"]


def unlisted(text, pages):
    """Pages below `docs` that a text in it has no link to."""
    links = {link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text)}
    return [page for page in pages if page not in links]


def test_the_index_lists_every_page():
    index = ROOT / "docs/index.md"
    pages = [path.relative_to(index.parent).as_posix() for path in index.parent.rglob("*.md") if path != index]
    assert unlisted(index.read_text(encoding="utf-8"), pages) == []
    assert unlisted("[one](a.md#part)", ["a.md", "b.md"]) == ["b.md"]


# ---------------------------------------------------------------- commands and options that the pages name
def options_of(command):
    names = [name for parameter in COMMANDS[command].params for name in parameter.opts]
    return {"--help", "-h", *(name for name in names if name.startswith("-"))}


def unknown_commands(text):
    """Commands, and options after them, that are named in code but do not exist."""
    lines = [line.removeprefix("$ ") for _, code in FENCE.findall(text) for line in code.splitlines()]
    spans = re.findall(r"`([^`\n]+)`", FENCE.sub("", text))
    unknown = []
    for line in [*lines, *spans]:
        words = line.split()
        if words[:1] != ["cslearn"] or words[1:2] in ([], ["--help"], ["--version"]):
            continue
        if words[1] not in COMMANDS:
            unknown.append(words[1])
        else:
            named = re.findall(r"(?<!\S)--?[a-z][a-z-]*", line.partition("#")[0])
            unknown += [f"{words[1]} {option}" for option in named if option not in options_of(words[1])]
    known = set().union(*map(options_of, COMMANDS))
    return unknown + [span for span in spans if span.startswith("--") and span.split()[0] not in known]


@pages
def test_commands_and_options_exist(page):
    assert unknown_commands(page.read_text(encoding="utf-8")) == []


def test_an_unknown_command_or_option_is_noticed():
    text = "`cslearn fit --beta 2`, `cslearn fly`, `cslearn show --beta`, `--gamma`\n```bash\ncslearn fit x -q\n```\n"
    assert unknown_commands(text) == ["fit -q", "fly", "show --beta", "--gamma"]


def test_every_command_has_a_section_with_options_of_its_own():
    page = (ROOT / "docs/command-line.md").read_text(encoding="utf-8")
    for command in COMMANDS:
        text = section(page, command)
        assert f"$ cslearn {command}" in text
        named = set(re.findall(r"`(--[a-z-]+)`", text))
        assert named <= options_of(command)
    named = re.findall(r"`(--[a-z-]+)`", section(page, "fit"))
    assert {*named, "--json", "--help", "-h", "-o", "-v"} == options_of("fit")


# ---------------------------------------------------------------- what the README claims
def test_the_picture_is_the_ldag_of_the_example():
    """It is one of those that are drawn from the code, which tests/test_plots.py compares."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (picture,) = re.findall(r"!\[[^]]+\]\((docs/pictures/[^)]+)\)", readme)
    drawn = (ROOT / picture).read_text(encoding="utf-8")
    ldag = chickenpox_model().to_ldag()
    words = {f"{v}={x}" for contexts in ldag.labels.values() for context in contexts for v, x in context.items()}
    assert all(word in drawn for word in words.union(ldag.states))


MEASURED = [*(ROOT / "docs/benchmarks").glob("*.md"), *(ROOT / "docs/reproduction").glob("*.md")]


def unmeasured_figures(text):
    """Decimal numbers in a text, but for code and what is in brackets, that no page of a measurement has."""
    measured = {figure for page in MEASURED for figure in re.findall(r"\d+\.\d+", page.read_text(encoding="utf-8"))}
    told = re.sub(r"`[^`\n]*`|\]\([^)]*\)", "", FENCE.sub("", text))
    return [figure for figure in re.findall(r"(?<![\w.])\d+\.\d+(?![\w.])", told) if figure not in measured]


def test_figures_of_the_readme_are_measured_ones():
    claims = section((ROOT / "README.md").read_text(encoding="utf-8"), "How it compares")
    assert re.findall(r"\d+\.\d+", claims)
    # After a new measurement the README has to follow. The one version that it names is not a measurement.
    assert unmeasured_figures(claims.replace("`cstrees` 1.3.1", "")) == []
    for script in re.findall(r"python -m benchmarks\.(\w+)", claims):
        assert (ROOT / "benchmarks" / f"{script}.py").exists()


# What is computed there is computed by docs/brute_force.py, which other tests run.
@pytest.mark.parametrize("page", sorted({*(ROOT / "docs").glob("*.md")} - {ROOT / "docs/mathematics.md"}), ids=str)
def test_figures_in_tables_are_measured_ones(page):
    lines = FENCE.sub("", page.read_text(encoding="utf-8")).splitlines()
    assert unmeasured_figures("\n".join(line for line in lines if line.startswith("|"))) == []


def test_a_figure_that_was_not_measured_is_noticed():
    assert unmeasured_figures("from 123456.75 to `0.123456`\n```python\n0.987654\n```\n") == ["123456.75"]


@pytest.mark.parametrize("page", MEASURED, ids=lambda page: page.stem)
def test_a_page_of_a_measurement_says_what_wrote_it_and_on_what(page):
    text = page.read_text(encoding="utf-8")
    kind = page.parent.name.replace("reproduction", "experiments")
    (module,) = re.findall(r"<!-- written by `python -m (\w+\.\w+)` -->", text)
    assert module == f"{kind}.{page.stem}"
    assert (ROOT / f"{module.replace('.', '/')}.py").exists()
    assert re.search(r"Measured on .*Python \d.*cslearn \d", text)


def test_the_table_of_the_readme_is_that_of_the_results():
    """`python -m experiments.summary` prints it."""
    from experiments.summary import summary

    claims = section((ROOT / "README.md").read_text(encoding="utf-8"), "How it compares")
    assert [line for line in claims.splitlines() if line.startswith("|")] == summary().splitlines()


def test_the_citation_is_of_this_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"\nversion: {project['version']}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


# ---------------------------------------------------------------- ARCHITECTURE.md is true
def parts():
    """The parts that the table names, with the parts that each uses."""
    text = section((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"), "Parts")
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| `")]
    return {re.findall(r"`(\w+)`", row[0])[0]: set(re.findall(r"`(\w+)`", row[3])) for row in rows}


def imported_parts(part):
    """The parts that a part imports, when it is loaded or later, but not for its types alone."""
    path = ROOT / "src/cslearn" / part
    found = set()
    for file in [*path.rglob("*.py")] if path.is_dir() else [path.with_suffix(".py")]:
        nodes = [ast.parse(file.read_text(encoding="utf-8"))]
        while nodes:
            node = nodes.pop()
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                continue
            nodes += ast.iter_child_nodes(node)
            if isinstance(node, ast.ImportFrom) and node.module == "cslearn":
                found.update(cslearn._HOMES.get(alias.name, alias.name).split(".")[-1] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cslearn."):
                found.add(node.module.split(".")[1])
    everywhere = {"errors", "_numerics", "_files", "_parameters", "_checked", "_cluster", "_warnings", "_wording"}
    return found - everywhere - {part}


def test_the_table_names_every_part():
    source = ROOT / "src/cslearn"
    there = {p.stem for p in source.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()} - {"__init__"}
    assert set(parts()) == there


@pytest.mark.parametrize("part", parts())
def test_a_part_uses_only_what_the_table_says(part):
    assert imported_parts(part) <= parts()[part]


# ---------------------------------------------------------------- docstrings
def public(module):
    for name in import_module(module).__all__:
        thing = getattr(import_module(module), name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            yield name, thing


@pytest.mark.parametrize("module", ["data", "stagings", "candidates", "graphs", "orders", "plots"])
def test_public_names_have_docstrings(module):
    for name, thing in public(f"cslearn.{module}"):
        assert (thing.__doc__ or "").strip(), f"{module}.{name} has no docstring"


@pytest.mark.parametrize("module", ["cslearn", "cslearn.data", "cslearn.plots", "cslearn.stagings"])
def test_public_names_have_examples(module):
    for name, thing in public(module):
        assert ">>>" in (thing.__doc__ or ""), f"the docstring of {module}.{name} has no example"


def test_public_methods_have_docstrings():
    for name, thing in public("cslearn"):
        methods = [m for m in vars(thing).values() if inspect.isfunction(m)] if inspect.isclass(thing) else []
        for method in methods:
            assert method.__name__.startswith("_") or method.__doc__, f"{name}.{method.__name__} has no docstring"
