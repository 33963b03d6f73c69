"""Linear models: the prediction is an affine function of the features."""

from margin.linear.linear_regression import LinearRegression

__all__ = ["LinearRegression"]
