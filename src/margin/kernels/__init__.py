"""Kernel methods: kernels as objects, support vector machines, Gaussian processes, kernel ridge, kernel regression."""

from typing import TYPE_CHECKING

from margin.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from margin.kernels.algebra import Exponentiation, Product, Sum
    from margin.kernels.dot_product import DotProduct, LinearKernel, PolynomialKernel
    from margin.kernels.gaussian_process import (
        GaussianProcessClassifier,
        GaussianProcessRegressor,
        SparseGaussianProcessRegressor,
    )
    from margin.kernels.hard_margin import HardMarginSVC
    from margin.kernels.kernel import ConstantKernel, Kernel
    from margin.kernels.kernel_regression import KernelRegression
    from margin.kernels.kernel_ridge import KernelRidge
    from margin.kernels.linear_svc import LinearSVC
    from margin.kernels.matern import Matern
    from margin.kernels.pairwise import (
        AdditiveChiSquaredKernel,
        ChiSquaredKernel,
        CosineKernel,
        LaplacianKernel,
        SigmoidKernel,
    )
    from margin.kernels.periodic import ExpSineSquared, PeriodicKernel
    from margin.kernels.stationary import RBF, LaplaceKernel, RationalQuadratic, WhiteKernel
    from margin.kernels.svc import SVC
    from margin.kernels.svr import SVR
else:
    __getattr__, __dir__ = lazy_names(__name__)

__all__ = [
    "RBF",
    "SVC",
    "SVR",
    "AdditiveChiSquaredKernel",
    "ChiSquaredKernel",
    "ConstantKernel",
    "CosineKernel",
    "DotProduct",
    "ExpSineSquared",
    "Exponentiation",
    "GaussianProcessClassifier",
    "GaussianProcessRegressor",
    "HardMarginSVC",
    "Kernel",
    "KernelRegression",
    "KernelRidge",
    "LaplaceKernel",
    "LaplacianKernel",
    "LinearKernel",
    "LinearSVC",
    "Matern",
    "PeriodicKernel",
    "PolynomialKernel",
    "Product",
    "RationalQuadratic",
    "SigmoidKernel",
    "SparseGaussianProcessRegressor",
    "Sum",
    "WhiteKernel",
]
