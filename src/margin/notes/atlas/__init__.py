"""The atlas: what the notes say, row by row, and where it runs.

``<area>.toml`` holds the rows that are built; ``inventory.toml`` is the contract, the ids of every row
that the notes ask for. This module only reads them: it knows no code.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["Expected", "Row", "areas", "find", "inventory", "row", "rows"]

FIELDS = {"id", "title", "kind", "where", "equation", "statement", "code", "experiment", "numbers", "erratum"}
FIELDS |= {"notation", "values", "as_run"}


@dataclass(frozen=True)
class Expected:
    """One line of the contract: a row that must exist, whether or not it is built yet."""

    id: str
    area: str
    kind: str
    has_erratum: bool


@dataclass(frozen=True)
class Row:
    """One statement, method, figure or term of the notes, with the code that runs it.

    ``code`` are dotted paths; ``experiment`` names a module of :mod:`margin.notes.experiments`. The claim that
    checks the row, if it has one, is registered under ``id`` in :mod:`margin.notes.claims`.

    ``as_run`` are those paths of ``code`` that the product executes, where they differ from the form *as written*:
    the rest of ``code``. Where a row has both, its check, or a test of the same name, holds the two forms together.

    ``numbers`` are the numbers of the notes as a reader sees them, ``values`` those that the check reads.
    ``slips`` are the mistakes of the notes that running something shows, one sentence or two for each, and its
    check has a counter-example for every one. ``notation`` are those that no run can show: spelling, symbols,
    references, words.
    """

    id: str
    area: str
    title: str
    kind: str
    where: tuple[str, ...]
    statement: str
    code: tuple[str, ...]
    as_run: tuple[str, ...] = ()
    equation: str = ""
    experiment: str = ""
    numbers: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    slips: tuple[str, ...] = ()
    notation: str = ""

    @property
    def erratum(self) -> str:
        """All that is wrong in the notes here, as one text."""
        return " ".join((*self.slips, self.notation)).strip()

    @property
    def as_written(self) -> tuple[str, ...]:
        """The plain forms of the equation: all of ``code`` that ``as_run`` does not name."""
        return tuple(path for path in self.code if path not in self.as_run)


@cache
def inventory() -> dict[str, Expected]:
    """Every row of the contract by id, in the order of the notes."""
    table = _load("inventory.toml")
    return {
        id: Expected(id, area, entry["kind"], entry.get("erratum", False))
        for area, entries in table.items()
        for id, entry in entries.items()
    }


def areas() -> tuple[str, ...]:
    return tuple(dict.fromkeys(expected.area for expected in inventory().values()))


@cache
def rows() -> dict[str, Row]:
    """Every row that is built, by id, in the order of the contract."""
    rows_by_id: dict[str, Row] = {}
    for area in areas():
        if not files(__name__).joinpath(f"{area}.toml").is_file():
            continue
        for entry in _load(f"{area}.toml").get("row", []):
            built = _row(area, entry)
            if built.id in rows_by_id:
                raise ValueError(f"Atlas row {built.id!r} is written twice, the second time in {area}.toml.")
            rows_by_id[built.id] = built
    # In the order of the notes, however the files grew; rows outside the contract come last, for a test to name.
    return {id: rows_by_id[id] for id in (*inventory(), *rows_by_id) if id in rows_by_id}


def row(id: str) -> Row:
    try:
        return rows()[id]
    except KeyError:
        raise KeyError(f"The atlas has no row {id!r}.") from None


def find(text: str) -> list[Row]:
    """Rows whose id, title or statement contains ``text``: the glossary behind ``margin show``."""
    query = text.lower()
    return [r for r in rows().values() if query in f"{r.id} {r.title} {r.statement}".lower()]


def _row(area: str, entry: dict[str, Any]) -> Row:
    unknown = entry.keys() - FIELDS
    if unknown:
        raise ValueError(f"Atlas row {entry.get('id')!r} in {area}.toml has unknown fields {sorted(unknown)}.")
    code, erratum = entry["code"], entry.get("erratum", ())
    lists = {
        "where": tuple(entry["where"]),
        "code": _strings(code),
        "as_run": _strings(entry.get("as_run", ())),
        "slips": _strings(erratum),
    }
    uncited = [path for path in lists["as_run"] if path not in lists["code"]]
    if uncited:
        raise ValueError(f"Atlas row {entry.get('id')!r} in {area}.toml runs {uncited}, which its code does not name.")
    fields = {name: value for name, value in entry.items() if name != "erratum"}
    return Row(area=area, **{**fields, **lists})


def _strings(value: str | list[str] | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _load(name: str) -> dict[str, Any]:
    return tomllib.loads(files(__name__).joinpath(name).read_text(encoding="utf-8"))
