"""HTML and SVG as nested calls: what is not markup is escaped, so no column name can break a page."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

__all__ = ["Markup", "element", "join", "text"]

#: Elements that have no content and no end.
VOID = {"br", "col", "hr", "img", "input", "link", "meta"}


class Markup(str):
    """Text that is markup already."""


def text(value: Any) -> Markup:
    """Anything as escaped text; markup stays as it is.

    >>> text("a < b")
    'a &lt; b'
    """
    return value if isinstance(value, Markup) else Markup(html.escape(str(value)))


def join(parts: Iterable[Any], between: str = "") -> Markup:
    """Parts one after another; None is left out."""
    return Markup(between.join(text(part) for part in parts if part is not None))


def element(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """One element. ``class_`` and ``for_`` are written without the underscore, other underscores become hyphens.

    An attribute that is None or False is left out, one that is True stands alone.

    >>> element("a", "x & y", href="#terms", class_="term")
    '<a href="#terms" class="term">x &amp; y</a>'
    """
    written_attributes = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in VOID:
        return Markup(f"<{name}{written_attributes}>")
    return Markup(f"<{name}{written_attributes}>{join(children)}</{name}>")


def _attribute(key: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    # SVG has attributes in mixed case (viewBox) and with hyphens (text-anchor); Python can spell the first as it is.
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{html.escape(str(value))}"'
