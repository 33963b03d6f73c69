r"""The gamma function, :math:`\Gamma(x) = \int_0^\infty t^{x-1}e^{-t}\,dt`, which normalizes the t density."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from margin.foundations.probability.arguments import Array, numbers

__all__ = ["gamma_function"]

# With t = e^s the integrand exp(x s - e^s) is analytic and decays doubly exponentially, so the trapezoid rule
# converges exponentially; these nodes cover x in [SHIFTED, SHIFTED + 1] to double precision.
SHIFTED = 12.0
STEP = 0.02
NODES = np.arange(-4.0, 5.0, STEP)


def gamma_function(x: ArrayLike) -> Array:
    """Euler's integral by the trapezoid rule, moved to any real x but the poles by x Gamma(x) = Gamma(x + 1).

    The distributions use SciPy's version; this one is the definition, and agrees to about 1e-13.

    >>> float(gamma_function(5).round(9))  # 4!
    24.0
    """
    x = numbers("gamma_function", "x", x)
    if np.any((x <= 0) & (x == np.floor(x))) or not np.all(np.isfinite(x)):
        raise ValueError(f"gamma_function: x must be finite and not 0, -1, -2, ...; got {x.tolist()}.")
    steps = np.ceil(SHIFTED - x)
    base = x + steps
    value = STEP * np.sum(np.exp(base[..., None] * NODES - np.exp(NODES)), axis=-1)
    for k in range(int(np.max(steps, initial=0.0))):
        value = np.where(k < steps, value / np.where(k < steps, x + k, 1.0), value)
    for k in range(1, int(np.max(-steps, initial=0.0)) + 1):
        value = np.where(k <= -steps, value * np.where(k <= -steps, x - k, 1.0), value)
    return value[()]
