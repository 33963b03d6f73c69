"""A Sphinx extension: equations as MathML while the page is built, so that no page loads a script."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.util import logging

from margin.report.mathml import mathml

__all__ = ["setup"]

LOG = logging.getLogger(__name__)


def inline(translator: Any, node: Any) -> None:
    translator.body.append(_converted(node, display=False))
    raise nodes.SkipNode


def block(translator: Any, node: Any) -> None:
    translator.body.append(translator.starttag(node, "div", CLASS="math"))
    translator.body.append(_converted(node, display=True))
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def _converted(node: Any, display: bool) -> str:
    """The equation; one that cannot be converted is a warning, which ends the build, and stays as it was written."""
    try:
        return mathml(node.astext(), display=display)
    except Exception as error:  # the converter has many kinds of its own
        LOG.warning("equation %r cannot be converted: %s", node.astext(), type(error).__name__, location=node)
        return str(nodes.literal(text=node.astext()))


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
