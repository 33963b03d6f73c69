r"""The same polynomials on much clean data and on little noisy data.

A line is too simple for the curve on any data: it underfits. A polynomial of degree nine is harmless with two hundred
clean points and useless with ten noisy ones, through which it passes exactly: it overfits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every
from margin.linear import PolynomialRegression
from margin.metrics import mse
from margin.selection import diagnose

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEGREES = (1, 3, 9)
SETTINGS = {"much": (200, 0.1), "little": (10, 0.5)}  # rows and standard deviation of the noise


def truth(x: np.ndarray) -> np.ndarray:
    return np.sin(2 * np.pi * x)


def run(seed: int, fast: bool) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    grid = np.linspace(0, 1, 300)
    data: dict[str, Any] = {"grid": grid}
    for name, (rows, noise) in SETTINGS.items():
        x = (np.arange(rows) + rng.uniform(0.1, 0.9, rows)) / rows
        y, new = truth(x) + noise * rng.normal(size=rows), truth(grid) + noise * rng.normal(size=300)
        fits = {}
        for degree in DEGREES:
            model = PolynomialRegression(degree).fit(2 * x[:, None] - 1, y)
            curve = model.predict(2 * grid[:, None] - 1)
            errors = mse(y, model.predict(2 * x[:, None] - 1)), mse(new, curve)
            fits[degree] = {"curve": curve, "errors": errors, "word": diagnose(*errors, baseline=float(np.var(new)))}
        data[name] = {"x": x, "y": y, "fits": fits}
    return data


def check(data: dict[str, Any]) -> Verdict:
    much, little = (data[name]["fits"] for name in SETTINGS)
    return every(
        # The best line through one period of a sine leaves 39 percent of its variance.
        line_underfits=equal(much[1]["word"], "underfitting"),
        line_is_poor_on_much_data=above(much[1]["errors"][1], 5 * much[9]["errors"][1]),
        ninth_degree_is_harmless=equal(much[9]["word"], "good fit"),
        passes_through_ten_points=below(little[9]["errors"][0], 1e-6),
        and_overfits=equal(little[9]["word"], "overfitting"),
        the_worst_of_all=equal(max(DEGREES, key=lambda degree: little[degree]["errors"][1]), 9),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(14, 8)
    panels = figure.subplots(2, 3, sharex=True, sharey=True)
    for row, (name, (rows, noise)) in zip(panels, SETTINGS.items(), strict=True):
        for axes, degree in zip(row, DEGREES, strict=True):
            fit = data[name]["fits"][degree]
            axes.plot(data["grid"], truth(data["grid"]), color="0.6", ls="--", label="truth")
            axes.plot(data[name]["x"], data[name]["y"], "o", color="black", ms=5 if rows < 50 else 2, alpha=0.7)
            color = {"underfitting": "C0", "overfitting": "C3"}.get(fit["word"], "C2")
            axes.plot(data["grid"], fit["curve"], color=color, lw=2, label=f"degree {degree}")
            train, test = fit["errors"]
            axes.set(ylim=(-2.3, 2.3), title=f"{fit['word']}: training {train:.2g}, test {test:.2g}")
            axes.legend(loc="upper right", fontsize=9)
        row[0].set_ylabel(f"{rows} points, noise {noise}")
