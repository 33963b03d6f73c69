"""scikit-learn's kernel objects, translated to ours with the same parameters and bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.gaussian_process import kernels as theirs

from margin.kernels.algebra import Exponentiation, Product, Sum
from margin.kernels.dot_product import DotProduct
from margin.kernels.kernel import ConstantKernel, Kernel
from margin.kernels.matern import Matern
from margin.kernels.periodic import ExpSineSquared
from margin.kernels.stationary import RBF, RationalQuadratic, WhiteKernel

__all__ = ["can_translate", "translated"]

# Classes of both libraries whose parameters have the same names. Subclasses are not in it: Matern is one of RBF there.
TRANSLATIONS: dict[type, type[Kernel]] = {
    theirs.ConstantKernel: ConstantKernel,
    theirs.WhiteKernel: WhiteKernel,
    theirs.RBF: RBF,
    theirs.Matern: Matern,
    theirs.RationalQuadratic: RationalQuadratic,
    theirs.ExpSineSquared: ExpSineSquared,
    theirs.DotProduct: DotProduct,
    theirs.Sum: Sum,
    theirs.Product: Product,
    theirs.Exponentiation: Exponentiation,
}


def can_translate(kernel: Any) -> bool:
    """Whether every part of ``kernel`` has a translation."""
    parts = [value for value in kernel.get_params(deep=False).values() if isinstance(value, theirs.Kernel)]
    return type(kernel) in TRANSLATIONS and all(can_translate(part) for part in parts)


def translated(kernel: theirs.Kernel) -> Kernel:
    """Our kernel with the same values.

    >>> translated(theirs.RBF(2.0) + theirs.WhiteKernel(0.1))
    Sum(k1=RBF(length_scale=2.0), k2=WhiteKernel(noise_level=0.1))
    """
    return TRANSLATIONS[type(kernel)](**{k: _plain(value) for k, value in kernel.get_params(deep=False).items()})


def _plain(value: Any) -> Any:
    if isinstance(value, theirs.Kernel):
        return translated(value)
    return np.array(value) if isinstance(value, np.ndarray) else value
