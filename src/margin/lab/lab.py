"""What the routes of one running lab share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Request

from margin.lab.hub import EventHub
from margin.lab.sessions import SessionPool
from margin.service.bounded_calls import BoundedCalls

__all__ = ["CurrentLab", "Lab"]


class Lab:
    """The hub of events, the sessions, the folder of runs, the processes for calls, and what closes with the server."""

    def __init__(self, hub: EventHub, folder: Path, *, warm: bool):
        self.hub, self.folder = hub, folder
        self.sessions = SessionPool(hub, warm=warm)
        self.calls = BoundedCalls()
        self._closers: list[Any] = [self.calls.close]

    def start(self) -> None:
        """Called once, when the server begins to answer."""
        self.sessions.start()

    def close_with(self, closer: Any) -> None:
        """Call ``closer()`` when the server ends."""
        self._closers.append(closer)

    def close(self) -> None:
        self.hub.close()
        self.sessions.close()
        for closer in reversed(self._closers):
            closer()


def _lab(request: Request) -> Lab:
    return request.app.state.lab


CurrentLab = Annotated[Lab, Depends(_lab)]
