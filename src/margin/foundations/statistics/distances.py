r"""Distances that know the shape of a cloud, and a test of what makes a function a metric.

.. math:: d(x, y) = \sqrt{(x - y)^\top \Sigma^{-1} (x - y)} = \lVert J(x - y) \rVert_2, \qquad J^\top J = \Sigma^{-1} .
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular

from margin.foundations.statistics.arguments import Floats, finite, matrix, positive

__all__ = ["MetricAxioms", "mahalanobis", "metric_axioms", "quadratic_distance", "spherical_distance", "whitening"]


def mahalanobis(x: ArrayLike, y: ArrayLike, covariance: ArrayLike) -> Floats:
    """Distance of ``x`` (..., d) from ``y`` (d,) or (..., d): a mean, or another point of the same distribution.

    Parameters
    ----------
    x : array-like of shape (..., d)
        Points.
    y : array-like of shape (d,) or (..., d)
        A mean, or other points.
    covariance : array-like of shape (d, d)
        Covariance of the distribution.

    Examples
    --------
    >>> round(float(mahalanobis([2.0, 0.0], [0.0, 0.0], [[4.0, 0.0], [0.0, 1.0]])), 12)
    1.0
    """
    L = _cholesky("mahalanobis", covariance)
    difference = _difference("mahalanobis", x, y, len(L))
    whitened = solve_triangular(L, difference.reshape(-1, len(L)).T, lower=True)
    return np.linalg.norm(whitened, axis=0).reshape(difference.shape[:-1])


def quadratic_distance(x: ArrayLike, y: ArrayLike, M: ArrayLike) -> Floats:
    r"""The form :math:`\sqrt{(x - y)^\top M (x - y)}` for any positive semi-definite ``M``, singular ones too."""
    form = matrix("quadratic_distance", "M", M)
    if form.shape[0] != form.shape[1] or not np.allclose(form, form.T):
        raise ValueError(f"quadratic_distance: M must be square and symmetric; got shape {form.shape}.")
    values, vectors = np.linalg.eigh(form)
    # Eigenvalues of a singular matrix come out as rounding of either sign.
    if values[0] < -len(form) * np.finfo(float).eps * abs(values[-1]):
        raise ValueError(
            f"quadratic_distance: M must be positive semi-definite; its smallest eigenvalue is {values[0]:g}."
        )
    difference = _difference("quadratic_distance", x, y, len(form))
    return np.linalg.norm((difference @ vectors) * np.sqrt(np.maximum(values, 0.0)), axis=-1)


def spherical_distance(x: ArrayLike, mean: ArrayLike, sd: float) -> Floats:
    r"""Distance in standard deviations of a spherical cloud, :math:`\lVert x - \mu \rVert_2 / \sigma`.

    Parameters
    ----------
    x : array-like of shape (..., d)
        Points.
    mean : array-like of shape (d,)
        Center of the cloud.
    sd : float
        Its standard deviation.
    """
    center = finite("spherical_distance", "mean", mean)
    difference = _difference("spherical_distance", x, center, center.shape[-1] if center.ndim else 0)
    return np.linalg.norm(difference, axis=-1) / positive("spherical_distance", "sd", sd)


def whitening(covariance: ArrayLike) -> Floats:
    r"""The map :math:`J = L^{-1}` with :math:`\Sigma = L L^\top`, so that :math:`J^\top J = \Sigma^{-1}`.

    Parameters
    ----------
    covariance : array-like of shape (d, d)
        A positive definite matrix, :math:`\Sigma`.
    """
    L = _cholesky("whitening", covariance)
    return solve_triangular(L, np.eye(len(L)), lower=True)


@dataclass(frozen=True)
class MetricAxioms:
    """Which properties a function showed on all triples of the points it was tried on."""

    triangle: bool
    non_negative: bool
    symmetric: bool
    zero_to_itself: bool
    distinguishes: bool

    @property
    def is_pseudometric(self) -> bool:
        """Whether all axioms hold but that different points are apart."""
        return self.triangle and self.non_negative and self.symmetric and self.zero_to_itself

    @property
    def is_metric(self) -> bool:
        """Whether all axioms of a metric hold."""
        return self.is_pseudometric and self.distinguishes


def metric_axioms(
    distance: Callable[[Floats, Floats], float], points: ArrayLike, tolerance: float = 1e-12
) -> MetricAxioms:
    """Try ``distance`` on all pairs and triples of distinct ``points`` (n, d).

    Parameters
    ----------
    distance : callable
        A function of two points.
    points : array-like of shape (n, d)
        Points to try it on.
    tolerance : float
        Largest error that counts as equal.

    Examples
    --------
    >>> metric_axioms(lambda x, y: float(np.abs(x - y).sum()), [[0.0], [1.0], [3.0]]).is_metric
    True
    """
    rows = matrix("metric_axioms", "points", points, least=3)
    if len(np.unique(rows, axis=0)) != len(rows):
        raise ValueError("metric_axioms: points must be distinct; some row occurs twice.")
    D = np.array([[float(distance(a, b)) for b in rows] for a in rows])
    slack = tolerance * max(1.0, float(np.abs(D).max()))
    apart = ~np.eye(len(D), dtype=bool)
    detour = np.full_like(D, np.inf)  # the best way from i to k over some j
    for over in range(len(D)):
        np.minimum(detour, D[:, over, None] + D[over], out=detour)
    return MetricAxioms(
        triangle=bool((detour >= D - slack).all()),
        non_negative=bool((-slack <= D).all()),
        symmetric=bool((np.abs(D - D.T) <= slack).all()),
        zero_to_itself=bool((np.abs(np.diag(D)) <= slack).all()),
        distinguishes=bool((np.abs(D[apart]) > slack).all()),
    )


def _cholesky(caller: str, covariance: ArrayLike) -> Floats:
    sigma = matrix(caller, "covariance", covariance)
    if sigma.shape[0] != sigma.shape[1] or not np.allclose(sigma, sigma.T):
        raise ValueError(f"{caller}: covariance must be square and symmetric; got shape {sigma.shape}.")
    try:
        return np.asarray(np.linalg.cholesky(sigma), dtype=np.float64)
    except np.linalg.LinAlgError:
        smallest = np.linalg.eigvalsh(sigma)[0]
        message = f"{caller}: covariance must be positive definite; its smallest eigenvalue is {smallest:g}."
        raise ValueError(message) from None


def _difference(caller: str, x: ArrayLike, y: ArrayLike, d: int) -> Floats:
    a, b = finite(caller, "x", x), finite(caller, "y", y)
    if not a.ndim or not b.ndim or a.shape[-1] != d or b.shape[-1] != d:
        raise ValueError(f"{caller}: points must have {d} coordinates; got shapes {a.shape} and {b.shape}.")
    return a - b
