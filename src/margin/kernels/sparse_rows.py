r"""Kernels of sparse rows: one product of sparse matrices, then elementwise work on its dense result.

Squared distances are :math:`\|x\|^2 + \|z\|^2 - 2x^\top z` without centering, which would fill the zeros: rows far from
the origin compared with their distances lose digits, as sparse rows rarely are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from margin.kernels.algebra import Product, Sum
from margin.kernels.dot_product import LinearKernel, PolynomialKernel
from margin.kernels.function_kernel import FunctionKernel
from margin.kernels.kernel import ConstantKernel, Kernel
from margin.kernels.pairwise import CosineKernel, SigmoidKernel, unit_rows
from margin.kernels.stationary import RBF, LaplaceKernel, RadialKernel

__all__ = ["check_sparse_form", "kernel_values", "write_out"]

SMALL_VALUES = 1 << 16  # of a table that is written out whatever its zeros: half a megabyte
SPARSE_KERNELS = (
    ConstantKernel,
    LinearKernel,
    PolynomialKernel,
    SigmoidKernel,
    CosineKernel,
    RBF,
    LaplaceKernel,
    FunctionKernel,
)
FULL = 2 / 3  # of a table's values: then the zeros of an array are no more memory than the indices of a sparse one


def check_sparse_form(kernel: Kernel) -> None:
    """Raise if a kernel, or a part of it, cannot be computed from sparse rows."""
    if isinstance(kernel, Sum | Product):
        check_sparse_form(kernel.k1)
        check_sparse_form(kernel.k2)
    elif not isinstance(kernel, SPARSE_KERNELS):
        raise ValueError(f"{type(kernel).__name__}: sparse rows have no such kernel here; use X.toarray().")


def write_out(X: Any) -> Any:
    """X as an array where that is no larger than X itself, or small: one dense product is then the faster way.

    What is learned has the bits of what is learned from the array.
    """
    n_values = X.shape[0] * X.shape[1]
    return X.toarray() if sp.issparse(X) and (n_values <= SMALL_VALUES or X.nnz >= FULL * n_values) else X


def kernel_values(kernel: Kernel, X: Any, Z: Any) -> NDArray[Any]:
    """k(x, z) for all pairs of rows, (n, m), of arrays or of CSR matrices."""
    if not sp.issparse(X):
        return kernel(X, Z)
    if isinstance(kernel, Sum | Product):
        join = np.add if isinstance(kernel, Sum) else np.multiply
        return join(kernel_values(kernel.k1, X, Z), kernel_values(kernel.k2, X, Z))
    if isinstance(kernel, ConstantKernel):
        return np.full((X.shape[0], Z.shape[0]), float(kernel.constant_value), dtype=X.dtype)
    if isinstance(kernel, LinearKernel):
        return (X @ Z.T).toarray()
    if isinstance(kernel, PolynomialKernel):
        return (kernel.gamma * (X @ Z.T).toarray() + kernel.coef0) ** kernel.degree
    if isinstance(kernel, SigmoidKernel):
        return np.tanh(kernel.gamma * (X @ Z.T).toarray() + kernel.coef0)
    if isinstance(kernel, CosineKernel):
        return (unit_rows(X) @ unit_rows(Z).T).toarray()
    if isinstance(kernel, RBF):
        return np.exp(-0.5 * _squared_distances(kernel, X, Z))
    if isinstance(kernel, LaplaceKernel):
        return np.exp(-np.sqrt(_squared_distances(kernel, X, Z)))
    check_sparse_form(kernel)
    assert isinstance(kernel, FunctionKernel)
    return kernel.of_sparse(X, Z)


def _squared_distances(kernel: RadialKernel, X: Any, Z: Any) -> NDArray[Any]:
    scale = sp.diags_array(1 / np.broadcast_to(kernel.length_scale, X.shape[1]).astype(X.dtype))
    X, Z = X @ scale, Z @ scale
    squares = -2 * (X @ Z.T).toarray()
    squares += X.multiply(X).sum(axis=1).reshape(-1, 1)
    squares += Z.multiply(Z).sum(axis=1).reshape(1, -1)
    return np.maximum(squares, 0, out=squares)
