"""What threads do together on the rows of one node of a growing tree.

Histograms are filled by rows where there are too few columns for all threads: every thread has a histogram of its own,
and these are added up, exactly, since they hold integers. The rows of a node are divided in two steps: each thread
divides a range of them in ``spare``, and when it is known how many go left in every range, brings them to their places.
So the rows stay in their old order whatever the number of threads.
"""

from __future__ import annotations

import cython

from margin.core.kernel_source import Integers, inner, kernel
from margin.core.team import BLOCKS, JOB
from margin.trees.boosting.histogram_kernels import add_rows
from margin.trees.boosting.kernel_types import CODES
from margin.trees.boosting.state_kernels import Growth

__all__ = ["ARGUMENTS", "CHUNK", "DIVIDE", "FILL", "KIND", "PLACE", "SEARCH", "describe_rows", "take_part"]

# Columns that are searched together. Their histograms lie 2 KiB apart: the same codes of more columns than this would
# compete for the same places of the first cache (32 KiB, 8 ways).
CHUNK = 16

# What the board says: the kind of work, and its arguments.
KIND, ARGUMENTS = JOB, JOB + 1
SEARCH, FILL, DIVIDE, PLACE = 0, 1, 2, 3


@kernel
def describe_rows(
    board: Integers,
    kind: cython.longlong,
    start: cython.longlong,
    stop: cython.longlong,
    stored: cython.longlong,
) -> cython.void:
    """Write on the board what is to be done with rows ``start`` to ``stop``."""
    board[KIND] = kind
    board[ARGUMENTS] = start
    board[ARGUMENTS + 1] = stop
    board[ARGUMENTS + 2] = stored


@kernel
def take_part(growth: Growth, board: Integers, block: cython.Py_ssize_t) -> cython.void:
    """One block of the work on rows that the board describes."""
    start: cython.Py_ssize_t = board[ARGUMENTS]
    stop: cython.Py_ssize_t = board[ARGUMENTS + 1]
    blocks: cython.Py_ssize_t = board[BLOCKS]
    low = start + (stop - start) * block // blocks
    high = start + (stop - start) * (block + 1) // blocks
    if board[KIND] == FILL:
        _fill(growth, block, low, high)
    elif board[KIND] == DIVIDE:
        _divide(growth, block, low, high, board[ARGUMENTS + 2])
    else:
        _place(growth, block, blocks, start, low, high)


@inner
def _fill(growth: Growth, block: cython.Py_ssize_t, low: cython.Py_ssize_t, high: cython.Py_ssize_t) -> cython.void:
    """The histogram of one range of rows, all columns."""
    q = growth.codes.shape[1]
    chunks = (q + CHUNK - 1) // CHUNK
    for chunk in range(chunks):
        first = q * chunk // chunks
        last = q * (chunk + 1) // chunks
        at = block * q * CODES
        add_rows(growth.codes, growth.rows, low, high, growth.packed, first, last, growth.parts, at)


@inner
def _divide(
    growth: Growth,
    block: cython.Py_ssize_t,
    low: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    stored: cython.Py_ssize_t,
) -> cython.void:
    """Rows of one range that go left to its begin in ``spare``, the others to its end, backwards."""
    left: cython.Py_ssize_t = low
    for i in range(low, high):
        row = growth.rows[i]
        growth.spare[left] = row
        growth.spare[high - 1 - (i - left)] = row
        left += growth.goes_left[growth.codes[row, stored]]
    growth.lefts[block] = left - low


@inner
def _place(
    growth: Growth,
    block: cython.Py_ssize_t,
    blocks: cython.Py_ssize_t,
    start: cython.Py_ssize_t,
    low: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
) -> cython.void:
    """Rows of one range from ``spare`` to where they belong."""
    before: cython.Py_ssize_t = 0
    all_left: cython.Py_ssize_t = 0
    own: cython.Py_ssize_t = growth.lefts[block]
    for k in range(blocks):
        before += growth.lefts[k] if k < block else 0
        all_left += growth.lefts[k]
    to: cython.Py_ssize_t = start + before
    for k in range(own):
        growth.rows[to + k] = growth.spare[low + k]
    to = start + all_left + low - start - before
    for k in range(high - low - own):
        growth.rows[to + k] = growth.spare[high - 1 - k]
