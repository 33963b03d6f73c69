"""The tables of contents of the five notes, and which rows of the atlas stand in each section.

``contents.toml`` holds the tables; a row's ``where`` ("003 §1.2 Def 1.1") says to which sections it belongs.

>>> notes = tables()[3]
>>> notes.title, notes.section("1.2").title
('Note on Machine Learning', 'Multiplication')
>>> [row.id for row in rows_in("003", "1.2")]
['matrix-product-inner-products', 'matrix-product-outer-products']
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from margin.notes import atlas

__all__ = ["Notes", "NotesSection", "place_of", "rows_in", "sections_of", "tables"]

NUMBERED = re.compile(r"((?:[0-9]+|[A-Z])(?:\.[0-9]+)*) (.+)")


@dataclass(frozen=True)
class NotesSection:
    """One line of a table of contents; ``key`` names it in an address, ``level`` is 1 for a chapter."""

    key: str
    number: str
    title: str
    level: int


@dataclass(frozen=True)
class Notes:
    """One set of notes: its number in the atlas, title, edition and sections in order."""

    number: str
    title: str
    edition: str
    sections: tuple[NotesSection, ...]

    def section(self, key: str) -> NotesSection:
        match = next((section for section in self.sections if section.key == key), None)
        if match is None:
            raise KeyError(f"The notes {self.number} ({self.title}) have no section {key!r}.")
        return match


@cache
def tables() -> tuple[Notes, ...]:
    """The five notes with their sections."""
    read = tomllib.loads(files("margin.notes").joinpath("contents.toml").read_text(encoding="utf-8"))
    return tuple(
        Notes(number, entry["title"], entry["edition"], tuple(map(_section, entry["sections"].strip("\n").split("\n"))))
        for number, entry in read.items()
    )


def _section(line: str) -> NotesSection:
    numbered = NUMBERED.fullmatch(line)
    if numbered is None:
        title = line.strip()
        return NotesSection(_key(title), "", title, 1 if line == title else 2)
    return NotesSection(numbered[1], numbered[1], numbered[2], numbered[1].count(".") + 1)


def _key(title: str) -> str:
    """A title as it stands in an address: letters and digits, with dashes between."""
    return "-".join(re.findall(r"[a-z0-9]+", title.lower().replace("'", "")))


def place_of(where: str) -> tuple[str, str] | None:
    """Notes and key of the section that a place names; None if the table of contents does not know it.

    >>> place_of("003 §1.2 Def 1.1"), place_of("004 §Adam")
    (('003', '1.2'), ('004', 'adam'))
    """
    number, _, rest = where.partition(" ")
    known = _keys().get(number)
    if known is None:
        return None
    rest = rest.removeprefix("§")
    numbered = re.match(r"(?:[0-9]+|[A-Z])(?:\.[0-9]+)*(?= |$)", rest)
    candidates = [numbered[0]] if numbered else []
    candidates += [_key(rest), *(_key(rest[:end]) for end in _blanks(rest))]  # with "Figures 7, 8" the first word
    return next(((number, key) for key in candidates if key in known), None)


def _blanks(text: str) -> list[int]:
    return [match.start() for match in re.finditer(" ", text)][::-1]


@cache
def _keys() -> dict[str, frozenset[str]]:
    return {notes.number: frozenset(section.key for section in notes.sections) for notes in tables()}


@cache
def _by_section() -> dict[tuple[str, str], tuple[atlas.Row, ...]]:
    found: dict[tuple[str, str], dict[str, atlas.Row]] = {}
    for row in atlas.rows().values():
        for place in map(place_of, row.where):
            if place is not None:
                found.setdefault(place, {})[row.id] = row
    return {place: tuple(rows.values()) for place, rows in found.items()}


def rows_in(number: str, key: str) -> tuple[atlas.Row, ...]:
    """The rows whose place is this section itself, not one below it."""
    return _by_section().get((number, key), ())


def sections_of(row: atlas.Row) -> list[tuple[Notes, NotesSection, str]]:
    """Every place of a row: the notes, the section and the place as the atlas writes it."""
    notes = {table.number: table for table in tables()}
    places = ((place_of(where), where) for where in row.where)
    return [(notes[place[0]], notes[place[0]].section(place[1]), where) for place, where in places if place is not None]
