r"""Kernels of a density: their height at a distance, their volume, and distances drawn from them."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

__all__ = [
    "KERNELS",
    "SHORT",
    "kernel_radii",
    "log_ball_volume",
    "log_kernel",
    "log_kernel_volume",
    "reach",
    "short_kernel",
]

SHORT = ("tophat", "epanechnikov", "linear", "cosine")  # kernels that end at one bandwidth
KERNELS = ("gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine")


def log_kernel(name: str, squared: np.ndarray) -> np.ndarray:
    """Logarithm of the kernel, 1 at distance 0, from squared distances in bandwidths."""
    if name == "gaussian":
        return -0.5 * squared
    if name == "exponential":
        return -np.sqrt(squared)
    with np.errstate(divide="ignore"):
        return np.log(short_kernel(name, squared))


def short_kernel(name: str, squared: np.ndarray) -> np.ndarray:
    """The height of a kernel that ends at one bandwidth, from squared distances in bandwidths."""
    if name == "tophat":
        return (squared < 1.0).astype(np.float64)
    squared = np.minimum(squared, 1.0)
    if name == "epanechnikov":
        return 1.0 - squared
    distance = np.sqrt(squared)
    # The cosine of a quarter turn is 6e-17 by rounding.
    return 1.0 - distance if name == "linear" else np.where(squared < 1.0, np.cos(0.5 * np.pi * distance), 0.0)


def log_ball_volume(d: int, exponent: float = 2.0) -> float:
    r"""Logarithm of :math:`V_d = (2\Gamma(1 + 1/p))^d / \Gamma(1 + d/p)`, the volume of :math:`\sum_j |x_j|^p \le 1`.

    >>> [round(float(np.exp(log_ball_volume(2, p))), 4) for p in (1.0, 2.0, np.inf)]
    [2.0, 3.1416, 4.0]
    """
    return d * float(np.log(2) + gammaln(1 + 1 / exponent)) - float(gammaln(1 + d / exponent))


def log_kernel_volume(name: str, d: int, exponent: float = 2.0) -> float:
    r"""Logarithm of the integral of the kernel over d dimensions, :math:`d V_d \int_0^\infty r^{d-1} K(r) dr`, for a
    Minkowski distance r."""
    from scipy.integrate import quad

    ball = log_ball_volume(d, exponent)
    if name == "gaussian":
        return ball + float(np.log(d) + (0.5 * d - 1) * np.log(2) + gammaln(0.5 * d))
    if name == "exponential":
        return ball + float(gammaln(d + 1))
    if name == "cosine":
        return ball + float(np.log(d * quad(lambda r: r ** (d - 1) * np.cos(0.5 * np.pi * r), 0, 1)[0]))
    return ball + {"tophat": 0.0, "epanechnikov": float(np.log(2 / (d + 2))), "linear": -float(np.log(d + 1))}[name]


def kernel_radii(name: str, d: int, n: int, rng: np.random.Generator) -> np.ndarray:
    r"""``n`` distances in bandwidths with density proportional to :math:`r^{d-1} K(r)`."""
    if name == "gaussian":
        return np.sqrt(rng.chisquare(d, size=n))
    if name == "exponential":
        return rng.gamma(d, size=n)
    if name == "linear":
        return rng.beta(d, 2.0, size=n)
    if name in ("tophat", "epanechnikov"):
        return np.sqrt(rng.beta(0.5 * d, 1.0 if name == "tophat" else 2.0, size=n))
    accepted = np.empty(0)
    while len(accepted) < n:  # cos(pi r / 2) is never above 1 - r^2, and never below pi / 4 of it
        radii = kernel_radii("epanechnikov", d, 2 * n, rng)
        height = np.cos(0.5 * np.pi * radii) / np.maximum(1.0 - radii**2, np.finfo(float).tiny)
        accepted = np.append(accepted, radii[rng.random(2 * n) < height])
    return accepted[:n]


def reach(name: str, log_height: float) -> float:
    r"""The distance in bandwidths beyond which the logarithm of the kernel is below ``log_height`` (at most 0).

    >>> reach("gaussian", -8.0), reach("tophat", -8.0), reach("exponential", -np.inf)
    (4.0, 1.0, inf)
    """
    if name == "gaussian":
        return float(np.sqrt(-2.0 * log_height))
    return -float(log_height) if name == "exponential" else 1.0
