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

import numpy as np
from numpy.typing import ArrayLike

from margin.core.docstrings import with_parameters
from margin.foundations.probability.arguments import integer, positive, real
from margin.foundations.probability.pair_matrices import (
    Matrix,
    checked_pair,
    fill_distances,
    fill_products,
)
from margin.foundations.probability.parameter_texts import COVARIANCE
from margin.foundations.probability.radial import EXPONENTIAL, GAUSSIAN

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


@with_parameters(COVARIANCE)
def linear_kernel(X: ArrayLike, Z: ArrayLike | None = None) -> Matrix:
    """:math:`x^\\top z` for all pairs of rows, (n, m).

    Examples
    --------
    >>> linear_kernel([[1.0, 2.0]], [[3.0, 4.0]]).tolist()
    [[11.0]]
    """
    X, Z = checked_pair("linear_kernel", X, Z)
    return X @ (X if Z is None else Z).T


@with_parameters(COVARIANCE)
def polynomial_kernel(X: ArrayLike, Z: ArrayLike | None = None, degree: int = 2, offset: float = 1.0) -> Matrix:
    """:math:`(x^\\top z + c)^d`: all monomials up to degree d when c > 0, only those of degree d when c = 0.

    Parameters
    ----------
    degree : int
        The degree d.
    offset : float
        The constant c.
    """
    X, Z = checked_pair("polynomial_kernel", X, Z)
    degree = integer("polynomial_kernel", "degree", degree, low=1)
    offset = real("polynomial_kernel", "offset", offset)
    if offset < 0:
        raise ValueError(f"polynomial_kernel: offset must not be negative; got {offset:g}.")

    def finish(block: Matrix) -> None:
        block += offset
        raise_in_place(block, degree)

    return fill_products(X, X if Z is None else Z, finish, symmetric=Z is None)


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


@with_parameters(COVARIANCE)
def squared_distances(X: ArrayLike, Z: ArrayLike | None = None) -> Matrix:
    r""":math:`\|x-z\|^2 = \|x\|^2 + \|z\|^2 - 2x^\top z` for all pairs, never negative, zero on the diagonal of
    (X, X). Both sets are centered first, so that a common offset costs no digits.

    Examples
    --------
    >>> squared_distances([[0.0, 0.0]], [[3.0, 4.0]]).tolist()
    [[25.0]]
    """
    X, Z = checked_pair("squared_distances", X, Z)
    return fill_distances(X, Z, lambda _: None)


@with_parameters(COVARIANCE)
def rbf_kernel(X: ArrayLike, Z: ArrayLike | None = None, length_scale: float = 1.0) -> Matrix:
    r""":math:`\exp(-\|x-z\|^2/2\ell^2)`: one on the diagonal, positive definite for distinct points.

    Examples
    --------
    >>> rbf_kernel([[0.0], [1.0]]).round(6).tolist()
    [[1.0, 0.606531], [0.606531, 1.0]]
    """
    return GAUSSIAN(X, Z, length_scale)


@with_parameters(COVARIANCE)
def laplace_kernel(X: ArrayLike, Z: ArrayLike | None = None, length_scale: float = 1.0) -> Matrix:
    r""":math:`\exp(-\|x-z\|/\ell)` with the Euclidean norm: continuous but rough Gaussian-process draws.

    Square roots of distances computed by a matrix product carry an error of about 1e-8 (float64) times the spread
    of the data for nearly coincident points, and none on the diagonal.
    """
    return EXPONENTIAL(X, Z, length_scale)


@with_parameters(COVARIANCE)
def periodic_kernel(X: ArrayLike, Z: ArrayLike | None = None, period: float = 1.0, length_scale: float = 1.0) -> Matrix:
    r""":math:`\exp(-\frac2{\ell^2}\sum_j\sin^2(\pi(x_j-z_j)/p))`: functions that repeat with period p.

    Since :math:`2\sin^2(\pi\delta/p) = 1-\cos(2\pi\delta/p)` it is a Gaussian of the points wrapped onto circles
    :math:`(\cos\frac{2\pi x_j}p, \sin\frac{2\pi x_j}p)`, hence one matrix product and positive semi-definite in
    every dimension (which the sine of the *Euclidean* distance is not).

    Parameters
    ----------
    period : float
        The period p.
    """
    X, Z = checked_pair("periodic_kernel", X, Z)
    turn = X.dtype.type(2 * np.pi / positive("periodic_kernel", "period", period))
    scale = X.dtype.type(1 / positive("periodic_kernel", "length_scale", length_scale))
    d = X.dtype.type(X.shape[1]) * scale * scale

    def wrap(points: Matrix) -> Matrix:
        return np.concatenate([np.cos(turn * points), np.sin(turn * points)], axis=1) * scale

    def finish(block: Matrix) -> None:
        block -= d
        np.exp(block, out=block)

    wrapped = wrap(X)
    return fill_products(wrapped, wrapped if Z is None else wrap(Z), finish, symmetric=Z is None)


def length_scale_from_gamma(gamma: float) -> float:
    r"""The :math:`\ell` with :math:`e^{-\gamma r^2} = e^{-r^2/2\ell^2}`.

    >>> length_scale_from_gamma(0.5)
    1.0
    """
    return float(1 / np.sqrt(2 * positive("length_scale_from_gamma", "gamma", gamma)))


@with_parameters(COVARIANCE)
def gamma_from_length_scale(length_scale: float) -> float:
    r""":math:`\gamma = 1/2\ell^2`."""
    return 1 / (2 * positive("gamma_from_length_scale", "length_scale", length_scale) ** 2)


def is_positive_semidefinite(gram: ArrayLike, tolerance: float = 1e-8) -> bool:
    """Symmetric, and no eigenvalue below ``-tolerance`` times the largest: what every Gram matrix is.

    Parameters
    ----------
    gram : array-like of shape (n, n)
        A matrix.
    tolerance : float
        Negative eigenvalues down to this fraction of the largest count as zero.
    """
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

    Parameters
    ----------
    kernel : callable
        Maps two sets of rows to a matrix.
    d : int
        Number of dimensions.
    rng : numpy.random.Generator
        Source of randomness.
    tolerance : float
        Largest error that counts as equal.

    Examples
    --------
    >>> [is_stationary(k, 2, np.random.default_rng(0)) for k in (rbf_kernel, linear_kernel)]
    [True, False]
    """
    X, Z = rng.normal(size=(20, d)), rng.normal(size=(20, d))
    reference = kernel(X, Z)
    shifts = rng.normal(size=(5, d))
    return all(bool(np.max(np.abs(kernel(X + c, Z + c) - reference)) <= tolerance) for c in shifts)
