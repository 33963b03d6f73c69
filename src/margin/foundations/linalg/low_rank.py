r"""Low rank: the singular value decomposition as a sum, and what its first terms are worth.

:math:`A = \sum_i \sigma_i u_i v_i^\top`. Of all matrices of rank k the first k terms are the nearest to A (Eckart and
Young), and they miss :math:`\sqrt{\sigma_{k+1}^2 + \dots + \sigma_r^2}` of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from margin.core.arguments import integer
from margin.foundations.linalg.arguments import Array, as_matrix
from margin.foundations.linalg.spectra import svd

__all__ = ["CompressedImage", "stored_numbers", "svd_compress", "svd_terms"]


class CompressedImage(NamedTuple):
    """A rank-k image, how many numbers it takes to store it, and what that is of the original count."""

    image: Array  # (height, width)
    stored: int
    ratio: float
    relative_error: float  # in the Frobenius norm


def svd_terms(A: Any, k: int) -> Array:
    r"""The partial sum :math:`\sum_{i\le k} \sigma_i u_i v_i^\top`, the best approximation of A by a matrix of rank k.

    >>> svd_terms([[3.0, 0.0], [0.0, 1.0]], 1)
    array([[3., 0.],
           [0., 0.]])
    """
    A = as_matrix("svd_terms", "A", A, real=True)
    k = integer("svd_terms", "k", k, low=0, high=min(A.shape))
    U, s, V = svd(A)
    return (U[:, :k] * s[:k]) @ V[:, :k].T


def stored_numbers(shape: tuple[int, int], k: int) -> int:
    """How many numbers k singular triples of a (height, width) image hold: ``(1 + height + width) k``.

    >>> stored_numbers((450, 333), 50)
    39200
    """
    height, width = shape
    return (1 + height + width) * k


def svd_compress(image: Any, k: int) -> CompressedImage:
    """An image (any real matrix) reduced to its first k singular triples."""
    image = as_matrix("svd_compress", "image", image, real=True)
    k = integer("svd_compress", "k", k, low=1, high=min(image.shape))
    approximation = svd_terms(image, k)
    stored = stored_numbers((image.shape[0], image.shape[1]), k)
    size = np.linalg.norm(image)
    error = float(np.linalg.norm(image - approximation) / size) if size > 0 else 0.0
    return CompressedImage(approximation, stored, stored / image.size, error)
