"""Threads of our own: they do the work, results come back in order, so the number of threads never shows.

Kernels release the interpreter lock, so Python's threads are enough for them. OpenMP is not used: GNU's ends a process
that was forked from one which had used it. These threads go on: a forked process makes its own when it needs them, and
callers in several threads share them.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any, TypeVar

from margin.core.threads import available, threads_for

__all__ = ["map_in_order", "over_ranges", "parallel_map", "with_assistants", "worker_count"]

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_HELPERS = 256  # threads that wait for work; made one by one, as many as a call asks for


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
            waiting.append(pool.submit(copy_context().run, make, number))
            if len(waiting) >= 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:  # the consumer may stop early
        pool.shutdown(wait=True, cancel_futures=True)


def parallel_map(function: Callable[[Item], Result], items: Sequence[Item], threads: int) -> list[Result]:
    """``[function(item) for item in items]`` on up to ``threads`` threads, the caller's among them.

    A call from within ``function`` runs on the thread it is on: there is one level of parallel work.

    >>> parallel_map(abs, [-1, 2, -3], threads=2)
    [1, 2, 3]
    """
    threads = min(threads, len(items))
    if threads <= 1 or getattr(_this_thread, "works", False):
        return [function(item) for item in items]
    results: list[Any] = [None] * len(items)
    numbers = itertools.count()

    def work() -> None:
        _this_thread.works = True
        try:
            while (i := next(numbers)) < len(items):
                results[i] = function(items[i])
        finally:
            _this_thread.works = False

    helpers = [_helpers().submit(copy_context().run, work) for _ in range(threads - 1)]
    try:
        work()
    finally:
        # A helper that has not begun (others keep it busy) is not waited for: all items are taken by now.
        begun = [helper for helper in helpers if not helper.cancel()]
        wait(begun)
    for helper in begun:
        helper.result()
    return results


def over_ranges(function: Callable[[int, int], Any], n: int, threads: int) -> None:
    """Call ``function(low, high)`` on as many ranges of 0 to ``n`` as there are threads.

    >>> over_ranges(lambda low, high: print(low, high), 7, threads=1)
    0 7
    """
    threads = max(1, min(threads, n))
    parallel_map(lambda i: function(n * i // threads, n * (i + 1) // threads), range(threads), threads)


@contextmanager
def with_assistants(assist: Callable[[int], bool], threads: int) -> Iterator[None]:
    """While the caller works, up to ``threads - 1`` others call ``assist`` with their number until it returns True.

    What they do for the caller is between its compiled code and ``assist`` (:mod:`margin.core.team_kernels`), which
    must return True soon after the caller is done: nobody waits for them here.
    """

    def work(number: int) -> None:
        _this_thread.works = True
        try:
            while not assist(number):
                time.sleep(0)  # whoever else wants the processor goes first
        finally:
            _this_thread.works = False

    if not getattr(_this_thread, "works", False):
        for number in range(1, threads):
            _helpers().submit(copy_context().run, work, number)
    yield


_this_thread = threading.local()  # ``works`` while it runs a part of a parallel map
_making = threading.Lock()
_pool: ThreadPoolExecutor | None = None


def _helpers() -> ThreadPoolExecutor:
    global _pool
    with _making:
        if _pool is None:
            _pool = ThreadPoolExecutor(MOST_HELPERS, thread_name_prefix="margin")
        return _pool


def _begin_anew() -> None:
    """In a forked process: the threads of the parent are not there, and its lock may have been held."""
    global _pool, _making
    _pool, _making = None, threading.Lock()
    _this_thread.works = False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
