"""Columns of PyArrow as NumPy arrays, by their buffers: PyArrow's own way imports pandas, which costs half a second."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

__all__ = ["arrow_values"]


def arrow_values(column: Any, dtype: DTypeLike, missing: Any) -> np.ndarray:
    """A copy of a column, in one piece or in chunks, whose values have the width of ``dtype``; null is ``missing``.

    >>> import pyarrow as pa
    >>> arrow_values(pa.array([1.5, None, 3.0]).slice(1), float, -1.0)
    array([-1.,  3.])
    """
    values = np.empty(len(column), dtype)
    begin = 0
    for chunk in getattr(column, "chunks", [column]):
        if len(chunk):
            part = values[begin : begin + len(chunk)]
            end = chunk.offset + len(chunk)
            is_valid, data = chunk.buffers()
            part[:] = np.frombuffer(data, values.dtype, count=end)[chunk.offset :]
            if chunk.null_count:
                bits = np.unpackbits(np.frombuffer(is_valid, np.uint8), count=end, bitorder="little")
                part[bits[chunk.offset :] == 0] = missing
            begin += len(chunk)
    return values
