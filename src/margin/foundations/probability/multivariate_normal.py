r"""The normal distribution in d dimensions, and why it is convenient: its marginals and conditionals are normal.

.. math:: \log f(x) = -\tfrac12 (x-\mu)^\top\Sigma^{-1}(x-\mu) - \tfrac12\log\det\Sigma - \tfrac d2\log 2\pi

With :math:`\Sigma = LL^\top` the quadratic form is the squared length of :math:`L^{-1}(x-\mu)` and the determinant
is the product of the diagonal of L: one triangular solve, no inverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, special

from margin.foundations.probability.arguments import Array, freeze, numbers, rows
from margin.foundations.probability.distribution import Distribution
from margin.foundations.probability.normal import LOG_SQRT_2PI

__all__ = ["MultivariateNormal"]

# Points of the rank-1 lattice behind ``cdf``; the error is then near 1e-5 in up to about ten dimensions.
LATTICE_POINTS = 1 << 14
SYMMETRY_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False, init=False)
class MultivariateNormal(Distribution):
    """``mean`` (d,) and a symmetric positive definite ``covariance`` (d, d).

    >>> law = MultivariateNormal([0, 0], [[1, 0.5], [0.5, 1]])
    >>> law.condition([0], [1.2]).mean.tolist()
    [0.6]
    """

    mean: Array
    covariance: Array

    def __init__(self, mean: ArrayLike, covariance: ArrayLike) -> None:
        mean = numbers("MultivariateNormal", "mean", mean)
        covariance = numbers("MultivariateNormal", "covariance", covariance)
        if mean.ndim != 1 or covariance.shape != (mean.size, mean.size) or mean.size == 0:
            raise ValueError(
                "MultivariateNormal: mean must have shape (d,) and covariance (d, d); "
                f"got {mean.shape} and {covariance.shape}."
            )
        if not (np.all(np.isfinite(mean)) and np.all(np.isfinite(covariance))):
            raise ValueError("MultivariateNormal: mean and covariance must be finite.")
        if np.max(np.abs(covariance - covariance.T)) > SYMMETRY_TOLERANCE * np.max(np.abs(covariance)):
            raise ValueError("MultivariateNormal: covariance must be symmetric.")
        object.__setattr__(self, "mean", freeze(mean))
        object.__setattr__(self, "covariance", freeze(covariance))
        _ = self.cholesky

    @cached_property
    def cholesky(self) -> Array:
        r"""Lower triangular L with :math:`LL^\top = \Sigma`."""
        try:
            return linalg.cholesky(self.covariance, lower=True)
        except linalg.LinAlgError:
            smallest = np.linalg.eigvalsh(self.covariance)[0]
            raise ValueError(
                f"MultivariateNormal: covariance must be positive definite; its smallest eigenvalue is {smallest:.3g}."
            ) from None

    @property
    def variance(self) -> Array:
        return np.diag(self.covariance).copy()

    def whiten(self, x: ArrayLike) -> Array:
        r"""Coordinates :math:`L^{-1}(x-\mu)` in which the law is standard normal; rows of x (..., d)."""
        x = numbers("MultivariateNormal", "x", x)
        if x.ndim == 0 or x.shape[-1] != self.mean.size:
            raise ValueError(f"MultivariateNormal: x must end in {self.mean.size} coordinates; got shape {x.shape}.")
        centered = (x - self.mean).reshape(-1, self.mean.size)
        return linalg.solve_triangular(self.cholesky, centered.T, lower=True, check_finite=False).T.reshape(x.shape)

    def log_prob(self, x: ArrayLike) -> Array:
        """Log-density of the points in the last axis of x."""
        z = self.whiten(x)
        log_det = np.sum(np.log(np.diag(self.cholesky)))
        return -0.5 * np.einsum("...i,...i->...", z, z) - log_det - self.mean.size * LOG_SQRT_2PI

    def pdf(self, x: ArrayLike) -> Array:
        return np.exp(self.log_prob(x))

    def score(self, x: ArrayLike) -> Array:
        r""":math:`\nabla_x\log f(x) = -\Sigma^{-1}(x-\mu)`."""
        z = self.whiten(x)
        flat = z.reshape(-1, self.mean.size)
        return -linalg.solve_triangular(self.cholesky, flat.T, lower=True, trans="T").T.reshape(z.shape)

    def entropy(self) -> float:
        """The differential entropy in nats."""
        return float(self.mean.size * (0.5 + LOG_SQRT_2PI) + np.sum(np.log(np.diag(self.cholesky))))

    def _sample(self, n: int, rng: np.random.Generator) -> Array:
        return self.mean + rng.standard_normal((n, self.mean.size)) @ self.cholesky.T

    def cdf(self, x: ArrayLike) -> float:
        r"""The orthant probability :math:`\Pr(X_1 \le x_1, \dots, X_d \le x_d)` of one point, to about 1e-5.

        Genz's separation of variables: sampling coordinate after coordinate below its bound turns the integral
        into one over the unit cube, averaged here over a deterministic lattice.
        """
        x = numbers("MultivariateNormal.cdf", "x", x)
        if x.shape != self.mean.shape:
            raise ValueError(f"MultivariateNormal.cdf: x must have shape {self.mean.shape}; got {x.shape}.")
        L, bound = self.cholesky, x - self.mean
        lattice = _lattice(LATTICE_POINTS, self.mean.size - 1)
        y = np.zeros((self.mean.size, LATTICE_POINTS))
        mass = np.ones(LATTICE_POINTS)
        for i in range(self.mean.size):
            below = special.ndtr((bound[i] - L[i, :i] @ y[:i]) / L[i, i])
            mass *= below
            if i < self.mean.size - 1:
                # ndtri(0) is -inf where the bound left no mass; any finite value will do there.
                y[i] = special.ndtri(np.clip(lattice[:, i] * below, 1e-300, 1 - 1e-16))
        return float(mass.mean())

    def marginal(self, index: int | Sequence[int]) -> MultivariateNormal:
        """The law of some coordinates: their part of the mean and of the covariance."""
        keep = self._coordinates("marginal", index)
        return MultivariateNormal(self.mean[keep], self.covariance[np.ix_(keep, keep)])

    def condition(self, index: int | Sequence[int], values: ArrayLike) -> MultivariateNormal:
        r"""The law of the other coordinates once those at ``index`` (b) are known:

        .. math:: \mu_{a|b} = \mu_a + \Sigma_{ab}\Sigma_{bb}^{-1}(x_b-\mu_b), \qquad
                  \Sigma_{a|b} = \Sigma_{aa} - \Sigma_{ab}\Sigma_{bb}^{-1}\Sigma_{ba}
        """
        b = self._coordinates("condition", index)
        a = np.setdiff1d(np.arange(self.mean.size), b)
        values = np.atleast_1d(numbers("MultivariateNormal.condition", "values", values))
        if values.shape != b.shape or a.size == 0:
            raise ValueError(
                "MultivariateNormal.condition: values must match index and leave a coordinate free; "
                f"got {values.size} values for {b.size} of {self.mean.size} coordinates."
            )
        Lb = linalg.cholesky(self.covariance[np.ix_(b, b)], lower=True)
        half = linalg.solve_triangular(Lb, self.covariance[np.ix_(b, a)], lower=True)  # (b, a)
        shift = linalg.solve_triangular(Lb, values - self.mean[b], lower=True)
        return MultivariateNormal(self.mean[a] + half.T @ shift, self.covariance[np.ix_(a, a)] - half.T @ half)

    def _coordinates(self, method: str, index: int | Sequence[int]) -> np.ndarray:
        chosen = np.atleast_1d(np.asarray(index))
        d = self.mean.size
        ok = chosen.ndim == 1 and chosen.size and np.issubdtype(chosen.dtype, np.integer)
        if not ok or np.unique(chosen).size != chosen.size or chosen.min() < 0 or chosen.max() >= d:
            raise ValueError(f"MultivariateNormal.{method}: index must be distinct integers below {d}; got {index!r}.")
        return chosen

    @classmethod
    def fit(cls, data: ArrayLike) -> MultivariateNormal:
        """Sample mean and covariance divided by n; needs more rows than columns, in general position."""
        X = rows("MultivariateNormal.fit", "data", data)
        centered = X - X.mean(axis=0)
        return cls(X.mean(axis=0), centered.T @ centered / len(X))


def _lattice(n: int, d: int) -> Array:
    """Richtmyer's lattice: multiples of square roots of primes modulo one, folded to be periodic."""
    primes: list[int] = []
    candidate = 2
    while len(primes) < d:
        if all(candidate % p for p in primes):
            primes.append(candidate)
        candidate += 1
    points = np.outer(np.arange(1, n + 1), np.sqrt(np.array(primes, dtype=np.float64)))
    return np.abs(2 * (points % 1.0) - 1)
