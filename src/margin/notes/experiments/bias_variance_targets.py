r"""Bias and variance as dart throws.

The bull's eye is the true pair of coefficients, each dart the estimate from one training set. Leaving out a correlated
column moves all darts (bias), few rows scatter them (variance); the mean squared distance is the sum of both,

.. math:: \mathbb E\lVert\hat\theta - \theta\rVert^2 = \lVert\mathbb E\hat\theta - \theta\rVert^2
          + \operatorname{tr}\operatorname{Var}\hat\theta .
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every, near
from margin.linear import LinearRegression

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TRUTH = np.array([1.0, -0.5])
MANY, FEW = 200, 12
OFFSET, SPREAD = np.array([0.6, 0.6]), (0.1, 0.45)


def run(seed: int, fast: bool) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    throws = 60 if fast else 150
    drawn = {
        (high_bias, high_variance): high_bias * OFFSET + SPREAD[high_variance] * rng.normal(size=(throws, 2))
        for high_bias in (0, 1)
        for high_variance in (0, 1)
    }
    estimated = {
        (omits, few): np.array([_estimate(rng, FEW if few else MANY, bool(omits)) for _ in range(throws)]) - TRUTH
        for omits in (0, 1)
        for few in (0, 1)
    }
    return {"drawn": drawn, "estimated": estimated}


def _estimate(rng: np.random.Generator, n: int, omits: bool) -> np.ndarray:
    """Two coefficients, with or without the third column, which is correlated with both."""
    third = rng.normal(size=n)
    X = 0.7 * third[:, None] + rng.normal(size=(n, 2))
    y = X @ TRUTH + 1.8 * third + rng.normal(size=n)
    return LinearRegression().fit(X if omits else np.column_stack([X, third]), y).coef_[:2]


def _parts(throws: np.ndarray) -> tuple[float, float, float]:
    """Squared bias, variance, mean squared distance."""
    center = throws.mean(axis=0)
    return float(center @ center), float(throws.var(axis=0).sum()), float(np.mean(np.sum(throws**2, axis=1)))


def check(data: dict[str, Any]) -> Verdict:
    parts = {key: _parts(throws) for key, throws in data["estimated"].items()}
    drawn = {key: _parts(throws) for key, throws in data["drawn"].items()}
    return every(
        sums=near(
            [bias + variance for bias, variance, _ in parts.values()], [p[2] for p in parts.values()], tolerance=1e-9
        ),
        omitting_is_bias=above(min(parts[1, k][0] for k in (0, 1)), 5 * max(parts[0, k][0] for k in (0, 1))),
        few_rows_are_variance=above(min(parts[k, 1][1] for k in (0, 1)), 5 * max(parts[k, 0][1] for k in (0, 1))),
        prescribed_offset=near(np.sqrt(drawn[1, 0][0]), float(np.linalg.norm(OFFSET)), tolerance=0.1),
        prescribed_spread=near(np.sqrt(drawn[0, 1][1] / 2), SPREAD[1], tolerance=0.13),
        centered_without_offset=below(drawn[0, 0][0], 0.01),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(14, 7.6)
    panels = figure.subplots(2, 4)
    names = {0: "low", 1: "high"}
    titles = {(0, 0): f"all columns, {MANY} rows", (0, 1): f"all columns, {FEW} rows"}
    titles |= {(1, 0): f"one left out, {MANY} rows", (1, 1): f"one left out, {FEW} rows"}
    for row, kind in zip(panels, ("drawn", "estimated"), strict=True):
        for axes, (key, throws) in zip(row, data[kind].items(), strict=True):
            for radius, shade in ((1.6, "#f6d5c8"), (1.1, "#ffffff"), (0.6, "#f6d5c8"), (0.2, "#d1495b")):
                axes.add_patch(_disk(radius, shade))
            axes.plot(*throws.T, "o", ms=4, color="#1d3557", alpha=0.6, mew=0)
            axes.plot(*throws.mean(axis=0), "X", ms=11, color="gold", mec="black")
            axes.set(xlim=(-1.8, 1.8), ylim=(-1.8, 1.8), aspect="equal", xticks=[], yticks=[])
            axes.spines[:].set_visible(False)
            title = f"{names[key[0]]} bias, {names[key[1]]} variance"
            axes.set_title(title if kind == "drawn" else titles[key], fontsize=11)
    panels[0, 0].set_ylabel("drawn as prescribed")
    panels[1, 0].set_ylabel("estimates of two coefficients")


def _disk(radius: float, color: str) -> Any:
    from matplotlib.patches import Circle

    return Circle((0, 0), radius, color=color, zorder=0)
