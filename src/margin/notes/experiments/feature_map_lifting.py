r"""Exclusive or, lifted by one product.

With :math:`\phi(x) = (x_1, x_2, x_1x_2)` the four quadrants become two sides of a plane; its kernel is
:math:`k(x, z) = x_1z_1 + x_2z_2 + x_1x_2z_1z_2`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, every, near, within
from margin.data import load
from margin.foundations.probability.feature_maps import product_features
from margin.kernels import SVC, LinearSVC

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CLEARANCE = 0.05  # points this near to an axis are left out, so that there is a street


def run(seed: int, fast: bool) -> dict[str, Any]:
    table = load("xor", n_samples=500, seed=seed)
    X, y = np.asarray(table.X), np.asarray(table.y)
    kept = np.abs(X).min(axis=1) > CLEARANCE
    X, y = X[kept], y[kept]
    lifted = product_features(X)
    kernel = X @ X.T + np.outer(X[:, 0] * X[:, 1], X[:, 0] * X[:, 1])
    by_kernel = SVC(kernel="precomputed", C=1e4).fit(kernel, y)
    model = LinearSVC(loss="hinge", C=1e4).fit(lifted, y)
    return {
        "X": X,
        "y": y,
        "lifted": lifted,
        "plane": np.append(model.coef_[0], model.intercept_[0]),
        "accuracy": float(LinearSVC(loss="hinge").fit(X, y).score(X, y)),
        "three_quadrants": 1 - float(np.bincount((X > 0) @ [1, 2], minlength=4).min()) / len(X),
        "lifted_accuracy": float(model.score(lifted, y)),
        "kernel_accuracy": float(by_kernel.score(kernel, y)),
        "gram_error": float(np.abs(kernel - lifted @ lifted.T).max()),
    }


def check(data: dict[str, Any]) -> Verdict:
    return every(
        # A line can cut off one quadrant at best, and then the other three are right, and hardly a row by chance.
        in_the_plane=within(data["accuracy"], 0.4, data["three_quadrants"] + 0.01),
        lifted=near(data["lifted_accuracy"], 1.0, tolerance=0.0),
        by_the_kernel=near(data["kernel_accuracy"], 1.0, tolerance=0.0),
        kernel=near(data["gram_error"], 0.0, tolerance=1e-12),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    X, y, lifted = data["X"], data["y"], data["lifted"]
    a, b, c, d = data["plane"]
    flat: Any = figure.add_subplot(1, 2, 1)
    space: Any = figure.add_subplot(1, 2, 2, projection="3d")
    for label, name, color in ((0, "equal signs", "C0"), (1, "different signs", "C1")):
        flat.scatter(*X[y == label].T, s=14, color=color, label=name)
        space.scatter(*lifted[y == label].T, s=10, color=color, label=name)
    flat.axhline(0, color="0.7", linewidth=0.8)
    flat.axvline(0, color="0.7", linewidth=0.8)
    flat.set(title=f"In the plane: a line gets {data['accuracy']:.0%}", xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
    flat.legend(loc="upper right", fontsize=8)
    u, v = np.meshgrid([-1.0, 1.0], [-1.0, 1.0])
    space.plot_surface(u, v, -(a * u + b * v + d) / c, alpha=0.3, color="gray")
    space.set(title=f"Lifted by $x_1x_2$: a plane gets {data['lifted_accuracy']:.0%}")
    space.set(xticks=[-1, 0, 1], yticks=[-1, 0, 1], zticks=[-1, 0, 1])
    space.set(xlabel="$x_1$", ylabel="$x_2$", zlabel="$x_1x_2$")
    space.view_init(elev=16, azim=-55)
