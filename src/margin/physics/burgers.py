r"""Burgers' equation, the standard test of networks that solve equations: a sine that steepens into a front.

.. math:: u_t + u u_x - \nu u_{xx} = 0, \qquad u(0, x) = -\sin \pi x, \qquad u(t, \pm 1) = 0, \qquad
          \nu = \frac{0.01}{\pi}
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from torch import Tensor

from margin.physics.adaptive import dormand_prince
from margin.physics.derivatives import derivative, gradient

__all__ = ["VISCOSITY", "burgers_exact", "burgers_finite_differences", "burgers_residual"]

VISCOSITY = 0.01 / math.pi
NODES = 300  # of the quadrature: the integrand is a few thousandths wide at the front


def burgers_residual(u: Tensor, x: Tensor, viscosity: Any = VISCOSITY) -> Tensor:
    """What Burgers' equation leaves of u at points (t, x)."""
    u = u.reshape(-1)
    slopes = gradient(u, x)
    return slopes[:, 0] + u * slopes[:, 1] - viscosity * derivative(slopes[:, 1], x, 1)


def burgers_exact(t: Any, x: Any, viscosity: float = VISCOSITY) -> np.ndarray:
    r"""The solution by Cole and Hopf's transformation, its integrals by Gauss and Hermite's quadrature.

    .. math:: u = -\frac{\int \sin \pi(x - \eta)\, f(x - \eta)\, e^{-\eta^2 / 4\nu t}\, d\eta}
                        {\int f(x - \eta)\, e^{-\eta^2 / 4\nu t}\, d\eta}, \qquad
              f(y) = e^{-\cos(\pi y) / 2\pi\nu}
    """
    t, x = np.broadcast_arrays(np.asarray(t, dtype=np.float64), np.asarray(x, dtype=np.float64))
    nodes, weights = np.polynomial.hermite.hermgauss(NODES)
    y = x[..., None] - nodes * np.sqrt(4 * viscosity * t[..., None])
    exponents = -np.cos(np.pi * y) / (2 * np.pi * viscosity)
    density = weights * np.exp(exponents - exponents.max(axis=-1, keepdims=True))  # e^50 does not matter in a ratio
    return -(np.sin(np.pi * y) * density).sum(axis=-1) / density.sum(axis=-1)


def burgers_finite_differences(
    times: Any, n: int = 400, viscosity: float = VISCOSITY, rtol: float = 1e-6
) -> tuple[np.ndarray, np.ndarray]:
    """Grid and values at ``times`` (the first is 0) by central differences in space and adaptive steps in time.

    The convective term is the mean of (u^2 / 2)_x and u u_x that keeps the energy from growing by itself.
    """
    x = np.linspace(-1, 1, n + 1)
    h = x[1] - x[0]

    def slope(_: float, inner: np.ndarray) -> np.ndarray:
        u = np.pad(inner, 1)
        square = (u[2:] ** 2 - u[:-2] ** 2) / (6 * h)
        product = u[1:-1] * (u[2:] - u[:-2]) / (6 * h)
        return viscosity * (u[2:] - 2 * u[1:-1] + u[:-2]) / h**2 - square - product

    times = np.asarray(times, dtype=np.float64)
    inner = dormand_prince(slope, -np.sin(np.pi * x[1:-1]), (times[0], times[-1]), rtol=rtol, atol=1e-8)(times)
    return x, np.pad(inner, ((0, 0), (1, 1)))
