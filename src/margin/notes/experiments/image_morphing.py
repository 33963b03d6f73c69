r"""One digit turns into another

Points along the strokes of two digits are matched by optimal assignment; the images are warped so that they meet at
:math:`p_t = (1-t)p_a + t p_b` and mixed with weights :math:`1-t` and :math:`t`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, below, every

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TIMES = np.linspace(0, 1, 6)


def stroke_points(image: np.ndarray, count: int) -> np.ndarray:
    """Positions spread over the ink: centers of k-means clusters of the dark pixels."""
    from margin.cluster import KMeans

    dark = np.argwhere(image > 0.5 * image.max()).astype(float)
    return KMeans(count, random_state=0).fit(dark).cluster_centers_


def run(seed: int, fast: bool) -> dict[str, Any]:
    from scipy.ndimage import zoom
    from scipy.optimize import linear_sum_assignment
    from sklearn.datasets import load_digits

    from margin.vision.features.morph import morph

    digits = load_digits()
    rng = np.random.default_rng(seed)
    chosen = [digits.images[rng.choice(np.flatnonzero(digits.target == label))] / 16 for label in (3, 8)]
    a, b = (zoom(image, 4, order=1, grid_mode=True, mode="nearest") for image in chosen)
    points_a, points_b = stroke_points(a, 7), stroke_points(b, 7)
    gap = ((points_a[:, None] - points_b) ** 2).sum(axis=2)
    points_b = points_b[linear_sum_assignment(gap)[1]]
    frames = np.array([morph(a, b, points_a, points_b, float(t)) for t in TIMES])
    return {"a": a, "b": b, "points_a": points_a, "points_b": points_b, "frames": frames}


def check(data: dict[str, Any]) -> Verdict:
    steps = np.abs(np.diff(data["frames"], axis=0)).mean(axis=(1, 2))
    total_change = float(np.abs(data["a"] - data["b"]).mean())
    return every(
        begins_with_the_first=below(float(np.abs(data["frames"][0] - data["a"]).max()), 1e-8),
        ends_with_the_second=below(float(np.abs(data["frames"][-1] - data["b"]).max()), 1e-8),
        seamless=below(float(steps.max()), 0.6 * total_change),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    figure.set_size_inches(13, 2.8)
    for ax, t, frame in zip(figure.subplots(1, len(TIMES)), TIMES, data["frames"]):
        ax.imshow(frame, cmap="gray_r")
        points = (1 - t) * data["points_a"] + t * data["points_b"]
        ax.plot(points[:, 1], points[:, 0], "o", ms=3, color="C3")
        ax.set_title(f"t = {t:.1f}")
        ax.axis("off")
