"""What a reader of the notes opens: tables of contents, a section with its statements, one statement, a search."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from margin import catalog
from margin.notes import atlas, contents
from margin.report.mathml import mathml
from margin.service.models import rows_of
from margin.service.requests import BadRequest
from margin.service.source_code import find_source

__all__ = ["area_page", "notes_contents", "row_page", "search_rows", "section_page"]

MOST_FOUND = 60


def notes_contents() -> dict[str, Any]:
    """The five tables of contents and the areas, with the number of statements in each and how many are corrected."""
    return {
        "notes": [_notes(table) for table in contents.tables()],
        "areas": [{"name": area, **_counts(_of_area(area))} for area in atlas.areas()],
        "kinds": sorted({row.kind for row in atlas.rows().values()}),
        **_counts(atlas.rows().values()),
    }


def _notes(table: contents.Notes) -> dict[str, Any]:
    sections = [{**vars(section), **_counts(contents.rows_in(table.number, section.key))} for section in table.sections]
    ids = {row.id: row for section in table.sections for row in contents.rows_in(table.number, section.key)}
    return {**_name(table), "sections": sections, **_counts(ids.values())}


def _name(table: contents.Notes) -> dict[str, str]:
    return {"number": table.number, "title": table.title, "edition": table.edition}


def _counts(rows: Iterable[atlas.Row]) -> dict[str, int]:
    rows = list(rows)
    return {"rows": len(rows), "corrected": sum(bool(row.slips) for row in rows)}


def _of_area(area: str) -> list[atlas.Row]:
    return [row for row in atlas.rows().values() if row.area == area]


def section_page(number: str, key: str) -> dict[str, Any]:
    """A section with its statements, those of the sections below it, and its neighbors in the table of contents."""
    table = next((table for table in contents.tables() if table.number == number), None)
    if table is None:
        raise KeyError(f"There are no notes {number!r}.")
    own = table.section(key)
    position = table.sections.index(own)
    below = _below(table.sections, position)
    near = {"previous": position - 1, "next": position + len(below) + 1}
    return {
        "notes": _name(table),
        "section": vars(own),
        "parts": [
            {"section": vars(section), "rows": [row_card(row) for row in contents.rows_in(number, section.key)]}
            for section in (own, *below)
        ],
        **{name: vars(table.sections[i]) for name, i in near.items() if 0 <= i < len(table.sections)},
    }


def _below(sections: Sequence[contents.NotesSection], position: int) -> list[contents.NotesSection]:
    below: list[contents.NotesSection] = []
    for section in sections[position + 1 :]:
        if section.level <= sections[position].level:
            break
        below.append(section)
    return below


def area_page(area: str) -> dict[str, Any]:
    """All statements of one area."""
    if area not in atlas.areas():
        raise KeyError(f"There is no area {area!r}; there are {', '.join(atlas.areas())}.")
    return {"area": area, "rows": [row_card(row) for row in _of_area(area)]}


def row_card(row: atlas.Row) -> dict[str, Any]:
    """What a list shows of a statement."""
    return {
        "id": row.id,
        "area": row.area,
        "title": row.title,
        "kind": row.kind,
        "where": list(row.where),
        "statement": row.statement,
        "equation": mathml(row.equation) if row.equation else "",
        "corrected": bool(row.slips),
        "slips": list(row.slips),
        "experiment": row.experiment,
        "models": [name for name, rows in _rows_by_model().items() if row.id in rows],
    }


def row_page(id: str) -> dict[str, Any]:
    """All about one statement: places, equation, correction, the code as it stands, and where it can be played with."""
    row = atlas.row(id)
    places = [
        {"notes": table.number, "title": table.title, "section": vars(section), "where": where}
        for table, section, where in contents.sections_of(row)
    ]
    ids = list(atlas.rows())
    position = ids.index(id)
    return {
        **row_card(row),
        "tex": row.equation,
        "numbers": row.numbers,
        "notation": row.notation,
        "places": places,
        "code": _code(row),
        "previous": ids[position - 1] if position else "",
        "next": ids[position + 1] if position + 1 < len(ids) else "",
        "titles": {near: atlas.row(near).title for near in ids[max(position - 1, 0) : position + 2]},
        "command": f"margin verify {_unambiguous(row)}",
        "python": _python(row),
    }


def _unambiguous(row: atlas.Row) -> str:
    """The id, or area and id where an area has the same name."""
    return f"{row.area}/{row.id}" if row.id in atlas.areas() else row.id


def _python(row: atlas.Row, seed: int = 0) -> str:
    return (
        "from margin.service.evidence import select, verify\n\n"
        f'[checked] = verify(select(["{_unambiguous(row)}"]), seed={seed})\n'
        "print(checked.verdict, checked.findings())"
    )


def _code(row: atlas.Row) -> list[dict[str, Any]]:
    """The code that a row cites, with what it is: as run, or as written where the row has both."""
    both = bool(row.as_run) and bool(row.as_written)
    return [
        {
            **find_source(path).as_dict(),
            "form": ("as run" if path in row.as_run else "as written") if both else "",
        }
        for path in (*row.as_written, *row.as_run)
    ]


@cache
def _rows_by_model() -> dict[str, frozenset[str]]:
    return {entry.name: frozenset(row.id for row in rows_of(entry)) for entry in catalog.ENTRIES}


def search_rows(text: str, *, area: str = "", kind: str = "", corrected: bool = False) -> list[dict[str, Any]]:
    """The statements that mention every word of ``text``, best first: a title counts more than a sentence.

    >>> [row["id"] for row in search_rows("adam")][0]
    'adam'
    """
    words = re.findall(r"\w+", text.lower())[:12]
    if area and area not in atlas.areas():
        raise BadRequest(f"There is no area {area!r}; there are {', '.join(atlas.areas())}.")
    rows = [
        row
        for row in atlas.rows().values()
        if area in ("", row.area) and kind in ("", row.kind) and (row.slips or not corrected)
    ]
    if not words:
        return [row_card(row) for row in rows[:MOST_FOUND]] if area or kind or corrected else []
    scored = [(score, row) for row in rows if (score := _score(row, words)) > 0]
    scored.sort(key=lambda pair: -pair[0])
    return [row_card(row) for _, row in scored[:MOST_FOUND]]


#: How much a word counts in each part of a row: whole, and as the beginning of a word.
WEIGHTS = {"id": (8.0, 4.0), "title": (6.0, 3.0), "statement": (1.0, 0.5), "others": (0.5, 0.25)}


def _score(row: atlas.Row, words: Sequence[str]) -> float:
    texts = _texts(row.id)
    total = 0.0
    for word in words:
        found = [_weight(texts[part], word, *weights) for part, weights in WEIGHTS.items()]
        if not any(found):
            return 0.0
        total += max(found)
    wanted = " ".join(words)
    # What is called exactly so, and short titles, come first.
    exact = 10.0 * (wanted in (row.id.replace("-", " "), row.title.lower()))
    return total + exact + 1.0 / (1.0 + len(texts["title"]))


def _weight(words: frozenset[str], word: str, whole: float, beginning: float) -> float:
    if word in words:
        return whole
    return beginning if len(word) > 1 and any(each.startswith(word) for each in words) else 0.0


@cache
def _texts(id: str) -> dict[str, frozenset[str]]:
    row = atlas.row(id)
    parts = {"id": row.id, "title": row.title, "statement": row.statement}
    parts["others"] = " ".join([row.area, row.kind, row.erratum, row.numbers, *row.code, row.experiment])
    return {name: frozenset(re.findall(r"[^\W_]+", part.lower())) for name, part in parts.items()}
