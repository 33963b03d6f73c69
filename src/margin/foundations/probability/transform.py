r"""A variable as a function of another one: sampling, gradients and densities through a map.

.. math:: z = F^{-1}(u), \qquad \frac{dz}{d\phi} = -\frac{\partial_\phi F_\phi(z)}{f_\phi(z)}, \qquad
          \log p_Y(y) = \log p_X(g^{-1}(y)) + \log\left|\det J_{g^{-1}}(y)\right|
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from margin.foundations.probability.arguments import Array, generator, integer, numbers
from margin.foundations.probability.distribution import Continuous

__all__ = ["log_abs_det_jacobian", "pathwise_derivative", "pushforward_log_density", "sample_inverse_cdf"]

# Central differences lose least to rounding and truncation together near the cube root of machine precision.
DIFFERENCE = float(np.finfo(np.float64).eps ** (1 / 3))


def sample_inverse_cdf(quantile: Callable[[Array], Array], n: int, rng: np.random.Generator) -> Array:
    """n draws of a law as its quantile function of uniform noise.

    Parameters
    ----------
    quantile : callable
        The quantile function.
    n : int
        Number of draws.
    rng : numpy.random.Generator
        Source of randomness.

    Examples
    --------
    >>> draws = sample_inverse_cdf(lambda u: -np.log1p(-u), 5, np.random.default_rng(0))
    >>> bool(np.all(draws > 0))
    True
    """
    return quantile(generator("sample_inverse_cdf", rng).random(integer("sample_inverse_cdf", "n", n)))


def pathwise_derivative(family: Callable[[float], Continuous], parameter: float, z: ArrayLike) -> Array:
    r"""How a draw :math:`z = F_\phi^{-1}(u)` moves with the parameter while its noise u stays fixed.

    Implicit differentiation of :math:`F_\phi(z) = u`: :math:`dz/d\phi = -\partial_\phi F_\phi(z)/f_\phi(z)`; sampling
    by the inverse CDF is a reparameterization that gradients pass through.

    Parameters
    ----------
    family : callable
        Maps a parameter to a distribution.
    parameter : float
        The parameter, :math:`\phi`.
    z : array-like
        Draws.

    Examples
    --------
    >>> from margin.foundations.probability import Exponential
    >>> pathwise_derivative(Exponential, 2.0, [1.0]).round(6).tolist()  # z = -log(1-u)/rate: -z/rate
    [-0.5]
    """
    z = numbers("pathwise_derivative", "z", z)
    h = DIFFERENCE * max(1.0, abs(parameter))
    slope = (family(parameter + h).cdf(z) - family(parameter - h).cdf(z)) / (2 * h)
    return -slope / family(parameter).pdf(z)


def pushforward_log_density(
    log_density: Callable[[Array], Array], inverse: Callable[[Array], Array], y: ArrayLike
) -> Array:
    """Log-density of y = g(x) at rows ``y`` (n, d): the source's at g^{-1}(y) plus the log-volume change.

    ``inverse`` maps (n, d) to (n, d) row by row; its Jacobian is taken by central differences.

    Parameters
    ----------
    log_density : callable
        Log-density of x.
    inverse : callable
        The inverse of g.
    y : array-like of shape (n, d)
        Where it is evaluated.
    """
    points = numbers("pushforward_log_density", "y", y)
    if points.ndim != 2:
        raise ValueError(f"pushforward_log_density: y must have shape (n, d); got {points.shape}.")
    return log_density(inverse(points)) + log_abs_det_jacobian(inverse, points)


def log_abs_det_jacobian(g: Callable[[Array], Array], x: Array) -> Array:
    """log|det dg/dx| at each row of x (n, d).

    Parameters
    ----------
    g : callable
        Maps rows (n, d) to rows (n, d).
    x : ndarray of shape (n, d)
        Where it is evaluated.
    """
    n, d = x.shape
    jacobian = np.empty((n, d, d))
    for j in range(d):
        h = np.zeros((n, d))
        h[:, j] = DIFFERENCE * np.maximum(1.0, np.abs(x[:, j]))
        jacobian[:, :, j] = (g(x + h) - g(x - h)) / (2 * h[:, j : j + 1])
    return np.linalg.slogdet(jacobian)[1]
