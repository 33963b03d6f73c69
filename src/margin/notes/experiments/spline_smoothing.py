r"""How smooth should a spline be?

A cubic smoothing spline minimizes :math:`\sum_i (y_i - f(x_i))^2 + \lambda \int f''(t)^2\,dt`. Too small a
:math:`\lambda` follows the noise, too large a one is a straight line; generalized cross-validation,
:math:`n\,\mathrm{RSS}/(n - 1 - \mathrm{df})^2`, finds a place between without held-out data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, every, within
from margin.linear import LinearRegression, SplineRegression

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOISE = 0.25
FACTORS = {"too rough": 1e-5, "GCV": 1.0, "too smooth": 1e5}


def run(seed: int, fast: bool) -> dict[str, Any]:
    """Three splines of a noisy sine and the line, with their errors against the truth."""
    rng = np.random.default_rng(seed)
    n = 120 if fast else 400
    x = np.sort(rng.uniform(0, 2 * np.pi, n))
    y = np.sin(x) + NOISE * rng.normal(size=n)
    grid = np.linspace(0, 2 * np.pi, 300)
    chosen = SplineRegression().fit(x[:, None], y)
    curves, errors, df = {}, {}, {}
    for name, factor in FACTORS.items():
        model = SplineRegression(smoothing=chosen.smoothing_ * factor).fit(x[:, None], y)
        curves[name] = model.predict(grid[:, None])
        errors[name] = float(np.mean((curves[name] - np.sin(grid)) ** 2))
        df[name] = model.df_
    line = LinearRegression().fit(x[:, None], y).predict(grid[:, None])
    errors["line"] = float(np.mean((line - np.sin(grid)) ** 2))
    return {"x": x, "y": y, "grid": grid, "curves": curves, "errors": errors, "df": df, "line": line}


def check(data: dict[str, Any]) -> Verdict:
    errors = data["errors"]
    return every(
        gcv_near_the_truth=below(errors["GCV"], 0.2 * NOISE**2),
        beats_rough=below(errors["GCV"], errors["too rough"]),
        beats_smooth=below(errors["GCV"], errors["too smooth"]),
        beats_line=below(errors["GCV"], 0.1 * errors["line"]),
        freedom=within(data["df"]["GCV"], 3.0, 20.0),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    for axes, name in zip(figure.subplots(1, 3, sharey=True), FACTORS):
        axes.plot(data["x"], data["y"], ".", ms=3, color="0.65")
        axes.plot(data["grid"], np.sin(data["grid"]), "k--", lw=1, label="truth")
        axes.plot(data["grid"], data["curves"][name], color="C0", lw=2, label="spline")
        axes.set(title=f"{name}: {data['df'][name]:.1f} degrees of freedom", xlabel="x")
        axes.legend(fontsize=8)
