r"""Allen and Cahn's equation: two phases that push each other aside, with fronts that networks learn late.

.. math:: u_t - 10^{-4} u_{xx} + 5 u^3 - 5 u = 0, \qquad u(0, x) = x^2 \cos \pi x, \qquad u(t, -1) = u(t, 1)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from torch import Tensor

from margin.physics.derivatives import derivative
from margin.physics.splitting import at_times

__all__ = ["DIFFUSION", "REACTION", "allen_cahn_residual", "allen_cahn_spectral", "allen_cahn_start"]

DIFFUSION, REACTION = 1e-4, 5.0


def allen_cahn_residual(u: Tensor, x: Tensor) -> Tensor:
    """What the equation leaves of u at points (t, x)."""
    value = u[:, 0]
    return derivative(u, x, 0) - DIFFUSION * derivative(u, x, 1, 1) + REACTION * (value**3 - value)


def allen_cahn_start(x: Any) -> np.ndarray:
    """The solution at time 0."""
    x = np.asarray(x, dtype=np.float64)
    return np.asarray(x**2 * np.cos(np.pi * x))


def allen_cahn_spectral(times: Any, n: int = 512, steps: int = 200) -> tuple[np.ndarray, np.ndarray]:
    r"""Positions (n,) on [-1, 1) and the solution (times, n) there, by Strang's splitting.

    There are ``steps`` per unit of time. Diffusion is exact for every Fourier mode, the reaction for every position:
    :math:`u \mapsto u / \sqrt{u^2 + (1 - u^2) e^{-10 h}}`.
    """
    x = np.linspace(-1, 1, n, endpoint=False)
    decay = DIFFUSION * (math.pi * np.arange(n // 2 + 1)) ** 2

    def advance(u: np.ndarray, h: float) -> np.ndarray:
        u = np.fft.irfft(np.exp(-decay * h / 2) * np.fft.rfft(u), n)
        u = u / np.sqrt(u**2 + (1 - u**2) * math.exp(-2 * REACTION * h))
        return np.asarray(np.fft.irfft(np.exp(-decay * h / 2) * np.fft.rfft(u), n))

    return x, at_times(advance, allen_cahn_start(x), times, steps)
