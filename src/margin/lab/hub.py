"""Events for the browser: published by any thread, read by each tab over one stream.

An event belongs to a topic. The hub keeps the last of each topic, bounded in bytes, so that a tab that reconnects gets
what it missed: the identifier of an event (``boot-number``) says where the tab was, and in the life of which server.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import threading
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Mapping
from typing import Any, NamedTuple

from margin.core.strict_json import strict

__all__ = ["EventHub", "LabEvent"]

TOPIC_BYTES = 4_000_000  # what one topic remembers
MOST_TOPICS = 400  # the topic that was silent longest is forgotten
PATIENCE = 15.0  # seconds after which a silent stream says that it is alive


class LabEvent(NamedTuple):
    """One event, ready to be sent."""

    number: int
    topic: str
    text: str


class _Topic:
    def __init__(self) -> None:
        self.events: deque[LabEvent] = deque()
        self.bytes = 0

    def add(self, event: LabEvent) -> None:
        self.events.append(event)
        self.bytes += len(event.text)
        while self.bytes > TOPIC_BYTES and len(self.events) > 1:
            self.bytes -= len(self.events.popleft().text)


class EventHub:
    """What happened, by topic."""

    def __init__(self) -> None:
        self.boot = secrets.token_hex(4)
        self._lock = threading.Lock()
        self._number = 0
        self._topics: OrderedDict[str, _Topic] = OrderedDict()
        self._listeners: dict[asyncio.Event, tuple[asyncio.AbstractEventLoop, tuple[str, ...]]] = {}
        self._closed = False

    def publish(self, topic: str, event: Any) -> None:
        """Tell everyone who follows ``topic``; ``event`` is plain JSON. Any thread may call this."""
        self.publish_text(topic, json.dumps(strict(event), allow_nan=False, separators=(",", ":")))

    def publish_text(self, topic: str, text: str, *, instead: bool = False) -> None:
        """The same for an event that is JSON already; ``instead`` takes the place of all earlier ones of its topic."""
        with self._lock:
            self._number += 1
            if instead:
                self._topics.pop(topic, None)
            self._topics.setdefault(topic, _Topic()).add(LabEvent(self._number, topic, text))
            self._topics.move_to_end(topic)
            while len(self._topics) > MOST_TOPICS:
                self._topics.popitem(last=False)
        self._wake()

    def forget(self, topic: str) -> None:
        """Drop what is remembered of a topic that has ended."""
        with self._lock:
            self._topics.pop(topic, None)

    def followers(self, topic: str) -> int:
        """How many tabs follow a topic."""
        with self._lock:
            return sum(topic in topics for _, topics in self._listeners.values())

    def close(self) -> None:
        """End all streams."""
        self._closed = True
        self._wake()

    def since(self, seen: Mapping[str, int]) -> list[LabEvent]:
        """What was published to each topic after the event that was ``seen`` last, in order."""
        with self._lock:
            found = {topic: self._topics[topic].events for topic in seen if topic in self._topics}
            return sorted(event for topic, events in found.items() for event in events if event.number > seen[topic])

    def position(self, identifier: str | None) -> int:
        """The number in an identifier that this server gave; 0 for any other, so that nothing is missed."""
        boot, _, number = (identifier or "").partition("-")
        return int(number) if boot == self.boot and number.isdecimal() else 0

    async def follow(self, seen: Mapping[str, int]) -> AsyncIterator[LabEvent | None]:
        """Events after those ``seen``, by topic, as they come; None when nothing came for a while."""
        seen, signal = dict(seen), asyncio.Event()
        with self._lock:
            self._listeners[signal] = asyncio.get_running_loop(), tuple(seen)
        try:
            while not self._closed:
                signal.clear()
                events = self.since(seen)
                for event in events:
                    seen[event.topic] = event.number
                    yield event
                if not events and not await _set_within(signal, PATIENCE):
                    yield None
        finally:
            with self._lock:
                self._listeners.pop(signal, None)

    def _wake(self) -> None:
        with self._lock:
            listeners = list(self._listeners.items())
        for signal, (loop, _) in listeners:
            if not loop.is_closed():
                loop.call_soon_threadsafe(signal.set)


async def _set_within(signal: asyncio.Event, seconds: float) -> bool:
    try:
        await asyncio.wait_for(signal.wait(), seconds)
    except TimeoutError:
        return False
    return True
