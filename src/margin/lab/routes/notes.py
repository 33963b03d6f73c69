"""The room of the notes: contents, sections, statements, search, and checks that are run again."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from margin.lab.lab import CurrentLab
from margin.lab.stages.exhibits import exhibits_of
from margin.notes import atlas
from margin.service import notes_pages, row_checks
from margin.service.row_checks import LARGEST_SEED

router = APIRouter(tags=["notes"])

CHECK_SECONDS = 300.0


class CheckWish(BaseModel):
    """With which seed a check is run, and a name by which it can be stopped."""

    seed: int = Field(0, ge=0, le=LARGEST_SEED)
    name: str = Field("", max_length=80)


@router.get("/notes")
def contents(lab: CurrentLab) -> dict[str, Any]:
    """The five tables of contents, the areas, and what is known of rows that were run."""
    lab.calls.prepare()
    return {**notes_pages.notes_contents(), "verdicts": row_checks.kept_verdicts()}


@router.get("/notes/{number}/{key}")
def section(number: str, key: str) -> dict[str, Any]:
    """A section with its statements and those below it."""
    return {**notes_pages.section_page(number, key), "verdicts": row_checks.kept_verdicts()}


@router.get("/areas/{area}")
def area(area: str) -> dict[str, Any]:
    """The statements of one area."""
    return {**notes_pages.area_page(area), "verdicts": row_checks.kept_verdicts()}


@router.get("/rows")
def search(
    q: Annotated[str, Query(max_length=200)] = "",
    area: Annotated[str, Query(max_length=80)] = "",
    kind: Annotated[str, Query(max_length=80)] = "",
    corrected: bool = False,
) -> list[dict[str, Any]]:
    """Statements that mention every word, best first."""
    return notes_pages.search_rows(q, area=area, kind=kind, corrected=corrected)


@router.get("/rows/{id}")
def row(id: str, seed: int = 0) -> dict[str, Any]:
    """One statement, where it is played, and what its check found with this seed if it was run before."""
    page = notes_pages.row_page(id)
    played = [*page["models"], *exhibits_of(atlas.row(id))]
    return {**page, "models": played, "check": row_checks.kept_check(id, seed)}


@router.post("/rows/{id}/verify")
def verify(id: str, asked: CheckWish, lab: CurrentLab) -> dict[str, Any]:
    """Run the check of a statement now."""
    return lab.calls.call(row_checks.check_row, id, asked.seed, seconds=CHECK_SECONDS, name=asked.name)


@router.post("/calls/{name}/stop")
def stop(name: str, lab: CurrentLab) -> dict[str, bool]:
    """End a check or a drawing that runs under this name."""
    return {"stopped": lab.calls.stop(name)}
