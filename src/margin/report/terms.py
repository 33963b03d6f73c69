"""The words of a page that the notes explain: each is linked to its row, which stands at the end of the page."""

from __future__ import annotations

import re

from margin import atlas
from margin.report.markup import Markup, element

__all__ = ["METRICS", "class_term", "glossary", "term", "terms_in"]

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


def term(id: str, text: str) -> Markup:
    """Words that lead to the row ``id``; its statement appears under the pointer."""
    row = atlas.rows().get(id)
    if row is None:
        return element("span", text)
    return element("a", text, href=f"#term-{id}", class_="term", title=row.statement)


def class_term(cls: type, text: str) -> Markup:
    """Words that lead to the row that is about this class: of all whose code names it, the one titled most like it."""
    rows = [row for row in atlas.rows().values() if any(cls.__name__ in path.split(".") for path in row.code)]
    if not rows:
        return element("span", text)
    parts = re.findall("[A-Z][a-z]+", cls.__name__)

    def likeness(row: atlas.Row) -> tuple[int, bool, bool]:
        named = sum(part.lower() in row.title.lower() for part in parts)
        return named, row.kind in ("model", "algorithm"), cls.__name__ in row.code[0].split(".")

    return term(max(rows, key=likeness).id, text)


def terms_in(page: str) -> list[atlas.Row]:
    """The rows that a page links to, in the order of the notes."""
    return [row for id, row in atlas.rows().items() if f'href="#term-{id}"' in page]


def glossary(rows: list[atlas.Row]) -> Markup:
    """What the rows say, where in the notes they stand, and how to see them run."""
    entries = []
    for row in rows:
        about = element("small", "; ".join(row.where), " · ", element("code", f"margin show {row.id}"))
        entries.append(element("dt", row.title, id=f"term-{row.id}"))
        entries.append(element("dd", row.statement, " ", about))
    return element("dl", *entries, class_="terms")
