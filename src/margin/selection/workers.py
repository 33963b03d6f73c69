"""Trials in worker processes that can be given up: a fit that takes too long ends with its process.

A pool of joblib cannot end one task and keep the others, and a fit of compiled code hears nobody, so each worker is a
process at the end of a pipe. Workers are started by joblib's own starter, which needs no guarded main module.
"""

from __future__ import annotations

import math
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from multiprocessing import connection as pipes
from typing import Any

from margin.core.threads import available
from margin.selection.outputs import Output
from margin.selection.prepared import PreparedColumns
from margin.selection.trial import (
    Candidate,
    Task,
    Trial,
    TrialData,
    blank_trial,
    compile_seconds,
    run_trial,
    seconds_worked,
)

__all__ = ["InProcess", "NextTask", "Result", "WorkerPool", "end_process"]

NextTask = Callable[[], Task | None]
Result = tuple[Trial, Output | None]

TICK = 0.1  # seconds between two looks at the clock and at the wish to stop
READY, COMPILING, HEARTBEAT = "ready", "compiling", 0.5
POOLS = ("MARGIN", "OMP", "OPENBLAS", "MKL", "NUMBA")


class InProcess:
    """Trials one after the other in this process: nothing to start, nothing that could be given up."""

    n_jobs = 1

    def __init__(self, candidates: Sequence[Candidate], data: TrialData):
        self.candidates = {candidate.name: candidate for candidate in candidates}
        self.data = data
        self.prepared = PreparedColumns(seconds_worked)

    def add(self, candidate: Candidate) -> None:
        self.candidates[candidate.name] = candidate

    def run(self, next_task: NextTask, stop: threading.Event) -> Iterator[Result]:
        while not stop.is_set() and (task := next_task()) is not None:
            yield run_trial(self.candidates[task.model], self.data, task, prepared=self.prepared)

    def close(self) -> None:
        """Nothing is open."""


class WorkerPool:
    """``n_jobs`` processes; ``run`` asks ``next_task`` whenever one is free and yields results as they come."""

    def __init__(self, candidates: Sequence[Candidate], data: TrialData, n_jobs: int):
        self.candidates = {candidate.name: candidate for candidate in candidates}
        self.data, self.n_jobs = data, n_jobs
        self._payload = pickle.dumps(data)
        self._workers: list[_Worker] = [_Worker(self._payload, n_jobs) for _ in range(n_jobs)]

    def add(self, candidate: Candidate) -> None:
        self.candidates[candidate.name] = candidate

    def run(self, next_task: NextTask, stop: threading.Event) -> Iterator[Result]:
        """Until there are no more tasks or ``stop`` is set; then what still runs is ended."""
        exhausted = False
        while not stop.is_set():
            for worker in self._workers:
                if worker.task is None and not exhausted:
                    task = next_task()
                    exhausted = task is None
                    if task is not None:
                        worker.start(self.candidates[task.model], task)
            busy = [worker for worker in self._workers if worker.task is not None]
            if not busy:
                return
            ready = pipes.wait([worker.pipe for worker in busy], timeout=TICK)
            for worker in busy:
                outcome = worker.result() if worker.pipe in ready else worker.overdue()
                if outcome is not None:
                    exhausted = False  # what a trial showed may call for another
                    self._replace_if_ended(worker)
                    yield outcome
        for worker in self._workers:
            if worker.task is not None:
                worker.end()
                self._replace_if_ended(worker)

    def _replace_if_ended(self, worker: _Worker) -> None:
        if worker.ended:
            self._workers[self._workers.index(worker)] = _Worker(self._payload, self.n_jobs)

    def close(self) -> None:
        for worker in self._workers:
            worker.end()


class _Worker:
    """One process, the pipe to it, and the task it is at."""

    def __init__(self, payload: bytes, n_jobs: int):
        from joblib.externals.loky.backend import get_context

        context = get_context("loky")
        threads = str(max(1, available() // n_jobs))
        self.pipe, theirs = context.Pipe()
        # Pools that spin while another works cost more than they give.
        env = {"OMP_WAIT_POLICY": "passive", **{f"{pool}_NUM_THREADS": threads for pool in POOLS}}
        self.process = context.Process(target=_work, args=(theirs,), daemon=True, env=env)
        self.process.start()
        theirs.close()
        self.task: Task | None = None
        self.candidate: Candidate
        self.ended = False
        self._payload: bytes | None = payload  # sent with the first task: a worker that is never needed gets nothing

    def start(self, candidate: Candidate, task: Task) -> None:
        self.candidate, self.task, self.since, self.compiled = candidate, task, math.inf, 0.0
        with suppress(OSError):  # a process that died shows when its result is read
            if self._payload is not None:
                self.pipe.send_bytes(self._payload)
                self._payload = None
            self.pipe.send_bytes(pickle.dumps((candidate, task)))

    def result(self) -> Result | None:
        """What the process sent; one that died (out of memory, a crash in compiled code) failed that model."""
        try:
            message = self.pipe.recv()
        except (EOFError, OSError):
            message = self._given_up("the process that fitted it ended", late=False)
        else:
            if message == READY:  # the clock of a task starts when its data are there and its libraries imported
                self.since = time.monotonic()
                return None
            if message == COMPILING:  # once in a machine's life, and no fault of the model
                self.since += HEARTBEAT
                self.compiled += HEARTBEAT
                return None
        self.task = None
        return message

    def overdue(self) -> Result | None:
        task, now = self.task, time.monotonic()
        assert task is not None
        if task.limit is not None and now - self.since > task.limit:
            reason = f"took more than {task.limit:.0f} s on {len(task.train):,} rows"
        elif task.deadline is not None and now > task.deadline + self.compiled:
            reason = f"not done with {len(task.train):,} rows when its time was up"
        else:
            return None
        outcome = self._given_up(reason, late=True)
        self.task = None
        return outcome

    def _given_up(self, reason: str, late: bool) -> Result:
        assert self.task is not None
        self.end()
        return replace(blank_trial(self.candidate, self.task), error=reason, late=late), None

    def end(self) -> None:
        self.ended = True
        end_process(self.process)
        self.pipe.close()


def end_process(process: Any) -> None:
    """End a process of joblib's starter, whatever it is at."""
    if hasattr(signal, "SIGKILL"):
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
    else:
        process.terminate()
    process.join()


def _work(pipe: Any) -> None:
    """The life of a worker: data once, then task after task until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides what it means
    lock = threading.Lock()
    with suppress(EOFError, OSError):
        data = pickle.loads(pipe.recv_bytes())
        threading.Thread(target=_say_when_compiling, args=(pipe, lock), daemon=True).start()
        prepared = PreparedColumns(seconds_worked)
        while True:
            candidate, task = pickle.loads(pipe.recv_bytes())
            result = run_trial(candidate, data, task, partial(_send, pipe, lock, READY), prepared)
            _send(pipe, lock, result)


def _say_when_compiling(pipe: Any, lock: Any) -> None:
    """Tell the parent, as long as kernels are being compiled, that the clock of the trial stands still."""
    with suppress(OSError):
        while True:
            time.sleep(HEARTBEAT)
            if compile_seconds()[1]:
                _send(pipe, lock, COMPILING)


def _send(pipe: Any, lock: Any, message: Any) -> None:
    with lock:
        pipe.send(message)
