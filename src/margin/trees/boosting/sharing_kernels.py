"""What threads do together on the rows of one node of a growing tree, compiled by Numba.

Histograms are filled by rows where there are too few columns for all threads: every thread has a histogram of its own,
and these are added up, exactly, since they hold integers. The rows of a node are divided in two steps: each thread
divides a range of them in ``spare``, and when it is known how many go left in every range, brings them to their places.
So the rows stay in their old order whatever the number of threads.
"""

from __future__ import annotations

import numpy as np

from margin.core.cached_kernels import inner_kernel
from margin.core.team_kernels import BLOCKS, JOB
from margin.trees.boosting.histogram_kernels import add_rows

__all__ = ["ARGUMENTS", "CHUNK", "DIVIDE", "FILL", "KIND", "PLACE", "SEARCH", "describe_rows", "take_part"]

# Columns that are searched together. Their histograms lie 2 KiB apart: the same codes of more columns than this would
# compete for the same places of the first cache (32 KiB, 8 ways).
CHUNK = 16

# What the board says: the kind of work, and its arguments.
KIND, ARGUMENTS = JOB, JOB + 1
SEARCH, FILL, DIVIDE, PLACE = 0, 1, 2, 3


@inner_kernel
def _part(start, stop, block, blocks):
    """The range of rows that a block is."""
    return start + (stop - start) * block // blocks, start + (stop - start) * (block + 1) // blocks


@inner_kernel
def _fill(block, blocks, start, stop, codes, rows, packed, parts):
    """The histogram of one range of rows, all columns."""
    low, high = _part(start, stop, block, blocks)
    q = codes.shape[1]
    chunks = (q + CHUNK - 1) // CHUNK
    for chunk in range(chunks):
        add_rows(codes, rows, low, high, packed, q * chunk // chunks, q * (chunk + 1) // chunks, parts[block])


@inner_kernel
def _divide(block, blocks, start, stop, stored, codes, rows, spare, goes_left, lefts):
    """Rows of one range that go left to its begin in ``spare``, the others to its end, backwards."""
    low, high = _part(start, stop, block, blocks)
    one, left, right = np.uint64(1), np.uint64(low), np.uint64(high)
    for i in range(np.uint64(low), np.uint64(high)):
        row = rows[i]
        side = goes_left[codes[np.uint64(row), np.uint64(stored)]]
        spare[left] = row
        spare[right - one] = row
        left += side
        right -= one - side
    lefts[block] = np.int64(left) - low


@inner_kernel
def _place(block, blocks, start, stop, rows, spare, lefts):
    """Rows of one range from ``spare`` to where they belong."""
    low, high = _part(start, stop, block, blocks)
    before = all_left = np.int64(0)
    for k in range(blocks):
        before += lefts[k] if k < block else 0
        all_left += lefts[k]
    at = start + before
    for k in range(lefts[block]):
        rows[at + k] = spare[low + k]
    at = start + all_left + low - start - before
    for k in range(high - low - lefts[block]):
        rows[at + k] = spare[high - 1 - k]


@inner_kernel
def describe_rows(board, kind, start, stop, stored):
    """Write on the board what is to be done with rows ``start`` to ``stop``."""
    board[KIND], board[ARGUMENTS], board[ARGUMENTS + 1], board[ARGUMENTS + 2] = kind, start, stop, stored


@inner_kernel
def take_part(block, board, codes, rows, spare, packed, goes_left, lefts, parts):
    """One block of the work on rows that the board describes."""
    kind, start, stop, stored = board[KIND], board[ARGUMENTS], board[ARGUMENTS + 1], board[ARGUMENTS + 2]
    blocks = board[BLOCKS]
    if kind == FILL:
        _fill(block, blocks, start, stop, codes, rows, packed, parts)
    elif kind == DIVIDE:
        _divide(block, blocks, start, stop, stored, codes, rows, spare, goes_left, lefts)
    else:
        _place(block, blocks, start, stop, rows, spare, lefts)
