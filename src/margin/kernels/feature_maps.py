r"""Features whose inner products are kernels, written out: what the kernel trick saves us from computing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations_with_replacement
from math import factorial, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["monomial_features", "product_lift", "radial_lift", "rbf_taylor_features", "word_kernel"]

Floats = NDArray[np.float64]


def homogeneous_features(X: Any, degree: int) -> Floats:
    r"""All monomials of one degree, scaled by the root of their multinomial coefficients: inner products are
    :math:`(x^\top z)^{\text{degree}}`."""
    X = np.asarray(X, dtype=np.float64)
    columns = []
    for choice in combinations_with_replacement(range(X.shape[1]), degree):
        count = factorial(degree) / prod(factorial(times) for times in Counter(choice).values())
        columns.append(np.sqrt(count) * np.prod(X[:, list(choice)], axis=1))
    return np.column_stack(columns)


def monomial_features(X: Any, degree: int, offset: float = 1.0) -> Floats:
    r"""Features of the polynomial kernel :math:`(x^\top z + c)^d`: the homogeneous ones of (x, sqrt c).

    >>> monomial_features([[2.0]], 2).round(4).tolist()
    [[4.0, 2.8284, 1.0]]
    """
    X = np.asarray(X, dtype=np.float64)
    return homogeneous_features(np.column_stack([X, np.full(len(X), np.sqrt(offset))]), degree)


def rbf_taylor_features(X: Any, order: int, length_scale: float = 1.0) -> Floats:
    r"""The features of the Gaussian kernel up to ``order``, from
    :math:`e^{-\|x-z\|^2/2} = e^{-\|x\|^2/2}e^{-\|z\|^2/2}\sum_k (x^\top z)^k/k!`; it has infinitely many.

    >>> rbf_taylor_features([[0.0]], 3).tolist()
    [[1.0, 0.0, 0.0, 0.0]]
    """
    X = np.asarray(X, dtype=np.float64) / length_scale
    parts = [homogeneous_features(X, k) / np.sqrt(factorial(k)) for k in range(1, order + 1)]
    envelope = np.exp(-0.5 * np.einsum("ij,ij->i", X, X))[:, None]
    return envelope * np.column_stack([np.ones(len(X)), *parts])


def radial_lift(X: Any) -> Floats:
    r""":math:`(x, y) \mapsto (x, y, x^2+y^2)`: circles around the origin become level."""
    X = np.asarray(X, dtype=np.float64)
    return np.column_stack([X, np.einsum("ij,ij->i", X, X)])


def product_lift(X: Any) -> Floats:
    r""":math:`(x_1, x_2) \mapsto (x_1, x_2, x_1x_2)`: opposite quadrants end on the same side."""
    X = np.asarray(X, dtype=np.float64)
    return np.column_stack([X, X[:, 0] * X[:, 1]])


def word_kernel(texts: Sequence[str], others: Sequence[str] | None = None) -> Floats:
    """Cosine of word counts, a kernel between texts, which are not vectors.

    >>> word_kernel(["the cat sat", "the cat ran"]).round(3).tolist()
    [[1.0, 0.667], [0.667, 1.0]]
    """
    left = [Counter(text.lower().split()) for text in texts]
    right = left if others is None else [Counter(text.lower().split()) for text in others]
    norms = [np.sqrt(sum(c * c for c in counts.values())) or 1.0 for counts in (*left, *right)]
    products = [[sum(c * b[word] for word, c in a.items()) for b in right] for a in left]
    return np.array(products) / np.outer(norms[: len(left)], norms[len(left) :])
