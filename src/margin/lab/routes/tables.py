"""Tables that the page sends, and what they hold."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from margin import data
from margin.lab.lab import CurrentLab, Lab
from margin.service.uploaded_tables import UploadedTables, profile_table

router = APIRouter(tags=["tables"])

PROFILE_SECONDS = 300.0


class ProfileWish(BaseModel):
    """What the user says about a table: the column to predict, kinds of columns, columns to leave out."""

    target: str | None = None
    kinds: dict[str, str] = {}
    ignore: list[str] = Field(default=[], max_length=10_000)


def tables_of(lab: Lab) -> UploadedTables:
    """The tables lie beside the runs, so that a comparison finds its table after a restart."""
    return UploadedTables(lab.folder / "tables")


@router.get("/tables")
def listing(lab: CurrentLab) -> dict[str, Any]:
    """Tables that were sent, and sets that Margin brings."""
    return {"tables": tables_of(lab).list(), "sets": sorted(data.names())}


@router.put("/tables")
async def upload(request: Request, name: Annotated[str, Query(max_length=300)], lab: CurrentLab) -> dict[str, Any]:
    """Keep a file, sent as it is: CSV, Parquet, Arrow, Excel, JSON lines, also packed."""
    tables = tables_of(lab)
    unfinished = await run_in_threadpool(tables.begin)
    try:
        with open(unfinished, "wb") as file:
            async for chunk in request.stream():
                await run_in_threadpool(file.write, chunk)
        return await run_in_threadpool(tables.keep, unfinished, name)
    finally:
        await run_in_threadpool(unfinished.unlink, True)


@router.delete("/tables/{id}")
def remove(id: str, lab: CurrentLab) -> dict[str, bool]:
    """Forget a table."""
    tables_of(lab).remove(id)
    return {"removed": True}


@router.post("/tables/{id}/profile")
def profile(id: str, asked: ProfileWish, lab: CurrentLab) -> dict[str, Any]:
    """What each column was taken for, and what would become of it."""
    return _profile(str(tables_of(lab).path(id)), asked, lab)


@router.post("/sets/{name}/profile")
def profile_of_set(name: str, asked: ProfileWish, lab: CurrentLab) -> dict[str, Any]:
    """The same for a set that Margin brings."""
    if name not in data.names():
        raise KeyError(f"There is no set {name!r}.")
    return _profile(name, asked, lab)


def _profile(path: str, asked: ProfileWish, lab: Lab) -> dict[str, Any]:
    arguments = (path, asked.target, asked.kinds, tuple(asked.ignore))
    return lab.calls.call(profile_table, *arguments, seconds=PROFILE_SECONDS)
