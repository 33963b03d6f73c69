"""What must not change between two starts of a run: the model with its parameters, and the data."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from margin.core.streaming import Stream
from margin.store.encoding import Encoder

__all__ = ["data_hash", "fingerprint"]


def fingerprint(model: Any) -> str:
    """A hash of a model's class and parameters, nested ones too.

    Parameters that only say what a process may use (``n_jobs``, ``memory``, ``verbose``) do not count.
    """
    from sklearn.base import clone

    encoder = Encoder()
    digest = hashlib.sha256(json.dumps(encoder.encode(clone(model), "model"), sort_keys=True).encode())
    for name, array in encoder.arrays.items():
        digest.update(name.encode() + array.tobytes())
    return digest.hexdigest()


def data_hash(X: Any, y: Any = None, sample_weight: Any = None) -> str:
    """SHA-256 over values, types and column names; the same in every process.

    Arrays, lists, sparse matrices and data frames are taken as they are. How a sparse matrix is stored does not
    count, nor does the index of a data frame.

    >>> from scipy.sparse import csc_array, csr_array
    >>> X = np.eye(3)
    >>> data_hash(csr_array(X)) == data_hash(csc_array(X))
    True
    >>> data_hash(X) == data_hash(X.astype(np.float32))
    False
    """
    digest = hashlib.sha256()
    for part in (X, y):
        if part is not None:
            _add(digest, part)
    if sample_weight is not None:
        digest.update(b"sample_weight")
        _add(digest, sample_weight)
    return digest.hexdigest()


def _add(digest: Any, part: Any) -> None:
    if isinstance(part, Stream):
        _add_stream(digest, part)
        return
    if hasattr(part, "tocsr"):
        _add_sparse(digest, part)
    elif hasattr(part, "columns") and (hasattr(part, "to_pandas") or hasattr(part, "iloc")):
        _add_frame(digest, part)
    elif hasattr(part, "cat") and hasattr(part, "to_numpy"):  # a categorical series
        _add_array(digest, part.to_numpy())
    else:
        _add_array(digest, np.asarray(part))


def _add_stream(digest: Any, stream: Stream) -> None:
    """A stream by the content of its files, one that is computed by its blocks: a pass over the rows."""
    if hasattr(stream, "hash"):
        digest.update(f"stream{stream.hash()}".encode())
        return
    for block in stream:
        for part in block:
            if part is not None:
                _add(digest, part)


def _add_sparse(digest: Any, matrix: Any) -> None:
    rows = matrix.tocsr(copy=True)
    rows.sum_duplicates()  # also sorts the columns of each row
    rows.eliminate_zeros()
    digest.update(f"sparse{rows.shape}".encode())
    for part in (rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64)):
        _add_array(digest, part)


def _add_frame(digest: Any, frame: Any) -> None:
    columns = frame.to_pandas() if hasattr(frame, "to_pandas") else frame
    for i, name in enumerate(columns.columns):
        values = columns.iloc[:, i]
        label = f"{name!r}:{values.dtype}"
        digest.update(f"{len(label)}:{label}".encode())
        _add_array(digest, values.to_numpy())


def _add_array(digest: Any, array: np.ndarray) -> None:
    content = np.ascontiguousarray(array).reshape(array.shape)
    digest.update(f"{content.dtype.str}{content.shape}".encode())
    if content.dtype == object:
        digest.update(repr(content.tolist()).encode())
    else:
        digest.update(content.tobytes())
