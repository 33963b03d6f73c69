"""One stream of events per tab: HTTP/1.1 allows a browser only six connections to a host."""

from __future__ import annotations

import json
from collections.abc import AsyncIterable
from typing import Annotated

from fastapi import APIRouter, Header, Query
from fastapi.sse import EventSourceResponse, ServerSentEvent

from margin.lab.lab import CurrentLab

router = APIRouter(tags=["events"])

MOST_TOPICS = 50


@router.get("/events", response_class=EventSourceResponse)
async def events(
    lab: CurrentLab,
    topics: Annotated[str, Query(max_length=6000, description="topic@id of the last event seen, separated by commas")],
    last_event_id: Annotated[str | None, Header()] = None,
) -> AsyncIterable[ServerSentEvent]:
    """What happens in the chosen topics, after the events that were seen.

    The data of an event are ``[topic, event]``. A tab that lost its connection continues behind its last event.
    """
    hub = lab.hub
    reached = hub.position(last_event_id)
    chosen = [entry.rpartition("@") for entry in topics.split(",")[:MOST_TOPICS]]
    seen_last = {topic: max(reached, hub.position(seen)) for topic, _, seen in chosen}
    lab.sessions.note_followers(seen_last)
    async for event in hub.follow(seen_last):
        if event is None:
            yield ServerSentEvent(comment="alive")
        else:
            data = f"[{json.dumps(event.topic)},{event.text}]"
            yield ServerSentEvent(raw_data=data, id=f"{hub.boot}-{event.number}")
