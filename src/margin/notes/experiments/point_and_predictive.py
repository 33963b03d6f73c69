r"""A point prediction against a predictive distribution

A deterministic model answers :math:`\hat y(x)` everywhere with the same face. A probabilistic one answers
:math:`p(y\mid x)=N(\mu(x),s^2(x)+\sigma^2)`: its mean may be the same curve, but the band says where it knows.
Intervals :math:`\mu\pm1.96\sqrt{s^2+\sigma^2}` hold about 95 % of new observations, and s grows in a gap without data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every, within
from margin.kernels import RBF, GaussianProcessRegressor, KernelRidge

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS, NOISE, GAP = 100, 0.3, (2.0, 4.5)
NEW = 4000


def observe(n: int, rng: np.random.Generator, gap: bool) -> tuple[np.ndarray, np.ndarray]:
    x = rng.uniform(-4, 6, size=2 * n)
    if gap:
        x = x[(x < GAP[0]) | (x > GAP[1])]
    x = np.sort(x[:n])
    return x[:, None], np.sin(x) + 0.1 * x + NOISE * rng.normal(size=len(x))


def run(seed: int, fast: bool) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    X, y = observe(ROWS, rng, gap=True)
    grid = np.linspace(-5, 7, 121 if fast else 481)[:, None]
    probabilistic = GaussianProcessRegressor("rbf", random_state=seed).fit(X, y)
    scale = float(probabilistic.kernel_.k1.k2.length_scale)
    deterministic = KernelRidge(kernel=RBF(scale), alpha=0.1).fit(X, y)
    X_new, y_new = observe(NEW, rng, gap=True)
    mean, std = probabilistic.predict(X_new, return_std=True, with_noise=True)
    at_mean, at_std = probabilistic.predict(grid, return_std=True, with_noise=False)
    return {
        "X": X[:, 0],
        "y": y,
        "grid": grid[:, 0],
        "curve": deterministic.predict(grid),
        "mean": at_mean,
        "std": at_std,
        "noise": probabilistic.noise_**0.5,
        "coverage": float(np.mean(np.abs(y_new - mean) < 1.96 * std)),
        "errors": [float(np.sqrt(np.mean((y_new - m) ** 2))) for m in (deterministic.predict(X_new), mean)],
    }


def check(data: dict[str, Any]) -> Verdict:
    grid, std = data["grid"], data["std"]
    middle = std[np.abs(grid - np.mean(GAP)).argmin()]
    known = np.median(std[(grid > -4) & (grid < GAP[0])])
    return every(
        intervals_hold_what_they_say=within(data["coverage"], 0.88, 0.99),
        unsure_in_the_gap=above(float(middle / known), 1.5),
        noise_found=within(data["noise"], 0.6 * NOISE, 1.5 * NOISE),
        equally_good_curves=below(abs(data["errors"][0] - data["errors"][1]), 0.1),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    panels = figure.subplots(1, 2, sharey=True)
    x, mean = data["grid"], data["mean"]
    wide = np.sqrt(data["std"] ** 2 + data["noise"] ** 2)
    panels[0].plot(x, data["curve"], color="C3", label="prediction")
    panels[0].set(title="deterministic: a curve", ylabel="y")
    panels[1].fill_between(x, mean - 2 * wide, mean + 2 * wide, color="C0", alpha=0.15, label="2 sd of y")
    panels[1].fill_between(x, mean - 2 * data["std"], mean + 2 * data["std"], color="C0", alpha=0.35, label="2 sd of f")
    panels[1].plot(x, mean, color="C0", label="mean")
    panels[1].set(title=f"probabilistic: 95 % intervals hold {data['coverage']:.1%} of new rows")
    for axes in panels:
        axes.plot(data["X"], data["y"], "k.", markersize=5, label="data")
        axes.axvspan(*GAP, color="0.92", zorder=0)
        axes.set(xlabel="x", ylim=(-3, 3))
        axes.legend(fontsize=8, loc="lower right")
