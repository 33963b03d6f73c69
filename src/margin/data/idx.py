"""The IDX format of the MNIST files: a magic number, the sizes, the values; nothing more and nothing less.

Bytes 0 and 1 are zero, byte 2 tells the type of the values, byte 3 the number of dimensions; then one big-endian
32-bit size per dimension and the values, big-endian, last dimension fastest. Files may be compressed with gzip.
"""

from __future__ import annotations

import math
import os
import struct
from pathlib import Path

import numpy as np

from margin.data.unpacking import BROKEN, gunzip

__all__ = ["read_idx"]

_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(path: str | os.PathLike[str]) -> np.ndarray:
    """The array in an IDX file, in native byte order. Wrong magic, missing or surplus bytes are errors."""
    path = Path(path)
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        try:
            data = gunzip(data)
        except BROKEN as problem:
            raise ValueError(f"{path}: is not a complete gzip file ({problem}).") from None
        except ValueError as problem:
            raise ValueError(f"{path}: {problem}.") from None
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] not in _TYPES or data[3] == 0:
        raise ValueError(f"{path}: is not an IDX file; it begins with {data[:4].hex(' ') or 'nothing'}.")
    kind, n_dimensions = np.dtype(_TYPES[data[2]]), data[3]
    start = 4 + 4 * n_dimensions
    if len(data) < start:
        raise ValueError(f"{path}: is cut off; {n_dimensions} sizes are announced in {len(data)} bytes.")
    shape = struct.unpack(f">{n_dimensions}I", data[4:start])
    expected_bytes, n_bytes = math.prod(shape) * kind.itemsize, len(data) - start
    if expected_bytes != n_bytes:
        raise ValueError(f"{path}: shape {shape} needs {expected_bytes} bytes of values; the file has {n_bytes}.")
    return np.frombuffer(data, kind, offset=start).reshape(shape).astype(kind.newbyteorder("="))
