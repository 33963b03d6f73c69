"""Orthogonal matrices: those whose inverse is their transpose."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from margin.core.arguments import integer
from margin.foundations.linalg.arguments import Array, as_matrix, as_square
from margin.foundations.linalg.determinants import determinant

__all__ = ["classify_orthogonal", "is_orthogonal", "random_orthogonal", "rotation"]


def rotation(theta: float) -> Array:
    r"""The rotation of the plane by ``theta`` radians.

    .. math:: R(\theta) = \begin{bmatrix}\cos\theta & -\sin\theta\\ \sin\theta & \cos\theta\end{bmatrix}

    >>> rotation(np.pi / 2).round(12)
    array([[ 0., -1.],
           [ 1.,  0.]])
    """
    if not math.isfinite(theta):
        raise ValueError(f"rotation: theta must be finite; got {theta}.")
    c, s = math.cos(theta), math.sin(theta)
    return np.array([[c, -s], [s, c]])


def is_orthogonal(A: Any, tol: float = 1e-10) -> bool:
    r"""Whether A is square with :math:`A^\top A = I` up to ``tol`` in every entry: columns (and rows) orthonormal.

    >>> is_orthogonal(rotation(0.3)), is_orthogonal([[2, 0], [0, 2]]), is_orthogonal([[1, 1], [0, 1]])
    (True, False, False)
    """
    A = as_matrix("is_orthogonal", "A", A, real=True)
    n, m = A.shape
    return n == m and bool(np.abs(A.T @ A - np.eye(n)).max() <= tol)


def classify_orthogonal(A: Any, tol: float = 1e-10) -> str:
    r"""``"rotation"`` when :math:`\det A = 1`, ``"reflection"`` (one reflection and a rotation) when it is -1."""
    A = as_square("classify_orthogonal", "A", A, real=True)
    if not is_orthogonal(A, tol):
        raise ValueError(f"classify_orthogonal: A must be orthogonal within {tol:g}; A^T A is not the identity.")
    return "rotation" if determinant(A) > 0 else "reflection"


def random_orthogonal(n: int, rng: np.random.Generator) -> Array:
    """A uniformly (Haar) distributed orthogonal n x n matrix.

    The Q of a Gaussian matrix is uniform once its columns take the signs that make R's diagonal positive.
    """
    n = integer("random_orthogonal", "n", n, low=1)
    Q, R = np.linalg.qr(rng.standard_normal((n, n)))
    return Q * np.sign(np.diag(R))
