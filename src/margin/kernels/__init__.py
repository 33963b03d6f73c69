"""Kernel methods: kernels as objects, support vector machines, kernel ridge and kernel regression."""

from margin.kernels.functions import (
    RBF,
    Constant,
    Kernel,
    Laplace,
    Linear,
    Periodic,
    Polynomial,
    Product,
    Sum,
    White,
)
from margin.kernels.gaussian_process import (
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    SparseGaussianProcessRegressor,
)
from margin.kernels.hard_margin import HardMarginSVC
from margin.kernels.kernel_regression import KernelRegression
from margin.kernels.kernel_ridge import KernelRidge
from margin.kernels.linear_svc import LinearSVC
from margin.kernels.matern import Matern
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
