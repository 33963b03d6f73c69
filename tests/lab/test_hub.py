"""Events reach those who follow, in order, once, from any thread, and after a lost connection."""

import asyncio
import json
import threading

from tests.event_loops import run_coroutine

from margin.lab import hub as hub_module
from margin.lab.hub import EventHub


def read(hub, seen, count):
    async def collect():
        found = []
        async for event in hub.follow(seen):
            found.append(event)
            if len(found) == count:
                return found

    return run_coroutine(asyncio.wait_for(collect(), 30))


def test_what_was_published_before_is_replayed_in_order():
    hub = EventHub()
    for number in range(5):
        hub.publish("a" if number % 2 else "b", number)
    assert [json.loads(event.text) for event in read(hub, {"a": 0, "b": 0}, 5)] == [0, 1, 2, 3, 4]
    assert [json.loads(event.text) for event in read(hub, {"a": 0}, 2)] == [1, 3]


def test_a_tab_that_reconnects_gets_what_it_missed_and_nothing_twice():
    hub = EventHub()
    for number in range(4):
        hub.publish("a", number)
    second = read(hub, {"a": 0}, 2)[-1]
    assert hub.position(f"{hub.boot}-{second.number}") == second.number
    assert [json.loads(event.text) for event in read(hub, {"a": second.number}, 2)] == [2, 3]


def test_identifiers_of_another_server_begin_anew():
    hub = EventHub()
    hub.publish("a", 0)
    for identifier in (None, "", "other-7", f"{hub.boot}-x", f"{hub.boot}-", f"{hub.boot}--1"):
        assert hub.position(identifier) == 0


def test_events_of_other_threads_wake_those_who_wait():
    hub = EventHub()
    threads = [threading.Timer(0.05, hub.publish, ("a", number)) for number in range(8)]
    for thread in threads:
        thread.start()
    found = read(hub, {"a": 0}, 8)
    assert sorted(json.loads(event.text) for event in found) == list(range(8))
    assert [event.number for event in found] == sorted(event.number for event in found)


def test_a_topic_and_the_number_of_topics_are_bounded(monkeypatch):
    monkeypatch.setattr(hub_module, "TOPIC_BYTES", 100)
    monkeypatch.setattr(hub_module, "MOST_TOPICS", 3)
    hub = EventHub()
    for _ in range(50):
        hub.publish("a", "x" * 20)
    kept = hub.since({"a": 0})
    assert sum(len(event.text) for event in kept) <= 100
    assert kept[-1].number == 50
    for name in "bcd":
        hub.publish(name, 1)
    assert hub.since({"a": 0}) == []
    assert len(hub.since({"b": 0, "c": 0, "d": 0})) == 3


def test_closing_ends_the_streams():
    hub = EventHub()
    threading.Timer(0.05, hub.close).start()

    async def collect():
        return [event async for event in hub.follow({"a": 0})]

    assert run_coroutine(asyncio.wait_for(collect(), 30)) == []
    assert hub.followers("a") == 0


def test_an_event_can_take_the_place_of_earlier_ones():
    hub = EventHub()
    for number in range(4):
        hub.publish_text("frames", str(number), instead=True)
    assert [event.text for event in hub.since({"frames": 0})] == ["3"]
