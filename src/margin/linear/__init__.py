"""Linear models: the prediction is an affine function of the features, or of basis functions of them."""

from typing import TYPE_CHECKING

from margin.core.lazy_names import lazy_names
from margin.linear.lasso_path import Path, draw_path, elastic_net_path, lasso_path
from margin.linear.least_squares import least_squares

if TYPE_CHECKING:
    from margin.linear.basis_regression import BasisRegression
    from margin.linear.design import design_matrix, is_linear_in_parameters
    from margin.linear.elastic_net import ElasticNet, Lasso
    from margin.linear.heteroscedastic import HeteroscedasticRegression
    from margin.linear.levenberg import nonlinear_least_squares
    from margin.linear.linear_regression import LinearRegression
    from margin.linear.logistic_regression import LogisticRegression
    from margin.linear.map_estimation import map_fit
    from margin.linear.polynomial import PolynomialRegression
    from margin.linear.ridge import Ridge
    from margin.linear.spline_regression import SplineRegression
else:
    __getattr__, __dir__ = lazy_names(__name__)

__all__ = [
    "BasisRegression",
    "ElasticNet",
    "HeteroscedasticRegression",
    "Lasso",
    "LinearRegression",
    "LogisticRegression",
    "Path",
    "PolynomialRegression",
    "Ridge",
    "SplineRegression",
    "design_matrix",
    "draw_path",
    "elastic_net_path",
    "is_linear_in_parameters",
    "lasso_path",
    "least_squares",
    "map_fit",
    "nonlinear_least_squares",
]
