"""The one place that decides how many threads run.

Numba, BLAS and torch each bring a pool, and pools that spin while another works cost more than they give: a
linear SVM took nine times longer with both at full width. So a fit that alternates Numba loops with small BLAS calls
holds BLAS at one thread, small problems run on one thread altogether, and worker processes get one thread each
(joblib tells them so through the environment variables read here). ``OMP_WAIT_POLICY=passive`` in the environment
further helps on a busy machine; it must be set before Python starts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

__all__ = ["available", "blas_threads", "numba_threads", "thread_limit", "threads_for", "torch_threads"]

LIMITS = ("MARGIN_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS")

# Below about this many basic operations the cost of waking a second thread exceeds what it saves (measured: a
# parallel region costs 5 to 50 microseconds, more on a busy machine).
WORK_PER_THREAD = 2_000_000

_limit: ContextVar[int | None] = ContextVar("margin_thread_limit", default=None)


def available() -> int:
    """Threads this process may use: its cores, or fewer if the environment says so."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limits = [int(os.environ[name]) for name in LIMITS if os.environ.get(name, "").isdigit()]
    asked = _limit.get()
    return max(1, min([cores, *limits] if asked is None else [cores, *limits, asked]))


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
    asked = n_jobs if n_jobs > 0 else max(1, available() + 1 + n_jobs)
    token = _limit.set(asked)
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
    return max(1, min(available(), int(work // WORK_PER_THREAD)))


@contextmanager
def blas_threads(n: int) -> Iterator[None]:
    """Hold BLAS at ``n`` threads."""
    with _controller().limit(limits=n, user_api="blas"):
        yield


@contextmanager
def numba_threads(n: int) -> Iterator[None]:
    """Run Numba's parallel regions on ``n`` threads (kernels give the same bits for any number)."""
    import numba

    before = numba.get_num_threads()
    numba.set_num_threads(min(n, numba.config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]
    try:
        yield
    finally:
        numba.set_num_threads(before)


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
def _controller() -> Any:
    # Looking for the loaded libraries takes milliseconds: once is enough, NumPy and SciPy are loaded by then.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
