"""Linear models: the prediction is an affine function of the features, or of basis functions of them."""

from margin.linear.design import design_matrix, is_linear_in_parameters
from margin.linear.levenberg import nonlinear_least_squares
from margin.linear.linear_regression import LinearRegression
from margin.linear.logistic_regression import LogisticRegression
from margin.linear.polynomial import PolynomialRegression
from margin.linear.ridge import Ridge

__all__ = [
    "LinearRegression",
    "LogisticRegression",
    "PolynomialRegression",
    "Ridge",
    "design_matrix",
    "is_linear_in_parameters",
    "nonlinear_least_squares",
]
