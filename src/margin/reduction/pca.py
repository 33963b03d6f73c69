r"""Principal component analysis: rows in the few directions along which they vary most.

.. math:: z = U_k^\top (x - \bar x), \qquad S u_j = \lambda_j u_j, \quad \lambda_1 \ge \lambda_2 \ge \dots
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from margin.core.domains import Choice, Either, Flag, Integer, Number, Optional
from margin.core.estimator import Estimator
from margin.reduction.principal import SOLVERS, PrincipalComponents, principal_components
from margin.reduction.scatter import centered_product

__all__ = ["PCA"]


class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    r"""Principal components of the centered rows.

    ``n_components`` is a number of components, a share of the variance between 0 and 1 (as few components as reach
    it), or None for all min(n, p). ``whiten`` divides each coordinate by its standard deviation. ``solver`` is "eigh"
    (of the smaller Gram matrix, in one blockwise pass over the rows), "svd" (of the centered rows, precise for tiny
    variances) or "auto": the first, and the second where a variance asked for would be lost in rounding.

    Cost O(n p min(n, p)); memory beside ``X`` is O(p^2) for tall tables. float32 stays float32.

    Learned: ``components_`` (k, p), ``explained_variance_`` (divisor n - 1), ``explained_variance_ratio_``,
    ``singular_values_``, ``mean_``, ``noise_variance_`` (mean variance of the components left out),
    ``n_components_``, ``n_samples_`` and ``solver_``, the one that was used.

    >>> X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    >>> model = PCA(n_components=1).fit(X)
    >>> model.explained_variance_ratio_.round(4), model.components_.round(4)
    (array([0.9924]), array([[0.8385, 0.5449]]))
    """

    domains = {
        "n_components": Optional(Either(Integer(low=1, search=(1, 50)), Number(above=0, below=1))),
        "whiten": Flag(),
        "solver": Choice(*SOLVERS),
    }

    def __init__(self, n_components: Any = None, whiten: bool = False, solver: str = "auto"):
        self.n_components = n_components
        self.whiten = whiten
        self.solver = solver

    def fit(self, X: Any, y: Any = None) -> PCA:
        """Learn the directions from ``X``; ``y`` is ignored."""
        self._check_parameters()
        X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        found = principal_components(X, self._number_to_find(X.shape), solver=self.solver, ddof=1)
        return self._learn(found, X)

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates along the components, (n, n_components)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        directions = self.components_.T
        return centered_product(X, self.mean_, directions / self._deviations() if self.whiten else directions)

    def inverse_transform(self, Z: Any) -> np.ndarray:
        """The points with these coordinates: the nearest to the original rows in the space of the components."""
        check_is_fitted(self)
        Z = np.asarray(Z)
        if Z.ndim != 2 or Z.shape[1] != self.n_components_:
            raise ValueError(f"PCA: Z must have {self.n_components_} columns; got shape {Z.shape}.")
        directions = self._deviations()[:, None] * self.components_ if self.whiten else self.components_
        return Z @ directions + self.mean_

    def get_covariance(self) -> np.ndarray:
        r"""The covariance of the model :math:`U(\Lambda - \sigma^2 I)U^\top + \sigma^2 I`."""
        check_is_fitted(self)
        above = np.maximum(self.explained_variance_ - self.noise_variance_, 0.0)
        return (self.components_.T * above) @ self.components_ + self.noise_variance_ * np.eye(len(self.mean_))

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _number_to_find(self, shape: tuple[int, int]) -> int:
        wanted = self.n_components
        if wanted is None or isinstance(wanted, float):
            return min(shape)
        if wanted > min(shape):
            raise ValueError(f"PCA: n_components must be at most min(rows, columns) = {min(shape)}; got {wanted}.")
        return int(wanted)

    def _deviations(self) -> np.ndarray:
        # A direction without variance has only zeros as coordinates: dividing them by one leaves them.
        return np.where(self.explained_variance_ > 0, np.sqrt(self.explained_variance_), 1.0)

    def _learn(self, found: PrincipalComponents, X: np.ndarray) -> PCA:
        total, variances = found.total_variance, found.variances
        shares = variances / total if total > 0 else np.zeros_like(variances)
        k = len(variances)
        if isinstance(self.n_components, float):
            k = min(int(np.searchsorted(np.cumsum(shares), self.n_components)) + 1, k)
        left_out = min(X.shape) - k
        self.components_ = np.ascontiguousarray(found.components[:k], dtype=X.dtype)
        self.explained_variance_ = variances[:k].astype(X.dtype)
        self.explained_variance_ratio_ = shares[:k].astype(X.dtype)
        self.singular_values_ = np.sqrt(variances[:k] * (len(X) - 1)).astype(X.dtype)
        self.mean_ = found.mean.astype(X.dtype)
        self.noise_variance_ = float(max(total - variances[:k].sum(), 0.0) / left_out) if left_out else 0.0
        self.n_components_, self.n_samples_, self.solver_ = k, len(X), found.solver
        return self
