"""Calls in processes of their own, which can be stopped and have a limit of time.

A check of the notes or a prediction runs compiled code that hears nobody, so whoever serves others while it runs sends
it to a process at the end of a pipe; one that takes too long, or is stopped, ends with its process, and the next call
gets a new one.
"""

from __future__ import annotations

import pickle
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from margin.core.full_disk import is_full_disk
from margin.selection.workers import POOLS, end_process
from margin.service.requests import BadRequest

__all__ = ["BoundedCalls", "CallGivenUp"]

TICK = 0.05  # seconds between two looks at the wish to stop


class CallGivenUp(BadRequest):
    """A call was stopped, took too long, or its process ended; the sentence says which."""


class BoundedCalls:
    """Up to ``n_workers`` calls at a time; more than ``n_waiting`` others are refused."""

    def __init__(self, n_workers: int = 2, n_waiting: int = 16):
        self._free = threading.BoundedSemaphore(n_workers)
        self._lock = threading.Lock()
        self._idle: list[_Process] = []
        self._busy: dict[str, threading.Event] = {}
        self._places = n_workers + n_waiting
        self._closed = False

    def call(self, function: Callable[..., Any], *arguments: Any, seconds: float, name: str = "") -> Any:
        """``function(*arguments)`` in a process, for at most ``seconds``; :meth:`stop` with ``name`` ends it.

        ``function`` is one of a module; a :class:`BadRequest` or ``KeyError`` that it raises is raised here.
        """
        stop = self._enter(name)
        try:
            with self._free:
                process = self._take()
                try:
                    answer = process.run(function, arguments, seconds, stop)
                finally:
                    self._give_back(process)
        finally:
            self._leave(name, stop)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def stop(self, name: str) -> bool:
        """End the call of this name; whether there was one."""
        with self._lock:
            stop = self._busy.get(name)
        if stop is not None:
            stop.set()
        return stop is not None

    def prepare(self) -> None:
        """Start one process now, so that the first call finds its libraries loaded; nobody waits for it."""
        with self._lock:
            if not self._idle and not self._busy and not self._closed:
                self._idle.append(_Process())

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            stops = list(self._busy.values())
        for stop in stops:
            stop.set()
        for process in idle:
            process.end()

    def _enter(self, name: str) -> threading.Event:
        stop = threading.Event()
        with self._lock:
            if len(self._busy) >= self._places:
                raise CallGivenUp(f"{len(self._busy)} calls are waiting already; try again when some are done.")
            key = name or f"call {id(stop)}"
            if key in self._busy:
                raise CallGivenUp(f"{name!r} is running already.")
            self._busy[key] = stop
        return stop

    def _leave(self, name: str, stop: threading.Event) -> None:
        with self._lock:
            self._busy.pop(name or f"call {id(stop)}", None)

    def _take(self) -> _Process:
        with self._lock:
            if self._closed:
                raise CallGivenUp("The lab is closing.")
            if self._idle:
                return self._idle.pop()
        return _Process()

    def _give_back(self, process: _Process) -> None:
        with self._lock:
            keeps = not process.ended and not self._closed
            if keeps:
                self._idle.append(process)
        if not keeps:
            process.end()


class _Process:
    """One process, and the pipe to it."""

    def __init__(self) -> None:
        from joblib.externals.loky.backend import get_context

        context = get_context("loky")  # needs no guarded main module
        self.pipe, theirs = context.Pipe()
        env = {"OMP_WAIT_POLICY": "passive", **{f"{pool}_NUM_THREADS": "1" for pool in POOLS}}
        self.process = context.Process(target=_serve, args=(theirs,), daemon=True, env=env)
        self.process.start()
        theirs.close()
        self.ended = False

    def run(self, function: Callable[..., Any], arguments: Any, seconds: float, stop: threading.Event) -> Any:
        deadline = time.monotonic() + seconds
        try:
            self.pipe.send_bytes(pickle.dumps((function, arguments)))
            while not self.pipe.poll(TICK):
                if stop.is_set() or time.monotonic() > deadline:
                    self.end()
                    return CallGivenUp("stopped." if stop.is_set() else f"not done within {seconds:g} s: ended.")
            return pickle.loads(self.pipe.recv_bytes())
        except (EOFError, OSError):
            self.end()
            return CallGivenUp("The process that ran it ended before it was done.")

    def end(self) -> None:
        if not self.ended:
            self.ended = True
            end_process(self.process)
            self.pipe.close()


def _serve(pipe: Any) -> None:
    """The life of a process: call after call until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides what it means
    with suppress(EOFError, OSError):
        while True:
            function, arguments = pickle.loads(pipe.recv_bytes())
            pipe.send_bytes(pickle.dumps(_answer(function, arguments)))


def _answer(function: Callable[..., Any], arguments: Any) -> Any:
    try:
        return function(*arguments)
    except BadRequest as problem:
        return BadRequest(str(problem))
    except KeyError as problem:
        return KeyError(str(problem.args[0]) if problem.args else "nothing of that name")
    except (ValueError, OSError) as problem:  # what reading a file or a model says is one sentence
        if isinstance(problem, OSError) and is_full_disk(problem):
            return OSError(problem.errno, problem.strerror)  # whoever asks knows what to say of a full disk
        return BadRequest(str(problem))
    except Exception as problem:
        return BadRequest(f"{type(problem).__name__}: {problem}")
