r"""The Wasserstein barycenter of circles is a circle; their pixelwise mean is a blur.

The barycenter minimizes :math:`\sum_k w_k W_2^2(\alpha_k, \alpha)`. Copies of one ring at different places average
to that ring at their mean place, while the Euclidean mean overlays them. The image is found by debiased entropic
projections on the pixel grid, and its entropy tells how concentrated it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from margin.core.verdict import Verdict, above, below, every, near
from margin.foundations.information import entropy
from margin.foundations.transport import barycenter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_CIRCLES = 5
RADIUS, WIDTH, REG = 0.18, 0.025, 0.0015


def run(seed: int, fast: bool) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    pixels = 36 if fast else 56
    centers = rng.uniform(0.25, 0.75, size=(N_CIRCLES, 2))
    images = np.array([_ring(center, pixels) for center in centers])
    result = barycenter(images, REG, tol=1e-4, max_iter=60 if fast else 150)
    return {"images": images, "mean": images.mean(axis=0), "barycenter": result.image, "centers": centers}


def check(data: dict[str, Any]) -> Verdict:
    image, mean = data["barycenter"], data["mean"]
    place = np.linspace(0, 1, len(image))
    center = np.array([image.sum(axis=1) @ place, image.sum(axis=0) @ place])
    distance = np.hypot(place[:, None] - center[0], place - center[1])
    single = float(entropy(data["images"][0].ravel()))
    return every(
        mass=near(image.sum(), 1.0, tolerance=1e-12),
        center=near(center, data["centers"].mean(axis=0), tolerance=0.01),
        sharper_than_mean=below(float(entropy(image.ravel())), float(entropy(mean.ravel())) - 0.5),
        as_sharp_as_one_ring=near(float(entropy(image.ravel())), single, tolerance=0.25),
        ring_radius=near(float((image * distance).sum()), RADIUS, tolerance=0.01),
        hole=above(float(image[distance > RADIUS / 2].sum()), 0.98),
    )


def draw(data: dict[str, Any], figure: Figure) -> None:
    grid = figure.add_gridspec(2, N_CIRCLES, height_ratios=(1, 2))
    for k, image in enumerate(data["images"]):
        _show(figure.add_subplot(grid[0, k]), image, f"circle {k + 1}")
    for columns, name, title in (
        (slice(0, 2), "mean", "Euclidean mean"),
        (slice(3, 5), "barycenter", "Wasserstein barycenter"),
    ):
        nats = float(entropy(data[name].ravel()))
        _show(figure.add_subplot(grid[1, columns]), data[name], f"{title}\nentropy {nats:.2f} nats")
    figure.suptitle("Averaging circles")


def _show(axis: Any, image: np.ndarray, title: str) -> None:
    axis.imshow(image, cmap="magma_r", vmin=0)
    axis.set(xticks=[], yticks=[])
    axis.set_title(title, fontsize=10)


def _ring(center: np.ndarray, pixels: int) -> np.ndarray:
    place = np.linspace(0, 1, pixels)
    distance = np.hypot(place[:, None] - center[0], place - center[1])
    image = np.exp(-0.5 * ((distance - RADIUS) / WIDTH) ** 2)
    return image / image.sum()
