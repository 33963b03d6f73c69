r"""A linear map that makes nearest neighbors agree with the classes: Mahalanobis metric learning.

The distance :math:`(x - y)^\top M (x - y)` with :math:`M = A^\top A` is the Euclidean distance of Ax and Ay, so
learning M is learning A; fewer rows of A make M of lower rank. Neighborhood components analysis (Goldberger et al.
2004) maximizes the expected number of rows that a neighbor drawn at random classifies rightly,

.. math:: f(A) = \sum_i p_i, \quad p_i = \sum_{j: y_j = y_i} p_{ij}, \quad
          p_{ij} = \frac{e^{-\|Ax_i - Ax_j\|^2}}{\sum_{k \ne i} e^{-\|Ax_i - Ax_k\|^2}}.
"""

from __future__ import annotations

import itertools
import warnings
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from margin.bayes import LinearDiscriminantAnalysis
from margin.core.array_types import MatrixLike
from margin.core.classes import check_classes, encode_classes
from margin.core.domains import Array, Choice, Either, Flag, Function, Integer, Number, Optional, Seed
from margin.core.estimator import Estimator
from margin.core.invariants import ArrayOf, Count
from margin.core.number_range import in_safe_units
from margin.core.parameters import attribute, parameter
from margin.core.randomness import RandomLike, as_generator

__all__ = ["NeighborhoodComponentsAnalysis", "nca_objective"]


def nca_objective(A: np.ndarray, X: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    r"""f(A) and its gradient :math:`2A\sum_{ij} W_{ij}(x_i - x_j)(x_i - x_j)^\top`.

    There :math:`W_{ij} = p_{ij}\,(p_i - 1)` for two rows of one class and :math:`p_{ij}\,p_i` for others.

    The sum over pairs is computed with the Laplacian of the symmetrized weights: no array of pairs and columns.
    """
    Z = X @ A.T
    squares = (Z**2).sum(axis=1)
    distance = np.maximum(squares[:, None] + squares - 2 * Z @ Z.T, 0)
    np.fill_diagonal(distance, np.inf)
    distance -= distance.min(axis=1, keepdims=True)  # the nearest neighbor has weight 1 before dividing
    p = np.exp(-distance)
    p /= p.sum(axis=1, keepdims=True)
    same = p * (y[:, None] == y)
    right = same.sum(axis=1)
    weight = p * right[:, None] - same
    weight = weight + weight.T
    laplacian = -weight
    np.fill_diagonal(laplacian, weight.sum(axis=1))
    return float(right.sum()), 2 * Z.T @ laplacian @ X


class NeighborhoodComponentsAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    r"""A linear map under which the neighbors of a row have its class; L-BFGS from a start.

    ``mahalanobis_`` is the metric :math:`M = A^\top A` that the map stands for.

    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.normal(size=60), 100 * rng.normal(size=60)])
    >>> model = NeighborhoodComponentsAnalysis().fit(X, X[:, 0] > 0)
    >>> M = model.mahalanobis_
    >>> bool(M[0, 0] > 1000 * M[1, 1])  # the large column says nothing of the class
    True
    """

    n_components: int | None = parameter(
        None, Optional(Integer(low=1)), "Rows of the map, the rank of the metric; None: one per column."
    )
    _: KW_ONLY
    init: str | np.ndarray = parameter(
        "auto",
        Either(Choice("auto", "pca", "lda", "identity", "random"), Array(ndim=2)),
        "Where the map of the standardized columns starts: principal directions, those of discriminant analysis, the "
        "first columns, normal numbers, or a matrix in the units of X; 'auto': 'lda' if the classes are enough, else "
        "'pca' if it reduces the dimension, else 'identity'. Where classes give too few directions, principal "
        "ones follow.",
    )
    warm_start: bool = parameter(False, Flag(), "Whether fit continues from the map of the last fit.")
    max_iter: int = parameter(50, Integer(low=1), "Most iterations of L-BFGS.")
    tol: float = parameter(1e-5, Number(low=0), "Gradient at which it ends.")
    callback: Any = parameter(
        None,
        Optional(Function("the map, flat, and the number of the iteration")),
        "Called after every iteration with the map in the units of X.",
    )
    verbose: int = parameter(0, Either(Flag(), Integer(low=0)), "Whether the objective of every iteration is printed.")
    random_state: RandomLike = parameter(None, Seed(), "Draws the 'random' start.")

    components_: np.ndarray = attribute(ArrayOf("n_components", "n_features"), "The map A, (n_components, p).")
    n_iter_: int = attribute(Count(), "Iterations of L-BFGS.")
    scale_: np.ndarray = attribute(
        ArrayOf("n_features", low=0.0), "Deviations of the columns, by which they are divided while A is learned."
    )

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the map from rows ``X`` and classes ``y``."""
        self._check_parameters()
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", ensure_min_samples=2)
        check_classes(y)
        codes = encode_classes(y)[1]
        # Exponentials of squared distances need columns of order 1; the map is given back in the units of X.
        mean, deviation = in_safe_units(lambda part: (part.mean(axis=0), part.std(axis=0)), X)
        scale = np.where(deviation > 0, deviation, 1.0)
        rows = (X - mean) / scale
        start = self._start(rows, codes, scale)

        def negative(flat: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = nca_objective(flat.reshape(start.shape), rows, codes)
            return -value, -gradient.ravel()

        search: dict[str, Any] = {"method": "L-BFGS-B", "tol": self.tol, "options": {"maxiter": self.max_iter}}
        optimum = minimize(negative, start.ravel(), jac=True, callback=self._callback(start.shape, scale), **search)
        if not optimum.success and self.max_iter <= optimum.nit:
            warnings.warn(
                f"{type(self).__name__}: not converged after max_iter={self.max_iter} iterations.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.components_, self.scale_ = optimum.x.reshape(start.shape) / scale, scale
        self.n_iter_ = int(optimum.nit)
        return self

    def transform(self, X: MatrixLike) -> np.ndarray:
        """Rows under the map, whose Euclidean distances are the learned ones."""
        check_is_fitted(self)
        return validate_data(self, X, dtype=np.float64, order="C", reset=False) @ self.components_.T

    @property
    def mahalanobis_(self) -> np.ndarray:
        """The metric M, (p, p), of rank n_components."""
        check_is_fitted(self)
        return self.components_.T @ self.components_

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _callback(self, shape: tuple[int, ...], scale: np.ndarray) -> Any:
        """What L-BFGS calls after every iteration, if anyone listens."""
        if self.callback is None and not self.verbose:
            return None
        counted = itertools.count(1)

        def tell(intermediate_result: Any) -> None:
            n_iter = next(counted)
            if self.verbose:
                print(f"{type(self).__name__}: iteration {n_iter}: objective {-intermediate_result.fun:.6g}")
            if self.callback is not None:
                self.callback((intermediate_result.x.reshape(shape) / scale).ravel(), n_iter)

        return tell

    def _start(self, rows: np.ndarray, codes: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """The first map (n_components, p) of standardized rows."""
        owner, p = type(self).__name__, rows.shape[1]
        given = self.init * scale if isinstance(self.init, np.ndarray) and self.init.shape[1:] == (p,) else None
        if isinstance(self.init, np.ndarray) and given is None:
            raise ValueError(f"{owner}: init must have {p} columns like X; got shape {self.init.shape}.")
        if self.warm_start and hasattr(self, "components_"):
            if self.components_.shape[1] != p:
                raise ValueError(f"{owner}: warm_start must go on with {self.components_.shape[1]} columns; got {p}.")
            given = self.components_ * scale
        k = self.n_components if self.n_components is not None else p if given is None else len(given)
        if k > p:
            raise ValueError(f"{owner}: n_components must be at most {p}, the columns of X; got {k}.")
        if given is not None:
            if len(given) != k:
                raise ValueError(f"{owner}: n_components must be {len(given)}, the rows of the start; got {k}.")
            return given
        return self._named_start(rows, codes, int(k))

    def _named_start(self, rows: np.ndarray, codes: np.ndarray, k: int) -> np.ndarray:
        n, p = rows.shape
        enough = int(codes.max())  # directions that tell the classes apart
        init = self.init
        if init == "auto":
            init = "lda" if k <= min(p, enough) else "pca" if k < min(n, p) else "identity"
        if init == "random":
            return as_generator(self.random_state).standard_normal((k, p))
        if init == "identity":
            return np.eye(k, p)
        if init == "lda":
            directions = LinearDiscriminantAnalysis(solver="svd").fit(rows, codes).scalings_
            return _complete(directions.T[:k], rows, k)
        return _principal(rows, k)


def _principal(rows: np.ndarray, k: int) -> np.ndarray:
    """The ``k`` directions (k, p) along which centered rows vary most."""
    _, directions = np.linalg.eigh(rows.T @ rows)
    return directions[:, ::-1].T[:k].copy()


def _complete(directions: np.ndarray, rows: np.ndarray, k: int) -> np.ndarray:
    """``k`` directions: those given, then the principal ones of what the rows are beside them."""
    basis, _ = np.linalg.qr(directions.T)
    beside = rows - rows @ basis @ basis.T
    return np.vstack([directions, _principal(beside, k - len(directions))])
