"""The parts a page is made of: sections, figures with captions, tables of numbers, code to copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from margin.report.markup import Markup, element, join
from margin.report.terms import term

__all__ = ["Figure", "Section", "block", "code", "figure", "grid", "legend", "numbers_table", "paragraph"]


@dataclass(frozen=True)
class Section:
    """One part of the page: ``id`` is its anchor, ``title`` its heading and its entry in the navigation."""

    id: str
    title: str
    content: Markup

    def render(self) -> Markup:
        heading = element("h2", element("a", self.title, href=f"#{self.id}"), id=f"{self.id}-title")
        return element("section", heading, self.content, id=self.id, aria_labelledby=f"{self.id}-title")


Figure = Markup


def figure(
    title: str, drawing: Markup, caption: Any = "", *, term_id: str = "", numbers: Markup | None = None
) -> Figure:
    """A drawing or table with its title above, a caption below, and the numbers behind it on demand."""
    heading = element("h3", term(term_id, title) if term_id else title)
    below = element("figcaption", caption) if caption else None
    behind = None if numbers is None else element("details", element("summary", "Numbers"), numbers)
    return element("figure", heading, drawing, below, behind)


def grid(*figures: Markup | None, class_: str = "") -> Markup:
    """Figures side by side as far as there is space."""
    return element("div", *(f for f in figures if f is not None), class_=f"figures {class_}".strip())


def paragraph(*parts: Any, class_: str | None = None) -> Markup:
    return element("p", *parts, class_=class_)


def legend(names: Mapping[str, str]) -> Markup:
    """What lines mean, by the class that gives them their color; each name stands after a sample of it."""
    items = [
        element("span", element("i", class_=f"key {color}", aria_hidden="true"), name, class_="item")
        for color, name in names.items()
    ]
    return element("span", *items, class_="legend")


def numbers_table(
    columns: Sequence[Any], rows: Sequence[Sequence[Any]], *, numeric: Sequence[int] = (), class_: str = "numbers"
) -> Markup:
    """A table whose first cell of each row names it; ``numeric`` columns are aligned to the right."""

    def kind(j: int) -> str | None:
        return "n" if j in numeric else None

    head = element("tr", *(element("th", name, scope="col", class_=kind(j)) for j, name in enumerate(columns)))
    body = [element("tr", element("th", row[0], scope="row", class_=kind(0)), *_cells(row, kind)) for row in rows]
    table = element("table", element("thead", head), element("tbody", *body), class_=class_)
    return element("div", table, class_="scroll")


def _cells(row: Sequence[Any], kind: Any) -> list[Markup]:
    return [element("td", cell, class_=kind(j)) for j, cell in enumerate(row) if j]


def block(source: str) -> Markup:
    """Code that can be scrolled by keyboard."""
    return element("pre", element("code", source, tabindex=0))


def code(**by_language: str) -> Markup:
    """Commands and code that repeat a part, folded away; ``code(shell=..., python=...)``."""
    blocks = [
        element("div", element("span", language, class_="language"), block(source))
        for language, source in by_language.items()
        if source
    ]
    return element("details", element("summary", "Repeat this"), join(blocks), class_="code")
