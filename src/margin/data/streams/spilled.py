"""Arrays with a row for every row of a stream: in memory while they are small, else in a file that nobody sees."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np

__all__ = ["MOST_BYTES", "row_array"]

MOST_BYTES = 2**28  # of an array that is kept in memory


def row_array(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array to be filled: beyond ``MOST_BYTES`` it is mapped from a temporary file, which ends with the array.

    >>> row_array((2, 3), np.uint8).shape
    (2, 3)
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if size <= MOST_BYTES:
        return np.empty(shape, dtype=dtype)
    with tempfile.TemporaryFile(prefix="margin-") as file:  # mapped pages outlive the open file
        file.truncate(size)
        return np.memmap(file, dtype=dtype, mode="r+", shape=shape)
