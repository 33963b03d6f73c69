r"""Functions drawn from a Gaussian process

On a grid :math:`x_i = \epsilon i` build the kernel matrix and draw from :math:`N(0, K)`. The kernel decides what
the functions look like: a longer scale :math:`\gamma` gives smoother curves, the Laplace kernel rough ones, the
periodic kernel repeating ones, the linear kernel straight lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every, near
from margin.foundations.statistics import (
    GaussianProcess,
    LaplaceCovariance,
    LinearCovariance,
    PeriodicCovariance,
    RBFCovariance,
)
from margin.foundations.statistics.covariance_functions import CovarianceFunction

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EPSILON = 0.1
KERNELS: dict[str, CovarianceFunction] = {
    r"RBF, $\gamma=0.1$": RBFCovariance(0.1),
    r"RBF, $\gamma=0.3$": RBFCovariance(0.3),
    r"RBF, $\gamma=1$": RBFCovariance(1.0),
    r"Laplace, $\gamma=0.3$": LaplaceCovariance(0.3),
    "periodic, period 0.4": PeriodicCovariance(0.4, 1.0),
    "linear": LinearCovariance(),
}


def run(seed: int, fast: bool) -> dict[str, Any]:
    coarse = EPSILON * np.arange(int(1 / EPSILON) + 1)
    x = np.linspace(0, 1, 201)
    rng = np.random.default_rng(seed)
    draws = {name: GaussianProcess(k).sample(x, 200 if fast else 2000, rng) for name, k in KERNELS.items()}
    return {
        "matrix": GaussianProcess(RBFCovariance(0.3)).joint(coarse)[1],
        "x": x,
        "draws": {name: d[:5] for name, d in draws.items()},
        "roughness": {name: float(np.mean(np.diff(d, n=2, axis=1) ** 2)) for name, d in draws.items()},
        "variance": {name: float(d[:, 100].var()) for name, d in draws.items()},
    }


def check(data: dict[str, Any]) -> Verdict:
    short, middle, long, rough, periodic, linear = data["roughness"].values()
    repeating = data["draws"]["periodic, period 0.4"]
    return every(
        matrix=equal(data["matrix"].shape, (11, 11)),
        longer_is_smoother=equal(short > middle > long, True),
        laplace_is_rough=above(rough / short, 10.0),
        periodic_repeats=below(np.abs(repeating[:, 80:] - repeating[:, :-80]).max(), 1e-3),
        linear_is_straight=below(linear / periodic, 1e-3),
        prior_variance=near(data["variance"][r"RBF, $\gamma=0.3$"], 1.0, tolerance=0.4),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    panels = figure.subplots(2, 3, sharex=True, sharey=True).ravel()
    for axes, (name, draws) in zip(panels, data["draws"].items()):
        axes.plot(data["x"], draws.T, linewidth=1.2)
        axes.set_title(name)
        axes.axhspan(-2, 2, color="0.93", zorder=0, label="2 prior sd" if name != "linear" else None)
    for axes in panels[3:]:
        axes.set_xlabel("x")
    for axes in panels[::3]:
        axes.set_ylabel("f(x)")
    panels[0].legend(loc="upper right", fontsize=7)
