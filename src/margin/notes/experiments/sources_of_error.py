r"""Three sources of test error: noise, bias and variance.

.. math:: \mathbb E(Y - \hat f(x))^2 = \sigma^2 + \bigl(f(x) - \mathbb E\hat f(x)\bigr)^2 + \operatorname{Var}\hat f(x)

A straight line is fitted to many samples of a curve. Observations scatter around the truth (noise), the mean line stays
off it however many samples there are (bias), and single lines scatter around their mean (variance).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every, near
from margin.linear import PolynomialRegression
from margin.selection.loss_parts import squared_parts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS, NOISE, DEGREE = 15, 0.3, 1


def truth(x: np.ndarray) -> np.ndarray:
    return np.sin(2 * np.pi * x)


def run(seed: int, fast: bool) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    grid = np.linspace(0, 1, 101)
    fits, sample = [], None
    for _ in range(60 if fast else 300):
        x = rng.uniform(size=ROWS)
        y = truth(x) + NOISE * rng.normal(size=ROWS)
        sample = sample or (x, y)
        fits.append(PolynomialRegression(DEGREE).fit(x[:, None], y).predict(grid[:, None]))
    parts = squared_parts(np.array(fits), truth(grid), NOISE**2)
    measured = np.mean((np.array(fits) - truth(grid) - NOISE * rng.normal(size=(len(fits), 101))) ** 2, axis=0)
    return {
        "grid": grid,
        "sample": sample,
        "fits": np.array(fits),
        "bias": parts.bias,
        "variance": parts.variance,
        "noise": parts.noise,
        "measured": measured,
    }


def check(data: dict[str, Any]) -> Verdict:
    total = data["bias"] + data["variance"] + data["noise"]
    return every(
        sum_is_measured=near(float(total.mean() / data["measured"].mean()), 1.0, tolerance=0.05),
        bias_is_large=above(float(data["bias"].mean()), float(data["variance"].mean())),
        none_is_zero=above(min(float(data[name].mean()) for name in ("bias", "variance", "noise")), 0.01),
        bias_vanishes_where_line_and_truth_cross=below(float(data["bias"].min()), 0.01),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(15, 5)
    x, mean = data["grid"], data["fits"].mean(axis=0)
    panels = figure.subplots(1, 3, sharey=True)
    for axes in panels:
        axes.plot(x, truth(x), color="black", lw=2, label="truth")
        axes.set(xlabel="x", ylim=(-2, 2))
    noise, bias, variance = panels
    noise.fill_between(x, truth(x) - 2 * NOISE, truth(x) + 2 * NOISE, color="0.85", label="truth, two deviations")
    noise.plot(*data["sample"], "o", color="0.3", label="one sample")
    noise.set_title(rf"Noise: $\sigma^2$ = {data['noise'].mean():.3f}")
    bias.plot(x, mean, color="C0", lw=2, label="mean fit")
    bias.fill_between(x, truth(x), mean, color="C0", alpha=0.25)
    bias.set_title(f"Bias: squared gap {data['bias'].mean():.3f}")
    variance.plot(x, data["fits"][:60].T, color="C1", alpha=0.25, lw=0.8)
    variance.plot(x, mean, color="C0", lw=2, label="mean fit")
    variance.set_title(f"Variance: spread of fits {data['variance'].mean():.3f}")
    for axes in panels:
        axes.legend(loc="upper right", fontsize=9)
