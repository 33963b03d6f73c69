r"""A Gaussian process learns its own kernel

The log marginal likelihood :math:`-\tfrac12y^\top C^{-1}y-\tfrac12\log|C|-\tfrac n2\log2\pi` rewards a fit and charges
for flexibility, so that its maximum needs no validation set. A kernel with a length scale far too long calls the signal
noise; after learning, the band covers the hidden function and the noise level is found. The surface over length scale
and noise shows two explanations: a short scale with little noise, or a long scale with much.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, every, within
from margin.kernels import RBF, ConstantKernel, GaussianProcessRegressor, WhiteKernel
from margin.kernels.gaussian_process.likelihood import MarginalLikelihood

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS, NOISE = 120, 0.25
START = ConstantKernel(1.0) * RBF(6.0) + WhiteKernel(0.5)


def hide(x: np.ndarray) -> np.ndarray:
    return np.sin(2 * x) + 0.3 * x


def run(seed: int, fast: bool) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(-4, 4, size=(ROWS, 1)), axis=0)
    y = hide(X[:, 0]) + NOISE * rng.normal(size=ROWS)
    grid = np.linspace(-5, 5, 200)[:, None]
    before = GaussianProcessRegressor(START, alpha=0.0, normalize_y=True, optimizer=None).fit(X, y)
    after = GaussianProcessRegressor(START, alpha=0.0, normalize_y=True, n_restarts_optimizer=12, random_state=seed)
    trace = [record["log_marginal_likelihood"] for record in after.iterate(X, y)]
    states = {}
    for name, model in (("before", before), ("after", after)):
        mean, std = model.predict(grid, return_std=True, with_noise=False)
        states[name] = {"mean": mean, "std": std, "noise": model.noise_**0.5, "lml": model.log_marginal_likelihood()}
    return {
        "X": X[:, 0],
        "y": y,
        "grid": grid[:, 0],
        "states": states,
        "trace": np.array(trace),
        **surface(after, 15 if fast else 60),
    }


def surface(model: GaussianProcessRegressor, size: int) -> dict[str, Any]:
    """The likelihood over length scale and noise, the amplitude being the learned one."""
    scales, noises = np.geomspace(0.1, 30, size), np.geomspace(0.01, 2, size)
    kernel = model.kernel_
    likelihood = MarginalLikelihood(kernel, model.X_train_, model.y_train_, 0.0)
    amplitude = kernel.theta[0]
    values = [
        [likelihood.at(np.array([amplitude, np.log(s), np.log(v)]), gradient=False).value for s in scales]
        for v in noises
    ]
    best = np.exp(kernel.theta[1:])
    return {"scales": scales, "noises": noises, "surface": np.array(values), "best": best}


def check(data: dict[str, Any]) -> Verdict:
    before, after = data["states"]["before"], data["states"]["after"]
    inside = np.abs(data["grid"]) < 4
    truth = hide(data["grid"][inside])
    # Errors of neighbors go together: two deviations would leave out a whole stretch of the axis now and then.
    covered = np.abs(after["mean"][inside] - truth) < 3 * after["std"][inside]
    return every(
        evidence_rises=above(after["lml"] - before["lml"], 10.0),
        nothing_on_the_surface_is_higher=above(after["lml"] - data["surface"].max(), -1e-6),
        noise_found=within(after["noise"], 0.7 * NOISE, 1.4 * NOISE),
        noise_mistaken_before=above(before["noise"], 2 * NOISE),
        band_covers_the_truth=above(float(covered.mean()), 0.9),
        uncertain_outside=above(after["std"][-1] / after["std"][inside].mean(), 2.0),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    left, middle, right = figure.subplots(1, 3)
    x = data["grid"]
    for axes, name in ((left, "before"), (middle, "after")):
        state = data["states"][name]
        mean, std = state["mean"], state["std"]
        wide = np.sqrt(std**2 + state["noise"] ** 2)
        axes.fill_between(x, mean - 2 * wide, mean + 2 * wide, color="C0", alpha=0.12, label="2 sd of y")
        axes.fill_between(x, mean - 2 * std, mean + 2 * std, color="C0", alpha=0.3, label="2 sd of f")
        axes.plot(x, mean, color="C0", label="mean")
        axes.plot(x, hide(x), "k--", linewidth=1, label="hidden function")
        axes.plot(data["X"], data["y"], "k.", markersize=4)
        axes.set(xlabel="x", ylim=(-4, 4), title=f"{name} learning: log evidence {state['lml']:.1f}")
    left.set_ylabel("y")
    left.legend(fontsize=7, loc="upper left")
    values = data["surface"]
    levels = values.max() - np.array([60, 40, 25, 15, 10, 6, 3, 1, 0.2])
    right.contour(data["scales"], data["noises"], values, levels=levels, cmap="viridis", linewidths=1)
    right.plot(*data["best"], "r*", markersize=11, label="learned")
    right.plot(6.0, 0.5, "ko", markersize=5, label="start")
    right.set(xscale="log", yscale="log", xlabel="length scale", ylabel="noise variance / variance of y")
    right.set_title("log marginal likelihood")
    right.legend(fontsize=7, loc="lower right")
