"""scikit-learn's kernel objects, translated to ours with the same parameters and bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process import kernels as theirs

from margin.core.domains import Nested
from margin.core.parameters import parameter
from margin.kernels.algebra import Exponentiation, Product, Sum
from margin.kernels.dot_product import DotProduct
from margin.kernels.kernel import ConstantKernel, Floats, Kernel
from margin.kernels.matern import Matern
from margin.kernels.periodic import ExpSineSquared
from margin.kernels.stationary import RBF, RationalQuadratic, WhiteKernel

__all__ = ["GivenKernel", "can_translate", "requires_numbers", "translated"]

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


class GivenKernel(Kernel):
    """A kernel of scikit-learn's form that has no translation: one of its own classes, or a class of the user's."""

    kernel: Any = parameter(None, Nested("diag"), "The object, called for values and gradients.")

    @property
    def theta(self) -> Floats:
        return np.asarray(self.kernel.theta, dtype=np.float64)

    @property
    def bounds(self) -> Floats:
        return np.asarray(self.kernel.bounds, dtype=np.float64).reshape(-1, 2)

    @property
    def requires_vector_input(self) -> bool:
        """Whether rows must be numbers: a kernel of strings or graphs says no."""
        return bool(self.kernel.requires_vector_input)

    def is_stationary(self) -> bool:
        return bool(self.kernel.is_stationary())

    def clone_with_theta(self, theta: Floats) -> GivenKernel:
        return GivenKernel(self.kernel.clone_with_theta(np.asarray(theta, dtype=np.float64)))

    def _matrix(self, X: Any, Z: Any) -> Floats:
        return np.asarray(self.kernel(X) if Z is None else self.kernel(X, Z), dtype=np.float64)

    def diag(self, X: Any) -> Floats:
        return np.array(self.kernel.diag(X), dtype=np.float64)

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        if not len(self.theta):
            return np.zeros(0)
        return np.einsum("ij,ijk->k", weights, self.kernel(X, eval_gradient=True)[1])


def can_translate(kernel: Any) -> bool:
    """Whether ``kernel`` gives one matrix: a translation, or an object of this form; several side by side do not."""
    parts = [value for value in kernel.get_params(deep=False).values() if isinstance(value, theirs.Kernel)]
    one = isinstance(kernel, theirs.Kernel) and not isinstance(kernel, theirs.CompoundKernel)
    return one and all(can_translate(part) for part in parts)


def requires_numbers(kernel: Any) -> bool:
    """Whether the rows of a Gaussian process with this kernel must be vectors of numbers."""
    if isinstance(kernel, theirs.Kernel):
        return bool(kernel.requires_vector_input)
    return True


def translated(kernel: theirs.Kernel) -> Kernel:
    """Our kernel with the same values; parts that have none are called as they are.

    >>> translated(theirs.RBF(2.0) + theirs.WhiteKernel(0.1))
    Sum(k1=RBF(length_scale=2.0), k2=WhiteKernel(noise_level=0.1))
    """
    if type(kernel) not in TRANSLATIONS:
        return GivenKernel(clone(kernel))
    return TRANSLATIONS[type(kernel)](**{k: _plain(value) for k, value in kernel.get_params(deep=False).items()})


def _plain(value: Any) -> Any:
    if isinstance(value, theirs.Kernel):
        return translated(value)
    return np.array(value) if isinstance(value, np.ndarray) else value
