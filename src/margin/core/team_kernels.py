"""Work that threads share without a way through Python: one offers numbered blocks, whoever is there takes them.

The numbers that all of them read and write are an int64 array, the board (:mod:`margin.core.team`). The thread that
offers work takes blocks like the others, so it never waits for one that has not come; it waits only for blocks that
others have begun.
"""

from __future__ import annotations

import cython

from margin.core.atomic_kernels import add_atomic, clear_atomic, load_atomic, pause, store_atomic
from margin.core.kernel_source import Integers, kernel
from margin.core.team import BLOCKS, FINISHED, MOST_BLOCKS, NOTHING, OVER, THREADS, UNTAKEN

__all__ = ["claim", "finish", "is_over", "offer", "wait_for"]


@kernel
def offer(board: Integers, blocks: cython.longlong) -> cython.void:
    """Offer blocks 0 to ``blocks`` of the job written on the board; all of an earlier one are finished."""
    one: cython.longlong = 1
    board[BLOCKS] = blocks
    store_atomic(board, FINISHED, 0)
    store_atomic(board, UNTAKEN, (one << blocks) - 1)


@kernel
def claim(board: Integers, thread: cython.longlong) -> cython.longlong:
    """A block that nobody has taken, or NOTHING.

    Every ``thread`` begins at another one, the same in every job of as many blocks: what it has written is then in the
    cache of its own core when it comes to read it.
    """
    one: cython.longlong = 1
    block: cython.longlong
    left: cython.longlong = load_atomic(board, UNTAKEN)
    while left != 0:
        block = thread * board[BLOCKS] // board[THREADS]
        while (left >> block) & 1 == 0:
            block = block + 1 if block < MOST_BLOCKS else 0
        left = clear_atomic(board, UNTAKEN, one << block)
        if left & (one << block):
            return block
    return NOTHING


@kernel
def finish(board: Integers) -> cython.void:
    """A block that was claimed is done."""
    add_atomic(board, FINISHED, 1)


@kernel
def wait_for(board: Integers, blocks: cython.longlong) -> cython.void:
    """Until all blocks that were offered are done."""
    while load_atomic(board, FINISHED) < blocks:
        pause()


@kernel
def is_over(board: Integers) -> cython.bint:
    """Whether there will be no more work."""
    return load_atomic(board, OVER) != 0
