"""What goes on while kernels are compiled: a line that says so, and the garbage collector waits.

Numba tells listeners when it begins and ends with a function; what that function calls is compiled in between.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from typing import Any

from numba.core import event

__all__ = ["CollectorPause", "CompileNotice", "listen"]

PATIENCE = 1.0  # seconds of compiling before the user is told why nothing happens


def _is_ours(event: Any) -> bool:
    """Whether it is a kernel of this package that is compiled."""
    home = event.data["dispatcher"].py_func.__module__ or ""
    return bool(home.partition(".")[0] == "margin")


class CompileNotice(event.Listener):
    """Says once per process that compiling takes its time, when it does, and counts the seconds it took."""

    def __init__(self, clock: Any = time.monotonic, write: Any = None):
        self.clock, self.write = clock, write
        self.depth, self.began, self.announced, self.seconds = 0, 0.0, False, 0.0

    def on_start(self, event: Any) -> None:
        if self.depth == 0:
            self.began = self.clock()
        self.depth += 1
        self._look(event)

    def on_end(self, event: Any) -> None:
        self._look(event)
        self.depth -= 1
        if self.depth == 0:
            self.seconds += self.clock() - self.began

    def _look(self, event: Any) -> None:
        if not self.announced and _is_ours(event) and self.clock() - self.began > PATIENCE:
            self.announced = True
            print("margin: compiling, once per machine", file=self.write or sys.stderr, flush=True)


class CollectorPause(event.Listener):
    """Holds Python's garbage collector off, and leaves it as it was.

    A compiler builds many small objects. The collector walks over all of them again and again and frees hardly any:
    that took a sixth of compiling a grower of trees.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.depth, self.was_on = 0, False

    def on_start(self, event: Any) -> None:
        if not _is_ours(event):
            return
        with self.lock:
            if self.depth == 0:
                self.was_on = gc.isenabled()
                gc.disable()
            self.depth += 1

    def on_end(self, event: Any) -> None:
        if not _is_ours(event):
            return
        with self.lock:
            self.depth -= 1
            if self.depth == 0 and self.was_on:
                gc.enable()


NOTICE = CompileNotice()


def listen() -> None:
    """From now on, at every function that is compiled."""
    event.register("numba:compile", NOTICE)
    event.register("numba:compile", CollectorPause())
