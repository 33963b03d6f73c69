r"""Kernels k(X, Z) of arrays of rows: inner products in some feature space, and covariances of Gaussian processes.

=============  ==========================================================================
linear         :math:`x^\top z`
polynomial     :math:`(x^\top z + c)^d`
rbf            :math:`\exp(-\|x-z\|^2 / 2\ell^2)`; with :math:`\gamma = 1/2\ell^2` also :math:`e^{-\gamma\|x-z\|^2}`
laplace        :math:`\exp(-\|x-z\| / \ell)`
periodic       :math:`\exp(-\frac{2}{\ell^2}\sum_j\sin^2(\pi(x_j-z_j)/p))`
=============  ==========================================================================

Every kernel is one matrix product followed by elementwise work, done block by block while the block is in cache;
with ``Z=None`` (all pairs of X) only one triangle is computed. float32 input stays float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from margin.foundations.probability.arguments import integer, positive, real

__all__ = [
    "gamma_from_length_scale",
    "is_positive_semidefinite",
    "is_stationary",
    "laplace_kernel",
    "length_scale_from_gamma",
    "linear_kernel",
    "periodic_kernel",
    "polynomial_kernel",
    "raise_in_place",
    "rbf_kernel",
    "squared_distances",
]

Matrix = NDArray[Any]
# Entries of one block (2 MB of float64) and rows of one symmetric block: measured, with 3000 rows the cost is flat
# around them, and many times larger or smaller blocks leave the cache or starve the matrix product.
BLOCK_ENTRIES = 1 << 18
SYMMETRIC_ROWS = 128


def linear_kernel(X: ArrayLike, Z: ArrayLike | None = None) -> Matrix:
    """:math:`x^\\top z` for all pairs of rows, (n, m).

    >>> linear_kernel([[1.0, 2.0]], [[3.0, 4.0]]).tolist()
    [[11.0]]
    """
    X, Z = _pair("linear_kernel", X, Z)
    return X @ (X if Z is None else Z).T


def polynomial_kernel(X: ArrayLike, Z: ArrayLike | None = None, degree: int = 2, offset: float = 1.0) -> Matrix:
    """:math:`(x^\\top z + c)^d`: all monomials up to degree d when c > 0, only those of degree d when c = 0."""
    X, Z = _pair("polynomial_kernel", X, Z)
    degree = integer("polynomial_kernel", "degree", degree, low=1)
    offset = real("polynomial_kernel", "offset", offset)
    if offset < 0:
        raise ValueError(f"polynomial_kernel: offset must not be negative; got {offset:g}.")

    def finish(block: Matrix) -> None:
        block += offset
        raise_in_place(block, degree)

    return _fill(X, X if Z is None else Z, finish, symmetric=Z is None)


def raise_in_place(block: Matrix, degree: int) -> None:
    """Raise every entry to a power of at least 1, by squaring: any degree takes a few dozen products.

    >>> values = np.array([2.0, -1.0])
    >>> raise_in_place(values, 5)
    >>> values.tolist()
    [32.0, -1.0]
    """
    base, left = block.copy(), degree - 1
    while left:
        if left & 1:
            block *= base
        left >>= 1
        if left:
            base *= base


def squared_distances(X: ArrayLike, Z: ArrayLike | None = None) -> Matrix:
    r""":math:`\|x-z\|^2 = \|x\|^2 + \|z\|^2 - 2x^\top z` for all pairs, never negative, zero on the diagonal of
    (X, X). Both sets are centered first, so that a common offset costs no digits.

    >>> squared_distances([[0.0, 0.0]], [[3.0, 4.0]]).tolist()
    [[25.0]]
    """
    X, Z = _pair("squared_distances", X, Z)
    return _fill_distances(X, Z, lambda _: None)


def rbf_kernel(X: ArrayLike, Z: ArrayLike | None = None, length_scale: float = 1.0) -> Matrix:
    r""":math:`\exp(-\|x-z\|^2/2\ell^2)`: one on the diagonal, positive definite for distinct points.

    >>> rbf_kernel([[0.0], [1.0]]).round(6).tolist()
    [[1.0, 0.606531], [0.606531, 1.0]]
    """
    X, Z = _pair("rbf_kernel", X, Z)
    # Scaling the inputs is n d work; scaling the distances would be n m.
    scale = X.dtype.type(1 / (np.sqrt(2) * positive("rbf_kernel", "length_scale", length_scale)))

    def finish(block: Matrix) -> None:
        np.negative(block, out=block)
        np.exp(block, out=block)

    return _fill_distances(X * scale, None if Z is None else Z * scale, finish, absolute=True)


def laplace_kernel(X: ArrayLike, Z: ArrayLike | None = None, length_scale: float = 1.0) -> Matrix:
    r""":math:`\exp(-\|x-z\|/\ell)` with the Euclidean norm: continuous but rough Gaussian-process draws.

    Square roots of distances computed by a matrix product carry an error of about 1e-8 (float64) times the spread
    of the data for nearly coincident points, and none on the diagonal.
    """
    X, Z = _pair("laplace_kernel", X, Z)
    scale = X.dtype.type(1 / positive("laplace_kernel", "length_scale", length_scale))

    def finish(block: Matrix) -> None:
        np.sqrt(block, out=block)
        np.negative(block, out=block)
        np.exp(block, out=block)

    return _fill_distances(X * scale, None if Z is None else Z * scale, finish, absolute=True)


def periodic_kernel(X: ArrayLike, Z: ArrayLike | None = None, period: float = 1.0, length_scale: float = 1.0) -> Matrix:
    r""":math:`\exp(-\frac2{\ell^2}\sum_j\sin^2(\pi(x_j-z_j)/p))`: functions that repeat with period p.

    Since :math:`2\sin^2(\pi\delta/p) = 1-\cos(2\pi\delta/p)` it is a Gaussian of the points wrapped onto circles
    :math:`(\cos\frac{2\pi x_j}p, \sin\frac{2\pi x_j}p)`, hence one matrix product and positive semi-definite in
    every dimension (which the sine of the *Euclidean* distance is not).
    """
    X, Z = _pair("periodic_kernel", X, Z)
    turn = X.dtype.type(2 * np.pi / positive("periodic_kernel", "period", period))
    scale = X.dtype.type(1 / positive("periodic_kernel", "length_scale", length_scale))
    d = X.dtype.type(X.shape[1]) * scale * scale

    def wrap(points: Matrix) -> Matrix:
        return np.concatenate([np.cos(turn * points), np.sin(turn * points)], axis=1) * scale

    def finish(block: Matrix) -> None:
        block -= d
        np.exp(block, out=block)

    wrapped = wrap(X)
    return _fill(wrapped, wrapped if Z is None else wrap(Z), finish, symmetric=Z is None)


def length_scale_from_gamma(gamma: float) -> float:
    r"""The :math:`\ell` with :math:`e^{-\gamma r^2} = e^{-r^2/2\ell^2}`.

    >>> length_scale_from_gamma(0.5)
    1.0
    """
    return float(1 / np.sqrt(2 * positive("length_scale_from_gamma", "gamma", gamma)))


def gamma_from_length_scale(length_scale: float) -> float:
    r""":math:`\gamma = 1/2\ell^2`."""
    return 1 / (2 * positive("gamma_from_length_scale", "length_scale", length_scale) ** 2)


def is_positive_semidefinite(gram: ArrayLike, tolerance: float = 1e-8) -> bool:
    """Symmetric, and no eigenvalue below ``-tolerance`` times the largest: what every Gram matrix is."""
    K = np.asarray(gram, dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or K.size == 0 or not np.all(np.isfinite(K)):
        raise ValueError(f"is_positive_semidefinite: gram must be a finite square matrix; got shape {K.shape}.")
    size = float(np.max(np.abs(K)))
    if np.max(np.abs(K - K.T)) > tolerance * size:
        return False
    eigenvalues = np.linalg.eigvalsh(K)
    return bool(eigenvalues[0] >= -tolerance * max(eigenvalues[-1], 0.0))


def is_stationary(
    kernel: Callable[[Matrix, Matrix], Matrix], d: int, rng: np.random.Generator, tolerance: float = 1e-8
) -> bool:
    """Whether k(x + c, z + c) = k(x, z) on random points and shifts in d dimensions.

    >>> [is_stationary(k, 2, np.random.default_rng(0)) for k in (rbf_kernel, linear_kernel)]
    [True, False]
    """
    X, Z = rng.normal(size=(20, d)), rng.normal(size=(20, d))
    reference = kernel(X, Z)
    shifts = rng.normal(size=(5, d))
    return all(bool(np.max(np.abs(kernel(X + c, Z + c) - reference)) <= tolerance) for c in shifts)


def _pair(owner: str, X: ArrayLike, Z: ArrayLike | None) -> tuple[Matrix, Matrix | None]:
    first = _matrix(owner, "X", X)
    if Z is None:
        return first, None
    second = _matrix(owner, "Z", Z)
    if first.shape[1] != second.shape[1]:
        raise ValueError(f"{owner}: X and Z must have as many columns; got {first.shape[1]} and {second.shape[1]}.")
    dtype = np.result_type(first, second)
    return first.astype(dtype, copy=False), second.astype(dtype, copy=False)


def _matrix(owner: str, name: str, value: ArrayLike) -> Matrix:
    """Rows of float32 or float64; a vector is read as points on a line."""
    try:
        array = np.asarray(value)
        array = array if array.dtype == np.float32 else array.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise ValueError(f"{owner}: {name} must be a matrix of real numbers; got {value!r}.") from None
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or array.size == 0:
        raise ValueError(f"{owner}: {name} must be a non-empty matrix of rows; got shape {array.shape}.")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{owner}: {name} must be finite; got {array[~np.isfinite(array)][0]} among its entries.")
    return array


def longest_row(dtype: Any) -> float:
    """The squared norm up to which the product of two rows has rounding errors of at most about a tenth.

    Beyond it, an exponential of distances that were computed from products is noise, for a row and itself too.
    """
    return float(0.1 / np.finfo(dtype).eps)


def _fill_gaps(X: Matrix, Z: Matrix, finish: Callable[[Matrix], None]) -> Matrix:
    """``finish`` of squared distances by subtracting rows: slower than a product, exact at distance zero."""
    out = np.empty((len(X), len(Z)), dtype=X.dtype)
    with np.errstate(over="ignore"):  # a distance beyond the range is infinite, and its exponential zero
        for i, x in enumerate(X):
            out[i] = ((Z - x) ** 2).sum(axis=1)
    finish(out)
    return out


def _fill(
    left: Matrix, right: Matrix, finish: Callable[[Matrix], None], *, symmetric: bool, zero_diagonal: bool = False
) -> Matrix:
    """left right^T with ``finish`` applied in place, a cache-sized block of rows at a time; of a symmetric result
    only the upper triangle is computed and then mirrored."""
    n, m = len(left), len(right)
    out = np.empty((n, m), dtype=left.dtype)
    rows = max(1, min(BLOCK_ENTRIES // m, SYMMETRIC_ROWS if symmetric else n))
    for start in range(0, n, rows):
        stop = min(start + rows, n)
        if not symmetric:
            finish(np.matmul(left[start:stop], right.T, out=out[start:stop]))
            continue
        block = left[start:stop] @ right[start:].T
        if zero_diagonal:
            np.fill_diagonal(block, 0)
        finish(block)
        out[start:stop, start:] = block
        out[stop:, start:stop] = block[:, stop - start :].T
        corner = block[:, : stop - start]
        # The two halves of a product of different factors differ in the last digit; their mean is symmetric.
        out[start:stop, start:stop] = (corner + corner.T) / 2
    return out


def _fill_distances(X: Matrix, Z: Matrix | None, finish: Callable[[Matrix], None], *, absolute: bool = False) -> Matrix:
    """The same for squared distances, which are the product of rows [-2x, |x|^2, 1] and [z, 1, |z|^2].

    Where ``finish`` needs their ``absolute`` error to be small, rows too long for that are subtracted instead.
    """
    other = X if Z is None else Z
    center = other.mean(axis=0)

    def clip_and_finish(block: Matrix) -> None:
        np.maximum(block, 0, out=block)
        finish(block)

    x, z = X - center, other - center
    x_norms, z_norms = (np.einsum("ij,ij->i", rows, rows)[:, None] for rows in (x, z))
    if absolute and not max(x_norms.max(), z_norms.max()) <= longest_row(X.dtype):
        return _fill_gaps(X, other, finish)
    left = np.concatenate([-2 * x, x_norms, np.ones_like(x_norms)], axis=1)
    right = np.concatenate([z, np.ones_like(z_norms), z_norms], axis=1)
    return _fill(left, right, clip_and_finish, symmetric=Z is None, zero_diagonal=True)
