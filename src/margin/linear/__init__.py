"""Linear models: the prediction is an affine function of the features, or of basis functions of them."""

from margin.linear.elastic_net import ElasticNet, Lasso
from margin.linear.lasso_path import Path, draw_path, elastic_net_path, lasso_path
from margin.linear.linear_regression import LinearRegression
from margin.linear.logistic_regression import LogisticRegression
from margin.linear.ridge import Ridge

__all__ = [
    "ElasticNet",
    "Lasso",
    "LinearRegression",
    "LogisticRegression",
    "Path",
    "Ridge",
    "draw_path",
    "elastic_net_path",
    "lasso_path",
]
