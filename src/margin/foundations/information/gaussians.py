"""Divergences between normal distributions in closed form, and the two ways to fit one by KL.

Textbook form; :mod:`margin.generative.elbo` has the one term that a variational autoencoder needs, in torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import minimize

__all__ = ["NormalParameters", "fit_normal", "kl_gaussians", "kl_normal"]

Array = NDArray[np.float64]


def kl_normal(mean_0: ArrayLike, std_0: ArrayLike, mean_1: ArrayLike, std_1: ArrayLike) -> Array:
    r"""KL divergence between two univariate normals, in nats; arguments broadcast.

    .. math:: D_{KL}\big(N(\mu_0, \sigma_0^2) \,\|\, N(\mu_1, \sigma_1^2)\big)
       = \log\frac{\sigma_1}{\sigma_0} - \frac12 + \frac{\sigma_0^2 + (\mu_1 - \mu_0)^2}{2 \sigma_1^2}

    Parameters
    ----------
    mean_0 : array-like
        Mean of the first normal.
    std_0 : array-like
        Its standard deviation.
    mean_1 : array-like
        Mean of the second normal.
    std_1 : array-like
        Its standard deviation.

    Examples
    --------
    >>> round(float(kl_normal(1, 2, 0, 1)), 6)
    1.306853
    """
    m0, s0, m1, s1 = (np.asarray(value, dtype=np.float64) for value in (mean_0, std_0, mean_1, std_1))
    for name, std in (("std_0", s0), ("std_1", s1)):
        if not (np.isfinite(std) & (std > 0)).all():
            raise ValueError(f"kl_normal: {name} must be positive and finite; got {std}.")
    if not (np.isfinite(m0).all() and np.isfinite(m1).all()):
        raise ValueError(f"kl_normal: the means must be finite; got {m0} and {m1}.")
    # r - 1 - log r with r = (s0 / s1)^2 loses no digits near r = 1 when written with log1p.
    excess = (s0 - s1) * (s0 + s1) / s1**2
    return 0.5 * (excess - np.log1p(excess) + ((m1 - m0) / s1) ** 2)


def kl_gaussians(mean_0: ArrayLike, covariance_0: ArrayLike, mean_1: ArrayLike, covariance_1: ArrayLike) -> float:
    r"""KL divergence between two multivariate normals, in nats, by Cholesky factors.

    .. math:: \tfrac12 \Big[ \log\frac{|\Sigma_1|}{|\Sigma_0|} - d + \mathrm{tr}(\Sigma_1^{-1} \Sigma_0)
       + (\mu_1 - \mu_0)^\top \Sigma_1^{-1} (\mu_1 - \mu_0) \Big]

    The last term is the squared Mahalanobis distance of the means.

    Parameters
    ----------
    mean_0 : array-like of shape (d,)
        Mean of the first normal.
    covariance_0 : array-like of shape (d, d)
        Its covariance.
    mean_1 : array-like of shape (d,)
        Mean of the second normal.
    covariance_1 : array-like of shape (d, d)
        Its covariance.

    Examples
    --------
    >>> round(kl_gaussians([0, 0], [[2, 1], [1, 2]], [1, -1], [[3, 0], [0, 1]]), 12)
    1.0
    """
    m0, S0 = _mean_and_covariance("0", mean_0, covariance_0)
    m1, S1 = _mean_and_covariance("1", mean_1, covariance_1)
    if len(m0) != len(m1):
        raise ValueError(f"kl_gaussians: the means must have equal lengths; got {len(m0)} and {len(m1)}.")
    factor_0, factor_1 = _cholesky("0", S0), _cholesky("1", S1)
    log_ratio = 2.0 * (np.log(np.diag(factor_1[0])).sum() - np.log(np.diag(factor_0[0])).sum())
    mahalanobis_squared = (m1 - m0) @ cho_solve(factor_1, m1 - m0)
    return float(0.5 * (log_ratio - len(m0) + np.trace(cho_solve(factor_1, S0)) + mahalanobis_squared))


class NormalParameters(NamedTuple):
    mean: float
    std: float

    def log_density(self, x: Array) -> Array:
        return -0.5 * ((x - self.mean) / self.std) ** 2 - math.log(self.std * math.sqrt(2 * math.pi))


def fit_normal(
    grid: ArrayLike, log_density: Callable[[Array], Array], direction: str, start: NormalParameters
) -> NormalParameters:
    r"""The normal :math:`q` closest to a density :math:`p` on an even grid, by forward or reverse KL.

    ``"forward"`` minimizes :math:`D_{KL}(p \| q)`: its solution has the mean and variance of :math:`p`, so it covers
    every mode. ``"reverse"`` minimizes :math:`D_{KL}(q \| p)`, which punishes mass where :math:`p` has none, so it
    seeks one mode: the one near ``start``.

    Parameters
    ----------
    grid : array-like of shape (n,)
        Evenly spaced points.
    log_density : callable
        Log-density of p on them.
    direction : {"forward", "reverse"}
        Which divergence is minimized.
    start : NormalParameters
        Where the search begins.

    Examples
    --------
    >>> x = np.linspace(-8, 8, 2001)
    >>> truth, start = NormalParameters(1.0, 0.5), NormalParameters(0.0, 1.0)
    >>> fit = fit_normal(x, truth.log_density, "reverse", start=start)
    >>> round(fit.mean, 3), round(fit.std, 3)
    (1.0, 0.5)
    """
    x = np.asarray(grid, dtype=np.float64)
    step = x[1] - x[0]
    log_p = log_density(x)
    p = np.exp(log_p) * step
    if direction == "forward":
        mean = float(p @ x / p.sum())
        return NormalParameters(mean, math.sqrt(float(p @ (x - mean) ** 2 / p.sum())))
    if direction != "reverse":
        raise ValueError(f"fit_normal: direction must be 'forward' or 'reverse'; got {direction!r}.")

    def reverse_kl(parameters: Array) -> float:
        log_q = NormalParameters(parameters[0], math.exp(parameters[1])).log_density(x)
        return float(np.exp(log_q) @ (log_q - log_p) * step)

    best = minimize(reverse_kl, [start.mean, math.log(start.std)], method="BFGS")
    return NormalParameters(float(best.x[0]), math.exp(best.x[1]))


def _mean_and_covariance(which: str, mean: ArrayLike, covariance: ArrayLike) -> tuple[Array, Array]:
    m = np.atleast_1d(np.asarray(mean, dtype=np.float64))
    S = np.atleast_2d(np.asarray(covariance, dtype=np.float64))
    if m.ndim != 1 or S.shape != (len(m), len(m)):
        raise ValueError(
            f"kl_gaussians: mean_{which} must have shape (d,) and covariance_{which} (d, d); "
            f"got {m.shape} and {S.shape}."
        )
    if not (np.isfinite(m).all() and np.isfinite(S).all()):
        raise ValueError(f"kl_gaussians: mean_{which} and covariance_{which} must be finite.")
    if not np.allclose(S, S.T, rtol=1e-8, atol=0):
        raise ValueError(f"kl_gaussians: covariance_{which} must be symmetric.")
    return m, S


def _cholesky(which: str, covariance: Array) -> tuple[Array, bool]:
    try:
        return cho_factor(covariance, lower=True)
    except LinAlgError:
        raise ValueError(f"kl_gaussians: covariance_{which} must be positive definite.") from None
