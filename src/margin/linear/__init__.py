"""Linear models: the prediction is an affine function of the features, or of basis functions of them."""

from margin.linear.linear_regression import LinearRegression
from margin.linear.logistic_regression import LogisticRegression
from margin.linear.ridge import Ridge

__all__ = ["LinearRegression", "LogisticRegression", "Ridge"]
