"""Sessions: fits that pages watch, each in a process that can be ended whatever it is at."""

from __future__ import annotations

import json
import secrets
import threading
import time
from contextlib import suppress
from typing import Any

from margin.lab.hub import EventHub
from margin.lab.player import play_in_process
from margin.lab.stages.request import PlayRequest
from margin.selection.workers import POOLS, end_process
from margin.service.requests import BadRequest

__all__ = ["MOST_SESSIONS", "LabSession", "SessionPool"]

MOST_SESSIONS = 8
UNWATCHED = 90.0  # seconds after which a session that no tab follows is ended
GRACE = 15.0  # seconds that a tab takes at most to follow what it began
ROUND = 5.0  # seconds between two looks for such
ENDED = "Its process ended (out of memory, or killed); begin again to go on."


class LabSession:
    """One process, the pipe to it, and what it said last."""

    def __init__(self, hub: EventHub):
        self.id, self.hub = secrets.token_hex(8), hub
        self.request: PlayRequest | None = None
        self.records: list[dict[str, Any]] = []
        self.last: dict[str, Any] = {"type": "opening"}
        self.closed = False
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
        self._start()
        threading.Thread(target=self._listen, args=(self._pipe,), daemon=True, name=self.topic).start()

    def _start(self) -> None:
        from joblib.externals.loky.backend import get_context

        context = get_context("loky")  # starts processes without a guarded main module
        self._pipe, theirs = context.Pipe()
        env = {"OMP_WAIT_POLICY": "passive", **{f"{pool}_NUM_THREADS": "1" for pool in POOLS}}
        self._process = context.Process(target=play_in_process, args=(theirs,), daemon=True, env=env)
        self._process.start()
        theirs.close()

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
                self._pipe.send((action, value))

    def snapshot(self) -> dict[str, Any]:
        """All that a page needs to show the session from nothing."""
        with self._lock:
            return {"id": self.id, "records": list(self.records), "last": self.last, "closed": self.closed}

    def close(self) -> None:
        with self._lock:
            if self.closed:
                return
            self.closed = True
        end_process(self._process)
        with suppress(OSError):
            self._pipe.close()
        self.hub.forget(self.topic)

    def _listen(self, pipe: Any) -> None:
        """Publish what the process says, until it says nothing any more."""
        while True:
            try:
                text = pipe.recv()
            except (EOFError, OSError, TypeError):
                break
            self._hear(text)
        self.ended = True
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
    """All sessions of the server, few enough for its memory; with ``warm``, one process more waits for the next.

    A process needs seconds for its imports, which a person would see.
    """

    def __init__(self, hub: EventHub, *, warm: bool):
        self.hub, self.warm = hub, warm
        self._sessions: dict[str, LabSession] = {}
        self._spare: LabSession | None = None
        self._lock = threading.Lock()
        self._stop = threading.Event()

    def start(self) -> None:
        self._prepare_spare()
        threading.Thread(target=self._look_after, daemon=True, name="sessions").start()

    def create(self, request: PlayRequest, *, play: bool, position: int = 1) -> LabSession:
        """A new session; the one that was touched longest ago and does not play makes room for it."""
        request.check()
        with self._lock:
            if len(self._sessions) >= MOST_SESSIONS:
                self._make_room()
            session, self._spare = self._spare or LabSession(self.hub), None
            self._sessions[session.id] = session
        session.open(request, play=play, position=position)
        threading.Thread(target=self._prepare_spare, daemon=True).start()
        return session

    def get(self, id: str) -> LabSession:
        with self._lock:
            if id not in self._sessions:
                raise KeyError(f"There is no session {id!r}; sessions that nobody watches are ended.")
            return self._sessions[id]

    def remove(self, id: str) -> None:
        session = self.get(id)
        with self._lock:
            self._sessions.pop(id, None)
        session.close()

    def close(self) -> None:
        self._stop.set()
        with self._lock:
            sessions = [*self._sessions.values(), *([self._spare] if self._spare else [])]
            self._sessions, self._spare = {}, None
        for session in sessions:
            session.close()

    def __len__(self) -> int:
        return len(self._sessions)

    def _make_room(self) -> None:
        """End what is missed least: what nobody follows, be it that its tab is gone; then what is paused."""
        gone = time.monotonic() - GRACE
        alone = [s for s in self._sessions.values() if not self.hub.followers(s.topic)]
        idle = [s for s in alone if not s.playing or s.touched < gone]
        idle = idle or [session for session in self._sessions.values() if not session.playing]
        if not idle:
            raise BadRequest(f"{MOST_SESSIONS} fits are playing; pause or close one to begin another.")
        oldest = min(idle, key=lambda session: session.touched)
        del self._sessions[oldest.id]
        threading.Thread(target=oldest.close, daemon=True).start()

    def _prepare_spare(self) -> None:
        with self._lock:
            if self.warm and self._spare is None and not self._stop.is_set():
                self._spare = LabSession(self.hub)

    def _look_after(self) -> None:
        while not self._stop.wait(ROUND):
            self.end_unwatched(time.monotonic())

    def end_unwatched(self, now: float) -> None:
        """End sessions whose tabs are gone."""
        for session in list(self._sessions.values()):
            if self.hub.followers(session.topic):
                session.touched = now
            elif now - session.touched > UNWATCHED:
                with suppress(KeyError):
                    self.remove(session.id)
