"""Linear models: the prediction is an affine function of the features, or of basis functions of them."""

from margin.linear.design import design_matrix, is_linear_in_parameters
from margin.linear.least_squares import least_squares
from margin.linear.levenberg import nonlinear_least_squares
from margin.linear.linear_regression import LinearRegression
from margin.linear.polynomial import PolynomialRegression
from margin.linear.ridge import Ridge

__all__ = [
    "LinearRegression",
    "PolynomialRegression",
    "Ridge",
    "design_matrix",
    "is_linear_in_parameters",
    "least_squares",
    "nonlinear_least_squares",
]
