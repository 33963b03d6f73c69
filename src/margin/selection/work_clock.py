"""Seconds of work: what a fit costs, whatever else the machine does.

A budget is spent by the wall clock, but who is worth its cost must not depend on who shares the processor.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

__all__ = ["WorkClock", "seconds_worked"]


class WorkClock:
    """A clock that goes on by the processor's time or by the wall's, whichever was less since it was read last.

    A process that waits for the processor does not work, and one with several threads is done sooner than the sum of
    their times says.

    >>> wall, processor = iter([0.0, 10.0, 11.0]), iter([0.0, 3.0, 7.0])
    >>> clock = WorkClock(wall.__next__, processor.__next__)
    >>> clock(), clock()  # three of ten seconds, then four threads for one second
    (3.0, 4.0)
    """

    def __init__(
        self,
        wall: Callable[[], float] = time.perf_counter,
        processor: Callable[[], float] = time.process_time,
    ):
        self._clocks = wall, processor
        self._lock = threading.Lock()
        self._read, self._seconds = [clock() for clock in self._clocks], 0.0

    def __call__(self) -> float:
        with self._lock:
            now = [clock() for clock in self._clocks]
            wall, processor = (b - a for a, b in zip(self._read, now, strict=True))
            self._read = now
            self._seconds += max(min(wall, processor), 0.0)
            return self._seconds


#: The clock of this process.
seconds_worked = WorkClock()
