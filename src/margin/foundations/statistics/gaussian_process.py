r"""Gaussian processes: laws of functions whose values at any finite set of points are jointly normal.

:math:`f \sim GP(\mu, k)` means :math:`f(X) \sim N(\mu(X), k(X, X))` for every :math:`X`. Conditioning on
:math:`y = f(X) + \varepsilon`, :math:`\varepsilon \sim N(0, \sigma^2 I)`, gives a Gaussian process again, with

.. math:: \mu'(x) = \mu(x) + k(x, X) (k(X, X) + \sigma^2 I)^{-1} (y - \mu(X)), \qquad
          k'(x, x') = k(x, x') - k(x, X) (k(X, X) + \sigma^2 I)^{-1} k(X, x') .

Textbook form; :class:`~margin.kernels.GaussianProcessRegressor` has the same equations with kernels that compose,
learned hyperparameters and sparse approximations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_solve, solve_triangular

from margin.foundations.statistics.arguments import Floats, integer, vector
from margin.foundations.statistics.covariance_functions import CovarianceFunction, points

__all__ = ["GaussianProcess", "observation_weights", "stable_cholesky", "zero_mean"]

# Smooth kernels on close points are singular to working precision: the least of these that helps is added,
# relative to the mean variance.
JITTERS = (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6)

BLOCK = 256  # points per block where only variances are wanted


def zero_mean(x: Floats) -> Floats:
    return np.zeros(len(x))


@dataclass(frozen=True)
class GaussianProcess:
    """A mean function and a covariance function; ``condition`` returns another such process.

    >>> from margin.foundations.statistics.covariance_functions import RBFCovariance
    >>> prior = GaussianProcess(RBFCovariance(1.0))
    >>> posterior = prior.condition([0.0], [2.0])
    >>> mean, sd = posterior.predict([0.0, 50.0])
    >>> mean.tolist(), sd.tolist()
    ([2.0, 0.0], [0.0, 1.0])
    """

    kernel: CovarianceFunction
    mean: Callable[[Floats], Floats] = zero_mean

    def joint(self, x: ArrayLike) -> tuple[Floats, Floats]:
        """Mean vector (n,) and covariance matrix (n, n) of the values at ``x``."""
        at = points(x)
        return self.mean(at), self.kernel(at, at)

    def predict(self, x: ArrayLike) -> tuple[Floats, Floats]:
        """Mean and standard deviation at each point, without the covariances between them."""
        at = points(x)
        blocks = [at[start : start + BLOCK] for start in range(0, len(at), BLOCK)]
        variances = np.concatenate([np.diag(self.kernel(block, block)) for block in blocks])
        return self.mean(at), np.sqrt(np.maximum(variances, 0.0))

    def sample(self, x: ArrayLike, n: int, rng: np.random.Generator) -> Floats:
        """``n`` functions at the points ``x``: (n, number of points)."""
        integer("GaussianProcess.sample", "n", n, low=1)
        mean, covariance = self.joint(x)
        return mean + rng.normal(size=(n, len(mean))) @ stable_cholesky(covariance).T

    def condition(self, x: ArrayLike, y: ArrayLike, noise: float = 0.0) -> GaussianProcess:
        """The process given values ``y`` at ``x``, observed with this noise variance."""
        at, values = points(x), vector("GaussianProcess.condition", "y", y)
        if len(at) != len(values):
            raise ValueError(
                f"GaussianProcess.condition: x and y must have one length; got {len(at)} and {len(values)}."
            )
        if not (np.isfinite(noise) and noise >= 0):
            raise ValueError(f"GaussianProcess.condition: noise must be a variance of at least 0; got {noise!r}.")
        L = stable_cholesky(self.kernel(at, at) + noise * np.eye(len(at)))
        weights = cho_solve((L, True), values - self.mean(at))
        return GaussianProcess(
            _PosteriorKernel(self.kernel, at, L), _PosteriorMean(self.mean, self.kernel, at, weights)
        )


def observation_weights(kernel: CovarianceFunction, x: ArrayLike, at: ArrayLike, noise: float = 0.0) -> Floats:
    r"""How much each value observed at ``at`` moves the posterior mean at each point of ``x``: (len(x), len(at)).

    .. math:: \frac{\partial\mu'(x_i)}{\partial y_j} = \left[k(x, X) (k(X, X) + \sigma^2 I)^{-1}\right]_{ij}

    The kernel alone would be the influence of a point that is observed by itself; the inverse divides it among points
    that tell the same, so that a near one shields those behind it.

    >>> from margin.foundations.statistics.covariance_functions import RBFCovariance
    >>> observation_weights(RBFCovariance(1.0), [0.0], [0.0, 9.0], noise=1.0).round(3).tolist()
    [[0.5, 0.0]]
    """
    where = points(at)
    if not (np.isfinite(noise) and noise >= 0):
        raise ValueError(f"observation_weights: noise must be a variance of at least 0; got {noise!r}.")
    L = stable_cholesky(kernel(where, where) + noise * np.eye(len(where)))
    return np.asarray(cho_solve((L, True), kernel(where, points(x))).T)


@dataclass(frozen=True, eq=False)
class _PosteriorMean:
    prior: Callable[[Floats], Floats]
    kernel: CovarianceFunction
    at: Floats
    weights: Floats

    def __call__(self, x: Floats) -> Floats:
        return self.prior(x) + self.kernel(x, self.at) @ self.weights


@dataclass(frozen=True, eq=False)
class _PosteriorKernel:
    kernel: CovarianceFunction
    at: Floats
    L: Floats

    def __call__(self, x: Floats, y: Floats) -> Floats:
        left = solve_triangular(self.L, self.kernel(self.at, x), lower=True)
        right = left if x is y else solve_triangular(self.L, self.kernel(self.at, y), lower=True)
        return self.kernel(x, y) - left.T @ right


def stable_cholesky(covariance: Floats) -> Floats:
    """Lower Cholesky factor, after adding the smallest jitter to the diagonal that makes it exist."""
    scale = float(np.mean(np.diag(covariance)))
    for jitter in JITTERS:
        try:
            factor = np.linalg.cholesky(covariance + jitter * scale * np.eye(len(covariance)))
            return np.asarray(factor, dtype=np.float64)
        except np.linalg.LinAlgError:
            continue
    raise ValueError(
        "stable_cholesky: covariance must be positive semi-definite; "
        f"its smallest eigenvalue is {np.linalg.eigvalsh(covariance)[0]:g}."
    )
