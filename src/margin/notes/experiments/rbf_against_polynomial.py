r"""An irregular boundary: the Gaussian kernel follows it, low polynomials cannot.

Two spirals are learned by machines with polynomial kernels of degree 2 and 3 and with the Gaussian kernel, each with
the best of a few settings by validation; accuracy is measured on fresh points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, every
from margin.data import load
from margin.kernels import SVC

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POLYNOMIAL = [{"kernel": "poly", "gamma": gamma, "coef0": 1.0, "C": C} for C in (0.1, 1.0) for gamma in (1.0, 3.0)]
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "polynomial, degree 2": [setting | {"degree": 2} for setting in POLYNOMIAL],
    "polynomial, degree 3": [setting | {"degree": 3} for setting in POLYNOMIAL],
    "Gaussian": [{"kernel": "rbf", "gamma": gamma, "C": C} for C in (1.0, 30.0) for gamma in (3.0, 30.0)],
}


def run(seed: int, fast: bool) -> dict[str, Any]:
    n = 200 if fast else 600
    (X, y), (V, v), (T, t) = (_spirals(n, 3 * seed + part) for part in range(3))
    grid = np.linspace(-1.2, 1.2, 60 if fast else 200)
    u, w = np.meshgrid(grid, grid)
    panels = []
    for name, settings in SETTINGS.items():
        best = max((SVC(**setting).fit(X, y) for setting in settings), key=lambda model: model.score(V, v))
        surface = best.decision_function(np.column_stack([u.ravel(), w.ravel()])).reshape(u.shape)
        panels.append({"name": name, "accuracy": float(best.score(T, t)), "surface": surface})
    return {"X": X, "y": y, "u": u, "w": w, "panels": panels}


def _spirals(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    table = load("spirals", n_samples=n, noise=0.03, seed=seed)
    return np.asarray(table.X), np.asarray(table.y)


def check(data: dict[str, Any]) -> Verdict:
    second, third, gaussian = (panel["accuracy"] for panel in data["panels"])
    return every(
        gaussian=above(gaussian, 0.95),
        beats_degree_2=above(gaussian - second, 0.1),
        beats_degree_3=above(gaussian - third, 0.1),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    X, y = data["X"], data["y"]
    for axes, panel in zip(figure.subplots(1, 3), data["panels"]):
        axes.contourf(data["u"], data["w"], panel["surface"] > 0, levels=1, cmap="RdYlBu_r", alpha=0.35)
        axes.contour(data["u"], data["w"], panel["surface"], levels=[0], colors="black", linewidths=1)
        for label, color in ((0, "C0"), (1, "C3")):
            axes.scatter(*X[y == label].T, s=8, color=color, label=f"arm {label}")
        axes.set(title=f"{panel['name']}\n{panel['accuracy']:.1%} on fresh points", xlabel="$x_1$", ylabel="$x_2$")
        axes.set(aspect="equal")
        axes.legend(fontsize=7, loc="lower right")
