r"""The Matérn kernels: how smooth a function is, as a parameter.

With the scaled distance :math:`r^2 = \sum_j (x_j-z_j)^2/\ell_j^2`,

.. math::
    k_{1/2} = e^{-r},\qquad
    k_{3/2} = (1+\sqrt3 r)\,e^{-\sqrt3 r},\qquad
    k_{5/2} = (1+\sqrt5 r+\tfrac53 r^2)\,e^{-\sqrt5 r} .

Draws with smoothness :math:`\nu` have derivatives of every order below :math:`\nu`; :math:`\nu\to\infty` is the
Gaussian kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from margin.core.domains import Choice
from margin.foundations.probability.kernels import squared_distances
from margin.kernels.kernel import BOUNDS, WIDE, Bounds, Floats
from margin.kernels.stationary import LENGTH_SCALES, Scaled

__all__ = ["Matern", "matern_profile"]


def matern_profile(nu: float, squared: Floats) -> tuple[Floats, Floats]:
    r"""The kernel and its slope :math:`g` of squared scaled distances.

    :math:`\partial k/\partial\log\ell_j = g\,(x_j-z_j)^2/\ell_j^2` with :math:`g = -k'(r)/r`, which is 0 for coincident
    rows in the rough case :math:`\nu=1/2`, where it is multiplied by zero anyway.
    """
    r = np.sqrt(squared)
    if nu == 0.5:
        decay = np.exp(-r)
        return decay, np.divide(decay, r, out=np.zeros_like(r), where=r > 0)
    scaled = np.sqrt(2 * nu) * r
    decay = np.exp(-scaled)
    if nu == 1.5:
        return (1 + scaled) * decay, 3 * decay
    return (1 + scaled + scaled**2 / 3) * decay, 5 / 3 * (1 + scaled) * decay


class Matern(Scaled):
    """Functions of chosen smoothness ``nu``: 0.5 (rough), 1.5 (one derivative) or 2.5 (two).

    >>> Matern(nu=1.5)([[0.0]], [[1.0]]).round(6).tolist()
    [[0.483358]]
    """

    domains = {
        "length_scale": LENGTH_SCALES,
        "nu": Choice(0.5, 1.5, 2.5),
        "length_scale_bounds": BOUNDS,
    }

    def __init__(self, length_scale: Any = 1.0, nu: float = 1.5, length_scale_bounds: Bounds = WIDE):
        super().__init__(length_scale, length_scale_bounds)
        self.nu = nu

    def _matrix(self, X: Any, Z: Any) -> Floats:
        return matern_profile(self.nu, squared_distances(self.scaled(X), None if Z is None else self.scaled(Z)))[0]

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        slope = matern_profile(self.nu, squared_distances(self.scaled(X)))[1]
        return self._contract(X, weights * slope)
