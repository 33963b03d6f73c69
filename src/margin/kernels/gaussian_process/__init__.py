"""Gaussian processes with learned kernels: exact regression, Laplace classification, sparse regression on many rows."""

from margin.kernels.gaussian_process.classifier import GaussianProcessClassifier
from margin.kernels.gaussian_process.regressor import GaussianProcessRegressor
from margin.kernels.gaussian_process.sparse_regressor import SparseGaussianProcessRegressor

__all__ = ["GaussianProcessClassifier", "GaussianProcessRegressor", "SparseGaussianProcessRegressor"]
