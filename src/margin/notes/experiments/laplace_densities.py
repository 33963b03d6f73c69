r"""Laplace densities narrow as their rate grows

.. math:: p(\theta) = \frac\lambda2 e^{-\lambda|\theta|}, \qquad p(0) = \frac\lambda2, \qquad
          \operatorname{Var}\theta = \frac2{\lambda^2}

More mass gathers around zero: the prior behind the L1 penalty :math:`\lambda|\theta|`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, equal, every, near
from margin.foundations.probability import Laplace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RATES = (0.5, 1.0, 2.0, 3.0)


def run(seed: int, fast: bool) -> dict[str, Any]:
    theta = np.linspace(-4, 4, 801)
    laws = [Laplace(0, 1 / rate) for rate in RATES]
    n = 20_000 if fast else 200_000
    draws = [law.sample(n, np.random.default_rng(seed)) for law in laws]
    return {
        "theta": theta,
        "densities": np.array([law.pdf(theta) for law in laws]),
        "near_zero": np.array([law.probability(-0.5, 0.5) for law in laws]),
        "sample_variances": np.array([x.var() for x in draws]),
    }


def check(data: dict[str, Any]) -> Verdict:
    rates = np.array(RATES)
    return every(
        peaks=near(data["densities"].max(axis=1), rates / 2, tolerance=1e-12),
        variances=near(data["sample_variances"] * rates**2 / 2, np.ones(4), tolerance=0.1),
        gathers=equal(bool(np.all(np.diff(data["near_zero"]) > 0)), True),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    axes = figure.subplots()
    for rate, density in zip(RATES, data["densities"]):
        (line,) = axes.plot(data["theta"], density, label=rf"$\lambda = {rate:g}$, variance {2 / rate**2:.3g}")
        axes.plot(0, rate / 2, "o", color=line.get_color(), markersize=4)
    axes.set(xlabel=r"$\theta$", ylabel="density", ylim=(0, None), title=r"Laplace densities, peak $\lambda/2$")
    axes.legend()
