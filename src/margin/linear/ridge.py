r"""Ridge regression: least squares with a penalty on the squared length of the coefficients.

.. math:: \min_{\theta, \theta_0} \; \sum_i w_i (y_i - \theta_0 - \theta^\top x_i)^2 + \alpha \lVert\theta\rVert_2^2
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import _check_sample_weight, validate_data

from margin.core.domains import Choice, Either, Flag, Number, Optional, Sequence
from margin.core.estimator import Estimator
from margin.linear.affine import AffinePrediction
from margin.linear.penalized_least_squares import default_alphas, leave_one_out_mse, ridge

__all__ = ["Ridge"]


class Ridge(AffinePrediction, MultiOutputMixin, RegressorMixin, Estimator):
    r"""Ridge regression in closed form; :math:`\theta_0` carries no penalty.

    ``alpha`` is the penalty, or "loo": then each of ``alphas`` (by default 37 in the scale of the data) is judged by
    its exact mean squared leave-one-out error, all of them from one eigendecomposition, and the best is taken.
    Several columns of ``y`` share one penalty; ``X`` may be sparse. The cost is one product of ``X`` with itself,
    the smaller of n p^2 and n^2 p operations.

    Learned: ``coef_`` (p,) or (q, p), ``intercept_``, ``alpha_``; with "loo" also ``alphas_`` and ``loo_mse_``, the
    error of each.

    >>> import numpy as np
    >>> X, y = np.array([[-1.0], [0.0], [1.0]]), [-1.0, 1.0, 3.0]
    >>> model = Ridge(alpha=2.0).fit(X, y)
    >>> model.coef_, model.intercept_
    (array([1.]), 1.0)
    >>> bool(Ridge(alpha="loo").fit(X, y).coef_[0] > 1.99)  # exact data need no penalty
    True
    """

    domains = {
        "alpha": Either(Number(low=0, search=(1e-4, 1e4), log=True), Choice("loo")),
        "fit_intercept": Flag(),
        "alphas": Optional(Sequence(Number(above=0), min_length=1)),
    }

    def __init__(self, alpha: Any = 1.0, fit_intercept: bool = True, alphas: Any = None):
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.alphas = alphas

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Ridge:
        """Learn from all rows."""
        self._check_parameters()
        X, y = validate_data(
            self, X, y, accept_sparse="csr", ensure_all_finite=False, y_numeric=True, multi_output=True
        )
        Y = np.asarray(y, dtype=np.float64)
        assert_all_finite(Y, estimator_name="Ridge", input_name="y")
        single, Y = Y.ndim == 1, Y.reshape(len(Y), -1)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        try:
            tried = self._judged(X, Y, weights) if self.alpha == "loo" else {}
            alpha = float(tried["alphas_"][np.argmin(tried["loo_mse_"])]) if tried else float(self.alpha)
            found = ridge(X, Y, alpha, weights, intercept=bool(self.fit_intercept))
        except FloatingPointError as error:
            self._refuse_non_finite(X)
            raise ValueError(f"Ridge: {error}") from None
        self.__dict__.pop("alphas_", None), self.__dict__.pop("loo_mse_", None)
        self.__dict__.update(tried)
        self.alpha_ = alpha
        intercept = found.intercept if self.fit_intercept else np.zeros(Y.shape[1])
        self.coef_ = found.coef[:, 0].copy() if single else np.ascontiguousarray(found.coef.T)
        self.intercept_ = float(intercept[0]) if single else intercept
        return self

    def _judged(self, X: Any, Y: np.ndarray, weights: np.ndarray | None) -> dict[str, np.ndarray]:
        if sp.issparse(X):
            raise ValueError('Ridge: alpha="loo" takes a dense X; got a sparse one.')
        self._refuse_non_finite(X)
        intercept = bool(self.fit_intercept)
        given = self.alphas is not None
        alphas = np.array(self.alphas, dtype=float) if given else default_alphas(X, weights, intercept=intercept)
        return {"alphas_": alphas, "loo_mse_": leave_one_out_mse(X, Y, alphas, weights, intercept=intercept)}
