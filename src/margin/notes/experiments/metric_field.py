r"""Covariance ellipses and the field of metric tensors over the data

The inverse of the local covariance is a metric: where data are many it is small, and along the direction in which they
spread it is smallest, so the ellipses of covariance and of inverse metric have the same axes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, equal, every, near

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIGMA, RHO = 0.08, 0.001


def run(seed: int, fast: bool) -> dict[str, Any]:
    from margin.representation.riemannian import curve_length, geodesic_curve, local_metric

    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, np.pi, size=150)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.04 * rng.normal(size=(150, 2))
    metric = local_metric(X, SIGMA, RHO)
    grid = np.stack(np.meshgrid(np.linspace(-1.35, 1.35, 19), np.linspace(-0.3, 1.35, 12)), axis=-1).reshape(-1, 2)
    covariance = np.cov(X.T)
    values, vectors = np.linalg.eigh(covariance)
    metric_values, metric_vectors = np.linalg.eigh(np.linalg.inv(covariance))
    arc = np.linspace(np.pi, 0, 25)
    start = np.column_stack([np.cos(arc), 0.95 * np.sin(arc)])
    curve = geodesic_curve([-1.0, 0.0], [1.0, 0.0], metric, n_pieces=24, start=start)
    line = np.linspace([-1.0, 0.0], [1.0, 0.0], 25)
    return {
        "X": X,
        "grid": grid,
        "spread": 1 / metric(grid),  # variances of the local ellipse
        "curve": curve,
        "lengths": [curve_length(curve, metric), curve_length(line, metric)],
        "eigenvalues": [values, metric_values],
        "alignment": np.abs(np.sum(vectors * metric_vectors[:, ::-1], axis=0)),
        "on_data": float(np.median(metric(X).min(axis=1))),
        "off_data": float(metric(np.array([0.0, -1.5])).min()),
    }


def check(data: dict[str, Any]) -> Verdict:
    values, metric_values = data["eigenvalues"]
    return every(
        same_axes=near(data["alignment"], np.ones(2), tolerance=1e-9),
        inverse_lengths=near(values * metric_values[::-1], np.ones(2), tolerance=1e-9),
        small_on_data=below(data["on_data"], data["off_data"]),
        geodesic_is_shorter=below(data["lengths"][0], data["lengths"][1]),
        tensors_everywhere=equal(bool(np.all(data["spread"] > 0)), True),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    from matplotlib.patches import Ellipse

    figure.set_size_inches(12, 4.6)
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    X = data["X"]
    values, vectors = np.linalg.eigh(np.cov(X.T))
    for ax in (left, right):
        ax.plot(*X.T, ".", ms=4, color="C7", alpha=0.6)
        ax.set(aspect="equal", xlabel="$x_1$", xlim=(-1.5, 1.5), ylim=(-0.5, 1.5))
    angle = np.degrees(np.arctan2(*vectors[::-1, 0]))
    left.add_patch(Ellipse(X.mean(axis=0), *(4 * np.sqrt(values)), angle=angle, fill=False, lw=1.6, color="C0"))
    left.set(ylabel="$x_2$", title="one covariance for all data: two deviations")
    for point, spread in zip(data["grid"], data["spread"]):
        right.add_patch(Ellipse(point, *(0.3 * np.sqrt(spread)), fill=False, color="C1"))
    along, across = data["lengths"]
    right.plot(*data["curve"].T, color="C0", lw=2.2)
    right.plot([-1, 1], [0, 0], color="C3", lw=1.6, ls="--")
    right.text(0, 1.22, f"geodesic, length {along:.3g}", color="C0", ha="center", va="center")
    right.text(0, -0.14, f"straight line, length {across:.3g}", color="C3", ha="center", va="center")
    right.set_title("inverse metric at every place: steps of equal length")
