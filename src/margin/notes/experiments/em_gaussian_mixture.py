r"""Expectation-maximization: three Gaussians find their rows, and the likelihood never falls.

.. math::
    \log p_{\theta_{t+1}}(x) \ge \mathrm{ELBO}(q_t, \theta_{t+1})
    \ge \mathrm{ELBO}(q_t, \theta_t) = \log p_{\theta_t}(x)

The E step makes the bound touch the log-likelihood, the M step raises the bound; so both climb a staircase.
"""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, every, near
from margin.mixture import GaussianMixture
from margin.mixture.bound import elbo, posterior
from margin.mixture.covariances import Full
from margin.mixture.em import MixtureParameters, log_joint
from margin.notes.motion import film

if TYPE_CHECKING:
    from matplotlib.animation import Animation
    from matplotlib.figure import Figure

MEANS = np.array([[0.0, 0.0], [3.0, 2.0], [-1.0, 4.0]])
ROOTS = np.array([[[1.4, 0.0], [0.9, 0.4]], [[0.5, 0.0], [-0.4, 1.0]], [[1.0, 0.0], [0.0, 0.6]]])
WEIGHTS = np.array([0.5, 0.3, 0.2])


def run(seed: int, fast: bool) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    n = 2000 if fast else 3000
    label = rng.choice(3, size=n, p=WEIGHTS)
    X = MEANS[label] + np.einsum("nd,ned->ne", rng.normal(size=(n, 2)), ROOTS[label])
    first = np.array([[1.0, 2.0], [1.5, 2.2], [0.5, 2.4]])  # all in the middle
    start: dict[str, Any] = {
        "weights_init": np.full(3, 1 / 3),
        "means_init": first,
        "precisions_init": np.stack([np.eye(2)] * 3),
    }
    model = GaussianMixture(3, tol=1e-7, max_iter=300, reg_covar=0.0, **start)
    steps = [(np.full(3, 1 / 3), first, np.stack([np.eye(2)] * 3))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        steps += [(model.weights_, model.means_, model.covariances_) for _ in model.iterate(X)]
    mixtures = [_mixture(*step) for step in steps]
    tables = [log_joint(X, mixture) for mixture in mixtures]
    staircase = [elbo(table, posterior(now)) / n for now, after in pairwise(tables) for table in (now, after)]
    return {"X": X, "steps": steps, "staircase": staircase, "probabilities": model.predict_proba(X)}


def _mixture(weights: np.ndarray, means: np.ndarray, covariances: np.ndarray) -> MixtureParameters:
    center = weights @ means
    return MixtureParameters(weights, Full(means - center, covariances), center)


def check(data: dict[str, Any]) -> Verdict:
    weights, means, covariances = data["steps"][-1]
    order = [int(np.argmin(np.linalg.norm(means - truth, axis=1))) for truth in MEANS]
    return every(
        rises=above(float(np.diff(data["staircase"]).min()), -1e-10),
        weights=near(weights[order], WEIGHTS, tolerance=0.06),
        means=near(means[order], MEANS, tolerance=0.25),
        covariances=near(covariances[order], ROOTS @ ROOTS.transpose(0, 2, 1), tolerance=0.45),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 7.5)
    axes = figure.subplots(2, 3)
    last = len(data["steps"]) - 1
    for ax, step in zip(axes.ravel()[:5], sorted({0, 1, 4, last // 3, last})):
        _draw_step(data, ax, step, final=step == last)
    curve = axes.ravel()[-1]
    stairs = np.array(data["staircase"])
    curve.plot(np.arange(len(stairs)) / 2, stairs, linewidth=1.2, label="bound after each half step")
    curve.plot(np.arange(0, len(stairs), 2) / 2, stairs[::2], "o", markersize=3, label="log-likelihood (bound touches)")
    curve.set(xlabel="EM step", ylabel="nats per row", title="E and M steps only climb")
    curve.legend(loc="lower right")


def _draw_step(data: dict[str, Any], ax: Any, step: int, *, final: bool) -> None:
    weights, means, covariances = data["steps"][step]
    colors = np.array([[0.84, 0.37, 0.0], [0.0, 0.45, 0.7], [0.0, 0.62, 0.45]])
    tint = data["probabilities"] @ colors if final else "0.7"
    ax.scatter(*data["X"].T, c=tint, s=5, alpha=0.6)
    circle = np.stack([np.cos(np.linspace(0, 2 * np.pi, 80)), np.sin(np.linspace(0, 2 * np.pi, 80))])
    for c in range(3):
        ring = np.linalg.cholesky(covariances[c]) @ circle
        for radius in (1, 2):
            ax.plot(*(means[c][:, None] + radius * ring), color=colors[c], linewidth=0.6 + 3 * weights[c])
    ax.plot(*means.T, "k+", markersize=9, label="means, rings at 1 and 2 standard deviations")
    title = "start" if step == 0 else f"after {step} EM step{'s' * (step > 1)}"
    ax.set(title=title, xlabel="$x_1$", ylabel="$x_2$", xlim=(-5, 6), ylim=(-4, 7), aspect="equal")
    if step == 0:
        ax.legend(loc="lower right", fontsize=7)


def animate(data: dict[str, Any]) -> Animation:
    """The three Gaussians on their way: all steps at first, then fewer."""
    last = len(data["steps"]) - 1
    steps = sorted({*range(min(20, last)), *np.linspace(0, last, 12).astype(int).tolist(), last})

    def frame(figure: Figure, step: int) -> None:
        _draw_step(data, figure.subplots(), step, final=step == last)

    return film(frame, steps, size=(6, 5), interval=250)
