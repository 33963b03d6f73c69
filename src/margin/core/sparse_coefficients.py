"""Coefficients that are mostly zero, kept as a sparse matrix if the user asks for it."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

__all__ = ["SparseCoefficients", "dense_coefficients", "linear_scores"]


class SparseCoefficients:
    """A linear classifier whose ``coef_`` (classes, p) can become sparse and dense again; predictions are the same."""

    coef_: Any

    def sparsify(self) -> Self:
        """Keep ``coef_`` as a sparse matrix: less memory where an L1 penalty left few coefficients."""
        check_is_fitted(self)
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self) -> Self:
        """Keep ``coef_`` as an array, as after a fit."""
        check_is_fitted(self)
        self.coef_ = dense_coefficients(self.coef_)
        return self


def dense_coefficients(coef: Any) -> np.ndarray:
    """``coef`` as an array, whether it is sparse or not."""
    return np.asarray(coef.toarray() if sp.issparse(coef) else coef)


def linear_scores(X: Any, coef: Any, intercept: np.ndarray) -> np.ndarray:
    """X coef' + intercept, (n, classes), where either matrix may be sparse.

    >>> linear_scores(sp.csr_array([[1.0, 0.0]]), sp.csr_matrix([[2.0, 3.0]]), np.array([0.5]))
    array([[2.5]])
    """
    product = X @ coef.T
    return np.asarray((product.toarray() if sp.issparse(product) else product) + intercept, dtype=np.float64)
