r"""From vectors to functions: a kernel as the infinite matrix that a large matrix approximates.

A function on [0, 1] sampled at n midpoints is a vector; the integral operator
:math:`(Kf)(s) = \int_0^1 k(s, t) f(t)\,dt` is then the matrix :math:`k(t_i, t_j)/n`, and its eigenvalues settle as n
grows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from margin.core.arguments import integer
from margin.foundations.linalg.arguments import Array
from margin.foundations.linalg.spectra import eigh

__all__ = ["INFINITE_COUNTERPART", "brownian_kernel", "discretized_operator", "midpoints", "operator_eigenvalues"]

Kernel = Callable[[Array, Array], Array]

INFINITE_COUNTERPART = {
    "matrix": "operator",
    "covariance matrix": "covariance operator (kernel)",
    "vector": "function",
}


def midpoints(n: int) -> Array:
    """The centers of n equal cells of [0, 1]."""
    return (np.arange(integer("midpoints", "n", n, low=1)) + 0.5) / n


def discretized_operator(kernel: Kernel, n: int) -> Array:
    r"""The (n, n) matrix :math:`k(t_i, t_j)/n` that stands for the kernel's integral operator on n midpoints."""
    t = midpoints(n)
    return kernel(t[:, None], t[None, :]) / n


def operator_eigenvalues(kernel: Kernel, n: int, k: int) -> Array:
    """The k largest eigenvalues, descending, of the operator discretized at n points.

    >>> operator_eigenvalues(brownian_kernel, 200, 1).round(4)  # 4 / pi^2 in the limit
    array([0.4053])
    """
    k = integer("operator_eigenvalues", "k", k, low=1, high=n)
    return eigh(discretized_operator(kernel, n)).values[::-1][:k]


def brownian_kernel(s: Array, t: Array) -> Array:
    r"""The covariance :math:`\min(s, t)` of Brownian motion, with eigenvalues :math:`((i - 1/2)\pi)^{-2}`."""
    return np.minimum(s, t)
