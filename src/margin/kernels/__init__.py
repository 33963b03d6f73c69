"""Kernel methods: kernels as objects, support vector machines, kernel ridge and kernel regression."""

from margin.kernels.dot_product import Linear, Polynomial
from margin.kernels.gaussian_process import (
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    SparseGaussianProcessRegressor,
)
from margin.kernels.hard_margin import HardMarginSVC
from margin.kernels.kernel import Constant, Kernel, Product, Sum
from margin.kernels.kernel_regression import KernelRegression
from margin.kernels.kernel_ridge import KernelRidge
from margin.kernels.linear_svc import LinearSVC
from margin.kernels.matern import Matern
from margin.kernels.periodic import Periodic
from margin.kernels.stationary import RBF, Laplace, White
from margin.kernels.svc import SVC
from margin.kernels.svr import SVR

__all__ = [
    "RBF",
    "SVC",
    "SVR",
    "Constant",
    "GaussianProcessClassifier",
    "GaussianProcessRegressor",
    "HardMarginSVC",
    "Kernel",
    "KernelRegression",
    "KernelRidge",
    "Laplace",
    "Linear",
    "LinearSVC",
    "Matern",
    "Periodic",
    "Polynomial",
    "Product",
    "SparseGaussianProcessRegressor",
    "Sum",
    "White",
]
