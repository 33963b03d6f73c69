"""Numbers that several threads read and write at once, for kernels that share work without a way through Python.

``array`` holds int64 and ``at`` is an index into it. What a thread has written before it stores or adds here is seen by
every thread that has read the result (sequential consistency). Compiled kernels have these functions from
``atomics.pxd``; here they stand for one thread, as kernels do that are not compiled.
"""

from __future__ import annotations

from typing import Any

__all__ = ["add_atomic", "clear_atomic", "load_atomic", "pause", "store_atomic"]


def load_atomic(array: Any, at: int) -> int:
    """The number at ``at``."""
    return int(array[at])


def store_atomic(array: Any, at: int, value: int) -> None:
    """Write ``value``."""
    array[at] = value


def add_atomic(array: Any, at: int, value: int) -> int:
    """Add ``value``; returns what was there before."""
    before = int(array[at])
    array[at] += value
    return before


def clear_atomic(array: Any, at: int, bits: int) -> int:
    """Set ``bits`` to zero; returns what was there before."""
    before = int(array[at])
    array[at] &= ~bits
    return before


def pause() -> None:
    """Nothing, for a moment: for loops that wait for another thread."""
