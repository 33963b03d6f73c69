"""The kernels of several latent functions as one object."""

from __future__ import annotations

import numpy as np

from margin.kernels.kernel import Floats, Kernel

__all__ = ["LatentKernels"]


class LatentKernels(list[Kernel]):
    """A list with what scikit-learn's ``CompoundKernel`` has: parameters one after another, function by function.

    >>> from margin.kernels import RBF
    >>> LatentKernels([RBF(1.0), RBF(np.e)]).theta
    array([0., 1.])
    """

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels."""
        return list(self)

    @property
    def theta(self) -> Floats:
        """Logarithms of the free parameters."""
        return np.concatenate([kernel.theta for kernel in self])

    @property
    def bounds(self) -> Floats:
        """Their lowest and highest values."""
        return np.concatenate([kernel.bounds for kernel in self])

    @property
    def n_dims(self) -> int:
        """How many numbers are learned."""
        return len(self.theta)
