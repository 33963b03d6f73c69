r"""Constant against input-dependent noise

Data with :math:`y = \sin x + (0.1 + 0.3 x)\,\varepsilon`. A model with one variance for all x is too wide on the left
and too narrow on the right; one whose log-variance depends on x follows the noise and is more likely on held-out rows.
A network of rectified units gives a band whose width is piecewise linear: here the log-variance is a polynomial.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every, near
from margin.linear import HeteroscedasticRegression

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = {"constant": 0, "varying": 3}


def run(seed: int, fast: bool) -> dict[str, Any]:
    """Both models with mean and standard deviation on a grid."""
    rng = np.random.default_rng(seed)
    n = 1500 if fast else 6000
    x = rng.uniform(0, 3, 2 * n)
    y = np.sin(x) + (0.1 + 0.3 * x) * rng.normal(size=2 * n)
    grid = np.linspace(0, 3, 150)
    data: dict[str, Any] = {"x": x[:400], "y": y[:400], "grid": grid, "sigma": 0.1 + 0.3 * grid}
    for name, degree in NAMES.items():
        model = HeteroscedasticRegression(degree=5, variance_degree=degree).fit(x[:n, None], y[:n])
        data[f"{name}_mean"], data[f"{name}_std"] = model.predict(grid[:, None], return_std=True)
        data[f"{name}_nll"] = -float(model.predict_distribution(x[n:, None]).logpdf(y[n:]).mean())
    return data


def check(data: dict[str, Any]) -> Verdict:
    inside = slice(5, -5)
    ratio = data["varying_std"][inside] / data["sigma"][inside]
    return every(
        recovers_sigma=below(float(np.abs(ratio - 1).max()), 0.2),
        band_varies=above(float(data["varying_std"].max() / data["varying_std"].min()), 3.0),
        constant_band=near(data["constant_std"], np.full(150, data["constant_std"][0]), tolerance=1e-12),
        held_out=below(data["varying_nll"], data["constant_nll"]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    panels = figure.subplots(1, 2, sharey=True)
    for axes, name, title in zip(panels, NAMES, ("one variance for all x", r"$\sigma(x)$ learned")):
        mean, std = data[f"{name}_mean"], data[f"{name}_std"]
        axes.plot(data["x"], data["y"], ".", ms=3, color="0.6", label="data")
        axes.fill_between(data["grid"], mean - 2 * std, mean + 2 * std, alpha=0.25, label=r"mean $\pm 2\sigma$")
        axes.plot(data["grid"], mean, lw=2, label="mean")
        axes.set(xlabel="x", title=f"{title}\nheld-out loss {data[f'{name}_nll']:.3f} nats")
    panels[0].set_ylabel("y")
    panels[0].legend(fontsize=8, loc="lower left")
