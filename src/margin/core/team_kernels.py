"""Work that threads share without a way through Python: one offers numbered blocks, whoever is there takes them.

The numbers that all of them read and write are an int64 array, the board. The thread that offers work takes blocks
like the others, so it never waits for one that has not come; it waits only for blocks that others have begun.
"""

from __future__ import annotations

import numpy as np

from margin.core.atomic_kernels import add_atomic, clear_atomic, load_atomic, pause, store_atomic
from margin.core.cached_kernels import inner_kernel

__all__ = [
    *("BLOCKS", "JOB", "MOST_BLOCKS", "OVER", "THREADS"),
    *("claim", "finish", "is_over", "new_board", "offer", "wait_for"),
]

# Places of the board. Those that change often lie 64 bytes apart, so that no two are in one line of the cache.
UNTAKEN = 0  # a bit for every block that nobody has taken
FINISHED = 8  # how many blocks are done
OVER = 16  # 1: there will be no more work
THREADS, BLOCKS = 24, 25  # how many share the work, and into how many blocks it is cut
JOB = 26  # from here on, what the work is: written before it is offered
SIZE = 32
MOST_BLOCKS = 62
NOTHING = -1  # below every block


def new_board(threads: int) -> np.ndarray:
    """A board for so many threads that offers nothing yet."""
    board = np.zeros(SIZE, dtype=np.int64)
    board[THREADS] = threads
    return board


@inner_kernel
def offer(board: np.ndarray, blocks: int) -> None:
    """Offer blocks 0 to ``blocks`` of the job written on the board; all of an earlier one are finished."""
    board[BLOCKS] = blocks
    store_atomic(board, FINISHED, 0)
    store_atomic(board, UNTAKEN, (1 << blocks) - 1)


@inner_kernel
def claim(board: np.ndarray, thread: int) -> int:
    """A block that nobody has taken, or NOTHING.

    Every ``thread`` begins at another one, the same in every job of as many blocks: what it has written is then in the
    cache of its own core when it comes to read it.
    """
    left = load_atomic(board, UNTAKEN)
    while left != 0:
        block = thread * board[BLOCKS] // board[THREADS]
        while (left >> block) & 1 == 0:
            block = block + 1 if block < MOST_BLOCKS else 0
        bit = np.int64(1) << block
        left = clear_atomic(board, UNTAKEN, bit)
        if left & bit:
            return block
    return NOTHING


@inner_kernel
def finish(board: np.ndarray) -> None:
    """A block that was claimed is done."""
    add_atomic(board, FINISHED, 1)


@inner_kernel
def wait_for(board: np.ndarray, blocks: int) -> None:
    """Until all blocks that were offered are done."""
    while load_atomic(board, FINISHED) < blocks:
        pause()


@inner_kernel
def is_over(board: np.ndarray) -> bool:
    """Whether there will be no more work."""
    return load_atomic(board, OVER) != 0
