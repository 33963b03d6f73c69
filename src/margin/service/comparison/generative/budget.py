"""Time for each model of the board: whoever iterates is ended when its share is used up, and measured as it is then."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from margin.core.records import Record
from margin.core.watching import Watcher, watch

__all__ = ["Deadline", "TimeShares", "TooDear", "ended_by", "seconds_for_rows"]

#: Of a model's share, what its fit may take: the rest is for asking it.
FIT_PART = 0.75
#: Rows by which is found what asking about many would take.
PROBES = (16, 64)


class TooDear(Exception):
    """A model whose answers would outlast the budget, with the reason; it has not failed."""


def seconds_for_rows(ask: Callable[[int], Any], n_rows: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """About what ``ask(n_rows)`` would take, by what it takes for few rows: so much at once, and so much for each.

    >>> now = [0.0]
    >>> def ask(n):
    ...     now[0] += 2.0 + 0.01 * n
    >>> round(seconds_for_rows(ask, 1000, lambda: now[0]), 6)
    12.0
    """
    sizes = [min(size, n_rows) for size in PROBES]
    ask(sizes[0])  # loads what it needs
    seconds = []
    for size in sizes:
        started = clock()
        ask(size)
        seconds.append(clock() - started)
    per_row = max(seconds[1] - seconds[0], 0.0) / max(sizes[1] - sizes[0], 1)
    return seconds[1] + per_row * (n_rows - sizes[1])


class Deadline(Watcher):
    """Ends every iterative fit when so many seconds have passed; the model stays fitted as of its last iteration.

    A network is asked to end inside an epoch, after the step it is in; others end with their iteration. ``remark`` is
    how far a fit came that was ended.
    """

    def __init__(self, seconds: float):
        self.at, self.remark = time.monotonic() + seconds, ""
        self._timers: dict[int, threading.Timer] = {}

    def begin(self, estimator: Any) -> None:
        if hasattr(estimator, "request_stop"):
            timer = threading.Timer(max(self.at - time.monotonic(), 0.0), estimator.request_stop)
            timer.daemon = True
            timer.start()
            self._timers[id(estimator)] = timer

    def record(self, estimator: Any, record: Record) -> bool:
        if time.monotonic() < self.at or record.iteration == record.total:
            return False
        of_total = "" if record.total is None else f" of {record.total:,}"
        self.remark = f"ended when its time was up, after {record.iteration:,}{of_total} iterations"
        return True

    def end(self, estimator: Any) -> None:
        timer = self._timers.pop(id(estimator), None)
        if timer is not None:
            timer.cancel()


def ended_by(deadline: Deadline | None) -> AbstractContextManager[None]:
    """Inside it, fits end at the deadline, if there is one."""
    return nullcontext() if deadline is None else watch(deadline)


class TimeShares:
    """Seconds for a whole comparison, from ``started`` (of ``clock``) or from now on; None is no limit."""

    def __init__(
        self,
        seconds: float | None,
        started: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.seconds, self.clock = seconds, clock
        self.started = clock() if started is None else started

    @property
    def left(self) -> float:
        return float("inf") if self.seconds is None else self.seconds - (self.clock() - self.started)

    def share(self, n_models: int, reserved: float) -> float | None:
        """Seconds for the next of so many models: its equal part of what is left after what is reserved."""
        return None if self.seconds is None else max(self.left - reserved, 0.0) / max(n_models, 1)

    def rest(self, least: float) -> Deadline | None:
        """All that is left, and ``least`` seconds in any case."""
        return None if self.seconds is None else Deadline(max(self.left, least))
