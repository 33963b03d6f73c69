"""The board on which threads share work: an int64 array that all of them read and write (``team_kernels``)."""

from __future__ import annotations

import numpy as np

__all__ = ["BLOCKS", "FINISHED", "JOB", "MOST_BLOCKS", "NOTHING", "OVER", "THREADS", "UNTAKEN", "new_board"]

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
