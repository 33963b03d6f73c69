r"""Lloyd's iterations: sites move to the means of their cells until nothing changes.

:math:`J = \sum_i \min_c \lVert x_i - \mu_c \rVert^2` falls in every step and there are finitely many partitions, so the
iterations end at a fixed point: every site is the mean of the rows nearest to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.cluster import KMeans
from margin.core.verdict import Verdict, below, equal, every, near
from margin.notes.motion import film

if TYPE_CHECKING:
    from matplotlib.animation import Animation
    from matplotlib.figure import Figure

CENTERS = np.array([[0.0, 0.0], [4.0, 0.5], [2.0, 3.5], [-2.5, 3.0], [5.5, 4.5]])
ROWS = 500


def run(seed: int, fast: bool) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    X = CENTERS[rng.integers(5, size=ROWS)] + 0.8 * rng.normal(size=(ROWS, 2))
    corner = X[np.argsort(X.sum(axis=1))[:5]]  # all sites in one corner: a long way to go
    model = KMeans(5, init=corner, algorithm="lloyd", tol=0)
    centers, labels, inertia, shift = [corner], [model_labels(X, corner)], [cost(X, corner)], []
    for record in model.iterate(X):
        centers.append(model.cluster_centers_)
        labels.append(model.labels_)
        inertia.append(record["inertia"])
        shift.append(record["shift"])
    return {"X": X, "centers": np.array(centers), "labels": labels, "inertia": inertia, "shift": shift}


def model_labels(X: np.ndarray, centers: np.ndarray) -> np.ndarray:
    return ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)


def cost(X: np.ndarray, centers: np.ndarray) -> float:
    return float(((X[:, None] - centers) ** 2).sum(axis=2).min(axis=1).sum())


def check(data: dict[str, Any]) -> Verdict:
    last, X = data["centers"][-1], data["X"]
    labels = model_labels(X, last)
    means = np.stack([X[labels == c].mean(axis=0) for c in range(5)])
    return every(
        falls=below(float(np.diff(data["inertia"]).max()), 1e-9),
        fixed_point=near(last, means, tolerance=1e-10),
        same_partition=equal(bool((data["labels"][-1] == data["labels"][-2]).all()), True),
        as_recorded=near(data["inertia"][-1], cost(X, last), tolerance=1e-6),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 7.5)
    axes = figure.subplots(2, 3)
    last = len(data["centers"]) - 1
    shown = sorted({0, 1, 3, last // 2, last})
    for ax, step in zip(axes.ravel(), shown):
        _draw_step(data, ax, step, "first sites" if step == 0 else f"after {step} iteration{'s' * (step > 1)}")
    for ax in axes.ravel()[len(shown) : -1]:
        ax.set_axis_off()
    curve = axes.ravel()[-1]
    curve.plot(data["inertia"], marker="o", markersize=3, label="inertia $J$")
    curve.set(xlabel="iteration", ylabel="inertia", title="The objective never increases", yscale="log")
    moves = curve.twinx()
    moves.plot(range(1, last + 1), data["shift"], color="C3", linewidth=1, label="largest movement of a site")
    moves.set_ylabel("movement")
    handles = [*curve.get_lines(), *moves.get_lines()]
    curve.legend(handles=handles, loc="upper right")


def _draw_step(data: dict[str, Any], ax: Any, step: int, title: str) -> None:
    ax.scatter(*data["X"].T, c=data["labels"][step], cmap="Set2", s=7, vmin=0, vmax=7)
    path = data["centers"][: step + 1]
    for c in range(path.shape[1]):
        ax.plot(*path[:, c].T, color="black", linewidth=0.8, alpha=0.6)
    ax.scatter(*data["centers"][step].T, marker="X", s=90, color="black", edgecolor="white", label="sites")
    ax.set(title=f"{title}: J = {data['inertia'][step]:.0f}", xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
    ax.legend(loc="lower right")


def animate(data: dict[str, Any]) -> Animation:
    """Every iteration: rows change sides, sites move to their middle."""

    def frame(figure: Figure, step: int) -> None:
        _draw_step(data, figure.subplots(), step, f"iteration {step}")

    return film(frame, range(len(data["centers"])), size=(6, 5), interval=700)
