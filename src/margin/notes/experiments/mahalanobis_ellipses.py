r"""Distance in an elongated cloud

Circles of equal :math:`\lVert x - \mu\rVert / \sigma` cut across the density of an elongated normal cloud; ellipses
of equal :math:`\sqrt{(x-\mu)^\top\Sigma^{-1}(x-\mu)}` follow it. Squared Mahalanobis distances are chi-square
with d degrees of freedom, so the ellipse of radius r holds the share :math:`1 - e^{-r^2/2}` in the plane.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, every, near
from margin.foundations.statistics import covariance_matrix, mahalanobis, spherical_distance, whitening

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEAN = np.array([1.0, 2.0])
SIGMA = np.array([[4.0, 1.8], [1.8, 1.0]])
RADII = (1.0, 2.0, 3.0)


def run(seed: int, fast: bool) -> dict[str, Any]:
    n = 40_000 if fast else 100_000
    x = MEAN + np.random.default_rng(seed).normal(size=(n, 2)) @ np.linalg.cholesky(SIGMA).T
    sd = np.sqrt(np.trace(SIGMA) / 2)
    # The long and the short axis of the cloud, one normalized distance out.
    axes = np.linalg.eigh(SIGMA)[1].T
    points = MEAN + 1.5 * sd * axes
    distance = mahalanobis(x, MEAN, SIGMA)
    density = np.exp(-0.5 * mahalanobis(points, MEAN, SIGMA) ** 2)
    return {
        "x": x[:2000],
        "points": points,
        "normalized": spherical_distance(points, MEAN, sd),
        "mahalanobis": mahalanobis(points, MEAN, SIGMA),
        "density": density,
        "inside": np.array([np.mean(distance < r) for r in RADII]),
        "whitened": (x[:2000] - MEAN) @ whitening(SIGMA).T,
        "whitened_covariance": covariance_matrix((x - MEAN) @ whitening(SIGMA).T),
        "sd": sd,
    }


def check(data: dict[str, Any]) -> Verdict:
    return every(
        same_normalized_distance=near(data["normalized"], [1.5, 1.5], tolerance=1e-12),
        different_mahalanobis=above(data["mahalanobis"][0] / data["mahalanobis"][1], 3.0),
        different_density=above(data["density"][1] / data["density"][0], 100.0),
        shares=near(data["inside"], 1 - np.exp(-0.5 * np.square(RADII)), tolerance=0.015),
        whitening=near(data["whitened_covariance"], np.eye(2), tolerance=0.05),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(12, 5.2)
    left, right = figure.subplots(1, 2, width_ratios=(1.7, 1))
    t = np.linspace(0, 2 * np.pi, 200)
    circle = np.column_stack([np.cos(t), np.sin(t)])
    left.plot(*data["x"].T, ".", markersize=2, alpha=0.3, color="0.5")
    right.plot(*data["whitened"].T, ".", markersize=2, alpha=0.3, color="0.5")
    for r in RADII:
        ellipse = MEAN + r * circle @ np.linalg.cholesky(SIGMA).T
        left.plot(*ellipse.T, color="C0", label="Mahalanobis 1, 2, 3" if r == 1 else None)
        right.plot(*(r * circle).T, color="C0")
    left.plot(*(MEAN + 1.5 * data["sd"] * circle).T, "--", color="C3", label="normalized distance 1.5")
    left.plot(*data["points"].T, "o", color="C3")
    for point, distance in zip(data["points"], data["mahalanobis"]):
        left.annotate(f"{distance:.1f}", point, textcoords="offset points", xytext=(8, -14), color="C3", weight="bold")
    left.set(xlabel="$x_1$", ylabel="$x_2$", title="Circles cut across, ellipses follow", aspect="equal")
    right.set(xlabel="$(Jx)_1$", ylabel="$(Jx)_2$", title="After whitening the two agree", aspect="equal")
    left.legend(loc="upper left")
