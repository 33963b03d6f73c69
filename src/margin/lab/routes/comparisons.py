"""Comparisons: options, start, board, stop, continue, report."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse
from pydantic import BaseModel

from margin import data
from margin.lab.lab import CurrentLab, Lab
from margin.lab.routes.tables import tables_of
from margin.service.comparison import comparison_options
from margin.service.comparison_jobs import ComparisonJobs, report_file, stored_snapshot, write_as_code, write_report

router = APIRouter(prefix="/comparisons", tags=["comparisons"])

OPEN_SECONDS, REPORT_SECONDS = 300.0, 1800.0
#: A report runs its own small script in a frame that has no part in this site: it can ask this server nothing.
REPORT_POLICY = (
    "sandbox allow-scripts allow-popups; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "img-src data:; frame-ancestors 'self'"
)


class ComparisonWish(BaseModel):
    """A table that was sent or a set by its name, and options as the command takes them."""

    table: str = ""
    set: str = ""
    options: dict[str, Any] = {}


def jobs_of(request: Request, lab: Lab) -> ComparisonJobs:
    """The comparisons of this server, made when they are first needed."""
    state = request.app.state
    if not hasattr(state, "comparisons"):
        state.comparisons = ComparisonJobs(lab.folder, lambda id, board: lab.hub.publish(f"comparison:{id}", board))
        lab.close_with(state.comparisons.close)
    return state.comparisons


@router.get("/options")
def options() -> list[dict[str, Any]]:
    """Every option with its type, default and sentence: the form is made of it."""
    return comparison_options()


@router.post("")
def start(asked: ComparisonWish, request: Request, lab: CurrentLab) -> dict[str, str]:
    """Begin a comparison."""
    return {"id": jobs_of(request, lab).start(*_source(asked, lab), asked.options)}


@router.post("/code")
def code(asked: ComparisonWish, lab: CurrentLab) -> dict[str, str]:
    """The Python and the command that would do the same."""
    return write_as_code(_source(asked, lab)[0], asked.options)


def _source(asked: ComparisonWish, lab: Lab) -> tuple[str, str]:
    """The data as a comparison takes them, and a name for its folder."""
    if not asked.set:
        file = tables_of(lab).path(asked.table)
        return str(file), file.name.partition(".")[0]
    if asked.set not in data.names():
        raise KeyError(f"There is no set {asked.set!r}.")
    return asked.set, asked.set


@router.get("/{id}")
def board(id: str, request: Request, lab: CurrentLab) -> dict[str, Any]:
    """What is known of a comparison now."""
    known = jobs_of(request, lab).snapshot(id)
    return known or lab.calls.call(stored_snapshot, str(lab.folder), id, seconds=OPEN_SECONDS)


@router.post("/{id}/stop")
def stop(id: str, request: Request, lab: CurrentLab) -> dict[str, bool]:
    """End the trials and fit the best so far; asked again, end that too."""
    jobs_of(request, lab).stop(id)
    return {"stopping": True}


@router.post("/{id}/continue")
def resume(id: str, request: Request, lab: CurrentLab) -> dict[str, bool]:
    """Go on where it was stopped, or where its server ended."""
    jobs_of(request, lab).resume(id)
    return {"running": True}


@router.post("/{id}/report")
def make_report(id: str, lab: CurrentLab) -> dict[str, bool]:
    """Write the report again, in full."""
    lab.calls.call(write_report, str(lab.folder), id, seconds=REPORT_SECONDS)
    return {"written": True}


@router.get("/{id}/report")
def report(id: str, lab: CurrentLab) -> FileResponse:
    """The report, for a frame of its own."""
    headers = {"content-security-policy": REPORT_POLICY}
    return FileResponse(report_file(lab.folder, id), media_type="text/html", headers=headers)
