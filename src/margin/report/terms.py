"""The words of a page that the notes explain: each is linked to its row, which stands at the end of the page.

The parts of a page only mark such words; which rows there are is told by whoever renders the page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from typing import Protocol

from margin.report.markup import Markup, element

__all__ = ["METRICS", "ExplainingRow", "class_term", "glossary", "link_terms", "term"]

#: The rows that explain the metrics a board is sorted by.
METRICS = {
    "accuracy": "accuracy",
    "average_precision": "precision",
    "f1": "f1-score",
    "log_loss": "cross-entropy",
    "mse": "mse-loss",
    "precision": "precision",
    "r2": "r-squared",
    "recall": "recall",
    "rmse": "mse-loss",
    "roc_auc": "auc",
}

MARKED = re.compile(r'<a href="#term-([^"]*)" class="term">(.*?)</a>', re.DOTALL)
CLASS = "class:"  # begins the mark of a class, whose row is looked for when the page is rendered


class ExplainingRow(Protocol):
    """What a page needs of a row of the notes."""

    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def statement(self) -> str: ...
    @property
    def where(self) -> tuple[str, ...]: ...
    @property
    def code(self) -> tuple[str, ...]: ...


def term(id: str, text: str) -> Markup:
    """Words that lead to the row ``id``, if the page is rendered with it."""
    return element("a", text, href=f"#term-{id}", class_="term") if id else element("span", text)


def class_term(cls: type, text: str) -> Markup:
    """Words that lead to the row about this class."""
    return term(f"{CLASS}{cls.__name__}", text)


def link_terms(page: Markup, rows: Mapping[str, ExplainingRow]) -> tuple[Markup, list[ExplainingRow]]:
    """The page with every marked word linked to its row, whose statement appears under the pointer; and those rows.

    Words whose row is not among ``rows`` stay plain.
    """
    used: set[str] = set()

    def link(mark: re.Match[str]) -> str:
        id, words = mark[1], mark[2]
        row = _row_of_class(id.removeprefix(CLASS), rows) if id.startswith(CLASS) else rows.get(id)
        if row is None:
            return f"<span>{words}</span>"
        used.add(row.id)
        return f'<a href="#term-{row.id}" class="term" title="{escape(row.statement)}">{words}</a>'

    linked = Markup(MARKED.sub(link, page))
    return linked, [row for id, row in rows.items() if id in used]


def _row_of_class(name: str, rows: Mapping[str, ExplainingRow]) -> ExplainingRow | None:
    """Of all rows whose code names the class, the one titled most like it."""
    parts = re.findall("[A-Z][a-z]+", name)

    def likeness(row: ExplainingRow) -> tuple[int, bool, bool]:
        named = sum(part.lower() in row.title.lower() for part in parts)
        return named, row.kind in ("model", "algorithm"), name in row.code[0].split(".")

    about = [row for row in rows.values() if any(name in path.split(".") for path in row.code)]
    return max(about, key=likeness, default=None)


def glossary(rows: list[ExplainingRow]) -> Markup:
    """What the rows say, where in the notes they stand, and how to see them run."""
    entries = []
    for row in rows:
        about = element("small", "; ".join(row.where), " · ", element("code", f"margin show {row.id}"))
        entries.append(element("dt", row.title, id=f"term-{row.id}"))
        entries.append(element("dd", row.statement, " ", about))
    return element("dl", *entries, class_="terms")
