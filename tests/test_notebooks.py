"""The example notebooks run from a clean start, show what they promise, and are kept without outputs."""

import os
import re
import warnings
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
# What a reader must see in the outputs.
SHOWN = {
    "alarm": ["of 46 adjacencies are found", "does not depend on", "independent", "picture"],
    "chickenpox": ["carrier does not depend on background or diagnosis", "9 stages", "True", "picture"],
    "mushroom": ["2,480 of them without stalk-root", "accuracy on 4,124 rows held out: "],
}


def outputs(notebook):
    """All text that the cells of a notebook show."""
    shown = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    data = [output.get("data", {}) for output in shown]
    text = [output.get("text", "") for output in shown] + [str(d.get("text/plain", "")) for d in data]
    return "\n".join([*text, *("picture" for d in data if "image/svg+xml" in d)])


def test_every_notebook_is_looked_at():
    assert sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")) == sorted(SHOWN)


@pytest.mark.parametrize("name", SHOWN)
def test_notebooks_are_kept_without_outputs(name):
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code and all(not cell.outputs and cell.execution_count is None for cell in code)


def run(notebook, folder):
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}}).execute()
    return outputs(notebook)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHOWN)
def test_a_notebook_runs(name, tmp_path):
    if name != "chickenpox" and not os.environ.get("CSLEARN_DATA"):
        pytest.skip("CSLEARN_DATA names no directory with real data")
    text = run(nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4), tmp_path)
    assert [words for words in SHOWN[name] if words not in text] == []
    accuracy = re.search(r"rows held out: ([0-9.]+)", text)
    assert (accuracy is not None) == (name == "mushroom")
    assert accuracy is None or float(accuracy[1]) >= 0.995


@pytest.mark.slow
def test_a_cell_that_fails_is_noticed(tmp_path):
    from nbclient.exceptions import CellExecutionError

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")])
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        run(notebook, tmp_path)
