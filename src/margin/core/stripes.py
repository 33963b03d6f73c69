"""Rows shared out over threads so that the result does not depend on how many there are.

A table is cut into a fixed number of stripes; each is reduced on its own (NumPy and BLAS let go of the interpreter
lock), and the results come back in the order of the rows to be added up in that order.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

from margin.core.threads import blas_threads, threads_for

__all__ = ["over_stripes"]

STRIPES = 16
SMALLEST = 1024  # rows of a stripe below which cutting costs more than it gives

T = TypeVar("T")


def over_stripes(function: Callable[[slice], T], n: int, work: float) -> list[T]:
    """``function`` of every stripe of ``n`` rows, in order; threads worth ``work`` operations share them.

    >>> over_stripes(lambda rows: rows.stop - rows.start, 100, work=1)
    [100]
    """
    if n < STRIPES * SMALLEST:
        return [function(slice(0, n))]
    cuts = [n * i // STRIPES for i in range(STRIPES + 1)]
    stripes = [slice(low, high) for low, high in pairwise(cuts)]
    threads = threads_for(work)
    with blas_threads(1):
        if threads == 1:
            return [function(stripe) for stripe in stripes]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(function, stripes))
