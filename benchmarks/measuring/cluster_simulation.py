"""How long a pass over the parts of a stream takes on a cluster, from the seconds and message sizes that were measured.

Parts are given out in order to whoever is free, a few ahead of their turn; what they give comes to one caller over one
line and is merged there in order. Nothing else takes time, and no machine is slower than another.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Asking", "PartCost", "PassTime", "asking_time", "simulate_pass"]


class PartCost(NamedTuple):
    """Seconds of a worker, and bytes of what it sends back."""

    seconds: float
    size: float


class PassTime(NamedTuple):
    """Seconds until the pass is merged, of the busiest worker, and of the caller."""

    total: float
    busiest: float
    caller: float


class Asking(NamedTuple):
    """Questions to all workers, each of which waits for the one before: seconds of one worker that has all rows, bytes
    that a worker sends back whatever rows it has, and bytes per row set that go to and fro."""

    calls: int
    seconds: float
    size: float
    rows_size: float


def asking_time(asking: Asking, workers: int, *, scale: float, bandwidth: float, latency: float) -> PassTime:
    """Such questions on ``workers`` that share ``scale`` times the rows; all messages pass the line of the caller.

    >>> asking_time(Asking(10, 4.0, 0.0, 0.0), 2, scale=1.0, bandwidth=1e9, latency=0.1)
    PassTime(total=4.0, busiest=2.0, caller=0.0)
    """
    busiest = asking.seconds * scale / workers
    line = (asking.size * workers + asking.rows_size * scale) / bandwidth
    return PassTime(busiest + line + 2 * latency * asking.calls, busiest, 0.0)


def simulate_pass(
    parts: Sequence[PartCost], workers: int, *, merge: float, bandwidth: float, latency: float = 0.0, ahead: int = 2
) -> PassTime:
    """A pass on ``workers``: ``merge`` seconds of the caller per part, ``bandwidth`` in bytes per second of its line,
    ``latency`` in seconds of every message, ``ahead`` parts per worker that are sent before their turn.

    >>> simulate_pass([PartCost(1.0, 0.0)] * 4, 2, merge=0.0, bandwidth=1e9)
    PassTime(total=2.0, busiest=2.0, caller=0.0)
    """
    free = [(0.0, k) for k in range(workers)]  # when, and which
    busy = [0.0] * workers
    line = caller = 0.0
    merged: list[float] = []
    window = ahead * workers
    for number, part in enumerate(parts):
        sent = merged[number - window] if number >= window else 0.0
        at, worker = heapq.heappop(free)
        done = max(at, sent + latency) + part.seconds
        busy[worker] += part.seconds
        heapq.heappush(free, (done, worker))
        line = max(line, done) + part.size / bandwidth
        caller = max(caller, line + latency) + merge
        merged.append(caller)
    return PassTime(caller, max(busy), merge * len(parts))
