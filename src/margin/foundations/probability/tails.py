r"""Heavy tails and stability.

A law has a heavy right tail when no exponential bounds it: with :math:`\bar F(x) = \Pr(X > x)`,
:math:`\lim_{x\to\infty} e^{tx}\bar F(x) = \infty` for *every* t > 0. The exponential law passes for large t and
fails for small ones, so it is light.

A law is stable when :math:`aX_1 + bX_2` has the law of :math:`cX + d`; then :math:`c^\alpha = a^\alpha + b^\alpha`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from margin.foundations.probability.arguments import Array, integer, positive
from margin.foundations.probability.distribution import Continuous
from margin.foundations.probability.limits import kolmogorov_p_value

__all__ = ["StabilityTest", "TailReport", "heavy_tail_report", "stability_test"]

# Rates t in units of one over the law's own width, and how many 1/t far out the limit is read off.
RATES = np.array([1e-3, 1e-2, 0.1, 1.0, 10.0])
FAR = np.array([1e3, 1e4, 1e5, 1e6])


class TailReport(NamedTuple):
    """``exponents[i, j]`` is :math:`t_i x_{ij} + \\log\\bar F(x_{ij})`; a rate diverges when its row grows without
    bound, and the tail is heavy when every rate does."""

    heavy: bool
    rates: Array
    diverges: np.ndarray
    exponents: Array


def heavy_tail_report(law: Continuous) -> TailReport:
    """Evaluate :math:`e^{tx}\\bar F(x)` far out for rates over four decades, in logarithms, and classify the tail.

    Parameters
    ----------
    law : Continuous
        The distribution.

    Examples
    --------
    >>> from margin.foundations.probability import Cauchy, Normal
    >>> heavy_tail_report(Cauchy()).heavy, heavy_tail_report(Normal()).heavy
    (True, False)
    """
    lower, center, upper = law.quantile([0.25, 0.5, 0.75])
    rates = RATES / (upper - lower)
    x = FAR / rates[:, None]  # distances beyond the median, (rates, places)
    exponents = rates[:, None] * x + law.log_survival(center + x)
    with np.errstate(invalid="ignore"):  # two tails below the smallest number do not grow
        growing = np.all(np.diff(exponents, axis=1) > 0, axis=1) & (exponents[:, -1] > FAR[0])
    return TailReport(bool(np.all(growing)), rates, growing, exponents)


class StabilityTest(NamedTuple):
    """The fitted c and d of aX_1 + bX_2 = cX + d and the p-value of the Kolmogorov test of that equality."""

    c: float
    d: float
    p_value: float


def stability_test(law: Continuous, a: float, b: float, n: int, rng: np.random.Generator) -> StabilityTest:
    """Fit c and d to the central quantiles of n sums and test the fitted law on n/10 fresh ones.

    A small p-value refutes stability; for a stable law it is nearly uniform, because the fit, on ten times the
    data, is a third as uncertain as the test.

    Parameters
    ----------
    law : Continuous
        The distribution of :math:`X_1` and :math:`X_2`.
    a : float
        Factor of :math:`X_1`.
    b : float
        Factor of :math:`X_2`.
    n : int
        Number of sums.
    rng : numpy.random.Generator
        Source of randomness.
    """
    a, b = positive("stability_test", "a", a), positive("stability_test", "b", b)
    fresh = integer("stability_test", "n", n, low=100) // 10
    sums = a * law.sample(n + fresh, rng) + b * law.sample(n + fresh, rng)
    levels = np.linspace(0.02, 0.98, 49)
    quantiles = law.quantile(levels)
    # A sample quantile varies by sqrt(q(1-q)/n)/f; weighting by its inverse keeps heavy tails from drowning the rest.
    weights = law.pdf(quantiles) / np.sqrt(levels * (1 - levels))
    slope, shift = np.polyfit(quantiles, np.quantile(sums[:n], levels), 1, w=weights)
    p_value = kolmogorov_p_value(sums[n:], lambda x: law.cdf((x - shift) / slope))
    return StabilityTest(float(slope), float(shift), p_value)
