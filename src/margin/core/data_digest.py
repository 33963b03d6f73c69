"""A short digest of the data of a fit, by which a state that is continued knows its own rows.

It must cost next to nothing beside a fit, so it reads the size and at most ``ROWS`` rows at equal distances: enough to
tell other data, not a check of every cell (``margin.runs`` hashes those of a run).
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from margin.core.streaming import Stream

__all__ = ["data_digest"]

ROWS, VALUES = 256, 2**17  # most rows that are read, and about how many of their values
PLAIN = (str, bytes, int, float, type(None))  # shown by their value, not by where they lie in memory


def data_digest(X: Any, y: Any = None) -> str:
    """The digest; equal numbers give equal digests, whatever holds them.

    >>> X = np.arange(6.0).reshape(3, 2)
    >>> data_digest(X) == data_digest(X.tolist()) == data_digest(np.asfortranarray(X, dtype=np.float32))
    True
    >>> data_digest(X) == data_digest(X + 1)
    False
    """
    digest = hashlib.blake2b(digest_size=8)
    for part in (X, y):
        _add(digest, part)
    return digest.hexdigest()


def _add(digest: Any, part: Any) -> None:
    if hasattr(part, "tocsr"):  # sparse
        rows = part.tocsr()[_some(part.shape[0])]
        rows.sum_duplicates()  # also sorts the columns of each row
        digest.update(repr(part.shape).encode())
        for array in (rows.data, rows.indices, rows.indptr):
            _add_rows(digest, len(array), array)
    elif isinstance(part, Stream):  # its first rows: the last ones are a pass away
        digest.update(repr(part.names).encode())
        for rows in part.head(ROWS):
            _add(digest, rows)
    elif hasattr(part, "iloc"):  # pandas
        _add_rows(digest, len(part), part.iloc[_some(len(part))].to_numpy())
    elif isinstance(part, np.ndarray) and part.ndim:
        _add_rows(digest, len(part), part[_some(len(part), part.size // max(len(part), 1))])
    elif isinstance(part, list | tuple):
        _add_rows(digest, len(part), [part[i] for i in _some(len(part))])
    else:  # a string, a number, or an object that knows its own content; a generator is not read
        plain = part.item() if isinstance(part, np.generic) else part
        digest.update((repr(plain) if isinstance(plain, PLAIN) else type(plain).__name__).encode())
        if isinstance(getattr(part, "sha256", None), str):  # a file of tokens
            digest.update(part.sha256.encode())
        for name in ("edges", "node_features", "xyxy", "labels"):  # graphs and boxes
            if isinstance(getattr(part, name, None), np.ndarray):
                _add(digest, getattr(part, name))


def _add_rows(digest: Any, n_rows: int, rows: Any) -> None:
    """Numbers by their bits as float64; strings, and objects that are no array, one by one."""
    digest.update(f"{n_rows}:".encode())
    try:
        array = np.asarray(rows)
    except ValueError:  # rows of different lengths
        array = np.empty(0, dtype=object)
    if array.dtype.kind in "biuf":
        digest.update(repr(array.shape).encode() + np.ascontiguousarray(array, dtype=np.float64).tobytes())
        return
    for row in rows:
        _add(digest, row)


def _some(n: int, width: int = 1) -> np.ndarray:
    """Numbers of at most ``ROWS`` of ``n`` rows, fewer of wide ones, the first and the last among them."""
    most = min(ROWS, max(2, VALUES // max(width, 1)))
    return np.arange(n) if n <= most else np.arange(most) * (n - 1) // (most - 1)
