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
from multiprocessing import connection as pipes
from typing import Any, NamedTuple

from margin.core.threads import available
from margin.selection.outputs import Output
from margin.selection.prepared import PreparedColumns
from margin.selection.trial import FOLD, SCREEN, Candidate, Task, Trial, TrialData, blank_trial, run_trial
from margin.selection.warm_up import warm_up
from margin.selection.work_clock import seconds_worked

__all__ = ["NOT_BEGUN", "InProcess", "NextTask", "Result", "WorkerPool", "end_process"]

NextTask = Callable[[], Task | None]
Result = tuple[Trial, Output | None]

TICK = 0.1  # seconds between two looks at the clock and at the wish to stop
HEARTBEAT = 0.5  # seconds between two reports of how long a worker has worked
#: A process that waits for the processor has so many times its limit by the wall clock, and then is taken for stuck.
PATIENCE = 8.0
#: Why a trial has no score whose process was still being started when time was up: that says nothing of its model.
NOT_BEGUN = "not begun when its time was up"
POOLS = ("MARGIN", "OMP", "OPENBLAS", "MKL")


class Worked(NamedTuple):
    """How far a worker is: seconds of work until now, and whether the trial has begun."""

    seconds: float
    begun: bool


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
                outcome = worker.result() if worker.pipe in ready else None
                outcome = outcome or worker.overdue(time.monotonic())
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
        self.candidate, self.task = candidate, task
        self.since, self.began, self.worked = math.inf, 0.0, 0.0
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
            message = self._give_up("the process that fitted it ended", late=False)
        if isinstance(message, Worked):
            self.hear(message, time.monotonic())
            return None
        if isinstance(message, OSError):  # a full disk is no fault of the model
            raise message
        self.task = None
        return message

    def hear(self, said: Worked, now: float) -> None:
        """A trial begins when its data are there, its libraries imported and its class loaded."""
        if said.begun and self.since == math.inf:
            self.since, self.began = now, said.seconds
        self.worked = said.seconds - self.began if said.begun else 0.0

    def overdue(self, now: float) -> Result | None:
        task = self.task
        assert task is not None
        waited = now - self.since
        if task.limit is not None and (self.worked > task.limit or waited > PATIENCE * task.limit):
            reason = f"took more than {task.limit:.0f} s on {len(task.train):,} rows"
        elif task.deadline is not None and now > task.deadline:
            begun = self.since < math.inf
            reason = f"not done with {len(task.train):,} rows when its time was up" if begun else NOT_BEGUN
        else:
            return None
        outcome = self._give_up(reason, late=True)
        self.task = None
        return outcome

    def _give_up(self, reason: str, late: bool) -> Result:
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
    with suppress(EOFError, OSError):
        data = pickle.loads(pipe.recv_bytes())
        reports = _Reports(pipe)
        prepared, warm = PreparedColumns(seconds_worked), set[str]()
        while True:
            candidate, task = pickle.loads(pipe.recv_bytes())
            reports.prepare()
            if _decides_by_cost(task) and candidate.name not in warm:
                warm_up(candidate, data, task.train, prepared)
            warm.add(candidate.name)
            reports.end_with(_outcome(candidate, data, task, reports.begin, prepared))


def _decides_by_cost(task: Task) -> bool:
    """Whether what the trial costs says who goes on."""
    return task.limit is not None and task.stage in (SCREEN, FOLD)


def _outcome(
    candidate: Candidate, data: TrialData, task: Task, begin: Callable[[], None], prepared: PreparedColumns
) -> Result | OSError:
    try:
        return run_trial(candidate, data, task, begin, prepared)
    except OSError as error:
        return error


class _Reports:
    """Tells the parent from ``prepare`` to ``end_with``, twice a second, how long this process has worked."""

    def __init__(self, pipe: Any):
        self.pipe, self.lock = pipe, threading.Lock()
        self.busy = self.begun = False
        threading.Thread(target=self._report, daemon=True).start()

    def prepare(self) -> None:
        with self.lock:
            self.busy, self.begun = True, False

    def begin(self) -> None:
        with self.lock:
            self.begun = True
            self._say()

    def end_with(self, outcome: Any) -> None:
        with self.lock:
            self.busy = False
            self.pipe.send(outcome)

    def _report(self) -> None:
        with suppress(OSError):
            while True:
                time.sleep(HEARTBEAT)
                with self.lock:
                    if self.busy:
                        self._say()

    def _say(self) -> None:
        self.pipe.send(Worked(seconds_worked(), self.begun))
