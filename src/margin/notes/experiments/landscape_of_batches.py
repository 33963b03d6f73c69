r"""Landscape of batches: every batch has its own loss surface.

The surfaces of equal batches average to the full one, :math:`R_D = \frac1m \sum_b R_{B_b}`, but their minima differ;
stochastic descent steps downhill on a changing surface, so its path is the noisier the smaller the batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every, near
from margin.optimize import batches, follow, sgd
from margin.optimize.problems import least_squares

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N, BATCH, RATE = 24, 6, 0.12
WINDOW = (-0.6, 2.4, -3.2, 0.6)


def run(seed: int, fast: bool) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, 2)) * [1.0, 0.8]
    y = X @ [1.0, -1.5] + 0.8 * rng.standard_normal(N)
    problem = least_squares(X, y)
    parts = list(batches(N, BATCH, np.random.default_rng(seed)))
    size = 40 if fast else 120
    a, b = np.meshgrid(np.linspace(*WINDOW[:2], size), np.linspace(*WINDOW[2:], size))
    grid = np.stack([a.ravel(), b.ravel()])
    residual = (X @ grid - y[:, None]) ** 2  # (n, points)
    updates = 120
    paths = {}
    for name, batch in (("full batch", None), ("mini-batch", BATCH), ("one example", 1)):
        epochs = updates // (N // (batch or N))
        steps = sgd(
            problem, [-0.3, 0.3], rng=np.random.default_rng(seed), learning_rate=RATE, batch_size=batch, epochs=epochs
        )
        paths[name] = follow(steps).path
    return {
        "a": a,
        "b": b,
        "full": residual.mean(axis=0).reshape(a.shape),
        "batch": np.stack([residual[rows].mean(axis=0).reshape(a.shape) for rows in parts]),
        "batch_minima": np.stack([np.linalg.lstsq(X[rows], y[rows])[0] for rows in parts]),
        "minimum": np.linalg.lstsq(X, y)[0],
        "paths": paths,
        "losses": {name: np.array([problem.value(theta) for theta in path]) for name, path in paths.items()},
    }


def roughness(path: np.ndarray, minimum: np.ndarray) -> float:
    """The mean distance from the minimum over the last third of the path."""
    return float(np.mean(np.linalg.norm(path[-len(path) // 3 :] - minimum, axis=1)))


def check(data: dict[str, Any]) -> Verdict:
    rough = {name: roughness(path, data["minimum"]) for name, path in data["paths"].items()}
    apart = np.linalg.norm(data["batch_minima"] - data["minimum"], axis=1)
    return every(
        mean_surface=near(data["batch"].mean(axis=0), data["full"], tolerance=1e-10),
        minima_differ=above(float(apart.min()), 1e-6),  # one batch may come near by luck
        far_apart=above(float(np.median(apart)), 0.1),
        full_batch_settles=below(rough["full batch"], 0.05),
        noise_order=equal(sorted(rough, key=rough.__getitem__), ["full batch", "mini-batch", "one example"]),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 7.6)
    grid = figure.add_gridspec(2, 4, width_ratios=(1, 1, 1.3, 1.3))
    for i, (surface, minimum) in enumerate(zip(data["batch"], data["batch_minima"])):
        axis = figure.add_subplot(grid[i // 2, i % 2])
        axis.contour(data["a"], data["b"], np.log(surface), levels=14, cmap="viridis", linewidths=0.9)
        axis.plot(*minimum, "*", color="C3", ms=11)
        axis.plot(*data["minimum"], "+", color="black", ms=9)
        axis.set(title=f"batch {i + 1}", xlabel=r"$\theta_1$", ylabel=r"$\theta_2$", xlim=WINDOW[:2], ylim=WINDOW[2:])
    axis = figure.add_subplot(grid[:, 2])
    axis.contour(data["a"], data["b"], np.log(data["full"]), levels=18, cmap="Greys_r", linewidths=0.9)
    colors = {"one example": "C1", "mini-batch": "C0", "full batch": "black"}
    for name, color in colors.items():
        axis.plot(*data["paths"][name].T, color=color, lw=1.3, label=name)
    axis.plot(*data["minimum"], "*", color="C3", ms=13, label="full minimum")
    axis.set(title="full surface and three paths", xlabel=r"$\theta_1$", ylabel=r"$\theta_2$")
    axis.legend(loc="lower left")
    axis = figure.add_subplot(grid[:, 3])
    floor = data["losses"]["full batch"].min()
    for name, color in colors.items():
        axis.semilogy(data["losses"][name] - floor + 1e-6, color=color, label=name)
    axis.set(title="full loss above its minimum", xlabel="update", ylabel=r"$R_D(\theta_t) - \min R_D$")
    axis.legend()
    figure.suptitle("Every batch has its own loss surface (crimson stars: minima; cross: minimum of all data)")
