r"""Sums of independent variables: their density is the convolution of the densities.

.. math:: f_{X+Y}(z) = \int f_X(x)\, f_Y(z-x)\,dx

Independence is essential: for Y = X the sum is 2X, whose variance is twice what the convolution says.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from margin.foundations.probability.arguments import Array, integer, numbers, positive
from margin.foundations.probability.normal import Normal

__all__ = ["convolve_densities", "convolve_masses", "noised_density", "self_convolve_masses"]

Density = Callable[[Array], Array]
# A normal density beyond this many deviations is below double precision relative to its peak.
NOISE_REACH = 9.0


def convolve_densities(f: Density, g: Density, low: float, high: float, n: int = 4096) -> tuple[Array, Array]:
    """Density of X + Y for independent X, Y that live on [low, high]: points z on [2 low, 2 high] and values.

    Midpoint rule on ``n`` cells by fast Fourier transform: error of order 1/n^2 for smooth densities, 1/n at jumps.

    Parameters
    ----------
    f : callable
        Density of X.
    g : callable
        Density of Y.
    low : float
        Lower end of both supports.
    high : float
        Upper end of both supports.
    n : int
        Number of cells.

    Examples
    --------
    >>> z, density = convolve_densities(lambda x: np.ones_like(x), lambda x: np.ones_like(x), 0, 1)
    >>> round(float(density.max()), 2)  # two uniforms make a triangle
    1.0
    """
    if not low < high:
        raise ValueError(f"convolve_densities: low must be below high; got {low!r} and {high!r}.")
    step = (high - low) / integer("convolve_densities", "n", n, low=2)
    x: Array = low + step * (np.arange(n, dtype=np.float64) + 0.5)
    density = _convolve(f(x), g(x)) * step
    z: Array = 2 * low + step * np.arange(1, 2 * n, dtype=np.float64)
    return z, np.maximum(density, 0.0)


def convolve_masses(p: ArrayLike, q: ArrayLike) -> Array:
    """Probabilities of X + Y on 0, 1, 2, ... from those of X and Y, exact sums.

    Parameters
    ----------
    p : array-like of shape (k,)
        Probabilities of X on 0, 1, 2, ...
    q : array-like of shape (m,)
        Probabilities of Y on 0, 1, 2, ...

    Examples
    --------
    >>> convolve_masses([0.5, 0.5], [0.5, 0.5]).tolist()
    [0.25, 0.5, 0.25]
    """
    return np.convolve(numbers("convolve_masses", "p", p), numbers("convolve_masses", "q", q))


def self_convolve_masses(p: ArrayLike, n: int) -> Array:
    """Probabilities of the sum of n independent copies: n Bernoullis make a binomial.

    Parameters
    ----------
    p : array-like of shape (k,)
        Probabilities on 0, 1, 2, ...
    n : int
        Number of copies.
    """
    total, p = np.ones(1), numbers("self_convolve_masses", "p", p)
    for _ in range(integer("self_convolve_masses", "n", n)):
        total = convolve_masses(total, p)
    return total


def noised_density(p0: Density, sigma: float, grid: ArrayLike) -> Array:
    r"""Density of :math:`x_0 + \sigma\epsilon` on an evenly spaced grid that holds all of ``p0``:
    :math:`\int p_0(x)\,\mathcal N(z; x, \sigma^2)\,dx`, as a convolution by fast Fourier transform."""
    z = numbers("noised_density", "grid", grid)
    steps = np.diff(z)
    if z.ndim != 1 or z.size < 3 or steps[0] <= 0 or not np.allclose(steps, steps[0], rtol=1e-6, atol=0):
        raise ValueError("noised_density: grid must be an increasing, evenly spaced vector of at least 3 points.")
    step = (z[-1] - z[0]) / (z.size - 1)
    reach = int(np.ceil(NOISE_REACH * positive("noised_density", "sigma", sigma) / step))
    if reach < 2 * NOISE_REACH:
        raise ValueError(f"noised_density: grid step {step:g} is too coarse for sigma={sigma:g}; use half of sigma.")
    kernel = Normal(0, sigma).pdf(step * np.arange(-reach, reach + 1))
    full = _convolve(p0(z), kernel) * step
    return np.maximum(full[reach : reach + z.size], 0.0)


def _convolve(a: Array, b: Array) -> Array:
    from scipy.signal import fftconvolve  # imports as much as all else that a prediction needs of SciPy

    return fftconvolve(a, b)
