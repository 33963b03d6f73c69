r"""Gradient descent follows a loss that is not quite its own

A descent path with steps alpha leaves the gradient flow of L and stays close to the flow of
:math:`L + \frac\alpha4\lVert\nabla L\rVert^2`: steep places push it away.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RATE, STEPS = 0.15, 12


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.optimize.flow import gradient_flow, modified_field, modified_loss

    rng = np.random.default_rng(seed)
    bend, steep = rng.uniform(0.8, 1.2), rng.uniform(1.6, 2.4)

    def loss(t: np.ndarray) -> float:
        return 0.5 * (t[0] - 2) ** 2 * 0.3 + 0.5 * steep * (t[1] - bend * np.sin(t[0])) ** 2

    def gradient(t: np.ndarray) -> np.ndarray:
        r = t[1] - bend * np.sin(t[0])
        return np.array([0.3 * (t[0] - 2) - steep * r * bend * np.cos(t[0]), steep * r])

    def hessian(t: np.ndarray) -> np.ndarray:
        r, c, s = t[1] - bend * np.sin(t[0]), bend * np.cos(t[0]), bend * np.sin(t[0])
        return np.array([[0.3 + steep * (c * c + r * s), -steep * c], [-steep * c, steep]])

    start = np.array([-1.5, 1.5])
    path = [start]
    for _ in range(STEPS):
        path.append(path[-1] - RATE * gradient(path[-1]))
    flow = gradient_flow(gradient, start, RATE * STEPS, points=STEPS + 1)
    modified = gradient_flow(
        lambda t: modified_field(gradient(t), hessian(t), RATE), start, RATE * STEPS, points=STEPS + 1
    )
    axes = np.linspace(-2, 3, 60 if fast else 200), np.linspace(-1.5, 2, 60 if fast else 200)
    grid = [[np.array([x, y]) for x in axes[0]] for y in axes[1]]
    surface = np.array([[loss(t) for t in row] for row in grid])
    modified_losses = np.array([[modified_loss(loss(t), gradient(t), RATE) for t in row] for row in grid])
    return {
        "axes": list(axes),
        "loss": surface,
        "whole": modified_losses,
        "path": np.array(path),
        "flow": flow,
        "modified": modified,
    }


def check(data: dict[str, Any]) -> Verdict:
    far = {name: np.linalg.norm(data[name] - data["path"], axis=1) for name in ("flow", "modified")}
    return every(
        modified_stays_close=below(float(far["modified"].max()), 0.5 * float(far["flow"].max())),
        on_average_too=below(float(far["modified"].mean()), 0.5 * float(far["flow"].mean())),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 5.2)
    panels = {"The loss L": data["loss"], "What a step adds": data["whole"] - data["loss"], "Their sum": data["whole"]}
    axes = figure.subplots(1, 3, sharex=True, sharey=True)
    for axis, (title, values) in zip(axes, panels.items()):
        axis.contour(*data["axes"], np.sqrt(values), levels=18, cmap="Greys")
        axis.plot(*data["flow"].T, "C1--", label="gradient flow of L")
        axis.plot(*data["modified"].T, "C0-", label="flow of the sum")
        axis.plot(*data["path"].T, "o", color="black", ms=4, label="gradient descent on L")
        axis.set(title=title, xlabel=r"$\theta_1$")
    axes[0].set_ylabel(r"$\theta_2$")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
