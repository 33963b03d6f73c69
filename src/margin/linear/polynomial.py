r"""Polynomial regression: least squares on all products of powers of the features.

.. math:: f(x) = \sum_{\lvert a \rvert \le \text{degree}} \theta_a \, x_1^{a_1} \cdots x_p^{a_p}
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.validation import check_is_fitted, validate_data

from margin.core.array_types import MatrixLike
from margin.core.domains import Integer
from margin.core.estimator import Estimator
from margin.core.invariants import ArrayOf, OneOf
from margin.core.number_range import finite_values
from margin.core.parameters import attribute, parameter
from margin.core.targets import numeric_target
from margin.linear.basis import check_terms, without_constants
from margin.linear.linear_regression import LinearRegression
from margin.linear.stored import NUMBER_OR_ROW

__all__ = ["PolynomialRegression"]


class PolynomialRegression(MultiOutputMixin, RegressorMixin, Estimator):
    """Linear in its parameters, so least squares applies unchanged; the model is a polynomial in x.

    Monomials of a column that is constant in training have the coefficient 0, and where monomials depend on each other
    the shortest solution is taken, as :class:`LinearRegression` does.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 9)[:, None]
    >>> model = PolynomialRegression(degree=2).fit(x, (1 + 2 * x + 3 * x**2).ravel())
    >>> model.coef_.round(9), model.powers_.ravel()
    (array([2., 3.]), array([1, 2]))
    """

    degree: int = parameter(2, Integer(low=1, search=(1, 5)), "Largest total degree of a monomial.")

    coef_: np.ndarray = attribute(
        OneOf(ArrayOf("n_terms"), ArrayOf("n_targets", "n_terms")), "Weights of the monomials, (m,) or (targets, m)."
    )
    intercept_: float | np.ndarray = attribute(NUMBER_OR_ROW, "The constant, one number or one per target.")
    powers_: np.ndarray = attribute(
        ArrayOf("n_terms", "n_features", kind="int64", low=0, high=1000), "Exponents (m, p) of the monomials."
    )

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PolynomialRegression:
        """Least squares on the monomials of ``X``."""
        self._check_parameters()
        X, y = validate_data(
            self, X, numeric_target(self, y), dtype=np.float64, order="C", y_numeric=True, multi_output=True
        )
        check_terms("PolynomialRegression", X.shape[1], self.degree)
        monomials = PolynomialFeatures(self.degree, include_bias=False).fit(X)
        terms = finite_values("PolynomialRegression", "X", X, lambda: monomials.transform(without_constants(X)))
        linear = LinearRegression().fit(terms, y, sample_weight)
        self.powers_ = monomials.powers_
        self.coef_, self.intercept_ = linear.coef_, linear.intercept_
        return self

    def predict(self, X: MatrixLike) -> np.ndarray:
        """The value of the polynomial at every row."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64, order="C")
        monomials = PolynomialFeatures(self.degree, include_bias=False).fit(X)
        return finite_values(
            "PolynomialRegression", "X", X, lambda: monomials.transform(X) @ self.coef_.T + self.intercept_
        )
