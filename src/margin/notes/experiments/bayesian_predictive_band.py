r"""A band that knows where the data are

Averaging predictions over the posterior,
:math:`p(y \mid x, D) = \int p(y \mid x, \theta)\, p(\theta \mid D)\, d\theta`, gives a band
that is narrow at the data and widens away from them: in closed form for a linear model on Gaussian bumps, by
Markov chain Monte Carlo (elliptical slice sampling) for a small neural network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every
from margin.foundations.statistics import elliptical_slice_samples, linear_posterior

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HIDDEN, NOISE = 12, 0.1
CENTERS, WIDTH = np.linspace(-4, 4, 17), 0.5
GRID = np.linspace(-3, 3, 121)


def bumps(x: np.ndarray) -> np.ndarray:
    """Gaussian bumps on a grid wider than the data."""
    return np.exp(-0.5 * ((x[:, None] - CENTERS) / WIDTH) ** 2)


def network(x: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """One hidden layer of tanh units with weights, biases and output weights from one vector."""
    weights, biases, outputs = theta.reshape(3, HIDDEN)
    return np.tanh(np.outer(x, weights) + biases) @ outputs


def run(seed: int, fast: bool) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.uniform(-1.6, -0.6, 10), rng.uniform(0.5, 1.4, 10)])
    y = np.sin(2 * x) + NOISE * rng.normal(size=len(x))

    def log_likelihood(theta: np.ndarray) -> float:
        return -0.5 * float(np.sum((y - network(x, theta)) ** 2)) / NOISE**2

    prior_sd = np.repeat([2.0, 2.0, 1.0], HIDDEN)
    n_samples, burn_in, thin = (300, 4000, 8) if fast else (400, 20_000, 50)
    draws = elliptical_slice_samples(log_likelihood, prior_sd, n_samples, rng, burn_in=burn_in, thin=thin)
    curves = np.array([network(GRID, theta) for theta in draws])
    linear_mean, linear_sd = linear_posterior(bumps(x), y, 0.5, NOISE**2).predict(bumps(GRID))
    return {
        "x": x,
        "y": y,
        "curves": curves,
        "network": (curves.mean(axis=0), np.sqrt(curves.var(axis=0) + NOISE**2)),
        "linear": (linear_mean, linear_sd),
        "fit_error": float(np.sqrt(np.mean((np.interp(x, GRID, curves.mean(axis=0)) - y) ** 2))),
    }


def check(data: dict[str, Any]) -> Verdict:
    nearest = np.abs(GRID[:, None] - data["x"]).min(axis=1)
    at_data, far = nearest < 0.1, np.abs(GRID) > 2.7
    ratios = {name: data[name][1][far].mean() / data[name][1][at_data].mean() for name in ("network", "linear")}
    return every(
        network_widens=above(ratios["network"], 2.0),
        linear_model_widens=above(ratios["linear"], 2.0),
        network_fits=below(data["fit_error"], 2 * NOISE),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    panels = figure.subplots(1, 2, sharey=True)
    titles = {"linear": "Gaussian bumps, exact posterior", "network": "Tanh network, slice sampling"}
    for axes, (name, title) in zip(panels, titles.items()):
        mean, sd = data[name]
        axes.fill_between(GRID, mean - 2 * sd, mean + 2 * sd, alpha=0.2, label="predictive band, 2 sd")
        axes.plot(GRID, mean, label="predictive mean")
        axes.plot(data["x"], data["y"], "k.", label="data")
        axes.set(xlabel="x", title=title, ylim=(-3, 3))
    panels[1].plot(GRID, data["curves"][::40].T, color="C0", linewidth=0.5, alpha=0.6)
    panels[0].set_ylabel("y")
    panels[0].legend(loc="upper left")
