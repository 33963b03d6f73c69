"""Trials on the workers of a Dask cluster, beside the processes of :mod:`margin.selection.workers`.

The data are sent once; journal, budget and folder stay with the caller, who asks for the next task whenever a worker is
free. Dask gives the trial of a lost worker to another one; a trial that ends its workers again and again fails.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import Any

from margin.core.full_disk import is_full_disk
from margin.selection.dask_cluster import MOST_LOSSES, cluster_client, send_data
from margin.selection.prepared import PreparedColumns
from margin.selection.trial import Candidate, Task, TrialData, blank_trial, run_trial
from margin.selection.work_clock import seconds_worked
from margin.selection.workers import PATIENCE, TICK, NextTask, Result

__all__ = ["DaskPool"]


@dataclass
class _Sent:
    """A trial that is somewhere on the cluster."""

    candidate: Candidate
    task: Task
    since: float
    losses: int = 0


class DaskPool:
    """As many trials at a time as the cluster has threads; a cluster that is named ``local:4`` is made and ended."""

    def __init__(self, candidates: Sequence[Candidate], data: TrialData, cluster: Any):
        self.candidates = {candidate.name: candidate for candidate in candidates}
        self.data = data
        self._open = ExitStack()
        self.client = self._open.enter_context(cluster_client(cluster))
        self.n_jobs = max(1, sum(self.client.nthreads().values()))
        self._sent: dict[Any, _Sent] = {}
        self._there: Any = None

    def add(self, candidate: Candidate) -> None:
        self.candidates[candidate.name] = candidate

    def run(self, next_task: NextTask, stop: threading.Event) -> Iterator[Result]:
        """Until there are no more tasks or ``stop`` is set; then what still runs is given up."""
        exhausted = False
        try:
            while not stop.is_set():
                while len(self._sent) < self.n_jobs and not exhausted:
                    task = next_task()
                    exhausted = task is None
                    if task is not None:
                        self._send(_Sent(self.candidates[task.model], task, time.monotonic()))
                if not self._sent:
                    return
                for outcome in self._outcomes():
                    exhausted = False  # what a trial showed may call for another
                    yield outcome
        finally:
            for future in list(self._sent):
                self._give_up(future)

    def close(self) -> None:
        self._open.close()

    def _send(self, sent: _Sent) -> None:
        if self._there is None:
            self._there = send_data(self.client, self.data, everywhere=True)
        future = self.client.submit(_trial, sent.candidate, self._there, sent.task, pure=False)
        self._sent[future] = sent

    def _outcomes(self) -> Iterator[Result]:
        from distributed import wait

        with suppress(TimeoutError, CancelledError):  # of a trial that was lost with its worker, see _outcome
            wait(list(self._sent), timeout=TICK, return_when="FIRST_COMPLETED")
        now = time.monotonic()
        for future, sent in list(self._sent.items()):
            if future.done():
                outcome = self._outcome(future, self._sent.pop(future))
            else:
                outcome = self._overdue(future, sent, now)
            if outcome is not None:
                yield outcome

    def _outcome(self, future: Any, sent: _Sent) -> Result | None:
        """What a worker found; None for a trial that was lost and is sent again."""
        if future.status == "finished":
            found: Result = future.result()
            return found
        error = future.exception() if future.status == "error" else None
        if error is not None and is_full_disk(error):  # no fault of the model
            raise error
        # The data were on a worker that is gone, or a busy one broke off a connection.
        if (error is None or isinstance(error, OSError)) and sent.losses < MOST_LOSSES:
            self._there = None
            self._send(replace(sent, losses=sent.losses + 1, since=time.monotonic()))
            return None
        blank = blank_trial(sent.candidate, sent.task)
        return replace(blank, error="the worker that fitted it ended"), None

    def _overdue(self, future: Any, sent: _Sent, now: float) -> Result | None:
        task = sent.task
        if task.limit is not None and now - sent.since > PATIENCE * task.limit:
            reason = f"took more than {PATIENCE * task.limit:.0f} s on {len(task.train):,} rows"
        elif task.deadline is not None and now > task.deadline:
            reason = f"not done with {len(task.train):,} rows when its time was up"
        else:
            return None
        self._give_up(future)
        return replace(blank_trial(sent.candidate, task), error=reason, late=True), None

    def _give_up(self, future: Any) -> None:
        """End a trial: compiled code hears nobody, so its worker is started anew; other trials on it are sent again."""
        self._sent.pop(future, None)
        with suppress(Exception):  # the cluster may be gone, and the trial with it
            places = [worker for worker, keys in self.client.processing().items() if future.key in keys]
            future.cancel()
            if places:
                self.client.restart_workers(places, timeout=10, raise_for_error=False)


def _trial(candidate: Candidate, data: TrialData, task: Task) -> Result:
    """On a worker."""
    return run_trial(candidate, data, task, prepared=PreparedColumns(seconds_worked))
