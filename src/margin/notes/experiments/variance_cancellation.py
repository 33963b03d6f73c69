r"""Variance far from zero: Welford against the shortcut

The shortcut :math:`\frac1n\sum x_i^2 - \bar x^2` subtracts two numbers that agree in more and more digits as the
mean moves away from zero: its relative error grows like :math:`\varepsilon\,(\mu/\sigma)^2`, until nothing is
left. Welford's update :math:`S_n = S_{n-1} + (x_n - \mu_n)(x_n - \mu_{n-1})` and its block form do not move.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every, near
from margin.foundations.statistics import Moments, regression_slope, variance_shortcut

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXPONENTS = np.arange(0, 13)
FLOOR = 1e-17  # an error of zero is drawn here


def run(seed: int, fast: bool) -> dict[str, Any]:
    n = 1000 if fast else 20_000
    noise = np.random.default_rng(seed).normal(size=n)
    errors: dict[str, list[float]] = {"shortcut": [], "Welford": [], "blocks": [], "seven merged parts": []}
    for exponent in EXPONENTS:
        x = 10.0**exponent + noise
        extended = x.astype(np.longdouble)
        exact = float(np.mean((extended - extended.mean()) ** 2))
        values = {
            "shortcut": variance_shortcut(x),
            "Welford": float(reduce(Moments.push, x, Moments.empty()).variance()),
            "blocks": float(Moments.of(x).variance()),
            "seven merged parts": float(reduce(Moments.merge, map(Moments.of, np.array_split(x, 7))).variance()),
        }
        for name, value in values.items():
            errors[name].append(abs(value - exact) / exact)
    return {"offset": 10.0**EXPONENTS, "errors": {name: np.array(e) for name, e in errors.items()}}


def check(data: dict[str, Any]) -> Verdict:
    errors = data["errors"]
    growing = slice(2, 8)  # between the floor of rounding and total loss
    slope = regression_slope(np.log(data["offset"][growing]), np.log(errors["shortcut"][growing] + FLOOR))
    stable = max(float(errors[name].max()) for name in errors if name != "shortcut")
    return every(
        stable_everywhere=below(stable, 1e-12),
        shortcut_useless_at_1e9=above(errors["shortcut"][9], 0.9),
        shortcut_error_grows_with_the_square=near(slope, 2.0, tolerance=0.6),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    axes = figure.subplots()
    styles = {"shortcut": "o-", "Welford": "s-", "blocks": "^--", "seven merged parts": "v:"}
    for name, errors in data["errors"].items():
        axes.loglog(data["offset"], np.maximum(errors, FLOOR), styles[name], label=name, markersize=5)
    axes.loglog(
        data["offset"], 1e-16 * data["offset"] ** 2, color="0.6", linewidth=1, label=r"$10^{-16}(\mu/\sigma)^2$"
    )
    axes.axhline(1.0, color="0.8", linewidth=1)
    axes.text(1.5, 1.6, "no digit is right", color="0.4")
    axes.set(xlabel=r"distance of the mean from zero, $\mu/\sigma$", ylabel="relative error of the variance")
    axes.set(ylim=(FLOOR / 2, 1e10), title="One formula, two algorithms")
    axes.legend()
