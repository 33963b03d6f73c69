r"""How much each observation says about one point, in Gaussian-process regression

The posterior mean is a weighted sum of what was observed, :math:`\mu'(x) = w(x)^T y` with
:math:`w(x) = (K + \sigma^2 I)^{-1} k(X, x)`. Before anything is observed the influence of a place is the covariance
alone. Then it decays with the distance, but not by the kernel: of observations that tell the same the nearest shields
the others, whose weight may even be negative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every, near
from margin.foundations.statistics import GaussianProcess, RBFCovariance, observation_weights

if TYPE_CHECKING:
    from matplotlib.figure import Figure

X_TRAIN = np.array([-3.2, -1.4, 0.9, 1.5, 2.3, 4.4])
TEST_POINT, LENGTH, NOISE = 0.1, 1.0, 0.04
SHIELDED = 3  # the observation at 1.5, behind the one at 0.9


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.kernels import RBF, GaussianProcessRegressor

    rng = np.random.default_rng(seed)
    kernel = RBFCovariance(LENGTH)
    y = GaussianProcess(kernel).sample(X_TRAIN, 1, rng)[0] + np.sqrt(NOISE) * rng.normal(size=len(X_TRAIN))
    x = np.linspace(-5, 6, 111 if fast else 441)
    at = np.array([TEST_POINT])
    model = GaussianProcessRegressor(RBF(LENGTH), alpha=NOISE, optimizer=None)

    def mean_there(values: np.ndarray) -> float:
        return float(model.fit(X_TRAIN[:, None], values).predict(at[:, None])[0])

    mean, sd = GaussianProcess(kernel).condition(X_TRAIN, y, NOISE).predict(x)
    moved = [mean_there(y + row) - mean_there(y) for row in np.eye(len(y))]
    return {
        "x": x,
        "y": y,
        "mean": mean,
        "sd": sd,
        "prior": kernel(at[:, None], x[:, None])[0],
        "alone": kernel(at[:, None], X_TRAIN[:, None])[0] / (1 + NOISE),  # if nothing else were observed
        "weights": observation_weights(kernel, at, X_TRAIN, NOISE)[0],
        "all_weights": observation_weights(kernel, x, X_TRAIN, NOISE),
        "moved": np.array(moved),
        "predicted": mean_there(y),
    }


def check(data: dict[str, Any]) -> Verdict:
    weights, distance = data["weights"], np.abs(X_TRAIN - TEST_POINT)
    far = np.abs(data["x"][:, None] - X_TRAIN) > 5 * LENGTH
    return every(
        what_a_moved_value_does=near(weights, data["moved"], tolerance=1e-6),
        sum_to_the_mean=near(weights @ data["y"], data["predicted"], tolerance=1e-6),
        the_nearest_has_most=equal(int(np.abs(weights).argmax()), int(distance.argmin())),
        more_than_alone=above(weights[distance.argmin()], data["alone"][distance.argmin()]),
        shielded=below(weights[SHIELDED], 0.0),
        though_alone_it_would_count=above(data["alone"][SHIELDED], 0.3),
        decays=below(float(np.abs(data["all_weights"][far]).max()), 0.05),
        never_in_proportion_to_the_distance=below(float(np.corrcoef(np.abs(weights), distance)[0, 1]), 0.0),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(10, 7)
    top, bottom = figure.subplots(2, 1, sharex=True)
    x, mean, sd = data["x"], data["mean"], data["sd"]
    top.fill_between(x, mean - 2 * sd, mean + 2 * sd, alpha=0.15)
    top.plot(x, mean)
    top.plot(X_TRAIN, data["y"], "ko")
    top.axvline(TEST_POINT, color="C3", linestyle=":")
    top.plot([TEST_POINT], [data["predicted"]], "D", color="C3")
    top.set(ylabel="$f(x)$", title="Posterior mean and two deviations; the red diamond is the point asked for")
    bottom.plot(x, data["prior"], color="C7", label="covariance with the point asked for, before any observation")
    bottom.vlines(X_TRAIN, 0, data["weights"], color="C0", linewidth=5, label="weight of each observation in its mean")
    bottom.plot(X_TRAIN, data["alone"], "o", color="C1", label="weight, were it the only one")
    bottom.axhline(0, color="C7", linewidth=0.8)
    bottom.axvline(TEST_POINT, color="C3", linestyle=":")
    bottom.set(xlabel="$x$", ylabel="influence", title="The nearest observation takes what those behind it would say")
    bottom.set_ylim(bottom.get_ylim()[0], 1.45)
    bottom.legend(loc="upper left")
