"""Integrals behind expectations: over a finite panel, and over an infinite tail that may be heavy or diverge."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy import integrate

__all__ = ["panel_integral", "tail_integral"]

QUADRATURE_TOLERANCE = 1e-10
# Cuts of an infinite tail in log-distance, and the share of it that may remain beyond the last but one.
DECADES = (0.0, 2.0, 8.0, 40.0, 300.0, 600.0)
DIVERGENT = 1e-9


def panel_integral(f: Callable[[float], float], low: float, high: float) -> float:
    """Adaptive quadrature from low to high."""
    with warnings.catch_warnings():
        # Requests beyond rounding are answered as well as rounding allows.
        warnings.simplefilter("ignore", integrate.IntegrationWarning)
        return float(integrate.quad(f, low, high, epsabs=1e-13, epsrel=QUADRATURE_TOLERANCE, limit=200)[0])


def tail_integral(owner: str, f: Callable[[float], float], edge: float, width: float) -> float:
    """The integral from ``edge`` to infinity in the direction of ``width``, over x = edge + width (e^v - 1): power
    tails become exponential in v. What is left at x near e^300 widths belongs to a diverging integral."""

    def bent(v: float) -> float:
        return f(edge + width * float(np.expm1(v))) * abs(width) * float(np.exp(v))

    parts = [panel_integral(bent, low, high) for low, high in pairwise(DECADES)]
    total = sum(parts)
    if not np.isfinite(total) or abs(parts[-1]) > DIVERGENT * (1 + abs(total)):
        raise ValueError(f"{owner}: the expectation does not converge; its integral grows without bound in a tail.")
    return total
