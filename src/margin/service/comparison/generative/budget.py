"""Time for each model of the board: whoever iterates is ended when its share is used up, and measured as it is then."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from margin.core.records import Record
from margin.core.watching import Watcher, watch
from margin.selection.schedule import seconds_text

__all__ = ["Asking", "Deadline", "TimeShares", "TooDear", "end_at"]

#: Of a model's share, what its fit may take: the rest is for asking it. Of all that is left, what that may take.
FIT_PART, ASKING_PART = 0.75, 0.5
NO_MATTER = 1.0  # seconds that an answer may take whatever time is left


class TooDear(Exception):
    """A model whose answers would outlast the budget, with the reason; it has not failed."""


class Asking:
    """Looks at the clock between the parts of a long answer; one that would take more than ``seconds`` is given up.

    >>> now = iter([0.0, 5.0])
    >>> Asking("its density", 30.0, lambda: next(now))(1, 8)
    Traceback (most recent call last):
    ...
    margin.service.comparison.generative.budget.TooDear: its density would take about 40 s
    """

    def __init__(self, what: str, seconds: float | None, clock: Callable[[], float] = time.monotonic):
        self.what, self.seconds, self.clock, self.started = what, seconds, clock, clock()

    def __call__(self, done: int, of: int) -> None:
        needed = (self.clock() - self.started) * of / done
        if self.seconds is not None and done < of and needed > max(self.seconds, NO_MATTER):
            raise TooDear(f"{self.what} would take about {seconds_text(needed)}")


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


def end_at(deadline: Deadline | None) -> AbstractContextManager[None]:
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

    def for_asking(self, n_models: int, reserved: float) -> float | None:
        """Seconds for the answers of the next of so many models: its share, or half of what is left for all."""
        share = self.share(n_models, reserved)
        return None if share is None else max(share, ASKING_PART * (self.left - reserved))

    def rest(self, least: float) -> Deadline | None:
        """All that is left, and ``least`` seconds in any case."""
        return None if self.seconds is None else Deadline(max(self.left, least))
