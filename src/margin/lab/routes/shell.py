"""What the page must know before it can draw anything."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from margin import __version__
from margin.lab.rooms import open_rooms

router = APIRouter(tags=["shell"])


@router.get("/lab")
def lab() -> dict[str, Any]:
    """The version, and the rooms that there are."""
    from margin.lab.app import STATIC

    return {"version": __version__, "rooms": [vars(room) for room in open_rooms(STATIC)]}
