"""Seconds of work: what a fit costs, whatever else the machine does and however long its libraries took to load.

A budget is spent by the wall clock, but who is worth its cost must not depend on who shares the processor, and the
first fit of a class in a process loads compiled code that no later fit waits for.
"""

from __future__ import annotations

import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.watching import watch
from margin.selection.outputs import output_of

if TYPE_CHECKING:
    from margin.selection.trial import Candidate, TrialData

__all__ = ["WorkClock", "compile_seconds", "few_rows", "seconds_worked", "warm_up"]

#: Rows of the fit that only loads what a class needs, about so many in all and at least so many of each class.
FEW_ROWS, FEW_OF_A_CLASS = 48, 3


def compile_seconds() -> tuple[float, bool]:
    """Seconds this process has spent on compiling, and whether it is compiling now; Numba is not imported for it."""
    # While the module is being imported it is there already, but without its names.
    notice = getattr(sys.modules.get("margin.core.compiling_kernels"), "NOTICE", None)
    if notice is None:
        return 0.0, False
    compiling = notice.depth > 0
    return notice.seconds + (notice.clock() - notice.began if compiling else 0.0), compiling


class WorkClock:
    """A clock that goes on by the processor's time or by the wall's, whichever was less since it was read last.

    A process that waits for the processor does not work, and one with several threads is done sooner than the sum of
    their times says. While kernels are compiled, which happens once in a machine's life, the clock stands still.

    >>> wall, processor = iter([0.0, 10.0, 11.0]), iter([0.0, 3.0, 7.0])
    >>> clock = WorkClock(wall.__next__, processor.__next__, lambda: 0.0)
    >>> clock(), clock()  # three of ten seconds, then four threads for one second
    (3.0, 4.0)
    """

    def __init__(
        self,
        wall: Callable[[], float] = time.perf_counter,
        processor: Callable[[], float] = time.process_time,
        compiled: Callable[[], float] = lambda: compile_seconds()[0],
    ):
        self._clocks = wall, processor, compiled
        self._lock = threading.Lock()
        self._read, self._seconds = [clock() for clock in self._clocks], 0.0

    def __call__(self) -> float:
        with self._lock:
            now = [clock() for clock in self._clocks]
            wall, processor, compiled = (b - a for a, b in zip(self._read, now, strict=True))
            self._read = now
            self._seconds += max(min(wall, processor) - compiled, 0.0)
            return self._seconds


#: The clock of this process.
seconds_worked = WorkClock()


def warm_up(candidate: Candidate, data: TrialData, train: np.ndarray) -> None:
    """Fit and ask the model once with a few rows, so that the fit that is timed finds everything loaded.

    One iteration does. Whatever goes wrong on so few rows says nothing: the trial itself will tell.
    """
    rows = few_rows(train, data.y, len(data.classes))
    with suppress(Exception), warnings.catch_warnings(), watch(lambda _, record: True):
        warnings.simplefilter("ignore")
        X: Any = data.X.iloc[rows] if hasattr(data.X, "iloc") else data.X[rows]
        output_of(candidate.make().fit(X, data.y[rows]), X, data.classes)


def few_rows(train: np.ndarray, y: np.ndarray, n_classes: int) -> np.ndarray:
    """The first of the rows ``train``, or the first of every class.

    >>> few_rows(np.arange(9), np.array([0, 0, 0, 0, 0, 0, 0, 0, 1]), 2)
    array([0, 1, 2, 3, 4, 5, 6, 7, 8])
    """
    if not n_classes:
        return train[:FEW_ROWS]
    _, codes = np.unique(y[train], return_inverse=True)
    each = max(FEW_OF_A_CLASS, FEW_ROWS // n_classes)
    return np.sort(np.concatenate([train[codes == code][:each] for code in range(codes.max() + 1)]))
