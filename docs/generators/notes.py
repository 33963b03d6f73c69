"""The notes, section by section: every statement once in full, with equation, verdict, correction, code and picture.

A row stands in full in the section that its first place names; other sections point to it. Its address is the label
``row-<id>``, which every other page of the site uses.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from docs.generators.evidence import Shown
from docs.generators.rst import bullets, details, escape, heading, indent, toctree, write
from docs.generators.words import AREAS, lab_link, row_title, verdict_badge

from margin import catalog
from margin.notes import atlas, contents
from margin.service.evidence import Checked
from margin.service.finding_words import finding_words
from margin.service.source_code import find_source

__all__ = ["chapters", "row_block", "write_notes"]

LONGEST = 60  # lines of a cited function or class that are shown in place
OPENING = "The chapter itself"  # rows that belong to no section of it


def write_notes(folder: Path, verdicts: Mapping[str, Checked], shown: Mapping[str, Shown]) -> int:
    """Write a page per chapter, one per set of notes and one per area; the number of rows written in full."""
    homes = {row.id: home_of(row) for row in atlas.rows().values()}
    for notes in contents.tables():
        for chapter, sections in chapters(notes).items():
            page = chapter_page(notes, sections, homes, verdicts, shown)
            write(folder / f"{notes.number}-{chapter}.rst", page)
        write(folder / f"{notes.number}.rst", notes_page(notes, homes, verdicts))
    for area, name in AREAS.items():
        rows = [row for row in atlas.rows().values() if row.area == area]
        write(folder / f"area-{area}.rst", area_page(name, rows, verdicts))
    write(folder / "corrections.rst", corrections_page())
    write(folder / "index.rst", index_page(verdicts))
    return len(homes)


def chapters(notes: contents.Notes) -> dict[str, list[contents.NotesSection]]:
    """Sections by the chapter they stand in, which is a page."""
    found: dict[str, list[contents.NotesSection]] = {}
    for section in notes.sections:
        if section.level == 1:
            found[section.key] = []
        found[next(reversed(found))].append(section)
    return found


def home_of(row: atlas.Row) -> tuple[str, str]:
    """Notes and section in which a row stands in full: the first of its places that the contents know."""
    for where in row.where:
        place = contents.place_of(where)
        if place is not None:
            return place
    number = row.where[0].partition(" ")[0]
    notes = next(table for table in contents.tables() if table.number == number)
    return number, notes.sections[0].key


def chapter_page(
    notes: contents.Notes,
    sections: Iterable[contents.NotesSection],
    homes: Mapping[str, tuple[str, str]],
    verdicts: Mapping[str, Checked],
    shown: Mapping[str, Shown],
) -> str:
    first, *rest = sections
    text = heading(section_title(first)) + f"{escape(notes.title)}, {notes.edition}.\n\n"
    opening = _section_rows(notes, first, homes, verdicts, shown)
    # Rows stand one level below sections, also those of the chapter itself.
    text += heading(OPENING, "-") + opening if opening else ""
    for section in rest:
        body = _section_rows(notes, section, homes, verdicts, shown)
        if body:
            text += heading(section_title(section), "-") + body
    return text


def section_title(section: contents.NotesSection) -> str:
    return escape(f"{section.number} {section.title}".strip())


def _section_rows(
    notes: contents.Notes,
    section: contents.NotesSection,
    homes: Mapping[str, tuple[str, str]],
    verdicts: Mapping[str, Checked],
    shown: Mapping[str, Shown],
) -> str:
    place = (notes.number, section.key)
    own = [atlas.row(id) for id, home in homes.items() if home == place]
    also = [row for row in contents.rows_in(*place) if homes[row.id] != place]
    text = "".join(row_block(row, verdicts.get(row.id), shown.get(row.experiment)) for row in own)
    if also:
        text += "**Also here, shown where they come first:**\n\n" + bullets(_line(row, verdicts) for row in also)
    return text


def row_block(row: atlas.Row, checked: Checked | None, shown: Shown | None) -> str:
    """One statement in full."""
    text = f".. _row-{row.id}:\n\n{heading(row_title(row), '^')}"
    badge = verdict_badge(checked.verdict) + " · " if checked else ""
    text += f"{badge}{row.kind} · {AREAS[row.area]} · {escape('; '.join(row.where))}\n\n"
    if row.equation:
        text += f".. math::\n\n{indent(row.equation)}\n\n"
    text += escape(row.statement) + "\n\n"
    text += _corrections(row, checked)
    if row.numbers:
        text += f"*Numbers:* {escape(row.numbers)}\n\n"
    if shown is not None:
        text += (
            f".. figure:: ../gallery/images/{shown.thumbnail.name}\n   :alt: {row_title(row)}\n   :class: small\n\n"
            f"   :doc:`/gallery/{shown.name}`\n\n"
        )
    if checked is not None:
        own = [finding for finding in checked.findings() if not finding.is_counterexample]
        text += details("what was measured", bullets(escape(finding_words(finding)) for finding in own), "measured")
    return text + _code(row) + _links(row)


def _corrections(row: atlas.Row, checked: Checked | None) -> str:
    """What the notes get wrong, with the counter-examples of the check, and what no run can show."""
    text = ""
    if row.slips:
        lines = [escape(slip) for slip in row.slips]
        found = [finding for finding in checked.findings() if finding.is_counterexample] if checked else []
        lines += [f"Counter-example: {escape(finding_words(finding))}." for finding in found]
        text += f".. admonition:: Correction\n   :class: warning\n\n{indent(bullets(lines))}\n"
    if row.notation:
        text += f".. admonition:: Notation\n   :class: note\n\n{indent(escape(row.notation))}\n\n"
    return text


def _code(row: atlas.Row) -> str:
    """Every cited path: its source where it is short, else where it stands."""
    text = ""
    for path in row.code:
        kind = "code" if not row.as_run else "as run" if path in row.as_run else "as written"
        source = find_source(path)
        lines = source.text.splitlines()
        where = f"src/{source.file}, line {source.line}"
        body = f".. code-block:: python\n\n{indent(source.text)}"
        if len(lines) > LONGEST:
            body = f"``{where}``: {len(lines) + source.omitted} lines."
        summary = f"{kind}: <code>{html.escape(path)}</code> <small>{html.escape(where)}</small>"
        text += details(summary, body, "source")
    return text


def _links(row: atlas.Row) -> str:
    names = {entry.class_name for entry in catalog.ENTRIES}
    used = dict.fromkeys(part for path in row.code for part in path.split(".") if part in names)
    models = ", ".join(f":doc:`/reference/{name}`" for name in used)
    lab = lab_link(f"/notes/row/{row.id}")
    return f"``margin show {row.id}`` · {lab}" + (f" · {models}" if models else "") + "\n\n"


def _line(row: atlas.Row, verdicts: Mapping[str, Checked]) -> str:
    badge = verdict_badge(verdicts[row.id].verdict) + " " if row.id in verdicts else ""
    return f"{badge}:ref:`{row_title(row)} <row-{row.id}>`"


def notes_page(notes: contents.Notes, homes: Mapping[str, tuple[str, str]], verdicts: Mapping[str, Checked]) -> str:
    pages = chapters(notes)
    rows = {row.id for section in notes.sections for row in contents.rows_in(notes.number, section.key)}
    rows |= {id for id, home in homes.items() if home[0] == notes.number}
    text = heading(f"{escape(notes.title)}, {notes.edition}")
    text += f"{_tally(rows, verdicts)}\n\n"
    return text + toctree((f"{notes.number}-{chapter}" for chapter in pages), depth=2)


def area_page(name: str, rows: Sequence[atlas.Row], verdicts: Mapping[str, Checked]) -> str:
    lines = bullets(_line(row, verdicts) for row in rows)
    return f"{heading(name)}{_tally((row.id for row in rows), verdicts)}\n\n{lines}"


def corrections_page() -> str:
    """Only what the notes get wrong: the page their authors may want first."""
    text = heading("Corrections")
    text += (
        "Every statement that a run contradicts. Each links to the counter-example and to the corrected statement.\n\n"
    )
    for area, name in AREAS.items():
        rows = [row for row in atlas.rows().values() if row.area == area and row.slips]
        if rows:
            text += heading(name, "-")
            text += "".join(definition_of(row) for row in rows)
    return text


def definition_of(row: atlas.Row) -> str:
    places = escape("; ".join(row.where))
    return f":ref:`{row_title(row)} <row-{row.id}>` ({places})\n{indent(escape(' '.join(row.slips)), 4)}\n\n"


def index_page(verdicts: Mapping[str, Checked]) -> str:
    sets = [notes.number for notes in contents.tables()]
    text = heading("Notes")
    text += (
        "Five sets of lecture notes, statement by statement. Each statement has the code that runs it and a check that "
        f"was run when this site was built. {_tally(verdicts, verdicts)}\n\n"
        "*Holds*: the check agrees with the notes. *Corrected*: the notes are wrong there; the check shows a "
        "counter-example to what is printed and confirms the corrected statement.\n\n"
        "Links into the lab, where a statement can be run again with other seeds, work while ``margin lab`` runs on "
        "this machine.\n\n"
    )
    text += heading("By section", "-") + toctree(sets, depth=2) + toctree(["corrections"], depth=1)
    return text + heading("By area", "-") + toctree((f"area-{area}" for area in AREAS), depth=1)


def _tally(ids: Iterable[str], verdicts: Mapping[str, Checked]) -> str:
    counts = Counter(verdicts[id].verdict for id in ids if id in verdicts)
    total = sum(counts.values())
    return f"{total:,} statements: {counts['holds']:,} hold, {counts['corrected']:,} corrected."
