"""The page: content, style and script in one HTML file.

The content is JSON in a ``script`` element of a type that browsers do not run. All signs outside ASCII, and those that
mean something in HTML, are escaped in it; the script puts names into the page as text, never as markup. A content
security policy allows the one style and the one script, by their hashes, and forbids all else: a report can
send and fetch nothing, whatever the names in it.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from html import escape
from importlib.resources import files
from os import PathLike
from typing import TYPE_CHECKING, Any

from cslearn._checked import checked
from cslearn._files import atomic_write
from cslearn.errors import InputError
from cslearn.inference.completed import rows_for_model
from cslearn.report.content import report_document

if TYPE_CHECKING:
    from cslearn.cstree import CStree
    from cslearn.orders import OrderPosterior

__all__ = ["report_html", "write_report"]


@checked
def write_report(
    model: CStree | Any,
    path: str | PathLike[str],
    data: Any = None,
    posterior: OrderPosterior | None = None,
    learning: Mapping[str, Any] | None = None,
    *,
    title: str | None = None,
    ess: float | None = None,
    outcome: str | None = None,
    state: Any = None,
) -> None:
    """Write a report of a model: one HTML file with all in it, to open in a browser.

    It shows the LDAG, to zoom and drag; the stages and probabilities of each variable; the graph that is left in a
    context that the reader chooses; the CSI relations; the order posterior; how the model was learned and how to cite.

    Parameters
    ----------
    model : CStree or fitted CStreeLearner
        With a learner, the order posterior and the seconds that it took are shown.
    path : str or path-like
        The file to write. It appears whole or not at all.
    data : Table, frame, array, path or whatever :func:`cslearn.data.as_table` reads, optional
        With data, the report has counts, and the evidence for the relations. Rows with missing cells are left out if
        the model was learned with ``missing="drop"``. If it was learned with ``missing="em"``, counts are expected
        counts. The report says which.
    posterior : OrderPosterior, optional
        By default that of the learner, or what the model file kept of it.
    learning : mapping, optional
        How the model was learned; by default ``tree.learning``.
    title : str, optional
    ess : float, optional
        Equivalent sample size of the evidence; by default the one the model was learned with, or else 5.
    outcome, state : str and state, optional
        With an outcome the report has the effects on the risk of that state (by default the second of two); see
        :func:`cslearn.inference.effect`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.report import write_report
    >>> tree = chickenpox_model()
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> write_report(tree, path, data=tree.sample(1000, random_state=0))
    >>> path.read_text(encoding="utf-8").startswith("<!doctype html>")
    True
    """
    page = report_html(model, data, posterior, learning, title=title, ess=ess, outcome=outcome, state=state)
    atomic_write(path, page.encode("utf-8", errors="replace"))


@checked
def report_html(
    model: CStree | Any,
    data: Any = None,
    posterior: OrderPosterior | None = None,
    learning: Mapping[str, Any] | None = None,
    *,
    title: str | None = None,
    ess: float | None = None,
    outcome: str | None = None,
    state: Any = None,
) -> str:
    """Return the report that :func:`write_report` writes, as text.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> from cslearn.report import report_html
    >>> "<title>Chicken-pox</title>" in report_html(chickenpox_model(), title="Chicken-pox")
    True
    """
    tree: Any = model
    seconds = None
    if hasattr(tree, "cstree_"):
        seconds = tree.timings_
        posterior = tree.posterior_ if posterior is None else posterior
        tree = tree.cstree_
    if not hasattr(tree, "stagings"):
        raise InputError(f"a report is of a CStree or of a fitted CStreeLearner, not of {type(model).__name__}")
    record = dict(learning if learning is not None else tree.learning or {})
    if seconds is not None:
        record.setdefault("seconds", dict(seconds))
    orders = record.get("orders")
    if posterior is not None:
        from cslearn.orders.summary import summarise

        orders = summarise(posterior)
    if ess is None:
        from cslearn.orders import FIRST_ESS

        ess = record.get("settings", {}).get("ess", FIRST_ESS)
    rows = None if data is None else rows_for_model(tree, data)
    document = report_document(tree, rows, orders, record or None, float(ess))
    if outcome is not None:
        from cslearn.report.effects import effects_document

        document["effects"] = effects_document(tree, rows, outcome, state, float(ess))
    return _page(document, title or f"A CStree of {len(tree.variables)} variables")


def _page(document: Mapping[str, Any], title: str) -> str:
    style, script = _resource("report.css"), _resource("report.js")
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )
    parts = {
        "title": escape(title),
        "policy": policy,
        "style": style,
        "script": script,
        "data": _as_json(document),
    }
    # In one pass, so that nothing in the data is taken for a mark.
    return re.sub(r"\{\{(\w+)\}\}", lambda mark: parts[mark[1]], _resource("page.html"))


def _as_json(document: Mapping[str, Any]) -> str:
    text = json.dumps(document, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _resource(name: str) -> str:
    return files("cslearn.report").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
