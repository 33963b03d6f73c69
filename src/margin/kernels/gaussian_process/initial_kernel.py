"""The kernel a fit starts from: the user's object, or one made from a word and the spread of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from margin.core.domains import Choice, Either, Nested
from margin.kernels.algebra import Product, Sum
from margin.kernels.dot_product import LinearKernel
from margin.kernels.gaussian_process.radial import terms_of
from margin.kernels.kernel import Kernel
from margin.kernels.matern import Matern
from margin.kernels.stationary import RBF, LaplaceKernel, WhiteKernel

__all__ = ["KERNEL_DOMAIN", "initial_kernel", "with_noise_term"]

Floats = NDArray[np.float64]

WORDS = ("rbf", "matern", "laplace", "linear")
KERNEL_DOMAIN = Either(Choice(*WORDS), Nested("diag", "gradient"))

NOISE_START = 0.1  # a tenth of the variance of the targets, the amplitude of the signal being one
NOISE_BOUNDS = (1e-8, 1e3)


def initial_kernel(owner: str, kernel: Any, X: Floats | None, ard: bool) -> Kernel:
    """``kernel`` itself (a copy), or amplitude times the named one with the spread of the rows of ``X`` as scale.

    ``ard`` replaces single length scales by one per column, which needs ``X``.
    """
    if not isinstance(kernel, str):
        if not isinstance(kernel, Kernel):
            raise TypeError(f"{owner}: kernel must be a word or a kernel of margin.kernels; got {kernel!r}.")
        made = clone(kernel)
    elif kernel == "linear":
        made = 1.0 * LinearKernel() + 1.0
    else:
        # The root mean square distance of two rows is sqrt(2) times this.
        spread = 1.0 if X is None else float(np.sqrt(X.var(axis=0).sum())) or 1.0
        bounds = (1e-3 * spread, 1e3 * spread)
        radial = {"rbf": RBF, "laplace": LaplaceKernel, "matern": Matern}[kernel]
        made = 1.0 * radial(length_scale=spread, length_scale_bounds=bounds)
    return _one_scale_per_column(made, X.shape[1]) if ard and X is not None else made


def with_noise_term(kernel: Kernel) -> Kernel:
    """``kernel`` with white noise to be learned, unless it has some already."""
    if any(isinstance(term, WhiteKernel) for term in terms_of(kernel)):
        return kernel
    return kernel + WhiteKernel(NOISE_START, noise_level_bounds=NOISE_BOUNDS)


def _one_scale_per_column(kernel: Kernel, columns: int) -> Kernel:
    if isinstance(kernel, Sum | Product):
        left, right = (_one_scale_per_column(part, columns) for part in (kernel.k1, kernel.k2))
        return type(kernel)(left, right)
    if isinstance(kernel, RBF | LaplaceKernel | Matern) and not np.ndim(kernel.length_scale):
        return clone(kernel).set_params(length_scale=np.full(columns, float(kernel.length_scale)))
    return kernel
