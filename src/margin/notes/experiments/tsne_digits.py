r"""t-SNE: handwritten digits find together on a map.

Gaussian neighbor probabilities of the images are met by Student-t similarities of the map by descending
:math:`D_{KL}(P \| Q)`; digits of a kind end up side by side although no label is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every
from margin.data import load
from margin.neighbors import nearest
from margin.notes.motion import film
from margin.reduction import TSNE

if TYPE_CHECKING:
    from matplotlib.animation import Animation
    from matplotlib.figure import Figure


def run(seed: int, fast: bool) -> dict[str, Any]:
    digits = load("digits")
    X, y = np.asarray(digits.X, dtype=float), np.asarray(digits.y)
    if fast:
        X, y = X[:800], y[:800]
    model = TSNE(random_state=seed, max_iter=500 if fast else 1000)
    iterations, kl, way = [], [], []
    for record in model.iterate(X):
        iterations.append(record.iteration)
        kl.append(record["kl"])
        if record.iteration % 20 == 0:
            way.append((record.iteration, model.embedding_.copy()))
    Y = model.embedding_
    others = nearest(Y, Y, 6).indices[:, 1:]  # without the row itself
    votes = np.array([np.bincount(row, minlength=10).argmax() for row in y[others]])
    return {
        "Y": Y,
        "y": y,
        "iterations": np.array(iterations),
        "kl": np.array(kl),
        "way": way,
        "accuracy": float((votes == y).mean()),
    }


def check(data: dict[str, Any]) -> Verdict:
    late = data["kl"][data["iterations"] > 260]
    return every(
        neighbors_tell_the_digit=above(data["accuracy"], 0.95),
        falls=below(float(np.diff(late).max()), 1e-3),
        ends_below_the_start=below(float(data["kl"][-1]), float(data["kl"][0]) / 2),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(12, 5.5)
    plane, curve = figure.subplots(1, 2, width_ratios=[1.3, 1])
    shown = plane.scatter(data["Y"][:, 0], data["Y"][:, 1], c=data["y"], cmap="tab10", s=9)
    for digit in range(10):
        middle = np.median(data["Y"][data["y"] == digit], axis=0)
        plane.annotate(str(digit), middle, fontsize=16, weight="bold", ha="center", va="center")
    plane.set(title=f"The nearest on the map tell {100 * data['accuracy']:.1f} % of the digits")
    plane.set(xlabel="first coordinate", ylabel="second coordinate")
    figure.colorbar(shown, ax=plane, label="digit", ticks=range(10))
    curve.plot(data["iterations"], data["kl"], label="$D_{KL}(P \\| Q)$")
    curve.axvline(250, color="0.6", linestyle="--", label="end of early exaggeration")
    curve.set(xlabel="step", ylabel="divergence (nats)", title="The objective")
    curve.legend()


def animate(data: dict[str, Any]) -> Animation:
    """The map every 20 steps, in a window that grows with it."""

    def frame(figure: Figure, moment: tuple[int, np.ndarray]) -> None:
        step, Y = moment
        axis = figure.subplots()
        axis.scatter(Y[:, 0], Y[:, 1], c=data["y"], cmap="tab10", s=7)
        for digit in range(10):
            axis.annotate(str(digit), np.median(Y[data["y"] == digit], axis=0), fontsize=13, weight="bold")
        axis.set(title=f"step {step}", xticks=[], yticks=[], aspect="equal")

    return film(frame, data["way"], size=(5.5, 5), interval=200)
