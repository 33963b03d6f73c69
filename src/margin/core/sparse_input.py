"""Sparse tables for models that look at every cell: made dense, if memory allows."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["allow_sparse", "dense_rows", "narrow_indices"]

MEMORY_FRACTION = 0.25  # of the machine's memory that one dense table may take


def dense_rows(owner: str, X: Any) -> np.ndarray:
    """``X`` as an array in C order; a sparse one is refused if its dense form would not fit the memory.

    >>> dense_rows("Tree", sp.csr_array([[0.0, 2.0], [1.0, 0.0]]))
    array([[0., 2.],
           [1., 0.]])
    """
    if not sp.issparse(X):
        return np.asarray(X)
    needed, allowed = X.shape[0] * X.shape[1] * X.dtype.itemsize, MEMORY_FRACTION * _memory()
    if needed > allowed:
        raise ValueError(
            f"{owner}: X must be small enough to be made dense, at most {allowed / 2**30:.1f} GB; got a sparse matrix "
            f"of shape {X.shape}, {needed / 2**30:.1f} GB. Fewer columns (TruncatedSVD, SelectKBest) help."
        )
    return np.asarray(X.toarray(order="C"))


def narrow_indices(owner: str, X: Any) -> Any:
    """A sparse ``X`` with 32-bit indices, for which loops are compiled; anything else as it is.

    >>> narrow_indices("Model", sp.csr_array((np.ones(1), np.zeros(1, np.int64), np.array([0, 1])))).indices.dtype
    dtype('int32')
    """
    if not sp.issparse(X) or X.indices.dtype == np.int32:
        return X
    if max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        raise ValueError(f"{owner}: a sparse X must have fewer than 2**31 entries; got {X.nnz} in shape {X.shape}.")
    parts = X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return type(X)(parts, shape=X.shape)


def allow_sparse(tags: Any) -> Any:
    """scikit-learn's tags of a model whose ``X`` may be sparse."""
    tags.input_tags.sparse = True
    return tags


def _memory() -> float:
    """Bytes of memory of the machine, as far as it says."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):  # not a POSIX system
        return 8.0 * 2**30
