r"""Principal component analysis: rows in the few directions along which they vary most.

.. math:: z = U_k^\top (x - \bar x), \qquad S u_j = \lambda_j u_j, \quad \lambda_1 \ge \lambda_2 \ge \dots
"""

from __future__ import annotations

import numbers
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from margin.core.array_types import ArrayLike, MatrixLike
from margin.core.domains import Choice, Either, Flag, Integer, Number, Optional, Seed
from margin.core.estimator import Estimator
from margin.core.invariants import ArrayOf, Count, Real, StringOf, sometimes
from margin.core.number_range import finite_values, validate_squarable
from margin.core.parameters import InvalidParameter, attribute, parameter
from margin.core.pieces import LearnsInPieces
from margin.core.randomness import RandomLike, as_generator
from margin.core.sparse_input import allow_sparse, dense_rows
from margin.core.streaming import RowBlock
from margin.foundations.linalg.scatter_factor import FACTOR_FIELDS, ScatterFactor
from margin.reduction.component_count import most_likely_count
from margin.reduction.principal import PrincipalComponents, components_of_factor, principal_components
from margin.reduction.scatter import centered_product
from margin.reduction.truncated import NORMALIZERS, lanczos_components, sketched_components, sparse_components

__all__ = ["PCA"]

# Of a sparse table: up to here the covariance is decomposed, beyond Lanczos iterations find a few components; a
# covariance of more columns than the second number would take gigabytes.
COVARIANCE_COLUMNS, MOST_COVARIANCE_COLUMNS = 1_000, 16_000


class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, LearnsInPieces, Estimator):
    r"""Principal components of the centered rows.

    Cost O(n p min(n, p)); memory beside ``X`` is O(p^2) for tall tables. float32 stays float32. The largest entry of a
    component is positive.

    >>> X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    >>> model = PCA(n_components=1).fit(X)
    >>> model.explained_variance_ratio_.round(4), model.components_.round(4)
    (array([0.9924]), array([[0.8385, 0.5449]]))
    """

    n_components: Any = parameter(
        None,
        Optional(Either(Integer(low=1, search=(1, 50)), Number(above=0, below=1), Choice("mle"))),
        "Number of components, a fraction of the variance that they reach, 'mle' for the most likely number, or None "
        "for all min(n, p).",
    )
    _: KW_ONLY
    copy: bool = parameter(True, Flag(), "Permission to overwrite X, which is never used: X stays as it is.")
    whiten: bool = parameter(False, Flag(), "Whether each coordinate is divided by its standard deviation.")
    svd_solver: str = parameter(
        "auto",
        Choice("auto", "full", "covariance_eigh", "arpack", "randomized"),
        "Decomposition: of the centered rows ('full'), of the smaller Gram matrix ('covariance_eigh'), by Lanczos "
        "iterations or by a random sketch; 'auto' is the second, and the first where a variance is lost in rounding.",
    )
    tol: float = parameter(0.0, Number(low=0), "Relative accuracy of 'arpack'; 0 means that of the machine.")
    iterated_power: Any = parameter(
        "auto",
        Either(Choice("auto"), Integer(low=0)),
        "Power iterations of 'randomized'; 'auto' is 7 for less than a tenth of all components, else 4.",
    )
    n_oversamples: int = parameter(10, Integer(low=1), "Random columns of 'randomized' beyond the components.")
    power_iteration_normalizer: str = parameter(
        "auto", Choice(*NORMALIZERS), "What keeps power iterations apart; 'auto' is LU for more than two."
    )
    random_state: RandomLike = parameter(None, Seed(), "Draws the start of 'arpack' and the sketch of 'randomized'.")

    components_: np.ndarray = attribute(ArrayOf("n_components", "n_features"), "Orthonormal directions, (k, p).")
    explained_variance_: np.ndarray = attribute(ArrayOf("n_components"), "Variance along each, with the divisor n - 1.")
    explained_variance_ratio_: np.ndarray = attribute(
        ArrayOf("n_components", finite=False), "The same as a fraction of the variance of all columns."
    )
    singular_values_: np.ndarray = attribute(ArrayOf("n_components"), "Singular values of the centered rows.")
    mean_: np.ndarray = attribute(ArrayOf("n_features"), "Mean of the rows.")
    noise_variance_: float = attribute(Real(finite=True), "Mean variance of the components left out.")
    n_components_: int = attribute(Count(size="n_components"), "Number k of components.")
    n_samples_: int = attribute(Count(), "Number of rows.")
    svd_solver_: str = attribute(StringOf(), "The decomposition that was used.")
    summary_: dict[str, Any] = attribute(
        sometimes(FACTOR_FIELDS), "What partial_fit keeps of the rows: their number, mean and factor."
    )

    def fit(self, X: Any, y: Any = None) -> PCA:
        """Learn the directions from ``X``; ``y`` is ignored."""
        self._check_parameters()
        X = validate_squarable(
            self, X, dtype=[np.float64, np.float32], ensure_min_samples=2, accept_sparse=("csr", "csc")
        )
        return self._learn(self._decompose_sparse(X) if sp.issparse(X) else self._decompose(X), X.shape, X.dtype)

    @staticmethod
    def _summary_of(fields: dict[str, Any]) -> ScatterFactor:
        return ScatterFactor(**fields)

    def partial_fit(self, X: MatrixLike, y: ArrayLike | None = None) -> PCA:
        """Learn from these rows and those of earlier calls, of which only mean and factor were kept."""
        return self._learn_piece(X)

    def summarize(self, block: RowBlock) -> ScatterFactor:
        """The factor of some rows of a stream."""
        if self.svd_solver in ("arpack", "randomized"):
            raise ValueError(f"PCA: svd_solver={self.svd_solver!r} needs all rows at once and takes no stream.")
        return ScatterFactor.of(validate_squarable(self, block.X, dtype=np.float64))

    def merge(self, first: ScatterFactor, second: ScatterFactor) -> ScatterFactor:
        """The factor of both."""
        return first.merge(second)

    def solve(self, summary: ScatterFactor) -> PCA:
        """Learn from the factor of all rows."""
        shape, k = (summary.rows, len(summary.mean)), self.n_components
        self._check_count(min(shape))
        if shape[0] < 2:
            raise ValueError("PCA: a stream must have at least 2 rows; got 1.")
        counted = isinstance(k, numbers.Integral)
        fraction = float(k) if isinstance(k, float) else None
        principal = components_of_factor(summary, int(k) if counted else None, ddof=1, fraction=fraction)
        if k == "mle":
            principal = self._most_likely(principal, shape)
        return self._learn(principal, shape, np.dtype(np.float64))

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates along the components, (n, n_components)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32], accept_sparse=("csr", "csc"))
        directions = self.components_.T / self._deviations() if self.whiten else self.components_.T
        if sp.issparse(X):
            return finite_values("PCA", "X", X, lambda: X @ directions - self.mean_ @ directions)
        return finite_values("PCA", "X", X, lambda: centered_product(X, self.mean_, directions))

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

    def get_precision(self) -> np.ndarray:
        """The inverse of the covariance of the model."""
        return np.linalg.inv(self.get_covariance())

    def score_samples(self, X: MatrixLike) -> np.ndarray:
        """log p(x) of every row under the normal law of the model (probabilistic PCA)."""
        check_is_fitted(self)
        X = validate_squarable(self, X, reset=False, dtype=[np.float64, np.float32], accept_sparse=("csr", "csc"))
        X = dense_rows("PCA", X)
        p = len(self.mean_)
        left = np.full(p - self.n_components_, self.noise_variance_)
        variances = np.concatenate([self.explained_variance_, left])
        if variances.min() <= p * np.finfo(variances.dtype).eps * variances.max():
            raise ValueError(
                f"PCA: score_samples needs a covariance of full rank; n_components_={self.n_components_} of "
                f"{p} columns leave no noise variance."
            )
        centered = X - self.mean_
        covariance = self.get_covariance()
        distances = finite_values(
            "PCA", "X", X, lambda: np.einsum("ij,ij->i", centered, np.linalg.solve(covariance, centered.T).T)
        )
        return -0.5 * (distances + p * np.log(2 * np.pi) + np.log(variances).sum())

    def score(self, X: MatrixLike, y: ArrayLike | None = None) -> float:
        """The mean of ``score_samples``; ``y`` is ignored."""
        return float(np.mean(self.score_samples(X)))

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return allow_sparse(tags)

    def _decompose(self, X: np.ndarray) -> PrincipalComponents:
        n_components, most = self.n_components, min(X.shape)
        counted = isinstance(n_components, numbers.Integral)
        self._check_count(most)
        if self.svd_solver in ("arpack", "randomized"):
            return self._truncate(X, most if n_components is None else n_components)
        if n_components == "mle":
            return self._most_likely(principal_components(X, solver=self.svd_solver, ddof=1), X.shape)
        fraction = None if n_components is None or counted else float(n_components)
        return principal_components(
            X, int(n_components) if counted else None, solver=self.svd_solver, ddof=1, fraction=fraction
        )

    def _decompose_sparse(self, X: Any) -> PrincipalComponents:
        n_components, most, solver = self.n_components, min(X.shape), self.svd_solver
        if solver == "auto":
            few = isinstance(n_components, numbers.Integral) and n_components < most
            solver = "arpack" if few and X.shape[1] > COVARIANCE_COLUMNS else "covariance_eigh"
        if solver not in ("covariance_eigh", "arpack"):
            raise InvalidParameter(
                f"PCA: svd_solver must be 'auto', 'covariance_eigh' or 'arpack' for a sparse X; got {solver!r}."
            )
        if not (n_components is None or isinstance(n_components, numbers.Integral)):
            raise ValueError(f"PCA: n_components must be an integer or None for a sparse X; got {n_components!r}.")
        limit = most - (solver == "arpack")
        k = limit if n_components is None else int(n_components)
        if k > limit:
            raise ValueError(f"PCA: n_components must be at most {limit} with svd_solver={solver!r}; got {k}.")
        if solver == "covariance_eigh" and X.shape[1] > MOST_COVARIANCE_COLUMNS:
            raise ValueError(
                f"PCA: a sparse X of {X.shape[1]} columns needs n_components below {most} and svd_solver 'arpack' or "
                f"'auto'; got {n_components!r} and {self.svd_solver!r}."
            )
        return sparse_components(X, k, solver=solver, tol=float(self.tol), rng=as_generator(self.random_state))

    def _truncate(self, X: np.ndarray, k: Any) -> PrincipalComponents:
        arpack, most = self.svd_solver == "arpack", min(X.shape)
        if not isinstance(k, numbers.Integral):
            raise ValueError(f"PCA: svd_solver={self.svd_solver!r} needs a number of components; got {k!r}.")
        if arpack and k == most:
            if self.n_components is not None:
                raise ValueError(
                    f"PCA: n_components must be below min(rows, columns) = {most} for svd_solver='arpack'; got {k}."
                )
            k = most - 1
        rng = as_generator(self.random_state)
        if arpack:
            return lanczos_components(X, int(k), tol=float(self.tol), rng=rng)
        n_iter = self.iterated_power
        if isinstance(n_iter, str):
            n_iter = 7 if k < 0.1 * most else 4
        return sketched_components(
            X,
            int(k),
            n_oversamples=self.n_oversamples,
            n_iter=int(n_iter),
            normalizer=self.power_iteration_normalizer,
            rng=rng,
        )

    def _check_count(self, most: int) -> None:
        k = self.n_components
        if isinstance(k, numbers.Integral) and int(k) > most:
            raise ValueError(f"PCA: n_components must be at most min(rows, columns) = {most}; got {self.n_components}.")

    def _most_likely(self, principal: PrincipalComponents, shape: tuple[int, int]) -> PrincipalComponents:
        n, p = shape
        if n < p:
            raise ValueError(f"PCA: n_components='mle' needs at least as many rows as columns; got shape {shape}.")
        k = most_likely_count(principal.variances, n) if p > 1 else 1
        return principal._replace(components=principal.components[:k], variances=principal.variances[:k])

    def _deviations(self) -> np.ndarray:
        # A direction without variance has only zeros as coordinates: dividing them by one leaves them.
        return np.where(self.explained_variance_ > 0, np.sqrt(self.explained_variance_), 1.0)

    def _learn(self, principal: PrincipalComponents, shape: tuple[int, int], dtype: np.dtype) -> PCA:
        self._forget()
        total, variances, k = principal.total_variance, principal.variances, len(principal.variances)
        ratios = variances / total if total > 0 else np.zeros_like(variances)
        left_out = min(shape) - k
        self.components_ = np.ascontiguousarray(principal.components, dtype=dtype)
        self.explained_variance_ = variances.astype(dtype)
        self.explained_variance_ratio_ = ratios.astype(dtype)
        self.singular_values_ = np.sqrt(variances * (shape[0] - 1)).astype(dtype)
        self.mean_ = principal.mean.astype(dtype)
        self.noise_variance_ = float(max(total - variances.sum(), 0.0) / left_out) if left_out else 0.0
        self.n_components_, self.n_samples_, self.svd_solver_ = k, shape[0], principal.solver
        return self
