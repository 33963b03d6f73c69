"""A parallel map in order: threads do the work, results come back in order, so the number of threads never shows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from margin.core.threads import available, threads_for

__all__ = ["map_in_order", "worker_count"]

Result = TypeVar("Result")


def worker_count(n_jobs: int | None, work: float) -> int:
    """Threads to use: as many as ``work`` is worth (None), all that are available (-1), or ``n_jobs``."""
    if n_jobs is None:
        return threads_for(work)
    return available() if n_jobs == -1 else int(n_jobs)


def map_in_order(make: Callable[[int], Result], first: int, last: int, threads: int) -> Iterator[Result]:
    """``make(first)``, ..., ``make(last - 1)``; a few are made ahead of the one that is asked for."""
    if threads <= 1 or last - first <= 1:
        for number in range(first, last):
            yield make(number)
        return
    pool = ThreadPoolExecutor(threads)
    waiting: deque[Future[Result]] = deque()
    try:
        for number in range(first, last):
            waiting.append(pool.submit(make, number))
            if len(waiting) >= 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:  # the consumer may stop early
        pool.shutdown(wait=True, cancel_futures=True)
