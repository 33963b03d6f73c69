"""Sums of exponentials that neither overflow nor vanish."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["log_sum_exp"]

Array = NDArray[np.float64]


def log_sum_exp(exponents: Array, axis: int) -> Array:
    r""":math:`\log \sum_i e^{x_i}` along one axis, shifted by its largest entry; :math:`-\infty` where all entries are.

    SciPy's function of this name also handles signs, complex numbers and weights, at several times the cost.

    >>> log_sum_exp(np.array([[-1000.0, -1000.0], [-np.inf, -np.inf]]), axis=1).round(3).tolist()
    [-999.307, -inf]
    """
    largest = exponents.max(axis=axis, keepdims=True)
    largest[np.isneginf(largest)] = 0.0
    shifted = exponents - largest
    np.exp(shifted, out=shifted)
    with np.errstate(divide="ignore"):  # an empty sum has logarithm -inf
        return np.log(shifted.sum(axis=axis)) + np.squeeze(largest, axis=axis)
