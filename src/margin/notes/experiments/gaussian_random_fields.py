r"""Gaussian random fields

Fields whose every finite set of values is jointly normal, drawn by the fast Fourier transform: with a smooth
(RBF) and a rough (Laplace) covariance, and with a power spectrum :math:`|f|^{-3}`. The correlation measured
along the grid is the one that was asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, every, near
from margin.foundations.statistics import (
    LaplaceCovariance,
    RBFCovariance,
    field_from_kernel,
    field_from_spectrum,
    regression_slope,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LENGTH, LAGS = 4.0, 16


def run(seed: int, fast: bool) -> dict[str, Any]:
    side, repetitions = (48, 60) if fast else (128, 60)
    rng = np.random.default_rng(seed)
    fields = {
        "RBF kernel": field_from_kernel((side, side), RBFCovariance(LENGTH), rng, n=repetitions),
        "Laplace kernel": field_from_kernel((side, side), LaplaceCovariance(LENGTH), rng, n=repetitions),
        r"spectrum $|f|^{-3}$": field_from_spectrum((side, side), lambda f: f**-3.0, rng, n=repetitions),
    }
    correlations = {
        name: np.array([np.mean(f[:, : side - lag] * f[:, lag:]) for lag in range(LAGS)]) for name, f in fields.items()
    }
    power = np.mean(np.abs(np.fft.fft2(fields[r"spectrum $|f|^{-3}$"])) ** 2, axis=0)[0, 1 : side // 2]
    return {"fields": {name: f[0] for name, f in fields.items()}, "correlations": correlations, "power": power}


def check(data: dict[str, Any]) -> Verdict:
    lags = np.arange(float(LAGS))
    k = np.log(np.arange(1, len(data["power"]) + 1))
    return every(
        smooth=near(data["correlations"]["RBF kernel"], RBFCovariance(LENGTH)([0.0], lags)[0], tolerance=0.08),
        rough=near(data["correlations"]["Laplace kernel"], LaplaceCovariance(LENGTH)([0.0], lags)[0], tolerance=0.08),
        spectral_slope=near(regression_slope(k, np.log(data["power"])), -3.0, tolerance=0.25),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(11, 8)
    panels = figure.subplots(2, 2).ravel()
    for axes, (name, field) in zip(panels, data["fields"].items()):
        axes.imshow(field, cmap="viridis")
        axes.set(title=name, xticks=[], yticks=[])
    lags = np.linspace(0, LAGS - 1, 100)
    for index, (name, measured) in enumerate(data["correlations"].items()):
        panels[3].plot(measured, "o", markersize=5, color=f"C{index}", label=f"{name}, measured")
    for index, law in enumerate((RBFCovariance(LENGTH), LaplaceCovariance(LENGTH))):
        panels[3].plot(lags, law([0.0], lags)[0], color=f"C{index}", label="asked for")
    panels[3].set(xlabel="distance in pixels", ylabel="correlation", title="Correlation of two pixels")
    panels[3].legend()
