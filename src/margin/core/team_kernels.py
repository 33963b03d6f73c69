"""Work that threads share without a way through Python: one offers numbered blocks, whoever is there takes them.

The numbers that all of them read and write are an int64 array, the board. The thread that offers work takes blocks
like the others, so it never waits for one that has not come; it waits only for blocks that others have begun.
"""

from __future__ import annotations

import numpy as np

from margin.core.atomic_kernels import add_atomic, load_atomic, pause, store_atomic
from margin.core.cached_kernels import inner_kernel

__all__ = ["JOB", "OVER", "claim", "finish", "is_over", "new_board", "offer", "wait_for"]

# Places of the board. Those that change often lie 64 bytes apart, so that no two are in one line of the cache.
CLAIMS = 0  # how many blocks are offered (upper half) and how many of them are taken (lower half)
FINISHED = 8  # how many of them are done
OVER = 16  # 1: there will be no more work
JOB = 24  # from here on, what the work is: written before it is offered
SIZE = 32
HALF = 32
LOW_HALF = 0xFFFFFFFF
NOTHING = -1  # below every block


def new_board() -> np.ndarray:
    """A board that offers nothing yet."""
    return np.zeros(SIZE, dtype=np.int64)


@inner_kernel
def offer(board: np.ndarray, blocks: int) -> None:
    """Offer blocks 0 to ``blocks`` of the job written on the board; all of an earlier one are finished."""
    store_atomic(board, FINISHED, 0)
    store_atomic(board, CLAIMS, blocks << HALF)


@inner_kernel
def claim(board: np.ndarray) -> int:
    """A block that nobody has taken, or NOTHING."""
    claims = load_atomic(board, CLAIMS)
    if (claims & LOW_HALF) >= (claims >> HALF):
        return NOTHING
    claims = add_atomic(board, CLAIMS, 1)
    block = claims & LOW_HALF
    return block if block < (claims >> HALF) else NOTHING


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
