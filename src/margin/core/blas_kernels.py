"""What kernels call of BLAS, in Python: compiled kernels call ``blas.pxd`` in its place."""

from __future__ import annotations

import numpy as np

__all__ = ["multiply_transposed"]


def multiply_transposed(A: np.ndarray, B: np.ndarray, rows: int, out: np.ndarray) -> None:
    """``A @ B[:rows].T`` into the first k x rows numbers of ``out``, row after row; ``A`` is (k, d)."""
    out[: len(A) * rows] = (A @ B[:rows].T).ravel()
