r"""A Gaussian process before and after seeing data

The prior has mean 0 and one standard deviation everywhere. Given values y at X without noise, the posterior mean
:math:`k(x,X)K^{-1}y` passes through them, the deviation is 0 there and returns to the prior value far away, and
the covariance matrix has zero rows at the observed points. The influence of a point decays with distance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, equal, every, near
from margin.foundations.statistics import GaussianProcess, RBFCovariance

if TYPE_CHECKING:
    from matplotlib.figure import Figure

X_TRAIN = np.array([-3.0, -1.5, 0.0, 1.0])
Y_TRAIN = np.array([-0.5, 1.2, 0.4, -1.0])


def run(seed: int, fast: bool) -> dict[str, Any]:
    x = np.linspace(-5, 5, 101 if fast else 401)  # holds the training inputs
    rng = np.random.default_rng(seed)
    prior = GaussianProcess(RBFCovariance(0.8))
    states = {"before": prior, "after": prior.condition(X_TRAIN, Y_TRAIN)}
    return {
        "x": x,
        "states": {
            name: {
                "mean": process.predict(x)[0],
                "sd": process.predict(x)[1],
                "covariance": process.joint(x)[1],
                "draws": process.sample(x, 5, rng),
            }
            for name, process in states.items()
        },
    }


def check(data: dict[str, Any]) -> Verdict:
    before, after = data["states"]["before"], data["states"]["after"]
    at = [int(np.abs(data["x"] - value).argmin()) for value in X_TRAIN]
    right = data["x"] >= X_TRAIN[-1]
    return every(
        prior=near([before["mean"], before["sd"]], [0 * before["mean"], 0 * before["mean"] + 1], tolerance=1e-12),
        passes_through=near(after["mean"][at], Y_TRAIN, tolerance=1e-8),
        certain_at_the_data=near(after["sd"][at], np.zeros(4), tolerance=1e-6),
        zero_rows=near(after["covariance"][at], np.zeros((4, len(data["x"]))), tolerance=1e-8),
        uncertainty_returns=near(after["sd"][-1], 1.0, tolerance=1e-3),
        growing_on_the_way=equal(bool((np.diff(after["sd"][right]) > 0).all()), True),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    panels = figure.subplots(2, 2, width_ratios=(3, 2))
    x = data["x"]
    for (curve, heat), (name, state) in zip(panels, data["states"].items()):
        curve.fill_between(x, state["mean"] - 2 * state["sd"], state["mean"] + 2 * state["sd"], alpha=0.2, label="2 sd")
        curve.plot(x, state["draws"].T, linewidth=0.7, alpha=0.7)
        curve.plot(x, state["mean"], color="k", label="mean")
        curve.set(ylabel="f(x)", title=f"{name} the data", ylim=(-3.2, 3.2))
        image = heat.imshow(state["covariance"], cmap="Greys", extent=(x[0], x[-1], x[-1], x[0]), vmin=-0.2, vmax=1)
        heat.set(title="covariance (dark = high)", ylabel="x'")
        figure.colorbar(image, ax=heat, fraction=0.046)
    panels[1, 0].plot(X_TRAIN, Y_TRAIN, "ko", markersize=5, label="observed")
    panels[1, 1].plot(X_TRAIN, X_TRAIN, "o", color="C3", markersize=3)
    for axes in panels[1]:
        axes.set_xlabel("x")
    panels[1, 0].legend(loc="upper right", fontsize=7)
