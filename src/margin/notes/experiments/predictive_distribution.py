r"""A point against a distribution

A deterministic model answers with a curve :math:`\hat y(x)`; a probabilistic one with a law
:math:`\mathcal N(\mu(x), \sigma^2(x))`, so that it can be held to account: 95 percent of new observations should fall
inside its 95 percent band.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, every, near, within
from margin.linear import HeteroscedasticRegression, PolynomialRegression

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def run(seed: int, fast: bool) -> dict[str, Any]:
    """The curve of least squares, and mean, deviation and coverage of the predictive law."""
    rng = np.random.default_rng(seed)
    n = 800 if fast else 3000
    x = rng.uniform(-2, 2, 2 * n)
    y = x**2 - x + np.exp(0.4 * x) * rng.normal(size=2 * n)
    grid = np.linspace(-2, 2, 120)
    curve = PolynomialRegression(degree=2).fit(x[:n, None], y[:n])
    law = HeteroscedasticRegression(degree=2, variance_degree=1).fit(x[:n, None], y[:n])
    mean, std = law.predict(grid[:, None], return_std=True)
    low, high = law.predict_distribution(x[n:, None]).interval()
    return {
        "x": x[:300],
        "y": y[:300],
        "grid": grid,
        "curve": curve.predict(grid[:, None]),
        "mean": mean,
        "std": std,
        "coverage": float(np.mean((low <= y[n:]) & (y[n:] <= high))),
    }


def check(data: dict[str, Any]) -> Verdict:
    return every(
        coverage=within(data["coverage"], 0.92, 0.975), same_curve=near(data["curve"], data["mean"], tolerance=0.5)
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    left, right = figure.subplots(1, 2, sharey=True)
    for axes in (left, right):
        axes.plot(data["x"], data["y"], ".", ms=4, color="0.6", label="data")
        axes.set_xlabel("x")
    left.plot(data["grid"], data["curve"], color="C3", lw=2, label="prediction")
    left.set(title="deterministic: a curve", ylabel="y")
    mean, std = data["mean"], data["std"]
    right.fill_between(data["grid"], mean - 2 * std, mean + 2 * std, alpha=0.25, label=r"$\mu \pm 2\sigma$")
    right.plot(data["grid"], mean, lw=2, label=r"$\mu(x)$")
    right.set_title(f"probabilistic: 95 % band covers {100 * data['coverage']:.1f} % of new rows")
    for axes in (left, right):
        axes.legend(fontsize=8)
