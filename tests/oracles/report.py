"""Reports read as a browser reads them."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any, NamedTuple

import numpy as np
from tests.oracles import oracle

from margin.core.verdict import Verdict, equal, every
from margin.report.terms import glossary


class _Row(NamedTuple):
    id: str
    title: str
    where: tuple[str, ...]
    statement: str
    kind: str = "term"
    code: tuple[str, ...] = ()


class _Terms(HTMLParser):
    """Ids of the terms, and their texts in order."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.texts: dict[str, list[str]] = {"dt": [], "dd": []}
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        if tag == "dt":
            self.ids.append(dict(attrs)["id"] or "")
        if tag in self.texts:
            self.texts[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in self.texts.keys() & set(self.open):
            self.texts[tag][-1] += data


@oracle("margin.report.terms.glossary")
def terms_as_a_browser_reads_them(seed: int) -> Verdict:
    """Three rows with signs that HTML means otherwise, in the order given."""
    number = int(np.random.default_rng(seed).integers(10, 99))
    rows: list[Any] = [
        _Row("loss", "Loss <L>", ("003 §1", "004 §2"), f"a < b & {number}"),
        _Row("bias", 'The "bias"', ("000 §3",), "x > y"),
        _Row("adam", "Adam", ("001 §4",), "no sign"),
    ]
    page = _Terms()
    page.feed(str(glossary(rows)))
    return every(
        ids=equal(page.ids, ["term-loss", "term-bias", "term-adam"]),
        titles=equal(page.texts["dt"], [row.title for row in rows]),
        statements=equal([row.statement in text for row, text in zip(rows, page.texts["dd"])], [True] * 3),
        places=equal([all(w in text for w in row.where) for row, text in zip(rows, page.texts["dd"])], [True] * 3),
        commands=equal([f"margin show {row.id}" in text for row, text in zip(rows, page.texts["dd"])], [True] * 3),
        closed=equal(page.open, []),
    )
