r"""The nonlinear Schroedinger equation: a complex wave that its own intensity focuses.

.. math:: i h_t + \tfrac12 h_{xx} + |h|^2 h = 0, \qquad h(0, x) = 2\, \mathrm{sech}\, x, \qquad h(t, -5) = h(t, 5)

With :math:`h = u + i v` these are two real equations,
:math:`u_t + \tfrac12 v_{xx} + (u^2 + v^2) v = 0` and :math:`v_t - \tfrac12 u_{xx} - (u^2 + v^2) u = 0`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from torch import Tensor

from margin.physics.derivatives import derivative
from margin.physics.splitting import at_times

__all__ = ["HALF_WIDTH", "schrodinger_residual", "schrodinger_spectral", "schrodinger_start"]

HALF_WIDTH = 5.0


def schrodinger_residual(u: Tensor, x: Tensor) -> list[Tensor]:
    """What both equations leave of the real and imaginary parts (n, 2) at points (t, x)."""
    real, imaginary = u[:, 0], u[:, 1]
    intensity = real**2 + imaginary**2
    return [
        derivative(real, x, 0) + 0.5 * derivative(imaginary, x, 1, 1) + intensity * imaginary,
        derivative(imaginary, x, 0) - 0.5 * derivative(real, x, 1, 1) - intensity * real,
    ]


def schrodinger_start(x: Any) -> np.ndarray:
    """The complex wave at time 0."""
    return np.asarray(2 / np.cosh(np.asarray(x, dtype=np.float64)), dtype=np.complex128)


def schrodinger_spectral(
    times: Any, start: np.ndarray, half_width: float = HALF_WIDTH, steps: int = 1000
) -> tuple[np.ndarray, np.ndarray]:
    r"""Positions (n,) and the wave (times, n) that begins as ``start``, by Strang's splitting.

    There are ``steps`` per unit of time; dispersion turns every Fourier mode, intensity every position, and both are
    exact.
    """
    n = len(start)
    x = np.linspace(-half_width, half_width, n, endpoint=False)
    turn = 0.5 * (2 * math.pi * np.fft.fftfreq(n, 2 * half_width / n)) ** 2

    def advance(h: np.ndarray, dt: float) -> np.ndarray:
        h = np.fft.ifft(np.exp(-1j * turn * dt / 2) * np.fft.fft(h))
        h = h * np.exp(1j * np.abs(h) ** 2 * dt)
        return np.asarray(np.fft.ifft(np.exp(-1j * turn * dt / 2) * np.fft.fft(h)))

    return x, at_times(advance, np.asarray(start, dtype=np.complex128), times, steps)
