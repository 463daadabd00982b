"""The documentation site: ``make docs`` builds it from the pages of ``docs``, without a network.

The source directory is the root of the repository, so that links between the pages, the README and the other documents
are the same here as in a checkout.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "src"))
sys.path.insert(0, str(Path(__file__).parent))

import notebook_pages  # noqa: E402

project = "cslearn"
author = "the authors of cslearn"
release = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "mathml"]
root_doc = "docs/index"
source_suffix = {".rst": "restructuredtext", ".md": "markdown", ".ipynb": "markdown"}
include_patterns = ["*.md", "docs/**", "notebooks/*.ipynb", "integrations/benchpress/README.md"]
exclude_patterns = ["docs/site/**"]

# Pages: headings can be linked to, and $ stands around mathematics, as it does on code hosts.
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "mathml"

# Docstrings: in NumPy's format, with types in the sections and not in the signatures.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
default_role = "code"
napoleon_google_docstring = False
# Types are sentences ("ndarray, shape (n,)"), whose words must not become links.
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]

html_theme = "furo"
html_title = f"cslearn {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path = ["extra"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_show_search_summary = False  # it fetches pages, which browsers refuse for files
pygments_style = "default"

# The way through the pages: under each title, in this order. A page that is missing here makes the build fail.
NAVIGATION = {
    "Start": ["Overview </README>", "tutorial", "method", "concepts"],
    "Notebooks": ["/notebooks/chickenpox", "/notebooks/alarm", "/notebooks/mushroom"],
    "How to": [
        "data",
        "command-line",
        "graphs",
        "deep",
        "ensembles",
        "large-tables",
        "uncertainty",
        "pictures",
        "report",
        "using",
        "effects",
        "exchange",
        "metrics",
    ],
    "Background": ["mathematics", "peers", "limits", "faq"],
    "Reference": ["All functions and classes <api/index>"],
    "Measured": ["reproduction/*", "benchmarks/*"],
    "Project": ["/ARCHITECTURE", "/CONTRIBUTING", "/CHANGELOG", "/integrations/benchpress/README"],
}


def navigation() -> str:
    """Return the tables of contents that make the bar at the side."""
    blocks = []
    for title, pages in NAVIGATION.items():
        glob = ":glob:\n" if any("*" in page for page in pages) else ""
        lines = "\n".join(pages)
        blocks.append(f"```{{toctree}}\n:hidden:\n:caption: {title}\n:maxdepth: 1\n{glob}\n{lines}\n```\n")
    return "\n" + "\n".join(blocks)


def read_source(app: Any, name: str, source: list[str]) -> None:
    """Add the navigation to the first page, and make notebooks pages."""
    if name == root_doc:
        source[0] += navigation()
    elif name.startswith("notebooks/"):
        source[0] = notebook_pages.page_of(source[0], name.removeprefix("notebooks/"))


def skip_member(app: Any, what: str, name: str, *rest: Any) -> bool | None:
    """Leave out the methods that scikit-learn adds to its estimators for the routing of metadata."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def setup(app: Any) -> None:
    """Connect the above."""
    app.connect("source-read", read_source)
    app.connect("autodoc-skip-member", skip_member)
