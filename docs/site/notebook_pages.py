"""Notebooks as pages: they are kept without outputs, and run when the site is built, if their data are at hand."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
# What was shown is kept here until the notebook or the code changes.
KEPT = ROOT / "build/notebooks"
WITHOUT_DATA = ("chickenpox",)


def page_of(text: str, name: str) -> str:
    """Return the text and code of a notebook as Markdown, with what its cells show if it can be run here."""
    shown = outputs(text, name)
    parts = []
    for at, cell in enumerate(json.loads(text)["cells"]):
        source = "".join(cell["source"])
        parts.append(f"```python\n{source}\n```" if cell["cell_type"] == "code" else source)
        parts += [markdown_of(output) for output in shown[at]] if shown else []
    how = "Below each cell is what it shows. To" if shown else "To see what its cells show,"
    run = (
        f"The notebook {{download}}`{name}.ipynb <{name}.ipynb>`. {how} run it, see [the README](../README.md#read-on)."
    )
    parts.insert(1, run)
    return "\n\n".join(part for part in parts if part)


def markdown_of(output: dict[str, Any]) -> str:
    """Return what a cell shows as Markdown: a picture, a table, or text."""
    data = output.get("data", {})
    if "image/svg+xml" in data:
        picture = base64.b64encode(data["image/svg+xml"].encode()).decode()
        shown = f'<img alt="The picture that the cell above draws" src="data:image/svg+xml;base64,{picture}">'
    elif "text/html" in data:
        shown = data["text/html"].replace('border="1" class="dataframe"', 'class="docutils"')
    else:
        printed = output["text"] if output.get("name") == "stdout" else data.get("text/plain", "")
        return f"```text\n{printed.rstrip()}\n```" if printed.strip() else ""
    return f"````{{raw}} html\n{shown}\n````"


def outputs(text: str, name: str) -> list[list[dict[str, Any]]] | None:
    """Return what each cell of a notebook shows, or None if it cannot be run here."""
    if name not in WITHOUT_DATA and not os.environ.get("CSLEARN_DATA"):
        return None
    code = [path.read_bytes() for path in sorted((ROOT / "src").rglob("*.py"))]
    path = KEPT / f"{name}-{hashlib.sha256(b''.join([text.encode(), *code])).hexdigest()[:16]}.json"
    if not path.exists():
        shown = run(text)
        if shown is None:
            return None
        KEPT.mkdir(parents=True, exist_ok=True)
        for old in KEPT.glob(f"{name}-*.json"):
            old.unlink()
        path.write_text(json.dumps(shown), encoding="utf-8")
    found: list[list[dict[str, Any]]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def run(text: str) -> list[list[dict[str, Any]]] | None:
    """Run a notebook and return what each cell shows, or None without the tools for it."""
    try:
        import ipykernel  # noqa: F401
        import nbclient
        import nbformat
    except ImportError:
        return None
    notebook = nbformat.reads(text, as_version=4)
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        client = nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": folder}})
        client.execute(stderr=subprocess.DEVNULL)
    return [cell.get("outputs", []) for cell in notebook.cells]
