"""Processes for sessions, forked from one that has imported everything.

The imports of a fit take seconds of a processor (PyTorch, scikit-learn, what an optimizer brings), which a person
would see at every stage. So one process imports, and every session is a copy of it. It computes nothing: a fork would
break the threads that computing starts (those of allocators know forks). Where there is no fork, each process imports
for itself.
"""

from __future__ import annotations

import importlib
import os
import select
import signal
import socket
import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from margin.lab.player import play_in_process
from margin.selection.workers import POOLS, end_process

__all__ = ["SessionProcess", "Template"]

PID_BYTES = 8
ROUND = 0.2  # seconds between two looks whether the template is alive
#: Imported before anybody waits; the last is what the optimizers of PyTorch import at their first step.
IMPORTS = ("torch", "margin.lab.player", "margin.lab.stages.views", "torch._dynamo")


class SessionProcess:
    """One process and our end of its pipe."""

    def __init__(self, pid: int, pipe: Any, started: Any = None):
        self.pid, self.pipe, self._started = pid, pipe, started

    def end(self) -> None:
        """End it, whatever it is at."""
        if self._started is not None:
            end_process(self._started)
            return
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


class Template:
    """The process that sessions are copies of; it is started when it is first needed, and again if it was ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: Any = None
        self._line: socket.socket | None = None

    def start(self) -> None:
        with self._lock:
            self._begin()

    def new_process(self) -> SessionProcess:
        """A process that plays, from now on."""
        if not hasattr(os, "fork"):
            return _started_process()
        with self._lock:
            try:
                return self._fork()
            except OSError:  # it was ended: another takes its place
                self._end()
                return self._fork()

    def close(self) -> None:
        with self._lock:
            self._end()

    def _begin(self) -> None:
        if self._process is not None or not hasattr(os, "fork"):
            return
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._process = _start(_make_copies, (theirs,))
        theirs.close()
        self._line = ours

    def _fork(self) -> SessionProcess:
        self._begin()
        assert self._line is not None
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            try:
                socket.send_fds(self._line, [b"+"], [theirs.fileno()])
                pid = self._answer(self._line)
            except OSError:
                ours.close()
                raise
        return SessionProcess(pid, Connection(ours.detach()))

    def _answer(self, line: socket.socket) -> int:
        """The number of the copy. Copies hold the line too, so its end does not tell that the template has ended."""
        while not select.select([line], [], [], ROUND)[0]:
            if not self._process.is_alive():
                raise OSError("the process that makes others has ended")
        said = line.recv(PID_BYTES, socket.MSG_WAITALL)
        if len(said) < PID_BYTES:
            raise OSError("the process that makes others has ended")
        return int.from_bytes(said, "little")

    def _end(self) -> None:
        if self._process is not None:
            end_process(self._process)
            assert self._line is not None
            self._line.close()
        self._process = self._line = None


def _started_process() -> SessionProcess:
    """A process that begins from nothing."""
    from joblib.externals.loky.backend import get_context

    ours, theirs = get_context("loky").Pipe()
    started = _start(play_in_process, (theirs,))
    theirs.close()
    return SessionProcess(started.pid, ours, started)


def _start(target: Any, arguments: tuple[Any, ...]) -> Any:
    from joblib.externals.loky.backend import get_context

    context = get_context("loky")  # starts processes without a guarded main module
    env = {"OMP_WAIT_POLICY": "passive", **{f"{pool}_NUM_THREADS": "1" for pool in POOLS}}
    process = context.Process(target=target, args=arguments, daemon=True, env=env)
    process.start()
    return process


def _make_copies(line: socket.socket) -> None:
    """Fork whenever a file descriptor comes, between two imports too, until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the server decides what it means
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for copies: the system may forget them at once
    line.setblocking(False)
    for name in (*IMPORTS, *_homes()):
        importlib.import_module(name)
        with suppress(BlockingIOError):
            while _make_copy(line):
                pass
    line.setblocking(True)
    while _make_copy(line):
        pass


def _homes() -> list[str]:
    """The modules of all models."""
    from margin import catalog

    return sorted({entry.path.rpartition(".")[0] for entry in catalog.ENTRIES})


def _make_copy(line: socket.socket) -> bool:
    """One copy; False when the other side has closed."""
    said, descriptors, _, _ = socket.recv_fds(line, 1, 1)
    if not said:
        os._exit(0)
    pid = os.fork()
    if pid == 0:
        line.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        try:
            play_in_process(Connection(descriptors[0]))
        finally:
            os._exit(0)
    os.close(descriptors[0])
    line.sendall(pid.to_bytes(PID_BYTES, "little"))
    return True
