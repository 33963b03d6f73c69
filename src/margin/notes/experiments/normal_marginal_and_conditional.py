r"""A bivariate normal density, its marginal and a slice of it

Integrating the joint density along x gives the marginal of Y, cutting it at x = 1.2 (and dividing by the marginal of
X there) gives the conditional of Y. Both are normal again:

.. math:: Y \sim \mathcal N(\mu_y, \Sigma_{yy}), \qquad
          Y\mid X{=}x \sim \mathcal N\!\Bigl(\mu_y + \frac{\Sigma_{yx}}{\Sigma_{xx}}(x-\mu_x),\
          \Sigma_{yy} - \frac{\Sigma_{yx}^2}{\Sigma_{xx}}\Bigr)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, every, near
from margin.foundations.probability import MultivariateNormal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEAN = [0.3, -0.5]
COVARIANCE = [[1.0, 0.75], [0.75, 1.2]]
SLICE = 1.2


def run(seed: int, fast: bool) -> dict[str, Any]:
    n = 201 if fast else 401
    law = MultivariateNormal(MEAN, COVARIANCE)
    x, y = np.linspace(-6, 6, n), np.linspace(-6, 6, n)
    joint = law.pdf(np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1))  # (x, y)
    draws = law.sample(400, np.random.default_rng(seed))
    cut = law.pdf(np.column_stack([np.full(n, SLICE), y]))
    return {
        "x": x,
        "y": y,
        "joint": joint,
        "draws": draws,
        "marginal": law.marginal(1).pdf(y[:, None]),
        "conditional": law.condition(0, SLICE).pdf(y[:, None]),
        "integrated": np.trapezoid(joint, x, axis=0),
        "sliced": cut / np.trapezoid(cut, y),
    }


def check(data: dict[str, Any]) -> Verdict:
    return every(
        marginal=near(data["integrated"], data["marginal"], tolerance=1e-6),
        conditional=near(data["sliced"], data["conditional"], tolerance=1e-6),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=[1.5, 1])
    left.contourf(data["x"], data["y"], data["joint"].T, levels=14, cmap="Blues")
    left.plot(*data["draws"].T, ".", color="black", markersize=2, alpha=0.4, label="draws")
    left.axvline(SLICE, color="C3", label=f"slice at x = {SLICE}")
    left.set(xlim=(-3.2, 3.2), ylim=(-3.6, 3.6), xlabel="x", ylabel="y", title="Joint density")
    left.legend(loc="lower right")
    right.plot(data["marginal"], data["y"], color="C0", label="marginal of Y")
    right.fill_betweenx(data["y"], data["marginal"], color="C0", alpha=0.2)
    right.plot(data["conditional"], data["y"], color="C3", label=f"Y given X = {SLICE}")
    right.fill_betweenx(data["y"], data["conditional"], color="C3", alpha=0.2)
    right.set(xlabel="density", xlim=(0, None), title="Both are normal")
    right.legend(loc="lower right")
