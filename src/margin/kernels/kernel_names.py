r"""Kernels by name, as parameters of models: "rbf" with its ``gamma`` next to ``RBF(0.5) + LinearKernel()``.

================  =====================================================================
"linear"          :math:`x^\top z`
"poly"            :math:`(\gamma\,x^\top z + c)^d` with c = ``coef0``, d = ``degree``
"rbf"             :math:`\exp(-\gamma\|x-z\|^2)`
"laplace"         :math:`\exp(-\gamma\|x-z\|)`
"periodic"        :math:`\exp(-4\gamma\sum_j\sin^2(\pi(x_j-z_j)))`, of period one
"sigmoid"         :math:`\tanh(\gamma\,x^\top z + c)`, which is not positive semi-definite
"laplacian"       :math:`\exp(-\gamma\sum_j|x_j-z_j|)`
"cosine"          :math:`x^\top z/(\|x\|\,\|z\|)`
"chi2"            :math:`\exp(-\gamma\sum_j (x_j-z_j)^2/(x_j+z_j))`, of histograms
"additive_chi2"   the same without the exponential, and "polynomial" is "poly"
"precomputed"     X is the kernel matrix itself
================  =====================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from margin.core.array_types import MatrixLike
from margin.core.domains import Choice, Domain, Either, Integer, Number
from margin.foundations.probability.kernels import length_scale_from_gamma
from margin.kernels.dot_product import LinearKernel, PolynomialKernel
from margin.kernels.function_kernel import FunctionKernel
from margin.kernels.kernel import Kernel
from margin.kernels.pairwise import (
    AdditiveChiSquaredKernel,
    ChiSquaredKernel,
    CosineKernel,
    LaplacianKernel,
    SigmoidKernel,
)
from margin.kernels.periodic import PeriodicKernel
from margin.kernels.sparse_rows import write_out
from margin.kernels.stationary import RBF, LaplaceKernel

__all__ = [
    "COEF0",
    "COEF0_SENTENCE",
    "DEGREE",
    "DEGREE_SENTENCE",
    "GAMMA",
    "GAMMA_SENTENCE",
    "KERNEL",
    "KERNEL_SENTENCE",
    "VECTOR_KERNEL",
    "KernelObject",
    "gamma_value",
    "named_kernel",
]

NAMES: tuple[str, ...] = ("linear", "poly", "rbf", "laplace", "periodic", "sigmoid", "laplacian", "cosine", "chi2")
NAMES += ("additive_chi2", "polynomial")
SMALLEST_VARIANCE = 1e-300  # whose inverse, gamma, is far from the largest number
KERNEL_SENTENCE = "Name of the kernel, 'precomputed' (X holds its values), a kernel object or a function of two arrays."
GAMMA_SENTENCE = "Inverse width of the named kernels; 'scale' is 1 / (columns * variance of X), 'auto' is 1 / columns."
DEGREE_SENTENCE = "Degree of 'poly'."
COEF0_SENTENCE = "Constant of 'poly', where it must not be negative, and of 'sigmoid'."


@dataclass(frozen=True)
class KernelObject(Domain):
    """A kernel given as an object, from Python."""

    description = "a kernel of margin.kernels or a function of two arrays of rows"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, Kernel) or (callable(value) and not isinstance(value, type))

    def wrong(self) -> list[Any]:
        return ["no such kernel", 3]


VECTOR_KERNEL = Either(Choice(*NAMES), KernelObject())
KERNEL = Either(Choice(*NAMES, "precomputed"), KernelObject())
GAMMA = Either(Choice("scale", "auto"), Number(above=0, search=(1e-3, 10.0), log=True))
DEGREE = Integer(low=1)
COEF0 = Number()


def gamma_value(gamma: Any, X: Any, weights: NDArray[Any] | None = None) -> float:
    r"""The number behind ``gamma``: "scale" is :math:`1/(d\,\mathrm{Var}\,X)` over all entries, "auto" is 1/d.

    Rows count by their weight, so that a row of weight two is two rows.
    """
    d = X.shape[1]
    if gamma is None or gamma == "auto":
        return 1.0 / d
    if gamma != "scale":
        return float(gamma)
    fraction = np.full(X.shape[0], 1 / X.shape[0]) if weights is None else weights / weights.sum()
    X = write_out(X)
    with np.errstate(over="ignore", invalid="ignore"):  # checked below
        means = fraction @ X
        squares = X.power(2) if sp.issparse(X) else np.square(X, dtype=np.float64)
        variance = float(np.mean(fraction @ squares) - np.mean(means) ** 2)
    if not np.isfinite(variance):
        raise ValueError("gamma='scale' needs columns whose squares are finite; scale them, or give gamma a number.")
    if 0 < d * variance < SMALLEST_VARIANCE:
        raise ValueError(
            f"gamma='scale' is one over the variance of X times its columns, which must be at least "
            f"{SMALLEST_VARIANCE:g}; got {d * variance:.3g}; scale X, or give gamma a number."
        )
    # Entries that are all one number have no scale; rounding may show a variance of 1e-16 of their square.
    constant = variance <= 1e-14 * float(np.mean(means) ** 2)
    return 1.0 if constant else 1.0 / (d * variance)


def named_kernel(
    kernel: Any, gamma: Any, degree: int, coef0: float, X: MatrixLike, weights: NDArray[Any] | None = None
) -> Kernel:
    """The kernel object behind a name or a function; an object is taken as it is."""
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return FunctionKernel(kernel)
    if kernel == "linear":
        return LinearKernel()
    value = gamma_value(gamma, X, weights)
    if kernel in ("poly", "polynomial"):
        return PolynomialKernel(degree, value, float(coef0))
    if kernel == "rbf":
        return RBF.from_gamma(value)
    if kernel == "laplace":
        return LaplaceKernel(1 / value)
    if kernel == "sigmoid":
        return SigmoidKernel(value, float(coef0))
    if kernel == "cosine":
        return CosineKernel()
    if kernel == "additive_chi2":
        return AdditiveChiSquaredKernel()
    if kernel in ("laplacian", "chi2"):
        return (LaplacianKernel if kernel == "laplacian" else ChiSquaredKernel)(value)
    return PeriodicKernel(length_scale_from_gamma(value), 1.0)
