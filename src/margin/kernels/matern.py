r"""The Matérn kernels: how smooth a function is, as a parameter.

With the scaled distance :math:`r^2 = \sum_j (x_j-z_j)^2/\ell_j^2` and :math:`s = \sqrt{2\nu}\,r`,

.. math::
    k_\nu = \frac{2^{1-\nu}}{\Gamma(\nu)}\,s^\nu K_\nu(s),\qquad
    k_{1/2} = e^{-r},\quad
    k_{3/2} = (1+\sqrt3 r)\,e^{-\sqrt3 r},\quad
    k_{5/2} = (1+\sqrt5 r+\tfrac53 r^2)\,e^{-\sqrt5 r} .

Draws with smoothness :math:`\nu` have derivatives of every order below :math:`\nu`; :math:`\nu\to\infty` is the
Gaussian kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gamma, kv

from margin.core.domains import Choice, Either, Number
from margin.core.parameters import parameter
from margin.foundations.probability.kernels import squared_distances
from margin.kernels.kernel import Floats
from margin.kernels.stationary import RadialKernel

__all__ = ["Matern", "matern_profile"]


def matern_profile(nu: float, squared: Floats) -> tuple[Floats, Floats]:
    r"""The kernel and its slope :math:`g` of squared scaled distances.

    :math:`\partial k/\partial\log\ell_j = g\,(x_j-z_j)^2/\ell_j^2` with :math:`g = -k'(r)/r`, which is 0 for coincident
    rows in rough cases, where it is multiplied by zero anyway.
    """
    if nu == np.inf:
        values = np.exp(-0.5 * squared)
        return values, values.copy()
    r = np.sqrt(squared)
    if nu == 0.5:
        decay = np.exp(-r)
        return decay, np.divide(decay, r, out=np.zeros_like(r), where=r > 0)
    scaled = np.sqrt(2 * nu) * r
    if nu not in (1.5, 2.5):
        return _general_profile(nu, scaled)
    decay = np.exp(-scaled)
    if nu == 1.5:
        return (1 + scaled) * decay, 3 * decay
    return (1 + scaled + scaled**2 / 3) * decay, 5 / 3 * (1 + scaled) * decay


def _general_profile(nu: float, scaled: Floats) -> tuple[Floats, Floats]:
    r"""By Bessel functions; :math:`(s^\nu K_\nu(s))' = -s^\nu K_{\nu-1}(s)` gives the slope."""
    factor, apart = 2 ** (1 - nu) / gamma(nu), scaled > 0
    s = np.where(apart, scaled, 1.0)
    values = np.where(apart, factor * s**nu * kv(nu, s), 1.0)
    slopes = np.where(apart, factor * 2 * nu * s ** (nu - 1) * kv(nu - 1, s), 0.0)
    return values, slopes


class Matern(RadialKernel):
    """Functions of chosen smoothness.

    >>> Matern(nu=1.5)([[0.0]], [[1.0]]).round(6).tolist()
    [[0.483358]]
    """

    nu: float = parameter(
        1.5,
        Either(Number(above=0), Choice(np.inf)),
        "Smoothness: 0.5 (rough), 1.5 (one derivative), 2.5 (two), infinity (RBF); others need Bessel functions.",
    )

    def _matrix(self, X: Any, Z: Any) -> Floats:
        return matern_profile(self.nu, squared_distances(self.scaled(X), None if Z is None else self.scaled(Z)))[0]

    def gradient(self, X: Floats, weights: Floats) -> Floats:
        slope = matern_profile(self.nu, squared_distances(self.scaled(X)))[1]
        return self._contract(X, weights * slope)
