"""Mathematics as MathML, which browsers draw themselves: no script, no fonts, no network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

__all__ = ["setup"]


def mathml(node: Any, display: str) -> str:
    """Return the MathML of a formula."""
    # Bars stand around sizes here: without room at their sides.
    bar = '<mo stretchy="false" lspace="0" rspace="0">&#x0007C;</mo>'
    return convert(node.astext(), display=display).replace('<mo stretchy="false">&#x0007C;</mo>', bar)


def inline(translator: Any, node: Any) -> None:
    """Write a formula in a sentence."""
    translator.body.append(mathml(node, "inline"))
    raise nodes.SkipNode


def block(translator: Any, node: Any) -> None:
    """Write a formula on a line of its own."""
    translator.body.append(f'<div class="formula">{mathml(node, "block")}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
