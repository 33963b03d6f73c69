"""How long a pass over the parts of a stream takes on a cluster, from the seconds and message sizes that were measured.

Parts are given out in order to whoever is free, a few ahead of their turn; what they give comes to one caller over one
line and is merged there in order. Nothing else takes time, and no machine is slower than another.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["PartCost", "PassTime", "simulate_pass"]


class PartCost(NamedTuple):
    """Seconds of a worker, and bytes of what it sends back."""

    seconds: float
    size: float


class PassTime(NamedTuple):
    """Seconds until the pass is merged, of the busiest worker, and of the caller."""

    total: float
    busiest: float
    caller: float


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
