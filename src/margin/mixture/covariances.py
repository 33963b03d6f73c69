r"""Four shapes of Gaussian components: full, tied, diagonal, spherical.

Each class holds means and covariances, prepared to give squared Mahalanobis distances
:math:`(x-\mu_c)^\top \Sigma_c^{-1} (x-\mu_c)` of a block of rows by matrix products, sums over rows from which the
next means and covariances follow, and that next step itself (the M step). Rows and means are relative to the mean of
the data, so that the products lose no digits far from the origin.

A block of b rows comes as ``x`` (d + 1, b): the rows as columns, so that sums over few components run along memory,
and a last line of ones, so that constants are part of the products.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sl
from scipy.linalg.lapack import dtrtri

from margin.foundations.linalg import is_positive_definite

__all__ = ["SHAPES", "Components", "Diagonal", "Full", "Spherical", "Sums", "Tied"]

# Keeps the mean of a component that no row belongs to any more defined; far below the weight of a single row.
NOBODY = 10 * np.finfo(float).eps


@dataclass(frozen=True)
class Sums:
    """Additive over rows: responsibilities (k,), first moments (k, d) and second moments of a family's own shape."""

    weight: np.ndarray
    first: np.ndarray
    second: np.ndarray

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.weight + other.weight, self.first + other.first, self.second + other.second)


class Components(ABC):
    """``k`` Gaussians with means (k, d) and covariances of the family's shape."""

    def __init__(self, means: np.ndarray, covariances: np.ndarray):
        self.means, self.covariances = means, covariances
        self._prepare()

    @abstractmethod
    def _prepare(self) -> None:
        """Factor the covariances; sets ``log_det`` (k,), the logarithms of their determinants."""

    log_det: np.ndarray

    @abstractmethod
    def squared_distances(self, x: np.ndarray) -> tuple[np.ndarray, Any]:
        """Distances (k, b) of the rows ``x`` (d + 1, b), and what :meth:`sums` reuses of the work."""

    @abstractmethod
    def sums(self, x: np.ndarray, reused: Any, resp: np.ndarray) -> Sums:
        """Sums of the rows weighted by the responsibilities (k, b)."""

    @abstractmethod
    def maximize(self, sums: Sums, reg_covar: float) -> Components:
        r"""The components that maximize the expected log-likelihood, plus ``reg_covar`` on the diagonal."""

    @classmethod
    @abstractmethod
    def standard(cls, k: int, d: int) -> Components:
        """Means 0 and covariances 1: what the first M step, from responsibilities alone, is relative to."""

    @abstractmethod
    def root(self, component: int) -> np.ndarray:
        """A matrix A (d, d) with A A' the component's covariance, for sampling."""

    @classmethod
    @abstractmethod
    def covariances_of(cls, precisions: np.ndarray) -> np.ndarray:
        """The covariances that belong to precisions (their inverses) of the same shape."""

    @classmethod
    @abstractmethod
    def precision_factors(cls, covariances: np.ndarray) -> np.ndarray:
        """U with U U' the inverse covariance: upper triangles, or square roots where that is diagonal."""

    covariance_axes: str  # "kdd" for (k, d, d), and so on

    @classmethod
    def shape_of(cls, k: int, d: int) -> tuple[int, ...]:
        """The shape of the covariances."""
        return tuple({"k": k, "d": d}[axis] for axis in cls.covariance_axes)

    @classmethod
    def are_positive(cls, precisions: np.ndarray) -> bool:
        """Whether precisions of this shape are positive, and symmetric if they are matrices."""
        if not cls.covariance_axes.endswith("dd"):
            return bool((precisions > 0).all())
        matrices = precisions.reshape(-1, *precisions.shape[-2:])
        symmetric = np.allclose(matrices, np.swapaxes(matrices, -1, -2))
        return symmetric and all(is_positive_definite((matrix + matrix.T) / 2) for matrix in matrices)

    @classmethod
    def n_parameters(cls, k: int, d: int) -> int:
        """Free numbers in the covariances; matrices are symmetric."""
        size = int(np.prod(cls.shape_of(k, d)))
        return size * (d + 1) // (2 * d) if cls.covariance_axes.endswith("dd") else size


class Full(Components):
    r"""A covariance matrix of its own for every component, (k, d, d).

    With :math:`\Sigma_c = L_c L_c^\top` all whitened residuals :math:`z = L_c^{-1}(x - \mu_c)` come from one product of
    [x, 1]; sums of :math:`z` and :math:`z z^\top` give the next mean and covariance relative to the present ones, so
    components that are narrow compared with their distance keep their digits.
    """

    covariance_axes = "kdd"

    def _prepare(self) -> None:
        k, d = self.means.shape
        self.factors = _choleskys(self.covariances)
        self.product = np.empty((k * d, d + 1))
        whiten, offsets = np.split(self.product.reshape(k, d, d + 1), [d], axis=2)
        for inverse, factor in zip(whiten, self.factors):  # z = W (x - m)
            inverse[:] = _inverse_triangle(factor)
        np.negative(whiten @ self.means[:, :, None], out=offsets)
        self.log_det = 2 * np.log(np.diagonal(self.factors, axis1=1, axis2=2)).sum(axis=1)

    def squared_distances(self, x: np.ndarray) -> tuple[np.ndarray, Any]:
        z = (self.product @ x).reshape(*self.means.shape, -1)  # (k, d, b)
        return np.einsum("kdb,kdb->kb", z, z), z

    def sums(self, x: np.ndarray, reused: Any, resp: np.ndarray) -> Sums:
        weighted = reused * resp[:, None, :]
        return Sums(resp.sum(axis=1), weighted.sum(axis=2), np.matmul(weighted, reused.transpose(0, 2, 1)))

    def maximize(self, sums: Sums, reg_covar: float) -> Components:
        weight = sums.weight + NOBODY
        step = sums.first / weight[:, None]  # the new mean as seen from the old one, whitened
        inner = sums.second / weight[:, None, None] - step[:, :, None] * step[:, None, :]
        covariances = self.factors @ inner @ self.factors.transpose(0, 2, 1)
        covariances = 0.5 * (covariances + covariances.transpose(0, 2, 1))
        covariances[:, range(len(inner[0])), range(len(inner[0]))] += reg_covar
        return Full(self.means + np.einsum("kd,ked->ke", step, self.factors), covariances)

    @classmethod
    def standard(cls, k: int, d: int) -> Components:
        return cls(np.zeros((k, d)), np.broadcast_to(np.eye(d), (k, d, d)))

    def root(self, component: int) -> np.ndarray:
        return self.factors[component]

    @classmethod
    def covariances_of(cls, precisions: np.ndarray) -> np.ndarray:
        return np.stack([sl.cho_solve((_cholesky(p, i), True), np.eye(len(p))) for i, p in enumerate(precisions)])

    @classmethod
    def precision_factors(cls, covariances: np.ndarray) -> np.ndarray:
        return np.stack([_inverse_factor(covariance, i) for i, covariance in enumerate(covariances)])


class Tied(Components):
    r"""One covariance matrix (d, d) for all components.

    .. math:: \Sigma = \frac1n \sum_i x_i x_i^\top - \sum_c \pi_c \mu_c \mu_c^\top
    """

    covariance_axes = "dd"

    def _prepare(self) -> None:
        self.factor = _cholesky(self.covariances)
        self.whiten = _inverse_triangle(self.factor)
        self.white_means = self.means @ self.whiten.T
        self.log_det = np.full(len(self.means), 2 * np.log(self.factor.diagonal()).sum())

    def squared_distances(self, x: np.ndarray) -> tuple[np.ndarray, Any]:
        z = self.whiten @ x[:-1]
        squares = np.einsum("db,db->b", z, z) + (self.white_means**2).sum(axis=1)[:, None]
        return np.maximum(squares - 2 * self.white_means @ z, 0.0), None

    def sums(self, x: np.ndarray, reused: Any, resp: np.ndarray) -> Sums:
        return Sums(resp.sum(axis=1), resp @ x[:-1].T, x[:-1] @ x[:-1].T)

    def maximize(self, sums: Sums, reg_covar: float) -> Components:
        means = sums.first / (sums.weight + NOBODY)[:, None]
        covariance = (sums.second - (sums.weight * means.T) @ means) / sums.weight.sum()
        covariance[np.diag_indices_from(covariance)] += reg_covar
        return Tied(means, covariance)

    @classmethod
    def standard(cls, k: int, d: int) -> Components:
        return cls(np.zeros((k, d)), np.eye(d))

    def root(self, component: int) -> np.ndarray:
        return self.factor

    @classmethod
    def covariances_of(cls, precisions: np.ndarray) -> np.ndarray:
        return np.asarray(sl.cho_solve((_cholesky(precisions), True), np.eye(len(precisions))))

    @classmethod
    def precision_factors(cls, covariances: np.ndarray) -> np.ndarray:
        return _inverse_factor(covariances)


class Diagonal(Components):
    r"""A variance for every component and column, (k, d).

    .. math:: \sigma^2_{cj} = \frac1{N_c} \sum_i r_{ic} x_{ij}^2 - \mu_{cj}^2
    """

    covariance_axes = "kd"

    def _prepare(self) -> None:
        variances = self._variances()
        if not (variances > 0).all():
            raise ValueError(_not_positive(int(np.argwhere(~(variances > 0))[0][0])))
        constants = (self.means**2 / variances).sum(axis=1, keepdims=True)
        self.products = np.hstack([1 / variances, -2 * self.means / variances, constants])  # (k, 2 d + 1)
        self.log_det = np.log(variances).sum(axis=1)

    def _variances(self) -> np.ndarray:
        return self.covariances

    def squared_distances(self, x: np.ndarray) -> tuple[np.ndarray, Any]:
        powers = np.vstack([x[:-1] ** 2, x])  # squares, rows and ones, (2 d + 1, b)
        return np.maximum(self.products @ powers, 0.0), powers

    def sums(self, x: np.ndarray, reused: Any, resp: np.ndarray) -> Sums:
        second, first, weight = np.split(resp @ reused.T, [len(x) - 1, 2 * (len(x) - 1)], axis=1)
        return Sums(weight[:, 0], first, second)

    def maximize(self, sums: Sums, reg_covar: float) -> Components:
        weight = (sums.weight + NOBODY)[:, None]
        means = sums.first / weight
        return type(self)(means, self._shape_variances(np.maximum(sums.second / weight - means**2, 0.0)) + reg_covar)

    def _shape_variances(self, variances: np.ndarray) -> np.ndarray:
        return variances

    @classmethod
    def standard(cls, k: int, d: int) -> Components:
        return cls(np.zeros((k, d)), np.ones(cls.shape_of(k, d)))

    def root(self, component: int) -> np.ndarray:
        return np.diag(np.sqrt(self._variances()[component]))

    @classmethod
    def covariances_of(cls, precisions: np.ndarray) -> np.ndarray:
        return 1 / precisions

    @classmethod
    def precision_factors(cls, covariances: np.ndarray) -> np.ndarray:
        return 1 / np.sqrt(covariances)


class Spherical(Diagonal):
    r"""One variance per component, (k,): the mean of the diagonal one over the columns."""

    covariance_axes = "k"

    def _variances(self) -> np.ndarray:
        return np.broadcast_to(self.covariances[:, None], self.means.shape)

    def _shape_variances(self, variances: np.ndarray) -> np.ndarray:
        return variances.mean(axis=1)


SHAPES: dict[str, type[Components]] = {"full": Full, "tied": Tied, "diag": Diagonal, "spherical": Spherical}


def _cholesky(matrix: np.ndarray, component: int | None = None) -> np.ndarray:
    try:
        return np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        raise ValueError(_not_positive(component)) from None


def _choleskys(matrices: np.ndarray) -> np.ndarray:
    """The factors of all matrices (k, d, d) in one call: for small ones it takes longer than the work."""
    try:
        return np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        return np.stack([_cholesky(matrix, i) for i, matrix in enumerate(matrices)])  # says which one it is


def _inverse_triangle(factor: np.ndarray) -> np.ndarray:
    """The inverse of a lower triangle without zeros on its diagonal."""
    return np.asarray(dtrtri(factor, lower=1)[0])


def _inverse_factor(covariance: np.ndarray, component: int | None = None) -> np.ndarray:
    """The upper triangle U with U U' the inverse."""
    return _inverse_triangle(_cholesky(covariance, component)).T


def _not_positive(component: int | None) -> str:
    which = "the shared covariance" if component is None else f"the covariance of component {component}"
    return f"GaussianMixture: {which} is not positive definite; raise reg_covar or lower n_components."
