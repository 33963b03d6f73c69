r"""Regions of the nearest neighbors, from a patchwork to a constant.

:math:`\hat y(q) = \arg\max_c \sum_{i \in N_k(q)} 1[y_i = c]`. With k = 1 every training row owns a cell and is never
wrong about itself; more neighbors smooth the border, and all of them say the larger class everywhere. The error on
new rows is smallest in between, while that on the training rows only tells how much was smoothed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, equal, every
from margin.data import load
from margin.neighbors import KNeighborsClassifier

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = (1, 15, 199)
NOISE = 0.35
ROWS = 399  # odd: one class is larger


def run(seed: int, fast: bool) -> dict[str, Any]:
    side = 50 if fast else 300
    train = load("moons", n_samples=ROWS, noise=NOISE, seed=seed)
    test = load("moons", n_samples=1000 if fast else 20_000, noise=NOISE, seed=seed + 10_000)
    X = np.asarray(train.X)
    low, high = X.min(axis=0) - 0.2, X.max(axis=0) + 0.2
    grid = np.stack(np.meshgrid(*(np.linspace(low[i], high[i], side) for i in (0, 1))), axis=-1)
    ks = np.unique(np.round(np.geomspace(1, ROWS, 12 if fast else 24)).astype(int))
    ks = ks + (ks % 2 == 0)  # odd numbers of votes have no ties
    errors: dict[str, list[float]] = {"training": [], "new": []}
    for k in ks:
        model = KNeighborsClassifier(int(k)).fit(train.X, train.y)
        errors["training"].append(float(np.mean(model.predict(train.X) != train.y)))
        errors["new"].append(float(np.mean(model.predict(test.X) != test.y)))
    fractions = {
        k: KNeighborsClassifier(k).fit(train.X, train.y).predict_proba(grid.reshape(-1, 2))[:, 1].reshape(side, side)
        for k in SHOWN
    }
    return {"X": train.X, "y": train.y, "grid": grid, "k": ks, "errors": errors, "fractions": fractions}


def check(data: dict[str, Any]) -> Verdict:
    training, new, k = (np.array(part) for part in (data["errors"]["training"], data["errors"]["new"], data["k"]))
    best = int(k[new.argmin()])
    return every(
        one_neighbor_is_never_wrong_about_itself=equal(float(training[0]), 0.0),
        but_wrong_about_new_rows=above(new[0] - new.min(), 0.02),
        all_neighbors_say_one_class=above(new[-1], 0.45),
        best_number_is_above=above(best, 3),
        best_number_is_below=below(best, 150),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(11, 8.6)
    axes = figure.subplots(2, 2).ravel()
    x, y = data["grid"][..., 0], data["grid"][..., 1]
    for axis, k in zip(axes, SHOWN):
        axis.contourf(x, y, data["fractions"][k], levels=np.linspace(0, 1, 11), cmap="RdBu", alpha=0.7)
        axis.contour(x, y, data["fractions"][k], levels=[0.5], colors="black", linewidths=1.1)
        for label, color in ((0, "#8b0000"), (1, "#00307a")):
            rows = data["X"][data["y"] == label]
            axis.scatter(*rows.T, s=14, color=color, edgecolors="white", linewidths=0.4, label=f"class {label}")
        axis.set(title=f"{k} neighbor{'s' * (k > 1)}", xlabel="$x_1$", ylabel="$x_2$")
    axes[0].legend(loc="lower left")
    new, best = np.array(data["errors"]["new"]), data["k"][int(np.argmin(data["errors"]["new"]))]
    axes[-1].semilogx(data["k"], data["errors"]["training"], "o-", ms=4, color="C7", label="training rows")
    axes[-1].semilogx(data["k"], new, "o-", ms=4, color="C3", label="new rows")
    axes[-1].axvline(best, color="C3", ls=":", lw=1)
    axes[-1].set(title=f"Error; smallest on new rows with {best} neighbors", xlabel="neighbors $k$", ylabel="error")
    axes[-1].legend()
