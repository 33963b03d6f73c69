"""Map a function over chunks of rows on several threads so that the result does not depend on their number.

A table is cut into a fixed number of row chunks; each is reduced on its own (NumPy and BLAS release the interpreter
lock), and the results come back in the order of the rows to be added up in that order.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TypeVar

from margin.core.parallel import parallel_map
from margin.core.threads import blas_threads, threads_for

__all__ = ["map_row_chunks"]

N_CHUNKS = 16
SMALLEST_CHUNK = 1024  # rows of a chunk below which cutting costs more than it gives

T = TypeVar("T")


def map_row_chunks(function: Callable[[slice], T], n: int, work: float) -> list[T]:
    """``function`` of every chunk of ``n`` rows, in order; as many threads as ``work`` operations are worth run it.

    >>> map_row_chunks(lambda rows: rows.stop - rows.start, 100, work=1)
    [100]
    """
    if n < N_CHUNKS * SMALLEST_CHUNK:
        return [function(slice(0, n))]
    cuts = [n * i // N_CHUNKS for i in range(N_CHUNKS + 1)]
    chunks = [slice(low, high) for low, high in pairwise(cuts)]
    with blas_threads(1):
        return parallel_map(function, chunks, threads_for(work))
