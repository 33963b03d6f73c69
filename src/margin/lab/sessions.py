"""Sessions: fits that pages watch, each in a process that can be ended whatever it is at."""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from margin.lab.forks import Template
from margin.lab.hub import EventHub
from margin.lab.stages.request import PlayRequest
from margin.service.requests import BadRequest

__all__ = ["MOST_SESSIONS", "LabSession", "SessionPool"]

MOST_SESSIONS = 8
UNWATCHED = 30.0  # seconds after which a session whose tab is gone is ended: a reload takes less
UNASKED = 120.0  # and one that no tab ever followed: whoever drives it by requests may take a while between two
GRACE = 15.0  # seconds that a tab takes at most to follow what it began
ROUND = 5.0  # seconds between two looks for such
ENDED = "Its process ended (out of memory, or killed); begin again to go on."


class LabSession:
    """One process, the pipe to it, and what it said last."""

    def __init__(self, hub: EventHub, template: Template):
        self.id, self.hub, self.template = secrets.token_hex(8), hub, template
        self.request: PlayRequest | None = None
        self.records: list[dict[str, Any]] = []
        self.last: dict[str, Any] = {"type": "opening"}
        self.closed = False
        self.followed = False  # whether a tab ever followed it: one that did and does no more is gone, or reloads
        self.touched = time.monotonic()
        self._lock = threading.Lock()
        self._begin()

    @property
    def topic(self) -> str:
        return f"session-{self.id}"

    @property
    def playing(self) -> bool:
        return bool(self.last.get("playing"))

    @property
    def pid(self) -> int:
        return self._process.pid

    def _begin(self) -> None:
        self.ended = False
        self._process = self.template.new_process()
        threading.Thread(target=self._listen, args=(self._process.pipe,), daemon=True, name=self.topic).start()

    def open(self, request: PlayRequest, *, play: bool, position: int = 1) -> None:
        """Begin a fit, in a new process if the old one has ended."""
        with self._lock:
            self.request = request
            if self.ended and not self.closed:
                self._begin()
        self.tell("open", (request, play, position))

    def tell(self, action: str, value: Any = None) -> None:
        """Pass a command on; one for a process that has ended is refused."""
        self.touched = time.monotonic()
        with self._lock:
            if self.closed:
                raise KeyError(f"There is no session {self.id!r}.")
            if self.ended:
                raise BadRequest(ENDED)
            with suppress(OSError, ValueError):  # a process that is just ending is heard by the listener
                self._process.pipe.send((action, value))

    def snapshot(self) -> dict[str, Any]:
        """All that a page needs to show the session from nothing."""
        self.touched = time.monotonic()
        with self._lock:
            return {"id": self.id, "records": list(self.records), "last": self.last, "closed": self.closed}

    def close(self) -> None:
        with self._lock:
            if self.closed:
                return
            self.closed = True
        if not self.ended:  # or its number may be that of another process by now
            self._process.end()
        self.hub.forget(self.topic)

    def _listen(self, pipe: Any) -> None:
        """Publish what the process says, until it says nothing any more."""
        while True:
            try:
                text = pipe.recv()
            except (EOFError, OSError, TypeError):
                break
            self._hear(text)
        with self._lock:
            self.ended = True
        # Closed here alone: closed while this thread reads, its number could be that of another session's pipe, whose
        # frames would then be read here.
        with suppress(OSError):
            pipe.close()
        if not self.closed:
            self._hear(json.dumps({"type": "problem", "error": ENDED, "ended": True}))

    def _hear(self, text: str) -> None:
        event = json.loads(text)
        with self._lock:
            if event["type"] == "frame":
                self.records = self.records[: event["from"]] + event["records"]
            self.last = event
        if event["type"] != "ready":
            # A tab that comes later needs the last frame only, and asks for the records.
            self.hub.publish_text(self.topic, text, instead=True)


class SessionPool:
    """All sessions of the server, few enough for its memory; with ``warm``, what they need is imported at the start."""

    def __init__(self, hub: EventHub, *, warm: bool):
        self.hub, self.warm = hub, warm
        self._sessions: dict[str, LabSession] = {}
        self._template = Template()
        self._lock = threading.Lock()
        self._stop = threading.Event()

    def start(self) -> None:
        if self.warm:
            self._template.start()
        threading.Thread(target=self._look_after, daemon=True, name="sessions").start()

    def create(self, request: PlayRequest, *, play: bool, position: int = 1) -> LabSession:
        """A new session; the one that was touched longest ago and does not play makes room for it."""
        request.check()
        with self._lock:
            if len(self._sessions) >= MOST_SESSIONS:
                self._make_room()
            session = LabSession(self.hub, self._template)
            session.open(request, play=play, position=position)  # before another one can take its place
            self._sessions[session.id] = session
        return session

    def get(self, id: str) -> LabSession:
        with self._lock:
            if id not in self._sessions:
                raise KeyError(f"There is no session {id!r}; sessions that nobody watches are ended.")
            return self._sessions[id]

    def note_followers(self, topics: Iterable[str]) -> None:
        """Somebody follows these topics. Without the lock, which whoever begins a session may hold for a while."""
        for session in list(self._sessions.values()):
            session.followed = session.followed or session.topic in topics

    def remove(self, id: str) -> None:
        session = self.get(id)
        with self._lock:
            self._sessions.pop(id, None)
        session.close()

    def close(self) -> None:
        self._stop.set()
        with self._lock:
            sessions, self._sessions = list(self._sessions.values()), {}
        for session in sessions:
            session.close()
        self._template.close()

    def __len__(self) -> int:
        return len(self._sessions)

    def _make_room(self) -> None:
        """End what is missed least: what nobody follows, be it that its tab is gone; then what is paused."""
        gone = time.monotonic() - GRACE
        alone = [s for s in self._sessions.values() if not self.hub.followers(s.topic)]
        idle = [s for s in alone if not s.playing or s.followed or s.touched < gone]
        idle = idle or [session for session in self._sessions.values() if not session.playing]
        if not idle:
            raise BadRequest(f"{MOST_SESSIONS} fits are playing; pause or close one to begin another.")
        oldest = min(idle, key=lambda session: session.touched)
        del self._sessions[oldest.id]
        threading.Thread(target=oldest.close, daemon=True).start()

    def _look_after(self) -> None:
        while not self._stop.wait(ROUND):
            self.end_unwatched(time.monotonic())

    def end_unwatched(self, now: float) -> None:
        """End sessions whose tabs are gone."""
        for session in list(self._sessions.values()):
            if self.hub.followers(session.topic):
                session.touched = now
            elif now - session.touched > (UNWATCHED if session.followed else UNASKED):
                with suppress(KeyError):
                    self.remove(session.id)
