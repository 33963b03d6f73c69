r"""Feature maps :math:`\phi` whose inner products are kernels: :math:`k(x, z) = \langle\phi(x), \phi(z)\rangle`.

What the kernel trick saves us from computing, written out.
"""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from margin.foundations.probability.arguments import Array, generator, integer, positive, real, rows

__all__ = [
    "polynomial_features",
    "product_features",
    "radial_features",
    "random_fourier_features",
    "rbf_taylor_features",
]


def product_features(X: ArrayLike) -> Array:
    """(x1, x2, x1 x2) of points in the plane: it lifts XOR-like points until a plane separates them.

    Parameters
    ----------
    X : array-like of shape (n, 2)
        Points.

    Examples
    --------
    >>> product_features([[2.0, -3.0]]).tolist()
    [[2.0, -3.0, -6.0]]
    """
    X = rows("product_features", "X", X)
    if X.shape[1] != 2:
        raise ValueError(f"product_features: X must have two columns; got {X.shape[1]}.")
    return np.column_stack([X, X[:, 0] * X[:, 1]])


def radial_features(X: ArrayLike) -> Array:
    r""":math:`x \mapsto (x, \|x\|^2)`: spheres around the origin become level.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows.

    Examples
    --------
    >>> radial_features([[3.0, 4.0]]).tolist()
    [[3.0, 4.0, 25.0]]
    """
    X = rows("radial_features", "X", X)
    return np.column_stack([X, np.einsum("ij,ij->i", X, X)])


def polynomial_features(X: ArrayLike, degree: int = 2, offset: float = 1.0) -> Array:
    r"""Monomials scaled so that inner products equal :math:`(x^\top z + c)^d`, (n, binom(d' + d, d)).

    By the multinomial theorem the monomial of exponents :math:`a_0, \dots, a_p` (:math:`a_0` for the constant
    :math:`\sqrt c`) carries the root of :math:`d!/(a_0!\cdots a_p!)`.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows.
    degree : int
        The degree :math:`d`.
    offset : float
        The constant :math:`c`.
    """
    X = rows("polynomial_features", "X", X)
    degree = integer("polynomial_features", "degree", degree, low=1)
    offset = real("polynomial_features", "offset", offset)
    if offset < 0:
        raise ValueError(f"polynomial_features: offset must not be negative; got {offset:g}.")
    lifted = np.column_stack([np.full(len(X), np.sqrt(offset)), X])
    columns = []
    for chosen in combinations_with_replacement(range(lifted.shape[1]), degree):
        exponents = np.bincount(np.asarray(chosen, dtype=np.intp), minlength=lifted.shape[1])
        multiplicity = special.gamma(degree + 1) / np.prod(special.gamma(exponents + 1))
        columns.append(np.sqrt(multiplicity) * np.prod(lifted[:, list(chosen)], axis=1))
    return np.column_stack(columns)


def rbf_taylor_features(X: ArrayLike, order: int, length_scale: float = 1.0) -> Array:
    r"""The coordinates up to degree ``order`` of the Gaussian kernel's infinite feature map.

    On a line they are :math:`\phi_k(x) = e^{-x^2/2\ell^2}\,(x/\ell)^k/\sqrt{k!}`, from the Taylor series of
    :math:`e^{xz/\ell^2}`; the kernel is a product over columns, so the features of several columns are products too.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows.
    order : int
        Largest degree.
    length_scale : float
        Length scale, :math:`\ell`.

    Examples
    --------
    >>> rbf_taylor_features([[0.0]], 3).tolist()
    [[1.0, 0.0, 0.0, 0.0]]
    """
    X = rows("rbf_taylor_features", "X", X)
    order = integer("rbf_taylor_features", "order", order, low=0)
    z = X[:, :, None] / positive("rbf_taylor_features", "length_scale", length_scale)  # (n, p, 1)
    k = np.arange(order + 1)
    # Powers and factorials meet in logarithms: z^k alone would overflow long before the ratio does.
    logs = special.xlogy(k, np.abs(z)) - 0.5 * special.gammaln(k + 1) - 0.5 * z**2
    single = np.where((z < 0) & (k % 2 == 1), -1.0, 1.0) * np.exp(logs)  # (n, p, order + 1)
    columns = []
    for degree in range(order + 1):
        for chosen in combinations_with_replacement(range(X.shape[1]), degree):
            exponents = np.bincount(np.asarray(chosen, dtype=np.intp), minlength=X.shape[1])
            columns.append(np.prod(single[:, np.arange(X.shape[1]), exponents], axis=1))
    return np.column_stack(columns)


def random_fourier_features(X: ArrayLike, n_features: int, length_scale: float, rng: np.random.Generator) -> Array:
    r"""Finite features whose inner products tend to the RBF kernel like :math:`1/\sqrt{n}`: cosines and sines of
    :math:`\omega^\top x` at frequencies :math:`\omega\sim\mathcal N(0, I/\ell^2)` (Bochner's theorem).

    Parameters
    ----------
    X : array-like of shape (n, d)
        Rows.
    n_features : int
        Number of features.
    length_scale : float
        Length scale, :math:`\ell`.
    rng : numpy.random.Generator
        Source of randomness.
    """
    X = rows("random_fourier_features", "X", X)
    pairs = integer("random_fourier_features", "n_features", n_features, low=2) // 2
    scale = positive("random_fourier_features", "length_scale", length_scale)
    omega = generator("random_fourier_features", rng).standard_normal((X.shape[1], pairs)) / scale
    return np.concatenate([np.cos(X @ omega), np.sin(X @ omega)], axis=1) / np.sqrt(pairs)
