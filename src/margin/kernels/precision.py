"""In which precision columns of a kernel matrix are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from margin.kernels.kernel import Kernel
from margin.kernels.kernel_columns import columns_of, full_matrix

__all__ = ["column_dtype"]

SAMPLED_ROWS = 64  # rows on which the rounding of float32 is measured, far ones and others each
SMALL = 2000  # rows whose whole matrix is small anyway


def column_dtype(kernel: Kernel, X: Any, largest_bound: float, tol: float) -> Any:
    """float32 where its rounding cannot be felt at ``tol``, else float64.

    The error of a score is that of kernel values times coefficients up to ``largest_bound``, growing with the root of
    their number; the error of kernel values is measured on the rows farthest out and on some of the others.
    """
    n = X.shape[0]
    if n <= SMALL or not np.isfinite(largest_bound):
        return np.float64
    squares = X.power(2).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
    far = np.argsort(-squares)[:SAMPLED_ROWS]
    sample = X[np.concatenate([far, np.linspace(0, n - 1, SAMPLED_ROWS).astype(int)])]
    exact = full_matrix(columns_of(kernel, sample.astype(np.float64), np.float64))
    error = np.max(np.abs(full_matrix(columns_of(kernel, sample, np.float32)) - exact))
    return np.float32 if error * largest_bound * np.sqrt(n) <= 0.5 * tol else np.float64
