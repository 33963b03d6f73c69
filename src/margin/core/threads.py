"""The one place that decides how many threads run.

BLAS and torch each bring a pool beside our own threads, and pools that spin while another works cost more than they
give: a linear SVM took nine times longer with both at full width. So a fit that alternates our loops with small BLAS
calls holds BLAS at one thread, small problems run on one thread altogether, and worker processes get one thread each
(joblib tells them so through the environment variables read here). ``OMP_WAIT_POLICY=passive`` in the environment
further helps torch on a busy machine; it must be set before Python starts.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["WORK_PER_THREAD", "available", "blas_threads", "thread_limit", "threads_for", "torch_threads"]

LIMITS = ("MARGIN_NUM_THREADS", "OMP_NUM_THREADS")

# Below about this many basic operations the cost of waking a second thread exceeds what it saves (measured: a
# parallel region costs 5 to 50 microseconds, more on a busy machine).
WORK_PER_THREAD = 2_000_000

_limit: ContextVar[int | None] = ContextVar("margin_thread_limit", default=None)


def available() -> int:
    """Threads this process may use: its cores, or fewer if its container or the environment says so."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    cores = min(cores, _granted_cores() or cores)
    limits = [int(os.environ[name]) for name in LIMITS if os.environ.get(name, "").isdigit()]
    limit = _limit.get()
    return max(1, min([cores, *limits] if limit is None else [cores, *limits, limit]))


@cache
def _granted_cores(folder: str = "/sys/fs/cgroup") -> int | None:
    """Cores' worth of time that the process's container is granted, rounded up; None if nothing limits it.

    A container sees all cores of its host. With more threads than it has time for, all of them stand still for the rest
    of every period.
    """
    texts = (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"))  # of control groups 2 and 1
    for names in texts:
        with contextlib.suppress(OSError, ValueError):
            quota, period = (int(x) for name in names for x in Path(folder, name).read_text().split())
            return -(-quota // period) if quota > 0 else None
    return None


@contextmanager
def thread_limit(n_jobs: int | None) -> Iterator[None]:
    """Use at most ``n_jobs`` threads inside: what ``n_jobs`` of an estimator means. None sets no limit, -1 is all
    cores, -2 all but one.

    >>> with thread_limit(1):
    ...     threads_for(1e12)
    1
    """
    if n_jobs is None:
        yield
        return
    limit = n_jobs if n_jobs > 0 else max(1, available() + 1 + n_jobs)
    token = _limit.set(limit)
    try:
        with blas_threads(available()):
            yield
    finally:
        _limit.reset(token)


def threads_for(work: float) -> int:
    """Threads worth waking for ``work`` basic operations.

    >>> threads_for(1000)
    1
    """
    worth = int(work // WORK_PER_THREAD)
    return 1 if worth <= 1 else min(available(), worth)  # small problems do not even ask


@contextmanager
def blas_threads(n: int) -> Iterator[None]:
    """Hold BLAS at ``n`` threads at most; fewer if another thread of the program holds it lower meanwhile.

    BLAS knows one number for the whole process: it is set back when the last one leaves, in whatever order they leave.
    """
    _blas.hold(n)
    try:
        yield
    finally:
        _blas.release(n)


@contextmanager
def torch_threads(n: int) -> Iterator[None]:
    """Run torch on ``n`` threads; its bits depend on the number, so a resumed fit keeps the number it began with."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@cache
def _blas_libraries() -> list[Any]:
    # Looking for the loaded libraries takes milliseconds: once is enough, NumPy and SciPy are loaded by then.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas").lib_controllers


class _BlasLimit:
    """The limits that hold at the moment, each with its thread, and what every library had before the first of them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.held: list[tuple[int, int]] = []
        self.before: list[int] = []

    def hold(self, n: int) -> None:
        with self.lock:
            if not self.held:
                self.before = [library.num_threads for library in _blas_libraries()]
            lowest = self._lowest()
            self.held.append((n, threading.get_ident()))
            if lowest is None or n < lowest:
                self._set()

    def release(self, n: int) -> None:
        with self.lock:
            self.held.remove((n, threading.get_ident()))
            if self._lowest() != n:
                self._set()

    def keep_own(self) -> None:
        """In a forked process: of the threads that hold a limit only the one that forked is there."""
        self.lock, everyone = threading.Lock(), self.held
        self.held = [(n, thread) for n, thread in everyone if thread == threading.get_ident()]
        if len(self.held) < len(everyone):
            self._set()

    def _lowest(self) -> int | None:
        return min((n for n, _ in self.held), default=None)

    def _set(self) -> None:
        lowest = self._lowest()
        for library, before in zip(_blas_libraries(), self.before, strict=True):
            if before > 1:  # one that has a single thread keeps it
                library.set_num_threads(before if lowest is None else min(lowest, before))


_blas = _BlasLimit()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_blas.keep_own)
