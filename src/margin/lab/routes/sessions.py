"""Sessions: open a fit, control it, take its code home."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from margin.lab.lab import CurrentLab
from margin.lab.sessions import LabSession
from margin.lab.stages.commands import command
from margin.lab.stages.request import PlayRequest
from margin.service.requests import BadRequest

router = APIRouter(tags=["sessions"])

Coordinate = Annotated[float, Field(allow_inf_nan=False)]
FASTEST, FARTHEST, LONGEST_PROBE = 1000.0, 100_000, 2000


class Wish(BaseModel):
    """A model, its settings and its data; what is not said is as its stage has it."""

    model_config = ConfigDict(extra="forbid")

    model: Annotated[str, Field(max_length=80)]
    data: Annotated[str, Field(max_length=80)] = ""
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    settings: Annotated[list[Annotated[str, Field(max_length=300)]], Field(max_length=60)] = []
    points: Annotated[list[Annotated[list[Coordinate], Field(min_length=2, max_length=3)]], Field(max_length=600)] = []
    play: bool = True
    position: Annotated[int, Field(ge=1, le=FARTHEST, description="Records before it is first shown.")] = 1

    def request(self) -> PlayRequest:
        points = tuple(tuple(point) for point in self.points)
        return PlayRequest(self.model, self.data, self.seed, tuple(self.settings), points)


class Control(BaseModel):
    """``step`` takes a number of records (negative: back), ``speed`` records a second, ``probe`` anything to hold
    against the model."""

    model_config = ConfigDict(extra="forbid")

    action: Literal["play", "pause", "step", "speed", "probe", "open"]
    value: Any = None
    wish: Wish | None = None


@router.post("/sessions")
def create(lab: CurrentLab, wish: Wish) -> dict[str, Any]:
    """Open a fit in a process of its own; its frames are events of ``topic``."""
    session = lab.sessions.create(wish.request(), play=wish.play, position=wish.position)
    return {"id": session.id, "topic": session.topic}


@router.get("/sessions/{id}")
def show(lab: CurrentLab, id: str) -> dict[str, Any]:
    """The records so far, and the last frame."""
    return lab.sessions.get(id).snapshot()


@router.post("/sessions/{id}/control")
def control(lab: CurrentLab, id: str, control: Control) -> dict[str, Any]:
    """Play, pause, step, go back, change the speed, probe, or open another fit in the same process."""
    session = lab.sessions.get(id)
    if control.action == "open":
        _open(session, control.wish)
    else:
        session.tell(control.action, _value(control))
    return {"id": id}


@router.get("/sessions/{id}/code")
def code(lab: CurrentLab, id: str) -> dict[str, Any]:
    """Python that, run elsewhere, ends with the record that the session shows; the command goes on to the last one."""
    session = lab.sessions.get(id)
    if session.request is None:
        raise KeyError(f"Session {id!r} has not begun.")
    snapshot = session.snapshot()
    whole = bool(snapshot["last"].get("finished"))
    position = None if whole else max(1, len(snapshot["records"]))
    return {
        "python": session.request.code(position),
        "command": command(session.request),
        "record": (snapshot["records"] or [None])[-1],
    }


@router.delete("/sessions/{id}")
def end(lab: CurrentLab, id: str) -> dict[str, Any]:
    """End the process, whatever it is at."""
    lab.sessions.remove(id)
    return {"id": id}


def _open(session: LabSession, wish: Wish | None) -> None:
    if wish is None:
        raise BadRequest("control: open needs a wish.")
    request = wish.request()
    request.check()
    session.open(request, play=wish.play, position=wish.position)


def _value(control: Control) -> Any:
    """The value of a control, within its bounds."""
    value = control.value
    if control.action == "step":
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= abs(value) <= FARTHEST:
            raise BadRequest(f"control: step must be an integer from 1 to {FARTHEST} in size; got {value!r}.")
    elif control.action == "speed":
        if not isinstance(value, int | float) or not 0 <= value <= FASTEST:
            raise BadRequest(f"control: speed must be from 0 to {FASTEST:.0f}; got {value!r}.")
    elif control.action == "probe" and len(str(value)) > 10 * LONGEST_PROBE:
        raise BadRequest("control: a probe may have at most 20,000 characters.")
    return value
