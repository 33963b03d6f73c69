"""One call in a process of its own, which can be ended: a fit of compiled code hears nobody."""

from __future__ import annotations

import pickle
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

from margin.selection.workers import end_process

__all__ = ["OutOfTime", "call_within"]

TICK = 0.1  # seconds between two looks at the wish to stop


class OutOfTime(Exception):
    """The call was not done in its time, or was to stop."""


def call_within(seconds: float, stop: threading.Event, function: Callable[..., Any], *arguments: Any) -> Any:
    """What ``function(*arguments)`` returns or raises; :class:`OutOfTime` if it is not done after ``seconds`` or when
    ``stop`` is set.

    >>> call_within(60.0, threading.Event(), divmod, 7, 2)
    (3, 1)
    """
    from joblib.externals.loky.backend import get_context

    context = get_context("loky")
    ours, theirs = context.Pipe()
    process = context.Process(target=_answer, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    try:
        ours.send_bytes(pickle.dumps((function, arguments)))
        return _received(ours, seconds, stop)
    finally:
        end_process(process)
        ours.close()


def _received(pipe: Any, seconds: float, stop: threading.Event) -> Any:
    deadline = time.monotonic() + seconds
    while not stop.is_set() and time.monotonic() < deadline:
        if pipe.poll(TICK):
            try:
                succeeded, value = pipe.recv()
            except (EOFError, OSError):
                raise RuntimeError("the process that worked on it ended") from None
            if succeeded:
                return value
            raise value
    raise OutOfTime


def _answer(pipe: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides what it means
    function, arguments = pickle.loads(pipe.recv_bytes())
    try:
        pipe.send((True, function(*arguments)))
    except Exception as problem:
        pipe.send((False, problem))
