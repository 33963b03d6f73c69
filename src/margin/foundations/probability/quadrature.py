"""Integrals and sums behind expectations: finite panels, and infinite tails that may be heavy or diverge."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from margin.foundations.probability.arguments import Array

__all__ = ["infinite_sum", "panel_integral", "tail_integral", "weigh"]

QUADRATURE_TOLERANCE = 1e-10
# Cuts of an infinite tail in log-distance, and the fraction of it that may remain beyond the last but one.
DECADES = (0.0, 2.0, 8.0, 40.0, 300.0, 600.0)
DIVERGENT = 1e-9
# A block of terms below this fraction of the sum ends it; a sum longer than this is given up.
NOTHING = 1e-15
LONGEST_SUM = float(1 << 24)
LOG_LARGEST = float(np.log(np.finfo(np.float64).max))


def weigh(log_weight: Array, values: ArrayLike) -> Array:
    """exp(log_weight) * values, taken in logarithms so that a tiny weight does not hide a huge value.

    A value that has overflowed counts as infinite unless even the largest number, so weighted, would be negligible.
    """
    values = np.asarray(values, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        products = np.sign(values) * np.exp(log_weight + np.log(np.abs(values)))
    overflowed = np.isinf(values)
    kept = np.where(log_weight + LOG_LARGEST > np.log(DIVERGENT), values, 0.0)
    return np.where((log_weight == -np.inf) | (values == 0), 0.0, np.where(overflowed, kept, products))


def infinite_sum(owner: str, term: Callable[[Array], Array], start: float, first: float) -> float:
    """The sum of ``term`` from start on: up to ``first``, then in doubling blocks until one adds nothing."""
    total, low, high = 0.0, start, max(first, start + 63.0)
    while high - start < LONGEST_SUM:
        block = float(np.sum(term(np.arange(low, high + 1))))
        if not np.isfinite(block):
            break
        total += block
        if low > first and abs(block) <= NOTHING * (1 + abs(total)):
            return total
        low, high = high + 1, high + 1 + (high - start)
    raise ValueError(f"{owner}: the expectation does not converge; its sum has no end, or none within reach.")


def panel_integral(f: Callable[[float], float], low: float, high: float) -> float:
    """Adaptive quadrature from low to high."""
    from scipy import integrate

    with warnings.catch_warnings():
        # Requests beyond rounding are answered as well as rounding allows.
        warnings.simplefilter("ignore", integrate.IntegrationWarning)
        return float(integrate.quad(f, low, high, epsabs=1e-13, epsrel=QUADRATURE_TOLERANCE, limit=200)[0])


def tail_integral(owner: str, f: Callable[[float], float], edge: float, width: float) -> float:
    """The integral from ``edge`` to infinity in the direction of ``width``, over x = edge + width (e^v - 1): power
    tails become exponential in v. What is left at x near e^300 widths belongs to a diverging integral."""

    def bend(v: float) -> float:
        return f(edge + width * float(np.expm1(v))) * abs(width) * float(np.exp(v))

    parts = [panel_integral(bend, low, high) for low, high in pairwise(DECADES)]
    total = sum(parts)
    if not np.isfinite(total) or abs(parts[-1]) > DIVERGENT * (1 + abs(total)):
        raise ValueError(f"{owner}: the expectation does not converge; its integral grows without bound in a tail.")
    return total
