"""The page: the answer in one sentence, then everything that supports it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from margin.report.board import BASELINE, board_table
from margin.report.data import data_content
from margin.report.layout import Section, paragraph
from margin.report.learning import learning_content
from margin.report.markup import Markup, element, join, text
from margin.report.numbers import count
from margin.report.numbers import score as score_text
from margin.report.reproduce import board_code, columns_code, judged_code, learning_code, reproduce_content
from margin.report.terms import ExplainingRow, class_term, glossary, link_terms, term
from margin.report.winner import UnseenRows, columns_content, has_unseen_rows, held_out_interval, judged_content

__all__ = ["render", "write"]

#: Nothing may be loaded from anywhere: the page is whole, and stays so if someone edits it.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"

FAILED_PART = "This part could not be made."


def write(
    comparison: Any, path: str | Path, seconds: float | None = None, terms: Mapping[str, ExplainingRow] | None = None
) -> Path:
    """Write the report of a comparison as one HTML file that needs nothing else, and return its path.

    Parts that would take more than ``seconds`` say so instead. ``terms`` are the rows that explain words of the page.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.tmp")
    unfinished.write_text(render(comparison, seconds, terms), encoding="utf-8")
    unfinished.replace(path)  # a reader sees the old page or the new one, never half of one
    return path


def render(comparison: Any, seconds: float | None = None, terms: Mapping[str, ExplainingRow] | None = None) -> str:
    """The report of a comparison as HTML, made in about ``seconds`` if they are given."""
    deadline = None if seconds is None else time.monotonic() + seconds
    unseen = UnseenRows(comparison) if has_unseen_rows(comparison) else None
    sections = list(_sections(comparison, unseen, deadline))
    header = _header(comparison, unseen)
    header, in_header = link_terms(header, terms or {})
    content, in_content = link_terms(join(section.render() for section in sections), terms or {})
    used = {row.id for row in (*in_header, *in_content)}
    if rows := [row for row in (terms or {}).values() if row.id in used]:
        sections.append(Section("terms", "Terms", glossary(rows)))
        content = join([content, sections[-1].render()])
    links = [element("li", element("a", section.title, href=f"#{section.id}")) for section in sections]
    navigation = element("nav", element("ol", *links), aria_label="Sections")
    title = f"{comparison.name}: {comparison.winner or 'no model'}"
    return _document(title, join([header, navigation, element("main", content)]), comparison)


def _document(title: str, content: Markup, comparison: Any) -> str:
    from margin import __version__

    tokens, style, script = (
        Markup(files("margin.report").joinpath(name).read_text("utf-8"))
        for name in ("tokens.css", "page.css", "page.js")
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="generator", content=f"margin {__version__}"),
        element("title", title),
        element("style", tokens, style),
    )
    skip = element("a", "Skip to the board", href="#board", class_="skip")
    everything = element("button", "Print all of it", id="print-all", type="button", hidden=True)
    footer = element("footer", f"margin {__version__}, seed {comparison.seed}. ", everything)
    body = element("body", skip, content, footer, element("script", script))
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _sections(comparison: Any, unseen: UnseenRows | None, deadline: float | None) -> Iterator[Section]:
    def section(id: str, title: str, *makers: Callable[[], Markup]) -> Section:
        return Section(id, title, join(_make_part(make) for make in makers))

    yield section("board", "Board", lambda: board_table(comparison), lambda: board_code(comparison))
    yield section("data", "Data", lambda: data_content(comparison))
    if unseen is not None:
        figures = (lambda: judged_content(comparison, unseen)), (lambda: judged_code(comparison))
        yield section("winner", "The winner on unseen rows", *figures)
        left = None if deadline is None else deadline - time.monotonic()
        columns = (lambda: columns_content(comparison, unseen, left)), (lambda: columns_code(comparison))
        yield section("columns", "What it learned about the columns", *columns)
    if comparison.diagnosis or comparison.curve is not None:
        curve = (lambda: learning_content(comparison)), (lambda: learning_code(comparison))
        yield section("learning", "Would more rows help?", *curve)
    yield section("reproduce", "Repeat it", lambda: reproduce_content(comparison))


def _make_part(make: Callable[[], Markup]) -> Markup:
    """One part; where a model answers in a way nobody expected, a sentence: the rest of the page is still true."""
    try:
        return make()
    except Exception as error:
        return paragraph(f"{FAILED_PART} {type(error).__name__}: {error}")


def _header(comparison: Any, unseen: UnseenRows | None) -> Markup:
    n = count(len(comparison.y))
    over = paragraph(f"{comparison.name} · {comparison.task} of {comparison.target or 'y'} · {n} rows", class_="over")
    toggle = element("button", "Dark", id="theme", type="button", hidden=True, aria_label="Switch light and dark")
    return element("header", over, toggle, *_answer(comparison, unseen))


def _answer(comparison: Any, unseen: UnseenRows | None) -> list[Markup]:
    """One sentence that can be quoted, and a few that qualify it."""
    if not comparison.winner:
        return [element("h1", "No model could be fitted."), paragraph("The board says why.", class_="more")]
    winner = next(s for s in comparison.standings if s.model == comparison.winner)
    name = comparison.metric.name.replace("_", " ")
    if unseen is not None and unseen.held_out and comparison.held_out_score is not None:
        held = term("validation-test-separation", "rows it has never seen")
        score: list[Any] = [f"{name} ", score_text(comparison.held_out_score), f" on {count(len(unseen.rows))} ", held]
    else:
        tried = " in cross-validation" if winner.folds else f" when it had learned from {count(winner.n_train)} rows"
        score = [f"{name} ", score_text(winner.mean), tried]
    model = element("b", _link_name(comparison))
    sentence = element("h1", "Use ", model, " to predict ", comparison.target or "the target", ": ", *score, ".")
    return [sentence, paragraph(*_qualify(comparison, unseen), class_="more")]


def _link_name(comparison: Any) -> Markup:
    """The winner's name, leading to the row of the notes that explains it."""
    inner = getattr(comparison.best_, "regressor_", comparison.best_)
    inner = inner.steps[-1][1] if isinstance(getattr(inner, "steps", None), list) else inner
    return class_term(type(inner), comparison.winner) if inner is not None else text(comparison.winner)


def _qualify(comparison: Any, unseen: UnseenRows | None) -> list[Any]:
    parts: list[Any] = []
    if comparison.status == "interrupted":
        parts.append("The comparison was stopped; this is what it found until then. ")
    if unseen is not None and unseen.held_out:
        low, high = held_out_interval(comparison, unseen)
        if math.isfinite(low):
            parts.append(f"The 95\u202f% interval is {score_text(low)} to {score_text(high)}. ")
    parts += [f"{said} " for said in (comparison.too_good, comparison.unused_order, comparison.cut_short) if said]
    parts += _beside_a_guess(comparison, unseen)
    ties = [s for s in comparison.standings if s.tied and s.model not in (comparison.winner, BASELINE)]
    if ties:
        fastest = min(ties, key=lambda s: s.fit_seconds)
        others = "One other model is" if len(ties) == 1 else f"{len(ties)} other models are"
        tail = f"; the fastest to fit of them is {fastest.model}" if len(ties) > 1 else f": {ties[0].model}"
        parts.append(f"{others} not distinguishable from it{tail}. ")
    if comparison.diagnosis:
        parts.append(comparison.diagnosis)
    return parts


def _beside_a_guess(comparison: Any, unseen: UnseenRows | None) -> list[Any]:
    """What a guess has on the rows of the score above."""
    baseline = next((s for s in comparison.standings if s.model == BASELINE and not s.error), None)
    on_held_out = unseen is not None and unseen.held_out and comparison.held_out_chance is not None
    value = comparison.held_out_chance if on_held_out else None if baseline is None else baseline.mean
    if value is None or not np.isfinite(value):
        return []
    guess = f"A guess without a look at the columns has {score_text(value)}{' there' if on_held_out else ''}"
    tied = baseline is not None and baseline.tied
    return [guess, ", and the folds cannot tell the winner from a guess. " if tied else ". "]
